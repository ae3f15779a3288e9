// What orders would have cost, by tiers and by rules that are not in force, on rows written by
// hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Resource } from '../../chain/node/node.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { repriceOrders } from './price_preview.ts'
import type { FullStep, NewRule } from './price_rules.ts'
import { previewRule } from './rule_preview.ts'

const now = new Date('2026-10-08T15:26:32Z')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MONTH_MS = 31 * DAY_MS
const ago = (ms: number) => new Date(now.getTime() - ms)

type Row = [resource: Resource, min: number, max: number, price_sun: number, base_sun?: number]

/** A hundredth of a TRX a unit, from 10 on; a tenth of it more from 20 on. */
const TIERS: Row[] = [
  ['energy', 10, 19, 10_000_000],
  ['energy', 20, 29, 11_000_000],
  ['energy', 40, 49, 12_000_000],
  ['bandwidth', 10, 19, 90_000_000],
]

async function withTiers(t: TestContext, tiers = TIERS): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`delete from price`
  for (const [resource, min, max, price_sun, base_sun = null] of tiers)
    await sql`
      insert into price (resource, min_amount, max_amount, price_sun, base_sun, changed_by)
      values (${resource}, ${min}, ${max}, ${price_sun}, ${base_sun}, 'olga')`
  return sql
}

type Order = {
  of?: string
  amount?: number
  state?: string
  at?: Date
  resource?: Resource
  place?: number
}

/** The first of its moment, or the one at that place. */
async function order(sql: Sql, values: Order = {}): Promise<string> {
  const { amount = 10, state = 'success', at = now, resource = 'energy', place } = values
  const { of = 'anna' } = values
  const id = `${firstIdAt(at).slice(0, 24)}${String(place ?? 0).padStart(2, '0')}`
  await sql`
    insert into orders (id, customer_id, service, address, energy, bandwidth, activate, state,
      to_delegate, amount_sun, tx_id, due_at, created_at)
    values (${id}, ${of}, ${resource}, 'bob', ${resource === 'energy' ? amount : 0},
      ${resource === 'energy' ? 0 : amount}, false, ${state}, false, 0, 'tx', ${at}, ${at})`
  return id
}

type Out = { amount: number; from: Date | null; until?: Date; id_at?: Date; resource?: Resource }

