// What was sold and how it is delivered: orders, delegations, subscriptions, the transactions
// behind them, and what the pool and the chain look like.

import { Type } from 'typebox'
import { ATTEMPT_STATES, listAttempts, showAttempt } from '../../chain/follow/attempt_lookup.ts'
import { showChain } from '../../chain/follow/progress.ts'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { refusal } from '../../lib/fault.ts'
import {
  DELEGATION_STATES,
  listDelegations,
  listOrders,
  ORDER_SERVICES,
  ORDER_STATES,
  showOrder,
} from '../../market/orders/order_lookup.ts'
import { poolRows, poolWallets } from '../../market/pool/figures.ts'
import { poolForecast } from '../../market/pool/forecast.ts'
import { demandAt, readDemand } from '../../market/quotes/demand.ts'
import { type EndedSubscription, endSubscription } from '../../market/subscriptions/ending.ts'
import {
  listAllSubscriptions,
  requireSubscription,
  showSubscription,
} from '../../market/subscriptions/subscription_lookup.ts'
import { STATES } from '../../market/subscriptions/subscriptions.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  Anything,
  address,
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { poolStakeOperations } from '../chain/stakes.ts'
import { change, LIMIT, look, momentOf, paging } from '../table/operation.ts'
import { costOperations } from './costs.ts'

/** A part of a list by time. */
export const period = {
  since: optional(moment('only from this moment on')),
  until: optional(moment('only before this moment')),
}
/** An entry of the ledger. */
export const Entries = ListOf({
  made_at: Moment,
  id: Text,
  kind: Text,
  debit: Text,
  credit: Text,
  amount_sun: Sun,
})

const OrderListed = {
  id: Text,
  created_at: Moment,
  customer_id: Text,
  external_id: OrNull(Text),
  service: Text,
  address: Text,
  energy: Whole,
  bandwidth: Whole,
  state: Text,
  amount_sun: Sun,
}
const DelegationListed = {
  id: Text,
  state: Text,
  resource: Text,
  amount: Whole,
  stake_sun: Sun,
  wallet: Text,
  delegated_at: OrNull(Moment),
  expires_at: OrNull(Moment),
  reclaimed_at: OrNull(Moment),
}

export const orderOperations = [
  look({
    path: '/operator/orders/list',
    summary: 'orders, newest first',
    body: Type.Object({
      customer: optional(text('CUSTOMER', 'only of this customer')),
      state: optional(oneOf(ORDER_STATES, 'only in this state')),
      service: optional(oneOf(ORDER_SERVICES, 'only of this service')),
      open: flag('only those that are neither a success nor failed'),
      address: optional(address('only for this receiver')),
      ...period,
      ...paging,
    }),
    reply: ListOf(OrderListed),
    async handle({ sql, body: { since, until, open = false, limit = LIMIT, ...wanted } }) {
      const within = { since: momentOf(since), until: momentOf(until) }
      return { value: await listOrders(sql, { ...wanted, ...within, open, limit }) }
    },
  }),
  look({
    path: '/operator/orders/show',
    summary: 'one order: its delegations, their transactions, its entries in the ledger',
    body: Type.Object({ order: text('ORDER', "its id, or the customer's own id for it") }),
    reply: Type.Object({
      ...OrderListed,
      key_id: OrNull(Text),
      quote_id: OrNull(Text),
      activate: Flag,
      activation_id: OrNull(Text),
      to_delegate: Flag,
      fee_sun: Sun,
      tx_id: OrNull(Text),
      tries: Count,
      due_at: Moment,
      ended_at: OrNull(Moment),
      delayed_at: OrNull(Moment),
      ending_at: OrNull(Moment),
      solid_at: OrNull(Moment),
      activation: OrNull(
        Type.Object({
          id: Text,
          state: Text,
          tries: Count,
          attempt_id: OrNull(Text),
          attempt: OrNull(Text),
          tx_id: OrNull(Text),
        }),
      ),
      delegations: ListOf({
        ...DelegationListed,
        attempt_id: Text,
        attempt: OrNull(Text),
        tx_id: OrNull(Text),
        reclaim_id: OrNull(Text),
        reclaim: OrNull(Text),
        reclaim_tx_id: OrNull(Text),
      }),
      entries: Entries,
    }),
    cli: { operands: ['order'] },
    handle: async ({ sql, body }) => ({ value: await showOrder(sql, body.order) }),
  }),
]

