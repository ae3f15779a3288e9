// Orders: placing them, looking them up, printing them.
//
//   new -> pending (a transaction for it is on its way) -> success | failed (refunded, in the same transaction)
//
// Concurrent purchases are placed together: one transaction locks the customers' accounts, looks at
// each purchase in the order of arrival as if it were alone, and writes all that are accepted
// together. A refusal, a replay or a twin in the same batch leaves its neighbours alone. What
// happens to an order next is in delivery.ts.

import type { Address } from 'penstock-tron/address.ts'
import { chainState, isAgreed } from '../chain/progress.ts'
import {
  holdPrices,
  isReplay,
  NamedPurchases,
  openPurse,
  type Purse,
  refuseReceiver,
} from '../customers/purse.ts'
import type { CappedKey } from '../customers/spending.ts'
import { batched } from '../database/batch.ts'
import { brokenConstraint, type Sql, type Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { Fault, type FaultKind, fault } from '../lib/fault.ts'
import type { NewId } from '../lib/ids.ts'
import type { Caller, Receiver, ReceiverReader } from '../node/receivers.ts'
import {
  InvalidBandwidthAmount,
  InvalidEnergyAmount,
  type Prices,
  priceOf,
  tierFor,
} from '../prices/prices.ts'
import { InvalidParams, ServiceUnavailable } from '../wire/endpoint.ts'
import type { Service } from './amounts.ts'
import { openOrderCounter } from './open_orders.ts'

export const AddressNotActivated: FaultKind = fault(
  24,
  'address_not_activated',
  'Address is not activated',
)
export const AddressAlreadyActivated: FaultKind = fault(
  25,
  'address_already_activated',
  'Address is already activated',
)

/** What a customer asks for. Amounts are 0 where the service has none. */
export type Purchase = {
  customer_id: string
  external_id: string | null
  service: Service
  address: Address
  energy: number
  bandwidth: number
  activate: boolean
  /** The API key, when it may only spend so much in a day. */
  key?: CappedKey | undefined
  /** The API key whose call this is, as far as it asks the chain; undefined: the service itself
   *  asks. */
  asked_by?: Caller | undefined
  /** Why it cannot be bought now, unless it was bought before: an amount that no tier answers
   *  for. */
  refusal?: Fault
  /** Placed by the service itself (a direct recharge, a subscription's top-up): the price is
   *  agreed, and whatever account pays it is not looked at. */
  house?: { agreed_sun: bigint }
}

export type Order = {
  id: string
  customer_id: string
  external_id: string | null
  service: Service
  address: Address
  energy: bigint
  bandwidth: bigint
  activate: boolean
  key_id: string | null
  activation_id: string | null
  state: 'new' | 'pending' | 'success' | 'failed'
  to_delegate: boolean
  amount_sun: bigint
  fee_sun: bigint
  tx_id: string | null
  tries: number
  created_at: Date
}

export type Placed = { order: Order; replayed: boolean }

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  prices: () => Promise<Prices>
  receiver: ReceiverReader
  wake: (step: string) => void
}

/** The hold that pays for an order. */
export const holdOf = (order_id: string) => `order:${order_id}`

const BATCH_MAX = 256

/** Places one purchase; concurrent calls share a transaction. Throws the refusals of the wire, in
 *  its order. */
export function orderPlacer(needs: Needs): (purchase: Purchase) => Promise<Placed> {
  const place = batched<Asked, Placed | Fault>(BATCH_MAX, (asked, next) =>
    placeAll(needs, asked, next),
  )
  const open_orders = openOrderCounter(needs)
  return async (purchase) => {
    const { customer_id, address, asked_by, house } = purchase
    const [prices, receiver, within_limit] = await Promise.all([
      needs.prices(),
      needs.receiver(address, asked_by),
      // Last: what is counted is placed below.
      house !== undefined || open_orders.add(customer_id),
    ])
    const counted = house === undefined && within_limit
    const outcome = await place({ ...purchase, prices, receiver, within_limit }).catch(
      (thrown: unknown) => {
        if (counted) open_orders.remove(customer_id)
        throw thrown
      },
    )
    if (counted && (outcome instanceof Fault || outcome.replayed)) open_orders.remove(customer_id)
    if (outcome instanceof Fault) throw outcome
    if (!outcome.replayed) needs.wake(outcome.order.to_delegate ? 'delegate' : 'activate')
    if (!outcome.replayed && outcome.order.activation_id !== null) needs.wake('activate')
    return outcome
  }
}

type Asked = Purchase & { prices: Prices; receiver: Receiver; within_limit: boolean }

/** `next` is called when the locks are held: the next batch waits for them in the database, and
 *  loses no time. */
async function placeAll(
  needs: Needs,
  asked: Asked[],
  next: () => void,
): Promise<(Placed | Fault)[]> {
  try {
    return await needs.sql.begin((tx) => placeTogether(tx, needs, asked, next))
  } catch (thrown) {
    // Another process began to activate the same address, or placed the same order of the house
    // (whose account is not locked), in between: now that is seen, so look again.
    const raced = ['activation_one_under_way', 'orders_external_id_once'].includes(
      brokenConstraint(thrown) ?? '',
    )
    if (raced) return placeAll(needs, asked, next)
    throw thrown
  }
}

