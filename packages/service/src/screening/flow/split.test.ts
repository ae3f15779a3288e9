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