export const delegationOperations = [
  look({
    path: '/operator/delegations/list',
    summary: 'what was delegated for orders, newest first',
    body: Type.Object({
      order: optional(text('ORDER', 'only of this order')),
      state: optional(oneOf(DELEGATION_STATES, 'only in this state')),
      wallet: optional(address('only from this pool wallet')),
      receiver: optional(address('only to this receiver')),
      overdue: flag('only what should have been taken back by now'),
      ...paging,
    }),
    reply: ListOf({ ...DelegationListed, receiver: Text, order_id: Text }),
    handle: async ({ sql, body: { overdue = false, limit = LIMIT, ...wanted } }) => ({
      value: await listDelegations(sql, { ...wanted, overdue, limit }),
    }),
  }),
]

const SubscriptionListed = {
  id: Text,
  created_at: Moment,
  state: Text,
  resting: OrNull(Text),
  plan_key: Text,
  address: Text,
  transactions_used: Count,
  total_sun: Sun,
  customer_id: Text,
  key_id: OrNull(Text),
  external_id: OrNull(Text),
}
const subscription = text('SUBSCRIPTION', "its id, or the customer's own id for it")

/** What is recorded about subscriptions that were ended. */
export const endings = (ended: readonly EndedSubscription[], reason: string): Action[] =>
  ended.map(({ id, before, state }) => ({
    subject: `subscription:${id}`,
    before: { state: before },
    after: { state, reason },
  }))

const STOPPED = 'stopped by the operator'

async function stopByOperator(
  tx: Tx,
  { wanted, at }: { wanted: string; at: Date },
): Promise<Change<{ id: string; state: string }>> {
  const { id, customer_id, state: before } = await requireSubscription(tx, wanted)
  const state = await endSubscription(tx, { id, customer_id }, { reason: STOPPED, now: at })
  if (state === undefined) throw refusal(`The subscription ${id} does not run: it is ${before}.`)
  return { result: { id, state }, actions: endings([{ id, before, state }], STOPPED) }
}

export const subscriptionOperations = [
  look({
    path: '/operator/subscriptions/list',
    summary: 'subscriptions, newest first',
    body: Type.Object({
      customer: optional(text('CUSTOMER', 'only of this customer')),
      state: optional(oneOf(STATES, 'only in this state')),
      address: optional(address('only of this address')),
      key: optional(text('KEY', 'only those that this API key has started')),
      ...paging,
    }),
    reply: ListOf(SubscriptionListed),
    handle: async ({ sql, body: { limit = LIMIT, ...wanted } }) => ({
      value: await listAllSubscriptions(sql, { ...wanted, limit }),
    }),
  }),
  look({
    path: '/operator/subscriptions/show',
    summary: 'one subscription with its newest uses, supplies and entries',
    body: Type.Object({ subscription }),
    reply: Type.Object({
      ...SubscriptionListed,
      plan_id: Count,
      reason: OrNull(Text),
      rested_at: OrNull(Moment),
      idle_since: Moment,
      duration_days: Count,
      transactions_limit: Count,
      activate_address: Flag,
      energy_used: Whole,
      supplies: Count,
      order_id: OrNull(Text),
      holds_made: Count,
      holds_ended: Count,
      held_sun: Sun,
      look_at: Moment,
      started_at: OrNull(Moment),
      renewed_at: OrNull(Moment),
      stopped_at: OrNull(Moment),
      expire_at: OrNull(Moment),
      uses: ListOf({
        used_at: Moment,
        tx_id: Text,
        block_number: Whole,
        energy: Whole,
        transactions: Count,
        charged_sun: Sun,
        solid: Flag,
      }),
      supply_orders: ListOf({
        created_at: Moment,
        order_id: Text,
        energy: Whole,
        state: Text,
        delegation: OrNull(Text),
        delegated_at: OrNull(Moment),
        expires_at: OrNull(Moment),
        reclaimed_at: OrNull(Moment),
      }),
      entries: Entries,
    }),
    cli: { operands: ['subscription'] },
    handle: async ({ sql, body }) => ({ value: await showSubscription(sql, body.subscription) }),
  }),
  change({
    path: '/operator/subscriptions/stop',
    summary: 'end a subscription that runs, also one with a limit; its energy is taken back',
    description:
      'One that has its first energy still to come is an error, and paid back. Why you do it ' +
      '(--reason) is recorded, and not told to the customer.',
    body: Type.Object({ subscription }),
    reply: Type.Object({ id: Text, state: Text }),
    cli: { operands: ['subscription'] },
    async handle({ tx, at, body }) {
      const { result, actions } = await stopByOperator(tx, { wanted: body.subscription, at })
      return { result: { value: result }, actions }
    },
  }),
]

