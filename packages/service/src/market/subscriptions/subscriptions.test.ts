// Supplies of subscriptions, when all of them are back, and what ends, begins and shows one: on
// rows written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { clock, now, STATES, SubscriptionBook } from 'penstock-test/harness/subscription_book.ts'
import type { Address } from 'penstock-tron/address.ts'
import { pack } from '../../chain/follow/contents.ts'
import { later } from '../../lib/clock.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import { ownEnergyOf } from './charges.ts'
import { endAll, endSubscription, withdrawSupplyStep } from './ending.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow } from './forms.ts'
import { listUses, requireSubscription, showSubscription } from './subscription_lookup.ts'
import {
  activateSubscriptions,
  closeStoppedStart,
  noteLateSupplies,
  noteLostSupplies,
  payStoppedStart,
  supplySubscriptions,
} from './subscriptions.ts'
import { confirmUsesStep, useStep } from './uses.ts'

test('a late order is a supply of one that has ended, until it is solid', async (t) => {
  const book = await SubscriptionBook.of(t)
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
  await book.sql`update subscription set withdrawn = true where id = 'open'`
  assert.equal(await isDue(book.sql, step), true, 'for late orders alone')
  await book.sql`update subscription set withdrawn = false where id = 'open'`
  await noteLateSupplies(book.sql)
  const late = ['new: new/1', 'pending: pending/1', 'sent: sent/1']
  assert.deepEqual(await book.supplied(), late)
  assert.deepEqual(await book.withdrawn(), ['failed', 'solid'], 'others have something again')
  await noteLateSupplies(book.sql)
  assert.deepEqual(await book.supplied(), late, 'once')
  await book.sql`update orders set solid_at = ${now} where external_id = 'open/1'`
  await book.sql`update subscription set withdrawn = true where state = 'stopped'`
  assert.equal(await isDue(book.sql, step), false, 'an order of an active one is not late')
})

test('a lost supply is the next one of those asked for, and of nobody else', async (t) => {
  const book = await SubscriptionBook.of(t)
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
  const book = await SubscriptionBook.of(t)
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
  const book = await SubscriptionBook.of(t)
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
        update orders set activation_id = ${id}, amount_sun = 5, fee_sun = 1
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

test('one activation is charged once, of however many starts that were stopped', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await sql`update fee set price_sun = 40 where until is null`
  await sql`insert into cursor (name, number) values ('subscriptions', 90)`
  await book.attempt('activate', 'solid')
  await sql`
    insert into activation (id, address, state, attempt_id, made_at)
    values ('a', 'bob', 'active', 'activate', ${now})`
  for (const id of ['one', 'other']) {
    await book.subscription(id)
    await book.taken(`${id}/1`, 'solid')
  }
  await sql`update orders set activation_id = 'a'`
  const step = withdrawSupplyStep({ sql, clock: { now: () => now } })
  while (await step.run()) {}
  const ends = await sql<{ kind: string; amount_sun: bigint }>`
    select kind, amount_sun from transfer where hold_id is not null order by hold_id`
  assert.deepEqual(
    ends.map(({ kind, amount_sun }) => `${kind} ${amount_sun}`),
    ['capture 40', 'release 100'],
  )
})

/** One in each state, by the name of that. */
async function oneOfEach(book: SubscriptionBook): Promise<void> {
  for (const state of STATES) await book.subscription(state, { state })
}

const statesOf = async ({ sql }: SubscriptionBook) => {
  const rows = await sql<{ id: string; state: string }>`select id, state from subscription`
  return Object.fromEntries(rows.map(({ id, state }) => [id, state]))
}

const asNamed = Object.fromEntries(STATES.map((state) => [state, state]))

test('one is ended that runs, and that has begun or not as is asked', async (t) => {
  const book = await SubscriptionBook.of(t)
  await oneOfEach(book)
  const end = (id: string, begun?: boolean) =>
    book.sql.begin((tx) => {
      const asked = { reason: 'a test', now, ...(begun === undefined ? {} : { begun }) }
      return endSubscription(tx, { id, customer_id: 'anna' }, asked)
    })
  for (const id of ['stopped', 'expired', 'error', 'absent'])
    assert.equal(await end(id), undefined, id)
  assert.equal(await end('new', true), undefined)
  assert.equal(await end('pending', true), undefined)
  assert.equal(await end('active', false), undefined)
  assert.deepEqual(await statesOf(book), asNamed)
  assert.equal(await end('pending', false), 'error')
  assert.equal(await end('active', true), 'stopped')
  assert.equal(await end('new'), 'error')
  const ended = { new: 'error', pending: 'error', active: 'stopped' }
  assert.deepEqual(await statesOf(book), { ...asNamed, ...ended })
})

test('all that run of a customer end, stopped where something was ordered for them', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await oneOfEach(book)
  for (const id of ['ordered', 'second', 'not ours']) await book.subscription(id, { state: 'new' })
  await book.order('ordered/1')
  await book.order('second/2')
  await book.order('not ours/1', { customer_id: 'anna' })
  await book.subscription('of ben', { state: 'active' })
  await sql`update subscription set customer_id = 'ben' where id = 'of ben'`
  const ended = await sql.begin((tx) =>
    endAll(tx, { customer_id: 'anna' }, { reason: 'a test', now }),
  )
  const now_are = {
    new: 'error',
    pending: 'error',
    active: 'stopped',
    ordered: 'stopped',
    second: 'error',
    'not ours': 'error',
  }
  assert.deepEqual(Object.fromEntries(ended.map(({ id, state }) => [id, state])), now_are)
  assert.deepEqual(await statesOf(book), { ...asNamed, ...now_are, 'of ben': 'active' })
})

