// Subscriptions: starting, stopping, looking up.
//
//   new -> pending -> active -> stopped (by the customer, or by us with a reason) | expired
//     \-------\-> error (refunded)
//
// The start is paid as an order is: held at once, captured when the address has its first energy,
// released when it cannot be given. What happens in between is in supply.ts, and how we end one in
// ending.ts.

import type { Address } from 'penstock-tron/address.ts'
import { chainState, isAgreed } from '../chain/progress.ts'
import {
  type Buyer,
  holdPrices,
  isReplay,
  openPurse,
  type Purse,
  refuseReceiver,
} from '../customers/purse.ts'
import { brokenConstraint, type Sql, type Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { Fault, type FaultKind, fault } from '../lib/fault.ts'
import type { NewId } from '../lib/ids.ts'
import { AddressNotActivated } from '../market/placing.ts'
import type { Caller, Receiver, ReceiverReader } from '../node/receivers.ts'
import { InvalidParams, ServiceUnavailable, Unauthenticated } from '../wire/endpoint.ts'
import { InvalidAddress, InvalidDuration } from '../wire/reading.ts'
import { findPlan, type Plan } from './plans.ts'

export const SubscriptionNotFound: FaultKind = fault(
  20,
  'subscription_not_found',
  'Subscription not found',
)
export const CannotStop: FaultKind = fault(
  21,
  'cannot_stop_subscription',
  'This subscription cannot be stopped',
)

export const STATES = ['new', 'pending', 'error', 'active', 'stopped', 'expired'] as const

export type Subscription = {
  id: string
  customer_id: string
  external_id: string | null
  key_id: string | null
  plan_id: number
  plan_key: string
  address: Address
  duration: number
  transactions_limit: number
  activate_address: boolean
  state: (typeof STATES)[number]
  reason: string | null
  transactions_used: number
  energy_used: bigint
  total_sun: bigint
  supplies: number
  order_id: string | null
  /** Why it is not supplied, while it runs. */
  resting: 'idle' | 'daily_cap' | null
  /** Since when it has not been used. */
  idle_since: Date
  holds_made: number
  holds_ended: number
  created_at: Date
  started_at: Date | null
  renewed_at: Date | null
  stopped_at: Date | null
  expire_at: Date | null
}

export type Wanted = Buyer & {
  external_id: string | null
  plan_key: string
  address: Address
  duration: number
  transactions_limit: number
  activate_address: boolean
  key_id: string
  /** The API key whose call this is, as far as it asks the chain. */
  asked_by: Caller
}

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  receiver: ReceiverReader
  wake: (step: string) => void
}

/** Whom the orders that supply subscriptions belong to. */
export const HOUSE = 'subscriptions'

/** How many subscriptions of a customer run at most, where nothing else is set for it. */
export const SUBSCRIPTIONS_MAX = 100

export const holdOf = (subscription_id: string) => `subscription:${subscription_id}`

const DAY_MS = 24 * 3_600_000

/** What was asked, or what the plan has when nothing was; 0 is none. What was asked is never more
 *  than the plan has. */
export const narrower = (asked: number, plan: number): number => (asked === 0 ? plan : asked)

/** Starts a subscription; the same external id with the same meaning returns the one that is
 *  there. */
export async function startSubscription(
  needs: Needs,
  wanted: Wanted,
): Promise<{ subscription: Subscription; replayed: boolean }> {
  const { sql, wake } = needs
  const [plan, receiver] = await Promise.all([
    findPlan(sql, wanted.plan_key),
    needs.receiver(wanted.address, wanted.asked_by),
  ])
  const place = () => sql.begin((tx) => start(tx, needs, { wanted, plan, receiver }))
  const started = await place().catch((thrown: unknown) => {
    // Somebody else subscribed the same address in between: now that is seen, so look again.
    if (brokenConstraint(thrown) === 'subscription_one_per_address') return place()
    throw thrown
  })
  if (!started.replayed) wake('supply')
  return started
}

/** A limit may narrow that of the plan, and not widen it. */
const fits = (asked: number, plan: number) => asked === 0 || plan === 0 || asked <= plan

/** What a replay has in common with what was started before under its external id. */
const MEANING = [
  'plan_key',
  'address',
  'duration',
  'transactions_limit',
  'activate_address',
] as const

type Terms = { wanted: Wanted; plan: Plan | undefined; receiver: Receiver }

