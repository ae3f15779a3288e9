// What one look at a rule of prices makes of it, on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { isLockTimeout, untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import type { Resource } from '../../chain/node/node.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type FullStep,
  floorOf,
  fullPercentOf,
  type PriceRule,
  readRules,
  repriceStep,
  setRule,
} from './price_rules.ts'
import { tiersOf } from './tiers.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000)
const STEPS: FullStep[] = [
  { full_percent: 50, raise_percent: 20 },
  { full_percent: 80, raise_percent: 100 },
]
/** What 1000 units of each were set at. */
const BASE_SUN = 40_000n

/** One tier of each resource, and a customer who is told of prices. */
async function withTiers(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: now }))
  await sql`delete from price`
  await sql`
    insert into price (resource, min_amount, max_amount, price_sun, since, changed_by)
    select resource, 1, 1000000, ${BASE_SUN}, ${ago(90_000)}, 'olga' from pool`
  await sql`insert into capital (hundredths, set_at, set_by) values (3650, ${now}, 'olga')`
  return sql
}

/** Makes 1000 units of each resource cost so much: by what the stake for them should earn. */
const setCost = (sql: Sql, sun: number) =>
  sql`update pool set total_limit = 1000000, total_weight = ${sun}`

/** So much of a hundred units is reserved. */
const fill = (sql: Sql, percent: number) => sql`update pool set room = 100, reserved = ${percent}`

type Values = Partial<
  Pick<
    PriceRule,
    | 'resource'
    | 'margin_percent'
    | 'floor_sun'
    | 'floor_at'
    | 'raise_percent'
    | 'raised_at'
    | 'looked_at'
    | 'steps'
  >
>

/** A rule as it stands, and is due; its prices are as if it raised nothing yet. */
async function insertRule(sql: Sql, values: Values = {}): Promise<void> {
  const { resource = 'energy', margin_percent = null, steps = STEPS, looked_at = ago(30) } = values
  const { floor_sun = null, floor_at = null, raise_percent = 0, raised_at = ago(9_000) } = values
  await sql`
    insert into price_rule (resource, margin_percent, steps, floor_sun, floor_at, raise_percent,
      raised_at, looked_at, set_at, set_by)
    values (${resource}, ${margin_percent}, ${JSON.stringify(steps)}::jsonb, ${floor_sun},
      ${floor_at}, ${raise_percent}, ${raised_at}, ${looked_at}, ${ago(9_000)}, 'olga')`
}

async function ruleOf(sql: Sql, resource: Resource = 'energy'): Promise<PriceRule | undefined> {
  return (await readRules(sql)).find((rule) => rule.resource === resource)
}

const priceNow = async (sql: Sql, resource: Resource = 'energy') =>
  (await tiersOf(sql, resource))[0]?.price_sun

const step = (sql: Sql) => repriceStep({ sql, clock })

const set = (
  sql: Sql,
  resource: Resource,
  margin_percent: number | null,
  steps: FullStep[] = [],
  by = 'nina',
) => sql.begin((tx) => setRule(tx, { resource, margin_percent, steps }, { clock, by }))

test('a floor is rounded up from the least that is above a hundred sun', () => {
  assert.equal(floorOf(9_901n, 1), 10_100n)
  assert.equal(floorOf(9_900n, 1), 10_000n)
  assert.equal(floorOf(1n, 0), 100n)
})

test('how full a pool is, is of its own resource, from nothing to a hundred', async (t) => {
  const sql = await withTiers(t)
  await sql`update pool set room = 100, reserved = 70 where resource = 'energy'`
  await sql`update pool set room = 100, reserved = 30 where resource = 'bandwidth'`
  assert.deepEqual(
    [await fullPercentOf(sql, 'energy'), await fullPercentOf(sql, 'bandwidth')],
    [70, 30],
  )
  const rows: [room: number, reserved: number, percent: number][] = [
    [0, 0, 0],
    [0, 5, 0],
    [1, 1, 100],
    [3, 2, 66],
    [10, 11, 100],
  ]
  for (const [room, reserved, percent] of rows) {
    await sql`update pool set room = ${room}, reserved = ${reserved}`
    assert.equal(await fullPercentOf(sql, 'energy'), percent, `${reserved} of ${room}`)
  }
  await sql`delete from pool where resource = 'energy'`
  assert.equal(await fullPercentOf(sql, 'energy'), 0)
})

