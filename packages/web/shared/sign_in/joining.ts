// What a link is for, and joining by one that invites.

import { post } from '../calls/ask.ts'
import { begin } from '../calls/session.ts'

/** What `session/join` says of a link. */
export type Invite = {
  kind: 'invite' | 'sign_in'
  name: string
  role: string
  customer: { id: string; name: string } | null
  /** Of one who has joined before and lost everything since. */
  sign_in_name: string | null
  /** What a browser needs to make a passkey; null where there can be none. */
  passkey: unknown
  /** For codes of a phone: to be typed, to be read from a picture, to be sent back. */
  totp: { secret: string; uri: string; offer: string } | null
  why_not: string | null
}

/** Uses nothing up. Throws a Fault; with a name, also when somebody else has it. */
export const showLink = (token: string, sign_in_name?: string): Promise<Invite> =>
  post('/session/join', { token, ...(sign_in_name !== undefined && { sign_in_name }) })

/** What somebody has chosen to sign in with from now on. */
export type Choice =
  | { sign_in_name: string; passkey: unknown }
  | { sign_in_name: string; password: string; code: string; offer: string }

/** Uses the link up and signs in. Answers the recovery codes, which are shown this once. Throws a
 *  Fault. */
export async function joinBy(token: string, choice: Choice): Promise<readonly string[]> {
  const said = await post<{ recovery_codes: readonly string[] }>('/session/join', {
    token,
    ...choice,
  })
  await begin()
  return said.recovery_codes
}
