// What customers see of the calls that were refused: theirs alone, soon after, and what may help.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signature } from 'penstock-service/platform/wire/signature.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { type Customer, makeWorld, post, type World } from '../../harness/world.ts'

type Refusal = {
  at: string
  path: string
  code: number
  key: string
  request_id: string
  key_id: string
  body: string | null
  hint: { hashed_bytes: number; body_sha256: string; right_for: string | null } | null
}
type Refusals = { items: Refusal[]; next: string | null; left_out: number }

async function refusals(world: World, customer: Customer, body: object = {}): Promise<Refusals> {
  await world.app.refusals.written()
  return customer.get<Refusals>('/v1/refusals/list', body)
}

test('a refusal is listed with what was sent, and to nobody else', async (t) => {
  const world = await makeWorld(t)
  const [anna, bert] = [await world.customer({ trx: 5 }), await world.customer()]
  const body = { service: 'energy', params: { address: 'T123', amount: 65_000, duration: 1 } }
  const reply = await anna.call('/v1/transaction/new', body)
  await anna.call('/v1/transaction/check', { id: 'nobody' })
  const [gone, wrong] = (await refusals(world, anna)).items
  assert.deepEqual([gone!.code, gone!.key, gone!.body], [20, 'subscription_not_found', null])
  assert.equal(wrong!.request_id, reply.request_id)
  assert.deepEqual([wrong!.path, wrong!.code], ['/v1/transaction/new', 10])
  assert.deepEqual(JSON.parse(wrong!.body!), body)
  assert.equal(wrong!.hint, null)
  assert.deepEqual((await refusals(world, bert)).items, [])
  assert.equal((await refusals(world, anna, { code: 20 })).items.length, 1)
  assert.deepEqual((await refusals(world, anna, { code: 12 })).items, [])
})

test('of a body 1,024 bytes are kept, and no secret', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const secret = `${anna.secret} ${anna.token} whsec_${'A'.repeat(43)}=`
  await anna.call('/v1/transaction/new', { service: secret, note: 'ж\u0000'.repeat(2_000) })
  const [one] = (await refusals(world, anna)).items
  assert.equal(one!.code, 2)
  assert.ok(Buffer.from(one!.body!).length <= 1_024 * 3 && one!.body!.length <= 1_024)
  for (const part of secret.split(' ')) assert.ok(!one!.body!.includes(part), part)
})

test('a wrong signature that is right for another body is said to be', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const send = async (sent: string, signed: string) => {
    const headers = { 'x-signature': signature(Buffer.from(signed), anna.secret) }
    const reply = await anna.call('/v1/balance', sent, headers)
    assert.deepEqual([reply.code, reply.key], [1, 'auth'])
    return (await refusals(world, anna)).items[0]!.hint!
  }
  for (const [sent, signed, right_for] of [
    ['{"a":1}', '', 'empty'],
    ['', '{}', '{}'],
    ['{"a":1}\n', '{"a":1}', 'no_final_newline'],
    ['{ "a": 1 }', '{"a":1}', 'reprinted'],
    ['{"a":1}', '{"b":1}', null],
  ] as const) {
    const hint = await send(sent, signed)
    assert.deepEqual([hint.hashed_bytes, hint.right_for], [Buffer.byteLength(sent), right_for])
  }
  const unknown = { authorization: `Bearer pst_${'x'.repeat(43)}` }
  const before = (await refusals(world, anna)).items.length
  await anna.call('/v1/balance', {}, unknown)
  assert.equal((await refusals(world, anna)).items.length, before)
})

