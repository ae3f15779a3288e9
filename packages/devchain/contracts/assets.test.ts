import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TronWeb } from 'tronweb'
import { audit, GENESIS_MS, person, Scene, TRX } from '../scene.ts'
import { type RunningDevchain, startDevchain } from '../serve.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')
const hex = (text: string) => Buffer.from(text).toString('hex')
const FIRST = hex('1000001')

const scene = () => new Scene({ alice: 10_000n * TRX, bob: 5_000n * TRX })

const coin = (on: Scene, more: object = {}) => ({
  name: hex('Coin'),
  abbr: hex('CN'),
  description: hex('no use'),
  url: hex('https://coin.invalid'),
  total_supply: 1000n,
  trx_num: 10,
  num: 2,
  precision: 3,
  start_time: BigInt(on.devchain.head.header.timestamp) + 3000n,
  end_time: BigInt(on.devchain.head.header.timestamp) + 600_000n,
  frozen_supply: [{ frozen_amount: 100n, frozen_days: 1n }],
  ...more,
})

const refusal = (on: Scene, who: typeof alice, type: string, message: object) =>
  String(on.send(who, type, { ...message }).message).replace('Contract validate error : ', '')

test('issuing a TRC10 token costs 1,024 TRX, gives an id, and the supply but the frozen', () => {
  const on = scene()
  const receipt = on.do(alice, 'AssetIssueContract', coin(on))
  assert.equal(receipt.assetIssueID, '1000001')
  assert.ok(Number(receipt.fee) >= 1_024_000_000)
  const account = on.account(alice)
  assert.deepEqual(account.assetV2, [{ key: '1000001', value: 900 }])
  assert.equal(account.asset_issued_name, hex('Coin'))
  assert.equal(account.asset_issued_ID, FIRST)
  assert.equal((account.frozen_supply as { frozen_balance: number }[])[0]!.frozen_balance, 100)
  const found = on.post('/wallet/getassetissuebyid', { value: '1000001' })
  assert.deepEqual(
    [found.id, found.name, found.total_supply, found.precision],
    ['1000001', hex('Coin'), 1000, 3],
  )
  assert.deepEqual(on.post('/wallet/getassetissuebyname', { value: hex('Coin') }), found)
  assert.equal(
    on.get(`/wallet/getassetissuebyname?value=Coin&visible=true`).owner_address,
    alice.address,
  )
  for (const name of ['getassetissuelist', 'getassetissuelistbyname', 'getassetissuebyaccount']) {
    assert.deepEqual(
      on.post(`/wallet/${name}`, { value: hex('Coin'), address: alice.hex }),
      { assetIssue: [found] },
      name,
    )
  }
  assert.deepEqual(on.post('/wallet/getpaginatedassetissuelist', { offset: 1, limit: 5 }), {})
  assert.deepEqual(on.post('/walletsolidity/getassetissuelist'), {}, 'not solid yet')
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
})

test('tokens that make no sense are refused in the words of the node', () => {
  const on = scene()
  const refused = (more: object) => refusal(on, alice, 'AssetIssueContract', coin(on, more))
  assert.equal(refused({ name: hex('two words') }), 'Invalid assetName')
  assert.equal(refused({ name: hex('TRX') }), "assetName can't be trx")
  assert.equal(refused({ precision: 7 }), 'precision cannot exceed 6')
  assert.equal(refused({ url: '' }), 'Invalid url')
  assert.equal(
    refused({ start_time: BigInt(GENESIS_MS) }),
    'Start time should be greater than HeadBlockTime',
  )
  assert.equal(refused({ end_time: 1n }), 'End time should be greater than start time')
  assert.equal(refused({ total_supply: 0n }), 'TotalSupply must greater than 0!')
  assert.equal(
    refused({ frozen_supply: [{ frozen_amount: 1001n, frozen_days: 1n }] }),
    'Frozen supply cannot exceed total supply',
  )
  assert.equal(
    refusal(on, carol, 'AssetIssueContract', coin(on)),
    `account [${carol.address}] does not exist`,
  )
  on.do(alice, 'AssetIssueContract', coin(on))
  assert.equal(refused({}), 'An account can only issue one asset')
})

test('tokens are sent, to new accounts too, and never more than there are', () => {
  const on = scene()
  const send = (amount: bigint, to = bob) => ({ asset_name: FIRST, to_address: to.hex, amount })
  // A broadcast meets the token that does not exist when its bandwidth is paid, a builder by its
  // own rules.
  const unknown = '<ByteString@0 size=7 contents="1000001">'
  assert.equal(
    refusal(on, alice, 'TransferAssetContract', send(1n)),
    `asset [${unknown}] does not exist`,
  )
  const built = on.post('/wallet/transferasset', { owner_address: alice.hex, ...send(1n) })
  assert.match(String(built.Error), /: No asset!$/)
  on.do(alice, 'AssetIssueContract', coin(on))
  assert.equal(
    refusal(on, bob, 'TransferAssetContract', send(1n, alice)),
    'assetBalance must be greater than 0.',
  )
  assert.equal(
    refusal(on, alice, 'TransferAssetContract', send(901n)),
    'assetBalance is not sufficient.',
  )
  assert.equal(
    refusal(on, alice, 'TransferAssetContract', send(1n, alice)),
    'Cannot transfer asset to yourself.',
  )
  on.do(alice, 'TransferAssetContract', send(10n))
  assert.deepEqual(on.account(bob).assetV2, [{ key: '1000001', value: 10 }])
  assert.equal(on.balance(bob), 5_000n * TRX)
  const born = on.do(alice, 'TransferAssetContract', send(5n, carol))
  assert.equal(born.fee, 1_100_000)
  assert.deepEqual(on.account(carol).assetV2, [{ key: '1000001', value: 5 }])
})

