// Rows that are just inside and just outside of the rules about what money was set aside for and
// what moved without that: each wrong one is named, and none that is right.

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
import { wrongHolds, wrongMoves } from './hold_rules.ts'

const ANNA = 'customer:anna'
const [MINUTE_AFTER, LATER] = ['2026-10-08T00:01:00.000Z', '2026-10-08T00:01:00.001Z']

const orders = (
  rows: readonly (readonly [id: string, state: string, sun: number, at?: string])[],
) =>
  ({
    table: 'orders',
    columns: 'id customer_id state amount_sun created_at',
    rows: rows.map(([id, state, sun, at = SINCE]) => [id, 'anna', state, sun, at]),
  }) satisfies BareRows

const checks = (rows: readonly (readonly [id: string, state: string, sun: number])[]) =>
  ({
    table: 'aml_check',
    columns: 'id customer_id state price_sun',
    rows: rows.map(([id, state, sun]) => [id, 'anna', state, sun]),
  }) satisfies BareRows

type SubscriptionRow = {
  id: string
  state: string
  sun?: number
  started?: boolean
  made?: number
  ended?: number
  withdrawn?: boolean
  resting?: string
}

const subscriptions = (rows: readonly SubscriptionRow[]): BareRows => ({
  table: 'subscription',
  columns:
    'id customer_id plan_id state total_sun started_at holds_made holds_ended withdrawn resting',
  rows: rows.map(({ id, state, sun = 0, started = true, made = 0, ended = 0, ...rest }) => [
    ...[id, 'anna', 1, state, sun, started ? SINCE : null, made, ended],
    ...[rest.withdrawn ?? false, rest.resting ?? null],
  ]),
})

const uses = (rows: BareRows['rows']): BareRows => ({
  table: 'subscription_use',
  columns: 'subscription_id tx_id charged_sun used_at',
  rows: rows.map((row) => [...row, ...[SINCE].slice(row.length - 3)]),
})
/** The plan of all: its next hold is of three sun. */
const plans: BareRows = { table: 'plan', columns: 'id price_sun', rows: [[1, 3]] }

/** A hold of Anna's, and how it ended, unless it is open. */
const hold = (number: number, id: string, sun: number, end?: string, end_sun = sun) => [
  [number, id, ANNA, 'revenue', sun, 'hold'] as const,
  ...(end ? [[number + 100, `${id}/${end}`, ANNA, 'revenue', end_sun, end, id] as const] : []),
]

