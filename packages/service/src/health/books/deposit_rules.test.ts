// Rows that are just inside and just outside of the rules about deposits: each wrong one is named,
// and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import {
  BEFORE,
  entryRows,
  FIRST_ID,
  foundIn,
  OLD_ID,
  SINCE,
  scopeFrom,
} from 'penstock-test/harness/books_rows.ts'
import { wrongDeposits } from './deposit_rules.ts'

type DepositRow = {
  tx_id: string
  position?: number
  sun?: number | null
  of?: string | null
  state?: string
  order_id?: string
  solid?: boolean
  at?: string
}

/** Deposits of Anna's of one sun that were credited, unless they say something else. */
const deposits = (rows: readonly DepositRow[]): BareRows => ({
  table: 'deposit',
  columns: 'tx_id position amount_sun customer_id state order_id solid_at block_time',
  rows: rows.map((row) => {
    const { tx_id, position = 0, sun = 1, of = 'anna', state = 'credited' } = row
    const { order_id = null, solid = true, at = SINCE } = row
    return [tx_id, position, sun, of, state, order_id, solid ? SINCE : null, at]
  }),
})

const orders = (rows: BareRows['rows']): BareRows => ({
  table: 'orders',
  columns: 'id external_id state amount_sun customer_id',
  rows: rows.map((row) => [...row, ...['direct_recharge'].slice(row.length - 4)]),
})

const [ANNA, RECHARGE] = ['customer:anna', 'customer:direct_recharge']

