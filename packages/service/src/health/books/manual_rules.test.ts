// Rows that are just inside and just outside of the rules about money that operators move by hand:
// each wrong one is named, and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import { BEFORE, entryRows, foundIn, SINCE, scopeFrom } from 'penstock-test/harness/books_rows.ts'
import { wrongByHand } from './manual_rules.ts'

type ResolutionRow = {
  tx_id: string
  position?: number
  way?: string
  sent?: number
  of?: string | null
  token?: boolean
  state?: string
  at?: string
  sent_by?: string
  sent_block?: number
}

/** Deposits of five units from block 7, each with how it was resolved: written off, unless another
 *  way is said. `of`: whose deposit it was. */
function resolutions(rows: readonly ResolutionRow[]): BareRows[] {
  const place = ({ tx_id, position = 0 }: ResolutionRow) => [tx_id, position]
  return [
    {
      table: 'deposit',
      columns: 'tx_id position customer_id amount_sun token_amount state block_number',
      rows: rows.map((row) => {
        const { of = 'bea', token = false, state = 'resolved' } = row
        return [...place(row), of, token ? null : 5, token ? 5 : null, state, 7]
      }),
    },
    {
      table: 'deposit_resolution',
      columns: 'tx_id position way customer_id sent_amount sent_by sent_block made_at',
      rows: rows.map((row) => {
        const { way = 'written_off', sent = null, sent_by, sent_block = 8, at = SINCE } = row
        const by = sent === null ? [null, null] : [sent_by ?? `by-${row.tx_id}`, sent_block]
        return [...place(row), way, way === 'credited' ? 'anna' : null, sent, ...by, at]
      }),
    },
  ]
}

const corrections = (rows: BareRows['rows']): BareRows => ({
  table: 'correction',
  columns: 'id customer_id amount_sun made_at',
  rows: rows.map(([id = null, sun = null, at = SINCE]) => [id, 'anna', sun, at]),
})
const proposals = (rows: BareRows['rows']): BareRows => ({
  table: 'correction_proposal',
  columns: 'id customer_id amount_sun approved_at proposed_role approved_role approved_by',
  rows: rows.map((row) => [...row, 'carl']),
})
const approvals = (rows: BareRows['rows']): BareRows => ({
  table: 'approval_rule',
  columns: 'since second from_sun summed',
  rows,
})
const none = [approvals([]), proposals([])]
const attempts = (...ids: string[]): BareRows => ({
  table: 'attempt',
  columns: 'id tx_id',
  rows: ids.map((id) => [id, id]),
})
const [ANNA, RECHARGE] = ['customer:anna', 'customer:direct_recharge']

