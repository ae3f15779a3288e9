// C3 seen from the other side: what a customer has is what came in, less all that was sold to it,
// whatever the transfers say.

import type { Books } from './rules.ts'

type Sums = { paid: bigint; held: bigint }

/** A customer's balance and what is set aside follow from its deposits, orders, subscriptions and
 *  checks alone. */
export function customersHaveTheRest({ rows }: Books): string[] {
  const sums = new Map<string, Sums>(rows.customers.map(({ id }) => [id, { paid: 0n, held: 0n }]))
  const add = (customer_id: string, what: Partial<Sums>) => {
    const sum = sums.get(customer_id)
    if (!sum) return
    sum.paid += what.paid ?? 0n
    sum.held += what.held ?? 0n
  }
  for (const { customer_id, amount_sun, state } of rows.deposits) {
    if (customer_id !== null && state === 'credited')
      add(customer_id, { paid: -(amount_sun ?? 0n) })
  }
  const amounts = new Map(
    rows.deposits.map(({ tx_id, position, amount_sun }) => [`${tx_id} ${position}`, amount_sun]),
  )
  for (const { customer_id, tx_id, position } of rows.resolutions) {
    if (customer_id !== null)
      add(customer_id, { paid: -(amounts.get(`${tx_id} ${position}`) ?? 0n) })
  }
  for (const { customer_id, amount_sun } of rows.corrections)
    add(customer_id, { paid: -amount_sun })
  for (const { customer_id, state, amount_sun } of rows.orders) {
    if (state === 'success') add(customer_id, { paid: amount_sun })
    else if (state !== 'failed') add(customer_id, { held: amount_sun })
  }
  for (const one of rows.subscriptions) {
    const { customer_id, state, total_sun, price_sun, holds_made, holds_ended } = one
    add(customer_id, { held: BigInt(holds_made - holds_ended) * price_sun })
    // Of one that was stopped before it was active the start stays held until nothing can come.
    const stopped_early = state === 'stopped' && one.started_at === null
    if (state === 'new' || state === 'pending' || stopped_early)
      add(customer_id, { held: total_sun })
    else if (state !== 'error') add(customer_id, { paid: total_sun })
  }
  for (const { customer_id, state, price_sun } of rows.checks) {
    if (state === 'completed') add(customer_id, { paid: price_sun })
    else if (state !== 'failed') add(customer_id, { held: price_sun })
  }
  const accounts = new Map(rows.accounts.map((one) => [one.id, one]))
  return [...sums].flatMap(([id, { paid, held }]) => {
    const { posted_sun = 0n, held_sun = 0n } = accounts.get(`customer:${id}`) ?? {}
    const fits = posted_sun === -paid && held_sun === held
    return fits
      ? []
      : [
          `C3 customer ${id} has ${posted_sun}, held ${held_sun}; ` +
            `what it bought says ${-paid} and ${held}`,
        ]
  })
}
