// The rows of what was measured: written minute by minute, added up to hours and days, and deleted
// when they are old.

import { type Clock, later } from '../../lib/clock.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Counts } from './histograms.ts'

export type Span = 'minute' | 'hour' | 'day'
export type Metric = { at: Date; metric: string; counts: Counts }

export const SPAN_MS: Readonly<Record<Span, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

export const floorTo = (span: Span, at: Date): Date =>
  new Date(Math.floor(at.getTime() / SPAN_MS[span]) * SPAN_MS[span])

export const ceilTo = (span: Span, at: Date): Date =>
  new Date(Math.ceil(at.getTime() / SPAN_MS[span]) * SPAN_MS[span])

/** An array as PostgreSQL writes it. */
const arrayText = (counts: Counts) => `{${counts.join(',')}}`

const columnsOf = (metrics: readonly Metric[]) => ({
  ats: metrics.map(({ at }) => at),
  names: metrics.map(({ metric }) => metric),
  counts: metrics.map(({ counts }) => arrayText(counts)),
})

/** Writes what was measured of minutes, instead of what was there. */
export async function writeMinutes(tx: Tx, metrics: readonly Metric[]): Promise<void> {
  if (metrics.length === 0) return
  const { ats, names, counts } = columnsOf(metrics)
  await tx`
    insert into metric (span, at, metric, counts)
    select 'minute', at, metric, counts::integer[]
    from unnest(${ats}::timestamptz[], ${names}::text[], ${counts}::text[])
      as t (at, metric, counts)
    order by at, metric
    on conflict (span, at, metric) do update set counts = excluded.counts`
}

/** Adds to what was counted in minutes: several processes do. */
export async function addToMinutes(sql: Query, metrics: readonly Metric[]): Promise<void> {
  if (metrics.length === 0) return
  const { ats, names, counts } = columnsOf(metrics)
  await sql`
    insert into metric as m (span, at, metric, counts)
    select 'minute', at, metric, counts::integer[]
    from unnest(${ats}::timestamptz[], ${names}::text[], ${counts}::text[])
      as t (at, metric, counts)
    order by at, metric
    on conflict (span, at, metric) do update set counts = (
      select array_agg(coalesce(a, 0) + coalesce(b, 0) order by place)
      from unnest(m.counts, excluded.counts) with ordinality as u (a, b, place))`
}

/** The whole hours or days that these minutes are in, added up anew. */
export async function addUp(
  tx: Tx,
  { span, from, until }: { span: 'hour' | 'day'; from: Date; until: Date },
): Promise<void> {
  await tx`
    insert into metric (span, at, metric, counts)
    select ${span}, at, metric, array_agg(count order by place)
    from (
      select date_trunc(${span}, m.at, 'UTC') as at, m.metric, place, sum(count)::integer as count
      from metric as m, unnest(m.counts) with ordinality as u (count, place)
      where m.span = ${span === 'hour' ? 'minute' : 'hour'}
        and m.at >= ${floorTo(span, from)} and m.at < ${ceilTo(span, until)}
      group by 1, 2, 3) as sums
    group by at, metric order by at, metric
    on conflict (span, at, metric) do update set counts = excluded.counts`
}

/** Counts one thing for each of the hours, from one whole hour to another. */
export async function fillHours(
  tx: Tx,
  { metrics, counts, from, until }: { metrics: readonly string[]; counts: Counts } & Range,
): Promise<void> {
  await tx`
    insert into metric (span, at, metric, counts)
    select 'hour', at, metric, ${arrayText(counts)}::integer[]
    from generate_series(${from}::timestamptz, ${until}::timestamptz - interval '1 hour',
        interval '1 hour') as at, unnest(${metrics}::text[]) as metric
    order by at, metric
    on conflict (span, at, metric) do nothing`
}

export type Range = { from: Date; until: Date }

export async function readMetrics(
  sql: Query,
  { span, from, until }: { span: Span } & Range,
): Promise<Metric[]> {
  return sql<Metric>`
    select at, metric, counts from metric
    where span = ${span} and at >= ${from} and at < ${until} order by at, metric`
}

/** The first minute from there on of which anything is written; undefined when there is none. */
export async function firstMinute(sql: Query, from: Date): Promise<Date | undefined> {
  const [first] = await sql<{ at: Date }>`
    select at from metric where span = 'minute' and at >= ${from} order by at limit 1`
  return first?.at
}

export type Progress = { begun_at: Date; until: Date }

/** Undefined before anything was measured. */
export async function readProgress(sql: Query): Promise<Progress | undefined> {
  const [progress] = await sql<Progress>`select begun_at, until from metric_progress`
  return progress
}

/** Takes the right to measure; undefined while another process has it. From the moment that is
 *  given on when nothing was measured yet. */
export async function takeProgress(tx: Tx, from: Date): Promise<Progress | undefined> {
  await tx`
    insert into metric_progress (begun_at, until) values (${from}, ${from}) on conflict do nothing`
  const [progress] = await tx<Progress>`
    select begun_at, until from metric_progress for update skip locked`
  return progress
}

export async function setProgress(tx: Tx, until: Date): Promise<void> {
  await tx`update metric_progress set until = ${until}`
}

/** For how many days what is so long is kept. */
export const KEPT_DAYS: Readonly<Record<Span, number>> = { minute: 14, hour: 400, day: 400 }
const AT_ONCE = 5_000

export function pruneMetricsStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  const before = (span: Span) => later(clock, -KEPT_DAYS[span] * SPAN_MS.day)
  return {
    name: 'prune_metrics',
    rest_ms: 3_600_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select where (select min(at) from metric where span = 'minute') < ${before('minute')}
        or (select min(at) from metric where span = 'hour') < ${before('hour')}
        or (select min(at) from metric where span = 'day') < ${before('day')}`,
    async run() {
      const gone = await sql`
        delete from metric where (span, at, metric) in (
          select span, at, metric from metric
          where span = 'minute' and at < ${before('minute')}
             or span = 'hour' and at < ${before('hour')}
             or span = 'day' and at < ${before('day')}
          limit ${AT_ONCE})
        returning 1`
      return gone.length > 0
    },
  }
}
