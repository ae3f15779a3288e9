import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { packTransfers } from '../../chain/transfers/packed.ts'
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts'
import { Counterparties, HUB_COUNTERPARTIES } from './counterparties.ts'
import { FlowIndex, PLAIN_RULES } from './flow_index.ts'
import { applyBlock } from './log.ts'
import { SLOT } from './memory.ts'

const counting = (counterparties_max: number) => ({ ...PLAIN_RULES, counterparties_max })

const address = (n: number) => createHash('sha256').update(`other ${n}`).digest().subarray(0, 20)

test('an address with twenty million counterparties has too many, and takes no memory', () => {
  const counterparties = new Counterparties(HUB_COUNTERPARTIES)
  const other = new Uint32Array(SLOT)
  for (let n = 0; n < 20_000_000; n++) {
    other[0] = n
    other[1] = n * 7
    counterparties.note(3, other, 0)
  }
  assert.deepEqual([...counterparties.counted()], [{ slot: 3, others: undefined }])
  assert.equal(counterparties.bytes_used, 0)
})

test('the null address is a counterparty like another, and each counts once', () => {
  const counterparties = new Counterparties(10)
  const others = new Uint32Array(2 * SLOT)
  others.set([0, 0], 0)
  others.set([0, 5], SLOT)
  for (const other of [0, 1, 0, 1, 0]) counterparties.note(1, others, other)
  const [counted] = [...counterparties.counted()]
  assert.equal(counted!.others!.length, 4)
})

/** The number of others of each address that is counted; too many are one more than count. */
function countsOf({ memory, counterparties }: FlowIndex): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { slot, others } of counterparties.counted())
    counts[memory.slots.subarray(slot * SLOT, slot * SLOT + 6).join()] = others
      ? others.length / 2
      : counterparties.max + 1
  return counts
}

test('what is counted survives a checkpoint, and goes on as if there had been none', async () => {
  const pair = fc.record({ from: fc.nat(9), to: fc.nat(30) })
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { maxLength: 80 }), fc.nat(80), async (pairs, cut) => {
      const blocks = pairs.map(({ from, to }, i) => ({
        number: i + 1,
        time_ms: i,
        freezes: [],
        first_sequence: i + 1,
        transfers: packTransfers([
          { asset: i % 2, from: address(from), to: address(to), amount: 5n },
        ]),
      }))
      const whole = new FlowIndex([], 1, counting(6))
      for (const block of blocks) applyBlock(whole, block)
      const first = new FlowIndex([], 1, counting(6))
      for (const block of blocks.slice(0, cut)) applyBlock(first, block)
      const restored = await readCheckpoint([], writeCheckpoint(first), counting(6))
      for (const block of blocks.slice(cut)) applyBlock(restored, block)
      assert.deepEqual(countsOf(restored), countsOf(whole))
      const seen = new Map<string, Set<number>>()
      for (const [i, { from, to }] of pairs.entries()) {
        if (from === to) continue
        for (const [one, other] of [
          [from, to],
          [to, from],
        ] as const) {
          const key = `${i % 2} ${one}`
          seen.set(key, (seen.get(key) ?? new Set()).add(other))
        }
      }
      const sizes = [...seen.values()].map((others) => Math.min(others.size, 7)).sort()
      assert.deepEqual(Object.values(countsOf(whole)).sort(), sizes)
    }),
    { numRuns: 60 },
  )
})

/** Pairs of which many begin to be looked for at the same place. */
const pair = fc
  .tuple(fc.constantFrom(0, 1, 2, 16, 17, 32, 48), fc.constantFrom(0, 1, 2, 16, 32))
  .map(([first, second]) => ({ first, second }))

test('others are the same when both of their words are, and nobody else is', () => {
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 60 }), (pairs) => {
      const counterparties = new Counterparties(1_000)
      const known = new Set<string>()
      for (const { first, second } of pairs) {
        counterparties.note(7, Uint32Array.of(first, second, 99), 0)
        known.add(first === 0 && second === 0 ? '0 1' : `${first} ${second}`)
      }
      const words = counterparties.of(7)?.others ?? new Uint32Array(0)
      const found = Array.from({ length: words.length / 2 }, (_, i) =>
        words.subarray(2 * i, 2 * i + 2).join(' '),
      )
      assert.deepEqual(found.sort(), [...known].sort())
      const restored = new Counterparties(1_000)
      restored.restore(3, words)
      assert.deepEqual(restored.of(3), counterparties.of(7))
    }),
  )
})

test('more than count are put back as too many', () => {
  const others = Uint32Array.from({ length: 12 }, (_, word) => word + 1)
  const counterparties = new Counterparties(4)
  counterparties.restore(1, others.subarray(0, 8))
  counterparties.restore(2, others)
  assert.deepEqual(
    [1, 2].map((slot) => counterparties.of(slot)?.others?.length),
    [8, undefined],
  )
  assert.deepEqual([counterparties.size, counterparties.bytes_used], [2, 128])
})
