// What is read of a ledger that is written by hand: a customer's entries, the figures before them,
// a statement of them, and what was earned by them.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { type EntryRow, enterAll, orderRow } from 'penstock-test/harness/ledger_rows.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { earningsOf } from './earnings.ts'
import { figuresBefore, linesOfHold, listLines, purposeOf } from './entries.ts'
import { statementCsv, statementOf } from './statements.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 15, minute))
const ANNA = 'customer:anna'
const BEA = 'customer:bea'

/** Of most kinds that there are, each of an amount of its own. The first is of minute 0. */
const ENTRIES: EntryRow[] = [
  { id: 'deposit:tx/0', at: at(0), sun: 1_000, debit: 'world', credit: ANNA },
  { id: 'order:o1', at: at(1), sun: 30, kind: 'hold' },
  { id: 'order:o2', at: at(1), sun: 7, kind: 'hold' },
  { id: 'order:o1/capture', at: at(2), sun: 25, kind: 'capture', of: 'order:o1' },
  { id: 'order:o2/release', at: at(3), sun: 7, kind: 'release', of: 'order:o2' },
  { id: 'subscription:s1/2', at: at(4), sun: 11, kind: 'hold' },
  { id: 'correction:c/1', at: at(5), sun: 4, credit: 'corrections' },
  { id: 'order:bea', at: at(6), sun: 13, kind: 'hold' },
  { id: 'quote:o1', at: at(7), sun: 17, kind: 'hold' },
  { id: 'transactions:s1', at: at(8), sun: 19, kind: 'hold' },
  { id: 'subscription:bea', at: at(9), sun: 23, kind: 'hold' },
  { id: 'gift', at: at(10), sun: 29, kind: 'hold', debit: BEA, credit: ANNA },
  {
    id: 'gift/capture',
    at: at(11),
    sun: 27,
    kind: 'capture',
    of: 'gift',
    debit: BEA,
    credit: ANNA,
  },
  { id: 'deposit:bea/0', at: at(12), sun: 500, debit: 'world', credit: BEA },
  { id: 'order:o3', at: at(13), sun: 31, kind: 'hold', debit: BEA },
]

async function subscription(sql: Sql, id: string, customer_id: string): Promise<void> {
  await sql`
    insert into subscription (id, customer_id, external_id, plan_id, address, duration,
      transactions_limit, activate_address, total_sun, look_at, created_at, idle_since)
    select ${id}, ${customer_id}, ${`external ${id}`}, min(id), ${id}, 0, 0, false, 0, now(), now(),
      now() from plan`
}

async function written(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await enterAll(sql, ENTRIES)
  for (const id of ['o1', 'o2']) await orderRow(sql, { id })
  for (const id of ['bea', 'o3']) await orderRow(sql, { id, of: 'bea' })
  await sql`
    insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
      transactions_limit, duration_days, energy_per_transaction, idle_hours, changed_by)
    values ('plan', 'plan', 0, 100, 1, 0, 0, 0, 1000, 1, 'olga')`
  await subscription(sql, 's1', 'anna')
  await subscription(sql, 's2', 'anna')
  await subscription(sql, 'bea', 'bea')
  return sql
}

/** `2 order:o1/capture -25 held -30 for order:o1 of external o1, energy` */
const printed = (lines: Awaited<ReturnType<typeof listLines>>) =>
  lines.map(
    (one) =>
      `${one.made_at.getUTCMinutes()} ${one.id} ${one.amount_sun} held ${one.held_sun} ` +
      `for ${one.cause} of ${one.external_id}, ${one.service}`,
  )

test("each entry of a customer says what it moved and held, and its own order's", async (t) => {
  const sql = await written(t)
  assert.deepEqual(printed(await listLines(sql, { customer_id: 'anna', limit: 99 })), [
    '11 gift/capture 27 held 0 for gift of null, null',
    '10 gift 0 held 0 for gift of null, null',
    '9 subscription:bea 0 held 23 for subscription:bea of null, null',
    '8 transactions:s1 0 held 19 for transactions:s1 of null, null',
    '7 quote:o1 0 held 17 for quote:o1 of null, null',
    '6 order:bea 0 held 13 for order:bea of null, null',
    '5 correction:c/1 -4 held 0 for correction:c/1 of null, null',
    '4 subscription:s1/2 0 held 11 for subscription:s1/2 of external s1, null',
    '3 order:o2/release 0 held -7 for order:o2 of external o2, energy',
    '2 order:o1/capture -25 held -30 for order:o1 of external o1, energy',
    '1 order:o2 0 held 7 for order:o2 of external o2, energy',
    '1 order:o1 0 held 30 for order:o1 of external o1, energy',
    '0 deposit:tx/0 1000 held 0 for deposit:tx/0 of null, null',
  ])
})

