// What a transaction of a subscribed address counts as, and what it costs: what the plan says, and
// never more than the same energy by orders. What was paid at the start is used up first: nothing
// more is charged than the energy used so far would have cost by orders.

import type { StoredBlock } from '../../chain/follow/blocks.ts'
import type { EnergyUse } from '../../chain/follow/contents.ts'
import { least } from '../../lib/json.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { leastPriceOf, type Prices } from '../prices/prices.ts'

/** What says what a next use counts as and costs. */
export type UseTerms = {
  transactions_used: number
  energy_per_transaction: number
  included: number
  price_sun: bigint
  activation_fee_sun: bigint
  /** Charged so far, the start included. */
  total_sun: bigint
  /** What the energy used so far would have cost by orders. */
  by_orders_sun: bigint
}

/** `priced`: how many of the transactions are beyond what the plan includes. */
export type CountedUse = { energy: bigint; transactions: number; priced: number }

/** What is less than this part of the energy of one, and of what the transaction took, is a rest
 *  that lay there: the transaction was burnt. */
const REST_PARTS = 10n

/** `energy`: what ours paid of the energy of the transaction.
 *
 *  A use counts one up to the energy of one transaction. Above it a hundredth is not looked at: a
 *  transfer to a new holder, of 130,285, is two and not three. */
export function countUse(
  served: UseTerms,
  { energy, of_energy }: { energy: bigint; of_energy: bigint },
): CountedUse {
  const { transactions_used, included, price_sun } = served
  const whole = BigInt(served.energy_per_transaction)
  const above = Number((energy * 99n + 100n * whole - 1n) / (100n * whole))
  const rest = energy * REST_PARTS < whole && energy * REST_PARTS < of_energy
  const transactions = energy === 0n || rest ? 0 : energy <= whole ? 1 : above
  const beyond = (used: number) => Math.max(0, used - included)
  const priced = beyond(transactions_used + transactions) - beyond(transactions_used)
  return { energy, transactions, priced: price_sun === 0n ? 0 : priced }
}

/** `due_sun`: what it costs. While no energy is on sale, that is what the plan says. */
export function countUseSun(
  served: UseTerms,
  prices: Prices,
  { energy, transactions, priced }: CountedUse,
): { due_sun: bigint; by_orders_sun: bigint } {
  const { price_sun, activation_fee_sun, total_sun } = served
  const plan_sun = BigInt(priced) * price_sun
  if (transactions === 0) return { due_sun: 0n, by_orders_sun: 0n }
  const by_orders_sun = leastPriceOf(prices, energy)
  if (by_orders_sun === undefined) return { due_sun: plan_sun, by_orders_sun: plan_sun }
  const unused_sun = total_sun - activation_fee_sun - served.by_orders_sun
  const left_sun = by_orders_sun - unused_sun
  return { due_sun: left_sun <= 0n ? 0n : least(plan_sun, by_orders_sun, left_sun), by_orders_sun }
}

/** What of the energy was not ours: what the address had beside it when it was last looked at, less
 *  what earlier uses have taken of that and a day has not brought back yet. */
export async function ownEnergyOf(
  tx: Tx,
  { id, own_energy }: { id: string; own_energy: bigint },
  { staked }: Pick<EnergyUse, 'staked'>,
  { time }: Pick<StoredBlock, 'time'>,
): Promise<bigint> {
  if (own_energy === 0n) return 0n
  const [taken] = await tx<{ energy: bigint }>`
    select coalesce(sum(u.own_energy * greatest(0, least(1,
      1 - extract(epoch from ${time}::timestamptz - coalesce(b.time, used_at)) / 86400
      ))), 0)::bigint
      as energy
    from subscription_use as u left join block as b on b.number = u.block_number
    where subscription_id = ${id} and u.own_energy > 0
      and coalesce(b.time, used_at) > ${time}::timestamptz - interval '1 day'`
  const left = own_energy - (taken?.energy ?? 0n)
  return left <= 0n ? 0n : left < staked ? left : staked
}

/** Its limit is reached. The plan's own limit lets it go on while the energy used would have cost
 *  less by orders than what was paid for it before. */
export function isUsedUp(
  served: UseTerms & { plan_transactions_limit: number; initial_price_sun: bigint },
  use: { limit: number; transactions: number; by_orders_sun: bigint },
): boolean {
  const { transactions_used, plan_transactions_limit, initial_price_sun } = served
  if (use.limit === 0 || transactions_used + use.transactions < use.limit) return false
  const narrowed = use.limit < plan_transactions_limit || plan_transactions_limit === 0
  return narrowed || served.by_orders_sun + use.by_orders_sun >= initial_price_sun
}
