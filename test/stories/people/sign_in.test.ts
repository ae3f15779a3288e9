// Joining by a link, and signing in by a passkey, by a password with codes, by a code on paper:
// what is taken, what is refused, and that a refusal says nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { type Alteration, Authenticator, type Options } from '../../harness/authenticator.ts'
import {
  codeAt,
  joinedByPasskey,
  joinedByPassword,
  linkFor,
  PASSWORD,
} from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld } from '../../harness/world.ts'

test('somebody who is invited joins with a password and codes, and signs in again', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret, token, recovery_codes } = await joinedByPassword(world, { customer_id })
  assert.equal((await visitor.call('/v1/balance')).code, 0)
  assert.equal(new Set(recovery_codes).size, 10)
  const again = await new Visitor(world.api).call('/session/join', { token })
  const unknown = await new Visitor(world.api).call('/session/join', { token: 'x'.repeat(43) })
  assert.deepEqual([again.key, again.error], ['auth.link', unknown.error])
  const other = new Visitor(world.api)
  const typed = { sign_in_name: ' Anna', password: PASSWORD, code: codeAt(secret, world.now) }
  assert.equal((await other.call('/session/password', typed)).key, 'auth.sign_in')
  world.wait(30)
  const fresh = { ...typed, code: codeAt(secret, world.now) }
  assert.equal((await other.call('/session/password', fresh)).code, 0)
  assert.equal((await other.call('/v1/balance')).code, 0)
  const second = await new Visitor(world.api).call('/session/password', fresh)
  assert.equal(second.key, 'auth.sign_in')
})

test('a link works until its time is over, and not at that moment', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const [{ token }, other] = [
    await linkFor(world, { customer_id }, 'join'),
    await linkFor(world, { customer_id }),
  ]
  world.wait(72 * 3_600 - 1)
  const page = new Visitor(world.api)
  assert.equal((await page.call('/session/join', { token })).code, 0)
  world.wait(1)
  assert.equal((await page.call('/session/join', { token })).key, 'auth.link')
  assert.equal((await page.call('/session/link', { token: other.token })).key, 'auth.link')
})

test('a link is for one: expired, raced for and foreign ones let nobody in', async (t) => {
  const world = await makeWorld(t)
  const [anna, bert] = [await world.customer(), await world.customer()]
  const { token } = await linkFor(world, { customer_id: anna.id }, 'join')
  const visitors = Array.from({ length: 4 }, () => new Visitor(world.api))
  const asked = await Promise.all(visitors.map((one) => one.ask('/session/join', { token })))
  const joining = visitors.map((one, i) => {
    const made = new Authenticator().create(asked[i]!.passkey as Options)
    return one.call('/session/join', { token, sign_in_name: `name${i}`, passkey: made })
  })
  const codes = (await Promise.all(joining)).map(({ code }) => code)
  assert.deepEqual(codes.sort(), [0, 1, 1, 1])
  // What was made for one link is worth nothing at another.
  const first = await linkFor(world, { customer_id: anna.id }, 'join')
  const second = await linkFor(world, { customer_id: bert.id }, 'join')
  const visitor = new Visitor(world.api)
  const { passkey, totp } = await visitor.ask('/session/join', { token: first.token })
  const made = new Authenticator().create(passkey as Options)
  const foreign = { token: second.token, sign_in_name: 'carl' }
  const by_passkey = await visitor.call('/session/join', { ...foreign, passkey: made })
  assert.equal(by_passkey.key, 'invalid_service_or_params.passkey')
  const { secret, offer } = totp as { secret: string; offer: string }
  const code = codeAt(secret, world.now)
  const by_code = { ...foreign, password: PASSWORD, code, offer }
  assert.equal(
    (await visitor.call('/session/join', by_code)).key,
    'invalid_service_or_params.offer',
  )
  world.wait(72 * 3_600 + 1)
  assert.equal((await visitor.call('/session/join', { token: first.token })).key, 'auth.link')
})

const present = (bits: number): Alteration => ({ flags: bits })
const flip = (name: string, at: number): Alteration => ({
  after: (response) => {
    const bytes = Buffer.from(response[name]!, 'base64url')
    bytes[at < 0 ? bytes.length + at : at]! ^= 1
    response[name] = bytes.toString('base64url')
  },
})
const OTHER = 'https://api.example.com.evil.example'

/** What nobody may sign in with. */
const ALTERED: readonly Alteration[] = [
  { origin: OTHER },
  { origin: 'http://api.example.com' },
  { origin: 'https://api.example.com:8443' },
  { origin: 'https://console.example.com' },
  { origin: 'null' },
  { origin: '' },
  { type: 'webauthn.create' },
  { type: 'payment.get' },
  { type: '' },
  { challenge: '' },
  { challenge: Buffer.from('k1.AAAA').toString('base64url') },
  { challenge: 'x'.repeat(200) },
  { crossOrigin: true },
  { crossOrigin: true, topOrigin: OTHER },
  { topOrigin: 'https://api.example.com' },
  { rp_id: 'evil.example' },
  { rp_id: 'example.com' },
  present(0x00),
  present(0x01),
  present(0x04),
  present(0x40),
  { stranger: true },
  { id: 'A'.repeat(43) },
  { id: '' },
  flip('signature', -1),
  flip('signature', 8),
  flip('authenticatorData', 0),
  flip('authenticatorData', 32),
  flip('authenticatorData', 36),
  flip('clientDataJSON', 20),
  { after: (response) => (response.authenticatorData = '') },
  { after: (response) => (response.clientDataJSON = 'AAAA') },
  { after: (response) => (response.signature = '') },
]

