// Signing in by a link, and what a session is good for: calls from our own pages, by the role of
// the user, until it is over.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, type Options } from '../../harness/authenticator.ts'
import { OF_OUR_PAGE, worldConsole } from '../../harness/console.ts'
import {
  codeAt,
  joinedByPasskey,
  joinedByPassword,
  linkFor,
  PASSWORD,
  signedIn,
} from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld } from '../../harness/world.ts'

test('a link signs in once, for the face that it is for', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { token } = await linkFor(world, { customer_id })
  const house = await linkFor(world, { customer_id: null, role: 'admin' })
  const visitor = new Visitor(world.api)
  const { session, sign_in_possible } = await visitor.ask('/session/begin')
  assert.deepEqual([session, sign_in_possible], [null, true])
  const foreign = await visitor.call('/session/link', { token: house.token })
  assert.equal(foreign.key, 'auth.link')
  assert.equal(visitor.cookie, undefined)
  const { headers } = await visitor.call('/session/link', { token })
  assert.match(
    String(headers['set-cookie']),
    /^__Host-penstock=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  )
  const begun = (await visitor.ask('/session/begin')).session as Record<string, unknown>
  assert.deepEqual((begun.user as { role: string }).role, 'owner')
  assert.deepEqual(begun.scopes, ['read', 'buy', 'aml', 'money', 'webhooks', 'manage', 'own'])
  const again = await new Visitor(world.api).call('/session/link', { token })
  const unknown = await new Visitor(world.api).call('/session/link', { token: 'x'.repeat(43) })
  assert.deepEqual([again.key, again.error], [unknown.key, unknown.error])
})

test('two who follow one link at once: one is signed in', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { token } = await linkFor(world, { customer_id })
  const visitors = Array.from({ length: 8 }, () => new Visitor(world.api))
  const all = await Promise.all(visitors.map((one) => one.call('/session/link', { token })))
  assert.deepEqual(all.map(({ code }) => code).sort(), [0, 1, 1, 1, 1, 1, 1, 1])
})

test('the endpoints answer a session what they answer a key of the same scopes', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1_000 })
  const visitor = await signedIn(world, { customer_id: anna.id })
  const by_key = await anna.call('/v1/balance')
  assert.deepEqual(await visitor.ask('/v1/balance'), by_key.result)
  const { key } = (await visitor.ask('/v1/whoami')) as { key: { name: string } }
  assert.equal(key.name, 'Anna')
  const { items } = (await visitor.ask('/v1/keys/list')) as { items: { name: string }[] }
  assert.equal(items.length, 1)
})

test('a session ends when its user says so, and when it was not used for too long', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const visitor = await signedIn(world, { customer_id })
  const { cookie } = visitor
  await visitor.ask('/session/end')
  assert.equal(visitor.cookie, undefined)
  visitor.cookie = cookie
  assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
  const other = await signedIn(world, { customer_id })
  world.wait(12 * 3_600 - 1)
  assert.equal((await other.call('/v1/balance')).code, 0)
  world.wait(12 * 3_600 + 61)
  assert.equal((await other.call('/v1/balance')).key, 'auth.session')
  const third = await signedIn(world, { customer_id })
  for (let hours = 0; hours < 7 * 24; hours += 6) {
    assert.equal((await third.call('/v1/balance')).code, 0)
    world.wait(6 * 3_600)
  }
  assert.equal((await third.call('/v1/balance')).key, 'auth.session')
})

test('a page that is left open keeps nobody signed in', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const [busy, left] = [
    await signedIn(world, { customer_id }),
    await signedIn(world, { customer_id }),
  ]
  const byItself = () => ({ ...left.headers, 'x-penstock-unattended': '1' })
  const idleAt = async (headers: Record<string, string>) => {
    const { result } = await left.call('/session/begin', {}, headers)
    return (result.session as { idle_at: string } | null)?.idle_at
  }
  const first = await idleAt(left.headers)
  for (let hours = 0; hours < 11; hours++) {
    world.wait(3_600)
    assert.equal((await left.call('/v1/balance', {}, byItself())).code, 0)
    assert.equal((await busy.call('/v1/balance')).code, 0)
    assert.equal(await idleAt(byItself()), first)
  }
  // Somebody comes back in time.
  assert.notEqual(await idleAt(left.headers), first)
  for (let hours = 0; hours < 13; hours++) {
    world.wait(3_600)
    assert.equal((await left.call('/v1/balance', {}, byItself())).code, hours < 11 ? 0 : 1)
    assert.equal((await busy.call('/v1/balance')).code, 0)
  }
  assert.equal(await idleAt(left.headers), undefined)
})

