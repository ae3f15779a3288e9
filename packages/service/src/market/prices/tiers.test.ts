// Tiers on rows written by hand: which of them a change ends, and which stay.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isLockTimeout } from 'penstock-test/harness/own_transaction.ts'
import type { Resource } from '../../chain/node/node.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { NewTier } from './forms.ts'
import {
  type PriceRow,
  planTiers,
  priceHistory,
  pricesInForce,
  removePrice,
  ruledTiers,
  setPrices,
} from './tiers.ts'

const begun = new Date('2026-10-01T00:00:00Z')
const ended = new Date('2026-10-02T00:00:00Z')
const at = new Date('2026-10-08T15:26:32Z')

const tier = (min_amount: number, max_amount: number, price_sun: number): NewTier => ({
  min_amount: BigInt(min_amount),
  max_amount: BigInt(max_amount),
  price_sun: BigInt(price_sun),
})

type Row = [resource: Resource, min: number, max: number, price_sun: number, until?: Date]

const ROWS: Row[] = [
  ['energy', 10, 19, 5_000],
  ['energy', 20, 29, 7_000],
  ['energy', 10, 19, 4_000, ended],
  ['energy', 50, 59, 4_000, ended],
  ['bandwidth', 10, 19, 50_000],
  ['bandwidth', 70, 79, 60_000],
]

/** A database with these tiers alone, and a customer who is told of changes. */
async function withTiers(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: begun }))
  await sql`delete from price`
  await sql`delete from event_note`
  for (const [resource, min, max, price_sun, until = null] of ROWS)
    await sql`
      insert into price (resource, min_amount, max_amount, price_sun, since, until, changed_by)
      values (${resource}, ${min}, ${max}, ${price_sun}, ${begun}, ${until}, 'olga')`
  return sql
}

/** Each in the order in which it was made, with its end where it has one. */
async function rowsOf(sql: Sql): Promise<string[]> {
  const rows = await sql<PriceRow>`select * from price order by id`
  return rows.map(({ resource, min_amount, max_amount, price_sun, base_sun, until }) => {
    const base = base_sun === null ? '' : ` of ${base_sun}`
    const end = until === null ? '' : ` until ${until.getUTCDate()}`
    return `${resource} ${min_amount}-${max_amount}: ${price_sun}${base}${end}`
  })
}

const BEFORE = [
  'energy 10-19: 5000',
  'energy 20-29: 7000',
  'energy 10-19: 4000 until 2',
  'energy 50-59: 4000 until 2',
  'bandwidth 10-19: 50000',
  'bandwidth 70-79: 60000',
]

/** Those that are there before, with some at the places that are named changed. */
const changedAt = (changes: Record<number, string>, ...added: string[]) => [
  ...BEFORE.map((row, i) => changes[i] ?? row),
  ...added,
]

type Note = { subject: string; data: string }

const notesOf = async (sql: Sql): Promise<string[]> =>
  (await sql<Note>`select subject, data from event_note order by id`).map(({ subject, data }) => {
    const { tiers } = JSON.parse(data) as { tiers: { min_amount: number; price: number }[] }
    return `${subject} ${tiers.map(({ min_amount, price }) => `${min_amount}=${price}`)}`
  })

const remove = (sql: Sql, resource: Resource, min: number, max: number) =>
  sql.begin((tx) =>
    removePrice(tx, { resource, min_amount: BigInt(min), max_amount: BigInt(max), at }),
  )

const set = (sql: Sql, tiers: NewTier[], replace = false, resource: Resource = 'energy') =>
  sql.begin((tx) =>
    setPrices(tx, { resource, tiers, replace, confirmed: false, at, changed_by: 'nina' }),
  )

test('a tier is removed by both of its ends and its resource, and no other row', async (t) => {
  const sql = await withTiers(t)
  const wrong: [Resource, number, number, string][] = [
    ['energy', 10, 18, 'in force: 10-19, 20-29'],
    ['energy', 11, 19, 'in force: 10-19, 20-29'],
    ['energy', 10, 29, 'in force: 10-19, 20-29'],
    // It has ended, and is of the other resource.
    ['energy', 50, 59, 'in force: 10-19, 20-29'],
    ['energy', 70, 79, 'in force: 10-19, 20-29'],
  ]
  for (const [resource, min, max, found] of wrong)
    await assert.rejects(remove(sql, resource, min, max), {
      message: `No tier of ${resource} goes from ${min} to ${max}; ${found}.`,
    })
  assert.deepEqual([await rowsOf(sql), await notesOf(sql)], [BEFORE, []])
  const { result, actions } = await remove(sql, 'energy', 10, 19)
  assert.deepEqual(await rowsOf(sql), changedAt({ 0: 'energy 10-19: 5000 until 8' }))
  assert.deepEqual(
    result.map(({ min_amount, resource }) => [resource, min_amount]),
    [['energy', 20n]],
  )
  const [before, after] = [{ '10-19': '0.005', '20-29': '0.007' }, { '20-29': '0.007' }]
  assert.deepEqual(actions, [{ subject: 'price:energy', before, after }])
  assert.deepEqual(await notesOf(sql), ['price:energy 20=0.007'])
  await assert.rejects(remove(sql, 'energy', 10, 19), /in force: 20-29\.$/)
  await remove(sql, 'energy', 20, 29)
  await assert.rejects(remove(sql, 'energy', 20, 29), /none is in force\.$/)
})

