// What subscribed addresses use: reads blocks, counts and charges each transaction that used
// energy, and makes the next look at the address due.
//
// A transaction counts one up to the energy of one, more above it (charges.ts), and only what our
// energy paid of it. It is charged when our energy lay at its address: its block came after one
// with a supply, and not after the one that took the last of them back, whether the subscription
// has ended meanwhile or not, whenever it is read, and once, whatever is read how often. After the
// end only what is held or included pays: nothing else was supplied. Blocks are read at the head,
// so that the next energy comes within a block; a use that a fork took away is given back when the
// block that has it no more is solid. A use of an address that rests wakes it.

import { blocksAt, type StoredBlock } from '../../chain/follow/blocks.ts'
import type { EnergyUse } from '../../chain/follow/contents.ts'
import {
  type BlockReader,
  isBehind,
  type ReadStep,
  readBlocks,
} from '../../chain/follow/cursors.ts'
import {
  customerAccount,
  lockAccounts,
  move,
  REVENUE,
  spendable,
} from '../../ledger/accounts/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import { addSpending, noteRefusedByCap } from '../../people/customers/spending.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type Prices, readPrices } from '../prices/prices.ts'
import { countUse, countUseSun, isUsedUp, ownEnergyOf } from './charges.ts'
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

/** Reads blocks of the head: counts and charges what subscribed addresses have sent. */
export function useStep(needs: Needs): ReadStep {
  const reads: BlockReader = {
    name: 'subscriptions',
    side: 'head',
    work: (tx, blocks) => noteUses(tx, nowOf(tx, needs), blocks),
  }
  return {
    name: 'use',
    rest_ms: 3_000,
    due: (sql) => isBehind(sql, reads),
    duty: 'blocks',
    after: ['follow'],
    before: ['publish'],
    reads,
    run: () => readBlocks(needs.sql, reads, reads.work),
  }
}

