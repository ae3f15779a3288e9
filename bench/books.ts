// The check of the books on a ledger that has grown: whole, and going on from the seal at which it
// held, rule by rule, in one snapshot each. The orders are those of `aged`, one every ten seconds,
// with ids of their time; the seal is one of the day before the last entry. Both are made on the
// same rows, in turn. Run it for two numbers of orders: what a check that goes on takes is that of
// the entries of its days, however many there are.
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
import { systemClock } from 'penstock-service/lib/clock.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { connect, type Sql, type Tx } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
import { age } from './aged.ts'

export const OPTIONS = { orders: { type: 'string', default: '385000' } } as const

const CUSTOMERS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

type Times = { rule: string; whole_ms: number; continued_ms: number }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const args = ['--port', '0', '--chain-port', '0', '--data-dir', join(folder, 'data')]
  const { help: _, ...config } = readConfig(args, {})
  const local = await startLocal({ config, log: silentLog, throw_away: true })
  const { database_url: url } = local
  const sql = connect({ url, connections_max: 1, statement_timeout_ms: HOUR_MS })
  try {
    await age(local, { orders: numbers.orders!, customers: CUSTOMERS, say })
    say('naming')
    await nameByTime(url)
    say('sealing')
    const step = sealStep({ sql, clock: systemClock })
    while (await step.run());
    await keepAtAnEarlierSeal(sql)
    say('checking')
    const whole = await timesOf(sql, undefined)
    const seal = (await findSumsSeal(sql))!
    const continued = await timesOf(sql, seal)
    say('')
    const counts = await countEntries(sql, seal)
    const times = [...whole].map(
      ([rule, whole_ms]): Times => ({ rule, whole_ms, continued_ms: continued.get(rule)! }),
    )
    report(json, counts, times)
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

function report(json: boolean, counts: Counts, times: readonly Times[]): void {
  const sum = (of: 'whole_ms' | 'continued_ms') =>
    Math.round(times.reduce((all, one) => all + one[of], 0))
  const [whole_ms, continued_ms] = [sum('whole_ms'), sum('continued_ms')]
  const rounded = times.map((one) => ({
    ...one,
    whole_ms: Math.round(one.whole_ms),
    continued_ms: Math.round(one.continued_ms),
  }))
  if (json) {
    process.stdout.write(
      `${JSON.stringify({ ...counts, whole_ms, continued_ms, rules: rounded })}\n`,
    )
    return
  }
  const line = (rule: string, whole: number, continued: number) =>
    `${rule.padEnd(14)}${String(whole).padStart(10)}${String(continued).padStart(12)}\n`
  const { entries, after_seal, looked_at } = counts
  process.stdout.write(
    `${entries} entries, ${after_seal} after the seal, ${looked_at} of the days looked at\n` +
      'in ms                whole   continued\n',
  )
  for (const one of rounded) process.stdout.write(line(one.rule, one.whole_ms, one.continued_ms))
  process.stdout.write(line('together', whole_ms, continued_ms))
}