test('tokens are bought at their price while on sale; frozen ones come when days end', () => {
  const on = scene()
  on.do(alice, 'AssetIssueContract', coin(on))
  const buy = (amount: bigint) => ({ asset_name: FIRST, to_address: alice.hex, amount })
  assert.equal(
    refusal(on, bob, 'ParticipateAssetIssueContract', buy(4n)),
    'Can not process the exchange!',
  )
  assert.equal(
    refusal(on, bob, 'ParticipateAssetIssueContract', buy(5_000n)),
    'Asset balance is not enough !',
  )
  const before_sun = on.balance(alice)
  on.do(bob, 'ParticipateAssetIssueContract', buy(50n))
  assert.deepEqual(on.account(bob).assetV2, [{ key: '1000001', value: 10 }])
  assert.equal(on.balance(alice), before_sun + 50n)
  on.do(alice, 'UpdateAssetContract', {
    url: hex('new'),
    description: '',
    new_limit: 1n,
    new_public_limit: 2n,
  })
  const asset = on.post('/wallet/getassetissuebyid', { value: '1000001' })
  assert.deepEqual(
    [asset.url, asset.description, asset.free_asset_net_limit],
    [hex('new'), undefined, 1],
  )
  assert.equal(
    refusal(on, alice, 'UnfreezeAssetContract', {}),
    "It's not time to unfreeze asset supply",
  )
  on.wait(86_500)
  on.mine()
  assert.equal(
    refusal(on, bob, 'ParticipateAssetIssueContract', buy(50n)),
    'No longer valid period!',
  )
  on.do(alice, 'UnfreezeAssetContract', {})
  assert.deepEqual(on.account(alice).assetV2, [{ key: '1000001', value: 990 }])
  assert.equal(on.account(alice).frozen_supply, undefined)
})

let served: RunningDevchain
let tronweb: TronWeb

before(async () => {
  const genesis_balances = [alice, bob].map(({ address }) => ({ address, sun: 10_000n * TRX }))
  served = await startDevchain({ block_time_seconds: 0, genesis_balances })
  tronweb = new TronWeb({ fullHost: served.url, privateKey: alice.key })
})

after(() => served.close())

/** Signs, sends and mines. */
async function settle(transaction: unknown, key = alice.key): Promise<void> {
  const signed = await tronweb.trx.sign(transaction as Parameters<typeof tronweb.trx.sign>[0], key)
  const sent = await tronweb.trx.sendRawTransaction(
    signed as Parameters<typeof tronweb.trx.sendRawTransaction>[0],
  )
  assert.equal(sent.result, true, Buffer.from(String(sent.message), 'hex').toString())
  served.chain.mine()
}

test('tronweb issues, finds, sends, sells and changes a token', async () => {
  const { transactionBuilder: build, trx } = tronweb
  const now_ms = served.chain.head.header.timestamp
  const options = {
    name: 'Sample',
    abbreviation: 'SMP',
    description: 'of no use',
    url: 'https://sample.invalid',
    totalSupply: 100_000_000,
    trxRatio: 10,
    tokenRatio: 2,
    saleStart: Math.max(now_ms, Date.now()) + 3000,
    saleEnd: now_ms + 86_400_000,
    freeBandwidth: 100,
    freeBandwidthLimit: 1000,
    frozenAmount: 5,
    frozenDuration: 1,
    precision: 4,
    voteScore: 5,
  }
  await settle(await build.createToken(options, alice.address))
  const mine = await trx.getTokensIssuedByAddress(alice.address)
  const { id } = mine.Sample!
  assert.equal((await trx.getTokenByID(id)).abbr, 'SMP')
  assert.equal((await trx.getTokenFromID(id)).name, 'Sample')
  assert.equal((await trx.listTokens()).length, 1)
  await settle(await build.sendToken(bob.address, 7, id, alice.address))
  assert.deepEqual((await trx.getUnconfirmedAccount(bob.address)).assetV2, [{ key: id, value: 7 }])
  served.chain.mine(options.saleStart + 3000)
  await settle(await build.purchaseToken(alice.address, id, 20, bob.address), bob.key)
  assert.deepEqual((await trx.getUnconfirmedAccount(bob.address)).assetV2, [{ key: id, value: 11 }])
  const changes = {
    description: 'less use',
    url: 'https://other.invalid',
    freeBandwidth: 1,
    freeBandwidthLimit: 2,
  }
  await settle(await build.updateToken(changes, alice.address))
  assert.equal((await trx.getTokenByID(id)).url, 'https://other.invalid')
})
