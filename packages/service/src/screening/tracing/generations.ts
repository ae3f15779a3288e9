// The flow index in this process's memory, kept up with the log. A generation is the index under
// one label set. When a new set is published, the next generation is computed beside the one in use
// and takes its place when it has caught up; what the new labels cannot have touched is taken over
// instead of computed again. Processes do not wait for each other: from the same log and labels
// each computes the same, so what they write down for all is written by the first of them.

import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { bareHex } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers, RECORD_BYTES } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { TransferArchive } from '../../chain/transfers/transfer_archive.ts'
import type { CarriedRange, RecordedBlock } from '../../chain/transfers/transfer_log.ts'
import type { Clock } from '../../lib/clock.ts'
import { finished } from '../../lib/portions.ts'
import type { WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { categoryNumber } from '../flow/categories.ts'
import { readingCheckpoint, writeCheckpoint } from '../flow/checkpoint.ts'
import type { FlowIndex, FlowRules } from '../flow/flow_index.ts'
import { LabelTable } from '../flow/label_table.ts'
import type { Label } from '../flow/labels.ts'
import { CarriedWriter } from '../flow/log.ts'
import { forgetCheckpoints, saveCheckpoint } from '../kept/checkpoints.ts'
import { closedIfFailing, type FlowState, MemoryFlow } from '../kept/flow_state.ts'
import { type IndexMemory, memoryOf } from '../kept/index_memory.ts'
import { KeptFlow } from '../kept/kept.ts'
import type { KeptPlace } from '../kept/kept_folder.ts'
import {
  atItsBeginning,
  inMemoryAtBeginning,
  KIND,
  type Like,
  openingKept,
  ownNewest,
  type Position,
  restoringNewest,
  usedBefore,
} from '../kept/positions.ts'
import { RetiredIndexes } from '../kept/retired.ts'
import { diffSets, type LoadedList, listsOfSet } from '../labels/label_sets.ts'
import { type LabelRow, labelsOfSet } from '../labels/list_storage.ts'
import { depositLabels, depositsOf, takeOverDeposits } from './deposit_addresses.ts'
import { type Asset, baseOf, readAssets } from './flow_log.ts'
import { findHubs, hubLabels, hubsOf, storeHubs } from './hubs.ts'
import { type ImportSource, importedFrom } from './imports.ts'
import { type TransferReader, transferReader } from './paths.ts'

/** Where the log lies: in the database, and older transfers in the archive, if there is one. */
export type LogPlace = { sql: Sql; archive?: TransferArchive | undefined }

export type Needs = LogPlace & {
  clock: Clock
  /** For how many of the newest blocks it is kept what each transfer carried. */
  carried_blocks: number
  /** After how many transfers the state is saved anew. */
  checkpoint_transfers: number
  /** From how many counterparties on an address without a label counts as a service. */
  hub_counterparties?: number
  /** Where the index is kept beside its hot slots; undefined: all of it is in memory. */
  kept?: KeptPlace | undefined
}

export const DEFAULT_CARRIED_BLOCKS = 30 * 28_800
export const DEFAULT_CHECKPOINT_TRANSFERS = 1_000_000

/** The index in use, with what a screening has to name. */
export type Generation = {
  number: number
  /** It differs from generations of other databases, which have the same numbers. */
  identity: string
  label_set: number
  /** How the index is computed, by number: answers are done again by those of their generation. */
  rules: number
  state: FlowState
  /** That of the state: labels, freezes and the last block; its slots are those in memory. */
  index: FlowIndex
  /** Of the lists, of the hubs, and of deposit addresses. */
  labels: LabelTable
  hubs: number
  /** The lists of the label set. */
  lists: readonly LoadedList[]
  /** Where it is written down what transfers carried. */
  carried: readonly CarriedRange[]
  /** Transfers of the log, with what they carried. */
  transfers: TransferReader
  /** Where the log has transfers that are not in the database. */
  archive: TransferArchive | undefined
  /** The id of the last block applied; undefined before the first. */
  block_id: string | undefined
  /** Which of its history came from files. */
  imported: readonly ImportSource[]
  /** The block it is computed from on, and what its transfers are numbered from. */
  first_block: number
  base: bigint
  assets: readonly Asset[]
  /** What the transfers of blocks carried, until it is written down: anyone who sees a block in the
   *  index finds it here or there. */
  unsaved: Map<number, Uint8Array>
  /** The last transfer that a checkpoint of this generation knows. */
  saved_sequence: number
}

export type Generations = {
  /** The generation that screenings use; undefined until the first has caught up. */
  current(): Generation | undefined
  /** Of the generations that are here: none, one or two. */
  memory(): IndexMemory[]
  /** Ends what is kept in files; blocks since the last save are applied again after a start. */
  close(): Promise<void>
  step: Step
}

/** Blocks of one run: small enough that other work of the process gets its turn within some
 *  milliseconds. */
const PORTION = 50

export function flowGenerations(needs: Needs): Generations {
  const held = new HeldGenerations(needs)
  return {
    current: () => held.current,
    memory: () => held.memory(),
    close: () => held.close(),
    step: {
      name: 'index',
      rest_ms: 1_000,
      needs_index: true,
      after: ['record', 'refresh_lists'],
      due: (sql) => dueFor(sql, held.current, held.has_more),
      run: () => held.run(),
    },
  }
}

/** Those of a process that has none: whoever asks is a step that does not say `needs_index`. */
export const noGenerations = (needs: Needs): Generations => ({
  ...flowGenerations(needs),
  current(): never {
    throw new Error('this process has no screening index')
  },
})

class HeldGenerations {
  current: Generation | undefined
  private next: Generation | undefined
  /** The next one while it is begun, and its number. */
  private beginning: { number: number; work: GenerationStart } | undefined
  private readonly needs: Needs
  private readonly retired: RetiredIndexes<Generation>

  constructor(needs: Needs) {
    this.needs = needs
    this.retired = new RetiredIndexes(needs, KIND)
  }

  get has_more(): boolean {
    const { current, next, beginning, needs } = this
    return (next ?? beginning) !== undefined || (current !== undefined && isUnsaved(needs, current))
  }

  memory(): IndexMemory[] {
    const { current, next } = this
    return [current, next].flatMap((one) => (one ? [memoryOf(one, one === current)] : []))
  }

  async run(): Promise<boolean> {
    const { needs, retired } = this
    const input = await newestInput(needs.sql)
    if (!input) return false
    await this.endBroken()
    // Without one in use nothing is removed: it may be the one that is taken up now.
    const wanted = [this.current, this.next, this.beginning].flatMap((one) => one?.number ?? [])
    await retired.end(this.current ? wanted : [])
    if (!this.current && !this.next && (await this.takeUpUsed(input))) return true
    const moved = this.current !== undefined && (await advance(needs, this.current))
    if (this.current) await saveWhenDue(needs, this.current, { behind: moved })
    if (this.current && this.current.number === input.generation) {
      await this.endBegun()
      return moved
    }
    if ((this.beginning ?? this.next)?.number !== input.generation) {
      await this.begin(input)
      return true
    }
    if (this.beginning) {
      this.next = await this.begun(this.beginning.work)
      return true
    }
    return this.next ? this.catchUp(this.next) : moved
  }

  /** After a start, what was in use before goes on answering until what is newer has caught up. */
  private async takeUpUsed(input: Input): Promise<boolean> {
    const used = await usedBefore(this.needs)
    if (used === undefined || used === input.generation) return false
    // Its file may be open for one that was begun.
    await this.endBegun()
    const begin = () => finished(beginGeneration(this.needs, used, undefined))
    this.current = this.retired.takeBack(used) ?? (await begin())
    return true
  }

  private async begin(input: Input): Promise<void> {
    const { needs, current } = this
    const number = input.generation ?? (await makeGeneration(needs, input, current))
    await this.endBegun()
    this.next = this.retired.takeBack(number)
    if (!this.next) this.beginning = { number, work: beginGeneration(needs, number, current) }
  }

  /** Goes on with the beginning of the next one. If it fails, it is begun anew. */
  private async begun(work: GenerationStart): Promise<Generation | undefined> {
    let done = true
    try {
      const portion = await work.next()
      done = portion.done === true
      return portion.done ? portion.value : undefined
    } finally {
      if (done) this.beginning = undefined
    }
  }

  /** Applies more to the next one; it is used when there is no more. */
  private async catchUp(next: Generation): Promise<boolean> {
    const behind = await advance(this.needs, next)
    await saveWhenDue(this.needs, next, { behind })
    if (behind) return true
    await noteInUse(this.needs, next)
    if (this.current) this.retired.add(this.current)
    this.current = next
    this.next = undefined
    return true
  }

  /** A generation that was begun since is not asked for any more. */
  private async endBegun(): Promise<void> {
    await this.beginning?.work.return(undefined as never)
    // It may have been in use a moment ago.
    if (this.next) this.retired.add(this.next)
    this.beginning = this.next = undefined
  }

  /** Ends a generation whose file cannot be read: it is begun anew. */
  private async endBroken(): Promise<void> {
    for (const one of [this.current, this.next]) {
      if (!one?.state.is_broken) continue
      await one.state.close()
      this.needs.kept?.folder.putAside(KIND, one.number)
      if (one === this.current) this.current = undefined
      else this.next = undefined
    }
  }

  async close(): Promise<void> {
    await this.endBegun()
    await this.current?.state.close()
    this.current = undefined
    await this.retired.endAll()
  }
}

async function noteInUse({ sql, clock }: Needs, { number }: Generation): Promise<void> {
  await sql`
    update flow_generation set active_at = ${clock.now()} where number = ${number}
      and active_at is null`
}

/** Finds a row where a block waits, or another generation is asked for, or work is under way. */
const dueFor = (sql: WriteFragment, current: Generation | undefined, has_more: boolean) => sql`
  select where ${has_more}::boolean
  union all
  select from flow_log_ends where last_number > ${current ? lastApplied(current) : -1}::bigint
  union all
  select where not exists (
    select from flow_generation where number = ${current?.number ?? null}
      and label_set = (select max(number) from label_set)
      and rules = index_rules_in_force()
      and reach = coalesce((select max(number) from flow_reach), 0))`

/** A checkpoint of a large index takes seconds: while there is more to apply, only every tenth is
 *  made. */
const CHECKPOINTS_SKIPPED = 10

async function saveWhenDue(
  needs: Needs,
  generation: Generation,
  { behind }: { behind: boolean },
): Promise<void> {
  const { state, index, saved_sequence, block_id } = generation
  // What keeps itself writes what has changed alone, at each block when it has caught up.
  if (!(state instanceof MemoryFlow))
    return behind && !state.is_full ? undefined : state.save(block_id)
  const due = needs.checkpoint_transfers * (behind ? CHECKPOINTS_SKIPPED : 1)
  if (index.sequence - saved_sequence < due) return
  await saveCheckpoint(needs, generation.number, index)
  generation.saved_sequence = index.sequence
}

/** What an index is computed from: labels, the log from a block on, and rules. `generation`: the
 *  one that there is of it already. */
type Input = {
  label_set: number
  reach: number
  rules: number
  first_number: number
  generation: number | null
}

/** Rules 1 follow transfers alone. */
const flowRules = (rules: number, { hub_counterparties }: Partial<Needs> = {}): FlowRules => ({
  net: true,
  swaps: rules >= 2,
  ...(hub_counterparties !== undefined && { counterparties_max: hub_counterparties }),
})

/** The newest; undefined while there is no block. */
export async function newestInput(sql: Sql): Promise<Input | undefined> {
  const [row] = await sql<Omit<Input, 'first_number'> & { first_number: bigint | null }>`
    with wanted as (
      select (select number from label_set order by number desc limit 1) as label_set,
        coalesce((select number from flow_reach order by number desc limit 1), 0) as reach,
        index_rules_in_force() as rules,
        coalesce((select first_number from flow_reach order by number desc limit 1),
                 (select first_number from flow_generation order by number desc limit 1),
                 (select first_number from flow_log_ends)) as first_number
    )
    select w.*, g.number as generation
    from wanted as w left join flow_generation as g on g.label_set = w.label_set
      and g.reach = w.reach and g.rules = w.rules`
  return row?.first_number == null ? undefined : { ...row, first_number: Number(row.first_number) }
}

/** Writes a generation down with its hubs, those that the one in use shows; the first process does.
 *  Returns its number. */
async function makeGeneration(
  needs: Needs,
  input: Input,
  used: Generation | undefined,
): Promise<number> {
  const { sql, clock } = needs
  const { label_set, reach, rules, first_number } = input
  await used?.state.save(used.block_id)
  const found = used ? await findHubs(sql, used) : []
  return sql.begin(async (tx) => {
    const [made] = await tx<{ number: number }>`
      insert into flow_generation (label_set, reach, rules, first_number, begun_at)
      values (${label_set}, ${reach}, ${rules}, ${first_number}, ${clock.now()})
      on conflict do nothing
        returning number`
    if (made) await storeHubs(tx, made.number, found)
    if (made && rules >= 2) await takeOverDeposits(tx, made.number)
    const [row] = await tx<{ number: number }>`
      select number from flow_generation where label_set = ${label_set} and reach = ${reach}
        and rules = ${rules}`
    return row!.number
  })
}

/** Whether there is something to write down of what was applied. */
const isUnsaved = (
  { checkpoint_transfers }: Needs,
  { state, index, saved_sequence, unsaved }: Generation,
): boolean =>
  unsaved.size > 0 ||
  (state instanceof MemoryFlow && index.sequence - saved_sequence >= checkpoint_transfers)

/** The last block that it has, or the one before its first. */
const lastApplied = ({ index, first_block }: Generation): number =>
  Math.max(index.block_number, first_block - 1)

/** Applies the next portion of the log. False when there is none. */
async function advance(
  { sql, archive, carried_blocks }: Needs,
  generation: Generation,
): Promise<boolean> {
  const { state, base, unsaved } = generation
  const left = await saveCarried(sql, generation)
  // When its disk is full, nothing more is put into memory.
  if (state.is_full) await state.save(generation.block_id)
  const after = lastApplied(generation)
  const blocks = await transferLog(sql, archive).after(after, { limit: PORTION, base })
  const last = blocks.at(-1)
  if (!last) return left
  const newest = blocks.length < PORTION ? last.number : await newestRecorded(sql)
  const kept_from = newest - carried_blocks
  // Before any block that has a new asset: a screening between the two would not see it.
  if (generation.assets.length === 0 || hasNewAsset(generation, blocks))
    generation.assets = await readAssets(sql)
  await state.apply(blocks, (block) => {
    const writer =
      block.number >= kept_from && block.transfers.length > 0
        ? new CarriedWriter(countTransfers(block.transfers))
        : undefined
    const done = () => {
      if (writer) unsaved.set(block.number, writer.written())
      generation.block_id = block.id
    }
    return { writer, done }
  })
  await saveCarried(sql, generation)
  return true
}

/** Writes down what was carried and is not yet; what a broken connection left over is written the
 *  next time. */
async function saveCarried(sql: Sql, { number, unsaved }: Generation): Promise<boolean> {
  if (unsaved.size === 0) return false
  const notes = [...unsaved]
  await sql`
    insert into flow_carried (generation, number, carried)
    select ${number}, * from unnest(${notes.map(([block]) => block)}::bigint[],
                                    ${notes.map(([, carried]) => Buffer.from(carried))}::bytea[])
    on conflict do nothing`
  for (const [block] of notes) unsaved.delete(block)
  return true
}

function hasNewAsset({ assets }: Generation, blocks: readonly RecordedBlock[]): boolean {
  const known = new Set(assets.map((asset) => asset.number))
  return blocks.some(({ transfers }) => {
    for (let at = 0; at < transfers.length; at += RECORD_BYTES)
      if (!known.has(transfers[at]!)) return true
    return false
  })
}

/** It goes on by portions of a few milliseconds, and the generation in use with it. */
type GenerationStart = AsyncGenerator<undefined, Generation>

/** The number of the newest block of the log; 0 while there is none. */
async function newestRecorded(sql: Sql): Promise<number> {
  return (await transferLog(sql).last())?.number ?? 0
}

/** Begins a generation: from its own newest checkpoint, or from what the generation in use and this
 *  one have in common, or from its first block. */
async function* beginGeneration(
  needs: Needs,
  number: number,
  used: Generation | undefined,
): GenerationStart {
  const { sql } = needs
  const basis = await readBasis(sql, number)
  const changes = used && (yield* labelChanges(sql, used, basis))
  const labels =
    used && changes && !used.labels.is_worn
      ? yield* changedLabels(used.labels, changes)
      : yield* labelsOf(sql, basis)
  const like = { labels, rules: flowRules(basis.rules, needs), identity: basis.identity }
  const sources = { ...needs, log: transferLog(sql) }
  const own = yield* ownNewest(sources, number, like)
  if (own) return generationOf(needs, { ...basis, ...own, labels })
  const common =
    used && changes && used.first_block === basis.first_block && used.rules === basis.rules
      ? yield* inCommon(needs, { used, number, changes }, like)
      : undefined
  const position = common ?? (yield* atItsBeginning(sources, number, like))
  return closedIfFailing(position.state, async () => {
    const { carried } = await readBasis(sql, number)
    return generationOf(needs, { ...basis, ...position, labels, carried })
  })
}

/** A generation as it is before its first block. Throws when there is none of this number. */
export async function describeGeneration(place: LogPlace, number: number): Promise<Generation> {
  const basis = await readBasis(place.sql, number)
  const labels = await finished(labelsOf(place.sql, basis))
  const like = { labels, rules: flowRules(basis.rules) }
  return generationOf(place, { ...basis, ...(await finished(inMemoryAtBeginning(like))), labels })
}

type Basis = Pick<Generation, 'number' | 'label_set' | 'rules' | 'lists' | 'first_block' | 'base'> &
  Pick<Generation, 'assets' | 'carried' | 'hubs' | 'imported' | 'identity'> & {
    derived: readonly Label[]
  }

/** What is written down of a generation. */
async function readBasis(sql: Sql, number: number): Promise<Basis> {
  type Row = { label_set: number; first_number: bigint; rules: number; begun_at: Date }
  const [row] = await sql<Row>`
    select label_set, first_number, rules, begun_at from flow_generation where number = ${number}`
  if (!row) throw new Error(`there is no generation ${number}`)
  const { label_set, rules, first_number, begun_at } = row
  const hubs = await hubsOf(sql, number)
  const first_block = Number(row.first_number)
  return {
    number,
    identity: [number, label_set, rules, first_number, begun_at.toISOString()].join(' '),
    label_set,
    first_block,
    rules,
    hubs: hubs.length,
    derived: [...hubLabels(hubs, rules), ...depositLabels(await depositsOf(sql, number))],
    lists: await listsOfSet(sql, label_set),
    base: await baseOf(sql, first_block),
    imported: await importedFrom(sql, first_block),
    assets: await readAssets(sql),
    carried: await carriedRanges(sql, [number]),
  }
}

function generationOf(
  { sql, archive }: LogPlace,
  { derived: _, ...basis }: Basis & Position & { labels: LabelTable },
): Generation {
  const unsaved = new Map<number, Uint8Array>()
  const { index } = basis.state
  return {
    ...basis,
    index,
    archive,
    transfers: transferReader(sql, { ...basis, archive, unsaved }),
    unsaved,
    saved_sequence: index.sequence,
  }
}

/** The state that two generations share: the newest at which no address whose labels differ had
 *  moved anything. Of a state that keeps itself there is one alone, the last. */
async function* inCommon(
  { sql, kept }: Needs,
  { used, number, changes }: { used: Generation; number: number; changes: LabelChange[] },
  like: Like,
): AsyncGenerator<undefined, Position | undefined> {
  await saveCarried(sql, used)
  // From here to the end of a copy, the index in use does not move.
  const known = used.index.block_number
  const touched = await firstTouched(used, changes)
  const [saved] = await sql`
    select 1 from flow_checkpoint where generation = ${used.number} limit 1`
  let position: Position | undefined
  if (used.state instanceof KeptFlow) {
    if (touched === undefined && kept) {
      await used.state.save(used.block_id)
      await noteCarriedFrom(sql, number, used)
      await kept.folder.copy(used.state, KIND, number)
      const { identity } = used
      const copied = openingKept({ log: transferLog(sql), kept }, number, { ...like, identity })
      const opened = yield* copied
      return await closedIfFailing(opened.state, async () => {
        await opened.state.become(like.identity)
        return opened
      })
    }
  } else if (saved) {
    const before = Math.min(touched ?? known + 1, known + 1)
    position = yield* restoringNewest({ sql, log: transferLog(sql) }, used.number, {
      ...like,
      before,
    })
  } else if (touched === undefined) {
    // Without a checkpoint it is small: its bytes need not go by way of the database.
    const { labels, rules } = like
    const copied = readingCheckpoint(labels, writeCheckpoint(used.index), rules)
    position = { state: new MemoryFlow(await finished(copied)), block_id: used.block_id }
  }
  if (position) await noteCarriedFrom(sql, number, { ...used, index: position.state.index })
  return position
}

/** Up to the block of an index, what transfers carried is what they did in another generation. */
async function noteCarriedFrom(
  sql: Sql,
  number: number,
  { number: from, index }: Pick<Generation, 'number' | 'index'>,
): Promise<void> {
  await sql`
    insert into flow_carried_from (generation, from_generation, until)
    values (${number}, ${from}, ${index.block_number})
    on conflict (generation, from_generation)
      do update set until = greatest(flow_carried_from.until, excluded.until)`
}

/** Where it is written down what transfers carried in generations. */
async function carriedRanges(sql: Sql, generations: readonly number[]): Promise<CarriedRange[]> {
  return sql<CarriedRange>`
    with recursive held as (
      select generation, 9223372036854775807 as until
      from unnest(${generations}::integer[]) as g (generation)
      union
      select f.from_generation, least(f.until, h.until)
      from held as h join flow_carried_from as f on f.generation = h.generation
    )
    select generation, max(until) as until from held group by generation order by generation desc`
}

type LabelChange = { added: boolean; label: Label }

/** Addresses that are looked up in some milliseconds. */
const LOOKED_UP = 5_000

/** The first block in which an address whose labels differ moved anything; undefined: none did. */
async function firstTouched(
  { state, assets }: Generation,
  changes: readonly LabelChange[],
): Promise<number | undefined> {
  let first = Number.POSITIVE_INFINITY
  for (let from = 0; from < changes.length; from += LOOKED_UP) {
    const addresses = changes
      .slice(from, from + LOOKED_UP)
      .map(({ label }) => Buffer.from(label.address, 'hex'))
    const numbers = assets.map(({ number }) => number)
    await state.reading(
      () => numbers,
      addresses,
      (holdingOf) => {
        for (const address of addresses)
          for (const asset of numbers)
            first = Math.min(first, holdingOf(asset, address)?.first_block ?? first)
      },
    )
    await turnOfLoop()
  }
  return Number.isFinite(first) ? first : undefined
}

/** What the index is told otherwise than in another generation: labels that say the same to it,
 *  with another name or page, do not count. */
async function* labelChanges(
  sql: Sql,
  used: Generation,
  wanted: Basis,
): AsyncGenerator<undefined, LabelChange[]> {
  const net = new Map<string, { count: number; label: Label }>()
  const note = (label: Label, by: number) => {
    const key = labelKey(label)
    const known = net.get(key)
    if (known) known.count += by
    else net.set(key, { count: by, label })
  }
  for (const label of wanted.derived) note(label, 1)
  for (const label of (await readBasis(sql, used.number)).derived) note(label, -1)
  const rows = await diffSets(sql, used.label_set, wanted.label_set)
  for (const [i, one] of rows.entries()) {
    note(labelOf(one), one.change === 'added' ? 1 : -1)
    if (i % LOOKED_UP === LOOKED_UP - 1) yield
  }
  return [...net.values()].flatMap(({ count, label }) =>
    Array.from({ length: Math.abs(count) }, () => ({ added: count > 0, label })),
  )
}

const labelKey = ({ address, category, confidence, kind, from_ms, to_ms }: Label) =>
  [address, category, confidence, kind, from_ms, to_ms].join(' ')

/** Labels with what has changed. */
async function* changedLabels(
  before: LabelTable,
  changes: readonly LabelChange[],
): AsyncGenerator<undefined, LabelTable> {
  const labels = before.copy()
  for (const [i, { added, label }] of changes.entries()) {
    if (added) labels.add(label)
    else labels.remove(label)
    if (i % LOOKED_UP === LOOKED_UP - 1) yield
  }
  return labels
}

/** The labels of a generation, from their rows. */
async function* labelsOf(sql: Sql, basis: Basis): AsyncGenerator<undefined, LabelTable> {
  const labels = new LabelTable()
  for await (const rows of labelsOfSet(sql, basis.label_set)) {
    for (const row of rows) labels.add(labelOf(row))
    yield
  }
  for (const label of basis.derived) labels.add(label)
  return labels
}

/** As the index takes it. */
const labelOf = ({ address, category, confidence, kind, ...row }: LabelRow): Label => ({
  address: bareHex(address),
  category: categoryNumber(category)!,
  confidence,
  kind,
  from_ms: row.valid_from?.getTime() ?? Number.NEGATIVE_INFINITY,
  to_ms: row.valid_to?.getTime() ?? Number.POSITIVE_INFINITY,
})

/** What was carried is kept for so many times as far back as screenings look. */
export const WINDOWS_KEPT = 2

/** Forgets what only generations out of use have, and what was carried long before the window that
 *  screenings look at. */
export function pruneIndexStep({ sql, carried_blocks }: Needs): Step {
  return {
    name: 'prune_index',
    rest_ms: 60_000,
    duty: 'upkeep',
    async run() {
      // The one that was in use before stays, for processes that have not changed over yet. Its
      // number can be any lower one: not every generation that is begun comes into use.
      const used = await sql<{ number: number }>`
        select number from flow_generation where active_at is not null order by number desc limit 2`
      const oldest = used.at(-1)
      if (!oldest) return false
      const newest = await newestRecorded(sql)
      const live = await sql<{ number: number }>`
        select number from flow_generation where number >= ${oldest.number}`
      const ranges = await carriedRanges(
        sql,
        live.map((one) => one.number),
      )
      const gone = await sql`
        delete from flow_carried where (generation, number) in (
          select c.generation, c.number
          from flow_generation as g
          left join unnest(${ranges.map((one) => one.generation)}::integer[],
                           ${ranges.map((one) => one.until)}::bigint[]) as k (generation, until)
            on k.generation = g.number
          cross join lateral (
            (select generation, number from flow_carried where generation = g.number
              and number > coalesce(k.until, -1) order by number limit 2000)
            union all
            (select generation, number from flow_carried where generation = g.number
              and number < ${newest - WINDOWS_KEPT * carried_blocks}
              order by number limit 2000)) as c
          limit 2000)
        returning 1`
      // Beyond the window nothing is kept that a range could lead to: without that there would be
      // one more for each label set, for ever.
      await sql`
        delete from flow_carried_from
        where generation <> all(${ranges.map((one) => one.generation)}::integer[])
          or until < ${newest - WINDOWS_KEPT * carried_blocks}`
      await forgetCheckpoints(sql, oldest.number)
      return gone.length > 0
    },
  }
}