test('each solid deposit is booked once, in full, to whom it belongs', async (t) => {
  const sql = await bareTables(t, [
    orders([]),
    deposits([
      { tx_id: 'right' },
      { tx_id: 'right', position: 2 },
      { tx_id: 'right-held', state: 'held' },
      { tx_id: 'right-recharge', of: null, state: 'received' },
      { tx_id: 'not-solid', solid: false, state: 'seen' },
      { tx_id: 'token', sun: null },
      { tx_id: 'unbooked' },
      { tx_id: 'second', position: 1 },
      { tx_id: 'more' },
      { tx_id: 'kind' },
      { tx_id: 'credit' },
      { tx_id: 'debit' },
      { tx_id: 'held-credited', state: 'held' },
      { tx_id: 'credited-held' },
      { tx_id: 'recharge-credited', of: null, state: 'received' },
    ]),
    entryRows([
      [1, 'deposit:right', 'world', ANNA, 1],
      [2, 'deposit:right/2', 'world', ANNA, 1],
      [3, 'deposit:right-held', 'world', 'held_deposits', 1],
      [4, 'deposit:right-recharge', 'world', RECHARGE, 1],
      [5, 'deposit:second', 'world', ANNA, 1],
      [6, 'deposit:more', 'world', ANNA, 2],
      [7, 'deposit:kind', 'world', ANNA, 1, 'hold'],
      [8, 'deposit:credit', 'world', 'customer:bea', 1],
      [9, 'deposit:debit', 'revenue', ANNA, 1],
      [10, 'deposit:held-credited', 'world', ANNA, 1],
      [11, 'deposit:credited-held', 'world', 'held_deposits', 1],
      [12, 'deposit:recharge-credited', 'world', ANNA, 1],
      [13, 'from-outside', 'world', 'b', 1],
      [14, 'to-outside', 'a', 'world', 1],
      [15, 'resolution:x', 'a', 'world', 1],
      [16, 'collected:x', 'a', 'world', 1],
      [17, 'inside', 'a', 'b', 1],
      [18, 'collected:in', 'world', 'b', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits), [
    'collected:in: 1 sun from world to b, and no deposit',
    'deposit:credit: 1 sun to customer:anna, booked 1 sun to customer:bea',
    'deposit:credited-held: 1 sun to customer:anna, booked 1 sun to held_deposits',
    'deposit:debit: 1 sun are not booked',
    'deposit:held-credited: 1 sun to held_deposits, booked 1 sun to customer:anna',
    'deposit:kind: 1 sun to customer:anna, booked 1 sun to customer:anna',
    'deposit:more: 1 sun to customer:anna, booked 2 sun to customer:anna',
    'deposit:recharge-credited: 1 sun to customer:direct_recharge, booked 1 sun to ' +
      'customer:anna',
    'deposit:second: 1 sun from world to customer:anna, and no deposit',
    'deposit:second/1: 1 sun are not booked',
    'deposit:unbooked: 1 sun are not booked',
    'from-outside: 1 sun from world to b, and no deposit',
    'to-outside: 1 sun from a to world, and no deposit',
  ])
})

test('a check that goes on looks at deposits since, or booked since', async (t) => {
  const sql = await bareTables(t, [
    orders([]),
    deposits([
      { tx_id: 'since' },
      { tx_id: 'before', at: BEFORE },
      { tx_id: 'touched', at: BEFORE },
      { tx_id: 'touched', at: BEFORE, position: 3 },
      { tx_id: 'booked', at: BEFORE },
      { tx_id: 'booked', at: BEFORE, position: 1 },
      { tx_id: 'sealed', at: BEFORE },
      { tx_id: 'other', at: BEFORE },
      { tx_id: 'first' },
      { tx_id: 'more-since' },
      { tx_id: 'too-early' },
    ]),
    entryRows([
      [10, 'deposit:too-early', 'world', ANNA, 1],
      [11, 'deposit:first', 'world', ANNA, 1],
      [12, 'deposit:more-since', 'world', ANNA, 9],
      [19, 'sealed-nothing', 'world', 'b', 1],
      [20, 'deposit:sealed', 'world', ANNA, 9],
      [21, 'deposit:touched', 'world', ANNA, 9],
      [22, 'deposit:touched/3', 'world', ANNA, 9],
      [23, 'deposit:booked', 'world', ANNA, 1],
      [24, 'deposit:booked/1', 'world', ANNA, 1],
      [25, 'refund:other', 'a', 'b', 1],
      [26, 'nothing', 'world', 'b', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(20n)), [
    'deposit:more-since: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'deposit:since: 1 sun are not booked',
    'deposit:too-early: 1 sun are not booked',
    'deposit:touched: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'deposit:touched/3: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'nothing: 1 sun from world to b, and no deposit',
    'deposit other: credited, and 1 sun of 1 are booked as sent back',
    'refund refund:other: 1 sun were sent back, and no deposit',
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(1n)), [
    'deposit:more-since: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'deposit:sealed: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'deposit:since: 1 sun are not booked',
    'deposit:too-early: 1 sun are not booked',
    'deposit:touched: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'deposit:touched/3: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'nothing: 1 sun from world to b, and no deposit',
    'sealed-nothing: 1 sun from world to b, and no deposit',
    'deposit other: credited, and 1 sun of 1 are booked as sent back',
    'refund refund:other: 1 sun were sent back, and no deposit',
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(0n)), [
    'deposit:booked: 1 sun from world to customer:anna, and no deposit',
    'deposit:booked/1: 1 sun from world to customer:anna, and no deposit',
    'deposit:more-since: 1 sun to customer:anna, booked 9 sun to customer:anna',
    'deposit:sealed: 9 sun from world to customer:anna, and no deposit',
    'deposit:since: 1 sun are not booked',
    'deposit:too-early: 1 sun are not booked',
    'deposit:touched: 9 sun from world to customer:anna, and no deposit',
    'deposit:touched/3: 9 sun from world to customer:anna, and no deposit',
    'nothing: 1 sun from world to b, and no deposit',
    'sealed-nothing: 1 sun from world to b, and no deposit',
    'refund refund:other: 1 sun were sent back, and no deposit',
  ])
})

/** The entry of a deposit in the account of direct recharges. */
const came = (number: number, tx_id: string, sun = 5) =>
  [number, `deposit:${tx_id}`, 'world', RECHARGE, sun] as const

test('a deposit is booked as sent back when it was, in full', async (t) => {
  const names = ['right', 'less', 'unbooked', 'stays', 'kept']
  const state = (tx_id: string) => (['stays', 'kept'].includes(tx_id) ? 'returning' : 'refunded')
  const sql = await bareTables(t, [
    orders([]),
    deposits([
      ...names.map((tx_id) => ({ tx_id, sun: 5, of: null, state: state(tx_id) })),
      { tx_id: 'inner', position: -1, sun: 5, of: null, state: 'refunded' },
      { tx_id: 'token', sun: null, of: null, state: 'refunded' },
      { tx_id: 'token-held', sun: null, of: null, state: 'held' },
    ]),
    entryRows([
      ...names.map((tx_id, at) => came(at + 1, tx_id)),
      came(6, 'inner/-1'),
      [11, 'refund:right', RECHARGE, 'world', 4],
      [12, 'refund_fee:right', RECHARGE, 'revenue', 1],
      [13, 'refund:less', RECHARGE, 'world', 3],
      [14, 'refund_fee:less', RECHARGE, 'revenue', 1],
      [15, 'refund:kept', RECHARGE, 'world', 5],
      [16, 'refund:nothing', RECHARGE, 'world', 5],
      [17, 'refund_fee:nothing', RECHARGE, 'revenue', 1],
      [18, 'refund:token-held', RECHARGE, 'world', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits), [
    'deposit kept: returning, and 5 sun of 5 are booked as sent back',
    'deposit less: refunded, and 4 sun of 5 are booked as sent back',
    'deposit unbooked: refunded, and 0 sun of 5 are booked as sent back',
    'refund refund:kept: 5 sun were sent back, and no deposit',
    'refund refund:nothing: 5 sun were sent back, and no deposit',
    'refund refund:token-held: 1 sun were sent back, and no deposit',
  ])
})

test('a check that goes on looks at what was sent back since, or booked so', async (t) => {
  const old = ['before', 'touched', 'fee', 'sealed', 'other']
  const sql = await bareTables(t, [
    orders([]),
    deposits([
      { tx_id: 'since', sun: 5, of: null, state: 'refunded' },
      { tx_id: 'right', sun: 5, of: null, state: 'refunded' },
      ...old.map((tx_id) => ({ tx_id, sun: 5, of: null, state: 'refunded', at: BEFORE })),
    ]),
    entryRows([
      came(11, 'since'),
      came(12, 'right'),
      [25, 'refund:right', RECHARGE, 'world', 4],
      [26, 'refund_fee:right', RECHARGE, 'revenue', 1],
      ...old.map((tx_id, at) => came(at + 1, tx_id)),
      [19, 'refund:sealed', RECHARGE, 'world', 3],
      [21, 'refund:touched', RECHARGE, 'world', 4],
      [22, 'refund_fee:fee', RECHARGE, 'revenue', 1],
      [23, 'resolution:other', RECHARGE, 'world', 1],
      [20, 'refund:sealed-nothing', RECHARGE, 'world', 1],
      [24, 'refund:nothing', RECHARGE, 'world', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(20n)), [
    'deposit fee: refunded, and 1 sun of 5 are booked as sent back',
    'deposit since: refunded, and 0 sun of 5 are booked as sent back',
    'deposit touched: refunded, and 4 sun of 5 are booked as sent back',
    'refund refund:nothing: 1 sun were sent back, and no deposit',
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(1n)), [
    'deposit fee: refunded, and 1 sun of 5 are booked as sent back',
    'deposit sealed: refunded, and 3 sun of 5 are booked as sent back',
    'deposit since: refunded, and 0 sun of 5 are booked as sent back',
    'deposit touched: refunded, and 4 sun of 5 are booked as sent back',
    'refund refund:nothing: 1 sun were sent back, and no deposit',
    'refund refund:sealed-nothing: 1 sun were sent back, and no deposit',
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(0n)), [
    'deposit since: refunded, and 0 sun of 5 are booked as sent back',
    'refund refund:nothing: 1 sun were sent back, and no deposit',
    'refund refund:sealed-nothing: 1 sun were sent back, and no deposit',
  ])
})

test('a direct recharge is delivered by the order that it bought, and by no other', async (t) => {
  const rows = [
    ['received', 'new'],
    ['delivering', 'pending'],
    ['delivered', 'success'],
    ['gone', 'success'],
    ['returning', 'failed'],
    ['held', 'success'],
    ['delivered', 'pending'],
    ['delivered', 'failed'],
    ['refunded', 'new'],
  ] as const
  const name = (state: string, end: string) => `${state}-${end}`
  const recharges = rows.map(([state, end]) => ({
    tx_id: name(state, end),
    state,
    order_id: name(state, end),
  }))
  const sql = await bareTables(t, [
    orders([
      ...rows.map(([state, end]) => [name(state, end), `deposit:${name(state, end)}`, end, 1]),
      ['another', 'deposit:other', 'success', 1],
      ['more', 'deposit:more', 'success', 2],
      ['way', 'deposit:way', 'pending', 1],
      ['early', 'deposit:early', 'pending', 2],
      ['nothing', 'deposit:nothing', 'success', 1],
      ['inner', 'deposit:inner', 'success', 1],
      ['of-anna', 'deposit:of-anna', 'success', 1],
      ['token', 'deposit:token', 'success', 1],
      ['annas', 'deposit:annas', 'success', 1, 'anna'],
    ]),
    deposits([
      ...recharges.map((one) => ({ of: null, solid: false, ...one })),
      { tx_id: 'other', of: null, solid: false, state: 'delivered', order_id: 'some' },
      { tx_id: 'more', of: null, solid: false, state: 'delivered', order_id: 'more' },
      { tx_id: 'way', of: null, solid: false, state: 'delivering', order_id: 'some' },
      { tx_id: 'early', of: null, solid: false, state: 'received', order_id: 'early' },
      { tx_id: 'inner', position: -1, of: null, solid: false, state: 'delivered' },
      { tx_id: 'of-anna', solid: false, state: 'delivered', order_id: 'of-anna' },
      { tx_id: 'token', sun: null, of: null, solid: false, state: 'delivered' },
    ]),
    entryRows([[1, 'refund:refunded-new', RECHARGE, 'world', 1]]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits), [
    'recharge delivered-failed: the deposit is delivered, the order not there',
    'recharge delivered-pending: the deposit is delivered, the order pending',
    'recharge deposit:inner: the deposit is not there, the order success',
    'recharge deposit:nothing: the deposit is not there, the order success',
    'recharge deposit:of-anna: the deposit is not there, the order success',
    'recharge deposit:token: the deposit is not there, the order success',
    'recharge held-success: the deposit is held, the order success',
    'recharge more: the deposit is delivered, the order success',
    'recharge other: the deposit is delivered, the order success',
    'recharge refunded-new: the deposit is refunded, the order new',
    'recharge way: the deposit is delivering, the order pending',
  ])
})

test('a check that goes on looks at recharges since, or whose order is made since', async (t) => {
  const recharge = (tx_id: string, order_id: string, at = SINCE) => ({
    tx_id,
    of: null,
    solid: false,
    state: 'delivered',
    order_id,
    at,
  })
  const [first, old] = [(tail: string) => FIRST_ID + tail, (tail: string) => OLD_ID + tail]
  const sql = await bareTables(t, [
    deposits([
      recharge('right', first('a')),
      recharge('late', first('b'), BEFORE),
      recharge('old', old('c'), BEFORE),
      recharge('old-order', old('d')),
      recharge('wrong', FIRST_ID),
      recharge('wrong-late', first('e'), BEFORE),
      recharge('wrong-old', old('f'), BEFORE),
      recharge('annas', old('g')),
    ]),
    orders([
      [first('a'), 'deposit:right', 'success', 1],
      [first('b'), 'deposit:late', 'success', 1],
      [old('c'), 'deposit:old', 'pending', 1],
      [old('d'), 'deposit:old-order', 'success', 1],
      [FIRST_ID, 'deposit:wrong', 'pending', 1],
      [first('e'), 'deposit:wrong-late', 'pending', 1],
      [old('f'), 'deposit:wrong-old', 'pending', 1],
      [old('g'), 'deposit:annas', 'success', 1, 'anna'],
      [old('h'), 'deposit:not-looked-at', 'success', 1],
      [first('i'), 'deposit:nothing', 'success', 1],
      [first('j'), 'deposit:annas-new', 'success', 1, 'anna'],
    ]),
    entryRows([]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDeposits, scopeFrom(20n)), [
    'recharge annas: the deposit is delivered, the order not there',
    'recharge deposit:nothing: the deposit is not there, the order success',
    'recharge wrong: the deposit is delivered, the order pending',
    'recharge wrong-late: the deposit is delivered, the order pending',
  ])
})
