// Endpoints as data. A domain's routes.ts lists what it offers with endpoint(); the server serves
// that list, and the reference is printed from it. One schema is the check, the static type and the
// documentation at once. What every endpoint can answer (1 when signed, 2 when it has parameters,
// 500) is added here. Operators' operations are entries of the same kind, in
// operators/table/operation.ts.

import type { IncomingHttpHeaders } from 'node:http'
import { type Static, type TObject, type TSchema, type TUnsafe, Type } from 'typebox'
import { Fault, type FaultKind, fault, is } from '../../lib/fault.ts'
import type { Money as PrintedMoney } from '../../lib/json.ts'
import type { HideOwn } from '../../lib/secrets.ts'
import { bodyReader, codePoints, InvalidParams, type Read } from './body.ts'

export { InvalidParams, invalid, unchecked } from './body.ts'

export const Unauthenticated: FaultKind = fault(1, 'auth', 'Incorrect token or signature')
/** What a customer who is suspended is told instead of beginning something. */
export const Suspended = (): Fault => Unauthenticated('suspended', 'This customer is suspended')
/** Why a request was not let in: for our log. */
export type AuthFailure =
  | 'no_token'
  | 'unknown_token'
  | 'wrong_signature'
  | 'wrong_signature_v2'
  | 'v2_required'
  | 'nonce_used'
  | 'network'
  | 'expired'

const SECOND_NEEDED =
  'This key needs X-Signature-V2 as well: send both, or use a key that takes the first alone'

/** What authentication throws; `cause` never leaves the service. The answer is the same for all
 *  reasons but one: whose first signature is right holds the secret, and is told what else the key
 *  requires. */
export function unauthenticated(reason: AuthFailure, key_id?: string): Fault {
  const fault =
    reason === 'v2_required'
      ? Unauthenticated('second_signature', SECOND_NEEDED)
      : Unauthenticated()
  return Object.assign(fault, { cause: { reason, key_id } })
}

/** Why a request was refused with code 1, and the key whose token it showed, if there is one. */
export function authFailureOf(
  thrown: unknown,
): { reason: string; key_id?: string | undefined } | undefined {
  if (!(thrown instanceof Fault) || !is(thrown, Unauthenticated)) return undefined
  return (
    (thrown.cause as { reason: AuthFailure; key_id?: string } | undefined) ?? { reason: thrown.key }
  )
}

export const ServiceUnavailable: FaultKind = fault(35, 'service_unavailable', 'Service unavailable')
/** Also for what is another customer's: nobody learns that there is such a thing. */
export const NotFound: FaultKind = fault(70, 'not_found', 'Not found')
export const LimitReached: FaultKind = fault(72, 'limit_reached', 'Limit reached')
export const Conflict: FaultKind = fault(74, 'conflict', 'Conflicts with the current state')
export const Forbidden: FaultKind = fault(73, 'forbidden', 'This key may not do that')
export const TooOld: FaultKind = fault(76, 'too_old', 'No longer available')
export const InternalError: FaultKind = fault(500, 'internal_server_error', 'Internal server error')

/** One line of an endpoint's error matrix: what is answered, and when. */
export type Refusal = { readonly code: number; readonly key: string; readonly when: string }

/** A line of an error matrix: a kind of refusal with its sub-key, if it has one, and what leads to
 *  it. */
export function refuses(kind: FaultKind, when: string, sub?: string): Refusal {
  return { code: kind.code, key: sub === undefined ? kind.key : `${kind.key}.${sub}`, when }
}

/** A body to try an endpoint with. A test sends it; the reference shows it with the answer. */
export type Example = { readonly summary: string; readonly body: Readonly<Record<string, unknown>> }

/** What an API key may do: look, spend on the market, screen; see the customer's accounts, manage
 *  its webhooks, manage its keys and settings. */
export type Scope = 'read' | 'buy' | 'aml' | 'money' | 'webhooks' | 'manage'

export const SCOPES: readonly Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']

