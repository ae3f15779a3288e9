// Which orders the steps take up that settle and end them, and what is noted of which.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { customerAccount, holdAll, moveAll, REVENUE, WORLD } from '../../ledger/accounts/ledger.ts'
import { createCustomer } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { checkedOrders, ORDER_COLUMNS, type Order } from './forms.ts'
import { delayOrders, endOrders, remindOrders, solidifyOrders } from './orders.ts'
import { endStep, settleStep } from './settlement.ts'

const now = new Date('2026-10-08T15:26:32Z')
const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
const clock = { now: () => now }

type Row = {
  state?: string
  service?: 'energy' | 'activate_address'
  activation_id?: string
  to_delegate?: boolean
  created_at?: Date
  due_at?: Date
}

class Book {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Book> {
    const { sql } = await freshDatabase(t)
    const needs = { clock, new_id: () => 'anna', deposit_address: () => person('anna').address }
    const account = customerAccount('anna')
    await sql.begin(async (tx) => {
      await createCustomer(tx, needs, { name: 'Anna' })
      const deposit = { id: 'deposit:1', debit: WORLD, credit: account }
      await moveAll(tx, [{ ...deposit, amount_sun: 1_000n, made_at: ago(300) }])
    })
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, seen_at, confirmed_number)
      values (100, 'head', ${now}, 81, ${now}, 81)`
    await sql`update pool set reserved = 1000`
    return new Book(sql)
  }

  /** One of energy that is open, all asked for, an hour old and due, and its price held. */
  async order(id: string, row: Row = {}): Promise<void> {
    const { state = 'pending', service = 'energy', to_delegate = false } = row
    const { created_at = ago(1), due_at = ago(1), activation_id = null } = row
    await this.sql`
      insert into orders (id, customer_id, service, address, energy, activate, activation_id, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, 'anna', ${service}, 'bob', ${service === 'energy' ? 50 : 0}, true,
        ${activation_id}, ${state}, ${to_delegate}, 1, ${state === 'success' ? 'tx' : null},
        ${due_at}, ${created_at})`
    const hold = { id: `order:${id}`, debit: customerAccount('anna'), credit: REVENUE }
    await this.sql.begin(async (tx) =>
      holdAll(tx, [{ ...hold, amount_sun: 1n, made_at: created_at }]),
    )
  }

  async attempt(id: string, state = 'included'): Promise<void> {
    const in_block = state === 'included' || state === 'solid'
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${id}, ${id}, '{}', ${state}, ${`tx of ${id}`}, '', ${now}, ${now}, ${now},
        ${in_block ? 90 : null}, ${in_block ? now : null})`
  }

  /** One that has its transaction, and is over when it is ended. */
  async activation(id: string, state: string): Promise<void> {
    await this.attempt(id, state === 'activating' ? 'sent' : 'included')
    await this.sql`
      insert into activation (id, address, state, attempt_id, made_at)
      values (${id}, ${id}, ${state}, ${id}, ${now})`
  }

  async delegation(order_id: string, state: string, attempt = 'included'): Promise<void> {
    const id = `${order_id} ${state}`
    await this.attempt(id, attempt)
    const reclaimed = state === 'reclaiming' || state === 'ended'
    if (reclaimed) await this.attempt(`${id} back`)
    const at = state === 'delegating' || state === 'failed' ? null : now
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
      values (${id}, ${order_id}, 'wallet', 'bob', 'energy', 50, 1000000, ${state}, ${id},
        ${reclaimed ? `${id} back` : null}, ${at}, ${at}, ${state === 'ended' ? now : null})`
  }

  async states(): Promise<string[]> {
    const rows = await this.sql<{ id: string; state: string }>`
      select id, state from orders order by id`
    return rows.map(({ id, state }) => `${id}: ${state}`)
  }

  /** The orders of which a moment is noted. */
  async noted(column: 'ended_at' | 'solid_at' | 'ending_at' | 'delayed_at'): Promise<string[]> {
    const rows = await this.sql<Record<string, unknown> & { id: string }>`
      select id, ended_at, solid_at, ending_at, delayed_at from orders order by id`
    return rows.filter((row) => row[column] !== null).map(({ id }) => id)
  }

  read(...ids: string[]): Promise<Order[]> {
    return this.sql<Order>`select ${ORDER_COLUMNS} from orders where id = any(${ids})`
  }
}

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
  await book.delegation('sent', 'delegating', 'sent')
  await book.order('half')
  await book.delegation('half', 'delegating')
  await book.delegation('half', 'active', 'sent')
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
  await book.delegation('back', 'failed', 'dead')
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
    await book.delegation(id, 'failed', 'dead')
    await book.delegation(id, 'delegating', 'sent')
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
