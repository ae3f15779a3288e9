import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DELEGATION_MAX_SUN } from '../../chain/signing/signer.ts'
import {
  choose,
  type Ratio,
  type Room,
  STAKE_MIN_SUN,
  sellable,
  stakeFor,
  unitsOf,
} from './pool.ts'

const MAINNET: Ratio = { total_limit: 180_000_000_000n, total_weight: 18_755_883_722n }

/** Ratios from a few thousandths of a unit to many units for each staked TRX. */
const ratio: fc.Arbitrary<Ratio> = fc.record({
  total_limit: fc.bigInt(1_000_000_000n, 500_000_000_000n),
  total_weight: fc.bigInt(1_000_000_000n, 100_000_000_000n),
})
const amount = fc.integer({ min: 1, max: 5_000_000 })

test('a stake gives the units that the network says, and no stake gives none', () => {
  assert.equal(unitsOf(1_000_000n, MAINNET), 9)
  assert.equal(unitsOf(1_000_000_000_000n, MAINNET), 9_596_988)
  assert.equal(unitsOf(1_000_000n, { total_limit: 0n, total_weight: 0n }), 0)
})

test('the stake for an amount gives the amount and its margin, a thousandth less not', () => {
  fc.assert(
    fc.property(amount, ratio, (units, at) => {
      const stake_sun = stakeFor(units, at)
      const wanted = Math.ceil((units * 101) / 100)
      assert.ok(unitsOf(stake_sun, at) >= wanted)
      if (stake_sun > STAKE_MIN_SUN) {
        // The doubles of the node may need a few sun more than exact arithmetic, never many.
        assert.ok(
          unitsOf(stake_sun - 1_000n, at) < wanted || stake_sun - 1_000n < STAKE_MIN_SUN,
          `${stake_sun}`,
        )
      }
    }),
  )
})

test('a stake covers its amount still when every stake is worth almost a hundredth less', () => {
  fc.assert(
    fc.property(amount, ratio, (units, at) => {
      const grown = { ...at, total_weight: (at.total_weight * 1_009n) / 1_000n }
      assert.ok(unitsOf(stakeFor(units, at), grown) >= units)
    }),
  )
})

test('what is sellable of a stake can be delegated from it, and nearly all of it is', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, DELEGATION_MAX_SUN - 1n), ratio, (stake_sun, at) => {
      const units = sellable(stake_sun, at)
      assert.ok(units >= 0)
      if (units > 0)
        assert.ok(stakeFor(units, at) <= stake_sun, `${stakeFor(units, at)} of ${stake_sun}`)
      assert.ok(
        units >= Math.floor((unitsOf(stake_sun, at) * 100) / 101) - 2 || stake_sun < STAKE_MIN_SUN,
      )
    }),
  )
})

const rooms = fc
  .array(fc.bigInt(-1_000_000n, 2_000_000_000_000n), { maxLength: 8 })
  .map((all) =>
    all.map((room_sun, i): Room => ({ wallet: `wallet-${i}`, room_sun, carries: 1_000n })),
  )

test('the chosen parts add up to the amount, and no wallet is asked for more than it has', () => {
  fc.assert(
    fc.property(amount, rooms, ratio, (units, all, at) => {
      const parts = choose(units, all, at)
      if (!parts) return
      const room = new Map(all.map(({ wallet, room_sun }) => [wallet, room_sun]))
      assert.equal(
        parts.reduce((sum, part) => sum + part.amount, 0),
        units,
      )
      for (const part of parts) {
        assert.ok(part.amount > 0)
        assert.ok(part.stake_sun >= STAKE_MIN_SUN)
        assert.ok(part.stake_sun <= DELEGATION_MAX_SUN, 'no more than the signer signs')
        room.set(part.wallet, room.get(part.wallet)! - part.stake_sun)
        assert.ok(room.get(part.wallet)! >= 0n, `${part.wallet} is asked for more than it has`)
        assert.ok(unitsOf(part.stake_sun, at) >= part.amount)
      }
    }),
  )
})

test('a wallet that has exactly enough is asked alone, rather than a fuller one', () => {
  const stake_sun = stakeFor(65_000, MAINNET)
  const room = (wallet: string, room_sun: bigint): Room => ({ wallet, room_sun, carries: 10n })
  for (const rooms of [
    [room('exact', stake_sun), room('fuller', 2n * stake_sun)],
    [room('fuller', 2n * stake_sun), room('exact', stake_sun)],
  ])
    assert.deepEqual(choose(65_000, rooms, MAINNET), [
      { wallet: 'exact', amount: 65_000, stake_sun },
    ])
})

