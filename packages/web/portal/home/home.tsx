// The first page: what is left and how long it lasts, what was bought last, what needs a hand.

import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { lazy } from '../../shared/frame/lazy.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { lessBy, Money, sumOf } from '../../shared/parts/money.tsx'
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

export default function Home() {
  const balance = useQuestion('/v1/balance', {}, { patch: patchByMoney })
  const { days, drawn } = useSummary()
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
        <Answer question={balance} lines={1}>
          {({ balance }) => <Left balance={balance} buckets={buckets} />}
        </Answer>
        <NeedsAHand balance={balance.answer.value?.balance} />
        <LastOrders />
        <Answer question={days} lines={8}>
          {({ buckets }) => (
            <div class="panels">
              <BalanceChart {...drawn} />
              <SpentChart {...drawn} />
              <Delivered buckets={buckets} />
            </div>
          )}
        </Answer>
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

function Left({ balance, buckets }: { balance: number; buckets: readonly Bucket[] }) {
  const whole = buckets.at(-1)?.balance
  const held = whole === undefined ? 0 : Math.max(0, lessBy(whole, balance))
  const until = lastsUntil(balance, buckets)
  return (
    <p class="headline">
      <Money trx={balance} />
      {held > 0 && (
        <span class="quiet">
          {say('home.held')} <Money trx={held} />
        </span>
      )}
      {until && <span class="quiet">{say('home.until', { day: dayText(until) })}</span>}
    </p>
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
    <section class="panel">
      <h2>{say('home.orders')}</h2>
      <Answer question={orders} lines={SHOWN_ORDERS}>
        {({ items }) =>
          items.length === 0 ? (
            <FirstCall />
          ) : (
            <>
              <Table
                caption={say('home.orders')}
                is_brief
                columns={orderColumns()}
                rows={items}
                keyOf={({ id }) => id}
              />
              <p>
                <a href={path.orders}>{say('orders.all')}</a>
              </p>
            </>
          )
        }
      </Answer>
    </section>
  )
}

/** How well it went today. */
function Delivered({ buckets }: { buckets: readonly Bucket[] }) {
  const today = buckets.at(-1)
  if (!today || today.orders === 0) return null
  const { succeeded, failed, p50_ms, p95_ms } = today
  return (
    <section class="panel">
      <h3>{say('home.delivered')}</h3>
      <p>
        <Shape mark={failed > 0 ? 'look' : 'done'} />{' '}
        {say('home.delivered_of', { some: count(succeeded), all: count(succeeded + failed) })}
      </p>
      {p50_ms !== null && p95_ms !== null && (
        <p class="figure">{say('home.took', { p50: spanText(p50_ms), p95: spanText(p95_ms) })}</p>
      )}
      <p class="figure">
        {count(today.energy)} {say('home.energy')}
      </p>
    </section>
  )
}
