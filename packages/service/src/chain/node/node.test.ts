import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { addressFromHex } from 'penstock-tron/address.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { contract, encodeRawData, transactionId } from 'penstock-tron/transaction.ts'
import { Outage } from '../../lib/fault.ts'
import { thrownFields } from '../../lib/log.ts'
import { NodeBusy } from './answers.ts'
import {
  type Block,
  httpTransport,
  type NodeOptions,
  type Transport,
  tronNode,
  withoutKeys,
} from './node.ts'

type Exchange = { status: number; body: string }
type Script = (path: string, body: Record<string, unknown>) => Exchange | object | 'silence'

/** Nodes that answer as their scripts say; what they were asked is noted. */
function scripted(scripts: Record<string, Script>, nodes?: NodeOptions['nodes']) {
  const asked: string[] = []
  const node = tronNode({
    nodes: nodes ?? Object.keys(scripts).map((host) => ({ url: `http://${host}` })),
    transport: async ({ url, body }) => {
      const { host, pathname } = new URL(url)
      asked.push(`${host}${pathname}`)
      const answer = scripts[host]!(pathname, JSON.parse(body) as Record<string, unknown>)
      if (answer === 'silence') throw new Error('ECONNREFUSED')
      return 'status' in answer
        ? (answer as Exchange)
        : { status: 200, body: JSON.stringify(answer) }
    },
  })
  return { node, asked }
}

const ID = `${'0'.repeat(15)}5${'a'.repeat(48)}`
const block = (more: object = {}, header: object = {}) => ({
  blockID: ID,
  block_header: {
    raw_data: { number: 5, parentHash: 'b'.repeat(64), timestamp: 1_780_000_000_000, ...header },
  },
  ...more,
})
const SILENT: Script = () => 'silence'
const GOOD: Script = () => block()

test('what may be a key is eight letters or more, in a path or a header', () => {
  const node = {
    url: 'http://one/12345678/1234567',
    solid_url: 'http://two/abcdefgh/',
    headers: { key: 'ABCDEFGH', other: 'ABCDEFG' },
  }
  const said = (text: string, cause?: Error) =>
    withoutKeys(new Outage(text, cause ? { cause } : {}), node) as Outage
  const { message, cause } = said('12345678 abcdefgh ABCDEFGH', new Error('no ABCDEFGH'))
  assert.doesNotMatch(message, /12345678|abcdefgh|ABCDEFGH/)
  assert.doesNotMatch(String(cause), /ABCDEFGH/)
  assert.match(said('1234567, ABCDEFG').message, /1234567, ABCDEFG/)
  const bug = new TypeError('12345678')
  assert.equal(withoutKeys(bug, node), bug)
})

test('what a node says that repeats a key is told without it', async () => {
  const nodes = [
    { url: 'http://one/a-long-key/', headers: { 'TRON-PRO-API-KEY': 'a-long-key-of-ours' } },
  ]
  const said: Script[] = [
    () => ({ Error: 'a-long-key-of-ours,\u0000\n a-long-key' }),
    () => ({ status: 200, body: 'a-long-key-of-ours' }),
    () => ({ status: 200, body: 'a-long-key' }),
  ]
  for (const script of said) {
    const { node } = scripted({ one: script }, nodes)
    const thrown = await node.head().catch((error: unknown) => error)
    assert.ok(thrown instanceof Outage)
    assert.doesNotMatch(
      JSON.stringify([thrownFields(thrown), String(thrown.cause)]),
      /long-key|of-ours/,
    )
  }
  const { node } = scripted({ one: said[0]! }, nodes)
  await assert.rejects(node.head(), { message: 'node one answers /wallet/getblock with ..., ...' })
})

test('reads go to the first node that gives a sensible answer', async () => {
  const odd: [name: string, script: Script][] = [
    ['silence', SILENT],
    ['a server error', () => ({ status: 503, body: 'unavailable' })],
    ['an error with a block', () => ({ status: 500, body: JSON.stringify(block()) })],
    ['a page', () => ({ status: 200, body: '<html>' })],
    ['an exception', () => ({ Error: 'class java.lang.NullPointerException : null' })],
    ['nothing', () => ({})],
    ['no id', () => ({ ...block(), blockID: undefined })],
    ['an id of another block', () => block({}, { number: 6 })],
    ['a short id', () => ({ ...block(), blockID: 'abc' })],
    ['a number that is text', () => block({}, { number: '5' })],
    ['a negative time', () => block({}, { timestamp: -1 })],
    ['a list', () => ({ status: 200, body: '[]' })],
    ['null', () => ({ status: 200, body: 'null' })],
  ]
  for (const [name, script] of odd) {
    const { node, asked } = scripted({ one: script, two: GOOD, three: SILENT })
    assert.equal((await node.head()).number, 5, name)
    assert.deepEqual(asked, ['one/wallet/getblock', 'two/wallet/getblock'], name)
    await assert.rejects(scripted({ one: script }).node.head(), Outage, name)
  }
})

