// What the steps of orders do at their edges: at the last moment, while something is still to come,
// and when something else has happened since they looked.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { wallet } from 'penstock-test/harness/delegation_rows.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { ago, clock, now, OrderBook, type OrderRow } from 'penstock-test/harness/order_book.ts'
import { withRace } from 'penstock-test/harness/race.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { activatedStep, activateStep, delegateStep } from './delivery.ts'
import { endStep, settleStep } from './settlement.ts'

const WAIT_MS = 600_000
const at_last = new Date(now.getTime() - WAIT_MS)
const too_late = new Date(at_last.getTime() - 1)
const bob = person('bob').address

function numbered(): () => string {
  let made = 0
  return () => `made ${++made}`
}

const settle = async ({ sql }: OrderBook) => {
  const step = settleStep({ sql, clock })
  while (await step.run()) {}
}

/** What customers are to be told of orders. */
const notes = async (sql: Sql) =>
  (
    await sql<{ subject: string; type: string }>`
      select subject, type from event_note where starts_with(type, 'order.') order by subject`
  ).map(({ subject, type }) => `${subject} ${type.slice(6)}`)

test('an order with a dead part is delivered again for ten minutes, and not after', async (t) => {
  const book = await OrderBook.of(t)
  const rows: [id: string, created_at: Date][] = [
    ['in time', ago(1)],
    ['just in time', at_last],
    ['too late', too_late],
  ]
  for (const [id, created_at] of rows) {
    await book.order(id, { created_at })
    await book.delegation(id, 'delegating', { state: 'dead' })
  }
  await settle(book)
  assert.deepEqual(await book.states(), [
    'in time: pending',
    'just in time: pending',
    'too late: failed',
  ])
})

test('an order waits for its activation, though it is in blocks, and for a part', async (t) => {
  const book = await OrderBook.of(t)
  for (const state of ['activating', 'active']) {
    await book.activation(state, state)
    await book.order(`delivered ${state}`, { activation_id: state })
    await book.delegation(`delivered ${state}`, 'delegating')
    await book.order(`nothing ${state}`, { activation_id: state })
  }
  await settle(book)
  assert.deepEqual(await book.states(), [
    'delivered activating: pending',
    'delivered active: success',
    'nothing activating: pending',
    'nothing active: pending',
  ])
})

test('a success shows the transaction of its energy, and the new one after a fork', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  await book.order('both')
  await book.delegation('both', 'delegating')
  await book.delegation('both', 'active')
  await sql`update delegation set resource = 'bandwidth' where id = 'both active'`
  await book.order('again', { state: 'success' })
  await book.delegation('again', 'failed', { state: 'dead' })
  await book.delegation('again', 'delegating')
  await book.order('bandwidth')
  await book.delegation('bandwidth', 'delegating')
  await sql`update delegation set resource = 'bandwidth' where id = 'bandwidth delegating'`
  await book.order('other', { state: 'success' })
  await settle(book)
  const rows = await sql<{ id: string; tx_id: string }>`
    select id, tx_id from orders where state = 'success' order by id`
  assert.deepEqual(
    rows.map(({ id, tx_id }) => [id, tx_id]),
    [
      ['again', 'tx of again delegating'],
      ['bandwidth', 'tx of bandwidth delegating'],
      ['both', 'tx of both delegating'],
      ['other', 'tx'],
    ],
  )
  assert.deepEqual(await notes(sql), ['order:bandwidth succeeded', 'order:both succeeded'])
})

test('what is lost or comes late moves its parts, and no order that is over', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const lost = { state: 'sent', uncovered: true }
  for (const state of ['pending', 'success', 'failed']) {
    const id = `lost ${state}`
    await book.order(id, { state })
    await book.delegation(id, 'active', lost)
    assert.equal(await settleStep({ sql, clock }).run(), true, id)
    assert.equal(await settleStep({ sql, clock }).run(), false, id)
  }
  for (const state of ['success', 'failed']) {
    await book.order(`late ${state}`, { state })
    await book.delegation(`late ${state}`, 'delegating')
    await book.order(`dead ${state}`, { state })
    await book.delegation(`dead ${state}`, 'delegating', { state: 'dead' })
  }
  await book.order('dead pending')
  await book.delegation('dead pending', 'delegating', { state: 'dead' })
  const before = await book.states()
  await settle(book)
  assert.deepEqual(await book.states(), before)
  const hours = await sql<{ order_id: string; hours: number }>`
    select order_id, extract(hour from expires_at - delegated_at)::integer as hours
    from delegation where state = 'active' order by order_id`
  assert.deepEqual(
    hours.map(({ order_id, hours }) => [order_id, hours]),
    [
      ['late failed', 0],
      ['late success', 1],
    ],
  )
  // Whoever has paid is told; who waits still is not, and who got the money back neither.
  assert.deepEqual(await notes(sql), ['order:dead success reverted'])
})

