// How a process is watched: whether it is ready, and what it reports, always; and, with an admin
// port, its numbers. The port is open from the first moment of a start, so that anyone who waits
// for the process sees that it is starting.

import { join } from 'node:path'
import about from '../../../package.json' with { type: 'json' }
import type { NodeObserver, NodeOptions } from '../../chain/node/node.ts'
import { type AdminAnswers, openAdminPort } from '../../health/monitoring/admin_port.ts'
import { marksIn } from '../../health/monitoring/database_marks.ts'
import { type Measures, measureStep } from '../../health/monitoring/metrics.ts'
import { type Readiness, watchReadiness } from '../../health/monitoring/readiness.ts'
import { watchAlertsStep } from '../../health/monitoring/watch_alerts.ts'
import { nodeTally } from '../../health/processes/node_tally.ts'
import { type ReportSources, writeReport } from '../../health/processes/report.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { isTraced } from '../../lib/tracing.ts'
import { readMigrations } from '../../platform/database/migrations.ts'
import type { Observer, Sql } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { type Step, type StepRunner, startSteps } from '../../platform/steps/step.ts'
import { type DatabaseWatch, watchDatabase } from './database_watch.ts'
import {
  measuredLog,
  measuredStep,
  measureRuntime,
  newMeasures,
  nodeObserver,
  poolObserver,
  tracedPool,
  tracedStep,
} from './instruments.ts'
import { listening } from './listen.ts'
import { hasSteps, type ProcessRole } from './roles.ts'

export type Monitor = DatabaseWatch & {
  /** Undefined without an admin port: then nothing below wraps anything. */
  measures: Measures | undefined
  admin_url: string | undefined
  /** Whether an SDK of OpenTelemetry takes spans: without it nothing has any. */
  traced: boolean
  observer(pool: string): Observer | undefined
  log: Log
  /** The paths that requests are counted by. */
  endpoints: Set<string>
  steps(steps: readonly Step<string>[]): readonly Step<string>[]
  /** What counts the requests to these nodes. */
  nodeObserver(nodes: NodeOptions['nodes']): NodeObserver
  /** Begins to look, and returns when the database has answered once. */
  begin(needs: LookNeeds): Promise<void>
  readiness(): Readiness
  /** From now on the process does its work. */
  serving(): void
  /** From now on it is not ready. */
  stopping(): void
  close(): Promise<void>
}

type LookNeeds = {
  database_url: string
  seal: Seal
  /** Connections that may read what customers prove themselves with; undefined: nobody calls. */
  credentials_sql: Sql | undefined
  reported: ReportSources
}

export type WatchConfig = {
  role: ProcessRole
  /** Undefined: no admin port. */
  admin_port: number | undefined
  admin_host: string
  /** Where the process keeps what it remembers. */
  data_dir: string
  /** How many standbys must confirm commits. */
  standbys: number | undefined
  /** The settings in force that make the service less safe than it is by default. */
  loosened: readonly string[]
}

/** In the data folder. */
const MARKS_FOLDER = 'database_marks'
const STARTING: Readiness = {
  ready: false,
  reasons: [{ reason: 'starting', what: 'the process is not up yet' }],
  notices: [],
}

/** Asked once: a process has spans, or has none. */
function tracing() {
  const traced = isTraced()
  const observed = (measured: Observer | undefined, pool: string) =>
    traced ? tracedPool(pool, measured) : measured
  return { traced, observed }
}

