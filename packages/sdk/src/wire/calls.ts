// One call: signed, sent, and sent again when that is safe. What changes something is sent again
// only under an id that was made before the first try, so that it is carried out once at most. A
// try whose answer never came may still be carried out later, so after one no refusal is proof that
// nothing was done: then the outcome is unknown, and the caller is told so.

import { Connections } from './connections.ts'
import { type Endpoints, REPETITION, type Streams } from './endpoints.ts'
import {
  ConnectionError,
  errorFor,
  InvalidRequest,
  NotFound,
  NotSupported,
  type PenstockError,
  TimeoutError,
  UnknownOutcome,
} from './errors.ts'
import { Listeners } from './listeners.ts'
import { newId, signer } from './signing.ts'
import { VERSION } from './version.ts'

export type CallOptions = {
  /** Ends the call. A call under an id of its own ends with UnknownOutcome, if it was sent. */
  signal?: AbortSignal | undefined
  /** How long one try may take; what the client says when left out. */
  timeout_ms?: number | undefined
  request_headers?: Readonly<Record<string, string>> | undefined
  /** The id of a call that has none in its body: the same again is the same call. 1 to 128 visible
   *  characters of ASCII. */
  idempotency_key?: string | undefined
  /** For how long to try again while the service is unavailable (code 35); not at all when left
   *  out. */
  retry_unavailable_ms?: number | undefined
}

/** The headers that came with a result. */
export type LastResponse = {
  readonly status: number
  /** Quote it when you ask the operator about a call. */
  readonly request_id: string
  readonly headers: Headers
  /** This is what an earlier call with the same id has begun; nothing was charged again. */
  readonly replayed: boolean
  /** The id that was sent in the header `Idempotency-Key`. */
  readonly idempotency_key: string | undefined
}

export type WithResponse<Result> = Result & { readonly lastResponse: LastResponse }

export type CallerOptions = {
  url: string
  token: string | undefined
  secret: string | undefined
  retries: number
  timeout_ms: number
  retry_unavailable_ms: number
  connections: number
  fetch: typeof globalThis.fetch
}

type CallRequest = {
  method: 'POST' | 'GET'
  path: string
  body?: string
  /** The key that makes a repetition the same call. Null: it changes something, and has nothing of
   *  the kind. Undefined: it changes nothing. */
  id: string | null | undefined
  idempotency_key?: string | undefined
}

/** The tries that a call has left. */
type RemainingTries = {
  tries: number
  signatures: number
  unavailable_until_ms: number
  /** A signature of ours was refused though our clock is right. */
  copied: boolean
}

/** `refused`: nothing came of this try, for certain. */
type Failure = { error: PenstockError; refused: boolean; status?: number; headers?: Headers }
/** A failed try of a call that was signed with this much added to our clock. */
type FailedTry = Failure & { ahead_ms: number }

/** An answer that stays open: what it says, and what ends it. */
export type OpenAnswer = { chunks: ReadableStream<Uint8Array>; close(): void }

type Answer = { status: number; headers: Headers; text: string; open?: OpenAnswer }
type Envelope = {
  code?: unknown
  result?: object
  key?: string
  error?: string
  request_id?: string
  param?: string
  doc_url?: string
}

const PAUSE_MS_LEAST = 250
const PAUSE_MS_MOST = 4_000
/** A longer wait that is asked of us is told to the caller instead. */
const RETRY_AFTER_MS_MAX = 60_000
/** A clock that is off by less does not make the service refuse a signature. */
const CLOCK_MS_MAX = 60_000
const REFUSED_SIGNATURE = 1
const UNAVAILABLE = 35

export class Caller {
  readonly #options: CallerOptions
  readonly #sign: ReturnType<typeof signer> | undefined
  readonly #connections: Connections
  readonly listeners = new Listeners()
  /** By how much the clock of the service is ahead of ours. */
  #ahead_ms = 0
  /** A signature of ours was accepted, and none was refused since. */
  #accepted = false
  /** How many calls have begun, and how many had when the key was last believed to be right though
   *  its signature was refused: what was refused to these says nothing new. */
  #begun = 0
  #believed = 0

  constructor(options: CallerOptions) {
    this.#options = options
    const { token, secret } = options
    this.#connections = new Connections(options.connections)
    this.#sign = token && secret ? signer(token, secret) : undefined
  }

  /** How long one try may take when a call does not say. */
  get timeout_ms(): number {
    return this.#options.timeout_ms
  }

