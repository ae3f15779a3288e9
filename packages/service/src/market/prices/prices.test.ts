import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Fault } from '../../lib/fault.ts'
import {
  charge,
  type Prices,
  priceOf,
  priceReader,
  readPrices,
  type Tier,
  tierFor,
  untieredRefusal,
} from './prices.ts'

const CENT_SUN = 10_000n

test('a charge is the price of the amount, rounded half up to a hundredth of a TRX', () => {
  const rows: [price_sun: bigint, amount: number, sun: bigint][] = [
    [45_000n, 65_000, 2_930_000n], // 2.925
    [45_000n, 32_000, 1_440_000n],
    [45_000n, 131_000, 5_900_000n], // 5.895
    [42_000n, 131_000, 5_500_000n], // 5.502
    [1_000_000n, 345, 350_000n], // 0.345
    [1_000_000n, 344, 340_000n],
    [30_000n, 65_000, 1_950_000n],
    [52_300n, 32_000, 1_670_000n], // 1.6736
    [52_300n, 65_000, 3_400_000n], // 3.3995
    [52_300n, 131_000, 6_850_000n], // 6.8513
    [84_100n, 131_000, 11_020_000n], // 11.0171
    [5_000_000n, 1, 10_000n], // exactly half a hundredth
    [4_999_999n, 1, 10_000n], // less, but a charge is never nothing
    [1n, 1, 10_000n],
  ]
  for (const [price_sun, amount, sun] of rows)
    assert.equal(charge(price_sun, amount), sun, `${price_sun} * ${amount}`)
})

test('a charge is in whole hundredths, at least one, within half of one of the exact price', () => {
  const price = fc.bigInt(1n, 10n ** 12n)
  const amount = fc.bigInt(1n, 10n ** 10n)
  fc.assert(
    fc.property(price, amount, (price_sun, units) => {
      const sun = charge(price_sun, units)
      assert.equal(sun % CENT_SUN, 0n)
      assert.ok(sun >= CENT_SUN)
      // Compared as thousandths of a sun, which are whole: nothing is rounded on the way.
      const difference = 1_000n * sun - price_sun * units
      const half = 500n * CENT_SUN
      assert.ok(difference <= half || sun === CENT_SUN, 'not above half')
      assert.ok(difference > -half, 'never below half: half is rounded up')
    }),
  )
})

test('more never costs less at one price', () => {
  fc.assert(
    fc.property(
      fc.bigInt(1n, 10n ** 9n),
      fc.nat(5_000_000),
      fc.nat(1_000),
      (price_sun, amount, more) => {
        assert.ok(charge(price_sun, amount + more) >= charge(price_sun, amount))
      },
    ),
  )
})

const tier = (min_amount: number, max_amount: number, price_sun: bigint): Tier => ({
  resource: 'energy',
  duration_hours: 1,
  min_amount,
  max_amount,
  price_sun,
})
const prices: Prices = {
  tiers: [
    tier(100, 199, 1_000n),
    tier(200, 300, 2_000n),
    { ...tier(1, 10, 9_000n), resource: 'bandwidth' },
  ],
  activation_sun: 1n,
  on_sale: new Set(),
}

test('an amount belongs to the one tier that has it, ends included, or to none', () => {
  const found = [99, 100, 199, 200, 300, 301, 150.5].map(
    (amount) => tierFor(prices, 'energy', amount)?.price_sun,
  )
  assert.deepEqual(found, [undefined, 1_000n, 1_000n, 2_000n, 2_000n, undefined, 1_000n])
  assert.equal(tierFor(prices, 'bandwidth', 150), undefined)
  const code = (resource: 'energy' | 'bandwidth') => (thrown: unknown) =>
    thrown instanceof Fault && thrown.code === (resource === 'energy' ? 11 : 50)
  assert.throws(() => priceOf(prices, 'energy', 99), code('energy'))
  assert.throws(() => priceOf(prices, 'bandwidth', 11), code('bandwidth'))
  const why = (of: Prices) =>
    (untieredRefusal(of, 'energy', 99).about as { because: string }).because
  assert.match(why(prices), /^99 energy is not on sale now, which is from 100 to/)
  assert.equal(why({ ...prices, tiers: [] }), '99 energy is not on sale now, which is none')
  // Ranges that meet, or overlap, are one; those with a gap between them are not.
  const ranges = (...tiers: [min: number, max: number][]) =>
    why({
      ...prices,
      tiers: tiers.map(([min_amount, max_amount]) => ({
        ...prices.tiers.find(({ resource }) => resource === 'energy')!,
        min_amount,
        max_amount,
      })),
    }).replace(/^.* which is /, '')
  assert.equal(ranges([201, 300], [100, 200]), 'from 100 to 300')
  assert.equal(ranges([100, 250], [150, 200]), 'from 100 to 250')
  assert.equal(ranges([100, 200], [202, 300]), 'from 100 to 200, or from 202 to 300')
})

test('two tiers in force that reach the same amount are refused by the database', async (t) => {
  const { sql } = await freshDatabase(t)
  const insert = (min: number, max: number) => sql`
    insert into price (resource, min_amount, max_amount, price_sun, changed_by)
    values ('energy', ${min}, ${max}, 1000, 'test')`
  await assert.rejects(insert(130_999, 131_000), /price_energy_once/)
  await assert.rejects(insert(3_000_000, 3_000_001), /price_energy_once/)
  await insert(3_000_001, 4_000_000)
  await insert(1, 31_999)
  assert.equal(
    (await readPrices(sql)).tiers.filter(({ resource }) => resource === 'energy').length,
    4,
  )
})

test('prices are read once a second at most, and at once after a failed reading', async (t) => {
  const { sql } = await freshDatabase(t)
  let now_ms = 0
  let reads = 0
  let failing = false
  const counting = Object.assign(
    async (...query: Parameters<typeof sql>) => {
      reads += 1
      if (failing) throw new Error('no database')
      return sql(...query)
    },
    { begin: sql.begin, close: sql.close },
  ) as typeof sql
  const read = priceReader({ sql: counting, clock: { now: () => new Date(now_ms) } })
  const [one, two] = await Promise.all([read(), read()])
  assert.equal(one, two)
  const once = reads
  now_ms = 999
  await read()
  assert.equal(reads, once)
  now_ms = 1_000
  assert.notEqual(await read(), one)
  assert.equal(reads, 2 * once)
  failing = true
  now_ms = 2_000
  await assert.rejects(read())
  failing = false
  await read()
})
