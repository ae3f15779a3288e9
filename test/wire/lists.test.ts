// What customers read of what is theirs: every refusal of every such endpoint, whose things they
// are, and which scopes they need.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Scope } from 'penstock-service/platform/wire/endpoint.ts'
import { keyV2, signature, signatureV2 } from 'penstock-service/platform/wire/signature.ts'
import { type Customer, makeWorld, post, type World } from '../harness/world.ts'

const ALL: Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']

/** A good body of each endpoint, or one that is refused because there is no such thing. */
const BODIES: Record<string, object> = {
  '/v1/whoami': {},
  '/v1/settings': {},
  '/v1/settings/change': { billing: ['a'] },
  '/v1/transactions/list': {},
  '/v1/transaction/timeline': { id: 'nobody' },
  '/v1/subscription/uses': { id: 'nobody' },
  '/v1/deposits/list': {},
  '/v1/deposit/check': { tx_id: 'ab'.repeat(32) },
  '/v1/statement': {},
  '/v1/summary': {},
  '/v1/invoices/list': {},
  '/v1/invoice/check': { number: 1 },
  '/v1/prices/history': {},
  '/v1/aml-check/report': { id: 'nobody' },
  '/v1/aml-watches/list': {},
  '/v1/aml-watch/new': { address: 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8' },
  '/v1/aml-watch/remove': { address: 'TVyzzXFW212kMBkpfyUp8nCPsX6wk7wms8' },
  '/v1/refusals/list': {},
}

const LISTED = { limit: [0, 101, 1.5, '5'], before: ['x y', 'a'.repeat(500), 7] }
const TIMES = { since: ['yesterday', '2026-02-30', 5], until: ['soon', 5] }

/** For each endpoint, values of a field that are refused with code 2 and the field's name. */
const WRONG: Record<string, Record<string, readonly unknown[]>> = {
  '/v1/settings/change': {
    balance_low: [-1, '5', 1e-7, true, 1e15],
    ending_minutes: [-1, 56, 1.5],
    billing: ['a', [''], [5], Array(9).fill('a'), ['x'.repeat(101)]],
  },
  '/v1/transactions/list': {
    status: ['open'],
    service: ['gas'],
    external_id_prefix: [5, 'x'.repeat(129)],
    key_id: [5],
    ...TIMES,
    ...LISTED,
  },
  '/v1/transaction/timeline': { id: [5], external_id: [5] },
  '/v1/subscription/uses': { id: [5, 'x'.repeat(65)], ...LISTED },
  '/v1/deposits/list': { state: ['lost'], ...TIMES, ...LISTED },
  '/v1/deposit/check': { tx_id: ['ab', 5, 'g'.repeat(64)] },
  '/v1/statement': {
    ...TIMES,
    ...LISTED,
    limit: [0, 1_001],
    before: ['x', 'MTIz', Buffer.from('5 \0').toString('base64url')],
  },
  '/v1/summary': { ...TIMES, bucket: ['week'] },
  '/v1/invoices/list': LISTED,
  '/v1/invoice/check': { number: [0, 1.5, '1'] },
  '/v1/prices/history': { resource: ['gas'], since: TIMES.since },
  '/v1/aml-check/report': { id: [5, ''] },
  '/v1/aml-watches/list': { address: ['T123', 5], level: ['severe'], ...LISTED },
  '/v1/aml-watch/new': { address: ['T123', 5] },
  '/v1/aml-watch/remove': { address: ['T123', 5] },
  '/v1/refusals/list': { since: TIMES.since, code: [0, 'x'], ...LISTED },
}

type Answer = { code: number; key: string | undefined }
const answer = ({ code, key }: Answer) => ({ code, key })

test('each field that is wrong is refused by its name', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ scopes: ALL })
  for (const [path, fields] of Object.entries(WRONG)) {
    for (const [field, values] of Object.entries(fields)) {
      for (const value of values) {
        const reply = await customer.call(path, { ...BODIES[path], [field]: value })
        const expected = { code: 2, key: `invalid_service_or_params.${field}` }
        assert.deepEqual(answer(reply), expected, `${path} ${field} ${JSON.stringify(value)}`)
      }
    }
  }
  const wrong = async (path: string, body: object) => answer(await customer.call(path, body))
  const two = (field: string) => ({ code: 2, key: `invalid_service_or_params.${field}` })
  const period = (days: number, bucket: string) => ({
    since: '2026-01-01',
    until: new Date(Date.UTC(2026, 0, 1 + days)).toISOString(),
    bucket,
  })
  assert.deepEqual(await wrong('/v1/summary', period(401, 'day')), two('since'))
  assert.deepEqual(await wrong('/v1/summary', period(32, 'hour')), two('since'))
  assert.equal((await wrong('/v1/summary', period(400, 'day'))).code, 0)
  assert.equal((await wrong('/v1/summary', period(31, 'hour'))).code, 0)
  for (const path of ['/v1/summary', '/v1/statement'])
    assert.deepEqual(await wrong(path, { since: '2026-01-02', until: '2026-01-02' }), two('until'))
  assert.deepEqual(await wrong('/v1/transactions/list', { address: 'T123' }), {
    code: 10,
    key: 'invalid_network_address',
  })
  assert.deepEqual(await wrong('/v1/transaction/timeline', {}), two('id'))
})