test('a node whose head stands still is left for one that is ahead, and for no other', async () => {
  const at = (number: number) => ({
    ...block({ blockID: number.toString(16).padStart(16, '0') + 'a'.repeat(48) }, { number }),
  })
  let ahead = 10
  let standing = 10
  const { node, asked } = scripted({ one: () => at(standing), two: () => at(ahead), three: SILENT })
  const heads = async (times: number) => {
    let last = 0
    for (let i = 0; i < times; i++) last = (await node.head()).number
    return last
  }
  assert.equal(await heads(250), 10)
  asked.length = 0
  await node.solidHead()
  assert.deepEqual(
    asked,
    ['one/walletsolidity/getblock'],
    'a chain that stands still is no reason to leave',
  )
  // A node that says that it is ahead is not believed while the first goes on.
  ahead = 1_000_000
  for (let i = 0; i < 300; i++) {
    standing += 1
    assert.equal(await heads(1), standing)
  }
  assert.equal(await heads(101), 1_000_000)
  asked.length = 0
  await node.solidHead()
  assert.deepEqual(asked, ['two/walletsolidity/getblock'])
})

test('the last failure is thrown when no node answers sensibly', async () => {
  const { node } = scripted({ one: SILENT, two: () => ({ Error: 'the second one' }) })
  await assert.rejects(node.head(), /the second one/)
})

test('the solid side is asked at its own address where a node has one', async () => {
  const nodes = [{ url: 'http://full/', solid_url: 'http://solid/' }]
  const { node, asked } = scripted({ full: GOOD, solid: GOOD }, nodes)
  await node.head()
  await node.solidHead()
  assert.deepEqual(asked, ['full/wallet/getblock', 'solid/walletsolidity/getblock'])
})

test('headers of a node go to that node alone', async () => {
  const seen: unknown[] = []
  const node = tronNode({
    nodes: [
      { url: 'http://one', headers: { 'TRON-PRO-API-KEY': 'secret' } },
      { url: 'http://two' },
    ],
    transport: async ({ headers }) => {
      seen.push(headers)
      throw new Error('down')
    },
  })
  await assert.rejects(node.head())
  assert.deepEqual(seen, [{ 'TRON-PRO-API-KEY': 'secret' }, {}])
})

test('a node that left a broadcast unanswered has a second while another answers', async () => {
  let hangs = true
  let alone = false
  const limits: number[] = []
  const node = tronNode({
    nodes: [{ url: 'http://a' }, { url: 'http://b' }],
    transport: async ({ url, timeout_ms }) => {
      if (!url.startsWith('http://b')) {
        if (alone) throw new Error('ECONNREFUSED')
        return { status: 200, body: '{"result":true}' }
      }
      limits.push(timeout_ms)
      if (hangs) throw new Error('timeout')
      return { status: 200, body: '{"result":true}' }
    },
  })
  for (let i = 0; i < 2; i++) {
    const answers = await node.broadcast(Uint8Array.of(1))
    assert.deepEqual(
      answers.map(({ accepted }) => accepted),
      [true, false],
    )
  }
  hangs = false
  for (let i = 0; i < 2; i++) await node.broadcast(Uint8Array.of(1))
  assert.deepEqual(limits, [5_000, 1_000, 1_000, 5_000])
  hangs = true
  await node.broadcast(Uint8Array.of(1))
  alone = true
  for (let i = 0; i < 2; i++) await node.broadcast(Uint8Array.of(1))
  assert.deepEqual(
    limits.slice(-3),
    [5_000, 1_000, 5_000],
    'when none answers there is nothing to hurry for',
  )
})

test('a broadcast goes to every node with the same bytes, and each has its answer', async () => {
  const sent: unknown[] = []
  const noting =
    (answer: object): Script =>
    (_path, body) => {
      sent.push(body)
      return answer
    }
  const { node } = scripted({
    one: noting({ result: true, txid: 'x' }),
    two: noting({ code: 'SERVER_BUSY', message: 'bu\0sy' }),
    three: SILENT,
    four: noting({ status: 500, body: '' }),
    five: noting({ result: 'true', code: 'SUCCESS' }),
  })
  const answers = await node.broadcast(Uint8Array.of(1, 0xab))
  assert.deepEqual(sent, Array(4).fill({ transaction: '01ab' }))
  assert.deepEqual(
    answers.map(({ accepted }) => accepted),
    [true, false, false, false, false],
  )
  assert.equal(answers[1]!.said, 'SERVER_BUSY: bu\uFFFDsy', 'what can be kept as text')
  assert.match(answers[2]!.said, /no answer/)
  assert.ok(answers.every(({ said }) => said.length <= 500))
})

test('absence needs every node: one that is silent makes the question unanswered', async () => {
  const solid =
    (number: number, found: object): Script =>
    (path) =>
      path.endsWith('getblock')
        ? {
            ...block({}, { number }),
            blockID: number.toString(16).padStart(16, '0') + 'a'.repeat(48),
          }
        : found
  const { node, asked } = scripted({
    one: solid(5, {}),
    two: solid(9, { txID: 'f'.repeat(64), raw_data: {} }),
  })
  assert.deepEqual(await node.solidTransaction('f'.repeat(64)), [
    { found: false, solid_number: 5 },
    { found: true, solid_number: 9 },
  ])
  assert.ok(
    asked.indexOf('one/walletsolidity/getblock') <
      asked.indexOf('one/walletsolidity/gettransactionbyid'),
  )
  await assert.rejects(
    scripted({ one: solid(5, {}), two: SILENT }).node.solidTransaction('f'.repeat(64)),
    Outage,
  )
})

