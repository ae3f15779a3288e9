// Orders per second through HTTP, signed, each durable before its answer, beside what PostgreSQL
// itself reaches with the same statements on the same database (pgbench): batched as ours are, with
// one batch under way at a time as in a process of ours, with two, and one order a transaction.
// Spread over many customers, and all from one; and once more with 1 ms added to every flush to
// disk; and without the event that tells the customer of it. The load, the service and the database
// share the machine's cores, and each measurement runs alone, in turns.

import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startDevchain } from 'penstock-devchain/serve.ts'
import {
  deriveSandbox,
  devchainControl,
  prepareChain,
  sandboxPhrase,
} from 'penstock-playground/sandbox.ts'
import { readConfig } from 'penstock-service/config.ts'
import { createCustomer } from 'penstock-service/customers/customers.ts'
import { issueKey } from 'penstock-service/keys/keys.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { httpTransport, tronNode } from 'penstock-service/node/node.ts'
import { startPostgres } from 'penstock-service/postgres/server.ts'
import { type RunningService, serve } from 'penstock-service/serve.ts'
import pg from 'pg'
import { atEnd } from '../tools/ending.ts'
import type { LoadFigures, Task } from './order_load.ts'

const CUSTOMERS = 500
const BATCH = 256
const ROUNDS = 3
const SECONDS = 3
const SLOW_FLUSH_MICROSECONDS = 1_000

type Setting = {
  serving: RunningService
  url: string
  folder: string
  address: string
  keys: Task['keys']
}

