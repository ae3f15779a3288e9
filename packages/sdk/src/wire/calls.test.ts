// One call against a service that is scripted: what is sent, what is sent again, and what comes of
// it.

import assert from 'node:assert/strict'
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { mock, test } from 'node:test'
import {
  AddressNotActivated,
  AuthError,
  ConnectionError,
  Forbidden,
  InsufficientFunds,
  InvalidRequest,
  LimitReached,
  NotFound,
  NotSupported,
  Penstock,
  PenstockError,
  type PenstockOptions,
  QuoteExpired,
  RateLimited,
  ServerError,
  TimeoutError,
  TooOld,
  Unavailable,
  UnknownOutcome,
} from '../penstock.ts'

const TOKEN = 'pst_token'
const SECRET = 'secret'
const PURCHASE = {
  service: 'energy',
  params: { address: 'T', amount: 65_000, duration: 1 },
} as const

// The shortest pause there is.
mock.method(Math, 'random', () => 0)

type Request = { url: string; method: string; headers: Headers; body: string }
/** The answer to a request, or its failure. */
type Reply = (request: Request, signal: AbortSignal) => Promise<Response> | Response

/** A client of a service that answers so; the last answer is given again and again. */
function scripted(replies: readonly Reply[], options: Partial<PenstockOptions> = {}) {
  const requests: Request[] = []
  const fetch = async (url: unknown, how: RequestInit = {}) => {
    const headers = new Headers(how.headers)
    const request = { url: String(url), method: how.method!, headers, body: String(how.body) }
    requests.push(request)
    const reply = replies[Math.min(requests.length, replies.length) - 1]!
    return reply(request, how.signal!)
  }
  const access = { url: 'https://api.example/base/', token: TOKEN, secret: SECRET }
  const penstock = new Penstock({ ...access, fetch: fetch as typeof globalThis.fetch, ...options })
  return { penstock, requests }
}

type SentHeaders = Record<string, string>
const json = (value: object, status = 200, headers: SentHeaders = {}) =>
  new Response(JSON.stringify(value), { status, headers })
const well =
  (result: object = {}, headers: SentHeaders = {}): Reply =>
  () =>
    json({ code: 0, request_id: 'r-1', result }, 200, headers)
const refused =
  (code: number, key?: string, headers: SentHeaders = {}): Reply =>
  () =>
    json(
      { code, key, request_id: 'r-2', error: 'No' },
      code > 100 && code !== 500 ? code : 200,
      headers,
    )
