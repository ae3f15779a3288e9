import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import vectors from '../fixtures/resource-vectors.json' with { type: 'json' }
import {
  fadedUsage,
  increaseUsage,
  limitOfStake,
  noUsage,
  stakeOfUsage,
  takeBackUsage,
} from './resources.ts'

const supply = {
  limit: vectors.limit_vectors.total_energy_limit,
  weight: BigInt(vectors.limit_vectors.total_energy_weight),
}

test('a stake yields the energy that the node computes for it, to the unit', () => {
  for (const { frozen_sun, energy_limit } of vectors.limit_vectors.rows) {
    assert.equal(limitOfStake(BigInt(frozen_sun), supply), energy_limit, String(frozen_sun))
  }
})

for (const vector of vectors.window_vectors.slice(0, 2)) {
  test(`usage and its window grow as in the node's own unit test: ${vector.name}`, () => {
    const given = vector.in as {
      usage: number
      time: number
      window_size: number
      calls: number
      energy: number
    }
    const step = vector.name.endsWith('part 2') ? 1 : 0
    let usage = {
      amount: given.usage,
      slot: given.time,
      window: given.window_size,
      optimized: false,
    }
    for (let call = 0; call < given.calls; call++) {
      usage = increaseUsage(usage, given.energy, given.time + call * step)
    }
    assert.deepEqual(
      { usage: usage.amount, window_size: usage.window, window_optimized: usage.optimized },
      vector.out,
    )
  })
}

test("half of a stake takes its share of the usage left, as in the node's own unit test", () => {
  const given = vectors.window_vectors[2]!.in as {
    now_slot: number
    owner_usage: number
    receiver_usage: number
  }
  const used = { amount: given.receiver_usage, slot: 0, window: 0, optimized: false }
  const receiver = increaseUsage(used, 0, given.now_slot)
  const moved = Math.trunc(receiver.amount * 0.5)
  const owner = takeBackUsage(
    { ...used, amount: given.owner_usage },
    receiver,
    moved,
    given.now_slot,
  )
  assert.deepEqual(
    { owner_usage: owner.amount, receiver_usage: receiver.amount - moved },
    vectors.window_vectors[2]!.out,
  )
})

type Scenario = {
  uses: [number, number][]
  undelegate_slot: number
  undelegate_sun: number
  receiver_total_sun: number
}
type StoredUsage = { usage: number; time: number; w: number; opt: boolean }
type ExpectedUsage = {
  receiver_usage_before: number
  transferred_usage: number
  owner: StoredUsage
  receiver: StoredUsage
  owner_usage_after_12h: number
  owner_usage_after_24h: number
}

for (const vector of vectors.window_vectors.slice(3)) {
  test(`the lender gets back what the node would give back: ${vector.name}`, () => {
    const given = vector.in as unknown as Scenario
    const expected = vector.out as unknown as ExpectedUsage
    let used = noUsage
    for (const [amount, slot] of given.uses) used = increaseUsage(used, amount, slot)
    const slot = given.undelegate_slot
    const receiver = increaseUsage(used, 0, slot)
    assert.equal(receiver.amount, expected.receiver_usage_before)
    const share = Math.trunc(receiver.amount * (given.undelegate_sun / given.receiver_total_sun))
    const moved = Math.min(share, limitOfStake(BigInt(given.undelegate_sun), supply))
    assert.equal(moved, expected.transferred_usage)
    const owner = moved > 0 ? takeBackUsage(noUsage, receiver, moved, slot) : noUsage
    const stored = ({ amount, slot: time, window, optimized }: typeof owner) => ({
      usage: amount,
      time,
      w: window,
      opt: optimized,
    })
    assert.deepEqual(stored(owner), expected.owner)
    assert.deepEqual(stored({ ...receiver, amount: receiver.amount - moved }), expected.receiver)
    assert.equal(fadedUsage(owner, slot + 14_400), expected.owner_usage_after_12h)
    assert.equal(fadedUsage(owner, slot + 28_800), expected.owner_usage_after_24h)
  })
}

test('usage never grows by waiting, is gone after a day, its window a day at most', () => {
  const uses = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 0, max: 40_000 })),
    {
      minLength: 1,
      maxLength: 10,
    },
  )
  fc.assert(
    fc.property(uses, fc.integer({ min: 0, max: 28_800 }), (steps, wait) => {
      let usage = noUsage
      let slot = 0
      for (const [amount, pause] of steps) {
        slot += pause
        usage = increaseUsage(usage, amount, slot)
        assert.ok(usage.window <= 28_800_000)
      }
      const now = fadedUsage(usage, slot)
      const later = fadedUsage(usage, slot + wait)
      assert.ok(later <= now)
      assert.equal(fadedUsage(usage, slot + 28_800), 0)
    }),
  )
})

