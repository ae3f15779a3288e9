// The record of what a customer's users and keys change: nothing is changed without a row in it,
// and nothing secret is in it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unrecorded } from 'penstock-service/health/books/records.ts'
import type { Tx } from 'penstock-service/platform/database/sql.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { filled, prepareExamples } from '../../harness/examples.ts'
import { codeAt, joinedByPassword, signedIn } from '../../harness/users.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Row = { number: bigint; made_by: string; action: string; text: string }
type Answer = { code: number; result: unknown }

const rowsOf = (world: World, customer_id: string) =>
  world.sql<Row>`
    select number, made_by, action, concat(before, after, subject, ip) as text
    from customer_action where customer_id = ${customer_id} order by number`

/** Where the example is about what is not there. */
const OTHER_BODIES: Readonly<Record<string, (world: World) => Promise<object>>> = {
  '/v1/session/end': async ({ sql }) => {
    const [other] = await sql<{ id: string }>`
      select id from user_session where ended_at is null order by id desc limit 1`
    return { id: other!.id }
  },
  '/v1/pairing/refuse': async ({ api }) => {
    const payload = { name: 'another program' }
    const begun = await api.inject({ method: 'POST', url: '/v1/pairing/new', payload })
    return { code: begun.json().result.code }
  },
}

/** The texts of a result that are shown once. */
const secretsIn = (result: unknown): string[] => {
  const { token, secret, link = '' } = result as Record<string, string | undefined>
  return [token, secret, link.split('#')[1]].filter((one) => one !== undefined)
}

/** Sends the examples of every endpoint, and says what each change was recorded as. */
async function tryChanges(
  world: World,
  customer_id: string,
  call: (path: string, body: object) => Promise<Answer>,
) {
  const tried: { path: string; answer: object }[] = []
  const recorded = new Map<string, Row[]>()
  const secrets: string[] = []
  for (const { path, auth, examples, mutating, open } of world.app.endpoints) {
    if (open) continue
    for (const { body: written } of examples) {
      const body = (await OTHER_BODIES[path]?.(world)) ?? filled(written, tried)
      const before = (await rowsOf(world, customer_id)).length
      const answer = await call(path, body)
      tried.push({ path, answer })
      const made = (await rowsOf(world, customer_id)).slice(before)
      if (!mutating || auth === 'public' || answer.code !== 0) assert.deepEqual(made, [], path)
      else recorded.set(path, [...(recorded.get(path) ?? []), ...made])
      if (answer.code === 0 && mutating) secrets.push(...secretsIn(answer.result))
      await world.settle()
      world.mine()
      await world.drain()
    }
  }
  return { recorded, secrets }
}

/** What keys buy, quote and screen names them already. */
const BOUGHT: ReadonlySet<string> = new Set([
  '/v1/transaction/new',
  '/v1/quote/new',
  '/v1/quote/accept',
  '/v1/aml-checks/new',
])

for (const who of ['user', 'key'] as const) {
  test(`each endpoint that changes something for a ${who} leaves a row, no secret`, async (t) => {
    const world = await makeWorld(t)
    await prepareExamples(world)
    const customer = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
    const visitor = await signedIn(world, { customer_id: customer.id })
    // Whose session is ended.
    await signedIn(world, { customer_id: customer.id, role: 'reader' })
    const of_all = (path: string) =>
      world.app.endpoints.some((one) => one.path === path && one.auth === 'public')
    const call = (path: string, body: object): Promise<Answer> =>
      who === 'key' || of_all(path) ? customer.call(path, body) : visitor.call(path, body)
    const { recorded, secrets } = await tryChanges(world, customer.id, call)
    const changing = world.app.endpoints.filter(
      ({ mutating, auth }) => mutating && auth === 'signature',
    )
    const [key] = await world.sql<{ id: string }>`
      select id from api_key where customer_id = ${customer.id} and user_id is null order by id`
    const made_by = who === 'user' ? `user:${visitor.user_id}` : `key:${key!.id}`
    for (const { path } of changing) {
      const rows = recorded.get(path)
      assert.ok(rows, `${path}: no example of it has succeeded`)
      const silent = who === 'key' && BOUGHT.has(path)
      assert.equal(rows.length > 0, !silent, `${path} leaves ${rows.length} rows`)
      for (const row of rows)
        assert.deepEqual([`/v1/${row.action}`, row.made_by], [path, made_by], path)
    }
    assert.ok(changing.length >= 25)
    const all = await rowsOf(world, customer.id)
    assert.deepEqual(
      all.map(({ number }) => Number(number)),
      all.map((_, i) => i + 1),
    )
    assert.ok(secrets.length >= 6)
    for (const secret of secrets)
      assert.ok(!all.some(({ text }) => text.includes(secret)), 'a secret is in the record')
    assert.deepEqual(await world.sql.begin((tx) => unrecorded(tx)), [])
  })
}

