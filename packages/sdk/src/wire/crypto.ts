// WebCrypto wherever it is, and the few encodings that signatures need. All keys stay inside
// WebCrypto; its own verification takes the same time whether or not it succeeds.

type Bytes = Uint8Array<ArrayBuffer>
// Named after the value, because not every library of types has names for these.
type WebCrypto = typeof globalThis.crypto
export type Subtle = WebCrypto['subtle']
export type Key = Awaited<ReturnType<Subtle['deriveKey']>>

/** WebCrypto. Node 18 has it, but not as a global. Throws where a page has none: it was not loaded
 *  over https or from localhost. */
export async function webCrypto(): Promise<WebCrypto> {
  // Not a literal, so that bundlers for browsers do not look for it.
  const module = 'node:crypto'
  const found: WebCrypto =
    globalThis.crypto ??
    (await import(/* @vite-ignore */ /* webpackIgnore: true */ module)).webcrypto
  if (!found.subtle) throw new Error('WebCrypto is there only for pages of https or of localhost')
  return found
}

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text)

export const hexadecimal = (bytes: ArrayBuffer | Uint8Array): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Bytes of base64. Throws when it is none. */
export const fromBase64 = (text: string): Bytes =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
