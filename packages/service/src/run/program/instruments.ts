// Puts meters on what a process is made of: its log, steps, connections to the database and to
// nodes. Each takes the thing and gives one like it that counts. Without an admin port nothing is
// measured, and nothing is wrapped; requests to nodes are counted all the same, for the report of
// the process.

import type { Server } from 'node:http'
import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { hostOf, type NodeObserver, type NodeOptions } from '../../chain/node/node.ts'
import { METRICS } from '../../health/monitoring/measures.ts'
import type { Measures } from '../../health/monitoring/metrics.ts'
import type { NodeTally } from '../../health/processes/node_tally.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { type Declarations, type Metrics, makeMetrics } from '../../lib/metrics.ts'
import { noteSpan, traced } from '../../lib/tracing.ts'
import type { Observer } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

const PREFIX = 'penstock_'

/** What Prometheus' own clients measure of every Node, by the same names. */
const RUNTIME = {
  process_cpu_seconds_total: { kind: 'counter', help: 'CPU time of the process, user and system.' },
  process_resident_memory_bytes: { kind: 'gauge', help: 'Memory of the process that is in RAM.' },
  process_start_time_seconds: { kind: 'gauge', help: 'When the process began, since 1970.' },
  nodejs_heap_size_used_bytes: { kind: 'gauge', help: 'Heap in use.' },
  nodejs_heap_size_total_bytes: { kind: 'gauge', help: 'Heap, used or not.' },
  nodejs_external_memory_bytes: { kind: 'gauge', help: 'Memory outside of the heap.' },
  nodejs_eventloop_lag_p50_seconds: {
    kind: 'gauge',
    help: 'Delay of the event loop since the last look, median.',
  },
  nodejs_eventloop_lag_p99_seconds: { kind: 'gauge', help: 'Likewise, the 99th percentile.' },
  nodejs_eventloop_lag_max_seconds: { kind: 'gauge', help: 'Likewise, the longest.' },
  nodejs_gc_seconds_total: { kind: 'counter', help: 'Time spent collecting garbage.' },
} as const satisfies Declarations

export const newMeasures = (): Measures => makeMetrics(METRICS, PREFIX)

const secondsSince = (began_ms: number) => (performance.now() - began_ms) / 1_000

/** Why a request was refused before its work began, by the status or the code of the answer. */
const REFUSED: Readonly<Record<string, string>> = {
  408: 'timeout',
  413: 'size',
  429: 'rate',
  431: 'size',
  503: 'busy',
}
const UNAUTHENTICATED = 1

/** A log that counts requests by the lines about them. */
export function measuredLog(log: Log, measures: Measures, endpoints: ReadonlySet<string>): Log {
  return (event, fields) => {
    log(event, fields)
    // A flood leaves few lines, and each says how many are missing before it.
    const left_out = fields?.lines_left_out
    if (typeof left_out === 'number')
      measures.count('http_refused_total', { reason: 'not_logged' }, left_out)
    if (event !== 'request' || !fields) return
    const { path, status, code, ms } = fields
    const endpoint = typeof path === 'string' && endpoints.has(path) ? path : 'other'
    measures.count('http_requests_total', { endpoint, code: String(code ?? status) })
    if (typeof ms === 'number') measures.observe('http_request_seconds', ms / 1_000, { endpoint })
    const reason = code === UNAUTHENTICATED ? 'auth' : REFUSED[String(status)]
    if (reason !== undefined) measures.count('http_refused_total', { reason })
  }
}

/** Counts the requests that a server is answering. */
export function measureInFlight(server: Server, measures: Measures): void {
  let in_flight = 0
  measures.set('http_in_flight', 0)
  server.on('request', (_request, response) => {
    measures.set('http_in_flight', ++in_flight)
    response.once('close', () => measures.set('http_in_flight', --in_flight))
  })
}

