// Rows that are just inside and just outside of the rules about events: each wrong one is named,
// and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import {
  BEFORE,
  FIRST_ID,
  foundIn,
  OLD_ID,
  SINCE,
  scopeFrom,
} from 'penstock-test/harness/books_rows.ts'
import { wrongEvents } from './event_rules.ts'

const HOUR_BEFORE = '2026-10-07T23:00:00.000Z'
const LATER = '2026-10-08T12:00:00.000Z'

const numbered = (rows: readonly (readonly [customer: string, number: number, at?: string])[]) =>
  ({
    table: 'event',
    columns: 'customer_id number type subject at test',
    rows: rows.map(([of, number, at = SINCE]) => [of, number, 'x', 'y', at, false]),
  }) satisfies BareRows

const counters = (rows: BareRows['rows']): BareRows => ({
  table: 'event_counter',
  columns: 'customer_id last_number',
  rows,
})

/** Tables of what ends, and of what is noted. */
const others = (rows: Partial<Record<string, BareRows['rows']>> = {}): BareRows[] => {
  const columns = {
    orders: 'id customer_id state created_at ended_at delayed_at ending_at solid_at',
    deposit: 'tx_id position state customer_id seen_at block_time',
    aml_check: 'id state created_at',
    subscription: 'id state created_at',
    event_note: 'id type subject at test',
    event_publisher: 'one order_created_from',
    chain: 'one head_time',
  }
  return Object.entries(columns).map(([table, names]) => ({
    table,
    columns: names,
    rows: rows[table] ?? [],
  }))
}

