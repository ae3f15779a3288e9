// Quotes and forecasts on the wire: what a purchase will cost at most, and what room there will be.

import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { type Static, Type } from 'typebox'
import { keyReader, type Reads } from '../../chain/reads/reads.ts'
import { chainSilent, type ReceiverReader } from '../../chain/receivers/receivers.ts'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { InsufficientFunds, WalletNotFound } from '../../ledger/accounts/ledger.ts'
import { type Clock, later, wireTime } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import { type Json, money } from '../../lib/json.ts'
import { RECEIVER_REFUSED, refuseBuyer, refuseReceiver } from '../../people/customers/purse.ts'
import { cappedKey } from '../../people/customers/spending.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Customer,
  type Endpoint,
  EXTERNAL_ID_REFUSALS,
  endpoint,
  externalId,
  InvalidParams,
  LimitReached,
  Money,
  NotFound,
  refuses,
  ServiceUnavailable,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { answered, EXAMPLE } from '../../platform/wire/examples.ts'
import {
  InvalidAddress,
  InvalidDuration,
  isAbsent,
  readAddress,
} from '../../platform/wire/reading.ts'
import { OrNull, SERVICES, word } from '../../platform/wire/schemas.ts'
import { type PurchaseBody, readPurchase } from '../orders/amounts.ts'
import { estimateTransfer } from '../orders/estimates.ts'
import {
  AddressText,
  ExternalId,
  Params,
  PurchaseFields,
  printOrder,
  printParams,
  Transaction,
} from '../orders/forms.ts'
import {
  AddressAlreadyActivated,
  AddressNotActivated,
  alreadyActivated,
  notActivated,
  type OrderPlacer,
  QuoteExpired,
} from '../orders/placing.ts'
import {
  InvalidBandwidthAmount,
  InvalidEnergyAmount,
  isOnSale,
  offSale,
  type Prices,
  priceOf,
} from '../prices/prices.ts'
import { readOffer } from './offer.ts'
import { findQuote, insertQuote, QUOTES_MAX, type Quote } from './quotes.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  prices: () => Promise<Prices>
  receiver: ReceiverReader
  reads: Reads
  placeOrder: OrderPlacer['placeOrder']
}

const QUOTE_SECONDS = 60

const QuoteForm = Type.Object({
  id: Type.String(),
  service: word(SERVICES),
  params: Params,
  energy: Type.Integer(),
  bandwidth: Type.Integer(),
  amount: Money({ description: 'TRX; the most that it costs, the fee included' }),
  fee: Money({ description: 'TRX; what of it is for activating the address' }),
  state: word(['open', 'used', 'expired']),
  expires_at: Type.String(),
  transaction_id: OrNull(Type.String({ description: 'What it has bought' })),
  fee_limit: Type.Optional(
    Type.Integer({ description: 'For a transfer, in sun: the least that lets it run' }),
  ),
  burning_costs: OrNull(
    Money({ description: 'TRX that the chain would burn for it instead; null: unknown' }),
  ),
})

function printQuote(quote: Quote): Static<typeof QuoteForm> {
  const { id, service, fee_limit_sun, burning_sun } = quote
  return {
    id,
    service,
    params: printParams(quote),
    energy: Number(quote.energy),
    bandwidth: Number(quote.bandwidth),
    amount: money(quote.amount_sun),
    fee: money(quote.fee_sun),
    state: 'open',
    expires_at: wireTime(quote.expires_at),
    transaction_id: null,
    ...(fee_limit_sun !== null && { fee_limit: Number(fee_limit_sun) }),
    burning_costs: burning_sun === null ? null : money(burning_sun),
  }
}

type Transfer = { from?: Json | undefined; to?: Json | undefined; contract?: Json | undefined }

type QuoteInput = Pick<Quote, 'service' | 'address' | 'energy' | 'bandwidth' | 'activate'> & {
  fee_limit_sun: bigint | null
}

const nothingAsked = () =>
  InvalidParams().because('give either service and params, or transfer', 'service')

/** What a quote is for: a purchase, as it would be asked for, or the energy of a transfer. */
async function readAsked(
  needs: Needs,
  body: { purchase?: PurchaseBody | undefined; transfer?: Transfer | undefined },
  customer: Customer,
): Promise<QuoteInput> {
  if (body.transfer) return readTransfer(needs, body.transfer, customer)
  if (!body.purchase) throw nothingAsked()
  const { refusal, energy, bandwidth, ...asked } = readPurchase(body.purchase, await needs.prices())
  if (refusal) throw refusal
  return { ...asked, energy: BigInt(energy), bandwidth: BigInt(bandwidth), fee_limit_sun: null }
}

