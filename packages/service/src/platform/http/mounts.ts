// Endpoints as routes of the server: under /v1 for keys, and under a prefix for whoever a mount
// lets in. A mount has the same endpoints or others; what is checked, counted and printed is the
// same for all of them.

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import { callerOf } from '../limits/caller.ts'
import { Turns } from '../limits/turns.ts'
import type { Customer, Endpoint, Entry } from '../wire/endpoint.ts'
import type { Answer } from '../wire/replies.ts'
import {
  type Admission,
  type AnsweredCall,
  type Asker,
  answerCall,
  type Call,
  type Door,
  openAnswer,
  refuseSuspended,
} from './calls.ts'
import { type Counter, type Gate, makeGate } from './gate.ts'

/** What of a request says who sends it. */
export type Visit = {
  endpoint: Endpoint
  method: string
  headers: FastifyRequest['headers']
  ip: string
  /** The port that it came to. */
  port: number | undefined
}

/** Another way in to endpoints. */
export type Mount = {
  /** Before the path of each: `/portal`. */
  readonly prefix: `/${string}`
  /** Called by POST. */
  readonly endpoints: readonly Endpoint[]
  /** Read by GET, their answers staying open. */
  readonly streams: readonly Endpoint[]
  /** Says who asks; undefined: the endpoint does not want to know. Throws what they are told. */
  admit(visit: Visit): Promise<Customer | undefined>
  /** Throws when the one who asks may not call the endpoint. */
  mayAsk(endpoint: Endpoint, customer: Customer): void
}

/** An answer that is whole, or one that stays open. */
export type AnswerToSend = Omit<Answer, 'body'> & { body: Answer['body'] | Readable }

export type Send = (
  request: FastifyRequest,
  reply: FastifyReply,
  answer: AnswerToSend,
  asker?: Asker | 'unlogged',
) => FastifyReply

type RouteParts = {
  door: Door
  send: Send
  note: (call: Call, answered: AnsweredCall) => void
  passGate: (gate: Gate, send: Send, by: Counter) => onRequestHookHandler
}

/** Throws when it is an operation of the operators: this server knows no operator. */
function requireForCustomers({ path, auth }: Entry): void {
  if (auth === 'operator' || !path.startsWith('/v1/'))
    throw new Error(`${path} is not for customers: it is not served`)
}

/** The endpoints that keys call, each behind the gate. */
export function addEndpoints(
  app: FastifyInstance,
  endpoints: readonly Endpoint[],
  parts: RouteParts,
): void {
  const onRequest = parts.passGate(parts.door.gate, parts.send, 'token')
  for (const endpoint of endpoints) {
    requireForCustomers(endpoint)
    app.post(endpoint.path, { onRequest, handler: answering(endpoint, parts) })
  }
}

/** The endpoints of mounts, each behind the gate: they count against the rate of the address. */
export function addMounts(app: FastifyInstance, mounts: readonly Mount[], parts: RouteParts): void {
  const onRequest = parts.passGate(parts.door.gate, parts.send, 'address')
  for (const mount of mounts) {
    const door = { ...parts.door, entry: byMount(mount, parts.door) }
    const handlerOf = (endpoint: Endpoint) => answering(endpoint, { ...parts, door })
    for (const one of mount.endpoints)
      app.post(mount.prefix + one.path, { onRequest, handler: handlerOf(one) })
    for (const one of mount.streams)
      app.get(mount.prefix + one.path, {
        onRequest,
        exposeHeadRoute: false,
        handler: handlerOf(one),
      })
  }
}

/** A mount on a server that counts, limits and sends in its own way, and is nobody's but ours: the
 *  console. */
export function addSoleMount(
  app: FastifyInstance,
  mount: Mount,
  { log, clock, send, check }: Pick<Door, 'log' | 'check'> & { clock: Clock; send: Send },
): void {
  const gate = makeGate(clock, undefined, new Set())
  const turns = new Turns(SOLE_TURNS)
  const connections = { isCustomers: () => {} }
  const door = { log, gate, turns, connections, check, entry: byMount(mount, { connections }) }
  const passGate = (): onRequestHookHandler => (_request, _reply, done) => done()
  addMounts(app, [mount], { door, send, note: () => {}, passGate })
}

/** Of people at their own pages. */
const SOLE_TURNS = { running_max: 64, lane_waiting_max: 64, waiting_max: 256 }

function byMount(mount: Mount, { connections }: Pick<Door, 'connections'>): Admission {
  return {
    async admit({ endpoint, request }) {
      const { method, headers } = request
      const { ip } = callerOf(request)
      const port = request.raw.socket?.localPort
      const customer = await mount.admit({ endpoint, method, headers, ip, port })
      if (customer) connections.isCustomers(request.raw.socket)
      return customer && { ...customer, ip }
    },
    mayAsk({ endpoint }, customer) {
      mount.mayAsk(endpoint, customer)
      refuseSuspended(endpoint, customer)
    },
  }
}

/** Of every answer to a page: it is kept nowhere, and is neither a document nor a script. */
export const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

function answering(endpoint: Endpoint, parts: RouteParts) {
  const { door, send, note } = parts
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const call = { endpoint, request, reply }
    reply.headers(ANSWER_HEADERS)
    if (endpoint.open) return streamed(parts, call)
    const answered = await answerCall(door, call)
    note(call, answered)
    return send(request, reply, answered.answer, answered.asker)
  }
}

/** Answers with what comes, for as long as somebody reads it. */
async function streamed({ door, send, note }: RouteParts, call: Call): Promise<FastifyReply> {
  const { request, reply } = call
  const gone = new AbortController()
  reply.raw.on('close', () => gone.abort())
  const opened = await openAnswer(door, call, gone.signal)
  if ('answer' in opened) {
    note(call, opened)
    return send(request, reply, opened.answer, opened.asker)
  }
  const body = Readable.from(opened.lines, { objectMode: false })
  // A proxy that collects answers would keep it to itself.
  const headers = { 'x-accel-buffering': 'no' }
  const content_type = 'text/event-stream; charset=utf-8'
  return send(request, reply, { status: 200, code: 0, body, content_type, headers }, opened.asker)
}