test('thirty altered answers of a passkey are refused, the right one is not', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { authenticator, user_id } = await joinedByPasskey(world, { customer_id })
  const visitor = new Visitor(world.api)
  const begin = async () => (await visitor.ask('/session/begin')).passkey as Options
  assert.ok(ALTERED.length >= 30)
  for (const altered of ALTERED) {
    const passkey = authenticator.get(await begin(), altered)
    const { code, key } = await visitor.call('/session/passkey', { passkey })
    assert.notEqual(code, 0, JSON.stringify(altered))
    assert.match(String(key), /^auth.sign_in$|params.passkey$/, JSON.stringify(altered))
    assert.equal(visitor.cookie, undefined)
  }
  const passkey = authenticator.get(await begin())
  const { session } = await visitor.ask('/session/passkey', { passkey })
  assert.equal((session as { user: { id: string } }).user.id, user_id)
  // The same answer once more, and one to a challenge that is too old.
  const other = new Visitor(world.api)
  assert.equal((await other.call('/session/passkey', { passkey })).key, 'auth.sign_in')
  const late = (await other.ask('/session/begin')).passkey as Options
  world.wait(301)
  const answer = authenticator.get(late)
  assert.equal((await other.call('/session/passkey', { passkey: answer })).key, 'auth.sign_in')
  const stepping = (await visitor.ask('/session/step-up')).passkey as Options
  const for_step = authenticator.get(stepping)
  assert.equal((await other.call('/session/passkey', { passkey: for_step })).key, 'auth.sign_in')
  assert.notEqual((await visitor.ask('/session/step-up', { passkey: for_step })).session, null)
})

test('a passkey whose counter goes back stays off, and it is told', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { authenticator } = await joinedByPasskey(world, { customer_id })
  const visitor = new Visitor(world.api)
  const begin = async () => (await visitor.ask('/session/begin')).passkey as Options
  for (const counter of [7, 7, 8]) {
    const passkey = authenticator.get(await begin(), { counter })
    const { code } = await visitor.call('/session/passkey', { passkey })
    assert.equal(code, counter === 7 && authenticator.counter === 1 ? 0 : 1)
    visitor.cookie = undefined
  }
  await world.drain()
  const told = await world.sql<{ type: string }>`
    select type from event where customer_id = ${customer_id} order by number desc limit 1`
  assert.equal(told[0]!.type, 'user.changed')
})

test('an unknown name, a wrong password and a wrong code: one answer', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { secret } = await joinedByPassword(world, { customer_id })
  const { passwords } = world.app.sign_in
  world.wait(60)
  const right = { sign_in_name: 'anna', password: PASSWORD, code: codeAt(secret, world.now) }
  const wrong = { password: 'wrong horse battery', code: '000000' }
  const typed = [
    { ...right, sign_in_name: 'nobody' },
    { ...right, password: wrong.password },
    { ...right, code: wrong.code },
    { ...right, ...wrong },
    { ...right, sign_in_name: 'Robert"); drop' },
  ]
  const errors = new Set<string>()
  for (const one of typed) {
    const before = passwords.count
    const { code, key, error } = await new Visitor(world.api).call('/session/password', one)
    errors.add(`${code} ${key} ${error}`)
    const is_somebodys = one.sign_in_name === 'anna'
    const hashed = passwords.count - before
    assert.ok(is_somebodys ? hashed === 1 : hashed <= 1)
  }
  assert.equal(errors.size, 1)
})

test('who guesses waits longer and longer, and a passkey still opens', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { secret } = await joinedByPassword(world, { customer_id })
  const { authenticator } = await joinedByPasskey(world, { customer_id })
  const guess = (ip: string, sign_in_name = 'anna') =>
    new Visitor(world.api, { ip }).call('/session/password', {
      sign_in_name,
      password: 'a guess of somebody',
      code: '123456',
    })
  for (let i = 0; i < 5; i++) assert.equal((await guess(`198.51.100.${i}`)).status, 200)
  assert.equal((await guess('198.51.100.9')).status, 429)
  world.wait(3)
  assert.equal((await guess('198.51.100.9')).status, 200)
  world.wait(3)
  const { status, headers } = await guess('198.51.100.9')
  assert.deepEqual([status, headers['retry-after']], [429, '1'])
  // Of one address, whatever the name.
  for (let i = 0; i < 20; i++) await guess('203.0.113.5', `name${i}`)
  assert.equal((await guess('203.0.113.5', 'somebody')).status, 429)
  const visitor = new Visitor(world.api, { ip: '203.0.113.5' })
  const options = (await visitor.ask('/session/begin')).passkey as Options
  const passkey = authenticator.get(options)
  assert.equal((await visitor.call('/session/passkey', { passkey })).code, 0)
  world.wait(3_601)
  const typed = { sign_in_name: 'anna', password: PASSWORD, code: codeAt(secret, world.now) }
  assert.equal((await visitor.call('/session/password', typed)).code, 0)
})

