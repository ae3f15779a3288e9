// The portal and the console know the same users, sessions and proofs, each in its own face: what
// is good at one of them is nothing at the other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { userTokenHash } from 'penstock-service/people/users/sessions.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { CONSOLE_URL, worldConsole } from '../../harness/console.ts'
import { codeAt, joinedByPassword, linkFor, PASSWORD, signedIn } from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld } from '../../harness/world.ts'

test('a session of one face is none at the other, whatever its cookie is called', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer({ trx: 10 })
  const { post, signIn } = await worldConsole(t, world)
  const { cookie } = await signIn('olga', 'admin')
  const owner = await signedIn(world, { customer_id })
  const tokenOf = (pair = '') => pair.slice(pair.indexOf('=') + 1)
  const at_portal = new Visitor(world.api)
  at_portal.cookie = `__Host-penstock=${tokenOf(cookie)}`
  assert.equal((await at_portal.ask('/session/begin')).session, null)
  for (const path of ['/v1/balance', '/v1/users/list', '/session/passkeys/list', '/session/end'])
    assert.equal((await at_portal.call(path)).key, 'auth.session', path)
  const foreign = { cookie: `penstock-console=${tokenOf(owner.cookie)}` }
  assert.equal((await post('/console/run/status', {}, foreign)).key, 'auth.session')
  // Each is good where it is from.
  assert.equal((await post('/console/run/status', {}, { cookie: cookie! })).code, 0)
  assert.equal((await owner.call('/v1/balance')).code, 0)
})

test("the API's role signs nobody in to the console, nor by a row of its own", async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer({ trx: 10 })
  const { post, signIn } = await worldConsole(t, world)
  const { cookie } = await signIn('olga', 'admin')
  const [house] = await world.sql<{ id: string }>`
    select id from service_user where customer_id is null`
  const owner = await signedIn(world, { customer_id })
  const api = world.database.connect({ role: 'penstock_api' })
  t.after(() => api.close())
  const token = 'x'.repeat(43)
  const in_an_hour = new Date(world.now.getTime() + 3_600_000)
  const forge = (sql: Sql, user_id: string, mark: string | null) => sql`
    insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at,
      stepped_up_until, mark, step_up_mark, ip, browser)
    values (${`${user_id}:${mark}`}, ${userTokenHash(token)}, ${user_id}, ${world.now},
      ${world.now}, ${in_an_hour}, ${in_an_hour}, ${mark}, ${mark},
      '192.0.2.9', 'x')`
  const denied = { code: '42501' }
  await assert.rejects(forge(api, house!.id, null), denied)
  await assert.rejects(
    api`
      insert into service_user (id, customer_id, name, role, invited_at, invited_by)
      values ('mallory', null, 'Mallory', 'admin', now(), 'x')`,
    denied,
  )
  await assert.rejects(
    api`update service_user set customer_id = null, role = 'admin' where id = ${owner.user_id}`,
    denied,
  )
  const [seen] = await api`
    select count(*)::int as n from service_user as u, lateral (
      select user_id from user_session union all select user_id from user_password
      union all select user_id from passkey union all select user_id from user_link
      union all select user_id from recovery_code) as own
    where own.user_id = ${house!.id} or u.customer_id is null`
  assert.deepEqual(seen, { n: 0 })
  // Nor is a row of the owner of the database believed, whose mark is another's, or none.
  const [marked] = await world.sql<{ mark: string }>`
    select mark from user_session where user_id = ${house!.id}`
  for (const mark of [null, marked!.mark]) {
    await forge(world.sql, house!.id, mark)
    const forged = { cookie: `penstock-console=${token}` }
    assert.equal((await post('/console/run/status', {}, forged)).key, 'auth.session')
    await world.sql`delete from user_session where token_hash = ${userTokenHash(token)}`
  }
  await forge(api, owner.user_id, null)
  const thief = new Visitor(world.api)
  thief.cookie = `__Host-penstock=${token}`
  assert.equal((await thief.call('/v1/balance')).key, 'auth.session')
  // A right session is not longer, nor its user there, because the row says so.
  await api`update user_session set stepped_up_until = ${in_an_hour}`
  world.wait(301)
  assert.equal((await owner.call('/v1/balance')).code, 0)
  const careful = await owner.call('/v1/key/new', { name: 'k', scopes: ['read'] })
  assert.equal(careful.key, 'forbidden.step_up')
  await api`update user_session set ends_at = ends_at + interval '1 day'`
  world.wait(2)
  assert.equal((await owner.call('/v1/balance')).key, 'auth.session')
  assert.equal((await post('/console/run/status', {}, { cookie: cookie! })).code, 0)
})

test('password and paper codes of one face open nothing at the other', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { app } = await worldConsole(t, world)
  const atConsole = () => new Visitor(app, { origin: CONSOLE_URL.origin, path: '/console' })
  const atPortal = () => new Visitor(world.api)
  const anna = await joinedByPassword(world, { customer_id }, 'anna')
  const { token } = await linkFor(world, { customer_id: null, role: 'admin' }, 'join')
  const olga = atConsole()
  const { totp } = await olga.ask('/session/join', { token })
  const { secret, offer } = totp as { secret: string; offer: string }
  const choice = { sign_in_name: 'olga', password: PASSWORD, code: codeAt(secret, world.now) }
  const { recovery_codes } = await olga.ask('/session/join', { token, offer, ...choice })
  world.wait(60)
  const people = [
    {
      name: 'anna',
      secret: anna.secret,
      codes: anna.recovery_codes,
      own: atPortal,
      other: atConsole,
    },
    { name: 'olga', secret, codes: recovery_codes as string[], own: atConsole, other: atPortal },
  ]
  for (const { name: sign_in_name, secret: own_secret, codes, own, other } of people) {
    const typed = { sign_in_name, password: PASSWORD, code: codeAt(own_secret, world.now) }
    const paper = { sign_in_name, code: codes[0] }
    const strange = other()
    assert.equal((await strange.call('/session/password', typed)).key, 'auth.sign_in')
    assert.equal((await strange.call('/session/recovery', paper)).key, 'auth.sign_in')
    assert.equal(strange.cookie, undefined)
    // Neither was used up by that.
    assert.equal((await own().call('/session/password', typed)).code, 0)
    assert.equal((await own().call('/session/recovery', paper)).code, 0)
  }
})
