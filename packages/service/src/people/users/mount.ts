// The way in with a session. A face is mounted by sessionMount(): the portal gives it the
// customers' endpoints, the console the operators' operations. Each request must come from our own
// pages: a browser sends the cookie along for any page, but only our pages can say that they are
// ours. Under /v1 nobody looks at cookies.
//
// Ports are no part of what a cookie belongs to, and two ports of one host are one site to a
// browser: that the portal's pages cannot act on the console is due to the exact origin alone.

import { parseCookie, stringifySetCookie } from 'cookie'
import { HOUSE } from '../../events/log/events.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Mount, Visit } from '../../platform/http/mounts.ts'
import {
  type Customer,
  type Endpoint,
  Forbidden,
  lacksScope,
  type Refusal,
  refuses,
  Unauthenticated,
} from '../../platform/wire/endpoint.ts'
import { cookieName, cookieOptions, type Face, originOf, whyNoSignIn } from './faces.ts'
import { keyScopesOf, scopesOfRole } from './roles.ts'
import type { Cause, Session, SessionReader } from './sessions.ts'

/** What a mount refuses before an endpoint sees the call. */
const MOUNT_REFUSALS: readonly Refusal[] = [
  refuses(Unauthenticated, 'The request does not come from a page of ours', 'origin'),
  refuses(Unauthenticated, 'Nobody is signed in', 'session'),
  refuses(Forbidden, 'The address is neither https nor localhost', 'insecure'),
  refuses(Forbidden, 'The role may not do that', 'role'),
  refuses(Forbidden, 'The user has not proved who they are within five minutes', 'step_up'),
]

/** Throws unless a request comes from a page of this face; the origin of the face. */
export function requireOwnPage(
  face: Face,
  { method, headers, port }: Pick<Visit, 'method' | 'headers' | 'port'>,
): string {
  const own = originOf(face, port)
  const site = headers['sec-fetch-site']
  const is_own =
    method === 'POST'
      ? headers.origin === own &&
        headers['x-penstock'] === '1' &&
        (site === undefined || site === 'same-origin')
      : site === 'same-origin' || site === 'none'
  if (!is_own)
    throw Unauthenticated('origin', `Only pages of ${own} may ask that, with X-Penstock: 1`)
  return own
}

/** What has caused a request. A stream goes on by itself; of all else the page says when nobody has
 *  touched it for a while: a page that is left open keeps nobody signed in. */
export const causeOf = ({ method, headers }: Pick<Visit, 'method' | 'headers'>): Cause =>
  method === 'POST' && headers['x-penstock-unattended'] === undefined ? 'person' : 'page'

/** The token in the cookie of a face. */
export const tokenOf = (face: Face, origin: string, cookies: string | undefined) =>
  parseCookie(cookies ?? '')[cookieName(face, origin)]

/** The header that gives a browser the token of a session; undefined: that takes it away. */
export const sessionCookie = (face: Face, origin: string, token: string | undefined): string =>
  stringifySetCookie({
    name: cookieName(face, origin),
    value: token ?? '',
    ...cookieOptions(origin),
    maxAge: token === undefined ? 0 : Math.floor(face.life_ms / 1_000),
  })

/** Who asks with a session, as endpoints know them. A user of the house asks for the house. */
export function customerOf(session: Session): Customer {
  const { id: session_id, user_id, customer_id, name, sign_in_name, role } = session
  const { stepped_up_until, daily_cap_sun, spends_from, receivers, customer_state } = session
  const scopes = scopesOfRole(role)
  return {
    customer_id: customer_id ?? HOUSE,
    key_id: user_id,
    user: { user_id, session_id, name, sign_in_name, role, scopes, stepped_up_until },
    // As the key has them that stands for the user: streams end where the two differ.
    scopes: keyScopesOf(role),
    daily_cap_sun: daily_cap_sun ?? undefined,
    spends_from: spends_from ?? undefined,
    receivers: receivers ?? undefined,
    require_external_id: false,
    suspended: customer_id !== null && customer_state !== 'active',
  }
}

/** Throws when the role of a user has none of the scopes, or an endpoint wants to be sure that the
 *  user is there. */
function mayUse(
  { role_scopes, careful }: Pick<Endpoint, 'role_scopes' | 'careful'>,
  customer: Customer,
  now: Date,
): void {
  const { scopes = [] } = customer.user ?? {}
  if (role_scopes.length > 0 && !role_scopes.some((scope) => scopes.includes(scope)))
    throw lacksScope(role_scopes, customer)
  if (careful) requirePresence(customer, now)
}

/** Throws unless a user has shown to be there within five minutes. */
export function requirePresence({ user }: Pick<Customer, 'user'>, now: Date): void {
  if (!(user?.stepped_up_until && user.stepped_up_until > now))
    throw Forbidden('step_up', 'Show that you are there first')
}

export type MountNeeds = { clock: Clock; sessions: SessionReader }

/** Endpoints for those who have signed in at a face, under its path. An endpoint that is public
 *  is for those, too, who have not: it still wants one of our pages.  The customers' server
 *  takes it as one of its `mounts`. The console, whose server is its own, adds signing in with
 *  `addSoleMount(app, sessionMount(app_parts.sign_in, face, { endpoints: signInRoutes({
 *  ...app_parts.sign_in, face }), streams: [] }), …)` where `face` is `consoleFace(url)`, and
 *  asks who has sent a request of its own by `sessions.read(tokenOf(face, origin, cookies),
 *  face)`. */
export function sessionMount(
  { clock, sessions }: MountNeeds,
  face: Face,
  { endpoints, streams }: { endpoints: readonly Endpoint[]; streams: readonly Endpoint[] },
): Mount {
  const listed = (one: Endpoint) => ({ ...one, faults: [...MOUNT_REFUSALS, ...one.faults] })
  return {
    prefix: face.path,
    endpoints: endpoints.map(listed),
    streams: streams.map(listed),
    async admit(visit) {
      const origin = requireOwnPage(face, visit)
      if (visit.endpoint.auth === 'public') return undefined
      const why_not = whyNoSignIn(origin)
      if (why_not) throw Forbidden('insecure', why_not)
      const token = tokenOf(face, origin, visit.headers.cookie)
      const session = await sessions.read(token, face, causeOf(visit))
      if (!session) throw Unauthenticated('session', 'Sign in first')
      return customerOf(session)
    },
    mayAsk: (endpoint, customer) => mayUse(endpoint, customer, clock.now()),
  }
}