test('with a key those alone end that it has started', async (t) => {
  const book = await SubscriptionBook.of(t)
  for (const id of ['mine', 'other', 'none']) await book.subscription(id, { state: 'active' })
  await book.sql`update subscription set key_id = id where id <> 'none'`
  const ended = await book.sql.begin((tx) =>
    endAll(tx, { customer_id: 'anna', key_id: 'mine' }, { reason: 'a test', now }),
  )
  assert.deepEqual(ended, [{ id: 'mine', before: 'active', state: 'stopped' }])
})

test('first energy makes those active that wait for it, and of those the ones named', async (t) => {
  const book = await SubscriptionBook.of(t)
  await book.chain(now)
  await oneOfEach(book)
  await book.subscription('waiting', { state: 'pending' })
  await book.subscription('for nothing', { state: 'pending' })
  await book.sql`update subscription set total_sun = 0 where id = 'for nothing'`
  const named = [...STATES, 'for nothing']
  const active = await book.sql.begin((tx) => activateSubscriptions(tx, named, now))
  assert.deepEqual(active.map(({ id }) => id).sort(), ['for nothing', 'pending'])
  const captured = await book.sql`select hold_id from transfer where kind = 'capture'`
  assert.deepEqual(captured, [{ hold_id: 'subscription:pending' }])
})

test('the start of one that was stopped is paid once, and of no other', async (t) => {
  const book = await SubscriptionBook.of(t)
  await oneOfEach(book)
  await book.subscription('free', { state: 'stopped' })
  await book.sql`update subscription set total_sun = 0 where id = 'free'`
  const pays = (id: string) => book.sql.begin((tx) => payStoppedStart(tx, id, now))
  for (const id of STATES) assert.equal(await pays(id), id === 'stopped', id)
  assert.deepEqual([await pays('stopped'), await pays('free')], [false, false])
  const started = await book.sql`select id from subscription where started_at is not null`
  assert.deepEqual(started, [{ id: 'stopped' }])
})

test('a supply counts where as many were there before, and ends a rest', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  const head = later({ now: () => now }, 5_000)
  await book.chain(head)
  await book.subscription('new', { state: 'new', supplies: 1 })
  await book.subscription('rests', { state: 'active', supplies: 1, resting: 'idle' })
  await book.subscription('before', { state: 'active', supplies: 2 })
  await book.subscription('not named', { state: 'active', supplies: 1 })
  const ids = ['new', 'rests', 'before']
  for (const id of ids) await book.order(`${id}/2`)
  const supplies = ids.map((id) => ({
    id,
    supplies: 1,
    order_id: `${SUBSCRIPTIONS} ${id}/2`,
    look_at: now,
  }))
  const supplied = await sql.begin((tx) => supplySubscriptions(tx, supplies, now))
  assert.deepEqual(
    supplied.map(({ id }) => id),
    ['new', 'rests'],
  )
  const rows = await sql`
    select id, state, supplies, resting, idle_since from subscription order by id`
  assert.deepEqual(rows, [
    { id: 'before', state: 'active', supplies: 2, resting: null, idle_since: now },
    { id: 'new', state: 'pending', supplies: 2, resting: null, idle_since: now },
    { id: 'not named', state: 'active', supplies: 1, resting: null, idle_since: now },
    { id: 'rests', state: 'active', supplies: 2, resting: null, idle_since: head },
  ])
  assert.deepEqual(await book.supplied(), ['new: new/2', 'rests: rests/2'])
})

