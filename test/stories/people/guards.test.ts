// What keeps others from acting with somebody's session, and a user from doing more than the role
// allows: through the portal's own way in, on every endpoint of the table.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CUSTOMER_ROLES, type CustomerRole } from 'penstock-service/people/users/roles.ts'
import { worldOperator } from '../../harness/operator.ts'
import { codeAt, joinedByPassword, PASSWORD, signedIn } from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld } from '../../harness/world.ts'

const OWN = 'https://api.example.com'
const newKey = (name: string) => ({ name, scopes: ['read'] })

/** What a page of another's, or a stolen and altered cookie, may send; '' leaves a header out. */
const FORGERIES: Readonly<Record<string, Record<string, string>>> = {
  'no origin': { origin: '' },
  'an opaque origin': { origin: 'null' },
  'another port': { origin: `${OWN}:8443` },
  'another scheme': { origin: 'http://api.example.com' },
  'another host': { origin: 'https://evil.example' },
  'a host below ours': { origin: 'https://console.api.example.com' },
  'a host that begins as ours': { origin: `${OWN}.evil.example` },
  'the host above ours': { origin: 'https://example.com' },
  'an origin with a path': { origin: `${OWN}/` },
  'this machine': { origin: 'http://localhost' },
  'another host, our page as referer': { origin: 'https://evil.example', referer: `${OWN}/portal` },
  'no header of our pages': { 'x-penstock': '' },
  'that header switched off': { 'x-penstock': '0' },
  'that header with other text': { 'x-penstock': 'true' },
  'another site': { 'sec-fetch-site': 'cross-site' },
  'the same site': { 'sec-fetch-site': 'same-site' },
  'no site at all': { 'sec-fetch-site': 'none' },
  'a form': { 'x-penstock': '', 'content-type': 'application/x-www-form-urlencoded' },
  'a form of text': { 'x-penstock': '', 'content-type': 'text/plain' },
  'a form of another host': {
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
    'x-penstock': '',
    'content-type': 'multipart/form-data; boundary=x',
  },
}

