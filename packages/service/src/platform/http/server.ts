// The HTTP server of a list of endpoints. The order of work is: size, rate, raw bytes, token and
// signature over those bytes, and only then parsing, so that nobody unknown makes us interpret
// anything. Content types are not looked at: bytes are bytes. Every answer goes out through send(),
// with one line in the log: never a body, token or signature.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/ids.ts'
import { printJson } from '../../lib/json.ts'
import { type Log, thrownFields } from '../../lib/log.ts'
import { networkList } from '../../lib/networks.ts'
import type { Sql } from '../database/sql.ts'
import { times } from '../limits/caller.ts'
import { type ConnectionLimits, Connections } from '../limits/connections.ts'
import type { RateLimit } from '../limits/rate_limit.ts'
import { Turns } from '../limits/turns.ts'
import type { Endpoint } from '../wire/endpoint.ts'
import { type Answer, replyChecker, transportRefusal } from '../wire/replies.ts'
import { refuseBare, statusOfUnreadable } from './bare.ts'
import {
  type AnsweredCall,
  type Asker,
  type Authenticate,
  byKey,
  type Call,
  type CallTiming,
  type RefusedCall,
  refusedCall,
} from './calls.ts'
import { type Counter, type Gate, type KnownTokens, makeGate, tooMany } from './gate.ts'
import { healthReader } from './health.ts'
import {
  ANSWER_HEADERS,
  type AnswerToSend,
  addEndpoints,
  addMounts,
  type Mount,
  type Send,
} from './mounts.ts'
import type { Page } from './pages.ts'
import { uuidMaker } from './request_ids.ts'
import { requestLog } from './request_log.ts'
import { traceRequests } from './traces.ts'

export type { Authenticate, Credentials } from './calls.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When the headers were there. Undefined when the path could not even be read. */
    arrived_at_ms: number | undefined
  }
}

export type Needs = {
  /** Asked whether the database answers, and for nothing else: not one that customers wait for. */
  sql: Sql
  clock: Clock
  random: Random
  log: Log
  authenticate: Authenticate
  /** Takes note of what a customer was refused for. Left out: nobody does. */
  noteRefusal?: ((call: RefusedCall) => void) | undefined
  /** Told how each call was answered. Left out: nobody is. */
  noteCall?: ((call: CallTiming) => void) | undefined
}

export type Options = {
  endpoints: readonly Endpoint[]
  pages?: readonly Page[]
  /** Other ways in to endpoints. */
  mounts?: readonly Mount[]
  /** For each token that is known, and for each address of those who show none. Undefined: no
   *  limit. */
  rate_limit?: RateLimit | undefined
  /** The tokens that have an allowance of their own from the start; others get it with their first
   *  right signature. */
  known_tokens?: KnownTokens
  connections?: Partial<ConnectionLimits>
  /** False: what changes something is answered with 35, whatever it is. Left out: never. */
  mayChange?: () => boolean
  /** What /health answers. Left out: whether the database does. */
  isHealthy?: () => Promise<boolean>
  /** Addresses or networks of proxies whose X-Forwarded-For is believed. */
  trusted_proxies?: readonly string[]
  /** The address of this service as customers know it, for links to its pages. */
  public_url?: string | undefined
  /** Every result is compared with its schema, and every refusal with the endpoint's list: a
   *  mismatch is a bug. */
  check_replies?: boolean
  /** Each request has a span: there is an SDK that takes it. */
  traced?: boolean
}

/** Far above what one integration needs, far below what one process serves. */
export const DEFAULT_RATE_LIMIT: RateLimit = { per_second: 300, burst: 600 }

/** A process has file descriptors for more. One address may stand for an office, or for a proxy
 *  that nobody has named. */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  total_max: 4_000,
  per_address_max: 512,
  unread_ms_max: 25_000,
  stranger_idle_ms_max: 25_000,
  unanswered_max: 256,
}

/** A turn is short. Those who wait for theirs hold a body of at most 64 KiB each. */
const TURN_LIMITS = { running_max: 512, lane_waiting_max: 1_000, waiting_max: 4_000 }

const BODY_BYTES_MAX = 64 * 1024
const HEADER_BYTES_MAX = 8 * 1024
const HEADERS_MS_MAX = 10_000
const REQUEST_MS_MAX = 15_000
/** Longer than the minute after which common proxies drop an idle connection, so that never we
 *  close first. */
const KEEP_ALIVE_MS = 72_000
const REQUESTS_PER_CONNECTION_MAX = 10_000
const SWEEP_MS = 1_000
/** Connections that are accepted in one go, before we can count them. */
const ACCEPTED_AT_ONCE = 512

const SERVER_OPTIONS = {
  logger: false,
  bodyLimit: BODY_BYTES_MAX,
  requestTimeout: REQUEST_MS_MAX,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxRequestsPerSocket: REQUESTS_PER_CONNECTION_MAX,
  http: {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: HEADERS_MS_MAX,
    connectionsCheckingInterval: SWEEP_MS,
    // Node would refuse without a body; here it is refused like the rest.
    requireHostHeader: false,
  },
  // A base URL with a slash at its end, joined with a path, makes two in a row.
  routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true },
  return503OnClosing: false,
} as const

