// The HTTP server of a list of endpoints. The order of work is: size, rate, raw bytes, token and signature over those
// bytes, and only then parsing, so that nobody unknown makes us interpret anything. Content types are not looked at:
// bytes are bytes. Every answer goes out through send(), with one line in the log: never a body, token or signature.

import { hash } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../lib/clock.ts'
import { Fault } from '../lib/fault.ts'
import type { Random } from '../lib/ids.ts'
import { printJson } from '../lib/json.ts'
import { type Log, thrownFields } from '../lib/log.ts'
import type { Sql } from '../lib/sql.ts'
import { refuseBare, statusOfUnreadable } from './bare.ts'
import { parseBody } from './body.ts'
import { type Customer, type Endpoint, InternalError, Unauthenticated } from './endpoint.ts'
import type { Page } from './pages.ts'
import { type RateLimit, rateLimiter } from './rate_limit.ts'
import { type Answer, type CheckReply, refusal, replyChecker, success, transportRefusal } from './replies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When the headers were there. Undefined when the path could not even be read. */
    arrived_at_ms: number | undefined
  }
}

/** What a signed request shows. */
export type Credentials = {
  token: string | undefined
  signature: string | undefined
  v2: { signature: string | undefined; timestamp: string | undefined; nonce: string | undefined }
  method: string
  /** The endpoint's path, wherever a proxy may have mounted it. */
  path: string
  body: Uint8Array
  /** The header Idempotency-Key; sent more than once, its values joined by commas. */
  idempotency_key: string | undefined
  ip: string
}

/** Says who sent a request. Throws Unauthenticated, the same for every reason. */
export type Authenticate = (credentials: Credentials) => Promise<Customer>

export type Needs = { sql: Sql; clock: Clock; random: Random; log: Log; authenticate: Authenticate }

export type Options = {
  endpoints: readonly Endpoint[]
  pages?: readonly Page[]
  /** For each token that is known, and for each address of those who show none. Undefined: no limit. */
  rate_limit?: RateLimit | undefined
  /** Addresses or networks of proxies whose X-Forwarded-For is believed. */
  trusted_proxies?: readonly string[]
  /** Every result is compared with its schema, and every refusal with the endpoint's list: a mismatch is a bug. */
  check_replies?: boolean
}

/** Far above what one integration needs, far below what one process serves. */
export const DEFAULT_RATE_LIMIT: RateLimit = { per_second: 300, burst: 600 }

const BODY_BYTES_MAX = 64 * 1024
const HEADER_BYTES_MAX = 8 * 1024
const HEADERS_MS_MAX = 10_000
const REQUEST_MS_MAX = 15_000
/** Longer than the minute after which common proxies drop an idle connection, so that never we close first. */
const KEEP_ALIVE_MS = 72_000
const NO_BYTES = new Uint8Array()

/** Builds the server, not yet listening. Other pages are added with get() before listen(); close() stops accepting,
 *  answers what is under way and returns when that is done. */
export async function buildServer(needs: Needs, options: Options): Promise<FastifyInstance> {
  const newRequestId = uuidMaker(needs.random)
  const { pages = [] } = options
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      ...{ maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS_MAX, connectionsCheckingInterval: 5_000 },
      // Node would refuse without a body; here it is refused like the rest.
      requireHostHeader: false,
    },
    // A base URL with a slash at its end, joined with a path, makes two in a row.
    routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true },
    trustProxy: options.trusted_proxies ? [...options.trusted_proxies] : false,
    return503OnClosing: false,
    genReqId: newRequestId,
    frameworkErrors: (_error, request, reply) => send(request, reply, transportRefusal(request.id, 404)),
    clientErrorHandler: ({ code }, socket) => refuseBare(socket, statusOfUnreadable(code), newRequestId()),
  })
  app.server.on('connect', (_request, socket: Socket) => refuseBare(socket, 405, newRequestId()))
  // Node itself would refuse every expectation but 100-continue, without a body. It may be ignored instead.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  let closing = false
  app.addHook('preClose', (done) => {
    closing = true
    done()
  })
  app.decorateRequest('arrived_at_ms')
  app.addHook('onRequest', (request, reply, done) => {
    request.arrived_at_ms = needs.clock.now().getTime()
    const hosts = times(request, 'host')
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) {
      send(request, reply, transportRefusal(request.id, 400))
    } else done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))

  function send(request: FastifyRequest, reply: FastifyReply, answer: Answer, customer_id?: string): FastifyReply {
    const { status, code, body, headers, content_type = 'application/json; charset=utf-8' } = answer
    const path = request.url.split('?', 1)[0]!.slice(0, 200)
    const now_ms = needs.clock.now().getTime()
    const ms = now_ms - (request.arrived_at_ms ?? now_ms)
    needs.log('request', { path, status, code, ms, request_id: request.id, customer_id })
    if (closing) reply.header('connection', 'close')
    if (headers) reply.headers(headers)
    return reply.code(status).header('content-type', content_type).header('x-request-id', request.id).send(body)
  }

  app.setNotFoundHandler((request, reply) => {
    const path = plainPath(request)
    const url = pages.find((page) => matches(page, path))?.path ?? path
    const allow = ['GET', 'HEAD', 'POST'].filter((method) => app.hasRoute({ method, url })).join(', ')
    const answer = transportRefusal(request.id, allow ? 405 : 404, allow ? { allow } : {})
    return send(request, reply, answer)
  })
  app.setErrorHandler((thrown: unknown, request, reply) => {
    const status = thrown instanceof Error && 'statusCode' in thrown ? Number(thrown.statusCode) : 500
    const ours = !(status >= 400 && status < 500)
    if (ours) needs.log('request_failed', { request_id: request.id, ...thrownFields(thrown) })
    return send(request, reply, transportRefusal(request.id, ours ? 500 : status))
  })

  addHealth(app, needs)
  await addRoutes(app, needs, { ...options, send })
  return app
}

