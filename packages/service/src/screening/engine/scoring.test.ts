import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CATEGORIES, CATEGORY_COUNT, categoryNumber } from '../flow/categories.ts'
import { groupOf, requirePolicy, SHIPPED_NEWEST, SHIPPED_POLICY } from './policy.ts'
import {
  barred,
  levelOf,
  noExposure,
  printUsd,
  publishedShares,
  readUsd,
  roundHalfEven,
  type Subject,
  scoreOf,
  VALUE_PER_USD,
  worth,
} from './scoring.ts'

const k = (name: string) => categoryNumber(name)!
const usd = (dollars: number) => (BigInt(Math.round(dollars * 100)) * VALUE_PER_USD) / 100n

function subject(
  amounts: Record<string, number>,
  more: Partial<Subject> & { directly?: Record<string, number> } = {},
): Subject {
  const { directly = {}, ...rest } = more
  const exposure = noExposure()
  for (const [name, dollars] of Object.entries(amounts)) exposure.amounts[k(name)] = usd(dollars)
  for (const [name, dollars] of Object.entries(directly)) exposure.direct[k(name)] = usd(dollars)
  return {
    exposure,
    own: undefined,
    by_transfer: false,
    destinations: undefined,
    blacklisted_by: [],
    allowed: false,
    ...rest,
  }
}
const score = (given: Subject) => scoreOf(SHIPPED_POLICY, given)

test('an address without history is unidentified, 25.0 and low', () => {
  const { factors, score: points, level, blacklist } = score(subject({}))
  assert.deepEqual(factors, [
    { name: 'unidentified', label: 'Unidentified', group: 'low', score: 1 },
  ])
  assert.deepEqual([points, level, blacklist], ['25.0', 'low', false])
})

test('the least value that there is makes a history: it is no unknown any more', () => {
  const given = subject({})
  given.exposure.amounts[k('payment')] = 1n
  const { factors, score: points } = score(given)
  assert.deepEqual([factors.map(({ name }) => name), points], [['payment'], '0.0'])
})

test('the score is the mean of the weights by share', () => {
  const { factors, score: points } = score(
    subject({ exchange_licensed: 60, exchange_unlicensed: 30, payment: 10 }),
  )
  assert.equal(points, '24.0')
  assert.deepEqual(
    factors.map(({ name, group, score }) => [name, group, score]),
    [
      ['exchange_licensed', 'low', 0.6],
      ['exchange_unlicensed', 'medium', 0.3],
      ['payment', 'low', 0.1],
    ],
  )
})

test('equal factors are listed by name', () => {
  const { factors } = score(subject({ wallet: 1, bridge: 1, atm: 1, miner: 1 }))
  assert.deepEqual(
    factors.map(({ name }) => name),
    ['atm', 'bridge', 'miner', 'wallet'],
  )
})

test('published shares sum to exactly one, whatever the amounts', () => {
  const amounts = fc.array(fc.bigInt(0n, 2n ** 90n), {
    minLength: CATEGORY_COUNT,
    maxLength: CATEGORY_COUNT,
  })
  fc.assert(
    fc.property(amounts, (all) => {
      fc.pre(all.some((amount) => amount > 0n))
      const shares = publishedShares(all)
      assert.equal(
        shares.reduce((a, b) => a + b, 0),
        10_000,
      )
      const total = all.reduce((a, b) => a + b, 0n)
      for (const [i, share] of shares.entries()) {
        const exact = Number((all[i]! * 10n ** 12n) / total) / 1e8
        assert.ok(Math.abs(share - exact) < 1.0001, `${share} for ${exact}`)
      }
    }),
  )
})

test('thirds are published as 0.3334 for the first category and 0.3333 for the others', () => {
  assert.deepEqual(
    publishedShares([1n, 1n, 1n, ...Array<bigint>(25).fill(0n)]).slice(0, 3),
    [3334, 3333, 3333],
  )
})

