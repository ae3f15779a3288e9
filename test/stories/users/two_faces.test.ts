// The portal and the console know the same users, sessions and proofs, each in its own face: what
// is good at one of them is nothing at the other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
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
