// Events are kept for a while: anyone who reads the log is told where it begins (code 76).

import type { Sql } from '../database/sql.ts'
import { type Clock, later } from '../lib/clock.ts'
import type { Step } from '../steps/step.ts'

/** For how long events are kept, in days, where nothing else is configured. */
export const EVENT_DAYS = 30

const AT_ONCE = 5_000
const DAY_MS = 86_400_000

/** Deletes events that happened longer ago than they are to be kept, the oldest first. */
export function pruneEventsStep(
  { sql, clock }: { sql: Sql; clock: Clock },
  kept_days: number = EVENT_DAYS,
): Step {
  return {
    name: 'prune_events',
    rest_ms: 600_000,
    async run() {
      const pruned = await sql`
        delete from event where (customer_id, number) in (
          select customer_id, number from event where at < ${later(clock, -kept_days * DAY_MS)}
          order by at limit ${AT_ONCE})
        returning 1`
      return pruned.length === AT_ONCE
    },
  }
}
