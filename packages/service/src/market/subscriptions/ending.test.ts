// What a customer may stop, and what of one that has ended or rests is taken back and given back:
// on rows written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { clock, now, STATES, SubscriptionBook } from 'penstock-test/harness/subscription_book.ts'
import { customerAccount, holdAll, lockAccounts, REVENUE } from '../../ledger/accounts/ledger.ts'
import { later } from '../../lib/clock.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { stopSubscription, withdrawSupplyStep } from './ending.ts'

const HAS_ENDED = ['stopped', 'expired', 'error']

/** What becomes of a stop by Anna: that it is stopped, or why it cannot be. */
async function stop(book: SubscriptionBook, id: string, woken: string[] = []): Promise<string> {
  const { sql } = book
  const actor = { customer_id: 'anna', key_id: 'key of anna' }
  const wake = (step: string) => void woken.push(step)
  return stopSubscription(
    { sql, clock, wake },
    { customer_id: 'anna', id, external_id: null },
    actor,
  ).then(
    (stopped) => `${stopped.id} ${stopped.state}`,
    ({ key, about }) => `${key}: ${about.because ?? about.absent}`,
  )
}

test('a customer stops what runs and has no limit, and that alone', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await book.chain(later(clock, -1))
  for (const id of [...STATES, 'limited', 'of a limited plan', 'other', 'of ben'])
    await book.subscription(id, { state: STATES.includes(id) ? id : 'active' })
  await sql`update subscription set transactions_limit = 1 where id = 'limited'`
  await sql`
    update subscription set plan_id = (select max(id) from plan where transactions_limit > 0)
    where id = 'of a limited plan'`
  await sql`update subscription set customer_id = 'ben' where id = 'of ben'`
  const woken: string[] = []
  for (const id of ['new', 'pending', 'active'])
    assert.equal(await stop(book, id, woken), `${id} stopped`)
  assert.equal(woken.join(' '), Array(3).fill('withdraw_supply publish').join(' '))
  const refused = 'cannot_stop_subscription'
  for (const id of [...HAS_ENDED, 'active'])
    assert.equal(await stop(book, id), `${refused}: it has ended already`)
  for (const id of ['limited', 'of a limited plan'])
    assert.equal(
      await stop(book, id),
      `${refused}: it has a limit of transactions, and ends with them or its days`,
    )
  assert.equal(await stop(book, 'of ben'), 'subscription_not_found: subscription of yours')
  const rows = await sql<{ id: string }>`
    select id from subscription where state = 'stopped' and stopped_at = ${now} order by id`
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['active', 'new', 'pending'],
  )
  const records = await sql`select subject, before, after from customer_action order by number`
  assert.deepEqual(
    records,
    ['new', 'pending', 'active'].map((status) => ({
      subject: `subscription:${status}`,
      before: { status },
      after: { status: 'stopped' },
    })),
  )
})

test('what ends while the chain is ahead ends with its newest block', async (t) => {
  const book = await SubscriptionBook.of(t)
  const head = later(clock, 1)
  await book.chain(head)
  await book.subscription('one', { state: 'active' })
  assert.equal(await stop(book, 'one'), 'one stopped')
  const [row] = await book.sql`select stopped_at from subscription`
  assert.deepEqual(row, { stopped_at: head })
})

test('a subscription that has ended or rests is to be withdrawn, until it is', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  const step = withdrawSupplyStep({ sql, clock })
  const rows: [row: Parameters<SubscriptionBook['subscription']>[1], due: boolean][] = [
    [{ state: 'new' }, false],
    [{ state: 'pending' }, false],
    [{ state: 'active' }, false],
    [{ state: 'active', resting: 'idle' }, true],
    [{ state: 'active', resting: 'idle', withdrawn: true }, false],
    [{ state: 'stopped' }, true],
    [{ state: 'expired' }, true],
    [{ state: 'error' }, true],
    [{ state: 'stopped', withdrawn: true }, false],
  ]
  for (const [i, [row = {}, due]] of rows.entries()) {
    await book.subscription(`s${i}`, row)
    // What was ordered for it and not noted: that is looked for where it is to be withdrawn.
    await book.order(`s${i}/1`, { state: 'success', solid: true })
    assert.equal(await isDue(sql, step), due, JSON.stringify(row))
    assert.equal(await step.run(), false, 'nothing of it was there')
    assert.equal((await book.supplied()).includes(`s${i}: s${i}/1`), due, JSON.stringify(row))
    assert.equal(await isDue(sql, step), false, JSON.stringify(row))
    assert.equal((await book.withdrawn()).includes(`s${i}`), due || row.withdrawn === true)
  }
})

test('a late order is due for one that has ended, until it is noted or solid', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  const step = withdrawSupplyStep({ sql, clock })
  const isDueNow = () => isDue(sql, step)
  await book.subscription('other', { withdrawn: true })
  await book.order('other/1', { state: 'new' })
  await book.supply('other/1')
  assert.equal(await isDueNow(), false, 'it is noted')
  await book.subscription('rests', { state: 'active', resting: 'idle', withdrawn: true })
  await book.order('rests/1', { state: 'new' })
  assert.equal(await isDueNow(), false, 'it has not ended')
  await book.subscription('one', { withdrawn: true })
  await book.order('one/1', { state: 'failed' })
  const rows: [state: string, solid: boolean, due: boolean][] = [
    ['failed', false, false],
    ['new', false, true],
    ['pending', false, true],
    ['success', false, true],
    ['success', true, false],
  ]
  for (const [state, solid, due] of rows) {
    const tx_id = state === 'success' ? 'tx' : null
    await sql`
      update orders set state = ${state}, tx_id = ${tx_id}, solid_at = ${solid ? now : null}
      where external_id = 'one/1'`
    assert.equal(await isDueNow(), due, `${state} ${solid}`)
  }
})

