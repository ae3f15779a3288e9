// A customer's purchases, for its lists: newest first, with when each was delivered and when it was
// over.

import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { ORDER_COLUMNS } from '../orders/forms.ts'
import type { Order } from '../orders/orders.ts'

export type TransactionFilter = {
  customer_id: string
  status?: string | undefined
  service?: string | undefined
  address?: string | undefined
  external_id_prefix?: string | undefined
  key_id?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
  before?: string | undefined
  limit: number
}

/** `delivered_at`: when the last part of it was in a block; `ended_at`: when the last was taken
 *  back, both by the chain's clock; `delivered_ms`: from its acceptance to its charge, by ours. */
export type ListedOrder = Order & {
  delivered_at: Date | null
  ended_at: Date | null
  delivered_ms: number | null
}

/** Orders that a page looks at: with a filter that few of very many pass, a page may show fewer
 *  than it could, even none, and the next one goes on. */
const LOOKED_AT = 5_000

type Bounds = TransactionFilter & { from: string; to: string }

/** The orders of a page, and the id that the next page begins before, null at the end. */
export async function listTransactions(
  sql: Sql,
  wanted: TransactionFilter,
): Promise<{ orders: ListedOrder[]; next: string | null }> {
  const { since, until, before, address, limit } = wanted
  const ends = [...(until ? [firstIdAt(until)] : []), ...(before ? [before] : [])].sort()
  const bounds = { ...wanted, from: since ? firstIdAt(since) : '', to: ends[0] ?? AFTER_ALL }
  const found =
    address === undefined
      ? await idsLookedAt(sql, bounds)
      : await idsOfAddress(sql, { ...bounds, address })
  const shown = found.slice(0, limit)
  const orders = await readOrders(sql, shown)
  if (found.length > limit) return { orders, next: shown.at(-1)! }
  return { orders, next: address === undefined ? await lastLookedAt(sql, bounds) : null }
}

/** Every id is below this. */
const AFTER_ALL = '~'

const filters = ({ status, service, external_id_prefix, key_id }: TransactionFilter) => ({
  status: status ?? null,
  service: service ?? null,
  prefix: external_id_prefix ?? null,
  key_id: key_id ?? null,
})

/** Of the newest LOOKED_AT those that pass the filters, one more than the page shows. */
async function idsLookedAt(sql: Sql, bounds: Bounds): Promise<string[]> {
  const { status, service, prefix, key_id } = filters(bounds)
  const rows = await sql<{ id: string }>`
    select id from (
      select * from orders
      where customer_id = ${bounds.customer_id} and id >= ${bounds.from} and id < ${bounds.to}
      order by id desc limit ${LOOKED_AT}) as looked_at
    where (${status}::text is null or state = ${status})
      and (${service}::text is null or service = ${service})
      and (${prefix}::text is null or starts_with(external_id, ${prefix}))
      and (${key_id}::text is null or key_id = ${key_id})
    order by id desc limit ${bounds.limit + 1}`
  return rows.map(({ id }) => id)
}

/** The last id that such a page has looked at, if there are more. */
async function lastLookedAt(sql: Sql, { customer_id, from, to }: Bounds): Promise<string | null> {
  const [last] = await sql<{ id: string }>`
    select id from orders where customer_id = ${customer_id} and id >= ${from} and id < ${to}
    order by id desc offset ${LOOKED_AT - 1} limit 1`
  return last?.id ?? null
}

/** The same for one address, whose orders have an index of their own. */
async function idsOfAddress(sql: Sql, bounds: Bounds & { address: string }): Promise<string[]> {
  const { status, service, prefix, key_id } = filters(bounds)
  const rows = await sql<{ id: string }>`
    select id from orders
    where customer_id = ${bounds.customer_id} and address = ${bounds.address}
      and id >= ${bounds.from} and id < ${bounds.to}
      and (${status}::text is null or state = ${status})
      and (${service}::text is null or service = ${service})
      and (${prefix}::text is null or starts_with(external_id, ${prefix}))
      and (${key_id}::text is null or key_id = ${key_id})
    order by id desc limit ${bounds.limit + 1}`
  return rows.map(({ id }) => id)
}

async function readOrders(sql: Sql, ids: readonly string[]): Promise<ListedOrder[]> {
  return sql<ListedOrder>`
    select o.${ORDER_COLUMNS}, coalesce(part.delivered_at, created.block_time) as delivered_at,
      part.ended_at,
      case when o.state = 'success' and charged.made_at >= o.created_at
        then round(extract(epoch from charged.made_at - o.created_at) * 1000)::float8
        end as delivered_ms
    from orders as o left join activation as a on a.id = o.activation_id
      left join attempt as created on created.id = a.attempt_id and o.state = 'success'
      left join transfer as charged on charged.hold_id = 'order:' || o.id
      left join lateral (
        select max(delegated_at) filter (where o.state = 'success') as delivered_at,
          case when bool_and(state = 'ended') then max(reclaimed_at) end as ended_at
        from delegation where order_id = o.id and state in ('active', 'reclaiming', 'ended')
      ) as part on true
    where o.id = any(${ids}) order by o.id desc`
}
