// What subscribed addresses use: reads blocks, counts and charges each transaction that used
// energy, and makes the next look at the address due.
//
// A transaction is charged when our energy lay at its address: its block came after one with a
// supply, and not after the one that took the last of them back, whether the subscription has ended
// meanwhile or not, whenever it is read, and once, whatever is read how often. After the end only
// what is held or included pays: nothing else was supplied. Blocks are read at the head, so that
// the next energy comes within a block; a use that a fork took away is given back when the block
// that has it no more is solid. A use of an address that rests wakes it.

import { blocksAt, type StoredBlock } from '../chain/blocks.ts'
import type { EnergyUse } from '../chain/contents.ts'
import { readBlocks } from '../chain/cursors.ts'
import { addSpending, noteRefusedByCap } from '../customers/spending.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { customerAccount, lockAccounts, move, REVENUE, spendable } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import { money } from '../lib/json.ts'
import type { Step } from '../steps/step.ts'
import { SUBSCRIPTION_COLUMNS } from './forms.ts'
import { coveredOf, leftOfCap, openHolds, releaseHolds } from './holds.ts'
import {
  activateSubscriptions,
  endSubscriptions,
  narrower,
  noteLostSupplies,
  noteSubscriptions,
  payStoppedStart,
  type Subscription,
} from './subscriptions.ts'
import { nextDay } from './supply.ts'

export type Needs = { sql: Sql; clock: Clock }

const AT_ONCE = 100

export function useStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'use',
    rest_ms: 3_000,
    after: ['follow', 'confirm'],
    before: ['publish'],
    async run() {
      const reader = { name: 'subscriptions', side: 'head' } as const
      const read = await readBlocks(sql, reader, (tx, blocks) => noteUses(tx, needs.clock, blocks))
      if (read) return true
      const open = await sql`select from subscription_use where not solid limit 1`
      return open.length > 0 && sql.begin((tx) => confirmUses(tx, needs.clock))
    },
  }
}

type SubscribedAddress = { id: string; customer_id: string; address: string }

async function noteUses(tx: Tx, clock: Clock, blocks: StoredBlock[]): Promise<void> {
  const owners = new Set(
    blocks.flatMap(({ contents }) => contents.energy_uses.map((use) => use.owner)),
  )
  const subscribed = await tx<SubscribedAddress>`
    select id, customer_id, address from subscription where address = any(${[...owners]})
      and state in ('pending', 'active')
    union all
    select id, customer_id, address from subscription
    where address = any(${[...owners]}) and state in ('stopped', 'expired') and not withdrawn`
  if (subscribed.length === 0) return
  await noteLostSupplies(
    tx,
    subscribed.map(({ id }) => id),
  )
  // All accounts at once, in the order of their ids: one by one could deadlock with a purchase.
  await lockAccounts(tx, [...new Set(subscribed.map((one) => customerAccount(one.customer_id)))])
  const by_address = Map.groupBy(subscribed, (one) => one.address)
  for (const block of blocks) {
    for (const use of block.contents.energy_uses) {
      for (const { id } of by_address.get(use.owner) ?? [])
        await noteUse(tx, clock, { id, use, block })
    }
  }
}

type ServedSubscription = Subscription & {
  energy_per_transaction: number
  plan_transactions_limit: number
  included: number
  price_sun: bigint
  daily_cap_sun: bigint | null
  /** Whether energy of ours lay at the address in the block. */
  supplied: boolean
}

/** The subscription, when it had begun. */
async function findServed(
  tx: Tx,
  id: string,
  block: StoredBlock,
): Promise<ServedSubscription | undefined> {
  tx.send`select 1 from subscription where id = ${id} for update`
  const [served] = await tx<ServedSubscription>`
    select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.energy_per_transaction,
      plan.transactions_limit as plan_transactions_limit,
           plan.included, plan.price_sun, api_key.daily_cap_sun,
           was_supplied(s.id, ${block.number}) as supplied
    from subscription as s join plan on plan.id = plan_id join orders as o on o.id = s.order_id
      left join api_key on api_key.id = s.key_id
    where s.id = ${id} and s.state in ('pending', 'active', 'stopped', 'expired')
      and (s.state <> 'pending' or (not o.to_delegate and not exists (
        select 1 from delegation as d join attempt as a on a.id = d.attempt_id
        where d.order_id = o.id and d.state <> 'failed' and a.block_number is null)))`
  return served
}

