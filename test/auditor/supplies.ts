// What must hold of the energy that subscriptions are supplied with: when it lay at an address,
// that its price was set aside before, and that what was set aside ends with it.

import type { Order, Subscription } from './rows.ts'
import { type Books, HOUSE } from './rules.ts'

/** Clocks of two processes, and what two of them do at the same moment. */
const MOMENT_MS = 60_000

/** Energy of the house lay at the address after the block `from`, to the block `to`. */
type Span = { from: number; to: number }

/** When energy of the house lay at the address of a subscription, by the blocks. */
export function layThere({ rows, branch }: Books, subscription_id: string): Span[] {
  const orders = new Set(
    rows.orders
      .filter(
        ({ customer_id, external_id }) =>
          customer_id === HOUSE && external_id?.startsWith(`${subscription_id}/`),
      )
      .map(({ id }) => id),
  )
  const attempts = Map.groupBy(rows.attempts, ({ subject }) => subject)
  const blockOf = (subject: string) =>
    (attempts.get(subject) ?? []).flatMap(
      ({ tx_id }) => branch.transactions.get(tx_id ?? '') ?? [],
    )[0]?.block_number
  return rows.delegations
    .filter(({ order_id }) => orders.has(order_id))
    .flatMap(({ id }) => {
      const from = blockOf(`delegate:${id}`)
      const to = blockOf(`reclaim:${id}`) ?? Number.POSITIVE_INFINITY
      return from === undefined ? [] : [{ from, to }]
    })
}

/** C4: what is set aside for the next transactions is numbered, of the plan's price and the
 *  customer's; what has ended was given back, and nothing is set aside for energy that is all
 *  back. */
export function nextAreHeld({ rows }: Books): string[] {
  const ends = new Map(rows.transfers.map((one) => [one.hold_id, one]))
  const by_id = new Map(rows.transfers.map((one) => [one.id, one]))
  const findings: string[] = []
  let known = 0
  for (const {
    id,
    customer_id,
    price_sun,
    holds_made,
    holds_ended,
    withdrawn,
    state,
  } of rows.subscriptions) {
    for (let number = 1; number <= holds_made; number++) {
      const hold = by_id.get(`subscription:${id}/next/${number}`)
      const end = ends.get(hold?.id ?? '')
      const fits = hold?.debit === `customer:${customer_id}` && hold.amount_sun === price_sun
      const expected = number <= holds_ended ? 'release' : undefined
      if (!fits || end?.kind !== expected)
        findings.push(
          `C4 hold ${number} of subscription ${id}: ${hold?.amount_sun} of ` +
            `${hold?.debit}, ${end?.kind}`,
        )
      known += 1
    }
    const over = withdrawn && state !== 'active' && state !== 'new' && state !== 'pending'
    if (over && holds_ended < holds_made)
      findings.push(`C4 subscription ${id} has ended and holds money`)
  }
  const all = rows.transfers.filter(
    ({ kind, id }) => kind === 'hold' && /^subscription:\w+\/next\//.test(id),
  )
  return all.length === known
    ? findings
    : [...findings, `C4 ${all.length - known} holds are of no subscription`]
}

/** Whether a transaction that the plan includes was left when the order was placed. */
function wasIncluded(
  { rows }: Books,
  { id, included }: Subscription,
  { created_at }: Order,
): boolean {
  const before_ms = created_at.getTime() - MOMENT_MS
  const used = rows.uses
    .filter((use) => use.subscription_id === id && use.used_at.getTime() < before_ms)
    .reduce((sum, { transactions }) => sum + transactions, 0)
  return used < included
}

/** Energy is supplied only when its price is set aside, or the plan includes it. */
export function suppliesArePaidFor(books: Books): string[] {
  const { rows } = books
  const by_id = new Map(rows.subscriptions.map((one) => [one.id, one]))
  const ends = new Map(rows.transfers.map((one) => [one.hold_id, one]))
  return rows.orders.flatMap((order) => {
    const subscription = by_id.get(order.external_id?.split('/')[0] ?? '')
    if (order.customer_id !== HOUSE || !subscription || subscription.price_sun === 0n) return []
    if (wasIncluded(books, subscription, order)) return []
    const at_ms = order.created_at.getTime()
    const held = rows.transfers.some(({ id, kind, made_at }) => {
      if (kind !== 'hold' || !id.startsWith(`subscription:${subscription.id}/next/`)) return false
      const end_ms = ends.get(id)?.made_at.getTime() ?? Number.POSITIVE_INFINITY
      return made_at.getTime() <= at_ms + MOMENT_MS && end_ms >= at_ms - MOMENT_MS
    })
    return held
      ? []
      : [`order ${order.id} supplies ${subscription.id}, and nothing was set aside for it`]
  })
}

/** Rules of supplies that hold at every moment. */
export const ALWAYS_OF_SUPPLIES: readonly ((books: Books) => string[])[] = [
  nextAreHeld,
  suppliesArePaidFor,
]