const AttemptListed = {
  id: Text,
  made_at: Moment,
  state: Text,
  subject: Text,
  sends: Count,
  answer: OrNull(Text),
  expires_at: OrNull(Moment),
  block_number: OrNull(Whole),
  tx_id: OrNull(Text),
}
export const PoolRows = ListOf({
  resource: Text,
  room: Whole,
  reserved: Whole,
  free: Whole,
  out: Whole,
  out_sun: Sun,
  units_per_1000_trx: OrNull(Whole),
})

export const chainOperations = [
  look({
    path: '/operator/attempts/list',
    summary: 'transactions of ours on the chain, newest first',
    body: Type.Object({
      state: optional(oneOf(ATTEMPT_STATES, 'only in this state')),
      open: flag('only those that are neither in a block nor dead'),
      subject: optional(
        text(
          'SUBJECT',
          'only for this: delegate, reclaim, activate, or one of them with a colon and an id',
        ),
      ),
      ...paging,
    }),
    reply: ListOf(AttemptListed),
    handle: async ({ sql, body: { open = false, limit = LIMIT, ...wanted } }) => ({
      value: await listAttempts(sql, { ...wanted, open, limit }),
    }),
  }),
  look({
    path: '/operator/attempts/show',
    summary: 'one transaction: what it does, what nodes said, its signed bytes',
    body: Type.Object({ attempt: text('ATTEMPT', "its id, or the transaction's") }),
    reply: Type.Object({
      ...AttemptListed,
      send_at: Moment,
      sent_at: OrNull(Moment),
      block_time: OrNull(Moment),
      contract: Type.Record(Text, Anything),
      signed: OrNull(Text),
    }),
    cli: { operands: ['attempt'] },
    handle: async ({ sql, body }) => ({ value: await showAttempt(sql, body.attempt) }),
  }),
  look({
    path: '/operator/pool/show',
    summary: 'what can be delivered, and what each wallet has out',
    body: NOTHING,
    reply: Type.Object({
      resources: PoolRows,
      wallets: ListOf({
        address: Text,
        resource: Text,
        room_sun: Sun,
        carries: Whole,
        out_sun: Sun,
        delegations: Whole,
        surveyed_at_block: Whole,
      }),
    }),
    handle: async ({ sql }) => ({
      value: { resources: await poolRows(sql), wallets: await poolWallets(sql) },
    }),
  }),
  look({
    path: '/operator/pool/forecast',
    summary: 'what will be free in the coming hours, as what is delegated comes back',
    description:
      'If nothing more is sold, what is free lies between `free_if_used` and `free`. `free` is ' +
      'the most: nothing of what is out is used, and open orders fail. `free_if_used` is the ' +
      'least: all of it is used, which recovers over a day after it has come back, and open ' +
      'orders are delivered. There is a point each 5 minutes of the first hour, then each 15. ' +
      'What no forecast knows: a service that stands still, stakes of the wallets that change, ' +
      'subscriptions that end early. `least_order` is the smallest order that is on sale: from ' +
      'where `free_if_used` is below it, the pool could run short. `most_sold` is the most that ' +
      'was sold in that hour of one of the last seven days.',
    body: Type.Object({
      hours: optional(whole('N', 'for so many hours (1)', { max: 24 })),
      every: optional(whole('MINUTES', 'only the points at multiples of it', { max: 1_440 })),
    }),
    reply: ListOf({
      resource: Text,
      minutes: Count,
      free: Whole,
      free_if_used: Whole,
      least_order: OrNull(Whole),
      most_sold: Whole,
    }),
    async handle({ sql, body: { hours, every = 1 } }) {
      const points = await poolForecast(sql, { hours })
      const demand = await readDemand(sql)
      return {
        value: points
          .filter(({ minutes }) => minutes % every === 0)
          .map(({ at, ...point }) => ({ ...point, ...demandAt(demand, point.resource, at) })),
      }
    },
  }),
  ...poolStakeOperations,
  ...costOperations,
  look({
    path: '/operator/chain/show',
    summary: 'how far the chain has been followed, and how far each reader of blocks is',
    body: NOTHING,
    reply: Type.Object({
      head_number: Count,
      head_id: Text,
      head_time: Moment,
      solid_number: Count,
      confirmed_number: Count,
      unconfirmed_since: OrNull(Moment),
      disputed_number: OrNull(Count),
      behind: Count,
      seen_at: Moment,
      head_seen_at: Moment,
      silent_seconds: Count,
      behind_seconds: Count,
      blocks_to_solid: Count,
      readers: ListOf({ name: Text, number: Whole, behind_blocks: Whole }),
    }),
    async handle({ sql, clock }) {
      const chain = await showChain(sql, clock.now())
      if (!chain) throw refusal('No block has been followed yet: is a worker running?')
      return { value: chain }
    },
  }),
]