test('events of a customer are numbered without gaps, up to the counter', async (t) => {
  const sql = await bareTables(t, [
    ...others({
      chain: [[true, '2026-10-08T00:01:00.000Z']],
      event_note: [
        [1, 'in-time', 'order:a', SINCE, false],
        [2, 'late', 'order:b', BEFORE, false],
      ],
    }),
    counters([
      ['right', 4],
      ['gap', 4],
      ['behind', 2],
      ['ahead', 4],
    ]),
    numbered([
      ...['right', 'behind', 'ahead', 'uncounted'].flatMap((of) =>
        [2, 3].map((number) => [of, number] as const),
      ),
      ['right', 4],
      ['behind', 4],
      ['behind', 5],
      ['gap', 2],
      ['gap', 4],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongEvents), [
    'ahead: 2 events are kept, numbered 2 to 3, and the counter is at 4',
    'behind: 4 events are kept, numbered 2 to 5, and the counter is at 2',
    'gap: 2 events are kept, numbered 2 to 4, and the counter is at 4',
    'order:b: late was noted at 2026-10-07 23:59:59.999+00 and has no number',
    'uncounted: 2 events are kept, numbered 2 to 3, and the counter is at ',
  ])
})

test('a check that goes on looks at numbers from the least of its days on', async (t) => {
  const sql = await bareTables(t, [
    ...others(),
    counters([
      ['right', 5],
      ['gap', 5],
    ]),
    numbered([
      ['right', 1, BEFORE],
      ['right', 3],
      ['right', 4, BEFORE],
      ['right', 5],
      ['gap', 3],
      ['gap', 5],
      ['old', 1, BEFORE],
      ['old', 3, BEFORE],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongEvents, scopeFrom(20n)), [
    'gap: 2 events are kept, numbered 3 to 5, and the counter is at 5',
  ])
})

/** Events and notes by their subjects and types alone, each of a customer of its own. */
const said = (
  rows: readonly (readonly [type: string, subject: string, at?: string, test?: boolean])[],
) => [
  counters(rows.map((_, at) => [`of-${at}`, 1])),
  {
    table: 'event',
    columns: 'customer_id number type subject at test',
    rows: rows.map(([type, subject, at = SINCE, is_test = false], number) => [
      ...[`of-${number}`, 1, type, subject, at, is_test],
    ]),
  },
]

test('what ended is said once, as it ended, and nothing else is', async (t) => {
  const order = (id: string, state: string, rest: (string | null)[] = [], of = 'anna') => [
    ...[id, of, state, LATER, null, null, null, null].slice(0, 8 - rest.length),
    ...rest,
  ]
  const none = null
  const sql = await bareTables(t, [
    ...others({
      chain: [[true, SINCE]],
      event_publisher: [[true, LATER]],
      event_note: [
        [1, 'order.failed', 'order:noted', SINCE, false],
        [2, 'order.failed', 'order:test-noted', SINCE, true],
      ],
      orders: [
        order('right', 'success', [LATER, LATER, LATER, '2026-10-08T12:00:01Z']),
        order('noted', 'failed'),
        order('test-noted', 'failed'),
        order('open', 'new', [none, none, none, LATER]),
        order('unsaid', 'success', [LATER, LATER, LATER, '2026-10-08T12:00:01Z']),
        order('failed', 'failed'),
        order('said', 'new'),
        order('recharge', 'success', [], 'direct_recharge'),
        order('supply', 'success', [], 'subscriptions'),
        ['at-oldest', 'anna', 'success', BEFORE, none, none, none, none],
        ['not-created', 'anna', 'new', SINCE, none, none, none, none],
        ['uncreated', 'anna', 'new', LATER, none, none, none, none],
        ['created', 'anna', 'new', SINCE, none, none, none, none],
        ['created-twice', 'anna', 'new', SINCE, none, none, none, none],
      ],
      deposit: [
        ['right', 0, 'credited', 'anna', LATER, SINCE],
        ['right', 2, 'held', 'anna', LATER, SINCE],
        ...['credited', 'held', 'resolved', 'seen', 'gone'].map((state) => [
          ...[state, 0, state, 'anna', LATER, SINCE],
        ]),
        ['recharge', 0, 'held', null, LATER, SINCE],
      ],
      aml_check: [
        ['right', 'completed', LATER],
        ...['completed', 'failed', 'pending'].map((state) => [state, state, LATER]),
      ],
      subscription: [
        ['right', 'error', LATER],
        ...['error', 'stopped', 'expired', 'active'].map((state) => [state, state, LATER]),
      ],
    }),
    ...said([
      ['oldest', 'x', BEFORE],
      ...['created', 'succeeded', 'ended', 'delayed', 'ending', 'solid'].map(
        (type) => [`order.${type}`, 'order:right'] as const,
      ),
      ...['noted', 'test-noted', 'open', 'unsaid', 'failed', 'said'].map(
        (id) => ['order.created', `order:${id}`] as const,
      ),
      ...['succeeded', 'failed', 'ended', 'delayed', 'ending', 'solid'].map(
        (type) => [`order.${type}`, 'order:said'] as const,
      ),
      ['order.failed', 'order:failed', SINCE, true],
      ['order.created', 'order:created'],
      ['order.created', 'order:created-twice'],
      ['order.created', 'order:created-twice'],
      ['deposit.credited', 'deposit:right'],
      ['deposit.held', 'deposit:right/2'],
      ['aml_check.completed', 'aml_check:right'],
      ['subscription.failed', 'subscription:right'],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongEvents), [
    'aml_check:completed: aml_check.completed was told 0 times',
    'aml_check:failed: aml_check.failed was told 0 times',
    'deposit:credited: deposit.credited was told 0 times',
    'deposit:held: deposit.held was told 0 times',
    'deposit:resolved: deposit.resolved was told 0 times',
    'order:created-twice: order.created was told 2 times',
    'order:failed: order.failed was told 0 times',
    'order:said: order.delayed was told 1 times',
    'order:said: order.ended was told 1 times',
    'order:said: order.ending was told 1 times',
    'order:said: order.failed was told 1 times',
    'order:said: order.solid was told 1 times',
    'order:said: order.succeeded was told 1 times',
    'order:test-noted: order.failed was told 0 times',
    'order:uncreated: order.created was told 0 times',
    'order:unsaid: order.delayed was told 0 times',
    'order:unsaid: order.ended was told 0 times',
    'order:unsaid: order.ending was told 0 times',
    'order:unsaid: order.solid was told 0 times',
    'order:unsaid: order.succeeded was told 0 times',
    'subscription:error: subscription.failed was told 0 times',
    'subscription:expired: subscription.expired was told 0 times',
    'subscription:stopped: subscription.stopped was told 0 times',
  ])
})

test('a check that goes on looks at ends of what was made since, said from then on', async (t) => {
  const [first, old] = [(tail: string) => FIRST_ID + tail, (tail: string) => OLD_ID + tail]
  const failed = (id: string) => [id, 'anna', 'failed', LATER, null, null, null, null]
  const sql = await bareTables(t, [
    ...others({
      event_publisher: [[true, '2026-10-09T00:00:00Z']],
      orders: [failed(FIRST_ID), failed(first('hour')), failed(first('more')), failed(old('x'))],
      deposit: [
        ['since', 0, 'held', 'anna', LATER, SINCE],
        ['before', 0, 'held', 'anna', LATER, BEFORE],
      ],
      aml_check: [FIRST_ID, old('x')].map((id) => [id, 'failed', LATER]),
      subscription: [FIRST_ID, old('x')].map((id) => [id, 'stopped', LATER]),
    }),
    ...said([
      ['order.failed', `order:${first('hour')}`, HOUR_BEFORE],
      ['order.failed', `order:${first('more')}`, '2026-10-07T22:59:59.999Z'],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongEvents, scopeFrom(20n)), [
    'aml_check:01m4ccyj000000000000000000: aml_check.failed was told 0 times',
    'deposit:since: deposit.held was told 0 times',
    'order:01m4ccyj000000000000000000: order.failed was told 0 times',
    'order:01m4ccyj000000000000000000more: order.failed was told 0 times',
    'subscription:01m4ccyj000000000000000000: subscription.stopped was told 0 times',
  ])
})