/** What the purchases of a batch are judged by; it changes as they are accepted. */
type Situation = {
  now: Date
  chain_answers: boolean
  purse: Purse
  earlier: NamedPurchases<Order>
  /** Room left in the pool, by resource. */
  room: Map<string, number>
  /** Activations under way or done, by address. */
  activations: Map<Address, { id: string; state: string }>
}

async function placeTogether(
  tx: Tx,
  needs: Needs,
  asked: Asked[],
  next: () => void,
): Promise<(Placed | Fault)[]> {
  const situation = await readSituation(tx, needs, asked)
  next()
  const accepted: Order[] = []
  const activated: { id: string; address: Address }[] = []
  const outcomes = asked.map((purchase): Placed | Fault => {
    const outcome = judge(purchase, situation, needs.new_id)
    if (outcome instanceof Fault || outcome.replayed) return outcome
    const { order } = outcome
    const { address, activation_id } = order
    const known = situation.activations.get(address)
    if (activation_id !== null && known?.state === 'wanted') {
      situation.activations.set(address, { id: activation_id, state: 'new' })
      activated.push({ id: activation_id, address })
    }
    accepted.push(order)
    return outcome
  })
  write(tx, situation.now, accepted, activated)
  return outcomes
}

/** Reads under locks, in the order of locks; the statements are on their way together. */
async function readSituation(tx: Tx, { clock }: Needs, asked: Asked[]): Promise<Situation> {
  const now = clock.now()
  const [purse, earlier, activations, chain, room] = await Promise.all([
    openPurse(tx, asked, now),
    placedEarlier(tx, asked),
    activationsOf(tx, asked),
    chainState(tx),
    tx<{ resource: string; free: bigint }>`
      select resource, room - reserved as free from pool order by resource for update`,
  ])
  return {
    now,
    purse,
    earlier,
    chain_answers: isAgreed(chain, clock),
    room: new Map(room.map(({ resource, free }) => [resource, Number(free)])),
    activations: new Map(activations.map((one) => [one.address, one])),
  }
}

/** The orders that have the external ids of those asked for. */
async function placedEarlier(tx: Tx, asked: Asked[]): Promise<NamedPurchases<Order>> {
  const earlier = new NamedPurchases<Order>()
  const named = asked.filter((one) => one.external_id !== null)
  if (named.length === 0) return earlier
  const orders = await tx<Order>`
    select o.* from orders as o
    join unnest(${named.map((one) => one.customer_id)}::text[], ${named.map((one) => one.external_id)}::text[])
      as asked (customer_id, external_id)
    on o.customer_id = asked.customer_id and o.external_id = asked.external_id`
  for (const order of orders) earlier.add(order.customer_id, order.external_id, order)
  return earlier
}

/** The activations, under way or done, of the addresses that the chain does not have. */
async function activationsOf(tx: Tx, asked: Asked[]) {
  const dormant = asked.filter((one) => one.receiver === 'inactive').map((one) => one.address)
  if (dormant.length === 0) return []
  return tx<{ id: string; address: Address; state: string }>`
    select id, address, state from activation
    where address = any(${dormant}) and state in ('new', 'activating', 'active')`
}

/** Judges one purchase, in the order that the wire lays down, and books it in the situation when it
 *  is accepted. */
function judge(asked: Asked, situation: Situation, new_id: NewId): Placed | Fault {
  const { purse } = situation
  const earlier = situation.earlier.find(asked.customer_id, asked.external_id)
  if (earlier && sameMeaning(earlier, asked)) return { order: earlier, replayed: true }
  if (asked.refusal) return asked.refusal
  if (earlier) return InvalidParams('external_id', 'Invalid external_id')
  const { service, energy, bandwidth, receiver, prices } = asked
  const deliverable =
    (situation.room.get('energy') ?? 0) >= energy &&
    (situation.room.get('bandwidth') ?? 0) >= bandwidth
  // What the house places was sold before: a recharge has a switch of its own, and a subscription
  // runs on.
  const on_sale = asked.house !== undefined || prices.on_sale.has(service)
  if (!on_sale || receiver === 'unknown' || !situation.chain_answers || !deliverable) {
    return ServiceUnavailable()
  }
  if (!asked.within_limit)
    return ServiceUnavailable('open_orders', 'As many orders as are allowed are open already')
  const no_wallet = asked.house ? undefined : purse.refuseWallet(asked)
  const refused = no_wallet ?? refuseReceiver(receiver)
  if (refused) return refused
  const under_way = receiver === 'inactive' ? situation.activations.get(asked.address) : undefined
  const active = receiver === 'active' || under_way !== undefined
  if (service === 'activate_address' && active) return AddressAlreadyActivated()
  if (!active && !asked.activate) return AddressNotActivated()
  const costs = asked.house
    ? { amount_sun: asked.house.agreed_sun, fee_sun: 0n }
    : cost(asked, active)
  if (costs instanceof Fault) return costs
  const { amount_sun, fee_sun } = costs
  const unpaid = asked.house ? undefined : purse.refusePrice(asked, amount_sun)
  if (unpaid) return unpaid
  const activation = active ? under_way : { id: new_id(), state: 'wanted' }
  const activation_id = activation?.id ?? null
  const order = newOrder(asked, {
    id: new_id(),
    activation_id,
    amount_sun,
    fee_sun,
    now: situation.now,
  })
  situation.earlier.add(asked.customer_id, asked.external_id, order)
  if (activation) situation.activations.set(asked.address, activation)
  if (!asked.house) purse.take(asked, amount_sun)
  situation.room.set('energy', (situation.room.get('energy') ?? 0) - energy)
  situation.room.set('bandwidth', (situation.room.get('bandwidth') ?? 0) - bandwidth)
  return { order, replayed: false }
}

