// The first page: whether it is well, what it cost, how fast it was; what needs a hand; what was
// bought last.

import type { ComponentChildren } from 'preact'
import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { Ranges } from '../../shared/charts/ranges.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { lazy } from '../../shared/frame/lazy.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { Icon } from '../../shared/icons/icon.tsx'
import type { IconName } from '../../shared/icons/names.ts'
import { Answer } from '../../shared/parts/answer.tsx'
import { lessBy, Money, moneyText, sumOf } from '../../shared/parts/money.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { dayText } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { spanText } from '../../shared/words/span.ts'
import { count, say } from '../../shared/words/words.ts'
import {
  BalanceChart,
  type Bucket,
  patchByMoney,
  SpentChart,
  useSummary,
} from '../money/money_charts.tsx'
import { orderColumns, orderOf, patchOrder } from '../orders/order_facts.tsx'
import { NeedsAHand } from './needs_a_hand.tsx'

const SHOWN_ORDERS = 10
/** Who has bought something does not need it. */
const FirstCall = lazy(async () => (await import('./first_call.tsx')).FirstCall)

export default function Home({ query }: PageProps) {
  const balance = useQuestion('/v1/balance', {}, { patch: patchByMoney })
  const { days, drawn, range } = useSummary(query.range)
  const buckets = days.answer.value?.buckets ?? []
  return (
    <>
      <Title title={say('home')}>
        <span class="actions">
          {may('money') && (
            <a class="button" href={path.money}>
              {say('deposit')}
            </a>
          )}
          {may('buy') && (
            <a class="button main" href={path.buy}>
              {say('buy')}
            </a>
          )}
        </span>
      </Title>
      <div class="stack">
        <NeedsAHand balance={balance.answer.value?.balance} />
        <Answer question={balance} lines={4}>
          {({ balance }) => (
            <div class="tiles">
              <Left balance={balance} buckets={buckets} />
              <Delivered today={buckets.at(-1)} />
              <Took buckets={buckets} />
              <Spent buckets={buckets} />
            </div>
          )}
        </Answer>
        <Answer question={days} lines={8}>
          {() => (
            <section class="stack" aria-label={say('home.course')}>
              {drawn.buckets.length > 1 && (
                <div class="panel-head">
                  <h2>{say('home.course')}</h2>
                  <Ranges range={range} />
                </div>
              )}
              <div class="panels">
                <BalanceChart {...drawn} />
                <SpentChart {...drawn} />
              </div>
            </section>
          )}
        </Answer>
        <LastOrders />
      </div>
    </>
  )
}

const PACE_DAYS = 7
const DAY_MS = 86_400_000
/** Nobody plans further than that. */
const LASTS_DAYS_MAX = 400

/** When it is spent, at the pace of the last days; undefined: not for long enough to say. */
export function lastsUntil(balance: number, buckets: readonly Bucket[]): Date | undefined {
  const spent = sumOf(buckets.slice(-PACE_DAYS).map((bucket) => bucket.spent))
  const days = (balance * PACE_DAYS) / spent
  return spent > 0 && days < LASTS_DAYS_MAX ? new Date(Date.now() + days * DAY_MS) : undefined
}

type TileProps = {
  icon: IconName
  name: string
  note?: ComponentChildren
  children: ComponentChildren
}

const Tile = ({ icon, name, note, children }: TileProps) => (
  <section class="tile">
    <h2>
      <Icon name={icon} /> {name}
    </h2>
    <p class="headline">{children}</p>
    <p class="tile-note">{note}</p>
  </section>
)

function Left({ balance, buckets }: { balance: number; buckets: readonly Bucket[] }) {
  const whole = buckets.at(-1)?.balance
  const held = whole === undefined ? 0 : Math.max(0, lessBy(whole, balance))
  const until = lastsUntil(balance, buckets)
  const notes = [
    until && say('home.until', { day: dayText(until) }),
    held > 0 && say('home.held', { sum: trx(held) }),
  ]
  return (
    <Tile
      icon="wallet"
      name={say('home.left')}
      note={notes.filter(Boolean).join(' · ') || say('home.spendable')}
    >
      <Money trx={balance} />
    </Tile>
  )
}

const trx = (sum: number) => `${moneyText(sum)} TRX`

/** How many of those that ended were delivered: today, by UTC. */
function Delivered({ today }: { today: Bucket | undefined }) {
  const { succeeded = 0, failed = 0, energy = 0 } = today ?? {}
  const all = succeeded + failed
  return (
    <Tile
      icon="check"
      name={say('home.delivered')}
      note={all === 0 ? say('home.no_orders') : `${count(energy)} ${say('home.energy')}`}
    >
      {all === 0 ? (
        <span>0</span>
      ) : (
        <span class="figure">
          <Shape mark={failed > 0 ? 'look' : 'done'} />{' '}
          {say('home.delivered_of', { some: count(succeeded), all: count(all) })}
        </span>
      )}
    </Tile>
  )
}

/** How long half of them took, and nearly all: on the last day that had any. */
function Took({ buckets }: { buckets: readonly Bucket[] }) {
  const last = buckets.findLast(({ p50_ms }) => p50_ms !== null)
  const is_today = last === buckets.at(-1)
  const notes = last && [
    say('home.took.most', { span: spanText(last.p95_ms!) }),
    !is_today && dayText(new Date(last.at)),
  ]
  return (
    <Tile
      icon="clock"
      name={say('home.took')}
      note={notes ? notes.filter(Boolean).join(' · ') : say('home.no_orders')}
    >
      <span class="figure">{last ? spanText(last.p50_ms!) : '–'}</span>
    </Tile>
  )
}

/** In this month until now, beside the whole of the month before. */
function Spent({ buckets }: { buckets: readonly Bucket[] }) {
  const month = new Date().toISOString().slice(0, 7)
  const [here, before] = [true, false].map((is_here) =>
    sumOf(buckets.filter(({ at }) => at.startsWith(month) === is_here).map(({ spent }) => spent)),
  )
  return (
    <Tile
      icon="receipt-text"
      name={say('home.month')}
      note={say('home.last_month', { sum: trx(before!) })}
    >
      <Money trx={here!} />
    </Tile>
  )
}

/** The last orders, live; where there are none yet, how to begin. */
function LastOrders() {
  const orders = useQuestion(
    '/v1/transactions/list',
    { limit: SHOWN_ORDERS },
    {
      patch: (known, event) => {
        const order = orderOf(event)
        if (!order) return known
        const is_there = known.items.some(({ id }) => id === order.id)
        if (!is_there) return event.type === 'order.created' ? 'again' : known
        return { ...known, items: known.items.map((row) => patchOrder(row, event)) }
      },
    },
  )
  return (
    <Answer question={orders} lines={SHOWN_ORDERS}>
      {({ items }) =>
        items.length === 0 ? (
          <FirstCall />
        ) : (
          <section class="panel">
            <div class="panel-head">
              <h2>{say('home.orders')}</h2>
              <a href={path.orders}>{say('orders.all')}</a>
            </div>
            <Table
              caption={say('home.orders')}
              is_brief
              columns={orderColumns()}
              rows={items}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => path.order(id)}
            />
          </section>
        )
      }
    </Answer>
  )
}
