// The pool: staked wallets, and how much of their stake can be delegated now.
//
// The survey asks the chain what each wallet may still delegate and notes the head it had seen
// before it asked. What has been planned since, or was included after that head, may or may not be
// in the answer, so it is taken off: the room is never overstated, at times understated until the
// next survey.
//
// A resource is sold in units and delegated in stake. One TRX gives total_limit / total_weight
// units, and that ratio drifts while an order lives, so the stake is rounded up and a margin is
// added: the receiver's limit rises by at least what was bought. A wallet also pays for its own
// transactions, with bandwidth that it has left or by burning TRX: it is asked for no delegation
// whose reclaim it could not pay for. Locks are taken in the order: order, account, wallet, pool.

import type { Address } from 'penstock-tron/address.ts'
import type { AccountState, BlockHead, Node, Resource } from '../../chain/node/node.ts'
import { DELEGATION_MAX_SUN } from '../../chain/signing/signer.ts'
import {
  type Fragment,
  joinFragments,
  type WriteFragment,
  writeFragment,
} from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type ActivationWallet, noteActivationFloat, payableActivations } from './activations.ts'

/** In the order in which their rows are locked. */
export const RESOURCES: readonly Resource[] = ['bandwidth', 'energy']

/** The network's ratio, as the last survey read it. */
export type Ratio = { total_limit: bigint; total_weight: bigint }

/** What one delegation takes from one wallet. */
export type Part = { wallet: Address; amount: number; stake_sun: bigint }

/** What delegating or taking back uses up at most, in units of bandwidth: the signed bytes and the
 *  64 that the node adds. */
export const TRANSACTION_BANDWIDTH = 350n
/** A wallet that could pay for fewer transactions than this sells nothing. */
export const CARRIES_MIN = 20n

/** The chain delegates no less than 1 TRX at a time. */
export const STAKE_MIN_SUN = 1_000_000n
export const MARGIN_PERCENT = 1n

/** The limit that a stake gives, in the node's own arithmetic (IEEE doubles, truncated). */
export function unitsOf(stake_sun: bigint, { total_limit, total_weight }: Ratio): number {
  if (total_weight === 0n) return 0
  return Math.trunc((Number(stake_sun) / 1e6) * (Number(total_limit) / Number(total_weight)))
}

/** The stake to delegate for an amount: the least that gives the amount and the margin. */
export function stakeFor(amount: number, ratio: Ratio): bigint {
  const wanted = Number((BigInt(amount) * (100n + MARGIN_PERCENT) + 99n) / 100n)
  let stake_sun = (BigInt(wanted) * ratio.total_weight * 1_000_000n) / ratio.total_limit
  while (unitsOf(stake_sun, ratio) < wanted) stake_sun += 1n
  return stake_sun > STAKE_MIN_SUN ? stake_sun : STAKE_MIN_SUN
}

/** What can surely be sold of a wallet's room, in units: the inverse of stakeFor(), rounded down,
 *  in as many delegations as it takes. */
export function sellable(room_sun: bigint, ratio: Ratio): number {
  // A wallet that lost its stake owes more than it has, and takes nothing from what the others can
  // sell.
  if (room_sun <= 0n) return 0
  const full = room_sun / DELEGATION_MAX_SUN
  const rest_sun = room_sun % DELEGATION_MAX_SUN
  return Number(full) * sellableAtOnce(DELEGATION_MAX_SUN, ratio) + sellableAtOnce(rest_sun, ratio)
}

function sellableAtOnce(stake_sun: bigint, ratio: Ratio): number {
  if (stake_sun < STAKE_MIN_SUN || ratio.total_weight === 0n) return 0
  const units = (unitsOf(stake_sun, ratio) * 100) / Number(100n + MARGIN_PERCENT)
  return Math.max(0, Math.floor(units) - 1)
}

export type Room = {
  wallet: Address
  room_sun: bigint
  /** How many transactions the wallet can still pay for; a delegation needs two, its own and the
   *  one that takes it back. */
  carries: bigint
}

export type Pool = { rooms: Room[]; ratio: Ratio }

/** Which wallets deliver an amount: one that has just enough, else as few as possible, fullest
 *  first. No part is larger than the signer signs. Undefined when all together have not enough. */
