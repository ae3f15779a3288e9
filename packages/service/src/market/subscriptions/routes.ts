// Subscriptions on the wire.

import { type Static, Type } from 'typebox'
import { InsufficientFunds, WalletNotFound } from '../../ledger/accounts/ledger.ts'
import { timeOrNull, wireTime } from '../../lib/clock.ts'
import { type Json, money } from '../../lib/json.ts'
import { RECEIVER_REFUSED, refuseBuyer } from '../../people/customers/purse.ts'
import { cappedKey } from '../../people/customers/spending.ts'
import {
  type Endpoint,
  EXTERNAL_ID_REFUSALS,
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
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { PAGE_REFUSALS, pageFields, pageOf } from '../../platform/wire/paging.ts'
import {
  InvalidAddress,
  InvalidDuration,
  isAbsent,
  readAddress,
  readFlag,
  readNames,
} from '../../platform/wire/reading.ts'
import { word } from '../../platform/wire/schemas.ts'
import { AddressText } from '../orders/forms.ts'
import { AddressNotActivated } from '../orders/placing.ts'
import { isOnSale } from '../prices/prices.ts'
import { CannotStop, stopSubscription } from './ending.ts'
import {
  common,
  Held,
  heldOf,
  Params,
  printStarted,
  Reason,
  Resting,
  reasonOf,
  Started,
  Time,
} from './forms.ts'
import { listPlans } from './plans.ts'
import { type Needs, startSubscription } from './starting.ts'
import { listUses, type UsePlace, type UseRow } from './subscription_lookup.ts'
import {
  findSubscription,
  listSubscriptions,
  narrower,
  STATES,
  type Subscription,
  SubscriptionNotFound,
} from './subscriptions.ts'

const Stopped = Type.Object({
  id: Type.String(),
  subscription_id: Type.String({ description: 'The key of the plan' }),
  created_at: Type.String(),
  stopped_at: Time,
  status: word(STATES),
  external_id: Type.Union([Type.String(), Type.Null()]),
  params: Params,
  held: Held,
})

const Listed = Type.Object({
  id: Type.String(),
  status: word(STATES),
  subscription_id: Type.String({ description: 'The key of the plan' }),
  address: Type.String(),
  transactions_limit: Type.Integer(),
  transactions_used: Type.Integer(),
  energy_used: Type.Integer(),
  total_price: Money({ description: 'TRX, all charges so far' }),
  started_at: Time,
  renewed_at: Time,
  stopped_at: Time,
  expire_at: Time,
  created_at: Type.String(),
  reason: Reason,
  resting: Resting,
  held: Held,
})

const Plan = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  activation_fee: Money({ description: 'TRX, once' }),
  initial_price: Money({ description: 'TRX, at the start' }),
  price: Money({
    description: 'TRX for each transaction served beyond those that the initial price covers',
  }),
  transactions_limit: Type.Integer({ description: '0: none' }),
  duration_days: Type.Integer({ description: '0: none' }),
})

const printStopped = (subscription: Subscription): Static<typeof Stopped> => ({
  ...common(subscription),
  stopped_at: timeOrNull(subscription.stopped_at),
  ...heldOf(subscription),
})

function printListed(subscription: Subscription): Static<typeof Listed> {
  const { id, state, plan_key, address, transactions_used, energy_used } = subscription
  const { transactions_limit, plan_transactions_limit } = subscription
  return {
    id,
    status: state,
    subscription_id: plan_key,
    address,
    transactions_used,
    transactions_limit: narrower(transactions_limit, plan_transactions_limit),
    energy_used: Number(energy_used),
    total_price: money(subscription.total_sun),
    started_at: timeOrNull(subscription.started_at),
    renewed_at: timeOrNull(subscription.renewed_at),
    stopped_at: timeOrNull(subscription.stopped_at),
    expire_at: timeOrNull(subscription.expire_at),
    created_at: wireTime(subscription.created_at),
    ...reasonOf(subscription),
    ...heldOf(subscription),
  }
}

const LIMIT_MAX = 1_000_000

/** A whole number from 0 on; absent is 0. */
function readLimit(value: Json | undefined, refuse: () => Error): number {
  if (isAbsent(value)) return 0
  if (typeof value !== 'number' || value < 0 || value > LIMIT_MAX) throw refuse()
  return value
}

const Names = Type.Object({
  id: Type.Optional(unchecked(Type.String())),
  subscription_id: Type.Optional(
    unchecked(Type.String({ deprecated: true, description: 'The same as id' })),
  ),
  external_id: Type.Optional(
    unchecked(
      Type.String({
        description: 'Beside id, or instead of it; when both are given, both must match',
      }),
    ),
  ),
})

