import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../harness/database.ts'
import { maySpend, spentOn } from './allowance.ts'

test('ten a day may be spent, and not one more', () => {
  assert.deepEqual([maySpend(4, 6), maySpend(4, 7), maySpend(0, 0)], [true, false, false])
})

// That what was given back does not count is forgotten here.
test('what was spent on other days does not count', async (t) => {
  const { sql } = await freshDatabase(t)
  const payments = [
    { amount: 3, day: 1 },
    { amount: 4, day: 2 },
  ]
  assert.equal(await spentOn(sql, payments, 2), 4)
})
