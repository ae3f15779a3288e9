import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  activationsLeft,
  retryActivation,
  succeedActivation,
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
  const insertIn = (subject: string, state: string, block: number) => sql`
    insert into attempt (id, subject, state, contract, send_at, made_at, tx_id, signed, expires_at,
      block_number, block_time)
    values (${subject}, ${subject}, ${state}, '{}', now(), now(), ${subject}, '', now(), ${block},
      now())`
  await insertIn('activate:known', 'included', 5)
  await insertIn('activate:solid', 'solid', 6)
  await insertIn('delegate:other', 'included', 6)
  assert.equal(await activationsLeft(sql), 8)
  await insertIn('activate:newer', 'included', 6)
  assert.equal(await activationsLeft(sql), 7)
})

const insertAttempt = (sql: Sql, id: string, state: string) => sql`
  insert into attempt (id, subject, state, contract, send_at, made_at, tx_id, signed, expires_at,
    block_number, block_time)
  values (${id}, 'activate:' || ${id}::text, ${state}, '{}', now(), now(), ${id}, '', now(),
    case when ${state} in ('included', 'solid') then 5 end,
    case when ${state} in ('included', 'solid') then now() end)`

/** One of each state; the one that is activated has an attempt in the given state. */
async function scene(t: TestContext, attempt_state: string) {
  const { sql } = await freshDatabase(t)
  await insertOneOfEach(sql)
  // Another one of its address would be under way.
  await sql`delete from activation where id = 'new'`
  await insertAttempt(sql, 'first', 'dead')
  await insertAttempt(sql, 'second', attempt_state)
  await sql`update activation set attempt_id = 'second' where id = 'activating'`
  const states = async () => {
    const rows = await sql<{ id: string; state: string; tries: number; attempt: string | null }>`
      select id, state, tries, attempt_id as attempt from activation order by id`
    return rows.map(({ id, state, tries, attempt }) => `${id}: ${state} ${tries} ${attempt}`)
  }
  return { sql, states }
}

const MOVES = [
  [succeedActivation, ['included', 'solid'], 'active 1 second'],
  [takeActivated, ['dead'], 'active 1 null'],
  [retryActivation, ['dead'], 'new 2 null'],
] as const

test('only what is being activated becomes active, is taken over, or is tried again', async (t) => {
  for (const [move, when, to] of MOVES)
    for (const state of when) {
      const { sql, states } = await scene(t, state)
      const before = await states()
      for (const id of ['active', 'failed']) {
        await sql`update activation set attempt_id = 'second' where id = ${id}`
        await move(sql, { id, attempt_id: 'second' })
        await sql`update activation set attempt_id = null where id = ${id}`
      }
      assert.deepEqual(await states(), before)
      await move(sql, { id: 'activating', attempt_id: 'second' })
      assert.equal((await states())[0], `activating: ${to}`)
    }
})

test('what is known of an attempt says nothing of the next one', async (t) => {
  for (const [move, when] of MOVES)
    for (const state of ['signed', 'sent', 'included', 'solid', 'dead']) {
      const { sql, states } = await scene(t, state)
      const before = await states()
      await move(sql, { id: 'activating', attempt_id: 'first' })
      const is_so = (when as readonly string[]).includes(state)
      if (!is_so) await move(sql, { id: 'activating', attempt_id: 'second' })
      assert.deepEqual(await states(), before, `${move.name}, ${state}`)
    }
})

test('an activation is tried three times', async (t) => {
  const { sql, states } = await scene(t, 'dead')
  const again = async () => {
    await retryActivation(sql, { id: 'activating', attempt_id: 'second' })
    const [now] = await states()
    await sql`
      update activation set state = 'activating', attempt_id = 'second' where id = 'activating'`
    return now
  }
  assert.equal(await again(), 'activating: new 2 null')
  assert.equal(await again(), 'activating: failed 3 null')
})
