// The flow index in this process's memory, kept up with the log. A generation is the index under one label set. When a new
// set is published, the next generation is computed beside the one in use and takes its place when it has caught up; what
// the new labels cannot have touched is taken over instead of computed again. Processes do not wait for each other: from
// the same log and labels each computes the same, so what they write down for all is written by whoever is first.

import type { Category } from '../flow/categories.ts'
import { categoryNumber } from '../flow/categories.ts'
import { readCheckpoint, writeCheckpoint } from '../flow/checkpoint.ts'
import { FlowIndex } from '../flow/flow_index.ts'
import { readHolding } from '../flow/holdings.ts'
import type { Kind, Label } from '../flow/labels.ts'
import { applyBlock, CarriedWriter, countTransfers } from '../flow/log.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sql } from '../lib/sql.ts'
import type { Step } from '../lib/step.ts'
import { type Asset, bareAddress, bareHex, blocksAfter, type RecordedBlock, readAssets } from './flow_log.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  /** For how many of the newest blocks it is kept what each transfer carried. */
  carried_blocks: number
  /** After how many transfers the state is saved anew. */
  checkpoint_transfers: number
}

export const DEFAULT_CARRIED_BLOCKS = 30 * 28_800
export const DEFAULT_CHECKPOINT_TRANSFERS = 1_000_000

/** The index in use, with what a screening has to name. */
export type Generation = {
  number: number
  label_set: number
  index: FlowIndex
  labels: readonly Label[]
  /** The id of the last block applied; undefined before the first. */
  block_id: string | undefined
  first_block: number | undefined
  assets: readonly Asset[]
}

export type Generations = {
  /** The generation that screenings use; undefined until the first has caught up. */
  current(): Generation | undefined
  step: Step
}

/** Blocks of one run: small enough that other work of the process gets its turn. */
const PORTION = 200

export function flowGenerations(needs: Needs): Generations {
  const { sql } = needs
  let current: Generation | undefined
  let next: Generation | undefined
  let saved_sequence = 0

  async function run(): Promise<boolean> {
    const label_set = await newestSet(sql)
    if ((next ?? current)?.label_set !== label_set) {
      next = await beginGeneration(needs, label_set, current)
      return true
    }
    if (next) {
      if (await advance(needs, next)) return true
      await sql`
        update flow_generation set active_at = ${needs.clock.now()} where number = ${next.number} and active_at is null`
      current = next
      next = undefined
      saved_sequence = current.index.sequence
      return true
    }
    if (!current) return false
    const moved = await advance(needs, current)
    if (!moved && current.index.sequence - saved_sequence >= needs.checkpoint_transfers) {
      await saveCheckpoint(needs, current)
      saved_sequence = current.index.sequence
    }
    return moved
  }

  return {
    current: () => current,
    step: { name: 'index', rest_ms: 1_000, wakes: ['screen', 'rescreen'], run },
  }
}

async function newestSet(sql: Sql): Promise<number> {
  const [row] = await sql<{ number: number }>`select number from label_set order by number desc limit 1`
  return row!.number
}

/** Applies the next portion of the log. False when there is none. */
async function advance({ sql, carried_blocks }: Needs, generation: Generation): Promise<boolean> {
  const { index, number } = generation
  const blocks = await blocksAfter(sql, index.block_number, { limit: PORTION })
  const last = blocks.at(-1)
  if (!last) return false
  const newest = await sql<{ number: bigint }>`select number from flow_block order by number desc limit 1`
  const kept_from = Number(newest[0]!.number) - carried_blocks
  const notes: { number: number; carried: Buffer }[] = []
  for (const block of blocks) {
    const writer =
      block.number > kept_from && block.transfers.length > 0
        ? new CarriedWriter(countTransfers(block.transfers))
        : undefined
    applyBlock(index, block, writer)
    if (writer) notes.push({ number: block.number, carried: Buffer.from(writer.written()) })
  }
  generation.block_id = last.id
  generation.first_block ??= blocks[0]!.number
  // An asset is in the table before any block that has it.
  if (generation.assets.length === 0 || hasNewAsset(generation, blocks)) generation.assets = await readAssets(sql)
  if (notes.length > 0) {
    await sql`
      insert into flow_carried (generation, number, carried)
      select ${number}, * from unnest(${notes.map((note) => note.number)}::bigint[], ${notes.map((note) => note.carried)}::bytea[])
      on conflict do nothing`
  }
  return true
}

