import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { drain } from '../../platform/steps/step.ts'
import { pruneEventsStep } from './prune.ts'

const now = new Date(Date.UTC(2026, 10, 22))

test('what is old goes from the beginning on: what is kept has no gaps', async (t) => {
  const { sql } = await freshDatabase(t)
  const ages: Record<string, number[]> = {
    // Clocks of two processes differ, and one was set back: the order of numbers is not that of
    // times.
    anna: [40, 31, 29, 35, 28, 2],
    bert: [90, 40],
    carl: [1, 40],
  }
  for (const [customer_id, days] of Object.entries(ages))
    for (const [i, age] of days.entries())
      await sql`
        insert into event (customer_id, number, id, type, subject, at, test, data)
        values (${customer_id}, ${BigInt(i + 1)}, ${`${customer_id} ${i}`}, 'order.created',
          'order:a', ${new Date(now.getTime() - age * DAY_MS)}, false, '{}')`
  await drain([pruneEventsStep({ sql, clock: { now: () => now } }, 30)])
  const kept = await sql<{ customer_id: string; numbers: bigint[] }>`
    select customer_id, array_agg(number order by number) as numbers from event
    group by customer_id order by customer_id`
  assert.deepEqual(kept, [
    { customer_id: 'anna', numbers: [3n, 4n, 5n, 6n] },
    { customer_id: 'carl', numbers: [1n, 2n] },
  ])
})