test('a raise begins at once, and ends after ten minutes, step by step', async (t) => {
  const sql = await withTiers(t)
  const tens = 600
  const rows: [
    full: number,
    raise: number,
    raised_ago: number,
    next: number,
    steps?: FullStep[],
  ][] = [
    [49, 0, 0, 0],
    [50, 0, 0, 20],
    [80, 0, 0, 100],
    [80, 20, 0, 100],
    // Ten minutes to the second, and somewhat emptier.
    [40, 20, tens - 0.001, 20],
    [40, 20, tens, 0],
    [46, 20, tens, 0],
    [47, 20, tens, 20],
    [78, 20, tens, 20],
    [48, 100, tens, 20],
    [48, 100, tens - 0.001, 100],
    [76, 100, tens, 20],
    [77, 100, tens, 100],
    // One of which no step is any more goes at once, and all the way.
    [48, 30, 0, 0],
    [60, 30, 0, 20],
    [40, 1, 0, 0],
    [80, 130, 0, 100],
    [97, 100, tens, 100],
    [100, 60, tens, 50, [{ full_percent: 100, raise_percent: 50 }]],
  ]
  for (const [full, raise_percent, raised_ago, next, steps = STEPS] of rows) {
    await sql`delete from price_rule`
    await fill(sql, full)
    const raised_at = ago(raised_ago)
    await insertRule(sql, { raise_percent, raised_at, steps })
    await step(sql).run()
    const rule = await ruleOf(sql)
    const title = `${full} % full, ${raise_percent} % for ${raised_ago} s`
    const wanted = [next, next === raise_percent ? raised_at : now, full, now]
    const { raise_percent: raise, raised_at: since, full_percent, looked_at } = rule!
    assert.deepEqual([raise, since, full_percent, looked_at], wanted, title)
    const price_sun = (BASE_SUN * BigInt(100 + next)) / 100n
    if (next !== raise_percent) assert.equal(await priceNow(sql), price_sun, title)
  }
})

test('a floor follows the cost from a fiftieth on, and is below ten times a price', async (t) => {
  const sql = await withTiers(t)
  type Floor = bigint | null
  const rows: [cost: number, now: Floor, next: Floor, refused: Floor][] = [
    [50_000, null, 50_000n, null],
    [50_000, 60_000n, 50_000n, null],
    [51_000, 50_000n, 51_000n, null],
    [49_000, 50_000n, 49_000n, null],
    [50_900, 50_000n, 50_000n, null],
    [49_100, 50_000n, 50_000n, null],
    [0, 50_000n, null, null],
    [0, null, null, null],
    [399_900, 50_000n, 399_900n, null],
    [400_000, 50_000n, 50_000n, 400_000n],
    [400_000, null, null, 400_000n],
    [400_000, 500_000n, 400_000n, 400_000n],
  ]
  for (const [cost, floor_sun, next, refused] of rows) {
    await sql`delete from price_rule`
    await setCost(sql, cost)
    await insertRule(sql, { margin_percent: 0, floor_sun, floor_at: ago(600) })
    await step(sql).run()
    const rule = (await ruleOf(sql))!
    const title = `${cost} after ${floor_sun}`
    const found = [rule.floor_sun, rule.refused_sun, rule.floor_at]
    assert.deepEqual(found, [next, refused, now], title)
    const raised = next === null || next < BASE_SUN ? BASE_SUN : next
    if (next !== floor_sun) assert.equal(await priceNow(sql), raised, title)
  }
})

test('a floor is worked out every ten minutes, and is of a rule with a margin alone', async (t) => {
  const sql = await withTiers(t)
  await setCost(sql, 70_000)
  const rows: [margin: number | null, floor_at: Date | null, floor_sun: bigint | null][] = [
    [0, null, 70_000n],
    [0, ago(599.999), 50_000n],
    [0, ago(600), 70_000n],
    [10, ago(600), 77_000n],
    [null, ago(1), null],
    [null, null, null],
  ]
  for (const [margin_percent, floor_at, floor_sun] of rows) {
    await sql`delete from price_rule`
    await insertRule(sql, { margin_percent, floor_at, floor_sun: 50_000n })
    await step(sql).run()
    const rule = (await ruleOf(sql))!
    assert.equal(rule.floor_sun, floor_sun, `${margin_percent} ${floor_at}`)
    const kept = floor_sun === 50_000n ? floor_at : now
    assert.deepEqual(rule.floor_at, floor_sun === null ? null : kept)
  }
})