/** Looks at uses again when their blocks are confirmed. */
export function confirmUsesStep(needs: Needs): Step {
  return {
    name: 'confirm_uses',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from subscription_use, chain, cursor
      where not solid and cursor.name = 'subscriptions'
        and block_number <= least(confirmed_number, cursor.number)`,
    after: ['use', 'follow', 'confirm'],
    before: ['publish'],
    run: () => needs.sql.begin((tx) => confirmUses(tx, nowOf(tx, needs))),
  }
}

type SubscribedAddress = { id: string; customer_id: string; address: string }

/** `prices`: read at the first use that is charged. */
type Now = { clock: Clock; prices: () => Promise<Prices> }

function nowOf(tx: Tx, { clock }: Needs): Now {
  let prices: Promise<Prices> | undefined
  return { clock, prices: () => (prices ??= readPrices(tx)) }
}

async function noteUses(tx: Tx, known: Now, blocks: StoredBlock[]): Promise<void> {
  const owners = new Set(
    blocks.flatMap(({ contents }) => contents.energy_uses.map((use) => use.owner)),
  )
  if (owners.size === 0) return
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
        await noteUse(tx, known, { id, use, block })
    }
  }
}

type ServedSubscription = Subscription & {
  energy_per_transaction: number
  plan_transactions_limit: number
  included: number
  initial_price_sun: bigint
  activation_fee_sun: bigint
  price_sun: bigint
  own_energy: bigint
  by_orders_sun: bigint
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
           plan.included, plan.price_sun, plan.initial_price_sun, plan.activation_fee_sun,
           s.own_energy, s.by_orders_sun, api_key.daily_cap_sun,
           was_supplied(s.id, ${block.number}) as supplied
    from subscription as s join plan on plan.id = plan_id join orders as o on o.id = s.order_id
      left join api_key on api_key.id = s.key_id
    where s.id = ${id} and s.state in ('pending', 'active', 'stopped', 'expired')
      and (s.state <> 'pending' or (not o.to_delegate and not exists (
        select 1 from delegation as d join attempt as a on a.id = d.attempt_id
        where d.order_id = o.id and d.state <> 'failed' and a.block_number is null)))`
  return served
}

/** `corrected`: it was counted in another block, where it took other energy. */
type UseInBlock = { id: string; use: EnergyUse; block: StoredBlock; corrected?: boolean }

/** Counts and charges one transaction, once. */
async function noteUse(
  tx: Tx,
  { clock, prices }: Now,
  { id, use, block, corrected = false }: UseInBlock,
): Promise<void> {
  const { tx_id } = use
  const served = await findServed(tx, id, block)
  if (!served?.supplied || use.staked === 0n)
    return served && wake(tx, { served, use, block, clock })
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
  const own_energy = await ownEnergyOf(tx, served, use, block)
  const counted = countUse(served, {
    energy: use.staked - own_energy,
    of_energy: use.energy,
  })
  const { energy, transactions, priced } = counted
  const { due_sun, by_orders_sun } = countUseSun(served, await prices(), counted)
  const charge_id = `${chargeOf(id, tx_id, block.number)}${corrected ? '-solid' : ''}`
  const { charged_sun, short } = await charge(tx, {
    served,
    charge_id,
    priced,
    due_sun,
    ended,
    now,
  })
  tx.send`
    insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun,
      used_at, block_number, own_energy, by_orders_sun)
    values (${id}, ${tx_id}, ${energy}, ${transactions}, ${charged_sun}, ${now}, ${block.number},
      ${own_energy}, ${by_orders_sun})`
  tx.send`
    update subscription set transactions_used = transactions_used + ${transactions},
      energy_used = energy_used + ${energy},
      total_sun = total_sun + ${charged_sun}, look_at = ${now}, idle_since = ${block.time},
      by_orders_sun = by_orders_sun + ${by_orders_sun},
      resting = case when resting = 'idle' then null else resting end,
      withdrawn = withdrawn and resting is distinct from 'idle'
    where id = ${id}`
  const { customer_id } = served
  const detail = {
    use: { tx_id, energy: Number(energy), transactions, charged: money(charged_sun) },
  }
  await noteSubscriptions(tx, 'subscription.used', [{ id, customer_id }], { at: now, detail })
  if (short === 'cap') restAtCap(tx, id, now)
  const used_up = isUsedUp(served, { limit, transactions, by_orders_sun })
  if ((short !== 'balance' && !used_up) || ended) return
  await endUsed(tx, served, { short: short === 'balance', at: block.time })
}

/** Ends one whose last transaction could not be paid, or that has used up its transactions. */
async function endUsed(
  tx: Tx,
  { id, customer_id, stopped_at }: ServedSubscription,
  { short, at }: { short: boolean; at: Date },
): Promise<void> {
  const state = short ? 'stopped' : 'expired'
  const reason = short ? 'a transaction could not be paid' : 'its transactions are used up'
  if (stopped_at === null) {
    await endSubscriptions(tx, [{ id, customer_id, state, reason, at }])
  } else {
    // It was stopped later, before this block was read: it ended here all the same, and nothing
    // after it is served.
    tx.send`update subscription set stopped_at = ${at} where id = ${id}`
  }
}

/** A transaction that we supplied nothing for costs nothing, and wakes an address that rests
 *  because it was idle. A small one does not: it would buy an hour of supply for next to
 *  nothing. */
async function wake(
  tx: Tx,
  {
    served,
    use,
    block,
    clock,
  }: Omit<UseInBlock, 'id'> & { served: ServedSubscription; clock: Clock },
): Promise<void> {
  const { resting, energy_per_transaction } = served
  const small = use.energy * 2n < BigInt(energy_per_transaction)
  if (resting !== 'idle' || small) return
  await tx`
    update subscription set resting = null, withdrawn = false, idle_since = ${block.time},
      look_at = ${clock.now()}
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

type Charge = {
  served: ServedSubscription
  charge_id: string
  priced: number
  due_sun: bigint
  ended: boolean
  now: Date
}

/** Takes what a use costs: what was held for so many transactions, and what is missing from the
 *  balance, as far as that and the cap of the key go, by whole transactions. Says what is paid, and
 *  what fell short. After the end only what was held is taken. */
async function charge(
  tx: Tx,
  charging: Charge,
): Promise<{ charged_sun: bigint; short: 'balance' | 'cap' | null }> {
  const { served, charge_id, priced, due_sun, ended, now } = charging
  const { customer_id, key_id, price_sun } = served
  if (priced === 0) return { charged_sun: 0n, short: null }
  const account = customerAccount(customer_id)
  const held = Math.min(priced, openHolds(served))
  await releaseHolds(tx, served, { count: held, now })
  const held_sun = BigInt(held) * price_sun
  let charged_sun = held_sun < due_sun ? held_sun : due_sun
  let short: 'balance' | 'cap' | null = null
  if (charged_sun < due_sun && !ended) {
    const [free_sun = 0n, cap_sun] = await Promise.all([
      spendable(tx, account),
      leftOfCap(tx, served, now),
    ])
    const payable_sun = free_sun < cap_sun ? free_sun : cap_sun
    const whole_sun = payable_sun < due_sun ? (payable_sun / price_sun) * price_sun : due_sun
    if (whole_sun > charged_sun) charged_sun = whole_sun
    if (charged_sun < due_sun) short = free_sun < due_sun ? 'balance' : 'cap'
    if (short === 'cap' && key_id !== null) noteRefusedByCap(tx, [key_id], now)
  }
  if (charged_sun === 0n) return { charged_sun, short }
  await move(tx, {
    id: charge_id,
    debit: account,
    credit: REVENUE,
    amount_sun: charged_sun,
    made_at: now,
  })
  if (key_id !== null) addSpending(tx, key_id, { sun: charged_sun, at: now })
  return { charged_sun, short }
}

const chargeOf = (id: string, tx_id: string, block_number: bigint | number) =>
  `subscription:${id}/${tx_id}/${block_number}`

type NotedUse = {
  subscription_id: string
  customer_id: string
  key_id: string | null
  tx_id: string
  energy: bigint
  own_energy: bigint
  transactions: number
  charged_sun: bigint
  by_orders_sun: bigint
  used_at: Date
  block_number: bigint
  /** Whether energy of ours lay there, on the branch that stays. */
  supplied: boolean
}

/** Looks at uses whose blocks are solid now: those that are there stay, those that a fork took away
 *  are given back. */
async function confirmUses(tx: Tx, known: Now): Promise<boolean> {
  const noted = await tx<NotedUse>`
    select u.subscription_id, s.customer_id, s.key_id, u.tx_id, u.energy, u.own_energy,
      u.transactions,
      u.charged_sun, u.by_orders_sun, u.used_at, u.block_number,
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
  const by_number = new Map(blocks.map((block) => [block.number, block]))
  const useOf = ({ block_number, tx_id }: NotedUse) =>
    by_number.get(Number(block_number))?.contents.energy_uses.find((use) => use.tx_id === tx_id)
  const gone = noted.filter(
    (one) =>
      !one.supplied ||
      (by_number.has(Number(one.block_number)) &&
        useOf(one)?.staked !== one.energy + one.own_energy),
  )
  await lockAccounts(tx, [...new Set(gone.map((one) => customerAccount(one.customer_id)))])
  for (const one of gone) await takeBack(tx, known.clock, one)
  const last_gone = new Map(gone.map((one) => [one.subscription_id, one]))
  for (const one of last_gone.values()) await giveBackCovered(tx, known.clock, one)
  // What is there all the same, and took other energy than where it was first seen.
  for (const one of gone) {
    const [use, block] = [useOf(one), by_number.get(Number(one.block_number))]
    if (use && block)
      await noteUse(tx, known, { id: one.subscription_id, use, block, corrected: true })
  }
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
    by_orders_sun,
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
      total_sun = total_sun - ${charged_sun}, by_orders_sun = by_orders_sun - ${by_orders_sun}
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
      (sum(charged_sun) over () - least(
        greatest(0, s.transactions_used - plan.included) * plan.price_sun,
        greatest(0, s.by_orders_sun - plan.initial_price_sun)))::bigint as surplus_sun
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
