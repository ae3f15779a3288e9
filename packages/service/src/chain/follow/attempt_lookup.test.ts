import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { listAttempts } from './attempt_lookup.ts'

test('those that are open are found without going through all that there ever were', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into attempt (id, subject, state, contract, send_at, made_at)
    select 'attempt-' || state, 'delegate:' || state, state, '{}', now(), now()
    from unnest(array['new', 'dead']) as state`
  await sql`
    insert into attempt (id, subject, state, contract, send_at, made_at, tx_id, signed, expires_at,
      block_number, block_time)
    select id, id, 'solid', '{}', now(), now(), id, '', now(), 1, now()
    from generate_series(1, 5000) as i, concat('a-', i) as id`
  await sql`analyze attempt`
  await sql.begin(async (tx) => {
    // What the connection did for an earlier test may still be among the counts.
    const count = async () => {
      const [scans] = await tx<{ of_table: bigint; of_larger_indexes: bigint }>`
        select pg_stat_get_xact_numscans('attempt'::regclass) as of_table,
          (select sum(pg_stat_get_xact_numscans(indexrelid)) from pg_index
           where indrelid = 'attempt'::regclass
             and indexrelid not in ('attempt_to_sign'::regclass, 'attempt_to_send'::regclass)
          )::bigint as of_larger_indexes`
      return scans
    }
    const before = await count()
    const wanted = { open: true, limit: 100 }
    const ids = (await listAttempts(tx as unknown as Sql, wanted)).map(({ id }) => id)
    assert.deepEqual(ids, ['attempt-new'])
    assert.deepEqual(await count(), before)
  })
  const all = (await listAttempts(sql, { open: false, limit: 1 })).map(({ id }) => id)
  assert.deepEqual(all, ['attempt-new'])
  assert.deepEqual(await listAttempts(sql, { open: true, state: 'dead', limit: 1 }), [])
})
