// The arrows between the states of subscriptions: which are taken, what is noted of each, and what
// is given back of a start: on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { clock, now, STATES, SubscriptionBook } from 'penstock-test/harness/subscription_book.ts'
import { later } from '../../lib/clock.ts'
import { SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow } from './forms.ts'
import {
  activateSubscriptions,
  closeStoppedStart,
  endSubscriptions,
  failSubscriptions,
  narrower,
  noteLateSupplies,
  payStoppedStart,
  supplySubscriptions,
} from './subscriptions.ts'

async function rowOf({ sql }: SubscriptionBook, id: string): Promise<SubscriptionRow> {
  const [row] = await sql<SubscriptionRow>`
    select ${SUBSCRIPTION_COLUMNS} from subscription where id = ${id}`
  return row!
}

/** What was noted to be told, and of which. */
async function notes({ sql }: SubscriptionBook): Promise<string[]> {
  const rows = await sql<{ type: string; subject: string }>`
    select type, subject from event_note where starts_with(type, 'subscription.') order by id`
  return rows.map(({ type, subject }) => `${type} ${subject}`)
}

async function bookOfEach(t: TestContext): Promise<SubscriptionBook> {
  const book = await SubscriptionBook.of(t)
  await book.chain(now)
  for (const state of STATES) await book.subscription(state, { state })
  return book
}

test('a limit that was asked for is the narrower one, and 0 is that of the plan', () => {
  assert.deepEqual([narrower(0, 5), narrower(1, 5), narrower(5, 0), narrower(0, 0)], [5, 1, 5, 0])
})

test('a running subscription stops, an active one expires, and an earlier one fails', async (t) => {
  const book = await bookOfEach(t)
  const { sql } = book
  const taken: string[] = []
  const tryTo = (what: string, arrow: () => Promise<void>) =>
    arrow().then(
      () => void taken.push(what),
      (refused: Error) => assert.match(refused.message, /did not run|had begun/, what),
    )
  for (const id of STATES)
    for (const state of ['expired', 'stopped'] as const) {
      const end = { id, customer_id: 'anna', state, reason: 'a test', at: now }
      await tryTo(`${id}: ${state}`, () => sql.begin((tx) => endSubscriptions(tx, [end])))
      await sql`update subscription set state = ${id}, stopped_at = null where id = ${id}`
    }
  for (const id of STATES) {
    const failed = [await rowOf(book, id)]
    await tryTo(`${id}: error`, () =>
      sql.begin((tx) => failSubscriptions(tx, failed, { reason: 'a test', now })),
    )
  }
  assert.deepEqual(taken, [
    'new: stopped',
    'pending: stopped',
    'active: expired',
    'active: stopped',
    'new: error',
    'pending: error',
  ])
  assert.deepEqual(await notes(book), [
    'subscription.stopped subscription:new',
    'subscription.stopped subscription:pending',
    'subscription.expired subscription:active',
    'subscription.stopped subscription:active',
    'subscription.failed subscription:new',
    'subscription.failed subscription:pending',
  ])
})

test('what begins and is supplied is noted, one at a time as well', async (t) => {
  const book = await bookOfEach(t)
  const { sql } = book
  await sql`update subscription set total_sun = 1 where id = 'pending'`
  await book.order('new/1')
  const order_id = `${SUBSCRIPTIONS} new/1`
  const supply = { id: 'new', supplies: 0, order_id, look_at: now }
  await sql.begin((tx) => supplySubscriptions(tx, [supply], now))
  await sql.begin((tx) => activateSubscriptions(tx, ['pending'], now))
  assert.deepEqual(await notes(book), [
    'subscription.supplied subscription:new',
    'subscription.started subscription:pending',
  ])
  const rows = await sql`
    select id, state, supplies from subscription where state <> id or supplies > 0 order by id`
  assert.deepEqual(rows, [
    { id: 'new', state: 'pending', supplies: 1 },
    { id: 'pending', state: 'active', supplies: 0 },
  ])
  const captured = await sql`select hold_id, amount_sun from transfer where kind = 'capture'`
  assert.deepEqual(captured, [{ hold_id: 'subscription:pending', amount_sun: 1n }])
})

test('a late order is noted beside others that were noted before', async (t) => {
  const book = await SubscriptionBook.of(t)
  for (const id of ['one', 'other']) await book.subscription(id, { withdrawn: true })
  for (const id of ['one/1', 'other/1']) await book.order(id)
  await book.supply('other/1')
  await noteLateSupplies(book.sql)
  assert.deepEqual(await book.supplied(), ['one: one/1', 'other: other/1'])
  assert.deepEqual(await book.withdrawn(), ['other'])
})

test('a start of one sun is paid, too', async (t) => {
  const book = await SubscriptionBook.of(t)
  await book.subscription('one')
  await book.sql`update subscription set total_sun = 1`
  assert.equal(await book.sql.begin((tx) => payStoppedStart(tx, 'one', now)), true)
  const captured = await book.sql`select amount_sun from transfer where kind = 'capture'`
  assert.deepEqual(captured, [{ amount_sun: 1n }])
})

/** One whose address was activated for it, and what its start has cost after it was closed. */
async function closed(book: SubscriptionBook, id: string): Promise<string> {
  const { sql } = book
  await book.subscription(id)
  await sql`update subscription set key_id = 'key' where id = ${id}`
  await book.taken(`${id}/1`, 'solid')
  await book.attempt(`activate ${id}`, 'solid')
  await sql`
    insert into activation (id, address, state, attempt_id, made_at)
    values (${id}, ${id}, 'active', ${`activate ${id}`}, ${now})`
  await sql`update orders set activation_id = ${id} where external_id = ${`${id}/1`}`
  const row = await rowOf(book, id)
  await sql.begin((tx) => closeStoppedStart(tx, row, now))
  const [end] = await sql<{ kind: string; amount_sun: bigint }>`
    select kind, amount_sun from transfer where hold_id = ${`subscription:${id}`}`
  const { total_sun, started_at } = await rowOf(book, id)
  const [spent] = await sql<{ spent_sun: bigint }>`select spent_sun from api_key_spending`
  const begun = started_at === null ? 'not begun' : 'begun'
  return `${end!.kind} ${end!.amount_sun}: ${total_sun}, ${begun}, ${spent!.spent_sun} spent`
}

test('a start that is closed costs the activation of its day, of one sun or more', async (t) => {
  const book = await SubscriptionBook.of(t)
  const { sql } = book
  await sql`
    insert into api_key (id, customer_id, name, token_hash, sealed_secret, require_v2, created_at,
      secret_made_at)
    values ('key', 'anna', 'key', ${'a'.repeat(64)}, '', false, ${now}, ${now})`
  await sql`insert into api_key_spending (key_id, day, spent_sun) values ('key', ${now}, 1000)`
  await book.subscription('other')
  await sql`update fee set since = ${later(clock, 1)}`
  assert.equal(await closed(book, 'shipped'), 'capture 100: 100, begun, 1000 spent')
  await sql`update fee set until = ${now}`
  assert.equal(await closed(book, 'without'), 'release 100: 0, not begun, 900 spent')
  await sql`
    insert into fee (name, price_sun, since, changed_by)
    values ('activate_address', 1, ${now}, 'olga')`
  assert.equal(await closed(book, 'cheap'), 'capture 1: 1, begun, 801 spent')
  const { total_sun, started_at } = await rowOf(book, 'other')
  assert.deepEqual([total_sun, started_at], [100n, null])
})
