// Which entries of a ledger written by hand are charges of a month, and which documents of it are
// wrong: rows that are just inside and just outside of what each question asks for.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { addCustomer } from 'penstock-test/harness/collecting_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { type EntryRow, enterAll, orderRow } from 'penstock-test/harness/ledger_rows.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { chargesOf } from './charges.ts'
import { listInvoices } from './invoices.ts'
import { monthsToCompare, reissue, wrongMonth } from './reissue.ts'

const BEA = 'customer:bea'
const OCTOBER = { customer_id: 'anna', month: '2026-10-01', next_month: '2026-11-01' }
/** Of the days of October, those before and after it too. */
const at = (day: number, hour = 0) => new Date(Date.UTC(2026, 9, day, hour))
const before = (time: Date) => new Date(time.getTime() - 1)
const BEGIN = at(1)
const END = at(32)

async function database(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const [i, id] of ['anna', 'bea'].entries()) await addCustomer(sql, id, i)
  return sql
}

type DocumentRow = {
  number: number
  month: string
  sun: number
  of?: string
  kind?: string
  corrects?: number
  correction_id?: string
}

async function issued(sql: Sql, documents: readonly DocumentRow[]): Promise<void> {
  for (const { number, month, sun, of = 'anna', kind = 'invoice', ...more } of documents) {
    const text = JSON.stringify({ issuer: 'The house', lines: [] })
    await sql`
      insert into invoice (number, customer_id, month, kind, corrects, correction_id, issued_at,
        total_sun, document, sha256)
      values (${number}, ${of}, ${`${month}-01`}::date, ${kind}, ${more.corrects ?? null},
        ${more.correction_id ?? null}, now(), ${sun}, ${text},
        encode(sha256(convert_to(${text}, 'UTF8')), 'hex'))`
  }
}

const back = (id: string, time: Date, sun: number, credit = 'customer:anna'): EntryRow => ({
  id: `subscription:${id}`,
  at: time,
  sun,
  debit: 'revenue',
  credit,
})

/** By the invoice that they correct: `aml aml 2 at 10 = 20`. */
async function charged(sql: Sql) {
  const charges = await chargesOf(sql, OCTOBER)
  return [...charges].map(([corrects, lines]) => [
    corrects,
    lines.map((one) => `${one.unit} ${one.count} at ${one.unit_sun} = ${one.total_sun}`),
  ])
}

test('a charge of a month is what a customer has paid for in it, and nothing else', async (t) => {
  const sql = await database(t)
  await enterAll(sql, [
    { id: 'aml:before', at: before(BEGIN), sun: 4_000 },
    { id: 'aml:first', at: BEGIN, sun: 1 },
    { id: 'aml:last', at: before(END), sun: 20 },
    { id: 'aml:after', at: END, sun: 300 },
    { id: 'aml:held', at: at(5), sun: 50_000, kind: 'hold' },
    { id: 'aml:held/release', at: at(5), sun: 50_000, kind: 'release', of: 'aml:held' },
    { id: 'correction:1', at: at(5), sun: 600_000, credit: 'corrections' },
    { id: 'aml:bea', at: at(5), sun: 7_000_000, debit: BEA },
  ])
  assert.deepEqual(await charged(sql), [[null, ['aml 1 at 1 = 1', 'aml 1 at 20 = 20']]])
})

test('what came back in a month corrects the invoice of its charge', async (t) => {
  const sql = await database(t)
  await issued(sql, [
    { number: 1, month: '2026-09', sun: 9 },
    { number: 2, month: '2026-09', sun: -1, kind: 'credit_note', corrects: 1 },
    { number: 3, month: '2026-09', sun: 9, of: 'bea' },
    { number: 4, month: '2026-08', sun: 9 },
    { number: 5, month: '2026-10', sun: 9 },
  ])
  await enterAll(sql, [
    { id: 'subscription:s/sep/1', at: at(-5), sun: 1_000 },
    { id: 'subscription:s/aug/1', at: at(-40), sun: 1_000 },
    { id: 'subscription:s/oct/1', at: at(9), sun: 1_000 },
    back('s/sep/1/early', before(BEGIN), 100_000),
    back('s/sep/1/back', BEGIN, 7),
    back('s/aug/1/back', before(END), 50),
    back('s/oct/1/back', at(10), 300),
    back('s/sep/1/late', END, 200_000),
    back('b/sep/1/back', at(10), 400_000, BEA),
    {
      id: 'odd',
      at: at(10),
      sun: 500_000,
      kind: 'hold',
      debit: 'revenue',
      credit: 'customer:anna',
    },
    { id: 'given', at: at(10), sun: 600_000, debit: 'corrections', credit: 'customer:anna' },
  ])
  assert.deepEqual(await charged(sql), [
    [null, ['subscription -1 at 300 = -300', 'subscription 1 at 1000 = 1000']],
    [1n, ['subscription -1 at 7 = -7']],
    [4n, ['subscription -1 at 50 = -50']],
  ])
})

