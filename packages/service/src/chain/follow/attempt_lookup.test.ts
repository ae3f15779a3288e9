import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { putAttempt } from 'penstock-test/harness/attempt_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { listAttempts, showAttempt } from './attempt_lookup.ts'

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

test('a list has those of a state or a subject, the newest first, from one on', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['a', 'b', 'b:1', 'bc', 'd']) await putAttempt(sql, id, {})
  await sql`update attempt set subject = 'e' where id = 'b'`
  await putAttempt(sql, 'signed', { state: 'signed' })
  await putAttempt(sql, 'x', { state: 'sent' })
  await putAttempt(sql, 'y', { state: 'dead' })
  await putAttempt(sql, 'z', { state: 'included', block_number: 7 })
  const ids = async (wanted: Partial<Parameters<typeof listAttempts>[1]>) =>
    (await listAttempts(sql, { open: false, limit: 100, ...wanted })).map(({ id }) => id)
  const all = ['z', 'y', 'x', 'signed', 'd', 'bc', 'b:1', 'b', 'a']
  assert.deepEqual(await ids({}), all)
  const open = all.slice(2)
  assert.deepEqual(await ids({ open: true }), open)
  for (const is_open of [true, false]) {
    const of = (wanted: Parameters<typeof ids>[0]) => ids({ ...wanted, open: is_open })
    assert.deepEqual(await of({ state: 'signed' }), ['signed'])
    assert.deepEqual(await of({ subject: 'b' }), ['b:1'])
    assert.deepEqual(await of({ subject: 'x' }), ['x'])
    assert.deepEqual(await of({ before: 'b:1' }), ['b', 'a'])
    assert.deepEqual(await of({ limit: 2 }), (is_open ? open : all).slice(0, 2))
  }
})

test('one is shown by its id or its transaction, with what it does in words', async (t) => {
  const { sql } = await freshDatabase(t)
  await putAttempt(sql, 'one', { state: 'signed' })
  await putAttempt(sql, 'two', { state: 'sent' })
  for (const wanted of ['two', 'tx two']) {
    const { id, signed, contract } = await showAttempt(sql, wanted)
    assert.deepEqual([id, signed], ['two', Buffer.from('two').toString('hex')])
    assert.deepEqual(contract, {
      type: 'AccountCreateContract',
      permission_id: 0,
      owner_address: person('pool').address,
      account_address: person('bob').address,
    })
  }
  const value = { balance: { int64: '9007199254740993' }, amount: { int64: '5' }, memo: null }
  const odd = { type: 'Odd', parameter: { value }, Permission_id: 2 }
  await sql`update attempt set contract = ${JSON.stringify(odd)}::jsonb where id = 'one'`
  assert.deepEqual((await showAttempt(sql, 'one')).contract, {
    type: 'Odd',
    permission_id: 2,
    balance_sun: 9_007_199_254_740_993n,
    amount: 5n,
    memo: null,
  })
  await sql`update attempt set contract = '{"type": "Bare"}' where id = 'one'`
  assert.deepEqual((await showAttempt(sql, 'one')).contract, { type: 'Bare', permission_id: 0 })
  await assert.rejects(showAttempt(sql, 'three'), /There is no attempt three/)
})
