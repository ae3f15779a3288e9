// Subscriptions, for looking them up: lists, newest first, and one with what it has used.

import type { EntryRow } from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Subscription } from './subscriptions.ts'

type SubscriptionFilter = {
  customer?: string | undefined
  state?: string | undefined
  address?: string | undefined
  key?: string | undefined
  before?: string | undefined
  limit: number
}

type SubscriptionRow = Pick<
  Subscription,
  'id' | 'created_at' | 'state' | 'resting' | 'plan_key' | 'address'
> &
  Pick<Subscription, 'transactions_used' | 'total_sun' | 'customer_id' | 'key_id' | 'external_id'>

/** Newest first. */
export async function listAllSubscriptions(
  sql: Sql,
  wanted: SubscriptionFilter,
): Promise<SubscriptionRow[]> {
  const { customer = null, state = null, address = null, key = null, before = null, limit } = wanted
  return sql<SubscriptionRow>`
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

type SubscriptionDetails = Omit<Subscription, 'duration'> & {
  duration_days: number
  held_sun: bigint
  rested_at: Date | null
  look_at: Date
}

export type UseRow = {
  used_at: Date
  tx_id: string
  block_number: bigint
  energy: bigint
  transactions: number
  charged_sun: bigint
  solid: boolean
}

/** What a page of uses ended with: newer blocks come first. */
export type UsePlace = { block_number: bigint; tx_id: string }

/** The transactions that a subscription has served, newest first. */
export async function listUses(
  sql: Sql,
  wanted: { subscription_id: string; place: UsePlace | undefined; limit: number },
): Promise<UseRow[]> {
  const { block_number, tx_id } = wanted.place ?? { block_number: 2n ** 62n, tx_id: '' }
  return sql<UseRow>`
    select used_at, tx_id, block_number, energy, transactions, charged_sun, solid
    from subscription_use
    where subscription_id = ${wanted.subscription_id}
      and block_number <= ${block_number}
      and (block_number, tx_id) < (${block_number}, ${tx_id}::text)
    order by block_number desc, tx_id desc limit ${wanted.limit}`
}

type SupplyRow = {
  created_at: Date
  order_id: string
  energy: bigint
  state: string
  delegation: string | null
  delegated_at: Date | null
  expires_at: Date | null
  reclaimed_at: Date | null
}

/** A subscription by its id, or by its customer's own id for it when only one customer has used
 *  that. Throws Refused when there is none. */
export async function requireSubscription(
  sql: Sql | Tx,
  wanted: string,
): Promise<SubscriptionDetails> {
  const found = await sql<SubscriptionDetails>`
    select s.id, s.customer_id, s.external_id, s.key_id, plan.key as plan_key, s.plan_id,
      s.address, s.state,
           s.reason, s.resting, s.rested_at, s.idle_since, s.duration as duration_days,
             s.transactions_limit,
           s.activate_address, s.transactions_used, s.energy_used, s.total_sun, s.supplies,
             s.order_id,
           s.holds_made, s.holds_ended, (s.holds_made - s.holds_ended) * plan.price_sun as held_sun,
           s.look_at, s.created_at, s.started_at, s.renewed_at, s.stopped_at, s.expire_at
    from subscription as s join plan on plan.id = plan_id
    where s.id = ${wanted} or s.external_id = ${wanted} order by s.id = ${wanted} desc, s.id
      limit 2`
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
  const uses = await sql<UseRow>`
    select used_at, tx_id, block_number, energy, transactions, charged_sun, solid
      from subscription_use
    where subscription_id = ${id} order by block_number desc, tx_id limit ${SHOWN_MAX}`
  const supply_orders = await sql<SupplyRow>`
    select o.created_at, o.id as order_id, o.energy, o.state, d.state as delegation,
      d.delegated_at, d.expires_at,
           d.reclaimed_at
    from subscription_supply as supply join orders as o on o.id = supply.order_id
      left join delegation as d on d.order_id = o.id
    where supply.subscription_id = ${id} order by o.id desc, d.id limit ${SHOWN_MAX}`
  const entries = await sql<EntryRow>`
    select made_at, id, kind, debit, credit, amount_sun from transfer
    where id = 'subscription:' || ${id}::text
      or starts_with(id, 'subscription:' || ${id}::text || '/')
    order by number desc limit ${SHOWN_MAX}`
  return { ...subscription, uses, supply_orders, entries }
}
