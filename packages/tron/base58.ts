// Base58 of 25 bytes as 34 characters, which is what an address of the network with its checksum
// is. A block has a thousand of them: general code spends more time here than on everything else of
// reading a block.

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const BYTES = 25
const CHARACTERS = 34
/** Characters are taken five at a time, and bytes two at a time: the products stay whole numbers of
 *  a float. */
const GROUP = 58 ** 5
const GROUPS = 7
const LIMBS = 13

const VALUES = new Int8Array(128).fill(-1)
for (const [value, character] of [...ALPHABET].entries()) VALUES[character.charCodeAt(0)] = value

const groups = new Float64Array(GROUPS)
const limbs = new Float64Array(LIMBS)
const codes = new Uint8Array(GROUPS * 5)
const LETTERS = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0))

/** The text of 25 bytes of which the first is from 0x41 to 0x7f: smaller and larger ones have
 *  another length. */
export function toBase58(bytes: Uint8Array): string {
  groups.fill(0)
  // The first limb is one byte.
  for (let i = 0; i < LIMBS; i++) {
    let carry = i === 0 ? bytes[0]! : bytes[2 * i - 1]! * 256 + bytes[2 * i]!
    for (let j = GROUPS - 1; j >= 0; j--) {
      const value = groups[j]! * 65_536 + carry
      carry = Math.floor(value / GROUP)
      groups[j] = value - carry * GROUP
    }
  }
  for (let j = 0; j < GROUPS; j++) {
    let rest = groups[j]!
    for (let k = 4; k >= 0; k--) {
      const next = Math.floor(rest / 58)
      codes[5 * j + k] = LETTERS[rest - 58 * next]!
      rest = next
    }
  }
  // 35 places: the first is always a zero.
  return String.fromCharCode.apply(null, codes.subarray(1) as unknown as number[])
}

/** The 25 bytes that 34 characters stand for; undefined when one of them is not of the alphabet or
 *  there are other than 34. */
export function fromBase58(text: string): Uint8Array | undefined {
  if (text.length !== CHARACTERS) return undefined
  limbs.fill(0)
  for (let j = 0; j < GROUPS; j++) {
    let carry = 0
    for (let k = j === 0 ? 1 : 0; k < 5; k++) {
      const value = VALUES[text.charCodeAt(5 * j + k - 1)] ?? -1
      if (value < 0) return undefined
      carry = carry * 58 + value
    }
    for (let i = LIMBS - 1; i >= 0; i--) {
      const value = limbs[i]! * GROUP + carry
      carry = Math.floor(value / 65_536)
      limbs[i] = value - carry * 65_536
    }
  }
  const bytes = new Uint8Array(BYTES)
  bytes[0] = limbs[0]!
  for (let i = 1; i < LIMBS; i++) {
    bytes[2 * i - 1] = limbs[i]! >>> 8
    bytes[2 * i] = limbs[i]! & 255
  }
  return bytes
}
