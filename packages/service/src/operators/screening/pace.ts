// How long it takes to read the past of the chain from a node.

import { PORTION } from '../../screening/tracing/backfill.ts'

/** Requests a day of a free key of TronGrid. */
const KEY_REQUESTS = 100_000
const DAY_SECONDS = 86_400

/** Requests for all blocks, what a key takes for them, and how long it goes on at this pace. */
export function paceText(at: { done: number; whole: number; seconds: number }): string {
  const { done, whole, seconds } = at
  const requests = whole + Math.ceil(whole / PORTION)
  const days = rounded(requests / KEY_REQUESTS)
  const all = `${requests} requests, ${days} days of a free TronGrid key`
  if (done <= 0 || seconds <= 0) return `${all};`
  const pace = done / seconds
  const left = (whole - done) / pace / DAY_SECONDS
  return `${all}; ${rounded(pace)} blocks/s, ${rounded(left)} days left;`
}

const rounded = (value: number) => (value < 10 ? value.toFixed(1) : Math.round(value).toString())