type UseInBlock = { id: string; use: EnergyUse; block: StoredBlock }

/** Counts and charges one transaction, once. */
async function noteUse(tx: Tx, clock: Clock, { id, use, block }: UseInBlock): Promise<void> {
  const { tx_id, energy } = use
  const served = await findServed(tx, id, block)
  if (!served?.supplied) return served && wake(tx, clock, { served, energy })
  const again = await tx`
    update subscription_use set block_number = ${block.number}
    where subscription_id = ${id} and tx_id = ${tx_id} returning 1`
  if (again.length > 0) return
  const ended = served.stopped_at !== null && served.stopped_at <= block.time
  const limit = narrower(served.transactions_limit, served.plan_transactions_limit)
  const before_limit =
    limit === 0 ? coveredOf(served) : Math.min(coveredOf(served), limit - served.transactions_used)
  if (ended && before_limit <= 0) return
  const { state, started_at } = served
  const unbegun = state === 'stopped' && started_at === null
  if (unbegun && !(await payStoppedStart(tx, id, clock.now()))) return
  // The service sees the first supply and the first use together.
  if (state === 'pending') await activateSubscriptions(tx, [id], clock.now())
  const now = clock.now()
  const { transactions, priced } = countUse(served, energy)
  const { paid, short } = await charge(tx, { served, tx_id, block, priced, ended, now })
  const charged_sun = BigInt(paid) * served.price_sun
  tx.send`
    insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun,
      used_at, block_number)
    values (${id}, ${tx_id}, ${energy}, ${transactions}, ${charged_sun}, ${now}, ${block.number})`
  tx.send`
    update subscription set transactions_used = transactions_used + ${transactions},
      energy_used = energy_used + ${energy},
      total_sun = total_sun + ${charged_sun}, look_at = ${now}, idle_since = ${now},
      resting = case when resting = 'idle' then null else resting end,
      withdrawn = withdrawn and resting is distinct from 'idle'
    where id = ${id}`
  const { customer_id } = served
  const detail = {
    use: { tx_id, energy: Number(energy), transactions, charged: money(charged_sun) },
  }
  await noteSubscriptions(tx, 'subscription.used', [{ id, customer_id }], { at: now, detail })
  if (short === 'cap') restAtCap(tx, id, now)
  const used_up = limit > 0 && served.transactions_used + transactions >= limit
  const end = short === 'balance' ? 'stopped' : used_up ? 'expired' : null
  const reason =
    short === 'balance' ? 'a transaction could not be paid' : 'its transactions are used up'
  if (end === null || ended) return
  if (served.stopped_at === null) {
    await endSubscriptions(tx, [{ id, customer_id, state: end, reason, at: block.time }])
  } else {
    // It was stopped later, before this block was read: it ended here all the same, and nothing
    // after it is served.
    tx.send`update subscription set stopped_at = ${block.time} where id = ${id}`
  }
}

/** A transaction that we supplied nothing for costs nothing, and wakes an address that rests
 *  because it was idle. A small one does not: it would buy an hour of supply for next to
 *  nothing. */
async function wake(
  tx: Tx,
  clock: Clock,
  { served, energy }: { served: ServedSubscription; energy: bigint },
): Promise<void> {
  if (served.resting !== 'idle' || energy * 2n < BigInt(served.energy_per_transaction)) return
  const now = clock.now()
  await tx`
    update subscription set resting = null, withdrawn = false, idle_since = ${now}, look_at = ${now}
    where id = ${served.id} and state = 'active'`
}

