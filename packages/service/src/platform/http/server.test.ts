import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Type } from 'typebox'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { fault, Outage } from '../../lib/fault.ts'
import { systemRandom } from '../../lib/ids.ts'
import { money } from '../../lib/json.ts'
import type { Log } from '../../lib/log.ts'
import type { Sql } from '../database/sql.ts'
import { listenOn } from '../limits/listeners.ts'
import {
  endpoint,
  InvalidParams,
  Money,
  refuses,
  ServiceUnavailable,
  Unauthenticated,
} from '../wire/endpoint.ts'
import { isSignature, signature } from '../wire/signature.ts'
import { referencePages } from './pages.ts'
import { type Authenticate, buildServer, type Options } from './server.ts'

const TOKEN = 'token-1'
const SECRET = 'secret-1'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const authenticate: Authenticate = async ({ token, signature, body }) => {
  if (token !== TOKEN || !isSignature(signature, body, SECRET)) throw Unauthenticated()
  return {
    customer_id: 'c1',
    key_id: 'k1',
    scopes: ['read'],
    daily_cap_sun: undefined,
    receivers: undefined,
    require_external_id: false,
    suspended: false,
  }
}

const Unlisted = fault(77, 'unlisted', 'Nobody listed this')
const pause: { until?: Promise<void>; reached?: () => void } = {}

/** Calls of `trouble` wait until they may finish: how many have begun is counted. */
function pauseCalls() {
  const paused = { begun: 0, finish: () => {} }
  pause.until = new Promise((resolve) => {
    paused.finish = resolve
  })
  pause.reached = () => {
    paused.begun += 1
  }
  return paused
}

const balance = endpoint({
  path: '/v1/balance',
  auth: 'signature',
  scope: 'read',
  summary: 'What can be spent',
  body: Type.Object({ note: Type.Optional(Type.String()) }),
  reply: Type.Object({ balance: Money(), note: Type.Optional(Type.String()) }),
  faults: [],
  handle: async ({ body, reply_headers }) => {
    reply_headers['idempotency-replayed'] = 'true'
    return { balance: money(1_500_000n), ...body }
  },
})
const buy = endpoint({
  path: '/v1/buy',
  auth: 'signature',
  scope: 'buy',
  mutating: true,
  summary: 'Needs another scope',
  body: Type.Object({}),
  reply: Type.Object({}),
  faults: [],
  handle: async () => ({}),
})
const prices = endpoint({
  path: '/v1/prices',
  auth: 'public',
  summary: 'Without parameters',
  body: Type.Object({}),
  reply: Type.Object({ count: Type.Integer() }),
  faults: [ServiceUnavailable],
  handle: async ({ customer }) => ({ count: customer === undefined ? 0 : 1 }),
})
const trouble = endpoint({
  path: '/v1/trouble',
  auth: 'public',
  summary: 'Everything that goes wrong',
  body: Type.Object({ how: Type.String() }),
  reply: Type.Object({ n: Type.Integer() }),
  faults: [refuses(InvalidParams, 'How it is asked for', 'page'), ServiceUnavailable],
  handle: async ({ body: { how } }) => {
    if (how === 'refusal') throw ServiceUnavailable()
    if (how === 'unlisted_sub') throw ServiceUnavailable('sub')
    if (how === 'sub')
      throw InvalidParams('page', 'Invalid page').because('there is no such page', 'page')
    if (how === 'unlisted') throw Unlisted()
    if (how === 'outage') throw new Outage('the node at 10.1.2.3')
    if (how === 'bug') throw new TypeError('password is hunter2')
    if (how === 'nothing') throw undefined
    if (how === 'undeclared') return { n: 1, internal: 'cost price' } as { n: number }
    if (how === 'pause') {
      pause.reached?.()
      await pause.until
    }
    return { n: how === 'fraction' ? 1.5 : 1 }
  },
})

type Line = { event: string; fields: Parameters<Log>[1] }

async function server(options: Partial<Options> & { sql?: Sql; clock?: Clock } = {}) {
  const lines: Line[] = []
  const log: Log = (event, fields) => lines.push({ event, fields })
  const sql = options.sql ?? (Object.assign(async () => []) as unknown as Sql)
  const needs = {
    sql,
    clock: options.clock ?? systemClock,
    random: systemRandom,
    log,
    authenticate,
  }
  const app = await buildServer(needs, {
    endpoints: [balance, buy, prices, trouble],
    check_replies: true,
    ...options,
  })
  const post = (url: string, body?: string | Buffer, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, headers, ...(body === undefined ? {} : { payload: body }) })
  const signed = (url: string, body: string, headers: Record<string, string> = {}) =>
    post(url, body, {
      authorization: `Bearer ${TOKEN}`,
      'x-signature': signature(Buffer.from(body), SECRET),
      ...headers,
    })
  return { app, lines, post, signed }
}