test('a share below a ten-thousandth is not listed, and still counts in the mean', () => {
  const { factors } = score(subject({ payment: 1_000_000, gambling: 1 }))
  assert.deepEqual(
    factors.map(({ name, score }) => [name, score]),
    [['payment', 1]],
  )
})

test('a half is rounded to the even tenth', () => {
  assert.deepEqual(
    [5n, 15n, 25n, 26n, 24n].map((n) => roundHalfEven(n, 10n)),
    [0n, 2n, 2n, 3n, 2n],
  )
  // 0.25 * 10 + 0.75 * 0.6 ... : 12.25 is printed as 12.2, 12.35 as 12.4.
  assert.equal(score(subject({ wallet: 49, payment: 51 })).score, '12.2')
  assert.equal(score(subject({ wallet: 49.4, payment: 50.6 })).score, '12.4')
})

test('direct severe money raises the score to 75 from half a percent and 100 dollars on', () => {
  const at = (dollars: number, of: number) =>
    score(subject({ mixer: dollars, payment: of - dollars }, { directly: { mixer: dollars } }))
      .score
  assert.equal(at(100, 20_000), '75.0')
  assert.equal(at(99.99, 19_000), '0.5')
  assert.equal(at(100, 20_000.01), '0.5')
})

test('indirect money of a severe category raises it to 70 or to 31', () => {
  const at = (dollars: number, of: number) =>
    score(subject({ scam: dollars, payment: of - dollars })).score
  assert.equal(at(1_000, 20_000), '70.0')
  assert.equal(at(999, 19_980), '31.0')
  assert.equal(at(1_000, 20_001), '31.0')
  assert.equal(at(100, 10_000), '31.0')
  assert.equal(at(99, 9_900), '1.0')
})

test('what came directly does not count once more as what came by others', () => {
  // Directly it is too little for its floor, a thousand of it by others would raise to 70.
  const given = { scam: 10_000, payment: 9_990_000 }
  const rules = (directly: number) =>
    score(subject(given, { directly: { scam: directly } })).floors.map(({ rule }) => rule)
  assert.deepEqual(rules(10_000), ['direct_amount'])
  const most = { mixer: 1_000, payment: 9_000 }
  const { floors } = score(subject(most, { directly: { mixer: 1_000 } }))
  assert.deepEqual(
    floors.map(({ rule }) => rule),
    ['direct', 'combined'],
  )
  const { floors: by_others } = score(subject(most, { directly: { mixer: 0 } }))
  assert.deepEqual(
    by_others.map(({ rule }) => rule),
    ['indirect', 'indirect', 'combined'],
  )
})

test('severe categories that are small one by one count together', () => {
  const { score: points, floors } = score(
    subject({ scam: 400, ransom: 400, mixer: 400, payment: 18_800 }),
  )
  assert.equal(points, '70.0')
  assert.deepEqual(floors.at(-1), {
    rule: 'combined',
    category: null,
    points: { over: 70n, under: 1n },
  })
})

test('ten thousand dollars directly from a severe category count at any share', () => {
  const given = { mixer: 10_000, payment: 90_000_000 }
  assert.equal(score(subject(given, { directly: { mixer: 10_000 } })).score, '31.0')
  assert.equal(score(subject(given)).score, '0.0')
})

test('a terminal address is its own category, and no exposure acts', () => {
  const own = { category: k('exchange_licensed'), confidence: 50 }
  const { factors, score: points, level } = score(subject({ mixer: 5_000 }, { own }))
  assert.deepEqual(
    [factors.map(({ name, score }) => [name, score]), points, level],
    [[['exchange_licensed', 1]], '10.0', 'low'],
  )
})

test('a soft label leaves the shares and raises the score by its confidence', () => {
  const own = (name: string, confidence: number) => ({ own: { category: k(name), confidence } })
  assert.equal(score(subject({ payment: 10 }, own('scam', 30))).score, '50.0')
  assert.equal(score(subject({ payment: 10 }, own('gambling', 49))).score, '61.2')
  assert.equal(score(subject({ payment: 10 }, own('exchange_unlicensed', 49))).score, '0.0')
})

