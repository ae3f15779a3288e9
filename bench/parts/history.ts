// Makes a database grow old: rows as the service would have left them, one order every ten seconds
// (or as often as is asked for) until a day ago, made without asking what they refer to. Their
// indexes are made afterwards, which takes a part of the time. Its entries are sealed and
// summarised.

import { realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type LocalOptions, type LocalService, startLocal } from 'penstock-playground/start.ts'
import { SEALED_AT_ONCE, sealStep } from 'penstock-service/ledger/accounts/journal.ts'
import { summarizeStep } from 'penstock-service/ledger/statements/summaries.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import pg from 'pg'

/** How the ids of orders begin, by what became of them: they come before those of real ones, whose
 *  ids begin with the time of this century. */
export const ORDER_ID_PREFIXES = { over: '00over', running: '00running', lost: '00lost' } as const

const KINDS = [
  // [kind, state of the delegation, state of its attempt]
  ['over', 'ended', 'solid'],
  ['running', 'active', 'solid'],
  ['lost', 'failed', 'dead'],
] as const
const RUNNING_SHARE = 0.3
const LOST_SHARE = 0.01

export type History = {
  /** Of those that are over; those that were not delivered come to a hundredth of them. */
  orders: number
  /** Of those whose hour is running, the latest ones; left out: 0.3 of those that are over. */
  running?: number
  /** Made with them, and have them; 0: all are those of `customer_id`. */
  customers: number
  customer_id: string
  wallet: string
  receivers: readonly string[]
  /** Between two orders; left out: ten seconds. */
  apart_ms?: number
  /** Orders get ids that begin with their time, as those of the service do. */
  named_by_time?: boolean
  /** Of so many days there are summaries; left out: of all. */
  summarised_days?: number
  say: (line: string) => void
}

/** A local service on a database that has grown old while it was stopped. */
export async function startAged(
  options: LocalOptions,
  history: Pick<History, 'orders' | 'customers' | 'say'>,
): Promise<LocalService> {
  const { sandbox, customer, close } = await startLocal(options)
  await close()
  const postgres = await startPostgres({ folder: join(options.config.data_dir, 'pg') })
  try {
    await age(postgres.url, {
      ...history,
      summarised_days: LOOKED_BACK_DAYS,
      customer_id: customer.customer_id,
      wallet: sandbox.wallets.pool[0]!.address,
      receivers: sandbox.funded_accounts.map(({ address }) => address),
    })
  } finally {
    await postgres.stop()
  }
  return startLocal(options)
}

/** No step that `aged` measures reads older summaries. */
const LOOKED_BACK_DAYS = 8

/** Removes what a local service keeps; as root, its database may lie elsewhere. */
export async function removeData(data_dir: string): Promise<void> {
  const database = await realpath(join(data_dir, 'pg')).catch(() => undefined)
  for (const folder of [database, data_dir])
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}

const TABLES = [
  'attempt',
  'orders',
  'delegation',
  'transfer',
  'subscription',
  'subscription_supply',
] as const

/** As a superuser, while nothing else uses the database: indexes are made at the end. */
export async function age(database_url: string, history: History): Promise<void> {
  const { orders, customers, say } = history
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  try {
    await client.query("set session_replication_role = 'replica'")
    await client.query("set maintenance_work_mem = '1GB'")
    say(`making ${customers} customers`)
    for (const text of CUSTOMERS) await client.query(text, [customers])
    await client.query(namesOf(history))
    await setIndexes(client, false)
    const running = history.running ?? Math.max(1, Math.round(orders * RUNNING_SHARE))
    const lost = Math.max(1, Math.round(orders * LOST_SHARE))
    const counts = { over: orders, running, lost }
    const firsts = { over: 1, running: orders - running + 1, lost: 1 }
    for (const [kind, state, attempt] of KINDS) {
      say(`making ${counts[kind]} orders: ${kind}`)
      const numbers = [firsts[kind], firsts[kind] + counts[kind] - 1]
      const prefix = ORDER_ID_PREFIXES[kind]
      const given = [prefix, ...numbers, state, attempt, history.wallet, history.receivers]
      for (const text of [ATTEMPTS, ORDERS, DELEGATIONS, ...(state === 'ended' ? ENDED : [])])
        await client.query(`${GIVEN} ${text}`, given)
    }
    say('making entries')
    await client.query(ENTRIES, [orders, firsts.running])
    await setIndexes(client, true)
    for (const table of TABLES) {
      say(`indexes of ${table}`)
      await client.query(`reindex table ${table}`)
    }
    say('vacuum')
    // What autovacuum would have done by then.
    await client.query('vacuum (analyze)')
  } finally {
    await client.end()
  }
  const sql = connect({ url: database_url, connections_max: 1, statement_timeout_ms: HOUR_MS })
  try {
    say('sealing')
    await sealAll(sql)
    say('summarising')
    await summarize(sql, history.summarised_days)
  } finally {
    await sql.close()
  }
}

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** As if each seal had been made when its last entry was. Those that the service has made by itself
 *  are made anew. */