test('new tiers begin, those of their ranges end, and customers are told once', async (t) => {
  const sql = await withTiers(t)
  const same = await set(sql, [tier(10, 19, 5_000)])
  assert.deepEqual([same.actions, same.changes], [[], []])
  assert.deepEqual([await rowsOf(sql), await notesOf(sql)], [BEFORE, []])
  const one = await set(sql, [tier(10, 19, 6_000)])
  assert.deepEqual(one.changes, [{ what: '10-19', before: 5_000n, after: 6_000n }])
  const first = 'energy 10-19: 6000'
  assert.deepEqual(await rowsOf(sql), changedAt({ 0: 'energy 10-19: 5000 until 8' }, first))
  const [before, after] = [
    { '10-19': '0.005', '20-29': '0.007' },
    { '10-19': '0.006', '20-29': '0.007' },
  ]
  assert.deepEqual(one.actions, [{ subject: 'price:energy', before, after }])
  assert.deepEqual(await notesOf(sql), ['price:energy 10=0.006,20=0.007'])
  // One goes without another in its place.
  const gone = await set(sql, [tier(10, 19, 6_000)], true)
  assert.deepEqual([gone.actions.length, gone.changes], [1, []])
  const second = [
    ...changedAt({ 0: 'energy 10-19: 5000 until 8', 1: 'energy 20-29: 7000 until 8' }),
  ]
  assert.deepEqual(await rowsOf(sql), [...second, first])
  // One that takes the place of two, and one where there was none.
  const whole = await set(sql, [tier(10, 90, 55_000)], true, 'bandwidth')
  assert.deepEqual(whole.changes, [
    { what: '10-90', before: 50_000n, after: 55_000n },
    { what: '10-90', before: 60_000n, after: 55_000n },
  ])
  const fresh = await set(sql, [tier(80, 89, 9_000), tier(90, 99, 9_000)])
  assert.deepEqual(fresh.changes, [
    { what: '80-89', before: undefined, after: 9_000n },
    { what: '90-99', before: undefined, after: 9_000n },
  ])
  assert.equal(fresh.actions.length, 1)
  assert.deepEqual((await notesOf(sql)).slice(1), [
    'price:energy 10=0.006',
    'price:bandwidth 10=0.055',
    'price:energy 10=0.006,80=0.009,90=0.009',
  ])
  await assert.rejects(set(sql, [tier(80, 89, 900)]), /Nothing is changed/)
})

type Plan = { ended: number[]; fresh: number[]; staying: number[] }

