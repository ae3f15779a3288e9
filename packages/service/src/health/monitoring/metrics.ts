// What is measured: the name, kind and meaning of every metric, and those that are read from the
// database. Each process that runs steps reads those for itself, a few times a minute and in
// statements of milliseconds: several workers show the same values, and a query takes the maximum
// of them.

import type { Clock } from '../../lib/clock.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { ALERTS, alerts } from './alerts.ts'

const counter = (help: string) => ({ kind: 'counter', help }) as const
const gauge = (help: string) => ({ kind: 'gauge', help }) as const
const histogram = (help: string) => ({ kind: 'histogram', help }) as const

export const METRICS = {
  http_requests_total: counter('Requests answered, by endpoint and by the code of the answer.'),
  http_request_seconds: histogram('From the headers of a request to its answer, by endpoint.'),
  http_in_flight: gauge('Requests that are being answered.'),
  http_refused_total: counter(
    'Requests refused before their work began: auth, busy, rate, size, timeout; ' +
      'not_logged: any of them.',
  ),
  step_runs_total: counter('Runs of a step.'),
  step_seconds: histogram('How long a run of a step takes.'),
  step_failures_total: counter('Runs of a step that failed; it runs again.'),
  step_moved_total: counter('Runs of a step that moved something.'),
  db_transactions_total: counter('Transactions and single statements, by pool of connections.'),
  db_seconds: histogram('How long a transaction or single statement takes, by pool.'),
  db_outages_total: counter(
    'Those that the database did not do, by pool and class of SQLSTATE (none: no answer).',
  ),
  commit_unreplicated_total: counter('Commits that no standby has confirmed.'),
  db_connections: gauge('Open connections, by pool.'),
  db_waiting: gauge('What waits for a connection, by pool.'),
  clock_offset_seconds: gauge('How far the clock of the database is ahead of ours.'),
  ready: gauge('1 when the process is ready, as /readyz says.'),
  node_requests_total: counter(
    'Requests to a node, by its place in the configuration, path and outcome.',
  ),
  node_seconds: histogram('How long a node takes to answer.'),
  orders_total: counter('Orders that came to an end, by service and outcome.'),
  orders_open: gauge('Orders that are new or pending, by service.'),
  order_sent_seconds: histogram(
    'From the acceptance of an order to its transaction being sent, by service.',
  ),
  order_delivered_seconds: histogram(
    'From the acceptance of an order to the block that has its transaction.',
  ),
  attempts_open: gauge('Transactions of ours that are in no block yet, by state.'),
  attempts_dead_total: counter('Transactions of ours that no block will ever have.'),
  chain_head_number: gauge('The newest block that was followed.'),
  chain_solid_number: gauge('The newest solid block that was followed.'),
  chain_head_age_seconds: gauge('How long ago the newest followed block was made.'),
  follower_behind_blocks: gauge('Blocks that the node had beyond ours when it last answered.'),
  reader_behind_blocks: gauge('Solid blocks that a reader of blocks has not read yet.'),
  pool_room_units: gauge('What the pool can deliver now, by resource.'),
  pool_reserved_units: gauge('What of it is reserved for open orders.'),
  pool_stake_sun: gauge('Stake that can be delegated now, by resource.'),
  wallet_transactions_left: gauge(
    'Transactions that a pool wallet can pay for, by its place in the order of addresses.',
  ),
  balance_customers_sun: gauge('What customers have, held or not.'),
  held_sun: gauge('What of it is held for open orders, subscriptions and checks.'),
  deposits_held: gauge('Deposits that wait for a decision of the operator.'),
  checks_total: counter('Screening checks that came to an end, by type and outcome.'),
  check_seconds: histogram('From the acceptance of a check to its end, by type.'),
  books_checked_age_seconds: gauge('How long ago the books were last checked.'),
  backup_age_seconds: gauge('How old the newest backup is.'),
  restore_drill_age_seconds: gauge('How long ago a backup was last restored on trial.'),
  books_findings: gauge('What the last check of the books has found, by rule.'),
  journal_behind_entries: gauge('Numbers of entries that no seal covers yet.'),
  alert: gauge('1 while `penstock-admin status` names the alert.'),
  gauges_age_seconds: gauge('How long ago those that come from the database were read.'),
  build_info: gauge('1; what runs.'),
} as const

export type Measures = Metrics<keyof typeof METRICS>
type Name = keyof typeof METRICS

