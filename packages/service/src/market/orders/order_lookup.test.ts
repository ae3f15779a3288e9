import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { insertDelegation, wallet } from 'penstock-test/harness/delegation_rows.ts'
import { listDelegations, listOrders, requireOrder } from './order_lookup.ts'

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
