import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { activityOf, houseSummaries, summariesOf } from './summaries.ts'

const at = (day: number, hour = 0) => new Date(Date.UTC(2026, 9, day, hour))

type SummaryRow = [customer_id: string, bucket: 'hour' | 'day', at: Date, orders: number]

/** Days are summarised until the 8th, hours until its third. Each number is of one row alone. */
async function summarized(sql: Sql): Promise<void> {
  const rows: SummaryRow[] = [
    ['anna', 'day', at(6), 1],
    ['anna', 'day', at(7), 2],
    ['bea', 'day', at(7), 4],
    ['anna', 'hour', at(6, 23), 8],
    ['anna', 'hour', at(7, 1), 16],
    ['anna', 'hour', at(8), 32],
    ['anna', 'hour', at(8, 1), 64],
    ['bea', 'hour', at(8, 2), 128],
  ]
  for (const [customer_id, bucket, begins_at, n] of rows)
    await sql`
      insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
        spent_sun, deposited_sun, balance_sun, spendable_sun)
      values (${customer_id}, ${bucket}, ${begins_at}, ${n}, ${n + 1}, ${n + 2}, ${n + 3},
        ${n + 4}, ${n + 5}, ${n + 6}, ${n + 7}, ${n + 8})`
  await sql`insert into summary_progress (bucket, until) values ('day', ${at(8)}),
    ('hour', ${at(8, 3)})`
}

test('what customers did since a day is of whole days, and of hours after those', async (t) => {
  const { sql } = await freshDatabase(t)
  await summarized(sql)
  const cases: [since: Date, anna: number, bea: number][] = [
    [at(6), 1 + 2 + 32 + 64, 4 + 128],
    [at(7, 5), 2 + 32 + 64, 4 + 128],
    [at(8, 2), 32 + 64, 128],
    [at(9), 0, 0],
  ]
  for (const [since, anna, bea] of cases) {
    const found = await activityOf(sql, { customer_ids: ['anna', 'bea', 'carl'], since })
    const orders = new Map(found.map((one) => [one.customer_id, one.orders]))
    assert.deepEqual([...orders].toSorted(), [
      ['anna', anna],
      ['bea', bea],
      ['carl', 0],
    ])
  }
  const [one] = await activityOf(sql, { customer_ids: ['bea'], since: at(7) })
  assert.deepEqual(one, { customer_id: 'bea', orders: 132, failed: 136, spent_sun: 142n })
})

test('sums of all customers: a day that is not over is that of its hours', async (t) => {
  const { sql } = await freshDatabase(t)
  await summarized(sql)
  const found = async (bucket: 'hour' | 'day', since: Date, until: Date) =>
    (await houseSummaries(sql, { bucket, since, until })).map((one) => [one.at, one.orders])
  assert.deepEqual(await found('day', at(7, 3), at(8, 2)), [
    [at(7), 6],
    [at(8), 96],
  ])
  assert.deepEqual(await found('day', at(6), at(7)), [[at(6), 1]])
  assert.deepEqual(await found('day', at(8, 1), at(9)), [[at(8), 32 + 64 + 128]])
  assert.deepEqual(await found('hour', at(7, 1), at(8, 1)), [
    [at(7, 1), 16],
    [at(8), 32],
  ])
  const [whole] = await houseSummaries(sql, { bucket: 'day', since: at(7), until: at(8) })
  assert.deepEqual(whole, {
    at: at(7),
    orders: 6,
    succeeded: 8,
    failed: 10,
    energy: 12n,
    bandwidth: 14n,
    spent_sun: 16n,
    deposited_sun: 18n,
  })
})

test('hours in which nothing happened go on with the figures before them', async (t) => {
  const { sql } = await freshDatabase(t)
  await summarized(sql)
  const found = async (since: Date, until: Date, customer_id = 'anna') =>
    (await summariesOf(sql, { customer_id, bucket: 'hour', since, until })).map((one) => [
      ...[one.at.getUTCHours(), one.orders, Number(one.balance_sun), Number(one.spendable_sun)],
    ])
  assert.deepEqual(await found(at(7, 0), at(7, 3)), [
    [0, 0, 15, 16],
    [1, 16, 23, 24],
    [2, 0, 23, 24],
  ])
  assert.deepEqual(await found(new Date(at(8, 1).getTime() + 1), at(8, 2)), [[1, 64, 71, 72]])
  assert.deepEqual(await found(at(8, 4), at(8, 5)), [[4, 0, 71, 72]])
  assert.deepEqual(await found(at(8, 1), at(8, 2), 'bea'), [[1, 0, 0, 0]])
})