/** A use that took so much of the address's own energy. */
const use = (
  { sql }: SubscriptionBook,
  subscription_id: string,
  row: { tx_id: string; number: number; own?: bigint; solid?: boolean; used_at?: Date },
) => sql`
  insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun, used_at,
    block_number, solid, own_energy)
  values (${subscription_id}, ${row.tx_id}, 1, 1, 0, ${row.used_at ?? now}, ${row.number},
    ${row.solid ?? false}, ${row.own ?? 0n})`

test('own energy is back a day after a use, and more of it by the hour', async (t) => {
  const book = await SubscriptionBook.of(t)
  for (const id of ['one', 'other']) await book.subscription(id, { state: 'active' })
  const hours = (h: number) => later({ now: () => now }, h * 3_600_000)
  const own = (own_energy: bigint, staked: bigint) =>
    book.sql.begin((tx) => ownEnergyOf(tx, { id: 'one', own_energy }, { staked }, { time: now }))
  await use(book, 'other', { tx_id: 'other', number: 1, own: 50n })
  await use(book, 'one', { tx_id: 'none', number: 2 })
  assert.deepEqual([await own(0n, 9n), await own(10n, 9n), await own(10n, 11n)], [0n, 9n, 10n])
  assert.equal(await own(1n, 9n), 1n, 'the least')
  await use(book, 'one', { tx_id: 'least', number: 9, own: 1n })
  assert.equal(await own(10n, 11n), 9n)
  await book.sql`delete from subscription_use where tx_id = 'least'`
  await use(book, 'one', { tx_id: 'day', number: 3, own: 100n, used_at: hours(-24) })
  await use(book, 'one', { tx_id: 'ahead', number: 4, own: 10n, used_at: hours(24) })
  await use(book, 'one', { tx_id: 'half', number: 5, own: 40n, used_at: hours(-12) })
  assert.deepEqual([await own(31n, 9n), await own(30n, 9n), await own(29n, 9n)], [1n, 0n, 0n])
  await book.sql`
    insert into block (number, id, parent_id, time, contents)
    values (5, 'b', 'a', ${hours(-6)}, '{}')`
  assert.equal(await own(41n, 9n), 1n, 'the time of its block counts, while that is kept')
})

test('uses are confirmed when their block is confirmed, and read', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await book.subscription('one', { state: 'active' })
  await book.chain(now)
  await sql`insert into cursor (name, number) values ('other', 99), ('subscriptions', 99)`
  const step = confirmUsesStep({ sql, clock })
  const isDueFor = async (number: number, cursor: number, solid = false) => {
    await sql`delete from subscription_use`
    await sql`update cursor set number = ${cursor} where name = 'subscriptions'`
    await use(book, 'one', { tx_id: 'one', number, solid })
    const due = await isDue(sql, step)
    assert.equal(await step.run(), due, 'it runs when it is due, and not else')
    return due
  }
  assert.deepEqual([await isDueFor(10, 99), await isDueFor(11, 99)], [true, false])
  assert.deepEqual([await isDueFor(9, 9), await isDueFor(9, 8)], [true, false])
  assert.equal(await isDueFor(9, 99, true), false)
})

