// For how long what is kept, how old the oldest of it is, and so how far deleting it has come. What
// is kept for less than a day is not listed.

import { BYTES_DAYS } from '../../chain/follow/attempt_bytes.ts'
import { EVENT_DAYS } from '../../events/log/prune.ts'
import { CALL_DAYS } from '../../events/webhooks/notices.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { REFUSAL_DAYS } from '../../people/refusals/refusals.ts'
import { SIGN_IN_DAYS } from '../../people/sign_in/tries.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { DEFAULT_RETENTION_DAYS } from '../../screening/checks/watches.ts'
import { DEFAULT_CARRIED_BLOCKS, WINDOWS_KEPT } from '../../screening/tracing/generations.ts'
import { KEPT_DAYS } from '../uptime/metrics.ts'
import { runningReports } from './report.ts'

type Oldest = Promise<{ at: Date | null }[]>
type Rule = {
  what: string
  /** Undefined: for ever. In words: as the process that deletes it is configured. */
  kept_days: number | 'events' | 'evidence' | 'sign_ins' | undefined
  /** When the oldest that is there came to be; by an index, whatever the size of the table. */
  oldest(sql: Sql): Oldest
}

const DAY_BLOCKS = 28_800

const RULES: readonly Rule[] = [
  {
    what: 'refusals',
    kept_days: REFUSAL_DAYS,
    oldest: (sql): Oldest => sql`select min(at) as at from refusal`,
  },
  {
    what: 'webhook_calls',
    kept_days: CALL_DAYS,
    oldest: (sql): Oldest => sql`select min(at) as at from webhook_call`,
  },
  {
    what: 'figures_of_minutes',
    kept_days: KEPT_DAYS.minute,
    oldest: (sql): Oldest => sql`select min(at) as at from metric where span = 'minute'`,
  },
  {
    what: 'bytes_of_transactions',
    kept_days: BYTES_DAYS,
    oldest: (sql): Oldest => sql`
      select min(block_time) as at from attempt
      where state = 'solid' and signed is not null and stamp is null`,
  },
  {
    what: 'events',
    kept_days: 'events',
    oldest: (sql): Oldest => sql`select min(at) as at from event`,
  },
  {
    what: 'carried',
    kept_days: (WINDOWS_KEPT * DEFAULT_CARRIED_BLOCKS) / DAY_BLOCKS,
    oldest: (sql): Oldest => sql`
      select b.time as at from flow_carried as c join flow_log_time as b on b.number = c.number
      where c.generation = (
        select max(number) from flow_generation where active_at is not null)
      order by c.number limit 1`,
  },
  {
    what: 'sessions',
    kept_days: 'sign_ins',
    oldest: (sql): Oldest => sql`select made_at as at from user_session order by id limit 1`,
  },
  {
    what: 'sign_ins',
    kept_days: 'sign_ins',
    oldest: (sql): Oldest => sql`select at from sign_in order by id limit 1`,
  },
  {
    what: 'figures_of_hours',
    kept_days: KEPT_DAYS.hour,
    oldest: (sql): Oldest => sql`select min(at) as at from metric where span = 'hour'`,
  },
  {
    what: 'evidence',
    kept_days: 'evidence',
    oldest: (sql): Oldest => sql`
      select c.ended_at as at from aml_evidence as e join aml_check as c on c.id = e.check_id
      order by e.check_id limit 1`,
  },
  {
    what: 'checks',
    kept_days: undefined,
    oldest: (sql): Oldest => sql`select created_at as at from aml_check order by id limit 1`,
  },
  {
    what: 'orders',
    kept_days: undefined,
    oldest: (sql): Oldest => sql`select created_at as at from orders order by id limit 1`,
  },
  {
    what: 'ledger',
    kept_days: undefined,
    oldest: (sql): Oldest => sql`select sealed_at as at from journal order by number limit 1`,
  },
  {
    what: 'record',
    kept_days: undefined,
    oldest: (sql): Oldest => sql`select made_at as at from operator_action order by number limit 1`,
  },
  {
    what: 'transfers_on_chain',
    kept_days: undefined,
    oldest: (sql): Oldest =>
      sql`select first_time as at from flow_log_ends where first_time is not null`,
  },
]

export type Retention = {
  what: string
  /** Null: for ever. */
  kept_days: number | null
  oldest_at: Date | null
  /** For how long the oldest should have been deleted; null: it is not to be yet. */
  overdue_seconds: number | null
}

/** What is kept for how long. What is configured is read from the process that deletes. */
export async function retentions(sql: Sql, now: Date): Promise<Retention[]> {
  const processes = await runningReports(sql)
  const upkeep = processes.find(({ duties }) => duties.includes('upkeep'))
  const configured = upkeep?.report.kept_days ?? {
    events: EVENT_DAYS,
    evidence: DEFAULT_RETENTION_DAYS,
    sign_ins: SIGN_IN_DAYS,
  }
  return Promise.all(
    RULES.map(async ({ what, kept_days, oldest }) => {
      const [row] = await oldest(sql)
      const days = typeof kept_days === 'string' ? configured[kept_days] : (kept_days ?? null)
      const oldest_at = row?.at ?? null
      return { what, kept_days: days, oldest_at, overdue_seconds: overdue(days, oldest_at, now) }
    }),
  )
}

function overdue(kept_days: number | null, oldest_at: Date | null, now: Date): number | null {
  if (kept_days === null || oldest_at === null) return null
  const ms = now.getTime() - oldest_at.getTime() - kept_days * DAY_MS
  return ms > 0 ? Math.floor(ms / 1_000) : null
}
