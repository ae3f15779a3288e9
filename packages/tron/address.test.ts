import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sha256 } from '@noble/hashes/sha2.js'
import { createBase58check } from '@scure/base'
import fc from 'fast-check'
import {
  addressFromBytes,
  addressFromHex,
  addressToBytes,
  addressToHex,
  isAddress,
} from './address.ts'
import walletCore from './fixtures/wallet-core.json' with { type: 'json' }

test('published addresses are addresses, and their bytes give them back', () => {
  for (const { address } of walletCore.addresses) {
    assert.equal(isAddress(address), true)
    assert.equal(addressFromBytes(addressToBytes(address)), address)
    assert.equal(addressFromHex(addressToHex(address)), address)
  }
})

test('text of another kind, with a wrong checksum or of another network is not an address', () => {
  for (const text of walletCore.invalid_addresses) assert.equal(isAddress(text), false, text)
  assert.equal(isAddress('TCNkawTmcQgYSU8nP8cHswT1QPjharxJr8'), false)
  assert.equal(isAddress('TCNkawTmcQgYSU8nP8cHswT1QPjharxJr'), false)
  assert.equal(isAddress('411a642f0e3c3af545e7acbd38b07251b3990914f1'), false)
  for (const other of [undefined, null, 7, {}, '']) assert.equal(isAddress(other), false)
})

/** Code for texts of any length, by others. */
const general = createBase58check(sha256)

test('34 characters that decode to another version byte are not an address', () => {
  const text = general.encode(Uint8Array.from([0x40, ...new Uint8Array(20).fill(0xff)]))
  assert.equal(text.length, 34)
  assert.equal(isAddress(text), false)
  assert.throws(() => addressToBytes(text), TypeError)
})

test('bytes of another length or version have no address', () => {
  assert.throws(() => addressFromBytes(new Uint8Array(20)), TypeError)
  assert.throws(() => addressFromBytes(new Uint8Array(21)), TypeError)
  assert.throws(() => addressFromHex('zz'))
})

test('every 20 bytes have one address of 34 characters that begins with T', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
      const address = addressFromBytes(Uint8Array.from([0x41, ...bytes]))
      assert.equal(address.length, 34)
      assert.equal(address[0], 'T')
      assert.equal(address, general.encode(Uint8Array.from([0x41, ...bytes])))
      assert.deepEqual([...addressToBytes(address).subarray(1)], [...bytes])
    }),
  )
})

test('a text is an address exactly when general code finds 21 bytes of the network in it', () => {
  const known = fc.constantFrom(...walletCore.addresses.map(({ address }) => address))
  const changed = fc
    .tuple(known, fc.nat(33), fc.constantFrom(...'123456789ABCZabcz0OIl é'))
    .map(([address, at, character]) => address.slice(0, at) + character + address.slice(at + 1))
  const isOne = (text: string) => {
    try {
      const bytes = general.decode(text)
      return text.length === 34 && bytes.length === 21 && bytes[0] === 0x41
    } catch {
      return false
    }
  }
  fc.assert(
    fc.property(fc.oneof(known, changed), (text) => assert.equal(isAddress(text), isOne(text))),
    { numRuns: 1_000 },
  )
})

test('hexadecimal text gives the same address again, however many were read between', () => {
  const hexOf = (i: number) => `41${i.toString(16).padStart(40, '0')}`
  const first = addressFromHex(hexOf(0))
  for (let i = 1; i < 10_000; i++) addressFromHex(hexOf(i))
  assert.equal(addressFromHex(hexOf(0)), first)
  assert.equal(addressToHex(addressFromHex(hexOf(9_999))), hexOf(9_999))
})
