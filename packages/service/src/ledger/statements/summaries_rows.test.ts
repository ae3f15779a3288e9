// Which hours and days are summarised, when, and from which entries: on a ledger and seals that are
// written by hand.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { type EntryRow, enterAll, orderRow, sealRow } from 'penstock-test/harness/ledger_rows.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { houseSummaries, summariesOf, summarizeStep } from './summaries.ts'

const MINUTE_MS = 60_000
const at = (hour: number, minute = 0) => new Date(Date.UTC(2026, 9, 8, hour, minute))
const before = (time: Date) => new Date(time.getTime() - 1)
const [ANNA, BEA] = ['customer:anna', 'customer:bea']

/** Customers of half past twelve, and the step by a clock that is set. */
async function house(t: TestContext, customers: readonly string[] = ['anna', 'bea']) {
  const { sql } = await freshDatabase(t)
  const clock = { at: at(13), now: () => clock.at }
  for (const id of customers) await sql.begin((tx) => makeCustomer(tx, { id, at: at(12, 30) }))
  const step = summarizeStep({ sql, clock })
  const run = (time: Date) => {
    clock.at = time
    return step.run()
  }
  const due = (time: Date) => {
    clock.at = time
    return isDue(sql, step)
  }
  return { sql, run, due, until: (bucket: string) => untilOf(sql, bucket) }
}

async function untilOf(sql: Sql, bucket: string): Promise<Date | undefined> {
  const [row] = await sql<{ until: Date }>`
    select until from summary_progress where bucket = ${bucket}`
  return row?.until
}

const setProgress = (sql: Sql, bucket: string, until: Date, entry = 0) => sql`
  insert into summary_progress (bucket, until, entry) values (${bucket}, ${until}, ${entry})
  on conflict (bucket) do update set until = excluded.until, entry = excluded.entry`

const deposit = (id: string, time: Date, sun: number, credit = ANNA): EntryRow => ({
  id: `deposit:${id}`,
  at: time,
  sun,
  debit: 'world',
  credit,
})

/** A row with figures that no entries come to, so that it shows whether it was written anew. */
const mark = (sql: Sql, customer_id: string, bucket: string, begins_at: Date) => sql`
  insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
    spent_sun, deposited_sun, balance_sun, spendable_sun)
  values (${customer_id}, ${bucket}, ${begins_at}, 0, 0, 0, 0, 0, 0, 0, 7000, 7000)`

/** `anna hour 08T15 deposited 5, 5`, the last its balance. */
const kept = async (sql: Sql) =>
  (
    await sql<{ text: string }>`
      select format('%s %s %s deposited %s, %s', customer_id, bucket,
        to_char(at at time zone 'UTC', 'DD"T"HH24'), deposited_sun, balance_sun) as text
      from summary order by bucket, customer_id, at`
  ).map(({ text }) => text)

test('an hour is summarised five minutes after its end, from the first customer on', async (t) => {
  const { sql, run, due, until } = await house(t, [])
  assert.equal(await due(at(13)), false)
  assert.equal(await run(at(13)), false)
  assert.equal(await until('hour'), undefined)
  await sql.begin((tx) => makeCustomer(tx, { id: 'anna', at: at(12, 30) }))
  assert.equal(await due(before(at(13, 5))), true)
  assert.equal(await run(before(at(13, 5))), false)
  assert.deepEqual([await until('hour'), await until('day')], [at(12), at(0)])
  assert.equal(await due(before(at(13, 5))), false)
  assert.equal(await due(at(13, 5)), true)
  assert.equal(await run(at(13, 5)), true)
  assert.deepEqual([await until('hour'), await until('day')], [at(13), at(0)])
  assert.equal(await run(at(13, 5)), false)
  await setProgress(sql, 'hour', at(24))
  assert.equal(await run(at(24, 5)), true, 'the day is over')
  assert.deepEqual(await until('day'), at(24))
  assert.equal(await run(at(24, 5)), false)
})

test('an hour waits until each entry of it is sealed, and for no later one', async (t) => {
  const { sql, run, until } = await house(t)
  await setProgress(sql, 'hour', at(13))
  await enterAll(sql, [deposit('1', before(at(14)), 1)])
  assert.equal(await run(at(14, 5)), false)
  assert.deepEqual(await until('hour'), at(13))
  await enterAll(sql, [deposit('2', at(14, 1), 2)])
  await sealRow(sql, { number: 1, first: 1, last: 1, at: at(14, 1) })
  assert.equal(await run(at(14, 5)), true)
  assert.deepEqual(await until('hour'), at(14))
  assert.deepEqual(await kept(sql), ['anna hour 08T13 deposited 1, 1'])
  await sealRow(sql, { number: 2, first: 2, last: 2, at: at(14, 2) })
  await enterAll(sql, [deposit('3', at(14, 3), 4)])
  assert.equal(await run(at(15, 5)), false, 'one more after a seal')
})

