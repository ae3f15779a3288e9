// The first calls of a page: who is signed in, if anybody, what one can sign in with, and being
// signed in by a link that does so at once. The last one is in sign_out.ts.

import { type Static, type TSchema, Type } from 'typebox'
import { eventBounds } from '../../events/log/events.ts'
import type { Clock } from '../../lib/clock.ts'
import { wireTime } from '../../lib/clock.ts'
import type { NewId, Random } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import {
  type Endpoint,
  endpoint,
  Forbidden,
  type HandlerInput,
  refuses,
  Unauthenticated,
} from '../../platform/wire/endpoint.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import { type Face, whyNoPasskeys, whyNoSignIn } from '../users/faces.ts'
import { causeOf, customerOf, sessionCookie, tokenOf } from '../users/mount.ts'
import { scopesOfRole } from '../users/roles.ts'
import {
  beginSession,
  browserOf,
  endSessionBefore,
  idleAt,
  isUserToken,
  type Place,
  type Session,
  type SessionReader,
} from '../users/sessions.ts'
import { findLink, joinUser, lockUser, noteUser, useLink } from '../users/users.ts'
import { noteTry } from './tries.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  random: Random
  new_id: NewId
  seal: Seal
  sessions: SessionReader
  face: Face
  /** What the pages call the house, and the chain that it sells on. */
  brandName(): Promise<string>
  network(): Promise<string | undefined>
  /** Whether strangers may make an account at the portal. */
  sign_up: boolean
}

/** Any of a call of these endpoints. */
export type PageCall = Pick<
  HandlerInput<unknown, unknown>,
  'headers' | 'ip' | 'reply_headers' | 'request_id'
>

/** From where a call comes. */
export const placeOf = ({ ip, headers }: PageCall): Place => ({
  ip,
  browser: browserOf(headers['user-agent']),
})

/** Where the pages of the call are, which has been compared with where ours are. */
export const pageOrigin = ({ headers }: PageCall): string => headers.origin!

/** Gives the browser the token of a session. */
export function giveToken({ face }: Pick<Needs, 'face'>, asked: PageCall, token?: string): void {
  asked.reply_headers['set-cookie'] = sessionCookie(face, pageOrigin(asked), token)
}

/** The token that came along. */
export const givenToken = ({ face }: Pick<Needs, 'face'>, asked: PageCall): string | undefined =>
  tokenOf(face, pageOrigin(asked), asked.headers.cookie)

/** Throws where nobody can sign in. */
export function requireSecure(asked: PageCall): void {
  const why_not = whyNoSignIn(pageOrigin(asked))
  if (why_not) throw Forbidden('insecure', why_not)
}

const SessionForm = Type.Object({
  id: Type.String(),
  user: Type.Object({
    id: Type.String(),
    name: Type.String(),
    sign_in_name: OrNull(Type.String()),
    role: Type.String(),
  }),
  customer: OrNull(Type.Object({ id: Type.String(), name: Type.String() })),
  scopes: Type.Array(Type.String()),
  ends_at: Type.String(),
  idle_at: Type.String({ description: 'It is over then unless it is used before' }),
  stepped_up_until: OrNull(Type.String()),
})

function printSession(session: Session, { face }: Pick<Needs, 'face'>): Static<typeof SessionForm> {
  const { id, user_id, name, sign_in_name, role, customer_id, stepped_up_until } = session
  return {
    id,
    user: { id: user_id, name, sign_in_name, role },
    customer: customer_id === null ? null : { id: customer_id, name: session.customer_name ?? '' },
    scopes: [...scopesOfRole(role)],
    ends_at: wireTime(session.ends_at),
    idle_at: wireTime(idleAt(session, face)),
    stepped_up_until: stepped_up_until && wireTime(stepped_up_until),
  }
}

/** What a call answers that signs somebody in. */
export const SignedIn = Type.Object({ session: SessionForm })

/** The session of a token that was just given out. */
export async function signedIn(
  needs: Pick<Needs, 'sessions' | 'face'>,
  token: string,
): Promise<Static<typeof SignedIn>> {
  const session = await needs.sessions.read(token, needs.face)
  if (!session) throw Unauthenticated('session', 'The session has ended at once')
  return { session: printSession(session, needs) }
}

export const TokenField = Type.String({
  minLength: 43,
  maxLength: 43,
  description: 'What follows # in the link',
  fault: () => NoLink(),
})

