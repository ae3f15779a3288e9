// What the index says about an address, in whole numbers.

import { CATEGORY_COUNT } from './categories.ts'
import type { FlowIndex } from './flow_index.ts'
import {
  addressWords,
  BALANCE,
  CELL,
  CELL_DOUBLES,
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
  OF_SLOT,
  RECEIVED,
  readBig,
  readNumber,
  SENT,
  SLOT,
  WITNESS,
} from './memory.ts'

/** One category of what an address has held, received and sent of an asset, in the asset's units. */
export type Portion = {
  category: number
  held: bigint
  received: bigint
  /** Of `received`, what came from a terminal of this category itself. */
  direct: bigint
  /** What was sent to terminals of this category. */
  destination: bigint
  /** Mean number of transfers between the origin of this money and the address. */
  hops: number
  /** The number of the transfer that brought most of it; 0 when none did. */
  witness: number
}

export type Holding = {
  balance: bigint
  sent: bigint
  count_in: number
  count_out: number
  first_block: number
  last_block: number
  /** In the order of the categories. */
  portions: Portion[]
}

/** What an address (20 bytes) has of an asset; undefined when it never took part in a transfer of it. */
export function readHolding(index: FlowIndex, asset: number, address: Uint8Array): Holding | undefined {
  const slot = index.memory.find(asset, addressWords(address), 0)
  return slot < 0 || index.memory.slots[slot * SLOT + LAST_BLOCK] === 0 ? undefined : readSlot(index, slot)
}

export function readSlot(index: FlowIndex, slot: number): Holding {
  const { memory } = index
  const { slots, cells, doubles } = memory
  const base = slot * SLOT
  const mask = slots[base + MASK]!
  const portions: Portion[] = []
  let cell = slots[base + CELLS]!
  for (let category = 0; category < CATEGORY_COUNT; category++) {
    if (((mask >>> category) & 1) === 0) continue
    const word = cell * CELL
    const received = readNumber(cells, word + RECEIVED)
    const wide = (field: number) => memory.readWide(cells, word + field, { slot, category, field })
    portions.push({
      category,
      held: readBig(cells, word + HELD),
      received: wide(RECEIVED),
      direct: wide(DIRECT),
      destination: wide(DESTINATION),
      hops: received === 0 ? 0 : doubles[cell * CELL_DOUBLES + HOPS]! / received,
      witness: cells[word + WITNESS]!,
    })
    cell += 1
  }
  return {
    balance: readBig(slots, base + BALANCE),
    sent: memory.readWide(slots, base + SENT, { slot, category: OF_SLOT, field: SENT }),
    count_in: slots[base + COUNT_IN]!,
    count_out: slots[base + COUNT_OUT]!,
    first_block: slots[base + FIRST_BLOCK]!,
    last_block: slots[base + LAST_BLOCK]!,
    portions,
  }
}
