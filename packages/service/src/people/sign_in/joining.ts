// Following a link that invites: choosing a name, and a passkey or a password with codes. The same
// for a user who has lost everything and gets a new link: what was there before goes.

import { type Static, Type } from 'typebox'
import type { Tx } from '../../platform/database/sql.ts'
import {
  Conflict,
  type Endpoint,
  endpoint,
  InvalidParams,
  refuses,
} from '../../platform/wire/endpoint.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import { whyNoPasskeys } from '../users/faces.ts'
import { reportUsers, type UserReport } from '../users/forms.ts'
import { userTokenHash } from '../users/sessions.ts'
import { findLink, joinUser, lockUser, noteUser, requireFreeName, useLink } from '../users/users.ts'
import {
  LINK_REFUSED,
  NoLink,
  type PageCall,
  pageOrigin,
  placeOf,
  requireSecure,
  SignedIn,
  TokenField,
} from './begin.ts'
import { makeOffer, openOffer } from './challenges.ts'
import { newRecoveryCodes, newTotpSecret, totpContext, totpStep, totpUri } from './codes.ts'
import {
  addPasskey,
  OptionsForm,
  RegistrationField,
  registrationOptions,
  verifyRegistration,
} from './passkeys.ts'
import { requireGoodPassword } from './passwords.ts'
import {
  CodeField,
  INSECURE,
  letIn,
  type Needs,
  NewPassword,
  SignInName,
  welcome,
} from './proofs.ts'
import { noteTry } from './tries.ts'

/** A secret for codes that is shown, and comes back with a code. */
export const TotpOffer = Type.Object({
  secret: Type.String({ description: 'For typing, base32' }),
  uri: Type.String({ description: 'For a picture that a phone reads' }),
  offer: Type.String({ description: 'Comes back with the code' }),
})

export const OfferField = Type.String({
  maxLength: 1_000,
  fault: () => InvalidParams('offer', 'Invalid offer'),
})

export async function offerTotp(
  needs: Needs,
  { bound_to, label }: { bound_to: string; label: string },
): Promise<Static<typeof TotpOffer>> {
  const secret = newTotpSecret(needs.random)
  const uri = totpUri(secret, label, await needs.brandName())
  return { secret, uri, offer: makeOffer(needs, `totp:${bound_to}`, secret) }
}

export type PasswordChoice = { password: string; code: string; offer: string }

/** What a password with codes is kept as. Throws 2. */
export async function readPassword(
  needs: Needs,
  { password, code, offer }: PasswordChoice,
  { bound_to, sign_in_name }: { bound_to: string; sign_in_name: string },
): Promise<{ hash: string; secret: string; step: bigint }> {
  await requireGoodPassword(password, { sign_in_name, brand: await needs.brandName() })
  const secret = openOffer(needs, `totp:${bound_to}`, offer)
  if (secret === undefined)
    throw InvalidParams('offer', 'The secret was shown too long ago').because(
      'ask for another',
      'offer',
    )
  const step = totpStep(secret, code, needs.clock.now())
  if (step === undefined)
    throw InvalidParams('code', 'That is not the code for this secret').because(
      'type the one that is shown now',
      'code',
    )
  const lane = { name: bound_to, is_known: true }
  return { hash: await needs.passwords.hash(password, lane), secret, step }
}

/** Keeps a password with codes, in place of the one before. The caller has locked the user. */
export async function keepPassword(
  tx: Tx,
  { seal, clock }: Pick<Needs, 'seal' | 'clock'>,
  user_id: string,
  { hash, secret, step }: { hash: string; secret: string; step: bigint },
): Promise<void> {
  const sealed = seal.seal(secret, totpContext(user_id))
  await tx`
    insert into user_password (user_id, hash, sealed_totp, totp_step, changed_at)
    values (${user_id}, ${hash}, ${sealed}, ${step}, ${clock.now()})
    on conflict (user_id) do update set hash = excluded.hash, sealed_totp = excluded.sealed_totp,
      totp_step = excluded.totp_step, changed_at = excluded.changed_at`
}

const JoinBody = Type.Object({
  token: TokenField,
  sign_in_name: Type.Optional(SignInName),
  passkey: Type.Optional(RegistrationField),
  password: Type.Optional(NewPassword),
  code: Type.Optional(CodeField),
  offer: Type.Optional(OfferField),
})

const JoinReply = Type.Object({
  kind: Type.Enum(['invite', 'sign_in']),
  name: Type.String(),
  role: Type.String(),
  customer: OrNull(Type.Object({ id: Type.String(), name: Type.String() })),
  sign_in_name: OrNull(Type.String({ description: 'The one chosen before' })),
  passkey: OrNull(OptionsForm),
  totp: OrNull(TotpOffer),
  why_not: OrNull(Type.String({ description: 'Why there can be no passkey' })),
  session: OrNull(SignedIn.properties.session),
  recovery_codes: OrNull(
    Type.Array(Type.String(), { description: 'Shown this once; each signs in once' }),
  ),
})
type JoinReply = Static<typeof JoinReply>

const boundTo = (token: string): string => `link:${userTokenHash(token)}`

/** Called with the token alone it shows what the link is for, and with a name besides whether that
 *  is free, before the browser makes a passkey for it. Neither uses anything up. */
