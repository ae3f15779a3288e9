// The little of the contract ABI that token calls need: four-byte selectors and 32-byte words.

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** The first four bytes of a function's hash, as 8 hexadecimal characters. */
export const selectorOf = (signature: string): string =>
  bytesToHex(keccak_256(utf8ToBytes(signature))).slice(0, 8)

/** The hash of an event, as the first topic of its logs has it. */
export const topicOf = (signature: string): string => bytesToHex(keccak_256(utf8ToBytes(signature)))

/** One word of the arguments (after the selector); undefined when the data is too short. */
export function wordAt(data: string, index: number): string | undefined {
  const word = data.slice(8 + index * 64, 8 + (index + 1) * 64)
  return word.length === 64 ? word : undefined
}

/** The address in a word: whatever is in front of its last 20 bytes does not count. */
export const addressOfWord = (word: string): string => `41${word.slice(24)}`

export const integerOfWord = (word: string): bigint => BigInt(`0x${word}`)

export const wordOfInteger = (value: bigint): string => value.toString(16).padStart(64, '0')

/** The word of an address of 42 hexadecimal characters. */
export const wordOfAddress = (address: string): string => address.slice(2).padStart(64, '0')

/** Text as a returned value: where it starts, its length, its bytes. */
export function encodeText(text: string): string {
  const bytes = bytesToHex(utf8ToBytes(text))
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')
  return wordOfInteger(32n) + wordOfInteger(BigInt(bytes.length / 2)) + padded
}
