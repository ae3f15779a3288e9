// What was there and what was spent, over thirty days; by the hour for who has begun a moment ago:
// a month of nothing and a last day say nothing.

import type { Result } from 'penstock-sdk'
import type { LiveEvent } from '../../shared/calls/live.ts'
import { type Question, useQuestion } from '../../shared/calls/question.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { rounded, scalesOf } from '../../shared/charts/scales.ts'
import { barsOf, linePath } from '../../shared/charts/shapes.ts'
import { moneyText, sumOf } from '../../shared/parts/money.tsx'
import { dayText } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'

export type Bucket = Result<'/v1/summary'>['buckets'][number]
export type Summary = {
  days: Question<Result<'/v1/summary'>>
  /** What there is to draw, from the first that has something in it. */
  drawn: { buckets: readonly Bucket[]; by_hour: boolean }
}

/** Money moved, or something was delivered. */
const concernsMoney = ({ type }: LiveEvent) =>
  /^(order|deposit|subscription|aml_check)\./.test(type)
export function patchByMoney<Known>(known: Known, event: LiveEvent): Known | 'again' {
  return concernsMoney(event) ? 'again' : known
}

/** With fewer days the hours are drawn. */
const DAYS_MIN = 3

/** Without those before anything had happened. */
function sinceFirst(buckets: readonly Bucket[]): readonly Bucket[] {
  const first = buckets.findIndex(
    ({ balance, deposited, spent }) => balance !== 0 || deposited !== 0 || spent !== 0,
  )
  return first < 0 ? [] : buckets.slice(first)
}

export function useSummary(): Summary {
  const days = useQuestion('/v1/summary', {}, { patch: patchByMoney })
  const lived = sinceFirst(days.answer.value?.buckets ?? [])
  const is_short = lived.length > 0 && lived.length < DAYS_MIN
  const since = lived[0]?.at
  const hours = useQuestion(
    '/v1/summary',
    { bucket: 'hour', ...(since !== undefined && { since }) },
    { patch: patchByMoney, off: !is_short },
  )
  // Until the hours are there, the days say what is true.
  const known = is_short ? hours.answer.value?.buckets : undefined
  const buckets = known === undefined ? lived : sinceFirst(known)
  return { days, drawn: { buckets, by_hour: known !== undefined } }
}

type ChartData = Summary['drawn']

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

/** What was there at the end of each day; deposits are marked. */
export function BalanceChart({ buckets, by_hour }: ChartData) {
  const points = buckets.map(({ at, balance }) => ({ at: new Date(at), value: balance }))
  const scales = scalesOf(
    points.map(({ at }) => at),
    points.map(({ value }) => value),
  )
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || points.length < DRAWN_MIN)
    return (
      <NoChart
        title={say('home.balance')}
        sentence={
          last ? say('home.balance.now', { sum: trx(last.value) }) : say('home.balance.nothing')
        }
      />
    )
  const marked = buckets.filter(({ deposited }) => deposited > 0)
  return (
    <Chart
      title={say('home.balance')}
      sentence={say('home.balance.sentence', { from: trx(first.value), to: trx(last.value) })}
      scales={scales}
      days={!by_hour}
      columns={[say('home.balance.column'), say('home.deposited')]}
      readings={buckets.map(({ at, balance, deposited }) => ({
        at: new Date(at),
        texts: [trx(balance), trx(deposited)],
      }))}
    >
      <path class="line" d={linePath(scales, points, { steps: true })} />
      {marked.map(({ at, balance }) => (
        <circle
          key={at}
          class="bar"
          cx={rounded(scales.across(new Date(at)))}
          cy={rounded(scales.up(balance))}
          r={4}
        />
      ))}
    </Chart>
  )
}

/** What was spent on each day. */
export function SpentChart({ buckets, by_hour }: ChartData) {
  const points = buckets.map(({ at, spent }) => ({ at: new Date(at), value: spent }))
  const scales = scalesOf(
    points.map(({ at }) => at),
    points.map(({ value }) => value),
  )
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
  if (!most || points.length < DRAWN_MIN)
    return <NoChart title={say('home.spent')} sentence={sentence} />
  return (
    <Chart
      title={say('home.spent')}
      sentence={sentence}
      scales={scales}
      days={!by_hour}
      columns={[say('home.spent.column'), say('home.energy'), say('orders')]}
      readings={buckets.map(({ at, spent, energy, orders }) => ({
        at: new Date(at),
        texts: [trx(spent), count(energy), count(orders)],
      }))}
    >
      {barsOf(scales, points).map((bar) => (
        <rect key={bar.x} class="bar" {...bar} />
      ))}
    </Chart>
  )
}