test('the stake that a usage holds back covers the usage, within the rounding of one unit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), (units) => {
      const limit = limitOfStake(stakeOfUsage(units, supply), supply)
      assert.ok(limit <= units && limit >= units - 1)
    }),
  )
})

// The rules once more, straight from their definition in 64-bit integers, to be held against the
// code with cases that no vector has: `Stored` is what an account keeps, in the names of the node.

type StoredAccount = { usage: bigint; time: bigint; window: bigint; optimized: boolean }

const DAY = 28_800n
const ceil = (a: bigint, b: bigint) => a / b + (a % b > 0n ? 1n : 0n)
const wholeSlots = ({ window, optimized }: StoredAccount) => {
  if (window === 0n) return DAY
  if (!optimized) return window
  return window < 1000n ? DAY : window / 1000n
}
const thousandths = ({ window, optimized }: StoredAccount) => {
  if (window === 0n) return DAY * 1000n
  return optimized ? window : window * 1000n
}

function grown(stored: StoredAccount, added: bigint, now: bigint): StoredAccount {
  const old_window = wholeSlots(stored)
  let average = ceil(stored.usage * 1_000_000n, old_window)
  const added_average = ceil(added * 1_000_000n, DAY)
  if (stored.time !== now) {
    const passed = now - stored.time
    const decay = Number(old_window - passed) / Number(old_window)
    average =
      stored.time + old_window > now ? BigInt(Math.floor(Number(average) * decay + 0.5)) : 0n
  }
  const usage = (average * old_window + added_average * DAY) / 1_000_000n
  const left = (average * old_window) / 1_000_000n
  if (left === 0n) return { usage, time: now, window: DAY * 1000n, optimized: true }
  const left_window = thousandths(stored) - (now - stored.time) * 1000n
  const merged = ceil(left * left_window + added * DAY * 1000n, usage)
  return { usage, time: now, window: merged < DAY * 1000n ? merged : DAY * 1000n, optimized: true }
}

function returned(
  owner: StoredAccount,
  receiver: StoredAccount,
  moved: bigint,
  now: bigint,
): StoredAccount {
  const own = grown(owner, 0n, now)
  const usage = own.usage + moved
  if (usage === 0n) return { usage, time: now, window: DAY * 1000n, optimized: true }
  const merged = ceil(own.usage * thousandths(own) + moved * thousandths(receiver), usage)
  return { usage, time: now, window: merged < DAY * 1000n ? merged : DAY * 1000n, optimized: true }
}

const storedOf = ({ amount, slot, window, optimized }: typeof noUsage): StoredAccount => ({
  usage: BigInt(amount),
  time: BigInt(slot),
  window: BigInt(window),
  optimized,
})

const uses = fc.array(
  fc.tuple(
    fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 200_000_000_000 })),
    fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 30_000 })),
  ),
  { maxLength: 12 },
)
/** A usage from before windows had thousandths. */
const inherited = fc.record({
  amount: fc.integer({ min: 0, max: 100_000_000_000 }),
  slot: fc.integer({ min: 0, max: 100 }),
  window: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 28_800 })),
  optimized: fc.constant(false),
})

test('usage, windows and what comes back follow the rules for any sequence of uses', () => {
  fc.assert(
    fc.property(
      inherited,
      inherited,
      uses,
      uses,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (a, b, ours, theirs, share) => {
        let slot = 100
        const follow = (start: typeof noUsage, steps: typeof ours) => {
          let usage = start
          let oracle = storedOf(start)
          for (const [amount, pause] of steps) {
            slot += pause
            usage = increaseUsage(usage, amount, slot)
            oracle = grown(oracle, BigInt(amount), BigInt(slot))
            assert.deepEqual(storedOf(usage), oracle)
          }
          return { usage, oracle }
        }
        const owner = follow(a, ours)
        const receiver = follow(b, theirs)
        const brought = increaseUsage(receiver.usage, 0, slot)
        const brought_oracle = grown(receiver.oracle, 0n, BigInt(slot))
        assert.deepEqual(storedOf(brought), brought_oracle)
        assert.equal(BigInt(fadedUsage(receiver.usage, slot)), brought_oracle.usage)
        const moved = Math.trunc(brought.amount * share)
        assert.deepEqual(
          storedOf(takeBackUsage(owner.usage, brought, moved, slot)),
          returned(owner.oracle, brought_oracle, BigInt(moved), BigInt(slot)),
        )
      },
    ),
    { numRuns: 500 },
  )
})