test('hours in which nothing was made are passed over, the first moment is not', async (t) => {
  const { sql, run, until } = await house(t)
  await setProgress(sql, 'hour', at(15), 1)
  await enterAll(sql, [
    deposit('1', at(14, 59), 1),
    deposit('2', at(18, 30), 2),
    deposit('3', at(21), 4),
    deposit('4', at(22, 30), 8),
  ])
  await sealRow(sql, { number: 1, first: 1, last: 1, at: at(15, 1) })
  await sealRow(sql, { number: 2, first: 2, last: 2, at: at(18, 31) })
  await run(at(20, 5))
  assert.deepEqual(await until('hour'), at(19))
  assert.deepEqual(await kept(sql), ['anna hour 08T18 deposited 2, 2'])
  await setProgress(sql, 'hour', at(21), 2)
  await sealRow(sql, { number: 3, first: 3, last: 3, at: at(21) })
  await sealRow(sql, { number: 4, first: 4, last: 4, at: at(22, 31) })
  await run(at(23, 5))
  assert.deepEqual(await until('hour'), at(22))
  assert.ok((await kept(sql)).includes('anna hour 08T21 deposited 4, 6'))
})

test('what was sealed late belongs to the hour that it was made in', async (t) => {
  const { sql, run } = await house(t)
  await setProgress(sql, 'hour', at(15))
  await enterAll(sql, [
    deposit('1', at(15, 30), 1),
    deposit('2', at(16, 2), 2),
    deposit('3', at(15, 58), 4),
    deposit('4', at(15, 59), 8),
    deposit('5', at(16, 30), 16),
  ])
  for (const [i, time] of [at(15, 31), at(16, 5), at(16, 20), at(16, 25), at(16, 31)].entries())
    await sealRow(sql, { number: i + 1, first: i + 1, last: i + 1, at: time })
  await run(at(16, 40))
  assert.deepEqual(await kept(sql), ['anna hour 08T15 deposited 13, 13'])
  await run(at(17, 5))
  assert.ok((await kept(sql)).includes('anna hour 08T16 deposited 18, 31'))
})

test('an hour that was sealed only hours later is summarised whole', async (t) => {
  const { sql, run } = await house(t)
  await setProgress(sql, 'hour', at(15), 1)
  await enterAll(sql, [
    deposit('1', at(12, 40), 1),
    deposit('2', at(16, 30), 2),
    deposit('3', at(15, 50), 4),
    deposit('4', at(15, 51), 8, BEA),
  ])
  await sealRow(sql, { number: 1, first: 1, last: 1, at: at(12, 41) })
  await sealRow(sql, { number: 2, first: 2, last: 3, at: at(17) })
  await sealRow(sql, { number: 3, first: 4, last: 4, at: at(17, 30) })
  await run(at(16, 5))
  assert.deepEqual(await kept(sql), [
    'anna hour 08T15 deposited 4, 4',
    'bea hour 08T15 deposited 8, 8',
  ])
})

test('an hour that is sealed late has its summary, also after a seal of no entry', async (t) => {
  const { sql, run } = await house(t)
  await setProgress(sql, 'hour', at(13), 2)
  await enterAll(sql, [deposit('1', at(9), 1)])
  await sealRow(sql, { number: 1, first: 1, last: 1, at: at(9, 1) })
  // A number that was given to an entry and is of none: its transaction was taken back.
  await sql`select nextval('transfer_number_seq')`
  await sql`
    insert into journal (number, first_entry, last_entry, entries, actions, sealed_at, sha256)
    values (2, 2, 2, 0, 0, ${at(9, 2)}, 'no sum')`
  await enterAll(sql, [deposit('2', at(13, 30), 2)])
  await sealRow(sql, { number: 3, first: 3, last: 3, at: at(14, 30) })
  assert.equal(await run(at(14, 30)), true)
  assert.deepEqual(await kept(sql), ['anna hour 08T13 deposited 2, 2'])
})

