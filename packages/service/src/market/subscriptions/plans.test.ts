// Plans on sale, and how they are changed: on rows of the database.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { findPlan, listPlans, type PlanTerms, planHistory, removePlan, setPlan } from './plans.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const SHIPPED = ['unlimited_energy', 'energy_pack_100']

class PlanBook {
  readonly sql: Sql
  changes = 0

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<PlanBook> {
    const { sql } = await freshDatabase(t)
    await sql`update plan set since = ${later(clock, -1_000)}`
    return new PlanBook(sql)
  }

  /** Each change is a second after the one before. */
  set(key: string, terms: Partial<PlanTerms>, confirmed = false) {
    const at = later(clock, ++this.changes * 1_000)
    return this.sql.begin((tx) => setPlan(tx, { key, terms, confirmed, at, changed_by: 'olga' }))
  }

  remove(key: string, at = now) {
    return this.sql.begin((tx) => removePlan(tx, { key, at }))
  }

  async keys(): Promise<string[]> {
    return (await listPlans(this.sql)).map(({ key }) => key)
  }
}

const NEW: Partial<PlanTerms> = { name: 'Night', initial_price_sun: 4n, price_sun: 2n }

test('plans on sale are listed, in the order of their first versions', async (t) => {
  const shelf = await PlanBook.of(t)
  await shelf.set('night', NEW)
  await shelf.set('unlimited_energy', { price_sun: 2_700_000n })
  assert.deepEqual(await shelf.keys(), [...SHIPPED, 'night'])
  await shelf.remove('energy_pack_100')
  assert.deepEqual(await shelf.keys(), ['unlimited_energy', 'night'])
  const found = async (key: string) => (await findPlan(shelf.sql, key))?.price_sun
  assert.deepEqual(
    [await found('unlimited_energy'), await found('night'), await found('energy_pack_100')],
    [2_700_000n, 2n, undefined],
  )
  assert.equal(await found('absent'), undefined)
})

test('a new plan needs a name and its prices, and has for the rest what is usual', async (t) => {
  const shelf = await PlanBook.of(t)
  for (const missing of Object.keys(NEW)) {
    const terms = Object.fromEntries(Object.entries(NEW).filter(([term]) => term !== missing))
    await assert.rejects(shelf.set('night', terms), /no plan night: a new one needs/, missing)
  }
  const { actions, changes } = await shelf.set('night', NEW)
  const after = {
    name: 'Night',
    activation_fee_sun: 0n,
    initial_price_sun: 4n,
    price_sun: 2n,
    included: 0,
    transactions_limit: 0,
    duration_days: 0,
    energy_per_transaction: 65_000,
    idle_hours: 2,
  }
  assert.deepEqual(actions, [{ subject: 'plan:night', before: null, after }])
  assert.deepEqual(changes, [
    { what: 'activation fee', before: undefined, after: 0n },
    { what: 'initial price', before: undefined, after: 4n },
    { what: 'price', before: undefined, after: 2n },
  ])
})

test('a change keeps what is not given, ends the version before, and no other plan', async (t) => {
  const shelf = await PlanBook.of(t)
  const [before] = await listPlans(shelf.sql)
  const { result, actions, changes } = await shelf.set('unlimited_energy', {
    included: 3,
    price_sun: 2_700_000n,
  })
  assert.deepEqual(changes, [{ what: 'price', before: 2_800_000n, after: 2_700_000n }])
  const [{ before: old, after }] = actions as unknown as [{ before: PlanTerms; after: PlanTerms }]
  assert.deepEqual(
    [old.included, old.price_sun, after.included, after.price_sun, after.initial_price_sun],
    [2, 2_800_000n, 3, 2_700_000n, 6_000_000n],
  )
  assert.deepEqual([result[0]!.included, result[0]!.changed_by], [3, 'olga'])
  assert.notEqual(result[0]!.id, before!.id)
  const ends = await shelf.sql<{ key: string; until: Date | null }>`
    select key, until from plan order by id`
  assert.deepEqual(ends, [
    { key: 'unlimited_energy', until: later(clock, 1_000) },
    { key: 'energy_pack_100', until: null },
    { key: 'unlimited_energy', until: null },
  ])
  const { result: next } = await shelf.set('unlimited_energy', { included: 4 })
  assert.equal(next[0]!.price_sun, 2_700_000n, 'of the version before')
  const [first] = await shelf.sql`select until from plan order by id`
  assert.deepEqual(first, { until: later(clock, 1_000) }, 'an end is set once')
})

