import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import fc from 'fast-check'
import { TronWeb } from 'tronweb'
import { addressFromBytes, addressToHex } from './address.ts'
import { ContractType, contractSchemas } from './contracts.ts'
import nodeVectors from './fixtures/node-transactions.json' with { type: 'json' }
import walletCore from './fixtures/wallet-core.json' with { type: 'json' }
import { addressOf, sign } from './keys.ts'
import {
  decode,
  type Enum,
  encode,
  type Field,
  MalformedMessage,
  type Message,
  type Schema,
} from './protobuf.ts'
import {
  contract,
  decodeRawData,
  decodeTransaction,
  encodeRawData,
  encodeTransaction,
  type RawData,
  transactionId,
} from './transaction.ts'

const LOCAL_KEY = '01'.repeat(32)

/** The codec's value after a round trip: integers of 64 bits as bigint, everything
 *  else as it was. */
function normal(schema: Schema, value: Message): Message {
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const field = schema.fields.find((candidate) => candidate.name === name)!
      const one = (single: unknown) =>
        typeof field.type === 'object' && 'fields' in field.type
          ? normal(field.type, single as Message)
          : field.type === 'int64'
            ? BigInt(single as number)
            : single
      return [name, Array.isArray(item) ? item.map(one) : one(item)]
    }),
  )
}

for (const vector of nodeVectors.nile) {
  test(`a ${vector.type} published by a public network encodes to the same bytes and id`, () => {
    const raw = encodeRawData(vector.raw_data as unknown as RawData)
    assert.equal(bytesToHex(raw), vector.raw_data_hex)
    assert.equal(transactionId(raw), vector.txID)
    const back = decodeRawData(raw)
    const value = vector.raw_data.contract[0]!.parameter.value as Message
    assert.deepEqual(
      back.contract[0]!.parameter.value,
      normal(contractSchemas[vector.type]!, value),
    )
    assert.equal(back.expiration, BigInt(vector.raw_data.expiration))
  })
}

for (const [name, vector] of Object.entries(nodeVectors.local)) {
  test(`the transaction "${name}" has the bytes, id and signature of other encoders`, () => {
    const raw = encodeRawData(vector.raw_data as unknown as RawData)
    assert.equal(bytesToHex(raw), vector.raw_data_hex)
    assert.equal(transactionId(raw), vector.txID)
    const signature = sign(vector.txID, LOCAL_KEY)
    assert.equal(signature, vector.signature.toLowerCase())
    assert.equal(encodeTransaction(raw, [signature]).length + 64, vector.bandwidth)
  })
}

/** wallet-core writes addresses as text and bytes of text as they are; the node's form has both as
 *  hexadecimal. */
function nodeForm(schema: Schema, value: Message): Message {
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const { type, repeated, kept: always } = schema.fields.find((field) => field.name === name)!
      if (always) return [[name, item]]
      const one = (single: unknown): unknown => {
        if (typeof type === 'object' && 'fields' in type) return nodeForm(type, single as Message)
        if (type === 'address') return addressToHex(single as string)
        if (type === 'text_bytes') return bytesToHex(new TextEncoder().encode(single as string))
        return single
      }
      return [name, repeated ? [item].flat().map(one) : one(item)]
    }),
  )
}

for (const vector of walletCore.transactions) {
  test(`wallet-core's vector ${vector.name} decodes, encodes back, and signs alike`, () => {
    const raw = hexToBytes(vector.raw_data_hex)
    const decoded = decodeRawData(raw)
    assert.equal(bytesToHex(encodeRawData(decoded)), vector.raw_data_hex)
    assert.equal(transactionId(raw), vector.txid)

    const schema = contractSchemas[vector.contract_type]!
    const value = decoded.contract[0]!.parameter.value
    assert.equal(decoded.contract[0]!.type, vector.contract_type)
    assert.equal(ContractType.values[vector.contract_type], vector.contract_type_number)
    const expected = decode(schema, encode(schema, nodeForm(schema, vector.contract as Message)))
    const padded = vector.name === 'SignTransferTrc20Contract'
    assert.deepEqual(value, padded ? { ...expected, data: value.data } : expected)

    const signature = sign(vector.txid, vector.private_key)
    assert.equal(signature.slice(0, 128), vector.signature.slice(0, 128))
    assert.equal(
      Number.parseInt(signature.slice(128), 16) - 27,
      Number.parseInt(vector.signature.slice(128), 16),
    )
  })
}

