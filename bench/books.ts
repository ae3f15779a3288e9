// The check of the books on two ledgers, one four times as large as the other: whole, and going on
// from the seal at which it held, rule by rule, in one snapshot each. The orders are those of
// `aged`, one every ten seconds, with ids of their time; the seal is one of the day before the last
// entry, so that a check that goes on looks at as many entries in both. Its time is to be the same,
// whatever there was before: that ratio is printed, and that of the whole check beside it.
//
//   npm run bench -- books [--orders N] [--json]

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { ROW_RULES } from 'penstock-service/health/books/rules.ts'
import { type Scope, scopeOf } from 'penstock-service/health/books/scope.ts'
import { accountSums } from 'penstock-service/ledger/accounts/books.ts'
import { sealStep } from 'penstock-service/ledger/accounts/journal.ts'
import {
  findSumsSeal,
  keepSums,
  type SumsSeal,
  sumsAtNewestSeal,
  sumsFromSeal,
} from 'penstock-service/ledger/accounts/sealed_sums.ts'
import { summarizeStep } from 'penstock-service/ledger/statements/summaries.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { connect, type Sql, type Tx } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
import { age } from './aged.ts'

export const OPTIONS = { orders: { type: 'string', default: '240000' } } as const

const CUSTOMERS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** The smaller ledger has a part of the orders of the larger one. */
const PART = 4

type Measurement = { counts: Counts; whole: Map<string, number>; continued: Map<string, number> }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const orders = numbers.orders!
  const small = await measure(Math.ceil(orders / PART))
  const large = await measure(orders)
  report(json, small, large)
}

async function measure(orders: number): Promise<Measurement> {
  const say = (line: string) =>
    process.stderr.isTTY && process.stderr.write(`\r\x1b[K${orders} orders: ${line}`)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const args = ['--port', '0', '--chain-port', '0', '--data-dir', join(folder, 'data')]
  const { help: _, ...config } = readConfig(args, {})
  const local = await startLocal({ config, log: silentLog, throw_away: true })
  const { database_url: url } = local
  const sql = connect({ url, connections_max: 1, statement_timeout_ms: HOUR_MS })
  try {
    await age(local, { orders, customers: CUSTOMERS, say })
    say('naming')
    await nameByTime(url)
    say('sealing')
    const step = sealStep({ sql, clock: systemClock })
    while (await step.run());
    say('summarising')
    const summarize = summarizeStep({ sql, clock: systemClock })
    do await summarize.run()
    while (await isBehind(sql))
    await keepAtAnEarlierSeal(sql)
    say('checking')
    const seal = (await findSumsSeal(sql))!
    // The first reading comes from the disk: not counted.
    await timesOf(sql, undefined)
    const whole = await timesOf(sql, undefined)
    const continued = await timesOf(sql, seal)
    say('')
    return { counts: await countEntries(sql, seal), whole, continued }
  } finally {
    await sql.close()
    await local.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Orders get ids that begin with their time, as those of the service do. */
async function nameByTime(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("set session_replication_role = 'replica'")
  for (const text of NAMING) await client.query(text)
  await client.end()
}

const NAMING = [
  `create temp table named as
   select id, (
       select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
         ((floor(extract(epoch from created_at) * 1000)::bigint >> (45 - 5 * i)) & 31)::int + 1,
         1), '' order by i)
       from generate_series(0, 9) as i) || lpad(row_number() over ()::text, 16, '0') as name
   from orders`,
  'create unique index on named (id)',
  'analyze named',
  'update orders set id = name from named where named.id = orders.id',
  'update delegation set order_id = name from named where named.id = order_id',
  'update subscription set order_id = name from named where named.id = order_id',
  `update transfer set id = 'order:' || name || case kind when 'hold' then '' else '/capture' end,
     hold_id = case kind when 'hold' then null else 'order:' || name end
   from named where 'order:' || named.id = coalesce(hold_id, transfer.id)`,
  'vacuum (analyze)',
]

/** The last of the orders' entries that were made until then; they are numbered as they came. */
async function lastEntryUntil(tx: Tx, at: Date): Promise<bigint> {
  const [last] = await tx<{ number: bigint }>`
    select max(number) as number from transfer
    where made_at <= ${at} and starts_with(id, 'order:')`
  return last!.number
}

/** Whether entries are sealed and not summarised: the service does it too, and may be at it. */
async function isBehind(sql: Sql): Promise<boolean> {
  const behind = await sql`
    select 1 from summary_progress where entry < (select max(last_entry) from journal)`
  return behind.length > 0
}

/** As if the last whole check had held a day before the last entry. */
async function keepAtAnEarlierSeal(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    const newest = await sumsAtNewestSeal(tx)
    const [last] = await tx<{ at: Date }>`
      select max(made_at) as at from transfer where starts_with(id, 'order:')`
    const at = later(last!.at, -DAY_MS)
    const [earlier] = await tx<SumsSeal>`
      select number, last_entry, sha256 from journal
      where last_entry <= ${await lastEntryUntil(tx, at)} order by number desc limit 1`
    await keepSums(tx, { seal: earlier!, sums: newest!.sums }, { took_ms: HOUR_MS, at })
  })
}

