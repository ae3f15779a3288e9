import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { demandAt, readDemand } from './demand.ts'

test('the most of an hour is of seven days, of all customers; the least is on sale', async (t) => {
  const { sql } = await freshDatabase(t)
  const head_time = new Date('2026-10-08T14:20:00Z')
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (1, 'a', ${head_time}, 1, 1, ${head_time})`
  const hours: [string, string, string, number][] = [
    ['anna', 'hour', '2026-10-07T15:00:00Z', 100],
    ['bea', 'hour', '2026-10-07T15:00:00Z', 20],
    ['anna', 'hour', '2026-10-06T15:00:00Z', 119],
    ['anna', 'hour', '2026-10-01T14:00:00Z', 7],
    ['anna', 'hour', '2026-10-01T13:00:00Z', 900],
    ['anna', 'day', '2026-10-07T00:00:00Z', 5_000],
  ]
  for (const [customer_id, bucket, at, energy] of hours)
    await sql`
      insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
        spent_sun, deposited_sun, balance_sun, spendable_sun)
      values (${customer_id}, ${bucket}, ${at}::timestamptz, 1, 1, 0, ${energy}, 3, 0, 0, 0, 0)`
  await sql`update price set until = now() where resource = 'bandwidth'`
  await sql`delete from price where resource = 'energy'`
  await sql`
    insert into price (resource, min_amount, max_amount, price_sun, until, changed_by)
    values ('energy', 70000, 80000, 1, null, 'test'), ('energy', 65000, 69999, 1, null, 'test'),
      ('energy', 1000, 64999, 1, now(), 'test')`
  const demand = await readDemand(sql)
  const at = (hour: number) => new Date(Date.UTC(2026, 9, 8, hour, 59))
  assert.deepEqual(demandAt(demand, 'energy', at(15)), { least_order: 65_000n, most_sold: 120n })
  assert.deepEqual(demandAt(demand, 'energy', at(14)), { least_order: 65_000n, most_sold: 7n })
  assert.deepEqual(demandAt(demand, 'energy', at(13)), { least_order: 65_000n, most_sold: 0n })
  // What is summed up of a day is of none of its hours.
  assert.deepEqual(demandAt(demand, 'energy', at(0)), { least_order: 65_000n, most_sold: 0n })
  assert.deepEqual(demandAt(demand, 'bandwidth', at(15)), { least_order: null, most_sold: 6n })
})
