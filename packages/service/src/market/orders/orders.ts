// Orders: what was bought, and the arrows that move it. Each arrow is one function here, for any
// number of orders, in the caller's transaction.
//
//   new -> pending (a transaction for it is on its way) -> success | failed (refunded)
//
// The customer is charged in the same transaction that makes the order a success, and gets the
// money back in the one that makes it a failure. A success stays one: if a fork takes a delivered
// part back and its transaction then dies, the part is delivered again at our cost. Who calls
// what: placing.ts, delivery.ts, settlement.ts.

import type { Resource } from '../../chain/node/node.ts'
import { type EventType, noteEvents } from '../../events/log/notes.ts'
import { captureAll } from '../../ledger/accounts/ledger.ts'
import { isCustomer } from '../../people/customers/customers.ts'
import { holdPrices, releasePrice } from '../../people/customers/purse.ts'
import { addSpending } from '../../people/customers/spending.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { endDelegationsNow } from '../pool/delegations.ts'
import { reserveRoom, sellRoom } from '../pool/pool.ts'
import { checkedOrders, ORDER_COLUMNS, type Order, printOrder, type WAITS } from './forms.ts'

export type { Order } from './forms.ts'

/** The hold that pays for an order. */
const holdOf = (order_id: string) => `order:${order_id}`

/** What is bought for the service itself is told to nobody. */
const told = <Noted extends Order>(orders: readonly Noted[]) =>
  orders.filter(({ customer_id }) => isCustomer(customer_id))

/** Notes what the endpoint of each order answers now, and what is told beside it. */
async function noteOrders<Noted extends Order>(
  tx: Tx,
  type: EventType,
  orders: readonly Noted[],
  { at, detail = () => ({}) }: { at: Date; detail?: (order: Noted) => object },
): Promise<void> {
  const noted = told(orders)
  if (noted.length === 0) return
  const form_of = await checkedOrders(
    tx,
    noted.map(({ id }) => id),
  )
  noteEvents(
    tx,
    noted.map((order) => ({
      type,
      subject: `order:${order.id}`,
      customer_id: order.customer_id,
      at,
      data: { ...form_of.get(order.id)!, ...detail(order) },
    })),
  )
}

const sumOf = (orders: readonly Order[], resource: Resource): bigint =>
  orders.reduce((sum, order) => sum + order[resource], 0n)

/** -> new: sets their prices aside, and reserves what they want of the pool. */
export function insertOrders(tx: Tx, orders: readonly Order[], now: Date): void {
  if (orders.length === 0) return
  const column = <K extends keyof Order>(name: K) => orders.map((order) => order[name])
  tx.send`
    insert into orders (id, customer_id, external_id, key_id, quote_id, service, address, energy,
      bandwidth, activate, activation_id, to_delegate, amount_sun, fee_sun, due_at, created_at)
    select o.*, ${now}, ${now}
    from unnest(${column('id')}::text[], ${column('customer_id')}::text[],
                ${column('external_id')}::text[], ${column('key_id')}::text[],
                ${column('quote_id')}::text[], ${column('service')}::text[],
                ${column('address')}::text[], ${column('energy')}::bigint[],
                ${column('bandwidth')}::bigint[], ${column('activate')}::boolean[],
                ${column('activation_id')}::text[], ${column('to_delegate')}::boolean[],
                ${column('amount_sun')}::bigint[], ${column('fee_sun')}::bigint[]) as o`
  const prices = orders.map(({ id, customer_id, key_id, amount_sun: price_sun }) => ({
    hold_id: holdOf(id),
    customer_id,
    key_id,
    price_sun,
  }))
  holdPrices(tx, prices, now)
  sellRoom(tx, { energy: sumOf(orders, 'energy'), bandwidth: sumOf(orders, 'bandwidth') })
  noteEvents(
    tx,
    told(orders).map((order) => ({
      type: 'order.created',
      subject: `order:${order.id}`,
      customer_id: order.customer_id,
      at: now,
      data: printOrder(order),
    })),
  )
}

/** new -> pending: the activations that they pay for are asked for. */
export function awaitActivations(tx: Tx, activation_ids: readonly string[]): void {
  tx.send`
    update orders set state = 'pending' where id in (
      select id from orders
      where activation_id = any(${activation_ids}) and activate and state = 'new'
      order by id for no key update)`
}

/** new -> pending: all that they still wanted is asked for. A success that is delivered again stays
 *  one. The caller has locked them. */
export function awaitDelegations(tx: Tx, ids: readonly string[]): void {
  tx.send`
    update orders set to_delegate = false, state = case state when 'new' then 'pending'
      else state end
    where id = any(${ids})`
}

/** `refund_sun`: what of the price is not charged after all. */
export type Success = { order: Order; tx_id: string; refund_sun: bigint }

/** pending -> success: charges the customers. The caller has locked the orders and the accounts. */
export async function succeedOrders(
  tx: Tx,
  successes: readonly Success[],
  now: Date,
): Promise<void> {
  const ids = successes.map(({ order }) => order.id)
  tx.send`
    update orders set state = 'success', tx_id = t.tx_id, amount_sun = amount_sun - t.refund_sun,
      fee_sun = fee_sun - t.refund_sun
    from unnest(${ids}::text[], ${successes.map((one) => one.tx_id)}::text[],
                ${successes.map((one) => one.refund_sun)}::bigint[]) as t (id, tx_id, refund_sun)
    where orders.id = t.id`
  const paid = successes.filter(({ order }) => order.amount_sun > 0n)
  captureAll(
    tx,
    paid.map(({ order, refund_sun }) => ({
      hold_id: holdOf(order.id),
      amount_sun: order.amount_sun - refund_sun,
    })),
    now,
  )
  // What is not charged does not count against the cap of the key either.
  for (const { order, refund_sun } of successes)
    if (order.key_id !== null && refund_sun > 0n)
      addSpending(tx, order.key_id, { sun: -refund_sun, at: order.created_at })
  await noteOrders(
    tx,
    'order.succeeded',
    successes.map(({ order }) => order),
    { at: now },
  )
}