function addHealth(app: FastifyInstance, { sql }: Needs): void {
  app.get('/health', async (_request, reply) => {
    const healthy = await sql`select 1`.then(
      () => true,
      () => false,
    )
    const body = printJson({ status: healthy ? 'ok' : 'unavailable' })
    return reply
      .code(healthy ? 200 : 503)
      .header('content-type', 'application/json; charset=utf-8')
      .send(body)
  })
}

type Send = (request: FastifyRequest, reply: FastifyReply, answer: Answer, customer_id?: string) => FastifyReply

/** The endpoints and the pages, each behind the gate. */
async function addRoutes(app: FastifyInstance, needs: Needs, options: Options & { send: Send }): Promise<void> {
  const { send, endpoints, pages = [] } = options
  const check = options.check_replies ? await replyChecker() : undefined
  const known_tokens = new Set<string>()
  const refused = gate(needs, options, known_tokens)
  const passGate =
    (by: 'token' | 'address'): onRequestHookHandler =>
    (request, reply, done) => {
      const answer = refused(request, reply, by)
      if (answer) send(request, reply, answer)
      else done()
    }
  for (const endpoint of endpoints) {
    app.post(endpoint.path, {
      onRequest: passGate('token'),
      handler: async (request, reply) => {
        const { answer, customer_id } = await serve(needs, { endpoint, request, check, known_tokens })
        return send(request, reply, answer, customer_id)
      },
    })
  }
  for (const page of pages) {
    app.get<{ Params: Record<string, string> }>(
      page.path,
      { onRequest: passGate('address') },
      async (request, reply) => {
        const { params, id: request_id } = request
        return send(request, reply, movedPage(request) ?? (await page.handle({ params, request_id })))
      },
    )
  }
}

/** A page with a slash at its end is the page without: what it refers to is found from there. */
function movedPage(request: FastifyRequest): Answer | undefined {
  if (!request.url.split('?', 1)[0]!.endsWith('/')) return undefined
  // Relative, because a proxy may have mounted the service anywhere.
  const location = `../${plainPath(request).split('/').at(-1)}`
  return transportRefusal(request.id, 308, { location })
}

/** What is refused before the body is read: encodings, and callers that come too often. A token that was right once has
 *  an allowance of its own; whoever shows another uses up that of the address, so that made-up tokens gain nothing. */
function gate(
  needs: Needs,
  { rate_limit }: Options,
  known_tokens: ReadonlySet<string>,
): (request: FastifyRequest, reply: FastifyReply, by: 'token' | 'address') => Answer | undefined {
  const take = rate_limit && rateLimiter(rate_limit, needs.clock)
  return (request, reply, by) => {
    const encoding = request.headers['content-encoding']
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return transportRefusal(request.id, 415)
    // Fastify reads no body with a content type it cannot parse; without one it takes any.
    request.raw.headers['content-type'] = undefined
    if (!take || !rate_limit) return undefined
    const token = by === 'token' ? tokenOf(request) : undefined
    const caller = token !== undefined && known_tokens.has(token) ? token : request.ip
    const { allowed, remaining, retry_after_seconds, full_after_seconds } = take(caller)
    reply.header('ratelimit-limit', rate_limit.burst)
    reply.header('ratelimit-remaining', remaining)
    reply.header('ratelimit-reset', full_after_seconds)
    return allowed
      ? undefined
      : transportRefusal(request.id, 429, { 'retry-after': String(Math.max(1, retry_after_seconds)) })
  }
}

