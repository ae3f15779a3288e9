// Those who run the service let people in and sign them out.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { totpContext } from 'penstock-service/people/sign_in/codes.ts'
import { readSealingKeys, sealWith } from 'penstock-service/platform/seal/seal.ts'
import { sealingKeys } from 'penstock-service/run/program/sealing_keys.ts'
import { SEALING_KEY, worldOperator } from '../../harness/operator.ts'
import { joinedByPassword, signedIn } from '../../harness/users.ts'
import { makeWorld } from '../../harness/world.ts'

test('an operator lets somebody in, sees the session and ends it', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { json } = await worldOperator(world)
  const { link } = await json<{ link: string }>('users', 'invite', customer_id, 'Bert')
  assert.match(link, /\/portal\/join#[\w-]{43}$/)
  const visitor = await signedIn(world, { customer_id })
  const list = ['sessions', 'list', '--customer', customer_id]
  const [session] = await json<{ id: string; user_id: string }[]>(...list)
  assert.equal(session!.user_id, visitor.user_id)
  assert.equal((await json<{ ended: number }>('sessions', 'end', session!.id)).ended, 1)
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
})

test('sealed again with another key, the codes of a phone are known as before', async (t) => {
  const world = await makeWorld(t)
  const { json, io } = await worldOperator(world)
  const { id: customer_id } = await world.customer()
  const { user_id, secret } = await joinedByPassword(world, { customer_id })
  const fresh = `k2:${'08'.repeat(32)}`
  const start = (secret_key: string | undefined) =>
    sealingKeys({ data_dir: '/nowhere', secret_key }, world.sql, world.sql)
  // Nothing but the codes needs the old key any more.
  const [key] = await json<{ id: string }[]>('keys', 'list', customer_id)
  await json('keys', 'revoke', key!.id)
  io.env.PENSTOCK_SECRET_KEY = `${fresh},k1:${SEALING_KEY}`
  await json('receipts', 'rotate', '--reason', 'test')
  await assert.rejects(start(fresh), /another key k1\./)
  await assert.rejects(start(undefined), /set PENSTOCK_SECRET_KEY/)
  // The secrets of the revoked key and of the codes.
  assert.deepEqual(await json('keys', 'reseal'), { resealed: 2 })
  assert.deepEqual(await json('keys', 'reseal'), { resealed: 0 })
  assert.equal((await start(fresh)).current, 'k2')
  const [row] = await world.sql<{ sealed_totp: string }>`select sealed_totp from user_password`
  const seal = sealWith(readSealingKeys(fresh)!, systemRandom)
  assert.equal(seal.open(row!.sealed_totp, totpContext(user_id)), secret)
})

test('whose sealing key is lost gets a new link, and the old password is gone', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { json } = await worldOperator(world)
  const { user_id, visitor } = await joinedByPassword(world, { customer_id })
  const list = ['users', 'list', customer_id]
  assert.deepEqual(
    (await json<{ totp: boolean }[]>(...list)).map(({ totp }) => totp),
    [true],
  )
  await json('users', 'recover', user_id)
  assert.deepEqual(
    (await json<{ totp: boolean }[]>(...list)).map(({ totp }) => totp),
    [false],
  )
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
})

test('the link of an operator begins where the console is reached', async (t) => {
  const world = await makeWorld(t)
  const { json, io } = await worldOperator(world)
  const invite = async (name: string) => {
    const { id, link } = await json<{ id: string; link: string }>('operators', 'invite', name)
    return { id, base: link.replace(/#[\w-]{43}$/, '') }
  }
  assert.equal((await invite('Carl')).base, 'http://localhost:8081/console/join')
  io.env.PENSTOCK_CONSOLE_URL = 'https://console.example.com'
  const { id, base } = await invite('Dora')
  assert.equal(base, 'https://console.example.com/console/join')
  const { link } = await json<{ link: string }>('operators', 'recover', id)
  assert.ok(link.startsWith(`${base}#`))
})
