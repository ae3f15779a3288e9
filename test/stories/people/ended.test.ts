// What a session that has ended, or a proof that was taken away, is good for a moment later:
// processes remember a session for a second, and what one signs in with outlives sessions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { forgetProofs } from 'penstock-service/people/sign_in/joining.ts'
import { lockUser } from 'penstock-service/people/users/users.ts'
import type { Options } from '../../harness/authenticator.ts'
import {
  codeAt,
  joinedByPasskey,
  joinedByPassword,
  PASSWORD,
  signedIn,
} from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld } from '../../harness/world.ts'

test('a session that has just ended changes nothing of what its user signs in with', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await signedIn(world, { customer_id })
  const of = { customer_id, role: 'developer' }
  const endings: Record<string, (id: string) => Promise<unknown>> = {
    recovered: (id) => owner.ask('/v1/user/recover', { id }),
    'signed out by the owner': async (id) => {
      const { items } = await owner.ask('/v1/sessions/list')
      const all = items as { id: string; user: { id: string } }[]
      await owner.ask('/v1/session/end', { id: all.find(({ user }) => user.id === id)!.id })
    },
  }
  for (const [what, end] of Object.entries(endings)) {
    const { visitor, user_id } = await joinedByPassword(world, of, `anna.${what.length}`)
    const { secret, offer } = (await visitor.ask('/session/totp')).totp as Record<string, string>
    await end(user_id)
    // The clock stands still: this process remembers the session.
    const code = codeAt(secret!, world.now)
    const taken = { password: 'another horse battery', code, offer }
    const tries: [string, object][] = [
      ['/session/totp', taken],
      ['/session/recovery/new', {}],
    ]
    for (const [path, body] of tries)
      assert.equal((await visitor.call(path, body)).key, 'auth.session', `${what}: ${path}`)
    const [left] = await world.sql<{ changed: boolean }>`
      select exists (select 1 from user_password where user_id = ${user_id}
        and changed_at > (select joined_at from service_user where id = ${user_id})) as changed`
    assert.deepEqual(left, { changed: false }, what)
  }
})

test('what is taken away while somebody signs in by it lets nobody in', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const by_password = await joinedByPassword(world, { customer_id })
  const by_passkey = await joinedByPasskey(world, { customer_id })
  world.wait(60)
  const code = codeAt(by_password.secret, world.now)
  const typed = { sign_in_name: 'anna', password: PASSWORD, code }
  const { passkey } = await new Visitor(world.api).ask('/session/begin')
  const shown = { passkey: by_passkey.authenticator.get(passkey as Options) }
  const ways: [user_id: string, path: string, body: object][] = [
    [by_password.user_id, '/session/password', typed],
    [by_passkey.user_id, '/session/passkey', shown],
  ]
  for (const [user_id, path, body] of ways) {
    const isUsed = async () => {
      const totp_step = BigInt(Math.floor(world.now.getTime() / 30_000))
      const used = await world.sql`
        select 1 from passkey where user_id = ${user_id} and used_at is not null
        union all select 1 from user_password
        where user_id = ${user_id} and totp_step = ${totp_step}`
      return used.length > 0
    }
    const answered = await world.sql.begin(async (tx) => {
      await lockUser(tx, { id: user_id })
      const answer = new Visitor(world.api).call(path, body)
      // What was shown is right by then; the session waits for the lock.
      while (!(await isUsed())) await delay(20)
      await forgetProofs(tx, user_id)
      return { answer }
    })
    assert.equal((await answered.answer).key, 'auth.sign_in', path)
    const [open] = await world.sql<{ sessions: bigint }>`
      select count(*) as sessions from user_session
      where user_id = ${user_id} and ended_at is null and made_at = ${world.now}`
    assert.equal(open!.sessions, 0n, path)
  }
})

test('another password ends the other sessions, and the one before opens nothing', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret } = await joinedByPassword(world, { customer_id })
  world.wait(60)
  const signIn = async (password: string, from: string) => {
    const typed = { sign_in_name: 'anna', password, code: codeAt(from, world.now) }
    const one = new Visitor(world.api)
    return { one, key: (await one.call('/session/password', typed)).key }
  }
  const { one: other } = await signIn(PASSWORD, secret)
  assert.equal((await other.call('/v1/balance')).code, 0)
  const fresh = (await visitor.ask('/session/totp')).totp as { secret: string; offer: string }
  const password = 'another horse battery'
  const code = codeAt(fresh.secret, world.now)
  await visitor.ask('/session/totp', { password, code, offer: fresh.offer })
  world.wait(60)
  assert.equal((await other.call('/v1/balance')).key, 'auth.session')
  assert.equal((await visitor.call('/v1/balance')).code, 0)
  assert.equal((await signIn(PASSWORD, secret)).key, 'auth.sign_in')
  assert.equal((await signIn(PASSWORD, fresh.secret)).key, 'auth.sign_in')
  world.wait(30)
  assert.equal((await signIn(password, fresh.secret)).key, undefined)
})
