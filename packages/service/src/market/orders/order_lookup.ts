// What was sold: orders and what they were delivered with, for looking them up. Lists are newest
// first; one order comes with everything about it, down to the entries of the ledger.

import type { EntryRow } from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Delegation } from '../pool/delegations.ts'
import { ORDER_COLUMNS } from './forms.ts'
import type { Order } from './orders.ts'

export const ORDER_SERVICES = [
  'energy',
  'bandwidth',
  'resource_bundle',
  'activate_address',
] as const
export const ORDER_STATES = ['new', 'pending', 'success', 'failed'] as const

type OrderFilter = {
  customer?: string | undefined
  state?: string | undefined
  service?: string | undefined
  open: boolean
  address?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
  before?: string | undefined
  limit: number
}

type OrderRow = Pick<
  Order,
  | 'id'
  | 'created_at'
  | 'customer_id'
  | 'external_id'
  | 'service'
  | 'address'
  | 'energy'
  | 'bandwidth'
  | 'state'
  | 'amount_sun'
>

export async function listOrders(sql: Sql, wanted: OrderFilter): Promise<OrderRow[]> {
  const { customer = null, state = null, open, address = null, since = null, until = null } = wanted
  const { service = null, before = null, limit } = wanted
  return sql<OrderRow>`
    select id, created_at, state, service, address, energy, bandwidth, amount_sun, customer_id,
      external_id from orders
    where (${customer}::text is null or customer_id = ${customer}) and (${state}::text is null
      or state = ${state})
      and (${service}::text is null or service = ${service})
      and (not ${open}::boolean or state in ('new', 'pending')) and (${address}::text is null
        or address = ${address})
      and (${since}::timestamptz is null or created_at >= ${since})
      and (${until}::timestamptz is null or created_at < ${until}) and (${before}::text is null
        or id < ${before})
    order by id desc limit ${limit}`
}

type ActivationRow = {
  id: string
  state: string
  tries: number
  attempt_id: string | null
  attempt: string | null
  tx_id: string | null
}

/** An order by its id, or by its customer's own id for it. Throws Refused when there is none, or
 *  several have that id. */
export async function requireOrder(sql: Sql, wanted: string): Promise<Order & { due_at: Date }> {
  const found = await sql<Order & { due_at: Date }>`
    select ${ORDER_COLUMNS}, due_at from orders where id = ${wanted} or external_id = ${wanted}
      order by id = ${wanted} desc, id limit 2`
  const [order, other] = found
  if (!order) throw refusal(`There is no order ${wanted}.`)
  if (other && order.id !== wanted)
    throw refusal(
      `Several orders have the external id ${wanted}: orders list --customer finds them.`,
    )
  return order
}

/** An order with its delegations, their transactions and its entries. Throws Refused as
 *  requireOrder does. */
export async function showOrder(sql: Sql, wanted: string) {
  const order = await requireOrder(sql, wanted)
  const { id, activation_id } = order
  const delegations = await sql<
    Delegation & Record<'tx_id' | 'attempt' | 'reclaim_tx_id' | 'reclaim', string | null>
  >`
    select d.id, d.resource, d.amount, d.stake_sun, d.wallet, d.state, d.delegated_at,
      d.expires_at, d.reclaimed_at,
           d.attempt_id, a.state as attempt, a.tx_id, d.reclaim_id, r.state as reclaim,
             r.tx_id as reclaim_tx_id
    from delegation as d join attempt as a on a.id = d.attempt_id left join attempt as r
      on r.id = d.reclaim_id
    where d.order_id = ${id} order by d.id`
  const [activation] = await sql<ActivationRow>`
    select activation.id, activation.state, tries, attempt_id, attempt.state as attempt, tx_id
    from activation left join attempt on attempt.id = attempt_id
      where activation.id = ${activation_id}`
  const entries = await sql<EntryRow>`
    select made_at, id, kind, debit, credit, amount_sun from transfer
    where id = 'order:' || ${id}::text or hold_id = 'order:' || ${id}::text order by made_at, id`
  return { ...order, activation: activation ?? null, delegations, entries }
}

export const DELEGATION_STATES = ['delegating', 'active', 'reclaiming', 'ended', 'failed'] as const

type DelegationFilter = {
  order?: string | undefined
  state?: string | undefined
  wallet?: string | undefined
  receiver?: string | undefined
  overdue: boolean
  before?: string | undefined
  limit: number
}

export async function listDelegations(sql: Sql, wanted: DelegationFilter): Promise<Delegation[]> {
  const {
    order = null,
    state = null,
    wallet = null,
    receiver = null,
    overdue,
    before = null,
    limit,
  } = wanted
  return sql<Delegation>`
    select id, state, resource, amount, stake_sun, wallet, receiver, delegated_at, expires_at,
      reclaimed_at, order_id
    from delegation
    where (${order}::text is null or order_id = ${order}) and (${state}::text is null
      or state = ${state})
      and (${wallet}::text is null or wallet = ${wallet}) and (${receiver}::text is null
        or receiver = ${receiver})
      and (not ${overdue}::boolean or
           (state in ('active', 'reclaiming') and expires_at <= (select head_time from chain)))
      and (${before}::text is null or id < ${before})
    order by id desc limit ${limit}`
}