test('uses are listed newest first, from where a page ended', async (t) => {
  const book = await SubscriptionBook.of(t)
  for (const id of ['one', 'other']) await book.subscription(id, { state: 'active' })
  for (const [tx_id, number] of [
    ['a', 1],
    ['b', 2],
    ['c', 2],
    ['d', 3],
  ] as const)
    await use(book, 'one', { tx_id, number })
  await use(book, 'other', { tx_id: 'e', number: 2 })
  const listed = async (place?: [number: bigint, tx_id: string], limit = 9) => {
    const [block_number, tx_id] = place ?? []
    const from = place && { block_number: block_number!, tx_id: tx_id! }
    const rows = await listUses(book.sql, { subscription_id: 'one', place: from, limit })
    return rows.map((row) => row.tx_id).join('')
  }
  assert.deepEqual([await listed(), await listed(undefined, 2)], ['dcba', 'dc'])
  assert.deepEqual([await listed([3n, 'd']), await listed([2n, 'c'])], ['cba', 'ba'])
  assert.deepEqual([await listed([2n, 'b']), await listed([1n, 'a'])], ['a', ''])
})

test('operators find one by its id before any external id, and never one of several', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  for (const id of ['one', 'two', 'three', 'one more']) await book.subscription(id)
  const call = (id: string, external_id: string, customer_id = 'anna') => sql`
    update subscription set external_id = ${external_id}, customer_id = ${customer_id}
    where id = ${id}`
  await call('two', 'one')
  await call('three', 'twice')
  await call('one more', 'twice', 'ben')
  assert.equal((await requireSubscription(sql, 'one')).id, 'one')
  await assert.rejects(requireSubscription(sql, 'twice'), /Several have the external id twice/)
  await assert.rejects(requireSubscription(sql, 'absent'), /There is no subscription absent/)
  await call('one more', 'once', 'ben')
  assert.equal((await requireSubscription(sql, 'twice')).id, 'three')
  await book.taken('one/1', 'solid')
  await use(book, 'two', { tx_id: 'of two', number: 1 })
  const { uses, supply_orders, entries } = await showSubscription(sql, 'one')
  assert.deepEqual([uses.length, supply_orders.length], [0, 1])
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['subscription:one'],
    'not those of one whose id begins likewise',
  )
})

/** A use of 65,000 by one that is active and has energy of ours there, unless it says else. */
type UseCase = {
  id: string
  state?: string
  resting?: string
  /** Of the block that took the energy back. */
  back?: number
  given?: number
  energy?: bigint
  staked?: bigint
  transactions?: number
  limit?: number
  total_sun?: number
  stopped_ms?: number
  begun?: boolean
  withdrawn?: boolean
  to_delegate?: boolean
  /** The state of another delegation for it, which is in no block. */
  beside?: string
  /** How often it is counted afterwards. */
  counts: number
  rests?: string
}

async function insertUsed(book: SubscriptionBook, one: UseCase): Promise<void> {
  const { sql } = book
  const { id, state = 'active', resting = null, back = 99, given = 90, beside } = one
  const { transactions = 0, limit = 0, total_sun = 100, begun = state !== 'pending' } = one
  const { stopped_ms, withdrawn = false, to_delegate = false } = one
  const stopped_at = stopped_ms === undefined ? null : later(clock, stopped_ms)
  await book.subscription(id, { state, resting, withdrawn, supplies: 1 })
  await book.taken(`${id}/1`, 'included', back)
  const order_id = `${SUBSCRIPTIONS} ${id}/1`
  await sql`update attempt set block_number = ${given} where id = ${`${order_id} given`}`
  await sql`update orders set to_delegate = ${to_delegate} where id = ${order_id}`
  await sql`
    update subscription set order_id = ${order_id}, transactions_used = ${transactions},
      transactions_limit = ${limit}, total_sun = ${total_sun}, stopped_at = ${stopped_at},
      started_at = ${begun ? now : null}
    where id = ${id}`
  if (beside === undefined) return
  await book.attempt(`${id} beside`, 'sent')
  await sql`
    insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
      attempt_id)
    values (${`${id} beside`}, ${order_id}, 'wallet', 'bob', 'energy', 50, 1000000, ${beside},
      ${`${id} beside`})`
}

