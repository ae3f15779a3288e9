// Placing orders: what a purchase is judged by, and what it costs.
//
// Concurrent purchases are placed together: one transaction locks the customers' accounts, looks at
// each purchase in the order of arrival as if it were alone, and writes all that are accepted
// together. A refusal, a replay or the same purchase twice in one batch changes nothing for the
// others of it.

import type { Address } from 'penstock-tron/address.ts'
import { chainState, isAgreed } from '../../chain/follow/progress.ts'
import { purchaseReader } from '../../chain/reads/reads.ts'
import { chainSilent, type Receiver, type ReceiverReader } from '../../chain/receivers/receivers.ts'
import { type Actor, recordCustomerActions } from '../../ledger/accounts/customer_actions.ts'
import type { Clock } from '../../lib/clock.ts'
import { Fault, type FaultKind, fault } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import { least } from '../../lib/json.ts'
import { noteEvent } from '../../lib/tracing.ts'
import {
  isReplay,
  NamedPurchases,
  openPurse,
  type Purse,
  refuseReceiver,
} from '../../people/customers/purse.ts'
import type { CappedKey } from '../../people/customers/spending.ts'
import { type Again, notAgain } from '../../platform/database/again.ts'
import { batched } from '../../platform/database/batch.ts'
import { brokenConstraint, type Sql, type Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import { InvalidParams, ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { activationsLeft, insertActivations } from '../pool/activations.ts'
import {
  isOnSale,
  offSale,
  type Prices,
  priceOf,
  tierFor,
  untieredRefusal,
} from '../prices/prices.ts'
import type { Service } from './amounts.ts'
import { ORDER_COLUMNS, purchaseRecord } from './forms.ts'
import { openOrderCounter } from './open_orders.ts'
import { insertOrders, type Order } from './orders.ts'

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

/** The refusal of an address without an account, and what to do about it while activations are on
 *  sale. */
export const notActivated = ({ on_sale }: Pick<Prices, 'on_sale'>, sub?: string): Fault =>
  AddressNotActivated(sub).because(
    on_sale.has('activate_address')
      ? 'the address has no account on the chain: send params.activate_address as true, or buy ' +
          'the service activate_address for it first'
      : 'the address has no account on the chain, and activations are off sale: it gets one with ' +
          'the first TRX that somebody sends it',
    'params.address',
  )

export const alreadyActivated = (param: string): Fault =>
  AddressAlreadyActivated().because('it has an account on the chain: there is nothing to do', param)

export const QuoteExpired: FaultKind = fault(71, 'quote_expired', 'This quote has expired')

/** A price that binds us for a while: what was asked for costs no more, fee and all. */
export type QuotePrice = { id: string; amount_sun: bigint; fee_sun: bigint; expires_at: Date }

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
  /** The user or the key whose call this is; undefined: the service itself asks. */
  asked_by?: Actor | undefined
  /** Why it cannot be bought now, unless it was bought before: an amount that no tier answers for,
   *  or a customer who is suspended. */
  refusal?: Fault | undefined
  /** Placed by the service itself (a direct recharge, a subscription's top-up). */
  internal?: InternalTerms
  /** What it is bought by. A quote is good for one order, whatever name that has. */
  quote?: QuotePrice
}

/** The price is agreed, and whatever account pays it is not looked at. */
export type InternalTerms = { agreed_sun: bigint; cause?: OrderCause }

/** The reason for an order of the service itself, where it can go until the order is placed. Both
 *  are called in the transaction that places the order. */
export type OrderCause = {
  /** Locks it. The refusal, when no order is to be placed for it any more. */
  lock(tx: Tx): Promise<Fault | undefined>
  /** Notes the order. */
  note(tx: Tx, order: Order): Promise<unknown>
}

export type Placement = { order: Order; replayed: boolean }

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  prices: () => Promise<Prices>
  receiver: ReceiverReader
  /** How a purchase is tried again that the database could not place. */
  again?: Again | undefined
  /** Between the beginnings of two batches where purchases come together. */
  pause?: (() => Promise<unknown>) | undefined
  /** Told of each order whose customer is told of it. */
  told?: ((name: string) => void) | undefined
  wake: (step: StepName) => void
}

const BATCH_MAX = 256