test('a rule is looked at every half minute, and its prices are told when they move', async (t) => {
  const sql = await withTiers(t)
  const { name } = step(sql)
  await fill(sql, 50)
  const notes = async () =>
    (
      await sql<{ subject: string }>`
      select subject from event_note where type = 'price.changed' order by id`
    ).map(({ subject }) => subject)
  await insertRule(sql, { looked_at: ago(29.999) })
  assert.equal(await isDue(sql, step(sql)), false, name)
  assert.equal(await step(sql).run(), false)
  assert.equal(await priceNow(sql), BASE_SUN)
  await sql`update price_rule set looked_at = ${ago(30)}`
  await insertRule(sql, { resource: 'bandwidth', looked_at: ago(29) })
  assert.equal(await isDue(sql, step(sql)), true)
  assert.equal(await step(sql).run(), true)
  assert.deepEqual([await priceNow(sql), await notes()], [48_000n, ['price:energy']])
  const other = (await ruleOf(sql, 'bandwidth'))!
  assert.deepEqual([other.looked_at, other.full_percent], [ago(29), 0], 'each by itself')
  const [action] = await sql`select made_by, subject, before, after from operator_action`
  const [before, after] = [{ '1-1000000': '0.04' }, { '1-1000000': '0.048' }]
  assert.deepEqual(action, { made_by: 'price rules', subject: 'price:energy', before, after })
  await sql`update price_rule set looked_at = ${ago(30)}`
  assert.equal(await step(sql).run(), true, 'that of the other')
  await sql`update price_rule set looked_at = ${ago(30)}`
  assert.equal(await step(sql).run(), false, 'nothing moves')
  assert.deepEqual(await notes(), ['price:energy', 'price:bandwidth'])
})

test('a rule that another process has looked at or removed is left unchanged', async (t) => {
  const sql = await withTiers(t)
  await fill(sql, 50)
  await insertRule(sql)
  for (const change of ['looked_at', 'deleted'] as const) {
    const looking = await sql.begin(async (other) => {
      await other`select from price_rule for update`
      const looking = step(sql).run()
      await untilBlocked(sql, looking)
      if (change === 'deleted') await other`delete from price_rule`
      else await other`update price_rule set looked_at = ${ago(29)}`
      return { looking }
    })
    assert.equal(await looking.looking, false, change)
    assert.equal(await priceNow(sql), BASE_SUN, change)
    await sql`update price_rule set looked_at = ${ago(30)}`
  }
})

test('a rule is set, set again and taken away without a touch of the other one', async (t) => {
  const sql = await withTiers(t)
  await setCost(sql, 50_000)
  await fill(sql, 60)
  assert.deepEqual(await set(sql, 'energy', null), { result: undefined, actions: [] })
  const first = await set(sql, 'energy', 0)
  const rule = { margin_percent: 0, steps: [] }
  assert.deepEqual(first.actions[0], { subject: 'price_rule:energy', before: null, after: rule })
  assert.deepEqual(first.actions.map(({ subject }) => subject).slice(1), ['price:energy'])
  const again = await set(sql, 'energy', 0, [], 'olga')
  assert.deepEqual([again.actions, again.result?.set_by], [[], 'nina'])
  await set(sql, 'bandwidth', 10, STEPS)
  const steps = STEPS.slice(0, 1)
  const second = await set(sql, 'energy', null, steps)
  assert.deepEqual(second.actions[0]?.before, rule)
  assert.deepEqual(second.actions[0]?.after, { margin_percent: null, steps })
  assert.deepEqual([second.result?.floor_sun, second.result?.raise_percent], [null, 20])
  assert.deepEqual([await priceNow(sql), await priceNow(sql, 'bandwidth')], [48_000n, 55_000n])
  const kept = await ruleOf(sql, 'bandwidth')
  const ended = await set(sql, 'energy', null)
  assert.equal(ended.result, undefined)
  assert.deepEqual(
    ended.actions.map(({ subject, after }) => [subject, after]),
    [
      ['price_rule:energy', null],
      ['price:energy', { '1-1000000': '0.04' }],
    ],
  )
  assert.deepEqual(await readRules(sql), [kept])
  assert.deepEqual([await priceNow(sql), await priceNow(sql, 'bandwidth')], [BASE_SUN, 55_000n])
})

test('who sets a rule waits for others who change that one, and for no other', async (t) => {
  const sql = await withTiers(t)
  await insertRule(sql)
  await insertRule(sql, { resource: 'bandwidth' })
  await sql.begin(async (other) => {
    await other`select from price_rule where resource = 'bandwidth' for update`
    const setTo = (resource: Resource) =>
      sql.begin(async (tx) => {
        await tx`set local lock_timeout = '50ms'`
        return setRule(tx, { resource, margin_percent: 7, steps: [] }, { clock, by: 'nina' })
      })
    assert.equal((await setTo('energy')).result?.margin_percent, 7)
    await assert.rejects(setTo('bandwidth'), isLockTimeout)
  })
})
