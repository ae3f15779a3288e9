// Where what addresses sent has ended. Each night the log is read from a block back to its
// beginning, by the labels of the generation in use, and every process keeps what came out until
// the next night. Answers name the generation and the block, so that the reading can be done again.
// On the way it is seen which addresses only forward to a service.

import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { addressOfBare, bareHex } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import { finished } from '../../lib/portions.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { FlowIndex, type FlowRules } from '../flow/flow_index.ts'
import { LabelTable } from '../flow/label_table.ts'
import { type ReadingStart, reversedBlock, reversedLabels } from '../flow/reversed.ts'
import { savedSent, saveSent } from '../kept/checkpoints.ts'
import { type FlowState, MemoryFlow } from '../kept/flow_state.ts'
import { KeptFlow } from '../kept/kept.ts'
import type { KeptPlace } from '../kept/kept_folder.ts'
import { BrokenState } from '../kept/slot_record.ts'
import { namedLabels } from '../labels/label_sets.ts'
import { depositsOf, type Sweeper, SweepTally, storeFound, sweeper } from './deposit_addresses.ts'
import { describeGeneration, type Generation, type Generations } from './generations.ts'

/** The result of a reading: a flow index in which senders and receivers are each other, and the
 *  time of the block from which it was read back. */
export type SentIndex = { generation: number; height: number; time_ms: number; state: FlowState }

export type SentReading = {
  current(): SentIndex | undefined
  close(): Promise<void>
  step: Step
}

/** Blocks of one run: small enough that other work gets its turn. */
const PORTION = 100

type Plan = { number: number; generation: number; height: number; begun_at: Date }

type Reading = {
  plan: Plan
  of: Generation
  start: ReadingStart
  state: FlowState
  tally: SweepTally
  /** For the tally, portion by portion; undefined: all were looked at. */
  sweepers: AsyncGenerator<(Sweeper | undefined)[]> | undefined
  /** The block after the next one to read. */
  before: number
}

type Needs = {
  sql: Sql
  clock: Clock
  generations: Pick<Generations, 'current'>
  /** As for generations. */
  kept?: KeptPlace | undefined
}

export function sentReading(needs: Needs): SentReading {
  const reader = new SentReader(needs)
  return {
    current: () => reader.current,
    close: () => reader.close(),
    step: {
      name: 'read_sent',
      rest_ms: 5_000,
      needs_index: true,
      after: ['index'],
      due: (sql) => sql`
        select where ${reader.has_more}::boolean
        union all
        select where not exists (
          select from flow_sent where begun_at > ${later(needs.clock, -DAY_MS)}
            and number = ${reader.done ?? null})`,
      run: () => reader.run(),
    },
  }
}

class SentReader {
  current: SentIndex | undefined
  /** The number of its plan. */
  done: number | undefined
  private reading: Reading | undefined
  /** That of the night before: whoever has taken it up may still read it. */
  private before: FlowState | undefined
  private readonly needs: Needs

  constructor(needs: Needs) {
    this.needs = needs
  }

  get has_more(): boolean {
    return this.reading !== undefined || this.current?.state.is_broken === true
  }

  async run(): Promise<boolean> {
    await this.endBroken()
    const used = this.needs.generations.current()
    if (!used || used.rules < 2 || used.block_id === undefined) return false
    if (!this.reading) return this.begin(used)
    if (this.reading.sweepers) {
      await this.takeCandidates(this.reading, this.reading.sweepers)
      return true
    }
    if (!(await readOn(this.needs.sql, this.reading))) await this.end(this.reading)
    return true
  }

  private async begin(used: Generation): Promise<boolean> {
    const { needs } = this
    const found = this.current ? undefined : await keptReading(needs, used)
    if (found) {
      this.current = found.sent
      this.done = found.number
      return true
    }
    const plan = await newestPlan(needs, used)
    if (!plan || plan.number === this.done || used.index.block_number < plan.height) return false
    this.reading = await beginReading(needs, plan, await generationOf(needs.sql, plan, used))
    return this.has_more
  }

