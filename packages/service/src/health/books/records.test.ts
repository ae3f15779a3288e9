import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import pg from 'pg'
import { perform } from '../../events/log/changes.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { recordSum, unrecorded } from './records.ts'

const ODD = ['a "b" \\ c', 'line\nfeed\ttab\u0001\u007f', '𝄞 é \u2028', '{"x": [1, null]}', ' ']

async function write(sql: Sql, [index, text]: [number, string]): Promise<void> {
  const clock = { now: () => new Date(Date.parse('2026-10-08T15:26:32.120Z') + index) }
  const operator = { made_by: text, reason: index % 2 === 0 ? null : text }
  const before =
    index === 0
      ? null
      : { [text]: text, longer_key: 12.5, n: 10n ** 17n, empty: {}, list: [true, null] }
  await perform({ sql, clock }, { operator, action: `test ${text}` }, async () => ({
    result: undefined,
    actions: [{ subject: `thing:${text}`, before, after: index === 1 ? null : { b: 1, a: text } }],
  }))
}

const look = (sql: Sql) => sql.begin((tx) => unrecorded(tx))

test('records are summed here as the database sums them, whatever they say', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const one of ODD.entries()) await write(sql, one)
  assert.deepEqual(await look(sql), [])
})

test('a record that was altered is found though the function that sums was replaced', async (t) => {
  const { sql, url } = await freshDatabase(t)
  for (const one of ODD.entries()) await write(sql, one)
  const hand = new pg.Client({ connectionString: url })
  await hand.connect()
  hand.on('error', () => {})
  t.after(() => hand.end())
  await hand.query(`
    create or replace function operator_action_sum(previous text, of operator_action)
      returns text language sql stable as $$ select of.sha256 $$;
    alter table operator_action disable trigger operator_action_is_append_only;
    update operator_action set made_by = 'somebody else' where number = 2;
    alter table operator_action enable trigger operator_action_is_append_only`)
  assert.deepEqual(await look(sql), [
    { subject: 'record 2', found: 'it is not the one that was written' },
  ])
})

/** A record as it was written before the database noted who it was, put at the end of the list. */
async function writeUnnamed(sql: Sql): Promise<void> {
  const [last] = await sql<{ number: bigint; sha256: string }>`
    select number, sha256 from operator_action order by number desc limit 1`
  const record = {
    number: (last?.number ?? 0n) + 1n,
    made_at: '2026-10-08 15:26:32+00',
    made_by: 'anna',
    reason: null,
    action: 'prices set',
    subject: 'thing',
    before: null,
    after: '{"a": 1}',
    made_role: null,
    made_from: null,
    sha256: '',
  }
  const sha256 = recordSum(last?.sha256 ?? '', record)
  await sql.begin(async (tx) => {
    await tx`alter table operator_action disable trigger operator_action_is_chained`
    await tx`
      insert into operator_action (number, made_at, made_by, action, subject, after, sha256)
      values (${record.number}, ${record.made_at}::timestamptz, 'anna', 'prices set', 'thing',
              ${record.after}, ${sha256})`
    await tx`alter table operator_action enable trigger operator_action_is_chained`
  })
}

test('records from before the database noted the author hold; none comes after', async (t) => {
  const { sql } = await freshDatabase(t)
  await writeUnnamed(sql)
  await writeUnnamed(sql)
  for (const one of ODD.entries()) await write(sql, one)
  assert.deepEqual(await look(sql), [])
  await writeUnnamed(sql)
  assert.deepEqual(await look(sql), [
    { subject: 'record 8', found: 'it is not the one that was written' },
  ])
})

test('the author of a change is the one the database saw, whatever the SQL says', async (t) => {
  const { sql } = await freshDatabase(t, { by_tcp: true })
  await sql`
    insert into operator_action (made_at, made_by, action, subject, made_role, made_from)
    values (now(), 'somebody else', 'prices set', 'thing', 'nobody', '192.0.2.1')`
  const [seen] = await sql<{ made_role: string; made_from: string; right: boolean }>`
    select made_role, made_from, made_role = session_user
      and made_from = host(inet_client_addr()) as right
    from operator_action`
  assert.ok(seen?.right, JSON.stringify(seen))
  assert.deepEqual(await look(sql), [])
})
