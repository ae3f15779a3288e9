import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { USDT } from '../devchain.ts'
import { person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const bob = person('bob')

const scene = (sun = 10_000n * TRX) => new Scene({ alice: sun, bob: 100n * TRX })

test('an address that is not activated is an empty object, on both sides', () => {
  const on = scene()
  const address = person('nobody').hex
  for (const path of [
    '/wallet/getaccount',
    '/wallet/getaccountresource',
    '/walletsolidity/getaccount',
  ]) {
    assert.deepEqual(on.post(path, { address }), {})
  }
})

test('with visible=true addresses are text both ways, with false they are hexadecimal', () => {
  const on = scene()
  const seen = on.post('/wallet/getaccount', { address: alice.address, visible: true })
  assert.equal(seen.address, alice.address)
  assert.deepEqual((seen.owner_permission as { keys: unknown }).keys, [
    { address: alice.address, weight: 1 },
  ])
  assert.equal(on.get(`/wallet/getaccount?address=${alice.hex}`).address, alice.hex)
  assert.equal(
    on.get(`/wallet/getaccount?address=${alice.address}&visible=true`).address,
    alice.address,
  )
})

test('a default is left out, an enum is a name, and three kinds of stake are always there', () => {
  const on = scene()
  const account = on.account(bob)
  assert.equal(account.net_usage, undefined)
  assert.equal(account.type, undefined)
  assert.deepEqual(account.frozenV2, [{}, { type: 'ENERGY' }, { type: 'TRON_POWER' }])
  assert.equal(account.net_window_size, 28_800_000)
  assert.equal(account.net_window_optimized, true)
  const parameters = on.get('/wallet/getchainparameters').chainParameter as {
    key: string
    value?: number
  }[]
  assert.deepEqual(
    parameters.find(({ key }) => key === 'getAllowTvmFreeze'),
    { key: 'getAllowTvmFreeze' },
  )
  assert.equal(parameters.find(({ key }) => key === 'getEnergyFee')!.value, 100)
  assert.equal(parameters.length, 76)
})

test('sums beyond 2^53 are printed and read to the last digit', () => {
  const on = scene(9_007_199_254_740_993n)
  const { body } = on.devchain.request('GET', `/wallet/getaccount?address=${alice.hex}`, '')
  assert.ok(body.includes('"balance":9007199254740993,'))
  const addresses = `"owner_address":"${alice.hex}","to_address":"${bob.hex}"`
  const asked = `{${addresses},"amount":9007199254740993}`
  const built = on.devchain.request('POST', '/wallet/createtransaction', asked).body
  assert.ok(built.includes('"amount":9007199254740993'), built)
})

test('values of kinds that no field has are refused in the form of the node too', () => {
  const on = scene()
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const status = (path: string, body: string) =>
    on.devchain.request('POST', `/wallet/${path}`, body).status
  for (const odd of [deep, '[123456789012345678901]', '{"toString":1}', `"${'['.repeat(1000)}"`]) {
    assert.equal(status('getaccount', `{"address":${odd}}`), 200)
    assert.equal(status('getblockbynum', `{"num":${odd}}`), 200)
    assert.equal(
      status('freezebalancev2', `{"owner_address":"${alice.hex}","resource":${odd}}`),
      200,
    )
    assert.equal(status('broadcasttransaction', `{"raw_data":{"contract":[{"type":${odd}}]}}`), 200)
    assert.equal(status('triggerconstantcontract', `{"owner_address":${odd}}`), 200)
  }
  const { Error: deeply } = on.post('/wallet/getaccount', {
    address: JSON.parse('['.repeat(300) + ']'.repeat(300)),
  })
  assert.equal(deeply, 'class com.alibaba.fastjson.JSONException : nested too deeply')
  const { Error: quoted } = on.post('/wallet/getaccount', { address: '['.repeat(1000) })
  assert.match(String(quoted), /INVALID hex String/)
})

test('a permission that is no id of one is the owner permission', () => {
  const on = scene()
  const asked = { owner_address: alice.hex, to_address: bob.hex, amount: 1, Permission_id: -3 }
  const { raw_data } = on.post('/wallet/createtransaction', asked) as {
    raw_data: { contract: object[] }
  }
  assert.ok(!Object.hasOwn(raw_data.contract[0]!, 'Permission_id'))
})

test('malformed requests get the exceptions of the node, with status 200', () => {
  const on = scene()
  const said = (path: string, body: string) => {
    const answer = on.devchain.request('POST', path, body)
    assert.equal(answer.status, 200)
    return String((JSON.parse(answer.body) as { Error: string }).Error)
  }
  assert.match(
    said('/wallet/getaccount', '{"address":"zz"}'),
    /^class org\.tron\.core\.services\.http\.JsonFormat\$ParseException : .*INVALID hex String$/,
  )
  assert.match(said('/wallet/getaccount', '{"address":"Tnot","visible":true}'), /ParseException/)
  assert.match(
    said('/wallet/getaccount', '{"address"'),
    /^class com\.alibaba\.fastjson\.JSONException : /,
  )
  assert.match(said('/wallet/getblockbynum', '{"num":"x"}'), /NumberFormatException/)
  assert.match(
    said('/wallet/createtransaction', `{"owner_address":"${alice.hex}","amount":"5"}`),
    /ParseException/,
  )
  assert.equal(
    said(
      '/wallet/createtransaction',
      `{"owner_address":"${alice.hex}","to_address":"${alice.hex}","amount":5}`,
    ),
    'class org.tron.core.exception.ContractValidateException : Cannot transfer TRX to yourself.',
  )
})

test('a form is read like a query, and hexadecimal text may have 0x in front', () => {
  const on = scene()
  const form = 'application/x-www-form-urlencoded'
  const post = (body: string) => on.devchain.request('POST', '/wallet/getaccount', body, form).body
  const asked = on.get(`/wallet/getaccount?address=${alice.address}&visible=true`)
  assert.deepEqual(JSON.parse(post(`address=${alice.address}&visible=true`)), asked)
  assert.deepEqual(JSON.parse(post(`{"address":"${alice.address}","visible":true}`)), asked)
  assert.deepEqual(on.post('/wallet/getaccount', { address: `0x${alice.hex}` }), on.account(alice))
  const { id } = on.devchain.head
  assert.equal(on.post('/wallet/getblockbyid', { value: `0x${id}` }).blockID, id)
})

test('an unknown path is 404, other methods are 405, and a GET that would change is empty', () => {
  const on = scene()
  const status = (method: string, path: string, body = '') =>
    on.devchain.request(method, path, body).status
  assert.equal(status('GET', '/wallet/nosuch'), 404)
  assert.equal(status('GET', '/'), 404)
  for (const name of [
    'getaccountresource',
    'getchainparameters',
    'broadcasthex',
    'createtransaction',
  ]) {
    assert.equal(status('POST', `/walletsolidity/${name}`), 404, name)
    assert.notEqual(status('POST', `/wallet/${name}`), 404, name)
  }
  assert.equal(status('DELETE', '/wallet/getnowblock'), 405)
  assert.deepEqual(on.devchain.request('GET', '/wallet/broadcasthex', ''), {
    status: 200,
    body: '',
  })
  assert.equal(status('POST', '/wallet/getaccount', ' '.repeat(4 * 1024 * 1024 + 1)), 413)
})

test('blocks are found by number, id, range and newest, with or without transactions', () => {
  const on = scene()
  on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
  const { id, header } = on.devchain.head
  const block = on.post('/wallet/getnowblock')
  assert.equal(block.blockID, id)
  assert.equal((block.transactions as unknown[]).length, 1)
  assert.deepEqual(on.post('/wallet/getblockbynum', { num: header.number }), block)
  assert.deepEqual(on.post('/wallet/getblockbyid', { value: id }), block)
  assert.deepEqual(
    on.post('/wallet/getblock', { id_or_num: String(header.number), detail: true }),
    block,
  )
  assert.deepEqual(on.post('/wallet/getblock', { id_or_num: id, detail: true }), block)
  const { transactions: _, ...without } = block
  assert.deepEqual(on.post('/wallet/getblock'), without)
  assert.deepEqual(on.post('/wallet/getblockbylatestnum', { num: 2 }), {
    block: [on.post('/wallet/getblockbynum', { num: header.number - 1 }), block],
  })
  const range = (startNum: number, endNum: number) =>
    (on.post('/wallet/getblockbylimitnext', { startNum, endNum }).block as unknown[] | undefined)
      ?.length
  assert.equal(range(1, 4), 3)
  assert.equal(range(4, 4), undefined)
  assert.equal(range(0, 101), undefined)
  assert.deepEqual(on.post('/wallet/getblockbynum', { num: header.number + 1 }), {})
  assert.deepEqual(on.post('/walletsolidity/getblockbynum', { num: header.number }), {})
  assert.deepEqual(on.post('/wallet/gettransactioncountbyblocknum', { num: header.number }), {
    count: 1,
  })
})

test('a block has its transactions in the shape of the node', () => {
  const on = scene()
  const { txid } = on.send(
    alice,
    'TransferContract',
    { to_address: bob.hex, amount: 7n },
    { data: 'cafe' },
  )
  on.mine()
  const block = on.post('/wallet/getnowblock', { visible: true }) as {
    transactions: {
      txID: string
      raw_data: { contract: unknown; data: string }
      signature: string[]
      ret: unknown
    }[]
  }
  const [transaction] = block.transactions
  assert.equal(transaction!.txID, txid)
  assert.deepEqual(transaction!.ret, [{ contractRet: 'SUCCESS' }])
  assert.equal(transaction!.raw_data.data, 'cafe')
  assert.match(transaction!.signature[0]!, /^[0-9a-f]{130}$/)
  assert.deepEqual(transaction!.raw_data.contract, [
    {
      parameter: {
        value: { owner_address: alice.address, to_address: bob.address, amount: 7 },
        type_url: 'type.googleapis.com/protocol.TransferContract',
      },
      type: 'TransferContract',
    },
  ])
})

test('receipts are found by transaction and by block, only on the side that has the block', () => {
  const on = scene()
  const receipt = on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
  const { number, timestamp } = on.devchain.head.header
  assert.deepEqual(receipt, {
    id: receipt.id,
    blockNumber: number,
    blockTimeStamp: timestamp,
    contractResult: [''],
    receipt: { net_usage: 265 },
  })
  assert.deepEqual(on.post('/wallet/gettransactioninfobyblocknum', { num: number }), [receipt])
  assert.deepEqual(on.post('/wallet/gettransactioninfobyblocknum', { num: number - 1 }), [])
  assert.deepEqual(on.post('/wallet/gettransactioninfobyblocknum', { num: 0 }), {})
  assert.deepEqual(on.post('/walletsolidity/gettransactioninfobyid', { value: receipt.id }), {})
  on.mine(18)
  assert.deepEqual(
    on.post('/walletsolidity/gettransactioninfobyid', { value: receipt.id }),
    receipt,
  )
})

test('a posted transaction is rebuilt from its raw data: id and bytes are not looked at', () => {
  const on = scene()
  const built = on.post('/wallet/createtransaction', {
    owner_address: alice.address,
    to_address: bob.address,
    amount: 5,
    visible: true,
  })
  const unsigned = on.post('/wallet/broadcasttransaction', {
    ...built,
    txID: 'ff'.repeat(32),
    raw_data_hex: '00',
  })
  assert.equal(unsigned.code, 'SIGERROR')
  assert.equal(unsigned.txid, built.txID)
  assert.equal(unsigned.message, 'Validate signature error: miss sig or contract')
  const unknown = on.post('/wallet/broadcasttransaction', {
    raw_data: { contract: [{ type: 'Nothing' }] },
  })
  assert.equal(unknown.code, 'CONTRACT_VALIDATE_ERROR')
})

test('a built transaction refers to the solid block, lives a minute, and is unique', () => {
  const on = scene()
  const build = () =>
    on.post('/wallet/createtransaction', {
      owner_address: alice.hex,
      to_address: bob.hex,
      amount: 5,
    })
  const [first, second] = [build(), build()]
  const raw = first.raw_data as {
    ref_block_hash: string
    ref_block_bytes: string
    expiration: number
  }
  assert.equal(raw.ref_block_hash, on.devchain.solid.id.slice(16, 32))
  assert.equal(raw.ref_block_bytes, on.devchain.solid.id.slice(12, 16))
  assert.equal(raw.expiration, on.devchain.head.header.timestamp + 60_000)
  assert.notEqual(first.txID, second.txID)
})

test('every builder gives a transaction of its contract, with numbers or names for enums', () => {
  const on = scene(20_000n * TRX)
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX, resource: 'ENERGY' })
  on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 1n, resource: 'ENERGY' })
  on.do(alice, 'DelegateResourceContract', {
    receiver_address: bob.hex,
    balance: 5n * TRX,
    resource: 'ENERGY',
  })
  const owner_address = alice.hex
  const keys = [{ address: alice.hex, weight: 1 }]
  const requests: Record<string, object> = {
    createtransaction: { to_address: bob.hex, amount: 1, extra_data: 'cafe', Permission_id: 2 },
    createaccount: { account_address: person('new').hex },
    freezebalancev2: { frozen_balance: 1_000_000, resource: 1 },
    unfreezebalancev2: { unfreeze_balance: 1, resource: 'ENERGY' },
    cancelallunfreezev2: {},
    delegateresource: {
      receiver_address: bob.hex,
      balance: 1_000_000,
      resource: 'ENERGY',
      lock: true,
      lock_period: 5,
    },
    undelegateresource: { receiver_address: bob.hex, balance: 1, resource: 1 },
    updateaccount: { account_name: 'cafe' },
    setaccountid: { account_id: '6162636465666768' },
    createwitness: { url: 'cafe' },
    votewitnessaccount: {
      votes: [{ vote_address: on.devchain.chain.witnesses[0]!.address, vote_count: 1 }],
    },
    accountpermissionupdate: {
      owner: { type: 0, permission_name: 'owner', threshold: 1, keys },
      actives: [
        { type: 2, permission_name: 'a', threshold: 1, operations: `02${'00'.repeat(31)}`, keys },
      ],
    },
  }
  for (const [name, request] of Object.entries(requests)) {
    const built = on.post(`/wallet/${name}`, { owner_address, ...request })
    assert.match(String(built.txID), /^[0-9a-f]{64}$/, `${name}: ${JSON.stringify(built)}`)
    assert.equal(built.visible, false)
  }
  assert.match(
    String(on.post('/wallet/withdrawexpireunfreeze', { owner_address }).Error),
    /no unFreeze balance/,
  )
})

