// Orders and spending of customers, and times of delivery, over a day, a week or a month.

import { Chart } from '../../shared/charts/chart.tsx'
import { RANGES, type Range, Ranges } from '../../shared/charts/ranges.tsx'
import { moneyText } from '../../shared/parts/money.tsx'
import { spanText } from '../../shared/words/span.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Row, trx, useRun } from '../calls/calls.ts'

export type PastFigures = Row<'figures history'>

const BODIES: Record<Range, { last: number; days?: boolean }> = {
  '24h': { last: 24 },
  '7d': { last: 168 },
  '30d': { last: 30, days: true },
}

type History = { past: readonly PastFigures[]; range: Range }

/** Of the last day, unless another range is chosen, from the first hour that has something. */
export function useHistory(chosen: string | undefined): History {
  const range = RANGES.find((one) => one === chosen) ?? '24h'
  const { answer } = useRun('figures history', BODIES[range], { patch: askedEachMinute() })
  const all = answer.value ?? []
  const first = all.findIndex(({ orders, spent_sun }) => orders > 0 || spent_sun > 0)
  // One more before it: a course begins somewhere.
  return { past: first < 0 ? [] : all.slice(Math.max(0, first - 1)), range }
}

const MINUTE_MS = 60_000

/** A tick comes every few seconds: hours change less often. */
function askedEachMinute() {
  let asked_ms = Date.now()
  return <Known,>(known: Known, { type }: { type: string }): Known | 'again' => {
    if (type !== 'tick' || Date.now() - asked_ms < MINUTE_MS) return known
    asked_ms = Date.now()
    return 'again'
  }
}

export function Course({ past, range }: History) {
  if (past.length < 2) return <p class="quiet">{say('now.no_course')}</p>
  const shared = { past, times: past.map(({ at }) => new Date(at)), days: range === '30d' }
  return (
    <section class="stack" aria-label={say('now.course')}>
      <div class="panel-head">
        <h2>{say('now.course')}</h2>
        <Ranges range={range} />
      </div>
      <div class="panels">
        <Volume {...shared} />
        <Success {...shared} />
        <Took {...shared} />
        <Spent {...shared} />
      </div>
    </section>
  )
}

type PastProps = { past: History['past']; times: readonly Date[]; days: boolean }

function Volume({ past, ...shared }: PastProps) {
  const orders = past.reduce((sum, one) => sum + one.orders, 0)
  const failed = past.reduce((sum, one) => sum + one.failed, 0)
  return (
    <Chart
      {...shared}
      title={say('now.volume')}
      sentence={say('now.volume.sentence', { orders, failed })}
      series={[
        {
          name: say('now.volume.ended'),
          shape: 'bars',
          values: past.map(({ orders }) => orders),
        },
        {
          name: say('now.volume.failed'),
          shape: 'none',
          values: past.map(({ failed }) => failed),
        },
      ]}
    />
  )
}

/** Of the orders that ended. Left out while there is no line to draw. */
function Success({ past, ...shared }: PastProps) {
  const shares = past.map(({ succeeded, failed }) =>
    succeeded + failed === 0 ? null : (100 * succeeded) / (succeeded + failed),
  )
  if (shares.filter((one) => one !== null).length < 2) return null
  const succeeded = past.reduce((sum, one) => sum + one.succeeded, 0)
  const failed = past.reduce((sum, one) => sum + one.failed, 0)
  const share = (100 * succeeded) / (succeeded + failed)
  return (
    <Chart
      {...shared}
      title={say('now.success')}
      sentence={say('now.success.sentence', { share: shareText(share) })}
      axisText={shareText}
      series={[{ name: say('now.success'), shape: 'line', values: shares, text: shareText }]}
    />
  )
}

/** Never rounded up to all of them. */
const shareText = (percent: number): string => `${Math.floor(100 * percent) / 100}%`

/** Left out while there is no line to draw. */
function Took({ past, ...shared }: PastProps) {
  if (past.filter(({ block_p95_ms }) => block_p95_ms !== null).length < 2) return null
  const slowest = Math.max(0, ...past.map(({ block_p95_ms }) => block_p95_ms ?? 0))
  return (
    <Chart
      {...shared}
      title={say('now.took')}
      sentence={say('now.took.sentence', { span: spanText(slowest) })}
      axisText={spanText}
      series={[
        {
          name: say('now.took.half'),
          shape: 'line',
          values: past.map(({ block_p50_ms }) => block_p50_ms),
          text: spanText,
        },
        {
          name: say('now.took.most'),
          shape: 'line',
          tone: 'second',
          values: past.map(({ block_p95_ms }) => block_p95_ms),
          text: spanText,
        },
      ]}
    />
  )
}

function Spent({ past, ...shared }: PastProps) {
  const money = (sun: number) => `${moneyText(trx(sun))} TRX`
  const spent = past.reduce((sum, { spent_sun }) => sum + spent_sun, 0)
  return (
    <Chart
      {...shared}
      title={say('now.spent')}
      sentence={say('now.spent.sentence', { sum: money(spent) })}
      axisText={(sun) => count(trx(sun))}
      series={[
        {
          name: say('now.spent'),
          shape: 'bars',
          values: past.map(({ spent_sun }) => spent_sun),
          text: money,
        },
      ]}
    />
  )
}
