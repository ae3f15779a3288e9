// How a page begins, by face and address, and which links sign in at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PAGES, withSignIn } from 'penstock-test/harness/sign_in_pages.ts'
import { portalFace } from '../users/faces.ts'
import { sessionReader } from '../users/sessions.ts'
import { giveToken, signedIn } from './begin.ts'

const PLAIN = 'http://pages.example'
const ADDRESS = 'https://192.0.2.80'

type FirstPage = {
  session: {
    user: { id: string }
    customer: { id: string; name: string } | null
    stepped_up_until: string | null
  } | null
  event_number: number | null
  sign_in_possible: boolean
  passkeys_possible: boolean
  sign_up_possible: boolean
  passkey: object | null
  why_not: string | null
}

test('a page says what one can sign in with, by its address and its face', async (t) => {
  const { page } = await withSignIn(t)
  const found = async (origin: string, face: 'portal' | 'console' = 'portal', sign_up = true) => {
    const said = await page({ origin, face }, { sign_up }).ask<FirstPage>('/session/begin')
    assert.deepEqual([said.session, said.event_number], [null, null])
    assert.equal(said.why_not === null, said.passkeys_possible)
    assert.equal(said.passkey !== null, said.passkeys_possible)
    return [said.sign_in_possible, said.passkeys_possible, said.sign_up_possible]
  }
  assert.deepEqual(await found(PAGES), [true, true, true])
  assert.deepEqual(await found(PAGES, 'portal', false), [true, true, false])
  assert.deepEqual(await found(PAGES, 'console'), [true, true, false])
  assert.deepEqual(await found(ADDRESS), [true, false, true])
  assert.deepEqual(await found(PLAIN), [false, false, false])
})

test('one who is signed in is told who that is, and offered no passkey', async (t) => {
  const { sql, joinByPassword } = await withSignIn(t)
  const anna = await joinByPassword('anna')
  const olga = await joinByPassword('olga', { customer_id: null, role: 'admin' })
  await sql`insert into event_counter (customer_id, last_number) values ('alpha', 7)`
  const shown = await anna.page.ask<FirstPage>('/session/begin')
  assert.equal(shown.session?.user.id, anna.user_id)
  assert.deepEqual(shown.session?.customer, { id: 'alpha', name: 'alpha' })
  assert.equal(shown.session?.stepped_up_until, '2026-10-08T15:31:32Z')
  assert.deepEqual([shown.event_number, shown.passkey, shown.why_not], [7, null, null])
  const house = await olga.page.ask<FirstPage>('/session/begin')
  assert.deepEqual([house.session?.user.id, house.session?.customer], [olga.user_id, null])
  await sql`update user_session set step_up_mark = 'none'`
  const unproved = await anna.page.ask<FirstPage>('/session/begin')
  assert.equal(unproved.session?.stepped_up_until, null)
})

test('a link that signs in does so once, at the face of its user', async (t) => {
  const { sql, page, invite } = await withSignIn(t)
  const follow = (token: string, face: 'portal' | 'console' = 'portal') =>
    page({ face }).refusal('/session/link', { token })
  const house = { customer_id: null, role: 'admin' }
  const [anna, olga] = [await invite({}, 'sign_in'), await invite(house, 'sign_in')]
  for (const [name, token, face] of [
    ['no token', `${'a'.repeat(42)}.`, 'portal'],
    ['unknown at the portal', 'a'.repeat(43), 'portal'],
    ['unknown at the console', 'a'.repeat(43), 'console'],
    ['to join', (await invite()).token, 'portal'],
    ['to join the house', (await invite(house)).token, 'console'],
    ['of a customer at the console', anna.token, 'console'],
    ['of the house at the portal', olga.token, 'portal'],
  ] as const)
    assert.equal(await follow(token, face), 'auth.link', name)
  const joined = async () => (await sql`select 1 from event_note where type = 'user.joined'`).length
  const { token } = anna
  const plain = page({ origin: PLAIN })
  assert.equal(await plain.refusal('/session/link', { token }), 'forbidden.insecure')
  assert.equal(await follow(anna.token), undefined)
  assert.equal(await joined(), 1)
  assert.equal(await follow(anna.token), 'auth.link', 'once')
  assert.equal(await follow(olga.token, 'console'), undefined)
  assert.equal(await joined(), 2)
  await sql`update user_link set used_at = null`
  assert.equal(await follow(anna.token), undefined)
  assert.equal(await joined(), 2, 'one who has joined does not join again')
})

test('a link that is used, or whose user ends, while it is followed is none', async (t) => {
  const { sql, outrun, page, invite } = await withSignIn(t)
  for (const change of [
    'update user_link set used_at = made_at',
    'update service_user set ended_at = invited_at',
  ]) {
    const { token } = await invite({}, 'sign_in')
    const follow = () => page().refusal('/session/link', { token })
    assert.equal(await outrun(change, follow), 'auth.link', change)
  }
  assert.equal((await sql`select 1 from user_session`).length, 0)
})

test('a token of no session signs nobody in', async (t) => {
  const { needs } = await withSignIn(t)
  const face = portalFace(PAGES)
  const sessions = sessionReader(needs)
  await assert.rejects(signedIn({ sessions, face }, 'a'.repeat(43)), /has ended at once/)
  const asked = { headers: { origin: PAGES }, ip: '', reply_headers: {}, request_id: '' }
  giveToken({ face }, asked, undefined)
  assert.match(String(Object.values(asked.reply_headers)), /Max-Age=0/)
})
