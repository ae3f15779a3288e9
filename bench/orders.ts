// Orders per second through HTTP, signed, each durable before its answer, beside what PostgreSQL
// itself reaches on the same database with the statements that the service has sent for them
// (pgbench; parts/recording.ts): batched as ours are, with one batch under way at a time as in a
// process of ours, with two, and one order a transaction. Spread over many customers, and all from
// one, for one receiver; for one, a few, and another for each order, within the limits of the
// default settings and without, and through a node that allows 15 requests a second; and once more
// with 1 ms added to every flush to disk; without the event that tells the customer of it; with a
// span for every request, batch and transaction, kept in memory; and as penstock_api, whose rights
// are looked at with every statement and every row of the ledger. The load, the service and the
// database share the machine's cores, and each measurement runs alone, in turns; what each of the
// three takes of the processor for an order is said too, because rates say little while others use
// the machine. Of what the service takes, HTTP alone is measured in turns with it: the same load on
// a server of node:http that reads the body and answers a constant (bench/parts/http_floor.ts), as
// fast as it can, and at the pace of the service. Fewer rounds end sooner, and say more of the
// compiler's work: it goes on for some ten thousand orders.
//
//   npm run bench -- orders [--rounds N] [--json]

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { type RunningService, serve } from 'penstock-service/serve.ts'
import { asRole } from 'penstock-test/harness/database.ts'
import { keepSpans } from 'penstock-test/harness/traces.ts'
import pg from 'pg'
import { atEnd } from '../tools/ending.ts'
import { configOf, prepareApi } from './parts/api.ts'
import { ownCpuUs, serverCpuReader } from './parts/cpu.ts'
import { type HttpFloor, startHttpFloor } from './parts/http_floor.ts'
import { median } from './parts/median.ts'
import { type BenchNode, startNode } from './parts/node.ts'
import type { LoadFigures, Task } from './parts/order_load.ts'
import { findPgbench, pgbenchRun, SECONDS } from './parts/pgbench.ts'
import {
  distinctOverOne,
  type LoadOutcome,
  measureReceivers,
  type ReceiverFigures,
  type ReceiverLoad,
  receiverLines,
} from './parts/receivers.ts'
import { type Placement, recordPlacing } from './parts/recording.ts'

export const OPTIONS = { rounds: { type: 'string', default: '3' } } as const

const CUSTOMERS = 500
const BATCH = 256
/** A service that has just begun opens its connections, and PostgreSQL plans on each. */
const WARM_UP_MS = 1_000
const SLOW_FLUSH_MICROSECONDS = 1_000
const ONE_CALL_CLIENTS = 16

type Setting = {
  serving: RunningService
  /** The same service with the rights of the API alone. */
  as_api: RunningService
  serverCpu: () => Promise<number>
  url: string
  folder: string
  node: BenchNode
  outside: Awaited<ReturnType<typeof prepareApi>>['outside']
  address: string
  keys: Task['keys']
  /** More keys of the first customer: one may only call so often. */
  keys_of_one: Task['keys']
  floor: HttpFloor
}

