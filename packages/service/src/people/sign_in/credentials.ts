// What a user who is signed in does with what the user signs in with. All of it wants to be sure
// that the user is there, and one way to sign in always stays.

import { Type } from 'typebox'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { timeOrNull, wireTime } from '../../lib/clock.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  Conflict,
  type Customer,
  type Endpoint,
  endpoint,
  Forbidden,
  InvalidParams,
  LimitReached,
  NotFound,
  refuses,
  Unauthenticated,
} from '../../platform/wire/endpoint.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import { whyNoPasskeys } from '../users/faces.ts'
import { endSessions, openSessions } from '../users/sessions.ts'
import { lockUser, noteUser } from '../users/users.ts'
import { pageOrigin } from './begin.ts'
import { newRecoveryCodes } from './codes.ts'
import { keepPassword, OfferField, offerTotp, readPassword, TotpOffer } from './joining.ts'
import {
  addPasskey,
  listPasskeys,
  OptionsForm,
  PASSKEYS_MAX,
  RegistrationField,
  registrationOptions,
  removePasskey,
  renamePasskey,
  verifyRegistration,
} from './passkeys.ts'
import { CodeField, type Needs, NewPassword } from './proofs.ts'

const invalid = (name: string) => ({ fault: () => InvalidParams(name, `Invalid ${name}`) })
const CredentialForm = Type.Object({
  passkeys: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      made_at: Type.String(),
      used_at: OrNull(Type.String()),
      off_at: OrNull(Type.String({ description: 'Its counter went back: there are two of it' })),
    }),
  ),
  password: Type.Boolean({ description: 'There is a password with codes' }),
  recovery_codes: Type.Integer({ description: 'How many are not used' }),
})

async function report({ sql }: Pick<Needs, 'sql'>, user_id: string) {
  const [passkeys, [known]] = await Promise.all([
    listPasskeys(sql, user_id),
    sql<{ password: boolean; recovery_codes: number }>`
      select exists (select 1 from user_password where user_id = ${user_id}) as password,
        (select count(*) from recovery_code where user_id = ${user_id} and used_at is null)::integer
          as recovery_codes`,
  ])
  const printed = passkeys.map(({ id, name, made_at, used_at, off_at }) => ({
    id,
    name,
    made_at: wireTime(made_at),
    used_at: timeOrNull(used_at),
    off_at: timeOrNull(off_at),
  }))
  return { passkeys: printed, ...known! }
}

const list = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/passkeys/list',
    auth: 'signature',
    scope: [],
    summary: 'What the user signs in with',
    body: Type.Object({}),
    reply: CredentialForm,
    faults: [],
    handle: ({ customer }) => report(needs, customer.user!.user_id),
  })

/** Whoever changes what a user signs in with may know that somebody else is in. */
const EndOthers = Type.Optional(
  Type.Boolean({
    description: 'All other sessions of the user end',
    ...invalid('end_others'),
  }),
)
const END_OTHERS_REFUSED = refuses(
  InvalidParams,
  '`end_others` is neither true nor false',
  'end_others',
)

type CredentialChange = {
  action: string
  end_others: boolean | undefined
  work: (tx: Tx) => Promise<void>
}

/** Changes what a user signs in with, tells it, and records it for the user's customer. A session
 *  that has ended is remembered for a moment: what it changed here would outlive it. */
async function changing(
  needs: Needs,
  actor: Customer,
  { action, end_others = false, work }: CredentialChange,
): Promise<void> {
  const { user_id, session_id } = actor.user!
  await needs.sql.begin(async (tx) => {
    const user = await lockUser(tx, { id: user_id })
    if (!user) throw NotFound('user', 'The user was removed')
    const at = needs.clock.now()
    const open = await openSessions(tx, needs.face, { ids: [session_id], now: at })
    if (!open.has(session_id)) throw Unauthenticated('session', 'Sign in first')
    await work(tx)
    if (end_others) await endSessions(tx, { user_id, except: session_id, at })
    await noteUser(tx, 'user.changed', user_id, at)
    const change = { actor, action, subject: `user:${user_id}`, before: null, after: null }
    if (user.customer_id !== null) await recordCustomerAction(tx, at, change)
  })
  needs.wake('publish')
}