test('twenty forged requests change nothing, whatever cookie comes along', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const visitor = await signedIn(world, { customer_id })
  const keys = async () => {
    const [count] = await world.sql<{ keys: bigint }>`select count(*) as keys from api_key`
    return count!.keys
  }
  const before = await keys()
  assert.equal(Object.keys(FORGERIES).length, 20)
  for (const [name, forged] of Object.entries(FORGERIES)) {
    const headers = { ...visitor.headers, ...forged }
    const { code, key } = await visitor.call('/v1/key/new', newKey('forged'), headers)
    assert.ok(code !== 0, name)
    if (!('content-type' in forged)) assert.equal(key, 'auth.origin', name)
  }
  const token = visitor.cookie!.replace(/^.*=/, '')
  const gone = await signedIn(world, { customer_id })
  const old = gone.cookie!
  await gone.ask('/session/end')
  const of_two = await keys()
  assert.equal(of_two, before + 1n, 'the key of the second user')
  for (const cookie of [
    old,
    `penstock=${token}`,
    `__Host-penstock-console=${token}`,
    `__Host-penstock=${token.slice(1)}`,
    `__Host-penstock=${token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
    '',
  ]) {
    const headers = { ...visitor.headers, cookie }
    const { key } = await visitor.call('/v1/key/new', newKey('forged'), headers)
    assert.equal(key, 'auth.session', cookie.replace(/=.*/, ''))
  }
  assert.equal(await keys(), of_two)
  await visitor.ask('/v1/key/new', newKey('right'))
  assert.equal(await keys(), of_two + 1n)
})

test('under /v1 a cookie changes no answer', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer({ trx: 10 })
  const visitor = await signedIn(world, { customer_id })
  const answer = async (url: string, headers: Record<string, string>) => {
    const asked = { method: 'POST' as const, url, headers, payload: '{}' }
    const { statusCode, headers: given, body } = await world.api.inject(asked)
    const { request_id: _, ...said } = JSON.parse(body) as Record<string, unknown>
    return [statusCode, given['set-cookie'], said]
  }
  const { cookie: _, ...without } = visitor.headers
  let compared = 0
  for (const { path, auth, open } of world.app.endpoints) {
    if (auth !== 'signature' || open) continue
    const expected = await answer(path, without)
    assert.deepEqual(await answer(path, visitor.headers), expected, path)
    assert.equal((expected[2] as { code: number }).code, 1, path)
    compared++
  }
  assert.ok(compared > 50)
  // What is signed is answered to the key that signs it.
  const bert = await world.customer({ trx: 20 })
  const { result } = await bert.call('/v1/balance', {}, { cookie: visitor.cookie! })
  assert.deepEqual(result, (await bert.call('/v1/balance')).result)
  assert.notDeepEqual(result, await visitor.ask('/v1/balance'))
})

/** What a role may do, as it is promised to customers. */
const SCOPES_OF: Readonly<Record<CustomerRole, readonly string[]>> = {
  owner: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage', 'own'],
  developer: ['read', 'buy', 'aml', 'money', 'webhooks', 'keys', 'own'],
  finance: ['read', 'money', 'own'],
  reader: ['read', 'own'],
}

test('each role may call the endpoints of its scopes, and no other', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const called = world.app.endpoints.filter(({ auth, open }) => auth === 'signature' && !open)
  const refused: Record<string, Set<string>> = {}
  assert.deepEqual(Object.keys(SCOPES_OF), CUSTOMER_ROLES)
  for (const [role, scopes] of Object.entries(SCOPES_OF)) {
    const visitor = await signedIn(world, { customer_id, role })
    refused[role] = new Set()
    for (const { path, role_scopes } of called) {
      const may = role_scopes.length === 0 || role_scopes.some((scope) => scopes.includes(scope))
      const { key } = await visitor.call(path)
      assert.equal(key === 'forbidden.role', !may, `${role} ${path}: ${key}`)
      if (!may) refused[role].add(path)
    }
  }
  // By hand, what the table itself must not get wrong.
  assert.equal(refused.owner!.size, 0)
  assert.ok(!refused.developer!.has('/v1/key/new') && !refused.developer!.has('/v1/webhook/new'))
  assert.ok(!refused.finance!.has('/v1/statement') && refused.finance!.has('/v1/webhook/new'))
  for (const path of ['/v1/key/new', '/v1/quote/accept', '/v1/webhook/new', '/v1/statement'])
    assert.ok(refused.reader!.has(path), path)
  for (const role of ['developer', 'finance', 'reader']) {
    const managing = [...refused[role]!].filter((path) => /^\/v1\/(user|session|action)/.test(path))
    assert.deepEqual(managing.sort(), [
      '/v1/actions/list',
      ...['change', 'check', 'invite', 'recover', 'remove'].map((verb) => `/v1/user/${verb}`),
      '/v1/users/list',
    ])
  }
  assert.ok(!refused.reader!.has('/v1/balance'))
})

test('new, wider and other secrets want to be sure that the user is there', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['read', 'webhooks', 'manage'] })
  const { visitor, secret } = await joinedByPassword(world, { customer_id: anna.id })
  const careful = world.app.endpoints.filter((one) => one.careful).map(({ path }) => path)
  assert.deepEqual(
    careful.sort(),
    [
      ...['key/change', 'key/new', 'key/rotate'],
      ...['pairing/approve', 'session/end'],
      ...['user/change', 'user/invite', 'user/recover', 'user/remove'],
      ...['webhook/change', 'webhook/new', 'webhook/rotate'],
    ].map((path) => `/v1/${path}`),
  )
  for (const path of careful)
    assert.notEqual((await visitor.call(path)).key, 'forbidden.step_up', path)
  world.wait(5 * 60 + 1)
  for (const path of careful) {
    const { code, key } = await visitor.call(path)
    assert.deepEqual([code, key], [73, 'forbidden.step_up'], path)
  }
  assert.equal((await visitor.call('/v1/balance')).code, 0)
  // A key signs, and is asked for nothing else.
  assert.equal((await anna.call('/v1/key/new', newKey('by key'))).code, 0)
  const old = visitor.cookie!
  const wrong = { password: PASSWORD, code: '000000' }
  assert.equal((await visitor.call('/session/step-up', wrong)).key, 'auth.sign_in')
  assert.equal((await visitor.call('/v1/key/new', newKey('x'))).key, 'forbidden.step_up')
  const code = codeAt(secret, world.now)
  await visitor.ask('/session/step-up', { password: PASSWORD, code })
  assert.equal((await visitor.call('/v1/key/new', newKey('by user'))).code, 0)
  // The token from before is worth nothing.
  world.wait(2)
  const stale = new Visitor(world.api)
  stale.cookie = old
  assert.equal((await stale.call('/v1/balance')).key, 'auth.session')
})

test('the last owner who can sign in stays one, even if two are taken out at once', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { type, json } = await worldOperator(world)
  const first = await joinedByPassword(world, { customer_id }, 'anna')
  await json('users', 'invite', customer_id, 'Never came')
  const last = /is the last owner/
  assert.match((await type('users', 'remove', first.user_id)).err, last)
  assert.match((await type('users', 'change', first.user_id, '--role', 'reader')).err, last)
  assert.equal((await first.visitor.call('/v1/keys/list')).code, 0)
  const second = await joinedByPassword(world, { customer_id }, 'berta')
  const others = [await worldOperator(world), await worldOperator(world)]
  const ends = await Promise.all(
    [first, second].map(({ user_id }, i) => others[i]!.type('users', 'remove', user_id)),
  )
  assert.deepEqual(ends.map(({ code }) => code).sort(), [0, 1])
  assert.match(ends.find(({ code }) => code === 1)!.err, last)
})