export async function run({
  json,
  numbers: { rounds = 3 },
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  // What there is to wait for is told to those who keep it in a file, too.
  const { isTTY } = process.stderr
  const say = (line: string) => void process.stderr.write(isTTY ? `\r\x1b[K${line}` : `${line}\n`)
  say(`making ${CUSTOMERS} customers`)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const remove = atEnd(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startPostgres({
    throw_away: true,
    settings: { shared_buffers: '512MB', max_wal_size: '8GB' },
  })
  const node = await startNode(folder)
  const setting = await prepare(folder, postgres.url, node)
  try {
    const figures = await measure(setting, rounds, say)
    if (isTTY) process.stderr.write('\r\x1b[K')
    print(json, figures)
  } finally {
    setting.floor.end()
    await setting.as_api.close()
    await setting.serving.close()
    node.end()
    await postgres.stop()
    await remove()
  }
}

async function prepare(folder: string, url: string, node: BenchNode): Promise<Setting> {
  const { sandbox, outside } = await prepareApi(folder, node.url)
  const serving = await serve({ ...outside, database_url: url })
  const { sql, app } = serving
  const as_api = await serve({ ...outside, database_url: asRole(url, 'penstock_api') })
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
      await tx`
        insert into transfer (id, kind, debit, credit, amount_sun, made_at)
        values (${`bench:${id}`}, 'move', 'world', ${`customer:${id}`}, 1000000000000000, now())`
      // Nothing is delivered here, so more are open than anybody may have.
      await tx`update customer set open_orders_limit = 100000000 where id = ${id}`
      keys.push(await issueKey(tx, needs, { customer_id: id, name: 'bench' }))
    })
  }
  const [first] = await sql<{ id: string }>`select id from customer order by deposit_index limit 1`
  const keys_of_one: Task['keys'] = []
  for (let i = 0; i < 4; i++) {
    const wanted = { customer_id: first!.id, name: `bench ${i}` }
    keys_of_one.push(await sql.begin((tx) => issueKey(tx, needs, wanted)))
  }
  const serverCpu = await serverCpuReader(sql)
  return {
    serving,
    as_api,
    serverCpu,
    url,
    folder,
    node,
    outside,
    address: sandbox.funded_accounts[0]!.address,
    keys,
    keys_of_one,
    floor: await startHttpFloor(),
  }
}

type Say = (line: string) => void

/** Orders a second: ours, and pgbench's with one and with two batches under way; null without
 *  pgbench. */
type Comparison = { ours: number; pgbench: number | null; pgbench_2: number | null }

type Figures = {
  receivers: ReceiverFigures[]
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
  /** Orders a second with spans kept, and in turns with that without; what the service takes of the
   *  processor for one; the one over the other, the middle of the pairs. */
  traced: number
  untraced: number
  traced_us_per_order: number
  untraced_us_per_order: number
  ratio_traces_cpu: number
  /** Orders a second as penstock_api, and in turns with that as the owner of the database. */
  as_api: number
  as_owner: number
  /** The one over the other of each pair of turns: the middle, the least and the most. */
  ratio_roles: number
  ratio_roles_spread: [number, number]
  /** What the owner's orders take of PostgreSQL's processor, over what penstock_api's take: the
   *  middle of the pairs. It says more than the rate while others use the machine. */
  ratio_roles_cpu: number
  /** Microseconds of the processor. */
  service_us_per_order: number
  postgres_us_per_order: number
  load_us_per_order: number
  /** A call to node:http that reads the body and answers a constant: as fast as it can, and with
   *  answers as late as those of the service. */
  http_at_once_us: number
  http_floor_us: number
  /** What the service takes more than the latter, and how many times as much it takes. */
  ours_above_floor_us: number
  ratio_http_floor: number
}

type CpuFigures = Pick<
  Figures,
  'service_us_per_order' | 'postgres_us_per_order' | 'load_us_per_order'
>

async function measure(setting: Setting, rounds_max: number, say: Say): Promise<Figures> {
  const reference = await referenceOf(setting, say)
  const rounds: {
    spread: Comparison
    hot: Comparison
    few: LoadFigures
    one_call: number | null
  }[] = []
  for (let round = 1; round <= rounds_max; round++) {
    say(`round ${round} of ${rounds_max}`)
    rounds.push({
      spread: await besides(setting, reference, false),
      few: await load(setting, { clients: 64, hot: false }),
      hot: await besides(setting, reference, true),
      one_call:
        reference === undefined
          ? null
          : await pgbenchRun(setting, reference.program, {
              recording: reference.one,
              clients: ONE_CALL_CLIENTS,
            }),
    })
  }
  const receivers = await receiversOf(setting, say)
  const events = await withAndWithoutEvents(setting, 2 * rounds_max, say)
  const traces = await withAndWithoutTraces(setting, 2 * rounds_max, say)
  const roles = await withAndWithoutRoles(setting, 2 * rounds_max - 1, say)
  say('1 ms more for every flush')
  await slowFlushes(setting, SLOW_FLUSH_MICROSECONDS)
  const slow_spread = await besides(setting, reference, false)
  const slow_hot = await besides(setting, reference, true)
  return {
    spread: medians(rounds.map((round) => round.spread)),
    hot: medians(rounds.map((round) => round.hot)),
    slow_spread,
    slow_hot,
    ours_64_p50_ms: median(rounds.map((round) => round.few.p50_ms)),
    ours_64_p99_ms: median(rounds.map((round) => round.few.p99_ms)),
    one_call_hot:
      reference === undefined ? null : median(rounds.map((round) => round.one_call ?? 0)),
    receivers,
    ...events,
    ...traces,
    ...roles,
  }
}

