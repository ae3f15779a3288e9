// What the publishing of a label set does to screening while it happens: a log of many transfers is
// indexed, ten to an address; then checks are asked for, one after the other each 20 ms, while
// blocks go on, first undisturbed and then while a new set is published and the next generation
// takes over. The set names 1,000 addresses that never moved anything, and one that did so late.
// Said is how long checks waited until the index knew their block, the longest turn of the event
// loop in processor time, and what was copied. Limits: no check waits 2 s more; turns of 50 ms.
//
//   npm run bench -- list_update [--transfers N] [--labels N] [--json]

import { createHash } from 'node:crypto'
import { setTimeout as delay, setImmediate as turnOfLoop } from 'node:timers/promises'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { publishList } from 'penstock-service/screening/labels/label_sets.ts'
import {
  DEFAULT_CARRIED_BLOCKS,
  DEFAULT_CHECKPOINT_TRANSFERS,
  flowGenerations,
  type Generations,
} from 'penstock-service/screening/tracing/generations.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { watchTurns } from './parts/turns.ts'

export const OPTIONS = {
  transfers: { type: 'string', default: '20000000' },
  labels: { type: 'string', default: '1001' },
} as const

const BLOCK = 200
const BLOCK_MS = 3_000
const CHECK_MS = 20
const LIMITS = { wait_more_ms: 2_000, turn_ms: 50 }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { transfers = 0, labels = 0 } = numbers
  const settings = { max_wal_size: '8GB', shared_buffers: '512MB', synchronous_commit: 'off' }
  const postgres = await startPostgres({ throw_away: true, settings })
  const sql = connect({ url: postgres.url })
  try {
    await migrate(postgres.url)
    const log = new BlockLog(sql, Math.ceil(transfers / 10))
    await log.write(Math.ceil(transfers / BLOCK))
    const generations = flowGenerations({
      sql,
      clock: systemClock,
      carried_blocks: DEFAULT_CARRIED_BLOCKS,
      checkpoint_transfers: DEFAULT_CHECKPOINT_TRANSFERS,
    })
    await publish(sql, 'tagpacks', [addressText(1), addressText(2)], 'exchange_licensed')
    await catchUp(generations, log)
    const before = await watched(generations, log, async () => {
      await delay(20_000)
    })
    const copied = await carriedRows(sql)
    const named = Array.from({ length: labels - 1 }, (_, n) => addressText(1e9 + n))
    const during = await watched(generations, log, async () => {
      await publish(sql, 'operator', [...named, log.latecomer], 'scam')
      const set = generations.current()!.label_set
      while (generations.current()!.label_set === set) await delay(50)
    })
    const found = {
      transfers,
      addresses: log.addresses,
      slots: generations.memory()[0]!.slots,
      labels,
      before,
      during,
      carried_rows_more: (await carriedRows(sql)) - copied,
      limits: LIMITS,
      within_limits:
        during.wait_max_ms - before.wait_max_ms <= LIMITS.wait_more_ms &&
        during.longest_turn_ms <= LIMITS.turn_ms,
    }
    process.stdout.write(`${JSON.stringify(found, null, json ? 0 : 2)}\n`)
  } finally {
    await sql.close()
    await postgres.stop()
  }
}

const round = (value: number) => Math.round(value * 100) / 100
const bytesOf = (n: number) => createHash('sha256').update(`address ${n}`).digest().subarray(0, 20)
const addressText = (n: number) => addressFromBytes(Uint8Array.of(0x41, ...bytesOf(n)))

async function carriedRows(sql: Sql): Promise<number> {
  const [row] = await sql<{ rows: bigint }>`select count(*) as rows from flow_carried`
  return Number(row!.rows)
}

/** A log that goes on: transfers among people of whom some are busier, and from two services. */
class BlockLog {
  readonly sql: Sql
  readonly addresses: number
  /** The newest block. */
  number = 0
  /** Somebody who takes part in the newest blocks alone. */
  readonly latecomer = addressText(5e8)
  private readonly bytes: Uint8Array
  private seed = 7

  constructor(sql: Sql, addresses: number) {
    this.sql = sql
    this.addresses = addresses
    this.bytes = new Uint8Array(addresses * 20)
    for (let n = 0; n < addresses; n++) this.bytes.set(bytesOf(n), n * 20)
  }

