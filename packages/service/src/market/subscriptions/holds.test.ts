// Money that is held for the next transactions: on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { now, STATES, SubscriptionBook } from 'penstock-test/harness/subscription_book.ts'
import { customerAccount, lockAccounts, spendable } from '../../ledger/accounts/ledger.ts'
import { coveredOf, holdNext, missingHolds, releaseHolds } from './holds.ts'

/** Of which a transaction costs 7 sun, and one is included; and some others. */
async function bookOf(t: TestContext, ...ids: string[]): Promise<SubscriptionBook> {
  const book = await SubscriptionBook.of(t)
  await book.sql`
    insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
      transactions_limit, duration_days, changed_by)
    values ('priced', 'priced', 0, 100, 7, 1, 0, 0, 'olga'),
      ('other', 'other', 0, 100, 1000, 9, 0, 0, 'olga')`
  for (const id of ids) {
    await book.subscription(id, { state: STATES.includes(id) ? id : 'active' })
    await book.sql`
      update subscription set plan_id = (select id from plan where key = 'priced'), key_id = ${id}
      where id = ${id}`
  }
  return book
}

const hold = ({ sql }: SubscriptionBook, id: string, transactions: number) =>
  sql.begin((tx) => holdNext(tx, { id, customer_id: 'anna' }, { transactions, now }))

async function key({ sql }: SubscriptionBook, id: string, cap_sun: number | null): Promise<void> {
  await sql`
    insert into api_key (id, customer_id, name, token_hash, sealed_secret, require_v2, created_at,
      secret_made_at, daily_cap_sun)
    values (${id}, 'anna', 'key', encode(sha256(${id}::text::bytea), 'hex'), '', false, ${now},
      ${now}, ${cap_sun})`
}

const heldFor = async ({ sql }: SubscriptionBook, id: string) => {
  const holds = await sql<{ id: string }>`
    select id from transfer where kind = 'hold' and starts_with(id, ${`subscription:${id}/`})
    order by id`
  return holds.map((one) => one.id.split('/').at(-1)).join(' ')
}

test('what is included or held covers transactions, and the rest is missing', () => {
  const cover = (used: number, made: number, ended: number, price_sun = 7n) => ({
    transactions_used: used,
    holds_made: made,
    holds_ended: ended,
    included: 2,
    price_sun,
  })
  assert.deepEqual([coveredOf(cover(0, 0, 0)), coveredOf(cover(1, 3, 1))], [2, 3])
  assert.deepEqual([coveredOf(cover(2, 0, 0)), coveredOf(cover(5, 1, 0))], [0, 1])
  assert.deepEqual([missingHolds(cover(0, 0, 0), 2), missingHolds(cover(0, 0, 0), 3)], [0, 1])
  assert.deepEqual([missingHolds(cover(5, 0, 0), 3), missingHolds(cover(5, 0, 0), 0)], [3, 0])
  assert.deepEqual(
    [missingHolds(cover(5, 0, 0, 1n), 3), missingHolds(cover(5, 0, 0, 0n), 3)],
    [3, 0],
  )
})

test('money is held for one that runs, hold by hold in their numbers', async (t) => {
  const book = await bookOf(t, ...STATES)
  for (const state of STATES) {
    const outcome = await hold(book, state, 2)
    const runs = ['new', 'pending', 'active'].includes(state)
    assert.equal(outcome, runs ? 'held' : 'ended', state)
    assert.equal(await heldFor(book, state), runs ? '1' : '', state)
  }
  assert.deepEqual([await hold(book, 'active', 2), await hold(book, 'active', 4)], ['held', 'held'])
  assert.equal(await heldFor(book, 'active'), '1 2 3')
  const rows = await book.sql<{ id: string }>`
    select id from subscription where holds_made = 1 order by id`
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['new', 'pending'],
  )
})

test('all of what is missing is held or nothing, by the balance and the cap', async (t) => {
  const book = await bookOf(t, 'one', 'capped', 'uncapped')
  const { sql } = book
  await key(book, 'capped', 14)
  await key(book, 'uncapped', null)
  const free_sun = (await spendable(sql, customerAccount('anna')))!
  const most = Number(free_sun / 7n)
  assert.equal(await hold(book, 'one', most + 2), 'unpayable')
  assert.deepEqual([await hold(book, 'capped', 4), await heldFor(book, 'capped')], ['capped', ''])
  const refused = await sql`select key_id from api_key_cap`
  assert.deepEqual(refused, [{ key_id: 'capped' }])
  assert.deepEqual(
    [await hold(book, 'capped', 3), await heldFor(book, 'capped')],
    ['held', '1 2'],
    'the last sun of the cap',
  )
  assert.equal(await hold(book, 'capped', 4), 'capped')
  const spent = await sql`select key_id, spent_sun from api_key_spending`
  assert.deepEqual(spent, [{ key_id: 'capped', spent_sun: 14n }])
  assert.equal(await hold(book, 'uncapped', 1 + most - 2), 'held')
  assert.equal((await spendable(sql, customerAccount('anna')))!, free_sun % 7n)
})

test('holds are given back from the oldest on, and are spent no more', async (t) => {
  const book = await bookOf(t, 'one', 'other')
  const { sql } = book
  await key(book, 'one', null)
  for (const id of ['one', 'other']) await hold(book, id, 5)
  const release = (holds_ended: number, count: number, key_id: string | null = 'one') =>
    sql.begin(async (tx) => {
      await lockAccounts(tx, [customerAccount('anna')])
      await releaseHolds(tx, { id: 'one', key_id, holds_ended }, { count, now })
    })
  const open = async () => {
    const released = await sql<{ hold_id: string }>`
      select hold_id from transfer where kind = 'release' order by hold_id`
    const [row] = await sql<{ ended: number }>`
      select holds_ended as ended from subscription where id = 'one'`
    const [spent] = await sql<{ spent_sun: bigint }>`select spent_sun from api_key_spending`
    const ids = released.map(({ hold_id }) => hold_id.replace('subscription:one/next/', ''))
    return `${ids.join(' ')}; ${row!.ended} ended, ${spent!.spent_sun} spent`
  }
  await release(0, 0)
  assert.equal(await open(), '; 0 ended, 28 spent')
  await release(0, 1)
  assert.equal(await open(), '1; 1 ended, 21 spent')
  await release(1, 2)
  assert.equal(await open(), '1 2 3; 3 ended, 7 spent')
  await release(3, 1, null)
  assert.equal(await open(), '1 2 3 4; 4 ended, 7 spent')
  const [other] = await sql`select holds_ended from subscription where id = 'other'`
  assert.deepEqual(other, { holds_ended: 0 })
})