test("a judged transfer's sender keeps the exposure of that transfer, and its own floor", () => {
  const own = { category: k('gambling'), confidence: 100 }
  const given = subject({ gambling: 100 }, { own, by_transfer: true, directly: { gambling: 100 } })
  assert.deepEqual([score(given).score, score(given).level], ['75.0', 'high'])
})

test('what a recipient sent to severe services acts for withdrawals only', () => {
  const amounts = noExposure().amounts
  amounts[k('mixer')] = usd(100)
  assert.equal(
    score(subject({ payment: 10 }, { destinations: { amounts, sent: usd(20_000) } })).score,
    '75.0',
  )
  assert.equal(
    score(subject({ payment: 10 }, { destinations: { amounts, sent: usd(20_001) } })).score,
    '0.0',
  )
  assert.equal(score(subject({ payment: 10 })).score, '0.0')
})

test('a blacklist match is 100 and high, and cannot be allowed away', () => {
  const given = subject({ payment: 10 }, { blacklisted_by: ['ofac_sdn'], allowed: true })
  const { score: points, level, blacklist } = score(given)
  assert.deepEqual([points, level, blacklist], ['100.0', 'high', true])
})

test('an allowed address keeps the weighted mean; the score that it would have is told', () => {
  const given = subject({ mixer: 200, payment: 9_800 }, { directly: { mixer: 200 }, allowed: true })
  const { score: points, raw_score, level } = score(given)
  assert.deepEqual([points, raw_score, level], ['2.0', '75.0', 'low'])
})

test('the level follows the rounded score', () => {
  const at = (dollars: number) =>
    score(subject({ exchange_fraudulent: dollars, payment: 10_000 - dollars }))
  assert.deepEqual([at(6_994).score, at(6_994).level], ['69.9', 'medium'])
  assert.deepEqual([at(6_996).score, at(6_996).level], ['70.0', 'high'])
  assert.deepEqual([at(2_994).level, at(2_996).level], ['low', 'medium'])
})

test('more of a category of weight 1 never lowers the score', () => {
  const dollars = fc.integer({ min: 0, max: 1_000_000 })
  const worst = fc.constantFrom(
    ...CATEGORIES.filter(({ weight }) => weight === 100).map(({ name }) => name),
  )
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...CATEGORIES.map(({ name }) => name)), dollars),
      worst,
      dollars,
      (given, name, more) => {
        fc.pre(Object.values(given).some((amount) => amount > 0))
        const before = Number(score(subject(given)).base_score)
        const after = Number(
          score(subject({ ...given, [name]: (given[name] ?? 0) + more })).base_score,
        )
        assert.ok(after >= before, `${before} -> ${after}`)
      },
    ),
  )
})

test('the unit in which an asset counts makes no difference', () => {
  const six = worth(1_500_000n, { decimals: 6, micro_usd: 300_000 })
  const eighteen = worth(1_500_000_000_000_000_000n, { decimals: 18, micro_usd: 300_000 })
  assert.equal(six, eighteen)
  assert.equal(six, usd(0.45))
})

test('groups follow the weights', () => {
  assert.deepEqual([0, 25, 26, 74, 75, 100].map(groupOf), [
    'low',
    'low',
    'medium',
    'medium',
    'high',
    'high',
  ])
})

test('a policy that lacks something or is out of range is refused with a sentence', () => {
  assert.equal(requirePolicy(SHIPPED_POLICY, 5).version, 5)
  const { direct: _, ...lacking } = SHIPPED_POLICY
  assert.throws(() => requirePolicy(lacking, 2), /no proper direct/)
  assert.throws(() => requirePolicy({ ...SHIPPED_POLICY, high_from: 101 }, 2), /high_from/)
  assert.throws(() => requirePolicy({ ...SHIPPED_POLICY, severe: ['fun'] }, 2), /no category fun/)
  assert.throws(
    () => requirePolicy({ ...SHIPPED_POLICY, weights: { sanctions: 100 } }, 2),
    /weight of/,
  )
})

