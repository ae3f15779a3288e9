// Spans of time as one reads them, and how old the newest block is.

import { say } from './words.ts'

/** A span of milliseconds as one reads it: `14 ms`, `2.9 s`, `57 s`, `4 min`, `3 h`. */
export function spanText(ms: number): string {
  if (ms < 1_000) return say('time.ms', { n: Math.round(ms) })
  if (ms < 10_000) return say('time.seconds', { text: (ms / 1_000).toFixed(1) })
  if (ms < 120_000) return say('time.seconds', { text: String(Math.round(ms / 1_000)) })
  if (ms < 7_200_000) return say('time.minutes', { text: String(Math.round(ms / 60_000)) })
  return say('time.hours', { text: String(Math.round(ms / 3_600_000)) })
}

/** Whether the newest block is of a time that is yet to come. */
export const isAhead = (behind_seconds: number): boolean => behind_seconds < 0

/** How old the newest block is; `chain +2 h` where its time is yet to come. */
export const lagText = (behind_seconds: number): string =>
  isAhead(behind_seconds)
    ? say('time.chain_ahead', { span: spanText(-1_000 * behind_seconds) })
    : spanText(1_000 * behind_seconds)
