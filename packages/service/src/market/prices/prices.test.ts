import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Fault } from '../../lib/fault.ts'
import {
  amountRefusal,
  charge,
  isOnSale,
  leastPriceOf,
  offSale,
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

test('a service is on sale with its activation, and a refusal says which of them is off', () => {
  const selling = (...names: string[]): Prices => ({ ...prices, on_sale: new Set(names) })
  const rows: [of: Prices, activates: boolean, is_on_sale: boolean, why: string][] = [
    [
      selling('energy', 'activate_address'),
      true,
      true,
      'the activation of the address is off sale',
    ],
    [selling('energy'), false, true, 'the activation of the address is off sale'],
    [selling('energy'), true, false, 'the activation of the address is off sale'],
    [selling('activate_address'), true, false, 'energy is off sale'],
    [selling('activate_address'), false, false, 'energy is off sale'],
  ]
  for (const [of, activates, is_on_sale, why] of rows) {
    assert.equal(isOnSale(of, 'energy', activates), is_on_sale)
    assert.deepEqual(offSale(of, 'energy').about, { because: why, param: undefined })
  }
})

test('an amount that no tier has is refused with the amounts of its own resource', () => {
  const refused = (resource: 'energy' | 'bandwidth', tiers = prices.tiers) => {
    const { code, about } = amountRefusal({ ...prices, tiers }, resource, 'amount')
    return [code, about && ('must' in about ? about.must : 'because' in about && about.because)]
  }
  assert.deepEqual(refused('energy'), [11, 'an integer from 100 to 300'])
  assert.deepEqual(refused('bandwidth'), [50, 'an integer from 1 to 10'])
  assert.deepEqual(refused('energy', []), [11, 'no energy is on sale'])
  assert.equal(untieredRefusal(prices, 'bandwidth', 99).code, 50)
})

test('so much energy, or more, costs the least that one order can be had for', () => {
  const least = (amount: bigint, ...tiers: [min: number, max: number, price_sun: bigint][]) => {
    const energy = tiers.map(([min, max, price_sun]) => tier(min, max, price_sun))
    const bandwidth: Tier = { ...tier(1, 9_000, 10_000n), resource: 'bandwidth' }
    return leastPriceOf({ ...prices, tiers: [bandwidth, ...energy] }, amount)
  }
  const small = [100, 199, 2_000_000n] as const
  const large = [200, 300, 900_000n] as const
  assert.equal(least(100n), undefined)
  assert.equal(least(150n, [...small]), 300_000n)
  assert.equal(least(50n, [...small]), 200_000n)
  // More than is wanted is had for less.
  assert.equal(least(150n, [...small], [...large]), 180_000n)
  assert.equal(least(199n, [...small], [1_000, 2_000, 900_000n]), 400_000n)
  // What no order can have is as dear as in the largest.
  assert.equal(least(300n, [...large], [...small]), 270_000n)
  assert.equal(least(301n, [...small], [...large]), 270_000n)
  assert.equal(least(400n, [...large], [...small]), 360_000n)
})

test('what is in force and switched on is read, activations while they can be paid', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update price set until = now() where min_amount <> 131000`
  await sql`update fee set until = now()`
  await assert.rejects(readPrices(sql), /the fee for an activation has no price/)
  await sql`
    insert into fee (name, price_sun, changed_by) values ('activate_address', 7, 'test')`
  await sql`update service set on_sale = name <> 'bandwidth'`
  const read = await readPrices(sql)
  assert.deepEqual(
    read.tiers.map(({ min_amount }) => min_amount),
    [131_000],
  )
  assert.equal(read.activation_sun, 7n)
  assert.deepEqual(
    [...read.on_sale].toSorted().filter((name) => !name.startsWith('sub')),
    ['activate_address', 'direct_recharge', 'energy'],
  )
  const activates = async (left: number) => {
    const clock = { now: () => new Date('2026-10-08T15:26:32Z') }
    const prices = await priceReader({ sql, clock, activationsLeft: async () => left })()
    return [prices.on_sale.has('activate_address'), prices.on_sale.has('energy')]
  }
  assert.deepEqual(await activates(1), [true, true])
  assert.deepEqual(await activates(0), [false, true])
})
