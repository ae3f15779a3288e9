// Proofs that the one who is signed in sits here: a passkey, or the password with a code.

import {
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
} from '@simplewebauthn/browser'
import { post } from './ask.ts'
import { begin } from './session.ts'

/** What a passkey signs; the browser asks the person. Throws when it was refused. */
const signed = (passkey: unknown): Promise<unknown> =>
  startAuthentication({ optionsJSON: passkey as PublicKeyCredentialRequestOptionsJSON })

/** Signs in. */
export async function signInByPasskey(): Promise<void> {
  await post('/session/passkey', { passkey: await signed((await begin()).passkey) })
}

/** Of the one who is signed in: without a proof the call says what is to be signed. */
export async function proveByPasskey(): Promise<void> {
  const { passkey } = await post<{ passkey: unknown }>('/session/step-up', {})
  await post('/session/step-up', { passkey: await signed(passkey) })
}

export async function proveByPassword(by: { password: string; code: string }): Promise<void> {
  await post('/session/step-up', by)
}
