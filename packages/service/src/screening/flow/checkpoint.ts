// A flow index as bytes, and as a hash. A checkpoint keeps everything but the labels, which the
// caller brings again; it is written in chunks, so that a large index is saved without a second
// copy of it; each ends with a sum over it, because a state that was read wrong would give wrong
// scores for good. The hash covers the whole numbers of every address that ever moved anything, in
// the order of assets and addresses: equal histories and labels give equal hashes, whatever
// portions they came in. Hops and witnesses are evidence and stay outside of it.

import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { finished } from '../../lib/portions.ts'
import { Input, Output } from './bytes.ts'
import type { Others } from './counterparties.ts'
import { FlowIndex, type FlowRules, type FreezeSpell } from './flow_index.ts'
import { readSlot } from './holdings.ts'
import { LabelTable } from './label_table.ts'
import type { Label } from './labels.ts'
import {
  ASSET,
  addressWords,
  BALANCE,
  bitCount,
  CELL,
  CELLS,
  COUNT_IN,
  DESTINATION,
  HELD,
  HOPS,
  LABEL_ASSET,
  LAST_BLOCK,
  MASK,
  NEW,
  NEW_AT_PERIOD,
  NEW_AT_PERIOD_BEFORE,
  placeOf,
  SENT,
  SLOT,
  SLOT_DOUBLES,
  VISITS,
  WITNESS,
  WITNESS_AMOUNT,
  writeAddress,
} from './memory.ts'

const FORMAT = 'penstock flow 5'
const CHUNK_BYTES = 1 << 20
/** More than any one slot takes: its own numbers, and 28 cells. */
const SLOT_BYTES_MAX = 256 + 28 * 100

/** The bytes are not a whole checkpoint as it was written: what it held has to be computed from the
 *  log. */
export class BrokenCheckpoint extends Error {
  override name = 'BrokenCheckpoint'
}

type Header = {
  format: string
  number: number
  time_ms: number | null
  sequence: number
  slots: number
  /** Slots whose counterparties are counted; they come after all slots. */
  counted: number
  freezes: [string, string, number, number | null][]
  /** Sums that have given 2^53s away, and holdings kept in bigint: asset, address, and what Memory
   *  keeps them by. */
  wide: { asset: number; address: string; category: number; field: number; beyond: number }[]
  big: { asset: number; address: string; held: string[] }[]
}

/** The state of the index, in chunks of about a mebibyte; a slot never lies in two. The index must
 *  not change meanwhile. */
export function* writeCheckpoint(index: FlowIndex): Generator<Uint8Array> {
  const { memory, counterparties } = index
  const header = Buffer.from(JSON.stringify(headerOf(index)))
  const record_max = SLOT_BYTES_MAX + 8 * counterparties.max
  let out = new Output(CHUNK_BYTES + header.length + record_max)
  out.number(header.length)
  out.bytes(header)
  for (let slot = 0; slot < memory.slot_count; slot++) {
    if (!hasMoved(index, slot)) continue
    writeSlot(out, index, slot)
    if (out.length < CHUNK_BYTES) continue
    yield sealed(out)
    out = new Output(CHUNK_BYTES + record_max)
  }
  for (const { slot, others } of counterparties.counted()) {
    writeOthers(out, index, { slot, others })
    if (out.length < CHUNK_BYTES) continue
    yield sealed(out)
    out = new Output(CHUNK_BYTES + record_max)
  }
  yield sealed(out)
}

/** How many others there are, and their words; one more than are counted stands for too many. */
function writeOthers(
  out: Output,
  { memory, counterparties }: FlowIndex,
  { slot, others }: { slot: number; others: Others },
): void {
  out.byte(memory.slots[slot * SLOT + ASSET]! & 255)
  out.address(memory.slots, slot)
  out.number(others ? others.length / 2 : counterparties.max + 1)
  for (const word of others ?? []) out.word(word)
}

const SUM_BYTES = 4

function sealed(out: Output): Uint8Array {
  out.word(crc32(out.written()))
  return out.written()
}

function unsealed(chunk: Uint8Array): Uint8Array {
  const end = chunk.length - SUM_BYTES
  const bytes = chunk.subarray(0, Math.max(0, end))
  if (end < 0 || new DataView(chunk.buffer, chunk.byteOffset).getUint32(end, true) !== crc32(bytes))
    throw new BrokenCheckpoint('a part of the checkpoint is not as it was written')
  return bytes
}

