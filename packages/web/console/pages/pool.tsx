// The pool: what can be delivered now and in the coming day, and what each wallet has out.

import { Chart } from '../../shared/charts/chart.tsx'
import { rounded } from '../../shared/charts/scales.ts'
import { crossingBelow, type Point } from '../../shared/charts/shapes.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { clockText } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { type Reply, type Row, trx, useRun } from '../calls/calls.ts'
import { Costs } from './pool_costs.tsx'

type Pool = Reply<'pool show'>
type ForecastPoint = Row<'pool forecast'>

const HOURS = 24
const MINUTE_MS = 60_000

export default function PoolPage() {
  const pool = useRun(
    'pool show',
    {},
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  const forecast = useRun('pool forecast', { hours: HOURS })
  const now = forecast.answered_at.value
  return (
    <>
      <Title title={say('pool')} />
      <div class="stack">
        <Answer question={forecast} lines={10}>
          {(points) => (
            <section class="stack">
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
        <Costs />
      </div>
    </>
  )
}

type ForecastProps = { resource: string; points: readonly ForecastPoint[]; now: number }

/** Between what is free if all that is out was used, and if nothing was; with what was sold in such
 *  hours, and from when on there could be too little for an order. */
function Forecast({ resource, points, now }: ForecastProps) {
  const times = points.map(({ minutes }) => new Date(now + minutes * MINUTE_MS))
  const last = points.at(-1)!
  const { least_order } = last
  const enough = least_order ?? 1
  const least = points.map(({ free_if_used }) => free_if_used)
  const floor = times.map((at, i) => ({ at, value: least[i]! }))
  const short = crossingBelow(floor, enough)
  return (
    <Chart
      title={say('pool.forecast', { resource: named('resource', resource) })}
      sentence={[
        say('pool.forecast.sentence', {
          now: points[0]!.free,
          least: last.free_if_used,
          most: last.free,
        }),
        shortText(short, { now, enough }),
      ].join(' ')}
      times={times}
      series={[
        { name: say('pool.if_used'), shape: 'line', values: least },
        {
          name: say('pool.if_unused'),
          shape: 'band',
          values: points.map(({ free }) => free),
          least,
        },
        {
          name: say('pool.most_sold'),
          shape: 'steps',
          tone: 'second',
          values: points.map(({ most_sold }) => most_sold),
        },
        ...(least_order === null
          ? []
          : [
              {
                name: say('pool.least_order'),
                shape: 'line' as const,
                tone: 'third' as const,
                values: points.map(() => least_order),
              },
            ]),
      ]}
    >
      {(scales) =>
        short && (
          <circle
            class="crossing"
            cx={rounded(scales.across(short.at))}
            cy={rounded(scales.up(short.value))}
            r="4"
          />
        )
      }
    </Chart>
  )
}

/** When there could be too little for an order. */
function shortText(short: Point | undefined, at: { now: number; enough: number }): string {
  const { enough: units } = at
  if (!short) return say('pool.not_short', { units })
  return short.at.getTime() === at.now
    ? say('pool.short_now', { units })
    : say('pool.short', { at: clockText(short.at), units })
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
