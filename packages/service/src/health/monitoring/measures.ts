// What is measured: the name, kind and meaning of each number that says how the service does, how
// the database knows it, and who shows it. What only a process knows has no query: it is counted
// where it happens. docs/operators/processes.md has the list, printed from here.

import type { Kind, Labels } from '../../lib/metrics.ts'
import {
  type Fragment,
  joinFragments,
  type WriteFragment,
  writeFragment,
} from '../../platform/database/fragments.ts'
import type { Query } from '../../platform/database/sql.ts'

/** Who shows it: the metrics for Prometheus, `penstock-admin status`, the console's page Now. */
type View = 'metrics' | 'status' | 'now'

type Measure = {
  kind: Kind
  help: string
  /** What its values are told apart by; of one with a query, one at most. */
  labels: readonly string[]
  shown: readonly View[]
  /** Rows of a `value` and, where it has labels, the `label`. */
  query?: (sql: WriteFragment, now: Date) => Fragment
}

const measure =
  (kind: Kind) =>
  (help: string, ...labels: string[]): Measure => ({ kind, help, labels, shown: ['metrics'] })
const counter = measure('counter')
const gauge = measure('gauge')
const histogram = measure('histogram')

const MEASURES = {
  http_requests_total: counter(
    'Requests answered, by endpoint and by the code of the answer.',
    'endpoint',
    'code',
  ),
  http_request_seconds: histogram(
    'From the headers of a request to its answer, by endpoint.',
    'endpoint',
  ),
  http_in_flight: gauge('Requests that are being answered.'),
  http_refused_total: counter(
    'Requests refused before their work began: auth, busy, rate, size, timeout; ' +
      'not_logged: any of them.',
    'reason',
  ),
  step_runs_total: counter('Runs of a step.', 'step'),
  step_seconds: histogram('How long a run of a step takes.', 'step'),
  step_failures_total: counter('Runs of a step that failed; it runs again.', 'step'),
  step_moved_total: counter('Runs of a step that moved something.', 'step'),
  db_transactions_total: counter(
    'Transactions and single statements, by pool of connections.',
    'pool',
  ),
  db_seconds: histogram('How long a transaction or single statement takes, by pool.', 'pool'),
  db_outages_total: counter(
    'Those that the database did not do, by pool and class of SQLSTATE (none: no answer).',
    'pool',
    'class',
  ),
  commit_unreplicated_total: counter('Commits that no standby has confirmed.'),
  db_connections: gauge('Open connections, by pool.', 'pool'),
  db_waiting: gauge('What waits for a connection, by pool.', 'pool'),
  clock_offset_seconds: gauge('How far the clock of the database is ahead of ours.'),
  ready: gauge('1 when the process is ready, as /readyz says.'),
  node_requests_total: counter(
    'Requests to a node, by its place in the configuration, path and outcome.',
    'node',
    'path',
    'outcome',
  ),
  node_seconds: histogram('How long a node takes to answer.', 'node'),
  orders_total: counter(
    'Orders that came to an end, by service and outcome.',
    'service',
    'outcome',
  ),
  orders_open: {
    ...gauge('Orders that are new or pending, by service.', 'service'),
    shown: ['metrics', 'status', 'now'],
    query: (sql) => sql`
      select service as label, count(*) as value from orders where state in ('new', 'pending')
      group by service`,
  },
  order_sent_seconds: histogram(
    'From the acceptance of an order to its transaction being sent, by service.',
    'service',
  ),
  order_delivered_seconds: histogram(
    'From the acceptance of an order to the block that has its transaction.',
    'service',
  ),
  attempts_open: {
    ...gauge('Transactions of ours that are in no block yet, by state.', 'state'),
    shown: ['metrics', 'status', 'now'],
    // Each state by its index.
    query: (sql) => sql`
      select state as label, count(*) as value from attempt
      where state = 'new' or state in ('signed', 'sent') group by state`,
  },
  attempts_included: {
    ...gauge('Transactions of ours in blocks that are not solid yet.', 'state'),
    shown: ['now'],
    query: (sql) => sql`
      select 'included' as label, count(*) as value from attempt where state = 'included'`,
  },
  attempts_dead_total: {
    ...counter('Transactions of ours that no block will ever have.'),
    query: (sql) => sql`select count(*) as value from attempt where state = 'dead'`,
  },
  delegations_live: {
    ...gauge('Delegations that are not taken back yet.'),
    shown: ['status'],
    query: (sql) => sql`
      select count(*) as value from delegation where state = 'active' or state = 'reclaiming'`,
  },
  chain_head_number: {
    ...gauge('The newest block that was followed.'),
    query: (sql) => sql`select head_number as value from chain`,
  },
  chain_solid_number: {
    ...gauge('The newest solid block that was followed.'),
    query: (sql) => sql`select solid_number as value from chain`,
  },
  chain_head_age_seconds: {
    ...gauge('How long ago the newest followed block was made.'),
    query: (sql, now) => sql`
      select extract(epoch from ${now}::timestamptz - head_time) as value from chain`,
  },
  follower_behind_blocks: {
    ...gauge('Blocks that the node had beyond ours when it last answered.'),
    query: (sql) => sql`select behind as value from chain`,
  },
  reader_behind_blocks: {
    ...gauge('Solid blocks that a reader of blocks has not read yet.', 'reader'),
    query: (sql) => sql`
      select name as label, greatest(solid_number - number, 0) as value from cursor, chain`,
  },
  pool_room_units: {
    ...gauge('What the pool can deliver now, by resource.', 'resource'),
    shown: ['metrics', 'now'],
    query: (sql) => sql`select resource as label, room as value from pool`,
  },
  pool_reserved_units: {
    ...gauge('What of it is reserved for open orders.', 'resource'),
    shown: ['metrics', 'now'],
    query: (sql) => sql`select resource as label, reserved as value from pool`,
  },
  pool_stake_sun: {
    ...gauge('Stake that can be delegated now, by resource.', 'resource'),
    query: (sql) => sql`
      select resource as label, coalesce(sum(room_sun), 0) as value
      from pool left join pool_wallet using (resource) group by resource`,
  },
  wallet_transactions_left: {
    ...gauge(
      'Transactions that a pool wallet can pay for, by its place in the order of addresses.',
      'wallet',
    ),
    query: (sql) => sql`
      select row_number() over (order by address) as label, min(carries) as value from pool_wallet
      group by address`,
  },
  balance_customers_sun: {
    ...gauge('What customers have, held or not.'),
    query: (sql) => sql`
      select coalesce(sum(posted_sun), 0) as value from account where not may_go_negative`,
  },
  held_sun: {
    ...gauge('What of it is held for open orders, subscriptions and checks.'),
    query: (sql) => sql`
      select coalesce(sum(held_sun), 0) as value from account where not may_go_negative`,
  },
  deposits_held: {
    ...gauge('Deposits that wait for a decision of the operator.'),
    shown: ['metrics', 'status', 'now'],
    query: (sql) => sql`select count(*) as value from deposit where state = 'held'`,
  },
  deposits_open: {
    ...gauge('Direct recharges that are on their way.'),
    shown: ['now'],
    query: (sql) => sql`
      select count(*) as value from deposit
      where state in ('received', 'delivering', 'returning', 'refunding')`,
  },
  customers: {
    ...gauge('Customers that there are.'),
    shown: ['status'],
    query: (sql) => sql`select count(*) as value from customer`,
  },
  checks_total: counter(
    'Screening checks that came to an end, by type and outcome.',
    'type',
    'outcome',
  ),
  check_seconds: histogram('From the acceptance of a check to its end, by type.', 'type'),
  books_checked_age_seconds: {
    ...gauge('How long ago the books were last checked.'),
    query: (sql, now) => sql`
      select extract(epoch from ${now}::timestamptz - checked_at) as value from books_check
      where isfinite(checked_at)`,
  },
  backup_age_seconds: {
    ...gauge('How old the newest backup is.'),
    query: (sql, now) => sql`
      select extract(epoch from ${now}::timestamptz - max(made_at)) as value from backup
      having max(made_at) is not null`,
  },
  restore_drill_age_seconds: {
    ...gauge('How long ago a backup was last restored on trial.'),
    query: (sql, now) => sql`
      select extract(epoch from ${now}::timestamptz - max(restored_at)) as value from backup
      having max(restored_at) is not null`,
  },
  books_findings: {
    ...gauge('What the last check of the books has found, by rule.', 'rule'),
    query: (sql) => sql`
      select rule as label, count(*) as value from books_finding where gone_at is null
      group by rule`,
  },
  journal_behind_entries: {
    ...gauge('Numbers of entries that no seal covers yet.'),
    query: (sql) => sql`
      select case when is_called then last_value else 0 end
        - coalesce((select max(last_entry) from journal), 0) as value
      from transfer_number_seq`,
  },
  alert: gauge('1 while `penstock-admin status` names the alert.', 'alert'),
  gauges_age_seconds: gauge('How long ago those that come from the database were read.'),
  build_info: gauge('1; what runs.', 'version', 'node', 'schema', 'role'),
} satisfies Record<string, Measure>

