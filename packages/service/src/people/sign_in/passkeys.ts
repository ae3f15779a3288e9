// Passkeys. What a browser brings is verified by @simplewebauthn/server; what is here is what we
// ask for and what we make of it: a challenge of ours for just this, answered once; our exact
// origin, on no page within another; a user who was verified, not merely present; a counter that
// only grows.
//
//   (on) -> (off): its counter went back, so there are two of it. It stays off.

import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { type Static, Type } from 'typebox'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { InvalidParams } from '../../platform/wire/endpoint.ts'
import type { Face } from '../users/faces.ts'
import { noteUser } from '../users/users.ts'
import {
  type Needs as ChallengeNeeds,
  isChallenge,
  makeChallenge,
  useChallenge,
} from './challenges.ts'

export type Needs = ChallengeNeeds & { sql: Sql; face: Face; brandName(): Promise<string> }

/** It takes a fifth of a second to load: not at the start. */
const library = () => import('@simplewebauthn/server')

/** EdDSA, ES256 and RS256, by their numbers in COSE. */
const ALGORITHMS = [-8, -7, -257]
const TIMEOUT_MS = 5 * 60_000
export const PASSKEYS_MAX = 20

const text = (maxLength: number) =>
  Type.String({ maxLength, fault: () => InvalidParams('passkey', 'Invalid passkey') })

/** What navigator.credentials.get() gives, as @simplewebauthn/browser writes it. */
export const AssertionField = Type.Object(
  {
    id: text(1_500),
    rawId: text(1_500),
    type: text(20),
    response: Type.Object({
      clientDataJSON: text(8_000),
      authenticatorData: text(8_000),
      signature: text(4_000),
      userHandle: Type.Optional(text(200)),
    }),
  },
  { fault: () => InvalidParams('passkey', 'Invalid passkey') },
)
type Assertion = Static<typeof AssertionField>

/** What navigator.credentials.create() gives, likewise. */
export const RegistrationField = Type.Object(
  {
    id: text(1_500),
    rawId: text(1_500),
    type: text(20),
    response: Type.Object({
      clientDataJSON: text(8_000),
      attestationObject: text(30_000),
      transports: Type.Optional(Type.Array(text(20), { maxItems: 10 })),
    }),
  },
  { fault: () => InvalidParams('passkey', 'Invalid passkey') },
)
type Registration = Static<typeof RegistrationField>

/** What the functions of browsers take. */
export const OptionsForm = Type.Unknown({
  description: 'What @simplewebauthn/browser takes as optionsJSON',
})

const rpId = (origin: string): string => new URL(origin).hostname

/** What a browser is asked for to sign in, or to show that somebody is there. */
export const assertionOptions = (
  needs: Needs,
  { origin, bound_to, ids = [] }: { origin: string; bound_to: string; ids?: readonly string[] },
) => ({
  challenge: makeChallenge(needs, bound_to),
  rpId: rpId(origin),
  timeout: TIMEOUT_MS,
  userVerification: 'required',
  allowCredentials: ids.map((id) => ({ id, type: 'public-key' })),
})

/** What a browser is asked for to make a passkey. */
export const registrationOptions = async (
  needs: Needs,
  asked: {
    origin: string
    bound_to: string
    user: { id: string; name: string; sign_in_name: string | null }
    ids?: readonly string[]
  },
) => {
  const { origin, bound_to, user, ids = [] } = asked
  return {
    challenge: makeChallenge(needs, bound_to),
    rp: { id: rpId(origin), name: await needs.brandName() },
    user: {
      id: Buffer.from(user.id).toString('base64url'),
      name: user.sign_in_name ?? user.name,
      displayName: user.name,
    },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: 'public-key' })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    excludeCredentials: ids.map((id) => ({ id, type: 'public-key' })),
  }
}

type ClientData = { challenge?: unknown; crossOrigin?: unknown; topOrigin?: unknown }

/** Whether it was made on a page of ours that stands within no other. */
function isOnOwnPage(clientDataJSON: string): boolean {
  const { crossOrigin, topOrigin } = clientData(clientDataJSON)
  return crossOrigin !== true && topOrigin === undefined
}

function clientData(clientDataJSON: string): ClientData {
  const json = Buffer.from(clientDataJSON, 'base64url').toString()
  return JSON.parse(json) as ClientData
}

type PasskeyRow = {
  id: string
  user_id: string
  public_key: Uint8Array<ArrayBuffer>
  counter: bigint
  transports: string[]
}

/** The user whose passkey has answered a challenge of ours. Undefined: it has not, or it is off.
 *  Its counter is kept; one that went back puts it off. */
export async function verifyAssertion(
  needs: Needs,
  { assertion, origin, bound_to }: { assertion: Assertion; origin: string; bound_to: string },
): Promise<string | undefined> {
  const passkey = await findPasskey(needs, assertion.id)
  if (!passkey) return undefined
  const verified = await verify(needs, passkey, { assertion, origin, bound_to })
  if (!verified) return undefined
  const { counter, challenge } = verified
  const { user_id } = passkey
  // Whoever has overheard an answer must not put a passkey off by saying it again.
  if (!(await useChallenge(needs.sql, needs, challenge))) return undefined
  const good = await needs.sql.begin((tx) => useCounter(tx, needs, { ...passkey, counter }))
  return good ? user_id : undefined
}

async function findPasskey({ sql, face }: Needs, id: string): Promise<PasskeyRow | undefined> {
  const [passkey] = await sql<PasskeyRow>`
    select p.id, p.user_id, p.public_key, p.counter, p.transports
    from passkey as p join service_user as u on u.id = p.user_id
    where p.id = ${id} and p.off_at is null and u.ended_at is null
      and (u.customer_id is null) = ${face.name === 'console'}`
  return passkey
}

