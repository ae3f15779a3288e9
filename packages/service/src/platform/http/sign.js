// The two signatures of a request, in a browser (or anything else that has WebCrypto).

const encoder = new TextEncoder()

/** @param {ArrayBuffer} bytes */
const hex = (bytes) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** @param {string} text */
const sha256 = async (text) => hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))

/** `X-Signature`: lower-case hexadecimal SHA-256 of the body, byte for byte as it is sent, followed
 *  by the secret. @param {string} body @param {string} secret @returns {Promise<string>} */
export const sign = (body, secret) => sha256(body + secret)

/** `X-Signature-V2`: hexadecimal HMAC-SHA-256 over lines: time, nonce, method, path, SHA-256 of the
 * body and, when there is one, the Idempotency-Key. The key is HKDF-SHA-256 of the secret with the
 * info `v2`.
 * @param {{ timestamp: string, nonce: string, method: string, path: string, body: string,
 *   idempotency_key?: string | undefined }} stamped
 * @param {string} secret @returns {Promise<string>} */
export async function signV2(
  { timestamp, nonce, method, path, body, idempotency_key = '' },
  secret,
) {
  const lines = [timestamp, nonce, method, path, await sha256(body)]
  if (idempotency_key !== '') lines.push(idempotency_key)
  // A header is one byte for each of its characters.
  const bytes = Uint8Array.from(lines.join('\n'), (one) => one.charCodeAt(0))
  const whole = await crypto.subtle.importKey('raw', encoder.encode(secret), 'HKDF', false, [
    'deriveKey',
  ])
  const derivation = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: encoder.encode('v2'),
  }
  const hmac = { name: 'HMAC', hash: 'SHA-256', length: 256 }
  const key = await crypto.subtle.deriveKey(derivation, whole, hmac, false, ['sign'])
  return hex(await crypto.subtle.sign('HMAC', key, bytes))
}
