// The console's server: the operators' operations over HTTP, for people who are signed in. The
// order of work is: rate, the name it is called by, the page that calls it, who is signed in, what
// that person may do, and only then the body. It is another server than the customers' and on
// another port, so that nothing of the one can be reached through the other.

import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import { Fault, Misuse, misuse, Outage, Refused, TooManyRequests } from '../../lib/fault.ts'
import type { Random } from '../../lib/ids.ts'
import type { Json } from '../../lib/json.ts'
import { type Log, thrownFields } from '../../lib/log.ts'
import { type SignInNeeds, signInRoutes } from '../../people/sign_in/routes.ts'
import type { Face } from '../../people/users/faces.ts'
import { sessionMount } from '../../people/users/mount.ts'
import { refuseBare, statusOfUnreadable } from '../../platform/http/bare.ts'
import {
  ANSWER_HEADERS,
  type AnswerToSend,
  addSoleMount,
  type Send,
} from '../../platform/http/mounts.ts'
import type { Page } from '../../platform/http/pages.ts'
import { uuidMaker } from '../../platform/http/request_ids.ts'
import { requestLog } from '../../platform/http/request_log.ts'
import { callerOf } from '../../platform/limits/caller.ts'
import { type RateLimit, rateLimiter } from '../../platform/limits/rate_limit.ts'
import { parseBody } from '../../platform/wire/body.ts'
import {
  Conflict,
  InternalError,
  InvalidParams,
  ServiceUnavailable,
} from '../../platform/wire/endpoint.ts'
import { type Answer, refusal, transportRefusal } from '../../platform/wire/replies.ts'
import type { Operation } from '../table/operation.ts'
import { isForUs, type OperatorSession, operatorOf } from './entrance.ts'
import type { ConsoleLive } from './live.ts'
import { answerStream } from './progress.ts'
import { operationRunner, type RunAnswer, type RunNeeds, requireAllowed } from './runs.ts'

declare module 'fastify' {
  interface FastifyRequest {
    operator: OperatorSession | undefined
    /** The body of a run, which its refusal is about. */
    given: Json | undefined
  }
}

export type ConsoleNeeds = RunNeeds & {
  clock: Clock
  random: Random
  log: Log
  /** Where people reach it, and what signing in needs. */
  face: Face
  sign_in: Omit<SignInNeeds, 'face'>
  live: ConsoleLive
  operations: readonly Operation[]
  /** What a browser opens; left out: nothing. */
  pages?: readonly Page[] | undefined
  /** Whose `X-Forwarded-For` is believed; left out: nobody's. */
  trusted_proxies?: readonly string[] | undefined
  /** Requests of one network; left out: what a person needs. */
  rate?: RateLimit
}

/** A person, or the pages that a person has open. */
const RATE = { per_second: 50, burst: 300 }
const CONNECTIONS_MAX = 256
const BODY_BYTES_MAX = 64 * 1024
/** Of operations that take files: lists of labels are long. */
const FILES_BYTES_MAX = 64 * 1024 * 1024
const REQUEST_MS_MAX = 120_000
const HEADERS_MS_MAX = 10_000