const OWNER = `41${'1'.repeat(40)}`
const TO = `41${'2'.repeat(40)}`
/** As a node prints it: the id is the hash of the bytes, which differ with `stamp`. */
function transaction(
  stamp: number,
  type: string,
  value: Message,
  ret: object[] | null = [{ contractRet: 'SUCCESS' }],
) {
  const message = { owner_address: OWNER, ...value }
  const raw = {
    ref_block_bytes: '0000',
    ref_block_hash: '00'.repeat(8),
    expiration: 1,
    timestamp: stamp,
  }
  const bytes = encodeRawData({ ...raw, contract: [contract(type, message)] })
  return {
    txID: transactionId(bytes),
    ...(ret && { ret }),
    raw_data: { contract: [{ type, parameter: { value: message } }] },
    raw_data_hex: Buffer.from(bytes).toString('hex'),
  }
}

test("a block's transfers are its plain transfers of TRX that succeeded, no others", async () => {
  const transactions = [
    transaction(1, 'TransferContract', { to_address: TO, amount: 2n ** 63n - 1n }),
    transaction(2, 'TransferAssetContract', { to_address: TO, amount: 6, asset_name: '31' }),
    transaction(3, 'TriggerSmartContract', { contract_address: TO, call_value: 7 }),
    transaction(4, 'TransferContract', { to_address: TO, amount: 8 }, [{ contractRet: 'REVERT' }]),
    transaction(5, 'TransferContract', { to_address: TO, amount: 9 }, []),
    transaction(6, 'TransferContract', { to_address: TO, amount: 10 }, null),
    transaction(7, 'TransferContract', { to_address: TO }),
  ]
  const body = printed({ block: [block({ transactions })] })
  const { node } = scripted({ one: () => ({ status: 200, body }) })
  const [read] = await node.blocks(5, 5, 'head')
  assert.deepEqual(
    read?.transfers.map(({ tx_id, amount_sun }) => [tx_id, amount_sun]),
    [
      [transactions[0]!.txID, 2n ** 63n - 1n],
      [transactions[6]!.txID, 0n],
    ],
  )
  assert.deepEqual(
    read.asset_transfers.map(({ asset, amount }) => [asset, amount]),
    [['1', 6n]],
  )
  assert.deepEqual(read.transactions[2]!.call, { contract: addressFromHex(TO), value_sun: 7n })
  assert.deepEqual(
    read?.transactions.map(({ succeeded }) => succeeded),
    [true, true, true, false, false, false, true],
  )
})

const SENT = transaction(1, 'TransferContract', { to_address: TO, amount: 5 })
/** Integers beyond 2^53 are printed whole, as nodes do. */
const printed = (value: object) =>
  JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? `#${one}#` : one,
  ).replace(/"#(-?\d+)#"/g, '$1')
const readBlock = async (one: object) => {
  const { node } = scripted({ one: () => ({ block: [block({ transactions: [one] })] }) })
  return (await node.blocks(5, 5, 'head'))[0]!
}

test('a transaction whose id or printed form differs from its bytes is refused', async () => {
  const value = SENT.raw_data.contract[0]!.parameter.value
  const other = transaction(2, 'TransferContract', { to_address: TO, amount: 6 })
  const prints = (changed: object) => ({
    ...SENT,
    raw_data: {
      contract: [{ type: 'TransferContract', parameter: { value: { ...value, ...changed } } }],
    },
  })
  const call = transaction(3, 'TriggerSmartContract', { contract_address: TO, call_value: 7 })
  const lies: [name: string, one: object][] = [
    ['an id that nothing is the hash of', { ...SENT, txID: 'a'.repeat(64) }],
    ['the bytes of another', { ...SENT, raw_data_hex: other.raw_data_hex }],
    ['no bytes', { ...SENT, raw_data_hex: undefined }],
    ['bytes that are none', { ...SENT, raw_data_hex: `${SENT.raw_data_hex}zz` }],
    ['another amount', prints({ amount: 6 })],
    ['no amount', prints({ amount: undefined })],
    ['an amount that is text', prints({ amount: '5' })],
    ['another receiver', prints({ to_address: OWNER })],
    ['another sender', prints({ owner_address: TO })],
    [
      'another type',
      { ...SENT, raw_data: { contract: [{ type: 'VoteWitnessContract', parameter: { value } }] } },
    ],
    ['a call printed as a transfer', { ...call, raw_data: SENT.raw_data }],
    [
      'a vote printed as a transfer',
      { ...transaction(4, 'VoteWitnessContract', {}), raw_data: SENT.raw_data },
    ],
  ]
  assert.equal((await readBlock(SENT)).transfers[0]?.amount_sun, 5n)
  for (const [name, one] of lies) await assert.rejects(readBlock(one), Outage, name)
  // Another node that tells the truth is asked.
  const { node } = scripted({
    one: () => ({ block: [block({ transactions: [prints({ amount: 6 })] })] }),
    two: () => ({ block: [block({ transactions: [SENT] })] }),
  })
  assert.equal((await node.blocks(5, 5, 'head'))[0]!.transfers[0]!.amount_sun, 5n)
})

