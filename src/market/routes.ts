// The market on the wire: prices, purchases, and what became of them.

import { type Static, Type } from 'typebox'
import { type Endpoint, endpoint, InvalidParams, Money, ServiceUnavailable, unchecked } from '../http/endpoint.ts'
import { InsufficientFunds, WalletNotFound } from '../ledger/ledger.ts'
import { wireTime } from '../lib/clock.ts'
import { fault } from '../lib/fault.ts'
import { money } from '../lib/json.ts'
import type { Sql } from '../lib/sql.ts'
import type { Address } from '../tron/address.ts'
import type { Node } from '../tron/node.ts'
import { USDT } from '../tron/tokens.ts'
import { type Delegation, delegationsOf } from './delegations.ts'
import { estimateTransfer, orUnavailable, tokenBalance } from './estimates.ts'
import {
  AddressAlreadyActivated,
  AddressNotActivated,
  findOrder,
  type Order,
  type Placed,
  type Purchase,
} from './orders.ts'
import { charge, InvalidBandwidthAmount, InvalidEnergyAmount, type Prices, priceOf, type Tier } from './prices.ts'
import {
  InvalidAddress,
  InvalidDuration,
  isAbsent,
  keyOf,
  readAddress,
  readAmount,
  readAmounts,
  readDuration,
  readFlag,
  readNames,
} from './purchases.ts'
import type { Receiver } from './receivers.ts'

export const OrderNotFound = fault(20, 'subscription_not_found', 'Transaction not found')

export type Needs = {
  sql: Sql
  prices: () => Promise<Prices>
  receiver: (address: Address) => Promise<Receiver>
  placeOrder: (purchase: Purchase) => Promise<Placed>
  node: Node
}

const EnergyTier = Type.Object({
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

const BandwidthTier = Type.Object({
  duration: Type.Integer({ description: 'Hours' }),
  min_amount: Type.Integer(),
  max_amount: Type.Integer(),
  price: Money({ description: 'TRX for 1000 bandwidth' }),
})

/** An energy tier in the form of the services list; direct recharge shows the same figures under the old names. */
export function printEnergyTier(tier: Tier): Static<typeof EnergyTier> {
  const { duration_hours, min_amount, max_amount, price_sun } = tier
  return {
    duration: duration_hours,
    ...{ min_amount, max_amount, min_energy: min_amount, max_energy: max_amount },
    price: money(price_sun),
    price_32k: money(charge(price_sun, 32_000)),
    price_65k: money(charge(price_sun, 65_000)),
    price_131k: money(charge(price_sun, 131_000)),
  }
}

const Params = Type.Object({
  address: Type.String({ minLength: 34, maxLength: 34 }),
  amounts: Type.Optional(
    Type.Object({ energy: Type.Optional(Type.Integer()), bandwidth: Type.Optional(Type.Integer()) }),
  ),
  duration: Type.Optional(Type.Integer({ description: 'Hours' })),
  activate_address: Type.Boolean(),
})

const Transaction = Type.Object({
  id: Type.String(),
  external_id: Type.Union([Type.String(), Type.Null()]),
  service: Type.String(),
  params: Params,
  status: Type.String({ description: 'new, pending, success or failed (then the whole amount is given back)' }),
  amount: Money({ description: 'TRX' }),
  created_at: Type.String(),
  hash: Type.Optional(Type.String({ description: 'When completed: the transaction on the chain' })),
})

const CheckedTransaction = Type.Object({
  ...Transaction.properties,
  delegations: Type.Array(
    Type.Object({
      resource: Type.String(),
      amount: Type.Integer(),
      hash: Type.String(),
      expires_at: Type.String(),
      reclaim_hash: Type.Optional(Type.String()),
      reclaimed_at: Type.Optional(Type.String()),
    }),
  ),
})

/** An order in the wire's form. */
export function printOrder(order: Order): Static<typeof Transaction> {
  const { id, external_id, service, address, energy, bandwidth, activate, state, tx_id } = order
  const amounts = {
    ...(energy > 0n && { energy: Number(energy) }),
    ...(bandwidth > 0n && { bandwidth: Number(bandwidth) }),
  }
  const params =
    service === 'activate_address'
      ? { address, activate_address: true }
      : { address, amounts, duration: 1, activate_address: activate }
  return {
    ...{ id, external_id, service, params, status: state },
    amount: money(order.amount_sun),
    created_at: wireTime(order.created_at),
    ...(state === 'success' && tx_id !== null && { hash: tx_id }),
  }
}

function printDelegation(one: Delegation & { tx_id: string; reclaim_tx_id: string | null }) {
  return {
    resource: one.resource,
    amount: Number(one.amount),
    hash: one.tx_id,
    expires_at: wireTime(one.expires_at!),
    ...(one.reclaim_tx_id !== null && { reclaim_hash: one.reclaim_tx_id }),
    ...(one.reclaimed_at !== null && { reclaimed_at: wireTime(one.reclaimed_at) }),
  }
}

const ExternalId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "The caller's own id: the same id again, with the same meaning, returns the same transaction",
  fault: () => InvalidParams('external_id', 'Invalid external_id'),
})

