import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  activationsLeft,
  retryActivations,
  succeedActivations,
  takeActivated,
} from './activations.ts'

/** An activation of each state, named by it. */
const insertOneOfEach = (sql: Sql) => sql`
  insert into activation (id, address, state, tries, made_at)
  select state, 'address of ' || state, state, 1, now()
  from unnest(array['new', 'activating', 'active', 'failed']) as state`

test('what is under way, or newer than what is known, it cannot pay once more', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.equal(await activationsLeft(sql), Number.POSITIVE_INFINITY, 'nothing is known of it')
  await sql`
    insert into activation_float (address, payable, block_number) values ('wallet', 10, 5)`
  assert.equal(await activationsLeft(sql), 10)
  await insertOneOfEach(sql)
  assert.equal(await activationsLeft(sql), 8, 'the new one and the one that is sent')
  const insertAttempt = (subject: string, state: string, block: number) => sql`
    insert into attempt (id, subject, state, contract, send_at, made_at, tx_id, signed, expires_at,
      block_number, block_time)
    values (${subject}, ${subject}, ${state}, '{}', now(), now(), ${subject}, '', now(), ${block},
      now())`
  await insertAttempt('activate:known', 'included', 5)
  await insertAttempt('activate:solid', 'solid', 6)
  await insertAttempt('delegate:other', 'included', 6)
  assert.equal(await activationsLeft(sql), 8)
  await insertAttempt('activate:newer', 'included', 6)
  assert.equal(await activationsLeft(sql), 7)
})

test('only what is being activated becomes active, is taken over, or is tried again', async (t) => {
  for (const [move, to] of [
    [succeedActivations, 'active'],
    [takeActivated, 'active'],
    [retryActivations, 'new'],
  ] as const) {
    const { sql } = await freshDatabase(t)
    await insertOneOfEach(sql)
    // Another one of its address would be under way.
    await sql`delete from activation where id = 'new'`
    await move(sql, ['active', 'failed'])
    const statesNow = async () => {
      const rows = await sql<{ id: string; state: string; tries: number }>`
        select id, state, tries from activation order by id`
      return rows.map(({ id, state, tries }) => `${id}: ${state} ${tries}`)
    }
    assert.deepEqual(await statesNow(), [
      'activating: activating 1',
      'active: active 1',
      'failed: failed 1',
    ])
    await move(sql, ['activating'])
    assert.match((await statesNow())[0]!, new RegExp(`^activating: ${to} `))
  }
})

test('an activation is tried three times', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertOneOfEach(sql)
  const again = async () => {
    await retryActivations(sql, ['activating'])
    const [row] = await sql<{ state: string; tries: number }>`
      select state, tries from activation where id = 'activating'`
    await sql`update activation set state = 'activating' where id = 'activating'`
    return row
  }
  assert.deepEqual(await again(), { state: 'new', tries: 2 })
  assert.deepEqual(await again(), { state: 'failed', tries: 3 })
})
