// One call of an endpoint: who asks, whether it is its turn, what it asks for, and what it is told.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { Fault, TooManyRequests } from '../../lib/fault.ts'
import { type Json, printJson } from '../../lib/json.ts'
import { type Log, thrownFields } from '../../lib/log.ts'
import type { HideOwn } from '../../lib/secrets.ts'
import { callerOf, once } from '../limits/caller.ts'
import type { Connections } from '../limits/connections.ts'
import type { FullLane, Turns } from '../limits/turns.ts'
import { parseBody } from '../wire/body.ts'
import {
  authFailureOf,
  type Customer,
  type Endpoint,
  InternalError,
  lacksScope,
  mayDo,
  ServiceUnavailable,
  Suspended,
  Unauthenticated,
} from '../wire/endpoint.ts'
import {
  type Answer,
  type CheckReply,
  refusal,
  success,
  transportRefusal,
} from '../wire/replies.ts'
import { type Gate, tooMany } from './gate.ts'
import { refusalUrl } from './refusal_codes.ts'

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
  /** Asked before a key that was read a moment ago is read again, to refuse it; left out, it
   *  may be. */
  mayReadAgain?: () => boolean
}

/** Says who sent a request. Throws what unauthenticated() makes. */
export type Authenticate = (credentials: Credentials) => Promise<Customer>

/** What a call passes on its way. */
export type Door = {
  log: Log
  entry: Admission
  gate: Gate
  turns: Turns
  connections: Pick<Connections, 'isCustomers'>
  /** False: nothing may be changed now, whoever asks. Left out: it always may. */
  mayChange?: (() => boolean) | undefined
  /** Undefined: results and refusals are not compared with what is documented. */
  check: CheckReply | undefined
  /** The address of this service, before the path of a page; left out: pages are named alone. */
  public_url?: string | undefined
}

/** Who comes in, and to what. */
export type Admission = {
  /** Says who asks; undefined: the endpoint does not want to know. Throws what they are told. */
  admit(call: Call, body: Uint8Array): Promise<Customer | undefined>
  /** Throws when the one who asks may not call the endpoint. */
  mayAsk(call: Call, customer: Customer): void
}

/** A call of somebody whose token is known that was refused. `signature`: one that was wrong. */
export type RefusedCall = {
  at: Date
  path: string
  code: number
  key: string
  request_id: string
  key_id: string
  ip: string
  ms: number
  body: Uint8Array
  /** What of the body may be kept; undefined: nothing. */
  kept: TSchema | undefined
  hideOwn?: HideOwn | undefined
  signature: string | undefined
}

/** The refusal that an answer is, if there is one whose customer is known. */
export function refusedCall(
  { endpoint, request }: Call,
  { answer, asker }: AnsweredCall,
  { at, ms }: { at: Date; ms: number },
): RefusedCall | undefined {
  if (answer.code === 0 || asker.key_id === undefined) return undefined
  return {
    at,
    path: endpoint.path,
    code: answer.code,
    key: answer.key ?? '',
    request_id: request.id,
    key_id: asker.key_id,
    ip: callerOf(request).ip,
    ms,
    body: request.body instanceof Uint8Array ? request.body : NO_BYTES,
    kept: endpoint.keeps_body ? endpoint.body : undefined,
    hideOwn: asker.hideOwn,
    signature: asker.auth === 'wrong_signature' ? once(request, 'x-signature') : undefined,
  }
}

/** How a call was answered, and how long that took. */
export type CallTiming = {
  path: string
  customer_id: string | undefined
  code: number
  /** That of a refusal. */
  key: string | undefined
  ms: number
}

/** An answer, and who is told it. */
export type AnsweredCall = { answer: Answer; asker: Asker }

/** Who asked, for the log. */
export type Asker = {
  customer_id?: string | undefined
  key_id?: string | undefined
  auth?: string | undefined
  hideOwn?: HideOwn | undefined
}

export type Call = { endpoint: Endpoint; request: FastifyRequest; reply: FastifyReply }

/** Calls of one key that are worked on at once. What changes something is committed together with
 *  others, so that many of them cost little; what only reads has a connection each. */
const READS_AT_ONCE_MAX = 64
const CHANGES_AT_ONCE_MAX = 256
const NO_BYTES = new Uint8Array()

export async function answerCall(door: Door, call: Call): Promise<AnsweredCall> {
  const { endpoint, request } = call
  let customer: Customer | undefined
  try {
    const bytes = request.body instanceof Uint8Array ? request.body : NO_BYTES
    customer = await door.entry.admit(call, bytes)
    if (customer) door.entry.mayAsk(call, customer)
    if (endpoint.mutating && door.mayChange?.() === false)
      throw ServiceUnavailable().because('nothing is changed now: what only reads is answered')
    const answer = await inTurn(door.turns, call, customer, () =>
      handled(door, call, { customer, bytes }),
    )
    return { answer, asker: customer ?? {} }
  } catch (thrown) {
    return refused(door, call, { thrown, customer })
  }
}

/** Opens an answer that stays open: its lines, or why there are none. It takes no turn, because it
 *  would keep it. */
export async function openAnswer(
  door: Door,
  call: Call,
  gone: AbortSignal,
): Promise<{ lines: AsyncIterable<string>; asker: Asker } | AnsweredCall> {
  const { endpoint, request } = call
  let customer: Customer | undefined
  try {
    const bytes = request.body instanceof Uint8Array ? request.body : NO_BYTES
    customer = (await door.entry.admit(call, bytes))!
    door.entry.mayAsk(call, customer)
    const body = endpoint.read ? endpoint.read(parseBody(bytes)) : {}
    const { id: request_id, headers } = request
    const { ip } = callerOf(request)
    const asked = { body, customer, request_id, ip, headers, reply_headers: {} }
    return { lines: await endpoint.open!(asked, gone), asker: customer }
  } catch (thrown) {
    return refused(door, call, { thrown, customer })
  }
}

