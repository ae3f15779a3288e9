// What a transfer carries, by category. It is valid until the next one is applied. Amounts are
// doubles while they are small enough to be exact; a transfer beyond that has them in bigint.

import { CATEGORY_COUNT } from './categories.ts'
import { FAST_BELOW, splitBig } from './split.ts'

/** Of what was given at a pool: a category, and its mean number of hops. */
export type SwapPart = { category: number; amount: bigint; hops: number }

const BIG_AMOUNT = BigInt(FAST_BELOW)

export class Carried {
  mask = 0
  readonly amounts: Float64Array = new Float64Array(CATEGORY_COUNT)
  /** By category, in place of `amounts`; undefined when the doubles are exact. */
  big: bigint[] | undefined
  /** One more than the mean number of hops that this money had behind it at the sender. */
  readonly hops: Float64Array = new Float64Array(CATEGORY_COUNT)
  /** The transfer that had brought the sender most of this category; 0: none, the money begins
   *  there. */
  readonly prior: Float64Array = new Float64Array(CATEGORY_COUNT)

  begin(): void {
    this.mask = 0
    this.big = undefined
  }

  /** The amount of a category, exact. */
  amount(category: number): bigint {
    if (((this.mask >>> category) & 1) === 0) return 0n
    return this.big ? this.big[category]! : BigInt(this.amounts[category]!)
  }

  get total(): bigint {
    let total = 0n
    for (let category = 0; category < CATEGORY_COUNT; category++) total += this.amount(category)
    return total
  }

  /** All of it is of one category and begins at the sender. */
  putOrigin(category: number, amount: number | bigint): void {
    this.mask = 1 << category
    this.hops[category] = 1
    this.prior[category] = 0
    if (typeof amount === 'number') this.amounts[category] = amount
    else {
      this.big = []
      this.big[category] = amount
    }
  }

  /** What this is, by category, until it is read again. */
  parts(): SwapPart[] {
    const parts: SwapPart[] = []
    for (let category = 0; category < CATEGORY_COUNT; category++) {
      const amount = this.amount(category)
      if (amount > 0n) parts.push({ category, amount, hops: this.hops[category]! })
    }
    return parts
  }

  /** So much, in the proportions of what was given for it by transfer `prior`. */
  putSwapped(parts: readonly SwapPart[], amount: bigint, prior: number): void {
    const given = parts.map((part) => part.amount)
    const scaled = splitBig(
      given.map((part) => part * amount),
      amount,
      given.reduce((sum, part) => sum + part, 0n) * amount,
    )
    const is_big = amount >= BIG_AMOUNT
    if (is_big) this.big = []
    for (const [i, { category, hops }] of parts.entries()) {
      if (scaled[i] === 0n) continue
      this.mask |= 1 << category
      if (is_big) this.big![category] = scaled[i]!
      else this.amounts[category] = Number(scaled[i])
      this.hops[category] = hops + 1
      this.prior[category] = prior
    }
  }

  /** Adds money of a category that begins at the sender to what is carried of it. */
  addOrigin(category: number, amount: number): void {
    const bit = 1 << category
    const own = (this.mask & bit) === 0 ? 0 : this.amounts[category]!
    this.hops[category] = own === 0 ? 1 : (this.hops[category]! * own + amount) / (own + amount)
    if (amount > own) this.prior[category] = 0
    this.amounts[category] = own + amount
    this.mask |= bit
  }

  /** The same in bigint. */
  addOriginBig(category: number, amount: bigint): void {
    const own = this.amount(category)
    const share = Number(own) / Number(own + amount)
    this.hops[category] = own === 0n ? 1 : this.hops[category]! * share + 1 - share
    if (amount > own) this.prior[category] = 0
    this.big![category] = own + amount
    this.mask |= 1 << category
  }
}
