// One slot of the index as bytes, for what is kept outside of memory: everything but its label,
// which is looked up again. Most numbers are small or none, so each cell begins with a byte that
// says which of its fields follow. The record begins with a sum over its key and itself: a slot
// that was read wrong would give wrong scores for good.

import { crc32 } from 'node:zlib'
import { Input, Output } from '../flow/bytes.ts'
import { CATEGORY_COUNT } from '../flow/categories.ts'
import type { Others } from '../flow/counterparties.ts'
import type { FlowIndex } from '../flow/flow_index.ts'
import {
  ASSET,
  BALANCE,
  bitCount,
  CELL,
  CELLS,
  COUNT_IN,
  COUNT_OUT,
  DESTINATION,
  DIRECT,
  FIRST_BLOCK,
  HELD,
  HOPS,
  LAST_BLOCK,
  MASK,
  NEW,
  NEW_AT_PERIOD,
  NEW_AT_PERIOD_BEFORE,
  type Page,
  placeOf,
  RECEIVED,
  SENT,
  SLOT,
  SLOT_DOUBLES,
  VISITS,
  WITNESS,
  WITNESS_AMOUNT,
  writeAddress,
} from '../flow/memory.ts'

/** Bytes of a key: the asset, and the address. In their order, keys are in that of the state's
 *  hash. */
export const KEY = 21
const SUM_BYTES = 4
/** More than any slot takes: its own numbers, 28 cells, their bigints and what sums gave away. */
const RECORD_BYTES_MAX = 512 + 28 * 120 + 224 * 16

/** The bytes are not a slot as it was written: the state has to be computed from the log. */
export class BrokenState extends Error {
  override name = 'BrokenState'
}

/** Bits of a record's first byte: which parts it has. */
const IS_BIG = 1
const IS_WIDE = 2
const IS_COUNTED = 4
/** Bits of a cell's first byte. `AS_RECEIVED`: all received is new, and nothing follows. */
const HAS_HELD = 1
const HAS_RECEIVED = 2
const HAS_DIRECT = 4
const HAS_DESTINATION = 8
const HAS_WITNESS = 16
const HAS_HOPS = 32
const AS_RECEIVED = 64
const HAS_PERIODS = 128

/** A slot as it is kept. `others`: the first words of those it has dealt with, where that is
 *  counted; none of them stands for too many. */
export type KeptSlot = { state: Uint8Array; others: Uint8Array | undefined }

/** Whether it is counted whom a slot has dealt with. */
export const isCounted = (state: Uint8Array): boolean => (state[SUM_BYTES]! & IS_COUNTED) !== 0

const out = new Output(RECORD_BYTES_MAX)

export function writeKey({ memory: { slots } }: FlowIndex, slot: number, into: Uint8Array): void {
  into[0] = slots[slot * SLOT + ASSET]! & 255
  writeAddress(slots, slot, into, 1)
}

/** The record of a slot, whose key is given. */
export function writeRecord(index: FlowIndex, slot: number, key: Uint8Array): KeptSlot {
  const { memory, counterparties } = index
  const { slots, slot_doubles } = memory
  const base = slot * SLOT
  const held = memory.big.get(slot)
  const wide = memory.wideSumsOf(slot)
  const counted = counterparties.of(slot)
  out.length = SUM_BYTES
  out.byte((held ? IS_BIG : 0) | (wide.length > 0 ? IS_WIDE : 0) | (counted ? IS_COUNTED : 0))
  out.number(slot_doubles[slot * SLOT_DOUBLES + SENT]!)
  out.number(slots[base + COUNT_IN]!)
  out.number(slots[base + COUNT_OUT]!)
  out.number(slots[base + FIRST_BLOCK]!)
  out.number(slots[base + LAST_BLOCK]! - slots[base + FIRST_BLOCK]!)
  const mask = slots[base + MASK]!
  out.word(mask)
  writeCells(memory.pageOf(slot), placeOf(slots[base + CELLS]!), bitCount(mask))
  writeVisits(index, slot)
  if (held) for (const amount of held) out.big(amount)
  if (wide.length > 0) out.number(wide.length)
  for (const { category, field, beyond } of wide) {
    out.byte(category)
    out.byte(field)
    out.number(beyond)
  }
  const state = out.written().slice()
  const sum = crc32(state.subarray(SUM_BYTES), crc32(key))
  new DataView(state.buffer).setUint32(0, sum, true)
  return { state, others: counted && bytesOf(counted.others) }
}