test('a wallet is asked only for a delegation that it can pay for, reclaim included', () => {
  const poor = fc.tuple(rooms, fc.array(fc.bigInt(-2n, 5n), { minLength: 8, maxLength: 8 }))
  fc.assert(
    fc.property(amount, poor, ratio, (units, [all, carries], at) => {
      const paying = all.map((room, i) => ({ ...room, carries: carries[i]! }))
      const asked = Map.groupBy(choose(units, paying, at) ?? [], ({ wallet }) => wallet)
      for (const room of paying) {
        const parts = asked.get(room.wallet)?.length ?? 0
        assert.ok(
          parts === 0 || BigInt(2 * parts) <= room.carries,
          `${parts} of a wallet that carries ${room.carries}`,
        )
      }
    }),
  )
})

test('whatever the pool says it can sell, it can deliver', () => {
  fc.assert(
    fc.property(rooms, ratio, fc.integer({ min: 0, max: 100 }), (all, at, percent) => {
      const room = all.reduce((sum, one) => sum + sellable(one.room_sun, at), 0)
      const units = Math.floor((room * percent) / 100)
      if (units > 0) assert.ok(choose(units, all, at), `${units} of ${room}`)
    }),
  )
})

test('a wallet that lost its stake takes nothing from what the others can sell', () => {
  assert.equal(sellable(-5_000_000_000_000n, MAINNET), 0)
})

test('one wallet that has just enough goes before a fuller one, and before any split', () => {
  const stakes = (...trx: bigint[]) =>
    trx.map((one, i): Room => ({ wallet: `w${i}`, room_sun: one * 1_000_000n, carries: 1_000n }))
  const wallets = (units: number, all: Room[]) =>
    choose(units, all, MAINNET)?.map(({ wallet }) => wallet)
  assert.deepEqual(wallets(65_000, stakes(100_000n, 7_000n, 20_000n)), ['w1'])
  assert.deepEqual(
    wallets(65_000, stakes(3_000n, 4_000n, 5_000n)),
    ['w2', 'w1'],
    'fullest first, as few as possible',
  )
  assert.equal(wallets(65_000, stakes(1_000n, 1_000n)), undefined)
  assert.equal(choose(65_000, stakes(1_000_000n), { total_limit: 0n, total_weight: 0n }), undefined)
})

const roomOf = (wallet: string, room_sun: bigint, carries = 2n): Room => ({
  wallet,
  room_sun,
  carries,
})

test('less than the chain delegates at a time is sold to nobody, and nothing of no stake', () => {
  assert.equal(sellable(STAKE_MIN_SUN - 1n, MAINNET), 0)
  assert.equal(sellable(STAKE_MIN_SUN, MAINNET), 7)
  assert.equal(sellable(STAKE_MIN_SUN, { total_limit: 1_000n, total_weight: 1n }), 989)
  const rooms = () => [roomOf('w0', 100_000_000n)]
  assert.equal(choose(5, rooms(), { total_limit: 0n, total_weight: 5n }), undefined)
  assert.equal(choose(5, rooms(), { total_limit: 1n, total_weight: 1n })?.length, 1)
})

test('a wallet that can pay for one delegation and its end is asked for that one', () => {
  const stake_sun = stakeFor(65_000, MAINNET)
  const all = [{ wallet: 'w0', amount: 65_000, stake_sun }]
  assert.deepEqual(choose(65_000, [roomOf('w0', stake_sun)], MAINNET), all)
  assert.equal(choose(65_000, [roomOf('w0', stake_sun, 1n)], MAINNET), undefined)
  const half = sellable(stake_sun, MAINNET)
  const split = choose(2 * half, [roomOf('w0', stake_sun), roomOf('w1', stake_sun)], MAINNET)
  assert.deepEqual(
    split?.map(({ amount }) => amount),
    [half, half],
  )
})

test('of wallets with as much the first is asked, and another for a single unit', () => {
  const stake_sun = stakeFor(65_000, MAINNET)
  const wallets = (units: number, rooms: Room[]) =>
    choose(units, rooms, MAINNET)?.map(({ wallet, amount }) => [wallet, amount])
  const even = ['w0', 'w1'].map((one) => roomOf(one, stake_sun))
  assert.deepEqual(wallets(65_000, even), [['w0', 65_000]])
  const half = sellable(stake_sun, MAINNET)
  const parts = wallets(2 * half + 1, [...even, roomOf('w2', STAKE_MIN_SUN)])
  assert.deepEqual(parts?.sort(), [
    ['w0', half],
    ['w1', half],
    ['w2', 1],
  ])
})

test('as much as the signer signs is one delegation', () => {
  const even: Ratio = { total_limit: 1n, total_weight: 1n }
  const amount = 990_099
  assert.equal(stakeFor(amount, even), DELEGATION_MAX_SUN)
  assert.deepEqual(choose(amount, [roomOf('w0', DELEGATION_MAX_SUN)], even), [
    { wallet: 'w0', amount, stake_sun: DELEGATION_MAX_SUN },
  ])
})