export function routes(needs: Needs): Endpoint[] {
  const { sql, prices, receiver, placeOrder, node } = needs
  return [
    endpoint({
      path: '/v1/services',
      auth: 'signature',
      scope: 'read',
      summary: 'Services on sale and their prices',
      body: Type.Object({}),
      reply: Type.Object({
        energy: Type.Array(EnergyTier),
        bandwidth: Type.Array(BandwidthTier),
        activate_address: Type.Object({ price: Money({ description: 'TRX for one activation' }) }),
      }),
      faults: [],
      async handle() {
        const { tiers, on_sale, activation_sun } = await prices()
        const of = (resource: string) =>
          tiers.filter(
            (tier) => tier.resource === resource && (on_sale.has(resource) || on_sale.has('resource_bundle')),
          )
        return {
          energy: of('energy').map(printEnergyTier),
          bandwidth: of('bandwidth').map(({ duration_hours, min_amount, max_amount, price_sun }) => ({
            duration: duration_hours,
            ...{ min_amount, max_amount, price: money(price_sun) },
          })),
          activate_address: { price: money(activation_sun) },
        }
      },
    }),

    endpoint({
      path: '/v1/calculate',
      auth: 'signature',
      scope: 'read',
      summary: 'What a purchase would cost',
      body: Type.Object({
        type: Type.Optional(Type.Enum(['energy', 'bandwidth'])),
        address: unchecked(Type.String({ minLength: 34, maxLength: 34 })),
        duration: unchecked(Type.Integer({ description: 'Hours; only 1' })),
        amount: unchecked(Type.Integer()),
        energy: unchecked(Type.Integer({ deprecated: true, description: 'The same as amount' })),
      }),
      reply: Type.Object({
        address: Type.String(),
        type: Type.String(),
        amount: Type.Integer(),
        energy: Type.Optional(Type.Integer({ deprecated: true, description: 'The same as amount' })),
        duration: Type.Integer({ description: 'Hours' }),
        price: Money({ description: 'TRX' }),
        activation_fee: Money({ description: 'TRX; 0 when the address is active' }),
        total: Money({ description: 'TRX' }),
      }),
      faults: [InvalidAddress, InvalidEnergyAmount, InvalidDuration, ServiceUnavailable, InvalidBandwidthAmount],
      async handle({ body }) {
        const type = body.type ?? 'energy'
        const address = readAddress(body.address)
        const duration = readDuration(body.duration)
        const current = await prices()
        const sources = type === 'energy' ? [body.amount, body.energy] : [body.amount]
        const amount = readAmount(type, sources, current)
        const state = current.on_sale.has(type) ? await receiver(address) : 'unknown'
        if (state === 'unknown') throw ServiceUnavailable()
        if (state === 'contract') throw InvalidAddress(undefined, 'A contract cannot receive resources')
        const price_sun = priceOf(current, type, amount)
        const fee_sun = state === 'active' ? 0n : current.activation_sun
        return {
          ...{ address, type, amount, duration },
          ...(type === 'energy' && { energy: amount }),
          price: money(price_sun),
          activation_fee: money(fee_sun),
          total: money(price_sun + fee_sun),
        }
      },
    }),

    endpoint({
      path: '/v1/estimate-energy',
      auth: 'signature',
      scope: 'read',
      summary: 'The energy that a transfer of a token needs, and its price',
      body: Type.Object({
        from_address: unchecked(Type.String({ minLength: 34, maxLength: 34 })),
        to_address: unchecked(Type.String({ minLength: 34, maxLength: 34 })),
        contract_address: unchecked(Type.String({ description: `The token's contract; USDT (${USDT}) when left out` })),
      }),
      reply: Type.Object({
        from_address: Type.String(),
        to_address: Type.String(),
        contract_address: Type.String(),
        amount: Type.Integer(),
        energy: Type.Integer({ deprecated: true, description: 'The same as amount' }),
        duration: Type.Integer({ description: 'Hours' }),
        price: Money({ description: 'TRX' }),
        activation_fee: Money({ description: 'TRX; 0 when the sender is active' }),
        total: Money({ description: 'TRX' }),
        fee_limit: Type.Integer({ description: 'Sun: the least fee limit that lets the transfer run' }),
        bandwidth: Type.Integer({ description: 'What the transfer takes beside the energy' }),
      }),
      faults: [InvalidAddress, ServiceUnavailable],
      async handle({ body }) {
        const { from_address, to_address, contract_address } = body
        const from = readAddress(from_address, 'from_address')
        const to = readAddress(to_address, 'to_address')
        const contract = isAbsent(contract_address) ? USDT : readAddress(contract_address, 'contract_address')
        const estimate = await estimateTransfer({ node, prices, receiver }, { from, to, contract })
        const { amount, price_sun, activation_sun, fee_limit_sun, bandwidth } = estimate
        return {
          ...{ from_address: from, to_address: to, contract_address: contract, amount, energy: amount, duration: 1 },
          price: money(price_sun),
          activation_fee: money(activation_sun),
          total: money(price_sun + activation_sun),
          ...{ fee_limit: Number(fee_limit_sun), bandwidth },
        }
      },
    }),

    endpoint({
      path: '/v1/address-info',
      auth: 'signature',
      scope: 'read',
      summary: 'The resources and balances of an address',
      body: Type.Object({ address: unchecked(Type.String({ minLength: 34, maxLength: 34 })) }),
      reply: Type.Object({
        resources: Type.Object({
          energy: Type.Integer({ description: 'What can be used now' }),
          bandwidth: Type.Integer({ description: 'What can be used now, the free part included' }),
        }),
        balances: Type.Object({ TRX: Money(), USDT: Money() }),
      }),
      faults: [InvalidAddress, ServiceUnavailable],
      async handle({ body }) {
        const address = readAddress(body.address)
        const [account, energy, bandwidth, usdt] = await orUnavailable(
          Promise.all([
            node.account(address),
            node.resource(address, 'energy'),
            node.resource(address, 'bandwidth'),
            tokenBalance(node, { owner: address, holder: address, contract: USDT }),
          ]),
        )
        return {
          resources: { energy: Number(energy.left), bandwidth: Number(bandwidth.left) },
          // USDT has six decimals, as TRX has.
          balances: { TRX: money(account.balance_sun), USDT: money(usdt) },
        }
      },
    }),

    endpoint({
      path: '/v1/transaction/new',
      auth: 'signature',
      scope: 'buy',
      mutating: true,
      summary: 'Buy energy, bandwidth, both, or the activation of an address',
      body: Type.Object({
        service: Type.Enum(['energy', 'bandwidth', 'resource_bundle', 'activate_address']),
        params: Type.Object({
          address: unchecked(Type.String({ minLength: 34, maxLength: 34 })),
          duration: unchecked(Type.Integer({ description: 'Hours; only 1. Not for activate_address' })),
          amounts: unchecked(Type.Object({ energy: Type.Integer(), bandwidth: Type.Integer() })),
          amount: unchecked(Type.Integer()),
          energy_amount: unchecked(Type.Integer({ deprecated: true, description: 'The same as amount' })),
          activate_address: unchecked(Type.Boolean({ description: 'Activate the address too, if it is not active' })),
        }),
        external_id: Type.Optional(ExternalId),
      }),
      reply: Transaction,
      faults: [
        WalletNotFound,
        InsufficientFunds,
        InvalidAddress,
        InvalidEnergyAmount,
        InvalidDuration,
        AddressNotActivated,
        AddressAlreadyActivated,
        ServiceUnavailable,
        InvalidBandwidthAmount,
      ],
      async handle({ body, customer, headers, reply_headers }) {
        const { service, params } = body
        const activate = readFlag(params.activate_address) || service === 'activate_address'
        const address = readAddress(params.address)
        if (service !== 'activate_address') readDuration(params.duration)
        const amounts = readAmounts(service, params, await prices())
        const external_id = body.external_id ?? keyOf(headers['idempotency-key'])
        const { customer_id, key_id, daily_cap_sun } = customer
        const key = daily_cap_sun === undefined ? undefined : { key_id, daily_cap_sun }
        const placed = await placeOrder({ customer_id, key, external_id, service, address, activate, ...amounts })
        if (placed.replayed) reply_headers['idempotency-replayed'] = 'true'
        return printOrder(placed.order)
      },
    }),

    endpoint({
      path: '/v1/transaction/check',
      auth: 'signature',
      scope: 'read',
      summary: 'The state of a purchase',
      body: Type.Object({
        id: unchecked(Type.String()),
        transaction_id: unchecked(Type.String({ deprecated: true, description: 'The same as id' })),
        external_id: unchecked(Type.String()),
      }),
      reply: CheckedTransaction,
      faults: [OrderNotFound],
      async handle({ body, customer }) {
        const named = readNames(isAbsent(body.id) ? body.transaction_id : body.id, body.external_id)
        const order = await findOrder(sql, { ...named, customer_id: customer.customer_id })
        if (!order) throw OrderNotFound('transaction')
        const delegations = await delegationsOf(sql, order.id)
        return { ...printOrder(order), delegations: delegations.map(printDelegation) }
      },
    }),
  ]
}
