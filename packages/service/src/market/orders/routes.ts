// The market on the wire: prices, purchases, and what became of them.

import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { Type } from 'typebox'
import { keyReader, type Reads } from '../../chain/reads/reads.ts'
import { chainSilent, type ReceiverReader } from '../../chain/receivers/receivers.ts'
import { InsufficientFunds, WalletNotFound } from '../../ledger/accounts/ledger.ts'
import { money } from '../../lib/json.ts'
import { RECEIVER_REFUSED, refuseBuyer, refuseReceiver } from '../../people/customers/purse.ts'
import { cappedKey } from '../../people/customers/spending.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  EXTERNAL_ID_REFUSALS,
  type Example,
  endpoint,
  externalId,
  InvalidParams,
  Money,
  refuses,
  ServiceUnavailable,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import {
  InvalidAddress,
  InvalidDuration,
  isAbsent,
  readAddress,
  readDuration,
  readNames,
} from '../../platform/wire/reading.ts'
import { delegationsOf } from '../pool/delegations.ts'
import {
  InvalidBandwidthAmount,
  InvalidEnergyAmount,
  isOnSale,
  offSale,
  type Prices,
  priceOf,
} from '../prices/prices.ts'
import { readAmount, readPurchase } from './amounts.ts'
import { estimateTransfer, orUnavailable, tokenBalance } from './estimates.ts'
import {
  AddressText,
  BandwidthTier,
  CheckedTransaction,
  EnergyTier,
  ExternalId,
  noOrder,
  OrderNotFound,
  PurchaseFields,
  printDelegation,
  printEnergyTier,
  printOrder,
  Transaction,
} from './forms.ts'
import { findOrder } from './orders.ts'
import { AddressAlreadyActivated, AddressNotActivated, type OrderPlacer } from './placing.ts'

const NOT_AN_ADDRESS = 'Not an address of the network: 34 characters, base58check, beginning with T'
const NOT_ONE_HOUR = '`duration` is not the integer 1'
const OFF_SALE =
  'The service, or the activation that it takes, is off sale, or the chain cannot be reached'
const A_CONTRACT =
  'The address is a contract, which cannot receive resources, or a wallet of this service'
const NO_ENERGY_AMOUNT = 'The energy amount is absent, not an integer, or in no tier'
const NO_BANDWIDTH_AMOUNT = 'The bandwidth amount is absent, not an integer, or in no tier'

const NEW_EXAMPLES: readonly Example[] = [
  {
    summary: 'Energy',
    body: {
      service: 'energy',
      params: { address: EXAMPLE.address, amount: 65_000, duration: 1 },
      external_id: 'order-42',
    },
  },
  {
    summary: 'Energy and bandwidth, for an address that may have to be activated first',
    body: {
      service: 'resource_bundle',
      params: {
        address: EXAMPLE.new_address,
        amounts: { energy: 65_000, bandwidth: 345 },
        duration: 1,
        activate_address: true,
      },
    },
  },
  {
    summary: 'As old clients ask for energy',
    body: {
      service: 'energy',
      params: { address: EXAMPLE.address, energy_amount: 65_000, duration: 1 },
    },
  },
  {
    summary: 'An activation',
    body: { service: 'activate_address', params: { address: EXAMPLE.other_address } },
  },
]

export type Needs = {
  sql: Sql
  prices: () => Promise<Prices>
  receiver: ReceiverReader
  placeOrder: OrderPlacer['placeOrder']
  reads: Reads
}

const services = ({ prices }: Needs): Endpoint =>
  endpoint({
    path: '/v1/services',
    auth: 'signature',
    scope: 'read',
    summary: 'Services on sale and their prices',
    body: Type.Object({}),
    reply: Type.Object({
      energy: Type.Array(EnergyTier),
      bandwidth: Type.Array(BandwidthTier),
      activate_address: Type.Object({
        price: Money({ description: 'TRX for one activation, on sale or not' }),
      }),
    }),
    faults: [],
    async handle() {
      const { tiers, on_sale, activation_sun } = await prices()
      const of = (resource: string) =>
        tiers.filter((tier) => tier.resource === resource && on_sale.has(resource))
      return {
        energy: of('energy').map(printEnergyTier),
        bandwidth: of('bandwidth').map(({ duration_hours, min_amount, max_amount, price_sun }) => ({
          duration: duration_hours,
          min_amount,
          max_amount,
          price: money(price_sun),
        })),
        activate_address: { price: money(activation_sun) },
      }
    },
  })

const CALCULATE_EXAMPLES = [
  {
    summary: 'Energy for one transfer',
    body: { address: EXAMPLE.address, amount: 65_000, duration: 1 },
  },
  {
    summary: 'Bandwidth',
    body: { type: 'bandwidth', address: EXAMPLE.address, amount: 345, duration: 1 },
  },
]

