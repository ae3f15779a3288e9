// How fast the chain is followed when its blocks are as large as the main network's: one at the
// head, from the node having it to its being stored, and many after an absence. The node is a
// process of its own that serves prepared bytes over HTTP, the database a real one with every
// commit on disk, and both share the machine with the follower. The reference is fetching the same
// bytes and parsing them, in the same run, by turns. A second figure is with everything that reads
// the stored blocks at work: deposits, subscriptions, and the log and the index of screening.
//
//   npm run bench -- follower [--blocks N] [--json]

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { pruneStep } from 'penstock-service/chain/follow/blocks.ts'
import { contentsOf } from 'penstock-service/chain/follow/contents.ts'
import { joinReaders } from 'penstock-service/chain/follow/cursors.ts'
import { followStep } from 'penstock-service/chain/follow/follower.ts'
import { parseNodeJson } from 'penstock-service/chain/node/answers.ts'
import { httpTransport, type Transport, tronNode } from 'penstock-service/chain/node/node.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { useStep } from 'penstock-service/market/subscriptions/uses.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { type Step, startSteps } from 'penstock-service/platform/steps/step.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { issuersOf } from 'penstock-service/screening/engine/issuers.ts'
import { recordStep } from 'penstock-service/screening/tracing/flow_log.ts'
import {
  DEFAULT_CARRIED_BLOCKS,
  DEFAULT_CHECKPOINT_TRANSFERS,
  flowGenerations,
} from 'penstock-service/screening/tracing/generations.ts'
import {
  arriveStep,
  creditStep,
  DUST_SUN,
} from 'penstock-service/treasury/deposits/deposit_step.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { BLOCK_MS, FIRST_NUMBER, TRANSACTIONS } from './parts/mainnet_blocks.ts'
import type { Reach, StartedNode } from './parts/mainnet_node.ts'

export const OPTIONS = { blocks: { type: 'string', default: '1200' } } as const

const HEAD_LIMIT_MS = 15
const TIMES_REAL_LIMIT = 100
const A_DAY = 86_400_000 / BLOCK_MS

/** Blocks before anything is measured: a service has run for long. */
const WARM_UP = 300
const AT_THE_HEAD = 200
/** The head is this far beyond what is solid. */
const LAG = 18
/** Blocks that are caught up with, before the same are fetched for the reference. */
const ROUND = 100
/** Blocks of which the stages are measured one by one. */
const STAGED = 60
const TOKENS = new Set([USDT])

const round = (value: number) => Math.round(value * 100) / 100
const sumOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0)
const at = (values: readonly number[], share: number) =>
  round(
    values.toSorted((a, b) => a - b)[
      Math.min(values.length - 1, Math.floor(share * values.length))
    ]!,
  )

type Bench = {
  sql: Sql
  url: string
  node: ChildProcess
  head: number
  say: (line: string) => void
}

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const node = fork(join(import.meta.dirname, 'parts/mainnet_node.ts'))
  const [{ url }] = (await once(node, 'message')) as [StartedNode]
  const postgres = await startPostgres({ throw_away: true })
  await migrate(postgres.url)
  const sql = connect({ url: postgres.url })
  const bench: Bench = { sql, url, node, head: FIRST_NUMBER, say }
  try {
    const follow = stepOf(bench, httpTransport)
    await follow.run()
    await grow(bench, WARM_UP)
    await catchUp(bench, follow)
    const figures = {
      transactions: TRANSACTIONS,
      ...(await atTheHead(bench, follow)),
      ...(await behind(bench, follow, numbers.blocks!)),
      ...(await stages(bench)),
      ...(await withReaders(bench, follow, Math.ceil(numbers.blocks! / 4))),
    }
    say('')
    process.stdout.write(json ? `${JSON.stringify(figures)}\n` : report(figures))
  } finally {
    await sql.close()
    await postgres.stop()
    node.disconnect()
  }
}

