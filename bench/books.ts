// The check of the books on a ledger that has grown: whole, and going on from the seal at which it
// held, rule by rule, in one snapshot each. The orders are those of `aged`, a hundredth of them
// comes after the seal. Both are made on the same rows, in turn.
//
//   npm run bench -- books [--orders N] [--json]

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { ROW_RULES } from 'penstock-service/health/books/rules.ts'
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
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { age } from './aged.ts'

export const OPTIONS = { orders: { type: 'string', default: '385000' } } as const

const CUSTOMERS = 1_000
const HOUR_MS = 3_600_000
/** Entries after the seal, of all. */
const SHARE = 0.01

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
    say('sealing')
    const step = sealStep({ sql, clock: systemClock })
    while (await step.run());
    await keepAtAnEarlierSeal(sql)
    say('checking')
    const whole = await timesOf(sql, undefined)
    const continued = await timesOf(sql, await findSumsSeal(sql))
    say('')
    const [{ entries }] = (await sql`select count(*)::int as entries from transfer`) as [
      { entries: number },
    ]
    const times = [...whole].map(
      ([rule, whole_ms]): Times => ({ rule, whole_ms, continued_ms: continued.get(rule)! }),
    )
    report(json, entries, times)
  } finally {
    await sql.close()
    await local.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** As if the last whole check had held some seals ago. */
async function keepAtAnEarlierSeal(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    const newest = await sumsAtNewestSeal(tx)
    const [earlier] = await tx<SumsSeal>`
      select number, last_entry, sha256 from journal
      where last_entry <= ${BigInt(Math.floor(Number(newest!.seal.last_entry) * (1 - SHARE)))}
      order by number desc limit 1`
    await keepSums(
      tx,
      { seal: earlier!, sums: newest!.sums },
      { took_ms: HOUR_MS, at: systemClock.now() },
    )
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
    for (const { rule, find } of ROW_RULES) await take(rule, () => find(tx, sums, [], from))
    if (!from) await take('sums to keep', () => sumsAtNewestSeal(tx))
    else times.set('sums to keep', 0)
    return times
  })
}

function report(json: boolean, entries: number, times: readonly Times[]): void {
  const sum = (of: 'whole_ms' | 'continued_ms') =>
    Math.round(times.reduce((all, one) => all + one[of], 0))
  const [whole_ms, continued_ms] = [sum('whole_ms'), sum('continued_ms')]
  const rounded = times.map((one) => ({
    ...one,
    whole_ms: Math.round(one.whole_ms),
    continued_ms: Math.round(one.continued_ms),
  }))
  if (json) {
    process.stdout.write(`${JSON.stringify({ entries, whole_ms, continued_ms, rules: rounded })}\n`)
    return
  }
  const line = (rule: string, whole: number, continued: number) =>
    `${rule.padEnd(14)}${String(whole).padStart(10)}${String(continued).padStart(12)}\n`
  process.stdout.write(`${entries} entries, in ms:  whole   continued\n`)
  for (const one of rounded) process.stdout.write(line(one.rule, one.whole_ms, one.continued_ms))
  process.stdout.write(line('together', whole_ms, continued_ms))
}
