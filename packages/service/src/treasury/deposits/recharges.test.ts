import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Prices, Tier } from '../../market/prices/prices.ts'
import { rechargeEnergy } from './recharges.ts'

const tier = (min_amount: number, max_amount: number, price_sun: bigint): Tier => ({
  resource: 'energy',
  duration_hours: 1,
  min_amount,
  max_amount,
  price_sun,
})

const pricesOf = (...tiers: Tier[]): Prices => ({
  tiers: [...tiers, { ...tier(1, 1_000_000_000, 1n), resource: 'bandwidth' }],
  activation_sun: 1_400_000n,
  on_sale: new Set(['direct_recharge']),
})

const SHIPPED = pricesOf(tier(32_000, 130_999, 45_000n), tier(131_000, 3_000_000, 42_000n))

test('an amount buys at the price of the highest tier that it reaches', () => {
  const rows: [sun: bigint, energy: number | undefined][] = [
    [0n, undefined],
    [1_439_999n, undefined],
    [1_440_000n, 32_000],
    [2_925_000n, 65_000],
    [5_501_999n, 122_266],
    [5_502_000n, 131_000],
    [5_894_955n, 140_356],
    [126_000_000n, 3_000_000],
    [126_000_041n, 3_000_000],
    [126_000_042n, undefined],
    [10n ** 15n, undefined],
  ]
  for (const [sun, energy] of rows) assert.equal(rechargeEnergy(SHIPPED, sun), energy, `${sun}`)
})

test('nobody gets more than was paid for, and one unit more would have cost more', () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 200_000_000n), (sun) => {
      const energy = rechargeEnergy(SHIPPED, sun)
      if (energy === undefined) return
      const [price] = SHIPPED.tiers.filter(
        (one) => one.min_amount <= energy && energy <= one.max_amount,
      )
      assert.ok(price, 'the energy is within a tier')
      assert.equal(price.resource, 'energy')
      assert.ok(price.price_sun * BigInt(energy) <= sun * 1_000n)
      assert.ok(price.price_sun * BigInt(energy + 1) > sun * 1_000n)
    }),
  )
})

test('sending more never buys less, while it buys at all', () => {
  fc.assert(
    fc.property(fc.bigInt(1_440_000n, 126_000_000n), fc.bigInt(0n, 1_000_000n), (sun, more) => {
      const [energy, later] = [rechargeEnergy(SHIPPED, sun), rechargeEnergy(SHIPPED, sun + more)]
      if (energy !== undefined && later !== undefined) assert.ok(later >= energy)
    }),
  )
})

test('an amount between two tiers that do not meet buys nothing', () => {
  const apart = pricesOf(tier(100, 200, 1_000n), tier(1_000, 2_000, 1_000n))
  assert.equal(rechargeEnergy(apart, 200n), 200)
  assert.equal(rechargeEnergy(apart, 201n), undefined)
  assert.equal(rechargeEnergy(apart, 999n), undefined)
  assert.equal(rechargeEnergy(apart, 1_000n), 1_000)
  assert.equal(rechargeEnergy(pricesOf(), 1_000n), undefined, 'no tiers, no sale')
})