// Random messages of every contract type that the table knows.

const arbitraryBytes = fc.uint8Array({ maxLength: 40 }).map(bytesToHex)
const arbitraryAddress = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => addressToHex(addressFromBytes(Uint8Array.from([0x41, ...bytes]))))

function arbitraryOf(type: Field['type']): fc.Arbitrary<unknown> {
  if (type === 'int64') return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  if (type === 'int32') return fc.integer()
  if (type === 'bool') return fc.boolean()
  if (type === 'string') return fc.string({ unit: 'grapheme', maxLength: 20 })
  if (type === 'address') return arbitraryAddress
  if (type === 'bytes' || type === 'text_bytes') return arbitraryBytes
  if ('fields' in type) return arbitraryMessage(type)
  return fc.constantFrom(...(type as Enum).names.values())
}

function arbitraryMessage(schema: Schema): fc.Arbitrary<Message> {
  const fields = schema.fields.map(
    (field) =>
      [
        field.name,
        field.repeated
          ? fc.array(arbitraryOf(field.type), { minLength: 1, maxLength: 3 })
          : arbitraryOf(field.type),
      ] as const,
  )
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] }) as fc.Arbitrary<Message>
}

/** The value without the fields that proto3 does not write. */
function withoutDefaults(schema: Schema, value: Message): Message {
  const kept = Object.entries(value).flatMap(([name, item]): [string, unknown][] => {
    const { type, repeated, kept: always } = schema.fields.find((field) => field.name === name)!
    if (always) return [[name, item]]
    if (typeof type === 'object' && 'fields' in type) {
      return [
        [
          name,
          repeated
            ? (item as Message[]).map((one) => withoutDefaults(type, one))
            : withoutDefaults(type, item as Message),
        ],
      ]
    }
    if (repeated) return [[name, item]]
    const zero = typeof type === 'object' ? type.names.get(0) : undefined
    return item === 0n || item === 0 || item === false || item === '' || item === zero
      ? []
      : [[name, item]]
  })
  return Object.fromEntries(kept)
}

test('every message of every type survives encoding and decoding, but for its defaults', () => {
  for (const schema of Object.values(contractSchemas)) {
    fc.assert(
      fc.property(arbitraryMessage(schema), (value) => {
        assert.deepEqual(decode(schema, encode(schema, value)), withoutDefaults(schema, value))
      }),
      { numRuns: 40 },
    )
  }
})

test('random bytes never decode to anything but a message or a MalformedMessage', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        decodeTransaction(bytes)
        decodeRawData(bytes)
      } catch (error) {
        assert.ok(error instanceof MalformedMessage, String(error))
      }
    }),
    { numRuns: 500 },
  )
})

test('a signed transaction survives encoding and decoding', () => {
  const raw = encodeRawData(nodeVectors.local.transfer.raw_data as unknown as RawData)
  const signatures = [nodeVectors.local.transfer.signature.toLowerCase(), '00'.repeat(65)]
  const back = decodeTransaction(encodeTransaction(raw, signatures, [{ contractRet: 'SUCCESS' }]))
  assert.deepEqual(back, { raw_data: raw, signatures, ret: [{ contractRet: 'SUCCESS' }] })
})

test('a contract that names another message, and an unknown contract type, are refused', () => {
  const raw = hexToBytes(nodeVectors.local.transfer.raw_data_hex)
  const other = Uint8Array.from(raw)
  const text = new TextEncoder().encode('TransferContract')
  const at = bytesToHex(other).indexOf(bytesToHex(text)) / 2
  other[at] = 'X'.charCodeAt(0)
  assert.throws(() => decodeRawData(other), MalformedMessage)
  const unknown = {
    ...nodeVectors.local.transfer.raw_data,
    contract: [contract('NoSuchContract', {})],
  }
  assert.throws(() => encodeRawData(unknown as RawData), MalformedMessage)
})

