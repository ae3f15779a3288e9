// What customers' webhooks call: it answers or refuses, is not there, or its answer is lost, and
// keeps what has arrived. At the end each event must have, under the id that the log has for it,
// with the same bytes however often, and those of one subject in their order.

import type { Caller, CallOutcome } from 'penstock-service/events/webhooks/caller.ts'
import type { Event } from '../auditor/rows.ts'
import type { Dice } from './dice.ts'
import type { Gate, Life } from './gate.ts'

type Arrival = { id: string; body: string }

const AWAY: CallOutcome = { status: null, error: 'connect', body: null, ms: 1 }
const LATE: CallOutcome = { status: null, error: 'timeout', body: null, ms: 15_000 }
const said = (status: number): CallOutcome => ({ status, error: null, body: null, ms: 1 })

export class Receiver {
  /** How many calls in a hundred go wrong. */
  troubles = 0
  private readonly dice: Dice
  /** By the customer's webhook: what arrived, in order. */
  private readonly arrived = new Map<string, Arrival[]>()
  private readonly customers = new Map<string, string>()

  constructor(dice: Dice) {
    this.dice = dice
  }

  /** The URL of a customer's webhook. */
  urlFor(customer_id: string): string {
    const url = `https://hooks.example/${customer_id}`
    this.arrived.set(url, [])
    this.customers.set(url, customer_id)
    return url
  }

  /** How one process calls: each call waits at the gate. */
  caller(gate: Gate, life: Life): Caller {
    const lost = () => new Error('simulated: a call is lost')
    return {
      call: ({ url, body, headers }) =>
        gate.pass(life, { kind: 'node', label: 'webhook', inside: false, lost }, async () =>
          this.receive(url.href, { id: headers['webhook-id']!, body }),
        ),
      close: () => {},
    }
  }

  private receive(url: string, arrival: Arrival): CallOutcome {
    const { dice } = this
    const fate = dice.chance(this.troubles / 100)
      ? dice.pick(['away', 'late', 'refused'] as const)
      : 'taken'
    if (fate === 'away') return AWAY
    this.arrived.get(url)!.push(arrival)
    return fate === 'late' ? LATE : said(fate === 'refused' ? 503 : 200)
  }

  /** How many calls there were. */
  get calls(): number {
    return [...this.arrived.values()].reduce((sum, { length }) => sum + length, 0)
  }

  /** What is wrong with what has arrived, when all should have. */
  findings(events: readonly Event[]): string[] {
    return [...this.arrived].flatMap(([url, arrivals]) => {
      const customer_id = this.customers.get(url)!
      const own = events.filter((one) => one.customer_id === customer_id && one.number !== null)
      const by_id = new Map(own.map((one) => [one.id, one]))
      const first = new Map<string, string>()
      const last = new Map<string, bigint>()
      const findings: string[] = []
      for (const { id, body } of arrivals) {
        const event = by_id.get(id)
        if (!event) findings.push(`${customer_id} was called with ${id}, which is no event`)
        if (!event || first.get(id) === body) continue
        if (first.has(id)) findings.push(`event ${id} was told in two ways`)
        first.set(id, body)
        if ((last.get(event.subject) ?? 0n) > event.number!)
          findings.push(`event ${id} of ${event.subject} was told after a later one`)
        last.set(event.subject, event.number!)
        if ((JSON.parse(body) as { id?: unknown }).id !== id)
          findings.push(`event ${id} was told under another id`)
      }
      for (const { id, type, subject } of own)
        if (!first.has(id!)) findings.push(`${type} of ${subject} reached no webhook`)
      return findings
    })
  }
}
