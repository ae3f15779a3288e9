// The first page: whether it is healthy, what a person should look at, and six figures.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { isAhead, lagText, spanText } from '../../shared/words/span.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { mayChange, trx } from '../calls/calls.ts'
import { type Alert, type Figures, useFigures } from '../calls/figures.ts'
import { Reason } from '../calls/reason.tsx'
import { Processes } from './processes.tsx'

export default function Now() {
  const figures = useFigures()
  return (
    <>
      <Title title={say('now')} />
      <Answer question={figures} lines={10}>
        {(known) => (
          <div class="stack">
            <Sentence {...known} />
            {known.alerts.length > 0 && (
              <Alerts alerts={known.alerts} again={() => void figures.again()} />
            )}
            <Facts facts={factsOf(known)} />
            <Processes />
          </div>
        )}
      </Answer>
    </>
  )
}

function Sentence({ off_sale, signing_stopped, alerts }: Figures) {
  const sells = off_sale.length === 0 && !signing_stopped
  const what = sells
    ? say('now.selling')
    : signing_stopped
      ? say('now.signing_stopped')
      : say('now.off_sale', { names: off_sale.map((one) => named('service', one)).join(', ') })
  return (
    <p role="status">
      <Shape mark={sells ? 'done' : 'look'} /> {what}{' '}
      {alerts.length === 0 ? say('now.nothing') : say('now.things', { n: alerts.length })}
    </p>
  )
}

/** The pages with the rows behind an alert, by how its name begins. */
const ROWS_BEHIND = {
  order: path.open_orders,
  deposit: path.money,
  attempt: path.chain,
  chain: path.chain,
  solid: path.chain,
  reader: path.chain,
  delegation: path.pool,
  wallet: path.pool,
  pool: path.pool,
  books: path.books,
} as const

function AlertName({ alert }: Pick<Alert, 'alert'>) {
  const href = ROWS_BEHIND[alert.split('_', 1)[0] as keyof typeof ROWS_BEHIND]
  const name = <code>{alert}</code>
  return href ? <a href={href}>{name}</a> : name
}

function Alerts({ alerts, again }: { alerts: readonly Alert[]; again: () => void }) {
  const seeing = useSignal<string | undefined>(undefined)
  const { is_busy } = useSubmission()
  return (
    <>
      <Table
        caption={say('alerts')}
        caption_shown
        keyOf={({ alert }) => alert}
        rows={alerts}
        columns={[
          {
            title: say('alert'),
            cell: ({ alert, seen_at }) => (
              <>
                <Shape mark={seen_at === null ? 'look' : 'busy'} /> <AlertName alert={alert} />
              </>
            ),
          },
          {
            title: say('alert.what'),
            // What exactly was found comes from the service, which speaks English.
            cell: ({ alert, what }) => (
              <>
                {named('alert', alert)}:{' '}
                <span class="quiet" lang="en">
                  {what}
                </span>
              </>
            ),
          },
          { title: say('since'), cell: (one) => <Time at={one.since ?? one.raised_at} relative /> },
          {
            title: say('alert.seen'),
            cell: ({ alert, seen_by }) =>
              seen_by ?? (
                <button
                  type="button"
                  class="small"
                  disabled={!mayChange() || is_busy.value}
                  onClick={() => {
                    seeing.value = alert
                  }}
                >
                  {say('seen')}
                </button>
              ),
          },
        ]}
      />
      {seeing.value !== undefined && (
        <Reason
          title={say('seen')}
          words="alerts seen"
          body={{ alert: seeing.value }}
          onDone={again}
          onClose={() => {
            seeing.value = undefined
          }}
        >
          <p>
            <code>{seeing.value}</code>
          </p>
        </Reason>
      )}
    </>
  )
}

function factsOf(known: Figures): [string, string | preact.VNode][] {
  const { chain, pool, ended, delivered } = known
  const pair = (some: number | null, most: number | null) =>
    some === null || most === null
      ? say('not_known')
      : say('now.percentiles', { p50: spanText(some), p95: spanText(most) })
  return [
    [say('now.orders'), count(known.orders_last_minute)],
    [say('now.broadcast'), pair(known.broadcast_p50_ms, known.broadcast_p95_ms)],
    [say('now.block'), pair(known.block_p50_ms, known.block_p95_ms)],
    [say('now.delivered'), say('now.of', { some: count(delivered), all: count(ended) })],
    ...pool.map(({ resource, room, reserved }): [string, string] => [
      `${say('now.room')}, ${named('resource', resource)}`,
      say('now.of', { some: count(room - reserved), all: count(room) }),
    ]),
    [
      say('now.chain'),
      chain
        ? say(isAhead(chain.behind_seconds) ? 'now.head_ahead' : 'now.head', {
            block: count(chain.head_number),
            ago: lagText(chain.behind_seconds),
          })
        : say('not_known'),
    ],
    [say('now.earned'), <Money trx={trx(known.earned_today_sun)} />],
    [say('now.open'), count(known.orders_open)],
    [say('now.held'), count(known.deposits_held)],
  ]
}
