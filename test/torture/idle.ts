// `npm run torture -- idle`: what a service takes while blocks come and nothing is sold. A process
// that does everything sleeps: few transactions and statements, and hardly any of the processor.
// Then what is asked of the node by two API processes and two workers, and by as many with four
// workers. The work that one process can do for all must be done by one, so both may ask about the
// same, and little.

import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { processCpuUs, serverCpuReader } from '../../bench/parts/cpu.ts'
import { readArguments } from '../../tools/arguments.ts'
import { NodeFront } from './relays.ts'
import { Rig, type RigOptions, type Role } from './rig.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

const BLOCK_MS = 3_000
/** In three minutes: 250,000 a day. */
const REQUESTS_MAX_PER_MINUTE = 520 / 3
/** Of one process that does everything. */
const GOALS = {
  transactions_per_second: 15,
  statements_per_minute: 1_000,
  service_cpu_percent: 1,
  node_requests_per_minute: REQUESTS_MAX_PER_MINUTE,
} as const
/** That much the one may ask more or less than the other. */
const DIFFERENCE_MAX = 0.1
/** What comes with the start is over. */
const SETTLED_MS = 10_000

type Idle = { workers: number; requests: number; by_path: Record<string, number> }
type Front = { rig: Rig; requests: Map<string, number> }

/** Lets the processes run while blocks come as on the network, until what comes with the start is
 *  over, and does the work then. */
async function whileIdle<T>(
  roles: readonly Role[],
  work: (front: Front) => Promise<T>,
  options: RigOptions = {},
): Promise<T> {
  let front: NodeFront | undefined
  const rig = await Rig.open({
    ...options,
    async node_urls(chain) {
      front = new NodeFront(chain)
      return [await front.listen()]
    },
  })
  try {
    await Promise.all(roles.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    await delay(SETTLED_MS)
    return await work({ rig, requests: front!.requests })
  } finally {
    await rig.close()
    await front?.close()
  }
}

/** Counts what all processes together ask in a time. */
export async function countIdle(workers: number, counted_ms: number): Promise<Idle> {
  const roles: Role[] = ['api', 'api', ...Array<Role>(workers).fill('worker')]
  return whileIdle(roles, async ({ requests: counts }) => {
    counts.clear()
    await delay(counted_ms)
    const by_path = Object.fromEntries([...counts].sort(([, a], [, b]) => b - a))
    return { workers, requests: sumOf(counts), by_path }
  })
}

const sumOf = (counts: ReadonlyMap<string, number>) =>
  [...counts.values()].reduce((sum, count) => sum + count, 0)

/** What the server has done for the service, by its own counts. */
async function databaseCounter(url: string) {
  // In a database of its own, so that what asks is not counted.
  const of_service = connect({ url, connections_max: 1 })
  await of_service`create extension if not exists pg_stat_statements`
  const [{ name } = { name: '' }] = await of_service<{ name: string }>`
    select current_database() as name`
  await of_service.close()
  const sql = connect({ url: url.replace(/[^/]+$/, 'postgres'), connections_max: 1 })
  await sql`create extension if not exists pg_stat_statements`
  const cpuUs = await serverCpuReader(sql)
  return {
    async read() {
      const [row] = await sql<{ transactions: bigint; statements: bigint }>`
        select xact_commit + xact_rollback as transactions, (
          select coalesce(sum(calls), 0)::bigint from pg_stat_statements
          where dbid = datid and query not like '%by the rig%') as statements
        from pg_stat_database where datname = ${name}`
      return {
        transactions: Number(row!.transactions),
        statements: Number(row!.statements),
        cpu_us: await cpuUs(),
      }
    },
    /** The statements that were made most often. */
    often: (count: number) => sql<{ calls: bigint; query: string }>`
      select calls, query from pg_stat_statements
      where dbid = (select oid from pg_database where datname = ${name})
        and query not like '%by the rig%'
      order by calls desc limit ${count}`,
    reset: () => sql`select pg_stat_statements_reset()`,
    close: () => sql.close(),
  }
}

/** What one process that does everything takes. */
async function measureOne(counted_ms: number) {
  const settings = { shared_preload_libraries: 'pg_stat_statements' }
  const postgres = await startPostgres({ throw_away: true, settings })
  return whileIdle(
    ['all'],
    async ({ rig, requests }) => {
      const counter = await databaseCounter(postgres.url)
      const pid = rig.members[0]!.child.pid!
      await counter.reset()
      requests.clear()
      const [before, cpu_before_us] = [await counter.read(), await processCpuUs(pid)]
      const began_ms = performance.now()
      await delay(counted_ms)
      const seconds = (performance.now() - began_ms) / 1_000
      const [after, cpu_after_us] = [await counter.read(), await processCpuUs(pid)]
      const most_often = await counter.often(MOST_OFTEN)
      await counter.close()
      const percent = (us: number) => rounded(us / 1e4 / seconds)
      return {
        transactions_per_second: rounded((after.transactions - before.transactions) / seconds),
        statements_per_minute: rounded(((after.statements - before.statements) / seconds) * 60),
        service_cpu_percent: percent(cpu_after_us - cpu_before_us),
        database_cpu_percent: percent(after.cpu_us - before.cpu_us),
        node_requests_per_minute: rounded((sumOf(requests) / seconds) * 60),
        most_often: most_often.map(({ calls, query }) => `${calls} ${shortened(query)}`),
      }
    },
    { postgres },
  )
}

/** So many statements are named. */
const MOST_OFTEN = 20

const rounded = (value: number) => Math.round(value * 100) / 100

const shortened = (query: string) => query.replaceAll(/\s+/g, ' ').slice(0, 100)

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { minutes: 3 } })
  const { minutes } = numbers
  const one = await measureOne(minutes * 60_000)
  const over = Object.entries(GOALS).filter(
    ([name, goal]) => one[name as keyof typeof GOALS] > goal,
  )
  for (const [name, goal] of Object.entries(GOALS))
    if (!json) say(`${name}: ${one[name as keyof typeof GOALS]} (at most ${rounded(goal)})`)
  const two = await countIdle(2, minutes * 60_000)
  const four = await countIdle(4, minutes * 60_000)
  const requests_max = Math.floor(REQUESTS_MAX_PER_MINUTE * minutes)
  const more = rounded(four.requests / two.requests - 1)
  const result = { minutes, goals: GOALS, one, requests_max, two, four, more }
  say(JSON.stringify(result, null, json ? 0 : 2))
  const held = two.requests <= requests_max && Math.abs(more) <= DIFFERENCE_MAX
  return held && over.length === 0
}