  private draw(): number {
    this.seed = Math.imul(this.seed ^ (this.seed >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    return ((this.seed ^ (this.seed >>> 13)) >>> 0) / 2 ** 32
  }

  private transfers(late: boolean): Buffer {
    const bytes = Buffer.alloc(BLOCK * 52)
    for (let i = 0; i < BLOCK; i++) {
      const kind = this.draw()
      const service = 1 + Math.floor(2 * this.draw())
      const person = () => Math.floor(this.addresses * this.draw() ** 1.5)
      const from = kind < 0.3 ? service : person()
      const to = kind >= 0.3 && kind < 0.6 ? service : person()
      bytes.set(this.bytes.subarray(from * 20, from * 20 + 20), i * 52 + 4)
      bytes.set(this.bytes.subarray(to * 20, to * 20 + 20), i * 52 + 24)
      bytes.writeUInt32LE(1 + Math.floor(1e6 * this.draw()), i * 52 + 44)
    }
    if (late) bytes.set(bytesOf(5e8), 4)
    return bytes
  }

  async write(blocks: number, late = false): Promise<void> {
    for (let done = 0; done < blocks; ) {
      const count = Math.min(50, blocks - done)
      const first = this.number + 1
      const rows = Array.from({ length: count }, () => this.transfers(late))
      await this.sql`
        insert into flow_block (number, id, time, first_sequence, transfers, tx_ids, freezes)
        select ${first}::bigint + n - 1, (${first}::bigint + n - 1)::text,
          to_timestamp((${first}::bigint + n - 1) * 3), (${first}::bigint + n - 2) * ${BLOCK} + 1,
          transfers, decode(repeat('00', ${32 * BLOCK}), 'hex'), '[]'
        from unnest(${rows}::bytea[]) with ordinality as r (transfers, n)`
      this.number += count
      done += count
      if (this.number % 10_000 === 0) process.stderr.write(`written: block ${this.number}\n`)
      await turnOfLoop()
    }
  }
}

async function publish(sql: Sql, list: string, addresses: readonly string[], category: string) {
  const entries = addresses.map((address) => ({
    address,
    category,
    entity: 'Somebody',
    kind: 'curated' as const,
    confidence: 100,
    reference: '',
    valid_from: undefined,
    valid_to: undefined,
  }))
  const loading = { list, origin: 'bench', passed_over: 0, loaded_at: new Date(), loaded_by: 'me' }
  await sql.begin((tx) => publishList(tx, loading, entries))
}

async function catchUp(generations: Generations, log: BlockLog): Promise<void> {
  let told = 0
  while (await generations.step.run()) {
    const block_number = generations.memory().at(-1)?.block_number ?? 0
    if (block_number - told < 10_000) continue
    told = block_number
    process.stderr.write(`indexed: block ${told} of ${log.number}\n`)
  }
}

/** Blocks each 3 s, checks each 20 ms, and the step as it runs in a service, until `work` ends. */
async function watched(generations: Generations, log: BlockLog, work: () => Promise<void>) {
  const ending = new AbortController()
  const { signal } = ending
  const waits: number[] = []
  const waiting = new Set<{ block: number; since_ms: number }>()
  const blocks = (async () => {
    while (!signal.aborted) {
      await log.write(1, true)
      await delay(BLOCK_MS)
    }
  })()
  const checks = (async () => {
    while (!signal.aborted) {
      const now_ms = performance.now()
      waiting.add({ block: log.number, since_ms: now_ms })
      const known = generations.current()!.index.block_number
      for (const check of waiting) {
        if (check.block > known) continue
        waits.push(now_ms - check.since_ms)
        waiting.delete(check)
      }
      await delay(CHECK_MS)
    }
  })()
  const steps = (async () => {
    while (!signal.aborted) {
      while (!signal.aborted && (await generations.step.run())) await turnOfLoop()
      await delay(200)
    }
  })()
  const turns = watchTurns()
  const began_ms = performance.now()
  await work()
  const seconds = round((performance.now() - began_ms) / 1_000)
  ending.abort()
  const longest_turn_ms = round(turns.stop())
  await Promise.all([blocks, checks, steps])
  waits.sort((a, b) => a - b)
  return {
    seconds,
    checks: waits.length,
    wait_p50_ms: round(waits[waits.length >>> 1]!),
    wait_max_ms: round(waits.at(-1)!),
    longest_turn_ms,
  }
}
