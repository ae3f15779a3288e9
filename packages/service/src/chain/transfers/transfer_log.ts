// The log of transfers as those who compute from it and explain by it know it: blocks in order,
// without gaps, their transfers numbered through. Where the rows lie is its home's own matter.

import type { LoggedBlock } from './packed.ts'

/** A block of the log with what is needed to explain it. */
export type RecordedBlock = LoggedBlock & { id: string; tx_ids: Uint8Array }
/** Carried values are written down once for all generations that have the same of them: a
 *  generation has its own, and what others had up to a block. */
export type CarriedRange = { generation: number; until: bigint }
/** With what its transfers carried in a generation, when that is kept. */
export type ExplainedBlock = RecordedBlock & { carried: Uint8Array | undefined }

/** A word of a token about an address: it is frozen, or is not any more. */
export type FreezeWord = [token: string, address: string, frozen: boolean]

/** A block to be written. Its transfers get their numbers in the log. */
export type NewBlock = {
  number: number
  id: string
  time: Date
  freezes: readonly FreezeWord[]
  transfers: Uint8Array
  tx_ids: Uint8Array
}

/** A block's place in the log. `first_sequence`: the number of its first transfer. */
export type BlockPlace = { number: number; id: string; time: Date; first_sequence: bigint }

/** Transfers are numbered from `base`: the first of all that an index is computed from is 1 for
 *  it. */
export type TransferLog = {
  /** Puts blocks after the last one, in the order of the chain. */
  append(blocks: readonly NewBlock[]): Promise<void>
  /** Puts blocks before the first one, in the order of the chain: there must be one. */
  prepend(blocks: readonly NewBlock[]): Promise<void>
  /** Puts blocks whose transfers' numbers are known: when the transaction ends, what was put must
   *  end where the log began. */
  fill(blocks: readonly NewBlock[], first_sequence: bigint): Promise<void>
  /** The lowest block and the highest one; undefined while there is none. */
  first(): Promise<BlockPlace | undefined>
  last(): Promise<BlockPlace | undefined>
  block(number: number): Promise<BlockPlace | undefined>
  /** The blocks after one, in order, up to another at most. */
  after(
    number: number,
    options: { limit: number; until?: number; base: bigint },
  ): Promise<RecordedBlock[]>
  /** The blocks before one, the newest first, down to another. */
  before(
    number: number,
    options: { limit: number; from: number; base: bigint },
  ): Promise<RecordedBlock[]>
  /** The blocks that have the given transfers, by the transfers' numbers from `base`. */
  ofTransfers(
    sequences: readonly number[],
    options: { carried: readonly CarriedRange[]; base: bigint },
  ): Promise<ExplainedBlock[]>
  /** Blocks by their numbers, as far as the log has them. */
  at(
    numbers: readonly number[],
    options: { carried: readonly CarriedRange[]; base: bigint },
  ): Promise<ExplainedBlock[]>
  /** How many transfers lie before one block and from another on. */
  between(first: number, last: number): Promise<bigint>
  /** Whether the transfers of all these blocks have it written down what they carried. */
  isNoted(
    carried: readonly CarriedRange[],
    range: { first: number; last: number },
  ): Promise<boolean>
  /** The last word of each token about an address, of the blocks from one to another. */
  freezeWords(
    address: string,
    range: { first: bigint; last: bigint },
  ): Promise<{ token: string; frozen: boolean; block: bigint }[]>
  /** Its size on disk. */
  bytes(): Promise<bigint>
}
