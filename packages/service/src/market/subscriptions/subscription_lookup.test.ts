// Subscriptions as operators look them up: on rows written by hand, each unlike the others in one
// thing.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { customerAccount, moveAll, REVENUE, WORLD } from '../../ledger/accounts/ledger.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { subscriptionForms } from './forms.ts'
import {
  listAllSubscriptions,
  requireSubscription,
  showSubscription,
} from './subscription_lookup.ts'
import { findSubscription, listSubscriptions } from './subscriptions.ts'

const now = new Date('2026-10-08T15:26:32Z')

/** By the plan of its name, which is not that of its key, unless it says else. */
type Row = { of?: string; state?: string; address?: string; key?: string; external_id?: string }

const ROWS: [id: string, row: Row][] = [
  ['a', {}],
  ['b', { of: 'ben', external_id: 'mine' }],
  ['c', { state: 'stopped' }],
  ['d', { address: 'shared', state: 'stopped' }],
  ['e', { key: 'first' }],
  ['f', { key: 'second', address: 'shared', external_id: 'mine' }],
]

async function insertAll(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const id of ['third', 'fourth'])
    await sql`
      insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
        transactions_limit, duration_days, changed_by)
      values (${id}, ${id}, 0, 100, 50, 0, 7, 0, 'olga')`
  for (const [id, row] of ROWS) {
    const { of = 'anna', state = 'active', address = `address of ${id}` } = row
    await sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, look_at, created_at, idle_since, key_id, external_id,
        holds_made, holds_ended)
      select ${id}, ${of}, plan.id, ${address}, 0, 0, false, ${state}, 100, ${now}, ${now}, ${now},
        ${row.key ?? null}, ${row.external_id ?? null}, 5, 3
      from plan where key = 'third'`
  }
  return sql
}

test('subscriptions are listed by customer, state, address and key, newest first', async (t) => {
  const sql = await insertAll(t)
  const listed = async (wanted: object = {}, limit = 9) =>
    (await listAllSubscriptions(sql, { limit, ...wanted })).map(({ id }) => id).join('')
  assert.deepEqual([await listed(), await listed({}, 2)], ['fedcba', 'fe'])
  assert.deepEqual(
    [await listed({ customer: 'anna' }), await listed({ customer: 'ben' })],
    ['fedca', 'b'],
  )
  assert.deepEqual(
    [await listed({ state: 'stopped' }), await listed({ state: 'active' })],
    ['dc', 'feba'],
  )
  assert.deepEqual(
    [await listed({ address: 'shared' }), await listed({ address: 'address of a' })],
    ['fd', 'a'],
  )
  assert.deepEqual([await listed({ key: 'first' }), await listed({ key: 'second' })], ['e', 'f'])
  assert.deepEqual([await listed({ before: 'c' }), await listed({ before: 'a' })], ['ba', ''])
  assert.equal(await listed({ state: 'active', address: 'shared', key: 'second' }), 'f')
  const [newest] = await listAllSubscriptions(sql, { limit: 1 })
  assert.equal(newest!.plan_key, 'third')
})

test('customers list their own, by state and page, with how many there are', async (t) => {
  const sql = await insertAll(t)
  const listed = async (asked: { customer_id?: string; state?: string; page?: number } = {}) => {
    const { customer_id = 'anna', state = null, page = 1 } = asked
    const { total, items } = await listSubscriptions(sql, { customer_id, state, page, per_page: 2 })
    for (const { plan_key } of items) assert.equal(plan_key, 'third')
    return `${total} ${items.map(({ id }) => id).join('')}`
  }
  assert.deepEqual([await listed(), await listed({ page: 2 })], ['5 fe', '5 dc'])
  assert.deepEqual([await listed({ page: 3 }), await listed({ page: 4 })], ['5 a', '5 '])
  assert.deepEqual(
    [await listed({ state: 'stopped' }), await listed({ state: 'active', page: 2 })],
    ['2 dc', '3 a'],
  )
  assert.deepEqual(
    [await listed({ customer_id: 'ben' }), await listed({ state: 'new' })],
    ['1 b', '0 '],
  )
})

test('a customer names a subscription by its id, by its external id, or by both', async (t) => {
  const sql = await insertAll(t)
  const found = async (customer_id: string, id: string | null, external_id: string | null) =>
    findSubscription(sql, { customer_id, id, external_id }).then(
      (one) => `${one.id} ${one.plan_key}`,
      ({ key, about }) => `${key} ${about.param}`,
    )
  const rows: [asked: Parameters<typeof found>, outcome: string][] = [
    [['anna', 'a', null], 'a third'],
    [['ben', 'a', null], 'subscription_not_found id'],
    [['anna', null, 'mine'], 'f third'],
    [['ben', null, 'mine'], 'b third'],
    [['zoe', null, 'mine'], 'subscription_not_found external_id'],
    [['anna', null, 'other'], 'subscription_not_found external_id'],
    [['anna', 'f', 'mine'], 'f third'],
    [['anna', 'a', 'mine'], 'subscription_not_found id'],
  ]
  for (const [asked, outcome] of rows) assert.equal(await found(...asked), outcome, `${asked}`)
})

test('the form of each that is named is of its own plan', async (t) => {
  const sql = await insertAll(t)
  const forms = await sql.begin((tx) => subscriptionForms(tx, ['a', 'c']))
  assert.deepEqual([...forms.keys()].sort(), ['a', 'c'])
  assert.deepEqual([forms.get('a')!.subscription_id, forms.get('c')!.status], ['third', 'stopped'])
})

test('a subscription is shown with its own holds, uses, supplies and entries', async (t) => {
  const sql = await insertAll(t)
  const { plan_key, held_sun } = await requireSubscription(sql, 'a')
  assert.deepEqual([plan_key, held_sun], ['third', 100n])
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: now }))
  for (const [tx_id, id, number] of [
    ['one', 'a', 1],
    ['two', 'a', 2],
    ['other', 'b', 2],
  ] as const)
    await sql`
      insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun,
        used_at, block_number)
      values (${id}, ${tx_id}, 1, 1, 0, ${now}, ${number})`
  for (const [id, order] of [
    ['a', 'given'],
    ['a', 'planned'],
    ['b', 'of another'],
  ] as const) {
    await sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, due_at, created_at)
      values (${order}, ${SUBSCRIPTIONS}, ${order}, 'energy', 'bob', 50, false, 'new', true, 0,
        ${now}, ${now})`
    await sql`insert into subscription_supply (subscription_id, order_id) values (${id}, ${order})`
    if (order === 'planned') continue
    await sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at)
      values (${order}, ${order}, '{}', 'sent', ${order}, '', ${now}, ${now}, ${now})`
    await sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id)
      values (${order}, ${order}, 'wallet', 'bob', 'energy', 50, 1000000, 'delegating', ${order})`
  }
  const account = customerAccount('anna')
  await sql.begin((tx) =>
    moveAll(tx, [
      { id: 'deposit', debit: WORLD, credit: account, amount_sun: 100n, made_at: now },
      ...['subscription:a', 'subscription:a/next/1', 'subscription:ab/next/1'].map((id) => ({
        id,
        debit: account,
        credit: REVENUE,
        amount_sun: 1n,
        made_at: now,
      })),
    ]),
  )
  const { uses, supply_orders, entries } = await showSubscription(sql, 'a')
  assert.deepEqual(
    uses.map(({ tx_id }) => tx_id),
    ['two', 'one'],
  )
  assert.deepEqual(
    supply_orders.map(({ order_id, delegation }) => `${order_id}: ${delegation}`),
    ['planned: null', 'given: delegating'],
  )
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['subscription:a/next/1', 'subscription:a'],
  )
})