const broken: Reply = () => Promise.reject(new TypeError('fetch failed'))
const never: Reply = (_, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
/** Buys, and says so with the id that it was sent. */
const sold: Reply = ({ body }) => {
  const { external_id } = JSON.parse(body) as { external_id: string }
  return json({ code: 0, request_id: 'r-3', result: { id: 'o-1', external_id } })
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** The second signature of a request, computed as the service does. */
function signatureV2({ headers, body, url }: Request): string {
  const stamped = ['x-timestamp', 'x-nonce'].map((name) => headers.get(name))
  const path = url.slice('https://api.example/base'.length)
  const lines = [...stamped, 'POST', path, sha256(body)]
  const id = headers.get('idempotency-key')
  if (id !== null) lines.push(id)
  const key = new Uint8Array(hkdfSync('sha256', SECRET, '', 'v2', 32))
  return createHmac('sha256', key).update(lines.join('\n')).digest('hex')
}

test('a call carries the token and both signatures, with a new nonce for each try', async () => {
  const { penstock, requests } = scripted([refused(500), well({ balance: 1 }, { 'x-a': 'b' })])
  const result = await penstock.call('/v1/balance', {}, { request_headers: { 'X-Trace': 't' } })
  assert.deepEqual(result, { balance: 1 })
  assert.equal(requests.length, 2)
  for (const request of requests) {
    const { url, method, headers, body } = request
    assert.deepEqual(
      [url, method, body, headers.get('content-type'), headers.get('x-trace')],
      ['https://api.example/base/v1/balance', 'POST', '{}', 'application/json', 't'],
    )
    assert.equal(headers.get('authorization'), `Bearer ${TOKEN}`)
    // The documentation's example for the secret `secret`.
    assert.equal(
      headers.get('x-signature'),
      '6826e169e270a699d36407a3e3f9c9bba4778bb9b27c99e99a0bf47762093d46',
    )
    assert.ok(Math.abs(Number(headers.get('x-timestamp')) - Date.now() / 1000) < 5)
    assert.equal(headers.get('x-signature-v2'), signatureV2(request))
  }
  const [one, two] = requests.map(({ headers }) => headers.get('x-nonce'))
  assert.notEqual(one, two)
})

test('what came with a result is beside it, and not in it', async () => {
  const { penstock } = scripted([well({ id: 'o-1' }, { 'idempotency-replayed': 'true' })])
  const order = await penstock.orders.create({ ...PURCHASE, external_id: 'order-1' })
  assert.equal(JSON.stringify(order), '{"id":"o-1"}')
  const { status, request_id, headers, replayed, idempotency_key } = order.lastResponse
  assert.deepEqual([status, request_id, replayed, idempotency_key], [200, 'r-1', true, undefined])
  assert.equal(headers.get('idempotency-replayed'), 'true')
})

test('a purchase has one id for all its tries: its own, a given key, or a new one', async () => {
  const lost = scripted([broken, refused(500), sold])
  const order = await lost.penstock.orders.create(PURCHASE)
  const ids = lost.requests.map(({ body }) => JSON.parse(body).external_id)
  assert.match(ids[0], /^[0-9a-f]{32}$/)
  assert.deepEqual(ids, [order.external_id, order.external_id, order.external_id])

  const own = scripted([sold])
  await own.penstock.orders.create({ ...PURCHASE, external_id: 'order-1' })
  assert.equal(JSON.parse(own.requests[0]!.body).external_id, 'order-1')

  const keyed = scripted([well()])
  await keyed.penstock.orders.create(PURCHASE, { idempotency_key: 'key-1' })
  assert.equal(keyed.requests[0]!.headers.get('idempotency-key'), 'key-1')
  assert.equal('external_id' in JSON.parse(keyed.requests[0]!.body), false)
  assert.equal(keyed.requests[0]!.headers.get('x-signature-v2'), signatureV2(keyed.requests[0]!))

  const check = scripted([broken, well({ id: 'c-1' })])
  const made = await check.penstock.aml.create({ type: 'address', network: 'TRX', address: 'T' })
  const keys = check.requests.map(({ headers }) => headers.get('idempotency-key'))
  assert.match(keys[0]!, /^[0-9a-f]{32}$/)
  assert.deepEqual(keys, [keys[0], made.lastResponse.idempotency_key])
})

test('a purchase without an answer is an unknown outcome; the same call resolves it', async () => {
  const { penstock, requests } = scripted([broken, broken, broken, sold])
  const body = { ...PURCHASE, external_id: 'order-1' }
  const thrown = await penstock.orders.create(body).catch((thrown: unknown) => thrown)
  assert.ok(thrown instanceof UnknownOutcome)
  assert.deepEqual([thrown.external_id, thrown.retryable], ['order-1', true])
  assert.ok(thrown.cause instanceof ConnectionError)
  assert.match(thrown.message, /order-1/)
  assert.equal((await penstock.orders.create(body)).external_id, 'order-1')
  assert.equal(requests.length, 4)
})

test('a refusal after a try without an answer proves nothing; a refusal alone does', async () => {
  const after = scripted([broken, refused(6, 'insufficient_funds')])
  const unknown = await after.penstock.orders.create(PURCHASE).catch((thrown: unknown) => thrown)
  assert.ok(unknown instanceof UnknownOutcome)
  assert.ok(unknown.cause instanceof InsufficientFunds)
  const alone = scripted([refused(6, 'insufficient_funds')])
  await assert.rejects(alone.penstock.orders.create(PURCHASE), InsufficientFunds)
  const told = scripted([refused(429, undefined, { 'retry-after': '0' })])
  await assert.rejects(told.penstock.orders.create(PURCHASE), RateLimited)
  assert.equal(told.requests.length, 3)
  const refused_connection = Object.assign(new TypeError('fetch failed'), {
    cause: { code: 'ECONNREFUSED' },
  })
  const nobody = scripted([() => Promise.reject(refused_connection)])
  await assert.rejects(nobody.penstock.orders.create(PURCHASE), {
    name: 'ConnectionError',
    message: 'It was not sent: ECONNREFUSED',
  })
})

test('of a name with several addresses all must refuse, or a purchase may be made', async () => {
  const all = (...codes: string[]): Reply => {
    const errors = codes.map((code) => Object.assign(new Error(code), { code }))
    const cause = new AggregateError(errors)
    return () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause }))
  }
  const nobody = scripted([all('ECONNREFUSED', 'ECONNREFUSED')])
  const thrown = await nobody.penstock.orders.create(PURCHASE).catch((one: unknown) => one)
  assert.ok(thrown instanceof ConnectionError)
  assert.equal(thrown.message, 'It was not sent')
  const one = scripted([all('ECONNREFUSED', 'ECONNRESET')])
  await assert.rejects(one.penstock.orders.create(PURCHASE), UnknownOutcome)
})

