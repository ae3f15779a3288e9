// Arrows of orders that choose their rows by themselves, and how an order is found.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  awaitActivations,
  awaitDelegations,
  findOrder,
  postponeOrders,
  showActivation,
} from './orders.ts'

const now = new Date('2026-10-08T15:26:32Z')

type Row = {
  id: string
  state?: string
  service?: 'energy' | 'activate_address'
  activate?: boolean
  activation_id?: string
  external_id?: string
  customer_id?: string
}

async function insertOrders(sql: Sql, rows: readonly Row[]): Promise<void> {
  for (const one of rows) {
    const { id, state = 'new', service = 'energy', customer_id = 'anna' } = one
    await sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate,
        activation_id, state, to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, ${customer_id}, ${one.external_id ?? null}, ${service}, 'bob',
        ${service === 'energy' ? 1 : 0}, ${one.activate ?? true}, ${one.activation_id ?? null},
        ${state}, true, 0, ${state === 'success' ? 'before' : null}, ${now}, ${now})`
  }
}

/** Activations that have attempts of their own, named by them. */
async function insertActivations(sql: Sql, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at)
      values (${id}, ${`activate:${id}`}, '{}', 'sent', ${`tx of ${id}`}, '', ${now}, ${now},
        ${now})`
    await sql`
      insert into activation (id, address, state, attempt_id, made_at)
      values (${id}, ${id}, 'activating', ${id}, ${now})`
  }
}

async function idsWhere(sql: Sql, test: (row: Record<string, unknown>) => boolean) {
  const rows = await sql<Record<string, unknown>>`
    select id, state, to_delegate, tx_id, due_at from orders order by id`
  return rows.filter(test).map(({ id }) => id)
}

test('pending are those that pay for the activation that is asked for, and are new', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertActivations(sql, 'one', 'other')
  const activation_id = 'one'
  await insertOrders(sql, [
    { id: 'pays', activation_id },
    { id: 'shares', activation_id, activate: false },
    { id: 'failed', activation_id, state: 'failed' },
    { id: 'elsewhere', activation_id: 'other' },
    { id: 'without' },
  ])
  await sql.begin(async (tx) => awaitActivations(tx, ['one']))
  assert.deepEqual(await idsWhere(sql, ({ state }) => state === 'pending'), ['pays'])
})

test('a new order is pending once all is asked for, and a success stays one', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertOrders(sql, [{ id: 'new' }, { id: 'success', state: 'success' }, { id: 'other' }])
  await sql.begin(async (tx) => awaitDelegations(tx, ['new', 'success']))
  assert.deepEqual(await idsWhere(sql, ({ state }) => state === 'pending'), ['new'])
  assert.deepEqual(await idsWhere(sql, ({ state }) => state === 'success'), ['success'])
  assert.deepEqual(await idsWhere(sql, ({ to_delegate }) => to_delegate === true), ['other'])
})

test('who bought an activation alone is shown the transaction that made it', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertActivations(sql, 'one', 'other')
  const bought = { service: 'activate_address', activation_id: 'one' } as const
  await insertOrders(sql, [
    { ...bought, id: 'bought', state: 'success' },
    { ...bought, id: 'pending', state: 'pending' },
    { ...bought, id: 'energy', state: 'success', service: 'energy' },
    { ...bought, id: 'elsewhere', state: 'success', activation_id: 'other' },
  ])
  await showActivation(sql, 'one')
  assert.deepEqual(await idsWhere(sql, ({ tx_id }) => tx_id === 'tx of one'), ['bought'])
  assert.deepEqual(await idsWhere(sql, ({ tx_id }) => tx_id === 'before'), ['elsewhere', 'energy'])
})

test('what cannot be gone on with is due later, and nothing else', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertOrders(sql, [{ id: 'one' }, { id: 'other' }])
  const due_at = new Date(now.getTime() + 1)
  await postponeOrders(sql, [], due_at)
  await postponeOrders(sql, ['one'], due_at)
  const later = (row: Record<string, unknown>) => (row.due_at as Date).getTime() > now.getTime()
  assert.deepEqual(await idsWhere(sql, later), ['one'])
})

type Lookup = [
  customer_id: string,
  id: string | null,
  external_id: string | null,
  found?: string | undefined,
]

test('an order is found by its id, its name or both, and by its customer alone', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertOrders(sql, [
    { id: '1', external_id: 'first' },
    { id: '2', external_id: 'second' },
    { id: '3', external_id: 'first', customer_id: 'bert' },
    { id: '4' },
  ])
  const rows: Lookup[] = [
    ['anna', '1', null, '1'],
    ['anna', '1', 'first', '1'],
    ['anna', '1', 'second', undefined],
    ['anna', '4', 'first', undefined],
    ['anna', '4', null, '4'],
    ['anna', null, 'first', '1'],
    ['anna', null, 'third', undefined],
    ['bert', null, 'first', '3'],
    ['bert', '1', null, undefined],
  ]
  for (const [customer_id, id, external_id, found] of rows) {
    const order = await findOrder(sql, { customer_id, id, external_id })
    assert.equal(order?.id, found, `${customer_id} ${id} ${external_id}`)
  }
})
