import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FAST_BELOW, percentOf, split, splitBig } from './split.ts'

const share = fc.oneof(
  fc.integer({ min: 0, max: 9 }),
  fc.maxSafeInteger().map((n) => Math.abs(n) % (FAST_BELOW / 32)),
)
const holding = fc
  .array(share, { minLength: 1, maxLength: 28 })
  .filter((held) => held.some((h) => h > 0))

test('doubles give the same units as bigint for every holding below 2^52', () => {
  fc.assert(
    fc.property(holding, fc.double({ min: 0, max: 1, noNaN: true }), (held, fraction) => {
      const balance = held.reduce((a, b) => a + b, 0)
      const q = Math.max(1, Math.floor(balance * fraction))
      const parts = new Float64Array(held.length)
      split(Float64Array.from(held), held.length, { q, balance }, parts)
      assert.deepEqual(
        [...parts].map(BigInt),
        splitBig(held.map(BigInt), BigInt(q), BigInt(balance)),
      )
    }),
    { numRuns: 5_000 },
  )
})

test('a product that a double rounds to 2^53 is worked out exactly', () => {
  // 28,059,810,762,433 times 321 is 2^53 + 1.
  const held = [28_059_810_762_433, 5 * 28_059_810_762_433]
  const parts = new Float64Array(2)
  split(Float64Array.from(held), 2, { q: 321, balance: 6 * held[0]! }, parts)
  assert.deepEqual([...parts], [54, 267])
  assert.deepEqual(splitBig(held.map(BigInt), 321n, 6n * BigInt(held[0]!)), [54n, 267n])
})

test('parts sum to what is taken and never exceed what is held', () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt(0n, 2n ** 70n), { minLength: 1, maxLength: 28 }),
      fc.bigInt(0n, 2n ** 75n),
      (held, wanted) => {
        const balance = held.reduce((a, b) => a + b, 0n)
        fc.pre(balance > 0n)
        const q = wanted % (balance + 1n)
        const parts = splitBig(held, q, balance)
        assert.equal(
          parts.reduce((a, b) => a + b, 0n),
          q,
        )
        for (const [i, part] of parts.entries()) assert.ok(part >= 0n && part <= held[i]!)
      },
    ),
  )
})

test('units left over go to the largest remainders, and among equals to the lower category', () => {
  // 7 of 3 + 3 + 3 + 1: floors 2, 2, 2, 0 with remainders 1, 1, 1, 7 tenths.
  assert.deepEqual(splitBig([3n, 3n, 3n, 1n], 7n, 10n), [2n, 2n, 2n, 1n])
  // 2 of 1 + 1 + 1: equal remainders.
  assert.deepEqual(splitBig([1n, 1n, 1n], 2n, 3n), [1n, 1n, 0n])
})

test('a percentage is rounded down, exactly', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 100 }), (n, percent) => {
      const amount = Math.abs(n)
      assert.equal(BigInt(percentOf(amount, percent)), (BigInt(amount) * BigInt(percent)) / 100n)
    }),
  )
})

test('parts are written for so many categories as there are, and no others', () => {
  for (const q of [3, 10]) {
    const parts = new Float64Array(5).fill(7)
    split(Float64Array.of(4, 6, 90, 90), 2, { q, balance: 10 }, parts)
    assert.deepEqual([...parts.subarray(2)], [7, 7, 7])
    assert.equal(parts[0]! + parts[1]!, q)
  }
})

test('a split of doubles gives what is left over to the first of equal remainders', () => {
  const parts = new Float64Array(4)
  for (const [held, q, expected] of [
    [[1, 1, 1], 1, [1, 0, 0]],
    [[1, 1, 1], 2, [1, 1, 0]],
    [[3, 3, 3, 1], 7, [2, 2, 2, 1]],
    [[2, 3, 2, 3], 1, [0, 1, 0, 0]],
  ] as const) {
    const balance = held.reduce((sum: number, one) => sum + one, 0)
    // What an earlier split has left beyond is not looked at.
    split(Float64Array.of(7, 7, 7, 7), 4, { q: 1, balance: 28 }, new Float64Array(4))
    split(Float64Array.from(held), held.length, { q, balance }, parts)
    assert.deepEqual([...parts.subarray(0, held.length)], [...expected])
    assert.deepEqual(splitBig(held.map(BigInt), BigInt(q), BigInt(balance)), expected.map(BigInt))
  }
})

test('nothing of nothing is nothing', () => {
  assert.deepEqual(splitBig([0n, 0n], 0n, 0n), [0n, 0n])
  assert.deepEqual(splitBig([5n, 2n], 0n, 7n), [0n, 0n])
})
