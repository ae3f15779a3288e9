// TRON addresses. In bytes: 0x41 and the last 20 bytes of the public key's Keccak-256. As text:
// base58check, 34 characters, beginning with T.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { fromBase58, toBase58 } from './base58.ts'

/** Base58check text, 34 characters, version byte 0x41. */
export type Address = string

const PREFIX = 0x41
const LENGTH = 21
const CHECKED_LENGTH = 25

/** The 21 bytes that the text stands for, when it is an address. */
function decode(text: unknown): Uint8Array | undefined {
  const checked = typeof text === 'string' && text.length === 34 ? fromBase58(text) : undefined
  if (checked?.[0] !== PREFIX) return undefined
  const bytes = checked.subarray(0, LENGTH)
  return checksum(bytes).every((byte, i) => byte === checked[LENGTH + i]) ? bytes : undefined
}

/** Hashing into what is there takes half the time of making a new hash. */
const empty = sha256.create()
const hashing = sha256.create()
const digest = new Uint8Array(sha256.outputLen)

/** The first bytes of the hash of the hash; valid until the next call. */
function checksum(bytes: Uint8Array): Uint8Array {
  empty._cloneInto(hashing).update(bytes).digestInto(digest)
  empty._cloneInto(hashing).update(digest).digestInto(digest)
  return digest.subarray(0, CHECKED_LENGTH - LENGTH)
}

/** Whether the text is an address of the network: length 34, base58 alphabet, checksum, version
 *  byte 0x41. */
export function isAddress(text: unknown): text is Address {
  return decode(text) !== undefined
}

/** The 21 bytes of an address. Throws when the text is not one. */
export function addressToBytes(address: Address): Uint8Array {
  const bytes = decode(address)
  if (!bytes) throw new TypeError(`not a TRON address: ${JSON.stringify(address)}`)
  return bytes
}

/** The address of 21 bytes that begin with 0x41. Throws on anything else. */
export function addressFromBytes(bytes: Uint8Array): Address {
  if (bytes.length !== LENGTH || bytes[0] !== PREFIX)
    throw new TypeError(`not a TRON address: ${bytesToHex(bytes)}`)
  const checked = new Uint8Array(CHECKED_LENGTH)
  checked.set(bytes)
  checked.set(checksum(bytes), LENGTH)
  return toBase58(checked)
}

/** 42 lower-case hexadecimal characters beginning with 41: the form of the node's JSON and of
 *  encoded messages. Throws when the text is not an address. */
export function addressToHex(address: Address): string {
  return bytesToHex(addressToBytes(address))
}

/** The inverse of addressToHex(). Throws on anything but 42 hexadecimal characters beginning with
 *  41. */
export function addressFromHex(hex: string): Address {
  const met = known.get(hex)
  if (met !== undefined) return met
  const address = addressFromBytes(hexToBytes(hex))
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(hex, address)
  return address
}

/** Most addresses of a block are in it twice or were in the last ones. */
const known = new Map<string, Address>()
const KNOWN_MAX = 4_000
