// Which activations and orders the steps of delivery take up, shown one after the other, and what
// wallets are asked for together.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { wallet } from 'penstock-test/harness/delegation_rows.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { clock, now, OrderBook, type OrderRow } from 'penstock-test/harness/order_book.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { activatedStep, activateStep, delegateStep, WAIT_MAX_MS } from './delivery.ts'

const soon = new Date(now.getTime() + 1)
const at_last = new Date(now.getTime() - WAIT_MAX_MS)
const too_late = new Date(at_last.getTime() - 1)
const bob = person('bob').address

function numbered(): () => string {
  let made = 0
  return () => `made ${++made}`
}

const activationStates = async (sql: Sql) =>
  (
    await sql<{ id: string; state: string }>`
      select id, state from activation where id <> state order by id`
  ).map(({ id, state }) => `${id} -> ${state}`)

test('begun is an activation that is new, and its order with it', async (t) => {
  const { sql } = await OrderBook.of(t)
  const activation_wallet = { address: wallet, permission_id: 2 }
  const step = activateStep({ sql, clock, new_id: numbered(), activation_wallet, node: idle })
  await sql`
    insert into activation (id, address, state, made_at)
    select state, ${bob}, state, ${now} from unnest(array['active', 'failed']) as state`
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
  await sql`
    insert into activation (id, address, state, made_at) values ('new', ${bob}, 'new', ${now})`
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, activation_id, state,
      to_delegate, amount_sun, due_at, created_at)
    select id, 'anna', 'activate_address', 'bob', 0, true, id, 'new', false, 1, ${now}, ${now}
    from activation`
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(await activationStates(sql), ['new -> activating'])
  const begun = await sql<{ id: string }>`select id from orders where state = 'pending'`
  assert.deepEqual(begun, [{ id: 'new' }])
  assert.equal(await isDue(sql, step), false)
})

/** Asked of an address only when its attempt is dead. */
const idle = { account: () => Promise.reject(new Error('it is not to be asked')) }

test('an activation is over with its block, and is not when a fork takes that', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const step = activatedStep({ sql, node: idle })
  type Case = [state: string, attempt: string, uncovered: boolean, to?: string]
  const cases: Case[] = [
    ['activating', 'included', false, 'active'],
    ['activating', 'solid', false, 'active'],
    ['activating', 'sent', false],
    ['activating', 'signed', true],
    ['active', 'included', false],
    ['active', 'included', true],
    ['active', 'solid', true],
    ['active', 'sent', false],
    ['active', 'sent', true, 'activating'],
    ['active', 'signed', true, 'activating'],
    ['failed', 'sent', true],
    ['failed', 'included', false],
  ]
  // Of each kind, none of which is due.
  await book.activation('waits', 'activating', { state: 'sent' })
  await book.activation('over', 'active', { state: 'included' })
  await book.activation('lost', 'failed', { state: 'sent', uncovered: true })
  for (const [i, [state, attempt, uncovered, to = state]] of cases.entries()) {
    const id = `one${i}`
    const what = `${state} ${attempt} ${uncovered}`
    assert.equal(await isDue(sql, step), false, 'the others are not due')
    await book.activation(id, state, { state: attempt, uncovered })
    assert.equal(await isDue(sql, step), to !== state, what)
    assert.equal(await step.run(), to !== state, what)
    const [row] = await sql<{ state: string }>`select state from activation where id = ${id}`
    assert.equal(row!.state, to, what)
    await sql`delete from activation where id = ${id}`
  }
})

test('an order shows the block of the branch that stays, whoever died in between', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  await book.activation('one', 'activating', { state: 'included' })
  await book.order('bought', { state: 'success', activation_id: 'one' })
  await sql`
    update orders set service = 'activate_address', energy = 0, tx_id = 'of the other branch'`
  let left = 3
  // The worker is killed before it has done all of it.
  const dying = Object.assign(
    ((...of: Parameters<Sql>) =>
      /^\s*update (orders|activation) /.test(String(of[0][0])) && --left <= 0
        ? Promise.reject(new Error('killed'))
        : sql(...of)) as Sql,
    sql,
  )
  await assert.rejects(activatedStep({ sql: dying, node: idle }).run(), /killed/)
  assert.equal(left, 0)
  const step = activatedStep({ sql, node: idle })
  while (await step.run()) {}
  const [shown] = await sql`
    select o.tx_id = t.tx_id as is_shown, a.state from orders as o
      join activation as a on a.id = o.activation_id join attempt as t on t.id = a.attempt_id`
  assert.deepEqual(shown, { is_shown: true, state: 'active' })
})

test("of an address's two activations a fork takes one back, none beside a new one", async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const step = activatedStep({ sql, node: idle })
  const lost = { state: 'sent', uncovered: true }
  for (const id of ['a1', 'a2', 'b1', 'c1']) await book.activation(id, 'active', lost)
  await book.activation('c2', 'activating')
  await book.activation('d1', 'failed', lost)
  await sql`update activation set address = substr(id, 1, 1)`
  const states = async () =>
    (await sql<{ id: string; state: string }>`select id, state from activation order by id`).map(
      ({ id, state }) => `${id} ${state}`,
    )
  assert.equal(await step.run(), true)
  const after = ['a1 activating', 'a2 active', 'b1 activating', 'c1 active', 'c2 activating']
  assert.deepEqual(await states(), [...after, 'd1 failed'])
  assert.equal(await step.run(), false)
})

const delegating = (sql: Sql) =>
  delegateStep({ sql, clock, new_id: numbered(), permissions: new Map([[wallet, 2]]) })

type Case = OrderRow & { activation?: string; is_due: boolean }

test('asked for is what is owed, when it is due and can be received, in time', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const step = delegating(sql)
  const owed = { to_delegate: true, due_at: now }
  const cases: Case[] = [
    { ...owed, is_due: true },
    { ...owed, state: 'new', is_due: true },
    { ...owed, to_delegate: false, is_due: false },
    { ...owed, due_at: soon, is_due: false },
    { ...owed, created_at: at_last, is_due: true },
    { ...owed, created_at: too_late, is_due: false },
    { ...owed, created_at: too_late, state: 'success', is_due: true },
    { ...owed, activation: 'active', is_due: true },
    { ...owed, activation: 'activating', is_due: false },
    { ...owed, activation: 'failed', is_due: false },
  ]
  for (const state of ['active', 'activating']) await book.activation(`other ${state}`, state)
  for (const [i, { activation, is_due, ...row }] of cases.entries()) {
    const id = `one${i}`
    const what = JSON.stringify({ ...row, activation })
    if (activation) await book.activation(id, activation)
    await book.order(id, { ...row, ...(activation && { activation_id: id }) })
    assert.equal(await isDue(sql, step), is_due, what)
    assert.equal(await step.run(), false, 'the pool has nothing')
    const put_off = await sql<{ id: string }>`select id from orders where due_at > ${soon}`
    assert.deepEqual(put_off, is_due ? [{ id }] : [], what)
    await sql`delete from orders where id = ${id}`
  }
})

/** A TRX of stake is 100 units and the margin. */
async function stock(sql: Sql, rows: readonly (readonly [string, trx: bigint, carries: bigint])[]) {
  await sql`update pool set total_limit = 1010000, total_weight = 10000, room = 10000`
  for (const [address, trx, carries] of rows)
    await sql`
      insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
      values (${address}, 'energy', ${trx * 1_000_000n}, ${carries}, 5, ${now})`
}

const planned = async (sql: Sql) =>
  sql<{ order_id: string; wallet: string; amount: bigint }>`
    select order_id, wallet, amount from delegation where state = 'delegating'
    order by order_id, wallet, id`

test('orders that are asked for together share a wallet as far as it goes', async (t) => {
  for (const [trx, carries, orders] of [
    [3n, 100n, 3],
    [2n, 100n, 2],
    [3n, 4n, 2],
    [3n, 5n, 2],
    [3n, 3n, 1],
    [0n, 100n, 0],
  ] as const) {
    const book = await OrderBook.of(t)
    const { sql } = book
    // Each takes one TRX.
    await stock(sql, [[wallet, trx, carries]])
    for (const id of ['o1', 'o2', 'o3']) await book.order(id, { to_delegate: true })
    await sql`update orders set address = ${bob}, energy = 100`
    const what = `${trx} TRX, ${carries} transactions`
    assert.equal(await delegating(sql).run(), orders > 0, what)
    const rows = await planned(sql)
    assert.deepEqual(
      rows.map(({ order_id, amount }) => [order_id, amount]),
      ['o1', 'o2', 'o3'].slice(0, orders).map((id) => [id, 100n]),
      what,
    )
    const owed = await sql<{ id: string }>`
      select id from orders where to_delegate and due_at > ${soon} order by id`
    assert.equal(owed.length, 3 - orders, what)
    const [pool] = await sql<{ reserved: bigint; room: bigint }>`
      select reserved, room from pool where resource = 'energy'`
    const used = BigInt(100 * orders)
    assert.deepEqual(pool, { reserved: 1_000n - used, room: 10_000n - used }, what)
  }
})

test('a wallet is not asked to give to itself', async (t) => {
  const book = await OrderBook.of(t)
  await stock(book.sql, [[wallet, 10n, 100n]])
  await book.order('own', { to_delegate: true })
  await book.sql`update orders set address = ${wallet}`
  assert.equal(await delegating(book.sql).run(), false)
  assert.deepEqual(await planned(book.sql), [])
})

test('asked for is what of an order is missing, be it a success long ago', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  await stock(sql, [[wallet, 10n, 100n]])
  const owed = { to_delegate: true }
  await book.order('half', owed)
  await book.delegation('half', 'active')
  await book.delegation('half', 'failed', { state: 'dead' })
  await book.order('whole', owed)
  await book.delegation('whole', 'active')
  await book.delegation('whole', 'ended')
  await book.order('reverted', { ...owed, state: 'success', created_at: too_late })
  await sql`update orders set address = ${bob}, energy = 100`
  assert.equal(await delegating(sql).run(), true)
  assert.deepEqual(await planned(sql), [
    { order_id: 'half', wallet, amount: 50n },
    { order_id: 'reverted', wallet, amount: 100n },
  ])
  assert.deepEqual(await book.states(), ['half: pending', 'reverted: success', 'whole: pending'])
  assert.equal(await isDue(sql, delegating(sql)), false, 'nothing is owed any more')
})
