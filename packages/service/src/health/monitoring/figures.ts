// What the service does at the moment, in the few figures that a person looks at first. Asked for
// every few seconds, whatever the tables hold: every part reads the newest rows by an index.

import { chainState } from '../../chain/follow/progress.ts'
import { REVENUE } from '../../ledger/accounts/ledger.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { switches } from '../../market/prices/switches.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type MeasureName, namesShown, readMeasures, totalsOf } from './measures.ts'

const HOUR_MS = 3_600_000
/** An entry is written at most so long after its time. */
const LATE_MS = 300_000
/** Latencies are those of the newest orders of the last hour, of so many at most. */
const SAMPLE = 500

export type RaisedAlert = {
  alert: string
  what: string
  since: Date | null
  raised_at: Date
  seen_at: Date | null
  seen_by: string | null
}

/** The alerts that are raised, those that nobody has seen to first, the oldest first. */
export const raisedAlerts = (sql: Sql): Promise<RaisedAlert[]> => sql<RaisedAlert>`
  select alert, what, since, raised_at, seen_at, seen_by from alert
  order by seen_at is not null, coalesce(since, raised_at), alert`

type Delivery = {
  /** Orders of the last hour that came to an end, and of them those that were delivered. */
  ended: bigint
  delivered: bigint
  broadcast_p50_ms: number | null
  broadcast_p95_ms: number | null
  block_p50_ms: number | null
  block_p95_ms: number | null
}

async function delivery(sql: Sql, now: Date): Promise<Delivery> {
  const [row] = await sql<Delivery>`
    with newest as (
      select id, state, created_at, tx_id from orders
      where id >= ${firstIdAt(later({ now: () => now }, -HOUR_MS))}
      order by id desc limit ${SAMPLE}),
    timed as (
      select 1000 * extract(epoch from a.sent_at - n.created_at) as sent_ms,
             -- By the chain's clock only where that fits ours: a span of two clocks says nothing.
             1000 * extract(epoch from case
               when a.block_time between n.created_at and c.made_at then a.block_time
               else c.made_at end - n.created_at) as block_ms
      from newest as n join attempt as a on a.tx_id = n.tx_id
        left join transfer as c on c.hold_id = 'order:' || n.id
      where n.state = 'success')
    select (select count(*) from newest where state in ('success', 'failed')) as ended,
           (select count(*) from newest where state = 'success') as delivered,
           percentile_cont(0.5) within group (order by sent_ms) as broadcast_p50_ms,
           percentile_cont(0.95) within group (order by sent_ms) as broadcast_p95_ms,
           percentile_cont(0.5) within group (order by block_ms) as block_p50_ms,
           percentile_cont(0.95) within group (order by block_ms) as block_p95_ms
    from timed`
  const rounded = (ms: number | null) => (ms === null ? null : Math.round(Math.max(0, Number(ms))))
  return {
    ended: row!.ended,
    delivered: row!.delivered,
    broadcast_p50_ms: rounded(row!.broadcast_p50_ms),
    broadcast_p95_ms: rounded(row!.broadcast_p95_ms),
    block_p50_ms: rounded(row!.block_p50_ms),
    block_p95_ms: rounded(row!.block_p95_ms),
  }
}

/** Reads what was earned since the day began (UTC); hours that are over are added up once. */
function earningsReader(sql: Sql): (now: Date) => Promise<bigint> {
  const finished = new Map<number, bigint>()
  const earned = async (from_ms: number, until_ms: number): Promise<bigint> => {
    const [from, until] = [new Date(from_ms), new Date(until_ms)]
    const [row] = await sql<{ sun: bigint }>`
      select (coalesce((select sum(amount_sun) from transfer
                where credit = ${REVENUE} and made_at >= ${from} and made_at < ${until}
                  and kind in ('move', 'capture')), 0)
            - coalesce((select sum(amount_sun) from transfer
                where debit = ${REVENUE} and made_at >= ${from} and made_at < ${until}
                  and kind in ('move', 'capture')), 0))::bigint as sun`
    return row!.sun
  }
  return async (now) => {
    const now_ms = now.getTime()
    const day_ms = now_ms - (now_ms % (24 * HOUR_MS))
    for (const hour_ms of finished.keys()) if (hour_ms < day_ms) finished.delete(hour_ms)
    let sum = 0n
    for (let hour_ms = day_ms; hour_ms <= now_ms; hour_ms += HOUR_MS) {
      const known = finished.get(hour_ms) ?? (await earned(hour_ms, hour_ms + HOUR_MS))
      if (now_ms >= hour_ms + HOUR_MS + LATE_MS) finished.set(hour_ms, known)
      sum += known
    }
    return sum
  }
}

/** Reads the figures; what of them needs no second reading is kept from one time to the next. */
export function figuresReader({ sql, clock }: { sql: Sql; clock: Clock }) {
  const earnedToday = earningsReader(sql)
  return async () => {
    const now = clock.now()
    const chain = await chainState(sql)
    const [minute] = await sql<{ orders: bigint }>`
      select count(*) as orders from orders where id >= ${firstIdAt(later(clock, -60_000))}`
    const [signing] = await sql<{ stopped: boolean }>`select stopped from signing`
    const readings = await readMeasures(sql, { names: namesShown('now'), now })
    /** By their labels, the last one first. */
    const valuesOf = (...names: MeasureName[]) =>
      readings
        .flatMap(({ name, label, value }) =>
          names.includes(name) ? [{ label: label ?? '', value: BigInt(value) }] : [],
        )
        .sort((one, other) => other.label.localeCompare(one.label))
    const reserved = valuesOf('pool_reserved_units')
    return {
      at: now,
      alerts: await raisedAlerts(sql),
      off_sale: (await switches(sql)).filter((one) => !one.on_sale).map(({ name }) => name),
      orders_last_minute: minute!.orders,
      ...(await delivery(sql, now)),
      pool: valuesOf('pool_room_units').map(({ label: resource, value: room }, i) => ({
        resource,
        room,
        reserved: reserved[i]!.value,
      })),
      chain: chain
        ? {
            head_number: chain.head_number,
            solid_number: chain.solid_number,
            behind_seconds: secondsSince(chain.head_time, now),
            silent_seconds: Math.max(0, secondsSince(chain.seen_at, now)),
          }
        : null,
      earned_today_sun: await earnedToday(now),
      ...totalsOf(readings, ['orders_open', 'deposits_held', 'deposits_open']),
      signing_stopped: signing?.stopped ?? true,
      attempts: valuesOf('attempts_open', 'attempts_included').map(
        ({ label: state, value: attempts }) => ({ state, attempts }),
      ),
    }
  }
}

/** Below 0: it is ahead of our clock. */
const secondsSince = (at: Date, now: Date) => Math.round((now.getTime() - at.getTime()) / 1_000)