test('what a fork has taken back before it is locked is not settled', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  await book.order('one')
  await book.delegation('one', 'delegating')
  const raced = withRace(
    sql,
    () => sql`update attempt set state = 'sent', block_number = null, block_time = null`,
  )
  assert.equal(await settleStep({ sql: raced, clock }).run(), false)
  assert.deepEqual(await book.states(), ['one: pending'])
})

test('what is not charged after all does not count for the day of its key', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const day = '2026-10-08'
  for (const [key, activation] of [
    ['taken', 'taken'],
    ['ours', 'ours'],
    ['fresh', 'ours'],
    [null, 'taken'],
  ] as const) {
    const id = `by ${key}`
    if (key !== null)
      await sql`
        insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at,
          require_v2, created_at)
        values (${key}, 'anna', 'Key', ${Buffer.from(key.padEnd(32)).toString('hex')}, 'sealed',
          ${now}, false, ${now})`
    await book.activation(id, 'active')
    if (activation === 'taken') await sql`update activation set attempt_id = null where id = ${id}`
    await book.order(id, { activation_id: id, fee_sun: 1n })
    await book.delegation(id, 'delegating')
    await sql`update orders set key_id = ${key} where id = ${id}`
  }
  await sql`
    insert into api_key_spending (key_id, day, spent_sun)
    values ('taken', ${day}, 10), ('ours', ${day}, 10)`
  await settle(book)
  const spent = await sql<{ key_id: string; spent_sun: bigint }>`
    select key_id, spent_sun from api_key_spending order by key_id`
  assert.deepEqual(
    spent.map(({ key_id, spent_sun }) => [key_id, spent_sun]),
    [
      ['ours', 10n],
      ['taken', 9n],
    ],
  )
})

test('what costs nothing charges nothing, and nothing is told to the house itself', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  await book.order('free')
  await book.delegation('free', 'delegating')
  await sql`update orders set amount_sun = 0, customer_id = 'direct_recharge'`
  await settle(book)
  assert.deepEqual(await book.states(), ['free: success'])
  const charged = await sql`select from transfer where kind = 'capture'`
  assert.equal(charged.length, 0)
  assert.deepEqual(await notes(sql), [])
})

type Case = OrderRow & { parts?: readonly string[]; ended?: true; is_due: boolean }

test('a success ends once, 59 minutes after it was placed, when all is taken back', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const step = endStep({ sql, clock })
  const sold = { state: 'success', created_at: ago(59), parts: ['ended'] }
  const cases: Case[] = [
    { ...sold, is_due: true },
    { ...sold, parts: ['ended', 'failed'], is_due: true },
    { ...sold, created_at: new Date(ago(59).getTime() + 1), is_due: false },
    { ...sold, created_at: ago(90), is_due: true },
    { ...sold, to_delegate: true, is_due: false },
    { ...sold, state: 'failed', is_due: false },
    { ...sold, state: 'pending', is_due: false },
    { ...sold, service: 'activate_address', is_due: false },
    { ...sold, ended: true, is_due: false },
    ...['delegating', 'active', 'reclaiming'].map((state) => ({
      ...sold,
      parts: ['ended', state],
      is_due: false,
    })),
  ]
  await book.order('other', { ...sold, created_at: ago(1) })
  await book.delegation('other', 'ended')
  await book.delegation('other', 'active')
  for (const [i, { parts = [], ended, is_due, ...row }] of cases.entries()) {
    const id = `one${i}`
    await book.order(id, row)
    if (row.service !== 'activate_address')
      for (const state of parts) await book.delegation(id, state)
    await sql`update orders set energy = least(energy, 1) where id = ${id}`
    if (ended) await sql`update orders set ended_at = ${now} where id = ${id}`
    const what = JSON.stringify({ parts, ended, ...row })
    assert.equal(await isDue(sql, step), is_due, what)
    assert.equal(await step.run(), is_due, what)
    await sql`update orders set created_at = ${now} where id = ${id}`
  }
})

const activations = async (sql: Sql) =>
  (await sql<{ id: string; state: string }>`select id, state from activation order by id`).map(
    ({ id, state }) => `${id}: ${state}`,
  )