const calculate = ({ prices, receiver }: Needs): Endpoint =>
  endpoint({
    path: '/v1/calculate',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What a purchase would cost',
    body: Type.Object({
      type: Type.Optional(
        Type.Enum(['energy', 'bandwidth'], { description: '`energy` when left out' }),
      ),
      address: unchecked(AddressText('Who would receive it')),
      duration: unchecked(Type.Integer({ description: 'Hours; only 1' })),
      amount: Type.Optional(
        unchecked(Type.Integer({ description: 'How much energy or bandwidth; required' })),
      ),
      energy: Type.Optional(
        unchecked(Type.Integer({ deprecated: true, description: 'The same as amount' })),
      ),
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
    faults: [
      refuses(InvalidAddress, NOT_AN_ADDRESS),
      refuses(InvalidDuration, NOT_ONE_HOUR),
      refuses(InvalidEnergyAmount, NO_ENERGY_AMOUNT),
      refuses(InvalidBandwidthAmount, NO_BANDWIDTH_AMOUNT),
      refuses(ServiceUnavailable, OFF_SALE),
      refuses(InvalidAddress, A_CONTRACT),
    ],
    examples: CALCULATE_EXAMPLES,
    async handle({ body, customer }) {
      const type = body.type ?? 'energy'
      const address = readAddress(body.address, 'address')
      const duration = readDuration(body.duration, 'duration')
      const current = await prices()
      const amount = readAmount(
        type,
        [['amount', body.amount], ...(type === 'energy' ? [['energy', body.energy] as const] : [])],
        current,
      )
      if (!isOnSale(current, type, false)) throw offSale(current, type)
      const state = await receiver(address, keyReader(customer))
      if (state === 'unknown') throw chainSilent()
      if (!isOnSale(current, type, state === 'inactive')) throw offSale(current, type)
      const refused = state === 'barred' ? undefined : refuseReceiver(state, 'address')
      if (refused) throw refused
      const price_sun = priceOf(current, type, amount)
      const fee_sun = state === 'inactive' ? current.activation_sun : 0n
      return {
        address,
        type,
        amount,
        duration,
        ...(type === 'energy' && { energy: amount }),
        price: money(price_sun),
        activation_fee: money(fee_sun),
        total: money(price_sun + fee_sun),
      }
    },
  })

const estimateEnergy = ({ reads, prices, receiver }: Needs): Endpoint =>
  endpoint({
    path: '/v1/estimate-energy',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'The energy that a transfer of a token needs, and its price',
    body: Type.Object({
      from_address: unchecked(AddressText('Who sends the tokens')),
      to_address: unchecked(AddressText('Who receives them')),
      contract_address: Type.Optional(
        unchecked(AddressText(`The token's contract; USDT (${USDT}) when left out`)),
      ),
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
      fee_limit: Type.Integer({
        description: 'Sun: the least fee limit that lets the transfer run',
      }),
      bandwidth: Type.Integer({ description: 'What the transfer takes beside the energy' }),
    }),
    faults: [
      refuses(InvalidAddress, `\`from_address\`: ${NOT_AN_ADDRESS}`, 'from_address'),
      refuses(InvalidAddress, `\`to_address\`: ${NOT_AN_ADDRESS}`, 'to_address'),
      refuses(InvalidAddress, `\`contract_address\`: ${NOT_AN_ADDRESS}`, 'contract_address'),
      refuses(ServiceUnavailable, OFF_SALE),
      refuses(InvalidAddress, 'There is no contract at `contract_address`', 'contract_address'),
    ],
    examples: [
      {
        summary: 'A transfer of USDT',
        body: { from_address: EXAMPLE.address, to_address: EXAMPLE.other_address },
      },
    ],
    async handle({ body, customer }) {
      const { from_address, to_address, contract_address } = body
      const from = readAddress(from_address, 'from_address', 'from_address')
      const to = readAddress(to_address, 'to_address', 'to_address')
      const contract = isAbsent(contract_address)
        ? USDT
        : readAddress(contract_address, 'contract_address', 'contract_address')
      const reader = keyReader(customer)
      const node = reads(reader)
      const asking = { prices, node, receiver: (one: Address) => receiver(one, reader) }
      const contract_param = 'contract_address'
      const estimate = await estimateTransfer(asking, { from, to, contract, contract_param })
      const { amount, price_sun, activation_sun, fee_limit_sun, bandwidth } = estimate
      return {
        from_address: from,
        to_address: to,
        contract_address: contract,
        amount,
        energy: amount,
        duration: 1,
        price: money(price_sun),
        activation_fee: money(activation_sun),
        total: money(price_sun + activation_sun),
        fee_limit: Number(fee_limit_sun),
        bandwidth,
      }
    },
  })

const addressInfo = ({ reads }: Needs): Endpoint =>
  endpoint({
    path: '/v1/address-info',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'The resources and balances of an address',
    body: Type.Object({ address: unchecked(AddressText()) }),
    reply: Type.Object({
      resources: Type.Object({
        energy: Type.Integer({ description: 'What can be used now' }),
        bandwidth: Type.Integer({ description: 'What can be used now, the free part included' }),
      }),
      balances: Type.Object({
        TRX: Money({ description: 'As of the newest block' }),
        USDT: Money({
          description: 'As of the newest irreversible block, which is about a minute older',
        }),
      }),
    }),
    faults: [
      refuses(InvalidAddress, NOT_AN_ADDRESS),
      refuses(ServiceUnavailable, 'The chain cannot be reached'),
    ],
    examples: [{ summary: 'An address', body: { address: EXAMPLE.address } }],
    async handle({ body, customer }) {
      const address = readAddress(body.address, 'address')
      const node = reads(keyReader(customer))
      const [account, { energy, bandwidth }, usdt] = await orUnavailable(
        Promise.all([
          node.account(address),
          node.resources(address),
          tokenBalance(node, { owner: address, holder: address, contract: USDT }),
        ]),
      )
      return {
        resources: { energy: Number(energy.left), bandwidth: Number(bandwidth.left) },
        // USDT has six decimals, as TRX has.
        balances: { TRX: money(account.balance_sun), USDT: money(usdt) },
      }
    },
  })

const NEW_BODY = Type.Object({
  ...PurchaseFields,
  external_id: Type.Optional(ExternalId),
})

/** In the order in which they are looked at. */
const NEW_REFUSALS = [
  refuses(InvalidParams, '`external_id` is not text of 1 to 128 characters', 'external_id'),
  refuses(InvalidAddress, NOT_AN_ADDRESS),
  refuses(InvalidDuration, `${NOT_ONE_HOUR} (not looked at for activate_address)`),
  refuses(
    InvalidParams,
    '`amounts` names a resource that the service does not sell, or a bundle has none',
  ),
  refuses(InvalidEnergyAmount, NO_ENERGY_AMOUNT),
  refuses(InvalidBandwidthAmount, NO_BANDWIDTH_AMOUNT),
  ...EXTERNAL_ID_REFUSALS,
  RECEIVER_REFUSED,
  refuses(InvalidParams, 'The same `external_id` was used with another meaning', 'external_id'),
  refuses(ServiceUnavailable, `${OFF_SALE}, or the pool cannot deliver the amount now`),
  refuses(ServiceUnavailable, 'As many orders of the customer are open as may be', 'open_orders'),
  refuses(WalletNotFound, 'The customer has no wallet'),
  refuses(InvalidAddress, A_CONTRACT),
  refuses(
    InvalidAddress,
    'The operator sells nothing to blacklisted addresses, and this is one',
    'blacklisted',
  ),
  refuses(
    AddressAlreadyActivated,
    'activate_address for an address that is active, or is being activated',
  ),
  refuses(AddressNotActivated, 'The address is not active, and `activate_address` is not true'),
  refuses(InsufficientFunds, 'The balance is below the price'),
  refuses(InsufficientFunds, 'The daily cap of the key would be passed', 'daily_cap'),
]

const newTransaction = ({ prices, placeOrder }: Needs): Endpoint =>
  endpoint({
    path: '/v1/transaction/new',
    keeps_body: true,
    auth: 'signature',
    scope: 'buy',
    mutating: true,
    creates: true,
    repeats: true,
    summary: 'Buy energy, bandwidth, both, or the activation of an address',
    body: NEW_BODY,
    reply: Transaction,
    faults: NEW_REFUSALS,
    examples: NEW_EXAMPLES,
    async handle({ body, customer, headers, reply_headers }) {
      const { refusal: unsold, ...asked } = readPurchase(body, await prices())
      const external_id = externalId(body.external_id, { headers, customer })
      const refusal =
        (customer.suspended ? undefined : unsold) ?? refuseBuyer(customer, asked.address)
      if (refusal && external_id === null) throw refusal
      const { customer_id } = customer
      const key = cappedKey(customer)
      const wanted = { external_id, ...asked, ...(refusal && { refusal }) }
      const placed = await placeOrder({ customer_id, key, asked_by: customer, ...wanted })
      if (placed.replayed) reply_headers['idempotency-replayed'] = 'true'
      return printOrder(placed.order)
    },
  })

const checkTransaction = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/transaction/check',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'The state of a purchase',
    body: Type.Object({
      id: Type.Optional(unchecked(Type.String())),
      transaction_id: Type.Optional(
        unchecked(Type.String({ deprecated: true, description: 'The same as id' })),
      ),
      external_id: Type.Optional(
        unchecked(
          Type.String({
            description: 'Beside id, or instead of it; when both are given, both must match',
          }),
        ),
      ),
    }),
    reply: CheckedTransaction,
    faults: [
      refuses(InvalidParams, 'Neither `id` nor `external_id` is given, or `id` is not text', 'id'),
      refuses(InvalidParams, '`external_id` is not text', 'external_id'),
      refuses(OrderNotFound, 'The customer has no such transaction'),
    ],
    examples: [{ summary: "By the caller's own id", body: { external_id: 'order-42' } }],
    async handle({ body, customer }) {
      const named = readNames(isAbsent(body.id) ? body.transaction_id : body.id, body.external_id)
      const order = await findOrder(sql, { ...named, customer_id: customer.customer_id })
      if (!order) throw noOrder(named)
      const delegations = await delegationsOf(sql, order.id)
      return { ...printOrder(order), delegations: delegations.map(printDelegation) }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [
  services(needs),
  calculate(needs),
  estimateEnergy(needs),
  addressInfo(needs),
  newTransaction(needs),
  checkTransaction(needs),
]
