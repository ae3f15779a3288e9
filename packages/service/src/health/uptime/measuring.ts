// Says once a minute how the minutes before went, from rows. The last few are measured anew each
// time: a transaction or another process may still have been writing then. What was not measured in
// its time, because no process was there, is measured as soon as one is.
//
//   measure_minutes     rows -> metric

import { type Clock, later } from '../../lib/clock.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { noCounts } from './histograms.ts'
import {
  addUp,
  ceilTo,
  fillHours,
  firstMinute,
  floorTo,
  KEPT_DAYS,
  type Metric,
  type Progress,
  type Range,
  readMetrics,
  SPAN_MS,
  setProgress,
  takeProgress,
  writeMinutes,
} from './metrics.ts'
import { type Lateness, readLateness, readSamples, type Sample } from './samples.ts'
import { LATENCIES, PARTS, type Part, RULES, STATES, stateOf } from './states.ts'

/** A minute that is over is measured a little later: what happened in it is written by then. */
const SETTLED_MS = 5_000
/** So many minutes before are measured once more. */
const AGAIN_MS = 3 * SPAN_MS.minute
/** Older ones are not measured any more: a day before minutes are deleted. */
const MEASURED_MS = (KEPT_DAYS.minute - 1) * SPAN_MS.day
/** So many are measured in one go. */
const AT_ONCE_MS = SPAN_MS.day

/** The metric that says in which state a part was. */
export const stateMetric = (part: Part): string => `state_${part}`

export function measureMinutesStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  return {
    name: 'measure_minutes',
    rest_ms: 10_000,
    due: (sql) => sql`
      select from (values (1)) as one left join metric_progress on true
      where until is null or until < ${measurableUntil(clock)}`,
    duty: 'upkeep',
    run: () => sql.begin((tx) => measureNext(tx, clock)),
  }
}

/** Up to where minutes are over, and what happened in them is written. */
const measurableUntil = (clock: Clock): Date => floorTo('minute', later(clock, -SETTLED_MS))

/** Measures the minutes that are over, the oldest first. True when there are more. */
async function measureNext(tx: Tx, clock: Clock): Promise<boolean> {
  const now = measurableUntil(clock)
  const progress = await takeProgress(tx, ceilTo('minute', clock.now()))
  if (!progress || progress.until >= now) return false
  const until = await measureFrom(tx, progress, now)
  await setProgress(tx, until)
  return until < now
}

/** Measures from there on for as long as it goes in one go, and says how far it has come. */
async function measureFrom(tx: Tx, progress: Progress, now: Date): Promise<Date> {
  const kept_from = floorTo('hour', new Date(now.getTime() - MEASURED_MS))
  const from = progress.until < kept_from ? progress.until : kept_from
  const hour = ceilTo('hour', progress.until)
  const empty_until = await emptyUntil(tx, { from: hour, until: now })
  const gap_until = empty_until < kept_from ? kept_from : empty_until
  if (gap_until <= hour) return measureDay(tx, progress, { from, until: now })
  if (progress.until < hour) return measureDay(tx, progress, { from, until: hour })
  await fillGap(tx, { from: hour, until: gap_until })
  // In one go: what is measured once more next time must not reach into hours without minutes.
  return measureDay(tx, { ...progress, until: gap_until }, { from: gap_until, until: now })
}

/** Up to which hour nothing was counted and nothing happened; where the range begins when that is
 *  less than an hour. */
async function emptyUntil(tx: Tx, range: Range): Promise<Date> {
  const last = floorTo('hour', new Date(range.until.getTime() - AGAIN_MS))
  if (last <= range.from) return range.from
  const [counted, samples] = await Promise.all([
    firstMinute(tx, range.from),
    readSamples(tx, { from: range.from, until: last }),
  ])
  const times_ms = [counted, last, ...samples.map(({ at }) => at)].map((at) => at?.getTime())
  return floorTo('hour', new Date(Math.min(...times_ms.filter((ms) => ms !== undefined))))
}

/** Measures a day of the range, from where it has come to, and the minutes before once more. */
async function measureDay(tx: Tx, progress: Progress, range: Range): Promise<Date> {
  const ms = progress.until.getTime()
  const until = new Date(Math.min(ms + AT_ONCE_MS, range.until.getTime()))
  const earliest_ms = Math.max(progress.begun_at.getTime(), range.from.getTime())
  const from = new Date(Math.max(ms - AGAIN_MS, earliest_ms))
  await writeMinutes(tx, await measureMinutes(tx, { from, until }))
  await addUp(tx, { span: 'hour', from, until })
  await addUp(tx, { span: 'day', from, until })
  return until
}

/** Hours of which no minute is kept, or in which nobody was there: every part was down. */
async function fillGap(tx: Tx, range: Range): Promise<void> {
  const counts = STATES.map((state) => (state === 'down' ? 60 : 0))
  await fillHours(tx, { metrics: PARTS.map(stateMetric), counts, ...range })
  await addUp(tx, { span: 'day', ...range })
}

/** What is measured of whole minutes, from rows: what took how long, and the state of each part. */
export async function measureMinutes(sql: Query, range: Range): Promise<Metric[]> {
  const [samples, lateness, counted] = await Promise.all([
    readSamples(sql, range),
    readLateness(sql, range),
    readMetrics(sql, { span: 'minute', ...range }),
  ])
  const latencies = latenciesOf(samples)
  // What processes have counted of themselves, and what the rows say.
  const own = counted.filter(({ metric }) => !(LATENCIES as readonly string[]).includes(metric))
  const purchases = counted.filter(({ metric }) => metric === 'purchase')
  const facts = byMinute([...own, ...purchases, ...latencies])
  const states: Metric[] = []
  for (let ms = range.from.getTime(); ms < range.until.getTime(); ms += SPAN_MS.minute) {
    const of_minute = facts.get(ms)
    for (const part of PARTS) {
      const rule = RULES[part]
      const state = stateOf(rule, {
        presence: of_minute?.get(rule.presence),
        latency: of_minute?.get(rule.latency),
        is_late: lateness.some((one) => one.part === part && reaches(one, ms)),
      })
      const counts = STATES.map((one) => (one === state ? 1 : 0))
      states.push({ at: new Date(ms), metric: stateMetric(part), counts })
    }
  }
  return [...latencies, ...states]
}

/** Whether it reaches into the minute that begins then. */
const reaches = ({ since, until }: Lateness, ms: number): boolean =>
  since.getTime() < ms + SPAN_MS.minute && (until === null || until.getTime() > ms)

function latenciesOf(samples: readonly Sample[]): Metric[] {
  const found = new Map<string, Metric & { counts: number[] }>()
  for (const { metric, at, bucket, count } of samples) {
    const key = `${metric} ${at.getTime()}`
    const one = found.get(key) ?? { metric, at, counts: noCounts() }
    one.counts[bucket]! += count
    found.set(key, one)
  }
  return [...found.values()]
}

type FactsOfMinute = ReadonlyMap<string, Metric['counts']>

const byMinute = (metrics: readonly Metric[]): ReadonlyMap<number, FactsOfMinute> =>
  new Map(
    [...Map.groupBy(metrics, ({ at }) => at.getTime())].map(([ms, of_minute]) => [
      ms,
      new Map(of_minute.map(({ metric, counts }) => [metric, counts])),
    ]),
  )
