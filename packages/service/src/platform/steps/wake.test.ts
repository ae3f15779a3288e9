// Telling other processes that a step has something to do: at once, and not for every row; and
// hearing it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import pg from 'pg'
import { listenForWakes, wakeOthers } from './wake.ts'

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

test('who listens drops a lost connection, and hears what is told on a new one', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const heard: string[] = []
  let drop = () => {}
  const listening = listenForWakes(
    url,
    (step) => void heard.push(step),
    (given) => {
      drop = given
    },
  )
  t.after(() => listening.stop())
  const listener = () =>
    sql<{ pid: number }>`
      select pid from pg_stat_activity
      where application_name = 'penstock wake' and datname = current_database()
        and query like 'listen %' and state = 'idle'`
  await eventually('somebody listens', async () => (await listener()).length === 1)
  const [before] = await listener()
  drop()
  await eventually('another connection listens', async () => {
    const [now] = await listener()
    return now !== undefined && now.pid !== before!.pid
  })
  wakeOthers(sql)('publish')
  await eventually('it is heard', async () => heard.includes('publish'))
})