test('transactions without a signer, and unknown kinds, stop nothing', async () => {
  const raw = (contract_hex: string) => {
    const bytes = Buffer.from(
      `5a${(contract_hex.length / 2).toString(16).padStart(2, '0')}${contract_hex}`,
      'hex',
    )
    return {
      txID: transactionId(bytes),
      raw_data_hex: bytes.toString('hex'),
      ret: [{ contractRet: 'SUCCESS' }],
    }
  }
  const strange: [name: string, one: object][] = [
    [
      'shielded',
      { ...raw('08331200'), raw_data: { contract: [{ type: 'ShieldedTransferContract' }] } },
    ],
    [
      'of an unknown kind',
      { ...raw('087f1200'), raw_data: { contract: [{ parameter: { value: {} } }] } },
    ],
    ['not printed at all', raw('087f1200')],
    [
      'printed as text',
      { ...raw('087f1200'), raw_data: { contract: [{ type: 'X', parameter: { value: 'x' } }] } },
    ],
    [
      'with an owner that is none',
      {
        ...raw('087f1200'),
        raw_data: { contract: [{ type: 'X', parameter: { value: { owner_address: '42' } } }] },
      },
    ],
  ]
  for (const [name, one] of strange) {
    const { transactions, transfers } = await readBlock(one)
    assert.deepEqual(
      [transactions.length, transactions[0]!.owner, transfers],
      [1, undefined, []],
      name,
    )
  }
})

const noted = (note: string | undefined, more: object = {}) => ({
  hash: 'f'.repeat(64),
  caller_address: OWNER,
  transferTo_address: TO,
  callValueInfo: [{ callValue: 9 }],
  ...(note !== undefined && { note: Buffer.from(note).toString('hex') }),
  ...more,
})

test("of contracts' actions only calls, creations and self-destructions move TRX", async () => {
  const stakes = [
    'delegateResourceOfEnergy',
    'unDelegateResourceOfBandwidth',
    'freezeBalanceV2ForEnergy',
  ]
  const others = ['withdrawExpireUnfreeze', 'cancelAllUnfreezeV2', 'voteWitness', 'withdrawReward']
  const moving = ['call', 'create', 'suicide']
  const unknown = ['Call', 'call ', 'transfer', 'delegateResourceOfNothing', '', undefined]
  const internal_transactions = [...moving, ...stakes, ...others, ...unknown].map((note) =>
    noted(note),
  )
  internal_transactions.push(
    noted('call', { rejected: true }),
    noted('mystery', { rejected: true }),
  )
  internal_transactions.push(
    noted('call', { callValueInfo: [{ callValue: 4, tokenId: '1002000' }, {}] }),
  )
  internal_transactions.push(noted('mystery', { callValueInfo: [{}] }))
  const { node } = scripted({
    one: () => ({ status: 200, body: JSON.stringify([{ id: SENT.txID, internal_transactions }]) }),
  })
  const [receipt] = await node.receipts(
    { transactions: [{ tx_id: SENT.txID }], read_from: new Set() } as unknown as Block,
    'head',
  )
  assert.deepEqual(
    receipt?.internal.map(({ amount, asset }) => [amount, asset]),
    [
      [9n, undefined],
      [9n, undefined],
      [9n, undefined],
      [4n, '1002000'],
    ],
  )
  assert.deepEqual(
    receipt.unknown_internal.map(({ note }) => note),
    ['Call', 'call ', 'transfer', 'delegateResourceOfNothing', '', ''],
  )
  assert.equal(receipt.internal_shown, internal_transactions.length)
})

test("a contract's action that sends nothing is no transfer", async () => {
  const nothing = { callValueInfo: [{ callValue: 0 }, { callValue: 0, tokenId: '1002000' }] }
  const internal_transactions = [noted('call', nothing), noted('mystery', nothing)]
  const { node } = scripted({ one: () => [{ id: SENT.txID, internal_transactions }] })
  const [receipt] = await node.receipts(
    { transactions: [{ tx_id: SENT.txID }], read_from: new Set() } as unknown as Block,
    'head',
  )
  assert.deepEqual(
    [receipt!.internal, receipt!.unknown_internal, receipt!.internal_shown],
    [[], [], 2],
  )
})

test('a function has succeeded when nothing that the node says of it is a failure', async () => {
  const called = { energy_used: 400, constant_result: ['01'], result: { result: true } }
  const answers: [succeeded: boolean, answer: object][] = [
    [true, called],
    [true, { ...called, transaction: { ret: [{}] } }],
    [false, { ...called, transaction: { ret: [{ ret: 'FAILED' }] } }],
    [false, { ...called, result: { result: true, message: 'REVERT opcode executed' } }],
    [false, { ...called, result: {} }],
  ]
  const { address } = person('bob')
  const call = { owner: address, contract: address, selector: 'paused()', parameter: '' }
  for (const [succeeded, answer] of answers) {
    const { node } = scripted({ one: () => answer })
    const { succeeded: has, result } = await node.constantCall(call)
    assert.deepEqual([has, result], [succeeded, '01'], JSON.stringify(answer))
  }
})

