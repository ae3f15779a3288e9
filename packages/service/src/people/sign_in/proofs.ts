// Showing who one is: by a passkey, by a password and the code of a phone, or by a code on paper. A
// name that nobody has, a wrong password and a wrong code are one answer, after the same work.

import { type Static, Type } from 'typebox'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import {
  type Endpoint,
  endpoint,
  Forbidden,
  InvalidParams,
  invalid,
  refuses,
  Unauthenticated,
  type User,
} from '../../platform/wire/endpoint.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import { whyNoPasskeys } from '../users/faces.ts'
import {
  beginSession,
  browserOf,
  endSessionBefore,
  endSessions,
  stepUp,
} from '../users/sessions.ts'
import { lockUser, noteUser } from '../users/users.ts'
import {
  type Needs as BeginNeeds,
  givenToken,
  giveToken,
  type PageCall,
  pageOrigin,
  placeOf,
  requireSecure,
  SignedIn,
  signedIn,
} from './begin.ts'
import { browserCookie, browserIdFor } from './browsers.ts'
import type { Needs as ChallengeNeeds } from './challenges.ts'
import { findRecoveryCode, type TotpCodes, useRecoveryCode, useTotpStep } from './codes.ts'
import {
  AssertionField,
  assertionOptions,
  isOwnPasskey,
  listPasskeys,
  OptionsForm,
  verifyAssertion,
} from './passkeys.ts'
import { type Lane, PASSWORD_LENGTH, type Passwords } from './passwords.ts'
import { beginTry, endTry, noteTry, type Try } from './tries.ts'

export type Needs = BeginNeeds &
  ChallengeNeeds & { passwords: Passwords; totp_codes: TotpCodes; wake(step: StepName): void }

export const SignInName = Type.String({
  pattern: '^[a-z0-9._@+-]{3,64}$',
  description: '3 to 64 of a-z 0-9 . _ @ + -',
  ...invalid('sign_in_name'),
})
/** As somebody types it: whatever cannot be one is nobody's. */
const TypedName = Type.String({ maxLength: 200, ...invalid('sign_in_name') })
const TypedPassword = Type.String({ maxLength: PASSWORD_LENGTH.maxLength, ...invalid('password') })
export const NewPassword = Type.String({ ...PASSWORD_LENGTH, ...invalid('password') })
export const CodeField = Type.String({ maxLength: 10, ...invalid('code') })

const NotSignedIn = () =>
  Unauthenticated('sign_in', 'That is not right: the name, the password or the code')
const SIGN_IN_REFUSED = refuses(
  Unauthenticated,
  'Wrong name, password or code; which one is not said',
  'sign_in',
)
export const INSECURE = refuses(Forbidden, 'The address is neither https nor localhost', 'insecure')
const field = (name: string, when = `\`${name}\` is too long, or no text`) =>
  refuses(InvalidParams, when, name)

type Known = {
  user_id: string
  hash: string
  sealed_totp: string
  changed_at: Date
}

/** What is found while a try is noted. That somebody has to wait comes before all else. */
async function tryWhile<Found>(noting: Promise<Try>, finding: Promise<Found>) {
  const [noted, found] = await Promise.allSettled([noting, finding])
  if (noted.status === 'rejected') throw noted.reason
  if (found.status === 'rejected') throw found.reason
  return { ...noted.value, found: found.value }
}

/** Ends a try that has failed: what is thrown then. */
async function refusedTry(sql: Sql, id: string) {
  await endTry(sql, id, { outcome: 'failed' })
  return NotSignedIn()
}

/** The user of a name who has a password, at this face. For a name that nobody has, somebody else's
 *  is read and left alone, so that the answer is as long and the work nearly the same. It is done
 *  while the try is noted, which takes longer: what is left is not seen from outside. */
