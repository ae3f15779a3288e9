// What was there and what was spent, day by day for thirty days. Who has begun a moment ago gets it
// by the hour: a month of nothing and a last day say nothing.

import type { Result } from 'penstock-sdk'
import type { LiveEvent } from '../calls/live.ts'
import { type Question, useQuestion } from '../calls/question.ts'

export type Bucket = Result<'/v1/summary'>['buckets'][number]
export type Summary = {
  days: Question<Result<'/v1/summary'>>
  /** What there is to draw, from the first that has something in it. */
  drawn: { buckets: readonly Bucket[]; by_hour: boolean }
}

/** Money moved, or something was delivered. */
const concernsMoney = ({ type }: LiveEvent) =>
  /^(order|deposit|subscription|aml_check)\./.test(type)
export const patchByMoney = <Known>(known: Known, event: LiveEvent): Known | 'again' =>
  concernsMoney(event) ? 'again' : known

/** With fewer days the hours are drawn. */
const DAYS_MIN = 3

/** Without those before anything had happened. */
export function sinceFirst(buckets: readonly Bucket[]): readonly Bucket[] {
  const first = buckets.findIndex(
    ({ balance, deposited, spent }) => balance !== 0 || deposited !== 0 || spent !== 0,
  )
  return first < 0 ? [] : buckets.slice(first)
}

export function useSummary(): Summary {
  const days = useQuestion('/v1/summary', {}, { patch: patchByMoney })
  const lived = sinceFirst(days.answer.value?.buckets ?? [])
  const by_hour = lived.length > 0 && lived.length < DAYS_MIN
  const since = lived[0]?.at
  const hours = useQuestion(
    '/v1/summary',
    { bucket: 'hour', ...(since !== undefined && { since }) },
    { patch: patchByMoney, off: !by_hour },
  )
  const buckets = by_hour ? sinceFirst(hours.answer.value?.buckets ?? []) : lived
  return { days, drawn: { buckets, by_hour } }
}
