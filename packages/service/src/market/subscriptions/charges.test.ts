// A plan is never dearer than the same energy by orders: the shipped plans at the shipped prices,
// for the transfers that people make.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { leastPriceOf, readPrices } from '../prices/prices.ts'
import { countUse, countUseSun, isUsedUp } from './charges.ts'
import { listPlans, type Plan } from './plans.ts'

/** Energy of what people send. */
const TRANSFERS = {
  'a token without penalty, to a holder': 14_631,
  'a token without penalty, to a new holder': 29_631,
  'USDT at the factor of 1.2, to a holder': 31_895,
  'the pack of 32,000': 32_000,
  'USDT to a holder': 64_285,
  'USDT to a holder, as wallets estimate it': 64_400,
  'USDT at the factor of 1.2, to a new holder': 64_895,
  'the pack of 65,000': 65_000,
  'a little above 65,000': 65_600,
  'two transfers to holders in one': 128_570,
  'USDT to a new holder': 130_285,
  'the pack of 131,000': 131_000,
} as const

/** The shipped start is used up by then, and the pack, whatever is sent. */
const USES = 200

/** A plan that has just begun. */
const begun = (plan: Plan) => ({
  ...plan,
  plan_transactions_limit: plan.transactions_limit,
  transactions_used: 0,
  total_sun: plan.activation_fee_sun + plan.initial_price_sun,
  by_orders_sun: 0n,
})

test('no shipped plan is dearer than orders, for any common transfer', async (t) => {
  const { sql } = await freshDatabase(t)
  const prices = await readPrices(sql)
  const plans = await listPlans(sql)
  assert.deepEqual(
    plans.map(({ key }) => key),
    ['unlimited_energy', 'energy_pack_100'],
  )
  for (const plan of plans) {
    for (const [name, energy] of Object.entries(TRANSFERS)) {
      const served = begun(plan)
      let orders_sun = 0n
      for (let uses = 1; uses <= USES; uses++) {
        const what = `${plan.key}, ${name}, ${uses}`
        const order_sun = leastPriceOf(prices, BigInt(energy))!
        orders_sun += order_sun
        const counted = countUse(served, { energy: BigInt(energy), of_energy: BigInt(energy) })
        const { due_sun, by_orders_sun } = countUseSun(served, prices, counted)
        assert.ok(due_sun <= order_sun, `${what}: ${due_sun}`)
        const { transactions } = counted
        const limit = plan.transactions_limit
        const used_up = isUsedUp(served, { limit, transactions, by_orders_sun })
        served.transactions_used += transactions
        served.total_sun += due_sun
        served.by_orders_sun += by_orders_sun
        // What is left of the start goes on serving: it is not lost.
        if (due_sun > 0n || used_up)
          assert.ok(served.total_sun <= orders_sun, `${what}: ${served.total_sun} ${orders_sun}`)
        if (used_up) break
      }
      assert.ok(served.total_sun <= orders_sun, `${plan.key}, ${name}: ${orders_sun}`)
    }
  }
})

test('a use counts one up to the energy of one, and two for a new holder', async (t) => {
  const { sql } = await freshDatabase(t)
  const [plan] = await listPlans(sql)
  const counts = (energy: number, of_energy = energy) =>
    countUse(begun(plan!), { energy: BigInt(energy), of_energy: BigInt(of_energy) }).transactions
  const rows: [energy: number, count: number][] = [
    [0, 0],
    [1, 1],
    [64_285, 1],
    [65_000, 1],
    [65_656, 1],
    [65_657, 2],
    [130_285, 2],
    [131_313, 2],
    [131_314, 3],
  ]
  for (const [energy, count] of rows) assert.equal(counts(energy), count, `${energy}`)
  assert.equal(counts(4_989_899), 77, 'above 76 by the least part of a hundredth')
})

test('a use of less than a tenth of one, and of what it took, is a rest', async (t) => {
  const { sql } = await freshDatabase(t)
  const [plan] = await listPlans(sql)
  const counts = (energy: number, of_energy: number) =>
    countUse(begun(plan!), { energy: BigInt(energy), of_energy: BigInt(of_energy) }).transactions
  assert.equal(counts(900, 64_285), 0, 'nearly all of it was burnt')
  assert.deepEqual([counts(6_499, 64_990), counts(6_499, 64_991)], [1, 0])
  assert.deepEqual([counts(6_500, 65_001), counts(6_500, 650_000)], [1, 1])
})

test('a limit ends one by its uses, and that of a plan not before what was paid', () => {
  const paid = { initial_price_sun: 100n, by_orders_sun: 50n }
  const terms = {
    energy_per_transaction: 65_000,
    included: 0,
    price_sun: 7n,
    activation_fee_sun: 0n,
    total_sun: 100n,
  }
  const isEnded = (limit: number, plan_limit: number, uses: number, by_orders_sun = 0n) =>
    isUsedUp(
      { ...terms, ...paid, plan_transactions_limit: plan_limit, transactions_used: 1 },
      { limit, transactions: uses, by_orders_sun },
    )
  assert.deepEqual([isEnded(3, 0, 1), isEnded(3, 0, 2), isEnded(3, 0, 3)], [false, true, true])
  assert.deepEqual([isEnded(3, 4, 1, 50n), isEnded(3, 4, 2)], [false, true])
  assert.deepEqual([isEnded(3, 3, 2, 49n), isEnded(3, 3, 2, 50n)], [false, true])
  assert.deepEqual([isEnded(3, 3, 1, 50n), isEnded(0, 0, 9, 50n)], [false, false])
  assert.deepEqual([isEnded(1, 1, 1, 49n), isEnded(1, 1, 1, 50n)], [false, true])
})

test('a use that counts as none costs nothing, and nothing by orders either', async (t) => {
  const { sql } = await freshDatabase(t)
  const prices = await readPrices(sql)
  const [plan] = await listPlans(sql)
  const terms = begun(plan!)
  const counted = countUse(terms, { energy: 300n, of_energy: 65_000n })
  assert.equal(counted.transactions, 0)
  assert.deepEqual(countUseSun(terms, prices, counted), { due_sun: 0n, by_orders_sun: 0n })
})

test('a use costs what the plan says, and at most what one order costs', async (t) => {
  const { sql } = await freshDatabase(t)
  const prices = await readPrices(sql)
  const [plan] = await listPlans(sql)
  const later = { ...begun(plan!), transactions_used: 5, by_orders_sun: 20_000_000n }
  const costs = (energy: number) => {
    const counted = countUse(later, { energy: BigInt(energy), of_energy: BigInt(energy) })
    return countUseSun(later, prices, counted).due_sun
  }
  assert.equal(costs(20_000), 1_440_000n, 'the least that can be ordered: 32,000')
  assert.equal(costs(64_285), 2_800_000n)
  assert.equal(costs(130_285), 5_500_000n, 'the 131,000 that are cheaper than less')
  assert.equal(
    countUseSun(
      later,
      { ...prices, tiers: [] },
      {
        energy: 64_285n,
        transactions: 1,
        priced: 1,
      },
    ).due_sun,
    2_800_000n,
    'nothing is on sale: what the plan says',
  )
})
