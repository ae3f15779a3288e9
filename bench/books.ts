// The check of the books on two ledgers, the one larger by whole hundreds of thousands of orders:
// whole, and going on from the seal at which it held, rule by rule, in one snapshot each. The
// orders are those of `aged`, with ids of their time; the seal is one of the day before the last
// entry, so that a check that goes on looks at as many entries in both. Its time is to be the same,
// whatever there was before: that ratio is printed, and that of the whole check beside it.
//
//   npm run bench -- books [--orders N] [--a-day N] [--json]
//   --orders N   of the larger ledger
//   --a-day N    the orders of a day

import { setLook } from 'penstock-service/health/books/books.ts'
import { ROW_RULES } from 'penstock-service/health/books/rules.ts'
import { scopeOf } from 'penstock-service/health/books/scope.ts'
import { accountSums } from 'penstock-service/ledger/accounts/books.ts'
import { SEALED_AT_ONCE } from 'penstock-service/ledger/accounts/journal.ts'
import {
  findSumsSeal,
  keepSums,
  type SumsSeal,
  sumsAtNewestSeal,
  sumsFromSeal,
} from 'penstock-service/ledger/accounts/sealed_sums.ts'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql, type Tx } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { age } from './parts/history.ts'
import { median } from './parts/median.ts'

export const OPTIONS = {
  orders: { type: 'string', default: '250000' },
  'a-day': { type: 'string', default: '8640' },
} as const

const CUSTOMERS = 1_000
/** As many in both ledgers: how many there are hangs on what is sold in an hour. */
const RUNNING = 3_000
/** Nothing is asked of the chain: any addresses do. */
const ACCOUNTS = {
  customer_id: '',
  wallet: 'TWallet',
  receivers: Array.from({ length: 50 }, (_, i) => `TReceiver${i}`),
}
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** A ledger began before the days that are looked at, and a seal was made before them. */
const DAYS_MIN = 4.1
const ORDERS_OF_SEAL = Number(SEALED_AT_ONCE) / 2
/** So many orders have 220,000 entries, those of 11 seals: after the seal there are as many. */
const STEP = 100_000

type Measurement = { counts: Counts; whole: Map<string, number>; continued: Map<string, number> }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const { orders = 0, 'a-day': a_day = 0 } = numbers
  const least = Math.ceil(Math.max(a_day * DAYS_MIN, RUNNING + ORDERS_OF_SEAL) + ORDERS_OF_SEAL)
  if (orders < least + STEP) throw new Misuse(`--orders is less than ${least + STEP}.`)
  const apart_ms = Math.round(DAY_MS / a_day)
  const small = await measure(least + ((orders - least) % STEP), apart_ms)
  const large = await measure(orders, apart_ms)
  report(json, small, large)
}

async function measure(orders: number, apart_ms: number): Promise<Measurement> {
  const say = (line: string) =>
    process.stderr.isTTY && process.stderr.write(`\r\x1b[K${orders} orders: ${line}`)
  // The database alone: a service would go on with its own work beside what is measured.
  const postgres = await startPostgres({ throw_away: true, settings: { max_wal_size: '4GB' } })
  const { url } = postgres
  const sql = connect({ url, connections_max: 1, statement_timeout_ms: HOUR_MS })
  try {
    await migrate(url)
    await age(url, {
      ...ACCOUNTS,
      orders,
      apart_ms,
      customers: CUSTOMERS,
      running: RUNNING,
      named_by_time: true,
      say,
    })
    await keepAtAnEarlierSeal(sql)
    await sql`vacuum (analyze)`
    say('checking')
    const seal = (await findSumsSeal(sql))!
    // The first reading comes from the disk: not counted.
    await timesOf(sql, undefined)
    const whole = await timesOf(sql, undefined)
    const continued = await mediansOf(() => timesOf(sql, seal))
    say('')
    return { counts: await countEntries(sql, seal), whole, continued }
  } finally {
    await sql.close()
    await postgres.stop()
  }
}

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

const later = (at: Date, ms: number) => new Date(at.getTime() + ms)

type Counts = { entries: number; after_seal: number; looked_at: number }

/** All entries, those after the seal, and those of the days that are looked at. */
async function countEntries(sql: Sql, seal: SumsSeal): Promise<Counts> {
  return sql.begin(async (tx) => {
    const { before_entry, sealed_entry } = await scopeOf(tx, seal)
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
    await setLook(tx, from)
    const times = new Map<string, number>()
    const take = async <T>(rule: string, work: () => Promise<T>): Promise<T> => {
      const began_ms = performance.now()
      const result = await work()
      times.set(rule, (times.get(rule) ?? 0) + performance.now() - began_ms)
      return result
    }
    const sums = await take('sums', () => (from ? sumsFromSeal(tx, from) : accountSums(tx)))
    const scope = await scopeOf(tx, from)
    for (const { rule, find } of ROW_RULES) await take(rule, () => find(tx, sums, [], scope))
    if (!from) await take('sums to keep', () => sumsAtNewestSeal(tx))
    else times.set('sums to keep', 0)
    return times
  })
}

const LOOKS = 5

/** Of each rule, of some looks. */
async function mediansOf(look: () => Promise<Map<string, number>>): Promise<Map<string, number>> {
  const looks: Map<string, number>[] = []
  while (looks.length < LOOKS) looks.push(await look())
  return new Map(
    [...looks[0]!.keys()].map((rule) => [rule, median(looks.map((one) => one.get(rule)!))]),
  )
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