/** What a key may do for which nobody has named anything: what there was when it was made. The
 *  others have to be named. */
export const UNNAMED_SCOPES: readonly Scope[] = ['read', 'buy', 'aml']

/** What a role can have besides: to make keys of one's own, without managing those of others, and
 *  to see and end one's own sessions. */
export type RoleScope = Scope | 'keys' | 'own'

/** A person who is signed in. */
export type User = {
  readonly user_id: string
  readonly session_id: string
  readonly name: string
  /** Null: the user came by a link and has nothing to sign in with yet. */
  readonly sign_in_name: string | null
  readonly role: string
  readonly scopes: readonly RoleScope[]
  /** Until then the user has shown to be there. */
  readonly stepped_up_until: Date | null
}

/** Who asks: the customer, and the key that signed or the user who is signed in. */
export type Customer = {
  readonly customer_id: string
  /** Of a user: the key that stands for the user, which has the same id. */
  readonly key_id: string
  /** Undefined: a key has signed. */
  readonly user?: User | undefined
  /** The address of the caller. */
  readonly ip?: string | undefined
  /** Leaves out the token and the secrets of the key that has signed. */
  readonly hideOwn?: HideOwn | undefined
  /** Undefined: UNNAMED_SCOPES. */
  readonly scopes: readonly Scope[] | undefined
  /** What this key may spend in a day, in sun. Undefined: no limit. */
  readonly daily_cap_sun: bigint | undefined
  /** The key whose spending of a day this one's counts as. Undefined: its own. */
  readonly spends_from?: string | undefined
  /** The addresses that may receive what this key buys. Undefined: any. */
  readonly receivers: readonly string[] | undefined
  /** A call that begins something must bring an id of the caller's own. */
  readonly require_external_id: boolean
  /** Nothing new is begun for this customer. */
  readonly suspended: boolean
}

/** A request after authentication and with its parameters read. */
export type HandlerInput<Body, Who> = {
  readonly body: Body
  readonly customer: Who
  readonly request_id: string
  /** The address of the caller. */
  readonly ip: string
  readonly headers: IncomingHttpHeaders
  /** Headers to send along with the result. */
  readonly reply_headers: Record<string, string | string[]>
}

type Description<Body extends TObject, Reply extends TSchema> = {
  /** Under `/v1` for keys; any other is for those who have signed in, behind a prefix. */
  path: `/${string}`
  /** Whether a call can change something. */
  mutating?: boolean
  /** Whether a call can begin something that is paid for: refused while the customer is
   *  suspended. */
  creates?: boolean
  /** Whether a repetition of what was accepted before is answered with it, to a customer who is
   *  suspended, too: a repetition begins nothing. The handler then begins nothing else. */
  repeats?: boolean
  /** Whether the second signature must be there, whatever the key requires: it binds path, time
   *  and nonce, and no client that is older than it calls such an endpoint. */
  second_signature?: boolean
  /** Whether a user must have shown within some minutes to be there. */
  careful?: boolean
  /** Whether what of a refused call's body fits `body` is kept, for the customer and colleagues to
   *  see. Never where a field is secret (test/rules/secrets.test.ts). */
  keeps_body?: boolean
  summary: string
  description?: string
  body: Body
  /** Schema of `result`. */
  reply: Reply
  /** The refusals of this endpoint beside the ones that are common to all, in the order in which it
   *  checks. */
  faults: readonly (FaultKind | Refusal)[]
  /** Left out: `{}` is one. */
  examples?: readonly Example[]
}

type SignedSpec<Body, Result> = {
  /** Who asks must be known. */
  auth: 'signature'
  /** What a key needs; of several, any one; of none, nothing. */
  scope: Scope | readonly Scope[]
  /** Of a user this does as well. */
  role_scope?: RoleScope
  handle(input: HandlerInput<Body, Customer>): Promise<Result>
}

type PublicSpec<Body, Result> = {
  /** Anybody may call; credentials are not looked at. */
  auth: 'public'
  handle(input: HandlerInput<Body, undefined>): Promise<Result>
}