export function choose(amount: number, rooms: readonly Room[], ratio: Ratio): Part[] | undefined {
  if (ratio.total_limit === 0n || ratio.total_weight === 0n) return undefined
  const stake_sun = stakeFor(amount, ratio)
  const able = rooms.filter((room) => room.carries >= 2n)
  const fitting =
    stake_sun > DELEGATION_MAX_SUN ? [] : able.filter((room) => room.room_sun >= stake_sun)
  if (fitting.length > 0) {
    const best = fitting.reduce((a, b) => (b.room_sun < a.room_sun ? b : a))
    return [{ wallet: best.wallet, amount, stake_sun }]
  }
  const parts: Part[] = []
  let missing = amount
  for (const room of able.sort((a, b) => (a.room_sun < b.room_sun ? 1 : -1))) {
    let { room_sun, carries } = room
    while (missing > 0 && carries >= 2n) {
      const one_sun = room_sun < DELEGATION_MAX_SUN ? room_sun : DELEGATION_MAX_SUN
      const part = Math.min(missing, sellableAtOnce(one_sun, ratio))
      if (part <= 0) break
      const stake = { wallet: room.wallet, amount: part, stake_sun: stakeFor(part, ratio) }
      parts.push(stake)
      room_sun -= stake.stake_sun
      carries -= 2n
      missing -= part
    }
    if (missing === 0) return parts
  }
  return undefined
}

/** Locks the wallets of a resource and the resource itself, and says what room they have. */
export async function lockRooms(tx: Tx, resource: Resource): Promise<Pool> {
  tx.send`select 1 from pool_wallet where resource = ${resource} order by address for update`
  // Counted each by an index: what waits for a block, what is in a block after the survey's, what a
  // fork has taken out of its block but is still called active, and what is being taken back that
  // the survey had in the wallet: it was given since, or a fork has given it out again. That
  // nothing is after infinity tells the planner that it is a range, and a small one: else it
  // expects a third of all that is delegated, and reads all of it.
  const reading = tx<Room>`
    with w as materialized (
      select address, resource, room_sun, carries, coalesce(sure.number, block_number)
          as block_number, coalesce(sure.time, block_time) as block_time
      from pool_wallet
        -- Its block is on another branch: what it saw after the confirmed one is not known.
        left join lateral (
          select confirmed.number, confirmed.time from block as other, chain
            join block as confirmed on confirmed.number = confirmed_number
          where other.number = block_number and other.time <> block_time) as sure on true
      where resource = ${resource}
    )
    select w.address as wallet,
      (room_sun - waiting.sun - later.sun - reverted.sun - out.sun)::bigint as room_sun,
           carries - 2 * (waiting.count + later.count + out.count) - reverted.count as carries
    from w,
      lateral (
        select coalesce(sum(stake_sun), 0) as sun, count(*) from delegation as d join attempt as a
          on a.id = d.attempt_id
        where d.wallet = w.address and d.resource = w.resource and d.state = 'delegating'
          and d.delegated_at is null
          and (a.block_number is null or a.block_number > w.block_number)) as waiting,
      lateral (
        select coalesce(sum(stake_sun), 0) as sun, count(*) from delegation as d
        where d.wallet = w.address and d.resource = w.resource and d.state = 'active'
          and d.delegated_at > w.block_time and d.delegated_at < 'infinity') as later,
      lateral (
        select coalesce(sum(stake_sun), 0) as sun, count(*) from attempt as a join delegation as d
          on d.attempt_id = a.id
        where a.uncovered and a.state in ('signed', 'sent') and d.wallet = w.address
          and d.resource = w.resource
          and d.state = 'active' and d.delegated_at <= w.block_time) as reverted,
      lateral (
        select coalesce(sum(stake_sun), 0) as sun, count(*) from (
          select stake_sun from delegation as d
          where d.state = 'reclaiming' and d.wallet = w.address and d.resource = w.resource
            and d.delegated_at > w.block_time
          union all
          -- By the subject, whose delegation is found by its key, whatever else is over.
          select stake_sun from attempt as r
            join delegation as d on d.id = substr(r.subject, 9) and d.reclaim_id = r.id
          where r.uncovered and r.state in ('signed', 'sent', 'dead')
            and r.subject like 'reclaim:%'
            and d.wallet = w.address and d.resource = w.resource
            and (d.state = 'ended'
              or d.state = 'reclaiming' and d.delegated_at <= w.block_time)) as taken) as out
    -- Nothing is signed for a wallet whose key can do more than it should.
    where not exists (select 1 from wallet_check as k where k.address = w.address and k.stopped)
    order by w.address`
  const [rooms, [ratio]] = await Promise.all([
    reading,
    tx<Ratio>`select total_limit, total_weight from pool where resource = ${resource} for update`,
  ])
  if (!ratio) throw new Error(`there is no pool of ${resource}`)
  return { rooms, ratio }
}