function hasNewAsset({ assets }: Generation, blocks: readonly RecordedBlock[]): boolean {
  const known = new Set(assets.map((asset) => asset.number))
  return blocks.some(({ transfers }) => {
    for (let at = 0; at < transfers.length; at += 52) if (!known.has(transfers[at]!)) return true
    return false
  })
}

/** Begins the generation of a label set: from its own newest checkpoint, or from what the generation in use and this one
 *  have in common, or from the beginning of the log. */
async function beginGeneration(needs: Needs, label_set: number, used: Generation | undefined): Promise<Generation> {
  const { sql, clock } = needs
  await sql`
    insert into flow_generation (label_set, begun_at) values (${label_set}, ${clock.now()}) on conflict do nothing`
  const [row] = await sql<{ number: number }>`select number from flow_generation where label_set = ${label_set}`
  const number = row!.number
  const labels = await labelsOfSet(sql, label_set)
  const begun = { number, label_set, labels, assets: await readAssets(sql) }
  const own = await newestCheckpoint(sql, number)
  if (own) return { ...begun, ...(await restore(sql, { generation: number, number: own }, labels)) }
  const common = used && (await inCommon(needs, used, { number, labels }))
  return { ...begun, ...(common ?? { index: new FlowIndex(labels), block_id: undefined, first_block: undefined }) }
}

type Position = Pick<Generation, 'index' | 'block_id' | 'first_block'>

/** The state that two generations share: the newest at which no address whose labels differ had moved anything. */
async function inCommon(
  { sql }: Needs,
  used: Generation,
  wanted: { number: number; labels: readonly Label[] },
): Promise<Position | undefined> {
  const touched = firstTouched(used, wanted.labels)
  if (touched === undefined) {
    const index = await readCheckpoint(wanted.labels, writeCheckpoint(used.index))
    await takeOverCarried(sql, { from: used.number, to: wanted.number, until: index.block_number })
    return { index, block_id: used.block_id, first_block: used.first_block }
  }
  const [before] = await sql<{ number: bigint }>`
    select number from flow_checkpoint where generation = ${used.number} and number < ${touched}
    order by number desc limit 1`
  if (!before) return undefined
  const position = await restore(sql, { generation: used.number, number: Number(before.number) }, wanted.labels)
  await takeOverCarried(sql, { from: used.number, to: wanted.number, until: Number(before.number) })
  return position
}

async function takeOverCarried(sql: Sql, { from, to, until }: { from: number; to: number; until: number }) {
  await sql`
    insert into flow_carried (generation, number, carried)
    select ${to}, number, carried from flow_carried where generation = ${from} and number <= ${until}
    on conflict do nothing`
}

/** The first block in which an address whose labels differ moved anything; undefined: none did. */
function firstTouched({ index, labels, assets }: Generation, wanted: readonly Label[]): number | undefined {
  const keys = (all: readonly Label[]) => new Map(all.map((label) => [labelKey(label), label.address]))
  const [had, has] = [keys(labels), keys(wanted)]
  const differing = new Set<string>()
  for (const [key, address] of had) if (!has.has(key)) differing.add(address)
  for (const [key, address] of has) if (!had.has(key)) differing.add(address)
  let first: number | undefined
  for (const address of differing) {
    for (const asset of assets) {
      const holding = readHolding(index, asset.number, Buffer.from(address, 'hex'))
      if (holding) first = Math.min(first ?? holding.first_block, holding.first_block)
    }
  }
  return first
}

const labelKey = ({ address, category, confidence, kind, from_ms, to_ms }: Label) =>
  [address, category, confidence, kind, from_ms, to_ms].join(' ')

