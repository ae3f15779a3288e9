// Rows that are just inside and just outside of the rules about summaries and invoices: each wrong
// one is named, and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import { BEFORE, entryRows, foundIn, SINCE, scopeFrom } from 'penstock-test/harness/books_rows.ts'
import { wrongDocuments } from './document_rules.ts'
import { type Scope, WHOLE } from './scope.ts'

const [ANNA, BOB] = ['customer:anna', 'customer:bob']
const [JULY, AUGUST, SEPTEMBER] = ['2026-07-01', '2026-08-01', '2026-09-01']
const OCTOBER = '2026-10-01'
/** Of a check that goes on, but looks at all rows: what documents come to is no part of it. */
const NO_TOTALS: Scope = { ...WHOLE, seal: { last_entry: 20n, made_at: new Date(SINCE) } as never }

const customers = (...ids: string[]): BareRows => ({
  table: 'customer',
  columns: 'id',
  rows: ids.map((id) => [id]),
})

type Paper = {
  kind?: 'invoice' | 'credit_note'
  corrects?: number | null
  correction_id?: string | null
  issued_at?: string
  document?: object
}

/** Documents that say what their rows do, but for what is given. */
const papers = (
  rows: readonly (readonly [
    number: number,
    customer_id: string,
    month: string,
    sun: number,
    paper?: Paper,
  ])[],
): BareRows => ({
  table: 'invoice',
  columns: 'number customer_id month total_sun kind corrects correction_id issued_at document',
  rows: rows.map(([number, customer_id, month, sun, paper = {}]) => {
    const { kind = 'invoice', corrects = null, correction_id = null, issued_at = SINCE } = paper
    const total = String(sun / 1_000_000)
    const printed = { number, kind, corrects, customer: { id: customer_id }, total }
    const document = { ...printed, lines: [{ total }], ...paper.document }
    return [
      ...[number, customer_id, month, sun, kind, corrects, correction_id, issued_at],
      JSON.stringify(document),
    ]
  }),
})

const issuedUntil = (month: string, customer_id: string): BareRows => ({
  table: 'invoice_progress',
  columns: 'one month customer_id',
  rows: [[true, month, customer_id]],
})

type Figures = readonly [spent: number, deposited: number, balance: number, spendable: number]

const summaries = (
  rows: readonly (readonly [customer: string, bucket: string, at: string, ...Figures])[],
): BareRows => ({
  table: 'summary',
  columns: 'customer_id bucket at spent_sun deposited_sun balance_sun spendable_sun',
  rows,
})

const summarisedUntil = (hour: string, day: string, entry: number): BareRows => ({
  table: 'summary_progress',
  columns: 'bucket until entry',
  rows: [
    ['hour', hour, entry],
    ['day', day, entry],
  ],
})

/** Of a day, for rules that look at nothing but what was spent. */
const spent = (customer: string, at: string, sun: number) =>
  [customer, 'day', at, sun, 0, 0, 0] as const

test('a document says what its row does, and numbers have no gaps', async (t) => {
  const sql = await bareTables(t, [
    customers(),
    papers([
      [1, 'anna', JULY, 1_500_000],
      [2, 'anna', JULY, 2_000_000, { document: { number: 3 } }],
      [3, 'anna', JULY, 2_000_000, { document: { kind: 'credit_note' } }],
      [4, 'anna', JULY, 2_000_000, { document: { kind: undefined } }],
      [5, 'anna', JULY, 2_000_000, { document: { corrects: 1 } }],
      [6, 'anna', JULY, 2_000_000, { document: { customer: { id: 'bob' } } }],
      [7, 'anna', JULY, 2_000_000, { document: { total: '2.000001' } }],
      [
        8,
        'anna',
        JULY,
        2_000_000,
        { document: { lines: [{ total: '1' }, { total: '0.999999' }] } },
      ],
      [9, 'anna', JULY, 2_000_000, { document: { lines: [{ total: '1' }, { total: '1' }] } }],
      [10, 'anna', JULY, 0, { document: { lines: [] } }],
      [11, 'anna', JULY, 1, { document: { lines: [] } }],
      [12, 'anna', JULY, 2_000_000, { document: { number: 1 }, issued_at: BEFORE }],
      [14, 'anna', JULY, 1_000_000],
    ]),
  ])
  const wrong = [2, 3, 5, 6, 7, 8, 11]
  const says = (numbers: number[]) =>
    numbers.map((number) => `invoice ${number}: its document says something else`).sort()
  assert.deepEqual(await foundIn(sql, wrongDocuments, NO_TOTALS), [
    ...says([...wrong, 12]),
    'invoices: 13 of them, and the last has the number 14',
  ])
  assert.deepEqual(
    await foundIn(sql, wrongDocuments, { ...NO_TOTALS, since: new Date(SINCE) }),
    [...says(wrong), 'invoices: 13 of them, and the last has the number 14'],
    'one that goes on looks at what was issued since',
  )
})

