// One POST to a webhook. A name is resolved for each new connection, every address that it has is
// judged, and the socket goes to one that was: between the look-up and the call nothing can change.
// No redirect is followed, and of an answer only the beginning is read.

import type { LookupAddress, LookupOptions } from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { customersNames, type Resolve } from '../../platform/names/customers_names.ts'
import { bareHost, isPrivate, mayCall } from './targets.ts'

export type CallError = 'resolve' | 'address' | 'connect' | 'tls' | 'timeout' | 'reset' | 'too_long'

/** What came of a call. */
export type CallOutcome = {
  status: number | null
  error: CallError | null
  /** The first 1,024 characters, if they are text and the address is a public one. */
  body: string | null
  ms: number
  /** Seconds that the other side asks to be left alone. */
  retry_after_seconds?: number
}

export type Call = {
  url: URL
  body: string
  headers: Readonly<Record<string, string>>
  /** Whose choice the address is. */
  customer_id: string
  /** Networks allowed for the customer. */
  networks: readonly string[]
  /** How long the whole of it may take; 15 seconds when left out. */
  answer_ms?: number | undefined
}

export type Caller = { call(call: Call): Promise<CallOutcome>; close(): void }

const CONNECT_MS = 5_000
const ANSWER_MS = 15_000
const BODY_BYTES_MAX = 4_096
const BODY_CHARACTERS_KEPT = 1_024
const IDLE_MS = 60_000
const RETRY_AFTER_SECONDS_MAX = 3_600

class Refusal extends Error {
  readonly error: CallError
  constructor(error: CallError) {
    super(error)
    this.error = error
  }
}

/** Calls webhooks. Connections stay open for a minute, those of a customer with allowances apart
 *  from all others. */
export function webhookCaller(resolve: Resolve = customersNames()): Caller {
  const agents = new Map<string, { http: http.Agent; https: https.Agent }>()
  function agentsFor(networks: readonly string[]) {
    const name = [...networks].sort().join(' ')
    const known = agents.get(name)
    if (known) return known
    const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 64 }
    const made = { http: new http.Agent(options), https: new https.Agent(options) }
    agents.set(name, made)
    return made
  }
  return {
    call: (call) =>
      post(call, { ...agentsFor(call.networks), lookup: judgedLookup(resolve, call) }),
    close() {
      for (const one of agents.values()) {
        one.http.destroy()
        one.https.destroy()
      }
    },
  }
}

type LookupCallback = (
  failed: Error | null,
  address: string | LookupAddress[],
  family?: number,
) => void

/** Resolves a name and refuses it when any of its addresses must not be called. */
function judgedLookup(resolve: Resolve, { networks, customer_id, url }: Call) {
  const secure = url.protocol === 'https:'
  return (name: string, options: LookupOptions, done: LookupCallback): void => {
    const judge = (addresses: LookupAddress[]) => {
      const [first] = addresses
      if (!first) return done(new Refusal('resolve'), '')
      if (!addresses.every(({ address }) => mayCall(address, networks, secure)))
        return done(new Refusal('address'), '')
      return options.all ? done(null, addresses) : done(null, first.address, first.family)
    }
    resolve(name, customer_id).then(judge, () => done(new Refusal('resolve'), ''))
  }
}

/** What a call goes through: the connections that stay open, and what names become for it. */
type Way = { http: http.Agent; https: https.Agent; lookup: ReturnType<typeof judgedLookup> }

async function post(
  { url, body, headers, networks, answer_ms }: Call,
  way: Way,
): Promise<CallOutcome> {
  const began_ms = performance.now()
  const ms = () => Math.round(performance.now() - began_ms)
  const host = bareHost(url)
  if (isIP(host) !== 0 && !mayCall(host, networks, url.protocol === 'https:'))
    return { status: null, error: 'address', body: null, ms: 0 }
  try {
    const answer = await exchange({ url, body, headers, answer_ms }, way)
    // What stands in a network of one's own says more than an outsider should read.
    const shown = isIP(answer.address) !== 0 && !isPrivate(answer.address) ? answer.text : null
    const { status, retry_after_seconds } = answer
    return {
      status,
      error: null,
      body: shown,
      ms: ms(),
      ...(retry_after_seconds !== undefined && { retry_after_seconds }),
    }
  } catch (thrown) {
    return { status: null, error: errorOf(thrown), body: null, ms: ms() }
  }
}