export function measuredStep(step: Step<string>, measures: Measures): Step<string> {
  const labels = { step: step.name }
  return {
    ...step,
    async run() {
      const began_ms = performance.now()
      measures.count('step_runs_total', labels)
      try {
        const moved = await step.run()
        if (moved) measures.count('step_moved_total', labels)
        return moved
      } catch (thrown) {
        measures.count('step_failures_total', labels)
        throw thrown
      } finally {
        measures.observe('step_seconds', secondsSince(began_ms), labels)
      }
    },
  }
}

/** What a pool of connections tells about itself. */
export function poolObserver(pool: string, measures: Measures, loads: (() => void)[]): Observer {
  return {
    opened(load) {
      loads.push(() => {
        const { connections, waiting } = load()
        measures.set('db_connections', connections, { pool })
        measures.set('db_waiting', waiting, { pool })
      })
    },
    done(seconds, outage) {
      measures.count('db_transactions_total', { pool })
      measures.observe('db_seconds', seconds, { pool })
      if (outage !== undefined) measures.count('db_outages_total', { pool, class: outage })
    },
  }
}

/** A span for each run; none for the signer's. */
export const tracedStep = (step: Step<string>): Step<string> =>
  step.name === 'sign'
    ? step
    : {
        ...step,
        run: () => traced(`step ${step.name}`, { 'penstock.step': step.name }, () => step.run()),
      }

/** A span for each transaction of a request, a batch or a step. */
export const tracedPool = (pool: string, measured: Observer | undefined): Observer => ({
  opened: (load) => measured?.opened(load),
  done(seconds, outage) {
    const began_ms = systemClock.now().getTime() - seconds * 1_000
    noteSpan('transaction', began_ms, { 'penstock.pool': pool }, outage !== undefined)
    measured?.done(seconds, outage)
  },
})

/** Counts requests to nodes: for the report by their names, and, where there are measures, by the
 *  place of the node. */
export function nodeObserver(
  nodes: NodeOptions['nodes'],
  { tally, measures }: { tally: NodeTally; measures: Measures | undefined },
): NodeObserver {
  tally.add(nodes)
  const names = nodes.map(({ url }) => hostOf(url))
  return {
    begun(name, path) {
      const began_ms = performance.now()
      const node = names.indexOf(name) + 1
      return ({ status, error }) => {
        const seconds = secondsSince(began_ms)
        tally.ended(name, { ms: seconds * 1_000, error })
        const outcome = String(status ?? 'no answer')
        measures?.count('node_requests_total', { node, path, outcome })
        measures?.observe('node_seconds', seconds, { node })
      }
    },
    headSeen: tally.headSeen,
  }
}

/** Measures the runtime from now on. */
export function measureRuntime(): { text(): string; stop(): void } {
  const metrics: Metrics<keyof typeof RUNTIME> = makeMetrics(RUNTIME, '')
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      metrics.count('nodejs_gc_seconds_total', {}, duration / 1_000)
  })
  collections.observe({ entryTypes: ['gc'] })
  return {
    text() {
      const { user, system } = process.cpuUsage()
      const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
      metrics.set('process_cpu_seconds_total', (user + system) / 1e6)
      metrics.set('process_resident_memory_bytes', rss)
      metrics.set('process_start_time_seconds', performance.timeOrigin / 1_000)
      metrics.set('nodejs_heap_size_used_bytes', heapUsed)
      metrics.set('nodejs_heap_size_total_bytes', heapTotal)
      metrics.set('nodejs_external_memory_bytes', external)
      const lag = (ns: number) => (Number.isFinite(ns) ? ns / 1e9 : 0)
      metrics.set('nodejs_eventloop_lag_p50_seconds', lag(delays.percentile(50)))
      metrics.set('nodejs_eventloop_lag_p99_seconds', lag(delays.percentile(99)))
      metrics.set('nodejs_eventloop_lag_max_seconds', lag(delays.max))
      delays.reset()
      return metrics.text()
    },
    stop() {
      delays.disable()
      collections.disconnect()
    },
  }
}
