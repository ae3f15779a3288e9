// The pool: what can be delivered now and in the coming day, and what each wallet has out.

import { Chart } from '../charts/chart.tsx'
import { scalesOf } from '../charts/scales.ts'
import { bandPath, linePath } from '../charts/shapes.ts'
import { trx, useRun } from '../console_calls/calls.ts'
import { Title } from '../frame/title.tsx'
import { Answer } from '../parts/answer.tsx'
import { Money } from '../parts/money.tsx'
import { Shape } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { path } from '../paths/console.ts'
import { count, named, say } from '../words/words.ts'

type Pool = {
  resources: { resource: string; room: number; reserved: number; free: number; out: number }[]
  wallets: Wallet[]
}
type Wallet = {
  address: string
  resource: string
  room_sun: number
  carries: number
  out_sun: number
  delegations: number
}
type Point = { resource: string; minutes: number; free: number; free_if_used: number }

const HOURS = 24
const MINUTE_MS = 60_000

export default function PoolPage() {
  const pool = useRun<Pool>(
    'pool show',
    {},
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  const forecast = useRun<Point[]>('pool forecast', { hours: HOURS })
  const now = forecast.answered_at.value
  return (
    <>
      <Title title={say('pool')} />
      <div class="stack">
        <Answer question={forecast} lines={10}>
          {(points) => (
            <section>
              <h2>{say('pool.coming')}</h2>
              <div class="panels">
                {[...Map.groupBy(points, ({ resource }) => resource)].map(([resource, own]) => (
                  <Forecast key={resource} resource={resource} points={own} now={now} />
                ))}
              </div>
            </section>
          )}
        </Answer>
        <Answer question={pool} lines={8}>
          {({ resources, wallets }) =>
            resources.length === 0 ? (
              <p>{say('pool.none')}</p>
            ) : (
              <>
                <Resources resources={resources} />
                <Wallets wallets={wallets} />
              </>
            )
          }
        </Answer>
      </div>
    </>
  )
}

type ForecastProps = { resource: string; points: readonly Point[]; now: number }

/** Between what is free if all that is out was used, and if nothing was. */
function Forecast({ resource, points, now }: ForecastProps) {
  const spans = points.map(({ minutes, free, free_if_used }) => ({
    at: new Date(now + minutes * MINUTE_MS),
    least: free_if_used,
    most: free,
  }))
  const scales = scalesOf(
    spans.map(({ at }) => at),
    spans.map(({ most }) => most),
  )
  const last = points.at(-1)!
  return (
    <Chart
      title={say('pool.forecast', { resource: named('resource', resource) })}
      sentence={say('pool.forecast.sentence', {
        now: points[0]!.free,
        least: last.free_if_used,
        most: last.free,
      })}
      scales={scales}
      columns={[say('pool.if_used'), say('pool.if_unused')]}
      readings={spans.map(({ at, least, most }) => ({ at, texts: [count(least), count(most)] }))}
    >
      <path class="band" d={bandPath(scales, spans)} />
      <path
        class="line"
        d={linePath(
          scales,
          spans.map(({ at, least }) => ({ at, value: least })),
        )}
      />
    </Chart>
  )
}

const Resources = ({ resources }: Pick<Pool, 'resources'>) => (
  <Table
    caption={say('pool.resources')}
    caption_shown
    keyOf={({ resource }) => resource}
    rows={resources}
    columns={[
      { title: say('resource'), cell: ({ resource }) => named('resource', resource) },
      { title: say('pool.room'), is_figure: true, cell: ({ room }) => count(room) },
      { title: say('pool.reserved'), is_figure: true, cell: ({ reserved }) => count(reserved) },
      { title: say('pool.free'), is_figure: true, cell: ({ free }) => count(free) },
      { title: say('pool.out'), is_figure: true, cell: ({ out }) => count(out) },
    ]}
  />
)

/** Those first that cannot pay for another transaction. */
const Wallets = ({ wallets }: Pick<Pool, 'wallets'>) => (
  <Table
    caption={say('pool.wallets')}
    caption_shown
    keyOf={({ address, resource }) => `${address} ${resource}`}
    rows={wallets.toSorted((one, other) => one.carries - other.carries)}
    columns={[
      {
        title: say('wallet'),
        cell: ({ address }) => (
          <a href={path.wallet(address)}>
            <code>{address}</code>
          </a>
        ),
      },
      { title: say('resource'), cell: ({ resource }) => named('resource', resource) },
      {
        title: say('pool.largest'),
        is_figure: true,
        cell: ({ room_sun }) => <Money trx={trx(room_sun)} />,
      },
      {
        title: say('pool.out'),
        is_figure: true,
        cell: ({ out_sun }) => <Money trx={trx(out_sun)} />,
      },
      {
        title: say('pool.delegations'),
        is_figure: true,
        cell: ({ delegations }) => count(delegations),
      },
      {
        title: say('pool.carries'),
        is_figure: true,
        cell: ({ carries }) => (
          <>
            <Shape mark={carries > 0 ? 'done' : 'failed'} /> {count(carries)}
          </>
        ),
      },
    ]}
  />
)