  /** Calls an endpoint. Throws a PenstockError, or the reason of the signal. */
  async post<Path extends keyof Endpoints>(
    path: Path,
    body: Endpoints[Path]['body'],
    options: CallOptions = {},
  ): Promise<WithResponse<Endpoints[Path]['result']>> {
    const sent = await identified(path, body, options.idempotency_key)
    return (await this.#send(sent, options)) as WithResponse<Endpoints[Path]['result']>
  }

  /** Reads a page, which is public. Throws as `post` does. */
  get(path: string, options: CallOptions = {}): Promise<unknown> {
    return this.#send({ method: 'GET', path, id: undefined }, options)
  }

  /** Opens an answer that goes on. Throws as `post` does. */
  async open<Path extends keyof Streams>(
    path: Path,
    body: Streams[Path]['body'],
    options: CallOptions = {},
  ): Promise<OpenAnswer> {
    const sent: CallRequest = { method: 'POST', path, body: JSON.stringify(body), id: undefined }
    const answer = (await this.#send(sent, options)) as Partial<OpenAnswer>
    if (!answer.chunks) throw new NotSupported('This service has no streams', { code: 404 })
    return answer as OpenAnswer
  }

  async #send(sent: CallRequest, options: CallOptions): Promise<unknown> {
    const { retries, retry_unavailable_ms } = this.#options
    const { signal, retry_unavailable_ms: patience_ms = retry_unavailable_ms } = options
    signal?.throwIfAborted()
    const unavailable_until_ms = Date.now() + patience_ms
    const left: RemainingTries = {
      tries: retries,
      signatures: 1,
      unavailable_until_ms,
      copied: false,
    }
    const number = ++this.#begun
    let unanswered = false
    let attempt = 0
    for (;;) {
      attempt += 1
      const outcome = await this.#seen(sent, options, attempt)
      if ('result' in outcome) return outcome.result
      const { error, refused } = outcome
      unanswered ||= !refused
      const pause_ms = this.#pauseAfter(outcome, sent, left)
      if (pause_ms !== undefined && (await sleep(pause_ms, signal))) continue
      const reason: unknown = signal?.aborted ? signal.reason : error
      const unknown = unanswered || (left.copied && this.#isKeyRight(error, number))
      throw unknown && sent.id ? new UnknownOutcome(sent.id, reason) : reason
    }
  }

  /** How long to wait for the next try; undefined: there is none. */
  #pauseAfter(failed: FailedTry, { id }: CallRequest, left: RemainingTries): number | undefined {
    const { error, refused, headers } = failed
    let again = error.retryable && (refused || id !== null) && left.tries > 0
    if (error.code === UNAVAILABLE) again = Date.now() < left.unavailable_until_ms
    else if (error.code === REFUSED_SIGNATURE) {
      const corrected = this.#correctClock(failed)
      // Or somebody on the way has sent the call twice, and this answers the second, which was
      // refused for its nonce: then the first was carried out, which only its id can tell.
      left.copied = !corrected
      again = (corrected || Boolean(id)) && left.signatures-- > 0
    } else left.tries -= 1
    const pause_ms = retryAfterMs(headers) ?? jitter(this.#options.retries - left.tries)
    return again && pause_ms <= RETRY_AFTER_MS_MAX ? pause_ms : undefined
  }

  /** Whether a refused signature was not refused for the key. When signatures were accepted before,
   *  that is believed once, and of all calls that had begun by then: if a later one is refused as
   *  well, the key is no longer right. */
  #isKeyRight({ code }: PenstockError, number: number): boolean {
    if (code !== REFUSED_SIGNATURE) return true
    if (this.#accepted) this.#believed = this.#begun
    this.#accepted = false
    return number <= this.#believed
  }

  /** Whether the clock was so far off that a signature was refused for it; it is right from now on.
   *  Another call may have corrected it meanwhile. */
  #correctClock({ headers, ahead_ms }: FailedTry): boolean {
    const right_ms = Date.parse(headers?.get('date') ?? '') - Date.now()
    if (!(Math.abs(right_ms - ahead_ms) > CLOCK_MS_MAX)) return false
    this.#ahead_ms = right_ms
    return true
  }

  /** One try in its turn, shown to those who listen. */
  async #seen(
    sent: CallRequest,
    options: CallOptions,
    attempt: number,
  ): Promise<{ result: unknown } | FailedTry> {
    const { signal } = options
    if (!(await this.#connections.take(signal))) return { ...neverSent(signal), ahead_ms: 0 }
    const info = { method: sent.method, path: sent.path, attempt }
    this.listeners.request(info)
    const began_ms = performance.now()
    try {
      const outcome = await this.#attempt(sent, options)
      const ms = Math.round(performance.now() - began_ms)
      this.listeners.response({ ...info, ms, ...shownOf(outcome) })
      return outcome
    } finally {
      // A stream goes on for long, and is not one of the calls that wait for each other.
      this.#connections.give()
    }
  }

  async #attempt(
    sent: CallRequest,
    options: CallOptions,
  ): Promise<{ result: unknown } | FailedTry> {
    const ahead_ms = this.#ahead_ms
    const headers = await this.#headers(sent, options.request_headers, ahead_ms)
    const answer = await this.#exchange(sent, headers, options)
    const outcome = 'error' in answer ? answer : this.#read(sent, answer)
    return 'error' in outcome ? { ...outcome, ahead_ms } : outcome
  }

  async #headers(
    { method, path, body, idempotency_key }: CallRequest,
    request_headers: CallOptions['request_headers'],
    ahead_ms: number,
  ): Promise<Headers> {
    const headers = new Headers(request_headers)
    headers.set('accept', 'application/json')
    // Pages may not say it, and their browsers ask before they send a header of ours.
    if (!('document' in globalThis)) headers.set('user-agent', `penstock-sdk/${VERSION}`)
    if (method === 'GET' || body === undefined) return headers
    headers.set('content-type', 'application/json')
    if (idempotency_key === undefined) headers.delete('idempotency-key')
    else headers.set('idempotency-key', idempotency_key)
    const stamped = { path, body, now_ms: Date.now() + ahead_ms, idempotency_key }
    const signed: Record<string, string> = (await this.#sign?.(stamped)) ?? {}
    for (const [name, value] of Object.entries(signed)) headers.set(name, value)
    return headers
  }

  /** The raw answer to the bytes that are sent. */
  async #exchange(
    { method, path, body }: CallRequest,
    headers: Headers,
    { signal, timeout_ms = this.#options.timeout_ms }: CallOptions,
  ): Promise<Answer | Failure> {
    const { url, fetch } = this.#options
    if (signal?.aborted) return neverSent(signal)
    const abort = new AbortController()
    const end = () => {
      signal?.removeEventListener('abort', end)
      abort.abort()
    }
    let open: OpenAnswer | undefined
    let late = false
    const timer = setTimeout(() => {
      late = true
      end()
    }, timeout_ms)
    signal?.addEventListener('abort', end)
    try {
      // A signed call goes where it was sent, and nowhere else.
      const how = { method, headers, signal: abort.signal, redirect: 'manual' } as const
      const response = await fetch(url + path, body === undefined ? how : { ...how, body })
      const { status, headers: answered } = response
      if (answered.get('content-type')?.startsWith('text/event-stream')) {
        // Its reader closes it.
        open = { chunks: response.body!, close: () => end() }
        return { status, headers: answered, text: '', open }
      }
      return { status, headers: answered, text: await response.text() }
    } catch (cause) {
      const fields = { code: 0, retryable: true, cause }
      if (late) {
        const error = new TimeoutError(`No answer within ${timeout_ms} ms`, fields)
        return { error, refused: false }
      }
      const refused = wasNeverSent(cause)
      const what = refused ? 'It was not sent' : 'No whole answer came'
      return { error: new ConnectionError(`${what}${reasonOf(cause)}`, fields), refused }
    } finally {
      clearTimeout(timer)
      if (!open) signal?.removeEventListener('abort', end)
    }
  }

  /** A page of the service; one that does not know its own address names the page alone. */
  #docUrl({ doc_url = '/docs' }: Envelope): string {
    return doc_url.startsWith('/') ? this.#options.url + doc_url : doc_url
  }