test('what the chain does not execute is refused where it is built and broadcast', () => {
  const on = scene()
  const exchange = {
    first_token_id: '5f',
    second_token_id: '31',
    first_token_balance: 1n,
    second_token_balance: 1n,
  }
  assert.equal(
    on.post('/wallet/exchangecreate', { owner_address: alice.hex, ...exchange }).Error,
    'class org.tron.core.exception.ContractValidateException : ' +
      'ExchangeCreateContract is not executed by this chain',
  )
  const sent = on.send(alice, 'ExchangeCreateContract', exchange)
  assert.equal(sent.code, 'CONTRACT_VALIDATE_ERROR')
  assert.equal(
    sent.message,
    'Contract validate error : ExchangeCreateContract is not executed by this chain',
  )
  const old = on.send(alice, 'UnfreezeBalanceContract', { resource: 'ENERGY' })
  assert.equal(old.message, 'Contract validate error : no frozenBalance(Energy)')
  const words = (type: string, message: object) =>
    String(on.send(alice, type, { ...message }).message).slice(26)
  assert.equal(words('ExchangeTransactionContract', { exchange_id: 3n }), 'Exchange[3] not exists')
  assert.equal(
    words('ProposalApproveContract', { proposal_id: 1n }),
    `Witness[${alice.hex}] not exists`,
  )
  assert.equal(words('ProposalDeleteContract', { proposal_id: 1n }), 'Proposal[1] not exists')
  assert.equal(words('ClearABIContract', { contract_address: bob.hex }), 'Contract not exists')
  const token = {
    contract_address: addressToHex(USDT),
    consume_user_resource_percent: 5n,
    origin_energy_limit: 1n,
  }
  const stranger = `Account[${alice.hex}] is not the owner of the contract`
  assert.equal(words('UpdateSettingContract', token), stranger)
  assert.equal(words('UpdateEnergyLimitContract', token), stranger)
  assert.equal(
    words('UpdateEnergyLimitContract', { ...token, origin_energy_limit: 0n }),
    'origin energy limit must be > 0',
  )
  const built = {
    raw_data: { contract: [{ type: 'NoSuchContract', parameter: { value: {} } }] },
    signature: ['00'],
  }
  const answer = on.post('/wallet/broadcasttransaction', built)
  assert.equal(answer.code, 'CONTRACT_VALIDATE_ERROR')
  assert.equal(
    Buffer.from(String(answer.message), 'hex').toString(),
    'Contract validate error : No contract!',
  )
})

