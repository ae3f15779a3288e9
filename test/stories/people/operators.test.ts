// Those who run the service let people in and sign them out.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { totpContext } from 'penstock-service/people/sign_in/codes.ts'
import { readSealingKeys, sealWith } from 'penstock-service/platform/seal/seal.ts'
import { sealingKeys } from 'penstock-service/run/program/sealing_keys.ts'
import { worldConsole } from '../../harness/console.ts'
import { SEALING_KEY, worldOperator } from '../../harness/operator.ts'
import { joinedByPassword, signedIn } from '../../harness/users.ts'
import { Customer, makeWorld } from '../../harness/world.ts'

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

test('with an operator end the sessions, and the links that nobody has followed', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const anna = await joinedByPassword(world, { customer_id })
  const { signIn, json, type } = await worldConsole(t, world)
  const [olga, eve] = [await signIn('olga', 'admin'), await signIn('eve', 'admin')]
  const linked = (who: typeof eve, ...words: string[]) =>
    json<{ id: string }>([...words, '--reason', 'test'], who)
  const carl = await linked(eve, 'operators', 'invite', 'Carl', '--role', 'admin')
  const mallory = await linked(eve, 'users', 'invite', customer_id, 'Mallory')
  await linked(eve, 'users', 'recover', anna.user_id)
  const dora = await linked(olga, 'operators', 'invite', 'Dora')
  // Of one for whom somebody else has made a link since, it is not hers.
  const fred = await linked(eve, 'operators', 'invite', 'Fred')
  await linked(olga, 'operators', 'recover', fred.id)
  const users = await json<{ id: string; name: string }[]>(['operators', 'list'], olga)
  const { id } = users.find(({ name }) => name === 'eve')!
  await json(['operators', 'remove', id, '--reason', 'left'], olga)
  const idsOf = (rows: { id: string }[]) => rows.map((row) => row.id).sort()
  const open = await world.sql<{ id: string }>`
    select user_id as id from user_link where used_at is null`
  assert.deepEqual(idsOf(open), [dora.id, fred.id].sort())
  const gone = await world.sql<{ id: string }>`
    select id from service_user where ended_at is not null`
  assert.deepEqual(idsOf(gone), [id, carl.id, mallory.id].sort())
  for (const user_id of [carl.id, mallory.id, anna.user_id]) {
    const list = ['actions', 'list', '--subject', `user:${user_id}`]
    const [record] = await json<{ action: string; made_by: string }[]>(list, olga)
    assert.deepEqual([record!.action, record!.made_by], ['operators remove', 'olga'])
  }
  world.wait(2)
  assert.equal((await type(['services', 'list'], eve)).key, 'auth.session')
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

test('who seals anew learns until when what waits needs the older key', async (t) => {
  const world = await makeWorld(t)
  const { type, json, io } = await worldOperator(world)
  const { id: customer_id } = await world.customer()
  const [key] = await json<{ id: string }[]>('keys', 'list', customer_id)
  io.env.PENSTOCK_SECRET_KEY = `k2:${'08'.repeat(32)},k1:${SEALING_KEY}`
  const noted = async () => / until (\S+Z), /.exec((await type('keys', 'reseal')).out)?.[1]
  assert.equal(await noted(), undefined)
  const later = (minutes: number) => new Date(world.now.getTime() + 60_000 * minutes)
  const pairing = async (id: string, sealed: string | null, ends_at: Date) => world.sql`
    insert into pairing (id, code_hash, poll_hash, name, ip, network, made_at, ends_at,
      approved_at, customer_id, key_id, sealed_key)
    values (${id}, ${id}, ${id}, ${id}, '192.0.2.1', '192.0.2.1', ${world.now}, ${ends_at},
      ${world.now}, ${customer_id}, ${key!.id}, ${sealed})`
  await pairing('before', 'k1.sealed', later(5))
  await pairing('anew', 'k2.sealed', later(9))
  await pairing('over', 'k1.sealed', later(-1))
  assert.equal(await noted(), later(5).toISOString())
  await world.sql`
    insert into sign_up (id, email, language, network, made_at, ends_at, token_hash, sealed_token,
      due_at)
    values ('a', 'a@b.example', 'en', '192.0.2.1', ${world.now}, ${later(600)}, 'a', 'k1.sealed',
      ${world.now})`
  assert.equal(await noted(), later(600).toISOString())
  await world.sql`update sign_up set sealed_token = null`
  assert.equal(await noted(), later(5).toISOString())
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

test('a rotated secret signs, and the one before for as long as was said', async (t) => {
  const world = await makeWorld(t)
  const { json, type, io } = await worldOperator(world)
  const anna = await world.customer()
  const issued = { ...anna, ...(await json<IssuedKey>('keys', 'issue', anna.id)) }
  const { key_id } = issued
  const rotate = (...more: string[]) => json<RotatedKey>('keys', 'rotate', key_id, ...more)
  const codeBy = async (secret: string) => {
    world.wait(2)
    return (await new Customer(world, { ...issued, secret }).call('/v1/balance')).code
  }
  const second = await rotate()
  assert.equal(Date.parse(second.old_secret_until!) - world.now.getTime(), 24 * 3_600_000)
  assert.deepEqual([await codeBy(issued.secret), await codeBy(second.secret)], [0, 0])
  const refused = await type('keys', 'rotate', key_id)
  assert.deepEqual(
    [refused.code, refused.err],
    [1, `Two secrets of the key ${key_id} sign already: wait, or end both by --overlap-hours 0.\n`],
  )
  const third = await rotate('--overlap-hours', '0')
  assert.equal(third.old_secret_until, null)
  assert.deepEqual(
    [await codeBy(issued.secret), await codeBy(second.secret), await codeBy(third.secret)],
    [1, 1, 0],
  )
  const fourth = await rotate('--overlap-hours', '1')
  world.wait(3_601)
  assert.deepEqual([await codeBy(third.secret), await codeBy(fourth.secret)], [1, 0])
  // No secret is in the record.
  const records = await json<object[]>('actions', 'list', '--subject', `key:${key_id}`)
  assert.equal(records.length, 4)
  assert.doesNotMatch(JSON.stringify(records), /pss_/)
  const sealing_key = io.env.PENSTOCK_SECRET_KEY
  io.env.PENSTOCK_SECRET_KEY = '09'.repeat(32)
  assert.match((await type('keys', 'rotate', key_id)).err, /not sealed with the key/)
  io.env.PENSTOCK_SECRET_KEY = sealing_key
  await json('keys', 'revoke', key_id)
  const visitor = await signedIn(world, { customer_id: anna.id })
  for (const [id, err] of [
    [key_id, `The key ${key_id} is revoked, for good.\n`],
    ['01x', 'There is no key 01x.\n'],
    // The key that stands for a user has no secret.
    [visitor.user_id, `There is no key ${visitor.user_id}.\n`],
  ] as const)
    assert.deepEqual(await type('keys', 'rotate', id), { code: 1, out: '', err })
})

type IssuedKey = { key_id: string; token: string; secret: string }
type RotatedKey = { secret: string; old_secret_until: string | null }
