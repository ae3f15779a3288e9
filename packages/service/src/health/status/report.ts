// What everybody is told: how each part of the service does now, how it did in the last days, how
// long things took, what can be bought, and what the operator says. Made at most every fifteen
// seconds, however many ask.

import { type Static, Type } from 'typebox'
import { type Clock, dayOf, wireTime } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import { money } from '../../lib/json.ts'
import { printEnergyTier } from '../../market/orders/forms.ts'
import type { Prices } from '../../market/prices/prices.ts'
import { largestOrders } from '../../market/quotes/forecast.ts'
import type { Query, Sql } from '../../platform/database/sql.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { BOUNDS_MS, type Counts, FAILED, percentile, sum, total } from '../uptime/histograms.ts'
import { measureMinutes, stateMetric } from '../uptime/measuring.ts'
import {
  floorTo,
  type Metric,
  type Range,
  readMetrics,
  readProgress,
  SPAN_MS,
} from '../uptime/metrics.ts'
import { LATENCIES, PARTS, RULES, STATES, type State } from '../uptime/states.ts'
import { type Incident, readStatusPage, recentIncidents } from './incidents.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  prices: () => Promise<Prices>
  network(): Promise<string | undefined>
  /** What 1000 energy cost that are burned for, in sun; undefined: the chain has not said. */
  burnPrice(): Promise<bigint | undefined>
}

/** Days that are shown, today included. */
const DAYS = 90
const INCIDENTS_MAX = 20
/** Longer unmeasured than this is not measured for whoever asks: nobody was there. */
const UNMEASURED_MS_MAX = 3_600_000
const FRESH_MS = 15_000
const WAITS_MS_MAX = 2_000
/** Keeps showing the last known state for this long. */
const HOLDS_MS = 60_000

const StateForm = Type.Enum([...STATES])
const Milliseconds = Type.Union([Type.Integer(), Type.Null()], {
  description: 'The bound below which so many lie; null when there are none, or beyond an hour',
})
const Quantiles = {
  samples: Type.Integer(),
  failed: Type.Integer({ description: 'Of them; later than every other' }),
  p50_ms: Milliseconds,
  p95_ms: Milliseconds,
  p99_ms: Milliseconds,
}
const Day = { day: Type.String({ description: 'In UTC' }) }

