import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../test/database.ts'
import type { Sql } from '../lib/sql.ts'
import { perform } from './actions.ts'
import { unrecorded } from './record_rules.ts'

const ODD = ['a "b" \\ c', 'line\nfeed\ttab\u0001\u007f', '𝄞 é \u2028', '{"x": [1, null]}', ' ']

async function write(sql: Sql, [index, text]: [number, string]): Promise<void> {
  const clock = { now: () => new Date(Date.parse('2026-10-08T15:26:32.120Z') + index) }
  const operator = { made_by: text, reason: index % 2 === 0 ? null : text }
  const before = index === 0 ? null : { [text]: text, longer_key: 12.5, n: 10n ** 17n, empty: {}, list: [true, null] }
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
  assert.deepEqual(await look(sql), [{ subject: 'record 2', found: 'it is not the one that was written' }])
})
