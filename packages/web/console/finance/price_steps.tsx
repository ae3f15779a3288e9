// The prices of energy over time: a step for each change, and what burning costs now.

import { Chart, type Series } from '../../shared/charts/chart.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { moneyText } from '../../shared/parts/money.tsx'
import { say } from '../../shared/words/words.ts'
import { type Row, trx, useRun } from '../calls/calls.ts'
import { rangeText, type Tier } from './price_change.tsx'

type Price = Row<'prices history'>

const LIMIT = 200
/** Each with a pattern of its own. */
const TONES = [undefined, 'second', 'third'] as const

type StepsProps = { tiers: readonly Tier[] | undefined; burning_sun: number | null }

export function PriceSteps({ tiers = [], burning_sun }: StepsProps) {
  const newest = Math.max(0, ...tiers.map(({ since }) => Date.parse(since)))
  const history = useRun('prices history', { resource: 'energy', limit: LIMIT })
  return (
    <Answer question={history} lines={8}>
      {(rows) => <Steps key={newest} rows={rows} burning_sun={burning_sun} />}
    </Answer>
  )
}

function Steps({ rows, burning_sun }: { rows: readonly Price[]; burning_sun: number | null }) {
  const changes = [...new Set(rows.map(({ since }) => since))].sort()
  const [first] = changes
  if (first === undefined || changes.length < 2)
    return (
      <section class="panel">
        <h2>{say('prices.steps')}</h2>
        <p class="quiet">{say('prices.never_changed')}</p>
      </section>
    )
  const times = [...changes.map((at) => new Date(at)), new Date()]
  const ranges = [...Map.groupBy(rows, rangeText)].slice(0, TONES.length)
  const at = (own: readonly Price[], time: Date): number | null =>
    own.find(
      ({ since, until }) =>
        Date.parse(since) <= time.getTime() &&
        (until === null || Date.parse(until) > time.getTime()),
    )?.price_sun ?? null
  const money = (sun: number) => `${moneyText(trx(sun))} TRX`
  const series: Series[] = ranges.map(([name, own], i) => ({
    name,
    shape: 'steps',
    ...(TONES[i] && { tone: TONES[i] }),
    values: times.map((time) => at(own, time)),
    text: money,
  }))
  if (burning_sun !== null)
    series.push({
      name: say('prices.burn_line'),
      shape: 'line',
      tone: 'limit',
      values: times.map(() => burning_sun),
      text: money,
    })
  return (
    <Chart
      is_top
      title={say('prices.steps')}
      sentence={say('prices.steps.sentence', { n: changes.length })}
      times={times}
      series={series}
      axisText={(sun) => moneyText(trx(sun))}
    />
  )
}
