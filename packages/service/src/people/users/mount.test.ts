// Which requests are of our own pages, what has caused them, and who asks by them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Customer } from '../../platform/wire/endpoint.ts'
import { portalFace } from './faces.ts'
import { causeOf, customerOf, requireOwnPage, requirePresence, sessionCookie } from './mount.ts'
import type { Session } from './sessions.ts'

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
