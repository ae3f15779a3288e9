// Money for the transactions to come. Before an address is supplied, the price of each transaction
// that the energy is for and that the plan does not include is held; a use gives one hold back and
// pays with it in the same transaction, and what is still held when all energy has been taken back
// is the customer's again. Holds are numbered, and end in that order.

import { customerAccount, lockAccounts, release } from '../../ledger/accounts/ledger.ts'
import { holdPrices } from '../../people/customers/purse.ts'
import { addSpending, noteRefusedByCap, spentBy } from '../../people/customers/spending.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { Subscription } from './subscriptions.ts'

const nextHoldOf = (subscription_id: string, number: number) =>
  `subscription:${subscription_id}/next/${number}`

/** What says how many transactions are paid for that have not come yet. */
export type Cover = Pick<Subscription, 'transactions_used' | 'holds_made' | 'holds_ended'> & {
  included: number
  price_sun: bigint
}

export const openHolds = ({ holds_made, holds_ended }: Cover): number => holds_made - holds_ended

/** How many transactions can still come that the plan includes or for which money is held. */
export const coveredOf = (cover: Cover): number =>
  Math.max(0, cover.included - cover.transactions_used) + openHolds(cover)

/** How many holds are missing before energy for so many transactions may lie at the address. */
export const missingHolds = (cover: Cover, transactions: number): number =>
  cover.price_sun === 0n ? 0 : Math.max(0, transactions - coveredOf(cover))

/** `held`: nothing is missing any more. Otherwise nothing was held: the balance is too low, or the
 *  daily cap of the key that started the subscription would be passed, or it does not run. */
export type HoldOutcome = 'held' | 'unpayable' | 'capped' | 'ended'

type Payer = Cover & Pick<Subscription, 'key_id'> & { daily_cap_sun: bigint | null }

/** Holds what is missing before energy for so many transactions may lie at the address: all of it
 *  or nothing. */
export async function holdNext(
  tx: Tx,
  { id, customer_id }: Pick<Subscription, 'id' | 'customer_id'>,
  { transactions, now }: { transactions: number; now: Date },
): Promise<HoldOutcome> {
  const account = customerAccount(customer_id)
  const free_sun = (await lockAccounts(tx, [account])).get(account) ?? 0n
  const [payer] = await tx<Payer>`
    select s.transactions_used, s.holds_made, s.holds_ended, s.key_id, plan.included,
      plan.price_sun,
           api_key.daily_cap_sun
    from subscription as s join plan on plan.id = plan_id left join api_key on api_key.id = key_id
    where s.id = ${id} and s.state in ('new', 'pending', 'active') for update of s`
  if (!payer) return 'ended'
  const count = missingHolds(payer, transactions)
  if (count === 0) return 'held'
  const { price_sun, key_id, holds_made } = payer
  const sun = BigInt(count) * price_sun
  if (free_sun < sun) return 'unpayable'
  if (sun > (await leftOfCap(tx, payer, now))) {
    if (key_id !== null) noteRefusedByCap(tx, [key_id], now)
    return 'capped'
  }
  const numbers = Array.from({ length: count }, (_, i) => holds_made + 1 + i)
  const prices = numbers.map((number) => ({
    hold_id: nextHoldOf(id, number),
    customer_id,
    key_id,
    price_sun,
  }))
  holdPrices(tx, prices, now)
  tx.send`
    update subscription set holds_made = holds_made + ${count}, withdrawn = false where id = ${id}`
  return 'held'
}

/** What the key may still spend today; more than anybody has when it has no cap. */
export async function leftOfCap(
  tx: Tx,
  { key_id, daily_cap_sun }: Pick<Payer, 'key_id' | 'daily_cap_sun'>,
  now: Date,
): Promise<bigint> {
  if (key_id === null || daily_cap_sun === null) return 2n ** 62n
  return daily_cap_sun - (await spentBy(tx, key_id, now))
}

/** Gives the oldest open holds back, so many of them; nor do they count as spent any more. The
 *  caller has locked the customer's account and the subscription. */
export async function releaseHolds(
  tx: Tx,
  { id, key_id, holds_ended }: Pick<Subscription, 'id' | 'key_id' | 'holds_ended'>,
  { count, now }: { count: number; now: Date },
): Promise<void> {
  if (count === 0) return
  const ids = Array.from({ length: count }, (_, i) => nextHoldOf(id, holds_ended + 1 + i))
  for (const hold_id of ids) await release(tx, hold_id, now)
  await tx`update subscription set holds_ended = holds_ended + ${count} where id = ${id}`
  if (key_id === null) return
  const held = await tx<{ amount_sun: bigint; made_at: Date }>`
    select amount_sun, made_at from transfer where id = any(${ids}) order by made_at, id`
  for (const { amount_sun, made_at } of held) {
    addSpending(tx, key_id, { sun: -amount_sun, at: made_at })
  }
}
