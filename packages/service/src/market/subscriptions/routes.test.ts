// What the endpoints of subscriptions read of a body, and answer: on rows written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askEndpoint } from 'penstock-test/harness/endpoint_calls.ts'
import { clock, now, SubscriptionBook } from 'penstock-test/harness/subscription_book.ts'
import { Fault } from '../../lib/fault.ts'
import { readPrices } from '../prices/prices.ts'
import { routes, useRoutes } from './routes.ts'

const ADDRESS = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'
const LIMIT_MAX = 1_000_000

type Answer = {
  readonly result: Record<string, unknown>
  readonly headers: Record<string, string | string[]>
}

class SubscriptionCalls {
  readonly book: SubscriptionBook

  constructor(book: SubscriptionBook) {
    this.book = book
  }

  static async of(t: TestContext): Promise<SubscriptionCalls> {
    const book = await SubscriptionBook.of(t)
    const { sql } = book
    await sql`
      insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
        head_seen_at)
      values (1000, 'head', ${now}, 900, 900, ${now}, ${now})`
    await sql`update pool set room = 1000000 where resource = 'energy'`
    await sql`update plan set initial_price_sun = 1, price_sun = 1`
    return new SubscriptionCalls(book)
  }

  async ask(path: string, body: object): Promise<Answer> {
    const { sql } = this.book
    const needs = {
      sql,
      clock,
      new_id: () => 'made',
      prices: () => readPrices(sql),
      receiver: async () => 'active' as const,
      wake: () => {},
    }
    const headers: Answer['headers'] = {}
    const call = { body, customer: { key_id: 'key' }, reply_headers: headers }
    const all = [...routes(needs), ...useRoutes(needs)]
    return { result: (await askEndpoint(all, path, call)) as Answer['result'], headers }
  }

  /** The key of the refusal, and the field that it is about. */
  async refusal(path: string, body: object): Promise<string> {
    const refused = await this.ask(path, body).then(
      () => 'none',
      (thrown: unknown) => thrown,
    )
    if (!(refused instanceof Fault)) return String(refused)
    return `${refused.key} ${refused.about?.param}`
  }
}

test('days and transactions are whole numbers up to a million, or left out', async (t) => {
  const desk = await SubscriptionCalls.of(t)
  const start = (params: object) =>
    desk.refusal('/v1/subscription/start', {
      subscription_id: 'absent',
      params: { address: ADDRESS, ...params },
    })
  const read = 'invalid_service_or_params subscription_id'
  for (const value of [undefined, 0, 1, LIMIT_MAX]) {
    assert.equal(await start({ duration: value }), read, `${value}`)
    assert.equal(await start({ transactions_limit: value }), read, `${value}`)
  }
  for (const value of [-1, LIMIT_MAX + 1, '1', true]) {
    assert.equal(await start({ duration: value }), 'invalid_duration params.duration', `${value}`)
    assert.equal(
      await start({ transactions_limit: value }),
      'invalid_service_or_params params.transactions_limit',
      `${value}`,
    )
  }
})

test('a start says whether it was there before', async (t) => {
  const desk = await SubscriptionCalls.of(t)
  const body = {
    subscription_id: 'unlimited_energy',
    params: { address: ADDRESS, duration: 7 },
    external_id: 'mine',
  }
  const path = '/v1/subscription/start'
  const [first, again] = [await desk.ask(path, body), await desk.ask(path, body)]
  assert.deepEqual([first.headers, again.headers], [{}, { 'idempotency-replayed': 'true' }])
  assert.deepEqual(again.result, first.result)
  assert.deepEqual(first.result.params, {
    address: ADDRESS,
    duration: 7,
    transactions_limit: 0,
    activate_address: false,
  })
})

test('the plans are listed while subscriptions are on sale', async (t) => {
  const desk = await SubscriptionCalls.of(t)
  const keys = async () => Object.keys((await desk.ask('/v1/subscriptions', {})).result)
  assert.deepEqual(await keys(), ['unlimited_energy', 'energy_pack_100'])
  await desk.book.sql`update service set on_sale = false where name = 'subscription'`
  assert.deepEqual(await keys(), [])
})

test('a subscription is named by its id, or by the old name of that field', async (t) => {
  const desk = await SubscriptionCalls.of(t)
  for (const id of ['one', 'two', 'three']) await desk.book.subscription(id, { state: 'active' })
  for (const path of ['/v1/subscription/check', '/v1/subscription/stop']) {
    const ask = async (body: object) => (await desk.ask(path, body)).result.id
    assert.equal(await ask({ id: 'one', subscription_id: 'absent' }), 'one', path)
    assert.equal(await ask({ id: '', subscription_id: 'two' }), 'two', path)
    assert.equal(await ask({ subscription_id: 'three' }), 'three', path)
  }
})

test('uses are listed from a place that a page ended with, and from no other', async (t) => {
  const desk = await SubscriptionCalls.of(t)
  const { sql } = desk.book
  await desk.book.subscription('one', { state: 'active' })
  const tx_id = (number: number) => `${number}`.repeat(64)
  for (const number of [1, 2, 3])
    await sql`
      insert into subscription_use (subscription_id, tx_id, energy, transactions, charged_sun,
        used_at, block_number)
      values ('one', ${tx_id(number)}, 1, 1, 0, ${now}, ${number})`
  const path = '/v1/subscription/uses'
  const list = async (before?: string) => {
    const { result } = await desk.ask(path, { id: 'one', limit: 2, before })
    const { items, next } = result as { items: { tx_id: string }[]; next: string | null }
    return [...items.map((item) => item.tx_id[0]), next]
  }
  const next = `2.${tx_id(2)}`
  assert.deepEqual(
    [await list(), await list(next)],
    [
      ['3', '2', next],
      ['1', null],
    ],
  )
  for (const before of [
    '',
    '2',
    `2.${tx_id(2)}0`,
    `x.${tx_id(2)}`,
    `${'1'.repeat(16)}.${tx_id(2)}`,
  ])
    assert.match(await desk.refusal(path, { id: 'one', before }), / before$/, before)
})
