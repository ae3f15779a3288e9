// Pairing on the wire: a program asks for a key and takes it, without one; a user, or a key that
// may make keys, looks at what asks and answers it.

import { Type } from 'typebox'
import { dayOf, wireTime } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { rateLimiter } from '../../platform/limits/rate_limit.ts'
import type { StepName } from '../../platform/steps/step.ts'
import {
  Conflict,
  type Endpoint,
  endpoint,
  InvalidParams,
  invalid,
  LimitReached,
  NotFound,
  refuses,
  SCOPES,
} from '../../platform/wire/endpoint.ts'
import { answered } from '../../platform/wire/examples.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import {
  KeyForm,
  LIMIT_REFUSALS,
  LimitFields,
  NameField,
  printKey,
  readLimits,
  reportKeys,
} from '../keys/forms.ts'
import { NEW_KEY_REFUSALS } from '../keys/grants.ts'
import {
  ALL_MAX,
  approvePairing,
  beginPairing,
  findPairing,
  NETWORK_MAX,
  type Needs as PairingNeeds,
  readCode,
  refusePairing,
  takePairing,
} from './pairings.ts'

export type Needs = PairingNeeds & { wake(step: StepName): void; public_url: string | undefined }

/** Codes of one customer that may be tried: at once, and a second after those. So nobody finds the
 *  code of somebody else's program, whose key would then be of the wrong customer. */
const TRIES = { burst: 20, per_second: 0.1 }
const POLL_SECONDS = 2

const CodeField = Type.String({
  minLength: 1,
  maxLength: 40,
  description: 'What the program shows; blanks, hyphens and small letters make no difference',
  ...invalid('code'),
})
const CODE_REFUSALS = [
  refuses(InvalidParams, '`code` is no text of at most 40 characters', 'code'),
  refuses(
    NotFound,
    'No program waits with this code, or it was answered, or is too old',
    'pairing',
  ),
]

const ScopesField = Type.Array(Type.Enum([...SCOPES], invalid('scopes')), {
  minItems: 1,
  maxItems: SCOPES.length,
  description: 'What the program would like to do; left out: the user chooses',
  ...invalid('scopes'),
})

const PairingForm = Type.Object({
  name: Type.String({ description: 'What the program calls itself: nobody has checked it' }),
  ip: Type.String({ description: 'Where it asked from' }),
  scopes: OrNull(Type.Array(Type.String(), { description: 'What it asks for' })),
  made_at: Type.String(),
  ends_at: Type.String({ description: 'The code is worth nothing from then on' }),
})

/** Text of a stranger that is shown to a user: nothing in it steers a terminal or hides. */
const NAME = /^[^\p{C}]{1,100}$/u

const begin = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/pairing/new',
    auth: 'public',
    mutating: true,
    summary: 'A program asks for a key of its own: a code for the user, a secret for the program',
    description:
      'Show `code` and `url`. A user who is signed in there types the code and approves. ' +
      'Meanwhile ask `/v1/pairing/take` with `poll_secret`, every `poll_seconds`.',
    body: Type.Object({
      name: Type.String({
        minLength: 1,
        maxLength: 100,
        description: 'What the program is called, and where it runs; 1 to 100 characters',
        ...invalid('name'),
      }),
      scopes: Type.Optional(ScopesField),
    }),
    reply: Type.Object({
      code: Type.String({ description: 'Eight letters, in two groups' }),
      url: OrNull(Type.String({ description: 'Where it is typed; null: the portal' })),
      poll_secret: Type.String({ description: 'Keep it: it takes the key' }),
      poll_seconds: Type.Integer(),
      ends_at: Type.String(),
    }),
    faults: [
      refuses(InvalidParams, '`name` is not text of 1 to 100 visible characters', 'name'),
      refuses(InvalidParams, '`scopes` is no list of scopes', 'scopes'),
      refuses(
        LimitReached,
        `${NETWORK_MAX} were asked for from this network within ten minutes, or ${ALL_MAX} by all`,
        'pairing',
      ),
    ],
    examples: [
      { summary: 'A command line', body: { name: 'penstock on laptop', scopes: ['read', 'buy'] } },
    ],
    async handle({ body: { name, scopes = null }, ip }) {
      if (!NAME.test(name))
        throw InvalidParams('name', 'Invalid name').at(
          'name',
          'text of 1 to 100 visible characters',
        )
      const { public_url } = needs
      const begun = await beginPairing(needs, { name, ip, scopes: scopes && distinct(scopes) })
      return {
        code: begun.code,
        url: public_url === undefined ? null : `${public_url}/portal/pair`,
        poll_secret: begun.poll_secret,
        poll_seconds: POLL_SECONDS,
        ends_at: wireTime(begun.ends_at),
      }
    },
  })

const distinct = <One>(all: readonly One[]): One[] => [...new Set(all)]

/** Throws TooManyRequests. What cannot be a code is no try. */
type CountTry = (whose: string, code: string) => void