const owner_address = addressToHex(addressOf(LOCAL_KEY))
const other_address = addressToHex(addressOf('02'.repeat(32)))
const key = { address: owner_address, weight: 1 }
const operations = `${'00'.repeat(7)}06${'00'.repeat(24)}`
const sentContracts: [string, Message, number][] = [
  ['TransferContract', { owner_address, to_address: other_address, amount: 1_234_567_890_123 }, 0],
  ['AccountCreateContract', { owner_address, account_address: other_address }, 3],
  ['FreezeBalanceV2Contract', { owner_address, frozen_balance: 5_000_000, resource: 'ENERGY' }, 0],
  [
    'UnfreezeBalanceV2Contract',
    { owner_address, unfreeze_balance: 5_000_000, resource: 'ENERGY' },
    0,
  ],
  ['WithdrawExpireUnfreezeContract', { owner_address }, 0],
  ['CancelAllUnfreezeV2Contract', { owner_address }, 0],
  [
    'DelegateResourceContract',
    {
      owner_address,
      receiver_address: other_address,
      balance: 9_000_000,
      resource: 'ENERGY',
      lock: true,
      lock_period: 1200,
    },
    2,
  ],
  [
    'UnDelegateResourceContract',
    { owner_address, receiver_address: other_address, balance: 9_000_000, resource: 'ENERGY' },
    2,
  ],
  [
    'TriggerSmartContract',
    { owner_address, contract_address: other_address, data: 'a9059cbb', call_value: 7 },
    0,
  ],
  [
    'AccountPermissionUpdateContract',
    {
      owner_address,
      owner: { type: 0, permission_name: 'owner', threshold: 1, keys: [key] },
      actives: [
        { type: 2, id: 2, permission_name: 'delegator', threshold: 1, operations, keys: [key] },
      ],
    },
    0,
  ],
]

const cafe = 'cafe'
const contract_address = other_address
const abi = {
  entrys: [
    {
      name: 'pay',
      inputs: [{ name: 'to', type: 'address' }],
      outputs: [{ type: 'bool' }],
      type: 'Function',
      payable: true,
      stateMutability: 'Payable',
    },
    {
      anonymous: true,
      name: 'Paid',
      inputs: [{ indexed: true, name: 'to', type: 'address' }],
      type: 'Event',
    },
  ],
}
/** Types that we only read: the development chain meets them. */
const readContracts: [string, Message][] = [
  ['AccountUpdateContract', { owner_address, account_name: cafe }],
  ['SetAccountIdContract', { owner_address, account_id: cafe }],
  ['WitnessCreateContract', { owner_address, url: cafe }],
  ['WitnessUpdateContract', { owner_address, update_url: cafe }],
  [
    'VoteWitnessContract',
    { owner_address, votes: [{ vote_address: other_address, vote_count: 7 }] },
  ],
  ['WithdrawBalanceContract', { owner_address }],
  ['UpdateBrokerageContract', { owner_address, brokerage: 30 }],
  [
    'FreezeBalanceContract',
    { owner_address, frozen_balance: 9, frozen_duration: 3, resource: 'ENERGY' },
  ],
  [
    'UnfreezeBalanceContract',
    { owner_address, resource: 'ENERGY', receiver_address: other_address },
  ],
  [
    'TransferAssetContract',
    { owner_address, asset_name: cafe, to_address: other_address, amount: 8 },
  ],
  [
    'ParticipateAssetIssueContract',
    { owner_address, to_address: other_address, asset_name: cafe, amount: 8 },
  ],
  [
    'UpdateAssetContract',
    { owner_address, description: cafe, url: cafe, new_limit: 4, new_public_limit: 5 },
  ],
  [
    'AssetIssueContract',
    {
      owner_address,
      name: cafe,
      abbr: cafe,
      total_supply: 1000,
      frozen_supply: [{ frozen_amount: 1, frozen_days: 2 }],
      trx_num: 1,
      precision: 6,
      num: 2,
      start_time: 1_777_446_819_000,
      end_time: 1_777_446_919_000,
      description: cafe,
      url: cafe,
      free_asset_net_limit: 10,
      public_free_asset_net_limit: 20,
    },
  ],
  ['ProposalCreateContract', { owner_address, parameters: [{ key: 3, value: 1000 }] }],
  ['ProposalApproveContract', { owner_address, proposal_id: 2, is_add_approval: true }],
  ['ProposalDeleteContract', { owner_address, proposal_id: 2 }],
  [
    'CreateSmartContract',
    {
      owner_address,
      new_contract: {
        origin_address: owner_address,
        abi,
        bytecode: '60806040',
        call_value: 3,
        consume_user_resource_percent: 40,
        name: 'Purse',
        origin_energy_limit: 1000,
      },
    },
  ],
  ['UpdateSettingContract', { owner_address, contract_address, consume_user_resource_percent: 50 }],
  ['UpdateEnergyLimitContract', { owner_address, contract_address, origin_energy_limit: 5000 }],
  ['ClearABIContract', { owner_address, contract_address }],
  [
    'ExchangeCreateContract',
    {
      owner_address,
      first_token_id: cafe,
      first_token_balance: 1,
      second_token_id: '5f',
      second_token_balance: 2,
    },
  ],
  ['ExchangeInjectContract', { owner_address, exchange_id: 1, token_id: cafe, quant: 2 }],
  ['ExchangeWithdrawContract', { owner_address, exchange_id: 1, token_id: cafe, quant: 2 }],
  [
    'ExchangeTransactionContract',
    { owner_address, exchange_id: 1, token_id: cafe, quant: 2, expected: 3 },
  ],
]