/** Shown to the user beside what it does: nothing in it hides, or turns what stands around it. */
const PasskeyName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\p{C}]+$',
  ...invalid('name'),
})
const NAME_REFUSED = refuses(
  InvalidParams,
  '`name` is not text of 1 to 100 characters that can be seen',
  'name',
)
const PasskeyId = Type.String({ maxLength: 1_500, ...invalid('id') })
const NoPasskey = () => NotFound('passkey', 'There is no such passkey')

const passkeyNew = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/passkeys/new',
    auth: 'signature',
    scope: [],
    mutating: true,
    careful: true,
    summary: 'What a browser needs to make a passkey; with what it made: adds it',
    body: Type.Object({
      name: Type.Optional(PasskeyName),
      passkey: Type.Optional(RegistrationField),
      end_others: EndOthers,
    }),
    reply: Type.Object({ options: OrNull(OptionsForm), credentials: OrNull(CredentialForm) }),
    faults: [
      NAME_REFUSED,
      refuses(InvalidParams, '`passkey` is not what was asked for', 'passkey'),
      END_OTHERS_REFUSED,
      refuses(Forbidden, 'The address cannot have passkeys', 'insecure'),
      refuses(LimitReached, `There are ${PASSKEYS_MAX} passkeys already`, 'passkey'),
      refuses(NotFound, 'The user was removed meanwhile', 'user'),
    ],
    async handle(asked) {
      const user = asked.customer.user!
      const { user_id, session_id, name, sign_in_name } = user
      const origin = pageOrigin(asked)
      const why_not = whyNoPasskeys(origin)
      if (why_not) throw Forbidden('insecure', why_not)
      const bound_to = `passkey:${session_id}`
      const { passkey: made, name: called = 'passkey', end_others } = asked.body
      const there = await listPasskeys(needs.sql, user_id)
      if (there.length >= PASSKEYS_MAX)
        throw LimitReached('passkey', `There are ${PASSKEYS_MAX} passkeys already`)
      if (!made) {
        const ids = there.map(({ id }) => id)
        const wanted = { origin, bound_to, ids, user: { id: user_id, name, sign_in_name } }
        return { options: await registrationOptions(needs, wanted), credentials: null }
      }
      const passkey = await verifyRegistration(needs, { made, origin, bound_to })
      await changing(needs, asked.customer, {
        action: 'session/passkeys/new',
        end_others,
        work: (tx) => addPasskey(tx, needs, { user_id, name: called, passkey }),
      })
      return { options: null, credentials: await report(needs, user_id) }
    },
  })

const passkeyRename = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/passkeys/rename',
    auth: 'signature',
    scope: [],
    mutating: true,
    careful: true,
    summary: 'Calls a passkey something else',
    body: Type.Object({ id: PasskeyId, name: PasskeyName }),
    reply: CredentialForm,
    faults: [
      refuses(InvalidParams, '`id` is no text', 'id'),
      NAME_REFUSED,
      refuses(NotFound, 'The user has no such passkey', 'passkey'),
      refuses(NotFound, 'The user was removed meanwhile', 'user'),
    ],
    async handle({ body: { id, name }, customer }) {
      const { user_id } = customer.user!
      const work = async (tx: Tx) => {
        if (!(await renamePasskey(tx, { user_id, id, name }))) throw NoPasskey()
      }
      const action = 'session/passkeys/rename'
      await changing(needs, customer, { action, end_others: false, work })
      return report(needs, user_id)
    },
  })

