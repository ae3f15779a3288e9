// Who is there: a row for each process, raised once a second. It says what only the process itself
// can know: how far its clock is off, what it was told to ask of the database, and whether commits
// of it were not replicated.

import type { Sql } from '../database/sql.ts'
import type { CorrectedClock } from '../lib/clock.ts'
import type { Step } from '../steps/step.ts'

export type ProcessFacts = {
  id: string
  role: string
  host: string
  version: string
  schema: number
  started_at: Date
  /** How many standbys it was told to ask for. */
  standbys: number
}

type Needs = { sql: Sql; corrected: CorrectedClock; unreplicated(): number; facts: ProcessFacts }

/** A process that has not said that it is there for this long is not. */
export const GONE_SECONDS = 15

/** Says that this process is there; run every second. */
export function beatStep({ sql, corrected, unreplicated, facts }: Needs): Step {
  const { id, role, host, version, schema, started_at, standbys } = facts
  let beat = 0n
  return {
    name: 'beat',
    rest_ms: 1_000,
    async run() {
      // What has ended without a word is kept for a day: its alerts are.
      if (beat === 0n)
        await sql`delete from process where seen_at < clock_timestamp() - interval '1 day'`
      beat += 1n
      await sql`
        insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
          clock_offset_ms, unreplicated_commits)
        values (${id}, ${role}, ${host}, ${version}, ${schema}, ${started_at}::timestamptz,
          clock_timestamp(), ${beat}, ${standbys}, ${BigInt(Math.round(corrected.offset_ms()))},
          ${BigInt(unreplicated())})
        on conflict (id) do update set seen_at = excluded.seen_at, beat = excluded.beat,
          clock_offset_ms = excluded.clock_offset_ms,
          unreplicated_commits = excluded.unreplicated_commits`
      return false
    },
  }
}

export type Running = {
  id: string
  role: string
  host: string
  version: string
  started_at: Date
  clock_offset_ms: bigint
}

/** The processes that are there, the oldest first. */
export const runningProcesses = (sql: Sql): Promise<Running[]> => sql<Running>`
  select id, role, host, version, started_at, clock_offset_ms from process
  where seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
  order by started_at, id`