async function verify(
  needs: Needs,
  passkey: PasskeyRow,
  { assertion, origin, bound_to }: { assertion: Assertion; origin: string; bound_to: string },
): Promise<{ counter: bigint; challenge: string } | undefined> {
  const { verifyAuthenticationResponse } = await library()
  const { id, public_key, transports } = passkey
  let challenge = ''
  // It throws for whatever is wrong.
  const result = await Promise.resolve()
    .then(() =>
      verifyAuthenticationResponse({
        response: { clientExtensionResults: {}, ...assertion } as AuthenticationResponseJSON,
        expectedChallenge: (given) => {
          challenge = given
          return isChallenge(needs, bound_to, given)
        },
        expectedOrigin: origin,
        expectedRPID: rpId(origin),
        requireUserVerification: true,
        // The counter is looked at by us, who put a passkey off that goes back.
        credential: {
          id,
          publicKey: new Uint8Array(public_key),
          counter: 0,
          transports: transports as AuthenticatorTransport[],
        },
      }),
    )
    .catch(() => undefined)
  if (!result?.verified || !isOnOwnPage(assertion.response.clientDataJSON)) return undefined
  return { counter: BigInt(result.authenticationInfo.newCounter), challenge }
}

/** Keeps the counter of a passkey. False: it went back, or the passkey is off by now. */
async function useCounter(
  tx: Tx,
  { clock }: Pick<Needs, 'clock'>,
  { id, user_id, counter }: Pick<PasskeyRow, 'id' | 'user_id' | 'counter'>,
): Promise<boolean> {
  const [now] = await tx<Pick<PasskeyRow, 'counter'>>`
    select counter from passkey where id = ${id} and off_at is null for update`
  if (!now) return false
  const at = clock.now()
  // Many never count: theirs is always 0.
  const goes_back = counter <= now.counter && (counter > 0n || now.counter > 0n)
  await tx`
    update passkey set counter = greatest(counter, ${counter}), used_at = ${at},
      off_at = case when ${goes_back}::boolean then ${at}::timestamptz end
    where id = ${id}`
  if (goes_back) await noteUser(tx, 'user.changed', user_id, at)
  return !goes_back
}

export type NewPasskey = {
  id: string
  public_key: Uint8Array
  counter: bigint
  transports: readonly string[]
  challenge: string
}

/** The passkey that a browser has made for a challenge of ours. Throws 2 when it has not. */
export async function verifyRegistration(
  needs: Needs,
  { made, origin, bound_to }: { made: Registration; origin: string; bound_to: string },
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await library()
  let challenge = ''
  const result = await Promise.resolve()
    .then(() =>
      verifyRegistrationResponse({
        response: { clientExtensionResults: {}, ...made } as RegistrationResponseJSON,
        expectedChallenge: (given) => {
          challenge = given
          return isChallenge(needs, bound_to, given)
        },
        expectedOrigin: origin,
        expectedRPID: rpId(origin),
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      }),
    )
    .catch(() => undefined)
  if (!result?.verified || !isOnOwnPage(made.response.clientDataJSON))
    throw InvalidParams('passkey', 'That passkey is not what was asked for').because(
      'ask for another challenge',
      'passkey',
    )
  const { id, publicKey: public_key, counter } = result.registrationInfo.credential
  const { transports = [] } = made.response
  return { id, public_key, counter: BigInt(counter), transports, challenge }
}

/** Keeps a new passkey of a locked user. Throws 2 when its challenge was answered before, or it is
 *  there already. */
export async function addPasskey(
  tx: Tx,
  { clock }: Pick<Needs, 'clock'>,
  { user_id, name, passkey }: { user_id: string; name: string; passkey: NewPasskey },
): Promise<void> {
  const { id, public_key, counter, transports, challenge } = passkey
  const added = (await useChallenge(tx, { clock }, challenge))
    ? await tx`
        insert into passkey (id, user_id, name, public_key, counter, transports, made_at)
        values (${id}, ${user_id}, ${name}, ${Buffer.from(public_key)}, ${counter},
          ${transports}, ${clock.now()})
        on conflict do nothing returning 1`
    : []
  if (added.length === 0)
    throw InvalidParams('passkey', 'That passkey was given before').because(
      'give another',
      'passkey',
    )
}

/** The passkeys of a user, oldest first. */
export const listPasskeys = (sql: Sql | Tx, user_id: string) =>
  sql<{ id: string; name: string; made_at: Date; used_at: Date | null; off_at: Date | null }>`
    select id, name, made_at, used_at, off_at from passkey where user_id = ${user_id}
    order by made_at, id`

/** Whether a user has the passkey, and it is on. */
export async function isOwnPasskey(
  tx: Tx,
  { user_id, id }: { user_id: string; id: string },
): Promise<boolean> {
  const [found] = await tx`
    select 1 from passkey where id = ${id} and user_id = ${user_id} and off_at is null`
  return found !== undefined
}

/** Calls a passkey something else. False: the user has none of that id. */
export async function renamePasskey(
  tx: Tx,
  { user_id, id, name }: { user_id: string; id: string; name: string },
): Promise<boolean> {
  const renamed = await tx`
    update passkey set name = ${name} where user_id = ${user_id} and id = ${id} returning 1`
  return renamed.length > 0
}

/** Takes a passkey away. False: the user has none of that id. */
export async function removePasskey(
  tx: Tx,
  { user_id, id }: { user_id: string; id: string },
): Promise<boolean> {
  const removed = await tx`
    delete from passkey where user_id = ${user_id} and id = ${id} returning 1`
  return removed.length > 0
}