/** `missing`: what of an order is neither delegated nor on its way, and so is still reserved. */
export type Failure = { order: Order; missing: Readonly<Record<Resource, bigint>> }

/** new, pending -> failed: gives the money back, and what was delivered is due at once. The caller
 *  has locked the orders and the accounts. */
export async function failOrders(tx: Tx, failures: readonly Failure[], now: Date): Promise<void> {
  const orders = failures.map(({ order }) => order)
  const ids = orders.map(({ id }) => id)
  tx.send`update orders set state = 'failed', to_delegate = false where id = any(${ids})`
  for (const { id, key_id, amount_sun, created_at } of orders) {
    const price = { hold_id: holdOf(id), key_id, price_sun: amount_sun }
    await releasePrice(tx, price, { held_at: created_at, now })
  }
  endDelegationsNow(tx, ids)
  const reserved = (resource: Resource) =>
    failures.reduce((sum, { missing }) => sum + missing[resource], 0n)
  reserveRoom(tx, { energy: -reserved('energy'), bandwidth: -reserved('bandwidth') })
  await noteOrders(tx, 'order.failed', orders, { at: now })
}

/** Parts of an order are dead: they are delegated again. The caller has locked it. */
export async function deliverAgain(
  tx: Tx,
  order: Order,
  parts: readonly { resource: Resource; amount: bigint }[],
  now: Date,
): Promise<void> {
  tx.send`
    update orders set to_delegate = true, tries = tries + ${parts.length} where id = ${order.id}`
  const missing = (resource: Resource) =>
    parts.reduce((sum, part) => sum + (part.resource === resource ? part.amount : 0n), 0n)
  reserveRoom(tx, { energy: missing('energy'), bandwidth: missing('bandwidth') })
  if (order.state === 'success') await noteOrders(tx, 'order.reverted', [order], { at: now })
}

/** Notes that all of them is taken back, once, whatever a fork does to it later. The caller has
 *  locked them. */
export async function endOrders(tx: Tx, orders: readonly Order[], now: Date): Promise<void> {
  const ids = orders.map(({ id }) => id)
  tx.send`update orders set ended_at = ${now} where id = any(${ids})`
  await noteOrders(tx, 'order.ended', orders, { at: now })
}

const idsOf = (orders: readonly Order[]) => orders.map(({ id }) => id)

/** An order that is open for long, and why. */
export type DelayedOrder = Order & { waits_for: (typeof WAITS)[number] }

/** Notes that they are open for long, once. The caller has locked them. */
export async function delayOrders(
  tx: Tx,
  orders: readonly DelayedOrder[],
  now: Date,
): Promise<void> {
  if (orders.length === 0) return
  tx.send`update orders set delayed_at = ${now} where id = any(${idsOf(orders)})`
  const detail = ({ waits_for }: DelayedOrder) => ({ waits_for })
  await noteOrders(tx, 'order.delayed', orders, { at: now, detail })
}

/** Notes that no fork can take back any part of them, once. The caller has locked them. */
export async function solidifyOrders(tx: Tx, orders: readonly Order[], now: Date): Promise<void> {
  if (orders.length === 0) return
  tx.send`update orders set solid_at = ${now} where id = any(${idsOf(orders)})`
  await noteOrders(tx, 'order.solid', orders, { at: now })
}

/** Notes that their hour is nearly over, once. The caller has locked them. */
export async function remindOrders(tx: Tx, orders: readonly Order[], now: Date): Promise<void> {
  if (orders.length === 0) return
  tx.send`update orders set ending_at = ${now} where id = any(${idsOf(orders)})`
  await noteOrders(tx, 'order.ending', orders, { at: now })
}

/** A success shows the transaction that is on the chain: after a fork it may be another one. */
export function showTransaction(tx: Tx, id: string, tx_id: string): void {
  tx.send`update orders set tx_id = ${tx_id} where id = ${id}`
}

/** The same for those that bought an activation: they show its transaction. */
export async function showActivation(sql: Query, activation_id: string): Promise<void> {
  await sql`
    update orders set tx_id = t.tx_id from activation as a join attempt as t on t.id = a.attempt_id
    where a.id = ${activation_id} and orders.activation_id = a.id
      and orders.service = 'activate_address'
      and orders.state = 'success' and orders.tx_id <> t.tx_id`
}

/** They cannot be gone on with now. */
export async function postponeOrders(
  sql: Query,
  ids: readonly string[],
  due_at: Date,
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update orders set due_at = ${due_at} where id in (
      select id from orders where id = any(${ids}) order by id for no key update)`
}

/** The customer's order by its id, by the customer's own id for it, or by both, which then must
 *  name the same. */
export async function findOrder(
  sql: Sql,
  by: { customer_id: string; id: string | null; external_id: string | null },
): Promise<Order | undefined> {
  const { customer_id, id, external_id } = by
  const [order] =
    id !== null
      ? await sql<Order>`
        select ${ORDER_COLUMNS} from orders
        where id = ${id} and customer_id = ${customer_id}`
      : await sql<Order>`
        select ${ORDER_COLUMNS} from orders
        where customer_id = ${customer_id} and external_id = ${external_id}`
  const both_match = external_id === null || order?.external_id === external_id
  return both_match ? order : undefined
}