test('cut, late, half an answer, 500 and a failing proxy leave a purchase unknown', async () => {
  const half: Reply = () => new Response('{"code":0,"resu')
  const strange: Reply[] = [{ code: 0, result: 'done' }, { code: 0 }, { keys: [] }].map(
    (value) => () => json(value),
  )
  const page =
    (status: number): Reply =>
    () =>
      new Response('<html>', { status })
  const pages = [200, 408, 502, 503, 504].map(page)
  for (const reply of [broken, never, half, ...strange, refused(500), ...pages]) {
    const { penstock } = scripted([reply], { retries: 0, timeout_ms: 20 })
    await assert.rejects(penstock.orders.create(PURCHASE), UnknownOutcome)
  }
  for (const reply of [page(301), page(403), page(413), refused(503), refused(408)]) {
    const { penstock } = scripted([reply], { retries: 0 })
    await assert.rejects(
      penstock.orders.create(PURCHASE),
      (thrown) => thrown instanceof PenstockError && !(thrown instanceof UnknownOutcome),
    )
  }
})

test('what changes something and has no id is not sent again when its answer is lost', async () => {
  const lost = scripted([broken])
  await assert.rejects(lost.penstock.subscriptions.stop('s-1'), ConnectionError)
  assert.equal(lost.requests.length, 1)
  const busy = scripted([refused(503, undefined, { 'retry-after': '0' }), well()])
  await busy.penstock.subscriptions.stop('s-1')
  assert.equal(busy.requests.length, 2)
})

test('reads are tried three times, what is wrong for good once', async () => {
  for (const reply of [broken, refused(500), refused(429), refused(503)]) {
    const { penstock, requests } = scripted([reply])
    await assert.rejects(penstock.balance.get(), PenstockError)
    assert.equal(requests.length, 3)
  }
  for (const code of [1, 2, 6, 10, 20, 24, 35, 404]) {
    const { penstock, requests } = scripted([refused(code)])
    await assert.rejects(penstock.balance.get(), PenstockError)
    assert.equal(requests.length, 1, `code ${code}`)
  }
  const { penstock, requests } = scripted([broken], { retries: 0 })
  await assert.rejects(penstock.balance.get(), ConnectionError)
  assert.equal(requests.length, 1)
})