function headerOf(index: FlowIndex): Header {
  const { memory } = index
  let slots = 0
  for (let slot = 0; slot < memory.slot_count; slot++) if (hasMoved(index, slot)) slots += 1
  return {
    format: FORMAT,
    number: index.block_number,
    time_ms: Number.isFinite(index.block_time_ms) ? index.block_time_ms : null,
    sequence: index.sequence,
    slots,
    counted: index.counterparties.size,
    freezes: index.freezes.map(({ token, address, from_ms, to_ms }) => [
      token,
      address,
      from_ms,
      Number.isFinite(to_ms) ? to_ms : null,
    ]),
    wide: memory.wideSums().map(({ slot, ...wide }) => ({ ...named(index, slot), ...wide })),
    big: [...memory.big].map(([slot, held]) => ({ ...named(index, slot), held: held.map(String) })),
  }
}

const named = (index: FlowIndex, slot: number) => ({
  asset: index.memory.slots[slot * SLOT + ASSET]! & 255,
  address: addressOfSlot(index, slot).toString('hex'),
})

/** 20 bytes. */
export function addressOfSlot({ memory }: FlowIndex, slot: number): Buffer {
  const bytes = Buffer.alloc(20)
  writeAddress(memory.slots, slot, bytes, 0)
  return bytes
}

/** Whether a slot is one of value, and ever was part of a transfer. */
export function hasMoved({ memory: { slots } }: FlowIndex, slot: number): boolean {
  return (
    (slots[slot * SLOT + ASSET]! & 255) !== LABEL_ASSET && slots[slot * SLOT + LAST_BLOCK] !== 0
  )
}

function writeSlot(out: Output, { memory }: FlowIndex, slot: number): void {
  const { slots, slot_doubles, visits } = memory
  const base = slot * SLOT
  out.byte(slots[base + ASSET]! & 255)
  out.address(slots, slot)
  const balance = slot_doubles[slot * SLOT_DOUBLES + BALANCE]!
  out.number(Number.isFinite(balance) ? balance : 0)
  out.number(slot_doubles[slot * SLOT_DOUBLES + SENT]!)
  for (let word = base + COUNT_IN; word <= base + LAST_BLOCK; word++) out.number(slots[word]!)
  const mask = slots[base + MASK]!
  out.number(mask)
  const first = slots[base + CELLS]!
  const { words, doubles } = memory.pageOf(slot)
  const end = placeOf(first) + bitCount(mask) * CELL
  for (let place = placeOf(first); place < end; place += CELL) {
    for (let field = HELD; field <= DESTINATION; field++) out.number(doubles[place + field]!)
    out.number(doubles[place + WITNESS]!)
    out.double(doubles[place + HOPS]!)
    out.double(doubles[place + WITNESS_AMOUNT]!)
    out.number(doubles[place + NEW]!)
    out.word(words[2 * place + NEW_AT_PERIOD]!)
    out.word(words[2 * place + NEW_AT_PERIOD_BEFORE]!)
  }
  let visited = 0
  // An index that does not count what is new has none.
  for (let i = 0; i < VISITS && visits.length > 0; i++)
    if (visits[slot * VISITS + i] !== 0) visited |= 1 << i
  out.number(visited)
  for (let i = 0; i < VISITS; i++)
    if (((visited >>> i) & 1) !== 0) out.float(visits[slot * VISITS + i]!)
}

/** The index that was written. The labels must be those it was built with, or differ only in
 *  addresses that no slot of it has. Throws BrokenCheckpoint. */
export async function readCheckpoint(
  labels: readonly Label[],
  chunks: Chunks,
  rules?: FlowRules,
): Promise<FlowIndex> {
  return finished(readingCheckpoint(LabelTable.of(labels), chunks, rules))
}

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** Slots that are read in some milliseconds. */
const SLOTS_AT_ONCE = 2_000

/** The same, in portions of a few milliseconds. */
export async function* readingCheckpoint(
  labels: LabelTable,
  chunks: Chunks,
  rules?: FlowRules,
): AsyncGenerator<undefined, FlowIndex> {
  let index: FlowIndex | undefined
  let header: Header | undefined
  let slots = 0
  let counted = 0
  for await (const chunk of chunks) {
    const input = new Input(unsealed(chunk))
    if (!header || !index) {
      header = JSON.parse(Buffer.from(input.bytes(input.number())).toString()) as Header
      if (header.format !== FORMAT)
        throw new BrokenCheckpoint('the checkpoint is of another version')
      index = new FlowIndex([], header.slots, rules)
      index.restore(
        { ...header, time_ms: header.time_ms ?? Number.NEGATIVE_INFINITY },
        spellsOf(header),
      )
      yield* index.takeLabels(labels)
    }
    for (; slots < header.slots && !input.atEnd(); slots++) {
      readInto(index, input)
      if (slots % SLOTS_AT_ONCE === SLOTS_AT_ONCE - 1) yield
    }
    for (; !input.atEnd(); counted++) readOthers(index, input)
    yield
  }
  if (!header || !index || slots !== header.slots || counted !== header.counted)
    throw new BrokenCheckpoint('the checkpoint is not whole')
  putLarge(index, header)
  return index
}

