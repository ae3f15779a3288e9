// History from files. All files are read and judged before anything is written: their rows, how
// they fit each other and the log, and some of their blocks as a node has them. Then file by file,
// the newest first, goes into the log, each in one transaction with the note of where it came from:
// a run that was broken off goes on with the files that are not in yet.

import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import type { Address } from 'penstock-tron/address.ts'
import type { Node } from '../../chain/node/node.ts'
import { addressOfBare } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers, transferAt } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { NewBlock } from '../../chain/transfers/transfer_log.ts'
import { Outage, Refused, refusal } from '../../lib/fault.ts'
import type { Random } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { setReach } from './backfill.ts'
import { type FlowBasis, newBlockFromNode, noteEarlierFreezes, readFlowBasis } from './flow_log.ts'
import { type HistoryBlock, HistoryReader } from './history_blocks.ts'
import { historyRows } from './history_rows.ts'
import { importedFiles, noteImport } from './imports.ts'

export type Needs = { sql: Sql; node: Node; tokens: ReadonlySet<Address>; random: Random }

export type ImportRequest = {
  files: readonly string[]
  source: string
  /** The block from which the index is to be computed; undefined: the lowest one of the files. */
  from_number: number | undefined
  made_by: string
  made_at: Date
}

export type ImportOutcome = {
  files: number
  /** Of those, the ones that were in the log already. */
  known: number
  blocks: number
  transfers: number
  passed_over: number
  /** Blocks that the node has said the same of. */
  compared: number
  /** The lowest block of the log, now. */
  first_number: number
  /** Of the index that is computed from there; null: the log does not reach down to it yet. */
  reach: number | null
}

/** Called as rows are read: what is done to which file, and how many of its blocks. */
export type ImportProgress = (what: string, blocks: number, whole: number | undefined) => void

/** A file that was judged. */
type Segment = {
  path: string
  sha256: string
  first: HistoryBlock
  last: HistoryBlock
  blocks: number
  transfers: number
  passed_over: number
  compared: number
}

/** One block of this many is compared with the node, and this many in a row in each file. */
const SAMPLE = 1_000
const RUN = 20
/** Blocks that are written at once. */
const PORTION = 200

/** Brings history into the log, and has the index computed from there as soon as the log reaches
 *  down to the block that is wanted. Throws Refused with file and row when anything is odd, and
 *  nothing has changed; Outage when the node does not answer. */
export async function importLog(
  needs: Needs,
  wanted: ImportRequest,
  progress: ImportProgress = () => {},
): Promise<ImportOutcome> {
  const { sql } = needs
  const lowest = await transferLog(sql).first()
  if (!lowest) throw refusal('Nothing is in the log yet: start the service first.')
  const basis = await readFlowBasis(needs)
  const read: Segment[] = []
  for (const path of wanted.files) read.push(await readSegment(needs, path, basis, progress))
  const { fresh, known } = await fitting(needs, read)
  let reach: number | null = null
  const reachWhenThere = async () => {
    const low = (await transferLog(sql).first())!.number
    const from_number = wanted.from_number ?? Math.min(low, ...read.map(lowestOf))
    if (reach !== null || low > from_number || !(await isEarlier(sql, from_number))) return
    const reason = `history was imported from ${wanted.source}`
    reach = (await setReach(sql, { ...wanted, from_number, reason })).reach
  }
  for (const segment of fresh) {
    await writeSegment(sql, segment, { basis, wanted, progress })
    if (wanted.from_number !== undefined) await reachWhenThere()
  }
  await reachWhenThere()
  const sum = (of: (one: Segment) => number) => fresh.reduce((all, one) => all + of(one), 0)
  return {
    files: read.length,
    known,
    blocks: sum((one) => one.blocks),
    transfers: sum((one) => one.transfers),
    passed_over: sum((one) => one.passed_over),
    compared: sum((one) => one.compared),
    first_number: (await transferLog(sql).first())!.number,
    reach,
  }
}

const lowestOf = ({ first }: Segment) => first.block.number

/** Whether an index that begins there knows more than the newest one. */
async function isEarlier(sql: Sql, from_number: number): Promise<boolean> {
  const [row] = await sql<{ first_number: bigint | null }>`
    select coalesce((select first_number from flow_reach order by number desc limit 1),
      (select first_number from flow_generation order by number desc limit 1)) as first_number`
  return row?.first_number == null || BigInt(from_number) < row.first_number
}

/** With the file's name before the sentence. */
function inFile(path: string, thrown: unknown): unknown {
  return thrown instanceof Refused ? refusal(`${path}, ${thrown.message}`) : thrown
}

