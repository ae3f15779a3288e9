// A file of transfers: what its bytes are read as, and what of it is refused, at each limit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { person } from 'penstock-devchain/scene.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { addressWord, numberWord, USDT } from 'penstock-tron/tokens.ts'
import { contract, encodeRawData, transactionId } from 'penstock-tron/transaction.ts'
import {
  batchOf,
  batchWords,
  type CollectedTransfer,
  depositKeys,
  expiryOf,
  readBatch,
  readTransfer,
  requireInTime,
  requireReceivers,
  requireSigned,
  signBatch,
  transferBytes,
} from './batch.ts'

const HEAD_MS = Date.parse('2026-11-01T00:00:00Z')
const head = { number: 9, id: '00'.repeat(6) + 'ab'.repeat(26), time: new Date(HEAD_MS) }
const validity = { reference: head, head, hours: 24 } as Parameters<typeof transferBytes>[1]
const HEADER = {
  ref_block_bytes: 'abab',
  ref_block_hash: 'ab'.repeat(8),
  timestamp: HEAD_MS,
  expiration: HEAD_MS + 1_000,
}
const WORDS =
  'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon ' +
  'abandon about'
const [safe, other] = [person('safe').address, person('other').address]

type Bytes = Parameters<typeof transferBytes>[0]
const bytes = (more: Partial<Bytes> = {}) =>
  transferBytes(
    { from: other, to: safe, token: null, amount: 5n, fee_limit_sun: 0n, ...more },
    validity,
  )

test('what is written as a transfer is read as it was written', () => {
  for (const more of [
    {},
    { amount: 1n },
    { fee_limit_sun: 1n },
    { token: USDT, amount: 1n, fee_limit_sun: 1n },
    { token: USDT, amount: 2n ** 255n, fee_limit_sun: 30_000_000n },
  ]) {
    const written = { from: other, to: safe, token: null, amount: 5n, fee_limit_sun: 0n, ...more }
    const { raw, tx_id, expires_at, ...read } = readTransfer(bytes(more))
    assert.deepEqual(read, written)
    assert.deepEqual([tx_id, expires_at.getTime()], [transactionId(raw), HEAD_MS + 86_400_000])
  }
})

test('anything but a plain transfer of something is refused', () => {
  const [owner_address, to_address] = [addressToHex(other), addressToHex(safe)]
  const call = (data: string, more: object = {}) =>
    contract('TriggerSmartContract', {
      owner_address,
      contract_address: addressToHex(USDT),
      data,
      ...more,
    })
  const plain = contract('TransferContract', { owner_address, to_address, amount: 5n })
  const read = (...contracts: ReturnType<typeof contract>[]) =>
    readTransfer(encodeRawData({ ...HEADER, contract: contracts }))
  assert.equal(read(plain).amount, 5n)
  const none = contract('TransferContract', { owner_address, to_address })
  assert.throws(() => read(none), /it is no plain transfer/)
  const vote = contract('WithdrawBalanceContract', { owner_address })
  assert.throws(() => read(vote), /it is no transfer/)
  const selector = 'a9059cbb'
  const one = selector + addressWord(safe) + numberWord(1n)
  assert.equal(read(call(one)).amount, 1n)
  for (const [what, given] of [
    ['nothing is sent', call(selector + addressWord(safe) + numberWord(0n))],
    ['no amount', call(selector + addressWord(safe))],
    ['another call', call(`095ea7b3${one.slice(8)}`)],
    ['a byte more', call(`${one}00`)],
    ['TRX besides', call(one, { call_value: 1n })],
  ] as const)
    assert.throws(() => read(given), /it is no plain transfer/, what)
})

/** The transfers of a file, each of an address of its own. */
const fileOf = (transfers: { raw: Uint8Array; index?: number; signature?: string }[]) =>
  batchOf(
    { collection: 'c', network: 'n' },
    transfers.map(({ raw, index = 0, signature }) => ({
      index,
      raw_data: Buffer.from(raw).toString('hex'),
      tx_id: transactionId(raw),
      ...(signature !== undefined && { signature }),
    })),
  )

test('a file has parts of five hundred, and is read in their order', () => {
  const sizes = (count: number) =>
    fileOf(Array.from({ length: count }, () => ({ raw: bytes() }))).parts.map(
      ({ transfers }) => transfers.length,
    )
  assert.deepEqual([500, 501, 1_001].map(sizes), [[500], [500, 1], [500, 500, 1]])
  const three = ['x', 'y', 'z'].map((name, index) => ({
    raw: bytes({ from: person(name).address }),
    index,
  }))
  const file = fileOf(three)
  const [x, y, z] = file.parts[0]!.transfers
  const cut = { ...file, parts: [{ transfers: [x!] }, { transfers: [y!, z!] }] }
  assert.deepEqual(
    readBatch(cut).map(({ index }) => index),
    [0, 1, 2],
  )
  const changed = [...cut.parts.slice(0, 1), { transfers: [y!, { ...z!, raw_data: '00' }] }]
  const why = /Transfer 2 of part 2 was changed/
  assert.throws(() => readBatch({ ...file, parts: changed }), why)
})