/** Builds the server, not yet listening. Other pages are added with get() before listen(); close()
 *  stops accepting, answers what is under way and returns when that is done. */
export async function buildServer(needs: Needs, options: Options): Promise<FastifyInstance> {
  const newRequestId = uuidMaker(needs.random)
  const lines = requestLog(needs)
  const known_tokens = options.known_tokens ?? new Set<string>()
  const gate = makeGate(needs.clock, options.rate_limit, known_tokens)
  const { pages = [], mounts = [], trusted_proxies = [] } = options
  const app = fastify({
    ...SERVER_OPTIONS,
    trustProxy: trusted_proxies.length > 0 ? [...trusted_proxies] : false,
    genReqId: newRequestId,
    frameworkErrors: (_error, request, reply) =>
      send(request, reply, transportRefusal(request.id, 404)),
    clientErrorHandler: ({ code }, socket) => refuse(socket, statusOfUnreadable(code)),
  })
  const limits = { ...DEFAULT_CONNECTION_LIMITS, ...options.connections }
  const proxies = networkList(trusted_proxies)
  const onClosing = (why: string, ip: string) => lines.connection('connection_closed', ip, { why })
  const connections = new Connections({ clock: needs.clock, proxies, onClosing }, limits)
  const refuse = (socket: Socket, status: number) => {
    const request_id = newRequestId()
    const ip = socket.remoteAddress ?? ''
    if (socket.writable) lines.connection('request', ip, { status, code: status, request_id })
    refuseBare(socket, status, request_id)
  }
  lookAfter(app, connections, { total_max: limits.total_max, refuse })
  let closing = false
  app.addHook('preClose', (done) => {
    closing = true
    connections.closeSoon()
    done()
  })
  if (options.traced) traceRequests(app)
  receive(app, { clock: needs.clock, gate, connections, send })

  function send(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: AnswerToSend,
    asker: Asker | 'unlogged' = {},
  ) {
    const { status, code, body, headers, content_type = 'application/json; charset=utf-8' } = answer
    const now_ms = needs.clock.now().getTime()
    const ms = now_ms - (request.arrived_at_ms ?? now_ms)
    if (asker !== 'unlogged') lines.answered(request, { status, code, ms }, asker)
    const stranger = connections.answered(request.raw.socket)
    const last = answer.last && connections.endStrangers(request.raw.socket)
    const idle_seconds = Math.floor(limits.stranger_idle_ms_max / 1_000)
    if (closing || last) reply.header('connection', 'close')
    else if (stranger) reply.header('keep-alive', `timeout=${idle_seconds}`)
    const written = { 'content-type': content_type, 'x-request-id': request.id }
    return reply
      .code(status)
      .headers({ ...headers, ...written })
      .send(body)
  }

  addFallbacks(app, pages, { log: needs.log, gate, send })
  const check = options.check_replies ? await replyChecker() : undefined
  const entry = byKey({ authenticate: needs.authenticate, gate, connections })
  const turns = new Turns(TURN_LIMITS)
  const isHealthy = options.isHealthy ?? healthReader(() => needs.sql`select 1`, needs.clock)
  addHealth(app, isHealthy, { gate, send })
  const { mayChange, public_url } = options
  const door = { log: needs.log, entry, gate, connections, check, turns, mayChange, public_url }
  const parts = { door, send, note: answerNoter(needs), passGate }
  addEndpoints(app, options.endpoints, parts)
  addMounts(app, mounts, parts)
  addPages(app, pages, { gate, send })
  return app
}

type Reception = {
  clock: Clock
  gate: Gate
  connections: Connections
  send: Send
}

/** What is done with every request before it is known what it asks for. */
function receive(app: FastifyInstance, { clock, gate, connections, send }: Reception): void {
  app.decorateRequest('arrived_at_ms')
  app.decorateRequest('caller')
  app.addHook('onRequest', (request, reply, done) => {
    request.arrived_at_ms = clock.now().getTime()
    const hosts = times(request, 'host')
    if (!connections.asked(request.raw.socket)) send(request, reply, tooMany(request.id, 1))
    else if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) {
      send(request, reply, gate.failed(request, reply) ?? transportRefusal(request.id, 400))
    } else done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
}

/** Counts the connections of the server, and closes those that are too many, or too slow. */
function lookAfter(
  app: FastifyInstance,
  connections: Connections,
  { total_max, refuse }: { total_max: number; refuse: (socket: Socket, status: number) => void },
): void {
  const { server } = app
  server.on('connect', (_request, socket: Socket) => refuse(socket, 405))
  // Node itself would refuse every expectation but 100-continue, without a body. It may be ignored
  // instead.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // What comes in between two of our looks is counted by Node.
  server.maxConnections = total_max + ACCEPTED_AT_ONCE
  // Requests are made of all that has come in one piece, also when an answer was the last.
  const [answer] = server.listeners('request') as [
    (request: IncomingMessage, response: ServerResponse) => void,
  ]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    if (connections.listensTo(request.socket)) answer(request, response)
  })
  server.on('connection', (socket: Socket) => {
    if (connections.add(socket)) return
    refuse(socket, 503)
    socket.destroySoon()
  })
  server.on('listening', () => {
    const timer = setInterval(() => {
      connections.sweep()
      // The server's own 'close' comes earlier: it does not count what came by other sockets.
      if (connections.over) clearInterval(timer)
    }, SWEEP_MS).unref()
  })
}