async function start(
  tx: Tx,
  needs: Needs,
  terms: Terms,
): Promise<{ subscription: Subscription; replayed: boolean }> {
  const now = needs.clock.now()
  const situation = await readSituation(tx, needs.clock, { ...terms, now })
  if (situation.earlier) {
    if (!isReplay(situation.earlier, terms.wanted, MEANING))
      throw InvalidParams('external_id', 'Invalid external_id')
    return { subscription: situation.earlier, replayed: true }
  }
  if (situation.revoked) throw Unauthenticated()
  const plan = judge(terms, situation)
  if (plan instanceof Fault) throw plan
  const subscription = newSubscription(terms.wanted, { id: needs.new_id(), plan, now })
  write(tx, subscription)
  return { subscription, replayed: false }
}

type Situation = {
  purse: Purse
  earlier: Subscription | undefined
  can_supply: boolean
  running: { customer_id: string } | undefined
  /** The customer has as many as it may have. */
  at_limit: boolean
  /** The key was revoked after the request was let in. */
  revoked: boolean
}

/** What a start is judged on, in one round trip: whoever else uses the account waits for it. */
async function readSituation(
  tx: Tx,
  clock: Clock,
  { wanted, plan, now }: Terms & { now: Date },
): Promise<Situation> {
  const [purse, earlier, can_supply, [running], [allowed]] = await Promise.all([
    openPurse(tx, [wanted], now),
    wanted.external_id === null ? undefined : findByExternalId(tx, wanted),
    plan === undefined ? false : canSupply(tx, clock, plan),
    tx<{ customer_id: string }>`
      select customer_id from subscription where address = ${wanted.address} and state in ('new', 'pending', 'active')`,
    tx<{ at_limit: boolean; revoked: boolean }>`
      select (select count(*) from subscription where customer_id = customer.id
        and state in ('new', 'pending', 'active'))
               >= coalesce(subscriptions_limit, ${SUBSCRIPTIONS_MAX}) as at_limit,
             exists (select 1 from api_key where id = ${wanted.key_id}
               and revoked_at is not null) as revoked
      from customer where id = ${wanted.customer_id}`,
  ])
  const { at_limit = false, revoked = false } = allowed ?? {}
  return { purse, earlier, can_supply, running, at_limit, revoked }
}

/** The plan that is started, or the first refusal in the order that the wire lays down. */
function judge({ wanted, plan, receiver }: Terms, situation: Situation): Plan | Fault {
  const { purse, running } = situation
  if (!plan) return InvalidParams(undefined, 'Unknown subscription plan')
  if (!fits(wanted.duration, plan.duration_days))
    return InvalidDuration(undefined, 'Invalid duration')
  if (!fits(wanted.transactions_limit, plan.transactions_limit)) return InvalidParams()
  if (!situation.can_supply || receiver === 'unknown') return ServiceUnavailable()
  const refused = purse.refuseWallet(wanted) ?? refuseReceiver(receiver)
  if (refused) return refused
  if (running?.customer_id === wanted.customer_id) {
    return InvalidAddress('already_subscribed', 'The address already has an active subscription')
  }
  if (running) return InvalidParams('address_owner', 'Address belongs to another user')
  if (receiver === 'inactive' && !wanted.activate_address)
    return AddressNotActivated('subscription')
  if (situation.at_limit)
    return ServiceUnavailable('subscriptions', 'As many subscriptions as are allowed run already')
  // Where the plan includes nothing, the first transaction is held for too, before it is supplied.
  const needed_sun = totalOf(plan) + (plan.included === 0 ? plan.price_sun : 0n)
  return purse.refusePrice(wanted, needed_sun) ?? plan
}

/** What the start of a subscription costs. */
const totalOf = (plan: Plan): bigint => plan.activation_fee_sun + plan.initial_price_sun

function newSubscription(
  { key: _key, asked_by: _asker, ...wanted }: Wanted,
  { id, plan, now }: { id: string; plan: Plan; now: Date },
): Subscription {
  const days = narrower(wanted.duration, plan.duration_days)
  const expire_at = days === 0 ? null : new Date(now.getTime() + days * DAY_MS)
  return {
    ...wanted,
    id,
    expire_at,
    plan_id: plan.id,
    total_sun: totalOf(plan),
    created_at: now,
    idle_since: now,
    ...{
      state: 'new',
      reason: null,
      transactions_used: 0,
      energy_used: 0n,
      supplies: 0,
      order_id: null,
    },
    resting: null,
    holds_made: 0,
    holds_ended: 0,
    ...{ started_at: null, renewed_at: null, stopped_at: null },
  }
}

