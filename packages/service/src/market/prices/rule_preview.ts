// The last orders of a resource, of a month at most, at the prices of a rule that is not in force:
// asked before one is set. How full the pool was at each order is worked out from what was
// delegated then, as if the pool had been as large as it is now.

import type { Resource } from '../../chain/node/node.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { unitCostOf } from '../pool/costs.ts'
import { poolRows } from '../pool/figures.ts'
import { type FullStep, floorOf, type NewRule, raiseAt } from './price_rules.ts'
import { charge } from './prices.ts'
import { baseOf, type PriceRow, tiersOf } from './tiers.ts'

const ORDERS = 1_000
/** No older ones: all orders of a resource that is seldom sold would be read. */
const ORDERS_MS = 31 * 86_400_000
const COST_HOURS = 24
/** A delegation that was out at a moment was asked for no longer before. */
const OUT_MS_MAX = 86_400_000

export type RulePreview = {
  cost_1000_sun: bigint
  /** Null: no floor is wanted, or no cost is known. */
  floor_1000_sun: bigint | null
  orders: number
  units: bigint
  since: Date | null
  /** At the prices that were set, with the floor alone, with the steps alone, and with both. */
  base_sun: bigint
  with_floor_sun: bigint
  with_steps_sun: bigint
  with_both_sun: bigint
  /** Orders that the floor would have raised. */
  below_floor: number
  steps: (FullStep & { orders: number })[]
}

type Sold = { amount: bigint; created_at: Date; out: bigint }

export async function previewRule(sql: Sql, wanted: NewRule, now: Date): Promise<RulePreview> {
  const { resource, margin_percent, steps } = wanted
  const { cost_sun } = await unitCostOf(sql, resource, { now, hours: COST_HOURS })
  const floor_sun = margin_percent === null ? null : floorOf(cost_sun, margin_percent)
  const tiers = await tiersOf(sql, resource)
  const pool = (await poolRows(sql)).find((one) => one.resource === resource)
  const whole = pool ? pool.out + pool.room : 0n
  const all = await lastSold(sql, resource, now)
  const sold = all.flatMap((one) => {
    const tier = tierOf(tiers, one.amount)
    const full_percent = whole > 0n ? Number((100n * one.out) / whole) : 0
    return tier ? [{ ...one, base: baseOf(tier), full_percent }] : []
  })
  const sumAt = (floor: bigint | null, at: readonly FullStep[]) =>
    sold.reduce((sum, { amount, base, full_percent }) => {
      const raised = (base * BigInt(100 + raiseAt(at, full_percent)) + 99n) / 100n
      return sum + charge(floor !== null && floor > raised ? floor : raised, amount)
    }, 0n)
  return {
    cost_1000_sun: cost_sun,
    floor_1000_sun: floor_sun,
    orders: sold.length,
    units: sold.reduce((sum, { amount }) => sum + amount, 0n),
    since: sold.at(-1)?.created_at ?? null,
    base_sun: sumAt(null, []),
    with_floor_sun: sumAt(floor_sun, []),
    with_steps_sun: sumAt(null, steps),
    with_both_sun: sumAt(floor_sun, steps),
    below_floor: sold.filter(({ base }) => floor_sun !== null && base < floor_sun).length,
    steps: steps.map((step) => ({
      ...step,
      orders: sold.filter(
        ({ full_percent }) =>
          raiseAt(steps, full_percent) === step.raise_percent && full_percent >= step.full_percent,
      ).length,
    })),
  }
}

const tierOf = (tiers: readonly PriceRow[], amount: bigint): PriceRow | undefined =>
  tiers.find(({ min_amount, max_amount }) => min_amount <= amount && amount <= max_amount)

/** The newest first, with what of the pool was out when each was placed. Supplies of subscriptions
 *  are paid by their plans. */
async function lastSold(sql: Sql, resource: Resource, now: Date): Promise<Sold[]> {
  const orders = await sql<{ id: string; amount: bigint; created_at: Date }>`
    select id, case ${resource} when 'energy' then energy else bandwidth end as amount, created_at
    from orders
    where id >= ${firstIdAt(new Date(now.getTime() - ORDERS_MS))} and state <> 'failed'
      and customer_id <> ${SUBSCRIPTIONS}
      and case ${resource} when 'energy' then energy else bandwidth end > 0
    order by id desc limit ${ORDERS}`
  const first = orders.at(-1)
  if (!first) return []
  const from = firstIdAt(new Date(first.created_at.getTime() - OUT_MS_MAX))
  const out = await sql<{ id: string; out: bigint }>`
    with change as (
      select delegated_at as at, amount, null as order_id from delegation
      where id >= ${from} and resource = ${resource} and delegated_at is not null
      union all
      select reclaimed_at, -amount, null from delegation
      where id >= ${from} and resource = ${resource} and reclaimed_at is not null
      union all
      select placed.at, 0, placed.id
      from unnest(${orders.map(({ id }) => id)}::text[],
                  ${orders.map(({ created_at }) => created_at)}::timestamptz[]) as placed (id, at)
    ), course as (
      select order_id, sum(amount) over (order by at, order_id nulls first) as out from change
    )
    select order_id as id, out::bigint as out from course where order_id is not null`
  const by_id = new Map(out.map((one) => [one.id, one.out]))
  return orders.map(({ id, ...order }) => ({ ...order, out: by_id.get(id) ?? 0n }))
}
