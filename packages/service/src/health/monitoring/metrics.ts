// What metrics the database knows, set anew a few times a minute, in a statement of milliseconds.
// Each process that runs steps reads them for itself: several workers show the same values, and a
// query takes the maximum of them. What ends is counted as it is seen to end.

import type { Clock } from '../../lib/clock.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { ALERTS, alerts } from './alerts.ts'
import { type MeasureName, namesShown, readMeasures } from './measures.ts'

export type Measures = Metrics<MeasureName>

const OF_DATABASE = namesShown('metrics')

const READ_EVERY_MS = 15_000

export type MeasureStep = Step & {
  /** When everything was last read. */
  readAt(): Date | undefined
}

/** Reads from the database what is measured there. While it cannot be read it is left out. */
export function measureStep({
  sql,
  clock,
  measures,
}: {
  sql: Sql
  clock: Clock
  measures: Measures
}): MeasureStep {
  const followed = [followOrders({ sql, clock, measures }), followChecks({ sql, clock, measures })]
  let read_at: Date | undefined
  return {
    name: 'measure',
    rest_ms: READ_EVERY_MS,
    readAt: () => read_at,
    async run() {
      measures.clear(OF_DATABASE)
      const values = await readMeasures(sql, { names: OF_DATABASE, now: clock.now() })
      for (const { name, labels, value } of values) measures.set(name, value, labels)
      const found = new Set((await alerts({ sql, now: clock.now() })).map(({ alert }) => alert))
      for (const alert of Object.keys(ALERTS))
        measures.set('alert', found.has(alert) ? 1 : 0, { alert })
      for (const follow of followed) await follow()
      read_at = clock.now()
      return false
    },
  }
}

const PENDING_MAX = 5_000
/** Ids rise with time, nearly: those of this long ago are all there. */
const SETTLED_MS = 5_000

type RowSource<Row> = {
  /** Those of the ids, and the next rows with an id beyond `after`, which none of the ids is. */
  find(after: string, until: Date, ids: readonly string[]): Promise<Row[]>
  /** Counts a row that has ended; false while it has not. */
  take(row: Row): boolean
}

/** Follows rows from now on until each has ended, and counts it once. */
function follow<Row extends { id: string }>(
  clock: Clock,
  newest: () => Promise<string>,
  of: RowSource<Row>,
) {
  let after: string | undefined
  let open: string[] = []
  return async () => {
    after ??= await newest()
    const rows = await of.find(after, new Date(clock.now().getTime() - SETTLED_MS), open)
    open = rows.filter((row) => !of.take(row)).map(({ id }) => id)
    for (const { id } of rows) if (id > after) after = id
    if (open.length > PENDING_MAX) open = open.slice(-PENDING_MAX)
  }
}

type FollowNeeds = { sql: Sql; clock: Clock; measures: Measures }

const seconds = (from: Date, to: Date) => Math.max(0, (to.getTime() - from.getTime()) / 1_000)

function followOrders({ sql, clock, measures }: FollowNeeds): () => Promise<void> {
  type Row = {
    id: string
    service: string
    state: string
    created_at: Date
    sent_at: Date | null
    block_time: Date | null
  }
  const newest = async () => {
    const [last] = await sql<{ id: string }>`select id from orders order by id desc limit 1`
    return last?.id ?? ''
  }
  return follow<Row>(clock, newest, {
    find: (after, until, ids) => sql<Row>`
      select o.id, o.service, o.state, o.created_at, a.sent_at, a.block_time
      from (select * from orders where id = any(${ids})
            union all
            (select * from orders where id > ${after} and created_at < ${until}
             order by id limit ${PENDING_MAX})) as o
      left join attempt as a on a.tx_id = o.tx_id order by o.id`,
    take({ service, state, created_at, sent_at, block_time }) {
      if (state !== 'success' && state !== 'failed') return false
      measures.count('orders_total', { service, outcome: state })
      if (state === 'failed') return true
      if (sent_at) measures.observe('order_sent_seconds', seconds(created_at, sent_at), { service })
      if (block_time)
        measures.observe('order_delivered_seconds', seconds(created_at, block_time), { service })
      return true
    },
  })
}

function followChecks({ sql, clock, measures }: FollowNeeds): () => Promise<void> {
  type Row = { id: string; type: string; state: string; created_at: Date; ended_at: Date | null }
  const newest = async () => {
    const [last] = await sql<{ id: string }>`select id from aml_check order by id desc limit 1`
    return last?.id ?? ''
  }
  return follow<Row>(clock, newest, {
    find: (after, until, ids) => sql<Row>`
      select id, type, state, created_at, ended_at from aml_check where id = any(${ids})
      union all
      (select id, type, state, created_at, ended_at from aml_check
       where id > ${after} and created_at < ${until} order by id limit ${PENDING_MAX})
      order by id`,
    take({ type, state, created_at, ended_at }) {
      if (!ended_at) return false
      measures.count('checks_total', { type, outcome: state })
      measures.observe('check_seconds', seconds(created_at, ended_at), { type })
      return true
    },
  })
}
