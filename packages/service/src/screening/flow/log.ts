// Applies the log of transfers to the index, and notes what each of them carried.

import {
  AMOUNT,
  FROM,
  type LoggedBlock,
  RECORD,
  TO,
  wordsOf,
} from '../../chain/transfers/packed.ts'
import { Input, Output } from './bytes.ts'
import type { FlowIndex } from './flow_index.ts'
import { FETCH_MAX } from './memory.ts'

/** What a transfer carried of one category, and the transfer that had brought the sender most of
 *  that (0: none). */
export type CarriedPart = { category: number; amount: bigint; prior: number }

/** Applies a block to the index. With a writer, notes what each transfer carried. */
export function applyBlock(index: FlowIndex, block: LoggedBlock, writer?: CarriedWriter): void {
  index.beginBlock(block.number, block.time_ms, block.freezes)
  const words = wordsOf(block.transfers)
  const tx_ids = index.rules.swaps ? block.tx_ids : undefined
  for (let at = 0; at < words.length; at += RECORD * AHEAD) {
    const portion = words.subarray(at, at + RECORD * AHEAD)
    const first = at / RECORD
    const ids = tx_ids && { bytes: tx_ids, first }
    applyPortion(index, portion, { first_sequence: block.first_sequence + first, writer, ids })
  }
}

/** The ids of a block's transactions, and which of its transfers the first of a portion is. */
type PortionIds = { bytes: Uint8Array; first: number }

/** Whether a transfer of a portion is the first of its transaction. */
function beginsTransaction({ bytes, first }: PortionIds, i: number): boolean {
  const at = (first + i) * 32
  if (at === 0) return true
  for (let byte = at; byte < at + 32; byte++) if (bytes[byte] !== bytes[byte - 32]) return true
  return false
}

/** Transfers looked up together. */
const AHEAD = FETCH_MAX / 2
const found = new Uint32Array(FETCH_MAX)

/** Memory answers far more slowly than it is asked: with millions of addresses, nearly every
 *  look-up waits for it. So all addresses of a portion are asked for before the first one is
 *  needed, and the waits overlap (a third of the time). */
function applyPortion(
  index: FlowIndex,
  words: Uint32Array,
  how: {
    first_sequence: number
    writer: CarriedWriter | undefined
    ids: PortionIds | undefined
  },
): void {
  const { memory } = index
  const count = words.length / RECORD
  for (let i = 0; i < count; i++) {
    const at = i * RECORD
    found[2 * i] = memory.guess(words[at]!, words, at + FROM)
    found[2 * i + 1] = memory.guess(words[at]!, words, at + TO)
  }
  index.fetched = memory.fetch(found, 2 * count)
  const amount = { low: 0, high: 0 }
  for (let i = 0; i < count; i++) {
    const at = i * RECORD
    amount.low = words[at + AMOUNT]!
    amount.high = words[at + AMOUNT + 1]!
    const from = slotOf(index, words, { guess: found[2 * i]!, asset: words[at]!, at: at + FROM })
    const to = slotOf(index, words, { guess: found[2 * i + 1]!, asset: words[at]!, at: at + TO })
    if (how.ids && beginsTransaction(how.ids, i)) index.beginTransaction()
    const moved = index.transfer(from, to, amount, how.first_sequence + i)
    how.writer?.note(index, moved)
  }
}

/** The slot of an address: the one that was guessed, if it is that. */
function slotOf(
  index: FlowIndex,
  words: Uint32Array,
  is: { guess: number; asset: number; at: number },
): number {
  const { guess, asset, at } = is
  return guess > 0 && index.memory.isAt(guess - 1, asset, words, at)
    ? guess - 1
    : index.slot(asset, words, at)
}

/** What one transfer can take: a count, and 28 times category, amount (64 bits, seven a byte) and
 *  prior (53 bits). */
const CARRIED_BYTES_MAX = 1 + 28 * (1 + 10 + 8)

/** Writes what the transfers of a block carried. */
export class CarriedWriter {
  private readonly out: Output
  constructor(transfers: number) {
    this.out = new Output(transfers * CARRIED_BYTES_MAX)
  }
  note({ carried }: FlowIndex, moved: boolean): void {
    const { out } = this
    const count_at = out.length
    out.byte(0)
    if (!moved) return
    let count = 0
    for (let rest = carried.mask; rest !== 0; count++) {
      const bit = rest & -rest
      rest ^= bit
      const category = 31 - Math.clz32(bit)
      out.byte(category)
      if (carried.big) out.big(carried.big[category]!)
      else out.number(carried.amounts[category]!)
      out.number(carried.prior[category]!)
    }
    out.setByte(count_at, count)
  }
  written(): Uint8Array {
    return this.out.written()
  }
}

/** What the transfers of a block carried, in their order: nothing for one that moved nothing. */
export function readCarried(bytes: Uint8Array): CarriedPart[][] {
  const input = new Input(bytes)
  const all: CarriedPart[][] = []
  while (!input.atEnd()) {
    const parts: CarriedPart[] = []
    for (let count = input.byte(); count > 0; count--) {
      const category = input.byte()
      const amount = input.big()
      parts.push({ category, amount, prior: input.number() })
    }
    all.push(parts)
  }
  return all
}
