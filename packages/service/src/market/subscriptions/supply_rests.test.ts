// What a look at a subscription does when it rests, is at the cap of its key, or was changed while
// others were asked: on rows written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, clock, DAY_MS, IDLE_MS, SupplyBook } from 'penstock-test/harness/supply_book.ts'
import { Fault } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { supplyStep } from './supply.ts'

const SOON = { ends_ms: 0 }
const ENERGY = { left: 1_000n, used: 0n, limit: 1_000n, total_limit: 1n, total_weight: 1n }
const IDLE = { idle_ms: -IDLE_MS }
/** From the time of the tests to midnight. */
const NEXT_DAY_MS = new Date('2026-10-09T00:00:00Z').getTime() - at(0).getTime()

test('a rest begins once, and what is withdrawn of it stays so', async (t) => {
  const book = await SupplyBook.of(t)
  await book.subscription('other', { look_ms: DAY_MS })
  const rests = { asked: [], resting: 'idle', look_ms: DAY_MS }
  await book.expect([
    [
      { ...SOON, ...IDLE },
      { ...rests, moved: true, rested_ms: 0, withdrawn: false },
    ],
    [
      { ...IDLE, left: 999n },
      { ...rests, moved: true },
    ],
    [
      { resting: 'idle', rested_ms: -9 },
      { ...rests, moved: false, rested_ms: -9, withdrawn: false },
    ],
    [
      { resting: 'idle', rested_ms: -9, withdrawn: true },
      { ...rests, moved: false, rested_ms: -9, withdrawn: true },
    ],
  ])
  const [other] = await book.sql`select look_at, resting from subscription where id = 'other'`
  assert.deepEqual(other, { look_at: at(DAY_MS), resting: null })
})

test('at the cap of its key a subscription rests for the day, or does not start', async (t) => {
  const book = await SupplyBook.of(t)
  const priced = { price_sun: 100, cap_sun: 99n }
  const rests = { asked: [], resting: 'daily_cap', look_ms: NEXT_DAY_MS, holds: 0, reason: null }
  await book.expect([
    [priced, { ...rests, moved: true, state: 'active', rested_ms: 0 }],
    [
      { ...priced, expire_ms: 1_000 },
      { ...rests, look_ms: 1_000 },
    ],
    [
      { ...priced, cap_sun: 100n },
      { moved: false, resting: null, holds: 1 },
    ],
    [
      { ...priced, state: 'new', energy: 0 },
      { moved: true, state: 'error', reason: 'the daily cap of its key is reached', resting: null },
    ],
    [
      { ...priced, balance_sun: 99n },
      { moved: true, state: 'stopped', reason: 'the next transaction cannot be paid' },
    ],
    [
      { ...priced, state: 'new', energy: 0, balance_sun: 99n },
      { moved: true, state: 'error', reason: 'the next transaction cannot be paid' },
    ],
  ])
})

test('a subscription that rested at its cap wakes without waking others', async (t) => {
  const book = await SupplyBook.of(t)
  const other = { resting: 'daily_cap', withdrawn: true, look_ms: DAY_MS }
  await book.subscription('other', other)
  await book.expect([
    [
      { resting: 'daily_cap', withdrawn: true, look_ms: 0 },
      { moved: false, resting: null, withdrawn: false, look_ms: 60_000 },
    ],
  ])
  const [row] = await book.sql`select resting, withdrawn from subscription where id = 'other'`
  assert.deepEqual(row, { resting: 'daily_cap', withdrawn: true })
})

test('a subscription that changed while the node was asked is not put to rest', async (t) => {
  const book = await SupplyBook.of(t)
  await book.subscription('other', { look_ms: DAY_MS })
  const changed = { moved: false, asked: [], look_ms: 0 }
  const changes: Record<string, (sql: Sql) => Promise<unknown>> = {
    used: (sql) => sql`update subscription set transactions_used = 1 where id <> 'other'`,
    supplied: (sql) => sql`update subscription set supplies = 2 where id <> 'other'`,
    stopped: (sql) => sql`update subscription set state = 'stopped' where id <> 'other'`,
    'at its cap': (sql) => sql`
      update subscription set resting = 'daily_cap', rested_at = ${at(0)} where id <> 'other'`,
  }
  for (const meanwhile of Object.values(changes))
    await book.expect([[{ ...SOON, ...IDLE, meanwhile }, changed]])
})

test('what was there already is a supply, unless another was noted meanwhile', async (t) => {
  const book = await SupplyBook.of(t)
  const supplied = { asked: [1_000], moved: true, supplies: 2, look_ms: 3_000 }
  await book.expect([[{ ...SOON, replayed: true }, supplied]])
  await book.sql`delete from subscription_supply where order_id = 'made'`
  await book.sql`update subscription set order_id = null where order_id = 'made'`
  await book.sql`delete from orders where id = 'made'`
  const meanwhile = (sql: Sql) => sql`update subscription set supplies = 5`
  await book.expect([
    [
      { ...SOON, replayed: true, meanwhile },
      { asked: [1_000], moved: false, supplies: 5, look_ms: 0 },
    ],
  ])
})

