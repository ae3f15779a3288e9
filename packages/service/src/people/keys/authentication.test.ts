import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { HDKey } from '@scure/bip32'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Type } from 'typebox'
import { Outage } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { jsonLog } from '../../lib/log.ts'
import { connect } from '../../platform/database/sql.ts'
import { buildServer, type Credentials } from '../../platform/http/server.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { drain } from '../../platform/steps/step.ts'
import {
  EXTERNAL_ID_REFUSALS,
  endpoint,
  externalId,
  type Scope,
} from '../../platform/wire/endpoint.ts'
import { keyV2, signature, signatureV2 } from '../../platform/wire/signature.ts'
import { type CustomerState, createCustomer, setCustomerState } from '../customers/customers.ts'
import { depositAddresses } from '../customers/deposit_addresses.ts'
import { authenticator } from './authentication.ts'
import { issueKey, lockKey, type NewKey, revokeKey, rotateSecret } from './keys.ts'
import { pruneNonces } from './nonces.ts'

const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/195'/0'")
const deposit_address = depositAddresses(account.publicExtendedKey)
const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)

type IssuedKey = { key_id: string; token: string; secret: string }

const whoami = (path: '/v1/read' | '/v1/buy' | '/v1/other', scope: Scope) =>
  endpoint({
    path,
    auth: 'signature',
    scope,
    creates: scope === 'buy',
    summary: 'Says who asks',
    body: Type.Object({ id: Type.Optional(Type.String()) }),
    reply: Type.Object({ customer_id: Type.String(), key_id: Type.String() }),
    faults: [...EXTERNAL_ID_REFUSALS],
    handle: async ({ body, headers, customer }) => {
      if (scope === 'buy') externalId(body.id, { headers, customer })
      const { customer_id, key_id } = customer
      return { customer_id, key_id }
    },
  })

/** A server in front of a database, with a clock that stands until it is moved. */
async function front(t: TestContext) {
  const { sql, url } = await freshDatabase(t)
  let now_ms = Date.UTC(2026, 9, 8, 15, 26, 32)
  const clock = { now: () => new Date(now_ms) }
  const lines: string[] = []
  const needs = {
    sql,
    clock,
    random: systemRandom,
    new_id: idMaker(clock, systemRandom),
    seal,
    deposit_address,
    log: jsonLog((line) => lines.push(line), clock.now),
  }
  const authenticate = authenticator(needs)
  const endpoints = [
    whoami('/v1/read', 'read'),
    whoami('/v1/buy', 'buy'),
    whoami('/v1/other', 'read'),
  ]
  const app = await buildServer({ ...needs, authenticate }, { endpoints, check_replies: true })
  const customer_id = (await sql.begin((tx) => createCustomer(tx, needs, { name: 'Somebody' }))).id
  const issue = (wanted: Partial<NewKey> = {}) =>
    sql.begin((tx) => issueKey(tx, needs, { customer_id, name: 'key', ...wanted }))
  const ask = async (
    headers: Record<string, string>,
    { path = '/v1/read', body = '{}', ip = '127.0.0.1' } = {},
  ) => {
    const reply = await app.inject({
      method: 'POST',
      url: path,
      payload: body,
      headers,
      remoteAddress: ip,
    })
    const { request_id, ...rest } = reply.json()
    return rest as { code: number; key?: string; result?: { key_id: string; customer_id: string } }
  }
  return {
    sql,
    url,
    clock,
    authenticate,
    customer_id,
    issue,
    ask,
    lines,
    wait: (seconds: number) => (now_ms += seconds * 1000),
  }
}

const v1 = ({ token, secret }: IssuedKey, body = '{}') => ({
  authorization: `Bearer ${token}`,
  'x-signature': signature(Buffer.from(body), secret),
})

type V2Change = {
  at?: Date
  nonce?: string
  path?: string
  body?: string
  method?: string
  idempotency_key?: string
}

function v2(key: IssuedKey, clock: { now(): Date }, change: V2Change = {}) {
  const {
    at = clock.now(),
    nonce = 'n-1',
    path = '/v1/read',
    body = '{}',
    method = 'POST',
  } = change
  const { idempotency_key } = change
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const stamped = { timestamp, nonce, method, path, body: Buffer.from(body), idempotency_key }
  return {
    ...v1(key),
    'x-timestamp': timestamp,
    'x-nonce': nonce,
    'x-signature-v2': signatureV2(keyV2(key.secret), stamped),
    ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
  }
}

