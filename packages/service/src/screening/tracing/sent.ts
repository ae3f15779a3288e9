// Where what addresses sent has ended. Each night the log is read from a block back to its
// beginning, by the labels of the generation in use, and every process keeps what came out until
// the next night. Answers name the generation and the block, so that the reading can be done again.
// On the way it is seen which addresses only forward to a service.

import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import { finished } from '../../lib/portions.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { BrokenCheckpoint, readingCheckpoint, writeCheckpoint } from '../flow/checkpoint.ts'
import { FlowIndex, type FlowRules } from '../flow/flow_index.ts'
import { readHolding } from '../flow/holdings.ts'
import { LabelTable } from '../flow/label_table.ts'
import { applyBlock, countTransfers } from '../flow/log.ts'
import { type ReadingStart, reversedBlock, reversedLabels } from '../flow/reversed.ts'
import { namedLabels } from '../labels/label_sets.ts'
import { addressOfBare, bareAddress, bareHex } from './bare_addresses.ts'
import { depositsOf, SweepTally, storeFound } from './deposit_addresses.ts'
import type { Asset } from './flow_log.ts'
import { describeGeneration, type Generation, type Generations } from './generations.ts'
import { transferLog } from './postgres_log.ts'

/** The result of a reading: a flow index in which senders and receivers are each other, and the
 *  time of the block from which it was read back. */
export type SentIndex = { generation: number; height: number; time_ms: number; index: FlowIndex }

export type SentReading = { current(): SentIndex | undefined; step: Step }

/** Blocks, and slots, of one run: small enough that other work gets its turn. */
const PORTION = 100
const SLOTS = 20_000

type Plan = { number: number; generation: number; height: number }

type Reading = {
  plan: Plan
  of: Generation
  start: ReadingStart
  index: FlowIndex
  tally: SweepTally
  /** Slots looked at for the tally, and the block after the next one to read. */
  slot: number
  before: number
}

export function sentReading(needs: {
  sql: Sql
  clock: Clock
  generations: Pick<Generations, 'current'>
}): SentReading {
  const { sql, clock, generations } = needs
  let current: SentIndex | undefined
  let done: number | undefined
  let reading: Reading | undefined

  async function run(): Promise<boolean> {
    const used = generations.current()
    if (!used || used.rules < 2 || used.block_id === undefined) return false
    if (!reading) {
      const kept = current ? undefined : await keptReading(sql, used)
      if (kept) {
        current = kept.sent
        done = kept.number
        return true
      }
      const plan = await newestPlan(needs, used)
      if (!plan || plan.number === done || used.index.block_number < plan.height) return false
      reading = await beginReading(sql, plan, await generationOf(sql, plan, used))
      return reading !== undefined
    }
    const { of, tally, slot } = reading
    const slots = of.index.memory.slot_count
    if (slot < slots) {
      reading.slot = Math.min(slots, slot + SLOTS)
      tally.addCandidates(of.index, slot, reading.slot)
      return true
    }
    if (await readOn(sql, reading)) return true
    const { plan, start, index } = reading
    await storeSweeps(sql, reading)
    current = { ...plan, time_ms: start.time_ms, index }
    await keepReading(sql, plan, { index, at: clock.now() })
    done = plan.number
    reading = undefined
    return true
  }

  return {
    current: () => current,
    step: {
      name: 'read_sent',
      rest_ms: 5_000,
      after: ['index'],
      due: (sql) => sql`
        select where ${reading !== undefined}::boolean
        union all
        select where not exists (
          select from flow_sent where begun_at > ${later(clock, -DAY_MS)}
            and number = ${done ?? null})`,
      run,
    },
  }
}

/** The newest plan; a day after it, or where there is none, a new one. */
async function newestPlan(
  { sql, clock }: { sql: Sql; clock: Clock },
  used: Generation,
): Promise<Plan | undefined> {
  const height = used.index.block_number
  await sql`
    insert into flow_sent (generation, height, begun_at)
    select ${used.number}, ${height}, ${clock.now()}
    where not exists (select from flow_sent where begun_at > ${later(clock, -DAY_MS)})`
  const [plan] = await sql<{ number: number; generation: number; height: bigint }>`
    select number, generation, height from flow_sent order by number desc limit 1`
  return plan && { ...plan, height: Number(plan.height) }
}

/** The generation of a plan. Freezes, and who sends to services, are of the one in use. */
async function generationOf(sql: Sql, plan: Plan, used: Generation): Promise<Generation> {
  if (plan.generation === used.number) return used
  return { ...(await describeGeneration(sql, plan.generation)), index: used.index }
}

async function beginReading(sql: Sql, plan: Plan, of: Generation): Promise<Reading | undefined> {
  const start = await startAt(sql, plan.height, of)
  if (!start) return undefined
  const known = await depositsOf(sql, of.number)
  const tally = new SweepTally(known.map(({ address }) => address))
  const index = await reversedIndex(of, start, tally)
  return { plan, of, start, index, tally, slot: 0, before: plan.height + 1 }
}

/** Labels that are turned round in some milliseconds. */
const LABELS = 5_000