/** Longer after it was read nothing is bought by it: the process may have been stopped in between,
 *  the key revoked, and the price changed. Less than the ten seconds in which the signer and the
 *  books take a price that has ended. */
const READ_MS_MAX = 8_000

/** The refusal of what is bought or started by answers that are old by now. */
export const refusalOfOld = (read_at: Date, now: Date): Fault | undefined =>
  now.getTime() - read_at.getTime() > READ_MS_MAX
    ? ServiceUnavailable().because('it took too long: ask again')
    : undefined

export type OrderPlacer = {
  /** Places one purchase, or says why not: the refusals of the wire, in its order. Concurrent calls
   *  share a transaction. */
  tryOrder(purchase: Purchase): Promise<Placement | Fault>
  /** The same; throws the refusal. */
  placeOrder(purchase: Purchase): Promise<Placement>
}

/** Whether placing it twice places one order. */
const isNamed = ({ external_id, quote }: Purchase) => external_id !== null || quote !== undefined

export function orderPlacer(needs: Needs): OrderPlacer {
  const { again = notAgain } = needs
  const place = batched<PricedPurchase, Placement | Fault>(
    BATCH_MAX,
    (purchases, next) => placeAll(needs, purchases, next),
    needs.pause,
  )
  const open_orders = openOrderCounter(needs)
  async function tryOrder(purchase: Purchase): Promise<Placement | Fault> {
    const { customer_id, address, asked_by, internal } = purchase
    const read_at = needs.clock.now()
    const [prices, receiver, within_limit] = await Promise.all([
      needs.prices(),
      needs.receiver(address, asked_by && purchaseReader(asked_by)),
      // Last: what is counted is placed below.
      internal !== undefined || open_orders.add(customer_id),
    ])
    const counted = internal === undefined && within_limit
    const priced = { ...purchase, prices, receiver, within_limit, read_at }
    const outcome = await again(() => place(priced), { repeatable: isNamed(purchase) }).catch(
      (thrown: unknown) => {
        if (counted) open_orders.remove(customer_id)
        throw thrown
      },
    )
    if (!(outcome instanceof Fault) && !internal) needs.told?.(`order:${outcome.order.id}`)
    const placed = outcome instanceof Fault || outcome.replayed ? undefined : outcome.order
    if (counted && !placed) open_orders.remove(customer_id)
    if (placed) needs.wake(placed.to_delegate ? 'delegate' : 'activate')
    if (placed && placed.activation_id !== null) needs.wake('activate')
    if (placed) needs.wake('publish')
    if (placed) noteEvent('order', { 'penstock.order': placed.id })
    return outcome
  }
  async function placeOrder(purchase: Purchase): Promise<Placement> {
    const outcome = await tryOrder(purchase)
    if (outcome instanceof Fault) throw outcome
    return outcome
  }
  return { tryOrder, placeOrder }
}

/** What is asked of the chain and of the prices before the transaction. */
type PricedPurchase = Purchase & {
  prices: Prices
  receiver: Receiver
  within_limit: boolean
  /** Since when what it is judged by is known. */
  read_at: Date
}

/** Others are first once or twice; ten times means that the index knows more than the look. */
const TRIES_MAX = 10

/** `next` is called when the locks are held: the next batch waits for them in the database, and
 *  loses no time. */
async function placeAll(
  needs: Needs,
  purchases: PricedPurchase[],
  next: () => void,
  tries_left = TRIES_MAX - 1,
): Promise<(Placement | Fault)[]> {
  try {
    return await needs.sql.begin((tx) => placeTogether(tx, needs, purchases, next))
  } catch (thrown) {
    // Another process began to activate the same address, or placed the same order of the service
    // itself (whose account is not locked), in between: now that is seen, so look again.
    const raced = [
      'activation_one_under_way',
      'orders_external_id_once',
      'orders_quote_once',
    ].includes(brokenConstraint(thrown) ?? '')
    if (raced && tries_left > 0) return placeAll(needs, purchases, next, tries_left - 1)
    throw thrown
  }
}