test('a key reaches what its scopes name; one that names none reaches no money', async (t) => {
  const world = await makeWorld(t)
  const own = world.app.endpoints.filter(({ path }) => path in BODIES)
  assert.equal(own.length, Object.keys(BODIES).length)
  const plain = await world.customer()
  const keys = [
    ...(await Promise.all(
      ALL.map(async (scope) => [[scope], await world.customer({ scopes: [scope] })] as const),
    )),
    [['read', 'buy', 'aml'] as Scope[], plain] as const,
  ]
  for (const { path, scopes } of own) {
    for (const [named, customer] of keys) {
      const reply = await customer.call(path, BODIES[path])
      const may = scopes.some((scope) => named.includes(scope))
      // `billing` needs `money`, whatever else may call.
      const expected = may && !(path === '/v1/settings/change' && !named.includes('money'))
      assert.equal(reply.key !== 'auth.scope', expected, `${path} with ${named}: ${reply.key}`)
    }
  }
  const webhooks = keys.find(([[scope]]) => scope === 'webhooks')![1]
  assert.equal((await webhooks.call('/v1/settings/change', { ending_minutes: 5 })).code, 0)
  const money = keys.find(([[scope]]) => scope === 'money')![1]
  assert.equal((await money.call('/v1/settings/change', { ending_minutes: 5 })).key, 'auth.scope')
})

/** The headers of a request that is signed twice, for whatever path. */
function signedTwice(world: World, { token, secret }: Customer, path: string, body: Buffer) {
  const timestamp = String(Math.floor(world.now.getTime() / 1_000))
  const stamped = { timestamp, nonce: randomUUID(), method: 'POST', path, body }
  return {
    authorization: `Bearer ${token}`,
    'x-signature': signature(body, secret),
    'x-timestamp': timestamp,
    'x-nonce': stamped.nonce,
    'x-signature-v2': signatureV2(keyV2(secret), stamped),
  }
}