test('Retry-After is kept, and told to the caller when it is long', async () => {
  const soon = scripted([refused(429, undefined, { 'retry-after': '1' }), well()])
  const began_ms = performance.now()
  await soon.penstock.balance.get()
  assert.ok(performance.now() - began_ms > 900)
  const long = scripted([refused(429, undefined, { 'retry-after': '3600' })])
  await assert.rejects(long.penstock.balance.get(), RateLimited)
  assert.equal(long.requests.length, 1)
})

test('an unavailable service is tried again only for as long as the caller says', async () => {
  const { penstock, requests } = scripted([
    refused(35),
    refused(35),
    refused(35),
    refused(35),
    sold,
  ])
  await penstock.orders.create(PURCHASE, { retry_unavailable_ms: 60_000 })
  assert.equal(requests.length, 5)
  const off = scripted([refused(35)], { retry_unavailable_ms: 2_000 })
  await assert.rejects(off.penstock.orders.create(PURCHASE), Unavailable)
  assert.ok(off.requests.length > 1)
})

test('a clock that is off is corrected once by the time of the service', async () => {
  const hour_ahead = Date.now() + 3_600_000
  const date = new Date(hour_ahead).toUTCString()
  const strict: Reply = ({ headers }) =>
    Math.abs(Number(headers.get('x-timestamp')) * 1000 - hour_ahead) < 300_000
      ? json({ code: 0, request_id: 'r', result: {} })
      : json({ code: 1, key: 'auth', error: 'No', request_id: 'r' }, 200, { date })
  const { penstock, requests } = scripted([strict], { retries: 0 })
  await penstock.balance.get()
  assert.equal(requests.length, 2)
  await penstock.balance.get()
  assert.equal(requests.length, 3, 'the difference is kept')
  const many = scripted([strict], { retries: 0 })
  await Promise.all(Array.from({ length: 5 }, () => many.penstock.balance.get()))
  assert.equal(many.requests.length, 10, 'calls that go on at once are all repeated')
  const wrong = scripted([refused(1, 'auth', { date })])
  await assert.rejects(wrong.penstock.balance.get(), AuthError)
  assert.equal(wrong.requests.length, 2)
  const right = scripted([refused(1, 'auth', { date: new Date().toUTCString() })])
  await assert.rejects(right.penstock.balance.get(), AuthError)
  assert.equal(right.requests.length, 1)
})

test('a call that was sent twice on the way is one, though the second is answered', async () => {
  const body = { ...PURCHASE, external_id: 'order-1' }
  const { penstock, requests } = scripted([refused(1, 'auth'), sold])
  assert.equal((await penstock.orders.create(body)).external_id, 'order-1')
  assert.equal(requests.length, 2)
  const wrong = scripted([refused(1, 'auth')])
  await assert.rejects(wrong.penstock.orders.create(body), AuthError)
  assert.equal(wrong.requests.length, 2)
  const doubled = scripted([well(), refused(1, 'auth')])
  await doubled.penstock.balance.get()
  const first = await doubled.penstock.orders.create(body).catch((thrown: unknown) => thrown)
  assert.ok(first instanceof UnknownOutcome && first.cause instanceof AuthError)
  await assert.rejects(doubled.penstock.orders.create(body), AuthError, 'the key was revoked')
  const several = scripted([well(), refused(1, 'auth')])
  await several.penstock.balance.get()
  const buys = [1, 2].map(() => several.penstock.orders.create(body).catch(String))
  for (const thrown of await Promise.all(buys)) assert.match(thrown as string, /^UnknownOutcome/)
  const copied = scripted([refused(1, 'auth'), refused(429, undefined, { 'retry-after': '0' })])
  await assert.rejects(copied.penstock.orders.create(body), UnknownOutcome)
  const other = scripted([well({ id: 'o-2', external_id: 'order-2' }), sold])
  assert.equal((await other.penstock.orders.create(body)).external_id, 'order-1')
  assert.equal(other.requests.length, 2, 'the answer to another purchase is none')
})