/** Counts a request and answers it at once if it is one too many. */
function passGate(gate: Gate, send: Send, by: Counter): onRequestHookHandler {
  return (request, reply, done) => {
    const answer = gate.refusal(request, reply, by)
    // As every other answer to a call, so that nothing tells them apart.
    if (answer) send(request, reply.headers(ANSWER_HEADERS), answer)
    else done()
  }
}

/** What no endpoint or page answers, and what none of them was meant to throw. */
function addFallbacks(
  app: FastifyInstance,
  pages: readonly Page[],
  { log, gate, send }: { log: Log; gate: Gate; send: Send },
): void {
  app.setNotFoundHandler((request, reply) => {
    const path = plainPath(request)
    const page = pages.find((one) => matches(one, path))
    const url = page?.path ?? path
    const allow = ['GET', 'HEAD', 'POST']
      .filter((method) => !page?.for_browsers_alone && app.hasRoute({ method, url }))
      .join(', ')
    const too_many = gate.failed(request, reply)
    return send(
      request,
      reply,
      too_many ?? transportRefusal(request.id, allow ? 405 : 404, allow ? { allow } : {}),
    )
  })
  app.setErrorHandler((thrown: unknown, request, reply) => {
    const status =
      thrown instanceof Error && 'statusCode' in thrown ? Number(thrown.statusCode) : 500
    const ours = !(status >= 400 && status < 500)
    if (ours) log('request_failed', { request_id: request.id, ...thrownFields(thrown) })
    return send(request, reply, transportRefusal(request.id, ours ? 500 : status))
  })
}

/** Whether all is well. That it is is not logged: something asks every few seconds. */
function addHealth(
  app: FastifyInstance,
  isHealthy: () => Promise<boolean>,
  { gate, send }: { gate: Gate; send: Send },
): void {
  app.get('/health', { onRequest: passGate(gate, send, 'health') }, async (request, reply) => {
    const healthy = await isHealthy()
    const body = printJson({ status: healthy ? 'ok' : 'unavailable' })
    return healthy
      ? send(request, reply, { status: 200, code: 0, body }, 'unlogged')
      : send(request, reply, { status: 503, code: 503, body })
  })
}

/** Takes note of how a call was answered. */
function answerNoter(needs: Needs): (call: Call, answered: AnsweredCall) => void {
  const { clock, noteRefusal, noteCall } = needs
  return (call, answered) => {
    const { answer, asker } = answered
    const at = clock.now()
    const ms = at.getTime() - (call.request.arrived_at_ms ?? at.getTime())
    const { code, key } = answer
    noteCall?.({ path: call.endpoint.path, customer_id: asker.customer_id, code, key, ms })
    const refused = noteRefusal && refusedCall(call, answered, { at, ms })
    if (refused) noteRefusal(refused)
  }
}

/** The pages, each behind the gate. */
function addPages(
  app: FastifyInstance,
  pages: readonly Page[],
  { gate, send }: { gate: Gate; send: Send },
): void {
  for (const page of pages) {
    app.get<{ Params: Record<string, string> }>(
      page.path,
      { onRequest: passGate(gate, send, 'address') },
      async (request, reply) => {
        const { params, headers, id: request_id } = request
        const query = new URLSearchParams(request.url.split('?')[1])
        const asked = { params, query, headers, request_id }
        return send(request, reply, movedPage(request) ?? (await page.handle(asked)))
      },
    )
  }
}

/** A page with a slash at its end is the page without: what it refers to is found from there. */
function movedPage(request: FastifyRequest): Answer | undefined {
  const asked = request.url.split('?', 1)[0]!
  if (asked === '/' || !asked.endsWith('/')) return undefined
  // Relative, because a proxy may have mounted the service anywhere.
  const location = `../${plainPath(request).split('/').at(-1)}`
  return transportRefusal(request.id, 308, { location })
}

/** The path as the router reads it: without its query, and without slashes that say nothing. */
function plainPath(request: FastifyRequest): string {
  const path = request.url.split('?', 1)[0]!.replace(/\/{2,}/g, '/')
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** Whether a plain path is that of the page. */
function matches({ path: pattern }: Page, path: string): boolean {
  const path_pattern = pattern.replace(/:\w+/g, '[^/]+').replace('*', '.*')
  return new RegExp(`^${path_pattern}$`).test(path)
}
