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
const TIME_CHARACTERS = 10
/** The random bits are two halves of 40 bits, which numbers hold exactly. */
const HALF_CHARACTERS = 8
const HALF_END = 2 ** 40

export function idMaker(clock: Clock, random: Random): NewId {
  let last_ms = -1
  let time = ''
  let high = 0
  let low = 0
  return () => {
    const now_ms = clock.now().getTime()
    if (now_ms > last_ms) {
      last_ms = now_ms
      time = base32(now_ms, TIME_CHARACTERS)
      const drawn = halves(Buffer.from(random.bytes(10)).toString('hex'))
      // Half of all tails are left to count up to.
      low = Math.floor(drawn.low / 2) + (drawn.high % 2) * (HALF_END / 2)
      high = Math.floor(drawn.high / 2)
    } else {
      low += 1
      if (low === HALF_END) [high, low] = [high + 1, 0]
    }
    return time + base32(high, HALF_CHARACTERS) + base32(low, HALF_CHARACTERS)
  }
}

/** An identifier whose random bits are a hash of a text: made of the same again, it is the same. */
export function idOf(at: Date, text: string): string {
  const { high, low } = halves(hash('sha256', text))
  return (
    base32(at.getTime(), TIME_CHARACTERS) +
    base32(high, HALF_CHARACTERS) +
    base32(low, HALF_CHARACTERS)
  )
}

/** The least identifier that is made at this instant: whatever was made before sorts below it. */
export function firstIdAt(at: Date): string {
  return base32(at.getTime(), TIME_CHARACTERS).padEnd(26, ALPHABET[0])
}

/** The first 80 bits of a hexadecimal text. */
const halves = (hex: string) => ({
  high: Number.parseInt(hex.slice(0, 10), 16),
  low: Number.parseInt(hex.slice(10, 20), 16),
})

function base32(value: number, length: number): string {
  let text = ''
  let rest = value
  for (let i = 0; i < length; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
