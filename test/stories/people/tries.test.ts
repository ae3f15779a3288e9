// What tries to sign in leave behind: rows that say who it was, and no more of them than somebody
// could read, however many there were.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Options } from '../../harness/authenticator.ts'
import { codeAt, joinedByPasskey, joinedByPassword, PASSWORD } from '../../harness/users.ts'
import { Visitor } from '../../harness/visitor.ts'
import { makeWorld, type World } from '../../harness/world.ts'

const STRANGER = '203.0.113.5'
const NO_PASSKEY = {
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA' },
}

const outcomesOf = (world: World, ip: string) =>
  world.sql<{ way: string; outcome: string }>`
    select way, outcome from sign_in where ip = ${ip} and way not in ('link', 'join') order by id`

test('who tries a thousand times fills no table, and keeps nobody from a passkey', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { authenticator } = await joinedByPasskey(world, { customer_id })
  const stranger = new Visitor(world.api, { ip: STRANGER })
  const guess = { sign_in_name: 'bert', password: 'a guess of somebody', code: '123456' }
  let tries = 0
  for (const minute of [1, 2]) {
    for (let i = 0; i < 100; i++) {
      // Fewer at once than a network may ask for in a second.
      world.wait(0.1)
      const asked = [
        stranger.call('/session/password', guess),
        stranger.call('/session/recovery', { sign_in_name: 'bert', code: 'abcd' }),
        stranger.call('/session/passkey', { passkey: NO_PASSKEY }),
      ]
      for (const { code, status } of await Promise.all(asked))
        assert.ok(code === 1 || status === 429)
      tries += asked.length
    }
    const rows = await outcomesOf(world, STRANGER)
    assert.ok(rows.length <= minute * 70, `${rows.length} rows of ${tries} tries`)
    world.wait(61)
  }
  const { passkey } = await stranger.ask('/session/begin')
  const shown = { passkey: authenticator.get(passkey as Options) }
  assert.equal((await stranger.call('/session/passkey', shown)).code, 0)
  const rows = await outcomesOf(world, STRANGER)
  assert.deepEqual(rows.at(-1), { way: 'passkey', outcome: 'done' })
})

test('a proof of presence is one try, right or wrong', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret } = await joinedByPassword(world, { customer_id })
  world.wait(60)
  const stepUp = (password: string) =>
    visitor.call('/session/step-up', { password, code: codeAt(secret, world.now) })
  assert.equal((await stepUp('a guess of somebody')).key, 'auth.sign_in')
  assert.equal((await stepUp(PASSWORD)).code, 0)
  assert.deepEqual(await outcomesOf(world, '192.0.2.1'), [
    { way: 'step_up', outcome: 'failed' },
    { way: 'step_up', outcome: 'done' },
  ])
})

test("nobody is there by somebody else's passkey", async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const anna = await joinedByPasskey(world, { customer_id }, 'anna')
  const bert = await joinedByPasskey(world, { customer_id }, 'bert')
  const stepUpBy = async ({ authenticator }: typeof anna) => {
    const { passkey } = await anna.visitor.ask('/session/step-up')
    const shown = authenticator.get(passkey as Options)
    return anna.visitor.call('/session/step-up', { passkey: shown })
  }
  assert.equal((await stepUpBy(bert)).key, 'auth.sign_in')
  assert.equal((await stepUpBy(anna)).code, 0)
  assert.deepEqual(await outcomesOf(world, '192.0.2.1'), [
    { way: 'step_up', outcome: 'failed' },
    { way: 'step_up', outcome: 'done' },
  ])
})

test('a thief of a session who guesses keeps its user from no proof elsewhere', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret } = await joinedByPassword(world, { customer_id })
  const thief = new Visitor(world.api)
  thief.cookie = visitor.cookie
  const owner = new Visitor(world.api)
  world.wait(30)
  const typed = { sign_in_name: 'anna', password: PASSWORD, code: codeAt(secret, world.now) }
  await owner.ask('/session/password', typed)
  const guess = { password: 'a guess of somebody', code: '123456' }
  for (let i = 0; i < 12; i++) {
    assert.equal((await thief.call('/session/step-up', guess)).status, 200)
    world.wait(300)
  }
  assert.equal((await thief.call('/session/step-up', guess)).status, 200)
  world.wait(30)
  assert.equal((await thief.call('/session/step-up', guess)).status, 429)
  const code = codeAt(secret, world.now)
  assert.equal((await owner.call('/session/step-up', { password: PASSWORD, code })).code, 0)
})

test('no name that is typed makes the proofs of one who is signed in wait', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret, user_id } = await joinedByPassword(world, { customer_id })
  const stranger = new Visitor(world.api, { ip: STRANGER })
  const guess = { password: 'a guess of somebody', code: '123456' }
  const { session } = await visitor.ask('/session/begin')
  const { id } = session as { id: string }
  for (const sign_in_name of [`step_up:${id}`, `session:${id}`, id, user_id])
    for (let i = 0; i < 8; i++) {
      await stranger.call('/session/password', { sign_in_name, ...guess })
      world.wait(300)
    }
  const code = codeAt(secret, world.now)
  const proof = await visitor.call('/session/step-up', { password: PASSWORD, code })
  assert.equal(proof.code, 0)
})