test('a signal ends a call; a purchase that was sent is an unknown outcome then', async () => {
  const reason = new Error('enough')
  const early = scripted([well()])
  await assert.rejects(
    early.penstock.orders.create(PURCHASE, { signal: AbortSignal.abort(reason) }),
    reason,
  )
  assert.equal(early.requests.length, 0)
  /** A client whose caller has had enough when the request has arrived. */
  const interrupted = (reply: Reply) => {
    const abort = new AbortController()
    const { penstock } = scripted([
      (...asked) => {
        setTimeout(() => abort.abort(reason), 20)
        return reply(...asked)
      },
    ])
    return { penstock, options: { signal: abort.signal } }
  }
  const read = interrupted(never)
  await assert.rejects(read.penstock.balance.get(read.options), reason)
  const bought = interrupted(never)
  await assert.rejects(
    bought.penstock.orders.create(PURCHASE, bought.options),
    (thrown) => thrown instanceof UnknownOutcome && thrown.cause === reason,
  )
  const pausing = interrupted(refused(429, undefined, { 'retry-after': '30' }))
  await assert.rejects(pausing.penstock.orders.create(PURCHASE, pausing.options), reason)
})

test('a try that takes too long is ended', async () => {
  const { penstock, requests } = scripted([never, well()], { timeout_ms: 500 })
  await penstock.balance.get()
  assert.equal(requests.length, 2)
  const always = scripted([never], { retries: 0 })
  await assert.rejects(always.penstock.balance.get({ timeout_ms: 20 }), TimeoutError)
})

test('every code has its class, and an error says what the service said', async () => {
  const classes: [number, typeof PenstockError][] = [
    [1, AuthError],
    [2, InvalidRequest],
    [5, PenstockError],
    [6, InsufficientFunds],
    [10, InvalidRequest],
    [11, InvalidRequest],
    [12, InvalidRequest],
    [20, NotFound],
    [21, InvalidRequest],
    [24, AddressNotActivated],
    [30, NotFound],
    [35, Unavailable],
    [50, InvalidRequest],
    [70, NotFound],
    [71, QuoteExpired],
    [72, LimitReached],
    [73, Forbidden],
    [76, TooOld],
    [404, NotSupported],
    [429, RateLimited],
    [500, ServerError],
    [503, ServerError],
  ]
  for (const [code, Class] of classes) {
    const { penstock } = scripted([refused(code, `k.${code}`)], { retries: 0 })
    const thrown = await penstock.balance.get().catch((thrown: unknown) => thrown)
    assert.ok(thrown instanceof PenstockError)
    assert.equal(thrown.constructor, Class)
    assert.deepEqual(
      [thrown.code, thrown.key, thrown.request_id, thrown.message, thrown.doc_url, thrown.name],
      [code, `k.${code}`, 'r-2', 'No', 'https://api.example/base/docs', Class.name],
    )
    assert.equal(thrown.retryable, [35, 429, 500, 503].includes(code), `code ${code}`)
  }
})

test('a page that is read is not signed, and what is not there is not found', async () => {
  const { penstock, requests } = scripted([well({ tx_id: 'ab', deposits: [] }), refused(404)])
  await penstock.deposits.checkPublic('a/b')
  const [{ url, method, headers }] = requests as [Request]
  assert.deepEqual([url, method], ['https://api.example/base/deposits/a%2Fb', 'GET'])
  assert.equal(headers.get('authorization'), null)
  await assert.rejects(penstock.deposits.checkPublic('ab'), NotFound)
})

test('an id that cannot be a header is refused before anything is sent', async () => {
  const { penstock, requests } = scripted([well()])
  for (const idempotency_key of ['', 'a b', 'é', 'a\nb', 'x'.repeat(129)])
    await assert.rejects(penstock.orders.create(PURCHASE, { idempotency_key }), InvalidRequest)
  assert.equal(requests.length, 0)
})