async function withAndWithoutEvents(setting: Setting, rounds: number, say: Say) {
  const rates = { without_events: [] as number[], with_events: [] as number[] }
  for (let round = 1; round <= rounds; round++) {
    say(`with and without events, round ${round} of ${rounds}`)
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

/** Both, the one or the other first: what grows with time is against each of them as often. */
async function inTurns<Seen>(
  round: number,
  one: () => Promise<Seen>,
  other: () => Promise<Seen>,
): Promise<[Seen, Seen]> {
  if (round % 2 === 0) return [await one(), await other()]
  const first = await other()
  return [await one(), first]
}

/** A process asks once whether somebody takes spans: it is another service that has them. */
async function withAndWithoutTraces(setting: Setting, rounds: number, say: Say) {
  const { outside, url } = setting
  // The API's first tracer keeps its spans here, also after it was stopped.
  const { spans, stop } = keepSpans()
  const serving = await serve({ ...outside, database_url: url })
  stop()
  const turn = async (is_traced: boolean) => {
    if (!is_traced) return load(setting, { clients: BATCH, hot: false })
    const kept = keepSpans()
    try {
      return await load({ ...setting, serving }, { clients: BATCH, hot: false })
    } finally {
      kept.stop()
      spans.length = 0
    }
  }
  const pairs: Record<'traced' | 'untraced', LoadFigures & CpuFigures>[] = []
  // Whatever begins has seen less of the code compiled.
  await turn(true)
  for (let round = 1; round <= rounds; round++) {
    say(`with and without traces, round ${round} of ${rounds}`)
    const [traced, untraced] = await inTurns(
      round,
      () => turn(true),
      () => turn(false),
    )
    pairs.push({ traced, untraced })
  }
  await serving.close()
  const middle = (of: 'traced' | 'untraced', name: 'per_second' | 'service_us_per_order') =>
    median(pairs.map((pair) => pair[of][name]))
  const ratios = pairs.map(
    ({ traced, untraced }) => traced.service_us_per_order / untraced.service_us_per_order,
  )
  return {
    traced: middle('traced', 'per_second'),
    untraced: middle('untraced', 'per_second'),
    traced_us_per_order: middle('traced', 'service_us_per_order'),
    untraced_us_per_order: middle('untraced', 'service_us_per_order'),
    ratio_traces_cpu: Math.round(100 * median(ratios)) / 100,
  }
}

type Turns = {
  api: LoadFigures & CpuFigures
  owner: LoadFigures & CpuFigures
  http_at_once_us: number
  http_floor_us: number
}

async function withAndWithoutRoles(setting: Setting, rounds: number, say: Say) {
  const all: Turns[] = []
  // The owner's connections have planned while there were fewer orders, those of penstock_api have
  // not yet: both plan by the same figures from here on.
  await setting.serving.sql`analyze`
  const turn = (serving: RunningService) =>
    load({ ...setting, serving }, { clients: BATCH, hot: false })
  for (let round = 1; round <= rounds; round++) {
    say(`as penstock_api, as the owner, and HTTP alone, round ${round} of ${rounds}`)
    const [api, owner] = await inTurns(
      round,
      () => turn(setting.as_api),
      () => turn(setting.serving),
    )
    const http = await httpAlone(setting, api)
    all.push({ owner, api, ...http })
    say(`${api.service_us_per_order} us of the service, HTTP alone ${http.http_floor_us} us`)
  }
  const middle = (name: keyof CpuFigures) => median(all.map(({ api }) => api[name]))
  const hundredths = (value: number) => Math.round(100 * value) / 100
  const ratios = all.map(({ api, owner }) => hundredths(api.per_second / owner.per_second))
  const cpu = all.map(({ api, owner }) => owner.postgres_us_per_order / api.postgres_us_per_order)
  const above = all.map(({ api, http_floor_us }) => api.service_us_per_order - http_floor_us)
  const times = all.map(({ api, http_floor_us }) => api.service_us_per_order / http_floor_us)
  return {
    as_api: median(all.map(({ api }) => api.per_second)),
    as_owner: median(all.map(({ owner }) => owner.per_second)),
    ratio_roles: median(ratios),
    ratio_roles_spread: [Math.min(...ratios), Math.max(...ratios)] as [number, number],
    ratio_roles_cpu: hundredths(median(cpu)),
    service_us_per_order: middle('service_us_per_order'),
    postgres_us_per_order: middle('postgres_us_per_order'),
    load_us_per_order: middle('load_us_per_order'),
    http_at_once_us: median(all.map(({ http_at_once_us }) => http_at_once_us)),
    http_floor_us: median(all.map(({ http_floor_us }) => http_floor_us)),
    ours_above_floor_us: Math.round(10 * median(above)) / 10,
    ratio_http_floor: hundredths(median(times)),
  }
}

/** What HTTP alone takes of the processor for a call, in microseconds: as fast as it goes, and at
 *  the pace at which the service has placed orders. */
async function httpAlone({ floor, ...setting }: Setting, { per_second }: LoadFigures) {
  floor.holdFor(Math.max(1, Math.round((1_000 * BATCH) / per_second)))
  const turn = async (port: number) => {
    const before_us = await floor.cpuUs()
    const { folder, keys, address } = setting
    const sent = { clients: BATCH, keys, addresses: [address], seconds: 1 }
    const seen = allAccepted(await loadOf({ port, folder }, sent))
    return Math.round((10 * ((await floor.cpuUs()) - before_us)) / seen.answered) / 10
  }
  return { http_at_once_us: await turn(floor.port), http_floor_us: await turn(floor.held_port) }
}

/** pgbench, and what it says: a batch for many customers, one for one of them, and one order. */
type Reference = { program: string; spread: Placement; hot: Placement; one: Placement }

async function referenceOf(setting: Setting, say: Say): Promise<Reference | undefined> {
  const program = findPgbench()
  if (program === undefined) return undefined
  say('writing down what the service sends')
  const record = (clients: number, hot: boolean) =>
    recordPlacing(setting.url, () => load(setting, { clients, hot }))
  // Before the first figure: the compiler has then seen the code, too.
  const [spread, hot] = [await record(BATCH, false), await record(BATCH, true)]
  return { program, spread, hot, one: await record(1, true) }
}

async function besides(
  setting: Setting,
  reference: Reference | undefined,
  hot: boolean,
): Promise<Comparison> {
  const { per_second } = await load(setting, { clients: BATCH, hot })
  if (reference === undefined) return { ours: per_second, pgbench: null, pgbench_2: null }
  const recording = hot ? reference.hot : reference.spread
  const batched = async (clients: number) =>
    Math.round(
      recording.orders.length *
        (await pgbenchRun(setting, reference.program, { recording, clients })),
    )
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

type Limits = ReceiverFigures['limits']

/** Variables of the environment that make a service with such limits. */
const LIMITED: Record<Limits, Record<string, string>> = {
  default: {},
  none: { PENSTOCK_REQUESTS_PER_SECOND: '0', PENSTOCK_READ_REQUESTS_PER_SECOND: '0' },
  '15 a second at the node': {},
}
const SLOW_NODE = 15

async function receiversOf(setting: Setting, say: Say): Promise<ReceiverFigures[]> {
  const { node, keys, keys_of_one, outside, url, folder } = setting
  const send = async (sent: ReceiverLoad, limits: Limits): Promise<LoadOutcome> => {
    const config = configOf(folder, { PENSTOCK_REQUESTS_PER_SECOND: '', ...LIMITED[limits] })
    const serving = await serve({ ...outside, config, database_url: url })
    await node.allow(limits === '15 a second at the node' ? SLOW_NODE : null)
    const before = await node.counts()
    const seen = await measured({ ...setting, serving }, sent)
    const after = await node.counts()
    await node.allow(null)
    await serving.close()
    const { per_second, p50_ms, p99_ms, refused, service_us_per_order } = seen
    if (refused > 0) say(`${refused} were refused, as with ${seen.first_refusal}`)
    const asked = after.answered - before.answered
    const node_requests_per_order = asked / Math.max(1, seen.answered - refused)
    const node_refused = after.refused - before.refused
    const figures = { per_second, p50_ms, p99_ms, refused, service_us_per_order }
    return { ...figures, node_requests_per_order, node_refused }
  }
  return measureReceivers({ keys, keys_of_one, fresh: (count) => node.accounts(count), send, say })
}

async function load(
  setting: Setting,
  { clients, hot }: { clients: number; hot: boolean },
): Promise<LoadFigures & CpuFigures> {
  const { keys, address } = setting
  const buyers = hot ? keys.slice(0, 1) : keys
  const sent = { clients, keys: buyers, addresses: [address], seconds: SECONDS }
  return allAccepted(await measured(setting, sent))
}

async function measured(
  { serving, serverCpu, folder }: Setting,
  sent: ReceiverLoad,
): Promise<LoadFigures & CpuFigures> {
  const [own_before, server_before] = [process.cpuUsage(), await serverCpu()]
  const seen = await loadOf({ port: Number(new URL(serving.api_url!).port), folder }, sent)
  const perOrder = (us: number) => Math.round((10 * us) / seen.answered) / 10
  return {
    ...seen,
    service_us_per_order: perOrder(ownCpuUs(own_before)),
    postgres_us_per_order: perOrder((await serverCpu()) - server_before),
    load_us_per_order: perOrder(seen.cpu_us),
  }
}

/** The load alone, in a process of its own. */
async function loadOf(
  { port, folder }: { port: number; folder: string },
  { seconds, warm_up_ms = WARM_UP_MS, ...sent }: ReceiverLoad,
): Promise<LoadFigures> {
  const times = { warm_up_ms, measure_ms: 1_000 * seconds }
  const task: Task = { ...sent, ...times, port }
  const file = join(folder, 'task.json')
  await writeFile(file, JSON.stringify(task))
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'parts/order_load.ts'),
    file,
  ])
  return JSON.parse(stdout) as LoadFigures
}