/** What the purchases of a batch are judged by; it changes as they are accepted. */
type PlacementState = {
  now: Date
  chain_answers: boolean
  purse: Purse
  /** Why no order is to be placed any more for what they were for. */
  gone: ReadonlyMap<PricedPurchase, Fault | undefined>
  earlier: NamedPurchases<Order>
  /** By the quotes that they were bought by. */
  quoted: Map<string, Order>
  /** Room left in the pool, by resource. */
  room: Map<string, number>
  /** Activations under way or done, by address. */
  activations: Map<Address, { id: string; state: string }>
  /** For how many more the wallet that pays for them has TRX. */
  activations_left: number
}

async function placeTogether(
  tx: Tx,
  needs: Needs,
  purchases: PricedPurchase[],
  next: () => void,
): Promise<(Placement | Fault)[]> {
  const state = await readState(tx, needs, purchases)
  next()
  const accepted: Order[] = []
  const activated: { id: string; address: Address }[] = []
  const outcomes = purchases.map((purchase): Placement | Fault => {
    const outcome = judge(purchase, state, needs.new_id)
    if (outcome instanceof Fault || outcome.replayed) return outcome
    const { order } = outcome
    const { address, activation_id } = order
    const known = state.activations.get(address)
    if (activation_id !== null && known?.state === 'wanted') {
      state.activations.set(address, { id: activation_id, state: 'new' })
      activated.push({ id: activation_id, address })
    }
    accepted.push(order)
    return outcome
  })
  insertActivations(tx, activated, state.now)
  insertOrders(tx, accepted, state.now)
  await noteOrders(tx, purchases, outcomes)
  await state.purse.noteRefusals(tx, state.now)
  // What keys buy names them already, and comes by the thousand.
  const bought = outcomes.flatMap((outcome, i) => {
    const { asked_by } = purchases[i]!
    const by_user = !(outcome instanceof Fault) && !outcome.replayed && asked_by?.user
    return by_user ? [purchaseRecord(asked_by, outcome.order)] : []
  })
  recordCustomerActions(tx, state.now, bought)
  return outcomes
}

/** Tells what orders were placed for of them. */
async function noteOrders(
  tx: Tx,
  purchases: readonly PricedPurchase[],
  outcomes: readonly (Placement | Fault)[],
): Promise<void> {
  for (const [i, { internal }] of purchases.entries()) {
    const outcome = outcomes[i]!
    if (internal?.cause && !(outcome instanceof Fault) && !outcome.replayed)
      await internal.cause.note(tx, outcome.order)
  }
}

/** Reads under locks, in the order of locks; the statements are on their way together. */
async function readState(
  tx: Tx,
  { clock }: Needs,
  purchases: PricedPurchase[],
): Promise<PlacementState> {
  const now = clock.now()
  const activates = purchases.some((one) => one.receiver === 'inactive' && one.activate)
  const [purse, gone, earlier, quoted, activations, activations_left, chain, room] =
    await Promise.all([
      openPurse(tx, purchases, now),
      lockCauses(tx, purchases),
      placedEarlier(tx, purchases),
      boughtByQuotes(tx, purchases),
      activationsOf(tx, purchases),
      activates ? activationsLeft(tx) : 0,
      chainState(tx),
      tx<{ resource: string; free: bigint }>`
        select resource, room - reserved as free from pool order by resource for update`,
    ])
  return {
    now,
    purse,
    gone,
    earlier,
    quoted,
    chain_answers: isAgreed(chain, clock),
    room: new Map(room.map(({ resource, free }) => [resource, Number(free)])),
    activations: new Map(activations.map((one) => [one.address, one])),
    activations_left,
  }
}

/** Locks what purchases of the service itself are for, in the order of their names, in whatever
 *  order they came. Customers' own have no such cause, and cost nothing here. */
async function lockCauses(
  tx: Tx,
  purchases: readonly PricedPurchase[],
): Promise<PlacementState['gone']> {
  const nameOf = ({ external_id }: PricedPurchase) => external_id ?? ''
  const caused = purchases.filter(({ internal }) => internal?.cause)
  const sorted = caused.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const found = sorted.map(async (one) => [one, await one.internal?.cause?.lock(tx)] as const)
  return new Map(await Promise.all(found))
}

/** The orders that have the external ids of the purchases. Each is looked up by itself: a plan made
 *  while there are few orders would join by reading all, and be kept while they become many. */
