import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ContractType } from './contracts.ts'
import { readOperation } from './operation.ts'
import { MalformedMessage } from './protobuf.ts'
import { contract, decodeRawData, encodeRawData } from './transaction.ts'

const { TransferContract, TransferAssetContract, CreateSmartContract, TriggerSmartContract } =
  ContractType.values
const OWNER = `41${'1'.repeat(40)}`
const TO = `41${'2'.repeat(40)}`
const RAW = {
  ref_block_bytes: '0102',
  ref_block_hash: '03'.repeat(8),
  expiration: 1_780_000_060_000,
  timestamp: 5,
}

const bytesOf = (type: string, value: Record<string, unknown>, more: object = {}) =>
  Buffer.from(encodeRawData({ ...RAW, ...more, contract: [contract(type, value, 2)] }))

/** An encoded field with bytes. */
const field = (number: number, content: string) => {
  const length = content.length / 2
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
  return Buffer.from([(number << 3) | 2, ...size]).toString('hex') + content
}
const any = (value: string) => field(2, value)
const raw = (...contracts: string[]) =>
  Buffer.from(contracts.map((one) => field(11, one)).join(''), 'hex')
const transfer = (amount: string) => field(1, OWNER) + field(2, TO) + amount

test('what is read of transfers and calls is what the decoder of all messages reads', () => {
  const cases: [type: string, value: Record<string, unknown>, found: object][] = [
    [
      'TransferContract',
      { to_address: TO, amount: 5n },
      { type: TransferContract, to: TO, amount: 5n, asset: '' },
    ],
    [
      'TransferContract',
      { to_address: TO, amount: 2n ** 63n - 1n },
      { type: TransferContract, to: TO, amount: 2n ** 63n - 1n },
    ],
    ['TransferContract', { to_address: TO }, { type: TransferContract, to: TO, amount: 0n }],
    [
      'TransferAssetContract',
      { to_address: TO, amount: 7n, asset_name: '31' },
      { type: TransferAssetContract, asset: '31' },
    ],
    [
      'TriggerSmartContract',
      { contract_address: TO, call_value: 8n, data: 'ab' },
      { type: TriggerSmartContract, to: TO, amount: 8n },
    ],
    ['CreateSmartContract', {}, { type: CreateSmartContract, to: '', amount: 0n }],
  ]
  for (const [type, value, found] of cases) {
    const bytes = bytesOf(
      type,
      { owner_address: OWNER, ...value },
      { data: 'ff'.repeat(300), fee_limit: 9n },
    )
    const read = readOperation(bytes)
    assert.deepEqual({ ...read, ...found }, read, type)
    assert.equal(read.owner, OWNER)
    assert.equal(decodeRawData(bytes).contract[0]!.type, type)
  }
  const vote = readOperation(bytesOf('VoteWitnessContract', { owner_address: OWNER }))
  assert.deepEqual([vote.owner, vote.amount], [undefined, 0n], 'other kinds are not looked into')
})

test('odd bytes are read as the network reads them: the last of a doubled field counts', () => {
  const good = field(2, any(transfer('1805')))
  const cases: [name: string, contract: string, amount: bigint][] = [
    ['plain', `0801${good}`, 5n],
    ['a doubled amount', `0801${field(2, any(transfer('18051807')))}`, 7n],
    ['a doubled value', `0801${field(2, any(transfer('1805')) + any(transfer('1809')))}`, 9n],
    ['a doubled parameter', `0801${good}${field(2, any(transfer('180b')))}`, 11n],
    ['a second parameter without a value', `0801${good}${field(2, field(1, '61'))}`, 5n],
    ['a doubled type', `08020801${good}`, 5n],
    ['the type last', `${good}0801`, 5n],
    ['an unknown group', `0801f3010801f401${good}`, 5n],
    ['a group in a group', `0801f301fb010801fc01f401${good}`, 5n],
    ['unknown fixed numbers', `0801f9010000000000000000fd0100000000${good}`, 5n],
    ['an amount that is bytes', `0801${field(2, any(transfer('18051a0107')))}`, 5n],
    ['a tag with more than 32 bits', `0801${field(2, any(transfer('98808080801005')))}`, 5n],
    ['a negative amount', `0801${field(2, any(transfer('18ffffffffffffffffff01')))}`, -1n],
  ]
  for (const [name, one, amount] of cases) {
    const read = readOperation(raw(one))
    assert.deepEqual(
      [read.type, read.owner, read.to, read.amount],
      [TransferContract, OWNER, TO, amount],
      name,
    )
  }
})

test('bytes that the network would not take are refused', () => {
  const good = `0801${field(2, any(transfer('1805')))}`
  const wrong: [name: string, bytes: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['two contracts', raw(good, good)],
    ['the end of a group that is not open', raw(`f401${good}`)],
    ['a group that does not end', raw(`${good}f301`)],
    ['a group that ends as another', raw(`f301fc01${good}`)],
    ['a field beyond the end', Buffer.from('5a7f0801', 'hex')],
    ['a number without an end', raw('08ff')],
    ['a number of eleven bytes', raw(`08${'ff'.repeat(10)}01`)],
    ['the field number 0', raw('0001')],
    ['an unknown wire type', raw('0f01')],
    ['a length that is negative', Buffer.from('5affffffffffffffffff01', 'hex')],
  ]
  for (const [name, bytes] of wrong)
    assert.throws(() => readOperation(bytes), MalformedMessage, name)
})
