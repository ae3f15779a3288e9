// Codes of an authenticator and codes on paper are used up, each by its own user.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { codeAt } from 'penstock-test/harness/users.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import {
  findRecoveryCode,
  newestTotpSecrets,
  newRecoveryCodes,
  resealTotpSecrets,
  totpCodes,
  totpContext,
  totpStep,
  useRecoveryCode,
  useTotpStep,
} from './codes.ts'
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

test("a name opens nothing by another's code, and one who has ended by none", async (t) => {
  const sql = await users(t)
  const codes = await sql.begin((tx) => newRecoveryCodes(tx, 'bert', random))
  const find = (sign_in_name: string, code = codes[0]!) =>
    findRecoveryCode(sql, { sign_in_name, code })
  assert.deepEqual([await find('bert'), await find('anna')], ['bert', undefined])
  assert.equal(await find('bert', 'aaaa-bbbb'), undefined)
  await sql.begin((tx) => useRecoveryCode(tx, { user_id: 'bert', code: codes[0]!, at }))
  assert.deepEqual([await find('bert'), await find('bert', codes[1])], [undefined, 'bert'])
  await sql`update service_user set ended_at = ${at} where id = 'bert'`
  assert.equal(await find('bert', codes[1]), undefined)
})

const keys = { a: new Uint8Array(32).fill(1), b: new Uint8Array(32).fill(2) }
const sealBy = (current: 'a' | 'b') => sealWith({ current, keys }, random)

test('secrets of codes are sealed again by the key of now, each once', async (t) => {
  const sql = await users(t)
  for (const [user_id, by, minute] of [
    ['anna', 'a', 2],
    ['bert', 'a', 1],
    ['carl', 'b', 0],
  ] as const)
    await sql`
      insert into user_password (user_id, hash, sealed_totp, totp_step, changed_at)
      values (${user_id}, '', ${sealBy(by).seal(user_id, totpContext(user_id))}, 7,
        ${new Date(at.getTime() + minute * 60_000)})`
  const newest = async () =>
    (await newestTotpSecrets(sql)).map(({ user_id, sealed_by }) => `${sealed_by} ${user_id}`)
  assert.deepEqual(await newest(), ['a anna', 'b carl'])
  await sql`update service_user set ended_at = ${at} where id = 'anna'`
  assert.deepEqual(await newest(), ['a bert', 'b carl'])
  const reseal = () => sql.begin((tx) => resealTotpSecrets(tx, sealBy('b')))
  assert.deepEqual([await reseal(), await reseal()], [2, 0])
  const rows = await sql<{ user_id: string; sealed_totp: string }>`
    select user_id, sealed_totp from user_password order by user_id`
  const only_new = sealWith({ current: 'b', keys: { b: keys.b } }, random)
  for (const { user_id, sealed_totp } of rows)
    assert.equal(only_new.open(sealed_totp, totpContext(user_id)), user_id)
})

test('a code is of its half minute, or of the one before or after, and of its user', () => {
  const secret = 'B'.repeat(32)
  const step = Math.floor(at.getTime() / 30_000)
  const begun = (steps: number) => new Date((step + steps) * 30_000)
  const code = codeAt(secret, begun(0))
  const stepAt = (steps: number, typed = code) => totpStep(secret, typed, begun(steps))
  assert.deepEqual(
    [-1, 0, 1].map((steps) => stepAt(steps)),
    [BigInt(step), BigInt(step), BigInt(step)],
  )
  assert.equal(totpStep(secret, code, new Date(begun(2).getTime() - 1)), BigInt(step))
  assert.deepEqual([stepAt(-2), stepAt(2)], [undefined, undefined])
  for (const none of ['', '12345', `${code}0`, '------', '\u0661\u0662\u0663\u0664\u0665\u0666'])
    assert.equal(stepAt(0, none), undefined, none)
  const seal = sealBy('a')
  const sealed_totp = seal.seal(secret, totpContext('anna'))
  const { step: stepOf } = totpCodes(seal)
  assert.equal(stepOf({ user_id: 'anna', sealed_totp }, code, begun(0)), BigInt(step))
  const nobodys = codeAt('A'.repeat(32), begun(0))
  assert.equal(stepOf(undefined, nobodys, begun(0)), undefined)
})
