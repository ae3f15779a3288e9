// How many checks there were on each day, and what came of them.

import type { Sql } from '../database/sql.ts'
import { firstIdAt } from '../lib/ids.ts'

export type DayOfChecks = {
  day: string
  low: bigint
  medium: bigint
  high: bigint
  failed: bigint
  open: bigint
}

const DAY_MS = 86_400_000

/** Of the last days that had any, today included; newest first. A day begins at 00:00 UTC. */
export function checksByDay(sql: Sql, now: Date, days: number): Promise<DayOfChecks[]> {
  const today_ms = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  const since = new Date(today_ms - (days - 1) * DAY_MS)
  return sql<DayOfChecks>`
    select (created_at at time zone 'UTC')::date::text as day,
           count(*) filter (where risk_level = 'low') as low,
           count(*) filter (where risk_level = 'medium') as medium,
           count(*) filter (where risk_level = 'high') as high,
           count(*) filter (where state = 'failed') as failed,
           count(*) filter (where state in ('pending', 'processing')) as open
    from aml_check where id >= ${firstIdAt(since)} group by 1 order by 1 desc`
}
