// What the orders of a while would have cost at other prices: asked before a price is changed.

import type { Resource } from '../../chain/node/node.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { NewTier } from './forms.ts'
import { charge } from './prices.ts'
import { planTiers, ruledTiers, tiersOf } from './tiers.ts'

/** What was ordered within one tier, and what it costs at the tiers in force and at the others. */
export type RepricedTier = {
  min_amount: bigint
  max_amount: bigint
  /** Of 1000 units; null: such an amount is not sold. */
  price_sun_before: bigint | null
  price_sun_after: bigint | null
  orders: bigint
  units: bigint
  before_sun: bigint
  after_sun: bigint
}

type Amount = { amount: bigint; orders: bigint }

/** Orders since a moment that did not fail, at the tiers in force and at those there would be, by
 *  tier; without the supplies of subscriptions, which are paid by their plans. Amounts that one of
 *  the two does not sell count nothing there. Throws Misuse when two tiers would answer for one
 *  amount. */
export async function repriceOrders(
  sql: Sql,
  wanted: { resource: Resource; tiers: readonly NewTier[]; replace: boolean; since: Date },
): Promise<RepricedTier[]> {
  const { resource, since } = wanted
  const before = await tiersOf(sql, resource)
  const { fresh, staying } = planTiers(before, wanted)
  const after: NewTier[] = [...(await ruledTiers(sql, resource, fresh)), ...staying]
  const amounts = await sql<Amount>`
    select amount, count(*) as orders from (
      select case when ${resource} = 'energy' then energy else bandwidth end as amount from orders
      where id >= ${firstIdAt(since)} and state <> 'failed' and customer_id <> ${SUBSCRIPTIONS}
    ) as sold
    where amount > 0 group by amount order by amount`
  return rangesOf(before, after).map((range) => {
    const tierOf = (tiers: readonly NewTier[]) =>
      tiers.find((one) => one.min_amount <= range.min_amount && range.max_amount <= one.max_amount)
    const [old, fresh_tier] = [tierOf(before), tierOf(after)]
    const within = amounts.filter(
      ({ amount }) => amount >= range.min_amount && amount <= range.max_amount,
    )
    const sumOf = (tier: NewTier | undefined) =>
      sum(within, ({ amount, orders }) => (tier ? orders * charge(tier.price_sun, amount) : 0n))
    return {
      ...range,
      price_sun_before: old?.price_sun ?? null,
      price_sun_after: fresh_tier?.price_sun ?? null,
      orders: sum(within, ({ orders }) => orders),
      units: sum(within, ({ amount, orders }) => amount * orders),
      before_sun: sumOf(old),
      after_sun: sumOf(fresh_tier),
    }
  })
}

type Range = Pick<NewTier, 'min_amount' | 'max_amount'>

/** The ranges within which neither list of tiers changes its price, and that one of them sells. */
function rangesOf(before: readonly Range[], after: readonly Range[]): Range[] {
  const all = [...before, ...after]
  const starts = new Set(all.flatMap(({ min_amount, max_amount }) => [min_amount, max_amount + 1n]))
  const sorted = [...starts].toSorted((a, b) => (a < b ? -1 : 1))
  return sorted.flatMap((min_amount, i) => {
    const next = sorted[i + 1]
    if (next === undefined) return []
    const range = { min_amount, max_amount: next - 1n }
    const is_sold = all.some(
      (one) => one.min_amount <= range.min_amount && range.max_amount <= one.max_amount,
    )
    return is_sold ? [range] : []
  })
}

const sum = <Row>(rows: readonly Row[], of: (row: Row) => bigint): bigint =>
  rows.reduce((total, row) => total + of(row), 0n)
