// Keeps the addresses of subscriptions supplied.
//
//   supply            tops an address up to the energy of one transaction:
//                     new -> pending -> active, and while active
//
// A supply is an internal order for an hour like any other, so nothing new has to be right
// about it. It is renewed some minutes before its hour is over. What was used is noted in uses.ts,
// which makes the next look due. Nothing is supplied before its price is held (holds.ts). An
// address that has not used its energy for the hours that its plan gives, or whose key may spend no
// more today, rests: it keeps its subscription, and what it still has is taken back (ending.ts).

import type { Node } from '../../chain/node/node.ts'
import { customerAccount, lockAccounts } from '../../ledger/accounts/ledger.ts'
import { type Clock, DAY_MS, dayOf, later } from '../../lib/clock.ts'
import { Fault, is } from '../../lib/fault.ts'
import type { CustomerState } from '../../people/customers/customers.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { allOrEach, eachRow, type Step } from '../../platform/steps/step.ts'
import { InvalidParams, ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { InvalidAddress } from '../../platform/wire/reading.ts'
import type { OrderPlacer } from '../orders/placing.ts'
import { endSubscription } from './ending.ts'
import { SUBSCRIPTION_COLUMNS } from './forms.ts'
import { type Cover, type HoldOutcome, holdNext, missingHolds } from './holds.ts'
import {
  activateSubscriptions,
  narrower,
  type Subscription,
  type SubscriptionRef,
  supplySubscriptions,
} from './subscriptions.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  node: Pick<Node, 'resource'>
  tryOrder: OrderPlacer['tryOrder']
}

/** Energy that ends within this time does not count: its successor is delegated before. */
const RENEW_SECONDS = 300
/** How often an address is looked at when nothing happens. */
const LOOK_MS = 60_000
const LOOK_AGAIN_MS = 3_000
/** How soon again while a supply is on its way: what was used meanwhile is due when that is
 *  there. */
const UNDER_WAY_MS = 500
/** How long the first energy may take before the subscription is an error and paid back. */
const START_MS_MAX = 600_000
/** When more blocks than these wait to be read for uses, an active address is not supplied: what it
 *  uses would not be charged. */
const UNREAD_MAX = 20
const UNREAD_LOOK_MS = 15_000
/** What would be renewed so shortly before the address is to rest is not renewed. */
const REST_EARLY_MS = 900_000
const HOUR_MS = 3_600_000
/** A transaction that takes less than this share more than the energy of one, by the margin of its
 *  stake, is one. */
const TOLERANCE = 0.1
const AT_ONCE = 16
const ACTIVATED_AT_ONCE = 200

type RunningSubscription = Subscription &
  Cover & {
    energy_per_transaction: number
    idle_hours: number
    order_state: string | null
    /** The time of the newest block: by it hours are idle and days are over. */
    head_time: Date
    /** Blocks whose uses are not counted yet. */
    unread: bigint
    customer_state: CustomerState
    /** What was ordered for its next supply and not noted: the process died in between. */
    lost_order_id: string | null
  }

