// What subscribed addresses use: reads blocks, counts and charges each transaction that used energy, and makes the next
// look at the address due.
//
// A transaction is charged when its block came after the one with the first supply and before the end of the subscription,
// whenever it is read, and once, whatever is read how often. Blocks are read at the head, so that the next energy comes
// within a block; a use that a fork took away is given back when the block that has it no more is solid.

import { blocksAt, readBlocks, type StoredBlock } from '../chain/blocks.ts'
import type { EnergyUse } from '../chain/contents.ts'
import { customerAccount, lockAccounts, move, REVENUE, spendable } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import type { Step } from '../lib/step.ts'
import { narrower, type Subscription } from './subscriptions.ts'
import { activateAll } from './supply.ts'

export type Needs = { sql: Sql; clock: Clock }

const AT_ONCE = 100

export function useStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'use',
    rest_ms: 3_000,
    wakes: ['supply', 'withdraw_supply'],
    async run() {
      const read = await sql.begin((tx) =>
        readBlocks(tx, { name: 'subscriptions', side: 'head' }, (blocks) => noteUses(tx, needs.clock, blocks)),
      )
      return read || (await sql.begin((tx) => confirmUses(tx, needs.clock)))
    },
  }
}

type Subscribed = { id: string; customer_id: string; address: string }

async function noteUses(tx: Tx, clock: Clock, blocks: StoredBlock[]): Promise<void> {
  const owners = new Set(blocks.flatMap(({ contents }) => contents.energy_uses.map((use) => use.owner)))
  const subscribed = await tx<Subscribed>`
    select id, customer_id, address from subscription where address = any(${[...owners]}) and state in ('pending', 'active')
    union all
    select id, customer_id, address from subscription
    where address = any(${[...owners]}) and state in ('stopped', 'expired') and stopped_at > ${blocks[0]!.time}`
  if (subscribed.length === 0) return
  // All accounts at once, in the order of their ids: one by one could deadlock with a purchase.
  await lockAccounts(tx, [...new Set(subscribed.map((one) => customerAccount(one.customer_id)))])
  const by_address = Map.groupBy(subscribed, (one) => one.address)
  for (const block of blocks) {
    for (const use of block.contents.energy_uses) {
      for (const { id } of by_address.get(use.owner) ?? []) await noteUse(tx, clock, { id, use, block })
    }
  }
}

type Served = Subscription & {
  energy_per_transaction: number
  plan_transactions_limit: number
  included: number
  price_sun: bigint
}

/** The subscription, when it had supplied the address before the block and had not ended. */
async function findServed(tx: Tx, id: string, block: StoredBlock): Promise<Served | undefined> {
  void tx`select 1 from subscription where id = ${id} for update`
  const [served] = await tx<Served>`
    select s.*, plan.key as plan_key, plan.energy_per_transaction, plan.transactions_limit as plan_transactions_limit,
           plan.included, plan.price_sun
    from subscription as s join plan on plan.id = plan_id join orders as o on o.id = s.order_id
    where s.id = ${id} and s.state in ('pending', 'active', 'stopped', 'expired')
      and (s.stopped_at is null or s.stopped_at > ${block.time})
      and exists (
        select 1 from subscription_supply as supply join delegation as d on d.order_id = supply.order_id
        join attempt as a on a.id = d.attempt_id
        where supply.subscription_id = s.id and a.block_number < ${block.number})
      and (s.state <> 'pending' or (not o.to_delegate and not exists (
        select 1 from delegation as d join attempt as a on a.id = d.attempt_id
        where d.order_id = o.id and d.state <> 'failed' and a.block_number is null)))`
  return served
}

type Used = { id: string; use: EnergyUse; block: StoredBlock }

/** Counts and charges one transaction, once. */
async function noteUse(tx: Tx, clock: Clock, { id, use, block }: Used): Promise<void> {
  const { tx_id, energy } = use
  const served = await findServed(tx, id, block)
  if (!served) return
  const account = customerAccount(served.customer_id)
  const [again, free_sun = 0n] = await Promise.all([
    tx`
      update subscription_use set block_number = ${block.number}
      where subscription_id = ${id} and tx_id = ${tx_id} returning 1`,
    spendable(tx, account),
  ])
  if (again.length > 0) return
  // The service sees the first supply and the first use together.
  if (served.state === 'pending') await activateAll(tx, clock, [served])
  const { transactions, price_sun } = priceUse(served, energy)
  const paid = price_sun <= free_sun
  const charged_sun = paid ? price_sun : 0n
  const now = clock.now()
  void tx`
    insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun, used_at, block_number)
    values (${id}, ${tx_id}, ${energy}, ${transactions}, ${charged_sun}, ${now}, ${block.number})`
  if (charged_sun > 0n) {
    await move(tx, {
      ...{ id: chargeOf(id, tx_id, block.number), debit: account, credit: REVENUE },
      ...{ amount_sun: charged_sun, made_at: now },
    })
  }
  const limit = narrower(served.transactions_limit, served.plan_transactions_limit)
  const used_up = limit > 0 && served.transactions_used + transactions >= limit
  const ended = !paid ? 'stopped' : used_up ? 'expired' : null
  const reason = !paid ? 'a transaction could not be paid' : 'its transactions are used up'
  // Not waited for: the transaction waits for its statements.
  void tx`
    update subscription set transactions_used = transactions_used + ${transactions}, energy_used = energy_used + ${energy},
      total_sun = total_sun + ${charged_sun}, look_at = ${now}
    where id = ${id}`
  if (ended !== null) {
    // One that was stopped later, before this block was read, ended here all the same: nothing after it is served.
    void tx`
      update subscription set stopped_at = ${block.time},
        state = case when state = 'active' then ${ended} else state end,
        reason = case when state = 'active' then ${reason} else reason end
      where id = ${id} and (state = 'active' or stopped_at > ${block.time})`
  }
}

