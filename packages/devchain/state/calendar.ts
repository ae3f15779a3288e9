// The chain's time: slots of 3 s from genesis, one block at most in each, and every six hours a
// maintenance, when votes are counted and the penalties of contracts change. The first block at or
// after its time does the maintenance, and the two slots after that block stay empty.

import { MAINTENANCE_SKIPPED_SLOTS, SLOT_MS } from './parameters.ts'

export class Calendar {
  readonly genesis_ms: number
  private readonly maintenance_ms: number

  /** The genesis time is rounded down to a whole slot. */
  constructor(genesis_ms: number, maintenance_interval_ms: number) {
    this.genesis_ms = Math.floor(genesis_ms / SLOT_MS) * SLOT_MS
    this.maintenance_ms = maintenance_interval_ms
  }

  /** The slot at or before a time. */
  slotOf(time_ms: number): number {
    return Math.floor((time_ms - this.genesis_ms) / SLOT_MS)
  }

  timeOf(slot: number): number {
    return this.genesis_ms + slot * SLOT_MS
  }

  /** The number of the time between two maintenances that a time is in, from 1: as if a block had
   *  been made in each. */
  cycleOf(time_ms: number): number {
    return 1 + Math.floor((time_ms - this.genesis_ms) / this.maintenance_ms)
  }

  /** Whether a block does maintenance, from its time and its parent's. */
  maintains(parent_ms: number | undefined, time_ms: number): boolean {
    return parent_ms !== undefined && this.cycleOf(time_ms) > this.cycleOf(parent_ms)
  }

  /** The first slot that may have a block after the head. */
  slotAfter(head_ms: number, parent_ms: number | undefined): number {
    return (
      this.slotOf(head_ms) +
      1 +
      (this.maintains(parent_ms, head_ms) ? MAINTENANCE_SKIPPED_SLOTS : 0)
    )
  }

  nextMaintenance(time_ms: number): number {
    return this.genesis_ms + this.cycleOf(time_ms) * this.maintenance_ms
  }
}
