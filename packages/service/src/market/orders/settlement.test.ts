// Which orders the steps take up that settle and end them, and what is noted of which.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, clock, now, OrderBook } from 'penstock-test/harness/order_book.ts'
import { withRace } from 'penstock-test/harness/race.ts'
import { checkedOrders } from './forms.ts'
import { delayOrders, endOrders, remindOrders, solidifyOrders } from './orders.ts'
import { endStep, settleStep } from './settlement.ts'

const settle = async ({ sql }: OrderBook) => {
  const step = settleStep({ sql, clock })
  while (await step.run()) {}
}

test('an order ends as its activation does, and waits while it is made', async (t) => {
  const book = await OrderBook.of(t)
  const later = { due_at: new Date(now.getTime() + 1) }
  for (const state of ['failed', 'active', 'activating']) {
    await book.activation(state, state)
    const bought = { service: 'activate_address', activation_id: state } as const
    await book.order(`alone ${state}`, bought)
    await book.order(`later ${state}`, { ...bought, ...later })
    await book.order(`with energy ${state}`, { activation_id: state, to_delegate: true })
  }
  await settle(book)
  assert.deepEqual(await book.states(), [
    'alone activating: pending',
    'alone active: success',
    'alone failed: failed',
    'later activating: pending',
    'later active: pending',
    'later failed: pending',
    'with energy activating: pending',
    'with energy active: pending',
    'with energy failed: failed',
  ])
})

test('an order succeeds with its parts in blocks, and fails when it waits too long', async (t) => {
  const book = await OrderBook.of(t)
  await book.order('in a block')
  await book.delegation('in a block', 'delegating')
  await book.order('sent')
  await book.delegation('sent', 'delegating', { state: 'sent' })
  await book.order('half')
  await book.delegation('half', 'delegating')
  await book.delegation('half', 'active', { state: 'sent' })
  await book.order('waits', { to_delegate: true, created_at: ago(9) })
  await book.order('waits too long', { to_delegate: true, created_at: ago(11) })
  await settle(book)
  assert.deepEqual(await book.states(), [
    'half: pending',
    'in a block: success',
    'sent: pending',
    'waits: pending',
    'waits too long: failed',
  ])
})

test('orders that are whole in blocks are settled together, others one by one', async (t) => {
  const book = await OrderBook.of(t)
  await book.activation('activation', 'active')
  for (const id of ['one', 'two', 'activated', 'half', 'other', 'later']) {
    const row = id === 'activated' ? { activation_id: 'activation' } : {}
    await book.order(id, { ...row, due_at: id === 'later' ? ago(-1) : now })
    await book.delegation(id, 'delegating', { state: id === 'two' ? 'solid' : 'included' })
  }
  await book.delegation('half', 'active', { state: 'sent', uncovered: true })
  await book.delegation('other', 'failed', { state: 'dead' })
  await settle(book)
  const states = ['activated: success', 'half: pending', 'later: pending', 'one: success']
  assert.deepEqual(await book.states(), [...states, 'other: success', 'two: success'])
  const settled = await book.sql<{ ids: string[] }>`
    select array_agg(id order by id) as ids from orders where state = 'success'
    group by xmin::text order by 1`
  assert.deepEqual(
    settled.map(({ ids }) => ids),
    [['activated'], ['one', 'two'], ['other']],
  )
})

test('an order that is no more as it was found is left as it is', async (t) => {
  const changes: [change: (book: OrderBook) => Promise<unknown>, states: string[]][] = [
    [({ sql }) => sql`update orders set state = 'failed' where id = 'one'`, ['one: failed']],
    [({ sql }) => sql`update orders set to_delegate = true where id = 'one'`, ['one: pending']],
    [
      ({ sql }) => sql`
        update attempt set state = 'sent', block_number = null, block_time = null
        where id = 'one delegating'`,
      ['one: pending'],
    ],
    [async () => {}, ['one: success']],
  ]
  for (const [change, states] of changes) {
    const book = await OrderBook.of(t)
    for (const id of ['one', 'two']) {
      await book.order(id)
      await book.delegation(id, 'delegating')
    }
    const sql = withRace(book.sql, () => change(book))
    assert.equal(await settleStep({ sql, clock }).run(), true)
    assert.deepEqual(await book.states(), [...states, 'two: success'])
  }
})

test('an activation that somebody else has made is not paid for', async (t) => {
  const book = await OrderBook.of(t)
  for (const id of ['ours', 'taken']) {
    await book.activation(id, 'active')
    await book.order(`energy ${id}`, { activation_id: id, fee_sun: 7n })
    await book.delegation(`energy ${id}`, 'delegating')
    await book.order(`alone ${id}`, { service: 'activate_address', activation_id: id })
  }
  await book.sql`update activation set attempt_id = null where id = 'taken'`
  await settle(book)
  const rows = await book.sql<{ id: string; state: string; amount_sun: bigint; fee_sun: bigint }>`
    select id, state, amount_sun, fee_sun from orders order by id`
  assert.deepEqual(
    rows.map(({ id, state, amount_sun, fee_sun }) => [id, state, amount_sun, fee_sun]),
    [
      ['alone ours', 'success', 1n, 0n],
      ['alone taken', 'failed', 1n, 0n],
      ['energy ours', 'success', 8n, 7n],
      ['energy taken', 'success', 1n, 0n],
    ],
  )
  const [account] = await book.sql<{ sun: bigint }>`
    select sum(amount_sun)::bigint as sun from transfer where kind = 'capture'`
  assert.equal(account!.sun, 10n)
})

