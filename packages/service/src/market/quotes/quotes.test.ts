import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { ago, clock, now, OrderBook } from 'penstock-test/harness/order_book.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { findQuote, insertQuote, pruneQuotesStep, QUOTES_MAX, type Quote } from './quotes.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

async function withBob(t: TestContext): Promise<{ sql: Sql; book: OrderBook }> {
  const book = await OrderBook.of(t)
  await book.sql.begin((tx) => makeCustomer(tx, { id: 'bob', at: now }))
  return { sql: book.sql, book }
}

const newQuote = (values: Pick<Quote, 'id'> & Partial<Quote>): Quote => ({
  customer_id: 'anna',
  service: 'energy',
  address: person('carol').address,
  energy: 50n,
  bandwidth: 0n,
  activate: false,
  amount_sun: 7n,
  fee_sun: 2n,
  fee_limit_sun: null,
  burning_sun: 9n,
  made_at: ago(3_000),
  expires_at: now,
  ...values,
})

const insert = (sql: Sql, values: Parameters<typeof newQuote>[0]) =>
  sql.begin((tx) => insertQuote(tx, newQuote(values)))

/** Each of a customer, with its end; none of them is used. */
async function insertMany(sql: Sql, customer_id: string, count: number, expires_at: Date) {
  const one = newQuote({ id: 'one' })
  await sql`
    insert into quote (id, customer_id, service, address, energy, bandwidth, activate, amount_sun,
      fee_sun, made_at, expires_at)
    select ${customer_id} || n, ${customer_id}, 'energy', ${one.address}, 50, 0, false, 7, 2,
      ${ago(3_000)}, ${expires_at}
    from generate_series(1, ${count}::integer) as n`
}

test('a quote is forgotten an hour after its end, and never when an order names it', async (t) => {
  const { sql, book } = await withBob(t)
  const step = pruneQuotesStep({ sql, clock })
  const end = (hours: number, ms = 0) => new Date(now.getTime() - hours * HOUR_MS + ms)
  const cases: [id: string, expires_at: Date, is_forgotten: boolean, is_used?: boolean][] = [
    ['open', end(-1), false],
    ['an hour', end(1), false],
    ['more than an hour', end(1, -1), true],
    ['used', end(1, -1), false, true],
    ['a day', end(24, 1), true],
    ['more than a day', end(24), false],
  ]
  for (const [id, expires_at, is_forgotten, is_used = false] of cases) {
    await insert(sql, { id, expires_at })
    if (is_used) {
      await book.order(id)
      await sql`update orders set quote_id = ${id} where id = ${id}`
    }
    assert.equal(await isDue(sql, step), is_forgotten, id)
    assert.equal(await step.run(), false, id)
    const found = await findQuote(sql, { customer_id: 'anna', id })
    assert.equal(found === undefined, is_forgotten, id)
  }
})

test('a thousand quotes are forgotten at once, and the rest by the next run', async (t) => {
  const { sql } = await withBob(t)
  const step = pruneQuotesStep({ sql, clock })
  await insertMany(sql, 'anna', 1_001, ago(61))
  assert.equal(await step.run(), true)
  const [left] = await sql<{ quotes: bigint }>`select count(*) as quotes from quote`
  assert.equal(left!.quotes, 1n)
  assert.equal(await step.run(), false)
  assert.equal(await isDue(sql, step), false)
})

test('a customer has a thousand quotes that are neither used nor over, and no more', async (t) => {
  const { sql, book } = await withBob(t)
  const made_at = ago(1)
  await insertMany(sql, 'bob', 5, now)
  await insertMany(sql, 'anna', QUOTES_MAX - 1, now)
  const next = { made_at, expires_at: new Date(made_at.getTime() + MINUTE_MS) }
  await insert(sql, { id: 'last', ...next })
  await assert.rejects(insert(sql, { id: 'more', ...next }), /1000 open quotes already/)
  // One that ends at that very moment is over.
  await sql`update quote set expires_at = ${made_at} where id = 'anna1'`
  await insert(sql, { id: 'after an end', ...next })
  await assert.rejects(insert(sql, { id: 'more', ...next }), /1000 open quotes already/)
  await book.order('order')
  await sql`update orders set quote_id = 'anna2' where id = 'order'`
  await insert(sql, { id: 'after a use', ...next })
  await assert.rejects(insert(sql, { id: 'more', ...next }), /1000 open quotes already/)
  await insert(sql, { id: 'of bob', customer_id: 'bob', ...next })
})

test('a quote is as it was made, and only its own customer finds it', async (t) => {
  const { sql } = await withBob(t)
  const quote = newQuote({ id: 'one', fee_limit_sun: 11n })
  await insert(sql, quote)
  await insert(sql, { id: 'two' })
  assert.deepEqual(await findQuote(sql, { customer_id: 'anna', id: 'one' }), quote)
  assert.equal(await findQuote(sql, { customer_id: 'bob', id: 'one' }), undefined)
})
