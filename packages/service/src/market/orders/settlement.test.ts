// Which orders the steps take up that settle and end them, and what is noted of which.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, Book, clock, now } from 'penstock-test/harness/order_book.ts'
import { checkedOrders } from './forms.ts'
import { delayOrders, endOrders, remindOrders, solidifyOrders } from './orders.ts'
import { endStep, settleStep } from './settlement.ts'

const settle = async ({ sql }: Book) => {
  const step = settleStep({ sql, clock })
  while (await step.run()) {}
}

test('an order ends as its activation does, and waits while it is made', async (t) => {
  const book = await Book.of(t)
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
  const book = await Book.of(t)
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

test('ended is a success that is an hour old, with all of it taken back, once', async (t) => {
  const book = await Book.of(t)
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
  const book = await Book.of(t)
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
  const book = await Book.of(t)
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
