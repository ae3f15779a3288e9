// What an order is, and the forms in which the market's things go over the wire: tiers, purchases,
// delegations; and what is told of orders.

import type { Address } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import type { Actor, CustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { wireTime } from '../../lib/clock.ts'
import { type Fault, type FaultKind, fault } from '../../lib/fault.ts'
import { money } from '../../lib/json.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { InvalidParams, Money, unchecked } from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { RESOURCES, SERVICES, word } from '../../platform/wire/schemas.ts'
import { DELEGATION_COLUMNS, type Delegation } from '../pool/delegations.ts'
import { charge, type Tier } from '../prices/prices.ts'
import type { Service } from './amounts.ts'

export const OrderNotFound: FaultKind = fault(20, 'subscription_not_found', 'Transaction not found')
/** The refusal of names that no transaction of the customer has. */
export const noOrder = ({ id }: { id: string | null }): Fault =>
  OrderNotFound().absent(id === null ? 'external_id' : 'id', 'transaction of yours')

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
  /** What it was bought by. */
  quote_id: string | null
  activation_id: string | null
  state: 'new' | 'pending' | 'success' | 'failed'
  to_delegate: boolean
  amount_sun: bigint
  fee_sun: bigint
  tx_id: string | null
  tries: number
  created_at: Date
  /** When it was seen that all of it is taken back. */
  ended_at: Date | null
  /** When its customer was told that it is open for long. */
  delayed_at: Date | null
  /** When its customer was told that its hour is nearly over. */
  ending_at: Date | null
  /** When it was seen that no fork can take back any part of it. */
  solid_at: Date | null
}

export const ORDER_COLUMNS = columnsOf<Order>()([
  'id',
  'customer_id',
  'external_id',
  'service',
  'address',
  'energy',
  'bandwidth',
  'activate',
  'key_id',
  'quote_id',
  'activation_id',
  'state',
  'to_delegate',
  'amount_sun',
  'fee_sun',
  'tx_id',
  'tries',
  'created_at',
  'ended_at',
  'delayed_at',
  'ending_at',
  'solid_at',
])

/** An address of the network in a request. Which code a wrong one has depends on the field, so the
 *  handler judges it. */
export const AddressText = (description?: string) =>
  Type.String({ minLength: 34, maxLength: 34, ...(description !== undefined && { description }) })

export const EnergyTier = Type.Object({
  duration: Type.Integer({ description: 'Hours' }),
  min_amount: Type.Integer(),
  max_amount: Type.Integer(),
  min_energy: Type.Integer({ deprecated: true, description: 'The same as min_amount' }),
  max_energy: Type.Integer({ deprecated: true, description: 'The same as max_amount' }),
  price: Money({ description: 'TRX for 1000 energy' }),
  price_32k: Money({ description: 'TRX for 32,000 energy at the price of this tier' }),
  price_65k: Money({ description: 'TRX for 65,000 energy at the price of this tier' }),
  price_131k: Money({ description: 'TRX for 131,000 energy at the price of this tier' }),
})

export const BandwidthTier = Type.Object({
  duration: Type.Integer({ description: 'Hours' }),
  min_amount: Type.Integer(),
  max_amount: Type.Integer(),
  price: Money({ description: 'TRX for 1000 bandwidth' }),
})

/** An energy tier in the form of the services list; direct recharge shows the same figures under
 *  the old names. */
export function printEnergyTier(tier: Tier): Static<typeof EnergyTier> {
  const { duration_hours, min_amount, max_amount, price_sun } = tier
  return {
    duration: duration_hours,
    min_amount,
    max_amount,
    min_energy: min_amount,
    max_energy: max_amount,
    price: money(price_sun),
    price_32k: money(charge(price_sun, 32_000)),
    price_65k: money(charge(price_sun, 65_000)),
    price_131k: money(charge(price_sun, 131_000)),
  }
}

/** What is bought, in a request. Which mistake in it is answered first is laid down, so
 *  readPurchase() judges most of it. */