/** Strangers guess at a name from so many networks that whoever is not known has to wait. */
async function guessAt(world: World, sign_in_name: string): Promise<void> {
  for (let i = 0; i < 41; i++) {
    const stranger = new Visitor(world.api, { ip: `198.${i}.100.7` })
    const guess = { sign_in_name, password: 'a guess of somebody', code: '123456' }
    await stranger.call('/session/password', guess)
    await stranger.call('/session/recovery', { sign_in_name, code: 'abcd' })
    world.wait(0.5)
  }
}

test('who knows a name keeps out no browser and no network that has signed it in', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret, recovery_codes } = await joinedByPassword(world, { customer_id })
  const signIn = (by: Visitor, password = PASSWORD) => {
    world.wait(30)
    const code = codeAt(secret, world.now)
    return by.call('/session/password', { sign_in_name: 'anna', password, code })
  }
  assert.equal((await signIn(visitor)).code, 0)
  await guessAt(world, 'anna')
  const elsewhere = new Visitor(world.api, { ip: '203.0.113.77' })
  const typed = { sign_in_name: 'anna', password: PASSWORD, code: codeAt(secret, world.now) }
  assert.equal((await elsewhere.call('/session/password', typed)).status, 429)
  // The network, with another browser; and the browser, in another network.
  assert.equal((await signIn(new Visitor(world.api))).code, 0)
  elsewhere.browser_cookie = visitor.browser_cookie
  assert.equal((await signIn(elsewhere)).code, 0)
  // Nobody is kept from a code on paper.
  const far = new Visitor(world.api, { ip: '203.0.113.88' })
  const on_paper = { sign_in_name: 'anna', code: recovery_codes[0] }
  assert.equal((await far.call('/session/recovery', on_paper)).code, 0)
  // Whoever has the browser guesses no more than others, and keeps nobody else out.
  const thief = new Visitor(world.api, { ip: '203.0.113.99' })
  thief.browser_cookie = visitor.browser_cookie
  const guesses: number[] = []
  for (let i = 0; i < 12; i++) guesses.push((await signIn(thief, 'a guess')).status)
  assert.deepEqual([guesses.slice(0, 6), guesses.at(-1)], [Array(6).fill(200), 429])
  assert.equal((await signIn(new Visitor(world.api))).code, 0)
})

test('a browser is known for the names that it has signed in with, and by our mark', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const anna = await joinedByPassword(world, { customer_id }, 'anna')
  const bert = await joinedByPassword(world, { customer_id }, 'bert')
  await guessAt(world, 'anna')
  const given = anna.visitor.browser_cookie!
  const [id = '', mark] = given.split(/[=~]/).slice(1)
  const own = bert.visitor.browser_cookie!
  const cookies = [own, `${own}~${mark}`, given.replace(id, own.split(/[=~]/)[1]!), `${given}x`]
  world.wait(1)
  const tryWith = (browser_cookie: string) => {
    const visitor = new Visitor(world.api, { ip: STRANGER })
    visitor.browser_cookie = browser_cookie
    const code = codeAt(anna.secret, world.now)
    return visitor.call('/session/password', { sign_in_name: 'anna', password: PASSWORD, code })
  }
  for (const one of cookies) assert.equal((await tryWith(one)).status, 429, one)
  assert.equal((await tryWith(given)).code, 0)
})

test('strangers at hundreds of addresses do not close the door', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret } = await joinedByPassword(world, { customer_id })
  await joinedByPassword(world, { customer_id }, 'bert')
  const signIn = async (by: Visitor) => {
    world.wait(30)
    const typed = { sign_in_name: 'anna', password: PASSWORD, code: codeAt(secret, world.now) }
    return (await by.call('/session/password', typed)).code
  }
  assert.equal(await signIn(visitor), 0)
  const outcomes: number[] = []
  let tries = 0
  const attack = (n: number) =>
    Array.from({ length: n }, () => {
      tries += 1
      const ip = `127.${tries % 250}.${Math.floor(tries / 250)}.9`
      const sign_in_name = tries % 5 === 0 ? 'bert' : `name${tries}`
      const guess = { sign_in_name, password: 'a guess of somebody', code: '123456' }
      return new Visitor(world.api, { ip }).call('/session/password', guess)
    })
  for (let round = 0; round < 10; round++) {
    const under_way = attack(75)
    // By its browser, by its network, and, as its name is not guessed at, by neither.
    const [elsewhere, other] = ['203.0.113.7', `198.51.100.${round}`].map(
      (ip) => new Visitor(world.api, { ip }),
    )
    elsewhere!.browser_cookie = visitor.browser_cookie
    for (const one of [elsewhere!, new Visitor(world.api), other!]) outcomes.push(await signIn(one))
    await Promise.all(under_way)
  }
  assert.deepEqual(outcomes, Array(30).fill(0))
})
