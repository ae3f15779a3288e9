import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { listActions, recordActions } from './actions.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 15, minute))

const record = (sql: Sql, minute: number, made_by: string, action: string, subject: string) =>
  sql.begin((tx) =>
    recordActions(tx, { operator: { made_by, reason: null }, action, made_at: at(minute) }, [
      { subject, before: null, after: { minute } },
    ]),
  )

/** Five records, of minutes 0 to 4. */
async function recorded(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await record(sql, 0, 'anna', 'prices set', 'price:energy')
  await record(sql, 1, 'berta', 'prices remove', 'price:bandwidth')
  await record(sql, 2, 'anna', 'prices', 'price')
  await record(sql, 3, 'anna', 'pricesheets add', 'prices')
  await record(sql, 4, 'berta', 'keys revoke', 'key:7')
  return sql
}

type Filter = Omit<Parameters<typeof listActions>[1], 'limit'>

const minutesOf = async (sql: Sql, filter: Filter, limit = 9) =>
  (await listActions(sql, { ...filter, limit })).map(({ made_at }) => made_at.getUTCMinutes())

test('an action asked for stands for itself and for those that begin with its words', async (t) => {
  const sql = await recorded(t)
  assert.deepEqual(await minutesOf(sql, { action: 'prices' }), [2, 1, 0])
  assert.deepEqual(await minutesOf(sql, { action: 'prices set' }), [0])
  assert.deepEqual(await minutesOf(sql, { action: 'price' }), [])
})

test('a subject asked for stands for itself and for those that begin with it', async (t) => {
  const sql = await recorded(t)
  assert.deepEqual(await minutesOf(sql, { subject: 'price' }), [2, 1, 0])
  assert.deepEqual(await minutesOf(sql, { subject: 'price:energy' }), [0])
  assert.deepEqual(await minutesOf(sql, { subject: 'key' }), [4])
})

test("operators' records are listed by who, from a time on, page by page", async (t) => {
  const sql = await recorded(t)
  assert.deepEqual(await minutesOf(sql, {}), [4, 3, 2, 1, 0])
  assert.deepEqual(await minutesOf(sql, { made_by: 'berta' }), [4, 1])
  assert.deepEqual(await minutesOf(sql, { since: at(1), until: at(3) }), [2, 1])
  assert.deepEqual(await minutesOf(sql, { made_by: 'anna', action: 'prices' }), [2, 0])
  const [newest, next] = await listActions(sql, { limit: 2 })
  assert.deepEqual([newest?.number, next?.number], [5n, 4n])
  assert.deepEqual(await minutesOf(sql, { before: 4 }, 2), [2, 1])
})

test('nothing that was or is has no text, and a whole number keeps its digits', async (t) => {
  const { sql } = await freshDatabase(t)
  const operator = { made_by: 'anna', reason: 'why' }
  const made = { operator, action: 'prices set', made_at: at(0) }
  await sql.begin((tx) =>
    recordActions(tx, made, [
      { subject: 'begun', before: null, after: { sun: 2n ** 60n, name: 'x' } },
      { subject: 'ended', before: { sun: 1 }, after: null },
    ]),
  )
  const rows = await sql`
    select subject, before is null as begun, after is null as ended, after ->> 'sun' as sun,
      reason from operator_action order by number`
  assert.deepEqual(rows, [
    { subject: 'begun', begun: true, ended: false, sun: `${2n ** 60n}`, reason: 'why' },
    { subject: 'ended', begun: false, ended: true, sun: null, reason: 'why' },
  ])
})
