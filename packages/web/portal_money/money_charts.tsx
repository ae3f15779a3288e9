// What was there and what was spent, over thirty days.

import { Chart } from '../charts/chart.tsx'
import { rounded, scalesOf } from '../charts/scales.ts'
import { barsOf, linePath } from '../charts/shapes.ts'
import { moneyText, sumOf } from '../parts/money.tsx'
import { dayText } from '../parts/time.tsx'
import { count, say } from '../words/words.ts'
import type { Bucket, Summary } from './summary.ts'

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