const NOT_NAMED = [
  refuses(InvalidParams, 'Neither `id` nor `external_id` is given, or `id` is not text', 'id'),
  refuses(InvalidParams, '`external_id` is not text', 'external_id'),
  refuses(SubscriptionNotFound, 'The customer has no such subscription'),
]
const BY_EXTERNAL_ID = [{ summary: "By the caller's own id", body: { external_id: 'sub-7' } }]

const plans = ({ sql, prices }: Needs): Endpoint =>
  endpoint({
    path: '/v1/subscriptions',
    auth: 'signature',
    scope: 'read',
    summary: 'The plans on sale, by their keys; none while subscriptions are off sale',
    body: Type.Object({}),
    reply: Type.Record(Type.String(), Plan),
    faults: [],
    async handle() {
      const [plans, now] = await Promise.all([listPlans(sql), prices()])
      if (!isOnSale(now, 'subscription', false)) return {}
      return Object.fromEntries(
        plans.map(({ key, id, name, transactions_limit, duration_days, ...prices }) => [
          key,
          {
            id,
            name,
            transactions_limit,
            duration_days,
            activation_fee: money(prices.activation_fee_sun),
            initial_price: money(prices.initial_price_sun),
            price: money(prices.price_sun),
          },
        ]),
      )
    },
  })

const LIMIT_RULE = `an integer from 0 to ${LIMIT_MAX}`

const StartBody = Type.Object({
  subscription_id: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'The key of the plan',
  }),
  params: Type.Object({
    address: unchecked(AddressText('Who is kept supplied')),
    duration: Type.Optional(
      unchecked(
        Type.Integer({ minimum: 0, maximum: LIMIT_MAX, description: 'Days; 0: as the plan says' }),
      ),
    ),
    transactions_limit: Type.Optional(
      unchecked(
        Type.Integer({ minimum: 0, maximum: LIMIT_MAX, description: '0: as the plan says' }),
      ),
    ),
    activate_address: Type.Optional(
      unchecked(Type.Boolean({ description: 'Activate the address too, if it is not active' })),
    ),
  }),
  external_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      fault: () => InvalidParams('external_id', 'Invalid external_id'),
    }),
  ),
})

const START_REFUSALS = [
  refuses(InvalidParams, '`external_id` is not text of 1 to 128 characters', 'external_id'),
  refuses(
    InvalidAddress,
    'Not an address of the network: 34 characters, base58check, beginning with T',
  ),
  refuses(InvalidDuration, '`duration` is not a number of days'),
  refuses(InvalidParams, '`transactions_limit` is not a number of transactions'),
  ...EXTERNAL_ID_REFUSALS,
  refuses(InvalidParams, 'The same `external_id` was used with another meaning', 'external_id'),
  RECEIVER_REFUSED,
  refuses(InvalidParams, 'There is no such plan'),
  refuses(InvalidDuration, '`duration` is longer than the plan'),
  refuses(InvalidParams, '`transactions_limit` is more than the plan has'),
  refuses(
    ServiceUnavailable,
    'Off sale, or no energy can be delivered now, or the chain cannot be reached',
  ),
  refuses(WalletNotFound, 'The customer has no wallet'),
  refuses(
    InvalidAddress,
    'The address is a contract, which cannot receive resources, or a wallet of this service',
  ),
  refuses(
    InvalidAddress,
    'The operator sells nothing to blacklisted addresses, and this is one',
    'blacklisted',
  ),
  refuses(InvalidAddress, 'The customer has a subscription for this address', 'already_subscribed'),
  refuses(InvalidParams, 'Another customer has a subscription for this address', 'address_owner'),
  refuses(
    AddressNotActivated,
    'The address is not active, and `activate_address` is not true',
    'subscription',
  ),
  refuses(ServiceUnavailable, 'As many subscriptions of the customer run as may', 'subscriptions'),
  refuses(InsufficientFunds, 'The balance is below the activation fee and the initial price'),
  refuses(InsufficientFunds, 'The daily cap of the key would be passed', 'daily_cap'),
]

const start = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/subscription/start',
    keeps_body: true,
    auth: 'signature',
    scope: 'buy',
    mutating: true,
    creates: true,
    repeats: true,
    summary: 'Keep an address supplied with energy',
    body: StartBody,
    reply: Started,
    faults: START_REFUSALS,
    examples: [
      {
        summary: 'Until it is stopped, for 30 days at most',
        body: {
          subscription_id: 'unlimited_energy',
          params: { address: EXAMPLE.other_address, duration: 30, transactions_limit: 0 },
          external_id: 'sub-7',
        },
      },
    ],
    async handle({ body, customer, headers, reply_headers }) {
      const { params, subscription_id: plan_key } = body
      const activate_address = readFlag(params.activate_address, 'params.activate_address')
      const address = readAddress(params.address, 'params.address')
      const duration = readLimit(params.duration, () =>
        InvalidDuration(undefined, 'Invalid duration').at('params.duration', LIMIT_RULE),
      )
      const transactions_limit = readLimit(params.transactions_limit, () =>
        InvalidParams().at('params.transactions_limit', LIMIT_RULE),
      )
      const external_id = externalId(body.external_id, { headers, customer })
      const { customer_id, key_id } = customer
      const wanted = {
        customer_id,
        key_id,
        key: cappedKey(customer),
        asked_by: customer,
        external_id,
        refusal: refuseBuyer(customer, address),
        plan_key,
        address,
        duration,
        transactions_limit,
        activate_address,
      }
      const { subscription, replayed } = await startSubscription(needs, wanted)
      if (replayed) reply_headers['idempotency-replayed'] = 'true'
      return printStarted(subscription)
    },
  })