/** A subscription of a plan that costs so much for a transaction. */
async function subscription(sql: Sql, id: string, price_sun: number): Promise<void> {
  await sql`
    insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
      transactions_limit, duration_days, energy_per_transaction, idle_hours, changed_by)
    values (${`plan ${price_sun}`}, 'plan', 0, 100, ${price_sun}, 0, 0, 0, 1000, 1, 'olga')`
  await sql`
    insert into subscription (id, customer_id, plan_id, address, duration, transactions_limit,
      activate_address, total_sun, look_at, created_at, idle_since)
    select ${id}, 'anna', max(id), ${id}, 0, 0, false, 0, now(), now(), now() from plan`
}

test('what a subscription used is counted at the price of its plan, where it fits', async (t) => {
  const sql = await database(t)
  await subscription(sql, 's10', 10)
  await subscription(sql, 's1', 1)
  await subscription(sql, 's0', 0)
  await orderRow(sql, { id: 'o1' })
  await orderRow(sql, { id: 'o2', energy: 1 })
  await enterAll(sql, [
    { id: 'subscription:s10/a/1', at: at(5), sun: 30 },
    { id: 'subscription:s10/b/1', at: at(5), sun: 25 },
    { id: 'subscription:s10', at: at(5), sun: 40, kind: 'hold' },
    { id: 'subscription:s10/capture', at: at(5), sun: 40, kind: 'capture', of: 'subscription:s10' },
    { id: 'subscription:s1/a/1', at: at(5), sun: 7 },
    { id: 'subscription:s0/a/1', at: at(5), sun: 8 },
    { id: 'transactions:s10/a/1', at: at(5), sun: 60 },
    { id: 'quote:o1', at: at(5), sun: 70 },
    { id: 'order:o1', at: at(5), sun: 80, kind: 'hold' },
    { id: 'order:o1/capture', at: at(5), sun: 80, kind: 'capture', of: 'order:o1' },
  ])
  const [[, lines]] = (await charged(sql)) as [[null, string[]]]
  assert.deepEqual(lines, [
    'energy 65000 1 at 80 = 80',
    'quote 1 at 70 = 70',
    'plan 0, transaction 1 at 8 = 8',
    'plan 1, transaction 7 at 1 = 7',
    'plan 10, start 1 at 40 = 40',
    'plan 10, transaction 3 at 10 = 30',
    'plan 10, transaction 1 at 25 = 25',
    'transactions 1 at 60 = 60',
  ])
})

test('months are compared from the first with an invoice to the last that has them', async (t) => {
  const sql = await database(t)
  await issued(sql, [
    { number: 1, month: '2026-09', sun: 9 },
    { number: 2, month: '2026-10', sun: 9 },
  ])
  await sql`insert into invoice_progress (month, customer_id) values ('2026-11-01', 'anna')`
  await enterAll(sql, [
    { id: 'aml:aug', at: before(at(-29)), sun: 1 },
    { id: 'aml:sep', at: at(-29), sun: 1 },
    { id: 'aml:bea oct', at: at(3), sun: 1, debit: BEA },
    { id: 'aml:bea nov', at: at(33), sun: 1, debit: BEA },
    { id: 'aml:nov', at: at(33), sun: 1 },
    { id: 'aml:dec', at: at(65), sun: 1 },
    back('b/a/1/back', at(-20), 1, BEA),
    { id: 'aml:held', at: at(5), sun: 5, kind: 'hold' },
    { id: 'odd', at: at(5), sun: 5, kind: 'hold', debit: 'revenue', credit: 'customer:anna' },
    { id: 'deposit:1', at: at(5), sun: 5, debit: 'world', credit: 'customer:anna' },
    { id: 'correction:1', at: at(5), sun: 5, credit: 'corrections' },
  ])
  const months = async (wanted: Parameters<typeof monthsToCompare>[1]) =>
    (await monthsToCompare(sql, wanted)).map(({ customer_id, month }) => `${month} ${customer_id}`)
  assert.deepEqual(await months({}), [
    '2026-09-01 anna',
    '2026-09-01 bea',
    '2026-10-01 bea',
    '2026-11-01 anna',
  ])
  assert.deepEqual(await months({ customer_id: 'bea' }), ['2026-09-01 bea', '2026-10-01 bea'])
  assert.deepEqual(await months({ month: '2026-11' }), ['2026-11-01 anna'])
  assert.deepEqual(await months({ month: '2026-10', customer_id: 'anna' }), [])
})

