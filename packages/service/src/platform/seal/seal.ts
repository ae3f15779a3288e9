// Secrets at rest: AES-256-GCM with a key that is not where the secrets are. A sealed text names
// its key, so keys can be rotated, and is bound to a context (what the secret belongs to), so that
// it cannot be moved to another row. With keys derived from the same, one for each purpose, rows
// are marked that must be of the service's own making: whoever may write to a table and has no
// sealing key cannot make such a row.

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
import type { Random } from '../../lib/ids.ts'

export type Seal = {
  /** `<key id>.<base64url of nonce, ciphertext and tag>`. */
  seal(secret: string, context: string): string
  /** The inverse. Throws when the key is not known, the text was changed, or the context is
   *  another. */
  open(sealed: string, context: string): string
  /** Whether the text was sealed with the key that seals now. */
  isCurrent(sealed: string): boolean
  /** What shows that a text is of our making: `<key id>.<base64url of an HMAC>`, with a key of its
   *  own for each purpose. */
  mark(text: string, purpose: MarkPurpose): string
  /** Whether it is the mark of that text, made for that purpose with a key that is known here. */
  isMark(mark: string | null, text: string, purpose: MarkPurpose): mark is string
  /** Whether the key that a mark is of is configured. */
  knowsKeyOf(mark: string | null): boolean
}

/** What is marked; a mark of one purpose is none of another. */
export type MarkPurpose =
  | 'signing key'
  | 'session of a customer'
  | 'session of the house'
  | 'browser that has signed in'

export type SealingKeys = {
  /** Id of the key that seals. The others only open. */
  current: string
  /** 32 bytes for each key id. */
  keys: Readonly<Record<string, Uint8Array>>
}

/** Sealing keys as they are configured: `id:hex` of each, with commas between them; the first
 *  seals, all open. One that is hexadecimal alone has the id k1. Undefined when it is not of that
 *  form. */
export function readSealingKeys(configured: string): SealingKeys | undefined {
  const keys: [string, Uint8Array][] = []
  for (const one of configured.split(',')) {
    const [, id = 'k1', hex] = /^(?:([\w-]{1,32}):)?([0-9a-fA-F]{64})$/.exec(one.trim()) ?? []
    if (hex === undefined) return undefined
    keys.push([id, Buffer.from(hex, 'hex')])
  }
  return { current: keys[0]![0], keys: Object.fromEntries(keys) }
}

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The name of the key that a sealed text or a mark is of. */
const nameOf = (text: string | null): string => text?.split('.', 1)[0] ?? ''

export function sealWith({ current, keys }: SealingKeys, random: Random): Seal {
  for (const [id, key] of Object.entries(keys)) {
    if (!/^[\w-]{1,32}$/.test(id))
      throw new Error(`not a name for a sealing key: ${JSON.stringify(id)}`)
    if (key.length !== 32)
      throw new Error(`the sealing key ${id} has ${key.length} bytes and not 32`)
  }
  // Made of the bytes at each use, a key would take four times as long to open with.
  const key_objects = new Map<string, KeyObject>(
    Object.entries(keys).map(([id, key]) => [id, createSecretKey(key)]),
  )
  const keyOf = (id: string): KeyObject => {
    const key = key_objects.get(id)
    if (!key) throw new Error(`the sealing key ${JSON.stringify(id)} is not configured`)
    return key
  }
  keyOf(current)
  const mark_keys = new Map<string, Buffer>()
  const markKeyOf = (id: string, purpose: MarkPurpose): Buffer => {
    const name = `${id} ${purpose}`
    const known = mark_keys.get(name)
    if (known) return known
    const made = Buffer.from(hkdfSync('sha256', keyOf(id), '', `penstock mark: ${purpose}`, 32))
    mark_keys.set(name, made)
    return made
  }
  const markBy = (id: string, text: string, purpose: MarkPurpose): string =>
    `${id}.${createHmac('sha256', markKeyOf(id, purpose)).update(text).digest('base64url')}`

  return {
    seal(secret, context) {
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, keyOf(current), nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([
        nonce,
        cipher.update(secret, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ])
      return `${current}.${sealed.toString('base64url')}`
    },
    open(text, context) {
      const [id = '', encoded = ''] = text.split('.')
      const sealed = Buffer.from(encoded, 'base64url')
      const nonce = sealed.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv(CIPHER, keyOf(id), nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(-TAG_BYTES))
      const secret = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
      return Buffer.concat([secret, decipher.final()]).toString()
    },
    isCurrent: (text) => text.startsWith(`${current}.`),
    mark: (text, purpose) => markBy(current, text, purpose),
    isMark(mark, text, purpose): mark is string {
      const id = nameOf(mark)
      if (mark === null || !key_objects.has(id)) return false
      const [given, right] = [Buffer.from(mark), Buffer.from(markBy(id, text, purpose))]
      return given.length === right.length && timingSafeEqual(given, right)
    },
    knowsKeyOf: (mark) => key_objects.has(nameOf(mark)),
  }
}