test('a block that makes no sense is an outage, not a guess', async () => {
  const wrong: object[] = [
    { block: 'none' },
    { block: [{}] },
    { block: [block({ transactions: 'many' })] },
    { block: [block({ transactions: [{ txID: 'abc' }] })] },
    { block: [block({ transactions: [{ ...SENT, raw_data: {} }] })] },
    {
      block: [
        block({
          transactions: [transaction(1, 'TransferContract', { to_address: '41ab', amount: 1 })],
        }),
      ],
    },
    {
      block: [
        block({
          transactions: [transaction(1, 'TransferContract', { to_address: TO, amount: -1 })],
        }),
      ],
    },
    { block: [block({ transactions: [SENT, SENT] })] },
  ]
  for (const answer of wrong) {
    await assert.rejects(
      scripted({ one: () => answer }).node.blocks(5, 5, 'head'),
      Outage,
      JSON.stringify(answer),
    )
  }
  assert.deepEqual(
    await scripted({ one: () => ({}) }).node.blocks(5, 5, 'head'),
    [],
    'no blocks are no blocks',
  )
})

test('no more than a hundred blocks are asked for at once', async () => {
  const ranges: unknown[] = []
  const { node } = scripted({
    one: (_path, body) => {
      ranges.push(body)
      return {}
    },
  })
  await node.blocks(10, 12, 'head')
  await node.blocks(10, 5_000, 'solid')
  assert.deepEqual(ranges, [
    { startNum: 10, endNum: 13 },
    { startNum: 10, endNum: 110 },
  ])
})

test('receipts are those of the block, in its order, and all of them or an outage', async () => {
  const given = {
    ...scripted({ one: GOOD }),
    transactions: ['1', '2'].map((one) => ({ tx_id: one.repeat(64) })),
  }
  const of = { transactions: given.transactions, read_from: new Set() } as unknown as Block
  const receipt = (id: string, more: object = {}) => ({ id: id.repeat(64), ...more })
  const log = [{ address: '3'.repeat(40), topics: ['4'.repeat(64)], data: '05' }]
  const { node } = scripted({
    one: () => ({
      status: 200,
      body: JSON.stringify([
        receipt('2'),
        receipt('1', { receipt: { energy_usage_total: 64_285 }, log }),
      ]),
    }),
  })
  const [first, second] = await node.receipts(of, 'head')
  assert.equal(first?.energy, 64_285n)
  assert.equal(first.logs.length, 1)
  assert.deepEqual([second?.energy, second?.logs], [0n, []])
  const missing = scripted({ one: () => ({ status: 200, body: JSON.stringify([receipt('1')]) }) })
  await assert.rejects(missing.node.receipts(of, 'head'), Outage)
  const none = scripted({ one: SILENT })
  assert.deepEqual(await none.node.receipts({ transactions: [] } as unknown as Block, 'head'), [])
  assert.deepEqual(none.asked, [], 'an empty block is not asked about')
})

test('a block and its receipts are fetched together, missing ones once more', async () => {
  const transactions = [1, 2].map((stamp) =>
    transaction(stamp, 'TransferContract', { to_address: TO, amount: 5 }),
  )
  const all = transactions.map(({ txID }) => ({ id: txID }))
  const answers: Script = (path) => {
    if (path.endsWith('getblockbylimitnext')) return { block: [block({ transactions })] }
    return { status: 200, body: JSON.stringify(all) }
  }
  const { node, asked } = scripted({ one: answers })
  const read = node.blockWithReceipts(5, 'head')
  assert.deepEqual(asked, [
    'one/wallet/getblockbylimitnext',
    'one/wallet/gettransactioninfobyblocknum',
  ])
  assert.deepEqual(
    (await read)?.receipts.map(({ tx_id }) => tx_id),
    transactions.map(({ txID }) => txID),
  )
  const short: Script = (path, body) =>
    path.endsWith('getblockbylimitnext')
      ? answers(path, body)
      : { status: 200, body: JSON.stringify(all.slice(1)) }
  const two = scripted({ one: short, two: answers })
  assert.equal((await two.node.blockWithReceipts(5, 'head'))?.receipts.length, 2)
  assert.equal(two.asked.at(-1), 'two/wallet/gettransactioninfobyblocknum')
  await assert.rejects(scripted({ one: short }).node.blockWithReceipts(5, 'head'), Outage)
  assert.equal(
    await node.blockWithReceipts(6, 'head'),
    undefined,
    'another block than was asked for',
  )
})

test('an absent account is not active, and an absent resource is 0', async () => {
  const { node } = scripted({ one: () => ({}) })
  const { address } = person('bob')
  const nobody = await node.account(address)
  assert.deepEqual([nobody.active, nobody.contract, nobody.balance_sun], [false, false, 0n])
  assert.equal((await node.resource(address, 'energy')).limit, 0n)
  assert.equal(await node.delegable(address, 'energy'), 0n)
  const contract = scripted({ one: () => ({ address, type: 'Contract', balance: 5 }) })
  const somebody = await contract.node.account(address)
  assert.deepEqual([somebody.active, somebody.contract, somebody.balance_sun], [true, true, 5n])
})

test('the totals of the network are beyond 2^53 and arrive whole', async () => {
  const body =
    '{"EnergyLimit":1,"TotalEnergyLimit":180000000000000001,"TotalEnergyWeight":9007199254740993}'
  const { node } = scripted({ one: () => ({ status: 200, body }) })
  const { total_limit, total_weight } = await node.resource(person('bob').address, 'energy')
  assert.deepEqual([total_limit, total_weight], [180_000_000_000_000_001n, 9_007_199_254_740_993n])
})