/** What a request with the first signature shows. */
const credentialsOf = ({ token, secret }: IssuedKey): Credentials => ({
  token,
  signature: signature(Buffer.from('{}'), secret),
  body: Buffer.from('{}'),
  method: 'POST',
  path: '/v1/read',
  ip: '127.0.0.1',
  idempotency_key: undefined,
  v2: { signature: undefined, timestamp: undefined, nonce: undefined },
})

const SECOND_NEEDED = {
  code: 1,
  key: 'auth.second_signature',
  error:
    'This key needs X-Signature-V2 as well: send both, or use a key that takes the first alone',
  doc_url: '/docs/refusals#code-1',
}
const REFUSED = {
  code: 1,
  key: 'auth',
  error: 'Incorrect token or signature',
  doc_url: '/docs/refusals#code-1',
}

test('the right token and signature say who asks, in lower or upper case', async (t) => {
  const { ask, issue, customer_id } = await front(t)
  const key = await issue()
  const { key_id } = key
  assert.deepEqual(await ask(v1(key)), { code: 0, result: { customer_id, key_id } })
  const headers = v1(key)
  assert.equal(
    (await ask({ ...headers, 'x-signature': headers['x-signature'].toUpperCase() })).code,
    0,
  )
})

test('whatever is wrong with credentials is refused alike, before and after use', async (t) => {
  const { ask, issue } = await front(t)
  const key = await issue()
  const other = await issue()
  const unknown = `pst_${'A'.repeat(43)}`
  const wrong: Record<string, Record<string, string>> = {
    none: {},
    'unknown token': { ...v1(key), authorization: `Bearer ${unknown}` },
    'token of another form': { ...v1(key), authorization: 'Bearer x' },
    'secret as token': { ...v1(key), authorization: `Bearer ${key.secret}` },
    'no signature': { authorization: v1(key).authorization },
    'wrong signature': { ...v1(key), 'x-signature': '0'.repeat(64) },
    'token of another key': { ...v1(key), authorization: `Bearer ${other.token}` },
    'signature of another body': v1(key, '{"id":"sub_1"}'),
    'signature with the token for a secret': v1({ ...key, secret: key.token }),
  }
  for (const round of ['unused', 'used']) {
    for (const [name, headers] of Object.entries(wrong))
      assert.deepEqual(await ask(headers), REFUSED, `${name}, ${round}`)
    assert.equal((await ask(v1(key))).code, 0)
  }
})

test('the log says why a caller was refused, and has no token, secret or nonce', async (t) => {
  const { ask, issue, clock, lines } = await front(t)
  const key = await issue()
  const strict = await issue({
    require_v2: true,
    scopes: ['read'],
    allowed_networks: ['127.0.0.1'],
  })
  const expired = await issue({ expires_at: new Date(clock.now().getTime() - 1) })
  const stamped = v2(strict, clock, { nonce: 'nonce-canary' })
  const unknown = { token: `pst_${'A'.repeat(43)}`, secret: key.secret, key_id: '' }
  const asked: [
    reason: string | undefined,
    headers: Record<string, string>,
    options?: Parameters<typeof ask>[1],
  ][] = [
    [undefined, v1(key)],
    ['no_token', { ...v1(key), authorization: 'Bearer pst_canary' }],
    ['no_token', { ...v1(key), authorization: `Basic ${key.token}` }],
    ['unknown_token', v1(unknown)],
    [
      'unknown_token',
      { ...v1(key), authorization: `Bearer ${key.secret.replace('pss_', 'pst_')}` },
    ],
    ['wrong_signature', { ...v1(key), 'x-signature': key.secret }],
    ['v2_required', v1(strict)],
    ['wrong_signature_v2', { ...stamped, 'x-nonce': 'other-canary' }],
    [undefined, stamped],
    ['nonce_used', stamped],
    ['network', v2(strict, clock, { nonce: 'elsewhere-canary' }), { ip: '203.0.113.5' }],
    ['expired', v1(expired)],
    [
      'auth.scope',
      v2(strict, clock, { nonce: 'scope-canary', path: '/v1/buy' }),
      { path: '/v1/buy' },
    ],
    [undefined, v1(key, `{"id":"${key.secret}"}`), { body: `{"id":"${key.secret}"}` }],
    [undefined, v1(key), { path: `/v1/read?token=${key.token}` }],
  ]
  for (const [, headers, options] of asked) await ask(headers, options)
  const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    said.map(({ auth }) => auth),
    asked.map(([reason]) => reason),
  )
  assert.deepEqual([said[5]!.key_id, said[5]!.customer_id], [key.key_id, undefined])
  assert.deepEqual(
    [said[8]!.signature, said[8]!.key_id, said[0]!.signature],
    ['v2', strict.key_id, 'v1'],
  )
  const text = lines.join('')
  const secrets = [key, strict, expired].flatMap(({ token, secret }) => [
    token.slice(4),
    secret.slice(4),
  ])
  const signatures = asked.flatMap(([, headers]) => [
    headers['x-signature'],
    headers['x-signature-v2'],
  ])
  for (const one of [...secrets, ...signatures, 'canary'])
    assert.ok(one === undefined || !text.includes(one), `${one} is in the log`)
})

