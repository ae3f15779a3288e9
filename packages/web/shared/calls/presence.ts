// Proofs that the one who is signed in sits here: a passkey, or the password with a code. And a new
// passkey.

import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import { post } from './ask.ts'
import { begin } from './session.ts'

/** What a passkey signs; the browser asks the person. Throws when it was refused. */
const signed = (passkey: unknown): Promise<unknown> =>
  startAuthentication({ optionsJSON: passkey as PublicKeyCredentialRequestOptionsJSON })

/** A new passkey, as the service asks for it. Throws when the person refused. */
export function makePasskey(asked: unknown, sign_in_name: string): Promise<unknown> {
  const optionsJSON = asked as PublicKeyCredentialCreationOptionsJSON
  const user = { ...optionsJSON.user, name: sign_in_name }
  return startRegistration({ optionsJSON: { ...optionsJSON, user } })
}

/** Signs in. */
export async function signInByPasskey(): Promise<void> {
  await post('/session/passkey', { passkey: await signed((await begin()).passkey) })
}

/** What the one who is signed in can prove to be here with. `passkey`: what is to be signed. */
export type Proofs = { passkey: unknown; password: boolean }

export const askProofs = (): Promise<Proofs> => post('/session/step-up', {})

/** What is to be signed is asked for anew: each is signed once. */
export async function proveByPasskey(): Promise<void> {
  const { passkey } = await askProofs()
  await post('/session/step-up', { passkey: await signed(passkey) })
}

export async function proveByPassword(by: { password: string; code: string }): Promise<void> {
  await post('/session/step-up', by)
}