test('what changes nothing is not recorded, nor is what is refused', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer({ trx: 100 })
  const visitor = await signedIn(world, { customer_id })
  const actions = async () => (await rowsOf(world, customer_id)).map(({ action }) => action)
  for (let i = 0; i < 2; i++) await visitor.ask('/v1/settings/change', { balance_low: 5 })
  const { key } = await visitor.ask('/v1/key/new', { name: 'shop', scopes: ['read'] })
  const { id } = key as { id: string }
  for (let i = 0; i < 2; i++) await visitor.ask('/v1/key/change', { id, name: 'store' })
  await visitor.call('/v1/key/change', { id, name: 'x', scopes: ['nonsense'] })
  await visitor.call('/v1/key/revoke', { id: '01jq7h6bvf6p5t1amnz6y3n8c4' })
  for (let i = 0; i < 2; i++)
    await visitor.ask('/v1/user/change', { id: visitor.user_id, name: 'Berta' })
  assert.deepEqual(await actions(), ['settings/change', 'key/new', 'key/change', 'user/change'])
  const { items } = await visitor.ask('/v1/actions/list', { action: 'settings/change' })
  const [first] = items as Record<string, unknown>[]
  const { at, ...change } = first!
  assert.match(String(at), /Z$/)
  assert.deepEqual(change, {
    number: 1,
    by: { user_id: visitor.user_id, key_id: null, name: 'Berta' },
    action: 'settings/change',
    subject: 'settings',
    before: { balance_low: null, ending_minutes: null, billing: [] },
    after: { balance_low: 5, ending_minutes: null, billing: [] },
    ip: '192.0.2.1',
  })
})

test("a customer's record is read page by page, by who, what, which and when", async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['read', 'money', 'webhooks', 'manage'] })
  const visitor = await signedIn(world, { customer_id: anna.id })
  const other = await world.customer({ scopes: ['money', 'manage'] })
  await other.call('/v1/settings/change', { balance_low: 1 })
  const since = world.now.toISOString()
  const ids: string[] = []
  for (let i = 1; i <= 5; i++) {
    world.wait(10)
    await anna.call('/v1/settings/change', { balance_low: i })
    const { key } = await visitor.ask('/v1/key/new', { name: `key ${i}`, scopes: ['read'] })
    ids.push((key as { id: string }).id)
  }
  type By = { user_id: string | null; key_id: string | null }
  type Page = { items: { number: number; subject: string; by: By }[]; next: string | null }
  const list = async (body: object) => (await visitor.ask('/v1/actions/list', body)) as Page
  const numbers: number[] = []
  for (let before: string | undefined; ; ) {
    const page = await list({ limit: 3, ...(before && { before }) })
    numbers.push(...page.items.map(({ number }) => number))
    if (page.next === null) break
    before = page.next
  }
  assert.deepEqual(numbers, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  const of = async (body: object) => (await list(body)).items.map(({ number }) => number)
  assert.deepEqual(await of({ user_id: visitor.user_id }), [10, 8, 6, 4, 2])
  assert.deepEqual(await of({ action: 'settings/change' }), [9, 7, 5, 3, 1])
  assert.deepEqual(await of({ subject: 'key' }), [10, 8, 6, 4, 2])
  assert.deepEqual(await of({ subject: `key:${ids[2]}` }), [6])
  assert.deepEqual(await of({ subject: 'ke' }), [])
  assert.deepEqual(await of({ until: since }), [])
  assert.equal((await of({ since })).length, 10)
  const [by_key] = (await list({ action: 'settings/change', limit: 1 })).items
  const { key_id, user_id } = by_key!.by
  assert.equal(user_id, null)
  assert.deepEqual(await of({ key_id }), [9, 7, 5, 3, 1])
  // Another's key is nobody's here.
  const { result } = await other.call('/v1/actions/list', { key_id })
  assert.deepEqual((result as Page).items, [])
  const both = await visitor.call('/v1/actions/list', { key_id, user_id: visitor.user_id })
  assert.deepEqual([both.code, both.key], [2, 'invalid_service_or_params.key_id'])
})

