// Endpoints as data. A domain's routes.ts lists what it offers with endpoint(); the server serves that list, and the
// reference, the SDK's types and the command line are printed from it. One schema is the check, the static type and the
// documentation at once. What every endpoint can answer (1 when signed, 2 when it has parameters, 500) is added here.

import type { IncomingHttpHeaders } from 'node:http'
import { type Static, type TObject, type TSchema, type TUnsafe, Type } from 'typebox'
import { type FaultKind, fault } from '../lib/fault.ts'
import type { Money as PrintedMoney } from '../lib/json.ts'
import { bodyReader, InvalidParams, type Read } from './body.ts'

export { InvalidParams, unchecked } from './body.ts'

export const Unauthenticated: FaultKind = fault(1, 'auth', 'Incorrect token or signature')
export const ServiceUnavailable: FaultKind = fault(35, 'service_unavailable', 'Service unavailable')
export const InternalError: FaultKind = fault(500, 'internal_server_error', 'Internal server error')

/** What an API key may be limited to: looking, spending on the market, screening. */
export type Scope = 'read' | 'buy' | 'aml'

/** Who asks: the customer and the key that signed. */
export type Customer = {
  readonly customer_id: string
  readonly key_id: string
  /** Undefined: everything. */
  readonly scopes: readonly Scope[] | undefined
  /** What this key may spend in a day, in sun. Undefined: no limit. */
  readonly daily_cap_sun: bigint | undefined
}

/** A request after authentication and with its parameters read. */
export type Asked<Body, Who> = {
  readonly body: Body
  readonly customer: Who
  readonly request_id: string
  readonly headers: IncomingHttpHeaders
  /** Headers to send along with the result. */
  readonly reply_headers: Record<string, string>
}

type Description<Body extends TObject, Reply extends TSchema> = {
  path: `/v1/${string}`
  /** Whether a call can change something. */
  mutating?: boolean
  summary: string
  description?: string
  body: Body
  /** Schema of `result`. */
  reply: Reply
  /** The refusals of this endpoint beside the ones that are common to all. */
  faults: readonly FaultKind[]
}

type Signed<Body, Result> = {
  auth: 'signature'
  scope: Scope
  handle(asked: Asked<Body, Customer>): Promise<Result>
}

type Public<Body, Result> = {
  /** Anybody may call; credentials are not looked at. */
  auth: 'public'
  handle(asked: Asked<Body, undefined>): Promise<Result>
}

/** One endpoint as the server and the printers see it. */
export type Endpoint = {
  readonly path: string
  readonly auth: 'signature' | 'public'
  readonly scope: Scope | undefined
  readonly mutating: boolean
  readonly summary: string
  readonly description: string | undefined
  readonly body: TObject
  readonly reply: TSchema
  /** All refusals, those common to all endpoints included, in the order of their codes. */
  readonly faults: readonly FaultKind[]
  /** Reads the parsed body, or throws what is wrong with it. Undefined: a public endpoint without parameters, whose body
   *  nobody looks at. */
  readonly read: Read | undefined
  handle(asked: Asked<unknown, Customer | undefined>): Promise<unknown>
}

/** Declares an endpoint. Throws at once when the schema of its parameters cannot be enforced. */
export function endpoint<Body extends TObject, Reply extends TSchema>(
  spec: Description<Body, Reply> & (Signed<Static<Body>, Static<Reply>> | Public<Static<Body>, Static<Reply>>),
): Endpoint {
  const { path, auth, summary, description, body, reply, mutating = false } = spec
  const reads = auth === 'signature' || Object.keys(body.properties).length > 0
  const common = [auth === 'signature' && Unauthenticated, reads && InvalidParams, InternalError].filter(
    (kind) => !!kind,
  )
  const faults = [...new Set([...common, ...spec.faults])].sort((a, b) => a.code - b.code)
  const scope = spec.auth === 'signature' ? spec.scope : undefined
  const read = reads ? bodyReader(body) : undefined
  return { path, auth, scope, mutating, summary, description, body, reply, faults, read, handle: handler(spec) }
}

function handler<Body, Result>(spec: Signed<Body, Result> | Public<Body, Result>): Endpoint['handle'] {
  // The server calls a signed endpoint with a customer and with a body that its own reader made.
  return (asked) => (spec as { handle(asked: Asked<unknown, Customer | undefined>): Promise<Result> }).handle(asked)
}

/** Schema of an amount of TRX in a reply; its value comes from money() in lib/json. */
export function Money(options: { description?: string } = {}): TUnsafe<PrintedMoney> {
  return Type.Unsafe<PrintedMoney>({ type: 'number', ...options })
}