  /** When that fails, the reading begins anew: with a part of them it would forget the others. */
  private async takeCandidates(
    reading: Reading,
    sweepers: NonNullable<Reading['sweepers']>,
  ): Promise<void> {
    try {
      const portion = await sweepers.next()
      if (portion.done) reading.sweepers = undefined
      else reading.tally.addCandidates(portion.value, reading.of.index)
    } catch (thrown) {
      await reading.state.close()
      this.reading = undefined
      throw thrown
    }
  }

  private async end(reading: Reading): Promise<void> {
    const { sql, clock, kept } = this.needs
    const { plan, start, state } = reading
    await storeSweeps(sql, reading)
    if (state instanceof MemoryFlow)
      await keepReading(sql, plan, { index: state.index, at: clock.now() })
    else {
      await state.save(READ)
      await noteRead(sql, plan, clock.now())
    }
    await this.before?.close()
    if (this.done !== undefined) kept?.folder.removeBefore(KIND, this.done)
    this.before = this.current?.state
    this.current = { ...plan, time_ms: start.time_ms, state }
    this.done = plan.number
    this.reading = undefined
  }

  /** Ends a reading whose file cannot be read: the log is read back again. */
  private async endBroken(): Promise<void> {
    const { current, done, reading } = this
    if (current?.state.is_broken && done !== undefined) {
      await current.state.close()
      // It may be taken up anew, from its file.
      await this.before?.close()
      this.before = undefined
      this.needs.kept?.folder.putAside(KIND, done)
      this.current = this.done = undefined
    }
    if (!reading?.state.is_broken) return
    await reading.state.close()
    this.reading = undefined
  }

