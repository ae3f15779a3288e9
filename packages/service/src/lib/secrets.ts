// Which text is a secret, whoever made it: what we repeat to a caller, keep of a refused body or
// write into a log goes through here first. Secrets are known by their prefix, by their shape when
// somebody has left that out, by the field in which they stand, and, for the key that signed, by
// themselves.

import { wordlist } from '@scure/bip39/wordlists/english.js'

/** What stands for a secret. */
export const LEFT_OUT = '…'

/** Leaves out the secrets of whoever calls, which no shape need tell. */
export type HideOwn = (text: string) => string

/** Where a text stands: the path of its field as in `params.address`, or the name that a log has
 *  for it. */
export type Place = { field?: string | undefined; hideOwn?: HideOwn | undefined }

/** Fields whose values are secrets, or prove who somebody is. */
const SECRET_FIELDS = /password|passkey|secret|token$|offer|(^|[._])code$|proof/
/** Where 64 hexadecimal digits are the name of a transaction or a digest; a private key looks the
 *  same. What our own errors say is of transactions. */
const HASH_FIELDS = /(hash|tx_id|sha256|^sources|^error|^stack|^complaint|^why)$/

const PREFIXED = /(pst|pss|psp|whsec)_[\w+/=-]+/gi
/** A private key, and the seed that longer ones are made of. */
const HEX = /[0-9a-f]{64,}/gi
/** Extended private keys. */
const EXTENDED = /[xyztuv]prv[1-9a-z]{8,}/gi
/** 32 bytes and more in base64, in that of addresses or of files: tokens and secrets whose prefix
 *  was left out, sessions. */
const RANDOM = [/[\w-]{40,}/g, /(?<![\w+/-])[A-Za-z0-9+/]{43}=?(?![\w+/=-])/g]
const isRandom = (run: string) => /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run)
/** Words of a wallet: twelve and more, in the list that wallets take them from. */
const WORDS = /[a-z]{3,8}(?:[\s,;"']+[a-z]{3,8}){10,}/gi
const WALLET_WORDS_MIN = 11
/** Words of a wallet in any language, where somebody typed nothing else. */
const ONLY_WORDS = /^\s*(\p{L}+\s+){11}/u

/** The password of an address, as in `postgres://name:password@host`. */
const PASSWORD = /(:\/\/[^\s/:@]*):[^\s/@]+@/g

/** The text without what could be a secret in it. */
export function withoutSecrets(text: string, { field = '', hideOwn }: Place = {}): string {
  if (SECRET_FIELDS.test(field)) return LEFT_OUT
  const without = hideOwn ? hideOwn(text) : text
  const plain = without
    .replace(PREFIXED, `$1_${LEFT_OUT}`)
    .replace(PASSWORD, `$1:${LEFT_OUT}@`)
    .replace(EXTENDED, LEFT_OUT)
    .replace(RANDOM[0]!, (run) => (isRandom(run) && !isHex(run) ? LEFT_OUT : run))
    .replace(RANDOM[1]!, (run) => (isRandom(run) && !isHex(run) ? LEFT_OUT : run))
    .replace(WORDS, (run) => (isOfWallet(run) ? LEFT_OUT : run))
  return HASH_FIELDS.test(field) ? plain : plain.replace(HEX, LEFT_OUT)
}

const isHex = (run: string) => /^(0x)?[0-9a-f]+$/i.test(run)

/** The same of a value that somebody has sent. */
export const plainValue = (value: string, place: Place): string =>
  ONLY_WORDS.test(value) ? LEFT_OUT : withoutSecrets(value, place)

/** Whether a value that somebody has sent could be a secret, or has one in it. */
export const holdsSecret = (value: string, place: Place): boolean =>
  plainValue(value, place) !== value

const words_of_wallets: ReadonlySet<string> = new Set(wordlist)

function isOfWallet(run: string): boolean {
  const words = run.toLowerCase().match(/[a-z]+/g) ?? []
  let in_a_row = 0
  for (const word of words) {
    in_a_row = words_of_wallets.has(word) ? in_a_row + 1 : 0
    if (in_a_row >= WALLET_WORDS_MIN) return true
  }
  return false
}

/** So much of a secret is not shown either: what a double click takes ends at a hyphen. */
const PIECE_MIN = 12

/** Hides these secrets, their pieces, and each without its prefix. */
export function hiderOf(secrets: readonly string[]): HideOwn {
  const bare = secrets.map((secret) => secret.replace(/^[a-z]+_/, ''))
  const isOurs = (run: string) =>
    secrets.some((secret) => secret.includes(run)) || bare.some((secret) => run.includes(secret))
  return (text) => {
    if (text.length < PIECE_MIN) return text
    return text.replace(/[\w+/=-]+/g, (run) =>
      run.length >= PIECE_MIN && isOurs(run) ? LEFT_OUT : run,
    )
  }
}
