// What was there and what was spent, over thirty days.

import type { Result } from 'penstock-sdk'
import { Chart } from '../charts/chart.tsx'
import { rounded, scalesOf } from '../charts/scales.ts'
import { barsOf, linePath } from '../charts/shapes.ts'
import { moneyText, sumOf } from '../parts/money.tsx'
import { dayText } from '../parts/time.tsx'
import { count, say } from '../words/words.ts'

type Bucket = Result<'/v1/summary'>['buckets'][number]
type ChartData = { buckets: readonly Bucket[] }

const trx = (sum: number) => `${moneyText(sum)} TRX`

/** What was there at the end of each day; deposits are marked. */
export function BalanceChart({ buckets }: ChartData) {
  const points = buckets.map(({ at, balance }) => ({ at: new Date(at), value: balance }))
  const scales = scalesOf(
    points.map(({ at }) => at),
    points.map(({ value }) => value),
  )
  const [first, last] = [points[0], points.at(-1)]
  const marked = buckets.filter(({ deposited }) => deposited > 0)
  return (
    <Chart
      title={say('home.balance')}
      sentence={
        first && last
          ? say('home.balance.sentence', { from: trx(first.value), to: trx(last.value) })
          : ''
      }
      scales={scales}
      days
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
export function SpentChart({ buckets }: ChartData) {
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
  return (
    <Chart
      title={say('home.spent')}
      sentence={
        most
          ? say('home.spent.sentence', { sum: trx(whole), day: dayText(new Date(most.at)) })
          : say('home.spent.nothing')
      }
      scales={scales}
      days
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
