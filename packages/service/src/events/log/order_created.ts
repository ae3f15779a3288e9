// Whether customers are told that an order was placed. They know, since they placed it; who sells
// much may save the row. Whether one is told depends on its own time alone, so that the books can
// say for each order what should have been told.

import type { Change } from '../../ledger/accounts/actions.ts'
import type { Query, Tx } from '../../platform/database/sql.ts'

/** From the next moment that no order under way can be from. */
const FROM_NOW_ON_MS = 10_000

export type OrderCreatedSwitch = {
  /** Whether orders that are placed from `from` on are told of. */
  order_created: boolean
  /** Null: all of them, or none. */
  from: Date | null
}

export async function readOrderCreated(sql: Query): Promise<OrderCreatedSwitch> {
  const [row] = await sql<OrderCreatedSwitch>`
    select order_created_from < 'infinity' as order_created,
      case when isfinite(order_created_from) then order_created_from end as "from"
    from event_publisher`
  return row!
}

export async function changeOrderCreated(
  tx: Tx,
  order_created: boolean,
  now: Date,
): Promise<Change<OrderCreatedSwitch>> {
  await tx`select 1 from event_publisher for update`
  const before = await readOrderCreated(tx)
  if (before.order_created === order_created) return { result: before, actions: [] }
  const from = order_created ? new Date(now.getTime() + FROM_NOW_ON_MS) : null
  await tx`
    update event_publisher set order_created_from = coalesce(${from}::timestamptz, 'infinity')`
  const after = { order_created, from }
  return { result: after, actions: [{ subject: 'event:order.created', before, after }] }
}