test('lists of what the chain does not have are empty objects', () => {
  const on = scene()
  const names = [
    'listproposals',
    'listexchanges',
    'listnodes',
    'getassetissuelist',
    'getassetissuebyid',
  ]
  for (const name of [
    ...names,
    'getproposalbyid',
    'getexchangebyid',
    'getmarketpairlist',
    'getdelegatedresource',
  ]) {
    assert.deepEqual(on.post(`/wallet/${name}`, { id: 1, value: '1000001' }), {}, name)
    assert.deepEqual(on.get(`/wallet/${name}`), {}, name)
  }
  assert.deepEqual(on.get('/net/listnodes'), {})
  assert.equal(on.get('/monitor/getnodeinfo').block, on.get('/wallet/getnodeinfo').block)
  assert.equal(on.get('/wallet/getburntrx').burnTrxAmount, 0)
})

test('a GET with int64_as_string=true prints 64-bit integers as text, 32-bit ones not', () => {
  const on = scene(9_007_199_254_740_993n)
  const account = on.get(`/wallet/getaccount?address=${alice.hex}&int64_as_string=true`)
  assert.equal(account.balance, '9007199254740993')
  const [permission] = account.active_permission as { id: number; threshold: string }[]
  assert.deepEqual([permission!.id, permission!.threshold], [2, '1'])
  const block = on.get('/wallet/getblock?detail=true&int64_as_string=true').block_header as {
    raw_data: object
  }
  const { number, version } = block.raw_data as { number: string; version: number }
  assert.deepEqual([number, version], [String(on.devchain.head.header.number), 34])
  const numbers = on.get('/wallet/getnowblock?int64_as_string=true').block_header as {
    raw_data: { number: number }
  }
  assert.equal(numbers.raw_data.number, on.devchain.head.header.number)
  assert.deepEqual(on.get('/wallet/getburntrx?int64_as_string=true'), { burnTrxAmount: '0' })
  const posted = on.post('/wallet/getaccount', { address: bob.hex, int64_as_string: true })
  assert.equal(posted.balance, 100_000_000)
})