test('where none was issued no number is missing', async (t) => {
  const sql = await bareTables(t, [customers(), papers([])])
  assert.deepEqual(await foundIn(sql, wrongDocuments), [])
})

test('a document corrects an invoice of its customer, and no more than it came to', async (t) => {
  const credit = (corrects: number, correction_id: string | null = null) =>
    ({ kind: 'credit_note', corrects, correction_id }) as const
  const sql = await bareTables(t, [
    customers(),
    papers([
      [1, 'anna', JULY, 100],
      [2, 'anna', JULY, -60, credit(1)],
      [3, 'anna', JULY, -40, credit(1)],
      [4, 'anna', JULY, 50, { corrects: 1 }],
      [5, 'anna', AUGUST, 50, { corrects: 1 }],
      [6, 'anna', AUGUST, -1, credit(4)],
      [7, 'bob', JULY, -1, credit(1)],
      [8, 'anna', JULY, -1, credit(2)],
      [9, 'bob', JULY, 100],
      [10, 'bob', JULY, -61, credit(9)],
      [11, 'bob', JULY, -40, credit(9)],
      [12, 'bob', AUGUST, 100],
      [13, 'bob', AUGUST, -100, credit(12)],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongDocuments, NO_TOTALS), [
    'invoice 1: 100 sun, and 101 were credited',
    'invoice 2: -60 sun, and 1 were credited',
    'invoice 5: it corrects 1, which is no invoice of its customer',
    'invoice 7: it corrects 1, which is no invoice of its customer',
    'invoice 8: it corrects 2, which is no invoice of its customer',
    'invoice 9: 100 sun, and 101 were credited',
  ])
})

test('a correction of an invoice has its credit note, and no other has one', async (t) => {
  const note = (corrects: number, correction_id: string) =>
    ({ kind: 'credit_note', corrects, correction_id }) as const
  const sql = await bareTables(t, [
    customers(),
    {
      table: 'correction',
      columns: 'id customer_id amount_sun invoice_number',
      rows: [
        ['right', 'anna', 10, 1],
        ['other-customer', 'bob', 10, 1],
        ['other-sum', 'anna', 11, 1],
        ['other-invoice', 'anna', 10, 2],
        ['no-note', 'anna', 10, 1],
        ['of-none', 'anna', 10, null],
        ['of-none-with-note', 'anna', 10, null],
      ],
    },
    papers([
      [1, 'anna', JULY, 100],
      [2, 'anna', AUGUST, 100],
      [3, 'anna', JULY, -10, note(1, 'right')],
      [4, 'anna', JULY, -10, note(1, 'other-customer')],
      [5, 'anna', JULY, -10, note(1, 'other-sum')],
      [6, 'anna', JULY, -10, note(1, 'other-invoice')],
      [7, 'anna', JULY, -10, note(1, 'of-none-with-note')],
      [8, 'anna', JULY, -10, note(1, 'nothing')],
      [9, 'anna', AUGUST, -10, { kind: 'credit_note', corrects: 2 }],
    ]),
  ])
  const SAYS = '10 sun for the invoice'
  assert.deepEqual(await foundIn(sql, wrongDocuments, NO_TOTALS), [
    `correction no-note: ${SAYS} 1, and a credit note over 0`,
    'correction nothing: 0 sun for the invoice , and a credit note over 10',
    'correction of-none-with-note: 0 sun for the invoice , and a credit note over 10',
    `correction other-customer: ${SAYS} 1, and a credit note over 10`,
    `correction other-invoice: ${SAYS} 2, and a credit note over 10`,
    'correction other-sum: 11 sun for the invoice 1, and a credit note over 10',
  ])
})

test('the documents of a month come to what was charged, less what came back', async (t) => {
  const [BEGIN, END] = ['2026-08-01T00:00:00Z', '2026-08-31T23:59:59.999999Z']
  const [JULY_END, SEPTEMBER_BEGIN] = ['2026-07-31T23:59:59.999999Z', '2026-09-01T00:00:00Z']
  const ids = ['anna', 'bob', 'carl', 'dora', 'emil', 'fred', 'gert', 'hans', 'ivan']
  const sql = await bareTables(t, [
    customers(...ids),
    entryRows([
      // Anna's documents are right: 10 charged, 4 given back, a correction on its own.
      [1, 'a1', ANNA, 'revenue', 3, 'move', undefined, BEGIN],
      [2, 'a2', ANNA, 'revenue', 7, 'capture', undefined, END],
      [3, 'a3', 'revenue', ANNA, 4, 'move', undefined, END],
      [4, 'a4', ANNA, 'revenue', 100, 'hold', undefined, END],
      [5, 'a5', ANNA, 'revenue', 200, 'release', undefined, END],
      [6, 'a6', ANNA, 'corrections', 300, 'move', undefined, END],
      [7, 'a7', 'world', ANNA, 400, 'move', undefined, END],
      [8, 'a8', 'held', 'revenue', 500, 'move', undefined, END],
      [9, 'a9', ANNA, 'revenue', 9, 'move', undefined, JULY_END],
      [10, 'a10', ANNA, 'revenue', 11, 'move', undefined, SEPTEMBER_BEGIN],
      [11, 'b1', BOB, 'revenue', 8, 'move', undefined, END],
      [12, 'c1', 'customer:carl', 'revenue', 8, 'move', undefined, END],
      [13, 'd1', 'customer:dora', 'revenue', 8, 'move', undefined, END],
      [14, 'e1', 'customer:emil', 'revenue', 8, 'move', undefined, '2026-06-30T23:59:59Z'],
      [15, 'f1', 'customer:fred', 'revenue', 8, 'move', undefined, '2026-09-30T00:00:00Z'],
      [16, 'g1', 'customer:gert', 'revenue', 8, 'move', undefined, '2026-09-30T00:00:00Z'],
      [17, 'h1', 'customer:gone', 'revenue', 8, 'move', undefined, END],
      [18, 'i1', 'revenue', 'customer:ivan', 8, 'capture', undefined, END],
      [19, 'a11', 'revenue', ANNA, 600, 'hold', undefined, END],
      [20, 't1', 'treasury:anna', 'revenue', 700, 'move', undefined, END],
      [21, 'd2', 'customer:dora', 'revenue', 1, 'move', undefined, SEPTEMBER_BEGIN],
    ]),
    papers([
      [1, 'anna', JULY, 9],
      [2, 'anna', AUGUST, 10],
      [3, 'anna', AUGUST, -4, { kind: 'credit_note', corrects: 2 }],
      [4, 'anna', AUGUST, -1, { kind: 'credit_note', corrects: 2, correction_id: 'c' }],
      [5, 'anna', SEPTEMBER, 11],
      [6, 'bob', AUGUST, 7],
      [7, 'dora', AUGUST, 9],
      [8, 'dora', AUGUST, 1, { corrects: 7 }],
      [9, 'hans', OCTOBER, 5],
      [10, 'ivan', AUGUST, -7, { kind: 'credit_note', corrects: 2 }],
      [11, 'hans', SEPTEMBER, 1],
    ]),
    issuedUntil(SEPTEMBER, 'fred'),
  ])
  const totals = (await foundIn(sql, wrongDocuments)).filter((one) => one.includes('were charged'))
  assert.deepEqual(totals, [
    'invoice 11: 1 sun, and 0 were charged',
    'invoice 6: 7 sun, and 8 were charged',
    'invoice 8: 10 sun, and 8 were charged',
    'invoice 9: 5 sun, and 0 were charged',
    'invoice of carl for 2026-08-01: 0 sun, and 8 were charged',
    'invoice of dora for 2026-09-01: 0 sun, and 1 were charged',
    'invoice of fred for 2026-09-01: 0 sun, and 8 were charged',
    'invoice of ivan for 2026-08-01: -7 sun, and -8 were charged',
  ])
})

test('the documents of a month come to what its summaries say was spent', async (t) => {
  const [BEGIN, END] = ['2026-08-01T00:00:00Z', '2026-08-31T00:00:00Z']
  const sql = await bareTables(t, [
    customers('anna', 'bob', 'carl', 'dora', 'emil', 'fred', 'gert'),
    summaries([
      spent('anna', BEGIN, 300),
      spent('anna', END, 700),
      ['anna', 'hour', END, 700, 0, 0, 0],
      spent('anna', '2026-07-31T00:00:00Z', 9),
      spent('anna', '2026-09-01T00:00:00Z', 11),
      spent('bob', END, 8),
      spent('bob', '2026-07-01T00:00:00Z', 8),
      spent('carl', END, 8),
      spent('dora', '2026-06-30T00:00:00Z', 8),
      spent('emil', '2026-09-30T00:00:00Z', 8),
      spent('fred', '2026-09-30T00:00:00Z', 8),
      spent('gone', END, 8),
    ]),
    entryRows([
      [1, 'a1', 'revenue', ANNA, 40, 'move', undefined, '2026-08-01T00:00:00Z'],
      [2, 'a2', ANNA, 'corrections', 60, 'move', undefined, '2026-08-31T23:59:59.999999Z'],
      [3, 'a3', ANNA, 'revenue', 1_000, 'move', undefined, END],
      [4, 'a4', 'revenue', ANNA, 2_000, 'capture', undefined, END],
      [5, 'a5', 'world', ANNA, 3_000, 'move', undefined, END],
      [6, 'a6', ANNA, 'world', 4_000, 'hold', undefined, END],
      [7, 'a7', 'revenue', 'world', 5_000, 'move', undefined, END],
      [8, 'a8', 'held', 'corrections', 6_000, 'move', undefined, END],
      [9, 'g1', 'revenue', 'customer:gert', 5, 'move', undefined, END],
      [10, 't1', 'revenue', 'treasury:anna', 7_000, 'move', undefined, END],
      [11, 't2', 'treasury:anna', 'corrections', 8_000, 'move', undefined, END],
    ]),
    papers([
      [1, 'anna', JULY, 9],
      [2, 'anna', AUGUST, 1_000],
      [3, 'anna', AUGUST, -100, { kind: 'credit_note', corrects: 2 }],
      [4, 'anna', AUGUST, -1, { kind: 'credit_note', corrects: 2, correction_id: 'c' }],
      [5, 'anna', SEPTEMBER, 11],
      [6, 'bob', AUGUST, 7],
    ]),
    issuedUntil(SEPTEMBER, 'emil'),
  ])
  const said = (await foundIn(sql, wrongDocuments)).filter((one) => one.startsWith('documents'))
  assert.deepEqual(said, [
    'documents of bob for 2026-07-01: 8 sun more was spent by the summaries',
    'documents of bob for 2026-08-01: 1 sun more was spent by the summaries',
    'documents of carl for 2026-08-01: 8 sun more was spent by the summaries',
    'documents of emil for 2026-09-01: 8 sun more was spent by the summaries',
    'documents of gert for 2026-08-01: -5 sun more was spent by the summaries',
  ])
})

const [H0, H1, H2, H3] = [0, 1, 2, 3].map((hour) => `2026-10-08T0${hour}:00:00+00:00`) as [
  string,
  string,
  string,
  string,
]
const [D7, D8] = ['2026-10-07T00:00:00+00:00', '2026-10-08T00:00:00+00:00']

test('a summary has what its entries come to, and what all until then do', async (t) => {
  const sql = await bareTables(t, [
    customers('anna', 'bob', 'carl', 'dora', 'emil', 'fred', 'late', 'none'),
    entryRows([
      [1, 'a1', 'world', ANNA, 1_000, 'move', undefined, H0],
      [2, 'a2', ANNA, 'revenue', 100, 'hold', undefined, H0],
      [3, 'a3', ANNA, 'revenue', 50, 'hold', undefined, '2026-10-08T00:59:59.999Z'],
      [4, 'a4', ANNA, 'revenue', 30, 'move', undefined, H1],
      [5, 'a5', ANNA, 'revenue', 70, 'capture', 'a2', H1],
      [6, 'a6', ANNA, 'revenue', 50, 'release', 'a3', H1],
      [7, 'a7', ANNA, BOB, 5, 'move', undefined, H2],
      [8, 'a8', 'revenue', ANNA, 7_000, 'capture', 'a2', H1],
      [9, 'l1', 'world', 'customer:late', 9, 'move', undefined, H3],
      [11, 'l2', 'world', 'customer:late', 9, 'move', undefined, H2],
      [10, 'n1', 'world', 'customer:none', 9, 'move', undefined, H2],
      [-9, 'g1', 'world', 'customer:gone', 9, 'move', undefined, H0],
      // No account of a customer, whatever comes after its ninth letter.
      [-8, 't1', 'treasury:anna', 'treasury:anna', 9, 'move', undefined, H0],
      ...['carl', 'dora', 'emil', 'fred'].map(
        (id, at) => [-at, id, 'world', `customer:${id}`, 6, 'move', undefined, H0] as const,
      ),
    ]),
    summaries([
      ['anna', 'hour', H0, 0, 1_000, 1_000, 850],
      ['anna', 'hour', H1, 100, 0, 900, 900],
      ['anna', 'hour', H2, 5, 0, 895, 895],
      ['anna', 'day', D8, 105, 1_000, 895, 895],
      ['anna', 'month', D8, 1, 1, 1, 1],
      ['bob', 'hour', H2, 0, 5, 5, 5],
      ['bob', 'day', D8, 0, 5, 5, 5],
      ['carl', 'hour', H0, 1, 6, 6, 6],
      ['dora', 'hour', H0, 0, 7, 6, 6],
      ['emil', 'hour', H0, 0, 6, 5, 6],
      ['fred', 'hour', H0, 0, 6, 6, 5],
      ...['carl', 'dora', 'emil', 'fred'].map((id) => [id, 'day', D8, 0, 6, 6, 6] as const),
      ['fred', 'hour', H1, 0, 0, 6, 6],
      ['gone', 'hour', H1, 1, 1, 1, 1],
    ]),
    summarisedUntil(H3, '2026-10-09T00:00:00Z', 10),
  ])
  const of = (id: string, bucket: string, at: string) =>
    `summary ${id} ${bucket} ${at.replace('T', ' ').replace('+00:00', '+00')}: `
  const RIGHT = 'the entries say 0, 6, 6, 6'
  assert.deepEqual(await foundIn(sql, wrongDocuments), [
    `${of('carl', 'hour', H0)}1 sun spent, 6 deposited, balance 6, spendable 6; ${RIGHT}`,
    `${of('dora', 'hour', H0)}0 sun spent, 7 deposited, balance 6, spendable 6; ${RIGHT}`,
    `${of('emil', 'hour', H0)}0 sun spent, 6 deposited, balance 5, spendable 6; ${RIGHT}`,
    `${of('fred', 'hour', H0)}0 sun spent, 6 deposited, balance 6, spendable 5; ${RIGHT}`,
    `${of('fred', 'hour', H1)}0 sun spent, 0 deposited, balance 6, spendable 6; ` +
      'the entries say , , , ',
    `${of('late', 'day', D8)} sun spent,  deposited, balance , spendable ; ` +
      'the entries say 0, 9, 9, 9',
    `${of('none', 'day', D8)} sun spent,  deposited, balance , spendable ; ` +
      'the entries say 0, 9, 9, 9',
    `${of('none', 'hour', H2)} sun spent,  deposited, balance , spendable ; ` +
      'the entries say 0, 9, 9, 9',
  ])
})

test('a check that goes on adds what came since to the last figures before', async (t) => {
  const OLD = '2026-10-07T23:00:00Z'
  const sql = await bareTables(t, [
    customers('anna', 'bob', 'carl'),
    entryRows([
      [5, 'a0', ANNA, 'revenue', 100, 'hold', undefined, OLD],
      [10, 'a1', ANNA, ANNA, 7_000, 'move', undefined, H0],
      [11, 'a2', 'world', ANNA, 8_000, 'move', undefined, BEFORE],
      [9, 'a6', ANNA, 'revenue', 1_000, 'move', undefined, H0],
      [8, 'a7', ANNA, 'revenue', 1_000, 'move', undefined, BEFORE],
      [17, 'a8', ANNA, 'revenue', 1_000, 'move', undefined, BEFORE],
      [12, 'a3', ANNA, 'revenue', 40, 'capture', 'a0', SINCE],
      [13, 'a4', ANNA, 'revenue', 30, 'hold', undefined, H0],
      [14, 'a5', ANNA, 'revenue', 30, 'release', 'a4', H1],
      [15, 'b1', 'world', BOB, 6, 'move', undefined, H0],
      [16, 'c1', 'world', 'customer:carl', 6, 'move', undefined, H0],
    ]),
    summaries([
      ['anna', 'hour', '2026-10-07T22:00:00Z', 1, 1, 77, 66],
      ['anna', 'hour', OLD, 0, 0, 1_000, 900],
      ['anna', 'hour', H0, 40, 0, 960, 930],
      ['anna', 'hour', H1, 0, 0, 960, 960],
      ['anna', 'day', D7, 0, 0, 2_000, 1_900],
      ['anna', 'day', D8, 40, 0, 1_960, 1_960],
      ['bob', 'hour', H0, 0, 6, 6, 6],
      ['bob', 'day', D8, 0, 6, 6, 6],
      ['carl', 'hour', OLD, 0, 0, 5, 5],
      ['carl', 'hour', H0, 0, 6, 6, 6],
      ['carl', 'day', D8, 0, 6, 6, 6],
    ]),
    summarisedUntil(H3, '2026-10-09T00:00:00Z', 20),
  ])
  assert.deepEqual(await foundIn(sql, wrongDocuments, scopeFrom(20n)), [
    'summary carl hour 2026-10-08 00:00:00+00: 0 sun spent, 6 deposited, balance 6, ' +
      'spendable 6; the entries say 0, 6, 11, 11',
  ])
})
