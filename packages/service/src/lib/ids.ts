// Identifiers that this service makes: ULIDs in lower case, 26 characters, 48 bits of milliseconds
// and 80 random bits. They sort by the time they were made; within one millisecond a maker counts
// upwards, so its own never tie.

import { hash, randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

export type Random = { bytes(length: number): Uint8Array }

export const systemRandom: Random = { bytes: (length) => randomBytes(length) }

/** Makes the next identifier. */
export type NewId = () => string

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const TAIL_BITS = 80n

export function idMaker(clock: Clock, random: Random): NewId {
  let last_ms = -1
  let tail = 0n
  return () => {
    const now_ms = clock.now().getTime()
    if (now_ms > last_ms) {
      last_ms = now_ms
      tail = BigInt(`0x${Buffer.from(random.bytes(10)).toString('hex')}`) >> 1n
    } else tail += 1n
    return toBase32((BigInt(last_ms) << TAIL_BITS) | tail)
  }
}

/** An identifier whose random bits are a hash of a text: made of the same again, it is the same. */
export function idOf(at: Date, text: string): string {
  const tail = BigInt(`0x${hash('sha256', text).slice(0, 20)}`)
  return toBase32((BigInt(at.getTime()) << TAIL_BITS) | tail)
}

/** The least identifier that is made at this instant: whatever was made before sorts below it. */
export function firstIdAt(at: Date): string {
  return toBase32(BigInt(at.getTime()) << TAIL_BITS)
}

function toBase32(value: bigint): string {
  let text = ''
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((value >> shift) & 31n)]
  return text
}