async function placedEarlier(tx: Tx, purchases: PricedPurchase[]): Promise<NamedPurchases<Order>> {
  const earlier = new NamedPurchases<Order>()
  const named = purchases.filter((one) => one.external_id !== null)
  if (named.length === 0) return earlier
  const orders = await tx<Order>`
    select o.${ORDER_COLUMNS}
    from unnest(${named.map((one) => one.customer_id)}::text[],
                ${named.map((one) => one.external_id)}::text[])
      as named (customer_id, external_id),
      lateral (select ${ORDER_COLUMNS} from orders
        where customer_id = named.customer_id and external_id = named.external_id limit 1) as o`
  for (const order of orders) earlier.add(order.customer_id, order.external_id, order)
  return earlier
}

/** The orders that the quotes of the purchases have bought already. */
async function boughtByQuotes(tx: Tx, purchases: PricedPurchase[]): Promise<Map<string, Order>> {
  const ids = purchases.flatMap(({ quote }) => quote?.id ?? [])
  if (ids.length === 0) return new Map()
  const orders = await tx<Order>`select ${ORDER_COLUMNS} from orders where quote_id = any(${ids})`
  return new Map(orders.map((order) => [order.quote_id!, order]))
}

/** The activations, under way or done, of the addresses that the chain does not have. */
async function activationsOf(tx: Tx, purchases: PricedPurchase[]) {
  const dormant = purchases.filter((one) => one.receiver === 'inactive').map((one) => one.address)
  if (dormant.length === 0) return []
  return tx<{ id: string; address: Address; state: string }>`
    select id, address, state from activation
    where address = any(${dormant}) and state in ('new', 'activating', 'active')`
}

/** Judges one purchase, in the order that the wire lays down, and takes what it needs when it is
 *  accepted. */
function judge(purchase: PricedPurchase, state: PlacementState, new_id: NewId): Placement | Fault {
  const { purse } = state
  const by_quote = purchase.quote && judgeQuote(purchase, purchase.quote, state)
  if (by_quote) return by_quote
  const earlier = state.earlier.find(purchase.customer_id, purchase.external_id)
  if (earlier && !purchase.quote && sameMeaning(earlier, purchase))
    return { order: earlier, replayed: true }
  const refusal = purchase.refusal ?? state.gone.get(purchase)
  if (refusal) return refusal
  const old = refusalOfOld(purchase.read_at, state.now)
  if (old) return old
  if (earlier)
    return InvalidParams('external_id', 'Invalid external_id').because(
      `it is that of the transaction ${earlier.id}, which asked for something else`,
      'external_id',
    )
  const { service, energy, bandwidth, receiver, prices } = purchase
  const deliverable =
    (state.room.get('energy') ?? 0) >= energy && (state.room.get('bandwidth') ?? 0) >= bandwidth
  const under_way = receiver === 'inactive' ? state.activations.get(purchase.address) : undefined
  const active = receiver === 'active' || under_way !== undefined
  const activates = receiver === 'inactive' && !active && purchase.activate
  // What the service itself places was sold before: a recharge has a switch of its own, and a
  // subscription runs on.
  const on_sale =
    purchase.internal !== undefined ||
    (isOnSale(prices, service, activates) && (!activates || state.activations_left > 0))
  if (!on_sale) return offSale(prices, service)
  if (receiver === 'unknown' || !state.chain_answers) return chainSilent()
  if (!deliverable)
    return ServiceUnavailable().because(
      'so much cannot be delivered now; /v1/pool-forecast says how much can',
    )
  if (!purchase.within_limit)
    return ServiceUnavailable('open_orders', 'As many orders as are allowed are open already')
  const no_wallet = purchase.internal ? undefined : purse.refuseWallet(purchase)
  const refused = no_wallet ?? refuseReceiver(receiver)
  if (refused) return refused
  if (service === 'activate_address' && active) return alreadyActivated('params.address')
  if (!active && !purchase.activate) return notActivated(prices)
  const costs = purchase.internal
    ? { amount_sun: purchase.internal.agreed_sun, fee_sun: 0n }
    : priced(purchase, active)
  if (costs instanceof Fault) return costs
  const { amount_sun, fee_sun } = costs
  const unpaid = purchase.internal ? undefined : purse.refusePrice(purchase, amount_sun)
  if (unpaid) return unpaid
  const activation = active ? under_way : { id: new_id(), state: 'wanted' }
  const activation_id = activation?.id ?? null
  const order = newOrder(purchase, {
    id: new_id(),
    activation_id,
    amount_sun,
    fee_sun,
    now: state.now,
  })
  state.earlier.add(purchase.customer_id, purchase.external_id, order)
  if (purchase.quote) state.quoted.set(purchase.quote.id, order)
  if (activation) state.activations.set(purchase.address, activation)
  if (activates) state.activations_left -= 1
  if (!purchase.internal) purse.take(purchase, amount_sun)
  state.room.set('energy', (state.room.get('energy') ?? 0) - energy)
  state.room.set('bandwidth', (state.room.get('bandwidth') ?? 0) - bandwidth)
  return { order, replayed: false }
}

