// Subscriptions: what they are, and every arrow between their states.
//
//   new -> pending -> active -> stopped (by the customer, or by us with a reason) | expired
//     \-------\-> error (refunded)
//      \-------\-> stopped by what the customer does, and paid back when nothing of it was used
//
// The start is paid as an order is: held at once, captured when the address has its first energy,
// released when it cannot be given. Of one that was stopped before, the start stays held until all
// that was on its way is taken back: what is used meanwhile is paid by it. One is begun in
// starting.ts, supplied in supply.ts, and ended in ending.ts.

import { type EventType, noteEvents } from '../../events/log/notes.ts'
import { captureAll, release } from '../../ledger/accounts/ledger.ts'
import { type FaultKind, fault } from '../../lib/fault.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import { holdPrices, releasePrice } from '../../people/customers/purse.ts'
import { addSpending } from '../../people/customers/spending.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  SUBSCRIPTION_COLUMNS,
  type Subscription,
  type SubscriptionRow,
  subscriptionForms,
} from './forms.ts'

export { STATES, type Subscription } from './forms.ts'

export const SubscriptionNotFound: FaultKind = fault(
  20,
  'subscription_not_found',
  'Subscription not found',
)
/** What names one to us. */
export type SubscriptionRef = Pick<Subscription, 'id' | 'customer_id'>

/** How many subscriptions of a customer run at most, where nothing else is set for it. */
export const SUBSCRIPTIONS_MAX = 100

const holdOf = (subscription_id: string) => `subscription:${subscription_id}`

/** What was asked, or what the plan has when nothing was; 0 is none. What was asked is never more
 *  than the plan has. */
export const narrower = (asked: number, plan: number): number => (asked === 0 ? plan : asked)

async function findById(
  sql: Sql | Tx,
  customer_id: string,
  id: string,
): Promise<Subscription | undefined> {
  const [found] = await sql<Subscription>`
    select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.price_sun,
      plan.transactions_limit as plan_transactions_limit
    from subscription as s join plan on plan.id = plan_id
    where s.id = ${id} and customer_id = ${customer_id}`
  return found
}

export async function findByExternalId(
  sql: Sql | Tx,
  { customer_id, external_id }: { customer_id: string; external_id: string | null },
): Promise<Subscription | undefined> {
  const [found] = await sql<Subscription>`
    select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.price_sun,
      plan.transactions_limit as plan_transactions_limit
    from subscription as s join plan on plan.id = plan_id
    where customer_id = ${customer_id} and external_id = ${external_id}`
  return found
}

export type Names = { customer_id: string; id: string | null; external_id: string | null }

/** The customer's subscription by its id, by the customer's own id for it, or by both, which then
 *  must name the same. */
