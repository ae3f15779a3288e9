import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { Type } from 'typebox'
import { systemClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/ids.ts'
import type { Sql } from '../database/sql.ts'
import { endpoint, unauthenticated } from '../wire/endpoint.ts'
import { isSignature, signature } from '../wire/signature.ts'
import { type Authenticate, buildServer, type Options } from './server.ts'

const SECRET = 'secret-1'
const BURST = 5
const balance = endpoint({
  path: '/v1/balance',
  auth: 'signature',
  scope: 'read',
  summary: 'Balance',
  body: Type.Object({}),
  reply: Type.Object({}),
  faults: [],
  handle: async () => ({}),
})
const known_tokens = () => new Set([hash('sha256', 'owner')])

/** A server that counts what may be read for whom: the tokens owner and new are right. */
async function server(options: Partial<Options> = {}) {
  const read_again: (boolean | undefined)[] = []
  const lines: Record<string, unknown>[] = []
  const authenticate: Authenticate = async ({ token, signature, body, mayReadAgain }) => {
    read_again.push(mayReadAgain?.())
    if (token !== 'owner' && token !== 'new') throw unauthenticated('unknown_token')
    if (!isSignature(signature, body, SECRET)) throw unauthenticated('wrong_signature', 'k1')
    const rights = {
      scopes: undefined,
      daily_cap_sun: undefined,
      receivers: undefined,
      require_external_id: false,
      suspended: false,
    }
    return { customer_id: 'c1', key_id: 'k1', ...rights }
  }
  const log = (event: string, fields = {}) => void lines.push({ event, ...fields })
  const sql = (async () => []) as unknown as Sql
  const needs = { sql, clock: systemClock, random: systemRandom, log, authenticate }
  const rate_limit = { per_second: 0.001, burst: BURST }
  const app = await buildServer(needs, {
    endpoints: [balance],
    rate_limit,
    known_tokens: known_tokens(),
    ...options,
  })
  const ask = async (token: string, { right = true, ip = '203.0.113.1', forwarded = '' } = {}) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'x-signature': right ? signature(Buffer.from('{}'), SECRET) : '0'.repeat(64),
      ...(forwarded && { 'x-forwarded-for': forwarded }),
    }
    return app.inject({
      method: 'POST',
      url: '/v1/balance',
      payload: '{}',
      remoteAddress: ip,
      headers,
    })
  }
  const code = async (...asked: Parameters<typeof ask>) =>
    ((await ask(...asked)).json() as { code: number }).code
  return { ask, code, read_again, lines }
}

test('right tokens are served after any junk from their address, from the first on', async () => {
  const { code } = await server()
  for (let i = 0; i < 3 * BURST; i++) assert.equal(await code(`junk-${i}`), i < BURST ? 1 : 429)
  assert.equal(await code('owner'), 0)
})

test('wrong signatures take nothing from the owner of their token, here or elsewhere', async () => {
  const { code } = await server()
  for (const ip of ['203.0.113.1', '198.51.100.1']) {
    for (let i = 0; i < 3 * BURST; i++)
      assert.equal(await code('owner', { right: false, ip }), i < BURST ? 1 : 429)
  }
  for (let i = 0; i < BURST; i++) assert.equal(await code('owner'), 0)
  assert.equal(await code('owner'), 429)
})

test('wrong signatures have keys read again only as often as a network may ask', async () => {
  const { code, read_again } = await server()
  for (let i = 0; i < BURST + 2; i++) await code('owner', { right: false })
  assert.deepEqual(read_again, [...Array<boolean>(BURST).fill(true), false, false])
})

test("an unknown token is served within its address's allowance, then has its own", async () => {
  const { code } = await server()
  assert.equal(await code('new'), 0)
  for (let i = 0; i < 2 * BURST; i++) await code(`junk-${i}`)
  assert.equal(await code('new'), 0)
})

test('neither answer nor headers tell a wrong signature from an unknown token', async () => {
  const told = async (token: string) => {
    const { ask } = await server()
    const replies = []
    for (let i = 0; i < BURST + 1; i++) {
      const { statusCode, headers, body } = await ask(token, { right: false })
      const { 'x-request-id': id, ...rest } = headers
      replies.push([statusCode, rest, body.replace(String(id), '')])
    }
    return replies
  }
  const plain = (replies: unknown) =>
    JSON.parse(JSON.stringify(replies).replace(/"date":"[^"]*"/g, '"date":""')) as unknown
  assert.deepEqual(plain(await told('owner')), plain(await told('unknown')))
})

test('IPv6 is counted by /64, and what a proxy names only when it is an address', async () => {
  const { code } = await server({ trusted_proxies: ['10.0.0.1'] })
  for (let i = 0; i < BURST; i++) assert.equal(await code('junk', { ip: `2001:db8:1:1::${i}` }), 1)
  assert.equal(await code('junk', { ip: '2001:db8:1:1:ffff::9' }), 429)
  assert.equal(await code('junk', { ip: '2001:db8:1:2::1' }), 1)
  const proxied = (forwarded: string) => code('junk', { ip: '10.0.0.1', forwarded })
  for (let i = 0; i < BURST; i++) assert.equal(await proxied(`nobody-${i}`), 1)
  assert.equal(await proxied('nobody'), 429)
  assert.equal(await proxied('203.0.113.77'), 1)
})

test('the log says who was turned away and why, and a flood leaves few lines', async () => {
  const { ask, lines } = await server()
  await ask('owner')
  await ask('owner', { right: false })
  await ask('unknown', { ip: '::ffff:198.51.100.9' })
  const said = lines.map(({ ip, signature, auth, key_id, code }) => ({
    ip,
    signature,
    auth,
    key_id,
    code,
  }))
  assert.deepEqual(said, [
    { ip: '203.0.113.1', signature: 'v1', auth: undefined, key_id: 'k1', code: 0 },
    { ip: '203.0.113.1', signature: 'v1', auth: 'wrong_signature', key_id: 'k1', code: 1 },
    { ip: '198.51.100.9', signature: 'v1', auth: 'unknown_token', key_id: undefined, code: 1 },
  ])
  for (let i = 0; i < 1_000; i++) await ask('unknown')
  const { length } = lines
  assert.ok(length < 500, `${length}`)
  await ask('unknown', { ip: '198.51.100.10' })
  const left_out = lines.reduce((sum, line) => sum + Number(line.lines_left_out ?? 0), 0)
  assert.equal(lines.length + left_out, 1_004)
})
