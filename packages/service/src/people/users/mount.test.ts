// Which requests are of our own pages, what has caused them, and who asks by them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Type } from 'typebox'
import { Fault } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { type Customer, endpoint, type Scope } from '../../platform/wire/endpoint.ts'
import { portalFace } from './faces.ts'
import {
  causeOf,
  customerOf,
  requireOwnPage,
  requirePresence,
  sessionCookie,
  sessionMount,
} from './mount.ts'
import { beginSession, type Session, sessionReader } from './sessions.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
const FACE = portalFace('https://penstock.example', { life_hours: 2 })
const OWN = { origin: 'https://penstock.example', 'x-penstock': '1' }

test('a call is of our own page by its origin, our header, and the site it is sent from', () => {
  type Headers = Parameters<typeof requireOwnPage>[1]['headers']
  const isOwn = (method: string, headers: Headers) => {
    try {
      requireOwnPage(FACE, { method, headers, port: 80 })
      return true
    } catch {
      return false
    }
  }
  for (const [method, headers, expected] of [
    ['POST', OWN, true],
    ['POST', { ...OWN, 'sec-fetch-site': 'same-origin' }, true],
    ['POST', { ...OWN, 'sec-fetch-site': 'same-site' }, false],
    ['POST', { ...OWN, 'sec-fetch-site': 'none' }, false],
    ['POST', { ...OWN, origin: 'https://other.example' }, false],
    ['POST', { 'x-penstock': '1', 'sec-fetch-site': 'same-origin' }, false],
    ['POST', { ...OWN, 'x-penstock': '0' }, false],
    ['POST', { origin: OWN.origin, 'sec-fetch-site': 'same-origin' }, false],
    ['GET', { 'sec-fetch-site': 'same-origin' }, true],
    ['GET', { 'sec-fetch-site': 'none' }, true],
    ['GET', { ...OWN, 'sec-fetch-site': 'cross-site' }, false],
    ['GET', OWN, false],
  ] as const)
    assert.equal(isOwn(method, headers), expected, `${method} ${JSON.stringify(headers)}`)
})

test('a person has caused what a page posts and does not call unattended', () => {
  assert.equal(causeOf({ method: 'POST', headers: {} }), 'person')
  assert.equal(causeOf({ method: 'POST', headers: { 'x-penstock-unattended': '1' } }), 'page')
  assert.equal(causeOf({ method: 'GET', headers: {} }), 'page')
})

test('a cookie lasts as long as a session of its face, and none is taken away at once', () => {
  const cookie = (token: string | undefined) => sessionCookie(FACE, OWN.origin, token)
  assert.match(cookie('token'), /^__Host-penstock=token; Max-Age=7200;/)
  assert.match(cookie(undefined), /^__Host-penstock=; Max-Age=0;/)
})

const session: Session = {
  id: 'session',
  user_id: 'anna',
  customer_id: 'one',
  customer_name: 'One',
  customer_state: 'active',
  name: 'Anna',
  sign_in_name: 'anna',
  role: 'reader',
  daily_cap_sun: null,
  spends_from: null,
  receivers: null,
  made_at: NOW,
  used_at: NOW,
  ends_at: NOW,
  stepped_up_until: NOW,
}

test('who is signed in asks for the customer, as its user; of the house, for the house', () => {
  const { customer_id, key_id, daily_cap_sun, receivers } = customerOf(session)
  assert.deepEqual(
    [customer_id, key_id, daily_cap_sun, receivers],
    ['one', 'anna', undefined, undefined],
  )
  const isSuspended = (of: Partial<Session>) => customerOf({ ...session, ...of }).suspended
  assert.deepEqual(
    [
      isSuspended({}),
      isSuspended({ customer_state: 'suspended' }),
      isSuspended({ customer_id: null, customer_state: null, role: 'admin' }),
    ],
    [false, true, false],
  )
  assert.equal(customerOf({ ...session, daily_cap_sun: 0n }).daily_cap_sun, 0n)
})

test('a proof of presence holds until its moment, and not without one', () => {
  const isThere = (stepped_up_until: Date | null, now: Date, is_user = true) => {
    const { user } = customerOf({ ...session, stepped_up_until })
    const asks: Pick<Customer, 'user'> = is_user ? { user } : { user: undefined }
    try {
      requirePresence(asks, now)
      return true
    } catch (thrown) {
      assert.match((thrown as Error).message, /Show that you are there first/)
      return false
    }
  }
  const before = new Date(NOW.getTime() - 1)
  assert.deepEqual([isThere(NOW, before), isThere(NOW, NOW)], [true, false])
  assert.deepEqual([isThere(null, before), isThere(NOW, before, false)], [false, false])
})