type HttpAnswer = {
  status: number
  text: string | null
  address: string
  retry_after_seconds?: number
}

function exchange(
  { url, body, headers, answer_ms = ANSWER_MS }: Omit<Call, 'networks' | 'customer_id'>,
  way: Way,
): Promise<HttpAnswer> {
  const secure = url.protocol === 'https:'
  const { request: send } = secure ? https : http
  const agent = secure ? way.https : way.http
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body))
    const request = send(url, {
      method: 'POST',
      agent,
      lookup: way.lookup,
      headers: { ...headers, 'content-length': length },
    })
    const end = (thrown: unknown) => {
      clearTimeout(connecting)
      clearTimeout(answering)
      reject(thrown)
    }
    const giveUp = (error: CallError) => () => request.destroy(new Refusal(error))
    const answering = setTimeout(giveUp('timeout'), answer_ms)
    let connecting: NodeJS.Timeout | undefined
    request.on('socket', (socket) => {
      // One that was used before stays connected, and would gather a listener with every call.
      if (!socket.connecting) return
      connecting = setTimeout(giveUp('connect'), CONNECT_MS)
      socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(connecting))
    })
    request.on('error', end)
    // One that goes over to another protocol (101) is neither an answer nor an error.
    const closed = () => end(new Refusal('reset'))
    request.on('close', closed)
    request.on('response', (response) => {
      request.off('close', closed)
      const address = response.socket.remoteAddress ?? ''
      const { statusCode: status = 0 } = response
      readBeginning(response, (text) => {
        clearTimeout(answering)
        resolve({ status, text, address, ...pauseOf(response) })
      })
      response.on('error', end)
    })
    // As text it goes out in one piece with the head.
    request.end(body)
  })
}

/** Reads at most the first bytes of an answer; the rest is not waited for. Null when it is no
 *  text. */
function readBeginning(response: http.IncomingMessage, done: (text: string | null) => void): void {
  const parts: Buffer[] = []
  let length = 0
  const end = () => done(textOf(Buffer.concat(parts)))
  response.on('data', (part: Buffer) => {
    if (length >= BODY_BYTES_MAX) return
    parts.push(part)
    length += part.length
    if (length < BODY_BYTES_MAX) return
    end()
    response.destroy()
  })
  response.on('end', end)
}

function textOf(bytes: Buffer): string | null {
  const text = bytes.subarray(0, BODY_BYTES_MAX).toString('utf8')
  // U+FFFD: it was no text. A character that the end cuts in two is left out.
  const whole = bytes.length > BODY_BYTES_MAX ? text.replace(/\ufffd$/, '') : text
  if (/[\ufffd\0]/.test(whole)) return null
  return whole.slice(0, BODY_CHARACTERS_KEPT)
}

/** `Retry-After` as whole seconds, an hour at most; a date is not looked at. */
function pauseOf({ headers }: http.IncomingMessage): { retry_after_seconds?: number } {
  const text = headers['retry-after'] ?? ''
  if (!/^\d{1,9}$/.test(text)) return {}
  return { retry_after_seconds: Math.min(Number(text), RETRY_AFTER_SECONDS_MAX) }
}

/** A failure in the words of the log of calls. */
function errorOf(thrown: unknown): CallError {
  if (thrown instanceof Refusal) return thrown.error
  if (!(thrown instanceof Error)) return 'reset'
  if (thrown.name === 'TimeoutError' || thrown.name === 'AbortError') return 'timeout'
  const code = 'code' in thrown ? String(thrown.code) : ''
  const cause = thrown instanceof AggregateError ? thrown.errors[0] : undefined
  if (cause !== undefined) return errorOf(cause)
  if (code === 'HPE_HEADER_OVERFLOW') return 'too_long'
  if (code === 'ETIMEDOUT' || code === 'ABORT_ERR') return 'timeout'
  if (code === 'ECONNREFUSED' || code.endsWith('UNREACH')) return 'connect'
  if (/^(ERR_TLS|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL|EPROTO)/.test(code)) return 'tls'
  return 'reset'
}