test('what a failed order has still reserved is given back, and no more', async (t) => {
  const waits = { to_delegate: true, created_at: ago(11) }
  const book = await OrderBook.of(t)
  await book.order('half', waits)
  await book.delegation('half', 'active')
  await book.delegation('half', 'failed', { state: 'dead' })
  await book.sql`update orders set energy = 80`
  await book.activation('never', 'failed')
  await book.order('asked', { activation_id: 'never' })
  await settle(book)
  assert.deepEqual(await book.states(), ['asked: failed', 'half: failed'])
  const pools = await book.sql`select resource, reserved from pool order by resource`
  assert.deepEqual(pools, [
    { resource: 'bandwidth', reserved: 1_000n },
    { resource: 'energy', reserved: 970n },
  ])
  const [part] = await book.sql<{ is_over: boolean }>`
    select expires_at = delegated_at as is_over from delegation where state = 'active'`
  assert.equal(part!.is_over, true, 'what it got is due at once')
})

test('a part that a fork took, or that is dead, moves, and its order is due again', async (t) => {
  const book = await OrderBook.of(t)
  const lost = { state: 'sent', uncovered: true }
  for (const state of ['pending', 'success', 'failed']) {
    await book.order(`dead ${state}`, { state })
    await book.delegation(`dead ${state}`, 'delegating', { state: 'dead' })
    await book.order(`lost ${state}`, { state })
    await book.delegation(`lost ${state}`, 'active', lost)
  }
  await settle(book)
  const rows = await book.sql<{ id: string; part: string; owed: boolean; tries: number }>`
    select o.id, d.state as part, to_delegate as owed, tries
    from orders as o join delegation as d on d.order_id = o.id order by o.id`
  assert.deepEqual(
    rows.map(({ id, part, owed, tries }) => [id, part, owed, tries]),
    [
      ['dead failed', 'failed', false, 0],
      ['dead pending', 'failed', true, 1],
      ['dead success', 'failed', true, 1],
      ['lost failed', 'delegating', false, 0],
      ['lost pending', 'delegating', false, 0],
      ['lost success', 'delegating', false, 0],
    ],
  )
  const [energy] = await book.sql`select reserved from pool where resource = 'energy'`
  assert.deepEqual(energy, { reserved: 1_100n })
})

test('ended is a success that is an hour old, with all of it taken back, once', async (t) => {
  const book = await OrderBook.of(t)
  const sold = { state: 'success', created_at: ago(59) }
  await book.order('back', sold)
  await book.delegation('back', 'ended')
  await book.delegation('back', 'failed', { state: 'dead' })
  await book.order('young', { ...sold, created_at: ago(58) })
  await book.delegation('young', 'ended')
  await book.order('owed', { ...sold, to_delegate: true })
  await book.order('failed', { ...sold, state: 'failed' })
  await book.order('no energy', { ...sold, service: 'activate_address' })
  for (const state of ['active', 'reclaiming', 'delegating']) {
    await book.order(state, sold)
    await book.delegation(state, 'ended')
    await book.delegation(state, state)
  }
  const step = endStep({ sql: book.sql, clock })
  assert.equal(await step.run(), true)
  assert.deepEqual(await book.noted('ended_at'), ['back'])
  assert.equal(await step.run(), false)
})

test('what is noted of an order is noted of it alone, and told', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  for (const id of ['one', 'two', 'other']) await book.order(id, { state: 'success' })
  const orders = await book.read('one', 'two')
  await sql.begin((tx) => solidifyOrders(tx, orders, now))
  await sql.begin((tx) => remindOrders(tx, orders.slice(0, 1), now))
  const delayed = orders.slice(1).map((order) => ({ ...order, waits_for: 'room' as const }))
  await sql.begin((tx) => delayOrders(tx, delayed, now))
  await sql.begin((tx) => endOrders(tx, orders, now))
  for (const note of [solidifyOrders, remindOrders]) await sql.begin((tx) => note(tx, [], now))
  await sql.begin((tx) => delayOrders(tx, [], now))
  assert.deepEqual(await book.noted('solid_at'), ['one', 'two'])
  assert.deepEqual(await book.noted('ending_at'), [orders[0]!.id])
  assert.deepEqual(await book.noted('delayed_at'), [orders[1]!.id])
  assert.deepEqual(await book.noted('ended_at'), ['one', 'two'])
})

test('an order shows its own parts on the chain, each by its own transactions', async (t) => {
  const book = await OrderBook.of(t)
  for (const id of ['one', 'other']) {
    await book.order(id, { state: 'success' })
    await book.delegation(id, 'active')
    await book.delegation(id, 'ended')
    await book.delegation(id, 'failed', { state: 'dead' })
    await book.delegation(id, 'delegating', { state: 'sent' })
  }
  const found = await book.sql.begin((tx) => checkedOrders(tx, ['one']))
  assert.deepEqual([...found.keys()], ['one'])
  assert.deepEqual(
    found.get('one')!.delegations.map((part) => [part.hash, part.reclaim_hash, part.reclaimed_at]),
    [
      ['tx of one active', undefined, undefined],
      ['tx of one ended', 'tx of one ended back', now.toISOString().replace('.000', '')],
    ],
  )
})