/** It is asked again after ten blocks, by their times, although nothing of ours has moved. */
const SURVEY_MS = 30_000

/** A survey: the head before it, and how many delegations each wallet had to take back. */
type LastSurvey = { head: BlockHead; live: ReadonlyMap<Address, bigint> }

/** Finds a row when the pool may be otherwise than the last survey saw it: there was none, a
 *  transaction of ours came later, the branch is another, another number of delegations is to be
 *  taken back, or it is long ago. */
function mayDiffer(sql: WriteFragment, last: LastSurvey | undefined): Fragment {
  const { number = -1, id = '', time } = last?.head ?? {}
  const due_at = time && new Date(time.getTime() + SURVEY_MS)
  const live = JSON.stringify(Object.fromEntries(last?.live ?? []), (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  )
  return sql`
    select from (values (1)) as one left join chain on true
    where head_number is null or head_time >= ${due_at ?? new Date(0)}
      -- What came later may be solid by now.
      or confirmed_number > ${number}
      or exists (select 1 from block where number = ${number} and id <> ${id})
      or exists (select 1 from attempt where state = 'included' and block_number > ${number})
      or ${live}::jsonb <> (
        select coalesce(jsonb_object_agg(wallet, count), '{}') from (
          select wallet, count(*) from delegation where state = 'active' group by wallet
        ) as counted)`
}

/** How many delegations each wallet has to take back, counted before anything is locked, since
 *  there may be very many. */
async function countLive(sql: Sql): Promise<Map<Address, bigint>> {
  const rows = await sql<{ wallet: Address; count: bigint }>`
    select wallet, count(*) from delegation where state = 'active' group by wallet`
  return new Map(rows.map(({ wallet, count }) => [wallet, count]))
}

/** Asks the chain about every wallet, that of the activations included, after each block that may
 *  have changed what it says; more room than before is worth another look at what waits. */
export function surveyStep({
  sql,
  node,
  pool,
  activation_wallet: { address },
}: {
  sql: Sql
  node: Node
  pool: readonly Address[]
  activation_wallet: ActivationWallet
}): Step {
  let last: LastSurvey | undefined
  return {
    name: 'survey',
    rest_ms: 3_000,
    due: (sql) => mayDiffer(sql, last),
    duty: 'chain',
    after: ['follow', 'reclaimed'],
    async run() {
      const live = await countLive(sql)
      const [differs] = await sql(...joinFragments([mayDiffer(writeFragment, last)]))
      if (!differs) return false
      const head = await node.head()
      const parameters = await node.parameters()
      const price_sun = parameters.get('getTransactionFee') ?? BANDWIDTH_PRICE_SUN
      const accounts = await Promise.all(pool.map((wallet) => node.account(wallet)))
      const carries = await Promise.all(
        pool.map(async (wallet, i) => {
          const { left } = await node.resource(wallet, 'bandwidth')
          return payable(left, accounts[i]!.balance_sun, price_sun) - (live.get(wallet) ?? 0n)
        }),
      )
      const { balance_sun } = await node.account(address)
      const activations = payableActivations(balance_sun, parameters)
      await noteActivationFloat(sql, { address, payable: activations, block_number: head.number })
      let grew = false
      for (const resource of RESOURCES) {
        const found = await Promise.all(pool.map((wallet) => node.delegable(wallet, resource)))
        const [ratio] = await Promise.all(
          pool.slice(0, 1).map((wallet) => node.resource(wallet, resource)),
        )
        if (!ratio) continue
        const more = await sql.begin((tx) =>
          noteSurvey(tx, { resource, pool, found, carries, accounts, ratio, head }),
        )
        grew = grew || more
      }
      last = { head, live }
      return grew
    },
  }
}

/** Sun that is burned for a unit of bandwidth, where the node does not say. */
const BANDWIDTH_PRICE_SUN = 1_000n

/** How many transactions of ours a wallet can pay for now. What it has left counts once, though the
 *  chain wants each transaction paid from one source: that is what the one less is for. */
function payable(left: bigint, balance_sun: bigint, price_sun: bigint): bigint {
  const with_bandwidth = left / TRANSACTION_BANDWIDTH
  const with_trx = price_sun === 0n ? 0n : balance_sun / (TRANSACTION_BANDWIDTH * price_sun)
  return (with_bandwidth > 0n ? with_bandwidth - 1n : 0n) + with_trx
}

type Survey = {
  resource: Resource
  pool: readonly Address[]
  /** For each wallet, the sun that it may delegate, and the transactions that it can pay for beyond
   *  what it takes back. */
  found: bigint[]
  carries: bigint[]
  accounts: readonly AccountState[]
  ratio: Ratio
  head: BlockHead
}

/** Reserves room for what is sold: never more than there is (`pool_not_oversold`). */
export function sellRoom(tx: Tx, amounts: Readonly<Record<Resource, bigint>>): void {
  for (const resource of RESOURCES) {
    const amount = amounts[resource]
    if (amount !== 0n)
      tx.send`
        update pool set reserved = reserved + ${amount}, free_at_sale = room - reserved - ${amount}
        where resource = ${resource}`
  }
}

/** Reserves room for what was sold before, whether there is any or not, or gives it back where an
 *  amount is negative. */
export function reserveRoom(tx: Tx, amounts: Readonly<Record<Resource, bigint>>): void {
  for (const resource of RESOURCES) {
    const amount = amounts[resource]
    if (amount !== 0n)
      tx.send`update pool set reserved = reserved + ${amount} where resource = ${resource}`
  }
}

/** What was reserved is delegated: it is no room any more. The caller has locked the rooms. */
export function useRoom(tx: Tx, amounts: Readonly<Record<Resource, bigint>>): void {
  for (const resource of RESOURCES) {
    const amount = amounts[resource]
    if (amount !== 0n)
      tx.send`
        update pool set reserved = reserved - ${amount}, room = room - ${amount}
        where resource = ${resource}`
  }
}

/** True when there is more room than before. */
async function noteSurvey(
  tx: Tx,
  { resource, pool, found, carries, accounts, ratio, head }: Survey,
): Promise<boolean> {
  const recovering = accounts.map((account) => account.recovering[resource])
  const staked = accounts.map(({ staked_sun }) => staked_sun[resource])
  const votes = accounts.map((account) => account.votes.reduce((sum, { count }) => sum + count, 0n))
  tx.send`delete from pool_wallet where resource = ${resource} and not address = any(${pool})`
  tx.send`
    insert into pool_wallet (address, resource, room_sun, carries, recovering, recovers_seconds,
      staked_sun, votes, block_number, block_time)
    select address, ${resource}, room_sun, carries, recovering, recovers_seconds, staked_sun, votes,
      ${head.number}, ${head.time}
    from unnest(${pool}::text[], ${found}::bigint[], ${carries}::bigint[],
      ${recovering.map(({ units }) => units)}::bigint[],
      ${recovering.map(({ seconds }) => seconds)}::bigint[], ${staked}::bigint[],
      ${votes}::bigint[])
      as w (address, room_sun, carries, recovering, recovers_seconds, staked_sun, votes)
    order by address
    on conflict (address, resource) do update set room_sun = excluded.room_sun,
      carries = excluded.carries,
      recovering = excluded.recovering, recovers_seconds = excluded.recovers_seconds,
      staked_sun = excluded.staked_sun, votes = excluded.votes,
      block_number = excluded.block_number, block_time = excluded.block_time`
  const [{ rooms }, [before]] = await Promise.all([
    lockRooms(tx, resource),
    tx<{ room: bigint }>`select room from pool where resource = ${resource}`,
  ])
  const able = rooms.filter(({ carries }) => carries >= CARRIES_MIN)
  const room = able.reduce((sum, one) => sum + sellable(one.room_sun, ratio), 0)
  tx.send`
    update pool set room = ${room}, total_limit = ${ratio.total_limit},
      total_weight = ${ratio.total_weight}
    where resource = ${resource}`
  return before !== undefined && room > before.room
}