/** The path as the router reads it: without its query, and without slashes that say nothing. */
function plainPath(request: FastifyRequest): string {
  const path = request.url.split('?', 1)[0]!.replace(/\/{2,}/g, '/')
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** Whether a plain path is that of the page. */
function matches({ path: pattern }: Page, path: string): boolean {
  return new RegExp(`^${pattern.replace(/:\w+/g, '[^/]+')}$`).test(path)
}

type Call = {
  endpoint: Endpoint
  request: FastifyRequest
  check: CheckReply | undefined
  known_tokens: Set<string>
}

async function serve(needs: Needs, call: Call): Promise<{ answer: Answer; customer_id?: string }> {
  const { endpoint, request, check } = call
  const request_id = request.id
  let customer: Customer | undefined
  try {
    const bytes = request.body instanceof Uint8Array ? request.body : NO_BYTES
    if (endpoint.auth === 'signature') customer = await admit(needs, call, bytes)
    const body = endpoint.read ? endpoint.read(parseBody(bytes)) : {}
    const reply_headers: Record<string, string> = {}
    const result = printJson(
      await endpoint.handle({ body, customer, request_id, headers: request.headers, reply_headers }),
    )
    check?.(endpoint, result)
    const answer = success(request_id, result, reply_headers)
    return customer ? { answer, customer_id: customer.customer_id } : { answer }
  } catch (thrown) {
    const answer = refusal(request_id, asFault(needs.log, call, thrown))
    return customer ? { answer, customer_id: customer.customer_id } : { answer }
  }
}

async function admit(needs: Needs, { endpoint, request, known_tokens }: Call, body: Uint8Array): Promise<Customer> {
  const customer = await needs.authenticate({
    token: bearer(request),
    signature: once(request, 'x-signature'),
    v2: {
      signature: once(request, 'x-signature-v2'),
      timestamp: once(request, 'x-timestamp'),
      nonce: once(request, 'x-nonce'),
    },
    method: request.method,
    path: endpoint.path,
    body,
    idempotency_key: request.headers['idempotency-key']?.toString(),
    ip: request.ip,
  })
  known_tokens.add(tokenOf(request)!)
  if (endpoint.scope && customer.scopes && !customer.scopes.includes(endpoint.scope))
    throw Unauthenticated('scope', `This key lacks the scope ${endpoint.scope}`)
  if (endpoint.creates && customer.suspended) throw Unauthenticated('suspended', 'This customer is suspended')
  return customer
}

/** What the caller is told. Whatever is not a refusal is our failure: it is logged, and its details stay here. */
function asFault(log: Log, { endpoint, request, check }: Call, thrown: unknown): Fault {
  const listed = thrown instanceof Fault && (!check || isListed(endpoint, thrown))
  if (listed) return thrown
  log('request_failed', { path: endpoint.path, request_id: request.id, ...thrownFields(thrown) })
  return InternalError()
}

/** Whether the endpoint documents this refusal, code and key. */
function isListed({ faults }: Endpoint, { code, key }: Fault): boolean {
  return faults.some((one) => one.code === code && one.key === key)
}

function bearer(request: FastifyRequest): string | undefined {
  return /^bearer +(\S+)$/i.exec(once(request, 'authorization') ?? '')?.[1]
}

/** What stands for the token in memory. */
function tokenOf(request: FastifyRequest): string | undefined {
  const token = bearer(request)
  return token === undefined ? undefined : hash('sha256', token)
}

/** The value of a header; undefined when it is not there, or there more than once: nobody knows which one is meant. */
function once(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && times(request, name) === 1 ? value : undefined
}

/** How often a header was sent. Node keeps the first of some names, and joins those of others. */
function times(request: FastifyRequest, name: string): number {
  const { rawHeaders } = request.raw
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === name.length && rawHeaders[i]!.toLowerCase() === name) count += 1
  return count
}

/** Makes random UUIDs (version 4). Random bytes are drawn for many at a time: one by one they are a twentieth of a
 *  request. */
function uuidMaker(random: Random): () => string {
  let bytes = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === bytes.length) {
      bytes = Buffer.from(random.bytes(16 * 256))
      at = 0
    }
    bytes[at + 6] = (bytes[at + 6]! & 0x0f) | 0x40
    bytes[at + 8] = (bytes[at + 8]! & 0x3f) | 0x80
    const hex = bytes.toString('hex', at, at + 16)
    at += 16
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}