const passkeyRemove = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/passkeys/remove',
    auth: 'signature',
    scope: [],
    mutating: true,
    careful: true,
    summary: 'Takes a passkey away; one way to sign in stays',
    body: Type.Object({ id: PasskeyId, end_others: EndOthers }),
    reply: CredentialForm,
    faults: [
      refuses(InvalidParams, '`id` is no text', 'id'),
      END_OTHERS_REFUSED,
      refuses(NotFound, 'The user has no such passkey', 'passkey'),
      refuses(NotFound, 'The user was removed meanwhile', 'user'),
      refuses(Conflict, 'Nothing else is there to sign in with', 'last_credential'),
    ],
    async handle({ body: { id, end_others }, customer }) {
      const { user_id } = customer.user!
      const work = async (tx: Tx) => {
        if (!(await removePasskey(tx, { user_id, id }))) throw NoPasskey()
        const [left] = await tx`
          select 1 from passkey where user_id = ${user_id} and off_at is null
          union all select 1 from user_password where user_id = ${user_id} limit 1`
        if (!left) throw Conflict('last_credential', 'Nothing else is there to sign in with')
      }
      await changing(needs, customer, { action: 'session/passkeys/remove', end_others, work })
      return report(needs, user_id)
    },
  })

/** Whoever changes the password ends all other sessions. */
const totp = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/totp',
    auth: 'signature',
    scope: [],
    mutating: true,
    careful: true,
    summary: 'A secret for codes; with a password and a code: both replace those before',
    body: Type.Object({
      password: Type.Optional(NewPassword),
      code: Type.Optional(CodeField),
      offer: Type.Optional(OfferField),
    }),
    reply: Type.Object({ totp: OrNull(TotpOffer), credentials: OrNull(CredentialForm) }),
    faults: [
      refuses(
        InvalidParams,
        'It is too short, too long, common, or has the name in it',
        'password',
      ),
      refuses(InvalidParams, '`code` is not that of the secret', 'code'),
      refuses(InvalidParams, '`offer` is not what was shown, or too old', 'offer'),
      refuses(Conflict, 'A user who came by a link has no name to sign in with', 'sign_in_name'),
      refuses(NotFound, 'The user was removed meanwhile', 'user'),
    ],
    async handle({ body, customer }) {
      const { user_id, session_id, sign_in_name, name } = customer.user!
      if (sign_in_name === null) throw Conflict('sign_in_name', 'You have no name to sign in with')
      const bound_to = `session:${session_id}`
      const { password, code = '', offer = '' } = body
      if (password === undefined) {
        const label = sign_in_name ?? name
        return { totp: await offerTotp(needs, { bound_to, label }), credentials: null }
      }
      const chosen = { password, code, offer }
      const kept = await readPassword(needs, chosen, { bound_to, sign_in_name })
      const work = (tx: Tx) => keepPassword(tx, needs, user_id, kept)
      await changing(needs, customer, { action: 'session/totp', end_others: true, work })
      return { totp: null, credentials: await report(needs, user_id) }
    },
  })

const recoveryNew = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/recovery/new',
    auth: 'signature',
    scope: [],
    mutating: true,
    careful: true,
    summary: 'New codes on paper, in place of those before',
    body: Type.Object({ end_others: EndOthers }),
    reply: Type.Object({ recovery_codes: Type.Array(Type.String()) }),
    faults: [END_OTHERS_REFUSED, refuses(NotFound, 'The user was removed meanwhile', 'user')],
    async handle({ body: { end_others }, customer }) {
      const { user_id } = customer.user!
      let recovery_codes: string[] = []
      const work = async (tx: Tx) => {
        recovery_codes = await newRecoveryCodes(tx, user_id, needs.random)
      }
      await changing(needs, customer, { action: 'session/recovery/new', end_others, work })
      return { recovery_codes }
    },
  })

export const credentialRoutes = (needs: Needs): Endpoint[] => [
  list(needs),
  passkeyNew(needs),
  passkeyRename(needs),
  passkeyRemove(needs),
  totp(needs),
  recoveryNew(needs),
]