const P2 = requirePolicy(SHIPPED_NEWEST, 2)
const counted = (amounts: Record<string, number>, directly: Record<string, number> = {}) =>
  subject(amounts, { directly }).exposure

test('p2: money sent to and fro dilutes nothing, for what is new is the mean', () => {
  const gross = { stolen_coins: 3_000, exchange_licensed: 297_000 }
  const net_new = counted({ stolen_coins: 3_000, exchange_licensed: 1_000 })
  assert.equal(score(subject(gross)).score, '31.0', 'p1 takes it')
  const { score: points, base_score, factors } = scoreOf(P2, { ...subject(gross), net_new })
  assert.deepEqual([base_score, points], ['77.5', '77.5'])
  assert.equal(factors[0]!.name, 'exchange_licensed', 'factors are of all that was received')
})

test('p2: the worst of what is counted raises the score, and is named', () => {
  const gross = { stolen_coins: 4_000, exchange_licensed: 996_000 }
  const recent = counted({ stolen_coins: 4_000, exchange_licensed: 40_000 })
  const given = { ...subject(gross), net_new: counted(gross), recent }
  const { score: points, floors } = scoreOf(P2, given)
  assert.equal(points, '70.0')
  assert.deepEqual(
    floors.map(({ rule, of }) => [rule, of]),
    [
      ['indirect', 'recent'],
      ['indirect', 'recent'],
      ['combined', 'recent'],
    ],
  )
  assert.equal(scoreOf(P2, { ...given, recent: counted({}) }).score, '10.4')
})

test('p2: severe money raises by its amount alone, once for each unit', () => {
  const much = (stolen: number, direct: number) =>
    subject(
      { stolen_coins: stolen, exchange_licensed: 10_000_000 },
      { directly: { stolen_coins: direct } },
    )
  const scored = (given: Subject) => scoreOf(P2, { ...given, net_new: given.exposure }).score
  assert.equal(scored(much(999.99, 999.99)), '10.0')
  assert.equal(scored(much(1_000, 1_000)), '70.0')
  assert.equal(scored(much(9_999, 0)), '10.1')
  assert.equal(scored(much(10_000, 0)), '70.0')
  const moved = much(10_000, 0)
  const net_new = counted({ stolen_coins: 100, exchange_licensed: 100_000 })
  assert.equal(scoreOf(P2, { ...moved, net_new }).score, '10.1', 'the same hundred, often')
})

test('p2: dust moves the score by no more than its weight times its share', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9_999 }),
      fc.integer({ min: 10_000, max: 1_000_000 }),
      fc.integer({ min: 1, max: 50 }),
      (cents, clean, trips) => {
        const dust = cents / 100
        const amounts = { mixer: dust, exchange_licensed: clean }
        const gross = counted({ mixer: dust, exchange_licensed: clean * trips })
        const given = { ...subject({}), exposure: gross, net_new: counted(amounts) }
        const points = Number(scoreOf(P2, { ...given, recent: counted(amounts) }).score)
        assert.ok(points <= 10 + (100 * dust) / (dust + clean) + 0.05)
      },
    ),
  )
})

test('a policy that does not say what it counts means all that was received', () => {
  const { counts: _, indirect_amount: __, ...older } = SHIPPED_POLICY
  assert.deepEqual(requirePolicy(older, 1), SHIPPED_POLICY)
  assert.throws(() => requirePolicy({ ...P2, counts: [] }, 2), /counts/)
  assert.throws(() => requirePolicy({ ...P2, counts: ['net'] }, 2), /counts/)
})

test('of nothing no floor acts, though one of share and amount nought would', () => {
  const always = [{ share_bp: 0, usd: 0, points: 90 }]
  const policy = {
    ...P2,
    direct: always,
    indirect: always,
    combined: always,
    destination: always,
    destination_indirect: always,
  }
  const given = subject(
    { payment: 10 },
    { destinations: { amounts: noExposure().amounts, sent: 0n } },
  )
  assert.deepEqual(scoreOf(policy, given).floors, [])
  given.exposure.amounts[k('mixer')] = 1n
  const rules = scoreOf(policy, given).floors.map(({ rule }) => rule)
  assert.deepEqual(rules, ['indirect', 'combined'])
})

