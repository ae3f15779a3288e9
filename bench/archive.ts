// The archive of transfers in ClickHouse, two servers on loopback, beside what PostgreSQL keeps:
// the log that is read for an index, and who dealt with whom. The first blocks are in both, the
// rest in ClickHouse alone. Asked in turns, the answers are compared.
// Limits: a page of counterparties within 50 ms (p99). Without ClickHouse it says `not run`.
//
//   npm run bench -- archive [--transfers N] [--both N] [--addresses N] [--json]

import { addressOfBare } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { clickHouseArchive } from 'penstock-service/chain/transfers/clickhouse_archive.ts'
import { RECORD_BYTES } from 'penstock-service/chain/transfers/packed.ts'
import { transferLog } from 'penstock-service/chain/transfers/postgres_log.ts'
import type {
  BlockContents,
  TransferArchive,
} from 'penstock-service/chain/transfers/transfer_archive.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import {
  counterpartiesOf,
  keepPairs,
  pairStep,
} from 'penstock-service/screening/cases/counterparties.ts'
import {
  NO_CLICKHOUSE,
  newDatabase,
  startClickHouse,
} from 'penstock-test/harness/clickhouse_servers.ts'
import { blockOf, drawer, people, SERVICES, writeAddress } from './parts/flow_traffic.ts'

export const OPTIONS = {
  transfers: { type: 'string', default: '4000000' },
  /** The first of them, which PostgreSQL has too. */
  both: { type: 'string', default: '400000' },
  addresses: { type: 'string', default: '400000' },
} as const

const BLOCK = 200
/** Blocks that are put at once. */
const PORTION = 500
const ASKED = 400
const PAGE = 100
const LIMIT_MS = 50

type Numbers = Record<keyof typeof OPTIONS, number>
type Say = (line: string) => unknown