/** What was out from one moment until another, or still is. */
async function out(sql: Sql, order_id: string, { amount, from, until, ...rest }: Out) {
  const { id_at = from ?? now, resource = 'energy' } = rest
  const id = firstIdAt(id_at)
  const reclaim_id = until ? `${id} back` : null
  for (const attempt of [id, reclaim_id].filter((one) => one !== null))
    await sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at)
      values (${attempt}, ${attempt}, '{}', 'sent', ${attempt}, '', ${now}, ${now}, ${now})`
  const state = until ? 'ended' : from ? 'active' : 'failed'
  await sql`
    insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
      attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
    values (${id}, ${order_id}, 'wallet', 'bob', ${resource}, ${amount}, 1000000, ${state}, ${id},
      ${reclaim_id}, ${from}, ${from}, ${until ?? null})`
}

const STEPS: FullStep[] = [
  { full_percent: 50, raise_percent: 20 },
  { full_percent: 80, raise_percent: 100 },
]

const preview = (sql: Sql, values: Partial<NewRule> = {}) =>
  previewRule(sql, { resource: 'energy', margin_percent: null, steps: STEPS, ...values }, now)

/** What of each tier was sold, and what it costs before and after. */
async function repriced(sql: Sql, tiers: Row[], replace = false, resource: Resource = 'energy') {
  const rows = await repriceOrders(sql, {
    resource,
    tiers: tiers.map(([, min, max, sun]) => ({
      min_amount: BigInt(min),
      max_amount: BigInt(max),
      price_sun: BigInt(sun),
    })),
    replace,
    since: ago(DAY_MS),
  })
  return rows.map((row) => {
    const { min_amount, max_amount, orders, units, before_sun, after_sun } = row
    const sums = [before_sun / 10_000n, after_sun / 10_000n].join(' -> ')
    return `${min_amount}-${max_amount}: ${orders} of ${units}, ${sums}`
  })
}

test('orders of each tier are counted at its old price and at its new one', async (t) => {
  const sql = await withTiers(t)
  for (const [place, amount] of [10, 10, 19, 20, 29, 35, 40, 49, 9, 50].entries())
    await order(sql, { amount, place })
  await order(sql, { amount: 15, at: ago(DAY_MS) })
  await order(sql, { amount: 15, at: ago(DAY_MS + 1) })
  await order(sql, { amount: 15, state: 'failed', place: 20 })
  await order(sql, { amount: 11, resource: 'bandwidth', place: 21 })
  // By its plan, whatever the tiers are.
  await order(sql, { amount: 15, of: 'subscriptions', place: 23 })
  const unchanged = ['20-29: 2 of 49, 54 -> 54', '40-49: 2 of 89, 107 -> 107']
  assert.deepEqual(await repriced(sql, []), ['10-19: 4 of 54, 54 -> 54', ...unchanged])
  assert.deepEqual(await repriced(sql, [['energy', 10, 19, 20_000_000]]), [
    '10-19: 4 of 54, 54 -> 108',
    ...unchanged,
  ])
  // Where the new ones begin or end elsewhere, each range has one price before, and one after.
  assert.deepEqual(await repriced(sql, [['energy', 15, 44, 20_000_000]], true), [
    '10-14: 2 of 20, 20 -> 0',
    '15-19: 2 of 34, 34 -> 68',
    '20-29: 2 of 49, 54 -> 98',
    '30-39: 1 of 35, 0 -> 70',
    '40-44: 1 of 40, 48 -> 80',
    '45-49: 1 of 49, 59 -> 0',
  ])
  assert.deepEqual(await repriced(sql, [['energy', 1, 9, 20_000_000]]), [
    '1-9: 1 of 9, 0 -> 18',
    '10-19: 4 of 54, 54 -> 54',
    ...unchanged,
  ])
  const bandwidth: Row = ['bandwidth', 10, 19, 10_000_000]
  assert.deepEqual(await repriced(sql, [bandwidth], false, 'bandwidth'), [
    '10-19: 1 of 11, 99 -> 11',
  ])
  await order(sql, { amount: 1, place: 22 })
  assert.equal((await repriced(sql, [['energy', 1, 9, 20_000_000]]))[0], '1-9: 2 of 10, 0 -> 20')
})

test('an order of bandwidth alone, or of an activation, is none of a tier from 0', async (t) => {
  const sql = await withTiers(t)
  await order(sql, { amount: 5, place: 1 })
  await order(sql, { amount: 11, resource: 'bandwidth', place: 2 })
  const activation = await order(sql, { place: 3 })
  await sql`update orders set service = 'activate_address', energy = 0 where id = ${activation}`
  assert.deepEqual(await repriced(sql, [['energy', 0, 9, 10_000_000]], true), [
    '0-9: 1 of 5, 0 -> 5',
    '10-19: 0 of 0, 0 -> 0',
    '20-29: 0 of 0, 0 -> 0',
    '40-49: 0 of 0, 0 -> 0',
  ])
})

test('a preview counts orders of a month that did not fail, of its own resource', async (t) => {
  const sql = await withTiers(t)
  await order(sql, { at: ago(MONTH_MS) })
  await order(sql, { amount: 11, at: ago(MONTH_MS + 1) })
  await order(sql, { amount: 12, state: 'failed', place: 1 })
  await order(sql, { amount: 13, resource: 'bandwidth', place: 2 })
  for (const [place, amount] of [9, 19, 20, 29, 30, 40, 49, 50].entries())
    await order(sql, { amount, at: ago(HOUR_MS), place })
  const energy = await preview(sql)
  const [orders, units] = [6, 167n]
  assert.deepEqual([energy.orders, energy.units], [orders, units])
  assert.deepEqual(energy.since, ago(MONTH_MS))
  assert.equal(energy.base_sun, (10n + 19n + 22n + 32n + 48n + 59n) * 10_000n)
  const bandwidth = await preview(sql, { resource: 'bandwidth' })
  assert.deepEqual([bandwidth.orders, bandwidth.units], [1, 13n])
  await sql`delete from orders`
  const none = await preview(sql)
  assert.deepEqual([none.orders, none.since, none.with_both_sun], [0, null, 0n])
})

test('a preview is of the last thousand orders, and others take no place of them', async (t) => {
  const sql = await withTiers(t)
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, tx_id, due_at, created_at)
    select ${firstIdAt(ago(HOUR_MS)).slice(0, 20)} || lpad(n::text, 6, '0'), 'anna', 'energy',
      'bob', 10, false, 'success', false, 0, 'tx', ${now}, ${ago(HOUR_MS)}
    from generate_series(1, 1001) as n`
  await order(sql, { amount: 13, resource: 'bandwidth' })
  await order(sql, { amount: 13, of: 'subscriptions', place: 1 })
  const { orders, units } = await preview(sql)
  assert.deepEqual([orders, units], [1_000, 10_000n])
})

/** How full the pool was, as a preview sees it: the steps that the one order has reached. */
const reached = async (sql: Sql, steps: FullStep[]) =>
  (await preview(sql, { steps })).steps.filter(({ orders }) => orders > 0)[0]?.full_percent ?? 0

const EACH_PERCENT = Array.from(
  { length: 100 },
  (_, i): FullStep => ({ full_percent: i + 1, raise_percent: i + 1 }),
)

