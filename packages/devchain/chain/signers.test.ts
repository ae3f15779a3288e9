import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import fc from 'fast-check'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf, recoverAddress, sign } from 'penstock-tron/keys.ts'
import { PointTable, type Sum } from './point_table.ts'
import { signerOf } from './signers.ts'

const { Fn, Fp } = secp256k1.Point
const key = hash('sha256', 'a key that signs often')
const owner = addressToHex(addressOf(key))
const idOf = (number: number) => hash('sha256', `transaction ${number}`)
/** So many that the key is one of those that signatures are held against first. */
const OFTEN = 40
for (let number = 0; number < OFTEN; number++)
  signerOf(idOf(-number - 1), sign(idOf(-number - 1), key), owner)

/** The result of recovering a signature: a signer, or nothing. From 31 on v is four more than it
 *  would be. */
function recovered(id: string, signature: string): string | undefined {
  const v = Number.parseInt(signature.slice(128, 130), 16)
  const common = v >= 31 && v <= 34 ? signature.slice(0, 128) + (v - 4).toString(16) : signature
  try {
    return addressToHex(recoverAddress(id, common))
  } catch {
    return undefined
  }
}

function recognized(id: string, signature: string): string | undefined {
  try {
    return signerOf(id, signature, owner)
  } catch {
    return undefined
  }
}

const wordOf = (value: bigint) => value.toString(16).padStart(64, '0')
const numberOf = (word: string) => BigInt(`0x${word}`)

/** The same signature with s on the other side, which is of the same key when v is the other one
 *  too. */
function otherSide(signature: string, flip_v: boolean): string {
  const s = Fn.ORDER - numberOf(signature.slice(64, 128))
  const v = signature.slice(128) === '1b' ? '1c' : '1b'
  return signature.slice(0, 64) + wordOf(s) + (flip_v ? v : signature.slice(128))
}

function withFlippedBit(signature: string, bit: number): string {
  const bytes = hexToBytes(signature)
  bytes[bit >> 3]! ^= 1 << (bit & 7)
  return Buffer.from(bytes).toString('hex')
}

test('a key that signs often is recognized exactly when recovery finds it', () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.nat(519), (number, bit) => {
      const id = idOf(number)
      const own = sign(id, key)
      const inverse = sign(id, wordOf(Fn.ORDER - numberOf(key)))
      const foreign = sign(id, hash('sha256', `key ${number}`))
      const tried = [
        own,
        inverse,
        foreign,
        otherSide(own, true),
        otherSide(own, false),
        withFlippedBit(own, bit),
      ]
      for (const signature of tried)
        assert.equal(recognized(id, signature), recovered(id, signature), signature)
      assert.equal(recognized(id, own), owner)
      assert.equal(recognized(id, otherSide(own, true)), owner)
      assert.notEqual(recognized(id, otherSide(own, false)), owner)
      assert.notEqual(recognized(id, inverse), owner)
    }),
    { numRuns: 40 },
  )
})

test('v may be 0 to 7 or 27 to 34, and what follows the 65th byte says nothing', () => {
  const id = idOf(1)
  const own = sign(id, key)
  const low =
    own.slice(0, 128) + (Number.parseInt(own.slice(128), 16) - 27).toString(16).padStart(2, '0')
  for (const signature of [own, low, `${own}abcdef`])
    assert.equal(signerOf(id, signature, owner), owner)
  const withV = (v: number) => own.slice(0, 128) + v.toString(16).padStart(2, '0')
  const bit = Number.parseInt(own.slice(128), 16) - 27
  for (const v of [bit, bit + 4, bit + 27, bit + 31])
    assert.equal(signerOf(id, withV(v), owner), owner, String(v))
  for (const [v, header] of [
    [17, 44],
    [35, 35],
    [8, 35],
    [127, 127],
    [128, -101],
    [255, 26],
  ] as const) {
    const expected = { message: `Header byte out of range: ${header}` }
    assert.throws(() => signerOf(id, withV(v), owner), expected, String(v))
  }
  assert.throws(() => signerOf(id, own.slice(2), owner), /Signature size is 64/)
  assert.throws(() => signerOf(id, `${own}abcdef00`, owner), /Signature size is 69/)
  assert.throws(
    () => signerOf(id, '00'.repeat(65), owner),
    /Could not recover public key from signature/,
  )
})

test('a table adds up to the same point as multiplying does', () => {
  const point = secp256k1.Point.BASE.multiply(numberOf(key))
  const tables = [6, 8].map((bits) => new PointTable(point, bits))
  const edges = [
    1n,
    127n,
    128n,
    129n,
    255n,
    256n,
    2n ** 255n,
    2n ** 256n - 2n ** 128n,
    Fn.ORDER - 1n,
  ].map((n) => n % Fn.ORDER)
  const check = (scalar: bigint) => {
    const { x, y } = point.multiply(scalar).toAffine()
    for (const table of tables) {
      const sum: Sum = { x: 0n, y: 0n, z: 0n }
      assert.ok(table.addTo(sum, scalar))
      const inverse = Fp.inv(Fp.create(sum.z))
      assert.deepEqual(
        [Fp.create(sum.x * inverse ** 2n), Fp.create(sum.y * inverse ** 3n)],
        [x, y],
        String(scalar),
      )
    }
  }
  for (const scalar of edges) check(scalar)
  fc.assert(fc.property(fc.bigInt(1n, Fn.ORDER - 1n), check), { numRuns: 50 })
})