export const join = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/join',
    auth: 'public',
    mutating: true,
    summary: 'What a link is for; with a name and a passkey or a password: joins',
    body: JoinBody,
    reply: JoinReply,
    faults: [
      INSECURE,
      LINK_REFUSED,
      refuses(InvalidParams, 'It is not 3 to 64 of a-z 0-9 . _ @ + -', 'sign_in_name'),
      refuses(InvalidParams, '`passkey` is not what was asked for', 'passkey'),
      refuses(
        InvalidParams,
        'It is too short, too long, common, or has the name in it',
        'password',
      ),
      refuses(InvalidParams, '`code` is not that of the secret', 'code'),
      refuses(InvalidParams, '`offer` is not what was shown, or too old', 'offer'),
      refuses(Conflict, 'Somebody else has that name', 'sign_in_name'),
    ],
    async handle(asked) {
      requireSecure(asked)
      const shown = await show(needs, asked, asked.body.token)
      const { sign_in_name, token, passkey, password } = asked.body
      if (sign_in_name === undefined || shown.kind !== 'invite') return shown
      if (!passkey && password === undefined) {
        await requireFree(needs, token, sign_in_name)
        return shown
      }
      const joined = await joinBy(needs, asked, { ...asked.body, sign_in_name })
      return { ...shown, ...joined, sign_in_name, passkey: null, totp: null }
    },
  })

async function show(needs: Needs, asked: PageCall, token: string): Promise<JoinReply> {
  const { sql, clock, face } = needs
  const found = await sql.begin(async (tx) => {
    const link = await findLink(tx, token, clock.now())
    const [user] = link ? await reportUsers(tx, { ids: [link.user_id], limit: 1 }) : []
    return link && user && { link, user }
  })
  if (!found || (found.user.customer_id === null) !== (face.name === 'console')) throw NoLink()
  const { user, link } = found
  const { name, role, sign_in_name, customer_id } = user
  const [customer] = await sql<{ id: string; name: string }>`
    select id, name from customer where id = ${customer_id}`
  const origin = pageOrigin(asked)
  const why_not = whyNoPasskeys(origin) ?? null
  const bound_to = boundTo(token)
  const invites = link.purpose === 'join'
  const label = sign_in_name ?? name
  return {
    kind: invites ? 'invite' : 'sign_in',
    name,
    role,
    customer: customer ?? null,
    sign_in_name,
    passkey:
      invites && why_not === null
        ? await registrationOptions(needs, { origin, bound_to, user })
        : null,
    totp: invites ? await offerTotp(needs, { bound_to, label }) : null,
    why_not,
    session: null,
    recovery_codes: null,
  }
}

/** Throws Conflict when somebody else has the name. */
async function requireFree({ sql, clock }: Needs, token: string, sign_in_name: string) {
  await sql.begin(async (tx) => {
    const link = await findLink(tx, token, clock.now())
    if (!link) throw NoLink()
    await requireFreeName(tx, link.user_id, sign_in_name)
  })
}

type JoinChoice = Omit<Static<typeof JoinBody>, 'sign_in_name'> & { sign_in_name: string }

/** Uses the link up and signs in. What takes time is done before anything is locked. */
async function joinBy(needs: Needs, asked: PageCall, choice: JoinChoice) {
  const { token, sign_in_name, passkey: made, password, code = '', offer = '' } = choice
  const bound_to = boundTo(token)
  const origin = pageOrigin(asked)
  const passkey = made && (await verifyRegistration(needs, { made, origin, bound_to }))
  const chosen =
    passkey || password === undefined
      ? undefined
      : await readPassword(needs, { password, code, offer }, { bound_to, sign_in_name })
  const begun = await needs.sql.begin(async (tx) => {
    const user = await takeLink(tx, needs, token)
    const at = needs.clock.now()
    await joinUser(tx, { user, sign_in_name, at })
    await forgetProofs(tx, user.id)
    if (passkey) await addPasskey(tx, needs, { user_id: user.id, name: 'first', passkey })
    if (chosen) await keepPassword(tx, needs, user.id, chosen)
    const recovery_codes = await newRecoveryCodes(tx, user.id, needs.random)
    const session = await letIn(tx, needs, asked, user.id)
    await noteUser(tx, user.joined_at === null ? 'user.joined' : 'user.changed', user.id, at)
    const attempt = { face: needs.face.name, way: 'join' as const, place: placeOf(asked) }
    const { session_id } = session
    await noteTry(tx, needs, attempt, { outcome: 'done', user_id: user.id, session_id })
    return { ...session, recovery_codes }
  })
  needs.wake('publish')
  const { session } = await welcome(needs, asked, begun.token)
  return { session, recovery_codes: begun.recovery_codes }
}

/** Uses up a link that invites, and locks its user. Throws 1. */
async function takeLink(tx: Tx, { clock }: Needs, token: string): Promise<UserReport> {
  const now = clock.now()
  const link = await findLink(tx, token, now)
  const user = link && (await lockUser(tx, { id: link.user_id }))
  if (link?.purpose !== 'join' || !user || !(await useLink(tx, token, now))) throw NoLink()
  return user
}

/** Takes away all that a locked user signs in with: what was lost may be in wrong hands. */
export async function forgetProofs(tx: Tx, user_id: string): Promise<void> {
  await tx`delete from passkey where user_id = ${user_id}`
  await tx`delete from user_password where user_id = ${user_id}`
  await tx`delete from recovery_code where user_id = ${user_id}`
}