test('a compressed body is refused before anything else', async (t) => {
  const { ask, issue } = await front(t)
  const key = await issue()
  const body = gzipSync('{}').toString('latin1')
  assert.equal((await ask({ ...v1(key, body), 'content-encoding': 'gzip' }, { body })).code, 415)
})

test('a key works only from its networks and for its scopes', async (t) => {
  const { ask, issue } = await front(t)
  const key = await issue({ allowed_networks: ['203.0.113.0/24'], scopes: ['read'] })
  assert.deepEqual(await ask(v1(key), { ip: '198.51.100.1' }), REFUSED)
  assert.equal((await ask(v1(key), { ip: '203.0.113.9' })).code, 0)
  assert.equal((await ask(v1(key), { ip: '::ffff:203.0.113.9' })).code, 0)
  assert.deepEqual(await ask(v1(key), { ip: '198.51.100.1' }), REFUSED)
  const { code, key: slug } = await ask(v1(key), { ip: '203.0.113.9', path: '/v1/buy' })
  assert.deepEqual({ code, slug }, { code: 1, slug: 'auth.scope' })
})

test("a revoked key stops working within a second, and the customer's others do not", async (t) => {
  const { ask, issue, sql, clock, customer_id, wait } = await front(t)
  const key = await issue()
  const other = await issue()
  assert.equal((await ask(v1(key))).code, 0)
  await sql.begin((tx) => revokeKey(tx, { customer_id, key_id: key.key_id, at: clock.now() }))
  wait(1)
  assert.deepEqual(await ask(v1(key)), REFUSED)
  assert.equal((await ask(v1(other))).code, 0)
})

test('an expired key is refused like an unknown one, from its moment on', async (t) => {
  const { ask, issue, clock, wait } = await front(t)
  const key = await issue({ expires_at: new Date(clock.now().getTime() + 500) })
  assert.equal((await ask(v1(key))).code, 0)
  // Within the second for which it is remembered.
  wait(0.5)
  assert.deepEqual(await ask(v1(key)), REFUSED)
  wait(2)
  assert.deepEqual(await ask(v1(key)), REFUSED)
})

test('a suspended customer reads and buys nothing, within a second, until resumed', async (t) => {
  const { ask, issue, sql, customer_id, wait } = await front(t)
  const key = await issue()
  const begin = async () => (await ask(v1(key), { path: '/v1/buy' })).key ?? 'begun'
  assert.equal(await begin(), 'begun')
  const states: [CustomerState, string][] = [
    ['suspended', 'auth.suspended'],
    ['active', 'begun'],
    ['closed', 'auth.suspended'],
  ]
  for (const [state, expected] of states) {
    await sql.begin((tx) => setCustomerState(tx, customer_id, state))
    wait(1)
    assert.equal(await begin(), expected, state)
    assert.equal((await ask(v1(key))).code, 0, state)
  }
})

test('a key that requires an id of the caller begins nothing without one', async (t) => {
  const { ask, issue } = await front(t)
  const key = await issue({ require_external_id: true })
  const { code, key: slug } = await ask(v1(key), { path: '/v1/buy' })
  assert.deepEqual([code, slug], [2, 'invalid_service_or_params.external_id'])
  assert.equal((await ask({ ...v1(key), 'idempotency-key': 'k-1' }, { path: '/v1/buy' })).code, 0)
  assert.equal((await ask({ ...v1(key), 'idempotency-key': '' }, { path: '/v1/buy' })).code, 2)
  const body = '{"id":"mine"}'
  assert.equal((await ask(v1(key, body), { path: '/v1/buy', body })).code, 0)
})

test('a refusal is never decided on a key that was read before', async (t) => {
  const { ask, issue, sql } = await front(t)
  const key = await issue({ allowed_networks: ['203.0.113.0/24'] })
  assert.equal((await ask(v1(key), { ip: '203.0.113.9' })).code, 0)
  await sql`update api_key set allowed_networks = null where id = ${key.key_id}`
  assert.equal((await ask(v1(key), { ip: '198.51.100.1' })).code, 0)
})

