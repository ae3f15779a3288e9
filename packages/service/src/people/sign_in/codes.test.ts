// Codes of an authenticator and codes on paper are used up, each by its own user.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { findRecoveryCode, newRecoveryCodes, useRecoveryCode, useTotpStep } from './codes.ts'
import { forgetTries, nameHashOf, noteTry } from './tries.ts'

const at = new Date('2026-10-08T15:26:32Z')
const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }

/** Two users who may sign in, and one who has no name to do it with. */
async function users(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const id of ['anna', 'bert', 'carl'])
    await sql`
      insert into service_user (id, name, role, sign_in_name, invited_at, invited_by, joined_at)
      values (${id}, ${id}, 'admin', ${id === 'carl' ? null : id}, ${at}, 'olga',
        ${id === 'carl' ? null : at})`
  return sql
}

test('a code on paper is of its user alone, and is used up by being used', async (t) => {
  const sql = await users(t)
  const codesOf = (user_id: string) => sql.begin((tx) => newRecoveryCodes(tx, user_id, random))
  const [annas, berts] = [await codesOf('anna'), await codesOf('bert')]
  const use = (user_id: string, code: string) =>
    sql.begin((tx) => useRecoveryCode(tx, { user_id, code, at }))
  const find = (sign_in_name: string, code: string) => findRecoveryCode(sql, { sign_in_name, code })
  const [code, second] = annas
  assert.deepEqual(
    [await find('anna', code!), await find('bert', code!), await find('nobody', code!)],
    ['anna', undefined, undefined],
  )
  assert.equal(await use('bert', code!), false, "somebody else's")
  assert.equal(await use('anna', code!.toUpperCase().replaceAll('-', ' ')), true, 'as typed')
  assert.equal(await use('anna', code!), false, 'again')
  assert.equal(await find('anna', code!), undefined)
  assert.equal(await use('anna', 'aaaa-bbbb'), false, "nobody's")
  // New ones take the place of those before, and of nobody else's.
  await codesOf('anna')
  assert.equal(await use('anna', second!), false)
  assert.equal(await use('bert', berts[0]!), true)
})

test('a code of an authenticator opens once, and none of a time before it', async (t) => {
  const sql = await users(t)
  for (const id of ['anna', 'bert'])
    await sql`
      insert into user_password (user_id, hash, sealed_totp, totp_step, changed_at)
      values (${id}, '', '', 7, ${at})`
  const use = (user_id: string, step: bigint) => sql.begin((tx) => useTotpStep(tx, user_id, step))
  assert.deepEqual([await use('anna', 7n), await use('anna', 6n)], [false, false])
  assert.deepEqual([await use('anna', 9n), await use('anna', 9n)], [true, false])
  assert.equal(await use('anna', 8n), false)
  assert.equal(await use('bert', 8n), true, 'those of each user count apart')
  assert.equal(await use('carl', 8n), false, 'without a password')
})

test("what is forgotten of who tried is a user's own tries, and those with its name", async (t) => {
  const sql = await users(t)
  let made = 0
  const needs = { clock: { now: () => at }, new_id: () => `${++made}` }
  const place = { ip: '192.0.2.1', browser: 'a browser' }
  const attempt = { face: 'portal' as const, way: 'link' as const, place }
  for (const user_id of ['anna', 'bert', 'carl', 'carl', 'carl'])
    await noteTry(sql, needs, attempt, { outcome: 'done', user_id, session_id: 'session' })
  for (const name of ['anna', 'bert'])
    await sql`
      update sign_in set name_hash = ${await nameHashOf(sql, name)}, user_id = null
      where id = (
        select min(id) from sign_in where user_id = ${name})`
  await noteTry(sql, needs, attempt, { outcome: 'done', user_id: 'anna', session_id: 'session' })
  const forget = (id: string) => sql.begin((tx) => forgetTries(tx, id))
  assert.equal(await nameHashOf(sql, 'carl'), null)
  assert.equal(await forget('anna'), 2)
  assert.equal(await forget('anna'), 0)
  assert.equal(await forget('carl'), 3)
  assert.equal(await forget('bert'), 1)
})