test('a code on paper signs in once, ends the other sessions, and is told', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, recovery_codes } = await joinedByPassword(world, { customer_id })
  const [code] = recovery_codes as [string]
  // 112 bits, five a letter.
  assert.equal(code.replaceAll('-', '').length, 23)
  const other = new Visitor(world.api)
  const typed = { sign_in_name: 'anna', code: code.toUpperCase().replaceAll('-', ' ') }
  assert.equal((await other.call('/session/recovery', typed)).code, 0)
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
  assert.equal((await other.call('/v1/balance')).code, 0)
  const twice = await new Visitor(world.api).call('/session/recovery', typed)
  assert.equal(twice.key, 'auth.sign_in')
  const fresh = (await other.ask('/session/recovery/new')).recovery_codes as string[]
  assert.equal(new Set([...fresh, ...recovery_codes]).size, 20)
})

test('what somebody has lets nobody in by another name, and is not used up', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const anna = await joinedByPassword(world, { customer_id })
  await joinedByPasskey(world, { customer_id }, 'bert')
  world.wait(30)
  const code = codeAt(anna.secret, world.now)
  const [on_paper] = anna.recovery_codes
  for (const sign_in_name of ['nobody', 'bert']) {
    const visitor = new Visitor(world.api)
    const by_password = { sign_in_name, password: PASSWORD, code }
    assert.equal((await visitor.call('/session/password', by_password)).key, 'auth.sign_in')
    const by_paper = { sign_in_name, code: on_paper }
    assert.equal((await visitor.call('/session/recovery', by_paper)).key, 'auth.sign_in')
  }
  const own = { sign_in_name: 'anna', password: PASSWORD, code }
  assert.equal((await new Visitor(world.api).call('/session/password', own)).code, 0)
  const own_paper = { sign_in_name: 'anna', code: on_paper }
  assert.equal((await new Visitor(world.api).call('/session/recovery', own_paper)).code, 0)
})

test('a refusal is as many statements whether somebody has the name, or nobody', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { secret } = await joinedByPassword(world, { customer_id })
  const queries = t.mock.method(Client.prototype, 'query')
  const statementsOf = async (path: string, body: object) => {
    queries.mock.resetCalls()
    assert.equal((await new Visitor(world.api).call(path, body)).key, 'auth.sign_in')
    // What took long on a busy machine is planned anew: not a part of the answer.
    return queries.mock.calls.filter(({ arguments: [first] }) => String(first) !== 'discard plans')
      .length
  }
  const right = codeAt(secret, world.now)
  const wrong = String((Number(right) + 1) % 1_000_000).padStart(6, '0')
  const password = 'another horse battery'
  const counts: number[] = []
  for (const body of [
    { sign_in_name: 'nobody', password, code: wrong },
    { sign_in_name: 'anna', password, code: wrong },
    { sign_in_name: 'anna', password, code: right },
    { sign_in_name: 'anna', password: PASSWORD, code: wrong },
  ])
    counts.push(await statementsOf('/session/password', body))
  assert.deepEqual(counts, Array(4).fill(counts[0]))
  assert.ok(counts[0]! > 3)
  const on_paper: number[] = []
  for (const sign_in_name of ['nobody', 'anna'])
    on_paper.push(await statementsOf('/session/recovery', { sign_in_name, code: 'aaaa-bbbb' }))
  assert.deepEqual(on_paper, Array(2).fill(on_paper[0]))
  assert.ok(on_paper[0]! > 3)
})

test('a code of another script is none, and leaves no try open', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  await joinedByPassword(world, { customer_id })
  for (const code of ['\u0660\u0661\u0662\u0663\u0664\u0665', '12345\u00e9', '12345\u2028', '']) {
    const body = { sign_in_name: 'anna', password: PASSWORD, code }
    assert.equal((await new Visitor(world.api).call('/session/password', body)).key, 'auth.sign_in')
  }
  const outcomes = await world.sql`select outcome from sign_in where way = 'password'`
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    Array(4).fill('failed'),
  )
})

test('once the code of a moment was used, one of a moment before is worth nothing', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { secret } = await joinedByPassword(world, { customer_id })
  world.wait(60)
  const seen = codeAt(secret, world.now)
  world.wait(30)
  const signIn = (code: string) =>
    new Visitor(world.api).call('/session/password', {
      sign_in_name: 'anna',
      password: PASSWORD,
      code,
    })
  assert.equal((await signIn(codeAt(secret, world.now))).code, 0)
  assert.equal((await signIn(seen)).key, 'auth.sign_in', 'it would be good for half a minute more')
})
