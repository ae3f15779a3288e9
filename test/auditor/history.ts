// What only somebody who looks again and again can say: that things went the ways that they may go,
// and that what had ended did not go on.

import type { Rows } from './rows.ts'
import { isEnded, supplyOrdersOf } from './subscriptions.ts'

/** Where a thing can come from each state, by any number of arrows. */
type Ways = Readonly<Record<string, readonly string[]>>

const KINDS = ['orders', 'subscriptions', 'checks', 'attempts'] as const
const WAYS: Readonly<Record<(typeof KINDS)[number], Ways>> = {
  orders: { new: ['pending', 'success', 'failed'], pending: ['success', 'failed'] },
  subscriptions: {
    new: ['pending', 'active', 'stopped', 'expired', 'error'],
    pending: ['active', 'stopped', 'expired', 'error'],
    active: ['stopped', 'expired'],
  },
  // A fork takes a block back; what is solid or dead stays so.
  attempts: {
    new: ['signed', 'sent', 'included', 'solid', 'dead'],
    signed: ['sent', 'included', 'solid', 'dead'],
    sent: ['included', 'solid', 'dead'],
    included: ['sent', 'solid', 'dead'],
  },
  checks: { pending: ['processing', 'completed', 'failed'], processing: ['completed', 'failed'] },
}

export class History {
  private readonly states = new Map<string, string>()
  /** The transaction that an attempt was first seen to be. */
  private readonly tx_ids = new Map<string, string>()
  /** How many supplies a subscription had when it was first seen to have ended. */
  private readonly supplies_at_end = new Map<string, number>()
  /** What was told, by its number. */
  private readonly told = new Map<string, string>()
  /** The head of the chain when a subscription was first seen to be active. */
  readonly active_at = new Map<string, number>()

  /** Compares with what was seen before. Returns what went a way that there is not. */
  see(rows: Rows, head_number: number): string[] {
    const findings = KINDS.flatMap((kind) =>
      rows[kind].flatMap(({ id, state }) => this.seeState(`${kind} ${id}`, state, WAYS[kind])),
    )
    for (const { id, tx_id } of rows.attempts) {
      if (tx_id === null) continue
      const before = this.tx_ids.get(id) ?? tx_id
      this.tx_ids.set(id, before)
      if (before !== tx_id)
        findings.push(`C5 attempt ${id} was signed as ${before}, and again as ${tx_id}`)
    }
    for (const subscription of rows.subscriptions) {
      const { id, state } = subscription
      if (state === 'active' && !this.active_at.has(id)) this.active_at.set(id, head_number)
      if (!isEnded(subscription)) continue
      const count = supplyOrdersOf(rows, id).length
      const before = this.supplies_at_end.get(id) ?? count
      this.supplies_at_end.set(id, before)
      // One may have been on its way when it ended.
      if (count > before + 1)
        findings.push(`subscription ${id} was ${state} with ${before} supplies and has ${count}`)
    }
    return [...findings, ...this.seeEvents(rows)]
  }

  /** What has a number stays as it was told. */
  private seeEvents({ events }: Rows): string[] {
    const findings: string[] = []
    for (const { customer_id, number, id, type, subject, data } of events) {
      if (number === null) continue
      const place = `event ${number} of ${customer_id}`
      const now = `${id} ${type} ${subject} ${data}`
      const before = this.told.get(place) ?? now
      this.told.set(place, before)
      if (before !== now) findings.push(`C14 ${place} was ${before} and is ${now}`)
    }
    return findings
  }

  private seeState(name: string, state: string, ways: Ways): string[] {
    const before = this.states.get(name) ?? state
    this.states.set(name, state)
    return before === state || ways[before]?.includes(state)
      ? []
      : [`${name} was ${before} and is ${state}`]
  }
}