  async close(): Promise<void> {
    for (const state of [this.before, this.current?.state, this.reading?.state])
      await state?.close()
    this.before = this.current = this.reading = undefined
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
  const [plan] = await sql<Omit<Plan, 'height'> & { height: bigint }>`
    select number, generation, height, begun_at from flow_sent order by number desc limit 1`
  return plan && { ...plan, height: Number(plan.height) }
}

/** The generation of a plan. Freezes, and who sends to services, are of the one in use. */
async function generationOf(sql: Sql, plan: Plan, used: Generation): Promise<Generation> {
  if (plan.generation === used.number) return used
  const { state, index } = used
  return {
    ...(await describeGeneration({ sql, archive: used.archive }, plan.generation)),
    state,
    index,
  }
}

async function beginReading(
  { sql, kept }: Pick<Needs, 'sql' | 'kept'>,
  plan: Plan,
  of: Generation,
): Promise<Reading | undefined> {
  const start = await startAt(sql, plan.height, of)
  if (!start) return undefined
  const known = await depositsOf(sql, of.number)
  const tally = new SweepTally(known.map(({ address }) => address))
  const labels = await reversedTable(of, start, tally)
  kept?.folder.remove(KIND, plan.number)
  const state = kept
    ? await openedKept(kept, plan, { of, labels })
    : await reversedState(of, labels)
  const sweepers = of.state.all(sweeper)
  return { plan, of, start, state, tally, sweepers, before: plan.height + 1 }
}

/** Of the files of readings, and the name of the block at which one is over. */
const KIND = 'sent'
const READ = 'read'

async function openedKept(
  { folder, hot_slots }: KeptPlace,
  { number, height, begun_at }: Plan,
  { of, labels }: Like,
): Promise<KeptFlow> {
  const store = await folder.open(KIND, number)
  const identity = [number, height, begun_at.toISOString(), of.identity].join(' ')
  try {
    const how = { rules: sentRules(of), hot_slots, identity }
    return await finished(KeptFlow.opening(store, labels, how))
  } catch (thrown) {
    await store.close()
    throw thrown
  }
}

/** Labels that are turned round in some milliseconds. */
const LABELS = 5_000

async function reversedState(of: Generation, labels: LabelTable): Promise<MemoryFlow> {
  const reversed = new FlowIndex([], undefined, sentRules(of))
  await finished(reversed.takeLabels(labels))
  return new MemoryFlow(reversed)
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
  { first_block, base, archive }: Pick<Generation, 'first_block' | 'base' | 'archive'>,
): Promise<ReadingStart | undefined> {
  const last = { limit: 1, from: first_block, base }
  const [block] = await transferLog(sql, archive).before(height + 1, last)
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
  reading: Pick<Reading, 'of' | 'start' | 'state' | 'before'> & { tally?: SweepTally },
): Promise<boolean> {
  const { of, start, state, tally } = reading
  const { first_block: from, base, archive } = of
  if (state.is_full) await state.save(undefined)
  const blocks = await transferLog(sql, archive).before(reading.before, {
    limit: PORTION,
    from,
    base,
  })
  await state.apply(blocks.map((block) => reversedBlock(block, start)))
  for (const { transfers } of blocks) tally?.note(transfers)
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

/** Keeps a reading for processes that start later; the first that is through with it does. */
async function keepReading(
  sql: Sql,
  plan: Plan,
  { index, at }: { index: FlowIndex; at: Date },
): Promise<void> {
  await sql.begin(async (tx) => {
    await noteRead(tx, plan, at)
    await saveSent(tx, plan.number, index)
  })
}

/** The first process that is through with it does. It waits for others that do. */
async function noteRead(sql: Sql | Tx, { number }: Plan, at: Date): Promise<void> {
  await sql`
    update flow_sent set read_at = coalesce(read_at, ${at}::timestamptz) where number = ${number}`
}

/** The newest reading that was kept; undefined when there is none that can be read: then the log is
 *  read back again. */
async function keptReading(
  { sql, kept }: Pick<Needs, 'sql' | 'kept'>,
  used: Generation,
): Promise<{ number: number; sent: SentIndex } | undefined> {
  const plans = await sql<Omit<Plan, 'height'> & { height: bigint; saved: boolean }>`
    select number, generation, height, begun_at,
      exists (select from flow_sent_part as p where p.number = flow_sent.number) as saved
    from flow_sent where read_at is not null order by number desc limit ${PLANS}`
  for (const { saved, ...row } of plans) {
    const plan = { ...row, height: Number(row.height) }
    if (kept ? !kept.folder.has(KIND, plan.number) : !saved) continue
    if (plan.height > used.index.block_number) return undefined
    const of = await generationOf(sql, plan, used)
    const start = await startAt(sql, plan.height, of)
    if (!start) return undefined
    const like = { of, labels: await reversedTable(of, start) }
    const state = kept ? await readKept(kept, plan, like) : await readSaved(sql, plan, like)
    if (state) return { number: plan.number, sent: { ...plan, time_ms: start.time_ms, state } }
    if (!kept) return undefined
  }
  return undefined
}

/** Nights that are looked at for a reading that is through. */
const PLANS = 5

type Like = { of: Generation; labels: LabelTable }

async function readSaved(
  sql: Sql,
  { number }: Plan,
  { of, labels }: Like,
): Promise<FlowState | undefined> {
  const index = await savedSent(sql, number, { labels, rules: sentRules(of) })
  return index && new MemoryFlow(index)
}

/** A reading in a file; undefined: it was not through, or is of something else. */
async function readKept(kept: KeptPlace, plan: Plan, like: Like): Promise<FlowState | undefined> {
  try {
    const state = await openedKept(kept, plan, like)
    if (state.block_id === READ) {
      kept.folder.removeBefore(KIND, plan.number)
      return state
    }
    await state.close()
  } catch (thrown) {
    if (!(thrown instanceof BrokenState)) throw thrown
    kept.folder.putAside(KIND, plan.number)
  }
  return undefined
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
  const state = await reversedState(of, await reversedTable(of, start))
  const reading = { of, start, state, before: height + 1 }
  while (await readOn(sql, reading)) {}
  return { generation: of.number, height, time_ms: start.time_ms, state }
}