test('on the development chain, blocks, accounts and stakes are what was done there', async () => {
  const scene = new Scene({ alice: 1_000n * TRX })
  const alice = person('alice')
  scene.do(alice, 'TransferContract', { to_address: person('bob').hex, amount: 5n * TRX })
  scene.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX, resource: 'ENERGY' })
  const node = tronNode({
    nodes: [{ url: 'http://devchain' }],
    transport: async ({ url, body }) => scene.devchain.request('POST', new URL(url).pathname, body),
  })
  const head = await node.head()
  assert.equal(head.id, scene.devchain.head.id)
  assert.equal((await node.solidHead()).id, scene.devchain.solid.id)
  const blocks = await node.blocks(head.number - 1, head.number + 5, 'head')
  assert.deepEqual(
    blocks.map(({ number, transfers }) => [
      number,
      transfers.map(({ from, to, amount_sun }) => [from, to, amount_sun]),
    ]),
    [
      [head.number - 1, [[alice.address, person('bob').address, 5n * TRX]]],
      [head.number, []],
    ],
  )
  assert.equal(blocks[1]!.parent_id, blocks[0]!.id)
  assert.equal((await node.account(person('bob').address)).balance_sun, 5n * TRX)
  assert.equal((await node.account(person('nobody').address)).active, false)
  assert.equal(await node.delegable(alice.address, 'energy'), 100n * TRX)
  assert.ok((await node.resource(alice.address, 'energy')).limit > 0n)
})

async function served(
  t: TestContext,
  answer: (body: string) => string | undefined,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const text = answer(body)
      if (text !== undefined) response.end(text)
    })
  })
  return listening(t, server)
}

/** The address of a server that is there until the test ends. */
async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('over HTTP: the body goes out as it is, and a silent node is given up', async (t) => {
  const url = await served(t, (body) => (body === '"quiet"' ? undefined : `heard ${body}`))
  const request = { url, headers: {}, timeout_ms: 30_000 }
  assert.deepEqual(await httpTransport({ ...request, body: '{"a":1}' }), {
    status: 200,
    body: 'heard {"a":1}',
  })
  await assert.rejects(httpTransport({ ...request, timeout_ms: 50, body: '"quiet"' }))
})

test('over HTTP: an answer that goes on without end is given up at its time', async (t) => {
  const server = createServer((request, response) => {
    request.resume()
    const drip = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(drip))
  })
  const url = await listening(t, server)
  const request = { url, headers: {}, timeout_ms: 100, body: '{}', repeatable: true }
  await assert.rejects(httpTransport(request), /no answer in 100 ms/)
})

test('over HTTP: what waits for a connection until its time is over is not sent', async (t) => {
  const heard: string[] = []
  const answers: (() => void)[] = []
  const server = createServer(async (request, response) => {
    heard.push(await text(request))
    answers.push(() => response.end('[]'))
  })
  const url = await listening(t, server)
  const request = { url, headers: {}, timeout_ms: 30_000 }
  // As many as there are connections to a node.
  const asked = Array.from({ length: 256 }, () => httpTransport({ ...request, body: '"early"' }))
  await eventually('all connections are used', async () => answers.length === 256)
  const late = httpTransport({ ...request, timeout_ms: 50, body: '"late"' })
  await assert.rejects(late, /no answer in 50 ms/)
  for (const answer of answers.splice(0)) answer()
  await Promise.all(asked)
  const next = httpTransport({ ...request, body: '"next"' })
  await eventually('the next is heard', async () => heard.includes('"next"'))
  for (const answer of answers) answer()
  assert.equal((await next).body, '[]')
  assert.ok(!heard.includes('"late"'))
})

test('over HTTP: an answer of more bytes than any can have is refused', async (t) => {
  const server = createServer((request, response) => {
    request.resume()
    const mebibyte = Buffer.alloc(1024 * 1024, 32)
    const write = () => {
      while (!response.destroyed && response.write(mebibyte));
    }
    response.on('drain', write)
    write()
  })
  const url = await listening(t, server)
  const request = { url, headers: {}, timeout_ms: 30_000, body: '{}' }
  await assert.rejects(httpTransport(request), { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' })
})

test('over HTTP: connections are kept, and an answer may be packed', async (t) => {
  const ports = new Set<number | undefined>()
  const server = createServer((request, response) => {
    ports.add(request.socket.remotePort)
    request.resume().on('end', () => {
      const accepted = request.headers['accept-encoding'] === 'gzip'
      response.setHeader('content-encoding', accepted ? 'gzip' : 'identity')
      response.end(accepted ? gzipSync('[{"packed":true}]') : '[]')
    })
  })
  const url = await listening(t, server)
  for (let i = 0; i < 3; i++) {
    const { body } = await httpTransport({ url, headers: {}, timeout_ms: 30_000, body: '{}' })
    assert.equal(body, '[{"packed":true}]')
  }
  assert.equal(ports.size, 1)
})

test('over HTTP: a kept connection that the node has closed loses no read', async (t) => {
  let connections = 0
  // Each connection carries one exchange, whatever was promised.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().on('end', () => response.end('[]'))
  })
  server.on('connection', (socket) => {
    connections += 1
    let requests = 0
    socket.on('data', () => {
      if (++requests > 1) socket.resetAndDestroy()
    })
  })
  const url = await listening(t, server)
  const request = { url, headers: {}, timeout_ms: 30_000, body: '{}' }
  // A connection is free for the next a turn after its answer.
  const ask = async (repeatable: boolean) => {
    const { body } = await httpTransport({ ...request, repeatable })
    await new Promise(setImmediate)
    return body
  }
  assert.equal(await ask(true), '[]')
  assert.equal(await ask(true), '[]')
  assert.equal(connections, 2)
  assert.equal(await ask(false), '[]')
  await assert.rejects(httpTransport(request), 'what may not be sent twice is not')
  assert.equal(connections, 3)
})