test('the pool was as full at an order as was out then, of its own resource', async (t) => {
  const sql = await withTiers(t)
  const at = ago(HOUR_MS)
  const id = await order(sql, { at })
  const day_before = ago(HOUR_MS + DAY_MS)
  await sql`update pool set room = 100 where resource = 'energy'`
  await sql`update pool set room = 1000 where resource = 'bandwidth'`
  assert.equal(await reached(sql, EACH_PERCENT), 0)
  const rows: [what: string, out: Out, percent: number][] = [
    ['over before', { amount: 1, from: ago(5 * HOUR_MS), until: ago(4 * HOUR_MS) }, 0],
    ['out then', { amount: 10, from: ago(2 * HOUR_MS), until: now }, 10],
    ['from then on', { amount: 7, from: at, until: now }, 17],
    ['until then', { amount: 5, from: ago(3 * HOUR_MS), until: at }, 17],
    ['later', { amount: 3, from: ago(HOUR_MS - 1), until: now }, 17],
    ['of the other', { amount: 50, from: ago(HOUR_MS + 9), until: now, resource: 'bandwidth' }, 17],
    ['asked for a day before', { amount: 20, from: at, until: now, id_at: day_before }, 37],
    [
      'asked for earlier',
      { amount: 30, from: at, until: now, id_at: new Date(day_before.getTime() - 1) },
      37,
    ],
    ['never given', { amount: 40, from: null, id_at: ago(HOUR_MS + 7) }, 37],
  ]
  for (const [what, one, percent] of rows) {
    await out(sql, id, one)
    assert.equal(await reached(sql, EACH_PERCENT), percent, what)
  }
  // What is taken back is counted back where it was counted, and nowhere else.
  for (const [amount, percent] of [
    [50, 37],
    [30, 37],
    [20, 17],
  ] as const) {
    await sql`
      update delegation set delegated_at = ${ago(5 * HOUR_MS)}, reclaimed_at = ${at}
      where amount = ${amount}`
    assert.equal(await reached(sql, EACH_PERCENT), percent, `${amount} are back`)
  }
})

test('a pool is as large as its room and what is out, and is not full without any', async (t) => {
  const sql = await withTiers(t)
  const id = await order(sql)
  const from = ago(HOUR_MS)
  await out(sql, id, { amount: 1, from, until: new Date(now.getTime() + 1) })
  assert.equal(await reached(sql, EACH_PERCENT), 0, 'no units')
  await sql`update pool set room = 1 where resource = 'energy'`
  assert.equal(await reached(sql, EACH_PERCENT), 100)
  await out(sql, id, { amount: 1, from: ago(HOUR_MS - 1) })
  await out(sql, id, { amount: 8, from: ago(HOUR_MS - 2), resource: 'bandwidth' })
  assert.equal(await reached(sql, EACH_PERCENT), 100, 'two of two')
  await out(sql, id, { amount: 2, from: new Date(now.getTime() + 1) })
  assert.equal(await reached(sql, EACH_PERCENT), 50, 'two of four')
})

test('a preview raises by floor and by steps, and says how many each of them meets', async (t) => {
  const sql = await withTiers(t, [
    ['energy', 10, 19, 10_000_000],
    ['energy', 20, 29, 22_000_000, 11_000_000],
  ])
  // 1000 units cost 11 TRX.
  await sql`insert into capital (hundredths, set_at, set_by) values (3650, ${now}, 'olga')`
  await sql`update pool set total_limit = 1000000, total_weight = 11000000, room = 100`
  const fills: [amount: number, out: number][] = [
    [10, 49],
    [20, 1],
    [10, 29],
    [20, 1],
    [10, 20],
  ]
  for (const [i, [amount, units]] of fills.entries()) {
    const at = ago(HOUR_MS - 10 * i)
    const id = await order(sql, { amount, at })
    await out(sql, id, { amount: units, from: at, until: now })
  }
  // At 49, 50, 79, 80 and 100 of a hundred.
  const found = await preview(sql, { margin_percent: 0 })
  assert.deepEqual(found.steps, [
    { ...STEPS[0]!, orders: 2 },
    { ...STEPS[1]!, orders: 2 },
  ])
  assert.deepEqual([found.cost_1000_sun, found.floor_1000_sun], [11_000_000n, 11_000_000n])
  assert.equal(found.below_floor, 3, 'a price of the floor is not below it')
  const cents = (sun: bigint) => Number(sun / 10_000n)
  assert.equal(cents(found.base_sun), 10 + 22 + 10 + 22 + 10)
  assert.equal(cents(found.with_floor_sun), 11 + 22 + 11 + 22 + 11)
  assert.equal(cents(found.with_steps_sun), 10 + 26 + 12 + 44 + 20)
  assert.equal(cents(found.with_both_sun), 11 + 26 + 12 + 44 + 20)
  const without = await preview(sql)
  assert.deepEqual([without.floor_1000_sun, without.below_floor], [null, 0])
  assert.equal(without.with_floor_sun, without.base_sun)
})