/** One answer for links that are unknown, used, too old, or for another face. */
export const NoLink = () => Unauthenticated('link', 'This link is not valid, or was used')
export const LINK_REFUSED = refuses(
  Unauthenticated,
  'The link is unknown, used, too old, or for another face',
  'link',
)

const Beginning = (passkey: TSchema) =>
  Type.Object({
    now: Type.String({ description: 'The time of the service' }),
    session: OrNull(SessionForm),
    event_number: OrNull(
      Type.Integer({
        description:
          'The newest event of the one who is signed in: what is asked for later has it, and ' +
          'what comes after it is in the stream from there on',
      }),
    ),
    sign_in_possible: Type.Boolean(),
    passkeys_possible: Type.Boolean(),
    sign_up_possible: Type.Boolean({ description: 'Whether one can make an account' }),
    passkey: OrNull(passkey),
    why_not: OrNull(Type.String({ description: 'Why one of the two is not possible' })),
    network: OrNull(Type.String()),
    brand: Type.String(),
  })

/** `options`: what navigator.credentials.get() takes, made when nobody is signed in. */
export const begin = (
  needs: Needs,
  options: { schema: TSchema; make(origin: string): Promise<unknown> },
): Endpoint =>
  endpoint({
    path: '/session/begin',
    auth: 'public',
    summary: 'Who is signed in, and what one can sign in with',
    body: Type.Object({}),
    reply: Beginning(options.schema),
    faults: [],
    async handle(asked) {
      const origin = pageOrigin(asked)
      const { sessions, face } = needs
      const no_sign_in = whyNoSignIn(origin)
      const no_passkeys = no_sign_in ?? whyNoPasskeys(origin)
      const by = causeOf({ method: 'POST', headers: asked.headers })
      const session = await sessions.read(givenToken(needs, asked), face, by)
      const seen = session && (await eventBounds(needs.sql, customerOf(session).customer_id))
      const offers_passkey = !session && !no_passkeys
      return {
        now: wireTime(needs.clock.now()),
        session: session ? printSession(session, needs) : null,
        event_number: seen ? Number(seen.newest) : null,
        sign_in_possible: no_sign_in === undefined,
        passkeys_possible: no_passkeys === undefined,
        sign_up_possible: needs.sign_up && face.name === 'portal' && no_sign_in === undefined,
        passkey: offers_passkey ? await options.make(origin) : null,
        why_not: no_passkeys ?? null,
        network: (await needs.network()) ?? null,
        brand: await needs.brandName(),
      }
    },
  })

/** Signs in by a link of a sandbox. Its user has nothing else to show: the link is proof enough for
 *  as long as the session lasts. */
export const link = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/link',
    auth: 'public',
    mutating: true,
    summary: 'Signs in by a link that does so at once',
    body: Type.Object({ token: TokenField }),
    reply: SignedIn,
    faults: [LINK_REFUSED],
    async handle(asked) {
      requireSecure(asked)
      const { token } = asked.body
      if (!isUserToken(token)) throw NoLink()
      const { sql, clock, face } = needs
      const place = placeOf(asked)
      const begun = await sql.begin(async (tx) => {
        const now = clock.now()
        const found = await findLink(tx, token, now)
        const user = found && (await lockUser(tx, { id: found.user_id }))
        const fits = (user?.customer_id === null) === (face.name === 'console')
        if (!user || found.purpose !== 'sign_in' || !fits) throw NoLink()
        if (!(await useLink(tx, token, now))) throw NoLink()
        if (user.joined_at === null) {
          await joinUser(tx, { user, sign_in_name: user.sign_in_name, at: now })
          await noteUser(tx, 'user.joined', user.id, now)
        }
        const stepped_up_until = new Date(now.getTime() + face.life_ms)
        const wanted = { user_id: user.id, face, place, stepped_up_until }
        await endSessionBefore(tx, givenToken(needs, asked), now)
        const session = await beginSession(tx, needs, wanted)
        const { session_id } = session
        const attempt = { face: face.name, way: 'link' as const, place }
        await noteTry(tx, needs, attempt, { outcome: 'done', user_id: user.id, session_id })
        return session
      })
      giveToken(needs, asked, begun.token)
      return signedIn(needs, begun.token)
    },
  })