const nodeWith = (url: string, transport: Transport) => tronNode({ nodes: [{ url }], transport })

function stepOf({ sql, url }: Bench, transport: Transport): Step {
  return followStep({ sql, clock: systemClock, node: nodeWith(url, transport), tokens: TOKENS })
}

/** The node's chain grows by some blocks. */
async function grow(bench: Bench, blocks: number): Promise<void> {
  bench.head += blocks
  const reach: Reach = { head: bench.head, solid: Math.max(FIRST_NUMBER, bench.head - LAG) }
  bench.node.send(reach)
  await once(bench.node, 'message')
}

async function catchUp({ sql, head }: Bench, follow: Step): Promise<void> {
  do await follow.run()
  while ((await reached(sql)) < head)
}

async function reached(sql: Sql): Promise<number> {
  const [chain] = await sql<{ head_number: bigint }>`select head_number from chain`
  return Number(chain!.head_number)
}

/** One block after another, each as soon as the node has it. How long until the follower looks is
 *  not in it. */
async function atTheHead(bench: Bench, follow: Step) {
  const times: number[] = []
  let cpu_ms = 0
  for (let i = 0; i < AT_THE_HEAD; i++) {
    await grow(bench, 1)
    const before = process.cpuUsage()
    const began_ms = performance.now()
    await follow.run()
    times.push(performance.now() - began_ms)
    cpu_ms += cpuSince(before)
    if ((await reached(bench.sql)) !== bench.head)
      throw new Error('a block at the head was not stored in one run')
    bench.say(`${i + 1} of ${AT_THE_HEAD} blocks at the head`)
    await delay(10)
  }
  return {
    head_blocks: times.length,
    head_min_ms: at(times, 0),
    head_p50_ms: at(times, 0.5),
    head_p99_ms: at(times, 0.99),
    head_cpu_ms: round(cpu_ms / times.length),
  }
}

/** What this process has worked since: on a machine that others use too, the figure that does not
 *  depend on them. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** The catch-up, and the same blocks only fetched and parsed, by turns. */
async function behind(bench: Bench, follow: Step, blocks: number) {
  const spent = { follow_ms: 0, cpu_ms: 0, fetch_ms: 0, parse_ms: 0, bytes: 0 }
  const rss: number[] = []
  const pauses: number[] = []
  let done = 0
  while (done < blocks) {
    const more = Math.min(ROUND, blocks - done)
    await grow(bench, more)
    const began_ms = performance.now()
    const before = process.cpuUsage()
    const busy = monitorEventLoopDelay({ resolution: 1 })
    busy.enable()
    await catchUp(bench, follow)
    busy.disable()
    pauses.push(busy.max / 1e6)
    spent.follow_ms += performance.now() - began_ms
    spent.cpu_ms += cpuSince(before)
    rss.push(process.memoryUsage().rss / 2 ** 20)
    const reference = await fetchAndParse(bench, more)
    spent.fetch_ms += reference.fetch_ms
    spent.parse_ms += reference.parse_ms
    spent.bytes += reference.bytes
    done += more
    bench.say(`${done} of ${blocks} blocks`)
  }
  const per_second = (1_000 * blocks) / spent.follow_ms
  const reference_per_second = (1_000 * blocks) / (spent.fetch_ms + spent.parse_ms)
  return {
    blocks,
    catch_up_ms: Math.round(spent.follow_ms),
    blocks_per_second: round(per_second),
    times_real: Math.round((per_second * BLOCK_MS) / 1_000),
    minutes_for_a_day: round(A_DAY / per_second / 60),
    block_kib: Math.round(spent.bytes / blocks / 1_024),
    reference_blocks_per_second: round(reference_per_second),
    reference_ratio: round(per_second / reference_per_second),
    reference_fetch_share: round(spent.fetch_ms / (spent.fetch_ms + spent.parse_ms)),
    cpu_ms_per_block: round(spent.cpu_ms / blocks),
    pause_max_ms: at(pauses, 1),
    rss_first_mib: Math.round(rss[0]!),
    rss_last_mib: Math.round(rss.at(-1)!),
  }
}