test('who was refused too often is refused on what was read within the last second', async (t) => {
  const { authenticate, issue, sql, wait } = await front(t)
  const key = await issue({ allowed_networks: ['203.0.113.0/24'] })
  const ask = (ip: string, may_read_again: boolean) =>
    authenticate({ ...credentialsOf(key), ip, mayReadAgain: () => may_read_again }).then(
      () => 'let in',
      () => 'refused',
    )
  assert.equal(await ask('203.0.113.9', false), 'let in')
  await sql`update api_key set allowed_networks = null where id = ${key.key_id}`
  assert.equal(await ask('198.51.100.1', false), 'refused')
  wait(1)
  assert.equal(await ask('198.51.100.1', false), 'let in')
})

test('the second signature is accepted once, for its own path, body and time', async (t) => {
  const { ask, issue, clock, wait } = await front(t)
  const key = await issue({ require_v2: true })
  assert.equal((await ask(v2(key, clock))).code, 0)
  assert.deepEqual(await ask(v2(key, clock)), REFUSED)
  assert.deepEqual(await ask(v2(key, clock, { nonce: 'n-2' }), { path: '/v1/other' }), REFUSED)
  assert.deepEqual(await ask(v2(key, clock, { nonce: 'n-2', method: 'PUT' })), REFUSED)
  assert.deepEqual(
    await ask({ ...v2(key, clock, { nonce: 'n-2' }), ...v1(key, '[]') }, { body: '[]' }),
    REFUSED,
  )
  const early = v2(key, clock, { nonce: 'n-3', at: new Date(clock.now().getTime() - 301_000) })
  const late = v2(key, clock, { nonce: 'n-3', at: new Date(clock.now().getTime() + 301_000) })
  for (const headers of [early, late]) assert.deepEqual(await ask(headers), REFUSED)
  const held_back = v2(key, clock, { nonce: 'n-2' })
  wait(299)
  assert.equal((await ask(held_back)).code, 0)
  assert.equal((await ask(v2(key, clock, { nonce: 'n-3' }))).code, 0)
})

test('the second signature binds the Idempotency-Key: none added, altered, removed', async (t) => {
  const { ask, issue, clock } = await front(t)
  const key = await issue({ require_v2: true })
  let nonce = 0
  const fresh = (idempotency_key?: string) => {
    const change = { path: '/v1/buy', nonce: `n-${nonce++}` }
    return v2(key, clock, idempotency_key === undefined ? change : { ...change, idempotency_key })
  }
  const send = async (headers: Record<string, string>) =>
    (await ask(headers, { path: '/v1/buy' })).code
  assert.equal(await send(fresh('k-1')), 0)
  assert.equal(await send(fresh()), 0)
  assert.equal(await send({ ...fresh('k-1'), 'idempotency-key': 'k-2' }), 1)
  assert.equal(await send({ ...fresh(), 'idempotency-key': 'k-2' }), 1)
  const { 'idempotency-key': _, ...without } = fresh('k-1')
  assert.equal(await send(without), 1)
  // An empty one means none, to the purchase as to the signature.
  assert.equal(await send({ ...fresh(), 'idempotency-key': '' }), 0)
  assert.equal(await send({ ...fresh('k-1'), 'idempotency-key': '' }), 1)
})

test('a key that requires the second signature takes no request without it', async (t) => {
  const { ask, issue, clock } = await front(t)
  const key = await issue({ require_v2: true })
  assert.deepEqual(await ask(v1(key)), SECOND_NEEDED)
  const { 'x-signature-v2': stamp, ...rest } = v2(key, clock)
  assert.deepEqual(await ask(rest), SECOND_NEEDED)
  const { 'x-nonce': nonce, ...without_nonce } = v2(key, clock)
  assert.deepEqual(await ask(without_nonce), REFUSED)
  const { 'x-signature': old, ...only_v2 } = v2(key, clock)
  assert.deepEqual(await ask(only_v2), REFUSED)
  assert.equal((await ask(v2(key, clock))).code, 0)
})

test('that the second signature is missing is told to who could call with it alone', async (t) => {
  const { ask, issue, clock } = await front(t)
  const strict = { require_v2: true }
  const key = await issue(strict)
  const unknown = { ...key, token: `pst_${'A'.repeat(43)}` }
  const elsewhere = await issue({ ...strict, allowed_networks: ['203.0.113.0/24'] })
  const ended = await issue({ ...strict, expires_at: new Date(clock.now().getTime() - 1) })
  assert.deepEqual(await ask({ ...v1(key), 'x-signature': '0'.repeat(64) }), REFUSED)
  for (const refused of [unknown, elsewhere, ended])
    assert.deepEqual(await ask(v1(refused)), REFUSED)
  assert.deepEqual(await ask(v1(key)), SECOND_NEEDED)
})