/** As the check has it, had the entries been sealed as they came: here all were sealed at once. */
async function scopeAt(tx: Tx, seal: SumsSeal | undefined): Promise<Scope> {
  const scope = await scopeOf(tx, seal)
  if (!seal) return scope
  return { ...scope, before_entry: await lastEntryUntil(tx, later(scope.since, -HOUR_MS)) }
}

const later = (at: Date, ms: number) => new Date(at.getTime() + ms)

type Counts = { entries: number; after_seal: number; looked_at: number }

/** All entries, those after the seal, and those of the days that are looked at. */
async function countEntries(sql: Sql, seal: SumsSeal): Promise<Counts> {
  return sql.begin(async (tx) => {
    const { before_entry, sealed_entry } = await scopeAt(tx, seal)
    const [counts] = await tx<Counts>`
      select count(*)::int as entries,
        count(*) filter (where number > ${sealed_entry})::int as after_seal,
        count(*) filter (where number > ${before_entry})::int as looked_at
      from transfer`
    return counts!
  })
}

/** Milliseconds of each rule. What it finds in rows that were made is not asked. */
async function timesOf(sql: Sql, from: SumsSeal | undefined): Promise<Map<string, number>> {
  return sql.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`
    await tx`set local work_mem = '128MB'`
    const times = new Map<string, number>()
    const take = async <T>(rule: string, work: () => Promise<T>): Promise<T> => {
      const began_ms = performance.now()
      const result = await work()
      times.set(rule, (times.get(rule) ?? 0) + performance.now() - began_ms)
      return result
    }
    const sums = await take('sums', () => (from ? sumsFromSeal(tx, from) : accountSums(tx)))
    const scope = await scopeAt(tx, from)
    for (const { rule, find } of ROW_RULES) await take(rule, () => find(tx, sums, [], scope))
    if (!from) await take('sums to keep', () => sumsAtNewestSeal(tx))
    else times.set('sums to keep', 0)
    return times
  })
}

/** Of a rule, or of all: on the smaller ledger, and on the larger one. */
type Line = {
  rule: string
  whole_ms: readonly [number, number]
  continued_ms: readonly [number, number]
}

function report(json: boolean, small: Measurement, large: Measurement): void {
  const pair = (of: 'whole' | 'continued', rule: string) =>
    [small[of].get(rule)!, large[of].get(rule)!].map(Math.round) as [number, number]
  const rules = [...large.whole.keys()].map(
    (rule): Line => ({
      rule,
      whole_ms: pair('whole', rule),
      continued_ms: pair('continued', rule),
    }),
  )
  const sum = (of: 'whole_ms' | 'continued_ms') =>
    rules.reduce<[number, number]>(([a, b], one) => [a + one[of][0], b + one[of][1]], [0, 0])
  const together = {
    rule: 'together',
    whole_ms: sum('whole_ms'),
    continued_ms: sum('continued_ms'),
  }
  const ratios = {
    whole: ratioOf(together.whole_ms),
    continued: ratioOf(together.continued_ms),
  }
  const counts = { small: small.counts, large: large.counts }
  if (json) {
    process.stdout.write(`${JSON.stringify({ ...counts, rules, together, ratios })}\n`)
    return
  }
  for (const { entries, after_seal, looked_at } of [small.counts, large.counts])
    process.stdout.write(
      `${entries} entries, ${after_seal} after the seal, ${looked_at} of the days looked at\n`,
    )
  process.stdout.write('in ms            whole, small  large    continued, small  large\n')
  for (const one of [...rules, together]) process.stdout.write(lineOf(one))
  process.stdout.write(
    `the larger one takes ${ratios.whole} times as long whole, ${ratios.continued} continued\n`,
  )
}

const ratioOf = ([small, large]: readonly [number, number]) =>
  Math.round((large / small) * 100) / 100

function lineOf({ rule, whole_ms, continued_ms }: Line): string {
  const cells = [...whole_ms, ...continued_ms].map((ms) => String(ms).padStart(13))
  return `${rule.padEnd(14)}${cells.join('')}\n`
}