test('signing in anew ends the session before, and signing out clears what is kept', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret } = await joinedByPassword(world, { customer_id }, 'anna')
  const before = visitor.cookie
  world.wait(60)
  const code = codeAt(secret, world.now)
  await visitor.ask('/session/password', { sign_in_name: 'anna', password: PASSWORD, code })
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).code, 0)
  const { items } = (await visitor.ask('/v1/sessions/list')) as { items: unknown[] }
  assert.equal(items.length, 1)
  assert.notEqual(visitor.cookie, before)
  const out = await visitor.call('/session/end')
  assert.equal(out.headers['clear-site-data'], '"cache"')
})

test('who ends sessions shows to be there, but for the own one', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret } = await joinedByPassword(world, { customer_id })
  const signInElsewhere = async () => {
    const other = new Visitor(world.api)
    world.wait(30)
    const code = codeAt(secret, world.now)
    await other.ask('/session/password', { sign_in_name: 'anna', password: PASSWORD, code })
    return other
  }
  const other = await signInElsewhere()
  const { items } = (await visitor.ask('/v1/sessions/list')) as {
    items: { id: string; current: boolean }[]
  }
  const { id } = items.find(({ current }) => !current)!
  world.wait(301)
  for (const [path, body] of [
    ['/v1/session/end', { id }],
    ['/session/end', { everywhere: true }],
  ] as const)
    assert.equal((await visitor.call(path, body)).key, 'forbidden.step_up', path)
  assert.equal((await other.call('/v1/balance')).code, 0)
  await visitor.ask('/session/step-up', { password: PASSWORD, code: codeAt(secret, world.now) })
  await visitor.ask('/v1/session/end', { id })
  world.wait(2)
  assert.equal((await other.call('/v1/balance')).key, 'auth.session')
  const third = await signInElsewhere()
  await visitor.ask('/session/end', { everywhere: true })
  world.wait(2)
  assert.equal((await third.call('/v1/balance')).key, 'auth.session')
  // Signing out needs nothing.
  const fourth = await signInElsewhere()
  world.wait(301)
  assert.equal((await fourth.call('/session/end')).code, 0)
})

test('who changes what one signs in with ends the other sessions, or leaves them', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, authenticator } = await joinedByPasskey(world, { customer_id })
  const signInElsewhere = async () => {
    const other = new Visitor(world.api)
    const { passkey } = await other.ask('/session/begin')
    await other.ask('/session/passkey', { passkey: authenticator.get(passkey as Options) })
    return other
  }
  const addPasskey = async (more: object) => {
    const { options } = await visitor.ask('/session/passkeys/new')
    const passkey = new Authenticator().create(options as Options)
    const added = await visitor.ask('/session/passkeys/new', { passkey, name: 'more', ...more })
    return (added.credentials as { passkeys: { id: string }[] }).passkeys.at(-1)!.id
  }
  const isOpen = async (other: Visitor) => {
    world.wait(2)
    return (await other.call('/v1/balance')).code === 0
  }
  const changes: Record<string, (more: object) => Promise<unknown>> = {
    new: addPasskey,
    remove: async (more) =>
      visitor.ask('/session/passkeys/remove', { id: await addPasskey({}), ...more }),
    codes: (more) => visitor.ask('/session/recovery/new', more),
  }
  for (const [name, change] of Object.entries(changes)) {
    const other = await signInElsewhere()
    await change({})
    await change({ end_others: false })
    assert.equal(await isOpen(other), true, name)
    await change({ end_others: true })
    assert.equal(await isOpen(other), false, name)
    assert.equal(await isOpen(visitor), true, name)
  }
  const wrong = await visitor.call('/session/recovery/new', { end_others: 'yes' })
  assert.equal(wrong.key, 'invalid_service_or_params.end_others')
})

test('no answer to a page is kept, shown as a document or framed, whatever it says', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const visitor = await signedIn(world, { customer_id })
  const console = await worldConsole(t, world)
  const olga = await console.signIn('olga', 'admin')
  const of_console = (url: string) =>
    console.app.inject({ method: 'POST', url, headers: { ...OF_OUR_PAGE, ...olga }, payload: '{}' })
  const answers = [
    await visitor.call('/v1/balance'),
    await visitor.call('/v1/key/new'),
    await visitor.call('/session/begin'),
    await new Visitor(world.api).call('/v1/balance'),
    await of_console('/console/session/begin'),
    await of_console('/console/run/customers/list'),
  ]
  for (const { headers } of answers) {
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
  }
})

test('whoever signs in once more than may be loses the oldest session', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, authenticator } = await joinedByPasskey(world, { customer_id })
  const signIn = async () => {
    const other = new Visitor(world.api)
    const { passkey } = await other.ask('/session/begin')
    await other.ask('/session/passkey', { passkey: authenticator.get(passkey as Options) })
    return other
  }
  const others = [await signIn()]
  while (others.length < 19) others.push(await signIn())
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).code, 0)
  await signIn()
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
  assert.equal((await others[0]!.call('/v1/balance')).code, 0)
})