/** The blocks of a file, in order, as far as it is sound. */
async function* blocksOf(path: string, reader: HistoryReader): AsyncGenerator<HistoryBlock> {
  try {
    for await (const rows of historyRows(path)) {
      for (const row of rows) {
        const block = reader.read(row)
        if (block) yield block
      }
    }
    const last = reader.end()
    if (last) yield last
  } catch (thrown) {
    throw inFile(path, thrown)
  }
}

async function hashOf(path: string): Promise<string> {
  const hash: Hash = createHash('sha256')
  const bytes = createReadStream(path)
  try {
    for await (const chunk of bytes) hash.update(chunk as Uint8Array)
  } catch (thrown) {
    throw refusal(`${path} cannot be read: ${(thrown as NodeJS.ErrnoException).code}.`)
  }
  return hash.digest('hex')
}

/** Reads a file whole, and compares some of it with the node. */
async function readSegment(
  needs: Needs,
  path: string,
  basis: FlowBasis,
  progress: ImportProgress,
): Promise<Segment> {
  const sha256 = await hashOf(path)
  const reader = new HistoryReader(basis)
  const sample = new Sample(needs, basis, path)
  let [first, last]: (HistoryBlock | undefined)[] = []
  let [blocks, transfers] = [0, 0]
  for await (const one of blocksOf(path, reader)) {
    first ??= one
    last = one
    blocks += 1
    transfers += countTransfers(one.block.transfers)
    await sample.see(one, blocks === 1)
    if (blocks % SAMPLE === 0) progress(`read ${basename(path)}`, blocks, undefined)
  }
  if (!first || !last) throw refusal(`${path} has no row.`)
  await sample.compare(last)
  const { compared } = sample
  return { path, sha256, first, last, blocks, transfers, passed_over: reader.passed_over, compared }
}

/** Which blocks of a file are held against the node's: its first and last one, one in a thousand
 *  at a place that is not known before, and some in a row, so that what is left out of every
 *  block shows. */
class Sample {
  compared = 0
  private readonly needs: Needs
  private readonly basis: FlowBasis
  private readonly path: string
  private seen = 0
  private next: number
  private row_from: number

  constructor(needs: Needs, basis: FlowBasis, path: string) {
    this.needs = needs
    this.basis = basis
    this.path = path
    this.next = this.draw(SAMPLE)
    this.row_from = this.draw(RUN)
  }

  private draw(below: number): number {
    const [high = 0, low = 0] = this.needs.random.bytes(2)
    return (high * 256 + low) % below
  }

  async see(one: HistoryBlock, is_first: boolean): Promise<void> {
    const at = this.seen++
    const in_row = at >= this.row_from && at < this.row_from + RUN
    if (at === this.next) this.next = (Math.floor(at / SAMPLE) + 1) * SAMPLE + this.draw(SAMPLE)
    else if (!is_first && !in_row) return
    await this.compare(one)
  }

  /** Throws Refused where the node says something else, with both. */
  async compare({ row, block }: HistoryBlock): Promise<void> {
    const told = await newBlockFromNode(this.needs, this.basis, block.number)
    if (!told)
      throw new Outage(`the node does not have block ${block.number}: history is checked with it`)
    this.compared += 1
    if (block.id === '') block.id = told.id
    const other = difference(block, told, this.basis)
    if (other)
      throw refusal(
        `${this.path}, row ${row}: block ${block.number} is not the node's: ${other}. ` +
          'Nothing was imported.',
      )
  }
}

/** The difference of two accounts of a block, in words; undefined: they are the same. */
function difference(file: NewBlock, node: NewBlock, basis: FlowBasis): string | undefined {
  const unlike = (what: string, ours: unknown, theirs: unknown) =>
    `${what} ${String(ours)} in the file, ${String(theirs)} at the node`
  if (file.id !== node.id) return unlike('its id is', file.id, node.id)
  if (file.time.getTime() !== node.time.getTime())
    return unlike('its time is', file.time.toISOString(), node.time.toISOString())
  const counts = [file, node].map((one) => countTransfers(one.transfers)) as [number, number]
  for (let i = 0; i < Math.max(...counts); i++) {
    const [ours, theirs] = [file, node].map((one) => transferText(one, i, basis))
    if (ours !== theirs) return unlike(`transfer ${i + 1} is`, ours ?? 'none', theirs ?? 'none')
  }
  const [ours, theirs] = [file, node].map((one) => JSON.stringify(one.freezes))
  return ours === theirs ? undefined : unlike('its freezes are', ours, theirs)
}

