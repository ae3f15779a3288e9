// Whether a part of the service was up, slow or down in a minute, and why: the only place that
// decides it. docs/operators/status.md says the same in sentences.

import { type Counts, FAILED, percentile } from './histograms.ts'

/** How long something took. */
export const LATENCIES = [
  /** `/v1/transaction/new`, from its headers to its answer. */
  'purchase',
  /** From the acceptance of an order to the sending of its last transaction, to the block that has
   *  that, and to the moment when no fork can take it back. */
  'order_sent',
  'order_in_block',
  'order_irreversible',
  /** From the moment when no fork can take a deposit back to its being credited. */
  'deposit_credited',
  /** From the acceptance of a screening check to its end. */
  'check_ended',
  /** From an event to its first call at a webhook. */
  'event_called',
] as const
export type Latency = (typeof LATENCIES)[number]

/** Processes that were there: with an API that could sell, or with the steps. */
const PRESENCES = ['selling', 'working'] as const
export type Presence = (typeof PRESENCES)[number]

/** What of the service has a state of its own. */
export const PARTS = ['buying', 'delivering', 'deposits', 'screening', 'events'] as const
export type Part = (typeof PARTS)[number]

/** In the order of their counts. */
export const STATES = ['up', 'slow', 'down'] as const
export type State = (typeof STATES)[number]

/** The twelve parts of a minute that a process says it was there in. */
export const PRESENCE_PARTS = 12
const PRESENCE_SECONDS = 60 / PRESENCE_PARTS
/** Whoever was there for less of a minute was not there. */
const PRESENT_SECONDS_MIN = 30

export type Rule = {
  /** Who has to be there. */
  presence: Presence
  latency: Latency
  /** Slow when 95 of 100 do not come below. */
  slow_ms: number
  /** Down when something waits longer. Nothing of buying waits. */
  late_ms: number | undefined
  /** Whether one that failed is enough to be down. */
  down_when_failed: boolean
}

const waiting = { presence: 'working', late_ms: 300_000, down_when_failed: false } as const

export const RULES: Readonly<Record<Part, Rule>> = {
  buying: {
    presence: 'selling',
    latency: 'purchase',
    slow_ms: 300,
    late_ms: undefined,
    down_when_failed: true,
  },
  delivering: { ...waiting, latency: 'order_in_block', slow_ms: 15_000 },
  deposits: { ...waiting, latency: 'deposit_credited', slow_ms: 30_000 },
  screening: { ...waiting, latency: 'check_ended', slow_ms: 30_000 },
  events: { ...waiting, latency: 'event_called', slow_ms: 10_000 },
}

/** What is known of a part in one minute. */
export type MinuteFacts = {
  /** How often each part of the minute was seen; undefined: nobody was there. */
  presence: Counts | undefined
  latency: Counts | undefined
  /** Whether something waited longer than it may. */
  is_late: boolean
}

export function stateOf(rule: Rule, { presence = [], latency = [], is_late }: MinuteFacts): State {
  const present_seconds = PRESENCE_SECONDS * presence.filter((times) => times > 0).length
  if (present_seconds < PRESENT_SECONDS_MIN || is_late) return 'down'
  if (rule.down_when_failed && (latency[FAILED] ?? 0) > 0) return 'down'
  return (percentile(latency, 0.95) ?? 0) > rule.slow_ms ? 'slow' : 'up'
}