/** How many blocks the reference fetches together, and of how many the receipts at once. */
const TOGETHER = 10

/** The last blocks, from the side that they are caught up from. */
async function fetchAndParse({ url, head }: Bench, blocks: number) {
  const spent = { fetch_ms: 0, parse_ms: 0, bytes: 0 }
  for (let first = head - blocks + 1; first <= head; first += TOGETHER) {
    const last = Math.min(head, first + TOGETHER - 1)
    const began_ms = performance.now()
    const bodies = await Promise.all(bodiesOf(first, last).map((one) => ask(url, one)))
    spent.fetch_ms += performance.now() - began_ms
    const parse_ms = performance.now()
    for (const body of bodies) JSON.parse(body)
    spent.parse_ms += performance.now() - parse_ms
    spent.bytes += sumOf(bodies.map((body) => body.length))
  }
  return spent
}

type NodeRequest = { path: string; body: string }

/** What is asked for a row of blocks. */
function bodiesOf(first: number, last: number): NodeRequest[] {
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  return [
    {
      path: '/wallet/getblockbylimitnext',
      body: JSON.stringify({ startNum: first, endNum: last + 1 }),
    },
    ...numbers.map((num) => ({
      path: '/wallet/gettransactioninfobyblocknum',
      body: JSON.stringify({ num }),
    })),
  ]
}

async function ask(url: string, { path, body }: NodeRequest): Promise<string> {
  const answer = await httpTransport({ url: url + path, body, headers: {}, timeout_ms: 5_000 })
  return answer.body
}

/** What a block takes in each stage when nothing overlaps: further blocks, each stage by itself, in
 *  the service's own code. */
async function stages(bench: Bench) {
  const spent = { fetch: 0, parse: 0, check: 0, store: 0 }
  const stage = async <T>(name: keyof typeof spent, work: () => T | Promise<T>): Promise<T> => {
    const began_ms = performance.now()
    const done = await work()
    spent[name] += performance.now() - began_ms
    return done
  }
  for (let i = 0; i < STAGED; i++) {
    await grow(bench, 1)
    const asked = bodiesOf(bench.head, bench.head)
    const bodies = await stage('fetch', () => Promise.all(asked.map((one) => ask(bench.url, one))))
    await stage('parse', () => bodies.map((body) => parseNodeJson(body, 'bench')))
    // The transport hands out what was fetched: what the node's client takes beyond parsing is
    // checking.
    const held: Transport = async (request) => {
      const found = asked.findIndex((one) => request.url.endsWith(one.path))
      return found < 0 ? httpTransport(request) : { status: 200, body: bodies[found]! }
    }
    const node = nodeWith(bench.url, held)
    const read = async () => {
      const [block] = await node.blocks(bench.head, bench.head, 'head')
      return contentsOf(TOKENS, block!, await node.receipts(block!, 'head'))
    }
    await stage('check', read)
    const follow = stepOf(bench, held)
    await stage('store', () => follow.run())
  }
  // By difference: the client parses again what was parsed, and a run of the follower reads again
  // what was checked.
  const store = spent.store - spent.check
  const parts = { fetch: spent.fetch, parse: spent.parse, check: spent.check - spent.parse, store }
  return { stages_ms: mapped(parts, (ms) => round(ms / STAGED)) }
}

const mapped = <T extends Record<string, number>>(values: T, change: (value: number) => number) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, change(value)]),
  ) as Record<keyof T, number>

/** The catch-up with everything that reads blocks at work in the same process, as in the
 *  service. */
