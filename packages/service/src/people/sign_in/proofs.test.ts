// Who is let in by what, who is not, and what is noted of it: called on rows, for both faces.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Options } from 'penstock-test/harness/authenticator.ts'
import { PAGES, withSignIn } from 'penstock-test/harness/sign_in_pages.ts'
import { PASSWORD } from 'penstock-test/harness/users.ts'
import { type Fault, TooManyRequests } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { consoleFace, portalFace } from '../users/faces.ts'
import { sessionReader } from '../users/sessions.ts'
import { passwordHasher } from './passwords.ts'
import { letIn } from './proofs.ts'

const REFUSED = 'auth.sign_in'
const MINUTE_MS = 60_000

/** How the tries by a way have ended, the oldest first. */
const outcomesOf = async (sql: Sql, way: string) =>
  (await sql<{ outcome: string }>`select outcome from sign_in where way = ${way} order by id`).map(
    ({ outcome }) => outcome,
  )
const endUser = (sql: Sql, id: string) =>
  sql`update service_user set ended_at = invited_at where id = ${id}`

test('a user is let in at the own face alone, and not after the end', async (t) => {
  const { sql, needs, invite } = await withSignIn(t)
  const [anna, olga, gone, gone_olga] = [
    await invite(),
    await invite({ customer_id: null, role: 'admin' }),
    await invite(),
    await invite({ customer_id: null, role: 'admin' }),
  ]
  for (const { user_id } of [gone, gone_olga]) await endUser(sql, user_id)
  const sessions = sessionReader(needs)
  const isLetIn = async (user_id: string, face: ReturnType<typeof portalFace>) => {
    const asked = { headers: { origin: PAGES }, ip: '192.0.2.1', reply_headers: {}, request_id: '' }
    const of_face = { ...needs, face, sessions }
    return sql
      .begin((tx) => letIn(tx, of_face, asked, user_id))
      .then(
        () => true,
        (thrown: unknown) => {
          assert.equal((thrown as Fault).key, REFUSED, String(thrown))
          return false
        },
      )
  }
  const [portal, console] = [portalFace(PAGES), consoleFace(PAGES)]
  for (const [name, user_id, at_portal, at_console] of [
    ['of a customer', anna.user_id, true, false],
    ['of the house', olga.user_id, false, true],
    ['of a customer, ended', gone.user_id, false, false],
    ['of the house, ended', gone_olga.user_id, false, false],
    ['unknown', 'none', false, false],
  ] as const) {
    const found = [await isLetIn(user_id, portal), await isLetIn(user_id, console)]
    assert.deepEqual(found, [at_portal, at_console], name)
  }
})

test('a name lets in its own user, where the password and the code are both right', async (t) => {
  const { sql, page, codeOf, setTime, joinByPassword } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const bert = await joinByPassword('bert', { customer_id: 'beta' })
  const olga = await joinByPassword('olga', { customer_id: null, role: 'admin' })
  const gone = await joinByPassword('gone')
  await endUser(sql, gone.user_id)
  setTime(MINUTE_MS)
  const right = (sign_in_name: string, { secret }: { secret: string }) => ({
    sign_in_name,
    password: PASSWORD,
    code: codeOf(secret),
  })
  const wrong_code = codeOf(anna.secret) === '000000' ? '000001' : '000000'
  const refused = async (face: 'portal' | 'console', body: object) => {
    const steps = () => sql`select user_id, totp_step from user_password order by user_id`
    const before = await steps()
    assert.equal(await page({ face }).refusal('/session/password', body), REFUSED)
    assert.deepEqual(await steps(), before, 'no code is used up')
  }
  await refused('portal', right('olga', olga))
  await refused('console', right('anna', anna))
  await refused('portal', right('gone', gone))
  await refused('portal', right('carl', anna))
  await refused('portal', right('bert', anna))
  await refused('portal', { ...right('anna', anna), password: 'another horse battery' })
  await refused('portal', { ...right('anna', anna), code: wrong_code })
  assert.deepEqual(await outcomesOf(sql, 'password'), Array(7).fill('failed'))
  const signIn = async (face: 'portal' | 'console', body: object) => {
    const own = page({ face })
    const { session } = await own.ask<{ session: { user: { id: string } } }>(
      '/session/password',
      body,
    )
    const remembered = Object.keys(own.cookies).some((name) => name.endsWith('-browser'))
    assert.equal(remembered, true, 'the browser is known again')
    return session.user.id
  }
  assert.equal(await signIn('portal', right(' Anna ', anna)), anna.user_id)
  assert.equal(await signIn('portal', right('bert', bert)), bert.user_id)
  assert.equal(await signIn('console', right('olga', olga)), olga.user_id)
  assert.deepEqual((await outcomesOf(sql, 'password')).slice(7), Array(3).fill('done'))
})