async function reversedIndex(
  of: Generation,
  start: ReadingStart,
  tally?: SweepTally,
): Promise<FlowIndex> {
  const reversed = new FlowIndex([], undefined, sentRules(of))
  await finished(reversed.takeLabels(await reversedTable(of, start, tally)))
  return reversed
}

const sentRules = ({ index }: Generation): FlowRules => ({
  net: false,
  swaps: index.rules.swaps,
  reversed: true,
})

async function reversedTable(
  { labels, index }: Generation,
  start: ReadingStart,
  tally?: SweepTally,
): Promise<LabelTable> {
  const table = new LabelTable()
  let count = 0
  for (const label of reversedLabels(labels.all(), index.freezes, start)) {
    table.add(label)
    tally?.addLabel(label)
    if (++count % LABELS === 0) await turnOfLoop()
  }
  return table
}

async function startAt(
  sql: Sql,
  height: number,
  { first_block, base }: Pick<Generation, 'first_block' | 'base'>,
): Promise<ReadingStart | undefined> {
  const last = { limit: 1, from: first_block, base }
  const [block] = await transferLog(sql).before(height + 1, last)
  if (!block) return undefined
  const count = countTransfers(block.transfers)
  return {
    number: block.number,
    time_ms: block.time_ms,
    sequence: block.first_sequence + count - 1,
  }
}

/** Reads the next portion back. False when there is none. */
async function readOn(
  sql: Sql,
  reading: Pick<Reading, 'of' | 'start' | 'index' | 'before'> & { tally?: SweepTally },
): Promise<boolean> {
  const { of, start, index, tally } = reading
  const { first_block: from, base } = of
  const blocks = await transferLog(sql).before(reading.before, { limit: PORTION, from, base })
  for (const block of blocks) {
    applyBlock(index, reversedBlock(block, start))
    tally?.note(block.transfers)
  }
  reading.before = blocks.at(-1)?.number ?? from
  return blocks.length > 0
}

async function storeSweeps(sql: Sql, { of, tally, plan }: Reading): Promise<void> {
  const met = tally.servicesMet()
  const named = await namedLabels(
    sql,
    of.label_set,
    met.map((one) => addressOfBare(Buffer.from(one, 'hex'))),
  )
  const entity_of = new Map(named.map(({ address, entity }) => [bareHex(address), entity]))
  const found = tally.found(entity_of)
  await sql.begin((tx) => storeFound(tx, found, plan.height))
}

/** Keeps what came out of a reading for processes that start later; the first that is through with
 *  it does. */
async function keepReading(
  sql: Sql,
  { number }: Plan,
  { index, at }: { index: FlowIndex; at: Date },
): Promise<void> {
  await sql.begin(async (tx) => {
    const mine = await tx`
      update flow_sent set read_at = ${at} where number = ${number} and read_at is null
      returning 1`
    if (mine.length === 0) return
    let part = 0
    for (const bytes of writeCheckpoint(index)) {
      await tx`
        insert into flow_sent_part (number, part, bytes)
        values (${number}, ${part}, ${Buffer.from(bytes)})`
      part += 1
    }
    await tx`delete from flow_sent_part where number <> ${number}`
  })
}

/** The newest reading that was kept; undefined when there is none that can be read: then the log is
 *  read back again. */
async function keptReading(
  sql: Sql,
  used: Generation,
): Promise<{ number: number; sent: SentIndex } | undefined> {
  const [row] = await sql<Omit<Plan, 'height'> & { height: bigint }>`
    select number, generation, height from flow_sent
    where read_at is not null order by number desc limit 1`
  if (!row || row.height > used.index.block_number) return undefined
  const plan = { ...row, height: Number(row.height) }
  const of = await generationOf(sql, plan, used)
  const start = await startAt(sql, plan.height, of)
  if (!start) return undefined
  try {
    const labels = await reversedTable(of, start)
    const parts = sentParts(sql, plan.number)
    const index = await finished(readingCheckpoint(labels, parts, sentRules(of)))
    return { number: plan.number, sent: { ...plan, time_ms: start.time_ms, index } }
  } catch (thrown) {
    if (!(thrown instanceof BrokenCheckpoint)) throw thrown
    return undefined
  }
}

async function* sentParts(sql: Sql, number: number): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await sql<{ bytes: Uint8Array }>`
      select bytes from flow_sent_part where number = ${number} and part = ${part}`
    if (!row) return
    yield row.bytes
  }
}

/** The reading of a past answer, done again. `of` is its generation, computed to that block or
 *  beyond. */
export async function readSentThen(
  sql: Sql,
  of: Generation,
  height: number,
): Promise<SentIndex | undefined> {
  const start = await startAt(sql, height, of)
  if (!start) return undefined
  const reading = { of, start, index: await reversedIndex(of, start), before: height + 1 }
  while (await readOn(sql, reading)) {}
  return { generation: of.number, height, time_ms: start.time_ms, index: reading.index }
}

/** What an address sent of every asset, by where that has ended. */
export function sentOf({ index }: SentIndex, assets: readonly Asset[], address: string) {
  const bytes = bareAddress(address)
  return assets.flatMap((asset) => {
    const holding = readHolding(index, asset.number, bytes)
    return holding ? [{ asset, holding }] : []
  })
}