test('every contract type that we only read has the same bytes in tronweb', () => {
  const tronweb = new TronWeb({ fullHost: 'http://127.0.0.1:1' })
  for (const [type, value] of readContracts) {
    const raw_data: RawData = {
      ref_block_bytes: '283b',
      ref_block_hash: '51bf0b88daaaea37',
      expiration: 1_777_446_819_000,
      timestamp: 1_777_446_761_432,
      contract: [contract(type, value)],
    }
    const theirs = tronweb.utils.transaction.txJsonToPb({ raw_data: tronwebForm(raw_data) })
    const hex = tronweb.utils.transaction.txPbToRawDataHex(theirs).toLowerCase()
    assert.equal(bytesToHex(encodeRawData(raw_data)), hex, type)
    assert.equal(bytesToHex(encodeRawData(decodeRawData(hexToBytes(hex)))), hex, type)
  }
})

/** The members of CreateSmartContract as tronweb's encoder asks for them, in one row. */
function tronwebForm(raw_data: RawData): RawData {
  const [{ type, parameter }] = raw_data.contract as [RawData['contract'][number]]
  if (type !== 'CreateSmartContract') return raw_data
  const { new_contract, ...rest } = parameter.value as { new_contract: Message }
  const value = { ...rest, new_contract, ...new_contract }
  return { ...raw_data, contract: [{ type, parameter: { ...parameter, value } }] }
}

test('every contract type we send has the same bytes and id in tronweb', () => {
  const tronweb = new TronWeb({ fullHost: 'http://127.0.0.1:1' })
  for (const [type, value, permission_id] of sentContracts) {
    const raw_data: RawData = {
      ref_block_bytes: '283b',
      ref_block_hash: '51bf0b88daaaea37',
      expiration: 1_777_446_819_000,
      timestamp: 1_777_446_761_432,
      data: 'cafe',
      contract: [contract(type, value, permission_id)],
      ...(type === 'TriggerSmartContract' ? { fee_limit: 30_000_000 } : {}),
    }
    const theirs = tronweb.utils.transaction.txJsonToPb({ raw_data })
    assert.equal(
      bytesToHex(encodeRawData(raw_data)),
      tronweb.utils.transaction.txPbToRawDataHex(theirs).toLowerCase(),
      type,
    )
    assert.equal(
      `0x${transactionId(encodeRawData(raw_data))}`,
      tronweb.utils.transaction.txPbToTxID(theirs),
      type,
    )
  }
})