async function findByName(sql: Sql, name: string, needs: Needs): Promise<Known | undefined> {
  const [found] = await sql<Known & { is_named: boolean }>`
    with named as materialized (
      select (select id from service_user
        where sign_in_name = ${name} and ended_at is null
          and (customer_id is null) = ${needs.face.name === 'console'}) as user_id,
        (select min(user_id) from user_password) as other_id)
    select read.user_id, read.hash, read.sealed_totp, read.changed_at,
      own.user_id is not null as is_named
    from named left join user_password as own on own.user_id = named.user_id
      join user_password as read on read.user_id = coalesce(own.user_id, other_id)`
  return found?.is_named ? found : undefined
}

/** Whether a password and a code are those of a user; undefined: of nobody. The code is used up. */
async function isRight(
  needs: Needs,
  known: Known | undefined,
  { password, code, lane }: { password: string; code: string; lane: Lane },
): Promise<boolean> {
  const { passwords, totp_codes, clock, sql } = needs
  const is_password = await passwords.check(password, known?.hash, lane)
  const step = totp_codes.step(known, code, clock.now())
  if (!known || !is_password || step === undefined) return false
  return sql.begin((tx) => useTotpStep(tx, known.user_id, step))
}

/** Hashes a password anew whose hash is older than our parameters. */
async function refreshHash(
  { passwords, sql }: Needs,
  known: Known,
  { password, lane }: { password: string; lane: Lane },
) {
  if (!passwords.isOld(known.hash)) return
  const hash = await passwords.hash(password, lane)
  await sql`update user_password set hash = ${hash} where user_id = ${known.user_id}`
}

/** Signs in a user who has shown who it is: a session, its cookie, and a line about it. */
export async function letIn(
  tx: Tx,
  needs: Needs,
  asked: PageCall,
  user_id: string,
): Promise<{ token: string; session_id: string }> {
  const { face } = needs
  const user = await lockUser(tx, { id: user_id })
  const fits = (user?.customer_id === null) === (face.name === 'console')
  if (!user || !fits) throw NotSignedIn()
  await endSessionBefore(tx, givenToken(needs, asked), needs.clock.now())
  return beginSession(tx, needs, { user_id, face, place: placeOf(asked) })
}

/** Gives the browser the token of one who has been let in, and what it remembers of the name. */
export async function welcome(
  needs: Needs,
  asked: PageCall,
  token: string,
): Promise<Static<typeof SignedIn>> {
  giveToken(needs, asked, token)
  const said = await signedIn(needs, token)
  const { sign_in_name } = said.session.user
  const given = asked.reply_headers['set-cookie']
  if (sign_in_name !== null)
    asked.reply_headers['set-cookie'] = [
      ...[given ?? []].flat(),
      browserCookie(needs, asked, sign_in_name),
    ]
  return said
}

/** Whether a password was neither changed nor taken away since it was read, of a locked user. */
async function isPasswordAsRead(tx: Tx, { user_id, changed_at }: Known): Promise<boolean> {
  const [found] = await tx`
    select 1 from user_password where user_id = ${user_id} and changed_at = ${changed_at}`
  return found !== undefined
}

/** Signs in by a passkey that has answered and that the user has still, once the user is locked. */
async function signInBy(needs: Needs, asked: PageCall, by: { user_id: string; id: string }) {
  const { user_id, id } = by
  const attempt = { face: needs.face.name, way: 'passkey' as const, place: placeOf(asked) }
  const { token } = await needs.sql.begin(async (tx) => {
    const begun = await letIn(tx, needs, asked, user_id)
    if (!(await isOwnPasskey(tx, { user_id, id }))) throw NotSignedIn()
    const { session_id } = begun
    await noteTry(tx, needs, attempt, { outcome: 'done', user_id, session_id })
    return begun
  })
  return welcome(needs, asked, token)
}