export async function run({ json }: { json: boolean }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const remove = atEnd(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startPostgres({
    throw_away: true,
    settings: { shared_buffers: '512MB', max_wal_size: '8GB' },
  })
  const devchain = await startDevchain({
    genesis_time_ms: Date.now() - 180_000,
    block_time_seconds: 0,
  })
  const setting = await prepare(folder, postgres.url, devchain.url)
  try {
    const figures = await measure(
      setting,
      (line) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`),
    )
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    print(json, figures)
  } finally {
    await setting.serving.close()
    await devchain.close()
    await postgres.stop()
    await remove()
  }
}

async function prepare(folder: string, url: string, node_url: string): Promise<Setting> {
  const nodes = [{ url: node_url }]
  const sandbox = deriveSandbox(await sandboxPhrase(folder))
  const node = tronNode({ nodes, transport: httpTransport })
  const control = devchainControl(node_url, httpTransport)
  await prepareChain({ node, control, now: systemClock.now }, sandbox)
  const { help: _, ...config } = readConfig(
    ['--port', '0', '--data-dir', folder, '--role', 'api'],
    {
      PENSTOCK_REQUESTS_PER_SECOND: '0',
    },
  )
  const sealing = { current: 'k1', keys: { k1: systemRandom.bytes(32) } }
  const outside = {
    config,
    database_url: url,
    nodes,
    wallets: sandbox.wallets,
    log: silentLog,
    sealing,
  }
  const serving = await serve({ ...outside, recharge_at: 'solid' })
  const { sql, app } = serving
  // Only placing is measured: no steps run, so what they would keep up to date is set once.
  await app.steps.find((step) => step.name === 'follow')!.run()
  await sql`
    update chain set behind = 0, seen_at = now() + interval '1 day',
      head_seen_at = now() + interval '1 day'`
  await sql`update pool set room = 1000000000000000, total_limit = 1, total_weight = 1`
  const keys: Task['keys'] = []
  const needs = { ...app, clock: systemClock, random: systemRandom }
  for (let i = 0; i < CUSTOMERS; i++) {
    await sql.begin(async (tx) => {
      const { id } = await createCustomer(tx, needs, { name: `bench ${i}` })
      await tx`update account set posted_sun = 1000000000000000 where id = ${`customer:${id}`}`
      // Nothing is delivered here, so more are open than anybody may have.
      await tx`update customer set open_orders_limit = 100000000 where id = ${id}`
      keys.push(await issueKey(tx, needs, { customer_id: id, name: 'bench' }))
    })
  }
  await sql`
    create table bench_customer as select row_number() over (order by deposit_index) - 1 as n, id
      from customer`
  return { serving, url, folder, address: sandbox.funded_accounts[0]!.address, keys }
}

type Say = (line: string) => void

/** Orders a second: ours, and pgbench's with one and with two batches under way; null without
 *  pgbench. */
type Comparison = { ours: number; pgbench: number | null; pgbench_2: number | null }

type Figures = {
  spread: Comparison
  hot: Comparison
  slow_spread: Comparison
  slow_hot: Comparison
  ours_64_p50_ms: number
  ours_64_p99_ms: number
  one_call_hot: number | null
  /** Orders a second when order.created is left out, and in turns with that when it is told. */
  without_events: number
  with_events: number
}

async function measure(setting: Setting, say: Say): Promise<Figures> {
  const program = findPgbench()
  const rounds: {
    spread: Comparison
    hot: Comparison
    few: LoadFigures
    one_call: number | null
  }[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    say(`round ${round} of ${ROUNDS}`)
    rounds.push({
      spread: await besides(setting, program, false),
      few: await load(setting, { clients: 64, hot: false }),
      hot: await besides(setting, program, true),
      one_call:
        program === undefined
          ? null
          : await pgbenchRun(setting, program, { hot: true, batch: 1, clients: 16 }),
    })
  }
  const events = await withAndWithoutEvents(setting, say)
  say('1 ms more for every flush')
  await slowFlushes(setting, SLOW_FLUSH_MICROSECONDS)
  const slow_spread = await besides(setting, program, false)
  const slow_hot = await besides(setting, program, true)
  return {
    spread: medians(rounds.map((round) => round.spread)),
    hot: medians(rounds.map((round) => round.hot)),
    slow_spread,
    slow_hot,
    ours_64_p50_ms: median(rounds.map((round) => round.few.p50_ms)),
    ours_64_p99_ms: median(rounds.map((round) => round.few.p99_ms)),
    one_call_hot: program === undefined ? null : median(rounds.map((round) => round.one_call ?? 0)),
    ...events,
  }
}

async function withAndWithoutEvents(setting: Setting, say: Say) {
  const rates = { without_events: [] as number[], with_events: [] as number[] }
  for (let round = 1; round <= 2 * ROUNDS; round++) {
    say(`with and without events, round ${round} of ${2 * ROUNDS}`)
    const is_told = round % 2 === 0
    // As `events set` does, without its rest: nothing is under way here.
    await setting.serving.sql`
      update event_publisher set order_created_from =
        case when ${is_told} then timestamptz '-infinity' else 'infinity' end`
    const { per_second } = await load(setting, { clients: BATCH, hot: false })
    rates[is_told ? 'with_events' : 'without_events'].push(per_second)
  }
  return { without_events: median(rates.without_events), with_events: median(rates.with_events) }
}

async function besides(
  setting: Setting,
  program: string | undefined,
  hot: boolean,
): Promise<Comparison> {
  const { per_second } = await load(setting, { clients: BATCH, hot })
  if (program === undefined) return { ours: per_second, pgbench: null, pgbench_2: null }
  const batched = async (clients: number) =>
    Math.round(BATCH * (await pgbenchRun(setting, program, { hot, batch: BATCH, clients })))
  return { ours: per_second, pgbench: await batched(1), pgbench_2: await batched(2) }
}

function medians(rounds: readonly Comparison[]): Comparison {
  const of = (name: 'pgbench' | 'pgbench_2') =>
    rounds.some((round) => round[name] === null)
      ? null
      : median(rounds.map((round) => round[name] ?? 0))
  return {
    ours: median(rounds.map((round) => round.ours)),
    pgbench: of('pgbench'),
    pgbench_2: of('pgbench_2'),
  }
}

/** PostgreSQL itself waits before it flushes: for every commit, however few there are. */
async function slowFlushes({ url }: Setting, microseconds: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`alter system set commit_delay = ${microseconds}`)
  await client.query('alter system set commit_siblings = 0')
  await client.query('select pg_reload_conf()')
  await client.end()
}

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

async function load(
  setting: Setting,
  { clients, hot }: { clients: number; hot: boolean },
): Promise<LoadFigures> {
  const { serving, folder, address, keys } = setting
  const port = Number(new URL(serving.api_url!).port)
  const task: Task = {
    port,
    clients,
    address,
    warm_up_ms: 1_000,
    measure_ms: 1_000 * SECONDS,
    keys: hot ? keys.slice(0, 1) : keys,
  }
  const file = join(folder, 'task.json')
  await writeFile(file, JSON.stringify(task))
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'order_load.ts'),
    file,
  ])
  const seen = JSON.parse(stdout) as LoadFigures
  if (seen.refused > 0) throw new Error(`${seen.refused} purchases were refused`)
  return seen
}

function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort().reverse() : []
  const folders = [
    process.env.PG_BIN ?? '',
    ...versions.map((version) => `${debian}/${version}/bin`),
  ]
  folders.push(...(process.env.PATH ?? '').split(':'))
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file))
}

/** The statements of placeTogether() in market/orders.ts, their rows made by the server.
 *  Transactions a second. */
async function pgbenchRun(
  { url, folder }: Setting,
  program: string,
  { hot, batch, clients }: { hot: boolean; batch: number; clients: number },
): Promise<number> {
  const script = join(folder, 'place.sql')
  await writeFile(script, placing(hot ? 1 : CUSTOMERS, batch))
  const args = [
    '-n',
    '-M',
    'prepared',
    '-f',
    script,
    '-c',
    `${clients}`,
    '-j',
    `${Math.min(2, clients)}`,
    '-T',
    `${SECONDS}`,
    url,
  ]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += String(chunk)))
  await new Promise((resolve) => child.on('close', resolve))
  const [, per_second] = /tps = ([\d.]+)/.exec(text) ?? []
  if (per_second === undefined) throw new Error(`pgbench failed: ${text}`)
  return Math.round(Number(per_second) * 10) / 10
}

function placing(customers: number, batch: number): string {
  const chosen = `(select 'r' || :run::bigint || '-' || g as id, c.id as customer_id
    from generate_series(1, ${batch}) as g
    join bench_customer as c on c.n = (:run::bigint + g * 7919) % ${customers}) as chosen`
  return `
\\set run random(1, 1000000000000)
begin;
select id, posted_sun - held_sun as free_sun from account
  where id = any(array(select distinct 'customer:' || customer_id from ${chosen}))
    and not may_go_negative
  order by id for update;
select o.* from orders as o
  join ${chosen} on o.customer_id = chosen.customer_id and o.external_id = chosen.id;
select head_number, head_id, head_time, solid_number, confirmed_number, unconfirmed_since,
  disputed_number, behind, seen_at, head_seen_at from chain;
select resource, room - reserved as free from pool order by resource for update;
insert into orders (id, customer_id, external_id, key_id, service, address, energy, bandwidth,
                    activate, activation_id, to_delegate, amount_sun, fee_sun, due_at, created_at)
  select id, customer_id, id, null, 'energy', 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7', 32000, 0,
         false, null, true, 1440000, 0, now(), now() from ${chosen};
with hold as (
  insert into transfer (id, kind, debit, credit, amount_sun, made_at)
  select 'order:' || id, 'hold', 'customer:' || customer_id, 'revenue', 1440000, now()
  from ${chosen}
  returning debit, amount_sun
)
update account set held_sun = held_sun + asked.sun
from (select debit, sum(amount_sun)::bigint as sun from hold group by debit) as asked
where account.id = asked.debit and not may_go_negative;
update pool set reserved = reserved + 32000 * ${batch} where resource = 'energy';
commit;
`
}

function print(json: boolean, figures: Figures): void {
  const { spread, hot, slow_spread, slow_hot, one_call_hot } = figures
  const ratio = (ours: number, theirs: number | null) =>
    theirs === null ? null : Math.round((100 * ours) / theirs) / 100
  const all = {
    ...figures,
    ratio_spread: ratio(spread.ours, spread.pgbench),
    ratio_hot: ratio(hot.ours, hot.pgbench),
    ratio_spread_2: ratio(spread.ours, spread.pgbench_2),
    ratio_hot_2: ratio(hot.ours, hot.pgbench_2),
    ratio_slow_spread: ratio(slow_spread.ours, slow_spread.pgbench),
    ratio_slow_hot: ratio(slow_hot.ours, slow_hot.pgbench),
    hot_over_one_call: ratio(hot.ours, one_call_hot),
    ratio_events: ratio(figures.with_events, figures.without_events),
  }
  if (json) {
    process.stdout.write(`${JSON.stringify(all)}\n`)
    return
  }
  const row = (title: string, { ours, pgbench, pgbench_2 }: Comparison) =>
    [
      title.padEnd(40),
      ours,
      pgbench ?? '-',
      ratio(ours, pgbench) ?? '-',
      pgbench_2 ?? '-',
      ratio(ours, pgbench_2) ?? '-',
    ]
      .map((one) => String(one).padStart(9))
      .join(' ')
  const lines = [
    `${`orders a second, ${BATCH} clients`.padEnd(40)}      ours   pgbench     ` +
      'ratio  2 at once     ratio',
    row(`  ${CUSTOMERS} customers`, spread),
    row('  one customer', hot),
    row(`  ${CUSTOMERS} customers, each flush 1 ms slower`, slow_spread),
    row('  one customer, each flush 1 ms slower', slow_hot),
    `one customer, an order a call: ${one_call_hot ?? '-'}; ` +
      `ours is ${all.hot_over_one_call ?? '-'} times that`,
    `with order.created ${figures.with_events}, without ${figures.without_events}: ` +
      `${all.ratio_events} (0.9 is wanted)`,
    `64 clients: p50 ${figures.ours_64_p50_ms} ms, p99 ${figures.ours_64_p99_ms} ms`,
    ...(one_call_hot === null ? ['pgbench was not run: it is not on this machine (PG_BIN)'] : []),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}