/** Builds the server, not yet listening. */
export function buildConsole(needs: ConsoleNeeds): FastifyInstance {
  const lines = requestLog(needs)
  const newRequestId = uuidMaker(needs.random)
  const refuse = (socket: Socket, status: number) => refuseBare(socket, status, newRequestId())
  const { trusted_proxies = [] } = needs
  const app = fastify({
    logger: false,
    trustProxy: trusted_proxies.length > 0 ? [...trusted_proxies] : false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MS_MAX,
    http: { headersTimeout: HEADERS_MS_MAX, requireHostHeader: false },
    return503OnClosing: false,
    genReqId: newRequestId,
    clientErrorHandler: ({ code }, socket) => refuse(socket, statusOfUnreadable(code)),
    frameworkErrors: (_error, request, reply) =>
      send(request, reply, transportRefusal(request.id, 404)),
  })
  app.server.maxConnections = CONNECTIONS_MAX
  app.decorateRequest('caller')
  app.decorateRequest('arrived_at_ms')
  app.decorateRequest('operator')
  app.decorateRequest('given')

  const send: Send = (request, reply, { status, code, body, headers, content_type }) => {
    const now_ms = needs.clock.now().getTime()
    const ms = now_ms - (request.arrived_at_ms ?? now_ms)
    const by = request.operator?.by
    const { id: request_id } = request
    if (by === undefined) lines.answered(request, { status, code, ms }, {})
    else {
      const { url } = request.routeOptions
      needs.log('console', { path: url, status, code, ms, request_id, by })
    }
    return reply
      .code(status)
      .headers({ ...ANSWER_HEADERS, ...headers })
      .header('content-type', content_type ?? 'application/json; charset=utf-8')
      .header('x-request-id', request_id)
      .send(body)
  }

  receive(app, needs, send)
  const { sign_in, face, log, clock, check } = needs
  const endpoints = signInRoutes({ ...sign_in, face })
  const mount = sessionMount(sign_in, face, { endpoints, streams: [] })
  addSoleMount(app, mount, { log, clock, send, check })
  addRuns(app, needs, send)
  addPages(app, needs, send)
  addEvents(app, needs, send)
  return app
}

