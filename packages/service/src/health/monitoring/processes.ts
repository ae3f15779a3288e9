// Who is there: a row for each process, raised once a second. It says what only the process itself
// can know: how far its clock is off, what it was told to ask of the database, whether commits of
// it were not replicated, whether it can write in its data folder, and its report, which is written
// elsewhere.

import type { CorrectedClock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Marks } from './database_marks.ts'
import type { DatabaseMemory } from './database_memory.ts'

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

type Needs = {
  sql: Sql
  corrected: CorrectedClock
  unreplicated(): number
  /** What else it says of itself, as JSON. */
  report(): string
  facts: ProcessFacts
  /** Remembers which beat was acknowledged, and finds out when it is not there. */
  memory: DatabaseMemory
  marks: Marks
}

/** A process that has not said that it is there for this long is not. */
export const GONE_SECONDS = 15

/** The report comes with the first beat of so many. */
const REPORT_BEATS = 5n

/** Says that this process is there; run every second. */
export function beatStep(needs: Needs): Step {
  const { sql, corrected, unreplicated, report, facts, memory, marks } = needs
  const { id, role, host, version, schema, started_at, standbys } = facts
  const begin = async () => {
    // What has ended without a word is kept for a day: its alerts are.
    await sql`delete from process where seen_at < clock_timestamp() - interval '1 day'`
    await sql`
      insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
        clock_offset_ms, unreplicated_commits, report)
      values (${id}, ${role}, ${host}, ${version}, ${schema}, ${started_at}::timestamptz,
        clock_timestamp(), 1, ${standbys}, ${offset()}, ${BigInt(unreplicated())},
        ${report()}::jsonb)
      on conflict (id) do update set beat = 1`
    return true
  }
  let unwritten_since: Date | null = null
  const offset = () => BigInt(Math.round(corrected.offset_ms()))
  // A lower beat stays as it is: it says that the database went back.
  const goOn = async (acknowledged: bigint, beat: bigint) => {
    const told = beat % REPORT_BEATS === 1n ? report() : null
    const rows = await sql`
      update process set beat = ${beat}, seen_at = clock_timestamp(),
        clock_offset_ms = ${offset()}, unreplicated_commits = ${BigInt(unreplicated())},
        unwritten_since = ${unwritten_since}::timestamptz,
        report = coalesce(${told}::jsonb, report)
      where id = ${id} and beat >= ${acknowledged} returning 1`
    return rows.length > 0
  }
  return {
    name: 'beat',
    rest_ms: 1_000,
    async run() {
      await memory.writeLosses(sql)
      await memory.removeCompared(marks)
      const { beat: acknowledged } = memory.mark
      const beat = acknowledged + 1n
      if (!(await (acknowledged === 0n ? begin() : goOn(acknowledged, beat)))) return false
      memory.noteBeat(beat)
      const written = await marks.write(memory.mark)
      unwritten_since = written ? null : (unwritten_since ?? corrected.now())
      return false
    },
  }
}

export type RunningProcess = {
  id: string
  role: string
  host: string
  version: string
  started_at: Date
  clock_offset_ms: bigint
  /** What it does for all. */
  duties: string[]
}

/** The processes that are there, the oldest first. */
export const runningProcesses = (sql: Sql): Promise<RunningProcess[]> => sql<RunningProcess>`
  select id, role, host, version, started_at, clock_offset_ms, array(
    select name from duty where process_id = process.id and until > clock_timestamp() order by name
  ) as duties
  from process where seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
  order by started_at, id`