test('an entry of a time that is summarised makes its account alone be written anew', async (t) => {
  const { sql, run, due } = await house(t)
  await enterAll(sql, [
    deposit('1', at(15, 10), 1, BEA),
    deposit('2', at(15, 20), 2),
    deposit('3', at(14, 10), 4),
    deposit('4', at(14, 20), 8, BEA),
  ])
  await mark(sql, 'anna', 'hour', at(13))
  for (const hour of [14, 15])
    for (const id of ['anna', 'bea']) await mark(sql, id, 'hour', at(hour))
  await mark(sql, 'anna', 'day', at(0))
  await setProgress(sql, 'hour', at(16), 1)
  await setProgress(sql, 'day', at(0), 3)
  await sealRow(sql, { number: 1, first: 1, last: 1, at: at(15, 11) })
  assert.equal(await due(at(16, 5)), true, 'a day that has looked further than there are seals')
  await setProgress(sql, 'day', at(0), 1)
  assert.equal(await due(at(16, 5)), false)
  await run(at(16, 5))
  const bea = ['bea hour 08T14 deposited 0, 7000', 'bea hour 08T15 deposited 0, 7000']
  assert.deepEqual((await kept(sql)).slice(-2), bea)
  await sealRow(sql, { number: 2, first: 2, last: 3, at: at(15, 21) })
  assert.equal(await due(at(16, 5)), true)
  assert.equal(await run(at(16, 5)), false)
  assert.deepEqual(await kept(sql), [
    'anna day 08T00 deposited 0, 7000',
    'anna hour 08T13 deposited 0, 7000',
    'anna hour 08T14 deposited 4, 7004',
    'anna hour 08T15 deposited 2, 7006',
    ...bea,
  ])
  assert.equal(await due(at(16, 5)), false)
})

test('a late entry of a day that is over is taken up by its hour and by its day', async (t) => {
  const { sql, run } = await house(t)
  await enterAll(sql, [deposit('1', at(15, 10), 1), deposit('2', at(14, 10), 2)])
  await sealRow(sql, { number: 1, first: 1, last: 2, at: at(15, 11) })
  for (const bucket of ['hour', 'day']) await setProgress(sql, bucket, at(24))
  await mark(sql, 'anna', 'hour', at(10))
  assert.equal(await run(at(24, 5)), false)
  assert.deepEqual(await kept(sql), [
    'anna day 08T00 deposited 3, 3',
    'anna hour 08T10 deposited 0, 7000',
    'anna hour 08T14 deposited 2, 7002',
    'anna hour 08T15 deposited 1, 7003',
  ])
})

/** Of three in the afternoon, but for the first and the last. */
const AFTERNOON: EntryRow[] = [
  { id: 'order:old', at: new Date(0), sun: 600, kind: 'hold' },
  deposit('0', before(at(15)), 100_000),
  deposit('1', at(15), 2_000),
  { id: 'order:o1', at: at(15, 1), sun: 300, kind: 'hold' },
  { id: 'order:o2', at: at(15, 2), sun: 70, kind: 'hold' },
  { id: 'order:o1/capture', at: at(15, 3), sun: 250, kind: 'capture', of: 'order:o1' },
  { id: 'order:o2/release', at: at(15, 4), sun: 70, kind: 'release', of: 'order:o2' },
  { id: 'quote:o2', at: at(15, 5), sun: 11, kind: 'hold' },
  { id: 'quote:o2/capture', at: at(15, 6), sun: 11, kind: 'capture', of: 'quote:o2' },
  { id: 'aml:1', at: at(15, 7), sun: 5, kind: 'hold' },
  { id: 'aml:1/release', at: at(15, 8), sun: 5, kind: 'release', of: 'aml:1' },
  { id: 'order:old/capture', at: at(15, 9), sun: 600, kind: 'capture', of: 'order:old' },
  { id: 'order:o3', at: at(15, 10), sun: 40, kind: 'hold' },
  { id: 'gift', at: at(15, 11), sun: 29, kind: 'hold', debit: BEA, credit: ANNA },
  {
    id: 'gift/capture',
    at: at(15, 12),
    sun: 27,
    kind: 'capture',
    of: 'gift',
    debit: BEA,
    credit: ANNA,
  },
  { id: 'give', at: at(15, 13), sun: 17, credit: BEA },
  { id: 'correction:1', at: at(15, 14), sun: 3, credit: 'corrections' },
  { id: 'found', at: at(15, 15), sun: 9, debit: 'held_deposits', credit: 'written_off' },
  { id: 'aml:2', at: at(16), sun: 1 },
]

async function afternoon(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await enterAll(sql, AFTERNOON)
  for (const [id, energy] of [
    ['o1', 1],
    ['o2', 20],
    ['o3', 300],
    ['old', 4_000],
  ] as const)
    await orderRow(sql, { id, energy })
  return sql
}