/** What is done with every request before it is known what it asks for. */
function receive(app: FastifyInstance, needs: ConsoleNeeds, send: Send): void {
  const rate = rateLimiter(needs.rate ?? RATE, needs.clock)
  app.addHook('onRequest', async (request, reply) => {
    request.arrived_at_ms = needs.clock.now().getTime()
    const { allowed, retry_after_seconds } = rate.take(callerOf(request).network)
    const answer = allowed
      ? strayRefusal(needs.face, request)
      : transportRefusal(request.id, 429, { 'retry-after': String(retry_after_seconds || 1) })
    if (answer) return send(request, reply, answer)
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  app.setNotFoundHandler((request, reply) =>
    send(request, reply, transportRefusal(request.id, 404)),
  )
  app.setErrorHandler((thrown: unknown, request, reply) => {
    const status =
      thrown instanceof Error && 'statusCode' in thrown ? Number(thrown.statusCode) : 500
    if (status >= 400 && status < 500)
      return send(request, reply, transportRefusal(request.id, status))
    return send(request, reply, refusedAnswer(needs, request, thrown))
  })
}

/** The refusal of what is not for us. */
const strayRefusal = (face: Face, request: FastifyRequest): Answer | undefined =>
  isForUs(face, request) ? undefined : transportRefusal(request.id, 421)

/** Says who is signed in: asked before the body is read, and again when an operation begins. Throws
 *  Unauthenticated. */
async function admit(
  request: FastifyRequest,
  { face, sign_in: { sessions } }: ConsoleNeeds,
): Promise<OperatorSession> {
  request.operator = await operatorOf(request, { face, sessions })
  return request.operator
}

/** Likewise, while somebody waits for the answer: what was given up may have been asked for again.
 *  Throws Misuse when nobody does. */
async function admitWaiting(
  request: FastifyRequest,
  needs: ConsoleNeeds,
): Promise<OperatorSession> {
  if (request.raw.socket.destroyed) throw misuse('Nobody waits for the answer any more.')
  return admit(request, needs)
}

/** Whether the body has a file, or what comes from one. */
const takesFile = ({ takes, cli }: Operation) => takes === 'upload' || cli.filled.length > 0

/** Each operation that the service can run for somebody else, at its own path. */
function addRuns(app: FastifyInstance, needs: ConsoleNeeds, send: Send): void {
  const run = operationRunner(needs)
  for (const operation of needs.operations) {
    // What works on the files and keys of a person's own machine is not served.
    if (operation.local) continue
    app.post(
      `/console/run/${operation.cli.words.replaceAll(' ', '/')}`,
      {
        bodyLimit: takesFile(operation) ? FILES_BYTES_MAX : BODY_BYTES_MAX,
        async onRequest(request) {
          requireAllowed(operation, await admit(request, needs), needs.clock.now())
        },
      },
      async (request, reply) => {
        const bytes = request.body instanceof Uint8Array ? request.body : new Uint8Array()
        const given = parseBody(bytes)
        request.given = given
        const { by } = request.operator!
        // A body may take minutes to come, and a turn an hour: who was let in may have been
        // removed meanwhile, or have given up and asked again.
        const again = () => admitWaiting(request, needs)
        const asked = { operation, by, admit: again, given }
        if (request.headers.accept !== 'text/event-stream') {
          const answer = await run({ ...asked, progress: () => {} })
          return send(request, reply, success(request.id, answer))
        }
        const body = answerStream(async (progress) => {
          try {
            return success(request.id, await run({ ...asked, progress })).body
          } catch (thrown) {
            return refusedAnswer(needs, request, thrown).body
          }
        })
        return send(request, reply, eventStream(body))
      },
    )
  }
}

/** The pages and the files they are made of: they show nothing until somebody has signed in. */
function addPages(app: FastifyInstance, { pages = [] }: ConsoleNeeds, send: Send): void {
  for (const page of pages)
    app.get<{ Params: Record<string, string> }>(page.path, async (request, reply) => {
      const { params, id: request_id, headers } = request
      const query = new URLSearchParams(request.url.split('?')[1])
      return send(request, reply, await page.handle({ params, query, request_id, headers }))
    })
}

/** What happens, as it happens, and every few seconds what the first page shows. */
function addEvents(app: FastifyInstance, needs: ConsoleNeeds, send: Send): void {
  app.get('/console/events', async (request, reply) => {
    const { session } = await admit(request, needs)
    const gone = new AbortController()
    reply.raw.on('close', () => gone.abort())
    const lines = await needs.live.open(session, lastEventId(request), gone.signal)
    return send(request, reply, eventStream(Readable.from(lines, { objectMode: false })))
  })
}

/** Where a reader goes on; undefined: from now on. */
function lastEventId({ headers }: FastifyRequest): bigint | undefined {
  const given = headers['last-event-id']
  return typeof given === 'string' && /^\d{1,18}$/.test(given) ? BigInt(given) : undefined
}

function success(request_id: string, { result, ok, note }: RunAnswer): Answer & { body: string } {
  const more = `"ok":${ok},"note":${JSON.stringify(note)}`
  const body = `{"code":0,"request_id":"${request_id}","result":${result},${more}}`
  return { status: 200, code: 0, body }
}

/** An answer that stays open. A proxy that collects answers would keep it to itself. */
const eventStream = (body: Readable): AnswerToSend => ({
  status: 200,
  code: 0,
  body,
  content_type: 'text/event-stream; charset=utf-8',
  headers: { 'x-accel-buffering': 'no' },
})

/** What a person is told who asked for what is not done: the sentence of the command line. What is
 *  our failure is logged, and its details stay here. */
function refusedAnswer(
  { log }: ConsoleNeeds,
  request: FastifyRequest,
  thrown: unknown,
): Answer & { body: string } {
  const { id } = request
  if (thrown instanceof TooManyRequests) {
    const headers = { 'retry-after': String(thrown.retry_after_seconds) }
    return transportRefusal(id, 429, headers) as Answer & { body: string }
  }
  const fault = faultOf(thrown)
  if (fault === undefined)
    log('console_failed', {
      path: request.routeOptions.url,
      request_id: id,
      ...thrownFields(thrown),
    })
  return refusal(id, fault ?? InternalError(), { body: request.given }) as Answer & { body: string }
}

function faultOf(thrown: unknown): Fault | undefined {
  if (thrown instanceof Fault) return thrown
  if (thrown instanceof Misuse) return InvalidParams('option', thrown.message)
  if (thrown instanceof Refused) return Conflict('refused', thrown.message)
  if (thrown instanceof Outage)
    return ServiceUnavailable(undefined, `It does not answer: ${thrown.message}.`)
  return undefined
}
