// secp256k1 keys and signatures as TRON uses them: the signature is over the transaction id itself
// (already a hash), and is r, s and a recovery byte of 27 or 28. Nonces are RFC 6979 and s is the
// low one, so signing the same id twice gives the same bytes.

import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js'
import { type Address, addressFromBytes } from './address.ts'

/** 32 bytes as 64 hexadecimal characters. */
export type PrivateKey = string

/** The address of an uncompressed (65-byte) or compressed (33-byte) public key. Throws when the
 *  bytes are not a point of the curve. */
export function addressOfPublicKey(public_key: Uint8Array): Address {
  const point = secp256k1.Point.fromBytes(public_key).toBytes(false)
  return addressFromBytes(
    concatBytes(Uint8Array.of(0x41), keccak_256(point.subarray(1)).subarray(-20)),
  )
}

/** The address that a private key controls. Throws when it is not a key of the curve. */
export function addressOf(private_key: PrivateKey): Address {
  return addressOfPublicKey(secp256k1.getPublicKey(hexToBytes(private_key)))
}

/** Signs a transaction id (64 hexadecimal characters). Returns r, s and v as 130 lower-case
 *  hexadecimal characters, v being 1b or 1c. Throws when the key is not one of the curve. */
export function sign(tx_id: string, private_key: PrivateKey): string {
  const signature = secp256k1.sign(hexToBytes(tx_id), hexToBytes(private_key), {
    prehash: false,
    format: 'recovered',
  })
  return bytesToHex(signature.subarray(1)) + (signature[0]! + 27).toString(16)
}

/** The address whose key made the signature; v may be 0, 1, 27 or 28, and bytes beyond the 65th are
 *  ignored, as the node does. Throws when the signature is not one of this id. */
export function recoverAddress(tx_id: string, signature: string): Address {
  const bytes = hexToBytes(signature)
  if (bytes.length < 65) throw new TypeError(`a signature has 65 bytes, this one ${bytes.length}`)
  const recovery = bytes[64]! >= 27 ? bytes[64]! - 27 : bytes[64]!
  const recovered = concatBytes(Uint8Array.of(recovery), bytes.subarray(0, 64))
  return addressOfPublicKey(
    secp256k1.Signature.fromBytes(recovered, 'recovered')
      .recoverPublicKey(hexToBytes(tx_id))
      .toBytes(false),
  )
}

/** A new key from the system's random source. */
export function newPrivateKey(): PrivateKey {
  return bytesToHex(secp256k1.utils.randomSecretKey())
}