test('a hash with other parameters is made anew when its password is used, no other', async (t) => {
  const { sql, needs, page, codeOf, setTime, joinByPassword } = await withSignIn(t)
  const users = [await joinByPassword('anna'), await joinByPassword('bert')]
  const [anna, bert] = users as [(typeof users)[0], (typeof users)[0]]
  const hashes = async () =>
    new Map(
      (await sql<{ user_id: string; hash: string }>`select user_id, hash from user_password`).map(
        ({ user_id, hash }) => [user_id, hash],
      ),
    )
  const signIn = (sign_in_name: string, { secret }: { secret: string }) =>
    page().ask('/session/password', { sign_in_name, password: PASSWORD, code: codeOf(secret) })
  setTime(MINUTE_MS)
  const first = await hashes()
  await signIn('anna', anna)
  assert.deepEqual(await hashes(), first, 'one of the same parameters stays')
  const lane = { name: 'old', is_known: true }
  const old = await passwordHasher(needs.random, 2).hash(PASSWORD, lane)
  await sql`update user_password set hash = ${old}`
  setTime(2 * MINUTE_MS)
  await signIn('anna', anna)
  const renewed = await hashes()
  assert.equal(renewed.get(bert.user_id), old)
  assert.equal(needs.passwords.isOld(renewed.get(anna.user_id)!), false)
  setTime(3 * MINUTE_MS)
  await signIn('anna', anna)
})

test('a password that is changed while it is looked at lets nobody in', async (t) => {
  const { sql, page, codeOf, setTime, joinByPassword } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  await joinByPassword('bert')
  setTime(MINUTE_MS)
  const work = () => sql`
    update user_password set changed_at = changed_at + interval '1 second'
    where user_id = ${anna.user_id}`
  const typed = () => ({ sign_in_name: 'anna', password: PASSWORD, code: codeOf(anna.secret) })
  const visitor = page()
  const meanwhile = { before: 2, work }
  assert.equal(await visitor.refusal('/session/password', typed(), meanwhile), REFUSED)
  assert.deepEqual(visitor.cookies, {})
  setTime(2 * MINUTE_MS)
  await visitor.ask('/session/password', typed())
})

test('who has to wait is asked to, and what fails in looking is no wrong password', async (t) => {
  const { sql, page, codeOf, setTime, joinByPassword } = await withSignIn(t)
  const { secret, recovery_codes } = await joinByPassword('anna')
  const wrong = { sign_in_name: 'anna', password: PASSWORD, code: '------' }
  await sql`delete from sign_in`
  setTime(MINUTE_MS)
  for (let once = 0; once < 5; once++)
    assert.equal(await page().refusal('/session/password', wrong), REFUSED)
  const right = { ...wrong, code: codeOf(secret) }
  await assert.rejects(page().ask('/session/password', right), TooManyRequests)
  setTime(2 * MINUTE_MS)
  await sql`alter table recovery_code rename to hidden`
  const typed = { sign_in_name: 'anna', code: recovery_codes[0] }
  await assert.rejects(page().ask('/session/recovery', typed), { code: '42P01' })
})

test('a code on paper that is used, or whose user ends, meanwhile lets nobody in', async (t) => {
  const { sql, page, joinByPassword } = await withSignIn(t)
  const { page: own, user_id, recovery_codes } = await joinByPassword('anna')
  const typed = (code = recovery_codes[0]) => ({ sign_in_name: 'anna', code })
  const use = async () => {
    await page().ask('/session/recovery', typed())
  }
  const race = { before: 1, work: use }
  assert.equal(await page().refusal('/session/recovery', typed(), race), REFUSED)
  assert.deepEqual(await outcomesOf(sql, 'recovery'), ['failed', 'done'])
  assert.equal(await page().refusal('/session/recovery', typed('aaaa-bbbb')), REFUSED)
  const ending = { before: 1, work: () => endUser(sql, user_id) }
  assert.equal(await page().refusal('/session/recovery', typed(recovery_codes[1]), ending), REFUSED)
  assert.deepEqual(await outcomesOf(sql, 'recovery'), ['failed', 'done', 'failed', 'failed'])
  assert.equal(await own.refusal('/session/passkeys/list'), 'auth.session', 'others have ended')
})

test('a passkey lets in its user while it is there, and every try is noted', async (t) => {
  const { sql, page, joinByPasskey } = await withSignIn(t)
  const { authenticator, user_id } = await joinByPasskey('anna')
  const visitor = page()
  const answer = async (face: 'portal' | 'console' = 'portal') => {
    const { passkey } = await page({ face }).ask<{ passkey: Options }>('/session/begin')
    return { passkey: authenticator.get(passkey) }
  }
  const off = await answer()
  const shown = await visitor.ask<{ session: { user: { id: string } } }>('/session/passkey', off)
  assert.equal(shown.session.user.id, user_id)
  assert.equal(await page().refusal('/session/passkey', off), REFUSED, 'once')
  const at_console = await answer('console')
  assert.equal(await page({ face: 'console' }).refusal('/session/passkey', at_console), REFUSED)
  assert.equal(await page().refusal('/session/passkey', await answer('console')), REFUSED)
  const remove = { before: 2, work: () => sql`update passkey set off_at = made_at` }
  assert.equal(await page().refusal('/session/passkey', await answer(), remove), REFUSED)
  assert.deepEqual(await outcomesOf(sql, 'passkey'), ['done', 'failed', 'failed', 'failed'])
})