test('a period begins with its first moment, a page just before its place', async (t) => {
  const sql = await written(t)
  type Filter = Partial<Parameters<typeof listLines>[1]>
  const rows: [wanted: Filter, ids: string[]][] = [
    [{ since: at(1), until: at(2) }, ['order:o2', 'order:o1']],
    [{ since: at(10) }, ['gift/capture', 'gift']],
    [{ since: at(11) }, ['gift/capture']],
    [{ since: at(12) }, []],
    [{ until: at(0) }, []],
    [{ until: at(1) }, ['deposit:tx/0']],
    [{ before: { made_at: at(1), id: 'order:o2' } }, ['order:o1', 'deposit:tx/0']],
    [{ before: { made_at: at(1), id: 'order:o1' } }, ['deposit:tx/0']],
    [{ before: { made_at: at(0), id: 'deposit:tx/0' } }, []],
    [{ before: { made_at: at(0), id: 'deposit:tx/1' } }, ['deposit:tx/0']],
    [{ since: at(4), limit: 3 }, ['gift/capture', 'gift', 'subscription:bea']],
    [{ customer_id: 'bea', until: at(11) }, ['gift']],
    [{ customer_id: 'bea', since: at(12) }, ['order:o3', 'deposit:bea/0']],
  ]
  for (const [wanted, ids] of rows) {
    const found = await listLines(sql, { customer_id: 'anna', limit: 99, ...wanted })
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
      JSON.stringify(wanted),
    )
  }
})

test('a hold comes with what became of it, for whom it is', async (t) => {
  const sql = await written(t)
  const of = async (customer_id: string, hold_id: string) =>
    (await linesOfHold(sql, { customer_id, hold_id })).map(({ id }) => id)
  assert.deepEqual(await of('anna', 'order:o1'), ['order:o1/capture', 'order:o1'])
  assert.deepEqual(await of('anna', 'subscription:s1/2'), ['subscription:s1/2'])
  assert.deepEqual(await of('bea', 'order:o1'), [])
  assert.deepEqual(await of('bea', 'gift'), ['gift/capture', 'gift'])
})

test('what an entry was for is its kind, and its id up to a part of it', () => {
  const rows: [cause: string, what: string, id: string][] = [
    ['order:o1', 'order', 'o1'],
    ['deposit:tx/0', 'deposit', 'tx'],
    ['resolution:tx/0', 'deposit', 'tx'],
    ['correction:c/1', 'correction', 'c/1'],
    ['aml:7', 'aml', '7'],
  ]
  for (const [cause, what, id] of rows) assert.deepEqual(purposeOf(cause), { what, id }, cause)
})

/** The last hour that is summarised ends at minute 8 of these entries; figures are no sums. */
async function summaries(sql: Sql): Promise<void> {
  const rows: [customer_id: string, bucket: string, begins_at: Date, sun: number][] = [
    ['anna', 'hour', new Date(at(7).getTime() - 3_600_000), 50_000],
    ['anna', 'hour', new Date(at(8).getTime() - 3_600_000), 90_000],
    ['anna', 'day', new Date(at(9).getTime() - 3_600_000), 70_000],
    ['bea', 'hour', new Date(at(10).getTime() - 3_600_000), 20_000],
  ]
  for (const [customer_id, bucket, begins_at, sun] of rows)
    await sql`
      insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
        spent_sun, deposited_sun, balance_sun, spendable_sun)
      values (${customer_id}, ${bucket}, ${begins_at}, 0, 0, 0, 0, 0, 0, 0, ${sun}, ${sun - 1_000})`
}

test('figures before a place are of each entry before it, and of no other', async (t) => {
  const sql = await written(t)
  const figures = async (customer_id: string, minute?: number, id = '') => {
    const place = minute === undefined ? undefined : { made_at: at(minute), id }
    const { balance_sun, spendable_sun } = await figuresBefore(sql, {
      customer_id,
      ...(place && { place }),
    })
    return [balance_sun, spendable_sun]
  }
  assert.deepEqual(await figures('anna', 0), [0n, 0n])
  assert.deepEqual(await figures('anna', 0, 'deposit:tx/0'), [0n, 0n])
  assert.deepEqual(await figures('anna', 0, 'deposit:tx/1'), [1_000n, 1_000n])
  assert.deepEqual(await figures('anna', 1, 'order:o2'), [1_000n, 970n])
  assert.deepEqual(await figures('anna', 1, 'order:o3'), [1_000n, 963n])
  assert.deepEqual(await figures('anna', 3), [975n, 968n])
  assert.deepEqual(await figures('anna', 4), [975n, 975n])
  assert.deepEqual(await figures('anna'), [998n, 915n])
  assert.deepEqual(await figures('bea'), [473n, 442n])
  await summaries(sql)
  assert.deepEqual(await figures('anna', 7), [50_000n, 49_000n])
  assert.deepEqual(await figures('anna', 8), [90_000n, 89_000n])
  assert.deepEqual(await figures('anna', 8, 'transactions:s2'), [90_000n, 88_981n])
  assert.deepEqual(await figures('anna', 9), [90_000n, 88_981n])
  assert.deepEqual(await figures('anna'), [90_027n, 88_985n])
  assert.deepEqual(await figures('bea', 10), [20_000n, 19_000n])
})