const check = (needs: Needs, countTry: CountTry): Endpoint =>
  endpoint({
    path: '/v1/pairing/check',
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    summary: 'Which program waits with this code',
    body: Type.Object({ code: CodeField }),
    reply: PairingForm,
    faults: CODE_REFUSALS,
    examples: [{ summary: 'Before it is approved', body: { code: ANSWERED_CODE } }],
    async handle({ body: { code }, customer }) {
      countTry(customer.customer_id, code)
      const { name, ip, scopes, made_at, ends_at } = await findPairing(needs, code)
      return { name, ip, scopes, made_at: wireTime(made_at), ends_at: wireTime(ends_at) }
    },
  })

const ANSWERED_CODE = answered('/v1/pairing/new', 'code')

const approve = (needs: Needs, countTry: CountTry): Endpoint =>
  endpoint({
    path: '/v1/pairing/approve',
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    mutating: true,
    second_signature: true,
    careful: true,
    summary: 'Gives the program that waits with this code a key, no wider than the one that asks',
    description:
      'The program is told token and secret once, and nobody else is. What is left out is as for ' +
      '`/v1/key/new`, but `require_v2` is true unless it is false; the name is what the program ' +
      'calls itself. A key that is not taken until the code ends is revoked.',
    body: Type.Object({ code: CodeField, name: Type.Optional(NameField), ...LimitFields }),
    reply: KeyForm,
    faults: [...CODE_REFUSALS, ...LIMIT_REFUSALS, ...NEW_KEY_REFUSALS],
    examples: [{ summary: 'It may only look', body: { code: ANSWERED_CODE, scopes: ['read'] } }],
    async handle({ body: { code, name, ...limits }, customer }) {
      countTry(customer.customer_id, code)
      const { sql, clock } = needs
      const now = clock.now()
      const given = { code, name, ...readLimits(limits, now) }
      const key_id = await sql.begin((tx) => approvePairing(tx, needs, customer, given))
      needs.wake('publish')
      const { customer_id } = customer
      const wanted = { customer_id, ids: [key_id], limit: 1, day: dayOf(now) }
      const [key] = await reportKeys(sql, wanted)
      return printKey(key!, now)
    },
  })

const take = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/pairing/take',
    auth: 'public',
    mutating: true,
    summary: 'The key of a program that was approved, once; until then, how it stands',
    body: Type.Object({
      poll_secret: Type.String({ minLength: 1, maxLength: 100, ...invalid('poll_secret') }),
    }),
    reply: Type.Object({
      state: Type.Enum(['open', 'approved', 'refused']),
      key: OrNull(
        Type.Object({
          id: Type.String(),
          token: Type.String({ description: 'Names it; shown this once' }),
          secret: Type.String({ description: 'Signs; shown this once' }),
        }),
      ),
    }),
    faults: [
      refuses(InvalidParams, '`poll_secret` is no text of at most 100 characters', 'poll_secret'),
      refuses(NotFound, 'You have no such secret, or it has expired', 'pairing'),
      refuses(Conflict, 'The key was taken before', 'taken'),
    ],
    examples: [
      {
        summary: 'After it was approved',
        body: { poll_secret: answered('/v1/pairing/new', 'poll_secret') },
      },
    ],
    async handle({ body: { poll_secret } }) {
      const { sql } = needs
      const handed = await sql.begin((tx) => takePairing(tx, needs, poll_secret))
      if (handed.state !== 'approved') return { state: handed.state, key: null }
      const { state, key_id, token, secret } = handed
      return { state, key: { id: key_id, token, secret } }
    },
  })

const refuse = (needs: Needs, countTry: CountTry): Endpoint =>
  endpoint({
    path: '/v1/pairing/refuse',
    auth: 'signature',
    scope: 'manage',
    role_scope: 'keys',
    mutating: true,
    second_signature: true,
    summary: 'Gives the program that waits with this code no key',
    body: Type.Object({ code: CodeField }),
    reply: Type.Object({ name: Type.String({ description: 'Of the program' }) }),
    faults: CODE_REFUSALS,
    examples: [{ summary: 'It was approved before', body: { code: ANSWERED_CODE } }],
    async handle({ body: { code }, customer }) {
      // By who asks: nobody who tries codes keeps a colleague from refusing one.
      countTry(customer.key_id, code)
      const { sql, clock } = needs
      const which = { code, now: clock.now() }
      return sql.begin((tx) => refusePairing(tx, customer, which))
    },
  })

export function pairingRoutes(needs: Needs): Endpoint[] {
  const tries = rateLimiter(TRIES, needs.clock)
  const countTry: CountTry = (whose, code) => {
    if (readCode(code) === undefined) return
    const { allowed, retry_after_seconds } = tries.take(whose)
    if (!allowed) throw new TooManyRequests(retry_after_seconds)
  }
  return [
    begin(needs),
    check(needs, countTry),
    approve(needs, countTry),
    take(needs),
    refuse(needs, countTry),
  ]
}