test('what was moved by hand is booked as decided, and nothing else is', async (t) => {
  const sql = await bareTables(t, [
    ...none,
    attempts(),
    ...resolutions([
      { tx_id: 'right' },
      { tx_id: 'right', position: 2 },
      { tx_id: 'credited', way: 'credited' },
      { tx_id: 'recharge', of: null },
      { tx_id: 'all-sent', way: 'sent_back', sent: 5 },
      { tx_id: 'sent', way: 'sent_back', sent: 4 },
      { tx_id: 'token', token: true, way: 'sent_back', sent: 4 },
      { tx_id: 'unbooked' },
      { tx_id: 'rest-unbooked', way: 'sent_back', sent: 4 },
      { tx_id: 'kind' },
      { tx_id: 'debit' },
      { tx_id: 'credit' },
      { tx_id: 'more' },
    ]),
    corrections([
      ['given', 5],
      ['one', 1],
      ['taken', -5],
      ['unbooked', 5],
      ['turned', 5],
    ]),
    entryRows([
      [1, 'resolution:right', 'held_deposits', 'written_off', 5],
      [2, 'resolution:right/2', 'held_deposits', 'written_off', 5],
      [3, 'resolution:credited', 'held_deposits', ANNA, 5],
      [4, 'resolution:recharge', RECHARGE, 'written_off', 5],
      [5, 'resolution:all-sent', 'held_deposits', 'world', 5],
      [6, 'resolution:sent', 'held_deposits', 'world', 4],
      [7, 'resolution:sent/rest', 'held_deposits', 'written_off', 1],
      [8, 'resolution:rest-unbooked', 'held_deposits', 'world', 4],
      [9, 'resolution:kind', 'held_deposits', 'written_off', 5, 'hold'],
      [10, 'resolution:debit', RECHARGE, 'written_off', 5],
      [11, 'resolution:credit', 'held_deposits', 'world', 5],
      [12, 'resolution:more', 'held_deposits', 'written_off', 6],
      [13, 'correction:given', 'corrections', ANNA, 5],
      [24, 'correction:one', 'corrections', ANNA, 1],
      [14, 'correction:taken', ANNA, 'corrections', 5],
      [15, 'correction:turned', ANNA, 'corrections', 5],
      [16, 'resolution:nothing', 'a', 'b', 1],
      [17, 'correction:nothing', 'a', 'b', 1],
      [18, 'from-held', 'held_deposits', 'b', 1],
      [19, 'from-written-off', 'written_off', 'b', 1],
      [20, 'from-corrections', 'corrections', 'b', 1],
      [21, 'to-written-off', 'a', 'written_off', 1],
      [22, 'to-corrections', 'a', 'corrections', 1],
      [23, 'deposit:x', 'world', 'held_deposits', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand), [
    'correction:nothing: 1 sun from a to b, and nobody has decided that',
    'correction:turned: 5 sun from customer:anna to corrections, decided were 5 sun ' +
      'from corrections to customer:anna',
    'correction:unbooked: 5 sun from corrections to customer:anna are not booked',
    'from-corrections: 1 sun from corrections to b, and nobody has decided that',
    'from-held: 1 sun from held_deposits to b, and nobody has decided that',
    'from-written-off: 1 sun from written_off to b, and nobody has decided that',
    'resolution:credit: 5 sun from held_deposits to world, decided were 5 sun from ' +
      'held_deposits to written_off',
    'resolution:debit: 5 sun from customer:direct_recharge to written_off, decided ' +
      'were 5 sun from held_deposits to written_off',
    'resolution:kind: 5 sun from held_deposits to written_off, decided were 5 sun from ' +
      'held_deposits to written_off',
    'resolution:more: 6 sun from held_deposits to written_off, decided were 5 sun from ' +
      'held_deposits to written_off',
    'resolution:nothing: 1 sun from a to b, and nobody has decided that',
    'resolution:rest-unbooked/rest: 1 sun from held_deposits to written_off are not ' + 'booked',
    'resolution:unbooked: 5 sun from held_deposits to written_off are not booked',
    'to-corrections: 1 sun from a to corrections, and nobody has decided that',
    'to-written-off: 1 sun from a to written_off, and nobody has decided that',
  ])
})

test('a check that goes on looks at what was decided since, or booked since', async (t) => {
  const old = ['before', 'touched', 'sealed', 'booked', 'other']
  const sql = await bareTables(t, [
    ...none,
    attempts(),
    ...resolutions([
      { tx_id: 'since' },
      { tx_id: 'first' },
      { tx_id: 'too-early' },
      ...old.map((tx_id) => ({ tx_id, at: BEFORE })),
      { tx_id: 'booked', position: 1, at: BEFORE },
    ]),
    corrections([['since', 5], ...old.map((id) => [id, 5, BEFORE])]),
    entryRows([
      [10, 'resolution:too-early', 'held_deposits', 'written_off', 5],
      [11, 'resolution:first', 'held_deposits', 'written_off', 5],
      [18, 'sealed-nothing', 'held_deposits', 'b', 9],
      [19, 'correction:sealed', 'corrections', ANNA, 9],
      [20, 'resolution:sealed', 'held_deposits', 'written_off', 9],
      [21, 'resolution:touched', 'held_deposits', 'written_off', 9],
      [22, 'correction:touched', 'corrections', ANNA, 9],
      [23, 'resolution:booked', 'held_deposits', 'written_off', 5],
      [24, 'resolution:booked/1', 'held_deposits', 'written_off', 5],
      [25, 'correction:booked', 'corrections', ANNA, 5],
      [26, 'nothing', 'held_deposits', 'b', 9],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand, scopeFrom(20n)), [
    'correction:since: 5 sun from corrections to customer:anna are not booked',
    'correction:touched: 9 sun from corrections to customer:anna, decided were 5 sun ' +
      'from corrections to customer:anna',
    'nothing: 9 sun from held_deposits to b, and nobody has decided that',
    'resolution:since: 5 sun from held_deposits to written_off are not booked',
    'resolution:too-early: 5 sun from held_deposits to written_off are not booked',
    'resolution:touched: 9 sun from held_deposits to written_off, decided were 5 sun ' +
      'from held_deposits to written_off',
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand, scopeFrom(1n)), [
    'correction:sealed: 9 sun from corrections to customer:anna, decided were 5 sun ' +
      'from corrections to customer:anna',
    'correction:since: 5 sun from corrections to customer:anna are not booked',
    'correction:touched: 9 sun from corrections to customer:anna, decided were 5 sun ' +
      'from corrections to customer:anna',
    'nothing: 9 sun from held_deposits to b, and nobody has decided that',
    'resolution:sealed: 9 sun from held_deposits to written_off, decided were 5 sun ' +
      'from held_deposits to written_off',
    'resolution:since: 5 sun from held_deposits to written_off are not booked',
    'resolution:too-early: 5 sun from held_deposits to written_off are not booked',
    'resolution:touched: 9 sun from held_deposits to written_off, decided were 5 sun ' +
      'from held_deposits to written_off',
    'sealed-nothing: 9 sun from held_deposits to b, and nobody has decided that',
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand, scopeFrom(0n)), [
    'correction:booked: 5 sun from corrections to customer:anna, and nobody has ' + 'decided that',
    'correction:sealed: 9 sun from corrections to customer:anna, and nobody has ' + 'decided that',
    'correction:since: 5 sun from corrections to customer:anna are not booked',
    'correction:touched: 9 sun from corrections to customer:anna, and nobody has ' + 'decided that',
    'nothing: 9 sun from held_deposits to b, and nobody has decided that',
    'resolution:booked: 5 sun from held_deposits to written_off, and nobody has ' + 'decided that',
    'resolution:booked/1: 5 sun from held_deposits to written_off, and nobody has ' +
      'decided that',
    'resolution:sealed: 9 sun from held_deposits to written_off, and nobody has ' + 'decided that',
    'resolution:since: 5 sun from held_deposits to written_off are not booked',
    'resolution:too-early: 5 sun from held_deposits to written_off are not booked',
    'resolution:touched: 9 sun from held_deposits to written_off, and nobody has ' + 'decided that',
    'sealed-nothing: 9 sun from held_deposits to b, and nobody has decided that',
  ])
})

test('a deposit is resolved as somebody decided, by a transaction of its own', async (t) => {
  const rows: ResolutionRow[] = [
    { tx_id: 'right', token: true },
    { tx_id: 'held', token: true, state: 'held' },
    { tx_id: 'sent', token: true, way: 'sent_back', sent: 5 },
    { tx_id: 'sent-more', token: true, way: 'sent_back', sent: 6 },
    { tx_id: 'same-block', token: true, way: 'sent_back', sent: 5, sent_block: 7 },
    { tx_id: 'block-before', token: true, way: 'sent_back', sent: 5, sent_block: 6 },
    { tx_id: 'own', token: true, way: 'sent_back', sent: 5, sent_by: 'attempt' },
    { tx_id: 'one', token: true, way: 'sent_back', sent: 5, sent_by: 'twice' },
    { tx_id: 'other', token: true, way: 'sent_back', sent: 5, sent_by: 'twice' },
    { tx_id: 'position', position: 1, token: true },
  ]
  const sql = await bareTables(t, [
    ...none,
    attempts('attempt', 'another'),
    ...resolutions(rows),
    {
      table: 'deposit',
      columns: 'tx_id position state token_amount',
      rows: [
        ['undecided', 0, 'resolved', 5],
        ['position', 0, 'resolved', 5],
        ['waiting', 0, 'held', 5],
      ],
    },
    corrections([]),
    entryRows([]),
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand), [
    'deposit block-before: 5 were sent back, and 5 came',
    'deposit held: it is not there, and written_off by hand',
    'deposit own: attempt is a transaction of the service for something else',
    'deposit position: it is resolved, and nobody has decided how',
    'deposit sent-more: 6 were sent back, and 5 came',
    'deposit undecided: it is resolved, and nobody has decided how',
    'transaction twice: it has resolved 2 deposits',
  ])
})

const AT = '2026-10-09T00:00:00.000Z'
/** Entries that book these corrections. */
const booked = (rows: BareRows['rows']) =>
  entryRows(
    rows.map(([id, sun], at) => [
      at + 1,
      `correction:${id}`,
      Number(sun) > 0 ? 'corrections' : ANNA,
      Number(sun) > 0 ? ANNA : 'corrections',
      Math.abs(Number(sun)),
    ]),
  )

test('a correction from the amount of the rule on is approved by somebody else', async (t) => {
  const rows = [
    ['early', 100, '2026-10-01T23:59:59.999Z'],
    ['at-change', 100, '2026-10-02T00:00:00Z'],
    ['minute-after', 100, '2026-10-02T00:01:00Z'],
    ['later', 100, '2026-10-02T00:01:00.001Z'],
    ['below', 99, AT],
    ['taken', -100, AT],
    ['small', 1, '2026-10-09T01:00:00Z'],
    ['approved', 100, AT],
    ['other-time', 100, AT],
    ['other-sun', 100, AT],
    ['other-customer', 100, AT],
    ['by-role', 100, '2026-10-11T00:00:00Z'],
    ['by-same-role', 100, '2026-10-11T00:00:00Z'],
    ['free', 100, '2026-10-13T00:00:00Z'],
  ]
  const sql = await bareTables(t, [
    attempts(),
    ...resolutions([]),
    corrections(rows),
    booked(rows),
    approvals([
      ['2026-10-02T00:00:00Z', 'name', 100, false],
      ['2026-10-10T00:00:00Z', 'role', 100, false],
      ['2026-10-12T00:00:00Z', 'none', 0, false],
    ]),
    proposals([
      ['approved', 'anna', 100, AT, 'a', 'a'],
      ['other-time', 'anna', 100, '2026-10-09T00:00:01Z', 'a', 'b'],
      ['other-sun', 'anna', 101, AT, 'a', 'b'],
      ['other-customer', 'bea', 100, AT, 'a', 'b'],
      ['by-role', 'anna', 100, '2026-10-11T00:00:00Z', 'a', 'b'],
      ['by-same-role', 'anna', 100, '2026-10-11T00:00:00Z', 'a', 'a'],
      ['not-made', 'anna', 100, AT, 'a', 'b'],
      ['waiting', 'anna', 100, null, 'a', null],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand), [
    'correction by-same-role: 100 sun, and nobody else has approved it',
    'correction later: 100 sun, and nobody else has approved it',
    'correction other-customer: 100 sun, and nobody else has approved it',
    'correction other-sun: 100 sun, and nobody else has approved it',
    'correction other-time: 100 sun, and nobody else has approved it',
    'correction taken: -100 sun, and nobody else has approved it',
    'proposal not-made: carl has approved it, and it was not made',
    'proposal other-customer: carl has approved it, and it was not made',
    'proposal other-sun: carl has approved it, and it was not made',
    'proposal other-time: carl has approved it, and it was not made',
  ])
})

test('a rule that sums counts what was corrected in the day before, unapproved', async (t) => {
  const rows = [
    ['day-1', 60, '2026-10-03T00:00:00Z'],
    ['day-2', 40, '2026-10-04T00:00:00Z'],
    ['near-1', -60, '2026-10-06T00:00:00.001Z'],
    ['near-2', 40, '2026-10-07T00:00:00Z'],
    ['same-a', 60, '2026-10-09T00:00:00Z'],
    ['same-b', 40, '2026-10-09T00:00:00Z'],
    ['less-1', 59, '2026-10-11T00:00:00Z'],
    ['less-2', 40, '2026-10-11T01:00:00Z'],
    ['seen-1', 60, '2026-10-13T00:00:00Z'],
    ['seen-2', 40, '2026-10-13T01:00:00Z'],
    ['asked-1', 60, '2026-10-15T00:00:00Z'],
    ['asked-2', 40, '2026-10-15T01:00:00Z'],
    ['at-rule', 70, '2026-10-16T12:00:00Z'],
    ['at-change', 100, '2026-10-17T00:00:30Z'],
  ]
  const sql = await bareTables(t, [
    attempts(),
    ...resolutions([]),
    corrections(rows),
    booked(rows),
    approvals([
      ['2026-10-01T00:00:00Z', 'name', 100, true],
      ['2026-10-16T12:00:00Z', 'name', 70, true],
      ['2026-10-17T00:00:00Z', 'name', 100, true],
    ]),
    proposals([
      ['seen-1', 'anna', 60, '2026-10-13T00:00:00Z', 'a', 'b'],
      ['asked-1', 'anna', 60, null, 'a', null],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongByHand), [
    'correction asked-2: 40 sun, and nobody else has approved it',
    'correction at-change: 100 sun, and nobody else has approved it',
    'correction at-rule: 70 sun, and nobody else has approved it',
    'correction near-2: 40 sun, and nobody else has approved it',
    'correction same-b: 40 sun, and nobody else has approved it',
  ])
})
