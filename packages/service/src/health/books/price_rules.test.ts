// Rows that are just inside and just outside of the rules about prices and quotes: each wrong one
// is named, and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import { foundIn, SINCE } from 'penstock-test/harness/books_rows.ts'
import { wrongByQuote, wrongPrices } from './price_rules.ts'

type OrderRow = {
  id: string
  of?: string
  service?: string
  energy?: number
  bandwidth?: number
  sun?: number
  fee?: number
  quote?: string
  at?: string
}

/** Orders of 10 energy for a million sun and no fee, unless they say something else. */
const orders = (rows: readonly OrderRow[]): BareRows => ({
  table: 'orders',
  columns:
    'id customer_id service address energy bandwidth activate amount_sun fee_sun quote_id ' +
    'created_at',
  rows: rows.map(({ id, of = 'anna', service = 'energy', energy = 10, ...rest }) => [
    ...[id, of, service, 'T1', energy, rest.bandwidth ?? 0, false, rest.sun ?? 1e6],
    ...[rest.fee ?? 0, rest.quote ?? null, rest.at ?? SINCE],
  ]),
})

type QuoteRow = {
  id: string
  sun?: number
  fee?: number
  from?: string
  until?: string
  energy?: number
}
const MINUTE_LATER = '2026-10-08T00:01:00.000Z'

const quotes = (rows: readonly QuoteRow[]): BareRows => ({
  table: 'quote',
  columns:
    'id customer_id service address energy bandwidth activate amount_sun fee_sun made_at ' +
    'expires_at',
  rows: rows.map(({ id, sun = 1e6, fee = 0, from = SINCE, until = MINUTE_LATER, energy = 10 }) => [
    ...[id, 'anna', 'energy', 'T1', energy, 0, false, sun, fee, from, until],
  ]),
})

test('an order by a quote is what that was for, in its time, for no more', async (t) => {
  const [early, last] = ['2026-10-07T23:59:59.999Z', '2026-10-08T00:00:59.999Z']
  const quote = 'a'
  const sql = await bareTables(t, [
    quotes([{ id: quote, fee: 5 }]),
    orders([
      { id: 'm-right', quote, fee: 5 },
      { id: 'm-less', quote, sun: 1, fee: 1 },
      { id: 'm-last', quote, at: last },
      { id: 'm-over', quote, at: MINUTE_LATER },
      { id: 'm-early', quote, at: early },
      { id: 'm-more', quote, sun: 1e6 + 1 },
      { id: 'm-fee', quote, fee: 6 },
      { id: 'm-other', quote, of: 'bea' },
      { id: 'm-energy', quote, energy: 11 },
      { id: 'm-free', sun: 9e6 },
      { id: 'l-before', quote, energy: 11 },
      { id: 'm', quote, energy: 11 },
    ]),
  ])
  assert.deepEqual(await foundIn(sql, (tx) => wrongByQuote(tx, 'm')), [
    'm: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost 1000000, 0 ' +
      'of it the fee',
    'm-early: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost ' +
      '1000000, 0 of it the fee',
    'm-energy: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost ' +
      '1000000, 0 of it the fee',
    'm-fee: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost 1000000, ' +
      '6 of it the fee',
    'm-more: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost ' +
      '1000001, 0 of it the fee',
    'm-other: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost ' +
      '1000000, 0 of it the fee',
    'm-over: energy of T1 was quoted at 1000000 sun, 5 of it the fee, and cost ' +
      '1000000, 0 of it the fee',
  ])
})

const prices = (rows: BareRows['rows']): BareRows => ({
  table: 'price',
  columns: 'id resource min_amount max_amount price_sun since until changed_by',
  rows: rows.map((row, at) => [at + 1, ...row]),
})
const fees = (rows: BareRows['rows']): BareRows => ({
  table: 'fee',
  columns: 'id name price_sun since until changed_by',
  rows: rows.map((row, at) => [at + 1, 'activate_address', ...row]),
})
/** A hundred thousand sun for each unit, from a minute after on a tenth more, and a fee so, too. */
const [PRICE, DEARER] = [100_000_000, 110_000_000]
const changed = [
  prices([
    ['energy', 1, 100, PRICE, '2026-10-01T00:00:00Z', MINUTE_LATER, 'olga'],
    ['energy', 1, 100, DEARER, MINUTE_LATER, null, 'olga'],
  ]),
  fees([
    [10, '2026-10-01T00:00:00Z', MINUTE_LATER, 'olga'],
    [11, MINUTE_LATER, null, 'olga'],
  ]),
]

