// What the index says about an address, in whole numbers.

import { CATEGORY_COUNT } from './categories.ts'
import { type FlowIndex, periodOf } from './flow_index.ts'
import {
  addressWords,
  CELL,
  CELLS,
  COUNT_IN,
  COUNT_OUT,
  DESTINATION,
  DIRECT,
  FIRST_BLOCK,
  HOPS,
  LAST_BLOCK,
  MASK,
  NEW,
  NEW_AT_PERIOD,
  NEW_AT_PERIOD_BEFORE,
  NEW_SUM,
  placeOf,
  RECEIVED,
  SENT,
  SENT_SUM,
  SLOT,
  SLOT_DOUBLES,
  WITNESS,
} from './memory.ts'

/** One category of what an address has held, received and sent of an asset, in the asset's
 *  units. */
export type Portion = {
  category: number
  held: bigint
  received: bigint
  /** Of `received`, what came from a terminal of this category itself. */
  direct: bigint
  /** Of `received`, what had not been here before and come back. */
  net_new: bigint
  /** Of `net_new`, what came in this period or the one before. */
  recent: bigint
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

/** What an address (20 bytes) has of an asset; undefined when it never took part in a transfer of
 *  it. */
export function readHolding(
  index: FlowIndex,
  asset: number,
  address: Uint8Array,
): Holding | undefined {
  const slot = index.memory.find(asset, addressWords(address), 0)
  return slot < 0 || index.memory.slots[slot * SLOT + LAST_BLOCK] === 0
    ? undefined
    : readSlot(index, slot)
}

export function readSlot(index: FlowIndex, slot: number): Holding {
  const { memory } = index
  const { slots, slot_doubles } = memory
  const base = slot * SLOT
  const mask = slots[base + MASK]!
  const held = index.heldOf(slot)
  const portions: Portion[] = []
  const first = slots[base + CELLS]!
  const { doubles, floats } = memory.pageOf(slot)
  const periods_ago = index.period - periodOf(slots[base + LAST_BLOCK]!)
  let place = placeOf(first)
  for (let category = 0; category < CATEGORY_COUNT; category++) {
    if (((mask >>> category) & 1) === 0) continue
    const at = place
    const net_new = memory.wholeSum(doubles[at + NEW]!, { slot, category, field: NEW_SUM })
    const before = floats[2 * at + (periods_ago === 0 ? NEW_AT_PERIOD_BEFORE : NEW_AT_PERIOD)]!
    const recent = periods_ago > 1 ? 0n : net_new - BigInt(before)
    const sum = (field: number) => memory.wholeSum(doubles[at + field]!, { slot, category, field })
    const received = sum(RECEIVED)
    portions.push({
      category,
      held: held[category]!,
      received,
      direct: sum(DIRECT),
      net_new,
      recent: recent > 0n ? recent : 0n,
      destination: sum(DESTINATION),
      hops: received === 0n ? 0 : doubles[at + HOPS]! / Number(received),
      witness: doubles[at + WITNESS]!,
    })
    place += CELL
  }
  return {
    balance: held.reduce((total, one) => total + one, 0n),
    sent: memory.wholeSum(slot_doubles[slot * SLOT_DOUBLES + SENT]!, {
      slot,
      category: 0,
      field: SENT_SUM,
    }),
    count_in: slots[base + COUNT_IN]!,
    count_out: slots[base + COUNT_OUT]!,
    first_block: slots[base + FIRST_BLOCK]!,
    last_block: slots[base + LAST_BLOCK]!,
    portions,
  }
}