test('credit notes of a month say what came back of earlier ones', async (t) => {
  const sql = await database(t)
  await issued(sql, [
    { number: 1, month: '2026-09', sun: 9 },
    { number: 2, month: '2026-09', sun: 9, of: 'bea' },
    { number: 3, month: '2026-10', sun: 400 },
    { number: 4, month: '2026-10', sun: -7, kind: 'credit_note', corrects: 1 },
    { number: 5, month: '2026-10', sun: -100, kind: 'credit_note', corrects: 2, of: 'bea' },
    { number: 6, month: '2026-11', sun: -200, kind: 'credit_note', corrects: 1 },
    { number: 7, month: '2026-10', sun: -400, kind: 'credit_note', corrects: 3 },
    {
      number: 8,
      month: '2026-10',
      sun: -800,
      kind: 'credit_note',
      corrects: 1,
      correction_id: 'c',
    },
    { number: 9, month: '2026-10', sun: 40, corrects: 3 },
  ])
  await enterAll(sql, [
    { id: 'subscription:s/sep/1', at: at(-5), sun: 1_000 },
    { id: 'aml:1', at: at(5), sun: 40 },
    back('s/sep/1/back', at(6), 7),
  ])
  assert.equal(await wrongMonth(sql, OCTOBER), undefined)
  await enterAll(sql, [back('s/sep/1/more', at(7), 1)])
  const wrong = await wrongMonth(sql, OCTOBER)
  assert.deepEqual([wrong?.number, wrong?.invoiced_sun, wrong?.charged_sun], [9n, 40n, 40n])
  assert.deepEqual([wrong?.credited_sun, wrong?.returned_sun], [-7n, -8n])
  const again = await sql.begin((tx) => reissue(tx, OCTOBER, at(40)))
  assert.deepEqual(again, [], 'a note that is there is left to people')
})

test('a month that lacks its documents gets them, and no other', async (t) => {
  const sql = await database(t)
  await issued(sql, [{ number: 1, month: '2026-09', sun: 9 }])
  await sql`insert into invoice_progress (month, customer_id) values ('2026-11-01', '')`
  await enterAll(sql, [
    { id: 'subscription:s/sep/1', at: at(-5), sun: 1_000 },
    back('s/sep/1/back', at(6), 7),
  ])
  const again = async () => {
    const made = await sql.begin((tx) => reissue(tx, OCTOBER, at(40)))
    return made.map((one) => `${one.number} ${one.kind} ${one.corrects} ${one.total_sun}`)
  }
  assert.deepEqual(await again(), ['2 credit_note 1 -7'])
  assert.deepEqual(await again(), [])
  await enterAll(sql, [{ id: 'aml:1', at: at(5), sun: 40 }])
  assert.deepEqual(await again(), ['3 invoice null 40'])
  const of = async (wanted: { customer_id?: string; month?: string; before?: bigint }) => {
    const found = await listInvoices(sql, { limit: 9, before: undefined, ...wanted })
    return found.map(({ number }) => Number(number))
  }
  assert.deepEqual(await of({}), [3, 2, 1])
  assert.deepEqual(await of({ before: 3n }), [2, 1])
  assert.deepEqual(await of({ month: '2026-10' }), [3, 2])
  assert.deepEqual(await of({ customer_id: 'bea' }), [])
})
