// The memory that the indexes of a process take, for those who look after it.

import type { FlowState } from './flow_state.ts'

/** What an index in the memory of this process takes. */
export type IndexMemory = {
  generation: number
  label_set: number
  /** Screenings use it; else it is computed, to take the place of the one that is used. */
  in_use: boolean
  /** The last block applied; 0 before the first. */
  block_number: number
  /** One for each pair of an address and an asset. */
  slots: number
  /** In use by slots, their categories and the table that finds them. */
  memory_bytes: number
}

export const memoryOf = (
  { number, label_set, state }: { number: number; label_set: number; state: FlowState },
  in_use: boolean,
): IndexMemory => {
  const { index, slot_count } = state
  return {
    generation: number,
    label_set,
    in_use,
    block_number: index.block_number,
    slots: slot_count,
    memory_bytes: index.memory.bytes_used,
  }
}