export const PurchaseFields = {
  service: Type.Enum([...SERVICES]),
  params: Type.Object({
    address: unchecked(AddressText('Who receives it')),
    duration: Type.Optional(
      unchecked(
        Type.Integer({ description: 'Hours; only 1. Required except for activate_address' }),
      ),
    ),
    amounts: Type.Optional(
      unchecked(
        Type.Object(
          { energy: Type.Optional(Type.Integer()), bandwidth: Type.Optional(Type.Integer()) },
          { description: 'Required, with both, for resource_bundle' },
        ),
      ),
    ),
    amount: Type.Optional(
      unchecked(Type.Integer({ description: 'For energy and bandwidth, instead of amounts' })),
    ),
    energy_amount: Type.Optional(
      unchecked(
        Type.Integer({
          deprecated: true,
          description: 'Energy, when neither of the others names it',
        }),
      ),
    ),
    activate_address: Type.Optional(
      unchecked(Type.Boolean({ description: 'Activate the address too, if it is not active' })),
    ),
  }),
}

export const Params = Type.Object({
  address: Type.String({ minLength: 34, maxLength: 34 }),
  amounts: Type.Optional(
    Type.Object({
      energy: Type.Optional(Type.Integer()),
      bandwidth: Type.Optional(Type.Integer()),
    }),
  ),
  duration: Type.Optional(Type.Integer({ description: 'Hours' })),
  activate_address: Type.Boolean(),
})

export const Transaction = Type.Object({
  id: Type.String(),
  external_id: Type.Union([Type.String(), Type.Null()]),
  service: word(SERVICES),
  params: Params,
  status: word(['new', 'pending', 'success', 'failed'], {
    description: 'failed: the whole amount is given back',
  }),
  amount: Money({ description: 'TRX' }),
  created_at: Type.String(),
  hash: Type.Optional(Type.String({ description: 'When completed: the transaction on the chain' })),
})

export const CheckedTransaction = Type.Object({
  ...Transaction.properties,
  delegations: Type.Array(
    Type.Object({
      resource: word(RESOURCES),
      amount: Type.Integer(),
      hash: Type.String(),
      expires_at: Type.String(),
      reclaim_hash: Type.Optional(Type.String()),
      reclaimed_at: Type.Optional(Type.String()),
    }),
  ),
})

/** What keeps an order that is open from being delivered. */
export const WAITS = ['activation', 'room', 'signature', 'block'] as const

const DelayedTransaction = Type.Object({
  ...CheckedTransaction.properties,
  waits_for: Type.Enum([...WAITS], {
    description:
      'activation: its address is being activated; room: the pool cannot deliver it now; ' +
      'signature: its transaction is not signed yet; block: no block has its transaction',
  }),
})

/** What was bought, in the wire's form. */
export function printParams(
  of: Pick<Order, 'service' | 'address' | 'energy' | 'bandwidth' | 'activate'>,
): Static<typeof Params> {
  const { service, address, energy, bandwidth, activate } = of
  if (service === 'activate_address') return { address, activate_address: true }
  const amounts = {
    ...(energy > 0n && { energy: Number(energy) }),
    ...(bandwidth > 0n && { bandwidth: Number(bandwidth) }),
  }
  return { address, amounts, duration: 1, activate_address: activate }
}

/** What the record of a customer says of a purchase. */
export function purchaseRecord(actor: Actor, order: Order): CustomerAction {
  const { id, external_id, service, amount_sun, quote_id } = order
  const bought = { service, params: printParams(order), external_id, amount: money(amount_sun) }
  const after = quote_id === null ? bought : { ...bought, quote_id }
  const action = quote_id === null ? 'transaction/new' : 'quote/accept'
  return { actor, action, subject: `order:${id}`, before: null, after }
}

/** An order in the wire's form. */
export function printOrder(order: Order): Static<typeof Transaction> {
  const { id, external_id, service, state, tx_id } = order
  return {
    id,
    external_id,
    service,
    params: printParams(order),
    status: state,
    amount: money(order.amount_sun),
    created_at: wireTime(order.created_at),
    ...(state === 'success' && tx_id !== null && { hash: tx_id }),
  }
}