test('where what was sent has ended raises the score, and is listed apart', () => {
  const ended = counted({ mixer: 1_000, payment: 19_000 })
  const clean = { ...subject({ payment: 10 }), net_new: counted({ payment: 10 }) }
  const { score: points, floors, sent_factors } = scoreOf(P2, { ...clean, ended })
  assert.deepEqual(
    [points, floors.map(({ rule }) => rule)],
    ['70.0', ['destination_indirect', 'destination_indirect']],
  )
  assert.deepEqual(
    sent_factors!.map(({ name, score: share }) => [name, share]),
    [
      ['payment', 0.95],
      ['mixer', 0.05],
    ],
  )
  assert.deepEqual(scoreOf(P2, clean).sent_factors, [])
  assert.deepEqual(scoreOf(P2, { ...clean, ended: noExposure() }).sent_factors, [])
  const directly = counted({ mixer: 1_000, payment: 19_000 }, { mixer: 1_000 })
  assert.equal(scoreOf(P2, { ...clean, ended: directly }).score, '0.0', 'it counts as sent')
  const own = { category: k('exchange_licensed'), confidence: 50 }
  const replaced = scoreOf(P2, { ...clean, ended, own })
  assert.deepEqual([replaced.score, replaced.sent_factors], ['10.0', []])
})

test('a level begins at its points, and a blacklisted one is high whatever its points', () => {
  const policy = { ...P2, medium_from: 30, high_from: 70 }
  const at = (tenths: bigint, blacklist = false) => levelOf(policy, tenths, blacklist)
  assert.deepEqual(
    [at(0n), at(299n), at(300n), at(699n), at(700n), at(1000n), at(0n, true)],
    ['low', 'low', 'medium', 'medium', 'high', 'high', 'high'],
  )
})

test('an outcome says the points it would have without an allowance or a list', () => {
  const given = subject({ mixer: 200, payment: 9_800 }, { directly: { mixer: 200 } })
  const listed = score({ ...given, blacklisted_by: ['list'] })
  assert.deepEqual([listed.raw_score, listed.base_score, listed.score], ['100.0', '2.0', '100.0'])
  const plain = score(given)
  assert.deepEqual([plain.raw_score, plain.base_score, plain.score], ['75.0', '2.0', '75.0'])
  assert.deepEqual(
    [barred(plain).score, barred(plain).level, barred(plain).blacklist, barred(plain).base_score],
    ['100.0', 'high', true, '2.0'],
  )
})

test('what is new counts as far as there is any, and all of it otherwise', () => {
  const gross = { stolen_coins: 100, payment: 900 }
  const only_new = { ...P2, counts: ['net_new' as const] }
  assert.equal(scoreOf(only_new, subject(gross)).base_score, '10.0')
  const { floors } = scoreOf(only_new, subject({ scam: 1_000, payment: 9_000 }))
  assert.deepEqual(floors.at(-1)?.rule, 'combined')
  const least = noExposure()
  least.amounts[k('gambling')] = 1n
  assert.equal(scoreOf(only_new, { ...subject(gross), net_new: least }).base_score, '75.0')
  assert.equal(scoreOf(only_new, { ...subject(gross), net_new: noExposure() }).base_score, '10.0')
  const recent = { ...P2, counts: ['recent' as const, 'gross' as const] }
  const { base_score } = scoreOf(recent, { ...subject(gross), recent: counted({ gambling: 5 }) })
  assert.equal(base_score, '75.0', 'without what is new the first that is counted is the mean')
})

test('dollars are read as they are printed, with cents or without', () => {
  for (const text of ['0.00', '0.01', '0.10', '12.34', '1000000.99'])
    assert.equal(printUsd(readUsd(text)), text)
  assert.deepEqual([readUsd('7'), readUsd('7.5')], [readUsd('7.00'), readUsd('7.50')])
  assert.equal(printUsd(VALUE_PER_USD / 100n - 1n), '0.00', 'cut off')
})