/** The cap of its key leaves nothing for the next transaction: it is not supplied before the next
 *  day. */
function restAtCap(tx: Tx, id: string, now: Date): void {
  tx.send`
    update subscription set resting = 'daily_cap', look_at = ${nextDay(now)}, withdrawn = false,
      rested_at = case when resting is null then ${now} else rested_at end
    where id = ${id} and state = 'active'`
}

/** How many transactions a use counts as, and how many of them are beyond what the plan
 *  includes. */
function countUse(
  served: ServedSubscription,
  energy: bigint,
): { transactions: number; priced: number } {
  const { transactions_used, included, energy_per_transaction, price_sun } = served
  const per_transaction = BigInt(energy_per_transaction)
  const transactions = Number((energy + per_transaction - 1n) / per_transaction)
  const beyond = (used: number) => Math.max(0, used - included)
  const priced = beyond(transactions_used + transactions) - beyond(transactions_used)
  return { transactions, priced: price_sun === 0n ? 0 : priced }
}

type Charge = {
  served: ServedSubscription
  tx_id: string
  block: StoredBlock
  priced: number
  ended: boolean
  now: Date
}

/** Takes the price of so many transactions: what was held for them, and what is missing from the
 *  balance, as far as that and the cap of the key go. Says how many are paid, and what fell short.
 *  After the end only what was held is taken. */
async function charge(
  tx: Tx,
  charging: Charge,
): Promise<{ paid: number; short: 'balance' | 'cap' | null }> {
  const { served, tx_id, block, priced, ended, now } = charging
  const { id, customer_id, key_id, price_sun } = served
  if (priced === 0) return { paid: 0, short: null }
  const account = customerAccount(customer_id)
  const held = Math.min(priced, openHolds(served))
  await releaseHolds(tx, served, { count: held, now })
  let paid = held
  let short: 'balance' | 'cap' | null = null
  if (priced > held && !ended) {
    const [free_sun = 0n, cap_sun] = await Promise.all([
      spendable(tx, account),
      leftOfCap(tx, served, now),
    ])
    const [payable, allowed] = [Number(free_sun / price_sun), Number(cap_sun / price_sun)]
    paid = Math.max(held, Math.min(priced, payable, allowed))
    if (paid < priced) short = payable < priced ? 'balance' : 'cap'
    if (short === 'cap' && key_id !== null) noteRefusedByCap(tx, [key_id], now)
  }
  if (paid === 0) return { paid, short }
  const sun = BigInt(paid) * price_sun
  await move(tx, {
    id: chargeOf(id, tx_id, block.number),
    debit: account,
    credit: REVENUE,
    amount_sun: sun,
    made_at: now,
  })
  if (key_id !== null) addSpending(tx, key_id, { sun, at: now })
  return { paid, short }
}

const chargeOf = (id: string, tx_id: string, block_number: bigint | number) =>
  `subscription:${id}/${tx_id}/${block_number}`

type NotedUse = {
  subscription_id: string
  customer_id: string
  key_id: string | null
  tx_id: string
  energy: bigint
  transactions: number
  charged_sun: bigint
  used_at: Date
  block_number: bigint
  /** Whether energy of ours lay there, on the branch that stays. */
  supplied: boolean
}

/** Looks at uses whose blocks are solid now: those that are there stay, those that a fork took away
 *  are given back. */
