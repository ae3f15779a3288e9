// Which orders settlement takes up, shown one after the other beside others that are not due: it
// says that it is due when one is, and looks at that one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { ago, clock, now, OrderBook, type OrderRow } from 'penstock-test/harness/order_book.ts'
import { WAIT_MAX_MS } from './delivery.ts'
import { settleStep } from './settlement.ts'

const soon = new Date(now.getTime() + 1)
const at_last = new Date(now.getTime() - WAIT_MAX_MS)
const too_late = new Date(at_last.getTime() - 1)

type Attempt = Parameters<OrderBook['delegation']>[2]
type Case = OrderRow & {
  parts?: readonly (readonly [state: string, attempt?: Attempt])[]
  activation?: string
  is_due: boolean
}

/** With an attempt of each kind, none of which is of an order that is due. */
async function othersOf(book: OrderBook): Promise<void> {
  await book.order('others', { state: 'success' })
  await book.delegation('others', 'active')
  await book.delegation('others', 'delegating', { state: 'sent' })
  await book.delegation('others', 'failed', { state: 'dead', uncovered: true })
  await book.delegation('others', 'ended', { state: 'sent', uncovered: true })
  await book.order('later', { due_at: soon })
  await book.delegation('later', 'delegating')
  for (const state of ['active', 'failed', 'activating']) {
    await book.activation(`other ${state} activation`, state)
    const over = { activation_id: `other ${state} activation`, state: 'failed' }
    await book.order(`over ${state}`, over)
  }
}

/** Nothing can be settled while no account can be locked: whatever is taken up is put off. */
async function lookAt(
  book: OrderBook,
  id: string,
  { parts = [], activation, is_due, ...row }: Case,
) {
  const { sql } = book
  const step = settleStep({ sql, clock })
  const what = JSON.stringify({ parts, activation, ...row })
  assert.equal(await isDue(sql, step), false, 'the others are not due')
  if (activation) await book.activation(id, activation)
  await book.order(id, { due_at: now, ...row, ...(activation && { activation_id: id }) })
  for (const [state, attempt] of parts) await book.delegation(id, state, attempt)
  assert.equal(await isDue(sql, step), is_due, what)
  await sql`alter table account rename to account_elsewhere`
  if (is_due) await assert.rejects(step.run(), /relation "account" does not exist/, what)
  else assert.equal(await step.run(), false, what)
  await sql`alter table account_elsewhere rename to account`
  const put_off = await sql<{ id: string }>`select id from orders where due_at > ${soon}`
  assert.deepEqual(put_off, is_due ? [{ id }] : [], what)
  await sql`delete from delegation where order_id = ${id}`
  await sql`delete from orders where id = ${id}`
  await sql`delete from activation where id = ${id}`
  await sql`delete from attempt where split_part(id, ' ', 1) = ${id}`
}

async function lookAtEach(book: OrderBook, cases: readonly Case[]): Promise<void> {
  await othersOf(book)
  for (const [i, one] of cases.entries()) await lookAt(book, `one${i}`, one)
}

test('settled is what was asked for and is in a block or dead, or lost in a fork', async (t) => {
  const lost = { state: 'sent', uncovered: true }
  const book = await OrderBook.of(t)
  await lookAtEach(book, [
    ...['included', 'solid', 'dead'].map((state) => ({
      parts: [['delegating', { state }]] as const,
      is_due: true,
    })),
    { parts: [['delegating', { state: 'sent' }]], is_due: false },
    { parts: [['delegating', { state: 'signed' }]], is_due: false },
    { parts: [['active']], is_due: false },
    { parts: [['failed', { state: 'dead' }]], is_due: false },
    { parts: [['delegating']], due_at: soon, is_due: false },
    { parts: [['delegating']], state: 'failed', is_due: true },
    { parts: [['delegating'], ['active', { state: 'sent' }]], is_due: true },
    ...['signed', 'sent', 'dead'].map((state) => ({
      parts: [['active', { ...lost, state }]] as const,
      is_due: true,
    })),
    { parts: [['active', { state: 'sent' }]], is_due: false },
    { parts: [['active', { state: 'included', uncovered: true }]], is_due: false },
    { parts: [['failed', lost]], is_due: false },
    { parts: [['active', lost]], due_at: soon, is_due: false },
    { parts: [['active', lost]], state: 'success', is_due: true },
  ])
})

test('settled is an open order whose activation is over, once all is delivered', async (t) => {
  const asked = ['delegating', { state: 'sent' }] as const
  const book = await OrderBook.of(t)
  await lookAtEach(book, [
    ...['new', 'pending'].map((state) => ({ state, activation: 'failed', is_due: true })),
    ...['success', 'failed'].map((state) => ({ state, activation: 'failed', is_due: false })),
    { activation: 'failed', due_at: soon, is_due: false },
    { activation: 'failed', to_delegate: true, is_due: true },
    { activation: 'active', is_due: true },
    { activation: 'active', parts: [['active']], is_due: true },
    { activation: 'active', parts: [asked], is_due: false },
    { activation: 'active', to_delegate: true, is_due: false },
    { activation: 'active', due_at: soon, is_due: false },
    { activation: 'active', state: 'success', is_due: false },
    { activation: 'activating', is_due: false },
    { activation: 'new', is_due: false },
  ])
})

test('settled is an open order that has waited longer than it may', async (t) => {
  const waits = { to_delegate: true, created_at: too_late }
  const book = await OrderBook.of(t)
  await lookAtEach(book, [
    ...['new', 'pending'].map((state) => ({ ...waits, state, is_due: true })),
    ...['success', 'failed'].map((state) => ({ ...waits, state, is_due: false })),
    { ...waits, created_at: at_last, is_due: false },
    { ...waits, to_delegate: false, is_due: false },
    { ...waits, due_at: soon, is_due: false },
    { ...waits, activation: 'active', is_due: true },
    { ...waits, activation: 'activating', is_due: false },
    { ...waits, activation: 'new', created_at: ago(60), is_due: false },
  ])
})