export async function run({ json, numbers }: { json: boolean; numbers: Numbers }): Promise<void> {
  if (NO_CLICKHOUSE) {
    process.stdout.write(json ? `${JSON.stringify({ not_run: NO_CLICKHOUSE })}\n` : NO_CLICKHOUSE)
    return
  }
  const say = (line: string) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`)
  const figures = await measureArchive(numbers, say)
  say('')
  if (json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else console.table(figures)
  if (figures.counterparties_p99_ms > LIMIT_MS) process.exitCode = 1
}

export async function measureArchive(numbers: Numbers, say: Say) {
  const ends: (() => Promise<void>)[] = []
  try {
    const cluster = await startClickHouse((end) => ends.push(end))
    const { own } = await newDatabase(cluster, { spread: true })
    const archive = clickHouseArchive(own)
    await archive.prepare('bench')
    const postgres = await startPostgres({ throw_away: true })
    ends.push(() => postgres.stop())
    await migrate(postgres.url)
    const sql = connect({ url: postgres.url })
    ends.push(() => sql.close())
    const put_per_second = await fill({ sql, archive, numbers, say })
    const both_blocks = Math.floor(numbers.both / BLOCK)
    const asked = await ask({ sql, archive, both_blocks, numbers, say })
    const read = await readLog({ sql, archive, both_blocks })
    const sizes = await Promise.all(
      own.shards.map((shard) =>
        shard.run(
          'select sum(bytes) from system.parts where active and database = currentDatabase()',
        ),
      ),
    )
    const bytes = sizes.reduce((sum, one) => sum + Number(one.toString()), 0)
    const [kept] = await sql<{ log: bigint; pairs: bigint }>`
      select pg_total_relation_size('flow_block') as log,
        pg_total_relation_size('flow_pair') as pairs`
    return {
      transfers: numbers.transfers,
      addresses: numbers.addresses,
      put_per_second,
      ...asked,
      ...read,
      bytes_a_transfer: Math.round(bytes / numbers.transfers),
      postgres_bytes_a_transfer: Math.round(Number(kept!.log + kept!.pairs) / numbers.both),
    }
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

type Parts = { sql: Sql; archive: TransferArchive; numbers: Numbers; say: Say }

/** Transfers a second that ClickHouse takes; PostgreSQL gets the first of them. */
async function fill({ sql, archive, numbers, say }: Parts): Promise<number> {
  const draw = drawer(7)
  const { skewed } = people(numbers.addresses)
  const blocks_in_all = Math.ceil(numbers.transfers / BLOCK)
  const both_blocks = Math.floor(numbers.both / BLOCK)
  await sql.begin((tx) => keepPairs(tx, { at: systemClock.now(), by: 'bench' }))
  const pairs = pairStep({ sql })
  let put_ms = 0
  for (let first = 0; first < blocks_in_all; first += PORTION) {
    say(`putting transfers: ${Math.round((100 * first) / blocks_in_all)} %`)
    const count = Math.min(PORTION, blocks_in_all - first)
    const bytes = blockOf(draw, skewed, count * BLOCK)
    const blocks = Array.from({ length: count }, (_, i): BlockContents => {
      const transfers = bytes.subarray(i * BLOCK * RECORD_BYTES, (i + 1) * BLOCK * RECORD_BYTES)
      return { number: first + i, transfers, tx_ids: idsOf(draw) }
    })
    const began_ms = performance.now()
    await archive.put(blocks)
    put_ms += performance.now() - began_ms
    const both = blocks.filter(({ number }) => number < both_blocks)
    if (both.length === 0) continue
    const rows = both.map((block) => ({
      ...block,
      id: String(block.number),
      time: new Date(3_000 * block.number),
      freezes: [],
    }))
    await sql.begin((tx) => transferLog(tx).append(rows))
    while (await pairs.run());
  }
  await sql`analyze`
  return Math.round((1_000 * numbers.transfers) / put_ms)
}

function idsOf(draw: () => number): Uint8Array {
  const words = Uint32Array.from({ length: 8 * BLOCK }, () => Math.floor(draw() * 2 ** 32))
  return new Uint8Array(words.buffer)
}

function addressAt(n: number) {
  const words = new Uint32Array(5)
  writeAddress(words, 0, n)
  return addressOfBare(new Uint8Array(words.buffer))
}

type AskedParts = Parts & { both_blocks: number }
const WHOLE = { first: 0, last: Number.MAX_SAFE_INTEGER }
const FIRST = { after: undefined, limit: PAGE }

async function ask({ sql, archive, both_blocks, numbers, say }: AskedParts) {
  const times = {
    all: [] as number[],
    hub: [] as number[],
    both: [] as number[],
    pairs: [] as number[],
  }
  const timed = async <T>(into: number[], work: () => Promise<T>): Promise<T> => {
    const began_ms = performance.now()
    const done = await work()
    into.push(performance.now() - began_ms)
    return done
  }
  const in_both = { first: 0, last: both_blocks - 1 }
  for (let i = 0; i < ASKED; i++) {
    if (i % 20 === 0) say(`asking: ${i} of ${ASKED}`)
    const someone = SERVICES + ((i * 7_919) % (numbers.addresses - SERVICES))
    const one = addressAt(someone)
    await timed(times.all, () => archive.counterparties(one, WHOLE, FIRST))
    await timed(times.hub, () => archive.counterparties(addressAt(i % SERVICES), WHOLE, FIRST))
    const there = await timed(times.both, () => archive.counterparties(one, in_both, FIRST))
    const kept = await timed(times.pairs, () => counterpartiesOf({ sql }, one, FIRST))
    if (textOf(there) !== textOf(kept!.page)) throw new Error(`${one}: the answers differ`)
  }
  return {
    counterparties_p50_ms: part(times.all, 0.5),
    counterparties_p99_ms: part(times.all, 0.99),
    counterparties_of_a_service_p99_ms: part(times.hub, 0.99),
    the_same_blocks_p99_ms: part(times.both, 0.99),
    postgres_p99_ms: part(times.pairs, 0.99),
  }
}

const textOf = (page: readonly object[]) =>
  JSON.stringify(page, (_, value) => (typeof value === 'bigint' ? String(value) : value))

function part(ms: readonly number[], share: number): number {
  const sorted = ms.toSorted((a, b) => a - b)
  return Math.round(10 * sorted[Math.floor(share * (sorted.length - 1))]!) / 10
}

/** Transfers a second that come back for an index, fifty blocks at a time, in turns. */
async function readLog({ sql, archive, both_blocks }: Omit<AskedParts, 'numbers' | 'say'>) {
  const log = transferLog(sql)
  let [there_ms, here_ms] = [0, 0]
  for (let first = 0; first < both_blocks; first += 50) {
    const numbers = Array.from({ length: 50 }, (_, i) => first + i)
    const began_ms = performance.now()
    const there = await archive.contents(numbers)
    const between_ms = performance.now()
    const here = await log.after(first - 1, { limit: 50, base: 0n })
    there_ms += between_ms - began_ms
    here_ms += performance.now() - between_ms
    for (const { number, transfers } of here)
      if (Buffer.compare(transfers, there.get(number)!.transfers) !== 0)
        throw new Error(`block ${number} differs`)
  }
  const per_second = (ms: number) => Math.round((1_000 * both_blocks * BLOCK) / ms)
  return { read_per_second: per_second(there_ms), postgres_read_per_second: per_second(here_ms) }
}
