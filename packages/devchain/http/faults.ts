// Faults on purpose. A fault is armed for a number of requests (or for each with some
// probability) and strikes those it is about. Which requests are struck follows from the seed
// alone, so a failing run can be repeated.

import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'

/** Each kind, and what it does. "Broken" is a connection that ends without an answer (status 0 in
 *  process). */
export const faultKinds = {
  lose_answer: 'a broadcast is done, its answer is lost: the connection is broken',
  drop: 'a broadcast is taken into the pool and never into a block; the pool forgets it after 60 s',
  delay: 'a broadcast waits in the pool for `seconds` of the chain before a block takes it',
  busy: 'a broadcast is refused with SERVER_BUSY, though nothing is wrong',
  false_dup: 'a broadcast is refused as a duplicate, though the node does not have it',
  timeout: 'any request: nothing is done, the connection is broken',
  rate_limit: 'any request: nothing is done, status 429',
  overload: 'any request: the node says that it lacks computing resources',
  hide_receipt: 'gettransactioninfobyid answers {} though the receipt exists',
  late_receipt:
    'until it is cleared: the receipts of a block are missing until it is `seconds` of ' +
    'the chain old',
  slow_block: 'the next block is `seconds` late; the slots before it stay empty',
  empty_block: 'the next block is empty, and what is pending waits on',
} as const

export type FaultKind = keyof typeof faultKinds

export type Fault = {
  readonly kind: FaultKind
  /** How many more requests it strikes. */
  readonly count: number
  /** Of those it is about, from 0 to 1. */
  readonly probability: number
  readonly seconds: number
}

export const isFaultKind = (name: unknown): name is FaultKind =>
  typeof name === 'string' && Object.hasOwn(faultKinds, name)

/** A series of numbers from 0 up to 1 that follows from its name (mulberry32). */
export class RandomSeries {
  private state: number

  constructor(name: string) {
    this.state = new DataView(sha256(utf8ToBytes(name)).buffer).getUint32(0)
  }

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export class Faults {
  private armed: Fault[] = []
  private readonly random: RandomSeries

  constructor(seed: string) {
    this.random = new RandomSeries(`${seed} faults`)
  }

  arm(fault: Fault): void {
    this.armed.push(fault)
  }

  /** Disarms the faults of a kind, or all of them. */
  clear(kind?: FaultKind): void {
    this.armed = kind === undefined ? [] : this.armed.filter((fault) => fault.kind !== kind)
  }

  list(): readonly Fault[] {
    return this.armed
  }

  /** A fault that stands until it is cleared. */
  standing(kind: FaultKind): Fault | undefined {
    return this.armed.find((fault) => fault.kind === kind)
  }

  /** Whether a fault of one of these kinds strikes the present request; using it up, if so. */
  strike(...kinds: readonly FaultKind[]): Fault | undefined {
    for (const [index, fault] of this.armed.entries()) {
      if (!kinds.includes(fault.kind)) continue
      if (fault.probability < 1 && this.random.next() >= fault.probability) continue
      if (fault.count > 1) this.armed[index] = { ...fault, count: fault.count - 1 }
      else this.armed.splice(index, 1)
      return fault
    }
    return undefined
  }
}
