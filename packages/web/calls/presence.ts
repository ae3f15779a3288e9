// Proofs that the one who is signed in sits here: a passkey, or the password with a code.

import {
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
} from '@simplewebauthn/browser'
import { post } from './ask.ts'
import { begin } from './session.ts'

/** What a passkey signs; the browser asks the person. Throws when it was refused. */
export async function passkeyAnswer(): Promise<unknown> {
  const { passkey } = await begin()
  return startAuthentication({ optionsJSON: passkey as PublicKeyCredentialRequestOptionsJSON })
}

export async function proveByPasskey(): Promise<void> {
  await post('/session/step-up', { passkey: await passkeyAnswer() })
}

export async function proveByPassword(by: { password: string; code: string }): Promise<void> {
  await post('/session/step-up', by)
}