test('validateaddress knows the three forms and names what is wrong', () => {
  const on = scene()
  const judge = (address: string) => on.post('/wallet/validateaddress', { address })
  assert.deepEqual(judge(alice.address), { result: true, message: 'Base58check format' })
  assert.deepEqual(judge(alice.hex), { result: true, message: 'Hex string format' })
  const base64 = Buffer.from(alice.hex, 'hex').toString('base64')
  assert.deepEqual(judge(base64), { result: true, message: 'Base64 format' })
  assert.deepEqual(judge('T'), { result: false, message: 'Length error' })
  assert.deepEqual(judge(`42${alice.hex.slice(2)}`), { result: false, message: 'Invalid address' })
})

test('prices, witnesses, the node and the next maintenance are there for clients that ask', () => {
  const on = scene()
  assert.deepEqual(on.get('/wallet/getenergyprices'), { prices: '0:100' })
  assert.deepEqual(on.get('/wallet/getbandwidthprices'), { prices: '0:1000' })
  assert.deepEqual(on.get('/wallet/getmemofee'), { prices: '0:1000000' })
  assert.equal((on.get('/wallet/listwitnesses').witnesses as unknown[]).length, 27)
  const page = on.post('/walletsolidity/getpaginatednowwitnesslist', { offset: 1, limit: 2 })
  const [witness] = page.witnesses as {
    voteCount: number
    totalProduced: number
    latestBlockNum: number
  }[]
  assert.ok(witness!.voteCount > 0 && witness!.totalProduced > 0 && witness!.latestBlockNum > 0)
  assert.match(String(on.get('/wallet/getnodeinfo').block), /^Num:\d+,ID:[0-9a-f]{64}$/)
  assert.ok(
    Number(on.get('/wallet/getnextmaintenancetime').num) > on.devchain.head.header.timestamp,
  )
  assert.deepEqual(on.get('/wallet/listproposals'), {})
  assert.deepEqual(on.get('/wallet/getBrokerage'), { brokerage: 20 })
  const page404 = on.devchain.request('GET', '/wallet/<x>', '')
  assert.match(page404.content_type!, /^text\/html/)
  assert.match(page404.body, /HTTP ERROR 404 Not Found.*&#60;x&#62;/)
})
