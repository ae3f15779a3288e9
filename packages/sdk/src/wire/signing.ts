// The two signatures of a call. The first is over the body alone. The second binds time, path, a
// nonce that is used once, and the header Idempotency-Key, and no key can be set not to accept it,
// so both are sent with every call.

import { hexadecimal, type Key, type Subtle, utf8, webCrypto } from './crypto.ts'

export type StampInput = {
  path: string
  body: string
  /** Unix time in milliseconds, by the clock of the service. */
  now_ms: number
  idempotency_key: string | undefined
}

/** Random text that is used once: 32 hexadecimal digits. */
export async function newId(): Promise<string> {
  return hexadecimal((await webCrypto()).getRandomValues(new Uint8Array(16)))
}

/** A signer that keeps its secret to itself. */
export function signer(token: string, secret: string) {
  let derived: Promise<Key> | undefined
  return async ({ path, body, now_ms, idempotency_key }: StampInput) => {
    const { subtle } = await webCrypto()
    const sha256 = async (text: string) => hexadecimal(await subtle.digest('SHA-256', utf8(text)))
    derived ??= deriveKey(subtle, secret)
    const timestamp = String(Math.floor(now_ms / 1000))
    const nonce = await newId()
    const lines = [timestamp, nonce, 'POST', path, await sha256(body)]
    if (idempotency_key !== undefined) lines.push(idempotency_key)
    const signed = await subtle.sign('HMAC', await derived, utf8(lines.join('\n')))
    return {
      authorization: `Bearer ${token}`,
      'x-signature': await sha256(body + secret),
      'x-timestamp': timestamp,
      'x-nonce': nonce,
      'x-signature-v2': hexadecimal(signed),
    }
  }
}

async function deriveKey(subtle: Subtle, secret: string): Promise<Key> {
  const from = await subtle.importKey('raw', utf8(secret), 'HKDF', false, ['deriveKey'])
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8('v2') }
  const key = { name: 'HMAC', hash: 'SHA-256', length: 256 }
  return subtle.deriveKey(how, from, key, false, ['sign'])
}
