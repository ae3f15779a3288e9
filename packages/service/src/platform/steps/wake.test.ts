// Telling other processes that a step has something to do: at once, and not for every row; and
// hearing it.

import assert from 'node:assert/strict'
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
  // A pause ends when the test says so: the server may take longer to tell than a pause does.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const wake = wakeOthers(sql)
  const heard = (count: number, meanwhile = () => {}) =>
    eventually(`${count} are told`, async () => {
      meanwhile()
      return told.length >= count
    })
  const pass = () => t.mock.timers.tick(30)
  for (let i = 0; i < 100; i++) wake('publish')
  await heard(1)
  assert.deepEqual(told, ['publish'])
  await heard(2, pass)
  // Another step waits for no pause but its own, and nothing is left to be told of the first.
  wake('delegate')
  await heard(3)
  wake('delegate')
  await heard(4, pass)
  wake('last')
  await heard(5)
  assert.deepEqual(told, ['publish', 'publish', 'delegate', 'delegate', 'last'])
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
