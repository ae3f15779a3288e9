// With how many others each address has dealt, as far as that matters: an address without a label
// that deals with more than so many must be a service. Counting begins after some transfers, so
// that people, who have few, take no memory, and stops as soon as there are too many: no set grows
// beyond that. Another address is known by its first eight bytes: addresses are hashes.

import { SLOT } from './memory.ts'

/** From how many counterparties on an address without a label counts as a service. */
export const HUB_COUNTERPARTIES = 5_000

/** The others that a slot has dealt with, in pairs of words; `undefined`: more than count. */
export type Others = Uint32Array | undefined

export class Counterparties {
  readonly max: number
  /** Of a slot's transfers, those up to here are not looked at. */
  readonly transfers_before: number
  /** Of the sets, in bytes. */
  bytes_used = 0
  private readonly sets = new Map<number, PairSet | 'many'>()

  constructor(max: number) {
    this.max = max
    this.transfers_before = Math.floor(max / 20)
  }

  /** Notes that a slot has dealt with another. */
  note(slot: number, slots: Uint32Array, other: number): void {
    const set = this.sets.get(slot)
    if (set === 'many') return
    this.add(slot, set, slots[other * SLOT]!, slots[other * SLOT + 1]!)
  }

  private add(slot: number, known: PairSet | undefined, first: number, second: number): void {
    const set = known ?? new PairSet()
    if (!known) this.sets.set(slot, set)
    const bytes = known?.bytes ?? 0
    set.add(first, second)
    if (set.count > this.max) this.sets.set(slot, 'many')
    this.bytes_used += (set.count > this.max ? 0 : set.bytes) - bytes
  }

  /** The slots that are counted, with whom they have dealt. */
  *counted(): Generator<{ slot: number; others: Others }> {
    for (const [slot, set] of this.sets)
      yield { slot, others: set === 'many' ? undefined : set.pairs() }
  }

  /** With whom a slot has dealt, if that is counted. */
  of(slot: number): { others: Others } | undefined {
    const set = this.sets.get(slot)
    return set && { others: set === 'many' ? undefined : set.pairs() }
  }

  drop(slot: number): void {
    const set = this.sets.get(slot)
    if (set instanceof PairSet) this.bytes_used -= set.bytes
    this.sets.delete(slot)
  }

  get size(): number {
    return this.sets.size
  }

  /** Puts back what was counted of a slot. */
  restore(slot: number, others: Others): void {
    if (others === undefined) this.sets.set(slot, 'many')
    for (let at = 0; others && at < others.length; at += 2) {
      const set = this.sets.get(slot)
      if (set !== 'many') this.add(slot, set, others[at]!, others[at + 1]!)
    }
  }
}

/** Pairs of words, by open addressing; a pair of zeros is an open place. */
class PairSet {
  count = 0
  private table = new Uint32Array(32)

  get bytes(): number {
    return this.table.byteLength
  }

  add(first: number, second: number): void {
    const b = first === 0 && second === 0 ? 1 : second
    const place = this.place(first, b)
    if (this.table[place] === first && this.table[place + 1] === b) return
    this.table[place] = first
    this.table[place + 1] = b
    this.count += 1
    if (this.count * 3 > this.table.length) this.widen()
  }

  private place(first: number, second: number): number {
    const { table } = this
    const last = table.length - 1
    let place = ((first ^ Math.imul(second, 0x85ebca6b)) << 1) & last
    while (
      (table[place] !== 0 || table[place + 1] !== 0) &&
      (table[place] !== first || table[place + 1] !== second)
    )
      place = (place + 2) & last
    return place
  }

  private widen(): void {
    const pairs = this.pairs()
    this.table = new Uint32Array(this.table.length * 2)
    for (let at = 0; at < pairs.length; at += 2) {
      const place = this.place(pairs[at]!, pairs[at + 1]!)
      this.table.set(pairs.subarray(at, at + 2), place)
    }
  }

  pairs(): Uint32Array {
    const pairs = new Uint32Array(2 * this.count)
    let end = 0
    for (let at = 0; at < this.table.length; at += 2) {
      if (this.table[at] === 0 && this.table[at + 1] === 0) continue
      pairs.set(this.table.subarray(at, at + 2), end)
      end += 2
    }
    return pairs
  }
}
