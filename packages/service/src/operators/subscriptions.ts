// Subscriptions by the operator's hand: looking them up, stopping one, and what a customer may have
// at once.

import { setLimits } from '../customers/customers.ts'
import type { Tx } from '../database/sql.ts'
import type { Action, Change } from '../ledger/actions.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { OPEN_ORDERS_MAX } from '../market/open_orders.ts'
import { type Ended, endSubscription } from '../subscriptions/ending.ts'
import {
  listAllSubscriptions,
  requireSubscription,
  showSubscription,
} from '../subscriptions/subscription_lookup.ts'
import { STATES, SUBSCRIPTIONS_MAX } from '../subscriptions/subscriptions.ts'
import {
  address,
  change,
  command,
  LIMIT,
  needed,
  type Option,
  oneOf,
  paging,
  text,
} from './command.ts'

/** What is recorded about subscriptions that were ended. */
export const endings = (ended: readonly Ended[], reason: string): Action[] =>
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

const limit = (help: string): Option<number | null | undefined> => ({
  ...text('N|default', help),
  read(given, name) {
    const [one, ...more] = given
    if (more.length > 0) throw misuse(`${name} is given more than once.`)
    if (one === undefined || one === 'default') return one === undefined ? undefined : null
    const number = /^\d{1,9}$/.test(one) ? Number(one) : Number.NaN
    if (Number.isNaN(number)) throw misuse(`${name} ${one}: it is a whole number, or default.`)
    return number
  },
})

const subscription = needed(text('SUBSCRIPTION', "its id, or the customer's own id for it"))

export const subscriptionCommands = [
  command({
    words: 'subscriptions list',
    summary: 'subscriptions, newest first',
    options: {
      customer: text('CUSTOMER', 'only of this customer'),
      state: oneOf(STATES, 'only in this state'),
      address: address('only of this address'),
      key: text('KEY', 'only those that this API key has started'),
      ...paging,
    },
    run: async ({ sql }, wanted) => ({
      value: await listAllSubscriptions(sql, { ...wanted, limit: wanted.limit ?? LIMIT }),
    }),
  }),
  command({
    words: 'subscriptions show',
    summary: 'one subscription with its newest uses, supplies and entries',
    operands: { subscription },
    run: async ({ sql }, { subscription }) => ({
      value: await showSubscription(sql, subscription),
    }),
  }),
  change({
    words: 'subscriptions stop',
    summary: 'end a subscription that runs, also one with a limit; its energy is taken back',
    details:
      'One that has its first energy still to come is an error, and paid back. Why you do it (--reason) is recorded, and not told to the customer.',
    operands: { subscription },
    async run(tx, _needs, { subscription, at }) {
      const { result, actions } = await stopByOperator(tx, { wanted: subscription, at })
      return { result: { value: result }, actions }
    },
  }),
  change({
    words: 'customers limits',
    summary: 'what a customer may have at once',
    details: `What is not given stays. Where nothing is set: ${SUBSCRIPTIONS_MAX} subscriptions that run, and ${OPEN_ORDERS_MAX} open orders. What runs already goes on.`,
    operands: { customer: needed(text('CUSTOMER', 'the id of the customer')) },
    options: {
      subscriptions: limit('subscriptions that run'),
      open_orders: limit('orders that are not delivered yet'),
    },
    async run(tx, _needs, { customer, subscriptions, open_orders }) {
      const nothing = subscriptions === undefined && open_orders === undefined
      if (nothing) throw misuse('Which limit: --subscriptions or --open-orders?')
      const wanted = {
        ...(subscriptions !== undefined && { subscriptions_limit: subscriptions }),
        ...(open_orders !== undefined && { open_orders_limit: open_orders }),
      }
      const { result, actions } = await setLimits(tx, { ...wanted, customer_id: customer })
      return { result: { value: result }, actions }
    },
  }),
]
