// Of which keys it is noted that they end soon, or may spend nothing more today, and which are
// used, ended or renamed beside others: rows on both sides of every bound.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/ids.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { ERASED } from '../customers/customers.ts'
import {
  hasSecrets,
  listKeys,
  lockKey,
  newestSecret,
  revokeKey,
  revokeKeys,
  rotateSecret,
  scopesOfKeys,
  sealingKeysMissing,
} from './keys.ts'
import { lastUses } from './last_uses.ts'
import { pruneNonces, useNonces } from './nonces.ts'
import { remindKeysStep } from './reminders.ts'
import { changeUserKey, endUserKey, eraseKeyNames, openUserKey } from './user_keys.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const after = (ms: number) => new Date(NOW.getTime() + ms)

type Row = {
  id: string
  customer_id?: string
  expires_at?: Date
  ending_at?: Date
  revoked_at?: Date
  allowed_networks?: string[]
}

/** Keys of the customers `one` and `two`, and a key of the first one's user `anna`. */
async function withKeys(t: TestContext, rows: readonly Row[]) {
  const { sql } = await freshDatabase(t)
  let at = NOW
  const clock = { now: () => at }
  for (const [i, id] of ['one', 'two'].entries())
    await sql`
      insert into customer (id, name, deposit_index, deposit_address, created_at)
      values (${id}, ${id}, ${i}, ${`T${String(i).padStart(33, '3')}`}, ${NOW})`
  for (const [i, one] of rows.entries())
    await sql`
      insert into api_key (id, customer_id, name, token_hash, sealed_secret, secret_made_at, scopes,
        require_v2, created_at, expires_at, ending_at, revoked_at, allowed_networks)
      values (${one.id}, ${one.customer_id ?? 'one'}, ${one.id}, ${String(i).padStart(64, '0')},
        ${`a.${one.id}`}, ${NOW}, '{read}', false, ${NOW}, ${one.expires_at ?? null},
        ${one.ending_at ?? null}, ${one.revoked_at ?? null}, ${one.allowed_networks ?? null})`
  await sql`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by)
    values ('anna', 'one', 'anna', 'reader', ${NOW}, 'olga')`
  const key = { user_id: 'anna', customer_id: 'one', name: 'anna', scopes: ['read'] as const }
  await sql.begin((tx) => openUserKey(tx, { ...key, daily_cap_sun: null }, NOW))
  const idsWhere = async (column: 'revoked' | 'ending' | 'used' | 'erased') => {
    const found = await sql<{ id: string }>`
      select id from api_key where case ${column}::text
        when 'revoked' then revoked_at = ${NOW} when 'ending' then ending_at = ${NOW}
        when 'used' then last_used_at is not null else name = ${ERASED} end
      order by id`
    return found.map(({ id }) => id).join(' ')
  }
  const setTime = (ms: number) => {
    at = after(ms)
  }
  return { sql, clock, idsWhere, setTime }
}

test('it is noted once that a key ends within a week', async (t) => {
  const WEEK_MS = 7 * DAY_MS
  const { sql, clock, idsWhere, setTime } = await withKeys(t, [
    { id: 'ended', expires_at: NOW },
    { id: 'endless' },
    { id: 'late', expires_at: after(WEEK_MS + 1) },
    { id: 'noted', expires_at: after(1), ending_at: after(-1) },
    { id: 'revoked', expires_at: after(1), revoked_at: after(-1) },
  ])
  const step = remindKeysStep({ sql, clock })
  assert.deepEqual(
    [await isDue(sql, step), await step.run(), await isDue(sql, step)],
    [false, false, false],
  )
  assert.equal(await idsWhere('ending'), '')
  for (const [id, expires_at] of [
    ['ended', after(1)],
    ['endless', after(WEEK_MS)],
  ] as const) {
    await sql`update api_key set expires_at = ${expires_at} where id = ${id}`
    assert.deepEqual(
      [await isDue(sql, step), await step.run(), await isDue(sql, step)],
      [true, true, false],
    )
  }
  assert.equal(await idsWhere('ending'), 'ended endless')
  setTime(1)
  assert.deepEqual([await isDue(sql, step), await step.run()], [true, true])
  assert.equal(await step.run(), false)
})