async function sealAll(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = 'replica'`
    await tx`delete from journal`
    await tx`delete from journal_mark`
    await tx`delete from sums_seal`
    await tx`delete from sealed_sum`
  })
  let now = new Date()
  const step = sealStep({ sql, clock: { now: () => now } })
  do {
    const [last] = await sql<{ made_at: Date }>`
      select made_at from transfer
      where number <= coalesce((select max(last_entry) from journal), 0) + ${SEALED_AT_ONCE}
      order by number desc limit 1`
    now = new Date(last!.made_at.getTime() + 60_000)
  } while (await step.run())
}

async function summarize(sql: Sql, days: number | undefined): Promise<void> {
  await sql`
    insert into summary_progress (bucket, until, entry)
    select bucket, case when ${days ?? null}::int is null
        then date_trunc('day', (select min(created_at) from customer), 'UTC')
        else date_trunc('day', made_at, 'UTC') - ${days ?? 0}::int * interval '1 day' end, number
    from unnest(array['hour', 'day']) as bucket, (
      select made_at, number from transfer order by number desc limit 1) as last
    on conflict (bucket) do update set until = excluded.until, entry = excluded.entry`
  const step = summarizeStep({ sql, clock: systemClock })
  while (await step.run());
}

/** Whether the indexes of the tables are kept up with what is written. */
async function setIndexes(client: pg.Client, kept: boolean): Promise<void> {
  await client.query(
    `update pg_index set indisready = $1, indisvalid = $1
     where indrelid = any ($2::text[]::regclass[])`,
    [kept, TABLES],
  )
}

/** When an order was placed, its id, and whose it is; customers' names have 26 characters, as all
 *  ids have. Those that run were placed a moment ago, unless they are named by their time. */
const namesOf = (history: History) => {
  const { orders, apart_ms = APART_MS, named_by_time, customers, customer_id } = history
  return `
  create function pg_temp.at_ms(n bigint) returns bigint language sql immutable as $$
    select ${Date.now() - DAY_MS - orders * apart_ms} + n * ${apart_ms} $$;
  create function pg_temp.at(n bigint) returns timestamptz language sql immutable as $$
    select timestamptz 'epoch' + pg_temp.at_ms(n) * interval '1 millisecond' $$;
  create function pg_temp.time_of(kind text, n bigint) returns timestamptz language sql stable as $$
    select case when kind = '${ORDER_ID_PREFIXES.running}' and ${named_by_time !== true}
      then ${LATELY} else ${AT} end $$;
  create function pg_temp.order_id(kind text, n bigint) returns text language sql immutable as $$
    select ${named_by_time ? ID_BY_TIME : "kind || '/' || n"} $$;
  create function pg_temp.customer_of(n bigint) returns text language sql immutable as $$
    select ${customers === 0 ? pg.escapeLiteral(customer_id) : customerId(`n % ${customers}`)} $$`
}

/** The chain of a sandbox is ahead of our clock, and goes on meanwhile. */
const LATELY = "(select greatest(max(head_time), now()) + interval '1 hour' from chain)"
const AT = 'pg_temp.at(n)'
const APART_MS = 10_000
/** Ten characters of the time in milliseconds, then what tells it from others of the time. */
const ID_BY_TIME = `(
  select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
    ((pg_temp.at_ms(n) >> (45 - 5 * i)) & 31)::int + 1, 1), '' order by i)
  from generate_series(0, 9) as i) || rpad(substr(kind, 3), 8, '0') || lpad(n::text, 8, '0')`

/** The customer with this number. */
const customerId = (n: string) => `'00customer' || lpad((${n})::text, 16, '0')`

const CUSTOMERS = [
  `insert into customer (id, name, created_at, deposit_index, deposit_address)
   select ${customerId('n')}, 'Customer ' || n, timestamptz '2020-01-01' + n * interval '1 minute',
          1000000 + n, 'T' || lpad(translate(n::text, '0', 'z'), 33, 'A')
   from generate_series(0, $1::bigint - 1) as n`,
  `insert into account (id, may_go_negative, posted_sun)
   select 'customer:' || ${customerId('n')}, false, 1000000000
   from generate_series(0, $1::bigint - 1) as n`,
]

/** What stays of the bytes of a transaction that is solid for long. */
const STAMP = "decode(repeat('00', 18), 'hex')"

const GIVEN = `
  with given as (select $1::text as kind, $2::bigint as first, $3::bigint as last,
                        $4::text as state, $5::text as attempt, $6::text as wallet,
                        $7::text[] as receivers)`
const ATTEMPTS = `
  insert into attempt (id, subject, contract, state, tx_id, signed, stamp, expires_at, send_at,
                       sends, block_number, block_time, made_at, sent_at)
  select kind || '/' || n, 'delegate:' || kind || '/' || n, '{}', attempt,
         encode(sha256((kind || n)::bytea), 'hex'),
         case when attempt = 'dead' then '\\x00'::bytea end,
         case when attempt = 'solid' then ${STAMP} end, at, at, 1,
         case when attempt = 'solid' then 1 end, case when attempt = 'solid' then at end,
         at, at
  from given, generate_series(first, last) as n,
    lateral (select pg_temp.time_of(kind, n) as at) as placed`
const ORDERS = `
  insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
                      amount_sun, tx_id, due_at, created_at, solid_at, ended_at)
  select pg_temp.order_id(kind, n), pg_temp.customer_of(n),
         'energy', receivers[1 + n % cardinality(receivers)], 65000,
         false, case state when 'failed' then 'failed' else 'success' end, false, 3000000,
         encode(sha256((kind || n)::bytea), 'hex'), at, at,
         case when state <> 'failed' then at + interval '1 minute' end,
         case when state = 'ended' then at + interval '61 minutes' end
  from given, generate_series(first, last) as n,
    lateral (select pg_temp.time_of(kind, n) as at) as placed`
const DELEGATIONS = `
  insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
                          attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
  select kind || '/' || n, pg_temp.order_id(kind, n), wallet,
         receivers[1 + n % cardinality(receivers)],
         'energy', 65000, 1000000, state, kind || '/' || n,
         case when state = 'ended' then 'reclaim/' || kind || '/' || n end,
         case when state <> 'failed' then at end,
         case when state = 'active' then timestamptz '2100-01-01'
              when state = 'ended' then at + interval '1 hour' end,
         case when state = 'ended' then at + interval '61 minutes' end
  from given, generate_series(first, last) as n,
    lateral (select pg_temp.time_of(kind, n) as at) as placed`

/** What was taken back; every tenth order was one of a subscription that has ended. */
const ENDED = [
  `insert into attempt (id, subject, contract, state, tx_id, stamp, expires_at, send_at, sends,
                        block_number, block_time, made_at, sent_at)
   select 'reclaim/' || kind || '/' || n, 'reclaim:' || kind || '/' || n, '{}', 'solid',
          encode(sha256(('reclaim/' || kind || '/' || n)::bytea), 'hex'), ${STAMP},
          at, at, 1, 1, at, at, at
   from given, generate_series(first, last) as n,
     lateral (select ${AT} + interval '61 minutes' as at) as back`,
  `insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
                             activate_address, state, total_sun, supplies, order_id, look_at,
                             created_at, started_at, stopped_at, withdrawn, idle_since)
   select pg_temp.order_id('00supply', n), pg_temp.customer_of(n), 1,
          receivers[1 + n % cardinality(receivers)], 0, 0, false, 'stopped', 1000000, 1,
          pg_temp.order_id(kind, n), at, at, at, at + interval '1 hour', true, at
   from given, generate_series(10, last, 10) as n, lateral (select ${AT} as at) as made`,
  `insert into subscription_supply (subscription_id, order_id)
   select pg_temp.order_id('00supply', n), pg_temp.order_id(kind, n)
   from given, generate_series(10, last, 10) as n`,
]

/** A hold and its capture for each order that was delivered and each subscription, in the order of
 *  their time: all of it hangs on n, and so is made in its order. */
const ENTRIES = `
  insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
  select entry.*, ${AT}
  from generate_series(1, $1::bigint) as n
    cross join lateral (
      select 'order:' || pg_temp.order_id('${ORDER_ID_PREFIXES.over}', n) as name, 3000000 as sun
      union all select 'order:' || pg_temp.order_id('${ORDER_ID_PREFIXES.running}', n), 3000000
        where n >= $2
      union all select 'subscription:' || pg_temp.order_id('00supply', n), 1000000
        where n % 10 = 0) as paid
    cross join lateral (
      select name, 'hold', null, 'customer:' || pg_temp.customer_of(n), 'revenue', sun
      union all select name || '/capture', 'capture', name,
        'customer:' || pg_temp.customer_of(n), 'revenue', sun) as entry`