test('a broadcast alone is not sent again over another connection', async () => {
  const asked = new Map<string, boolean | undefined>()
  const transport: Transport = async ({ url, repeatable }) => {
    asked.set(new URL(url).pathname, repeatable)
    return { status: 500, body: '' }
  }
  const node = tronNode({ nodes: [{ url: 'http://node.example' }], transport })
  await node.broadcast(Buffer.from('00', 'hex'))
  await assert.rejects(node.head())
  assert.deepEqual(
    [...asked],
    [
      ['/wallet/broadcasthex', false],
      ['/wallet/getblock', true],
    ],
  )
})

test('a node that is asked too much is told from one that is out of order', async () => {
  const busy: (Exchange | object)[] = [
    { status: 429, body: '' },
    { status: 503, body: 'Service Unavailable' },
    { status: 403, body: '{"Error":"The key exceeds the frequency limit(15), suspended for 3s"}' },
    { Error: 'class java.lang.IllegalAccessException : lack of computing resources' },
  ]
  for (const answer of busy) {
    const asking = scripted({ busy: () => answer }).node.head()
    await assert.rejects(asking, (thrown) => thrown instanceof NodeBusy)
  }
  for (const answer of [
    { status: 403, body: 'Forbidden' },
    { status: 500, body: '' },
  ]) {
    const asking = scripted({ wrong: () => answer }).node.head()
    await assert.rejects(
      asking,
      (thrown) => thrown instanceof Outage && !(thrown instanceof NodeBusy),
    )
  }
  // Another may have time; when none has, it is the one with too much to do that is waited for.
  const second = scripted({ busy: () => busy[0]!, free: () => block() })
  assert.equal((await second.node.head()).number, 5)
  const neither = scripted({ busy: () => busy[0]!, away: () => 'silence' }).node.head()
  await assert.rejects(neither, (thrown) => thrown instanceof NodeBusy)
})

test('the node that answered last is asked first, one to be avoided last', async () => {
  assert.throws(() => tronNode({ nodes: [], transport: httpTransport }), TypeError)
  const { node, asked } = scripted({ one: SILENT, two: GOOD, three: GOOD })
  const asksOf = async (of: typeof node) => {
    asked.length = 0
    await of.head()
    return asked.map((one) => one.split('/')[0])
  }
  assert.deepEqual(await asksOf(node), ['one', 'two'])
  assert.deepEqual(await asksOf(node), ['two'])
  node.avoid(new Set(['two']))
  assert.deepEqual(await asksOf(node), ['three'])
  assert.deepEqual(await asksOf(node.only('two')), ['two'])
})

test('a bug in reading an answer is no reason to ask another node', async () => {
  const asked: string[] = []
  const node = tronNode({
    nodes: [{ url: 'http://one' }, { url: 'http://two' }],
    transport: async ({ url }) => {
      asked.push(new URL(url).host)
      return { status: 200, body: JSON.stringify(block()) }
    },
    observer: {
      begun: () => () => {},
      headSeen() {
        if (asked.length === 1) throw new TypeError('a bug')
      },
    },
  })
  await assert.rejects(node.head(), TypeError)
  assert.deepEqual(asked, ['one'])
})

test('a hundred heads after the first of a height the others are asked, if there are', async () => {
  const at = (number: number) => ({
    ...block({ blockID: number.toString(16).padStart(16, '0') + 'a'.repeat(48) }, { number }),
  })
  for (const ahead of [10, 11]) {
    const { node, asked } = scripted({ one: () => at(10), two: () => at(ahead) })
    for (let i = 0; i < 100; i++) assert.equal((await node.head()).number, 10)
    assert.equal(asked.length, 100)
    assert.equal((await node.head()).number, ahead)
    assert.equal(asked.length, 103)
    asked.length = 0
    await node.head()
    assert.deepEqual(asked, [`${ahead === 10 ? 'one' : 'two'}/wallet/getblock`])
  }
  const { node, asked } = scripted({ one: () => at(10) })
  for (let i = 0; i < 150; i++) await node.head()
  assert.equal(asked.length, 150)
})

test('a parameter without a value is none, and one may be negative', async () => {
  const chainParameter = [{ key: 'a', value: 5 }, { key: 'b' }, { key: 'c', value: -1 }]
  const { node } = scripted({ one: () => ({ chainParameter }) })
  assert.deepEqual(
    [...(await node.parameters())],
    [
      ['a', 5n],
      ['c', -1n],
    ],
  )
})