/** What every entry of a table has, no matter who calls it: from this clients, commands and pages
 *  are printed. */
export type Entry = {
  readonly path: string
  readonly auth: 'signature' | 'public' | 'operator'
  readonly summary: string
  readonly description: string | undefined
  readonly body: TObject
  readonly reply: TSchema
  /** Reads the parsed body, or throws what is wrong with it. Undefined: a public endpoint without
   *  parameters, whose body nobody looks at. */
  readonly read: Read | undefined
}

/** One endpoint of the customers as the server and the printers see it. */
export type Endpoint = Entry & {
  readonly auth: 'signature' | 'public'
  /** What a key needs, any one of them; none: anybody may call. */
  readonly scopes: readonly Scope[]
  /** What a user needs, any one of them. */
  readonly role_scopes: readonly RoleScope[]
  readonly careful: boolean
  readonly keeps_body: boolean
  readonly mutating: boolean
  readonly creates: boolean
  readonly repeats: boolean
  /** The error matrix: all refusals, those common to all endpoints included, in the order of the
   *  checks. */
  readonly faults: readonly Refusal[]
  readonly examples: readonly Example[]
  handle(input: HandlerInput<unknown, Customer | undefined>): Promise<unknown>
  readonly second_signature: boolean
  /** Of an endpoint whose answer stays open: what is written to it, until nobody reads any more.
   *  Its `reply` is the schema of one item. */
  readonly open: OpenAnswer | undefined
}

type OpenAnswer = (
  asked: HandlerInput<unknown, Customer>,
  gone: AbortSignal,
) => Promise<AsyncIterable<string>>

/** Declares an endpoint whose answer stays open: lines of server-sent events. */
export function streamEndpoint<Body extends TObject>(
  spec: Omit<Description<Body, TSchema>, 'reply' | 'mutating' | 'creates' | 'repeats'> & {
    scope: Scope
    item: TSchema
    open(
      asked: HandlerInput<Static<Body>, Customer>,
      gone: AbortSignal,
    ): Promise<AsyncIterable<string>>
  },
): Endpoint {
  const { item, open, ...rest } = spec
  const described = endpoint({
    examples: [],
    ...rest,
    reply: item,
    auth: 'signature',
    handle: async () => {
      throw new Error(`the answer of ${spec.path} stays open`)
    },
  })
  // The server calls it with a body that its own reader made.
  return {
    ...described,
    open: (asked, gone) => open(asked as HandlerInput<Static<Body>, Customer>, gone),
  }
}

/** Declares an endpoint. Throws at once when the schema of its parameters cannot be enforced. */
export function endpoint<Body extends TObject, Reply extends TSchema>(
  spec: Description<Body, Reply> &
    (SignedSpec<Static<Body>, Static<Reply>> | PublicSpec<Static<Body>, Static<Reply>>),
): Endpoint {
  const { path, auth, summary, description, body, reply, mutating = false, creates = false } = spec
  const { second_signature = false, careful = false, keeps_body = false, repeats = false } = spec
  const has_parameters = Object.keys(body.properties).length > 0
  const reads = auth === 'signature' || has_parameters
  const scopes = spec.auth === 'signature' ? [spec.scope].flat() : []
  const { role_scope } = spec as { role_scope?: RoleScope }
  const faults = [
    ...(scopes.length > 0 ? authRefusals(scopes) : []),
    ...(second_signature ? [refuses(Unauthenticated, SECOND, 'second_signature')] : []),
    ...(creates ? [refuses(Unauthenticated, SUSPENDED, 'suspended')] : []),
    ...(reads ? [refuses(InvalidParams, has_parameters ? PARAMS_REFUSED : BODY_REFUSED)] : []),
    ...spec.faults.map((one) => (typeof one === 'function' ? refuses(one, one.sentence) : one)),
    refuses(InternalError, 'A failure of the service'),
  ]
  const read = reads ? bodyReader(body) : undefined
  const examples = spec.examples ?? [{ summary: 'Without parameters', body: {} }]
  const described = {
    path,
    auth,
    scopes,
    role_scopes: role_scope === undefined ? scopes : [...scopes, role_scope],
    careful,
    keeps_body,
    mutating,
    creates,
    repeats,
    second_signature,
    summary,
    description,
    body,
    reply,
    faults,
    examples,
  }
  return { ...described, read, open: undefined, handle: handler(spec) }
}