async function readTransfer(
  { prices, reads, receiver }: Needs,
  transfer: Transfer,
  customer: Customer,
): Promise<QuoteInput> {
  const from = readAddress(transfer.from, 'transfer.from', 'from')
  const to = readAddress(transfer.to, 'transfer.to', 'to')
  const contract = isAbsent(transfer.contract)
    ? USDT
    : readAddress(transfer.contract, 'transfer.contract', 'contract_address')
  const reader = keyReader(customer)
  const asking = {
    prices,
    node: reads(reader),
    receiver: (address: Address) => receiver(address, reader),
  }
  const contract_param = 'transfer.contract'
  const estimate = await estimateTransfer(asking, { from, to, contract, contract_param })
  return {
    service: 'energy',
    address: from,
    energy: BigInt(estimate.amount),
    bandwidth: 0n,
    activate: estimate.activation_sun > 0n,
    fee_limit_sun: estimate.fee_limit_sun,
  }
}

/** What it costs now, and what it would cost to burn TRX instead. Throws 10, 11, 24, 25, 35, 50. */
async function priceAsked(needs: Needs, asked: QuoteInput, customer: Customer) {
  const { service, energy, bandwidth, activate } = asked
  const [prices, receiver] = await Promise.all([
    needs.prices(),
    needs.receiver(asked.address, keyReader(customer)),
  ])
  const activates = receiver === 'inactive' && activate
  if (!isOnSale(prices, service, activates)) throw offSale(prices, service)
  if (receiver === 'unknown') throw chainSilent()
  const refused = refuseReceiver(receiver)
  if (refused) throw refused
  const active = receiver === 'active'
  if (service === 'activate_address' && active) throw alreadyActivated('params.address')
  if (!active && !activate) throw notActivated(prices)
  const fee_sun = active ? 0n : prices.activation_sun
  const energy_sun = energy > 0n ? priceOf(prices, 'energy', Number(energy)) : 0n
  const bandwidth_sun = bandwidth > 0n ? priceOf(prices, 'bandwidth', Number(bandwidth)) : 0n
  const burning_sun =
    service === 'activate_address' ? null : await burnedFor(needs, asked, customer)
  return { fee_sun, amount_sun: fee_sun + energy_sun + bandwidth_sun, burning_sun }
}

/** Null while the chain does not say. */
async function burnedFor(
  { reads }: Needs,
  { energy, bandwidth }: QuoteInput,
  customer: Customer,
): Promise<bigint | null> {
  const asking = reads(keyReader(customer)).parameters()
  const parameters = await asking.catch((thrown: unknown) => {
    if (thrown instanceof Outage) return undefined
    throw thrown
  })
  const [energy_fee, bandwidth_fee] = ['getEnergyFee', 'getTransactionFee'].map((name) =>
    parameters?.get(name),
  )
  if (energy_fee === undefined || bandwidth_fee === undefined) return null
  return energy * energy_fee + bandwidth * bandwidth_fee
}

/** For how long a quote binds us, in seconds. Throws 2 and 35. */
async function secondsOf(sql: Sql, given: number | undefined): Promise<number> {
  const { quote_seconds_max: most } = await readOffer(sql)
  if (most === 0) throw ServiceUnavailable('quotes', 'There are no quotes')
  const seconds = given ?? Math.min(QUOTE_SECONDS, most)
  if (seconds > most)
    throw InvalidParams('seconds', `A quote is for ${most} seconds at most`).at(
      'seconds',
      `an integer from 5 to ${most}`,
    )
  return seconds
}

const TransferFields = Type.Object(
  {
    from: unchecked(AddressText('Who sends the tokens, and gets the energy')),
    to: unchecked(AddressText('Who receives them')),
    contract: Type.Optional(unchecked(AddressText(`The token's contract; USDT when left out`))),
  },
  { description: 'The energy for a transfer of a token, instead of `service` and `params`' },
)

const NEW_REFUSALS = [
  refuses(
    InvalidParams,
    '`seconds` is no number from 5 to 300, or above what is offered',
    'seconds',
  ),
  refuses(ServiceUnavailable, 'The operator offers no quotes', 'quotes'),
  refuses(InvalidAddress, 'Not an address of the network'),
  refuses(InvalidAddress, '`from` is not an address of the network', 'from'),
  refuses(InvalidAddress, '`to` is not an address of the network', 'to'),
  refuses(InvalidAddress, '`contract` is not an address, or no contract', 'contract_address'),
  refuses(InvalidDuration, '`duration` is not the integer 1'),
  refuses(InvalidEnergyAmount, 'The energy amount is absent, not an integer, or in no tier'),
  refuses(InvalidBandwidthAmount, 'The bandwidth amount is absent, not an integer, or in no tier'),
  refuses(ServiceUnavailable, 'The service is off sale, or the chain cannot be reached'),
  refuses(InvalidAddress, 'The operator sells nothing to blacklisted addresses', 'blacklisted'),
  refuses(AddressAlreadyActivated, 'activate_address for an address that is active'),
  refuses(AddressNotActivated, 'The address is not active, and `activate_address` is not true'),
  refuses(LimitReached, `There are ${QUOTES_MAX} open quotes`, 'quote'),
]