test('an order is placed for one that runs and was not supplied or used meanwhile', async (t) => {
  const book = await SupplyBook.of(t)
  const { sql } = book
  await book.subscription('other', { look_ms: DAY_MS })
  await book.expect([[SOON, { asked: [1_000] }]])
  const { external_id, internal } = book.ordered!
  assert.equal(external_id, 's1/2')
  const isRefused = () =>
    sql.begin(async (tx) => (await internal!.cause!.lock(tx)) instanceof Fault)
  const states = ['new', 'pending', 'active', 'stopped', 'expired', 'error']
  const refused: string[] = []
  for (const state of states) {
    await sql`update subscription set state = ${state} where id = 's1'`
    if (await isRefused()) refused.push(state)
  }
  assert.deepEqual(refused, ['stopped', 'expired', 'error'])
  await sql`update subscription set state = 'active' where id = 's1'`
  assert.equal(await isRefused(), false)
  await sql`update subscription set holds_made = 1 where id = 's1'`
  // A use has taken the hold: nothing would be held for the energy.
  for (const [supplied, used, ended] of [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ] as const) {
    const change = (by: number) => sql`
      update subscription set supplies = supplies + ${by * supplied},
        transactions_used = transactions_used + ${by * used},
        holds_ended = holds_ended + ${by * ended}
      where id = 's1'`
    await change(1)
    assert.equal(await isRefused(), true, `${[supplied, used, ended]}`)
    await change(-1)
  }
})

test('a subscription whose look fails does not keep the others waiting', async (t) => {
  const book = await SupplyBook.of(t)
  for (const id of ['good', 'silent', 'mute']) await book.subscription(id, {})
  await book.subscription('other', { look_ms: DAY_MS })
  const resource = async (address: string) => {
    if (address !== 'address of good') throw new Error(`no answer for ${address}`)
    return ENERGY
  }
  const { sql } = book
  const step = supplyStep({
    sql,
    clock,
    node: { resource },
    tryOrder: () => assert.fail('nothing is ordered'),
  })
  await assert.rejects(step.run(), /no answer for/)
  const looks = async () => {
    const rows = await sql<{ id: string; look_at: Date }>`
      select id, look_at from subscription order by id`
    return rows.map(({ id, look_at }) => `${id} ${look_at.getTime() - at(0).getTime()}`)
  }
  const rest = [`other ${DAY_MS}`]
  assert.deepEqual(await looks(), ['good 60000', 'mute 3000', ...rest, 'silent 3000'])
  await sql`update subscription set look_at = ${at(0)} where id = 'mute'`
  await assert.rejects(step.run(), /no answer for address of mute/, 'one alone')
})

test('a subscription that cannot become active does not keep the others waiting', async (t) => {
  const book = await SupplyBook.of(t)
  const { sql } = book
  for (const id of ['good', 'bad', 'also good'])
    await book.subscription(id, { state: 'pending', look_ms: DAY_MS })
  await book.subscription('other', { look_ms: DAY_MS })
  // More than was held for it.
  await sql`update subscription set total_sun = 101 where id = 'bad'`
  const node = { resource: async () => ENERGY }
  const tryOrder = () => assert.fail('nothing is ordered')
  await assert.rejects(supplyStep({ sql, clock, node, tryOrder }).run())
  const rows = await sql<{ id: string; state: string; look_at: Date }>`
    select id, state, look_at from subscription order by id`
  assert.deepEqual(
    rows.map(({ id, state, look_at }) => `${id} ${state} ${look_at.getTime() - at(0).getTime()}`),
    ['also good active 60000', 'bad pending 3000', 'good active 60000', `other active ${DAY_MS}`],
  )
})

test('however many wait for nothing, one that is due is looked at, and one begins', async (t) => {
  const book = await SupplyBook.of(t)
  const { sql } = book
  for (const id of ['a', 'due']) await book.subscription(id, { look_ms: id === 'a' ? DAY_MS : 0 })
  await book.subscription('starts', { state: 'pending', look_ms: DAY_MS })
  const copy = (count: number, state: string, look_ms: number) => sql`
    insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
      activate_address, state, total_sun, supplies, order_id, look_at, created_at, idle_since)
    select concat(id, ${state}::text, n), customer_id, plan_id, concat(address, n), 0, 0, true,
      ${state}, 0, 1, order_id, ${at(look_ms)}, created_at, idle_since
    from subscription, generate_series(1, ${count}::integer) as n where id = 'a'`
  await copy(200, 'active', DAY_MS)
  await copy(16, 'stopped', -DAY_MS)
  const node = { resource: async () => ENERGY }
  const tryOrder = () => assert.fail('nothing is ordered')
  await supplyStep({ sql, clock, node, tryOrder }).run()
  const rows = await sql<{ id: string; state: string; look_at: Date }>`
    select id, state, look_at from subscription where id in ('due', 'starts') order by id`
  assert.deepEqual(
    rows.map(({ id, state, look_at }) => `${id} ${state} ${look_at.getTime() - at(0).getTime()}`),
    ['due active 60000', 'starts active 60000'],
  )
})