  #read(
    { method, id, idempotency_key }: CallRequest,
    { status, headers, text, open }: Answer,
  ): { result: unknown } | Failure {
    if (open) return { result: open }
    const envelope = parsed(text, method === 'GET' && status < 300)
    const own = typeof envelope.code === 'number'
    const { key, error: sentence = `HTTP ${status}`, result, param } = envelope
    const request_id = envelope.request_id ?? headers.get('x-request-id') ?? ''
    const code = own ? Number(envelope.code) : status
    if (code === 0 && typeof result === 'object' && result && isOf(id, result)) {
      this.#accepted ||= method === 'POST'
      const replayed = headers.get('idempotency-replayed') === 'true'
      const lastResponse = { status, request_id, headers, replayed, idempotency_key }
      return { result: Object.defineProperty(result, 'lastResponse', { value: lastResponse }) }
    }
    const fields = { code, key, request_id, param, doc_url: this.#docUrl(envelope) }
    if (own ? code === 0 : code < 300) {
      const lost = new ConnectionError('The answer is not whole', { ...fields, retryable: true })
      return { error: lost, refused: false, status, headers }
    }
    const absent = method === 'GET' && code === 404
    const error = absent ? new NotFound(sentence, fields) : errorFor(sentence, fields)
    // Somebody in front of the service may have sent the call on before failing.
    const refused = own ? code !== 500 : code < 500 && code !== 408
    return { error, refused, status, headers }
  }
}