test('it is noted once in a day that a key may spend nothing more', async (t) => {
  const { sql, clock } = await withKeys(t, [{ id: 'key' }])
  await sql`update api_key set daily_cap_sun = 5, spending_counted_from = '2026-01-01'`
  const step = remindKeysStep({ sql, clock })
  await sql`insert into api_key_cap (key_id, day, told_at) values ('key', '2026-10-07', ${NOW})`
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
  await sql`insert into api_key_cap (key_id, day) values ('key', '2026-10-08')`
  assert.deepEqual(
    [await isDue(sql, step), await step.run(), await isDue(sql, step)],
    [true, true, false],
  )
  assert.equal(await step.run(), false)
})

test('keys are revoked of one customer, and none that stands for a user', async (t) => {
  const rows = [
    { id: 'first' },
    { id: 'second' },
    { id: 'before', revoked_at: after(-1) },
    { id: 'other', customer_id: 'two' },
  ]
  const { sql, idsWhere } = await withKeys(t, rows)
  const revoke = (key_id: string, customer_id = 'one') =>
    sql.begin((tx) => revokeKey(tx, { customer_id, key_id, at: NOW }))
  assert.deepEqual(
    [await revoke('anna'), await revoke('before'), await revoke('other'), await revoke('none')],
    [false, false, false, false],
  )
  assert.equal(await idsWhere('revoked'), '')
  assert.equal(await revoke('first'), true)
  assert.equal(await idsWhere('revoked'), 'first')
  const all = await sql.begin((tx) => revokeKeys(tx, { customer_id: 'one', at: NOW }))
  assert.deepEqual(all, [{ id: 'second', name: 'second' }])
  assert.equal(await idsWhere('revoked'), 'first second')
  const ids = (await listKeys(sql, 'one')).map(({ id }) => id)
  assert.deepEqual(ids, ['before', 'first', 'second'])
  await sql.begin((tx) => endUserKey(tx, 'anna', NOW))
  assert.equal(await idsWhere('revoked'), 'anna first second')
  await sql.begin((tx) => endUserKey(tx, 'anna', after(1)))
  assert.equal(await idsWhere('revoked'), 'anna first second')
})

test('the scopes are known of keys that may be used, from among those asked for', async (t) => {
  const { sql } = await withKeys(t, [
    { id: 'endless' },
    { id: 'ending', expires_at: after(1) },
    { id: 'ended', expires_at: NOW },
    { id: 'revoked', revoked_at: NOW },
    { id: 'not asked for' },
  ])
  const asked = ['endless', 'ending', 'ended', 'revoked', 'none']
  const scopes = await scopesOfKeys(sql, asked, NOW)
  assert.deepEqual([...scopes.keys()].sort(), ['ending', 'endless'])
})

test('the newest secret is of a key that may be used, and that signs', async (t) => {
  const { sql } = await withKeys(t, [{ id: 'a' }, { id: '9' }, { id: 'b', revoked_at: NOW }])
  assert.deepEqual(await newestSecret(sql), { id: 'a', sealed_secret: 'a.a' })
  await sql`update api_key set revoked_at = ${NOW} where user_id is null`
  assert.equal(await newestSecret(sql), undefined)
  assert.equal(await hasSecrets(sql), true)
  await sql`update api_key set revoked_at = ${NOW}`
  assert.equal(await hasSecrets(sql), false)
})

test('sealing keys are missing that seal a secret of a key that may be used', async (t) => {
  const { sql } = await withKeys(t, [{ id: 'key' }, { id: 'revoked', revoked_at: NOW }])
  const seal = sealWith({ current: 'b', keys: { b: new Uint8Array(32).fill(2) } }, systemRandom)
  await sql`update api_key set sealed_secret = 'c.none' where id = 'revoked'`
  assert.deepEqual(await sealingKeysMissing(sql, seal), ['a'])
  const rotate = (overlap_hours: number, now = NOW) =>
    sql.begin(async (tx) => {
      const needs = { clock: { now: () => now }, random: systemRandom, new_id: () => 'none', seal }
      return rotateSecret(tx, needs, { key: (await lockKey(tx, 'key'))!, overlap_hours })
    })
  const HOUR_MS = 3_600_000
  assert.deepEqual((await rotate(2)).old_secret_until, after(2 * HOUR_MS))
  assert.deepEqual(await sealingKeysMissing(sql, seal), ['a'], 'the one before signs, too')
  await assert.rejects(rotate(1, after(2 * HOUR_MS - 1)), /Two secrets are alive already/)
  assert.equal((await rotate(0)).old_secret_until, null)
  assert.deepEqual(await sealingKeysMissing(sql, seal), [])
  await rotate(2)
  await rotate(1, after(2 * HOUR_MS))
})

