// Keeps the addresses of subscriptions supplied.
//
//   supply            tops an address up to the energy of one transaction: new -> pending -> active, and while active
//   withdraw_supply   takes back what a stopped or expired subscription still has
//
// A supply is an order of the house for an hour like any other, so nothing new has to be right about it. It is renewed
// some minutes before its hour is over. What was used is noted in uses.ts, which makes the next look due.

import { addSpending } from '../customers/spending.ts'
import { captureAll, customerAccount, lockAccounts, release } from '../ledger/ledger.ts'
import { type Clock, later } from '../lib/clock.ts'
import { Fault } from '../lib/fault.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import { allOrEach, eachRow, type Step } from '../lib/step.ts'
import type { Placed, Purchase } from '../market/orders.ts'
import { InvalidAddress } from '../market/purchases.ts'
import type { Node } from '../tron/node.ts'
import { holdOf, type Subscription } from './subscriptions.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  node: Pick<Node, 'resource'>
  placeOrder: (purchase: Purchase) => Promise<Placed>
}

/** Whom the orders that supply subscriptions belong to. */
const HOUSE = 'subscriptions'
/** Energy that ends within this time does not count: its successor is delegated before. */
const RENEW_SECONDS = 300
/** How often an address is looked at when nothing happens. */
const LOOK_MS = 60_000
const LOOK_AGAIN_MS = 3_000
/** How soon again while a supply is on its way: what was used meanwhile is due when that is there. */
const UNDER_WAY_MS = 500
/** How long the first energy may take before the subscription is an error and paid back. */
const START_MS_MAX = 600_000
const AT_ONCE = 16
const ACTIVATED_AT_ONCE = 200

type Running = Subscription & { energy_per_transaction: number; order_state: string | null }

