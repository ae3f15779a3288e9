// Supplies of subscriptions, and when all of them are back: on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { customerAccount, holdAll, moveAll, REVENUE, WORLD } from '../../ledger/accounts/ledger.ts'
import { later } from '../../lib/clock.ts'
import { createCustomer, SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { dueAsker } from '../../platform/steps/due.ts'
import { withdrawSupplyStep } from './ending.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow } from './forms.ts'
import { closeStoppedStart, noteLateSupplies, noteLostSupplies } from './subscriptions.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }

type Row = { state?: string; withdrawn?: boolean; resting?: string | null; supplies?: number }
type OrderRow = { state?: string; solid?: boolean; customer_id?: string }

class Book {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Book> {
    const { sql } = await freshDatabase(t)
    const needs = { clock, new_id: () => 'anna', deposit_address: () => person('anna').address }
    const deposit = { id: 'deposit:1', debit: WORLD, credit: customerAccount('anna') }
    await sql.begin(async (tx) => {
      await createCustomer(tx, needs, { name: 'Anna' })
      await moveAll(tx, [{ ...deposit, amount_sun: 1_000n, made_at: now }])
    })
    return new Book(sql)
  }

  /** One whose start costs 100 sun, which are held. */
  async subscription(id: string, row: Row = {}): Promise<void> {
    const { state = 'stopped', withdrawn = false, resting = null, supplies = 0 } = row
    await this.sql`
      insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
        activate_address, state, total_sun, supplies, look_at, created_at, withdrawn, resting,
        rested_at, idle_since)
      select ${id}, 'anna', min(id), ${`address of ${id}`}, 0, 0, true, ${state}, 100, ${supplies},
        ${now}, ${now}, ${withdrawn}, ${resting}, ${resting === null ? null : now}, ${now}
      from plan`
    const hold = { id: `subscription:${id}`, debit: customerAccount('anna'), credit: REVENUE }
    await this.sql.begin(async (tx) => holdAll(tx, [{ ...hold, amount_sun: 100n, made_at: now }]))
  }

  /** An order for a supply of a subscription, by its external id. */
  async order(external_id: string, row: OrderRow = {}): Promise<void> {
    const { state = 'success', solid = false, customer_id = SUBSCRIPTIONS } = row
    await this.sql`
      insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at, solid_at)
      values (${`${customer_id} ${external_id}`}, ${customer_id}, ${external_id}, 'energy', 'bob',
        50, false, ${state}, false, 0, ${state === 'success' ? 'tx' : null}, ${now}, ${now},
        ${solid ? now : null})`
  }

  async attempt(id: string, state: string, block_number = 90): Promise<void> {
    const in_block = state === 'included' || state === 'solid'
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${id}, ${id}, '{}', ${state}, ${id}, '', ${now}, ${now}, ${now},
        ${in_block ? block_number : null}, ${in_block ? now : null})`
  }

  /** A delegation of an order that is a supply, and is being taken back, or was. */
  async taken(external_id: string, reclaim: string, block_number = 90): Promise<void> {
    const order_id = `${SUBSCRIPTIONS} ${external_id}`
    await this.order(external_id)
    await this.attempt(`${order_id} given`, 'solid')
    await this.attempt(`${order_id} back`, reclaim, block_number)
    const state = reclaim === 'sent' ? 'reclaiming' : 'ended'
    await this.sql`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
        attempt_id, reclaim_id, delegated_at, expires_at, reclaimed_at)
      values (${order_id}, ${order_id}, 'wallet', 'bob', 'energy', 50, 1000000, ${state},
        ${`${order_id} given`}, ${`${order_id} back`}, ${now}, ${now},
        ${state === 'ended' ? now : null})`
    await this.sql`
      insert into subscription_supply (subscription_id, order_id)
      values (${external_id.split('/')[0]!}, ${order_id})`
  }

  async supplied(): Promise<string[]> {
    const rows = await this.sql<{ subscription_id: string; external_id: string }>`
      select subscription_id, external_id from subscription_supply
      join orders on orders.id = order_id order by external_id`
    return rows.map(({ subscription_id, external_id }) => `${subscription_id}: ${external_id}`)
  }

  async withdrawn(): Promise<string[]> {
    const rows = await this.sql<{ id: string }>`
      select id from subscription where withdrawn order by id`
    return rows.map(({ id }) => id)
  }
}

test('a late order is a supply of one that has ended, until it is solid', async (t) => {
  const book = await Book.of(t)
  for (const id of ['new', 'pending', 'sent', 'solid', 'failed'])
    await book.subscription(id, { withdrawn: true })
  await book.subscription('active', { state: 'active' })
  await book.subscription('open', { withdrawn: false })
  await book.order('new/1', { state: 'new' })
  await book.order('pending/1', { state: 'pending' })
  await book.order('sent/1')
  await book.order('solid/1', { solid: true })
  await book.order('failed/1', { state: 'failed' })
  await book.order('active/1')
  await book.order('open/1')
  await book.order('failed/2', { customer_id: 'anna' })
  const step = withdrawSupplyStep({ sql: book.sql, clock })
  const isDue = async () => (await dueAsker(book.sql, [step])(new Set([step.name]))).size === 1
  await book.sql`update subscription set withdrawn = true where id = 'open'`
  assert.equal(await isDue(), true, 'for late orders alone')
  await book.sql`update subscription set withdrawn = false where id = 'open'`
  await noteLateSupplies(book.sql)
  const late = ['new: new/1', 'pending: pending/1', 'sent: sent/1']
  assert.deepEqual(await book.supplied(), late)
  assert.deepEqual(await book.withdrawn(), ['failed', 'solid'], 'others have something again')
  await noteLateSupplies(book.sql)
  assert.deepEqual(await book.supplied(), late, 'once')
  await book.sql`update orders set solid_at = ${now} where external_id = 'open/1'`
  await book.sql`update subscription set withdrawn = true where state = 'stopped'`
  assert.equal(await isDue(), false, 'an order of an active one is not late')
})

test('a lost supply is the next one of those asked for, and of nobody else', async (t) => {
  const book = await Book.of(t)
  for (const id of ['one', 'two', 'other'])
    await book.subscription(id, { state: 'active', supplies: 2 })
  for (const id of ['one', 'two', 'other'])
    for (const number of [2, 3, 4]) await book.order(`${id}/${number}`)
  await book.order('two/3', { customer_id: 'anna' })
  await noteLostSupplies(book.sql, ['one', 'two'])
  assert.deepEqual(await book.supplied(), ['one: one/3', 'two: two/3'])
  await noteLostSupplies(book.sql, ['one'])
  assert.deepEqual(await book.supplied(), ['one: one/3', 'two: two/3'])
})

test('one is withdrawn when all is taken back by solid blocks whose uses are read', async (t) => {
  const book = await Book.of(t)
  const { sql } = book
  await sql`insert into cursor (name, number) values ('subscriptions', 90)`
  for (const id of ['solid', 'included', 'sent', 'unread', 'twice']) await book.subscription(id)
  await book.subscription('active', { state: 'active' })
  await book.subscription('rests', { state: 'active', resting: 'idle' })
  await book.subscription('nothing')
  await book.taken('solid/1', 'solid')
  await book.taken('included/1', 'included')
  await book.taken('sent/1', 'sent')
  await book.taken('unread/1', 'solid', 91)
  await book.taken('twice/1', 'solid')
  await book.taken('twice/2', 'included')
  await book.taken('active/1', 'solid')
  await book.taken('rests/1', 'solid')
  const step = withdrawSupplyStep({ sql, clock })
  while (await step.run()) {}
  assert.deepEqual(await book.withdrawn(), ['nothing', 'rests', 'solid'])
})

test('a start that was stopped is given back, less the activation if it was ours', async (t) => {
  const book = await Book.of(t)
  const { sql } = book
  const setFee = async (fee_sun: bigint, since = now) => {
    await sql`update fee set until = ${since} where until is null`
    await sql`
      insert into fee (name, price_sun, since, changed_by)
      values ('activate_address', ${fee_sun}, ${since}, 'olga')`
  }
  const close = async (
    id: string,
    fee_sun: bigint,
    activation: string,
    { by_us = true, payer }: { by_us?: boolean; payer?: string } = {},
  ) => {
    await setFee(fee_sun)
    // A fee that has changed since it began is not that of the start.
    await setFee(fee_sun + 7n, later({ now: () => now }, 1))
    await book.subscription(id)
    await book.taken(`${id}/1`, 'solid')
    await book.attempt(`activate ${id}`, 'solid')
    await sql`
      insert into activation (id, address, state, attempt_id, made_at)
      values (${id}, ${id}, ${activation}, ${by_us ? `activate ${id}` : null}, ${now})`
    await sql`
      update orders set activation_id = ${id} where external_id = ${`${id}/1`}`
    if (payer !== undefined) {
      await book.order(`${id}/payer`, { state: payer })
      await sql`
        update orders set activation_id = ${id}, amount_sun = 5, fee_sun = 5
        where external_id = ${`${id}/payer`}`
    }
    await sql.begin(async (tx) => {
      const [row] = await tx<SubscriptionRow>`
        select ${SUBSCRIPTION_COLUMNS} from subscription where id = ${id}`
      await closeStoppedStart(tx, row!, now)
    })
    const [end] = await sql<{ kind: string; amount_sun: bigint; total_sun: bigint }>`
      select kind, amount_sun, total_sun from transfer, subscription
      where hold_id = ${`subscription:${id}`} and subscription.id = ${id}`
    return end!.kind === 'capture' ? [end!.amount_sun, end!.total_sun] : [0n, end!.total_sun]
  }
  assert.deepEqual(await close('by us', 40n, 'active'), [40n, 40n])
  assert.deepEqual(await close('dearer', 140n, 'active'), [100n, 100n])
  assert.deepEqual(await close('as dear', 100n, 'active'), [100n, 100n])
  assert.deepEqual(await close('by others', 40n, 'active', { by_us: false }), [0n, 0n])
  // Another order has paid for it, unless that had its money back.
  assert.deepEqual(await close('paid', 40n, 'active', { payer: 'success' }), [0n, 0n])
  assert.deepEqual(await close('paid back', 40n, 'active', { payer: 'failed' }), [40n, 40n])
  assert.deepEqual(await close('failed', 40n, 'failed'), [0n, 0n])
})
