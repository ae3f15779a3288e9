// Balance and spending over a day, a week or thirty days; by the hour for who has
// begun a moment ago: a month of nothing and a last day say nothing.

import type { Result } from 'penstock-sdk'
import { useMemo } from 'preact/hooks'
import type { LiveEvent } from '../../shared/calls/live.ts'
import { type Question, useQuestion } from '../../shared/calls/question.ts'
import { Chart, type ChartProps } from '../../shared/charts/chart.tsx'
import { RANGES, type Range } from '../../shared/charts/ranges.tsx'
import { moneyText, sumOf } from '../../shared/parts/money.tsx'
import { dayText } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'

export type Bucket = Result<'/v1/summary'>['buckets'][number]
export type Summary = {
  /** Since the first day of the month before. */
  days: Question<Result<'/v1/summary'>>
  /** What there is to draw, from the first that has something in it. */
  drawn: { buckets: readonly Bucket[]; by_hour: boolean }
  range: Range
}

/** Money moved, or something was delivered. */
const concernsMoney = ({ type }: LiveEvent) =>
  /^(order|deposit|subscription|aml_check)\./.test(type)
export function patchByMoney<Known>(known: Known, event: LiveEvent): Known | 'again' {
  return concernsMoney(event) ? 'again' : known
}

const DAY_MS = 86_400_000
const RANGE_DAYS: Record<Range, number> = { '24h': 1, '7d': 7, '30d': 30 }
/** With fewer days the hours are drawn. */
const DAYS_MIN = 3

/** Without those before anything had happened. */
function sinceFirst(buckets: readonly Bucket[]): readonly Bucket[] {
  const first = buckets.findIndex(
    ({ balance, deposited, spent }) => balance !== 0 || deposited !== 0 || spent !== 0,
  )
  return first < 0 ? [] : buckets.slice(first)
}

/** The first day of the month before this one, in UTC. */
function lastMonth(): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString()
}

/** The buckets that lie within the range, the newest at the end. */
const within = (buckets: readonly Bucket[], range: Range) => {
  const from_ms = Date.now() - RANGE_DAYS[range] * DAY_MS
  return buckets.filter(({ at }) => new Date(at).getTime() > from_ms)
}

/** `chosen`: the range; what is right for how long the customer has been here, when left out. */
export function useSummary(chosen: string | undefined): Summary {
  const since = useMemo(lastMonth, [])
  const days = useQuestion('/v1/summary', { since }, { patch: patchByMoney })
  const lived = sinceFirst(days.answer.value?.buckets ?? [])
  const is_short = lived.length > 0 && lived.length < DAYS_MIN
  const range = RANGES.find((one) => one === chosen) ?? (is_short ? '24h' : '30d')
  const from = useMemo(
    () => new Date(Date.now() - RANGE_DAYS[range] * DAY_MS).toISOString(),
    [range],
  )
  const hours = useQuestion(
    '/v1/summary',
    { bucket: 'hour', since: from },
    { patch: patchByMoney, off: range === '30d' || lived.length === 0 },
  )
  // Until the hours are there, the days say what is true.
  const known = range === '30d' ? undefined : hours.answer.value?.buckets
  const buckets = known === undefined ? within(lived, range) : sinceFirst(within(known, range))
  return { days, drawn: { buckets, by_hour: known !== undefined }, range }
}

type ChartData = Summary['drawn'] & Pick<ChartProps, 'actions'>

const trx = (sum: number) => `${moneyText(sum)} TRX`

/** One bucket alone is no chart. */
const DRAWN_MIN = 2

/** Where there is nothing to draw: no axes around nothing. */
const NoChart = ({ title, sentence }: { title: string; sentence: string }) => (
  <section class="panel">
    <h3>{title}</h3>
    <p class="quiet">{sentence}</p>
  </section>
)

const timesOf = (buckets: readonly Bucket[]) => buckets.map(({ at }) => new Date(at))

/** The balance at the end of each day or hour; deposits are marked. */
export function BalanceChart({ buckets, by_hour, actions }: ChartData) {
  const [first, last] = [buckets[0], buckets.at(-1)]
  if (!first || !last || buckets.length < DRAWN_MIN)
    return (
      <NoChart
        title={say('home.balance')}
        sentence={
          last ? say('home.balance.now', { sum: trx(last.balance) }) : say('home.balance.nothing')
        }
      />
    )
  return (
    <Chart
      title={say('home.balance')}
      sentence={say('home.balance.sentence', { from: trx(first.balance), to: trx(last.balance) })}
      actions={actions}
      is_top={actions !== undefined}
      times={timesOf(buckets)}
      days={!by_hour}
      series={[
        {
          name: say('home.balance.column'),
          shape: 'area',
          values: buckets.map(({ balance }) => balance),
          text: trx,
        },
        {
          name: say('home.deposited'),
          shape: 'dots',
          values: buckets.map(({ deposited }) => deposited),
          text: trx,
        },
      ]}
    />
  )
}

/** Spending on each day or hour. */
export function SpentChart({ buckets, by_hour }: ChartData) {
  const most = buckets.reduce<Bucket | undefined>(
    (top, one) => (one.spent > (top?.spent ?? 0) ? one : top),
    undefined,
  )
  const whole = sumOf(buckets.map(({ spent }) => spent))
  const day = most && dayText(new Date(most.at))
  const sentence =
    day === undefined
      ? say('home.spent.nothing')
      : say('home.spent.sentence', { sum: trx(whole), day })
  if (!most || buckets.length < DRAWN_MIN)
    return <NoChart title={say('home.spent')} sentence={sentence} />
  return (
    <Chart
      title={say('home.spent')}
      sentence={sentence}
      times={timesOf(buckets)}
      days={!by_hour}
      series={[
        {
          name: say('home.spent.column'),
          shape: 'bars',
          values: buckets.map(({ spent }) => spent),
          text: trx,
        },
        {
          name: say('home.energy'),
          shape: 'none',
          values: buckets.map(({ energy }) => energy),
          text: count,
        },
        {
          name: say('orders'),
          shape: 'none',
          values: buckets.map(({ orders }) => orders),
          text: count,
        },
      ]}
    />
  )
}