test('what is as it was makes no version and no record', async (t) => {
  const shelf = await PlanBook.of(t)
  const same = await shelf.set('unlimited_energy', { included: 2, price_sun: 2_800_000n })
  assert.deepEqual(same.actions, [])
  assert.deepEqual(await shelf.set('energy_pack_100', {}), same)
  assert.equal((await planHistory(shelf.sql, { limit: 9 })).length, 2)
})

test('a plan costs nothing only where that is confirmed', async (t) => {
  const shelf = await PlanBook.of(t)
  const refused = /would cost nothing/
  const free = { name: 'Free', initial_price_sun: 0n, price_sun: 0n }
  await assert.rejects(shelf.set('free', free), refused)
  await shelf.set('by use', { ...free, price_sun: 1n })
  await shelf.set('by start', { ...free, initial_price_sun: 1n })
  await shelf.set('free', free, true)
  assert.deepEqual(await shelf.keys(), [...SHIPPED, 'by use', 'by start', 'free'])
})

test('much more for the same price wants to be confirmed, as a far lower price does', async (t) => {
  const shelf = await PlanBook.of(t)
  for (const [key, terms, at_most] of [
    ['unlimited_energy', { included: 20 }, { included: 19 }],
    ['energy_pack_100', { included: 1_000 }, { included: 999 }],
    ['unlimited_energy', { energy_per_transaction: 650_000 }, { energy_per_transaction: 649_999 }],
    ['fresh', { ...NEW, price_sun: 20n, included: 2 }, { ...NEW, price_sun: 19n, included: 2 }],
  ] as const) {
    await assert.rejects(shelf.set(key, terms), /a tenth or less|ten times/, key)
    await shelf.set(key, at_most)
  }
  await shelf.set('unlimited_energy', { included: 1_000 }, true)
  // A plan that gives as much already is free to have another name.
  await shelf.set('unlimited_energy', { name: 'Another' })
  await shelf.set('unlimited_energy', { included: 0 })
})

test('a plan goes off sale by its key, once', async (t) => {
  const shelf = await PlanBook.of(t)
  const { result, actions } = await shelf.remove('energy_pack_100')
  assert.deepEqual(
    result.map(({ key }) => key),
    ['unlimited_energy'],
  )
  const before = { name: 'Energy for 100 transactions' }
  assert.deepEqual(actions, [{ subject: 'plan:energy_pack_100', before, after: null }])
  await assert.rejects(
    shelf.remove('energy_pack_100'),
    /no plan energy_pack_100; there are: unlimited_energy\./,
  )
})

test('the history has every version, newest first, of all plans or of one', async (t) => {
  const shelf = await PlanBook.of(t)
  await shelf.set('unlimited_energy', { included: 3 })
  await shelf.set('night', NEW)
  await shelf.remove('night', later(clock, 9_000))
  const shown = async (key: string | null, limit = 9) =>
    (await planHistory(shelf.sql, { key, limit })).map((plan) => `${plan.key} ${plan.included}`)
  const all = ['night 0', 'unlimited_energy 3', 'energy_pack_100 100', 'unlimited_energy 2']
  assert.deepEqual([await shown(null), await shown(null, 2)], [all, all.slice(0, 2)])
  assert.deepEqual(await shown('unlimited_energy'), ['unlimited_energy 3', 'unlimited_energy 2'])
  assert.deepEqual(await shown('absent'), [])
})