test('where an activation is dead, the chain says whether somebody else has made it', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const account = async (address: string) =>
    ({ active: address.startsWith('made') }) as Awaited<
      ReturnType<Parameters<typeof activatedStep>[0]['node']['account']>
    >
  const step = activatedStep({ sql, node: { account } })
  const dead = { state: 'dead' }
  for (const id of ['made', 'none']) await book.activation(id, 'activating', dead)
  await book.activation('waits', 'activating')
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(await activations(sql), ['made: active', 'none: new', 'waits: activating'])
  assert.equal(await isDue(sql, step), false)
  // A fork took it out of its block, and then it died: in one run it is to be made anew.
  await book.activation('none 2', 'active', { ...dead, uncovered: true })
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual((await activations(sql))[2], 'none 2: new')
})

test('an activation that is no more new is not begun, and another one is', async (t) => {
  const { sql } = await OrderBook.of(t)
  await sql`
    insert into activation (id, address, made_at)
    select id, ${bob}::text || id, ${now} from unnest(array['a', 'b']) as id`
  await sql`update activation set address = case id when 'a' then ${bob} else ${wallet} end`
  const step = activateStep({
    sql: withRace(sql, () => sql`update activation set state = 'failed' where id = 'a'`),
    clock,
    new_id: numbered(),
    activation_wallet: { address: wallet, permission_id: 2 },
    node: { account: () => Promise.reject(new Error('it is not to be asked')) },
  })
  assert.equal(await step.run(), true)
  assert.deepEqual(await activations(sql), ['a: failed', 'b: activating'])
  assert.equal(await step.run(), false)
})

/** A TRX of stake is 100 units and the margin, of either resource. */
async function stock(sql: Sql, trx: Readonly<Record<string, bigint>>): Promise<void> {
  await sql`
    update pool set total_limit = 1010000, total_weight = 10000, room = 10000, reserved = 1000`
  for (const [resource, one] of Object.entries(trx))
    await sql`
      insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
      values (${wallet}, ${resource}, ${one * 1_000_000n}, 100, 5, ${now})`
}

const delegating = (sql: Sql, its_clock = clock) =>
  delegateStep({ sql, clock: its_clock, new_id: numbered(), permissions: new Map([[wallet, 2]]) })

const planned = async (sql: Sql) =>
  (
    await sql<{ order_id: string; resource: string; amount: bigint }>`
      select order_id, resource, amount from delegation order by order_id, resource`
  ).map(({ order_id, resource, amount }) => `${order_id}: ${amount} ${resource}`)

test('a bundle is asked for as a whole, or waits for what is short', async (t) => {
  for (const [trx, parts] of [
    [{ energy: 1n, bandwidth: 2n }, ['both: 200 bandwidth', 'both: 100 energy']],
    [{ energy: 1n, bandwidth: 1n }, []],
    [{ energy: 0n, bandwidth: 2n }, []],
  ] as const) {
    const book = await OrderBook.of(t)
    const { sql } = book
    await stock(sql, trx)
    await book.order('both', { to_delegate: true })
    await sql`
      update orders set service = 'resource_bundle', energy = 100, bandwidth = 200,
        address = ${bob}`
    assert.equal(await delegating(sql).run(), parts.length > 0)
    assert.deepEqual(await planned(sql), parts)
    const pools = await sql<{ room: bigint; reserved: bigint }>`
      select room, reserved from pool order by resource`
    const used = parts.length > 0 ? [200n, 100n] : [0n, 0n]
    assert.deepEqual(
      pools.map(({ room, reserved }) => [10_000n - room, 1_000n - reserved]),
      used.map((units) => [units, units]),
    )
  }
})

test('what is owed no more, or late, when it is locked is not asked for', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  await stock(sql, { energy: 100n })
  const owed = { to_delegate: true, created_at: at_last }
  await book.order('done', owed)
  await book.order('late', owed)
  await book.order('success', { ...owed, state: 'success' })
  await book.order('young', { ...owed, created_at: now })
  await sql`update orders set address = ${bob}, energy = 100`
  let passed_ms = 0
  const raced = withRace(sql, async () => {
    await sql`update orders set to_delegate = false where id = 'done'`
    passed_ms = 1
  })
  const step = delegating(raced, { now: () => new Date(now.getTime() + passed_ms) })
  assert.equal(await step.run(), true)
  assert.deepEqual(await planned(sql), ['success: 100 energy', 'young: 100 energy'])
  const left = await sql<{ id: string }>`select id from orders where to_delegate`
  assert.deepEqual(left, [{ id: 'late' }])
})
