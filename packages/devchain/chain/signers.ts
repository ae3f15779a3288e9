// Who signed a transaction. Recovering the key from a signature takes more than a millisecond, and
// is most of what a broadcast costs; so keys that sign again and again for an account are
// remembered, and a signature is held against those first. The answer is always the one that
// recovery gives.

import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOfPublicKey } from 'penstock-tron/keys.ts'
import { Refusal } from '../state/refusal.ts'
import { isSignedBy, PointTable } from './point_table.ts'

/** A table takes as long to make as a dozen recoveries. */
const SIGNATURES_BEFORE_TABLE = 12
const WINDOW_BITS = 6
const TABLES_MAX = 200
const OWNERS_MAX = 20_000
const ANSWERS_MAX = 20_000
const KEYS_OF_OWNER_MAX = 5

type Key = {
  readonly address: string
  readonly public_key: Uint8Array
  signatures: number
  table?: PointTable
}

/** Forgets the oldest entries of a map beyond so many. */
function trim(map: Map<string, unknown>, most: number): void {
  while (map.size > most) map.delete(map.keys().next().value!)
}

const answers = new Map<string, string>()
const keys = new Map<string, Key>()
const keys_of_owner = new Map<string, readonly Key[]>()

/** The address, in hexadecimal, whose key signed an id for the owner of a transaction. Throws
 *  SIGERROR for a signature of the wrong length or of no key. */
export function signerOf(id: string, signature: string, owner: string): string {
  const bytes = signature.length / 2
  if (bytes < 65 || bytes > 68) throw new Refusal('SIGERROR', `Signature size is ${bytes}`)
  const asked = id + signature
  const known = answers.get(asked)
  if (known !== undefined) return known
  const signer = recognize(id, signature, owner) ?? recover(id, signature, owner)
  answers.set(asked, signer)
  trim(answers, ANSWERS_MAX)
  return signer
}

/** The greatest v: from 27 on it names a key, and from 31 on the same key in its short form. */
const HEADER_MAX = 34

/** Which of the four possible keys v means: 0 to 7 or 27 to 34. As in the node it is a signed byte,
 *  to which 27 is added when it is less than that. */
function recoveryOf(v: number): number {
  const signed = v > 127 ? v - 256 : v
  const header = signed < 27 ? signed + 27 : signed
  if (header < 27 || header > HEADER_MAX) {
    throw new Refusal('SIGERROR', `Header byte out of range: ${header}`)
  }
  return (header - 27) % 4
}

/** Reads r, s and v; bytes beyond the 65th are not looked at, as in the node. */
function readSignature(signature: string) {
  const bytes = hexToBytes(signature)
  const recovery = recoveryOf(bytes[64]!)
  return secp256k1.Signature.fromBytes(bytes.subarray(0, 64)).addRecoveryBit(recovery)
}

/** The signer among the keys that have signed for the owner before; undefined when it is none of
 *  them. */
function recognize(id: string, signature: string, owner: string): string | undefined {
  const usual = keys_of_owner
    .get(owner)
    ?.filter(({ signatures }) => signatures >= SIGNATURES_BEFORE_TABLE)
  if (!usual || usual.length === 0) return undefined
  const { r, s, recovery } = refusing(() => readSignature(signature))
  const digest = BigInt(`0x${id}`)
  return usual.find((key) => isSignedBy(tableOf(key), digest, { r, s, recovery: recovery! }))
    ?.address
}

const tables: Key[] = []

function tableOf(key: Key): PointTable {
  if (key.table) return key.table
  if (tables.length >= TABLES_MAX) delete tables.shift()!.table
  tables.push(key)
  key.table = new PointTable(secp256k1.Point.fromBytes(key.public_key), WINDOW_BITS)
  return key.table
}

function recover(id: string, signature: string, owner: string): string {
  const public_key = refusing(() =>
    readSignature(signature).recoverPublicKey(hexToBytes(id)).toBytes(false),
  )
  const address = addressToHex(addressOfPublicKey(public_key))
  const key = keys.get(address) ?? { address, public_key, signatures: 0 }
  key.signatures++
  keys.set(address, key)
  trim(keys, OWNERS_MAX)
  const others = (keys_of_owner.get(owner) ?? []).filter((other) => other !== key)
  keys_of_owner.set(owner, [key, ...others].slice(0, KEYS_OF_OWNER_MAX))
  trim(keys_of_owner, OWNERS_MAX)
  return address
}

function refusing<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal('SIGERROR', 'Could not recover public key from signature')
  }
}