export async function startWatching(config: WatchConfig, given_log: Log): Promise<Monitor> {
  const measures = config.admin_port === undefined ? undefined : newMeasures()
  const { traced, observed } = tracing()
  const endpoints = new Set<string>()
  const loads: (() => void)[] = []
  const log = measures ? measuredLog(given_log, measures, endpoints) : given_log
  const schema = (await readMigrations()).at(-1)!.number
  const { role } = config
  measures?.set('build_info', 1, { version: about.version, node: process.version, schema, role })
  let watch: ReturnType<typeof watchReadiness> | undefined
  let running: StepRunner | undefined
  let disconnect = async () => {}
  let read_at: () => Date | undefined = () => undefined
  const readiness = () => watch?.readiness() ?? STARTING
  let started = false
  const database = watchDatabase(role, measures)
  const tally = nodeTally(systemClock)
  const port =
    measures &&
    (await openPort(config, { measures, loads, readiness, started: () => started, prepare }))
  function prepare(): void {
    const offset = watch?.clockOffset()
    if (offset !== undefined) measures?.set('clock_offset_seconds', offset)
    const at = read_at()
    if (at)
      measures?.set('gauges_age_seconds', (systemClock.now().getTime() - at.getTime()) / 1_000)
  }
  return {
    measures,
    admin_url: port?.url,
    endpoints,
    log,
    readiness,
    ...database.given,
    traced,
    observer: (pool) => observed(measures && poolObserver(pool, measures, loads), pool),
    steps(steps) {
      const resting = steps.map((step) => restingStep(step, database.given.wentBack))
      const measured = measures ? resting.map((step) => measuredStep(step, measures)) : resting
      return traced ? measured.map(tracedStep) : measured
    },
    nodeObserver: (nodes) => nodeObserver(nodes, { tally, measures }),
    async begin({ database_url: url, seal, credentials_sql, reported }) {
      const { standbys, loosened } = config
      const marks = marksIn(join(config.data_dir, MARKS_FOLDER), given_log)
      const report = () => writeReport(tally, reported)
      const seen = database.open({ url, schema, standbys, marks, report })
      const { sql, corrected, drop, beat, memory } = seen
      disconnect = async () => void (await seen.close())
      const known = { clock: systemClock, known_schema: schema, credentials_sql }
      const looking = watchReadiness({ sql, corrected, drop, memory, seal, loosened, ...known })
      await looking.step.run()
      await seen.compareNoted()
      watch = looking
      const { steps, readAt } = reporting(role, { sql, measures })
      read_at = readAt
      running = startSteps([looking.step, ...steps, beat], given_log)
    },
    serving() {
      started = true
      watch?.enter('serving')
    },
    stopping: () => watch?.enter('stopping'),
    async close() {
      await running?.stop()
      await port?.close()
      await disconnect()
    },
  }
}

/** What says how the service is doing. Who runs no steps leaves that to those who do. */
function reporting(
  role: ProcessRole,
  { sql, measures }: { sql: Sql; measures: Measures | undefined },
): { steps: Step[]; readAt: () => Date | undefined } {
  const clock = systemClock
  if (!hasSteps(role)) return { steps: [], readAt: () => undefined }
  const watching = watchAlertsStep({ sql, clock })
  if (!measures) return { steps: [watching], readAt: () => undefined }
  const measuring = measureStep({ sql, clock, measures })
  return { steps: [measuring, watching], readAt: measuring.readAt }
}

/** A step that rests while the database lacks what it had, because it would act by that. Blocks are
 *  read all the same. */
const restingStep = (step: Step<string>, rests: () => boolean): Step<string> =>
  step.name === 'follow' ? step : { ...step, run: async () => !rests() && step.run() }

type Port = {
  measures: Measures
  loads: readonly (() => void)[]
  readiness: AdminAnswers['readiness']
  started: AdminAnswers['started']
  /** Sets what is known only when somebody asks. */
  prepare(): void
}

async function openPort(
  config: WatchConfig,
  { measures, loads, readiness, started, prepare }: Port,
) {
  const runtime = measureRuntime()
  const { admin_port = 0, admin_host, role } = config
  const metrics = () => {
    prepare()
    for (const load of loads) load()
    measures.set('ready', readiness().ready ? 1 : 0)
    return measures.text() + runtime.text()
  }
  const open = () =>
    openAdminPort({ host: admin_host, port: admin_port }, { role, readiness, started, metrics })
  const { url, close } = await listening(open, admin_port)
  return {
    url,
    async close() {
      runtime.stop()
      await close()
    },
  }
}