export const passkey = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/passkey',
    auth: 'public',
    mutating: true,
    summary: 'Signs in by a passkey, with the challenge of begin',
    body: Type.Object({ passkey: AssertionField }),
    reply: SignedIn,
    faults: [INSECURE, field('passkey', '`passkey` has not its form'), SIGN_IN_REFUSED],
    async handle(asked) {
      requireSecure(asked)
      const origin = pageOrigin(asked)
      const bound_to = `face:${needs.face.name}`
      const shown = { assertion: asked.body.passkey, origin, bound_to }
      const user_id = await verifyAssertion(needs, shown)
      needs.wake('publish')
      if (user_id === undefined) {
        // Nobody can be kept from a passkey by those who guess: it is noted, and nobody waits.
        const attempt = { face: needs.face.name, way: 'passkey' as const, place: placeOf(asked) }
        await noteTry(needs.sql, needs, attempt, { outcome: 'failed' })
        throw NotSignedIn()
      }
      return signInBy(needs, asked, { user_id, id: asked.body.passkey.id })
    },
  })

export const password = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/password',
    auth: 'public',
    mutating: true,
    summary: 'Signs in by a password and the code of a phone',
    body: Type.Object({ sign_in_name: TypedName, password: TypedPassword, code: CodeField }),
    reply: SignedIn,
    faults: [INSECURE, field('sign_in_name'), field('password'), field('code'), SIGN_IN_REFUSED],
    async handle(asked) {
      requireSecure(asked)
      const { sign_in_name, ...shown } = asked.body
      const { sql, face } = needs
      const attempt = { face: face.name, way: 'password' as const, place: placeOf(asked) }
      const name = sign_in_name.trim().toLowerCase()
      const browser_id = browserIdFor(needs, asked, name)
      const {
        id,
        lane,
        found: known,
      } = await tryWhile(
        beginTry(needs, attempt, { sign_in_name: name, browser_id }),
        findByName(sql, name, needs),
      )
      if (!(await isRight(needs, known, { ...shown, lane }))) throw await refusedTry(sql, id)
      await refreshHash(needs, known!, { ...shown, lane })
      const { token } = await sql.begin(async (tx) => {
        const begun = await letIn(tx, needs, asked, known!.user_id)
        if (!(await isPasswordAsRead(tx, known!))) throw NotSignedIn()
        const { session_id } = begun
        await endTry(tx, id, { outcome: 'done', user_id: known!.user_id, session_id })
        return begun
      })
      return welcome(needs, asked, token)
    },
  })

/** Whoever signs in so has lost something: the other sessions end, and it is told. */
export const recovery = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/recovery',
    auth: 'public',
    mutating: true,
    summary: 'Signs in by a code on paper, which is used up',
    body: Type.Object({
      sign_in_name: TypedName,
      code: Type.String({ maxLength: 40, ...invalid('code') }),
    }),
    reply: SignedIn,
    faults: [INSECURE, field('sign_in_name'), field('code'), SIGN_IN_REFUSED],
    async handle(asked) {
      requireSecure(asked)
      const { sign_in_name, code } = asked.body
      const { sql, face, clock } = needs
      const name = sign_in_name.trim().toLowerCase()
      const attempt = { face: face.name, way: 'recovery' as const, place: placeOf(asked) }
      const browser_id = browserIdFor(needs, asked, name)
      const { id, found: user_id } = await tryWhile(
        beginTry(needs, attempt, { sign_in_name: name, browser_id }),
        findRecoveryCode(sql, { sign_in_name: name, code }),
      )
      const at = clock.now()
      if (user_id === undefined) throw await refusedTry(sql, id)
      const begun = await sql.begin(async (tx) => {
        // Who takes codes away locks the user first.
        if (!(await lockUser(tx, { id: user_id }))) return undefined
        if (!(await useRecoveryCode(tx, { user_id, code, at }))) return undefined
        await endSessions(tx, { user_id, at })
        const session = await letIn(tx, needs, asked, user_id)
        await noteUser(tx, 'user.recovered', user_id, at)
        const { session_id } = session
        await endTry(tx, id, { outcome: 'done', user_id, session_id })
        return session
      })
      // Another call has used it meanwhile, or it was taken away.
      if (!begun) throw await refusedTry(sql, id)
      needs.wake('publish')
      return welcome(needs, asked, begun.token)
    },
  })