/** What it costs; a refusal when the price that it was asked at is gone. It must not throw: it has
 *  neighbours. */
function cost(
  { prices, energy, bandwidth }: Asked,
  active: boolean,
): { amount_sun: bigint; fee_sun: bigint } | Fault {
  const fee_sun = active ? 0n : prices.activation_sun
  if (energy > 0 && !tierFor(prices, 'energy', energy)) return InvalidEnergyAmount()
  if (bandwidth > 0 && !tierFor(prices, 'bandwidth', bandwidth)) return InvalidBandwidthAmount()
  const energy_sun = energy > 0 ? priceOf(prices, 'energy', energy) : 0n
  const bandwidth_sun = bandwidth > 0 ? priceOf(prices, 'bandwidth', bandwidth) : 0n
  return { amount_sun: fee_sun + energy_sun + bandwidth_sun, fee_sun }
}

function sameMeaning(earlier: Order, { energy, bandwidth, ...asked }: Purchase): boolean {
  const wanted = { ...asked, energy: BigInt(energy), bandwidth: BigInt(bandwidth) }
  return isReplay(earlier, wanted, ['service', 'address', 'energy', 'bandwidth', 'activate'])
}

type NewOrder = {
  id: string
  activation_id: string | null
  amount_sun: bigint
  fee_sun: bigint
  now: Date
}

function newOrder(asked: Asked, { now, ...fields }: NewOrder): Order {
  const { customer_id, external_id, service, address, activate } = asked
  return {
    ...fields,
    ...{ customer_id, external_id, service, address, activate },
    key_id: asked.key?.key_id ?? null,
    energy: BigInt(asked.energy),
    bandwidth: BigInt(asked.bandwidth),
    state: 'new',
    to_delegate: service !== 'activate_address',
    tx_id: null,
    tries: 0,
    created_at: now,
  }
}

function write(
  tx: Tx,
  now: Date,
  orders: Order[],
  activations: { id: string; address: Address }[],
): void {
  if (orders.length === 0) return
  if (activations.length > 0) {
    tx.send`
      insert into activation (id, address, made_at)
      select id, address, ${now} from unnest(${activations.map((one) => one.id)}::text[],
                                             ${activations.map((one) => one.address)}::text[]) as a (id, address)`
  }
  const column = <K extends keyof Order>(name: K) => orders.map((order) => order[name])
  tx.send`
    insert into orders (id, customer_id, external_id, key_id, service, address, energy, bandwidth,
      activate, activation_id,
                        to_delegate, amount_sun, fee_sun, due_at, created_at)
    select id, customer_id, external_id, key_id, service, address, energy, bandwidth, activate,
      activation_id,
           to_delegate, amount_sun, fee_sun, ${now}, ${now}
    from unnest(${column('id')}::text[], ${column('customer_id')}::text[], ${column('external_id')}::text[],
                ${column('key_id')}::text[], ${column('service')}::text[], ${column('address')}::text[], ${column('energy')}::bigint[],
                ${column('bandwidth')}::bigint[], ${column('activate')}::boolean[], ${column('activation_id')}::text[],
                ${column('to_delegate')}::boolean[], ${column('amount_sun')}::bigint[], ${column('fee_sun')}::bigint[])
      as o (id, customer_id, external_id, key_id, service, address, energy, bandwidth, activate,
        activation_id,
            to_delegate, amount_sun, fee_sun)`
  const prices = orders.map(({ id, customer_id, key_id, amount_sun: price_sun }) => ({
    hold_id: holdOf(id),
    customer_id,
    key_id,
    price_sun,
  }))
  holdPrices(tx, prices, now)
  const energy = orders.reduce((sum, order) => sum + order.energy, 0n)
  const bandwidth = orders.reduce((sum, order) => sum + order.bandwidth, 0n)
  tx.send`
    update pool set reserved = reserved + case resource when 'energy' then ${energy}::bigint
      else ${bandwidth}::bigint end
    where (resource = 'energy' and ${energy}::bigint > 0) or (resource = 'bandwidth' and ${bandwidth}::bigint > 0)`
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
      ? await sql<Order>`select * from orders where id = ${id} and customer_id = ${customer_id}`
      : await sql<Order>`select * from orders where customer_id = ${customer_id} and external_id = ${external_id}`
  const both_match = external_id === null || order?.external_id === external_id
  return both_match ? order : undefined
}
