import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  begun_at,
  HOUR_MS,
  insertDelegation,
  wallet,
} from 'penstock-test/harness/delegation_rows.ts'
import { ago, OrderBook } from 'penstock-test/harness/order_book.ts'
import { listDelegations, listOrders, requireOrder, showOrder } from './order_lookup.ts'

test('delegations are listed newest first, page by page, by each filter alone', async (t) => {
  const { sql } = await freshDatabase(t)
  const rows = [
    { id: 'd1', state: 'ended' },
    { id: 'd2', state: 'active' },
    { id: 'd3', state: 'active', of_wallet: 'another' },
  ]
  for (const row of rows) await insertDelegation(sql, row)
  const all = { overdue: false, limit: 10 }
  const ids = async (wanted: Partial<Parameters<typeof listDelegations>[1]>) =>
    (await listDelegations(sql, { ...all, ...wanted })).map(({ id }) => id)
  assert.deepEqual(await ids({}), ['d3', 'd2', 'd1'])
  assert.deepEqual(await ids({ limit: 2 }), ['d3', 'd2'])
  assert.deepEqual(await ids({ before: 'd2' }), ['d1'])
  assert.deepEqual(await ids({ before: 'd3', limit: 1 }), ['d2'])
  assert.deepEqual(await ids({ state: 'ended' }), ['d1'])
  assert.deepEqual(await ids({ wallet }), ['d2', 'd1'])
  assert.deepEqual(await ids({ order: 'order of d2' }), ['d2'])
  assert.deepEqual(await ids({ receiver: 'nobody' }), [])
})

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 12, minute))

test('orders are listed newest first, page by page, by each filter alone', async (t) => {
  const { sql } = await freshDatabase(t)
  // Each differs from the one before in one thing that can be asked for.
  await sql`
    insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
      to_delegate, amount_sun, due_at, created_at)
    select id, customer, external, service, address, case service when 'energy' then 1 else 0 end,
      service = 'activate_address', state, false, 0, ${at(0)},
      ${at(0)}::timestamptz + make_interval(mins => minute)
    from (values
      ('o1', 'anna', 'mine', 'energy', 'bob', 'new', 0),
      ('o2', 'bert', 'mine', 'energy', 'bob', 'new', 1),
      ('o3', 'bert', 'o1', 'energy', 'nina', 'new', 2),
      ('o4', 'bert', null, 'energy', 'nina', 'failed', 3))
      as t (id, customer, external, service, address, state, minute)`
  const all = { open: false, limit: 10 }
  const ids = async (wanted: Partial<Parameters<typeof listOrders>[1]>) =>
    (await listOrders(sql, { ...all, ...wanted })).map(({ id }) => id)
  assert.deepEqual(await ids({}), ['o4', 'o3', 'o2', 'o1'])
  assert.deepEqual(await ids({ limit: 1 }), ['o4'])
  assert.deepEqual(await ids({ before: 'o3' }), ['o2', 'o1'])
  assert.deepEqual(await ids({ customer: 'anna' }), ['o1'])
  assert.deepEqual(await ids({ state: 'failed' }), ['o4'])
  assert.deepEqual(await ids({ open: true }), ['o3', 'o2', 'o1'])
  assert.deepEqual(await ids({ address: 'nina' }), ['o4', 'o3'])
  assert.deepEqual(await ids({ service: 'bandwidth' }), [])
  assert.deepEqual(await ids({ since: at(2) }), ['o4', 'o3'])
  assert.deepEqual(await ids({ until: at(2) }), ['o2', 'o1'])
  assert.equal((await requireOrder(sql, 'o1')).id, 'o1', 'an id of ours goes before one of theirs')
  assert.equal((await requireOrder(sql, 'o4')).id, 'o4')
  await assert.rejects(requireOrder(sql, 'mine'), /Several orders have the external id mine/)
  await assert.rejects(requireOrder(sql, 'o5'), /There is no order o5/)
})

test('overdue is what is out when its hour is over by the time of the head', async (t) => {
  const { sql } = await freshDatabase(t)
  const over_at = new Date(begun_at.getTime() + HOUR_MS)
  const later = new Date(over_at.getTime() + 1)
  for (const state of ['delegating', 'active', 'reclaiming', 'ended', 'failed']) {
    await insertDelegation(sql, { id: state, state, expires_at: over_at })
    await insertDelegation(sql, { id: `${state} later`, state, expires_at: later })
  }
  const overdue = async (state?: string) =>
    (await listDelegations(sql, { overdue: true, limit: 10, state })).map(({ id }) => id)
  assert.deepEqual(await overdue(), [], 'no head is known')
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, seen_at, confirmed_number)
    values (100, 'head', ${over_at}, 81, ${over_at}, 81)`
  assert.deepEqual(await overdue(), ['reclaiming', 'active'])
  assert.deepEqual(await overdue('active'), ['active'])
  assert.deepEqual(await overdue('ended'), [])
})

test('an order is shown with its own delegations, activation and entries alone', async (t) => {
  const book = await OrderBook.of(t)
  for (const id of ['one', 'other']) {
    await book.activation(`activation ${id}`, 'active')
    await book.order(id, { state: 'success', activation_id: `activation ${id}` })
    await book.delegation(id, 'active')
    await book.delegation(id, 'ended')
    await book.sql`
      insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      values (${`captured ${id}`}, 'capture', ${`order:${id}`}, 'customer:anna', 'revenue', 1,
        ${ago(0)})`
  }
  const { id, delegations, activation, entries } = await showOrder(book.sql, 'one')
  assert.equal(id, 'one')
  assert.deepEqual(
    delegations.map((part) => [part.id, part.attempt, part.tx_id, part.reclaim_tx_id]),
    [
      ['one active', 'included', 'tx of one active', null],
      ['one ended', 'included', 'tx of one ended', 'tx of one ended back'],
    ],
  )
  assert.deepEqual(
    [activation?.id, activation?.attempt, activation?.tx_id],
    ['activation one', 'included', 'tx of activation one'],
  )
  assert.deepEqual(
    entries.map((entry) => entry.id),
    ['order:one', 'captured one'],
  )
  await book.order('without')
  const without = await showOrder(book.sql, 'without')
  assert.deepEqual([without.activation, without.delegations], [null, []])
})
