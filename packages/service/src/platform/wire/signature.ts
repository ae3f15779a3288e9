// The two signatures of a request. The first, which every client sends, is SHA-256 of the body and
// the secret: it binds neither path nor time, so anyone who reads one signed request can send that
// body anywhere until the key is revoked. The second, sent in addition, is an HMAC over time,
// nonce, method, path, body and, where there is one, the header Idempotency-Key. Comparisons take
// the same time whether or not they succeed.

import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto'

/** How far the clock of a client may differ, in seconds. */
const WINDOW_SECONDS = 300

/** `X-Signature`: lower-case hexadecimal SHA-256 of the body's bytes followed by the secret. */
export function signature(body: Uint8Array, secret: string): string {
  return hash('sha256', Buffer.concat([body, Buffer.from(secret)]))
}

/** Whether the given signature, in lower or upper case, is the body's. */
export function isSignature(given: string | undefined, body: Uint8Array, secret: string): boolean {
  return sameHex(given, signature(body, secret))
}

/** What the second signature signs. `timestamp` is Unix time in whole seconds, as text;
 *  `idempotency_key` the header of that name as Node reads it, one character for each byte. */
export type SignatureInput = {
  timestamp: string
  nonce: string
  method: string
  path: string
  body: Uint8Array
  idempotency_key?: string | undefined
}

/** The key of the second signature: HKDF-SHA-256 of the secret, without salt, info `v2`, 32
 *  bytes. */
export function keyV2(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'v2', 32))
}

/** `X-Signature-V2`: lower-case hexadecimal HMAC-SHA-256 over lines joined by line feeds:
 *  timestamp, nonce, method, path (without query), the hexadecimal SHA-256 of the body and, when
 *  the request has an Idempotency-Key that is not empty, its bytes. */
export function signatureV2(key: Uint8Array, stamped: SignatureInput): string {
  const { timestamp, nonce, method, path, body, idempotency_key = '' } = stamped
  const lines = [timestamp, nonce, method, path, hash('sha256', body)]
  const hmac = createHmac('sha256', key).update(lines.join('\n'))
  if (idempotency_key !== '') hmac.update('\n').update(idempotency_key, 'latin1')
  return hmac.digest('hex')
}

/** Whether the second signature is right and its time within the window. That its nonce is new is
 *  for the caller to see. */
export function isSignatureV2(
  given: string,
  key: Uint8Array,
  stamped: SignatureInput,
  now: Date,
): boolean {
  const right = sameHex(given, signatureV2(key, stamped))
  const { timestamp, nonce } = stamped
  const well_formed = /^\d{1,12}$/.test(timestamp) && /^[\w.~-]{1,128}$/.test(nonce)
  const age_seconds = now.getTime() / 1000 - Number(timestamp)
  return right && well_formed && Math.abs(age_seconds) <= WINDOW_SECONDS
}

function sameHex(given: string | undefined, expected: string): boolean {
  const well_formed = given !== undefined && /^[0-9a-fA-F]{64}$/.test(given)
  const bytes = Buffer.from(well_formed ? given : '0'.repeat(64), 'hex')
  return timingSafeEqual(bytes, Buffer.from(expected, 'hex')) && well_formed
}