/** Listens for the time of the test. */
async function listening(t: TestContext, options: Partial<Options> & { clock?: Clock } = {}) {
  const built = await server(options)
  await built.app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => built.app.close())
  const { port } = built.app.server.address() as { port: number }
  return { ...built, port, url: `http://127.0.0.1:${port}` }
}

/** Sends bytes and returns all that comes back until the other side closes. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })
}

test('a result comes in the envelope, with the same request id in body and header', async () => {
  const { signed } = await server()
  const reply = await signed('/v1/balance', '{"note":"ü","unknown":1}')
  assert.equal(reply.statusCode, 200)
  assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(reply.headers['idempotency-replayed'], 'true')
  const { request_id } = reply.json()
  assert.match(request_id, UUID)
  assert.equal(reply.headers['x-request-id'], request_id)
  assert.equal(
    reply.body,
    `{"code":0,"request_id":"${request_id}","result":{"balance":1.5,"note":"ü"}}`,
  )
})

test('a refusal is HTTP 200 with code, key and sentence', async () => {
  const { post } = await server()
  const refused = async (how: string) => {
    const reply = await post('/v1/trouble', `{"how":"${how}"}`)
    assert.equal(reply.statusCode, 200)
    const { request_id, ...rest } = reply.json()
    assert.match(request_id, UUID)
    return rest
  }
  assert.deepEqual(await refused('refusal'), {
    code: 35,
    key: 'service_unavailable',
    error: 'Service unavailable',
    doc_url: '/docs/refusals#code-35',
  })
  assert.deepEqual(await refused('sub'), {
    code: 2,
    key: 'invalid_service_or_params.page',
    error: 'Invalid page: there is no such page',
    param: 'page',
    doc_url: '/docs/refusals#code-2',
  })
})

test('whatever else is thrown is code 500 without details, which go to the log', async () => {
  for (const how of [
    'outage',
    'bug',
    'nothing',
    'unlisted',
    'unlisted_sub',
    'undeclared',
    'fraction',
  ]) {
    const { post, lines } = await server()
    const reply = await post('/v1/trouble', `{"how":"${how}"}`)
    assert.equal(reply.statusCode, 200, how)
    const { request_id, ...rest } = reply.json()
    assert.deepEqual(
      rest,
      {
        code: 500,
        key: 'internal_server_error',
        error: 'Internal server error',
        doc_url: '/docs/refusals#code-500',
      },
      how,
    )
    const failure = lines.find(({ event }) => event === 'request_failed')
    assert.equal(failure?.fields?.request_id, request_id)
  }
})

test('results are not compared with their schemas unless that is asked for', async () => {
  const { post } = await server({ check_replies: false })
  assert.deepEqual((await post('/v1/trouble', '{"how":"undeclared"}')).json().result, {
    n: 1,
    internal: 'cost price',
  })
  assert.equal((await post('/v1/trouble', '{"how":"unlisted"}')).json().code, 77)
})

test('a signed endpoint answers code 1, in the same words, to wrong credentials', async () => {
  const { post, signed } = await server()
  const right = {
    authorization: `Bearer ${TOKEN}`,
    'x-signature': signature(Buffer.from('{}'), SECRET),
  }
  const attempts = [
    post('/v1/balance', '{}'),
    post('/v1/balance', '{}', { ...right, authorization: 'Bearer other' }),
    post('/v1/balance', '{}', { ...right, authorization: TOKEN }),
    post('/v1/balance', '{}', { ...right, authorization: `Basic ${TOKEN}` }),
    post('/v1/balance', '{}', { ...right, authorization: 'Bearer ' }),
    post('/v1/balance', '{}', { authorization: right.authorization }),
    post('/v1/balance', '{ }', right),
    post('/v1/balance', '', right),
    post('/v1/balance', 'not json', right),
    signed('/v1/balance', '{}', { 'x-signature': 'abc' }),
  ]
  for (const attempt of attempts) {
    const { request_id, ...rest } = (await attempt).json()
    assert.match(request_id, UUID)
    assert.deepEqual(rest, {
      code: 1,
      key: 'auth',
      error: 'Incorrect token or signature',
      doc_url: '/docs/refusals#code-1',
    })
  }
  assert.equal(
    (await post('/v1/balance', '{}', { ...right, authorization: `bearer   ${TOKEN}` })).json().code,
    0,
  )
})

test('a key without the scope of the endpoint is refused', async () => {
  const { signed } = await server()
  const { code, key } = (await signed('/v1/buy', '{}')).json()
  assert.deepEqual({ code, key }, { code: 1, key: 'auth.scope' })
})

test('while nothing may be changed, what changes is refused with 35, the rest is not', async () => {
  let may_change = false
  const endpoints = [{ ...buy, scopes: ['read' as const] }, balance]
  const { signed } = await server({ endpoints, mayChange: () => may_change, check_replies: false })
  const code = async (url: string) => (await signed(url, '{}')).json().code
  assert.deepEqual([await code('/v1/buy'), await code('/v1/balance')], [35, 0])
  may_change = true
  assert.equal(await code('/v1/buy'), 0)
})

test('a body is parsed only when its signature is right', async () => {
  const { signed } = await server()
  for (const body of ['{', '{"a":1,"a":2}', '[1]', 'null', '{"note":1}']) {
    const { code, key } = (await signed('/v1/balance', body)).json()
    assert.deepEqual({ code, key }, { code: 2, key: 'invalid_service_or_params' })
  }
})

test('no body, an empty array and an empty object are the same to a signed endpoint', async () => {
  const { signed } = await server()
  for (const body of ['', '[]', '{}'])
    assert.equal((await signed('/v1/balance', body)).json().code, 0)
})

test('a public endpoint without parameters reads neither credentials nor body', async () => {
  const { post } = await server()
  const wrong = { authorization: 'Bearer wrong', 'x-signature': 'wrong' }
  const attempts = [
    post('/v1/prices'),
    post('/v1/prices', '{}', wrong),
    post('/v1/prices', 'no json'),
    post('/v1/prices', ''),
  ]
  for (const attempt of attempts) assert.deepEqual((await attempt).json().result, { count: 0 })
})

test('any content type, or none, is accepted', async () => {
  const { signed } = await server()
  const types = [
    'application/json',
    'application/json; charset=latin1',
    'text/plain',
    'application/xml',
    'nonsense',
    ';;',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
  ]
  for (const type of types)
    assert.equal(
      (await signed('/v1/balance', '{"note":"x"}', { 'content-type': type })).json().code,
      0,
      type,
    )
})

test('what the transport refuses has a status, a code and a sentence', async () => {
  const { app, post } = await server()
  const large = Buffer.alloc(64 * 1024 + 1, 0x20)
  const table = [
    [await post('/v1/unknown', '{}'), 404, 'Method not found'],
    [await post('/', '{}'), 404, 'Method not found'],
    [await post('/v1', '{}'), 404, 'Method not found'],
    [await post('/v1/balance/x', '{}'), 404, 'Method not found'],
    [await post('/V1/balance', '{}'), 404, 'Method not found'],
    [await post('/v1/%zz', '{}'), 404, 'Method not found'],
    [await app.inject({ method: 'GET', url: '/v1/unknown' }), 404, 'Method not found'],
    [await app.inject({ method: 'GET', url: '/v1/balance?x=1' }), 405, 'Method Not Allowed'],
    [await app.inject({ method: 'DELETE', url: '/v1/balance' }), 405, 'Method Not Allowed'],
    [
      await app.inject({ method: 'PUT', url: '/v1/balance', payload: '{}' }),
      405,
      'Method Not Allowed',
    ],
    [await app.inject({ method: 'OPTIONS', url: '/v1/balance' }), 405, 'Method Not Allowed'],
    [await app.inject({ method: 'GET', url: '//v1/balance/' }), 405, 'Method Not Allowed'],
    [await app.inject({ method: 'TRACE', url: '/v1/balance' }), 405, 'Method Not Allowed'],
    [await post('/health', '{}'), 405, 'Method Not Allowed'],
    [await post('/health/', '{}'), 405, 'Method Not Allowed'],
    [await post('/v1/balance', large), 413, 'Payload Too Large'],
    [
      await post('/v1/balance', gzipSync('{}'), { 'content-encoding': 'gzip' }),
      415,
      'Unsupported Media Type',
    ],
    [await post('/v1/prices', '{}', { 'content-encoding': 'br' }), 415, 'Unsupported Media Type'],
  ] as const
  for (const [reply, status, error] of table) {
    const { request_id, ...rest } = reply.json()
    assert.match(request_id, UUID)
    assert.equal(reply.headers['x-request-id'], request_id)
    assert.equal(reply.statusCode, status)
    assert.deepEqual(rest, { code: status, error })
  }
  assert.equal((await app.inject({ method: 'GET', url: '/v1/balance' })).headers.allow, 'POST')
  assert.equal((await post('/health')).headers.allow, 'GET, HEAD')
})

test('slashes that a base URL adds, in front or at the end, say nothing', async () => {
  const { signed, app } = await server({
    pages: [
      {
        path: '/page',
        summary: 'A page',
        handle: async () => ({ status: 200, code: 0, body: 'hello' }),
      },
    ],
  })
  for (const path of ['/v1/balance', '//v1/balance', '/v1/balance/', '//v1//balance//?x=1'])
    assert.equal((await signed(path, '{}')).json().code, 0, path)
  assert.equal((await app.inject({ url: '/health/' })).statusCode, 200)
  for (const url of ['/page', '//page'])
    assert.equal((await app.inject({ url })).body, 'hello', url)
  for (const url of ['/page/', '//page/?x=1', '/page//']) {
    const { statusCode, headers } = await app.inject({ url })
    assert.deepEqual([statusCode, headers.location], [308, '../page'], url)
  }
})

test('the page at the root is there itself, and not moved for its slash', async () => {
  const root = { path: '/', summary: 'The first page' } as const
  const handle = async () => ({ status: 200, code: 0, body: 'hello' })
  const { app } = await server({ pages: [{ ...root, handle }] })
  for (const url of ['/', '/?x=1']) assert.equal((await app.inject({ url })).body, 'hello', url)
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/' })
  assert.deepEqual([statusCode, headers.allow], [405, 'GET, HEAD'])
})

test('a page says how it is asked for, and one for browsers alone says nothing', async () => {
  const handle = async () => ({ status: 200, code: 0, body: 'hello' })
  const page = (path: `/${string}`, more = {}) => ({ path, summary: 'A page', handle, ...more })
  const { post } = await server({
    pages: [page('/of/:id'), page('/browsers', { for_browsers_alone: true })],
  })
  for (const [path, status, allow] of [
    ['/of/7', 405, 'GET, HEAD'],
    ['/of/7/', 405, 'GET, HEAD'],
    ['/of', 404, undefined],
    ['/browsers', 404, undefined],
  ] as const) {
    const { statusCode, headers } = await post(path)
    assert.deepEqual([statusCode, headers.allow], [status, allow], path)
  }
})

test('a file of the reference that cannot be read is tried again the next time', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'penstock-pages-'))
  t.after(() => rm(dir, { recursive: true }))
  const file = join(dir, 'late.css')
  const { app } = await server({
    pages: referencePages([['/late.css', file, 'text/css', 'A file']]),
  })
  assert.equal((await app.inject({ url: '/late.css' })).statusCode, 500)
  await writeFile(file, 'a { }')
  assert.equal((await app.inject({ url: '/late.css' })).body, 'a { }')
  await rm(file)
  assert.equal((await app.inject({ url: '/late.css' })).body, 'a { }')
})

test('a body of exactly 64 KiB and the encoding identity are accepted', async () => {
  const { signed } = await server()
  const body = `{}${' '.repeat(64 * 1024 - 2)}`
  assert.equal(
    (await signed('/v1/balance', body, { 'content-encoding': 'identity' })).json().code,
    0,
  )
})

test('too many requests of one caller are 429 and say when to come again', async () => {
  const { signed, post } = await server({ rate_limit: { per_second: 0.001, burst: 3 } })
  // The first one counts for the address too: until then nobody knows that the token is right.
  await signed('/v1/balance', '{}')
  const second = await signed('/v1/balance', '{}')
  assert.equal(second.headers['ratelimit-limit'], '3')
  assert.equal(second.headers['ratelimit-remaining'], '1')
  await signed('/v1/balance', '{}')
  const fourth = await signed('/v1/balance', '{}')
  const { request_id, ...rest } = fourth.json()
  assert.match(request_id, UUID)
  assert.equal(fourth.statusCode, 429)
  assert.deepEqual(rest, { code: 429, error: 'Too Many Requests' })
  assert.equal(fourth.headers['ratelimit-remaining'], '0')
  assert.ok(Number(fourth.headers['retry-after']) > 0)
  assert.equal((await post('/v1/prices')).statusCode, 200)
})

test('made-up tokens use up the allowance of the address and not that of a customer', async () => {
  const { signed, post } = await server({ rate_limit: { per_second: 0.001, burst: 3 } })
  await signed('/v1/balance', '{}')
  const made_up = async (name: string) =>
    (await post('/v1/balance', '{}', { authorization: name })).statusCode
  assert.deepEqual(
    [
      await made_up('Bearer a'),
      await made_up('Bearer b'),
      await made_up('Bearer c'),
      await made_up('Basic d'),
    ],
    [200, 200, 429, 429],
  )
  assert.equal((await post('/v1/prices')).statusCode, 429)
  assert.equal((await signed('/v1/balance', '{}')).json().code, 0)
})

test('every request leaves a line in the log, without token, signature or body', async () => {
  const seconds = (function* () {
    for (let ms = 0; ; ms += 1_000) yield new Date(ms)
  })()
  const { signed, post, lines } = await server({ clock: { now: () => seconds.next().value } })
  const reply = await signed('/v1/balance?secret=canary-query', '{"note":"canary-body"}')
  await post('/v1/balance', '{"note":"canary-body"}', {
    authorization: 'Bearer canary-token',
    'x-signature': 'canary-signature',
  })
  await post('/v1/trouble', '{"how":"canary-body"}')
  await post('/nowhere')
  const requests = lines.filter(({ event }) => event === 'request').map(({ fields }) => fields)
  assert.equal(requests.length, 4)
  const { request_id } = reply.json()
  const { ms, ...first } = requests[0]!
  assert.ok(Number(ms) >= 1_000)
  assert.deepEqual(first, {
    path: '/v1/balance',
    status: 200,
    code: 0,
    request_id,
    ip: '127.0.0.1',
    signature: 'v1',
    auth: undefined,
    key_id: 'k1',
    customer_id: 'c1',
  })
  assert.deepEqual([requests[1]!.auth, requests[1]!.customer_id], ['auth', undefined])
  assert.deepEqual(
    requests.map((fields) => fields?.code),
    [0, 1, 0, 404],
  )
  const text = JSON.stringify(lines)
  assert.doesNotMatch(text, /canary/)
  assert.ok(!text.includes(signature(Buffer.from('{"note":"canary-body"}'), SECRET)))
})

test('health says whether the database answers', async () => {
  const good = await (await server()).app.inject({ method: 'GET', url: '/health' })
  assert.deepEqual([good.statusCode, good.json()], [200, { status: 'ok' }])
  const sql = (async () => {
    throw new Outage('the database')
  }) as unknown as Sql
  const bad = await (await server({ sql })).app.inject({ method: 'GET', url: '/health' })
  assert.deepEqual([bad.statusCode, bad.json()], [503, { status: 'unavailable' }])
})

test('health asks the database once a second at most, however many ask for it', async () => {
  let now_ms = 0
  let asked = 0
  let answer = () => {}
  const sql = (() => {
    asked += 1
    return new Promise<void>((resolve) => {
      answer = resolve
    })
  }) as unknown as Sql
  const { app, lines } = await server({ sql, clock: { now: () => new Date(now_ms) } })
  const ask = () => app.inject({ method: 'GET', url: '/health' })
  const together = Array.from({ length: 20 }, ask)
  while (asked === 0) await delay(1)
  now_ms += 999
  const later = ask()
  answer()
  for (const { statusCode } of await Promise.all([...together, later, ask()]))
    assert.equal(statusCode, 200)
  now_ms += 998
  await ask()
  assert.equal(asked, 1)
  now_ms += 2
  const again = ask()
  while (asked === 1) await delay(1)
  answer()
  assert.equal((await again).statusCode, 200)
  assert.deepEqual(lines, [])
})

test('health has an allowance of its own for each address', async () => {
  const { app, post } = await server({ rate_limit: { per_second: 0.001, burst: 2 } })
  for (let i = 0; i < 4; i++) await post('/v1/prices')
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await app.inject({ url: '/health' })).statusCode)
  assert.deepEqual(statuses, [200, 200, 429])
  assert.equal((await app.inject({ url: '/health', remoteAddress: '203.0.113.1' })).statusCode, 200)
})

test('other pages can be added, and their failures are logged and not shown either', async () => {
  const { app, lines } = await server()
  app.get('/page', async () => 'hello')
  for (const [path, status] of [
    ['/broken', {}],
    ['/broken/inside', { statusCode: 500 }],
    ['/broken/outside', { statusCode: 400 }],
    ['/broken/last', { statusCode: 499 }],
    ['/broken/below', { statusCode: 399 }],
  ] as const)
    app.get(path, async () => {
      throw Object.assign(new Error('hunter2'), status)
    })
  app.get('/broken/odd', async () => {
    throw { statusCode: 400, message: 'hunter2' }
  })
  assert.equal((await app.inject({ method: 'GET', url: '/page' })).body, 'hello')
  for (const [path, status, logged] of [
    ['/broken', 500, 1],
    ['/broken/inside', 500, 1],
    ['/broken/outside', 400, 0],
    ['/broken/last', 499, 0],
    ['/broken/below', 500, 1],
    ['/broken/odd', 500, 1],
  ] as const) {
    const before = lines.length
    const broken = await app.inject({ method: 'GET', url: path })
    assert.equal(broken.statusCode, status)
    assert.doesNotMatch(broken.body, /hunter2/)
    const failures = lines.slice(before).filter(({ event }) => event === 'request_failed')
    assert.equal(failures.length, logged, path)
  }
})

test('the address behind a trusted proxy is the one it names; no other is believed', async () => {
  const seen = async (trusted_proxies: string[]) => {
    const { app } = await server({ trusted_proxies })
    app.get('/ip', async (request) => request.ip)
    return (
      await app.inject({ method: 'GET', url: '/ip', headers: { 'x-forwarded-for': '203.0.113.9' } })
    ).body
  }
  assert.equal(await seen(['127.0.0.1']), '203.0.113.9')
  assert.equal(await seen([]), '127.0.0.1')
  assert.equal(await seen(['10.0.0.0/8']), '127.0.0.1')
})

test('a client that offers HTTP/2 is answered in HTTP/1.1 and stays connected', async (t) => {
  const { port } = await listening(t)
  const head = [
    'POST /v1/balance HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${TOKEN}`,
    `X-Signature: ${signature(Buffer.from('{}'), SECRET)}`,
    'Content-Length: 2',
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
  ].join('\r\n')
  const socket = connectSocket(port, '127.0.0.1').setNoDelay().setEncoding('utf8')
  t.after(() => socket.destroy())
  for (const body_apart of [false, true, false]) {
    socket.write(body_apart ? `${head}\r\n\r\n` : `${head}\r\n\r\n{}`)
    if (body_apart)
      await new Promise((resolve) => setTimeout(resolve, 50)).then(() => socket.write('{}'))
    const [answer] = (await once(socket, 'data')) as [string]
    assert.match(answer, /^HTTP\/1\.1 200 .*"code":0/s)
    assert.doesNotMatch(answer, /^connection: close/im)
  }
})

test('a bare request without body, type or credentials reaches a public endpoint', async (t) => {
  const { port } = await listening(t)
  const answer = await exchange(
    port,
    'POST /v1/prices HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  )
  assert.match(answer, /^HTTP\/1\.1 200 .*"result":\{"count":0\}\}$/s)
})

test('an expectation that nobody knows is ignored', async (t) => {
  const { port } = await listening(t)
  const answer = await exchange(
    port,
    'POST /v1/prices HTTP/1.1\r\nHost: x\r\nExpect: x\r\nConnection: close\r\n\r\n',
  )
  assert.match(answer, /^HTTP\/1\.1 200 .*"result":\{"count":0\}\}$/s)
})

test('a body in chunks is read as a whole, and refused when it grows too large', async (t) => {
  const { url } = await listening(t)
  const chunked = async (chunk: string, count: number) => {
    const parts = Array.from({ length: count }, () => new TextEncoder().encode(chunk))
    const sent = chunk.repeat(count)
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      'x-signature': signature(Buffer.from(sent), SECRET),
    }
    const reply = await fetch(`${url}/v1/balance`, {
      method: 'POST',
      headers,
      body: ReadableStream.from(parts),
      duplex: 'half',
    } as RequestInit)
    return ((await reply.json()) as { code: number }).code
  }
  assert.equal(await chunked('{}', 1), 0)
  assert.equal(await chunked(' '.repeat(1024), 65), 413)
})

test('a credential that is given twice counts as none, whichever is right', async (t) => {
  const { port } = await listening(t)
  const good = [
    `Authorization: Bearer ${TOKEN}`,
    `X-Signature: ${signature(Buffer.from('{}'), SECRET)}`,
  ]
  const call = async (...headers: string[]) => {
    const head = [
      'POST /v1/balance HTTP/1.1',
      'Host: x',
      'Connection: close',
      'Content-Length: 2',
      ...headers,
    ]
    const answer = await exchange(port, `${head.join('\r\n')}\r\n\r\n{}`)
    return (JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as { code: number }).code
  }
  assert.equal(await call(...good), 0)
  assert.equal(await call(...good, 'authorization: Bearer other'), 1)
  assert.equal(await call('Authorization: Bearer other', ...good), 1)
  assert.equal(await call(...good, good[1]!), 1)
  assert.equal(await call(...good, 'X-Other: 1', 'X-Other: 1'), 0)
})

test('requests that come in one piece are answered in their order', async (t) => {
  const { port } = await listening(t)
  const head = (path: string, more = '') => `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  const answer = await exchange(
    port,
    head('/v1/prices') +
      head('/v1/nowhere') +
      head('http://x/v1/prices') +
      head('/v1/prices', 'Connection: close\r\n'),
  )
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  assert.deepEqual(statuses, ['200', '404', '200', '200'])
})

test('who asks whether to go on with a body is told to', async (t) => {
  const { port } = await listening(t)
  const answer = await exchange(
    port,
    'POST /v1/trouble HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: ' +
      '100-continue\r\nContent-Length: 12\r\n\r\n{"how":"ok"}',
  )
  assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 .*"result":\{"n":1\}\}$/s)
})

test('HEAD is answered without a body', async (t) => {
  const { port } = await listening(t)
  const head = (path: string) =>
    exchange(port, `HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  assert.match(await head('/health'), /^HTTP\/1\.1 200 .*\r\n\r\n$/s)
  assert.match(await head('/v1/prices'), /^HTTP\/1\.1 405 .*\r\nallow: POST\r\n.*\r\n\r\n$/is)
})

test('bytes that are no request, or endless headers, are answered in the same shape', async (t) => {
  const { port } = await listening(t)
  const large = `POST /v1/prices HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(9_000)}\r\n\r\n`
  const answers = [
    [await exchange(port, 'HELLO\r\n\r\n'), 400],
    [await exchange(port, 'POST /v1/prices HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n'), 400],
    [await exchange(port, large), 431],
    [await exchange(port, 'POST /v1/prices HTTP/1.1\r\nConnection: close\r\n\r\n'), 400],
    [
      await exchange(
        port,
        'POST /v1/prices HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
      ),
      400,
    ],
    [await exchange(port, 'BUY /v1/prices HTTP/1.1\r\nHost: x\r\n\r\n'), 400],
    [await exchange(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), 400],
    [await exchange(port, 'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n'), 405],
    [await exchange(port, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), 404],
  ] as const
  for (const [answer, status] of answers) {
    assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer)
    assert.match(
      answer,
      new RegExp(`\\{"code":${status},"error":"[^"]+","request_id":"[0-9a-f-]{36}"\\}$`),
    )
  }
})

test('connections that are reset at any moment end nothing', async (t) => {
  const { port, url } = await listening(t)
  const texts = [
    'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    'POST /v1/prices HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
    'POST /v1/prices HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{',
    'POST /v1/prices HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20),
    'HELLO\r\n\r\n',
    '',
  ]
  for (const text of texts) {
    for (const wait_ms of [0, 0, 0, 1, 5]) {
      const socket = connectSocket(port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      await new Promise((resolve) => socket.write(text, resolve))
      if (wait_ms > 0) await delay(wait_ms)
      socket.resetAndDestroy()
    }
  }
  assert.equal((await fetch(`${url}/v1/prices`, { method: 'POST' })).status, 200)
})

test('beyond the limit of connections the answer is 503, and customers keep theirs', async (t) => {
  const { port } = await listening(t, { connections: { total_max: 1 } })
  const socket = connectSocket(port, '127.0.0.1').setNoDelay().setEncoding('utf8')
  t.after(() => socket.destroy())
  const ask = async () => {
    const signed = signature(Buffer.from('{}'), SECRET)
    const credentials = `Authorization: Bearer ${TOKEN}\r\nX-Signature: ${signed}`
    socket.write(
      `POST /v1/balance HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n${credentials}\r\n\r\n{}`,
    )
    const [answer] = (await once(socket, 'data')) as [string]
    assert.match(answer, /^HTTP\/1\.1 200 .*"code":0/s)
  }
  await ask()
  const refused = await exchange(port, '')
  assert.match(refused, /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/is)
  assert.match(refused, /\r\n\r\n\{"code":503,"error":"[^"]+","request_id":"[^"]+"\}$/)
  await ask()
})

test('connections are checked each second; a stranger is told how long he may idle', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now_ms = 0
  const { port, url } = await listening(t, {
    connections: { stranger_idle_ms_max: 20_000 },
    clock: { now: () => new Date(now_ms) },
  })
  const socket = connectSocket(port, '127.0.0.1', () =>
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n'),
  )
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.match(answer.toString(), /\r\nkeep-alive: timeout=20\r\n/i)
  const signed_reply = await fetch(`${url}/v1/balance`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'x-signature': signature(Buffer.from(''), SECRET),
    },
  })
  assert.match(signed_reply.headers.get('keep-alive') ?? '', /^timeout=72/)
  for (let second = 0; second <= 20; second++) {
    now_ms += 1_000
    t.mock.timers.tick(1_000)
  }
  await once(socket, 'close')
})

test('a hundred calls of one caller at once are all answered, 64 of them at a time', async () => {
  const { post } = await server()
  const paused = pauseCalls()
  const calls = Array.from({ length: 100 }, () => post('/v1/trouble', '{"how":"pause"}'))
  while (paused.begun < 64) await delay(1)
  await delay(20)
  assert.equal(paused.begun, 64)
  paused.finish()
  const codes = (await Promise.all(calls)).map((reply) => reply.json().code as number)
  assert.deepEqual([paused.begun, new Set(codes)], [100, new Set([0])])
})

test('of one caller no more than a thousand calls wait: more are refused, not begun', async () => {
  const { post } = await server({ rate_limit: { per_second: 10_000, burst: 10_000 } })
  const paused = pauseCalls()
  const calls = Array.from({ length: 1_070 }, () => post('/v1/trouble', '{"how":"pause"}'))
  let told = 0
  for (const call of calls) void call.then(() => told++)
  while (told < 6 && paused.begun <= 64) await delay(1)
  paused.finish()
  assert.deepEqual([told, paused.begun], [6, 64])
  const last = await calls.at(-1)!
  assert.deepEqual([last.statusCode, last.headers['retry-after']], [429, '1'])
  const statuses = (await Promise.all(calls)).map(({ statusCode }) => statusCode)
  const refused = statuses.filter((one) => one === 429).length
  assert.deepEqual([paused.begun, refused], [1_064, 6])
})

test('requests that come in one piece and are too many are told to wait', async (t) => {
  const { port } = await listening(t, { connections: { unanswered_max: 3 } })
  const one = 'POST /v1/prices HTTP/1.1\r\nHost: x\r\n\r\n'
  const last = one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const answer = await exchange(port, one.repeat(4) + last)
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  assert.deepEqual(statuses, ['200', '200', '200', '429', '429'])
})

test('a stranger who asks too often gets one more answer, the rest is not read', async (t) => {
  const { port, lines } = await listening(t, { rate_limit: { per_second: 0.001, burst: 2 } })
  const one = 'POST /v1/prices HTTP/1.1\r\nHost: x\r\n\r\n'
  const answer = await exchange(port, one.repeat(9))
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  assert.deepEqual([statuses, lines.length], [['200', '200', '429'], 3])
  assert.match(answer, /\r\nconnection: close\r\n/i)
})

test('a customer who asks too often keeps the connection', async (t) => {
  const { url } = await listening(t, { rate_limit: { per_second: 0.001, burst: 3 } })
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    'x-signature': signature(Buffer.from('{}'), SECRET),
  }
  const replies: [number, string | null][] = []
  for (let i = 0; i < 4; i++) {
    const reply = await fetch(`${url}/v1/balance`, { method: 'POST', headers, body: '{}' })
    replies.push([reply.status, reply.headers.get('connection')])
    await reply.text()
  }
  assert.deepEqual(replies, [...Array(3).fill([200, 'keep-alive']), [429, 'keep-alive']])
})

test('closing answers what is under way and then lets go of the connection', async (t) => {
  const { app, url } = await listening(t)
  let finish = () => {}
  pause.until = new Promise((resolve) => {
    finish = resolve
  })
  const reached = new Promise<void>((resolve) => {
    pause.reached = resolve
  })
  const under_way = fetch(`${url}/v1/trouble`, { method: 'POST', body: '{"how":"pause"}' })
  await reached
  const closed = app.close()
  await assert.rejects(fetch(`${url}/v1/prices`, { method: 'POST' }))
  finish()
  const reply = await under_way
  assert.equal(reply.headers.get('connection'), 'close')
  assert.deepEqual(((await reply.json()) as { result: unknown }).result, { n: 1 })
  await closed
})

test('connections on which nothing was ever sent do not keep a server from closing', async (t) => {
  // By a clock that stands: no time passes after which it would close them anyway.
  const { app } = await server({ clock: { now: () => new Date(0) } })
  const { port, close } = await listenOn(app, { port: 0, host: '127.0.0.1' })
  const ends: Promise<unknown>[] = []
  for (let count = 0; count < 40; count++) {
    const socket = connectSocket(port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    ends.push(once(socket.resume(), 'close'))
  }
  await close()
  await Promise.all(ends)
})

test('no two requests have the same id', async () => {
  const { post } = await server()
  const ids = new Set<unknown>()
  for (let i = 0; i < 600; i++) {
    const { request_id } = (await post('/nowhere')).json()
    assert.match(request_id, UUID)
    ids.add(request_id)
  }
  assert.equal(ids.size, 600)
})

test('refusals common to all endpoints are listed with each, in the order of the checks', () => {
  const keys = ({ faults }: { faults: readonly { key: string }[] }) => faults.map(({ key }) => key)
  const [form, failure] = ['invalid_service_or_params', 'internal_server_error']
  assert.deepEqual(keys(balance), ['auth', 'auth.second_signature', 'auth.scope', form, failure])
  assert.deepEqual(keys(prices), ['service_unavailable', failure])
  assert.deepEqual(keys(trouble), [form, `${form}.page`, 'service_unavailable', failure])
})