/** What each reading sets anew, in one statement. */
const READINGS: readonly {
  names: readonly Name[]
  read(sql: Sql, set: Measures['set'], now: Date): Promise<void>
}[] = [
  {
    names: [
      'chain_head_number',
      'chain_solid_number',
      'chain_head_age_seconds',
      'follower_behind_blocks',
    ],
    async read(sql, set, now) {
      const [chain] = await sql<{ head: bigint; solid: bigint; head_time: Date; behind: number }>`
        select head_number as head, solid_number as solid, head_time, behind from chain`
      if (!chain) return
      set('chain_head_number', Number(chain.head))
      set('chain_solid_number', Number(chain.solid))
      set('chain_head_age_seconds', (now.getTime() - chain.head_time.getTime()) / 1_000)
      set('follower_behind_blocks', chain.behind)
    },
  },
  {
    names: ['reader_behind_blocks'],
    async read(sql, set) {
      const rows = await sql<{ reader: string; behind: bigint }>`
        select name as reader, greatest(solid_number - number, 0) as behind from cursor, chain`
      for (const { reader, behind } of rows) set('reader_behind_blocks', Number(behind), { reader })
    },
  },
  {
    names: ['pool_room_units', 'pool_reserved_units', 'pool_stake_sun'],
    async read(sql, set) {
      const rows = await sql<{ resource: string; room: bigint; reserved: bigint; stake: bigint }>`
        select resource, room, reserved, (
          select coalesce(sum(room_sun), 0)::bigint from pool_wallet as w
            where w.resource = pool.resource) as stake
        from pool`
      for (const { resource, room, reserved, stake } of rows) {
        set('pool_room_units', Number(room), { resource })
        set('pool_reserved_units', Number(reserved), { resource })
        set('pool_stake_sun', Number(stake), { resource })
      }
    },
  },
  {
    names: ['wallet_transactions_left'],
    async read(sql, set) {
      const rows = await sql<{ wallet: bigint; left: bigint }>`
        select row_number() over (order by address) as wallet, min(carries) as left from pool_wallet
          group by address`
      for (const { wallet, left } of rows)
        set('wallet_transactions_left', Number(left), { wallet: Number(wallet) })
    },
  },
  {
    names: ['orders_open'],
    async read(sql, set) {
      const rows = await sql<{ service: string; open: bigint }>`
        select service, count(*) as open from orders where state in ('new', 'pending')
          group by service`
      for (const { service, open } of rows) set('orders_open', Number(open), { service })
    },
  },
  {
    names: ['attempts_open'],
    async read(sql, set) {
      const rows = await sql<{ state: string; open: bigint }>`
        select state, count(*) as open from attempt
        where state = 'new' or state in ('signed', 'sent')
          group by state`
      for (const { state, open } of rows) set('attempts_open', Number(open), { state })
    },
  },
  {
    names: ['attempts_dead_total', 'deposits_held'],
    async read(sql, set) {
      const [row] = await sql<{ dead: bigint; held: bigint }>`
        select (select count(*) from attempt where state = 'dead') as dead,
               (select count(*) from deposit where state = 'held') as held`
      set('attempts_dead_total', Number(row!.dead))
      set('deposits_held', Number(row!.held))
    },
  },
  {
    names: ['balance_customers_sun', 'held_sun'],
    async read(sql, set) {
      const [row] = await sql<{ posted: bigint; held: bigint }>`
        select coalesce(sum(posted_sun), 0)::bigint as posted, coalesce(sum(held_sun),
          0)::bigint as held
        from account where not may_go_negative`
      set('balance_customers_sun', Number(row!.posted))
      set('held_sun', Number(row!.held))
    },
  },
  {
    names: ['books_checked_age_seconds', 'journal_behind_entries'],
    async read(sql, set, now) {
      const [row] = await sql<{ checked_at: Date | null; behind: bigint }>`
        select (select checked_at from books_check where isfinite(checked_at)) as checked_at,
               (select case when is_called then last_value else 0 end from transfer_number_seq)
               - coalesce((select last_entry from journal order by number desc
                 limit 1), 0) as behind`
      const { checked_at, behind } = row!
      if (checked_at)
        set('books_checked_age_seconds', (now.getTime() - checked_at.getTime()) / 1_000)
      set('journal_behind_entries', Number(behind))
    },
  },
  {
    names: ['backup_age_seconds', 'restore_drill_age_seconds'],
    async read(sql, set, now) {
      const [row] = await sql<{ made_at: Date | null; restored_at: Date | null }>`
        select max(made_at) as made_at, max(restored_at) as restored_at from backup`
      const { made_at, restored_at } = row!
      const age = (at: Date) => (now.getTime() - at.getTime()) / 1_000
      if (made_at) set('backup_age_seconds', age(made_at))
      if (restored_at) set('restore_drill_age_seconds', age(restored_at))
    },
  },
  {
    names: ['books_findings'],
    async read(sql, set) {
      const rows = await sql<{ rule: string; findings: bigint }>`
        select rule, count(*) as findings from books_finding where gone_at is null group by rule`
      for (const { rule, findings } of rows) set('books_findings', Number(findings), { rule })
    },
  },
  {
    names: ['alert'],
    async read(sql, set, now) {
      const found = new Set((await alerts({ sql, now })).map(({ alert }) => alert))
      for (const name of Object.keys(ALERTS)) set('alert', found.has(name) ? 1 : 0, { alert: name })
    },
  },
]

const READ_EVERY_MS = 15_000

export type MeasureStep = Step & {
  /** When everything was last read. */
  readAt(): Date | undefined
}

/** Reads from the database what is measured there. What cannot be read is left out, and does not
 *  stop the others. */
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
      const failed: unknown[] = []
      for (const { names, read } of READINGS) {
        const fresh: Parameters<Measures['set']>[] = []
        try {
          await read(sql, (...one) => fresh.push(one), clock.now())
        } catch (thrown) {
          failed.push(thrown)
        }
        measures.clear(names)
        for (const one of fresh) measures.set(...one)
      }
      for (const follow of followed) await follow().catch((thrown: unknown) => failed.push(thrown))
      if (failed.length > 0) throw failed[0]
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