test("a user's key follows its user, and names are erased of one user or customer", async (t) => {
  const networks = ['203.0.113.7']
  const { sql, idsWhere } = await withKeys(t, [
    { id: 'first', allowed_networks: networks },
    { id: 'second' },
    { id: 'other', customer_id: 'two', allowed_networks: networks },
  ])
  const change = (user_id: string) =>
    sql.begin((tx) =>
      changeUserKey(tx, { user_id, name: 'Anna', scopes: ['money'], daily_cap_sun: 7n }, NOW),
    )
  await change('none')
  await change('anna')
  const rows = await sql<{ id: string; daily_cap_sun: bigint }>`
    select id, daily_cap_sun from api_key where name = 'Anna'`
  assert.deepEqual(rows, [{ id: 'anna', daily_cap_sun: 7n }])
  const erase = (of: { customer_id?: string; user_id?: string }) =>
    sql.begin((tx) => eraseKeyNames(tx, of))
  assert.deepEqual([await erase({ user_id: 'anna' }), await erase({ user_id: 'anna' })], [1, 0])
  assert.equal(await idsWhere('erased'), 'anna')
  await sql`update api_key set name = 'anna' where id = 'anna'`
  assert.equal(await erase({ customer_id: 'one' }), 2)
  assert.equal(await erase({ customer_id: 'one' }), 0)
  assert.equal(await idsWhere('erased'), 'first second')
  const left = await sql`select 1 from api_key where allowed_networks is not null`
  assert.equal(left.length, 1)
})

test('a key was last used when it was used last, and no other was', async (t) => {
  const { sql, clock, idsWhere, setTime } = await withKeys(t, [{ id: 'key' }, { id: 'other' }])
  const { note, step } = lastUses({ sql, clock })
  assert.equal(await step.run(), false)
  const used = async () => {
    const [row] = await sql<{ at: Date }>`
      select last_used_at as at from api_key where id = 'key'`
    return row!.at
  }
  note('key')
  setTime(7)
  note('key')
  assert.equal(await step.run(), false)
  assert.deepEqual([await used(), await idsWhere('used')], [after(7), 'key'])
  await sql`update api_key set last_used_at = ${after(9)} where id = 'key'`
  await step.run()
  note('key')
  await step.run()
  assert.deepEqual(await used(), after(9))
})

test('a nonce is new once for each key, and forgotten after 660 seconds', async (t) => {
  const { sql, clock, setTime } = await withKeys(t, [])
  const step = pruneNonces({ sql, clock })
  const use = (key_id: string, nonce: string) => ({ key_id, nonce })
  const twins = [use('one', 'x'), use('one', 'x'), use('two', 'x')]
  assert.deepEqual(await useNonces(sql, twins, NOW), [true, false, true])
  assert.deepEqual(await useNonces(sql, [use('one', 'x'), use('one', 'y')], NOW), [false, true])
  await sql`
    insert into api_key_nonce (key_id, nonce, seen_at)
    select 'many', n::text, ${NOW} from generate_series(1, 9998) as n`
  await useNonces(sql, [use('one', 'young')], after(1))
  setTime(660_000)
  assert.equal(await isDue(sql, step), false)
  await step.run()
  setTime(660_001)
  assert.equal(await isDue(sql, step), true)
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  assert.equal(await isDue(sql, step), false)
  const left = await sql<{ nonce: string }>`select nonce from api_key_nonce`
  assert.deepEqual(left, [{ nonce: 'young' }])
})
