// Events are kept for a while: anyone who reads the log is told where it begins (code 76).

import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

/** For how long events are kept, in days, where nothing else is configured. */
export const EVENT_DAYS = 30

const AT_ONCE = 5_000

/** Deletes events that happened longer ago than they are to be kept, of each customer from the
 *  beginning of its log on: times are not in the order of numbers, and whoever reads the log must
 *  not meet a gap. */
export function pruneEventsStep(
  { sql, clock }: { sql: Sql; clock: Clock },
  kept_days: number = EVENT_DAYS,
): Step {
  const before = () => later(clock, -kept_days * DAY_MS)
  return {
    name: 'prune_events',
    rest_ms: 600_000,
    duty: 'upkeep',
    due: (sql) => sql`select where (select min(at) from event) < ${before()}`,
    async run() {
      const pruned = await sql`
        with old as (
          select customer_id, number from event
          where at < ${before()} order by at limit ${AT_ONCE}
        ), run as (
          select customer_id, number,
            number - row_number() over (partition by customer_id order by number) + 1 as first
          from old
        )
        delete from event where (customer_id, number) in (
          select customer_id, number from run where first = (
            select min(number) from event as e where e.customer_id = run.customer_id))
        returning 1`
      return pruned.length > 0
    },
  }
}