test('holds are those of orders and checks, and end as these do', async (t) => {
  const sql = await bareTables(t, [
    plans,
    subscriptions([]),
    uses([]),
    orders([
      ['right', 'success', 5],
      ['open', 'pending', 5],
      ['failed', 'failed', 5],
      ['free', 'success', 0],
      ['minute', 'new', 5, MINUTE_AFTER],
      ['later', 'new', 5, LATER],
      ['unheld', 'new', 1],
      ['success-open', 'success', 5],
      ['failed-captured', 'failed', 5],
      ['open-released', 'new', 5],
      ['less', 'success', 5],
      ['less-open', 'new', 5],
      ['less-failed', 'failed', 5],
      ['debit', 'new', 5],
      ['credit', 'new', 5],
      ['free-held', 'new', 0],
    ]),
    checks([
      ['right', 'completed', 5],
      ['open', 'processing', 5],
      ['failed', 'failed', 5],
      ['free', 'completed', 0],
      ['unheld', 'pending', 1],
      ['done-open', 'completed', 5],
      ['failed-open', 'failed', 5],
      ['open-captured', 'pending', 5],
    ]),
    entryRows([
      ...hold(1, 'order:right', 5, 'capture'),
      ...hold(2, 'order:open', 5),
      ...hold(3, 'order:failed', 5, 'release'),
      ...hold(4, 'order:minute', 5),
      ...hold(5, 'order:later', 5),
      ...hold(6, 'order:success-open', 5),
      ...hold(7, 'order:failed-captured', 5, 'capture'),
      ...hold(8, 'order:open-released', 5, 'release'),
      ...hold(9, 'order:less', 5, 'capture', 4),
      ...hold(10, 'order:less-open', 4),
      ...hold(11, 'order:less-failed', 4, 'release'),
      [12, 'order:debit', 'customer:bea', 'revenue', 5, 'hold'],
      [13, 'order:credit', ANNA, 'world', 5, 'hold'],
      ...hold(14, 'order:free-held', 1),
      ...hold(15, 'order:nothing', 5, 'capture'),
      ...hold(21, 'aml:right', 5, 'capture'),
      ...hold(22, 'aml:open', 5),
      ...hold(23, 'aml:failed', 5, 'release'),
      ...hold(24, 'aml:done-open', 5),
      ...hold(25, 'aml:failed-open', 5),
      ...hold(26, 'aml:open-captured', 5, 'capture'),
      [31, 'deposit:x', 'world', ANNA, 5],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongHolds), [
    'aml:done-open: open of 5 sun from customer:anna to revenue, expected capture of 5 ' +
      'sun from customer:anna',
    'aml:failed-open: open of 5 sun from customer:anna to revenue, expected release of ' +
      '5 sun from customer:anna',
    'aml:open-captured: capture of 5 sun from customer:anna to revenue, expected open ' +
      'of 5 sun from customer:anna',
    'aml:unheld: there is no hold of 1 sun',
    'order:credit: open of 5 sun from customer:anna to world, expected open of 5 sun ' +
      'from customer:anna',
    'order:debit: open of 5 sun from customer:bea to revenue, expected open of 5 sun ' +
      'from customer:anna',
    'order:failed-captured: capture of 5 sun from customer:anna to revenue, expected ' +
      'release of 5 sun from customer:anna',
    'order:free-held: open of 1 sun from customer:anna to revenue, expected open of 0 ' +
      'sun from customer:anna',
    'order:later: it says that it was made at 2026-10-08 00:01:00.001+00, and was paid ' +
      'for at 2026-10-08 00:00:00+00',
    'order:less: capture of 4 sun from customer:anna to revenue, expected capture of 5 ' +
      'sun from customer:anna',
    'order:less-open: open of 4 sun from customer:anna to revenue, expected open of 5 ' +
      'sun from customer:anna',
    'order:nothing: capture of 5 sun, and nothing that it is for',
    'order:open-released: release of 5 sun from customer:anna to revenue, expected ' +
      'open of 5 sun from customer:anna',
    'order:success-open: open of 5 sun from customer:anna to revenue, expected capture ' +
      'of 5 sun from customer:anna',
    'order:unheld: there is no hold of 1 sun',
  ])
})

test('holds of subscriptions end as these do, the first and each next', async (t) => {
  const sql = await bareTables(t, [
    plans,
    orders([]),
    checks([]),
    subscriptions([
      { id: 'active', state: 'active', sun: 5 },
      { id: 'used', state: 'active', sun: 5 },
      { id: 'all-used', state: 'active', sun: 2 },
      { id: 'new', state: 'new', sun: 5 },
      { id: 'pending', state: 'pending', sun: 5 },
      { id: 'error', state: 'error', sun: 0 },
      { id: 'error-unheld', state: 'error', sun: 5 },
      { id: 'error-held', state: 'error', sun: 5 },
      { id: 'early', state: 'stopped', sun: 5, started: false },
      { id: 'early-back', state: 'stopped', sun: 0, started: false },
      { id: 'stopped', state: 'stopped', sun: 5 },
      { id: 'expired-early', state: 'expired', sun: 5, started: false },
      { id: 'unheld', state: 'new', sun: 1 },
      { id: 'active-open', state: 'active', sun: 5 },
      { id: 'new-captured', state: 'new', sun: 5 },
      { id: 'pending-captured', state: 'pending', sun: 5 },
      { id: 'early-captured', state: 'stopped', sun: 5, started: false },
      { id: 'stopped-open', state: 'stopped', sun: 5 },
      { id: 'next', state: 'active', sun: 0, made: 3, ended: 1 },
      { id: 'next-wrong', state: 'active', sun: 0, made: 3, ended: 1 },
      { id: 'withdrawn', state: 'stopped', sun: 0, made: 1, withdrawn: true },
      { id: 'withdrawn-open', state: 'stopped', sun: 0, made: 1, withdrawn: true },
      { id: 'next-unheld', state: 'active', sun: 0, made: 1 },
    ]),
    uses([
      ['used', 'a', 1],
      ['used', 'b', 1],
      ['all-used', 'a', 2],
    ]),
    entryRows([
      ...hold(1, 'subscription:active', 5, 'capture'),
      ...hold(2, 'subscription:used', 3, 'capture'),
      ...hold(3, 'subscription:new', 5),
      ...hold(4, 'subscription:pending', 5),
      ...hold(5, 'subscription:error-held', 5, 'release'),
      ...hold(6, 'subscription:early', 5),
      ...hold(7, 'subscription:early-back', 5, 'release'),
      ...hold(8, 'subscription:stopped', 5, 'capture'),
      ...hold(9, 'subscription:expired-early', 5, 'capture'),
      ...hold(10, 'subscription:active-open', 5),
      ...hold(11, 'subscription:new-captured', 5, 'capture'),
      ...hold(12, 'subscription:pending-captured', 5, 'capture'),
      ...hold(13, 'subscription:early-captured', 5, 'capture'),
      ...hold(14, 'subscription:stopped-open', 5),
      ...hold(15, 'subscription:next/next/1', 3, 'release'),
      ...hold(16, 'subscription:next/next/2', 3),
      ...hold(17, 'subscription:next/next/3', 3),
      ...hold(18, 'subscription:next-wrong/next/1', 3),
      ...hold(19, 'subscription:next-wrong/next/2', 3, 'release'),
      ...hold(20, 'subscription:next-wrong/next/3', 2),
      ...hold(21, 'subscription:next-wrong/next/4', 3),
      ...hold(22, 'subscription:withdrawn/next/1', 3, 'release'),
      ...hold(23, 'subscription:withdrawn-open/next/1', 3),
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongHolds), [
    'subscription:active-open: open of 5 sun from customer:anna to revenue, expected ' +
      'capture of 5 sun from customer:anna',
    'subscription:early-captured: capture of 5 sun from customer:anna to revenue, ' +
      'expected open of 5 sun from customer:anna',
    'subscription:new-captured: capture of 5 sun from customer:anna to revenue, ' +
      'expected open of 5 sun from customer:anna',
    'subscription:next-unheld/next/1: there is no hold of 3 sun',
    'subscription:next-wrong/next/1: open of 3 sun from customer:anna to revenue, ' +
      'expected release of 3 sun from customer:anna',
    'subscription:next-wrong/next/2: release of 3 sun from customer:anna to revenue, ' +
      'expected open of 3 sun from customer:anna',
    'subscription:next-wrong/next/3: open of 2 sun from customer:anna to revenue, ' +
      'expected open of 3 sun from customer:anna',
    'subscription:next-wrong/next/4: open of 3 sun, and nothing that it is for',
    'subscription:pending-captured: capture of 5 sun from customer:anna to revenue, ' +
      'expected open of 5 sun from customer:anna',
    'subscription:stopped-open: open of 5 sun from customer:anna to revenue, expected ' +
      'capture of 5 sun from customer:anna',
    'subscription:unheld: there is no hold of 1 sun',
    'subscription:withdrawn-open/next/1: open of 3 sun from customer:anna to revenue, ' +
      'expected release of 3 sun from customer:anna',
  ])
})

test('a check that goes on looks at what was bought or ended since, or still holds', async (t) => {
  const [first, old] = [(tail: string) => FIRST_ID + tail, (tail: string) => OLD_ID + tail]
  const sql = await bareTables(t, [
    plans,
    uses([]),
    orders([
      [FIRST_ID, 'success', 5],
      [first('right'), 'success', 5],
      [first('unheld'), 'new', 5],
      [old('unheld'), 'new', 5],
      [old('ended'), 'success', 5],
      [old('wrong-end'), 'failed', 5],
      [old('sealed-end'), 'failed', 5],
      [old('held-late'), 'failed', 5],
    ]),
    checks([
      [FIRST_ID, 'completed', 5],
      [old('unheld'), 'pending', 5],
      [old('wrong-end'), 'failed', 5],
      [old('ended'), 'completed', 5],
    ]),
    subscriptions([
      { id: FIRST_ID, state: 'new', sun: 5 },
      { id: old('new'), state: 'new', sun: 5 },
      { id: old('pending'), state: 'pending', sun: 5 },
      { id: old('active'), state: 'active', sun: 5 },
      { id: old('stopped'), state: 'stopped', sun: 5 },
      { id: old('expired'), state: 'expired', sun: 5 },
      { id: old('error'), state: 'error', made: 1 },
      { id: old('over'), state: 'stopped', sun: 5, withdrawn: true },
      { id: old('right'), state: 'active', sun: 5, made: 1 },
      { id: old('given'), state: 'stopped', sun: 5, made: 1, withdrawn: true },
    ]),
    entryRows([
      ...hold(1, `order:${old('wrong-end')}`, 5, 'capture'),
      ...hold(2, `order:${old('ended')}`, 5, 'capture'),
      [3, `order:${old('sealed-end')}`, ANNA, 'revenue', 5, 'hold'],
      ...hold(4, `aml:${old('wrong-end')}`, 5, 'capture'),
      ...hold(5, `aml:${old('ended')}`, 5, 'capture'),
      ...hold(6, `subscription:${old('right')}`, 5, 'capture'),
      ...hold(7, `subscription:${old('right')}/next/1`, 3),
      ...hold(8, `subscription:${old('given')}/next/1`, 3, 'capture'),
      [9, `order:${old('long-gone')}`, ANNA, 'revenue', 5, 'hold'],
      [10, `order:${FIRST_ID}`, ANNA, 'revenue', 5, 'hold'],
      [11, `aml:${FIRST_ID}`, ANNA, 'revenue', 5, 'hold'],
      ...hold(12, `order:${first('right')}`, 5, 'capture'),
      ...hold(20, `order:${old('held-late')}`, 5),
      [19, `order:${old('sealed-end')}/c`, ANNA, 'revenue', 5, 'capture', `order:${old('x')}`],
      [18, 'order:sealed-nothing', ANNA, 'revenue', 5, 'hold'],
      [21, 'order:nothing', ANNA, 'revenue', 5, 'hold'],
      [22, `deposit:${old('unheld')}`, 'world', ANNA, 5],
      [23, `order:${old('y')}`, ANNA, 'revenue', 5, 'release', `order:${old('long-gone')}`],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongHolds, scopeFrom(20n)), [
    'aml:01m4ccyhzz0000000000000000wrong-end: capture of 5 sun from customer:anna to ' +
      'revenue, expected release of 5 sun from customer:anna',
    'aml:01m4ccyj000000000000000000: open of 5 sun from customer:anna to revenue, ' +
      'expected capture of 5 sun from customer:anna',
    'order:01m4ccyhzz0000000000000000wrong-end: capture of 5 sun from customer:anna to ' +
      'revenue, expected release of 5 sun from customer:anna',
    'order:01m4ccyj000000000000000000: there is no hold of 5 sun',
    'order:01m4ccyj000000000000000000unheld: there is no hold of 5 sun',
    'order:nothing: open of 5 sun, and nothing that it is for',
    'subscription:01m4ccyhzz0000000000000000active: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000error/next/1: there is no hold of 3 sun',
    'subscription:01m4ccyhzz0000000000000000expired: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000given: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000given/next/1: capture of 3 sun from ' +
      'customer:anna to revenue, expected release of 3 sun from customer:anna',
    'subscription:01m4ccyhzz0000000000000000new: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000pending: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000stopped: there is no hold of 5 sun',
    'subscription:01m4ccyj000000000000000000: there is no hold of 5 sun',
  ])
  assert.deepEqual(await foundIn(sql, wrongHolds, scopeFrom(1n)), [
    'aml:01m4ccyhzz0000000000000000wrong-end: capture of 5 sun from customer:anna to ' +
      'revenue, expected release of 5 sun from customer:anna',
    'aml:01m4ccyj000000000000000000: open of 5 sun from customer:anna to revenue, ' +
      'expected capture of 5 sun from customer:anna',
    'order:01m4ccyhzz0000000000000000held-late: open of 5 sun from customer:anna to ' +
      'revenue, expected release of 5 sun from customer:anna',
    'order:01m4ccyhzz0000000000000000long-gone: release of 5 sun, and nothing that it ' + 'is for',
    'order:01m4ccyhzz0000000000000000sealed-end: open of 5 sun from customer:anna to ' +
      'revenue, expected release of 5 sun from customer:anna',
    'order:01m4ccyhzz0000000000000000wrong-end: capture of 5 sun from customer:anna to ' +
      'revenue, expected release of 5 sun from customer:anna',
    'order:01m4ccyj000000000000000000: open of 5 sun from customer:anna to revenue, ' +
      'expected capture of 5 sun from customer:anna',
    'order:01m4ccyj000000000000000000unheld: there is no hold of 5 sun',
    'order:nothing: open of 5 sun, and nothing that it is for',
    'order:sealed-nothing: open of 5 sun, and nothing that it is for',
    'subscription:01m4ccyhzz0000000000000000active: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000error/next/1: there is no hold of 3 sun',
    'subscription:01m4ccyhzz0000000000000000expired: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000given: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000given/next/1: capture of 3 sun from ' +
      'customer:anna to revenue, expected release of 3 sun from customer:anna',
    'subscription:01m4ccyhzz0000000000000000new: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000pending: there is no hold of 5 sun',
    'subscription:01m4ccyhzz0000000000000000stopped: there is no hold of 5 sun',
    'subscription:01m4ccyj000000000000000000: there is no hold of 5 sun',
  ])
  assert.deepEqual(await foundIn(sql, wrongHolds, scopeFrom(0n)), [
    'aml:01m4ccyj000000000000000000: open of 5 sun from customer:anna to revenue, ' +
      'expected capture of 5 sun from customer:anna',
    'order:01m4ccyhzz0000000000000000held-late: open of 5 sun, and nothing that it is for',
    'order:01m4ccyj000000000000000000: there is no hold of 5 sun',
    'order:01m4ccyj000000000000000000unheld: there is no hold of 5 sun',
    'order:nothing: open of 5 sun, and nothing that it is for',
    'order:sealed-nothing: open of 5 sun, and nothing that it is for',
    'subscription:01m4ccyj000000000000000000: there is no hold of 5 sun',
  ])
})

const refunds = (rows: BareRows['rows']): BareRows => ({
  table: 'deposit',
  columns: 'tx_id position state amount_sun refund_id block_time',
  rows: rows.map(([tx_id = null, state = null, at = SINCE]) => [tx_id, 0, state, 5, 'back', at]),
})
/** The transaction of all refunds sends four sun. */
const attempts: BareRows = {
  table: 'attempt',
  columns: 'id contract',
  rows: [['back', { parameter: { value: { amount: { int64: '4' } } } }]],
}
const RECHARGE = 'customer:direct_recharge'

test('money moves for what was used and for fees of refunds only, or by hand', async (t) => {
  const sql = await bareTables(t, [
    attempts,
    subscriptions([
      { id: 'a', state: 'active' },
      { id: 'b', state: 'active' },
    ]),
    uses([
      ['a', 'right', 5],
      ['a', 'back', 5],
      ['a', 'free', 0],
      ['a', 'unbooked', 1],
      ['a', 'more', 5],
      ['b', 'account', 5],
    ]),
    refunds([
      ['right', 'refunded'],
      ['less', 'refunded'],
      ['unbooked', 'refunded'],
      ['waiting', 'refunding'],
    ]),
    entryRows([
      [1, 'subscription:a/right/1', ANNA, 'revenue', 3],
      [2, 'subscription:a/right/2', ANNA, 'revenue', 2],
      [3, 'subscription:a/back/1', ANNA, 'revenue', 7],
      [4, 'subscription:a/back/2', 'revenue', ANNA, 2],
      [5, 'subscription:a/free/1', ANNA, 'revenue', 2],
      [6, 'subscription:a/free/2', 'revenue', ANNA, 2],
      [7, 'subscription:a/more/1', ANNA, 'revenue', 6],
      [8, 'subscription:b/account/1', 'customer:bea', 'revenue', 5],
      [9, 'subscription:a/nothing/1', ANNA, 'revenue', 1],
      [10, 'refund_fee:right', RECHARGE, 'revenue', 1],
      [11, 'refund_fee:less', RECHARGE, 'revenue', 2],
      [12, 'refund_fee:waiting', RECHARGE, 'revenue', 1],
      [13, 'gift', ANNA, 'customer:bea', 1],
      [14, 'deposit:x', 'world', ANNA, 1],
      [15, 'refund:x', ANNA, 'world', 1],
      [16, 'resolution:x', 'held_deposits', ANNA, 1],
      [17, 'correction:x', 'corrections', ANNA, 1],
      [18, 'reward:x', 'treasury:wallets', 'income:votes', 1],
      [19, 'order:x', ANNA, 'revenue', 1, 'hold'],
      [20, 'given', 'revenue', ANNA, 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongMoves), [
    'gift: -1 sun from customer:anna to customer:bea, expected 0 sun from nobody',
    'given: -1 sun from customer:anna, expected 0 sun from nobody',
    'refund_fee:less: 2 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:unbooked: 0 sun from nobody, expected 1 sun from customer:direct_recharge',
    'refund_fee:waiting: 1 sun from customer:direct_recharge, expected 0 sun from nobody',
    'subscription:a/more: 6 sun from customer:anna, expected 5 sun from customer:anna',
    'subscription:a/nothing: 1 sun from customer:anna, expected 0 sun from nobody',
    'subscription:a/unbooked: 0 sun from nobody, expected 1 sun from customer:anna',
    'subscription:b/account: 5 sun from customer:bea, expected 5 sun from customer:anna',
  ])
})

test('a check that goes on looks at uses and refunds since, or booked since', async (t) => {
  const sql = await bareTables(t, [
    attempts,
    subscriptions([{ id: 'a', state: 'active' }]),
    uses([
      ['a', 'since', 5],
      ['a', 'before', 5, BEFORE],
      ['a', 'touched', 5, BEFORE],
      ['a', 'sealed', 5, BEFORE],
      ['a', 'booked', 5, BEFORE],
      ['a', 'held', 5, BEFORE],
      ['a', 'too-early', 5],
      ['a', 'first', 5],
      ['other', 'touched', 5, BEFORE],
    ]),
    refunds([
      ['since', 'refunded'],
      ['before', 'refunded', BEFORE],
      ['touched', 'refunded', BEFORE],
      ['sealed', 'refunded', BEFORE],
      ['booked', 'refunded', BEFORE],
      ['both', 'refunded'],
      ['other', 'refunded', BEFORE],
      ['waiting', 'refunding', BEFORE],
    ]),
    entryRows([
      [10, 'subscription:a/too-early/1', ANNA, 'revenue', 5],
      [11, 'subscription:a/first/1', ANNA, 'revenue', 5],
      [12, 'sealed-gift', ANNA, 'customer:bea', 1],
      [19, 'subscription:a/sealed/1', ANNA, 'revenue', 9],
      [20, 'refund_fee:sealed', RECHARGE, 'revenue', 9],
      [21, 'subscription:a/touched/1', ANNA, 'revenue', 9],
      [22, 'refund_fee:touched', RECHARGE, 'revenue', 9],
      [23, 'subscription:a/booked/1', ANNA, 'revenue', 5],
      [24, 'refund_fee:booked', RECHARGE, 'revenue', 1],
      [25, 'refund:other', RECHARGE, 'world', 4],
      [26, 'subscription:a/held/1', ANNA, 'revenue', 5, 'hold'],
      [27, 'refund_fee:waiting', RECHARGE, 'revenue', 1],
      [29, 'refund_fee:both', RECHARGE, 'revenue', 9],
      [28, 'gift', ANNA, 'customer:bea', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongMoves, scopeFrom(20n)), [
    'gift: -1 sun from customer:anna to customer:bea, expected 0 sun from nobody',
    'refund_fee:both: 9 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:since: 0 sun from nobody, expected 1 sun from customer:direct_recharge',
    'refund_fee:touched: 9 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:waiting: 1 sun from customer:direct_recharge, expected 0 sun from nobody',
    'subscription:a/since: 0 sun from nobody, expected 5 sun from customer:anna',
    'subscription:a/too-early: 0 sun from nobody, expected 5 sun from customer:anna',
    'subscription:a/touched: 9 sun from customer:anna, expected 5 sun from customer:anna',
  ])
  assert.deepEqual(await foundIn(sql, wrongMoves, scopeFrom(1n)), [
    'gift: -1 sun from customer:anna to customer:bea, expected 0 sun from nobody',
    'refund_fee:both: 9 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:sealed: 9 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:since: 0 sun from nobody, expected 1 sun from customer:direct_recharge',
    'refund_fee:touched: 9 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:waiting: 1 sun from customer:direct_recharge, expected 0 sun from nobody',
    'sealed-gift: -1 sun from customer:anna to customer:bea, expected 0 sun from nobody',
    'subscription:a/sealed: 9 sun from customer:anna, expected 5 sun from customer:anna',
    'subscription:a/since: 0 sun from nobody, expected 5 sun from customer:anna',
    'subscription:a/too-early: 0 sun from nobody, expected 5 sun from customer:anna',
    'subscription:a/touched: 9 sun from customer:anna, expected 5 sun from customer:anna',
  ])
  assert.deepEqual(await foundIn(sql, wrongMoves, scopeFrom(0n)), [
    'gift: -1 sun from customer:anna to customer:bea, expected 0 sun from nobody',
    'refund_fee:booked: 1 sun from customer:direct_recharge, expected 0 sun from nobody',
    'refund_fee:both: 9 sun from customer:direct_recharge, expected 1 sun from ' +
      'customer:direct_recharge',
    'refund_fee:sealed: 9 sun from customer:direct_recharge, expected 0 sun from nobody',
    'refund_fee:since: 0 sun from nobody, expected 1 sun from customer:direct_recharge',
    'refund_fee:touched: 9 sun from customer:direct_recharge, expected 0 sun from nobody',
    'refund_fee:waiting: 1 sun from customer:direct_recharge, expected 0 sun from nobody',
    'sealed-gift: -1 sun from customer:anna to customer:bea, expected 0 sun from nobody',
    'subscription:a/booked: 5 sun from customer:anna, expected 0 sun from nobody',
    'subscription:a/sealed: 9 sun from customer:anna, expected 0 sun from nobody',
    'subscription:a/since: 0 sun from nobody, expected 5 sun from customer:anna',
    'subscription:a/too-early: 0 sun from nobody, expected 5 sun from customer:anna',
    'subscription:a/touched: 9 sun from customer:anna, expected 0 sun from nobody',
  ])
})
