// The flow index with a hot part in memory and a kept one on disk, beside the index that is in
// memory whole: the same traffic through both, each in a process of its own, in turns. Memory of
// the processes, transfers a second while they catch up, a block at the head with all that is saved
// of it, a start from the file (of a checkpoint, in memory), reads of addresses when no page of the
// file is in RAM, and bytes on disk. In the end the hashes of both states are compared. Then the
// same number of transfers in ClickHouse, where it is installed, and whom an address dealt with.
//
//   npm run bench -- index [--transfers N] [--addresses N] [--hot N] [--blocks N] [--json]

import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_CLICKHOUSE } from 'penstock-test/harness/clickhouse_servers.ts'
import { measureArchive } from './archive.ts'
import type { Ask } from './parts/index_side.ts'

export const OPTIONS = {
  transfers: { type: 'string', default: '20000000' },
  addresses: { type: 'string', default: '3000000' },
  /** Slots in memory of the one on disk. */
  hot: { type: 'string', default: '300000' },
  blocks: { type: 'string', default: '500' },
  reads: { type: 'string', default: '2000' },
} as const

/** For the defaults, by the specification of the service. */
const LIMITS = {
  rss_mb: 600,
  transfers_per_second: 20_000,
  block_ms_p99: 500,
  start_ms: 2_000,
  read_ms_p99: 5,
  bytes_a_slot: 330,
}
/** Of which PostgreSQL keeps pairs, to compare with. */
const BOTH = 400_000
/** Transfers of a turn. */
const TURN = 100_000

type Side = { ask<T>(ask: Ask): Promise<T> }

function side(): Side {
  const child = fork(join(import.meta.dirname, 'parts/index_side.ts'), {
    execArgv: process.execArgv,
  })
  return {
    ask: (ask) =>
      new Promise((resolve, reject) => {
        if (!child.connected && ask.do === 'end') return resolve(undefined as never)
        const ended = () =>
          ask.do === 'end' ? resolve(undefined as never) : reject(new Error('it ended'))
        child.once('exit', ended)
        child.once('message', (reply: { answer: never } | { failed: string }) => {
          child.off('exit', ended)
          if ('failed' in reply) reject(new Error(reply.failed))
          else resolve(reply.answer)
        })
        child.send(ask)
      }),
  }
}

type TurnFigures = { wall_ms: number; cpu_us: number }
type Figures = {
  rss: number
  peak: number
  slots: number
  hot: number
  memory_bytes: number
  cells_each: number
}

const MB = 2 ** 20
const round = (value: number, digits = 1) => Number(value.toFixed(digits))
function shareOf(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0, 3)
}

async function caughtUp(sides: readonly Side[], transfers: number): Promise<TurnFigures[]> {
  const sums = sides.map(() => ({ wall_ms: 0, cpu_us: 0 }))
  for (let done = 0; done < transfers; done += TURN) {
    for (const [i, one] of sides.entries()) {
      const { wall_ms, cpu_us } = await one.ask<TurnFigures>({
        do: 'apply',
        transfers: Math.min(TURN, transfers - done),
      })
      sums[i]!.wall_ms += wall_ms
      sums[i]!.cpu_us += cpu_us
    }
  }
  return sums
}

async function measured(
  one: Side,
  applied: TurnFigures,
  given: { transfers: number; reads: number; times: number[] },
) {
  const { transfers, reads, times } = given
  const { rss, peak, slots, hot, memory_bytes, cells_each } = await one.ask<Figures>({
    do: 'figures',
  })
  const state_sha256 = await one.ask<string>({ do: 'hash' })
  const { start_ms, bytes } = await one.ask<{ start_ms: number; bytes: number }>({ do: 'start' })
  const read = await one.ask<number[]>({ do: 'reads', count: reads })
  return {
    rss_mb: round(rss / MB),
    peak_rss_mb: round(peak / MB),
    slots,
    hot_slots: hot,
    memory_bytes_a_hot_slot: round(memory_bytes / hot),
    categories_a_hot_slot: round(cells_each),
    transfers_per_second: Math.round((1_000 * transfers) / applied.wall_ms),
    us_cpu_a_transfer: round(applied.cpu_us / transfers, 2),
    block_ms_p50: shareOf(times, 0.5),
    block_ms_p99: shareOf(times, 0.99),
    start_ms: round(start_ms),
    read_ms_p50: shareOf(read, 0.5),
    read_ms_p99: shareOf(read, 0.99),
    bytes_a_slot: round(bytes / slots),
    state_sha256,
  }
}

/** Blocks at the head, in turns. */
async function atTheHead(sides: readonly Side[], blocks: number): Promise<number[][]> {
  const times: number[][] = sides.map(() => [])
  for (let done = 0; done < blocks; done += 50)
    for (const [i, one] of sides.entries())
      times[i]!.push(
        ...(await one.ask<number[]>({ do: 'blocks', count: Math.min(50, blocks - done) })),
      )
  return times
}

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { transfers = 0, addresses = 0, hot = 0, blocks = 0, reads = 0 } = numbers
  const folder = mkdtempSync(join(tmpdir(), 'penstock-index-'))
  const sides = [side(), side()]
  const paths = [join(folder, 'index.db'), undefined]
  try {
    for (const [i, one] of sides.entries())
      await one.ask({ do: 'open', options: { addresses, hot, path: paths[i] } })
    const applied = await caughtUp(sides, transfers)
    const times = await atTheHead(sides, blocks)
    const [on_disk, in_memory] = await Promise.all(
      sides.map((one, i) => measured(one, applied[i]!, { transfers, reads, times: times[i]! })),
    )
    for (const one of sides) await one.ask({ do: 'end' })
    const both = Math.min(BOTH, transfers)
    const archive =
      NO_CLICKHOUSE || (await measureArchive({ transfers, both, addresses }, () => {}))
    const result = {
      transfers,
      addresses,
      state_equal: on_disk!.state_sha256 === in_memory!.state_sha256,
      on_disk,
      in_memory,
      limits: LIMITS,
      archive,
    }
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`)
    else {
      process.stdout.write(`${transfers} transfers among ${addresses} addresses; `)
      process.stdout.write(`states are ${result.state_equal ? 'equal' : 'NOT equal'}\n`)
      console.table({ on_disk, in_memory, limits: LIMITS })
      console.table(archive)
    }
    if (!result.state_equal) process.exitCode = 1
  } finally {
    for (const one of sides) await one.ask({ do: 'end' }).catch(() => {})
    rmSync(folder, { recursive: true })
  }
}