function writeCells({ words, doubles }: Page, first: number, count: number): void {
  for (let place = first; place < first + count * CELL; place += CELL) {
    const received = doubles[place + RECEIVED]!
    const fresh = doubles[place + NEW]!
    const before = words[2 * place + NEW_AT_PERIOD]!
    const long_before = words[2 * place + NEW_AT_PERIOD_BEFORE]!
    const has =
      (doubles[place + HELD] !== 0 ? HAS_HELD : 0) |
      (received !== 0 ? HAS_RECEIVED : 0) |
      (doubles[place + DIRECT] !== 0 ? HAS_DIRECT : 0) |
      (doubles[place + DESTINATION] !== 0 ? HAS_DESTINATION : 0) |
      (doubles[place + WITNESS] !== 0 ? HAS_WITNESS : 0) |
      (doubles[place + HOPS] !== 0 ? HAS_HOPS : 0) |
      (fresh === received ? AS_RECEIVED : 0) |
      (before !== 0 || long_before !== 0 ? HAS_PERIODS : 0)
    out.byte(has)
    if ((has & HAS_HELD) !== 0) out.number(doubles[place + HELD]!)
    if ((has & HAS_RECEIVED) !== 0) out.number(received)
    if ((has & HAS_DIRECT) !== 0) out.number(doubles[place + DIRECT]!)
    if ((has & HAS_DESTINATION) !== 0) out.number(doubles[place + DESTINATION]!)
    if ((has & HAS_WITNESS) !== 0) {
      out.number(doubles[place + WITNESS]!)
      out.number(doubles[place + WITNESS_AMOUNT]!)
    }
    if ((has & HAS_HOPS) !== 0) out.double(doubles[place + HOPS]!)
    if ((has & AS_RECEIVED) === 0) out.number(fresh)
    if ((has & HAS_PERIODS) !== 0) {
      out.word(before)
      out.word(long_before)
    }
  }
}

function writeVisits({ memory: { visits } }: FlowIndex, slot: number): void {
  let visited = 0
  for (let i = 0; i < VISITS && visits.length > 0; i++)
    if (visits[slot * VISITS + i] !== 0) visited |= 1 << i
  out.byte(visited & 255)
  out.byte(visited >>> 8)
  for (let i = 0; i < VISITS; i++)
    if (((visited >>> i) & 1) !== 0) out.float(visits[slot * VISITS + i]!)
}

const bytesOf = (others: Others): Uint8Array =>
  others ? new Uint8Array(others.buffer, others.byteOffset, others.byteLength) : new Uint8Array(0)

/** Puts a record into a slot that is empty. Throws BrokenState. */
export function readRecord(
  index: FlowIndex,
  slot: number,
  { key, state, others }: KeptSlot & { key: Uint8Array },
): void {
  const { memory } = index
  const { slots, slot_doubles } = memory
  const base = slot * SLOT
  const rest = state.subarray(SUM_BYTES)
  if (
    state.length <= SUM_BYTES ||
    new DataView(state.buffer, state.byteOffset).getUint32(0, true) !== crc32(rest, crc32(key))
  )
    throw new BrokenState('a slot of the index is not as it was written')
  const input = new Input(rest)
  const is = input.byte()
  slot_doubles[slot * SLOT_DOUBLES + SENT] = input.number()
  slots[base + COUNT_IN] = input.number()
  slots[base + COUNT_OUT] = input.number()
  slots[base + FIRST_BLOCK] = input.number()
  slots[base + LAST_BLOCK] = slots[base + FIRST_BLOCK]! + input.number()
  const mask = input.word()
  memory.ensureCells(slot, mask)
  const count = bitCount(mask)
  const held = readCells(input, memory.pageOf(slot), {
    first: placeOf(slots[base + CELLS]!),
    count,
  })
  slot_doubles[slot * SLOT_DOUBLES + BALANCE] = held
  readVisits(input, index, slot)
  if ((is & IS_BIG) !== 0)
    index.setHeld(
      slot,
      Array.from({ length: CATEGORY_COUNT }, () => input.big()),
    )
  for (let wide = (is & IS_WIDE) !== 0 ? input.number() : 0; wide > 0; wide--) {
    const [category, field] = [input.byte(), input.byte()]
    for (let beyond = input.number(); beyond > 0; beyond--) memory.giveAway(slot, category, field)
  }
  if ((is & IS_COUNTED) === 0) return
  if (!others) throw new BrokenState('whom an address has dealt with is not there')
  index.counterparties.restore(slot, others.length === 0 ? undefined : wordsOf(others))
}

/** Returns what they hold together. */
function readCells(
  input: Input,
  { words, doubles }: Page,
  { first, count }: { first: number; count: number },
): number {
  let held = 0
  for (let place = first; place < first + count * CELL; place += CELL) {
    const has = input.byte()
    if ((has & HAS_HELD) !== 0) doubles[place + HELD] = input.number()
    if ((has & HAS_RECEIVED) !== 0) doubles[place + RECEIVED] = input.number()
    if ((has & HAS_DIRECT) !== 0) doubles[place + DIRECT] = input.number()
    if ((has & HAS_DESTINATION) !== 0) doubles[place + DESTINATION] = input.number()
    if ((has & HAS_WITNESS) !== 0) {
      doubles[place + WITNESS] = input.number()
      doubles[place + WITNESS_AMOUNT] = input.number()
    }
    if ((has & HAS_HOPS) !== 0) doubles[place + HOPS] = input.double()
    doubles[place + NEW] = (has & AS_RECEIVED) !== 0 ? doubles[place + RECEIVED]! : input.number()
    if ((has & HAS_PERIODS) !== 0) {
      words[2 * place + NEW_AT_PERIOD] = input.word()
      words[2 * place + NEW_AT_PERIOD_BEFORE] = input.word()
    }
    held += doubles[place + HELD]!
  }
  return held
}

function readVisits(input: Input, { memory: { visits } }: FlowIndex, slot: number): void {
  const visited = input.byte() | (input.byte() << 8)
  for (let i = 0; i < VISITS; i++)
    if (((visited >>> i) & 1) !== 0) visits[slot * VISITS + i] = input.float()
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const aligned = bytes.slice()
  return new Uint32Array(aligned.buffer, 0, aligned.byteLength / 4)
}