test('nothing is sold below a price of its time or of its quote, give ten seconds', async (t) => {
  const [still, over] = ['2026-10-08T00:01:09.999Z', '2026-10-08T00:01:10.000Z']
  const by_quote = { id: 'quote', until: '2026-10-08T00:09:59.999Z' }
  const sql = await bareTables(t, [
    ...changed,
    quotes([by_quote, { id: 'long', until: '2026-10-08T00:10:00.000Z' }]),
    orders([
      { id: 'm-right' },
      { id: 'm-still', at: still },
      { id: 'm-dearer', at: over, sun: 11e5 },
      { id: 'm-quoted', at: over, quote: 'quote' },
      { id: 'm-fee', sun: 1e6 + 10, fee: 10 },
      { id: 'm-fee-quoted', at: over, sun: 11e5 + 10, fee: 10, quote: 'quote' },
      { id: 'm-bundle', bandwidth: 1 },
      { id: 'm-less', sun: 1e6 - 1 },
      { id: 'm-over', at: over },
      { id: 'm-long', at: over, quote: 'long' },
      { id: 'm-quoted-less', at: over, quote: 'quote', sun: 1e6 - 1 },
      { id: 'm-fee-less', sun: 1e6 + 9, fee: 9 },
      { id: 'm-fee-over', at: over, sun: 11e5 + 10, fee: 10 },
      { id: 'm-fee-part', sun: 1e6 + 9, fee: 10 },
      { id: 'm-one-fee', sun: 1e6 + 1, fee: 1 },
      { id: 'm-unsold', energy: 101, sun: 9e9 },
      { id: 'l-before', sun: 1 },
      { id: 'm', sun: 1 },
      { id: 'm-supply', of: 'subscriptions', sun: 0 },
      { id: 'm-supply-paid', of: 'subscriptions', sun: 1 },
      { id: 'm-recharge', of: 'direct_recharge' },
      { id: 'm-recharge-less', of: 'direct_recharge', sun: 1 },
      { id: 'l-recharge', of: 'direct_recharge', sun: 1 },
    ]),
  ])
  assert.deepEqual(await foundIn(sql, (tx) => wrongPrices(tx, 'm')), [
    'm: 10 energy and 0 bandwidth for 1 sun and a fee of 0, at least 1000000',
    'm-bundle: 10 energy and 1 bandwidth for 1000000 sun and a fee of 0, at least not ' + 'on sale',
    'm-fee-less: 10 energy and 0 bandwidth for 1000000 sun and a fee of 9, at least ' + '1000000',
    'm-fee-over: 10 energy and 0 bandwidth for 1100000 sun and a fee of 10, at least ' + '1100000',
    'm-fee-part: 10 energy and 0 bandwidth for 999999 sun and a fee of 10, at least ' + '1000000',
    'm-less: 10 energy and 0 bandwidth for 999999 sun and a fee of 0, at least 1000000',
    'm-long: 10 energy and 0 bandwidth for 1000000 sun and a fee of 0, at least 1100000',
    'm-one-fee: 10 energy and 0 bandwidth for 1000000 sun and a fee of 1, at least ' + '1000000',
    'm-over: 10 energy and 0 bandwidth for 1000000 sun and a fee of 0, at least 1100000',
    'm-quoted-less: 10 energy and 0 bandwidth for 999999 sun and a fee of 0, at least ' + '1000000',
    'm-recharge-less: 10 energy for 1 sun as direct_recharge',
    'm-supply-paid: 10 energy for 1 sun as subscriptions',
    'm-unsold: 101 energy and 0 bandwidth for 9000000000 sun and a fee of 0, at least ' +
      'not on sale',
  ])
})