test('the energy of ended and resting subscriptions is due at once, and no other', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  const step = withdrawSupplyStep({ sql, clock })
  for (const state of STATES) await book.subscription(state, { state })
  await book.subscription('rests', { state: 'active', resting: 'daily_cap' })
  await book.subscription('withdrawn', { withdrawn: true })
  await book.subscription('on its way', { state: 'expired' })
  for (const id of [...STATES, 'rests', 'withdrawn']) await book.given(`${id}/1`)
  await book.given('on its way/1', 'reclaiming')
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  const due = await sql<{ order_id: string }>`
    select order_id from delegation where expires_at = delegated_at order by order_id`
  assert.deepEqual(
    due.map(({ order_id }) => order_id.split(' ').at(-1)),
    ['error/1', 'expired/1', 'rests/1', 'stopped/1'],
  )
  assert.deepEqual(await book.withdrawn(), ['withdrawn'])
  await book.subscription('last')
  await book.given('last/1')
  assert.deepEqual([await step.run(), await step.run()], [true, false], 'of one, too')
})

test('what was ordered for one keeps it from being withdrawn until it is there', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await sql`insert into cursor (name, number) values ('other', 1), ('subscriptions', 90)`
  for (const id of ['new', 'pending', 'planned', 'failed']) await book.subscription(id)
  for (const state of ['new', 'pending', 'failed']) await book.order(`${state}/1`, { state })
  await book.order('planned/1')
  await sql`update orders set to_delegate = true where external_id = 'planned/1'`
  for (const id of ['new', 'pending', 'planned', 'failed']) await book.supply(`${id}/1`)
  await book.subscription('back')
  await book.taken('back/1', 'solid')
  await withdrawSupplyStep({ sql, clock }).run()
  assert.deepEqual(await book.withdrawn(), ['back', 'failed'])
  await sql`delete from cursor where name = 'subscriptions'`
  await book.subscription('unread')
  await book.taken('unread/1', 'solid', 0)
  await withdrawSupplyStep({ sql, clock }).run()
  assert.deepEqual(await book.withdrawn(), ['back', 'failed'], 'no block has been read')
})

test('what is still held for one that is withdrawn is given back, and no more', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  const debit = customerAccount('anna')
  for (const id of ['begun', 'unbegun', 'going', 'expired'])
    await book.subscription(id, { state: id === 'expired' ? 'expired' : 'stopped' })
  for (const id of ['begun', 'unbegun', 'going'])
    await sql.begin(async (tx) => {
      await lockAccounts(tx, [debit])
      holdAll(
        tx,
        [1, 2, 3].map((number) => ({
          id: `subscription:${id}/next/${number}`,
          debit,
          credit: REVENUE,
          amount_sun: 7n,
          made_at: now,
        })),
      )
      tx.send`
        update subscription set holds_made = 3, holds_ended = 1,
          started_at = ${id === 'begun' ? now : null}
        where id = ${id}`
    })
  await book.taken('going/1', 'sent')
  await withdrawSupplyStep({ sql, clock }).run()
  const given = await sql<{ hold_id: string }>`
    select hold_id from transfer where kind = 'release' order by hold_id`
  assert.deepEqual(
    given.map(({ hold_id }) => hold_id.split(':')[1]),
    ['begun/next/2', 'begun/next/3', 'unbegun', 'unbegun/next/2', 'unbegun/next/3'],
  )
  const rows = await sql`
    select id, holds_ended, withdrawn, total_sun from subscription order by id`
  assert.deepEqual(rows, [
    { id: 'begun', holds_ended: 3, withdrawn: true, total_sun: 100n },
    { id: 'expired', holds_ended: 0, withdrawn: true, total_sun: 100n },
    { id: 'going', holds_ended: 1, withdrawn: false, total_sun: 100n },
    { id: 'unbegun', holds_ended: 3, withdrawn: true, total_sun: 0n },
  ])
})

/** What another process does with one that has ended, or with one that rests. */
const MEANWHILE: [what: string, id: string, change: (tx: Tx) => Promise<unknown>][] = [
  ['supplied', 'ended', (tx) => tx`update subscription set supplies = 1`],
  ['withdrawn', 'ended', (tx) => tx`update subscription set withdrawn = true`],
  ['woken', 'rests', (tx) => tx`update subscription set resting = null`],
]

for (const [what, id, change] of MEANWHILE)
  test(`one that was ${what} by another process meanwhile is left as it is`, async (t) => {
    const book = await SubscriptionBook.of(t)
    const { sql } = book
    await book.subscription('ended')
    await book.subscription('rests', { state: 'active', resting: 'idle' })
    await sql`delete from subscription where id <> ${id}`
    const changed = Promise.withResolvers<void>()
    const found = Promise.withResolvers<void>()
    const other = sql.begin(async (tx) => {
      await lockAccounts(tx, [customerAccount('anna')])
      await change(tx)
      changed.resolve()
      await found.promise
    })
    await changed.promise
    const readTime = () => {
      found.resolve()
      return now
    }
    await withdrawSupplyStep({ sql, clock: { now: readTime } }).run()
    await other
    assert.deepEqual(await book.withdrawn(), what === 'withdrawn' ? [id] : [])
    assert.deepEqual(await sql`select from transfer where kind = 'release'`, [])
  })