const StepUpReply = Type.Object({
  session: OrNull(SignedIn.properties.session),
  passkey: OrNull(OptionsForm),
  password: Type.Boolean({ description: 'A password with a code does as well' }),
})

/** Called without anything it says what is wanted; with it, it gives the session a new token. */
export const stepUpRoute = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/step-up',
    auth: 'signature',
    scope: [],
    mutating: true,
    summary: 'Shows that the user is there: for five minutes careful things may be done',
    body: Type.Object({
      passkey: Type.Optional(AssertionField),
      password: Type.Optional(TypedPassword),
      code: Type.Optional(CodeField),
    }),
    reply: StepUpReply,
    faults: [
      field('passkey', '`passkey` has not its form'),
      field('password'),
      field('code'),
      SIGN_IN_REFUSED,
    ],
    async handle(asked): Promise<Static<typeof StepUpReply>> {
      const { user_id, session_id } = asked.customer.user!
      const shown = asked.body
      const bound_to = `step_up:${session_id}`
      const origin = pageOrigin(asked)
      if (!shown.passkey && shown.password === undefined)
        return stepUpOptions(needs, { user_id, origin, bound_to })
      const attempt = { face: needs.face.name, way: 'step_up' as const, place: placeOf(asked) }
      const is_there = shown.passkey
        ? (await verifyAssertion(needs, { assertion: shown.passkey, origin, bound_to })) === user_id
        : await isStillRight(needs, asked.customer.user!, asked)
      if (shown.passkey) {
        const outcome = is_there ? 'done' : 'failed'
        await noteTry(needs.sql, needs, attempt, { outcome, user_id, session_id })
      }
      if (!is_there) throw NotSignedIn()
      const { token } = await needs.sql.begin((tx) => stepUp(tx, needs, session_id))
      needs.sessions.forget(givenToken(needs, asked))
      giveToken(needs, asked, token)
      const { session } = await signedIn(needs, token)
      return { session, passkey: null, password: false }
    },
  })

async function stepUpOptions(
  needs: Needs,
  { user_id, origin, bound_to }: { user_id: string; origin: string; bound_to: string },
): Promise<Static<typeof StepUpReply>> {
  const passkeys = await listPasskeys(needs.sql, user_id)
  const ids = passkeys.flatMap(({ id, off_at }) => (off_at === null ? id : []))
  const can = ids.length > 0 && whyNoPasskeys(origin) === undefined
  const [known] = await needs.sql`select 1 from user_password where user_id = ${user_id}`
  return {
    session: null,
    passkey: can ? assertionOptions(needs, { origin, bound_to, ids }) : null,
    password: known !== undefined,
  }
}

/** Whether the password and the code of one who is signed in are right. Who guesses has to wait. */
async function isStillRight(
  needs: Needs,
  { user_id, session_id }: User,
  asked: PageCall & { body: { password?: string; code?: string } },
): Promise<boolean> {
  const { password: given = '', code = '' } = asked.body
  const { sql, face } = needs
  const place = { ...placeOf(asked), browser: browserOf(asked.headers['user-agent']) }
  const attempt = { face: face.name, way: 'step_up' as const, place }
  const { id, lane } = await beginTry(needs, attempt, { session_id })
  const [known] = await sql<Known>`
    select user_id, hash, sealed_totp, changed_at from user_password where user_id = ${user_id}`
  const right = await isRight(needs, known, { password: given, code, lane })
  await endTry(sql, id, { outcome: right ? 'done' : 'failed', user_id, session_id })
  return right
}