const clock = { now: () => NOW }
const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)

const callOf = (scope: Scope[], careful = false) =>
  endpoint({
    path: '/v1/read',
    auth: 'signature',
    scope,
    careful,
    summary: 'Says nothing',
    body: Type.Object({}),
    reply: Type.Object({}),
    faults: [],
    handle: async () => ({}),
  })

const publicCall = endpoint({
  path: '/v1/public',
  auth: 'public',
  summary: 'Says nothing',
  body: Type.Object({}),
  reply: Type.Object({}),
  faults: [],
  handle: async () => ({}),
})

/** What is said of a fault, by its code and sub-key; undefined: there is none. */
const faultOf = (thrown: unknown) => {
  assert.ok(thrown instanceof Fault, `${thrown}`)
  return thrown.key
}

test('a user may call what its role opens, what is careful once proved there', async (t) => {
  const { sql } = await freshDatabase(t)
  const { mayAsk } = sessionMount({ clock, sessions: sessionReader({ sql, clock, seal }) }, FACE, {
    endpoints: [],
    streams: [],
  })
  const refusal = (call: Parameters<typeof mayAsk>[0], of: Partial<Session> = {}) => {
    try {
      mayAsk(call, customerOf({ ...session, ...of }))
      return undefined
    } catch (thrown) {
      return faultOf(thrown)
    }
  }
  assert.equal(refusal(callOf(['read'])), undefined)
  assert.equal(refusal(callOf(['buy'])), 'forbidden.role')
  assert.equal(refusal(callOf(['buy', 'read'])), undefined)
  assert.equal(refusal(callOf(['buy', 'money'])), 'forbidden.role')
  assert.equal(refusal(callOf(['buy', 'money']), { role: 'finance' }), undefined)
  assert.equal(refusal(publicCall), undefined)
  const later = new Date(NOW.getTime() + 1)
  assert.equal(refusal(callOf(['read'], true)), 'forbidden.step_up')
  assert.equal(refusal(callOf(['read'], true), { stepped_up_until: later }), undefined)
  assert.equal(refusal(callOf(['read'], false), { stepped_up_until: null }), undefined)
})

test('only one who has signed in is let in, over https, but to what is public', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into customer (id, name, deposit_index, deposit_address, created_at)
    values ('one', 'one', 0, ${'T'.padEnd(34, '1')}, ${NOW})`
  await sql`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by)
    values ('anna', 'one', 'Anna', 'reader', ${NOW}, 'olga')`
  const needs = { clock, seal, random: systemRandom, new_id: idMaker(clock, systemRandom) }
  const sessions = sessionReader({ sql, clock, seal })
  const admit = async (origin: string, call = callOf(['read']), headers: object = {}) => {
    const mount = sessionMount({ clock, sessions }, portalFace(origin), {
      endpoints: [],
      streams: [],
    })
    const visit = {
      endpoint: call,
      method: 'POST',
      headers: { origin, 'x-penstock': '1', ...headers },
      ip: '192.0.2.1',
      port: 443,
    }
    return mount.admit(visit).then((customer) => customer?.key_id ?? 'anybody', faultOf)
  }
  const place = { ip: '192.0.2.1', browser: 'a browser' }
  const { token } = await sql.begin((tx) =>
    beginSession(tx, needs, { user_id: 'anna', face: FACE, place }),
  )
  const cookies = { cookie: `__Host-penstock=${token}; penstock=${token}` }
  const insecure = 'http://penstock.example'
  for (const [origin, call, headers, expected] of [
    [OWN.origin, callOf(['read']), cookies, 'anna'],
    [OWN.origin, callOf(['read']), {}, 'auth.session'],
    [OWN.origin, publicCall, {}, 'anybody'],
    [OWN.origin, publicCall, { origin: 'https://other.example' }, 'auth.origin'],
    [insecure, callOf(['read']), cookies, 'forbidden.insecure'],
    [insecure, publicCall, {}, 'anybody'],
  ] as const)
    assert.equal(await admit(origin, call, headers), expected)
})
