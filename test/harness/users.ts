// People who sign in to a world, by the ways there are.

import { TOTP } from 'otpauth'
import { inviteUser, makeLink } from 'penstock-service/people/users/users.ts'
import { Authenticator, type Options } from './authenticator.ts'
import { Visitor } from './visitor.ts'
import type { World } from './world.ts'

export type Person = {
  customer_id: string | null
  name?: string
  role?: string
  daily_cap_sun?: bigint | null
}

/** The token of a link for a new user of a customer, or of the house. */
export async function linkFor(
  world: World,
  { customer_id, name = 'Anna', role = 'owner', daily_cap_sun = null }: Person,
  purpose: 'join' | 'sign_in' = 'sign_in',
): Promise<{ token: string; user_id: string }> {
  const { sql, app } = world
  return sql.begin(async (tx) => {
    const wanted = { customer_id, name, role, daily_cap_sun, invited_by: 'test' }
    const { id: user_id } = await inviteUser(tx, app.sign_in, wanted)
    const { token } = await makeLink(tx, app.sign_in, { user_id, purpose })
    return { token, user_id }
  })
}

/** Somebody who has come by a link that signs in at once. */
export async function signedIn(world: World, of: Person): Promise<Visitor & { user_id: string }> {
  const { token, user_id } = await linkFor(world, of)
  const visitor = new Visitor(world.api)
  await visitor.ask('/session/link', { token })
  return Object.assign(visitor, { user_id })
}

export const codeAt = (secret: string, at: Date): string =>
  new TOTP({ secret }).generate({ timestamp: at.getTime() })

export const PASSWORD = 'correct horse battery'

/** Somebody who has joined with a password and codes. */
export async function joinedByPassword(world: World, of: Person, sign_in_name = 'anna') {
  const { token, user_id } = await linkFor(world, of, 'join')
  const visitor = new Visitor(world.api)
  const shown = await visitor.ask('/session/join', { token })
  const { secret, offer } = shown.totp as { secret: string; offer: string }
  const code = codeAt(secret, world.now)
  const choice = { token, sign_in_name, password: PASSWORD, code, offer }
  const { recovery_codes } = await visitor.ask('/session/join', choice)
  return { visitor, user_id, secret, token, recovery_codes: recovery_codes as string[] }
}

/** Somebody who has joined with a passkey. */
export async function joinedByPasskey(world: World, of: Person, sign_in_name = 'bert') {
  const { token, user_id } = await linkFor(world, of, 'join')
  const visitor = new Visitor(world.api)
  const authenticator = new Authenticator()
  const { passkey } = await visitor.ask('/session/join', { token })
  const made = authenticator.create(passkey as Options)
  await visitor.ask('/session/join', { token, sign_in_name, passkey: made })
  return { visitor, user_id, authenticator }
}