test('ten thousand changes in a day are enough for a key', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['read', 'money'] })
  for (let i = 0; i < 9; i++)
    await world.sql`
      insert into customer_action (customer_id, made_at, made_by, action, subject, ip)
      select ${anna.id}, ${world.now}, 'key:' || id, 'settings/change', 'settings', null
      from api_key, generate_series(1, 1111)`
  assert.equal((await anna.call('/v1/settings/change', { balance_low: 1 })).code, 0)
  const payload = Buffer.from('{"balance_low":2}')
  const url = '/v1/settings/change'
  const headers = anna.headers(url, payload)
  const refused = await world.api.inject({ method: 'POST', url, headers, payload })
  assert.equal(refused.statusCode, 429)
  const { result } = await anna.call('/v1/settings')
  assert.equal((result as { balance_low: number }).balance_low, 1)
  world.wait(86_400)
  assert.equal((await anna.call('/v1/settings/change', { balance_low: 2 })).code, 0)
})

test('the record of customers is one of what the books check', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: ['money'] })
  const bert = await world.customer({ scopes: ['money'] })
  const odd = ['a "b" \\ c', 'é 𝄞  ', '{"x": [1, null]}']
  for (const customer of [anna, bert, anna])
    for (const line of odd) await customer.call('/v1/settings/change', { billing: [line] })
  const look = () => world.sql.begin((tx) => unrecorded(tx))
  assert.deepEqual(await look(), [])
  const alterations: [number, (tx: Tx) => Promise<unknown>][] = [
    [2, (tx) => tx`update customer_action set ip = '203.0.113.9' where number = 2`],
    [2, (tx) => tx`update customer_action set after = '{"a": 1}' where number = 2`],
    [3, (tx) => tx`delete from customer_action where number = 2`],
  ]
  for (const [number, alter] of alterations) {
    const done = world.sql.begin(async (tx) => {
      await tx`grant update, delete on customer_action to current_user`
      await tx`alter table customer_action disable trigger user`
      await alter(tx)
      const found = await unrecorded(tx)
      throw new Error(found.map(({ subject }) => subject).join())
    })
    await assert.rejects(done, new RegExp(`record ${number} of customer`))
  }
  assert.deepEqual(await look(), [])
})

test('what one signs in with is recorded when it is changed, without what it is', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { visitor, user_id } = await joinedByPassword(world, { customer_id })
  const { recovery_codes } = await visitor.ask('/session/recovery/new')
  const { totp } = await visitor.ask('/session/totp')
  const { secret, offer } = totp as { secret: string; offer: string }
  const password = 'another horse battery'
  await visitor.ask('/session/totp', { password, code: codeAt(secret, world.now), offer })
  const rows = await rowsOf(world, customer_id)
  assert.deepEqual(
    rows.map(({ action, made_by, text }) => [action, made_by, text]),
    ['session/recovery/new', 'session/totp'].map((action) => [
      action,
      `user:${user_id}`,
      `user:${user_id}192.0.2.1`,
    ]),
  )
  assert.equal((recovery_codes as string[]).length, 10)
})
