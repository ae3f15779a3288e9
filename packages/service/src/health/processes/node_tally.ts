// How the requests of this process to nodes went, in the last hour, by node. Kept in memory: what
// others read of it is in the report of the process.

import type { NodeOptions } from '../../chain/node/node.ts'
import { hostOf } from '../../chain/node/node.ts'
import type { Clock } from '../../lib/clock.ts'
import { errorText } from '../../lib/fault.ts'

/** Requests and failures are those of the last hour; latencies those of the newest 500 answers.
 *  Null: there was none. */
export type NodeCounts = {
  /** Its host: its address may have a key in it. */
  name: string
  requests: number
  /** Of them, those that were not answered, or not with anything of use. */
  failures: number
  p50_ms: number | null
  p95_ms: number | null
  /** The newest block that it said it has. */
  head_number: number | null
  answered_at: Date | null
  failed_at: Date | null
  /** Why it failed the last time. */
  error: string | null
}

/** Told of every request when it is over. */
export type NodeTally = {
  /** These are counted from now on. */
  add(nodes: NodeOptions['nodes']): void
  ended(name: string, request: { ms: number; error: string | undefined }): void
  headSeen(name: string, number: number): void
  counts(): NodeCounts[]
}

const HOUR_MINUTES = 60
const MINUTE_MS = 60_000
const LATENCIES_MAX = 500

type Minute = { minute: number; requests: number; failures: number }
type NodeState = Pick<NodeCounts, 'head_number' | 'answered_at' | 'failed_at' | 'error'> & {
  /** Of the last hour, each in the place of its minute. */
  minutes: Minute[]
  /** Of the newest answers; `answers`: how many there have been. */
  latencies_ms: number[]
  answers: number
}

export function nodeTally(clock: Clock): NodeTally {
  const states = new Map<string, NodeState>()
  const minuteNow = () => Math.floor(clock.now().getTime() / MINUTE_MS)
  function stateOf(name: string): NodeState {
    const known = states.get(name)
    if (known) return known
    const last = { head_number: null, answered_at: null, failed_at: null, error: null }
    const made: NodeState = { ...last, minutes: [], latencies_ms: [], answers: 0 }
    states.set(name, made)
    return made
  }
  function minuteOf({ minutes }: NodeState): Minute {
    const minute = minuteNow()
    const place = minute % HOUR_MINUTES
    if (minutes[place]?.minute !== minute) minutes[place] = { minute, requests: 0, failures: 0 }
    return minutes[place]!
  }
  function countsOf([name, state]: [string, NodeState]): NodeCounts {
    const { minutes, latencies_ms, answers: _, ...last } = state
    const since = minuteNow() - HOUR_MINUTES
    const recent = minutes.filter((one) => one && one.minute > since)
    const sorted = latencies_ms.toSorted((one, other) => one - other)
    return {
      name,
      requests: recent.reduce((sum, { requests }) => sum + requests, 0),
      failures: recent.reduce((sum, { failures }) => sum + failures, 0),
      p50_ms: percentile(sorted, 50),
      p95_ms: percentile(sorted, 95),
      ...last,
    }
  }
  return {
    add(nodes) {
      for (const { url } of nodes) stateOf(hostOf(url))
    },
    ended(name, { ms, error }) {
      const state = stateOf(name)
      const minute = minuteOf(state)
      minute.requests += 1
      if (error === undefined) {
        state.latencies_ms[state.answers % LATENCIES_MAX] = Math.round(ms)
        state.answers += 1
        state.answered_at = clock.now()
      } else {
        minute.failures += 1
        state.failed_at = clock.now()
        state.error = errorText(error)
      }
    },
    headSeen(name, number) {
      stateOf(name).head_number = number
    },
    counts: () => [...states].map(countsOf),
  }
}

/** The smallest of these that so many percent of them are not above. */
const percentile = (sorted: readonly number[], percent: number): number | null =>
  sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null