const newQuote = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/quote/new',
    keeps_body: true,
    auth: 'signature',
    scope: 'buy',
    mutating: true,
    second_signature: true,
    summary: 'A price that binds us for a while',
    description:
      'It binds price and fee, and reserves no room in the pool. If the price has fallen when it ' +
      'is accepted, the lower one is charged.',
    body: Type.Object({
      service: Type.Optional(PurchaseFields.service),
      params: Type.Optional(PurchaseFields.params),
      transfer: Type.Optional(TransferFields),
      seconds: Type.Optional(
        Type.Integer({
          minimum: 5,
          maximum: 300,
          description: `For how long; ${QUOTE_SECONDS} when left out`,
          fault: () => InvalidParams('seconds', 'Invalid seconds'),
        }),
      ),
    }),
    reply: QuoteForm,
    faults: NEW_REFUSALS,
    examples: [
      {
        summary: 'Energy',
        body: {
          service: 'energy',
          params: { address: EXAMPLE.address, amount: 65_000, duration: 1 },
        },
      },
      {
        summary: 'The energy of a transfer of USDT, for five minutes',
        body: { transfer: { from: EXAMPLE.address, to: EXAMPLE.other_address }, seconds: 300 },
      },
    ],
    async handle({ body: { service, params, transfer, seconds: given }, customer }) {
      const { sql, clock, new_id } = needs
      const purchase = service && params ? { service, params } : undefined
      if ((purchase === undefined) === (transfer === undefined)) throw nothingAsked()
      const seconds = await secondsOf(sql, given)
      const asked = await readAsked(needs, { purchase, transfer }, customer)
      const quote: Quote = {
        ...asked,
        ...(await priceAsked(needs, asked, customer)),
        id: new_id(),
        customer_id: customer.customer_id,
        made_at: clock.now(),
        expires_at: later(clock, seconds * 1_000),
      }
      const printed = printQuote(quote)
      await sql.begin(async (tx) => {
        await insertQuote(tx, quote)
        const record = { subject: `quote:${quote.id}`, before: null, after: printed }
        // What keys ask for binds nobody but us, and comes by the thousand.
        if (customer.user)
          await recordCustomerAction(tx, quote.made_at, {
            actor: customer,
            action: 'quote/new',
            ...record,
          })
      })
      return printed
    },
  })

const ACCEPT_REFUSALS = [
  refuses(InvalidParams, '`id` is no text', 'id'),
  refuses(InvalidParams, '`external_id` is not text of 1 to 128 characters', 'external_id'),
  ...EXTERNAL_ID_REFUSALS,
  refuses(NotFound, 'You have no such quote', 'quote'),
  refuses(QuoteExpired, 'It was used for a transaction with another external_id', 'used'),
  refuses(QuoteExpired, 'Its time is over'),
  RECEIVER_REFUSED,
  refuses(InvalidParams, 'The same `external_id` was used without this quote', 'external_id'),
  refuses(ServiceUnavailable, 'Off sale, or the pool cannot deliver the amount now'),
  refuses(ServiceUnavailable, 'As many orders of the customer are open as may be', 'open_orders'),
  refuses(WalletNotFound, 'The customer has no wallet'),
  refuses(
    InvalidAddress,
    'The address is a contract, which cannot receive resources, or a wallet of this service',
  ),
  refuses(InvalidAddress, 'The operator sells nothing to blacklisted addresses', 'blacklisted'),
  refuses(AddressAlreadyActivated, 'The address is active by now, or is being activated'),
  refuses(AddressNotActivated, 'The address is not active, and its activation was not asked for'),
  refuses(InsufficientFunds, 'The balance is below the price'),
  refuses(InsufficientFunds, 'The daily cap of the key would be passed', 'daily_cap'),
]

const acceptQuote = ({ sql, placeOrder }: Needs): Endpoint =>
  endpoint({
    path: '/v1/quote/accept',
    keeps_body: true,
    auth: 'signature',
    scope: 'buy',
    mutating: true,
    creates: true,
    repeats: true,
    second_signature: true,
    summary: 'Buys what was quoted, for no more than that; twice: the same transaction',
    body: Type.Object({
      id: Type.String({
        minLength: 1,
        maxLength: 40,
        description: 'Of the quote',
        fault: () => InvalidParams('id', 'Invalid id'),
      }),
      external_id: Type.Optional(ExternalId),
    }),
    reply: Transaction,
    faults: ACCEPT_REFUSALS,
    examples: [{ summary: 'By its id', body: { id: answered('/v1/quote/new', 'id') } }],
    async handle({ body, customer, headers, reply_headers }) {
      const external_id = externalId(body.external_id, { headers, customer })
      const { customer_id } = customer
      const quote = await findQuote(sql, { customer_id, id: body.id })
      if (!quote) throw NotFound('quote', 'There is no such quote').absent('id', 'quote of yours')
      const { service, address, activate } = quote
      const amounts = { energy: Number(quote.energy), bandwidth: Number(quote.bandwidth) }
      const refusal = refuseBuyer(customer, address, 'id')
      const wanted = { external_id, service, address, activate, ...amounts, quote, refusal }
      const key = cappedKey(customer)
      const placed = await placeOrder({ customer_id, key, asked_by: customer, ...wanted })
      if (placed.replayed) reply_headers['idempotency-replayed'] = 'true'
      return printOrder(placed.order)
    },
  })

export const quoteRoutes = (needs: Needs): Endpoint[] => [newQuote(needs), acceptQuote(needs)]