test('what comes in at the very end of a summarised hour counts after it', async (t) => {
  const { sql } = await freshDatabase(t)
  await summaries(sql)
  await enterAll(sql, [{ id: 'deposit:1', at: at(8), sun: 5, debit: 'world', credit: ANNA }])
  const { balance_sun } = await figuresBefore(sql, { customer_id: 'anna' })
  assert.equal(balance_sun, 90_005n)
})

test('a statement opens with the figures before its first moment, and with none', async (t) => {
  const sql = await written(t)
  const statement = async (since?: Date, until?: Date) =>
    statementOf(sql, { customer_id: 'anna', since, until })
  const whole = await statement()
  assert.deepEqual(whole.opening, { balance_sun: 0n, spendable_sun: 0n })
  assert.deepEqual(whole.closing, { balance_sun: 998n, spendable_sun: 915n })
  assert.equal(whole.lines.length, 13)
  const part = await statement(at(3), at(5))
  assert.deepEqual(part.opening, { balance_sun: 975n, spendable_sun: 968n })
  assert.deepEqual(
    part.lines.map(({ service, spendable_sun }) => [service, spendable_sun]),
    [
      ['energy', 975n],
      ['subscription', 964n],
    ],
  )
  const nothing = await statement(at(20))
  assert.deepEqual(nothing.closing, { balance_sun: 998n, spendable_sun: 915n })
})

test('a file of a statement quotes what needs it, and leaves no formula', async (t) => {
  const sql = await written(t)
  await sql`update orders set external_id = '=1+1' where id = 'o1'`
  await sql`update orders set external_id = 'a "b", c' where id = 'o2'`
  const rows = statementCsv(
    await statementOf(sql, { customer_id: 'anna', since: at(2), until: at(4) }),
  ).split('\r\n')
  assert.deepEqual(rows.slice(1), [
    '2026-10-08T15:02:00Z,,opening,,,,,0.001,0.000963',
    "2026-10-08T15:02:00Z,order:o1/capture,capture,energy,'=1+1," +
      '-0.000025,-0.00003,0.000975,0.000968',
    '2026-10-08T15:03:00Z,order:o2/release,release,energy,"a ""b"", c",' +
      '0,-0.000007,0.000975,0.000975',
    '2026-10-08T15:04:00Z,,closing,,,,,0.000975,0.000975',
    '',
  ])
})

test('earnings are of what was charged in the days, by service, less what went back', async (t) => {
  const { sql } = await freshDatabase(t)
  await orderRow(sql, { id: 'o1' })
  await orderRow(sql, { id: 'o2' })
  const day = (n: number, minute = 0) => new Date(Date.UTC(2026, 9, n, 0, minute))
  const back = { debit: 'revenue', credit: ANNA }
  await enterAll(sql, [
    { id: 'aml:0', at: new Date(day(8).getTime() - 1), sun: 1 },
    { id: 'aml:1', at: day(8), sun: 2 },
    { id: 'order:o1', at: day(8), sun: 2_000, kind: 'hold' },
    { id: 'order:o1/capture', at: day(8, 1), sun: 900, kind: 'capture', of: 'order:o1' },
    { id: 'order:o2', at: day(8), sun: 3_000, kind: 'hold' },
    { id: 'order:o2/release', at: day(8, 1), sun: 3_000, kind: 'release', of: 'order:o2' },
    { id: 'quote:o1', at: day(8, 2), sun: 30 },
    { id: 'aml:2/back', at: day(8), sun: 1, ...back },
    { id: 'aml:3/back', at: new Date(day(8).getTime() - 1), sun: 500, ...back },
    { id: 'held', at: day(8), sun: 5_000, kind: 'hold', ...back },
    { id: 'correction:1', at: day(8), sun: 7_000, credit: 'corrections' },
    { id: 'deposit:1', at: day(8), sun: 8_000, debit: 'world', credit: ANNA },
    { id: 'aml:4', at: new Date(day(10).getTime() - 1), sun: 40 },
    { id: 'aml:5', at: day(10), sun: 60 },
    { id: 'aml:6/back', at: day(10), sun: 6, ...back },
  ])
  const found = await earningsOf(sql, { since: day(8), until: day(10) })
  assert.deepEqual(
    found.map((one) => `${one.day} ${one.service} ${one.charges} ${one.earned_sun}`),
    [
      '2026-10-09 aml 1 40',
      '2026-10-08 energy 1 900',
      '2026-10-08 quote 1 30',
      '2026-10-08 aml 1 1',
    ],
  )
})
