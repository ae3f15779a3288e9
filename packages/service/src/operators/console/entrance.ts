// Who may speak to the console at all, and who is signed in. It listens on this machine, where
// every web page that the operator has open can reach it through the operator's own browser: so the
// name it is called by, and the page that calls it, must be ours. A name that leads to this machine
// and is not ours is DNS rebinding; a page of another origin, the customers' portal on this same
// host among them, is somebody else's.

import type { FastifyRequest } from 'fastify'
import { type Face, originOf } from '../../people/users/faces.ts'
import { causeOf, requireOwnPage, tokenOf } from '../../people/users/mount.ts'
import type { HouseRole } from '../../people/users/roles.ts'
import type { Session, SessionReader } from '../../people/users/sessions.ts'
import { once, times } from '../../platform/limits/caller.ts'
import { Unauthenticated } from '../../platform/wire/endpoint.ts'

/** A person of the house who is signed in. */
export type OperatorSession = {
  /** Stands in the record of what this person changes. */
  by: string
  role: HouseRole
  session: Session
}

/** The names that stand for this machine, with or without a port: a tunnel has another one. */
const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

/** Where the console is that a request came to. */
const consoleOrigin = (face: Face, request: FastifyRequest): string =>
  originOf(face, request.raw.socket?.localPort)

/** Whether a request is for us: by a name of this machine, or that of the console's own URL. */
export function isForUs(face: Face, request: FastifyRequest): boolean {
  const host = once(request, 'host')
  if (host === undefined) return false
  return (
    THIS_MACHINE.test(host) || host.toLowerCase() === new URL(consoleOrigin(face, request)).host
  )
}

/** Who has sent a request from a page of ours. Throws Unauthenticated when it is from elsewhere, or
 *  nobody is signed in. */
export async function operatorOf(
  request: FastifyRequest,
  { face, sessions }: { face: Face; sessions: SessionReader },
): Promise<OperatorSession> {
  const { method, headers } = request
  const port = request.raw.socket?.localPort
  // A header that is there twice is joined: it is none of those that we look for.
  const origin = requireOwnPage(face, { method, headers, port })
  if (times(request, 'origin') > 1) throw Unauthenticated('origin', 'Origin is there twice')
  const token = tokenOf(face, origin, headers.cookie)
  const session = await sessions.read(token, face, causeOf({ method, headers }))
  if (!session) throw Unauthenticated('session', 'Sign in first')
  return { by: session.sign_in_name ?? session.name, role: session.role as HouseRole, session }
}
