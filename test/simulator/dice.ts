// Chance that repeats: every decision of a run is drawn here, from one seed. A fork is a die of its
// own, so that drawing more from one does not change what another says.

import { createHash } from 'node:crypto'

export class Dice {
  private readonly seed: string
  private readonly state: Uint32Array

  constructor(seed: string) {
    this.seed = seed
    const bytes = createHash('sha256').update(seed).digest()
    this.state = Uint32Array.from({ length: 4 }, (_, i) => bytes.readUInt32LE(4 * i))
  }

  fork(name: string): Dice {
    return new Dice(`${this.seed}/${name}`)
  }

  /** At least 0, less than 1. The generator is sfc32. */
  next(): number {
    const s = this.state
    const sum = (s[0]! + s[1]! + s[3]!) | 0
    s[3] = s[3]! + 1
    s[0] = s[1]! ^ (s[1]! >>> 9)
    s[1] = s[2]! + (s[2]! << 3)
    s[2] = ((s[2]! << 21) | (s[2]! >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new RangeError('there is nothing to pick from')
    return from[this.between(0, from.length - 1)]!
  }

  /** One of the names, as often as its weight says. Weights of 0 are never drawn. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    throw new RangeError('all weights are 0')
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.between(0, 255))
  }
}
