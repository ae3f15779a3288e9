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

test('no name that is typed makes the proofs of one who is signed in wait', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, secret, user_id } = await joinedByPassword(world, { customer_id })
  const stranger = new Visitor(world.api, { ip: STRANGER })
  const guess = { password: 'a guess of somebody', code: '123456' }
  for (const sign_in_name of [`step_up:${user_id}`, `user:${user_id}`, user_id])
    for (let i = 0; i < 8; i++) {
      await stranger.call('/session/password', { sign_in_name, ...guess })
      world.wait(300)
    }
  const code = codeAt(secret, world.now)
  const proof = await visitor.call('/session/step-up', { password: PASSWORD, code })
  assert.equal(proof.code, 0)
})