async function handled(
  { check }: Door,
  { endpoint, request }: Call,
  { customer, bytes }: { customer: Customer | undefined; bytes: Uint8Array },
): Promise<Answer> {
  const { id: request_id, headers } = request
  const { ip } = callerOf(request)
  const reply_headers: Record<string, string | string[]> = {}
  const answered = async () => {
    const body = endpoint.read ? endpoint.read(parseBody(bytes)) : {}
    return endpoint.handle({ body, customer, request_id, ip, headers, reply_headers })
  }
  const result = printJson(await answered().catch(suspendedFirst(endpoint, customer)))
  check?.(endpoint, result)
  return success(request_id, result, reply_headers)
}

/** The way in by a signature, for keys. */
export function byKey({
  authenticate,
  gate,
  connections,
}: Pick<Door, 'gate' | 'connections'> & { authenticate: Authenticate }): Admission {
  return {
    async admit({ endpoint, request, reply }, body) {
      if (endpoint.auth !== 'signature') return undefined
      const { token, ip } = callerOf(request)
      const customer = await authenticate({
        token,
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
        ip,
        mayReadAgain: () => gate.mayReadAgain(request),
      })
      gate.admitted(request, reply)
      connections.isCustomers(request.raw.socket)
      return { ...customer, ip }
    },
    mayAsk({ endpoint, request }, customer) {
      const { scopes } = endpoint
      if (scopes.length > 0 && !mayDo(customer, scopes)) throw lacksScope(scopes)
      // Whether it is right has been seen to by the code that said who asks.
      if (endpoint.second_signature && once(request, 'x-signature-v2') === undefined)
        throw Unauthenticated('second_signature', 'This endpoint requires X-Signature-V2')
      refuseSuspended(endpoint, customer)
    },
  }
}

/** Throws when something would be begun for a customer who is suspended. A repetition begins
 *  nothing: the endpoints that know one see to it themselves. */
export function refuseSuspended({ creates, repeats }: Endpoint, { suspended }: Customer): void {
  if (creates && suspended && !repeats) throw Suspended()
}

/** What a suspended customer's call is refused for, if it is no repetition, is the suspension. */
const suspendedFirst =
  ({ repeats }: Endpoint, customer: Customer | undefined) =>
  (thrown: unknown): never => {
    throw repeats && customer?.suspended && thrown instanceof Fault ? Suspended() : thrown
  }

/** Does the work when it is the caller's turn. */
async function inTurn(
  turns: Turns,
  { endpoint, request }: Call,
  customer: Customer | undefined,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const name = customer?.key_id ?? callerOf(request).network
  const lane = endpoint.mutating ? `${name} changes` : name
  const turn = turns.begin(lane, endpoint.mutating ? CHANGES_AT_ONCE_MAX : READS_AT_ONCE_MAX)
  if (typeof turn === 'string') return busy(request.id, turn)
  if (turn) await turn
  try {
    return await work()
  } finally {
    turns.end(lane)
  }
}

function busy(request_id: string, full: FullLane): Answer {
  return full === 'lane full'
    ? tooMany(request_id, 1)
    : transportRefusal(request_id, 503, { 'retry-after': '1' })
}

function refused(
  { log, gate, check, public_url }: Door,
  call: Call,
  { thrown, customer }: { thrown: unknown; customer: Customer | undefined },
): AnsweredCall {
  const { request, reply } = call
  if (thrown instanceof TooManyRequests) {
    return { answer: tooMany(request.id, thrown.retry_after_seconds), asker: customer ?? {} }
  }
  const failure = authFailureOf(thrown)
  const asker = { ...customer, key_id: failure?.key_id ?? customer?.key_id, auth: failure?.reason }
  const too_many = failure && !customer ? gate.failed(request, reply) : undefined
  if (too_many) return { answer: too_many, asker }
  const fault = asFault({ log, check }, call, thrown)
  const doc_url = call.endpoint.path.startsWith('/v1/')
    ? refusalUrl(public_url, fault.code)
    : undefined
  const body = fault.about && readableBody(request)
  const hideOwn = customer?.hideOwn
  return { answer: refusal(request.id, fault, { body, doc_url, hideOwn }), asker }
}

/** The body once more, for the sentence about it; undefined when it is none. */
function readableBody({ body }: FastifyRequest): Json | undefined {
  try {
    return parseBody(body instanceof Uint8Array ? body : NO_BYTES)
  } catch {
    return undefined
  }
}

/** What the caller is told. Whatever is not a refusal is our failure: it is logged, and its details
 *  stay here. */
function asFault(
  { log, check }: Pick<Door, 'log' | 'check'>,
  { endpoint, request }: Call,
  thrown: unknown,
): Fault {
  const sound =
    thrown instanceof Fault && (!check || (isListed(endpoint, thrown) && isExplained(thrown)))
  if (sound) return thrown
  log('request_failed', { path: endpoint.path, request_id: request.id, ...thrownFields(thrown) })
  return InternalError()
}

/** Codes that are about what was sent. */
const BODY_CODES: ReadonlySet<number> = new Set([2, 10, 11, 12, 50])

/** Whether a refusal of what was sent says where it lies. */
const isExplained = ({ code, about }: Fault): boolean =>
  !BODY_CODES.has(code) || about !== undefined

/** Whether the endpoint documents this refusal, code and key. */
function isListed({ faults }: Endpoint, { code, key }: Fault): boolean {
  return faults.some((one) => one.code === code && one.key === key)
}