function allAccepted<Seen extends LoadFigures>(seen: Seen): Seen {
  const { refused, first_refusal } = seen
  if (refused > 0) throw new Error(`${refused} purchases were refused, as with ${first_refusal}`)
  return seen
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
    ratio_distinct: distinctOverOne(figures.receivers),
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
    `with traces ${figures.traced}, without ${figures.untraced}: of the service's processor ` +
      `${figures.traced_us_per_order} us an order and ${figures.untraced_us_per_order}: ` +
      `${figures.ratio_traces_cpu}`,
    `as penstock_api ${figures.as_api}, as the owner ${figures.as_owner}: ` +
      `${all.ratio_roles} (${all.ratio_roles_spread.join(' to ')}; 0.98 is wanted), ` +
      `of PostgreSQL's processor ${all.ratio_roles_cpu}`,
    `of the processor an order takes ${figures.service_us_per_order} us of the service, ` +
      `${figures.postgres_us_per_order} of PostgreSQL, ${figures.load_us_per_order} of the load`,
    `HTTP alone takes ${figures.http_floor_us} us at that pace (${figures.http_at_once_us} as ` +
      `fast as it can): ${figures.ours_above_floor_us} us are ours, in all ` +
      `${figures.ratio_http_floor} times HTTP`,
    `64 clients: p50 ${figures.ours_64_p50_ms} ms, p99 ${figures.ours_64_p99_ms} ms`,
    ...receiverLines(figures.receivers),
    ...(one_call_hot === null ? ['pgbench was not run: it is not on this machine (PG_BIN)'] : []),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}