export function supplyStep(needs: Needs): Step {
  return {
    name: 'supply',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from subscription as s join orders as o on o.id = s.order_id
      where s.state = 'pending' and o.state in ('success', 'failed')
      union all
      select from subscription where state in ('new', 'pending', 'active')
        and (look_at <= ${needs.clock.now()}
          or (state = 'active' and expire_at <= (select head_time from chain)))`,
    after: ['settle', 'use'],
    before: ['delegate', 'activate', 'publish'],
    async run() {
      // One half that cannot be done now does not stop the other.
      return eachRow(
        [activateSupplied, supplyDue],
        (half) => half(needs),
        async () => {},
      )
    },
  }
}

/** Subscriptions whose first energy is there. Many of one customer become active after the same
 *  block: together, so that they do not queue for its account, and anyone who buys meanwhile behind
 *  them. */
async function activateSupplied({ sql, clock }: Needs): Promise<boolean> {
  const due = await sql<SubscriptionRef>`
    select s.id, s.customer_id from subscription as s join orders as o on o.id = s.order_id
    where s.state = 'pending' and o.state = 'success'
    order by s.id limit ${ACTIVATED_AT_ONCE}`
  return allOrEach(
    due,
    (started) => sql.begin((tx) => activateTogether(tx, started, clock.now())),
    ({ id }) =>
      sql`update subscription set look_at = ${later(clock, LOOK_AGAIN_MS)} where id = ${id}`,
  )
}

/** True when any of them was still to be started. */
async function activateTogether(
  tx: Tx,
  started: readonly SubscriptionRef[],
  now: Date,
): Promise<boolean> {
  const [, active] = await Promise.all([
    lockAccounts(tx, [...new Set(started.map(({ customer_id }) => customerAccount(customer_id)))]),
    activateSubscriptions(
      tx,
      started.map(({ id }) => id),
      now,
    ),
  ])
  return active.length > 0
}

async function supplyDue(needs: Needs): Promise<boolean> {
  const { sql, clock } = needs
  const due = await sql<{ id: string }>`
    select s.id from subscription as s left join orders as o on o.id = s.order_id
    where s.state in ('new', 'pending', 'active')
      and (look_at <= ${clock.now()} or (s.state = 'pending' and o.state = 'failed')
        or (s.state = 'active' and s.expire_at <= (select head_time from chain)))
    order by look_at limit ${AT_ONCE}`
  // Together, so that their orders are placed in one transaction.
  const outcomes = await Promise.allSettled(due.map(({ id }) => supply(needs, id)))
  const failed = outcomes.flatMap((one, i) =>
    one.status === 'rejected' ? [{ id: due[i]!.id, reason: one.reason }] : [],
  )
  if (failed.length > 0) {
    const ids = failed.map(({ id }) => id)
    await sql`
      update subscription set look_at = ${later(clock, LOOK_AGAIN_MS)} where id = any(${ids})`
    throw failed[0]!.reason
  }
  return outcomes.some((one) => one.status === 'fulfilled' && one.value)
}

async function supply(needs: Needs, id: string): Promise<boolean> {
  const { sql, clock } = needs
  const running = await findRunning(sql, id)
  if (!running) return false
  const now = clock.now()
  // Before anything is read of the address: its energy may be there already.
  if (running.lost_order_id !== null)
    return countSupply(needs, running, { order_id: running.lost_order_id, look_at: now })
  // Its energy came in between: it is the other half's.
  if (running.state === 'pending' && running.order_state === 'success') return false
  const starting = running.state !== 'active'
  const waited_ms = now.getTime() - running.created_at.getTime()
  if (starting && (running.order_state === 'failed' || waited_ms > START_MS_MAX)) {
    return end(needs, running, 'the address could not be supplied')
  }
  if (!starting && running.expire_at !== null && running.expire_at <= running.head_time) {
    return end(needs, running, 'its days are used up', 'expired')
  }
  if (running.order_state === 'new' || running.order_state === 'pending')
    return lookAgain(needs, id, UNDER_WAY_MS)
  if (!starting && running.unread > UNREAD_MAX) return lookAgain(needs, id, UNREAD_LOOK_MS)
  // What is there goes when its hour is over, and what is used of it is charged.
  if (!starting && running.customer_state !== 'active') return lookAgain(needs, id, LOOK_MS)
  if (running.resting === 'idle') return rest(needs, running, 'idle')
  if (running.resting === 'daily_cap') return (await wakeAtCap(needs, running)) && supply(needs, id)
  const { energy_per_transaction: whole } = running
  // At the start the whole is given, whatever the address has from elsewhere.
  const { left, ours, lasting } = starting
    ? { left: 0, ours: 0, lasting: 0 }
    : await readEnergy(needs, running)
  const there = Math.min(left, ours)
  const wanted = whole - lasting
  if (wanted > 0 && !starting && isIdle(running)) return rest(needs, running, 'idle')
  // Nothing pays for what is used beyond its limit, so its next energy comes when this is back. By
  // the margin of its stake it may have a little more than that of its transactions.
  const uses = usesLeft(running)
  const fits = transactionsIn(there + wanted, whole) <= uses
  const missing = fits ? wanted : uses * whole - there
  if (missing > 0) {
    const held = await ensureHeld(needs, running, transactionsIn(there + missing, whole))
    if (held === 'held') return topUp(needs, running, missing)
    if (left < whole) return endUnheld(needs, running, held)
    // What it has is enough until some of it ends: then there is less to hold for.
  }
  const held = await ensureHeld(needs, running, transactionsIn(there, whole))
  const look_ms = missing < wanted ? LOOK_AGAIN_MS : LOOK_MS
  return held === 'held' ? lookAgain(needs, id, look_ms) : endUnheld(needs, running, held)
}

/** How many transactions its limit leaves; one at least while it runs. */
function usesLeft(running: RunningSubscription): number {
  const { transactions_limit, plan_transactions_limit, transactions_used } = running
  const limit = narrower(transactions_limit, plan_transactions_limit)
  return limit === 0 ? Number.POSITIVE_INFINITY : Math.max(1, limit - transactions_used)
}

async function findRunning(sql: Sql | Tx, id: string): Promise<RunningSubscription | undefined> {
  const [running] = await sql<RunningSubscription>`
    select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.energy_per_transaction,
      plan.included, plan.price_sun, plan.idle_hours,
      plan.transactions_limit as plan_transactions_limit,
           (select head_time from chain) as head_time, o.state as order_state,
           (select head_number from chain)
             - coalesce((select number from cursor where name = 'subscriptions'), 0) as unread,
           c.state as customer_state, lost.id as lost_order_id
    from subscription as s join plan on plan.id = plan_id join customer as c on c.id = s.customer_id
    left join orders as o on o.id = order_id
    left join orders as lost on lost.customer_id = ${SUBSCRIPTIONS}
      and lost.external_id = s.id || '/' || (s.supplies + 1)
    where s.id = ${id} and s.state in ('new', 'pending', 'active')`
  return running
}

async function lookAgain({ sql, clock }: Needs, id: string, ms: number): Promise<false> {
  await sql`update subscription set look_at = ${later(clock, ms)} where id = ${id}`
  return false
}

/** For how many transactions so much energy is. */
const transactionsIn = (energy: number, whole: number): number =>
  energy <= 0 ? 0 : Math.max(0, Math.ceil(energy / whole - TOLERANCE))

/** Whether it has not been used for as long as its plan lets an address be idle, or nearly so. */
const isIdle = ({ idle_hours, idle_since, head_time }: RunningSubscription): boolean =>
  idle_hours > 0 &&
  head_time.getTime() >= idle_since.getTime() + idle_hours * HOUR_MS - REST_EARLY_MS

type Energy = { left: number; ours: number; lasting: number }

/** Seconds after the end of a delegation in which a node that is behind may still show it. */
const SHOWN_SECONDS = 60

/** So small a share of the energy of one is not its own: it is by how much ratios have moved. */
const OWN_PARTS_MIN = 100n

/** The energy that the address has now, how much was supplied and not taken back, and what it will
 *  still have when its oldest supply is over. */
async function readEnergy(
  { sql, node }: Needs,
  { id, address, energy_per_transaction }: RunningSubscription,
): Promise<Energy> {
  const before = await readSupplied(sql, id)
  const energy = await node.resource(address, 'energy')
  const { ours, ending, at_most } = await readSupplied(sql, id)
  // Energy that is taken back while the node is asked, or in a block that it lacks, is not its own.
  const beside = energy.limit - (before.at_most > at_most ? before.at_most : at_most)
  const own = beside * OWN_PARTS_MIN < BigInt(energy_per_transaction) ? 0n : beside
  await sql`
    update subscription set own_energy = ${own} where id = ${id} and own_energy <> ${own}`
  return {
    left: Number(energy.left),
    ours: Number(ours),
    lasting: Math.max(0, Number(energy.left - ending)),
  }
}

/** The energy that a subscription has given its address: what is there, what of it ends soon, and
 *  the most that a node may still show of it. */
async function readSupplied(sql: Sql, id: string) {
  // By their stake: a delegation has a margin over its amount, and that goes with it.
  const [supplied] = await sql<{ ours: bigint; ending: bigint; at_most: bigint }>`
    select coalesce(ceil(sum(d.stake_sun) filter (where is_there) * ratio), 0)::bigint as ours,
           coalesce(ceil(sum(d.stake_sun) filter (where is_there and d.expires_at <=
             (select head_time from chain) + ${RENEW_SECONDS} * interval '1 second') * ratio),
               0)::bigint as ending,
           coalesce(ceil(sum(d.stake_sun) * ratio), 0)::bigint as at_most
    from (select max(total_limit)::numeric / nullif(max(total_weight), 0) / 1000000 as ratio
          from pool where resource = 'energy') as network
    left join (
      select d.stake_sun, d.expires_at, d.state in ('active', 'reclaiming') as is_there
      from delegation as d join subscription_supply as s on s.order_id = d.order_id
        left join attempt as r on r.id = d.reclaim_id
      where s.subscription_id = ${id} and d.resource = 'energy'
        and (d.state in ('active', 'reclaiming') or d.state = 'ended' and r.block_time
          > (select head_time from chain) - ${SHOWN_SECONDS} * interval '1 second')) as d on true
    group by ratio`
  return supplied ?? { ours: 0n, ending: 0n, at_most: 0n }
}

/** Holds what is missing for so many transactions. */
async function ensureHeld(
  { sql, clock }: Needs,
  running: RunningSubscription,
  transactions: number,
): Promise<HoldOutcome> {
  if (missingHolds(running, transactions) === 0) return 'held'
  return sql.begin((tx) => holdNext(tx, running, { transactions, now: clock.now() }))
}

/** What could not be held is not supplied: at the cap it rests until the next day, without money it
 *  ends. */
function endUnheld(
  needs: Needs,
  running: RunningSubscription,
  held: Exclude<HoldOutcome, 'held'>,
): Promise<boolean> {
  if (held === 'capped' && running.state === 'active') return rest(needs, running, 'daily_cap')
  const reason =
    held === 'capped'
      ? 'the daily cap of its key is reached'
      : 'the next transaction cannot be paid'
  return held === 'ended' ? Promise.resolve(false) : end(needs, running, reason)
}

/** Puts it to rest, unless it has been used in between. One that is idle is woken by a use; one
 *  whose key is at its cap is looked at again when the next day begins. */
async function rest(
  { sql, clock }: Needs,
  running: RunningSubscription,
  why: 'idle' | 'daily_cap',
): Promise<boolean> {
  const { id, supplies, transactions_used, expire_at } = running
  const now = clock.now()
  const until = why === 'idle' ? later(clock, DAY_MS) : nextDay(now)
  const look_at = expire_at !== null && expire_at < until ? expire_at : until
  const rested = await sql`
    update subscription set look_at = ${look_at}, resting = ${why},
      rested_at = case when resting is null then ${now} else rested_at end, withdrawn = withdrawn
        and resting is not null
    where id = ${id} and state = 'active' and supplies = ${supplies}
      and transactions_used = ${transactions_used}
      and resting is not distinct from ${running.resting}
    returning 1`
  return rested.length > 0 && running.resting === null
}

/** Ends the rest of one whose key was at its cap, before anything is held or supplied: what rests
 *  is withdrawn, and what is held for it is given back. On the new day it is supplied, used or
 *  not. */
async function wakeAtCap({ sql }: Needs, { id, supplies }: RunningSubscription): Promise<boolean> {
  const woken = await sql`
    update subscription set resting = null, withdrawn = false,
      idle_since = (select head_time from chain)
    where id = ${id} and state = 'active' and supplies = ${supplies} and resting = 'daily_cap'
    returning 1`
  return woken.length > 0
}

/** When the next day begins, in UTC. */
export const nextDay = (now: Date): Date => new Date(Date.parse(`${dayOf(now)}T00:00:00Z`) + DAY_MS)

async function topUp(
  needs: Needs,
  running: RunningSubscription,
  missing: number,
): Promise<boolean> {
  const { clock } = needs
  const { id, address, supplies, activate_address } = running
  const look_at = later(clock, LOOK_AGAIN_MS)
  const placed = await needs.tryOrder({
    customer_id: SUBSCRIPTIONS,
    external_id: `${id}/${supplies + 1}`,
    service: 'energy',
    address,
    energy: missing,
    bandwidth: 0,
    activate: activate_address,
    internal: {
      agreed_sun: 0n,
      // It may have ended, or been used or supplied by another, while the chain was asked.
      cause: {
        lock: async (tx) => ((await isToSupply(tx, running)) ? undefined : ServiceUnavailable()),
        note: (tx, { id: order_id }) =>
          supplySubscriptions(tx, [{ id, supplies, order_id, look_at }], clock.now()),
      },
    },
  })
  if (placed instanceof Fault) {
    // Another process has just ordered another amount: the next look notes that order.
    if (is(placed, InvalidParams)) return lookAgain(needs, id, LOOK_AGAIN_MS)
    // The address may not be supplied any more: it was blacklisted, or has become a contract.
    if (is(placed, InvalidAddress)) return end(needs, running, placed.message)
    // The pool is empty, for example: the next look settles it.
    return lookAgain(needs, id, LOOK_AGAIN_MS)
  }
  if (!placed.replayed) return true
  return countSupply(needs, running, { order_id: placed.order.id, look_at })
}

/** Whether one runs still, and was neither supplied nor used since it was read: a use takes a hold,
 *  and then too little is held for the energy. Locks it. */
async function isToSupply(
  tx: Tx,
  { id, supplies, transactions_used, holds_ended }: RunningSubscription,
): Promise<boolean> {
  const running = await tx`
    select from subscription
    where id = ${id} and supplies = ${supplies} and transactions_used = ${transactions_used}
      and holds_ended = ${holds_ended} and state in ('new', 'pending', 'active')
    for update`
  return running.length > 0
}

/** Notes that an order supplies it. False when another was noted meanwhile. */
async function countSupply(
  { sql, clock }: Needs,
  { id, supplies }: RunningSubscription,
  by: { order_id: string; look_at: Date },
): Promise<boolean> {
  const supplied = await sql.begin((tx) =>
    supplySubscriptions(tx, [{ id, supplies, ...by }], clock.now()),
  )
  return supplied.length > 0
}

async function end(
  { sql, clock }: Needs,
  running: RunningSubscription,
  reason: string,
  as: 'stopped' | 'expired' = 'stopped',
): Promise<boolean> {
  const begun = running.state === 'active'
  const ended = await sql.begin((tx) =>
    endSubscription(tx, running, { reason, now: clock.now(), as, begun }),
  )
  return ended !== undefined
}