test('what is too much is left out and counted, and a week later all is gone', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  await world.sql`
    insert into refusal_day (customer_id, day, kept, left_out)
    values (${anna.id}, ${world.now.toISOString().slice(0, 10)}, 9_998, 0)`
  for (let i = 0; i < 5; i++) await anna.call('/v1/transaction/check', { id: 'nobody' })
  const { items, left_out } = await refusals(world, anna)
  assert.deepEqual([items.length, left_out], [2, 3])
  const pages: Refusal[] = []
  let before: string | null | undefined
  do {
    const page = await refusals(world, anna, { limit: 1, ...(before && { before }) })
    pages.push(...page.items)
    before = page.next
  } while (before !== null)
  assert.deepEqual(pages, items)
  await world.advance(8 * 86_400)
  const later = await refusals(world, anna)
  assert.deepEqual([later.items, later.left_out], [[], 0])
})

test('a call without the second signature has that as its hint', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['read', 'webhooks'] })
  const { authorization, 'x-signature': first } = anna.headers('/v1/webhook/new', Buffer.from('{}'))
  const once = { authorization: authorization!, 'x-signature': first! }
  await post(world.api, '/v1/webhook/new', Buffer.from('{}'), once)
  const [one] = (await refusals(world, anna)).items
  assert.deepEqual([one!.key, one!.hint], ['auth.second_signature', 'second_signature'])
})

test('refusals are narrowed by time and by code together', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const ask = () => anna.call('/v1/transaction/check', { id: 'nobody' })
  await ask()
  await world.app.refusals.written()
  world.wait(60)
  const since = world.now.toISOString()
  const { request_id } = await ask()
  await anna.call('/v1/transaction/new', {})
  const found = (await refusals(world, anna, { since, code: 20 })).items
  assert.deepEqual(
    found.map((one) => one.request_id),
    [request_id],
  )
})

test('of more than can wait to be written each is counted, and as nobody else', async (t) => {
  const world = await makeWorld(t)
  const [anna, bert] = [await world.customer(), await world.customer()]
  await bert.call('/v1/transaction/check', { id: 'nobody' })
  await world.app.refusals.written()
  const [key] = await world.sql<{ id: string }>`
    select id from api_key where customer_id = ${anna.id}`
  const call = {
    at: world.now,
    path: '/v1/transaction/check',
    code: 20,
    key: 'subscription_not_found',
    request_id: 'r',
    key_id: key!.id,
    ip: '192.0.2.1',
    ms: 1,
    body: new Uint8Array(),
    kept: undefined,
    signature: undefined,
  }
  for (let i = 0; i < 2_003; i++) world.app.refusals.note(call)
  await world.app.refusals.written()
  world.app.refusals.note(call)
  assert.equal((await refusals(world, anna)).left_out, 3)
  assert.equal((await refusals(world, bert)).left_out, 0)
})

test('what is seven days old to the moment is kept, and what is older goes', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const week_ago = new Date(world.now.getTime() - 7 * 86_400_000)
  const before = (ms: number) => new Date(week_ago.getTime() - ms)
  const day = (at: Date) => at.toISOString().slice(0, 10)
  for (const [at, left_out] of [
    [week_ago, 1],
    [before(86_400_000), 2],
  ] as const)
    await world.sql`
      insert into refusal_day (customer_id, day, kept, left_out)
      values (${anna.id}, ${day(at)}, 0, ${left_out})`
  const step = world.app.steps.find(({ name }) => name === 'prune_refusals')!
  assert.equal(await isDue(world.sql, step), true, 'of a day that is too old')
  await step.run()
  assert.equal(await isDue(world.sql, step), false)
  for (const [at, name] of [
    [week_ago, 'kept'],
    [before(1), 'gone'],
  ] as const)
    await world.sql`
      insert into refusal (customer_id, key_id, at, path, code, key, request_id, ip, ms)
      values (${anna.id}, 'k', ${at}, '/', 2, 'x', ${name}, '::1', 1)`
  assert.equal(await isDue(world.sql, step), true)
  await step.run()
  const { items, left_out } = await refusals(world, anna)
  assert.deepEqual([items.map(({ request_id }) => request_id), left_out], [['kept'], 1])
})
