// Telling other processes that a step has something to do: at once, and not for every row.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import pg from 'pg'
import { wakeOthers } from './wake.ts'

test('what wakes a step many times in a pause is told at once, and once at its end', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  t.after(() => listener.end())
  await listener.query('listen penstock_wake')
  const told: string[] = []
  listener.on('notification', ({ payload }) => told.push(payload!))
  const wake = wakeOthers(sql)
  const next = () => once(listener, 'notification', { signal: AbortSignal.timeout(10_000) })
  for (let i = 0; i < 100; i++) wake('publish')
  await next()
  assert.deepEqual(told, ['publish'])
  await next()
  assert.deepEqual(told, ['publish', 'publish'])
  // Another step waits for no pause but its own, and nothing is left to be told of the first.
  wake('delegate')
  await next()
  wake('delegate')
  await next()
  assert.deepEqual(told, ['publish', 'publish', 'delegate', 'delegate'])
})