test('a key that does not require the second signature still checks it', async (t) => {
  const { ask, issue, clock } = await front(t)
  const key = await issue()
  assert.deepEqual(await ask({ ...v2(key, clock), 'x-signature-v2': '0'.repeat(64) }), REFUSED)
  assert.equal((await ask(v2(key, clock))).code, 0)
  assert.deepEqual(await ask(v2(key, clock)), REFUSED)
  assert.equal((await ask({ ...v1(key), 'x-timestamp': 'x', 'x-nonce': 'x' })).code, 0)
})

test('a refused request does not use up its nonce, and keys do not share nonces', async (t) => {
  const { ask, issue, clock } = await front(t)
  const key = await issue({ require_v2: true })
  const other = await issue({ require_v2: true })
  assert.deepEqual(await ask({ ...v2(key, clock), 'x-signature': '0'.repeat(64) }), REFUSED)
  assert.equal((await ask(v2(key, clock))).code, 0)
  assert.equal((await ask(v2(other, clock))).code, 0)
})

test('of twins that arrive together one is accepted', async (t) => {
  const { ask, issue, clock } = await front(t)
  const key = await issue({ require_v2: true })
  const codes = (await Promise.all(Array.from({ length: 20 }, () => ask(v2(key, clock))))).map(
    ({ code }) => code,
  )
  assert.equal(codes.filter((code) => code === 0).length, 1)
  assert.equal(codes.filter((code) => code === 1).length, 19)
})

test('nonces are forgotten only when no signature with them can be valid any more', async (t) => {
  const { ask, issue, clock, sql, wait } = await front(t)
  const key = await issue({ require_v2: true })
  const prune = () => drain([pruneNonces({ sql, clock })])
  const furthest = v2(key, clock, { at: new Date(clock.now().getTime() + 300_000) })
  assert.equal((await ask(furthest)).code, 0)
  wait(600)
  await prune()
  assert.deepEqual(await ask(furthest), REFUSED)
  wait(61)
  await prune()
  assert.deepEqual(await sql`select nonce from api_key_nonce`, [])
  assert.deepEqual(await ask(furthest), REFUSED)
})

test('requests of many keys at once are all told apart', async (t) => {
  const { ask, issue } = await front(t)
  const keys: IssuedKey[] = []
  for (let i = 0; i < 20; i++) keys.push(await issue())
  const asked = keys.flatMap((key) => [
    ask(v1(key)),
    ask(v1(key)),
    ask({ ...v1(key), 'x-signature': '1'.repeat(64) }),
  ])
  const answers = await Promise.all(asked)
  for (const [i, { key_id }] of keys.entries()) {
    assert.equal(answers[i * 3]!.result?.key_id, key_id)
    assert.equal(answers[i * 3 + 1]!.result?.key_id, key_id)
    assert.deepEqual(answers[i * 3 + 2], REFUSED)
  }
})

test('a database that does not answer is an outage and not a refusal', async (t) => {
  const { issue, clock } = await front(t)
  const key = await issue()
  const sql = connect({ url: 'postgres://127.0.0.1:1/nowhere' })
  t.after(() => sql.close())
  await assert.rejects(authenticator({ sql, clock, seal })(credentialsOf(key)), Outage)
})

test('while two secrets sign, both signatures of a request are by the same one', async (t) => {
  const { ask, issue, sql, clock, wait } = await front(t)
  const first = await issue()
  const needs = { clock, random: systemRandom, new_id: idMaker(clock, systemRandom), seal }
  const { secret } = await sql.begin(async (tx) =>
    rotateSecret(tx, needs, { key: (await lockKey(tx, first.key_id))!, overlap_hours: 1 }),
  )
  const second = { ...first, secret }
  const mixed = { ...v2(first, clock, { nonce: 'm' }), 'x-signature': v1(second)['x-signature'] }
  assert.deepEqual(await ask(mixed), REFUSED)
  for (const [i, key] of [first, second].entries())
    assert.equal((await ask(v2(key, clock, { nonce: `n-${i}` }))).code, 0)
  // To the moment, however lately the key was read.
  wait(3_599.5)
  assert.equal((await ask(v1(first))).code, 0)
  wait(0.5)
  assert.deepEqual(await ask(v1(first)), REFUSED)
  assert.equal((await ask(v1(second))).code, 0)
})