const AFTERNOON_OF_ANNA = {
  orders: 3,
  succeeded: 2,
  failed: 1,
  energy: 4_001n,
  bandwidth: 0n,
  spent_sun: 881n,
  deposited_sun: 2_000n,
}

test('an hour adds up each entry of it, by what it was for', async (t) => {
  const sql = await afternoon(t)
  await setProgress(sql, 'hour', at(15))
  await setProgress(sql, 'day', at(0))
  await mark(sql, 'anna', 'hour', at(14))
  const hours = (customer_id: string, until: Date) =>
    summariesOf(sql, { customer_id, bucket: 'hour', since: at(15), until })
  const [anna, ...more] = await hours('anna', at(16))
  assert.deepEqual(anna, {
    customer_id: 'anna',
    at: at(15),
    ...AFTERNOON_OF_ANNA,
    p50_ms: 2 * MINUTE_MS,
    p95_ms: 2 ** 31 - 1,
    balance_sun: 7_000n + 1_119n,
    spendable_sun: 7_000n + 1_119n + 600n - 40n,
  })
  assert.deepEqual(more, [])
  const [bea] = await hours('bea', at(16))
  assert.deepEqual([bea?.deposited_sun, bea?.spent_sun, bea?.orders], [17n, 27n, 0])
  const [, next] = await hours('anna', at(17))
  assert.deepEqual([next?.spent_sun, next?.deposited_sun], [1n, 0n])
})

test('hours of all customers add up those of each, and nothing of the house', async (t) => {
  const sql = await afternoon(t)
  await setProgress(sql, 'hour', at(15))
  const found = (until: Date) => houseSummaries(sql, { bucket: 'hour', since: at(12), until })
  const whole = { ...AFTERNOON_OF_ANNA, orders: 3, spent_sun: 908n, deposited_sun: 2_017n }
  assert.deepEqual(await found(at(16)), [{ at: at(15), ...whole }])
  assert.equal((await found(at(17))).length, 2)
  await sealRow(sql, { number: 1, first: 1, last: 2, at: before(at(14, 55)) })
  await sealRow(sql, { number: 2, first: 3, last: 4, at: at(14, 55) })
  assert.deepEqual(await found(at(16)), [{ at: at(15), ...whole }], 'a seal of just before')
  await sealRow(sql, { number: 3, first: 5, last: 19, at: at(16, 1) })
  assert.deepEqual(await found(at(16)), [{ at: at(15), ...whole }])
})

test('an hour keeps of all customers what it adds up to, and a row of nobody else', async (t) => {
  const sql = await afternoon(t)
  const clock = { now: () => at(16, 5) }
  for (const id of ['anna', 'bea'])
    await sql.begin((tx) => makeCustomer(tx, { id, at: at(12, 30) }))
  await setProgress(sql, 'hour', at(15), 19)
  await sealRow(sql, { number: 1, first: 1, last: 19, at: at(16, 1) })
  assert.equal(await summarizeStep({ sql, clock }).run(), true)
  const rows = await sql`
    select customer_id, at, orders, succeeded, failed, energy, bandwidth, spent_sun, deposited_sun,
      p50_ms, p95_ms from summary where bucket = 'hour' order by customer_id`
  assert.deepEqual(rows, [
    { customer_id: 'anna', at: at(15), ...AFTERNOON_OF_ANNA, p50_ms: 120_000, p95_ms: 2 ** 31 - 1 },
    {
      customer_id: 'bea',
      at: at(15),
      orders: 0,
      succeeded: 0,
      failed: 0,
      energy: 0n,
      bandwidth: 0n,
      spent_sun: 27n,
      deposited_sun: 17n,
      p50_ms: null,
      p95_ms: null,
    },
  ])
})

test('an hour that is summarised while its sums are read counts once', async (t) => {
  const { sql, run } = await house(t)
  await setProgress(sql, 'hour', at(13))
  await enterAll(sql, [deposit('1', at(13, 30), 5)])
  await sealRow(sql, { number: 1, first: 1, last: 1, at: at(13, 31) })
  let asked = 0
  const racing = Object.assign(async (...of: Parameters<Sql>) => {
    if (++asked === 2) await run(at(14, 5))
    return sql(...of)
  }, sql) as Sql
  const found = await houseSummaries(racing, { bucket: 'hour', since: at(12), until: at(15) })
  assert.deepEqual(
    found.map(({ at, deposited_sun }) => [at, deposited_sun]),
    [[at(13), 5n]],
  )
  assert.deepEqual(await kept(sql), ['anna hour 08T13 deposited 5, 5'])
})