test('a file is one of transfers, by its digest, and each place gives once', () => {
  assert.throws(() => readBatch(fileOf([])), /The file has no transfers/)
  const one = fileOf([{ raw: bytes() }])
  assert.equal(readBatch(one).length, 1)
  assert.throws(() => readBatch({ ...one, digest: '0' }), /its digest is not that/)
  const token = { raw: bytes({ token: USDT }) }
  assert.equal(readBatch(fileOf([{ raw: bytes() }, token])).length, 2)
  const twice = fileOf([{ raw: bytes() }, { raw: bytes({ amount: 6n }) }])
  assert.throws(() => readBatch(twice), /collects from an address twice/)
})

test('a file is put in words: who gets what of how many, and what energy may burn', () => {
  const read = (...more: Partial<Bytes>[]) => more.map((one) => readTransfer(bytes(one)))
  assert.deepEqual(batchWords(read({}, { from: person('x').address, amount: 2_000_000n })), [
    `${safe} gets 2.000005 TRX from 2 addresses.`,
  ])
  assert.deepEqual(batchWords(read({ fee_limit_sun: 1n })), [
    `${safe} gets 0.000005 TRX from 1 address.`,
    'Energy may burn 0.000001 TRX at most, together.',
  ])
  const tokens = { token: USDT, amount: 7n, fee_limit_sun: 1_000_000n }
  assert.deepEqual(batchWords(read({}, tokens, { ...tokens, to: other })), [
    `${safe} gets 0.000005 TRX from 1 address.`,
    `${safe} gets 7 of the token ${USDT} from 1 address.`,
    `${other} gets 7 of the token ${USDT} from 1 address.`,
    'Energy may burn 2 TRX at most, together.',
  ])
})

test('a file may be sent until the first of it ends, and not at that instant', () => {
  const ending = (...ms: number[]) =>
    ms.map((one) => ({ expires_at: new Date(HEAD_MS + one) }) as CollectedTransfer)
  assert.equal(expiryOf(ending(7, 5, 6)).getTime(), HEAD_MS + 5)
  requireInTime(ending(5, 6), new Date(HEAD_MS + 4))
  for (const now of [5, 6])
    assert.throws(
      () => requireInTime(ending(5, 6), new Date(HEAD_MS + now)),
      /It could be sent until 2026-11-01T00:00:00/,
    )
})

test('a receiver that is not allowed is named, even one alone', () => {
  const to = [{ to: safe }, { to: safe }]
  requireReceivers(to, [safe])
  requireReceivers([], [])
  assert.throws(() => requireReceivers(to, [other]), new RegExp(`^Refused: ${safe} is not in`))
  const both = [...to, { to: other }]
  assert.throws(() => requireReceivers(both, []), new RegExp(`${safe}, ${other} is not in`))
})

test('keys come from the words, or from the key of the account, and of nothing else', async () => {
  const account = HDKey.fromMasterSeed(Buffer.alloc(64, 1)).derive("m/44'/195'/0'")
  const by_key = await depositKeys(` ${account.privateExtendedKey}\n`)
  assert.notEqual(by_key(0), by_key(1))
  const below = [account.deriveChild(0).privateExtendedKey, account.publicExtendedKey]
  const root = HDKey.fromMasterSeed(Buffer.alloc(64, 1)).privateExtendedKey
  for (const wrong of [...below.slice(0, 1), root, 'xprv', `${root.slice(0, -1)}0`])
    await assert.rejects(depositKeys(wrong), /no extended private key of m\/44'\/195'\/0'/)
  await assert.rejects(depositKeys(account.publicExtendedKey), /no words of a wallet/)
  await assert.rejects(depositKeys('abandon about'), /no words of a wallet/)
  assert.equal((await depositKeys(WORDS.replaceAll(' ', '\n')))(3), (await depositKeys(WORDS))(3))
})

test('a file is signed by the keys of its addresses, for whom it may go to, in time', async () => {
  const keyOf = await depositKeys(WORDS)
  const from = addressOf(keyOf(4))
  const file = fileOf([{ raw: bytes({ from }), index: 4 }])
  const terms = { keyOf, collect_to: [safe], now: head.time }
  const { signed, transfers } = signBatch(file, terms)
  assert.equal(transfers.length, 1)
  assert.throws(() => requireSigned(transfers), /is not signed yet/)
  const read = readBatch(signed)
  requireSigned(read)
  const [one] = read
  assert.throws(
    () => requireSigned([{ ...one!, from: other }]),
    new RegExp(`the signature for ${other} is of something else`),
  )
  assert.throws(() => requireSigned([{ ...one!, signature: '00' }]), /is of something else/)
  assert.throws(() => signBatch(file, { ...terms, collect_to: [] }), /is not in collect_to/)
  const late = new Date(HEAD_MS + 86_400_000)
  assert.throws(() => signBatch(file, { ...terms, now: late }), /It could be sent until/)
  const moved = fileOf([{ raw: bytes({ from }), index: 5 }])
  assert.throws(() => signBatch(moved, terms), /These are not the words of deposit_xpub/)
})