/** The labels of a set, as the index takes them. */
export async function labelsOfSet(sql: Sql, label_set: number): Promise<Label[]> {
  const rows = await sql<{
    address: string
    category: Category['name']
    confidence: number
    kind: Kind
    valid_from: Date | null
    valid_to: Date | null
  }>`
    select e.address, e.category, e.confidence, e.kind, e.valid_from, e.valid_to
    from label_set_version as s join list_entry as e using (version_id)
    where s.label_set = ${label_set} order by e.version_id, e.n`
  return rows.map(({ address, category, confidence, kind, valid_from, valid_to }) => ({
    address: bareHex(address),
    category: categoryNumber(category)!,
    ...{ confidence, kind },
    from_ms: valid_from?.getTime() ?? Number.NEGATIVE_INFINITY,
    to_ms: valid_to?.getTime() ?? Number.POSITIVE_INFINITY,
  }))
}

async function newestCheckpoint(sql: Sql, generation: number): Promise<number | undefined> {
  const [row] = await sql<{ number: bigint }>`
    select number from flow_checkpoint where generation = ${generation} order by number desc limit 1`
  return row && Number(row.number)
}

/** The index as a checkpoint has it, under the given labels. */
export async function restore(
  sql: Sql,
  of: { generation: number; number: number },
  labels: readonly Label[],
): Promise<Position> {
  const { generation, number } = of
  const index = await readCheckpoint(labels, readParts(sql, generation, number))
  const [block] = await sql<{ id: string }>`select id from flow_block where number = ${index.block_number}`
  const [first] = await sql<{ number: bigint }>`select number from flow_block order by number limit 1`
  return { index, block_id: block?.id, first_block: first && Number(first.number) }
}

async function* readParts(sql: Sql, generation: number, number: number): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await sql<{ bytes: Uint8Array }>`
      select bytes from flow_checkpoint_part
      where generation = ${generation} and number = ${number} and part = ${part}`
    if (!row) return
    yield row.bytes
  }
}

const CHECKPOINTS_KEPT = 2

/** Saves the state, whole or not at all. Does nothing while another process saves one: its bytes can be in another order. */
export async function saveCheckpoint({ sql, clock }: Needs, { number: generation, index }: Generation): Promise<void> {
  const number = index.block_number
  await sql.begin(async (tx) => {
    const [lock] = await tx<{ taken: boolean }>`select pg_try_advisory_xact_lock(7204615101) as taken`
    const [same] = await tx`select 1 from flow_checkpoint where generation = ${generation} and number = ${number}`
    if (!lock?.taken || same) return
    let parts = 0
    for (const bytes of writeCheckpoint(index)) {
      await tx`
        insert into flow_checkpoint_part (generation, number, part, bytes)
        values (${generation}, ${number}, ${parts}, ${Buffer.from(bytes)})`
      parts += 1
    }
    await tx`
      insert into flow_checkpoint (generation, number, parts, made_at)
      values (${generation}, ${number}, ${parts}, ${clock.now()})`
    const old = await tx<{ number: bigint }>`
      delete from flow_checkpoint where generation = ${generation} and number not in (
        select number from flow_checkpoint where generation = ${generation}
        order by number desc limit ${CHECKPOINTS_KEPT})
      returning number`
    await tx`
      delete from flow_checkpoint_part where generation = ${generation} and number = any(${old.map((one) => one.number)})`
  })
}

/** Forgets what only generations out of use have, and what was carried long before the window that screenings look at. */
export function pruneIndexStep({ sql, carried_blocks }: Needs): Step {
  return {
    name: 'prune_index',
    rest_ms: 60_000,
    async run() {
      const [used] = await sql<{ number: number }>`
        select number from flow_generation where active_at is not null order by number desc limit 1`
      const [newest] = await sql<{ number: bigint }>`select number from flow_block order by number desc limit 1`
      if (!used || !newest) return false
      // The generation before stays, for processes that have not changed over yet.
      const gone = await sql`
        delete from flow_carried where (generation, number) in (
          select generation, number from flow_carried
          where generation < ${used.number} - 1 or number < ${Number(newest.number) - 2 * carried_blocks} limit 2000)
        returning 1`
      await sql`delete from flow_checkpoint_part where generation < ${used.number} - 1`
      await sql`delete from flow_checkpoint where generation < ${used.number} - 1`
      return gone.length > 0
    },
  }
}

/** What an address has of every asset, in the order of the assets. */
export function holdingsOf({ index, assets }: Generation, address: string) {
  const bytes = bareAddress(address)
  return assets.flatMap((asset) => {
    const holding = readHolding(index, asset.number, bytes)
    return holding ? [{ asset, holding }] : []
  })
}
