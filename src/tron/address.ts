// TRON addresses. In bytes: 0x41 and the last 20 bytes of the public key's Keccak-256. As text: base58check, 34
// characters, beginning with T. The service speaks the text form everywhere and meets the others only at its edges.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { createBase58check } from '@scure/base'

/** Base58check text, 34 characters, version byte 0x41. */
export type Address = string

const PREFIX = 0x41
const base58check = createBase58check(sha256)

/** Whether the text is an address of the network: length 34, base58 alphabet, checksum, version byte 0x41. */
export function isAddress(text: unknown): text is Address {
  if (typeof text !== 'string' || text.length !== 34) return false
  try {
    const bytes = base58check.decode(text)
    return bytes.length === 21 && bytes[0] === PREFIX
  } catch {
    return false
  }
}

/** The 21 bytes of an address. Throws when the text is not one. */
export function addressToBytes(address: Address): Uint8Array {
  if (!isAddress(address)) throw new TypeError(`not a TRON address: ${JSON.stringify(address)}`)
  return base58check.decode(address)
}

/** The address of 21 bytes that begin with 0x41. Throws on anything else. */
export function addressFromBytes(bytes: Uint8Array): Address {
  if (bytes.length !== 21 || bytes[0] !== PREFIX) throw new TypeError(`not a TRON address: ${bytesToHex(bytes)}`)
  return base58check.encode(bytes)
}

/** 42 lower-case hexadecimal characters beginning with 41: the form of the node's JSON and of encoded messages. */
export function addressToHex(address: Address): string {
  return bytesToHex(addressToBytes(address))
}

/** The inverse of addressToHex(). Throws on anything else. */
export function addressFromHex(hex: string): Address {
  return addressFromBytes(hexToBytes(hex))
}