function transferText({ transfers, tx_ids }: NewBlock, i: number, { assets }: FlowBasis) {
  if (i >= countTransfers(transfers)) return undefined
  const { asset, from, to, amount } = transferAt(transfers, i)
  const known = [...assets.values()].find(({ number }) => number === asset)
  const tx = Buffer.from(tx_ids.subarray(32 * i, 32 * i + 32)).toString('hex')
  return `${amount} ${known?.symbol} from ${addressOfBare(from)} to ${addressOfBare(to)} in ${tx}`
}

/** The files that are not in the log yet, the newest first, when each ends where the one after it
 *  begins, and the newest where the log does. */
async function fitting(
  { sql, node }: Needs,
  read: readonly Segment[],
): Promise<{ fresh: Segment[]; known: number }> {
  const kept = await importedFiles(sql, 0)
  const isKept = ({ sha256, first }: Segment) =>
    kept.some((one) => one.sha256 === sha256 && one.first_number === first.block.number)
  const fresh = read
    .filter((one) => !isKept(one))
    .sort((a, b) => b.first.block.number - a.first.block.number)
  const lowest = (await transferLog(sql).first())!
  let below = lowest.number
  let above = `the log begins with block ${below}`
  for (const { path, first, last } of fresh) {
    if (last.block.number !== below - 1)
      throw refusal(
        `${path}, row ${last.row}: its last block is ${last.block.number}, and ${above}. ` +
          'Nothing was imported.',
      )
    below = first.block.number
    above = `${path} begins with block ${below}`
  }
  const newest = fresh[0]
  if (newest) await requireParent(node, newest, lowest)
  return { fresh, known: read.length - fresh.length }
}

/** The node's chain is that of the log: its block above the newest of the files is the same. */
async function requireParent(
  node: Node,
  { path, last }: Segment,
  lowest: { number: number; id: string },
): Promise<void> {
  const [parent, block] = await node.blocks(last.block.number, lowest.number, 'solid')
  if (!parent || !block) throw new Outage(`the node lacks block ${lowest.number}`)
  if (block.id !== lowest.id || block.parent_id !== parent.id)
    throw refusal(
      `${path}: above it the log has block ${lowest.number} with the id ${lowest.id}, and the ` +
        `node has ${block.id}. Nothing was imported.`,
    )
}

/** Puts a file into the log, whole or not at all. */
async function writeSegment(
  sql: Sql,
  segment: Segment,
  how: { basis: FlowBasis; wanted: ImportRequest; progress: ImportProgress },
): Promise<void> {
  const { path, sha256, first, last, transfers, compared } = segment
  const { basis, wanted, progress } = how
  await sql.begin(async (tx) => {
    await tx`lock table flow_reach in exclusive mode`
    const lowest = (await transferLog(tx).first())!
    if (lowest.number !== last.block.number + 1)
      throw refusal(`${path}: the log begins with block ${lowest.number} meanwhile.`)
    let sequence = lowest.first_sequence - BigInt(transfers)
    let written = 0
    const freezing: NewBlock[] = []
    for await (const blocks of portionsOf(path, basis)) {
      const named = blocks.map((block) => ({ ...block, id: idOf(block, segment) }))
      await transferLog(tx).fill(named, sequence)
      sequence += BigInt(blocks.reduce((sum, one) => sum + countTransfers(one.transfers), 0))
      freezing.push(...blocks.filter((one) => one.freezes.length > 0))
      written += blocks.length
      progress(`write ${basename(path)}`, written, segment.blocks)
    }
    // What was judged is in the log, and nothing else: a file can change while it is read.
    if (sequence !== lowest.first_sequence || (await hashOf(path)) !== sha256)
      throw refusal(`${path} has changed while it was read. Nothing of it was imported.`)
    await noteEarlierFreezes(tx, freezing)
    const [first_number, last_number] = [first.block.number, last.block.number]
    const file = { source: wanted.source, file: basename(path), sha256, first_number, last_number }
    const by = { at: wanted.made_at, by: wanted.made_by }
    await noteImport(tx, { ...file, transfers: BigInt(transfers), compared }, by)
  })
}

async function* portionsOf(path: string, basis: FlowBasis): AsyncGenerator<NewBlock[]> {
  let blocks: NewBlock[] = []
  for await (const { block } of blocksOf(path, new HistoryReader(basis))) {
    blocks.push(block)
    if (blocks.length < PORTION) continue
    yield blocks
    blocks = []
  }
  if (blocks.length > 0) yield blocks
}

/** Where a file names no ids, what is known of them stands for them: the node has said that of the
 *  first block, and every id begins with the block's number. */
const idOf = ({ id, number }: NewBlock, { first }: Segment): string =>
  number === first.block.number ? first.block.id : id || number.toString(16).padStart(16, '0')
