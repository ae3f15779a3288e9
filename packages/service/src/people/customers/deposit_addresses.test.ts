import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesToHex } from '@noble/hashes/utils.js'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync } from '@scure/bip39'
import { isAddress } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { depositAddresses } from './deposit_addresses.ts'

/** The twelve words of the published test vectors; the first address is the one that wallets show
 *  for them. */
const MNEMONIC = `${'abandon '.repeat(11)}about`
const FIRST_ADDRESS = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH'

const master = HDKey.fromMasterSeed(mnemonicToSeedSync(MNEMONIC))
const account = master.derive("m/44'/195'/0'")

test('the first address is the one that wallets show for the same words', () => {
  assert.equal(depositAddresses(account.publicExtendedKey)(0), FIRST_ADDRESS)
})

test('the addresses are those of the private keys on the path of wallets', () => {
  const address = depositAddresses(account.publicExtendedKey)
  for (const index of [0, 1, 2, 19, 20, 1_000, 2 ** 31 - 1]) {
    const private_key = bytesToHex(master.derive(`m/44'/195'/0'/0/${index}`).privateKey!)
    assert.equal(address(index), addressOf(private_key))
    assert.ok(isAddress(address(index)))
  }
})

test('every index has an address of its own', () => {
  const address = depositAddresses(account.publicExtendedKey)
  assert.equal(new Set(Array.from({ length: 50 }, (_, index) => address(index))).size, 50)
})

test('an index that only a private key could derive is refused', () => {
  const address = depositAddresses(account.publicExtendedKey)
  for (const index of [2 ** 31, -1, 1.5]) assert.throws(() => address(index))
})

test('a private key is refused, and so is a key that is not an account', () => {
  assert.throws(() => depositAddresses(account.privateExtendedKey), /private/)
  assert.throws(() => depositAddresses(master.publicExtendedKey), /account/)
  assert.throws(() => depositAddresses(account.deriveChild(0).publicExtendedKey), /account/)
  assert.throws(() => depositAddresses(`${account.publicExtendedKey.slice(0, -1)}x`))
  assert.throws(() => depositAddresses(''))
})