test('an id that is given but empty is refused: each time would buy again', async () => {
  const { penstock, requests } = scripted([sold])
  for (const external_id of ['', 0, 7, false] as string[]) {
    await assert.rejects(penstock.orders.create({ ...PURCHASE, external_id }), InvalidRequest)
    await assert.rejects(penstock.quotes.accept({ id: 'q', external_id }), InvalidRequest)
  }
  assert.equal(requests.length, 0)
})

test('each try is shown to who listens, without anything secret', async () => {
  const { penstock } = scripted([refused(500), well({ id: '1' })], { retries: 1 })
  const seen: object[] = []
  const off = penstock.on('request', (info) => seen.push(info))
  penstock.on('response', (info) => seen.push(info))
  await penstock.call('/v1/balance', {})
  const [first, failed, second, done] = seen as Record<string, unknown>[]
  const call = { method: 'POST', path: '/v1/balance' }
  assert.deepEqual(
    [first, second],
    [
      { ...call, attempt: 1 },
      { ...call, attempt: 2 },
    ],
  )
  const { error, ms: _, ...shown } = failed!
  assert.ok(error instanceof ServerError)
  assert.deepEqual(shown, { ...call, attempt: 1, status: 200, code: 500, request_id: 'r-2' })
  assert.deepEqual([done!.code, done!.request_id, done!.error], [0, 'r-1', undefined])
  assert.doesNotMatch(JSON.stringify(seen), /secret|pst_token/)
  off()
  await penstock.call('/v1/balance', {})
  assert.equal(seen.length, 5, 'who has left hears nothing more')
})

test('no more calls are under way than may be, and none is forgotten', async () => {
  const open: (() => void)[] = []
  const held: Reply = () =>
    new Promise((resolve) => {
      open.push(() => resolve(json({ code: 0, request_id: 'r', result: {} })))
    })
  const { penstock, requests } = scripted([held], { connections: 3 })
  const numbers = Array.from({ length: 20 }, (_, i) => i + 1)
  const calls = numbers.map((number) => penstock.call('/v1/invoice/check', { number }))
  for (let left = numbers.length; left > 0; left--) {
    const most = Math.min(3, left)
    while (open.length < most) await new Promise(setImmediate)
    // A fourth would come now.
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    assert.equal(open.length, most)
    open.shift()!()
  }
  await Promise.all(calls)
  const sent = requests.map(({ body }) => (JSON.parse(body) as { number: number }).number)
  assert.deepEqual(
    sent.toSorted((one, other) => one - other),
    numbers,
  )
  assert.throws(() => scripted([held], { connections: 0 }), /connections is a whole number/)
})

test('who leaves while waiting for a turn has sent nothing, and takes no turn', async () => {
  let answer = () => {}
  const held: Reply = () =>
    new Promise((resolve) => {
      answer = () => resolve(json({ code: 0, request_id: 'r', result: {} }))
    })
  const { penstock, requests } = scripted([held], { connections: 1 })
  const first = penstock.call('/v1/balance', {})
  const abort = new AbortController()
  const second = penstock.call('/v1/balance', {}, { signal: abort.signal })
  while (requests.length === 0) await new Promise(setImmediate)
  abort.abort(new Error('enough'))
  await assert.rejects(second, /enough/)
  answer()
  await first
  assert.equal(requests.length, 1)
})

test('the service is told which client calls', async () => {
  const { penstock, requests } = scripted([well()])
  await penstock.call('/v1/balance', {})
  const file = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(file) as { version: string }
  assert.equal(requests[0]!.headers.get('user-agent'), `penstock-sdk/${version}`)
})

test('an error of the network says which, and keeps its cause', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  const penstock = new Penstock({ url: `http://127.0.0.1:${port}`, retries: 0 })
  await assert.rejects(penstock.status(), (error: ConnectionError) => {
    assert.match(error.message, /ECONNREFUSED/)
    assert.equal((error.cause as { cause: { code: string } }).cause.code, 'ECONNREFUSED')
    return error instanceof ConnectionError
  })
})