export type MeasureName = keyof typeof MEASURES

/** What the metrics for Prometheus are. */
export const METRICS = Object.fromEntries(
  Object.entries<Measure>(MEASURES).filter(([, { shown }]) => shown.includes('metrics')),
)

/** Those that somebody shows and the database knows. */
export const namesShown = (by: View): MeasureName[] =>
  Object.entries<Measure>(MEASURES)
    .filter(([, { shown, query }]) => query && shown.includes(by))
    .map(([name]) => name as MeasureName)

type Reading = { name: MeasureName; label: string | null; labels: Labels; value: number }

/** Their values, read in one statement. */
export async function readMeasures(
  sql: Query,
  { names, now }: { names: readonly MeasureName[]; now: Date },
): Promise<Reading[]> {
  const measures: Record<string, Measure> = MEASURES
  const queries = names.flatMap((name, i) => {
    const { query, labels } = measures[name]!
    const label = labels.length > 0 ? 'label::text' : 'null'
    return [
      `${i === 0 ? '' : ' union all '}select '${name}', ${label}, value::double precision from (`,
      query!(writeFragment, now),
      ') as found',
    ]
  })
  const rows = await sql<{ name: MeasureName; label: string | null; value: number }>(
    ...joinFragments(['select * from (', ...queries, ') as read (name, label, value)']),
  )
  return rows.map(({ name, label, value }) => {
    const [word] = measures[name]!.labels
    return { name, label, value, labels: word && label !== null ? { [word]: label } : {} }
  })
}

/** What each counts, over all labels. */
export function totalsOf<Name extends MeasureName>(
  readings: readonly Reading[],
  names: readonly Name[],
): Record<Name, bigint> {
  const totals = names.map((wanted) => {
    const values = readings.filter(({ name }) => name === wanted).map(({ value }) => value)
    return [wanted, values.reduce((sum, value) => sum + BigInt(value), 0n)]
  })
  return Object.fromEntries(totals)
}