const USED: readonly UseCase[] = [
  { id: 'active', counts: 1 },
  { id: 'new', state: 'new', begun: false, counts: 0 },
  { id: 'error', state: 'error', begun: false, counts: 0 },
  { id: 'expired', state: 'expired', stopped_ms: 0, counts: 1 },
  { id: 'given in the block', given: 95, counts: 0 },
  { id: 'given before it', given: 94, counts: 1 },
  { id: 'back before it', back: 94, counts: 0 },
  { id: 'back in the block', back: 95, counts: 1 },
  { id: 'nothing staked', staked: 0n, counts: 0 },
  { id: 'little', staked: 1n, energy: 1n, counts: 1 },
  { id: 'pending', state: 'pending', counts: 1 },
  { id: 'pending, to be sent', state: 'pending', to_delegate: true, counts: 0 },
  { id: 'pending, on its way', state: 'pending', beside: 'delegating', counts: 0 },
  { id: 'pending, in part', state: 'pending', beside: 'failed', counts: 1 },
  { id: 'active, on its way', beside: 'delegating', counts: 1 },
  { id: 'stopped', state: 'stopped', stopped_ms: 0, counts: 1 },
  { id: 'stopped, one left', state: 'stopped', stopped_ms: 0, transactions: 1, counts: 2 },
  { id: 'stopped, none left', state: 'stopped', stopped_ms: 0, transactions: 2, counts: 2 },
  { id: 'stopped later', state: 'stopped', stopped_ms: 1, transactions: 2, counts: 3 },
  { id: 'limited', state: 'stopped', stopped_ms: 0, transactions: 1, limit: 1, counts: 1 },
  { id: 'within', state: 'stopped', stopped_ms: 0, transactions: 1, limit: 2, counts: 2 },
  { id: 'unbegun', state: 'stopped', stopped_ms: 0, begun: false, counts: 1 },
  { id: 'closed', state: 'stopped', stopped_ms: 0, begun: false, total_sun: 0, counts: 0 },
  { id: 'withdrawn', state: 'stopped', stopped_ms: 0, withdrawn: true, counts: 0 },
  { id: 'rests', resting: 'idle', counts: 1 },
  { id: 'capped', resting: 'daily_cap', counts: 1, rests: 'daily_cap' },
  { id: 'woken', resting: 'idle', staked: 0n, energy: 32_500n, counts: 0 },
  { id: 'asleep', resting: 'idle', staked: 0n, energy: 32_499n, counts: 0, rests: 'idle' },
  { id: 'capped, unused', resting: 'daily_cap', staked: 0n, counts: 0, rests: 'daily_cap' },
]

test('a use counts where energy of ours lay, for one that it may still count for', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await book.chain(now, 95)
  await sql`insert into cursor (name, number) values ('subscriptions', 94)`
  for (const one of USED) await insertUsed(book, one)
  await book.subscription('counted', { state: 'active' })
  await book.taken('counted/1', 'included', 99)
  await sql`
    update subscription set order_id = ${`${SUBSCRIPTIONS} counted/1`} where id = 'counted'`
  await use(book, 'counted', { tx_id: 'tx of counted', number: 93 })
  await use(book, 'counted', { tx_id: 'another', number: 92 })
  const energy_uses = [
    ...USED,
    { id: 'counted', counts: 0 } as UseCase,
    { id: 'nobody' } as UseCase,
  ].map(({ id, energy = 65_000n, staked = 65_000n }) => ({
    tx_id: `tx of ${id}`,
    owner: `address of ${id}` as Address,
    energy,
    staked,
  }))
  const nothing = { moves: [], unfollowed: [], unknown: [], fees: [], freezes: [] }
  await sql`
    insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
    values (95, 'b95', 'b94', ${now}, ${pack({ ...nothing, energy_uses })}, '{one}', '')`
  await useStep({ sql, clock }).run()
  const rows = await sql<{ id: string; counts: number; rests: string | null }>`
    select id, transactions_used as counts, resting as rests from subscription`
  assert.deepEqual(
    new Map(rows.map(({ id, counts, rests }) => [id, [counts, rests]])),
    new Map([
      ...USED.map(({ id, counts, rests = null }) => [id, [counts, rests]] as const),
      ['counted', [0, null]],
    ]),
  )
  const uses = await sql`
    select tx_id, block_number from subscription_use
    where subscription_id = 'counted' order by tx_id`
  assert.deepEqual(uses, [
    { tx_id: 'another', block_number: 92n },
    { tx_id: 'tx of counted', block_number: 95n },
  ])
  const [stopped] = await sql`select stopped_at from subscription where id = 'stopped later'`
  assert.deepEqual(stopped, { stopped_at: now }, 'what could not be paid was the end')
})