export function printDelegation(one: Delegation & { tx_id: string; reclaim_tx_id: string | null }) {
  return {
    resource: one.resource,
    amount: Number(one.amount),
    hash: one.tx_id,
    expires_at: wireTime(one.expires_at!),
    ...(one.reclaim_tx_id !== null && { reclaim_hash: one.reclaim_tx_id }),
    ...(one.reclaimed_at !== null && { reclaimed_at: wireTime(one.reclaimed_at) }),
  }
}

export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 128,
  description:
    "The caller's own id: the same id again, with the same meaning, returns the same transaction",
  fault: () => InvalidParams('external_id', 'Invalid external_id'),
})

const SAMPLE = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  external_id: 'order-42',
  service: 'energy',
  params: {
    address: EXAMPLE.address,
    amounts: { energy: 65_000 },
    duration: 1,
    activate_address: false,
  },
  status: 'new',
  amount: 2.93,
  created_at: '2026-11-21T00:05:57Z',
}
const HASH = '9f2c'.repeat(16)
const DELIVERED = {
  ...SAMPLE,
  status: 'success',
  hash: HASH,
  delegations: [
    { resource: 'energy', amount: 65_000, hash: HASH, expires_at: '2026-11-21T01:06:00Z' },
  ],
}

export const orderKinds: readonly EventKind[] = [
  eventKind('order.created', {
    data: Transaction,
    when: 'it is placed and its price is held',
    sample: SAMPLE,
  }),
  eventKind('order.succeeded', {
    data: CheckedTransaction,
    when: 'all of it is in blocks; its price is charged',
    sample: DELIVERED,
  }),
  eventKind('order.delayed', {
    data: DelayedTransaction,
    when: 'it is open for five minutes; it may still be delivered',
    sample: { ...SAMPLE, status: 'pending', delegations: [], waits_for: 'block' },
  }),
  eventKind('order.failed', {
    data: CheckedTransaction,
    when: 'it cannot be delivered; the whole price is given back',
    sample: { ...SAMPLE, status: 'failed', delegations: [] },
  }),
  eventKind('order.reverted', {
    data: CheckedTransaction,
    when: 'a fork of the chain took a delivered part back; it is delivered again at our cost',
    sample: { ...DELIVERED, delegations: [] },
  }),
  eventKind('order.solid', {
    data: CheckedTransaction,
    when: 'no fork of the chain can take back any part of it',
    sample: DELIVERED,
  }),
  eventKind('order.ending', {
    data: CheckedTransaction,
    when: 'its hour is over in as many minutes as you have set: `ending_minutes`',
    sample: DELIVERED,
  }),
  eventKind('order.ended', {
    data: CheckedTransaction,
    when: 'the hour is over and the last part of it was taken back',
    sample: {
      ...DELIVERED,
      delegations: DELIVERED.delegations.map((one) => ({
        ...one,
        reclaim_hash: 'ab'.repeat(32),
        reclaimed_at: '2026-11-21T01:06:03Z',
      })),
    },
  }),
]

type Part = Delegation & { tx_id: string; reclaim_tx_id: string | null }

/** Orders as the endpoint of one answers, by id. */
export async function checkedOrders(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Static<typeof CheckedTransaction>>> {
  const [orders, parts] = await Promise.all([
    tx<Order>`select ${ORDER_COLUMNS} from orders where id = any(${ids})`,
    tx<Part>`
      select d.${DELEGATION_COLUMNS}, a.tx_id, r.tx_id as reclaim_tx_id from delegation as d
      join attempt as a on a.id = d.attempt_id left join attempt as r on r.id = d.reclaim_id
      where order_id = any(${ids}) and d.state in ('active', 'reclaiming', 'ended')
      order by resource desc, d.id`,
  ])
  const parts_of = Map.groupBy(parts, ({ order_id }) => order_id)
  return new Map(
    orders.map((order) => {
      const delegations = (parts_of.get(order.id) ?? []).map(printDelegation)
      return [order.id, { ...printOrder(order), delegations }]
    }),
  )
}