/** A quote that was used is a replay of its order, and none when another name is asked for. */
function judgeQuote(
  { external_id }: PricedPurchase,
  { id, expires_at }: QuotePrice,
  { quoted, now }: PlacementState,
): Placement | Fault | undefined {
  const order = quoted.get(id)
  if (!order) return now < expires_at ? undefined : QuoteExpired()
  if (external_id === null || external_id === order.external_id) return { order, replayed: true }
  return QuoteExpired('used', 'This quote was used for another transaction')
}

/** What it costs; by a quote never more than that said, in any of its parts. */
function priced(purchase: PricedPurchase, active: boolean): Cost | Fault {
  const { quote } = purchase
  const now = cost(purchase, active)
  if (!quote) return now
  const quoted_fee_sun = active ? 0n : quote.fee_sun
  const quoted_sun = quote.amount_sun - quote.fee_sun
  if (now instanceof Fault)
    return { amount_sun: quoted_sun + quoted_fee_sun, fee_sun: quoted_fee_sun }
  const fee_sun = least(now.fee_sun, quoted_fee_sun)
  return { amount_sun: least(now.amount_sun - now.fee_sun, quoted_sun) + fee_sun, fee_sun }
}

type Cost = { amount_sun: bigint; fee_sun: bigint }

/** What it costs; a refusal when the price that it was quoted at is gone. It must not throw: it has
 *  neighbours. */
function cost({ prices, energy, bandwidth }: PricedPurchase, active: boolean): Cost | Fault {
  const fee_sun = active ? 0n : prices.activation_sun
  if (energy > 0 && !tierFor(prices, 'energy', energy))
    return untieredRefusal(prices, 'energy', energy)
  if (bandwidth > 0 && !tierFor(prices, 'bandwidth', bandwidth))
    return untieredRefusal(prices, 'bandwidth', bandwidth)
  const energy_sun = energy > 0 ? priceOf(prices, 'energy', energy) : 0n
  const bandwidth_sun = bandwidth > 0 ? priceOf(prices, 'bandwidth', bandwidth) : 0n
  return { amount_sun: fee_sun + energy_sun + bandwidth_sun, fee_sun }
}

function sameMeaning(earlier: Order, { energy, bandwidth, ...others }: Purchase): boolean {
  const wanted = { ...others, energy: BigInt(energy), bandwidth: BigInt(bandwidth) }
  return isReplay(earlier, wanted, ['service', 'address', 'energy', 'bandwidth', 'activate'])
}

type NewOrder = {
  id: string
  activation_id: string | null
  amount_sun: bigint
  fee_sun: bigint
  now: Date
}

function newOrder(purchase: PricedPurchase, { now, ...fields }: NewOrder): Order {
  const { customer_id, external_id, service, address, activate } = purchase
  return {
    ...fields,
    customer_id,
    external_id,
    service,
    address,
    activate,
    key_id: purchase.key?.key_id ?? null,
    quote_id: purchase.quote?.id ?? null,
    energy: BigInt(purchase.energy),
    bandwidth: BigInt(purchase.bandwidth),
    state: 'new',
    to_delegate: service !== 'activate_address',
    tx_id: null,
    tries: 0,
    created_at: now,
    ended_at: null,
    delayed_at: null,
    ending_at: null,
    solid_at: null,
  }
}