export const StatusForm = Type.Object({
  at: Type.String(),
  begun_at: Type.Union([Type.String(), Type.Null()], {
    description: 'Nothing is known of the time before',
  }),
  network: Type.Union([Type.String(), Type.Null()]),
  parts: Type.Array(
    Type.Object({
      part: Type.Enum([...PARTS]),
      state: StateForm,
      slow_from_ms: Type.Integer(),
      waits_ms_max: Type.Union([Type.Integer(), Type.Null()]),
      days: Type.Array(
        Type.Object({
          ...Day,
          up: Type.Integer({ description: 'Minutes' }),
          slow: Type.Integer(),
          down: Type.Integer(),
        }),
      ),
    }),
  ),
  latencies: Type.Array(
    Type.Object({
      latency: Type.Enum([...LATENCIES]),
      days: Type.Array(Type.Object({ ...Day, ...Quantiles })),
      today: Type.Object({
        ...Quantiles,
        buckets: Type.Array(Type.Integer(), {
          description: 'Samples of today below each bound of `bounds_ms`, beyond them, and failed',
        }),
      }),
    }),
  ),
  bounds_ms: Type.Array(Type.Integer()),
  pool: Type.Union(
    [
      Type.Array(
        Type.Object({
          resource: Type.String(),
          largest_order: Type.Integer({ description: 'Delivered now; rounded down to two digits' }),
        }),
      ),
      Type.Null(),
    ],
    { description: 'Null: the operator does not show it' },
  ),
  recharge: Type.Union(
    [
      Type.Array(
        Type.Object({
          min_energy: Type.Integer(),
          max_energy: Type.Integer(),
          price: Money({ description: 'TRX for 1000 energy' }),
        }),
      ),
      Type.Null(),
    ],
    { description: 'Rates of direct recharge; null when it is off sale or they are not shown' },
  ),
  burning: Type.Union([Money({ description: 'TRX for 1000 energy' }), Type.Null()], {
    description:
      'What the chain burns instead, by one who has no energy; null when it has not said, or ' +
      'prices are not shown',
  }),
  incidents: Type.Array(
    Type.Object({
      id: Type.String(),
      title: Type.String(),
      what: Type.String(),
      parts: Type.Array(Type.String()),
      began_at: Type.String(),
      closed_at: Type.Union([Type.String(), Type.Null()]),
      outcome: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})
export type Status = Static<typeof StatusForm>
export type PartStatus = Status['parts'][number]
export type LatencyStatus = Status['latencies'][number]

type ReaderNeeds = Needs & { wait(ms: number): Promise<void> }

/** Reads the status, and keeps it for a while. Those who ask meanwhile wait for one reading, and
 *  not for long: while the database does not answer, what was read last is told. Throws Outage when
 *  nothing was. */
export function statusReader(needs: ReaderNeeds): () => Promise<Status> {
  let last: Status | undefined
  let reading: Promise<Status> | undefined
  let kept: { status: Promise<Status>; at_ms: number } | undefined
  async function read(): Promise<Status> {
    const status = await readStatus(needs)
    last = status
    // Who asks from now on is told this, even where somebody was just told what was so before.
    kept = { status: Promise.resolve(status), at_ms: needs.clock.now().getTime() }
    return status
  }
  function ask(now: Date): Promise<Status> {
    reading ??= read().finally(() => {
      reading = undefined
    })
    if (!last) return reading
    const known = unread(last, now)
    const read_now = reading.catch((thrown: unknown) => {
      if (thrown instanceof Outage) return known
      throw thrown
    })
    return Promise.race([read_now, needs.wait(WAITS_MS_MAX).then(() => known)])
  }
  return () => {
    const now = needs.clock.now()
    const now_ms = now.getTime()
    if (kept && Math.abs(now_ms - kept.at_ms) < FRESH_MS) return kept.status
    const one = { status: ask(now), at_ms: now_ms }
    kept = one
    // What failed is read again by the next who asks.
    one.status.catch(() => {
      if (kept === one) kept = undefined
    })
    return one.status
  }
}

/** What is said now of what was read last: without the database nothing goes. */
function unread(last: Status, now: Date): Status {
  if (now.getTime() - Date.parse(last.at) < HOLDS_MS) return last
  const parts = last.parts.map((part) => ({ ...part, state: 'down' as const }))
  return { ...last, at: wireTime(now), parts }
}

/** What is so now, read anew. */
async function readStatus(needs: Needs): Promise<Status> {
  const { sql, clock, prices, network, burnPrice } = needs
  const now = clock.now()
  const since = new Date(floorTo('day', now).getTime() - (DAYS - 1) * SPAN_MS.day)
  const [offered, name, burned_sun] = await Promise.all([prices(), network(), burnPrice()])
  // By one connection: whoever asks now and then would wait for several to be opened.
  const { progress, settings, incidents, measured, pool } = await sql.begin(async (tx) => {
    const [progress, settings, incidents, pool] = await Promise.all([
      readProgress(tx),
      readStatusPage(tx),
      recentIncidents(tx, { since, limit: INCIDENTS_MAX }),
      largestOrders(tx, offered),
    ])
    const { begun_at, until = now } = progress ?? {}
    const measured = await metricsSince(tx, { since, begun_at, until, now })
    return { progress, settings, incidents, measured, pool }
  })
  const days = Array.from({ length: DAYS }, (_, i) => new Date(since.getTime() + i * SPAN_MS.day))
  return {
    at: wireTime(now),
    begun_at: progress ? wireTime(progress.begun_at) : null,
    network: name ?? null,
    parts: PARTS.map((part) => ({
      part,
      state: measured.stateNow(stateMetric(part)),
      slow_from_ms: RULES[part].slow_ms,
      waits_ms_max: RULES[part].late_ms ?? null,
      days: days.map((day) => {
        const [up = 0, slow = 0, down = 0] = measured.of(stateMetric(part), day)
        return { day: dayOf(day), up, slow, down }
      }),
    })),
    latencies: LATENCIES.map((latency) => {
      const today = measured.of(latency, days.at(-1)!)
      return {
        latency,
        days: days.map((day) => ({ day: dayOf(day), ...quantiles(measured.of(latency, day)) })),
        today: { ...quantiles(today), buckets: today },
      }
    }),
    bounds_ms: [...BOUNDS_MS],
    pool: settings.pool_shown ? pool : null,
    recharge: settings.prices_shown ? rechargeRates(offered) : null,
    burning: settings.prices_shown && burned_sun !== undefined ? money(burned_sun) : null,
    incidents: incidents.map(printIncident),
  }
}

/** What was measured, by day; what was not yet is measured for the answer. */
async function metricsSince(
  sql: Query,
  wanted: { since: Date; begun_at: Date | undefined; until: Date; now: Date },
): Promise<{ of(metric: string, day: Date): number[]; stateNow(metric: string): State }> {
  const { since, begun_at, until, now } = wanted
  const last = floorTo('minute', now)
  const from = new Date(Math.max(until.getTime(), last.getTime() - UNMEASURED_MS_MAX))
  const newest = new Date(last.getTime() - SPAN_MS.minute)
  const [days, minutes] = await Promise.all([
    readMetrics(sql, { span: 'day', from: since, until: now }),
    measureMinutes(sql, { from: from < newest ? from : newest, until: last }),
  ])
  const fresh = minutes.filter(({ at }) => at >= from)
  const gone = downMinutes({ from: until, until: from })
  const key = (metric: string, at: Date) => `${metric} ${dayOf(at)}`
  const by_day = Map.groupBy([...days, ...gone, ...fresh], ({ metric, at }) => key(metric, at))
  return {
    of: (metric, day) => sum((by_day.get(key(metric, day)) ?? []).map(({ counts }) => counts)),
    stateNow(metric) {
      // In its first minute nothing is known of the service but that it answers.
      if (begun_at && begun_at > newest) return 'up'
      const counts = minutes.find((one) => one.metric === metric && one.at >= newest)?.counts ?? []
      return STATES[counts.indexOf(1)] ?? 'down'
    },
  }
}

/** Every part was down in all of these minutes, day by day. */
function downMinutes({ from, until }: Range): Metric[] {
  const found: Metric[] = []
  for (let at = from; at < until; ) {
    const next_day = floorTo('day', at).getTime() + SPAN_MS.day
    const end = new Date(Math.min(next_day, until.getTime()))
    const minutes = (end.getTime() - at.getTime()) / SPAN_MS.minute
    const counts = STATES.map((state) => (state === 'down' ? minutes : 0))
    for (const part of PARTS) found.push({ at, metric: stateMetric(part), counts })
    at = end
  }
  return found
}

function quantiles(counts: Counts) {
  const of = (share: number) => {
    const ms = percentile(counts, share)
    return ms === undefined || ms === Number.POSITIVE_INFINITY ? null : ms
  }
  return {
    samples: total(counts),
    failed: counts[FAILED] ?? 0,
    p50_ms: of(0.5),
    p95_ms: of(0.95),
    p99_ms: of(0.99),
  }
}

function rechargeRates({ tiers, on_sale }: Prices): Status['recharge'] {
  if (!on_sale.has('direct_recharge')) return null
  return tiers
    .filter(({ resource }) => resource === 'energy')
    .map(printEnergyTier)
    .map(({ min_energy, max_energy, price }) => ({ min_energy, max_energy, price }))
}

const printIncident = (incident: Incident): Status['incidents'][number] => {
  const { id, title, what, parts, began_at, closed_at, outcome } = incident
  return {
    id,
    title,
    what,
    parts,
    began_at: wireTime(began_at),
    closed_at: closed_at && wireTime(closed_at),
    outcome,
  }
}