export async function findSubscription(
  sql: Sql | Tx,
  { customer_id, id, external_id }: Names,
): Promise<Subscription> {
  const found =
    id === null
      ? await findByExternalId(sql, { customer_id, external_id })
      : await findById(sql, customer_id, id)
  if (!found || (external_id !== null && found.external_id !== external_id))
    throw SubscriptionNotFound().absent(id === null ? 'external_id' : 'id', 'subscription of yours')
  return found
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
        select s.${SUBSCRIPTION_COLUMNS}, plan.key as plan_key, plan.price_sun,
      plan.transactions_limit as plan_transactions_limit
        from subscription as s join plan on plan.id = plan_id
        where customer_id = ${customer_id} and (${state}::text is null or state = ${state})
        order by s.id desc limit ${per_page} offset ${(page - 1) * per_page}`,
    ])
    return { total: Number(count?.total ?? 0n), items }
  })
}

/** -> new: places a subscription and holds what its start costs. The caller has opened a purse of
 *  its customer. */
export function placeSubscription(tx: Tx, made: Subscription): void {
  const { id, customer_id, external_id, key_id, plan_id, address, duration, transactions_limit } =
    made
  const { activate_address, total_sun, created_at, expire_at } = made
  tx.send`
    insert into subscription (id, customer_id, external_id, key_id, plan_id, address, duration,
      transactions_limit,
                              activate_address, total_sun, look_at, idle_since, created_at,
                                expire_at)
    values (${id}, ${customer_id}, ${external_id}, ${key_id}, ${plan_id}, ${address}, ${duration},
            ${transactions_limit},
            ${activate_address}, ${total_sun}, ${created_at}, ${created_at}, ${created_at},
            ${expire_at})`
  const price = { hold_id: holdOf(id), customer_id, key_id, price_sun: total_sun }
  holdPrices(tx, [price], created_at)
}

/** An order that supplies a subscription. `supplies`: how many there were before. */
export type Supply = Pick<Subscription, 'id' | 'supplies'> & { order_id: string; look_at: Date }

/** new -> pending, or a further supply of one that is begun: counts the orders, and ends a rest.
 *  Returns those that had as many supplies before as said. */
export async function supplySubscriptions(
  tx: Tx,
  supplies: readonly Supply[],
  now: Date,
): Promise<SubscriptionRef[]> {
  const ids = supplies.map(({ id }) => id)
  const supplied = await tx<SubscriptionRef>`
    with locked as materialized (
      select id from subscription where id = any(${ids}) order by id for update
    ), supplied as (
      update subscription as s set supplies = s.supplies + 1, order_id = t.order_id,
        state = case s.state when 'new' then 'pending' else s.state end, renewed_at = ${now},
        look_at = t.look_at, resting = null, withdrawn = false,
        idle_since = case when s.resting is null then s.idle_since else
          (select head_time from chain) end
      from locked join unnest(${ids}::text[], ${supplies.map((one) => one.supplies)}::integer[],
          ${supplies.map((one) => one.order_id)}::text[],
          ${supplies.map((one) => one.look_at)}::timestamptz[])
        as t (id, supplies, order_id, look_at) using (id)
      where s.id = t.id and s.supplies = t.supplies
      returning s.id, s.customer_id, s.order_id
    ), noted as (
      insert into subscription_supply (subscription_id, order_id)
      select id, order_id from supplied on conflict do nothing
    )
    select id, customer_id from supplied order by id`
  await noteSubscriptions(tx, 'subscription.supplied', supplied, { at: now })
  return supplied
}

/** Notes what was ordered for those that had ended, and were withdrawn, before the order was
 *  placed: the process died that would have noted it. It is to be taken back, too. */
export async function noteLateSupplies(sql: Sql): Promise<void> {
  await sql`
    with late as (
      select split_part(o.external_id, '/', 1) as id, o.id as order_id from orders as o
      where o.customer_id = ${SUBSCRIPTIONS}
        and (o.state in ('new', 'pending') or (o.state = 'success' and o.solid_at is null))
        and not exists (select from subscription_supply where order_id = o.id)
    ), noted as (
      insert into subscription_supply (subscription_id, order_id)
      select s.id, late.order_id from late join subscription as s on s.id = late.id
      where s.state in ('stopped', 'expired', 'error') and s.withdrawn
      on conflict do nothing returning subscription_id
    )
    update subscription set withdrawn = false where id in (select subscription_id from noted)`
}

/** Notes what a process ordered for a next supply of theirs, and died before it noted so. */
export async function noteLostSupplies(sql: Sql | Tx, ids: readonly string[]): Promise<void> {
  await sql`
    insert into subscription_supply (subscription_id, order_id)
    select s.id, o.id from subscription as s
    join orders as o on o.customer_id = ${SUBSCRIPTIONS}
      and o.external_id = s.id || '/' || (s.supplies + 1)
    where s.id = any(${ids})
    on conflict do nothing`
}

/** pending -> active: the addresses have their first energy, and the starts are charged. The caller
 *  has locked the accounts. Returns those that were still to be started. */
export async function activateSubscriptions(
  tx: Tx,
  ids: readonly string[],
  now: Date,
): Promise<SubscriptionRef[]> {
  const active = await tx<SubscriptionRef & { total_sun: bigint }>`
    with locked as materialized (
      select id from subscription where id = any(${ids}) and state = 'pending' order by id
        for update
    )
    update subscription as s set state = 'active', started_at = ${now}, look_at = ${now},
      idle_since = (select head_time from chain)
    from locked where s.id = locked.id
    returning s.id, s.customer_id, s.total_sun`
  const paid = active.filter(({ total_sun }) => total_sun > 0n)
  captureAll(
    tx,
    paid.map(({ id, total_sun }) => ({ hold_id: holdOf(id), amount_sun: total_sun })),
    now,
  )
  await noteSubscriptions(tx, 'subscription.started', active, { at: now })
  return active
}

/** `reason`: null when the customer has stopped it. */
export type Ending = SubscriptionRef & {
  state: 'stopped' | 'expired'
  reason: string | null
  at: Date
}

/** Charges the start of one that was stopped before it was active, because its energy was used all
 *  the same; where a start costs nothing, what is used of it is paid as ever. The caller has locked
 *  the account and the subscription. False when the start was given back already. */
export async function payStoppedStart(tx: Tx, id: string, now: Date): Promise<boolean> {
  const [paid] = await tx<{ total_sun: bigint }>`
    update subscription set started_at = ${now}
    where id = ${id} and state = 'stopped' and started_at is null and (total_sun > 0
      or (select activation_fee_sun + initial_price_sun from plan where id = plan_id) = 0)
    returning total_sun`
  if (paid && paid.total_sun > 0n)
    captureAll(tx, [{ hold_id: holdOf(id), amount_sun: paid.total_sun }], now)
  return paid !== undefined
}

/** Ends the hold of the start of one that was stopped before it was active, and of which nothing
 *  was used: it is given back, less what its activation costs, if the address was activated for it
 *  and no other has paid for that. The caller has locked the account and the subscription. */
export async function closeStoppedStart(
  tx: Tx,
  stopped: SubscriptionRow,
  now: Date,
): Promise<void> {
  const { id, key_id, total_sun, created_at } = stopped
  // Two that share an activation are closed one after the other, whoever closes them.
  tx.send`
    select from activation where id in (
      select o.activation_id from subscription_supply as supply
        join orders as o on o.id = supply.order_id
      where supply.subscription_id = ${id})
    order by id for no key update`
  const [fee] = await tx<{ price_sun: bigint }>`
    select price_sun from fee where name = 'activate_address'
      and (since <= ${created_at} or changed_by = 'shipped')
      and coalesce(until, 'infinity') > ${created_at} and exists (
        select from subscription_supply as supply join orders as o on o.id = supply.order_id
          join activation as a on a.id = o.activation_id
        where supply.subscription_id = ${id} and a.state = 'active' and a.attempt_id is not null
          and not exists (
            select from orders as payer where payer.activation_id = a.id and payer.fee_sun > 0
              and payer.state <> 'failed')
          and not exists (
            select from orders as shared join subscription_supply as of on of.order_id = shared.id
              join subscription as other on other.id = of.subscription_id
            where shared.activation_id = a.id and other.id <> ${id}
              and other.started_at is not null and other.total_sun > 0))
    order by id desc limit 1`
  const fee_sun = fee && fee.price_sun < total_sun ? fee.price_sun : fee ? total_sun : 0n
  if (fee_sun > 0n) captureAll(tx, [{ hold_id: holdOf(id), amount_sun: fee_sun }], now)
  else await release(tx, holdOf(id), now)
  if (key_id !== null) addSpending(tx, key_id, { sun: fee_sun - total_sun, at: created_at })
  tx.send`
    update subscription set total_sun = ${fee_sun},
      started_at = case when ${fee_sun} > 0 then ${now}::timestamptz end
    where id = ${id}`
}

/** active -> stopped | expired; by what the customer does also new, pending -> stopped. The caller
 *  has locked them. */
export async function endSubscriptions(tx: Tx, endings: readonly Ending[]): Promise<void> {
  if (endings.length === 0) return
  tx.send`
    with ended as (
      update subscription as s set state = e.state, stopped_at = e.at, reason = e.reason,
        resting = null
      from unnest(${endings.map((one) => one.id)}::text[],
                  ${endings.map((one) => one.state)}::text[],
        ${endings.map((one) => one.reason)}::text[], ${endings.map((one) => one.at)}::timestamptz[])
        as e (id, state, reason, at)
      where s.id = e.id and (s.state = 'active'
        or (e.state = 'stopped' and s.state in ('new', 'pending')))
      returning 1
    )
    select must(count(*) = ${endings.length}, 'a subscription that ends did not run') from ended`
  for (const one of endings) {
    const type = one.state === 'stopped' ? 'subscription.stopped' : 'subscription.expired'
    await noteSubscriptions(tx, type, [one], { at: one.at })
  }
}

/** new, pending -> error: what the starts cost is given back. The caller has locked the accounts
 *  and the subscriptions. */
export async function failSubscriptions(
  tx: Tx,
  failed: readonly SubscriptionRow[],
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  if (failed.length === 0) return
  tx.send`
    with failed as (
      update subscription set state = 'error', reason = ${reason}, total_sun = 0
      where id = any(${failed.map(({ id }) => id)}) and state in ('new', 'pending') returning 1
    )
    select must(count(*) = ${failed.length}, 'a subscription that fails had begun') from failed`
  for (const { id, key_id, total_sun, created_at } of failed) {
    const price = { hold_id: holdOf(id), key_id, price_sun: total_sun }
    await releasePrice(tx, price, { held_at: created_at, now })
  }
  await noteSubscriptions(tx, 'subscription.failed', failed, { at: now })
}

/** Notes what the endpoint of each subscription answers now, and what is told beside it. */
export async function noteSubscriptions(
  tx: Tx,
  type: EventType,
  named: readonly SubscriptionRef[],
  { at, detail }: { at: Date; detail?: object },
): Promise<void> {
  if (named.length === 0) return
  const form_of = await subscriptionForms(
    tx,
    named.map(({ id }) => id),
  )
  noteEvents(
    tx,
    named.map(({ id, customer_id }) => ({
      type,
      subject: `subscription:${id}`,
      customer_id,
      at,
      data: { ...form_of.get(id)!, ...detail },
    })),
  )
}