/** Sums that have given something away, and holdings kept in bigint. */
function putLarge(index: FlowIndex, header: Header): void {
  const { memory } = index
  const slotOf = (one: { asset: number; address: string }) =>
    memory.find(one.asset, addressWords(Buffer.from(one.address, 'hex')), 0)
  for (const { category, field, beyond, ...one } of header.wide) {
    for (let i = 0; i < beyond; i++) memory.giveAway(slotOf(one), category, field)
  }
  for (const { held, ...one } of header.big) index.setHeld(slotOf(one), held.map(BigInt))
}

function readOthers({ memory, counterparties }: FlowIndex, input: Input): void {
  const asset = input.byte()
  const slot = memory.find(asset, addressWords(input.bytes(20)), 0)
  const count = input.number()
  const many = count > counterparties.max
  const others = new Uint32Array(many ? 0 : 2 * count)
  for (let at = 0; at < others.length; at++) others[at] = input.word()
  if (slot < 0) throw new BrokenCheckpoint('the checkpoint is not whole')
  counterparties.restore(slot, many ? undefined : others)
}

function spellsOf({ freezes }: Header): FreezeSpell[] {
  return freezes.map(([token, address, from_ms, to_ms]) => ({
    token,
    address,
    from_ms,
    to_ms: to_ms ?? Number.POSITIVE_INFINITY,
  }))
}

function readInto(index: FlowIndex, input: Input): void {
  const { memory } = index
  const asset = input.byte()
  const slot = index.slot(asset, addressWords(input.bytes(20)))
  const base = slot * SLOT
  memory.slot_doubles[slot * SLOT_DOUBLES + BALANCE] = input.number()
  memory.slot_doubles[slot * SLOT_DOUBLES + SENT] = input.number()
  for (let word = base + COUNT_IN; word <= base + LAST_BLOCK; word++)
    memory.slots[word] = input.number()
  const mask = input.number()
  memory.ensureCells(slot, mask)
  const first = memory.slots[base + CELLS]!
  const { words, doubles } = memory.pageOf(slot)
  const end = placeOf(first) + bitCount(mask) * CELL
  for (let place = placeOf(first); place < end; place += CELL) {
    for (let field = HELD; field <= DESTINATION; field++) doubles[place + field] = input.number()
    doubles[place + WITNESS] = input.number()
    doubles[place + HOPS] = input.double()
    doubles[place + WITNESS_AMOUNT] = input.double()
    doubles[place + NEW] = input.number()
    words[2 * place + NEW_AT_PERIOD] = input.word()
    words[2 * place + NEW_AT_PERIOD_BEFORE] = input.word()
  }
  const visited = input.number()
  for (let i = 0; i < VISITS; i++)
    if (((visited >>> i) & 1) !== 0) memory.visits[slot * VISITS + i] = input.float()
}

/** What the hash is taken over, piece by piece. */
function* canonicalState(index: FlowIndex): Generator<string> {
  for (const slot of slotsInOrder(index)) yield canonicalSlot(index, slot)
}

/** The whole numbers of a slot, in words. */
export function canonicalSlot(index: FlowIndex, slot: number): string {
  const { sent, portions } = readSlot(index, slot)
  const words = portions.map(
    ({ category, held, received, direct, destination }) =>
      ` ${category}:${held}:${received}:${direct}:${destination}`,
  )
  const asset = index.memory.slots[slot * SLOT + ASSET]! & 255
  return `${asset} ${addressOfSlot(index, slot).toString('hex')} ${sent}${words.join('')}\n`
}

/** SHA-256 over the whole numbers of the state, in hexadecimal. */
export function stateHash(index: FlowIndex): string {
  const hash = createHash('sha256')
  for (const piece of canonicalState(index)) hash.update(piece)
  return hash.digest('hex')
}

/** Slots of value in the order of assets, then of addresses, as bytes. */
function slotsInOrder(index: FlowIndex): Uint32Array {
  const { slots, slot_count } = index.memory
  const moved = new Uint32Array(slot_count)
  let count = 0
  for (let slot = 0; slot < slot_count; slot++) if (hasMoved(index, slot)) moved[count++] = slot
  return moved.subarray(0, count).sort((a, b) => {
    const by_asset = (slots[a * SLOT + ASSET]! & 255) - (slots[b * SLOT + ASSET]! & 255)
    if (by_asset !== 0) return by_asset
    for (let word = 0; word < 5; word++) {
      const x = slots[a * SLOT + word]!
      const y = slots[b * SLOT + word]!
      // The first byte of an address lies in the lowest bits of its word.
      if (x !== y) return bytesBackwards(x) - bytesBackwards(y)
    }
    return 0
  })
}

function bytesBackwards(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0
}