test('what changes something needs the second signature: once, and for its path', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ scopes: ALL })
  const signed = world.app.endpoints.filter(({ auth }) => auth === 'signature')
  const changing = signed.filter(({ second_signature }) => second_signature)
  assert.ok(changing.length >= 17, `${changing.length} need it`)
  const body = Buffer.from('{}')
  const send = async (path: string, headers: Record<string, string>) =>
    answer(await post(world.api, path, body, headers))
  for (const { path } of changing) {
    const { authorization, 'x-signature': first } = signedTwice(world, customer, path, body)
    const once = { authorization, 'x-signature': first }
    assert.deepEqual(await send(path, once), { code: 1, key: 'auth.second_signature' }, path)
    const right = signedTwice(world, customer, path, body)
    assert.notEqual((await send(path, right)).code, 1, path)
    assert.deepEqual(await send(path, right), { code: 1, key: 'auth' }, `${path}: a nonce again`)
  }
  for (const { path } of signed) {
    const headers = signedTwice(world, customer, path, body)
    for (const other of signed.filter((one) => one.path !== path))
      assert.deepEqual(
        await send(other.path, headers),
        { code: 1, key: 'auth' },
        `what was signed for ${path} at ${other.path}`,
      )
  }
})

/** A customer with one of each thing. */
async function owner(world: World) {
  const customer = await world.customer({ trx: 1_000, scopes: ALL })
  const { address } = world.person('bob', 1)
  const [subscribed, checked] = [world.person('carl', 1).address, world.person('dora', 1).address]
  const { id: order_id } = await customer.buyEnergy(address, 65_000, {})
  const { id: subscription_id } = await customer.get<{ id: string }>('/v1/subscription/start', {
    subscription_id: 'unlimited_energy',
    params: { address: subscribed, duration: 0, transactions_limit: 0 },
  })
  const { id: check_id } = await customer.get<{ id: string }>('/v1/aml-checks/new', {
    type: 'address',
    network: 'TRX',
    address: checked,
  })
  await world.settle()
  const [deposit] = await world.sql<{ tx_id: string }>`
    select tx_id from deposit where customer_id = ${customer.id}`
  await world.sql`
    insert into invoice (number, customer_id, month, issued_at, total_sun, document, sha256)
    select 1, ${customer.id}, '2026-10-01', now(), 1, '{}', encode(sha256('{}'::bytea), 'hex')`
  return { customer, order_id, subscription_id, check_id, tx_id: deposit!.tx_id }
}

/** A sentence without what the caller himself sent, if it ends with that. Of it 60 characters are
 *  repeated. */
function withoutSent(error: string, sent: string | number): string {
  const text = JSON.stringify(sent)
  const shown = text.length > 60 ? `${text.slice(0, 60)}…"` : text
  return error.endsWith(` ${shown}`) ? error.slice(0, -shown.length) : error
}

test("somebody else's thing answers as one that does not exist, byte for byte", async (t) => {
  const world = await makeWorld(t)
  const { customer, order_id, subscription_id, check_id, tx_id } = await owner(world)
  const stranger = await world.customer({ scopes: ALL })
  const nobody = '0'.repeat(26)
  type CallBody = Record<string, string | number>
  const things: [path: string, own: CallBody, absent: CallBody][] = [
    ['/v1/transaction/timeline', { id: order_id }, { id: nobody }],
    ['/v1/subscription/uses', { id: subscription_id }, { id: nobody }],
    ['/v1/deposit/check', { tx_id }, { tx_id: 'ab'.repeat(32) }],
    ['/v1/invoice/check', { number: 1 }, { number: 2 }],
    ['/v1/aml-check/report', { id: check_id }, { id: nobody }],
  ]
  const bytes = async (who: Customer, path: string, body: CallBody) => {
    const { request_id: _, headers: __, ...rest } = await who.call(path, body)
    const [sent] = Object.values(body)
    return JSON.stringify({ ...rest, error: withoutSent(rest.error!, sent!) })
  }
  for (const [path, own, absent] of things) {
    assert.equal(await bytes(stranger, path, own), await bytes(stranger, path, absent), path)
    if (path === '/v1/invoice/check' || path === '/v1/aml-check/report') continue
    assert.equal((await customer.call(path, own)).code, 0, path)
  }
  for (const list of ['transactions/list', 'deposits/list', 'invoices/list', 'aml-watches/list'])
    assert.deepEqual((await stranger.get<{ items: unknown[] }>(`/v1/${list}`)).items, [])
})
