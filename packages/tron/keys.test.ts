import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesToHex } from '@noble/hashes/utils.js'
import fc from 'fast-check'
import walletCore from './fixtures/wallet-core.json' with { type: 'json' }
import { addressOf, newPrivateKey, recoverAddress, sign } from './keys.ts'

test('published keys have their published addresses', () => {
  assert.equal(addressOf('01'.repeat(32)), 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7')
  for (const { private_key, address } of walletCore.addresses)
    assert.equal(addressOf(private_key), address)
})

test('a signature names its signer, with a recovery byte of 27 or 28 as well as of 0 or 1', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (id) => {
      const key = '03'.repeat(32)
      const signature = sign(bytesToHex(id), key)
      assert.match(signature, /^[0-9a-f]{128}1[bc]$/)
      assert.equal(recoverAddress(bytesToHex(id), signature), addressOf(key))
      const short = signature.slice(0, 128) + (signature.endsWith('1b') ? '00' : '01')
      assert.equal(recoverAddress(bytesToHex(id), short), addressOf(key))
      assert.equal(recoverAddress(bytesToHex(id), `${signature}000000`), addressOf(key))
    }),
    { numRuns: 25 },
  )
})

test('signing the same id twice gives the same bytes', () => {
  assert.equal(sign('ab'.repeat(32), '04'.repeat(32)), sign('ab'.repeat(32), '04'.repeat(32)))
})

test('a signature of another id names another signer, and text that is none is refused', () => {
  const key = '05'.repeat(32)
  const signature = sign('11'.repeat(32), key)
  assert.notEqual(recoverAddress('12'.repeat(32), signature), addressOf(key))
  assert.throws(() => recoverAddress('11'.repeat(32), signature.slice(0, 128)), TypeError)
  assert.throws(() => recoverAddress('11'.repeat(32), 'ff'.repeat(65)))
  assert.throws(() => recoverAddress('11'.repeat(32), 'no'))
})

test('a new key is a valid key of the curve and no two are alike', () => {
  const keys = Array.from({ length: 20 }, () => newPrivateKey())
  assert.equal(new Set(keys.map(addressOf)).size, 20)
})
