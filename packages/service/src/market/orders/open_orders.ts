// How many orders of a customer are open, well enough for a limit. Counting at every purchase would
// be dear for anyone who has very many, so a count is remembered, and what this process places is
// added to it. What was delivered since is not taken off, so the sum is never too low but for what
// other processes place: it is counted anew when it reaches the limit, and every few seconds.

import type { Clock } from '../../lib/clock.ts'
import { Recent } from '../../lib/recent.ts'
import { batched } from '../../platform/database/batch.ts'
import type { Sql } from '../../platform/database/sql.ts'

/** How many orders of a customer may be open, where nothing else is set for it. */
export const OPEN_ORDERS_MAX = 100_000

/** A count is as old as this at most; */
const COUNT_MS_MAX = 10_000
/** and at the limit, it is not made more often than this. */
const RECOUNT_MS = 250
const BATCH_MAX = 256

type Count = OpenCount & { counted_at_ms: number }

export type OpenOrders = {
  /** Counts one more order of the customer. False, and nothing is counted, when that is more than
   *  it may have. */
  add(customer_id: string): Promise<boolean>
  /** One that was added was not placed after all. */
  remove(customer_id: string): void
}

export function openOrderCounter({ sql, clock }: { sql: Sql; clock: Clock }): OpenOrders {
  const counts = new Recent<Count>(COUNT_MS_MAX)
  const count = batched(BATCH_MAX, (customer_ids: string[]) => countAll(sql, customer_ids))

  const isDue = (known: Count | undefined, now_ms: number) =>
    !known || (known.open >= known.limit && Math.abs(now_ms - known.counted_at_ms) >= RECOUNT_MS)

  return {
    async add(customer_id) {
      const now_ms = clock.now().getTime()
      if (isDue(counts.get(customer_id, now_ms), now_ms)) {
        const found = await count(customer_id)
        // Of several who count at once the first is believed: the others would forget what it has
        // let in.
        if (isDue(counts.get(customer_id, now_ms), now_ms)) {
          counts.set(customer_id, { ...found, counted_at_ms: now_ms }, now_ms)
        }
      }
      const known = counts.get(customer_id, now_ms)
      if (!known) return true
      if (known.open >= known.limit) return false
      known.open += 1
      return true
    },
    remove(customer_id) {
      const known = counts.get(customer_id, clock.now().getTime())
      if (known) known.open -= 1
    },
  }
}

type OpenCount = { open: number; limit: number }

/** No more are counted than decide. */
async function countAll(sql: Sql, customer_ids: readonly string[]): Promise<OpenCount[]> {
  const rows = await sql<{ id: string; limit: number; open: bigint }>`
    select c.id, c.limit, (
      select count(*) from (
        select 1 from orders where customer_id = c.id and state in ('new', 'pending')
          limit c.limit) as one) as open
    from (select id, coalesce(open_orders_limit, ${OPEN_ORDERS_MAX})::integer as limit
          from customer where id = any(${customer_ids})) as c`
  const found = new Map(rows.map(({ id, limit, open }) => [id, { limit, open: Number(open) }]))
  return customer_ids.map((id) => found.get(id) ?? { limit: OPEN_ORDERS_MAX, open: 0 })
}
