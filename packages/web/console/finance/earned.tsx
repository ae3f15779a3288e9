// Earnings of the last thirty days, day by day and by service.

import { Chart, type Series } from '../../shared/charts/chart.tsx'
import { Export } from '../../shared/files/export.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money, moneyText } from '../../shared/parts/money.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { count, named, nameIfKnown, say } from '../../shared/words/words.ts'
import { type Row, run, trx, useRun } from '../calls/calls.ts'

type ServiceDay = Row<'earnings list'>

const DAYS = 30
const DAY_MS = 86_400_000

export function Earned() {
  const earnings = useRun('earnings list', { days: DAYS })
  return (
    <Answer question={earnings} lines={10}>
      {(rows) =>
        rows.length === 0 ? (
          <section class="panel">
            <h2>{say('earned')}</h2>
            <p class="quiet">{say('earned.none')}</p>
          </section>
        ) : (
          <div class="panels">
            <ByDay rows={rows} />
            <ByService rows={rows} />
          </div>
        )
      }
    </Answer>
  )
}

const moneyOf = (sun: number) => `${moneyText(trx(sun))} TRX`

function ByDay({ rows }: { rows: readonly ServiceDay[] }) {
  const first_ms = Date.parse(rows.at(-1)!.day)
  const days = Math.max(2, Math.floor((Date.now() - first_ms) / DAY_MS) + 1)
  const begin_ms = Date.now() - (Date.now() % DAY_MS) - (days - 1) * DAY_MS
  const times = Array.from({ length: days }, (_, i) => new Date(begin_ms + i * DAY_MS))
  const earnedOn = (at: Date) =>
    rows
      .filter(({ day }) => day === at.toISOString().slice(0, 10))
      .reduce((sum, { earned_sun }) => sum + earned_sun, 0)
  const whole = rows.reduce((sum, { earned_sun }) => sum + earned_sun, 0)
  const series: Series[] = [
    { name: say('earned'), shape: 'bars', values: times.map(earnedOn), text: moneyOf },
  ]
  return (
    <Chart
      is_top
      title={say('earned')}
      sentence={say('earned.sentence', { sum: moneyOf(whole) })}
      times={times}
      series={series}
      axisText={(sun) => count(trx(sun))}
      days
    />
  )
}

const serviceText = (service: string) =>
  nameIfKnown('service', service) ?? named('purpose', service)

function ByService({ rows }: { rows: readonly ServiceDay[] }) {
  const services = [...Map.groupBy(rows, ({ service }) => service)].map(([service, own]) => ({
    service,
    charges: own.reduce((sum, { charges }) => sum + charges, 0),
    earned_sun: own.reduce((sum, { earned_sun }) => sum + earned_sun, 0),
  }))
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{say('earned.by_service')}</h2>
        <Export
          name="earned"
          pages={async function* () {
            yield await run('earnings list', { days: DAYS })
          }}
        />
      </div>
      <Table
        caption={say('earned.by_service')}
        rows={services.sort((one, other) => other.earned_sun - one.earned_sun)}
        keyOf={({ service }) => service}
        columns={[
          { title: say('service'), cell: ({ service }) => serviceText(service) },
          {
            title: say('earned.charges'),
            is_figure: true,
            cell: ({ charges }) => count(charges),
          },
          {
            title: say('earned'),
            is_figure: true,
            cell: ({ earned_sun }) => <Money trx={trx(earned_sun)} />,
          },
        ]}
      />
    </section>
  )
}