const BODY_REFUSED = 'The body is neither empty nor a JSON object'
const SECOND = 'The request carries no `X-Signature-V2`'
const SUSPENDED = 'The operator has suspended the customer'
const PARAMS_REFUSED =
  'The body is not a JSON object, or a field of it is missing or not of its type'

const authRefusals = (scopes: readonly Scope[]): Refusal[] => [
  refuses(Unauthenticated, 'The token is not known, or the signature is not that of this body'),
  refuses(
    Unauthenticated,
    'The key requires `X-Signature-V2`, and the request carries the first signature alone',
    'second_signature',
  ),
  refuses(Unauthenticated, `The key lacks the scope \`${scopes.join('` or `')}\``, 'scope'),
]

/** Whether a key may do one of these things. */
export const mayDo = (
  { scopes = UNNAMED_SCOPES }: Pick<Customer, 'scopes'>,
  wanted: readonly Scope[],
): boolean => wanted.some((scope) => scopes.includes(scope))

/** Refuses a key that lacks all of these scopes, or a user whose role does. */
export const lacksScope = (
  wanted: readonly RoleScope[],
  { user }: Pick<Customer, 'user'> = {},
): Fault =>
  user
    ? Forbidden('role', `The role ${user.role} lacks the scope ${wanted.join(' or ')}`)
    : Unauthenticated('scope', `This key lacks the scope ${wanted.join(' or ')}`)

/** Characters, of which each counts as one wherever it stands in Unicode. */
const EXTERNAL_ID_MAX = 128

/** The caller's own id for what a call begins: of the body, else of the header `Idempotency-Key`.
 *  Throws 2 when the header is longer than 128 characters, and when there is neither although the
 *  key requires one. */
export function externalId(
  given: string | undefined,
  { headers, customer }: Pick<HandlerInput<unknown, Customer>, 'headers' | 'customer'>,
): string | null {
  const header = headers['idempotency-key']
  const id = given ?? (header === '' ? undefined : header)
  if (id === undefined && customer.require_external_id)
    throw InvalidParams(
      'external_id',
      'This key requires an external_id or an Idempotency-Key',
    ).because('there is neither', 'external_id')
  if (id !== undefined && (typeof id !== 'string' || codePoints(id) > EXTERNAL_ID_MAX))
    throw InvalidParams('external_id', 'Invalid Idempotency-Key').because(
      'it must be text of at most 128 characters',
      'Idempotency-Key',
    )
  return id ?? null
}

/** What externalId() refuses. */
export const EXTERNAL_ID_REFUSALS: readonly Refusal[] = [
  refuses(InvalidParams, 'The header Idempotency-Key is longer than 128 characters', 'external_id'),
  refuses(
    InvalidParams,
    'The key requires an `external_id` or the header, and there is neither',
    'external_id',
  ),
]

function handler<Body, Result>(
  spec: SignedSpec<Body, Result> | PublicSpec<Body, Result>,
): Endpoint['handle'] {
  // The server calls a signed endpoint with a customer and with a body that its own reader made.
  return (input) =>
    (
      spec as { handle(input: HandlerInput<unknown, Customer | undefined>): Promise<Result> }
    ).handle(input)
}

/** Schema of an amount of TRX in a reply; its value comes from money() in lib/json. */
export function Money(options: { description?: string } = {}): TUnsafe<PrintedMoney> {
  return Type.Unsafe<PrintedMoney>({ type: 'number', ...options })
}
