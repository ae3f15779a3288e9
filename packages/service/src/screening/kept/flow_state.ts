// The state of a flow index, as those who use it see it: all in memory, or hot slots in memory and
// the rest in a file (`KeptFlow`). A state that has to be read from a disk takes a while, and
// answers as of one block all the same.

import type { LoggedBlock } from '../../chain/transfers/packed.ts'
import { hasMoved } from '../flow/checkpoint.ts'
import type { FlowIndex } from '../flow/flow_index.ts'
import { type Holding, readHolding } from '../flow/holdings.ts'
import { applyBlock, type CarriedWriter } from '../flow/log.ts'

/** `writer`: where it is noted what the transfers of a block carried; `done`: is called as
 *  soon as the index has the block. */
export type BlockNote = { writer?: CarriedWriter | undefined; done(): void }

export type HoldingOf = (asset: number, address: Uint8Array) => Holding | undefined

export type FlowState = {
  /** Labels, freezes, rules and the last block. Its slots: all, or those that are hot. */
  readonly index: FlowIndex
  /** Slots of the whole state. */
  readonly slot_count: number
  /** Whether the state has to be saved before more is applied. */
  readonly is_full: boolean
  /** Whether something of it was found that cannot be read: it has to be begun anew. */
  readonly is_broken: boolean
  apply<Block extends LoggedBlock>(
    blocks: readonly Block[],
    noteOf?: (block: Block) => BlockNote | undefined,
  ): Promise<void>
  /** Saves what has changed, where the state keeps itself. */
  save(block_id: string | undefined): Promise<void>
  /** Reads what addresses (20 bytes) have of assets, all as of one block: `read` is called when the
   *  index is at it. */
  reading<T>(
    assets: () => readonly number[],
    addresses: readonly Uint8Array[],
    read: (holdingOf: HoldingOf) => T,
  ): Promise<T>
  /** Every slot that has moved something, in portions. `counted`: only those whose counterparties
   *  are counted. Where the state keeps itself, as it was saved last. */
  all<T>(
    look: (index: FlowIndex, slot: number) => T,
    how?: { counted?: boolean },
  ): AsyncGenerator<T[]>
  close(): Promise<void>
}

/** Slots that are looked at in some milliseconds. */
const PORTION = 20_000

/** A state that is all in memory. */
export class MemoryFlow implements FlowState {
  readonly index: FlowIndex
  readonly is_full = false
  readonly is_broken = false

  constructor(index: FlowIndex) {
    this.index = index
  }

  get slot_count(): number {
    return this.index.memory.slot_count
  }

  async apply<Block extends LoggedBlock>(
    blocks: readonly Block[],
    noteOf: (block: Block) => BlockNote | undefined = () => undefined,
  ): Promise<void> {
    applyBlocks(this.index, blocks, noteOf)
  }

  async save(): Promise<void> {}

  async reading<T>(
    _assets: () => readonly number[],
    _addresses: readonly Uint8Array[],
    read: (holdingOf: HoldingOf) => T,
  ): Promise<T> {
    return read((asset, address) => readHolding(this.index, asset, address))
  }

  async *all<T>(
    look: (index: FlowIndex, slot: number) => T,
    { counted = false }: { counted?: boolean } = {},
  ): AsyncGenerator<T[]> {
    const { index } = this
    let found: T[] = []
    for (const slot of counted ? countedSlots(index) : slotsOf(index)) {
      if (!hasMoved(index, slot)) continue
      found.push(look(index, slot))
      if (found.length < PORTION) continue
      yield found
      found = []
    }
    yield found
  }

  async close(): Promise<void> {}
}

/** Applies blocks whose slots are all here. */
export function applyBlocks<Block extends LoggedBlock>(
  index: FlowIndex,
  blocks: readonly Block[],
  noteOf: (block: Block) => BlockNote | undefined,
): void {
  for (const block of blocks) {
    const note = noteOf(block)
    applyBlock(index, block, note?.writer)
    note?.done()
  }
}

function* slotsOf({ memory }: FlowIndex): Generator<number> {
  for (let slot = 0; slot < memory.slot_count; slot++) yield slot
}

function* countedSlots({ counterparties }: FlowIndex): Generator<number> {
  for (const { slot } of counterparties.counted()) yield slot
}

/** A file that stays open could not be opened again. */
export async function closedIfFailing<T>(state: FlowState, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    await state.close()
    throw thrown
  }
}