const check = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/subscription/check',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'The state of a subscription',
    body: Names,
    reply: Started,
    faults: NOT_NAMED,
    examples: BY_EXTERNAL_ID,
    async handle({ body, customer }) {
      const named = readNames(isAbsent(body.id) ? body.subscription_id : body.id, body.external_id)
      return printStarted(
        await findSubscription(sql, { ...named, customer_id: customer.customer_id }),
      )
    },
  })

const stop = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/subscription/stop',
    keeps_body: true,
    auth: 'signature',
    scope: 'buy',
    mutating: true,
    summary: 'Stop a subscription that has no limit of transactions, also before it is active',
    body: Names,
    reply: Stopped,
    faults: [
      ...NOT_NAMED,
      refuses(CannotStop, 'It has ended already, or has a limit of transactions'),
    ],
    examples: BY_EXTERNAL_ID,
    async handle({ body, customer }) {
      const named = readNames(isAbsent(body.id) ? body.subscription_id : body.id, body.external_id)
      const which = { ...named, customer_id: customer.customer_id }
      return printStopped(await stopSubscription(needs, which, customer))
    },
  })

const history = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/subscriptions/history',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: "The customer's subscriptions, newest first",
    body: Type.Object(pageFields(STATES)),
    reply: pageOf(Listed),
    faults: [...PAGE_REFUSALS],
    examples: [
      { summary: 'The newest ten', body: {} },
      { summary: 'Those that are running', body: { status: 'active', page: 1, per_page: 50 } },
    ],
    async handle({ body, customer }) {
      const { page = 1, per_page = 10, status = null } = body
      const { customer_id } = customer
      const { total, items } = await listSubscriptions(sql, {
        customer_id,
        state: status,
        page,
        per_page,
      })
      return { page, per_page, total, items: items.map(printListed) }
    },
  })

const USE_PLACE_LENGTH_MAX = 100

/** Throws 2 when it is no place that a page ended with. */
function readUsePlace(before: string | undefined): UsePlace | undefined {
  if (before === undefined) return undefined
  const [, block = '', tx_id] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(before) ?? []
  if (tx_id === undefined) throw noPlace()
  return { block_number: BigInt(block), tx_id }
}

const uses = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/subscription/uses',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'The transactions that a subscription has served, newest first',
    body: Type.Object({
      id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          fault: () => InvalidParams('id', 'Invalid id'),
        }),
      ),
      external_id: Names.properties.external_id,
      ...listFields(undefined, USE_PLACE_LENGTH_MAX),
    }),
    reply: listOf(
      Type.Object({
        tx_id: Type.String(),
        at: Type.String({ description: 'When its block was read' }),
        energy: Type.Integer({ description: 'What it has used of ours' }),
        transactions: Type.Integer({ description: 'For how many it counts' }),
        charged: Money({ description: 'TRX' }),
      }),
    ),
    faults: [...NOT_NAMED, ...LIST_REFUSALS],
    examples: [{ summary: 'One that is not there', body: { id: '01jq7h6bvf6p5t1amnz6y3n8c4' } }],
    async handle({ body, customer: { customer_id } }) {
      const { before, limit } = body
      const named = readNames(body.id, body.external_id)
      const place = readUsePlace(before)
      const { id } = await findSubscription(sql, { ...named, customer_id })
      const rows = await listUses(sql, { subscription_id: id, place, limit: rowsFor(limit) })
      const print = (use: UseRow) => ({
        tx_id: use.tx_id,
        at: wireTime(use.used_at),
        energy: Number(use.energy),
        transactions: use.transactions,
        charged: money(use.charged_sun),
      })
      return page(rows, limit, { print, placeOf: (use) => `${use.block_number}.${use.tx_id}` })
    },
  })

export const routes = (needs: Needs): Endpoint[] => [
  plans(needs),
  start(needs),
  check(needs),
  stop(needs),
  history(needs),
]

export const useRoutes = (needs: Pick<Needs, 'sql'>): Endpoint[] => [uses(needs)]
