// Subscriptions by the operator's hand: looking them up, stopping one, and what a customer may have
// at once.

import type { Sql, Tx } from '../database/sql.ts'
import type { Action, Change } from '../ledger/actions.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { OPEN_ORDERS_MAX } from '../market/open_orders.ts'
import { type Ended, endSubscription } from '../subscriptions/ending.ts'
import { STATES, SUBSCRIPTIONS_MAX, type Subscription } from '../subscriptions/subscriptions.ts'
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

type Wanted = {
  customer?: string | undefined
  state?: string | undefined
  address?: string | undefined
  key?: string | undefined
  before?: string | undefined
  limit?: number | undefined
}

type Listed = Pick<
  Subscription,
  'id' | 'created_at' | 'state' | 'resting' | 'plan_key' | 'address'
> &
  Pick<Subscription, 'transactions_used' | 'total_sun' | 'customer_id' | 'key_id' | 'external_id'>

/** Newest first. */
export async function listAllSubscriptions(sql: Sql, wanted: Wanted): Promise<Listed[]> {
  const {
    customer = null,
    state = null,
    address = null,
    key = null,
    before = null,
    limit = LIMIT,
  } = wanted
  return sql<Listed>`
    select s.id, created_at, state, resting, plan.key as plan_key, address, transactions_used,
           total_sun, customer_id, key_id, external_id
    from subscription as s join plan on plan.id = plan_id
    where (${customer}::text is null or customer_id = ${customer})
      and (${state}::text is null or state = ${state})
      and (${address}::text is null or address = ${address})
      and (${key}::text is null or key_id = ${key})
      and (${before}::text is null or s.id < ${before})
    order by s.id desc limit ${limit}`
}

type Found = Omit<Subscription, 'duration'> & { duration_days: number; held_sun: bigint }

/** A subscription by its id, or by its customer's own id for it when only one customer has used
 *  that. Throws Refused when there is none. */
async function requireSubscription(sql: Sql | Tx, wanted: string): Promise<Found> {
  const found = await sql<Found>`
    select s.id, s.customer_id, s.external_id, s.key_id, plan.key as plan_key, s.plan_id,
      s.address, s.state,
           s.reason, s.resting, s.rested_at, s.idle_since, s.duration as duration_days,
             s.transactions_limit,
           s.activate_address, s.transactions_used, s.energy_used, s.total_sun, s.supplies,
             s.order_id,
           s.holds_made, s.holds_ended, (s.holds_made - s.holds_ended) * plan.price_sun as held_sun,
           s.look_at, s.created_at, s.started_at, s.renewed_at, s.stopped_at, s.expire_at
    from subscription as s join plan on plan.id = plan_id
    where s.id = ${wanted} or s.external_id = ${wanted} order by s.id = ${wanted} desc, s.id limit 2`
  const [subscription, other] = found
  if (!subscription) throw refusal(`There is no subscription ${wanted}.`)
  if (other && subscription.id !== wanted)
    throw refusal(
      `Several have the external id ${wanted}: subscriptions list --customer finds them.`,
    )
  return subscription
}

/** How many uses, supplies and entries are shown: the newest. */
const SHOWN_MAX = 50

/** With its newest uses, supplies and entries of the ledger. */
export async function showSubscription(sql: Sql, wanted: string) {
  const subscription = await requireSubscription(sql, wanted)
  const { id } = subscription
  const uses = await sql`
    select used_at, tx_id, block_number, energy, transactions, charged_sun, solid
      from subscription_use
    where subscription_id = ${id} order by block_number desc, tx_id limit ${SHOWN_MAX}`
  const supply_orders = await sql`
    select o.created_at, o.id as order_id, o.energy, o.state, d.state as delegation,
      d.delegated_at, d.expires_at,
           d.reclaimed_at
    from subscription_supply as supply join orders as o on o.id = supply.order_id
      left join delegation as d on d.order_id = o.id
    where supply.subscription_id = ${id} order by o.id desc, d.id limit ${SHOWN_MAX}`
  const entries = await sql`
    select made_at, id, kind, debit, credit, amount_sun from transfer
    where id = 'subscription:' || ${id}::text
      or starts_with(id, 'subscription:' || ${id}::text || '/')
    order by number desc limit ${SHOWN_MAX}`
  return { ...subscription, uses, supply_orders, entries }
}

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

/** `undefined`: as it is; null: what everybody may have. */
type Limits = { subscriptions_limit?: number | null; open_orders_limit?: number | null }

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

/** Sets what a customer may have at once. */
async function setLimits(
  tx: Tx,
  { customer_id, ...wanted }: Limits & { customer_id: string },
): Promise<Change<Required<Limits>>> {
  const [before] = await tx<Required<Limits>>`
    select subscriptions_limit, open_orders_limit from customer where id = ${customer_id} for no key update`
  if (!before) throw refusal(`There is no customer ${customer_id}.`)
  const given = Object.fromEntries(
    Object.entries(wanted).filter(([, value]) => value !== undefined),
  )
  const after = { ...before, ...given }
  const { subscriptions_limit, open_orders_limit } = after
  const same = Object.entries(before).every(
    ([name, value]) => after[name as keyof Limits] === value,
  )
  if (same) return { result: after, actions: [] }
  await tx`
    update customer set subscriptions_limit = ${subscriptions_limit},
      open_orders_limit = ${open_orders_limit}
    where id = ${customer_id}`
  return { result: after, actions: [{ subject: `customer:${customer_id}`, before, after }] }
}

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
    run: async ({ sql }, wanted) => ({ value: await listAllSubscriptions(sql, wanted) }),
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