export function supplyStep(needs: Needs): Step {
  return {
    name: 'supply',
    rest_ms: 1_000,
    wakes: ['delegate', 'activate', 'withdraw_supply'],
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

/** Subscriptions whose first energy is there. Many of one customer become active after the same block: together, so that
 *  they do not queue for its account, and whoever buys meanwhile behind them. */
async function activateSupplied({ sql, clock }: Needs): Promise<boolean> {
  const due = await sql<Started>`
    select s.id, s.customer_id, s.total_sun from subscription as s join orders as o on o.id = s.order_id
    where s.state = 'pending' and o.state = 'success'
    order by s.id limit ${ACTIVATED_AT_ONCE}`
  return allOrEach(
    due,
    (started) => sql.begin((tx) => activateAll(tx, clock, started)),
    ({ id }) => sql`update subscription set look_at = ${later(clock, LOOK_AGAIN_MS)} where id = ${id}`,
  )
}

async function supplyDue(needs: Needs): Promise<boolean> {
  const { sql, clock } = needs
  const due = await sql<{ id: string }>`
    select s.id from subscription as s left join orders as o on o.id = s.order_id
    where s.state in ('new', 'pending', 'active')
      and (look_at <= ${clock.now()} or (s.state = 'pending' and o.state = 'failed'))
    order by look_at limit ${AT_ONCE}`
  // Together, so that their orders are placed in one transaction.
  const outcomes = await Promise.allSettled(due.map(({ id }) => supply(needs, id)))
  const failed = outcomes.flatMap((one, i) =>
    one.status === 'rejected' ? [{ id: due[i]!.id, reason: one.reason }] : [],
  )
  if (failed.length > 0) {
    const ids = failed.map(({ id }) => id)
    await sql`update subscription set look_at = ${later(clock, LOOK_AGAIN_MS)} where id = any(${ids})`
    throw failed[0]!.reason
  }
  return outcomes.some((one) => one.status === 'fulfilled' && one.value)
}

async function supply(needs: Needs, id: string): Promise<boolean> {
  const { sql, clock } = needs
  const running = await findRunning(sql, id)
  if (!running) return false
  const now = clock.now()
  // Its energy came in between: it is the other half's.
  if (running.state === 'pending' && running.order_state === 'success') return false
  const starting = running.state !== 'active'
  const waited_ms = now.getTime() - running.created_at.getTime()
  if (starting && (running.order_state === 'failed' || waited_ms > START_MS_MAX)) return giveUp(needs, running)
  if (running.expire_at !== null && running.expire_at <= now) return expire(sql, running, now)
  if (running.order_state === 'new' || running.order_state === 'pending') return lookAgain(needs, id, UNDER_WAY_MS)
  // At the start the whole is given, whatever the address has from elsewhere.
  const has = starting ? 0 : await lasting(needs, running)
  const missing = running.energy_per_transaction - has
  if (missing <= 0) return lookAgain(needs, id, LOOK_MS)
  return topUp(needs, running, missing)
}

async function findRunning(sql: Sql | Tx, id: string): Promise<Running | undefined> {
  const [running] = await sql<Running>`
    select s.*, plan.key as plan_key, plan.energy_per_transaction, o.state as order_state
    from subscription as s join plan on plan.id = plan_id left join orders as o on o.id = order_id
    where s.id = ${id} and s.state in ('new', 'pending', 'active')`
  return running
}

async function lookAgain({ sql, clock }: Needs, id: string, ms: number): Promise<false> {
  await sql`update subscription set look_at = ${later(clock, ms)} where id = ${id}`
  return false
}

/** The energy that the address has now and will still have when its oldest supply is over. */
async function lasting({ sql, node }: Needs, { id, address }: Running): Promise<number> {
  const energy = await node.resource(address, 'energy')
  // By their stake: a delegation has a margin over its amount, and that goes with it.
  const [ending] = await sql<{ amount: bigint }>`
    select coalesce(ceil(sum(d.stake_sun) * max(pool.total_limit) / nullif(max(pool.total_weight), 0) / 1000000), 0)::bigint
      as amount
    from delegation as d join subscription_supply as s on s.order_id = d.order_id join pool on pool.resource = d.resource
    where s.subscription_id = ${id} and d.state = 'active' and d.resource = 'energy'
      and d.expires_at <= (select head_time from chain) + ${RENEW_SECONDS} * interval '1 second'`
  return Math.max(0, Number(energy.left - (ending?.amount ?? 0n)))
}

async function topUp(needs: Needs, running: Running, missing: number): Promise<boolean> {
  const { sql, clock } = needs
  const { id, address, supplies, activate_address } = running
  const placed = await needs
    .placeOrder({
      ...{ customer_id: HOUSE, external_id: `${id}/${supplies + 1}`, service: 'energy', address },
      ...{ energy: missing, bandwidth: 0, activate: activate_address, house: { agreed_sun: 0n } },
    })
    .catch((thrown: unknown) => {
      if (thrown instanceof Fault) return thrown
      throw thrown
    })
  // The pool is empty, or the order of before a crash asked for another amount: the next look settles it.
  if (placed instanceof Fault && placed.code === 2) return skipSupply(sql, running)
  if (placed instanceof Fault && placed.code === InvalidAddress.code) return endRefused(needs, running, placed.message)
  if (placed instanceof Fault) return lookAgain(needs, id, LOOK_AGAIN_MS)
  const now = clock.now()
  return sql.begin(async (tx) => {
    const counted = await tx`
      update subscription set supplies = supplies + 1, order_id = ${placed.order.id}, renewed_at = ${now},
        look_at = ${later(clock, LOOK_AGAIN_MS)}, state = case state when 'new' then 'pending' else state end,
        withdrawn = false
      where id = ${id} and supplies = ${supplies} returning 1`
    if (counted.length === 0) return false
    await tx`
      insert into subscription_supply (subscription_id, order_id) values (${id}, ${placed.order.id})
      on conflict do nothing`
    return true
  })
}

/** The address may not be supplied any more: it has been blacklisted, or has become a contract. */
async function endRefused(needs: Needs, running: Running, reason: string): Promise<boolean> {
  const { sql, clock } = needs
  if (running.state !== 'active') return giveUp(needs, running, reason)
  const ended = await sql`
    update subscription set state = 'stopped', stopped_at = ${clock.now()}, reason = ${reason}
    where id = ${running.id} and state = 'active' returning 1`
  return ended.length > 0
}

/** Takes over the order that was placed before a crash under this number. */
async function skipSupply(sql: Sql, { id, supplies }: Running): Promise<boolean> {
  const external_id = `${id}/${supplies + 1}`
  return sql.begin(async (tx) => {
    const [order] = await tx<{ id: string }>`
      select id from orders where customer_id = ${HOUSE} and external_id = ${external_id}`
    if (!order) return false
    await tx`
      update subscription set supplies = supplies + 1, order_id = ${order.id}, withdrawn = false,
        state = case state when 'new' then 'pending' else state end
      where id = ${id} and supplies = ${supplies}`
    await tx`
      insert into subscription_supply (subscription_id, order_id) values (${id}, ${order.id}) on conflict do nothing`
    return true
  })
}

export type Started = Pick<Subscription, 'id' | 'customer_id' | 'total_sun'>

/** Takes what the starts cost: the addresses have their first energy. True when any of them was still to be started. */
export async function activateAll(tx: Tx, clock: Clock, started: readonly Started[]): Promise<boolean> {
  const now = clock.now()
  const [, active] = await Promise.all([
    lockAccounts(tx, [...new Set(started.map(({ customer_id }) => customerAccount(customer_id)))]),
    tx<Started>`
      update subscription set state = 'active', started_at = ${now}, look_at = ${now}
      where id = any(${started.map(({ id }) => id)}) and state = 'pending' returning id, customer_id, total_sun`,
  ])
  const paid = active.filter(({ total_sun }) => total_sun > 0n)
  void captureAll(
    tx,
    paid.map(({ id, total_sun }) => ({ hold_id: holdOf(id), amount_sun: total_sun })),
    now,
  )
  return active.length > 0
}

async function giveUp(
  { sql, clock }: Needs,
  { id, customer_id, key_id, created_at, total_sun }: Running,
  reason = 'the address could not be supplied',
): Promise<boolean> {
  const now = clock.now()
  return sql.begin(async (tx) => {
    await lockAccounts(tx, [customerAccount(customer_id)])
    const [mine] = await tx`
      update subscription set state = 'error', reason = ${reason}, total_sun = 0
      where id = ${id} and state in ('new', 'pending') returning 1`
    if (!mine) return false
    if (total_sun > 0n) await release(tx, holdOf(id), now)
    if (key_id !== null) await addSpending(tx, key_id, { sun: -total_sun, at: created_at })
    return true
  })
}

async function expire(sql: Sql, { id, state }: Running, now: Date): Promise<boolean> {
  if (state !== 'active') return false
  const ended = await sql`
    update subscription set state = 'expired', stopped_at = ${now}, reason = 'its days are used up'
    where id = ${id} and state = 'active' returning 1`
  return ended.length > 0
}

/** What a subscription that has ended still has is due at once; it is looked at until nothing of it is left. */
export function withdrawSupplyStep({ sql }: Pick<Needs, 'sql'>): Step {
  return {
    name: 'withdraw_supply',
    rest_ms: 3_000,
    wakes: ['reclaim'],
    async run() {
      // One that was placed before a crash and not noted; after the end nobody else looks for it.
      await sql`
        insert into subscription_supply (subscription_id, order_id)
        select s.id, o.id from subscription as s
        join orders as o on o.customer_id = ${HOUSE} and o.external_id = s.id || '/' || (s.supplies + 1)
        where s.state in ('stopped', 'expired', 'error') and not s.withdrawn
        on conflict do nothing`
      const due = await sql`
        update delegation set expires_at = delegated_at
        from subscription as s join subscription_supply as supply on supply.subscription_id = s.id
        where s.state in ('stopped', 'expired', 'error') and not s.withdrawn
          and delegation.order_id = supply.order_id and delegation.state = 'active'
          and delegation.expires_at > delegation.delegated_at
        returning delegation.id`
      await sql`
        update subscription set withdrawn = true
        where state in ('stopped', 'expired', 'error') and not withdrawn and not exists (
          select 1 from subscription_supply as supply join orders as o on o.id = supply.order_id
            left join delegation as d on d.order_id = o.id
          where supply.subscription_id = subscription.id
            and (o.state in ('new', 'pending') or o.to_delegate or d.state in ('delegating', 'active')))`
      return due.length > 0
    },
  }
}
