// The signature of a request, in a browser (or anything else that has WebCrypto).

/** Lower-case hexadecimal SHA-256 of the body, byte for byte as it is sent, followed by the secret.
 * @param {string} body @param {string} secret @returns {Promise<string>} */
export async function sign(body, secret) {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body + secret))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
