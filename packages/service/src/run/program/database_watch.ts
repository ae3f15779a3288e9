// What a process knows of its database, and what it does when that is lost: whose clock counts,
// which connections are ended, and that it is there.

import { hostname } from 'node:os'
import about from '../../../package.json' with { type: 'json' }
import type { Marks } from '../../health/monitoring/database_marks.ts'
import { DatabaseMemory } from '../../health/monitoring/database_memory.ts'
import type { Measures } from '../../health/monitoring/metrics.ts'
import { beatStep } from '../../health/monitoring/processes.ts'
import { type Clock, type CorrectedClock, correctedClock, systemClock } from '../../lib/clock.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { type Connections, connect } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

/** What the rest of the process is given. */
export type DatabaseWatch = {
  /** Names this process among all. */
  process_id: string
  /** Goes as the database's does, once it has answered: what processes decide together goes by
   *  it. */
  clock: Clock
  /** A customer is told of `order:ID`, `check:ID` or `subscription:ID`: it must be there for
   *  ever. */
  told(name: string): void
  /** Whether the database lacks what it had acknowledged: nothing may be changed by it. */
  wentBack(): boolean
  /** Told of each commit that was not replicated. */
  unreplicated(): void
  /** Ends connections to a database that does not answer any more. */
  whenLost(drop: () => void): void
}

type DatabaseSource = {
  url: string
  schema: number
  standbys: number | undefined
  /** Where processes note what they remember. */
  marks: Marks
  /** What the process says of itself. */
  report(): string
}

type WatchedDatabase = {
  given: DatabaseWatch
  /** By which the database is looked at; closed by the caller with `close`. */
  open(source: DatabaseSource): OpenDatabase
}

type OpenDatabase = {
  sql: Connections
  corrected: CorrectedClock
  drop(): void
  memory: DatabaseMemory
  /** Compares with what processes before have noted. */
  compareNoted(): Promise<void>
  beat: Step
  close(): Promise<unknown>
}

/** Limits for monitoring queries. */
const LOOKING = {
  connections_max: 1,
  connection_timeout_ms: 4_000,
  statement_timeout_ms: 2_000,
  answer_timeout_ms: 2_000,
}

export function watchDatabase(role: string, measures: Measures | undefined): WatchedDatabase {
  const corrected = correctedClock(systemClock)
  const drops: (() => void)[] = []
  let commits = 0
  const id = idMaker(systemClock, systemRandom)()
  const named = { id, role, host: hostname() }
  const memory = new DatabaseMemory(systemClock, named)
  const given: DatabaseWatch = {
    process_id: id,
    clock: corrected,
    told: (name) => memory.noteTold(name),
    wentBack: () => memory.wentBack(),
    unreplicated() {
      commits += 1
      measures?.count('commit_unreplicated_total')
    },
    whenLost: (drop) => void drops.push(drop),
  }
  return {
    given,
    open({ url, schema, standbys = 0, marks, report }) {
      const sql = connect({ url, ...LOOKING })
      // A commit may have to wait for a standby; who looks must not wait for that.
      const beating = connect({ url, connections_max: 1 })
      given.whenLost(beating.drop)
      const { version } = about
      const facts = { ...named, version, schema, standbys, started_at: systemClock.now() }
      return {
        sql,
        corrected,
        drop() {
          for (const drop of drops) drop()
        },
        memory,
        async compareNoted() {
          for (const mark of await marks.read()) await memory.compareMark(sql, mark)
        },
        beat: beatStep({
          sql: beating,
          corrected,
          unreplicated: () => commits,
          report,
          facts,
          memory,
          marks,
        }),
        close: () => Promise.all([sql.close(), beating.close()]),
      }
    },
  }
}