/** How many transactions a use counts as, and the price of those beyond what the plan includes. */
function priceUse(served: Served, energy: bigint): { transactions: number; price_sun: bigint } {
  const { transactions_used, included, energy_per_transaction } = served
  const per_transaction = BigInt(energy_per_transaction)
  const transactions = Number((energy + per_transaction - 1n) / per_transaction)
  const beyond = (used: number) => Math.max(0, used - included)
  const charged = beyond(transactions_used + transactions) - beyond(transactions_used)
  return { transactions, price_sun: BigInt(charged) * served.price_sun }
}

const chargeOf = (id: string, tx_id: string, block_number: bigint | number) =>
  `subscription:${id}/${tx_id}/${block_number}`

type Noted = {
  subscription_id: string
  customer_id: string
  tx_id: string
  energy: bigint
  transactions: number
  charged_sun: bigint
  block_number: bigint
}

/** Looks at uses whose blocks are solid now: those that are there stay, those that a fork took away are given back. */
async function confirmUses(tx: Tx, clock: Clock): Promise<boolean> {
  const noted = await tx<Noted>`
    select u.*, s.customer_id
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
    ({ block_number, tx_id }) => kept.get(Number(block_number))?.some((use) => use.tx_id === tx_id) === false,
  )
  await lockAccounts(tx, [...new Set(gone.map((one) => customerAccount(one.customer_id)))])
  for (const one of gone) await takeBack(tx, clock, one)
  const last_gone = new Map(gone.map((one) => [one.subscription_id, one]))
  for (const one of last_gone.values()) await giveBackCovered(tx, clock, one)
  const rows = noted.filter((one) => !gone.includes(one))
  await tx`
    update subscription_use as u set solid = true
    from unnest(${rows.map((one) => one.subscription_id)}::text[], ${rows.map((one) => one.tx_id)}::text[]) as t (id, tx_id)
    where u.subscription_id = t.id and u.tx_id = t.tx_id`
  return true
}

async function takeBack(tx: Tx, clock: Clock, use: Noted): Promise<void> {
  const { subscription_id, customer_id, tx_id, energy, transactions, charged_sun, block_number } = use
  if (charged_sun > 0n) {
    await move(tx, {
      ...{ id: `${chargeOf(subscription_id, tx_id, block_number)}/back`, debit: REVENUE },
      ...{ credit: customerAccount(customer_id), amount_sun: charged_sun, made_at: clock.now() },
    })
  }
  await tx`
    update subscription set transactions_used = transactions_used - ${transactions}, energy_used = energy_used - ${energy},
      total_sun = total_sun - ${charged_sun}
    where id = ${subscription_id}`
  await tx`delete from subscription_use where subscription_id = ${subscription_id} and tx_id = ${tx_id}`
}

type Charged = { tx_id: string; block_number: bigint; charged_sun: bigint; surplus_sun: bigint }

/** What was charged because the plan's included transactions were used up, by one that is gone: now they cover others, the
 *  earliest first. */
async function giveBackCovered(tx: Tx, clock: Clock, gone: Noted): Promise<void> {
  const { subscription_id, customer_id } = gone
  const charged = await tx<Charged>`
    select tx_id, block_number, charged_sun,
      (sum(charged_sun) over () - greatest(0, s.transactions_used - plan.included) * plan.price_sun)::bigint as surplus_sun
    from subscription_use join subscription as s on s.id = subscription_id join plan on plan.id = plan_id
    where s.id = ${subscription_id} and charged_sun > 0 order by block_number, tx_id`
  let surplus_sun = charged[0]?.surplus_sun ?? 0n
  for (const { tx_id, block_number, charged_sun } of charged) {
    if (surplus_sun <= 0n) return
    const amount_sun = charged_sun < surplus_sun ? charged_sun : surplus_sun
    surplus_sun -= amount_sun
    const id = `${chargeOf(subscription_id, tx_id, block_number)}/covered/${gone.tx_id}/${gone.block_number}`
    await move(tx, { id, debit: REVENUE, credit: customerAccount(customer_id), amount_sun, made_at: clock.now() })
    await tx`
      update subscription_use set charged_sun = charged_sun - ${amount_sun}
      where subscription_id = ${subscription_id} and tx_id = ${tx_id}`
    await tx`update subscription set total_sun = total_sun - ${amount_sun} where id = ${subscription_id}`
  }
}