function write(tx: Tx, made: Subscription): void {
  const { id, customer_id, external_id, key_id, plan_id, address, duration, transactions_limit } =
    made
  const { activate_address, total_sun, created_at, expire_at } = made
  tx.send`
    insert into subscription (id, customer_id, external_id, key_id, plan_id, address, duration,
      transactions_limit,
                              activate_address, total_sun, look_at, idle_since, created_at,
                                expire_at)
    values (${id}, ${customer_id}, ${external_id}, ${key_id}, ${plan_id}, ${address}, ${duration}, ${transactions_limit},
            ${activate_address}, ${total_sun}, ${created_at}, ${created_at}, ${created_at}, ${expire_at})`
  const price = { hold_id: holdOf(id), customer_id, key_id, price_sun: total_sun }
  holdPrices(tx, [price], created_at)
}

/** Whether the first energy could be given now: on sale, the chain answers, and the pool has
 *  room. */
async function canSupply(tx: Tx, clock: Clock, plan: Plan): Promise<boolean> {
  const [on_sale, room, chain] = await Promise.all([
    tx`select 1 from service where name = 'subscription' and on_sale`,
    tx`select 1 from pool where resource = 'energy' and room - reserved >= ${plan.energy_per_transaction}`,
    chainState(tx),
  ])
  return on_sale.length > 0 && room.length > 0 && isAgreed(chain, clock)
}

async function findById(
  sql: Sql | Tx,
  customer_id: string,
  id: string,
): Promise<Subscription | undefined> {
  const [found] = await sql<Subscription>`
    select s.*, plan.key as plan_key from subscription as s join plan on plan.id = plan_id
    where s.id = ${id} and customer_id = ${customer_id}`
  return found
}

async function findByExternalId(
  sql: Sql | Tx,
  { customer_id, external_id }: { customer_id: string; external_id: string | null },
): Promise<Subscription | undefined> {
  const [found] = await sql<Subscription>`
    select s.*, plan.key as plan_key from subscription as s join plan on plan.id = plan_id
    where customer_id = ${customer_id} and external_id = ${external_id}`
  return found
}

export type Named = { customer_id: string; id: string | null; external_id: string | null }

/** The customer's subscription by its id, by the customer's own id for it, or by both, which then
 *  must name the same. */
export async function findSubscription(
  sql: Sql | Tx,
  { customer_id, id, external_id }: Named,
): Promise<Subscription> {
  const found =
    id === null
      ? await findByExternalId(sql, { customer_id, external_id })
      : await findById(sql, customer_id, id)
  if (!found || (external_id !== null && found.external_id !== external_id))
    throw SubscriptionNotFound()
  return found
}

/** Stops a running subscription without a limit of transactions. Throws 20 and 21. */
export async function stopSubscription(
  { sql, clock, wake }: Needs,
  named: Named,
): Promise<Subscription> {
  const found = await findSubscription(sql, named)
  const [stopped] = await sql<Subscription>`
    update subscription as s set state = 'stopped', stopped_at = ${clock.now()}, resting = null
      from plan
    where s.id = ${found.id} and s.state = 'active' and plan.id = plan_id
      and plan.transactions_limit = 0 and s.transactions_limit = 0
    returning s.*, plan.key as plan_key`
  if (!stopped) throw CannotStop()
  wake('withdraw_supply')
  return stopped
}

/** One page of the customer's subscriptions, newest first, and how many there are. */
export async function listSubscriptions(
  sql: Sql,
  asked: { customer_id: string; state: string | null; page: number; per_page: number },
): Promise<{ total: number; items: Subscription[] }> {
  const { customer_id, state, page, per_page } = asked
  return sql.begin(async (tx) => {
    tx.send`set transaction isolation level repeatable read, read only`
    const [[count], items] = await Promise.all([
      tx<{ total: bigint }>`
        select count(*) as total from subscription
        where customer_id = ${customer_id} and (${state}::text is null or state = ${state})`,
      tx<Subscription>`
        select s.*, plan.key as plan_key from subscription as s join plan on plan.id = plan_id
        where customer_id = ${customer_id} and (${state}::text is null or state = ${state})
        order by s.id desc limit ${per_page} offset ${(page - 1) * per_page}`,
    ])
    return { total: Number(count?.total ?? 0n), items }
  })
}