test('a tier ends where one of its very range begins, or where all are replaced', () => {
  const before = [tier(10, 19, 5), tier(20, 29, 7), tier(40, 49, 8)].map((one, i): PriceRow => {
    const base_sun = i === 1 ? 6n : null
    return { ...one, base_sun, resource: 'energy', since: begun, until: null, changed_by: 'olga' }
  })
  const all = [10, 20, 40]
  const rows: [what: string, tiers: NewTier[], replace: boolean, plan: Plan | RegExp][] = [
    ['the same', [tier(10, 19, 5)], false, { ended: [], fresh: [], staying: all }],
    ['dearer', [tier(10, 19, 6)], false, { ended: [10], fresh: [10], staying: [20, 40] }],
    ['as was set', [tier(20, 29, 6)], false, { ended: [], fresh: [], staying: all }],
    ['as raised', [tier(20, 29, 7)], false, { ended: [20], fresh: [20], staying: [10, 40] }],
    ['alone', [tier(10, 19, 5)], true, { ended: [20, 40], fresh: [], staying: [10] }],
    ['alone, dearer', [tier(10, 19, 6)], true, { ended: all, fresh: [10], staying: [] }],
    ['between', [tier(30, 39, 5)], false, { ended: [], fresh: [30], staying: all }],
    ['below all', [tier(9, 9, 5)], false, { ended: [], fresh: [9], staying: all }],
    ['the first unit', [tier(9, 10, 5)], false, /9-10 overlaps the tier 10-19 of energy/],
    ['the last unit', [tier(29, 39, 5)], false, /29-39 overlaps the tier 20-29 of energy/],
    ['its start alone', [tier(10, 18, 5)], false, /10-18 overlaps the tier 10-19 of energy/],
    ['its end alone', [tier(11, 19, 5)], false, /11-19 overlaps the tier 10-19 of energy/],
    ['wider', [tier(10, 18, 5)], true, { ended: all, fresh: [10], staying: [] }],
    ['twins', [tier(50, 59, 1), tier(59, 60, 1)], false, /^50-59 and 59-60 overlap/],
    ['twins, turned', [tier(59, 60, 1), tier(50, 59, 1)], false, /^59-60 and 50-59 overlap/],
    [
      'neighbours',
      [tier(60, 69, 1), tier(50, 59, 1), tier(70, 70, 1)],
      false,
      { ended: [], fresh: [60, 50, 70], staying: all },
    ],
  ]
  const startsOf = (tiers: readonly NewTier[]) => tiers.map(({ min_amount }) => Number(min_amount))
  for (const [what, tiers, replace, plan] of rows) {
    const made = () => planTiers(before, { resource: 'energy', tiers, replace })
    if (plan instanceof RegExp) assert.throws(made, { message: plan }, what)
    else {
      const { ended, fresh, staying } = made()
      const starts = { ended: startsOf(ended), fresh: startsOf(fresh), staying: startsOf(staying) }
      assert.deepEqual(starts, plan, what)
    }
  }
})

const setRaise = (sql: Sql, resource: Resource, raise_percent: number) => sql`
  insert into price_rule (resource, steps, raise_percent, raised_at, looked_at, set_at, set_by)
  values (${resource}, '[{"full_percent":1,"raise_percent":50}]', ${raise_percent}, ${at}, ${at},
    ${at}, 'olga')`

test('a new tier is raised by the rule of its own resource at once', async (t) => {
  const sql = await withTiers(t)
  await setRaise(sql, 'bandwidth', 50)
  await set(sql, [tier(30, 39, 8_000)])
  await set(sql, [tier(30, 39, 80_000)], false, 'bandwidth')
  const raised = 'bandwidth 30-39: 120000 of 80000'
  assert.deepEqual((await rowsOf(sql)).slice(-2), ['energy 30-39: 8000', raised])
  const wanted = [tier(1, 2, 80_000), tier(3, 4, 10_001)]
  const prices = async (resource: Resource) =>
    (await ruledTiers(sql, resource, wanted)).map(({ price_sun }) => price_sun)
  assert.deepEqual(await prices('energy'), [80_000n, 10_001n])
  assert.deepEqual(await prices('bandwidth'), [120_000n, 15_002n])
})

test('a change of prices waits for the rule of its own resource, and for no other', async (t) => {
  const sql = await withTiers(t)
  await setRaise(sql, 'energy', 0)
  await setRaise(sql, 'bandwidth', 0)
  await sql.begin(async (other) => {
    await other`select from price_rule where resource = 'bandwidth' for update`
    const without = (resource: Resource) =>
      sql.begin(async (tx) => {
        await tx`set local lock_timeout = '50ms'`
        return removePrice(tx, { resource, min_amount: 10n, max_amount: 19n, at })
      })
    assert.equal((await without('energy')).actions.length, 1)
    await assert.rejects(without('bandwidth'), isLockTimeout)
  })
})

test('what is in force is one list, and all that ever was another, of one or both', async (t) => {
  const sql = await withTiers(t)
  const names = (rows: Pick<PriceRow, 'resource' | 'min_amount'>[]) =>
    rows.map(({ resource, min_amount }) => `${resource} ${min_amount}`)
  const energy = ['energy 10', 'energy 20']
  const bandwidth = ['bandwidth 10', 'bandwidth 70']
  const now = await pricesInForce(sql)
  assert.deepEqual(names(now), [...energy, ...bandwidth])
  assert.deepEqual([now[0]!.cost_of_min_sun, now[3]!.cost_of_max_sun], [10_000n, 10_000n])
  const history = async (resource: Resource | undefined, limit = 9) =>
    names(await priceHistory(sql, { resource, limit }))
  assert.equal((await history(undefined)).length, 6)
  assert.deepEqual((await history('energy')).length, 4)
  assert.deepEqual(await history('bandwidth'), bandwidth)
  assert.deepEqual(await history('bandwidth', 1), bandwidth.slice(0, 1))
})
