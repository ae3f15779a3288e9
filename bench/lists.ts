// What a large list costs: the operator's table with a million labels is imported as `lists import`
// does it, imported again as it is, and again with one row changed. Wall time, processor time of
// this process, the longest turn of its event loop in processor time (a service that loads a list
// by schedule answers its customers meanwhile), the most memory that it ever had, and what
// PostgreSQL has stored. The files are made beforehand. Limits: import 30 s and 600 MB; one changed
// row 5 s and 1 MB.
//
//   npm run bench -- lists [--labels N] [--json]

import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { importList } from 'penstock-service/screening/labels/lists.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { ownCpuUs } from './parts/cpu.ts'
import { watchTurns } from './parts/turns.ts'

export const OPTIONS = { labels: { type: 'string', default: '1000000' } } as const

const LIMITS = { import_s: 30, rss_mb: 600, change_s: 5, change_stored_mb: 1 }
const MB = 1_000_000

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { labels = 0 } = numbers
  const postgres = await startPostgres({ throw_away: true, settings: { max_wal_size: '4GB' } })
  const sql = connect({ url: postgres.url })
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  try {
    await migrate(postgres.url)
    const files = { same: join(folder, 'same.csv'), changed: join(folder, 'changed.csv') }
    await writeTable(files.same, { labels, changed: false })
    await writeTable(files.changed, { labels, changed: true })
    const parts = []
    for (const [what, file] of [
      ['import', files.same],
      ['the same again', files.same],
      ['one row changed', files.changed],
    ] as const) {
      process.stderr.write(`${what}: ${labels} labels\n`)
      parts.push({ what, ...(await measured(sql, file)) })
    }
    const found = { labels, parts, limits: LIMITS }
    process.stdout.write(`${JSON.stringify(found, null, json ? 0 : 2)}\n`)
  } finally {
    await sql.close()
    await postgres.stop()
    await rm(folder, { recursive: true })
  }
}

async function measured(sql: Sql, file: string) {
  const stored = await storedBytes(sql)
  const [began_ms, began_cpu] = [performance.now(), process.cpuUsage()]
  const turns = watchTurns()
  const outcome = await importList(
    { sql, clock: systemClock },
    { list: 'operator', origin: 'bench', bytes: createReadStream(file), loaded_by: 'bench' },
  )
  const longest_turn_ms = round(turns.stop())
  return {
    entries: outcome.entries,
    added: outcome.added,
    removed: outcome.removed,
    wall_s: round((performance.now() - began_ms) / 1_000),
    processor_s: round(ownCpuUs(began_cpu) / 1e6),
    longest_turn_ms,
    rss_max_mb: round((process.resourceUsage().maxRSS * 1_024) / MB),
    stored_mb: round(((await storedBytes(sql)) - stored) / MB),
  }
}

const round = (value: number) => Math.round(value * 100) / 100

const writeTable = (file: string, how: { labels: number; changed: boolean }) =>
  pipeline(Readable.from(tableOf(how)), createWriteStream(file))

/** The operator's table, in portions. */
function* tableOf({ labels, changed }: { labels: number; changed: boolean }) {
  let text = 'address,category,entity,confidence,source\n'
  for (let n = 0; n < labels; n++) {
    const hash = createHash('sha256').update(`label ${n}`).digest()
    const address = addressFromBytes(Uint8Array.of(0x41, ...hash.subarray(0, 20)))
    const category = changed && n === labels >>> 1 ? 'scam' : 'exchange_licensed'
    text += `${address},${category},Exchange ${n % 5_000},90,https://example.org/tags/${n}\n`
    if (text.length < 65_536) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

async function storedBytes(sql: Sql): Promise<number> {
  const [row] = await sql<{ bytes: bigint }>`
    select sum(pg_total_relation_size(oid))::bigint as bytes from pg_class
    where relkind = 'r' and relname in ('list_entry', 'list_removal', 'list_version', 'label_set')`
  return Number(row!.bytes)
}