async function confirmUses(tx: Tx, clock: Clock): Promise<boolean> {
  const noted = await tx<NotedUse>`
    select u.subscription_id, s.customer_id, s.key_id, u.tx_id, u.energy, u.transactions,
      u.charged_sun, u.used_at, u.block_number,
      was_supplied(s.id, u.block_number) as supplied
    from subscription_use as u join subscription as s on s.id = subscription_id, cursor
    where not solid and block_number <= (select confirmed_number from chain)
      and cursor.name = 'subscriptions' and block_number <= cursor.number
    order by block_number limit ${AT_ONCE} for update of cursor, u skip locked`
  if (noted.length === 0) return false
  const blocks = await blocksAt(
    tx,
    noted.map((one) => one.block_number),
  )
  const kept = new Map(blocks.map(({ number, contents }) => [number, contents.energy_uses]))
  const gone = noted.filter(
    ({ block_number, tx_id, supplied }) =>
      !supplied || kept.get(Number(block_number))?.some((use) => use.tx_id === tx_id) === false,
  )
  await lockAccounts(tx, [...new Set(gone.map((one) => customerAccount(one.customer_id)))])
  for (const one of gone) await takeBack(tx, clock, one)
  const last_gone = new Map(gone.map((one) => [one.subscription_id, one]))
  for (const one of last_gone.values()) await giveBackCovered(tx, clock, one)
  const rows = noted.filter((one) => !gone.includes(one))
  await tx`
    update subscription_use as u set solid = true
    from unnest(${rows.map((one) => one.subscription_id)}::text[],
                ${rows.map((one) => one.tx_id)}::text[]) as t (id, tx_id)
    where u.subscription_id = t.id and u.tx_id = t.tx_id`
  return true
}

async function takeBack(tx: Tx, clock: Clock, use: NotedUse): Promise<void> {
  const {
    subscription_id,
    customer_id,
    key_id,
    tx_id,
    energy,
    transactions,
    charged_sun,
    block_number,
  } = use
  if (charged_sun > 0n) {
    await move(tx, {
      id: `${chargeOf(subscription_id, tx_id, block_number)}/back`,
      debit: REVENUE,
      credit: customerAccount(customer_id),
      amount_sun: charged_sun,
      made_at: clock.now(),
    })
    if (key_id !== null) addSpending(tx, key_id, { sun: -charged_sun, at: use.used_at })
  }
  await tx`
    update subscription set transactions_used = transactions_used - ${transactions},
      energy_used = energy_used - ${energy},
      total_sun = total_sun - ${charged_sun}
    where id = ${subscription_id}`
  await tx`
    delete from subscription_use where subscription_id = ${subscription_id} and tx_id = ${tx_id}`
}

type ChargedUse = Pick<NotedUse, 'tx_id' | 'block_number' | 'charged_sun' | 'used_at'> & {
  surplus_sun: bigint
}

/** What was charged because the plan's included transactions were used up, by one that is gone: now
 *  they cover others, the earliest first. */
async function giveBackCovered(tx: Tx, clock: Clock, gone: NotedUse): Promise<void> {
  const { subscription_id, customer_id, key_id } = gone
  const charged = await tx<ChargedUse>`
    select tx_id, block_number, charged_sun, used_at,
      (sum(charged_sun) over () - greatest(0,
        s.transactions_used - plan.included) * plan.price_sun)::bigint as surplus_sun
    from subscription_use join subscription as s on s.id = subscription_id join plan
      on plan.id = plan_id
    where s.id = ${subscription_id} and charged_sun > 0 order by block_number, tx_id`
  let surplus_sun = charged[0]?.surplus_sun ?? 0n
  for (const { tx_id, block_number, charged_sun, used_at } of charged) {
    if (surplus_sun <= 0n) return
    const amount_sun = charged_sun < surplus_sun ? charged_sun : surplus_sun
    surplus_sun -= amount_sun
    const charge = chargeOf(subscription_id, tx_id, block_number)
    const id = `${charge}/covered/${gone.tx_id}/${gone.block_number}`
    await move(tx, {
      id,
      debit: REVENUE,
      credit: customerAccount(customer_id),
      amount_sun,
      made_at: clock.now(),
    })
    if (key_id !== null) addSpending(tx, key_id, { sun: -amount_sun, at: used_at })
    await tx`
      update subscription_use set charged_sun = charged_sun - ${amount_sun}
      where subscription_id = ${subscription_id} and tx_id = ${tx_id}`
    await tx`
      update subscription set total_sun = total_sun - ${amount_sun} where id = ${subscription_id}`
  }
}
