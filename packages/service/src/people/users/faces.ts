// The faces that people sign in to: customers to the portal, the house to the console. Cookies do
// not know ports, so each face has a cookie of its own name, and takes what comes from its own
// origin alone.

import { isIP } from 'node:net'

export type Face = {
  readonly name: 'portal' | 'console'
  /** What its pages and its endpoints begin with. */
  readonly path: `/${string}`
  /** Where it is reached, without a path. Undefined: nobody has said, and it is on this machine. */
  readonly url: string | undefined
  /** How long a session may rest, and how long it may be. */
  readonly idle_ms: number
  readonly life_ms: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** How long sessions of a face may rest, and be: the longest where nothing is said. */
export type SessionLengths = { idle_minutes?: number | undefined; life_hours?: number | undefined }

/** Nobody makes them longer. */
export const PORTAL_LENGTHS = { idle_minutes: 12 * 60, life_hours: 7 * 24 }
export const CONSOLE_LENGTHS = { idle_minutes: 30, life_hours: 12 }

const lengthsOf = (
  { idle_minutes, life_hours }: SessionLengths,
  longest: Required<SessionLengths>,
) => ({
  idle_ms: (idle_minutes ?? longest.idle_minutes!) * MINUTE_MS,
  life_ms: (life_hours ?? longest.life_hours!) * HOUR_MS,
})

export const portalFace = (url: string | undefined, lengths: SessionLengths = {}): Face => ({
  name: 'portal',
  path: '/portal',
  url,
  ...lengthsOf(lengths, PORTAL_LENGTHS),
})

export const consoleFace = (url: string | undefined, lengths: SessionLengths = {}): Face => ({
  name: 'console',
  path: '/console',
  url,
  ...lengthsOf(lengths, CONSOLE_LENGTHS),
})

/** The origin of a face: what a browser sends as `Origin`. `port`: where the request came to. */
export const originOf = ({ url }: Face, port: number | undefined): string =>
  url ?? (port === undefined || port === 80 ? 'http://localhost' : `http://localhost:${port}`)

/** Whether what is sent to an origin stays between the browser and us. */
function isPrivate(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' || (protocol === 'http:' && hostname === 'localhost')
}

/** Why nobody can sign in there. Undefined: one can. */
export const whyNoSignIn = (origin: string): string | undefined =>
  isPrivate(origin)
    ? undefined
    : `${origin} is neither https nor localhost: a password would go over the network in the clear.`

/** Why no passkey can be used there. Undefined: one can. */
export function whyNoPasskeys(origin: string): string | undefined {
  const { hostname } = new URL(origin)
  const is_address = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return is_address
    ? `A passkey belongs to a name, and ${hostname} is an address: use a password with codes.`
    : undefined
}

/** Whether the cookie can have the prefix that binds it to this host and to https. */
const isSecure = (origin: string): boolean => new URL(origin).protocol === 'https:'

export function cookieName({ name }: Face, origin: string): string {
  const plain = name === 'portal' ? 'penstock' : 'penstock-console'
  return isSecure(origin) ? `__Host-${plain}` : plain
}

/** The cookie of a browser that has signed in, which says for which names. */
export const browserCookieName = (face: Face, origin: string): string =>
  `${cookieName(face, origin)}-browser`

export const cookieOptions = (origin: string) => ({
  path: '/',
  httpOnly: true,
  sameSite: 'strict' as const,
  secure: isSecure(origin),
})