/** Whether a result is that of the call under this id, as far as it says: connections that are
 *  shared on the way have been known to hand over the answer of another call. */
function isOf(id: CallRequest['id'], result: { external_id?: unknown }): boolean {
  return !id || typeof result.external_id !== 'string' || result.external_id === id
}

/** The call as it is sent, under an id if it can have one: the caller's, or a new one. */
async function identified(
  path: string,
  given: object,
  key: string | undefined,
): Promise<CallRequest> {
  if (key !== undefined && !/^[!-~]{1,128}$/.test(key))
    throw new InvalidRequest('idempotency_key is not 1 to 128 visible characters', { code: 0 })
  const sent = (id: CallRequest['id'], body = given, idempotency_key = key): CallRequest => ({
    method: 'POST',
    path,
    body: JSON.stringify(body),
    id,
    idempotency_key,
  })
  const repeated_by = REPETITION[path]
  if (repeated_by === undefined) return sent(undefined)
  if (repeated_by === 'nothing') return sent(null)
  const { external_id: own } = given as { external_id?: unknown }
  if (repeated_by === 'external_id' && own !== undefined && own !== null) {
    // The service takes an empty one for none. Who gives one that happens to be empty would buy
    // again with every repetition.
    if (typeof own !== 'string' || own === '')
      throw new InvalidRequest('external_id is empty, or is no text', { code: 0 })
    return sent(own)
  }
  if (key !== undefined) return sent(key)
  const id = await newId()
  return repeated_by === 'external_id'
    ? sent(id, { ...given, external_id: id })
    : sent(id, given, id)
}

function parsed(text: string, is_page: boolean): Envelope {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return {}
    // Public keys and the status come as they are, with nothing around them.
    const is_whole = is_page && ('keys' in value || 'parts' in value)
    return is_whole ? { code: 0, result: value } : value
  } catch {
    return {}
  }
}

function neverSent(signal: AbortSignal | undefined): Failure {
  const cause: unknown = signal?.reason
  return { error: new ConnectionError('It was not sent', { code: 0, cause }), refused: true }
}

function shownOf(outcome: { result: unknown } | FailedTry) {
  if ('error' in outcome) {
    const { error, headers } = outcome
    const { code, request_id = '' } = error
    const answered = headers !== undefined
    return { status: outcome.status ?? 0, code: answered ? code : undefined, request_id, error }
  }
  const { lastResponse } = outcome.result as { lastResponse?: LastResponse }
  const { status = 200, request_id = '' } = lastResponse ?? {}
  return { status, code: 0, request_id, error: undefined }
}

/** The runtime's code of an error: `: ECONNREFUSED`, `: ENOTFOUND`. */
function reasonOf(thrown: unknown): string {
  const { code, cause } = thrown as { code?: unknown; cause?: { code?: unknown } }
  const reason = cause?.code ?? code
  return typeof reason === 'string' ? `: ${reason}` : ''
}

/** Nobody listened, or there is no such name, as runtimes say it that say it at all. */
function wasNeverSent(thrown: unknown): boolean {
  const { code, cause } = thrown as { code?: unknown; cause?: { code?: unknown; errors?: unknown } }
  // Of a name with several addresses each may have refused.
  const tried: unknown = cause?.errors
  if (Array.isArray(tried) && tried.length > 0)
    return tried.every((one) => NEVER_SENT.test(String((one as { code?: unknown }).code)))
  return NEVER_SENT.test(String(cause?.code ?? code))
}

const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ConnectionRefused)$/

/** The wait of `Retry-After`: seconds, or a date. */
function retryAfterMs(headers: Headers | undefined): number | undefined {
  const text = headers?.get('retry-after')
  if (!text) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** Some time between the least and what doubles with each try. */
function jitter(tries: number): number {
  const most = Math.min(PAUSE_MS_MOST, PAUSE_MS_LEAST * 2 ** (tries + 1))
  return PAUSE_MS_LEAST + Math.random() * (most - PAUSE_MS_LEAST)
}

/** Waits; false when the signal ends it before. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false)
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve(!signal?.aborted)
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