test('an account is what all say that answer, and nothing when none does', async () => {
  const { address } = person('bob')
  const everywhere = (scripts: Record<string, Script>) =>
    scripted(scripts).node.accountEverywhere(address)
  assert.equal((await everywhere({ one: SILENT, two: () => ({}) })).length, 1)
  assert.equal((await everywhere({ one: () => ({}), two: () => ({}) })).length, 2)
  await assert.rejects(everywhere({ one: SILENT, two: SILENT }), Outage)
})

const TX_ID = 'f'.repeat(64)

test('the fee and the reward of a transaction are of that one, and of no other', async () => {
  const told = (answer: object) => {
    const { node } = scripted({ one: () => answer })
    return Promise.all([node.feeOf(TX_ID), node.rewardOf(TX_ID)])
  }
  assert.deepEqual(await told({ id: TX_ID, fee: 7, withdraw_amount: 8 }), [7n, 8n])
  assert.deepEqual(await told({ id: TX_ID }), [0n, 0n])
  const other = { id: 'e'.repeat(64), fee: 7, withdraw_amount: 8 }
  assert.deepEqual(await told(other), [undefined, undefined])
  assert.deepEqual(await told({}), [undefined, undefined])
})

test('a transaction is where any node has it furthest, and nowhere when all say so', async () => {
  const solid: Script = (path) =>
    path.startsWith('/walletsolidity/') ? { id: TX_ID, blockNumber: 7 } : { txID: TX_ID }
  const head: Script = (path) => (path.startsWith('/walletsolidity/') ? {} : { txID: TX_ID })
  const absent: Script = () => ({})
  const where = (...scripts: Script[]) =>
    scripted(Object.fromEntries(scripts.map((one, i) => [`n${i}`, one]))).node.whereabouts(TX_ID)
  assert.deepEqual(await where(absent, head, solid), { found: 'solid', block_number: 7 })
  assert.deepEqual(await where(absent, head), { found: 'head' })
  assert.deepEqual(await where(head, SILENT), { found: 'head' })
  assert.deepEqual(await where(absent, absent), { found: 'nowhere' })
  await assert.rejects(where(absent, SILENT), Outage)
  for (const found of [{ raw_data: {} }, { txID: TX_ID }]) {
    const { node } = scripted({ one: (path) => (path.endsWith('getblock') ? block() : found) })
    assert.deepEqual(await node.solidTransaction(TX_ID), [{ found: true, solid_number: 5 }])
  }
})

test('two operators show a transaction as a success, or the only one does', async () => {
  const value = { to_address: TO, amount: 1n }
  const done = transaction(1, 'TransferContract', value)
  const failed = { ...done, ret: [{ contractRet: 'OUT_OF_ENERGY' }] }
  const { txID: tx_id } = done
  const show = (answer: object): Script => {
    const body = JSON.stringify(answer, (_, one) => (typeof one === 'bigint' ? Number(one) : one))
    return () => ({ status: 200, body })
  }
  const witnessed = (...scripts: Script[]) =>
    scripted(Object.fromEntries(scripts.map((one, i) => [`n${i}`, one]))).node.isWitnessed(tx_id)
  assert.equal(await witnessed(show(done), show(done), SILENT), true)
  assert.equal(await witnessed(show(done)), true)
  assert.equal(await witnessed(show(done), show(failed)), false)
  assert.equal(await witnessed(show(done), SILENT), false)
  assert.equal(await witnessed(show(failed)), false)
  assert.equal(await witnessed(show({ ...done, txID: 'e'.repeat(64) })), false)
  const nodes = [{ url: 'http://one/a' }, { url: 'http://one/b' }]
  const { node } = scripted({ one: show(done) }, nodes)
  assert.equal(await node.isWitnessed(tx_id), true, 'both are of one operator')
})

test('of a broadcast its code is told, and a message that says something', async () => {
  const answers = [{ result: true }, { result: true, message: '' }, { code: 'X', message: 5 }]
  const scripts = answers.map((one, i) => [`n${i}`, (() => one) as Script] as const)
  const { node } = scripted(Object.fromEntries(scripts))
  assert.deepEqual(
    (await node.broadcast(Uint8Array.of(1))).map(({ said }) => said),
    ['SUCCESS', 'SUCCESS', 'X'],
  )
})

test('a refusal of which no text can be made is no answer either: the next is asked', async () => {
  const transport: Transport = async ({ url }) => ({
    status: 200,
    body: url.includes('//odd') ? '{"Error":{"toString":1}}' : '{"num":5}',
  })
  const node = tronNode({ nodes: [{ url: 'http://odd' }, { url: 'http://plain' }], transport })
  assert.deepEqual(await node.nextMaintenance(), new Date(5))
})

test('a contract returns hexadecimal text, or the next node is asked', async () => {
  const transport: Transport = async ({ url }) => {
    const constant_result = [url.includes('//odd') ? 'no number' : '0A']
    return { status: 200, body: JSON.stringify({ result: { result: true }, constant_result }) }
  }
  const node = tronNode({ nodes: [{ url: 'http://odd' }, { url: 'http://plain' }], transport })
  const { address } = person('token')
  const call = { owner: address, contract: address, selector: 'decimals()', parameter: '' }
  assert.equal((await node.constantCall(call)).result, '0A')
})