async function withReaders(bench: Bench, follow: Step, blocks: number) {
  const { sql, url } = bench
  const generations = flowGenerations({
    sql,
    clock: systemClock,
    carried_blocks: DEFAULT_CARRIED_BLOCKS,
    checkpoint_transfers: DEFAULT_CHECKPOINT_TRANSFERS,
  })
  const clock = systemClock
  const node = nodeWith(url, httpTransport)
  const issuers = issuersOf({ sql, clock, node })
  const senders = { heldSenders: heldSenders({ clock }), issuers, dust_sun: DUST_SUN }
  const deposits = {
    sql,
    clock,
    recharge_address: USDT,
    recharge_at: 'inclusion' as const,
    wake: () => {},
    ...senders,
  }
  const steps = [
    follow,
    recordStep({ sql, node, tokens: TOKENS }),
    generations.step,
    creditStep(deposits),
    arriveStep(deposits),
    useStep({ sql, clock: systemClock }),
    pruneStep({ sql }),
  ]
  const running = startSteps(joinReaders(sql, steps), silentLog)
  const behindMost = async () => {
    const cursors = await sql<{ number: bigint }>`select number from cursor`
    const indexed = generations.current()?.index.block_number ?? 0
    return bench.head - LAG - Math.min(indexed, ...cursors.map((one) => Number(one.number)))
  }
  try {
    // They begin with what is stored so far.
    while ((await behindMost()) > 0) await delay(20)
    await grow(bench, blocks)
    const began_ms = performance.now()
    while ((await reached(sql)) < bench.head) await delay(5)
    const followed_ms = performance.now() - began_ms
    while ((await behindMost()) > 0) await delay(5)
    const read_ms = performance.now() - began_ms
    return {
      with_readers_blocks: blocks,
      with_readers_blocks_per_second: round((1_000 * blocks) / followed_ms),
      readers_blocks_per_second: round((1_000 * blocks) / read_ms),
    }
  } finally {
    await running.stop()
  }
}

type Figures = Awaited<ReturnType<typeof atTheHead>> &
  Awaited<ReturnType<typeof behind>> &
  Awaited<ReturnType<typeof stages>> &
  Awaited<ReturnType<typeof withReaders>> & { transactions: number }

function report(f: Figures): string {
  const all = sumOf(Object.values(f.stages_ms))
  const parts = Object.entries(f.stages_ms).map(
    ([name, ms]) => `${name} ${ms} ms (${Math.round((100 * ms) / all)} %)`,
  )
  return [
    `a block of ${f.transactions} transactions, ${f.block_kib} KiB with its receipts`,
    `at the head         least ${f.head_min_ms} ms   p50 ${f.head_p50_ms} ms   ` +
      `p99 ${f.head_p99_ms} ms   (${f.head_blocks} blocks; limit ${HEAD_LIMIT_MS} ms; ` +
      `${f.head_cpu_ms} ms of it at work in this process)`,
    `catching up         ${f.blocks_per_second} blocks a second, ` +
      `${f.times_real} times real time (limit ${TIMES_REAL_LIMIT}); ` +
      `${f.blocks} blocks in ${f.catch_up_ms} ms`,
    `meanwhile           ${f.cpu_ms_per_block} ms of work in this process for a block, ` +
      `up to ${f.pause_max_ms} ms without a pause`,
    `a day of ${A_DAY}      would take ${f.minutes_for_a_day} minutes at that rate`,
    `fetched and parsed  ${f.reference_blocks_per_second} blocks a second, ` +
      `${Math.round(100 * f.reference_fetch_share)} % of it fetching: ` +
      `following reaches ${f.reference_ratio} of that`,
    `a block by itself   ${parts.join(', ')}`,
    `memory              ${f.rss_first_mib} MiB after ${Math.min(ROUND, f.blocks)} ` +
      `blocks, ${f.rss_last_mib} MiB after ${f.blocks}`,
    `with all readers    ${f.with_readers_blocks_per_second} blocks a second followed, ` +
      `${f.readers_blocks_per_second} read by all of them, the index of screening included; ` +
      `${f.with_readers_blocks} blocks`,
    '',
  ].join('\n')
}
