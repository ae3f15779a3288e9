// The devchain as tronweb, unchanged, sees it over a socket.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TronWeb } from 'tronweb'
import { USDT } from './devchain.ts'
import { person, TRX } from './scene.ts'
import { type RunningDevchain, startDevchain } from './serve.ts'

const alice = person('alice')
const bob = person('bob')
const hot = person('hot')

let served: RunningDevchain
let tronweb: TronWeb

before(async () => {
  served = await startDevchain({
    block_time_seconds: 0,
    genesis_balances: [
      { address: alice.address, sun: 100_000n * TRX },
      { address: bob.address, sun: 100n * TRX },
    ],
  })
  tronweb = new TronWeb({ fullHost: served.url, privateKey: alice.key })
})

after(() => served.close())

const mine = (blocks = 1) => {
  for (let made = 0; made < blocks; made++) served.chain.mine()
}

/** The result of tronweb's broadcast, which its types do not fully describe. */
type BroadcastAnswer = {
  result?: boolean
  txid?: string
  code?: string
  message?: string
  transaction?: { txID: string }
}

async function signAndSend(
  transaction: unknown,
  key = alice.key,
  permission_id?: number,
): Promise<BroadcastAnswer> {
  const signed =
    permission_id === undefined
      ? await tronweb.trx.sign(transaction as Parameters<typeof tronweb.trx.sign>[0], key)
      : await tronweb.trx.multiSign(
          transaction as Parameters<typeof tronweb.trx.multiSign>[0],
          key,
          permission_id,
        )
  return (await tronweb.trx.sendRawTransaction(
    signed as Parameters<typeof tronweb.trx.sendRawTransaction>[0],
  )) as BroadcastAnswer
}

/** Sends, makes a block, and gives the receipt from the head. */
async function settle(transaction: unknown, key = alice.key, permission_id?: number) {
  const sent = await signAndSend(transaction, key, permission_id)
  assert.equal(sent.result, true, sent.message && Buffer.from(sent.message, 'hex').toString())
  mine()
  const receipt = await tronweb.trx.getUnconfirmedTransactionInfo(sent.txid!)
  assert.equal(receipt.id, sent.txid)
  return receipt
}

test('tronweb finds all parts of the node connected', async () => {
  assert.deepEqual(await tronweb.isConnected(), {
    fullNode: true,
    solidityNode: true,
    eventServer: true,
  })
})

test('sendTrx moves TRX, and its receipt says which bandwidth it took', async () => {
  const before_sun = await tronweb.trx.getUnconfirmedBalance(bob.address)
  const sent = (await tronweb.trx.sendTrx(bob.address, 2_000_000)) as BroadcastAnswer
  assert.equal(sent.result, true)
  mine()
  assert.equal(await tronweb.trx.getUnconfirmedBalance(bob.address), before_sun + 2_000_000)
  const receipt = await tronweb.trx.getUnconfirmedTransactionInfo(sent.txid!)
  assert.deepEqual(receipt.receipt, { net_usage: 267 })
  const found = await tronweb.trx.getTransaction(sent.txid!)
  assert.equal(found.ret?.[0]?.contractRet, 'SUCCESS')
})

test('a transaction is on the solid side only when 18 blocks stand on it', async () => {
  const sent = (await tronweb.trx.sendTrx(bob.address, 1_000_000)) as BroadcastAnswer
  mine(18)
  assert.deepEqual(await tronweb.trx.getTransactionInfo(sent.txid!), {})
  mine()
  assert.equal((await tronweb.trx.getTransactionInfo(sent.txid!)).id, sent.txid)
})

test('staking yields energy, and delegating hands it on and back', async () => {
  await settle(
    await tronweb.transactionBuilder.freezeBalanceV2(20_000_000_000, 'ENERGY', alice.address),
  )
  await settle(
    await tronweb.transactionBuilder.freezeBalanceV2(2_000_000_000, 'BANDWIDTH', alice.address),
  )
  const own = await tronweb.trx.getAccountResources(alice.address)
  assert.equal(own.EnergyLimit, 191_939)
  assert.ok(own.NetLimit > 3000)

  await settle(
    await tronweb.transactionBuilder.delegateResource(
      7_000_000_000,
      bob.address,
      'ENERGY',
      alice.address,
      true,
      1200,
    ),
  )
  assert.equal((await tronweb.trx.getAccountResources(bob.address)).EnergyLimit, 67_178)
  mine(19)
  const rows = await tronweb.trx.getDelegatedResourceV2(alice.address, bob.address)
  assert.equal(rows.delegatedResource[0]?.frozen_balance_for_energy, 7_000_000_000)
  assert.ok(rows.delegatedResource[0]!.expire_time_for_energy > 0)
  const partners = await tronweb.trx.getDelegatedResourceAccountIndexV2(alice.address)
  assert.deepEqual(partners.toAccounts, [bob.hex])
  const room = await tronweb.trx.getCanDelegatedMaxSize(alice.address, 'ENERGY')
  assert.equal(room.max_size, 13_000_000_000)

  const early = await signAndSend(
    await tronweb.transactionBuilder.undelegateResource(
      7_000_000_000,
      bob.address,
      'ENERGY',
      alice.address,
    ),
  )
  assert.equal(early.code, 'CONTRACT_VALIDATE_ERROR')
  served.chain.request('POST', '/devchain/advance', '{"seconds":3603}')
  await settle(
    await tronweb.transactionBuilder.undelegateResource(
      7_000_000_000,
      bob.address,
      'ENERGY',
      alice.address,
    ),
  )
  assert.equal((await tronweb.trx.getAccountResources(bob.address)).EnergyLimit, undefined)
})

test('unfreezing, cancelling and withdrawing work as tronweb sends them', async () => {
  await settle(
    await tronweb.transactionBuilder.unfreezeBalanceV2(1_000_000_000, 'ENERGY', alice.address),
  )
  const count = await tronweb.trx.getAvailableUnfreezeCount(alice.address, { confirmed: false })
  assert.equal(count.count, 31)
  const cancelled = await settle(
    await tronweb.transactionBuilder.cancelUnfreezeBalanceV2(alice.address),
  )
  assert.deepEqual(cancelled.cancel_unfreezeV2_amount, [
    { key: 'BANDWIDTH', value: 0 },
    { key: 'ENERGY', value: 1_000_000_000 },
    { key: 'TRON_POWER', value: 0 },
  ])
  await settle(
    await tronweb.transactionBuilder.unfreezeBalanceV2(3_000_000_000, 'ENERGY', alice.address),
  )
  served.chain.request('POST', '/devchain/advance', '{"seconds":1209603}')
  const withdrawn = await settle(
    await tronweb.transactionBuilder.withdrawExpireUnfreeze(alice.address),
  )
  assert.equal(withdrawn.withdraw_expire_amount, 3_000_000_000)
})

test('an account comes into being by createAccount, for 1.1 TRX', async () => {
  const newcomer = person('newcomer')
  assert.deepEqual(await tronweb.trx.getUnconfirmedAccount(newcomer.address), {})
  const receipt = await settle(
    await tronweb.transactionBuilder.createAccount(newcomer.address, bob.address),
    bob.key,
  )
  assert.equal(receipt.fee, 1_100_000)
  assert.equal((await tronweb.trx.getUnconfirmedAccount(newcomer.address)).address, newcomer.hex)
})

test('a hot key may delegate and reclaim, and nothing else, once the owner allows it', async () => {
  const operations = `${'00'.repeat(7)}06${'00'.repeat(24)}`
  const owner = {
    type: 0,
    permission_name: 'owner',
    threshold: 1,
    keys: [{ address: alice.hex, weight: 1 }],
  }
  const active = {
    type: 2,
    permission_name: 'delegator',
    threshold: 1,
    operations,
    keys: [{ address: hot.hex, weight: 1 }],
  }
  const receipt = await settle(
    await tronweb.transactionBuilder.updateAccountPermissions(alice.address, owner, undefined, [
      active,
    ]),
  )
  assert.ok(receipt.fee! >= 100_000_000)

  const permissionId = 2
  const delegate = await tronweb.transactionBuilder.delegateResource(
    2_000_000_000,
    bob.address,
    'ENERGY',
    alice.address,
    false,
    undefined,
    { permissionId },
  )
  await settle(delegate, hot.key, permissionId)
  await settle(
    await tronweb.transactionBuilder.undelegateResource(
      2_000_000_000,
      bob.address,
      'ENERGY',
      alice.address,
      {
        permissionId,
      },
    ),
    hot.key,
    permissionId,
  )

  // Without the id in the transaction, tronweb asks the node (getsignweight) whether the key may
  // sign.
  const asked = await tronweb.transactionBuilder.delegateResource(
    1_000_000_000,
    bob.address,
    'ENERGY',
    alice.address,
  )
  await settle(asked, hot.key, permissionId)
  const theft = await tronweb.transactionBuilder.sendTrx(hot.address, 1_000_000, alice.address)
  await assert.rejects(signAndSend(theft, hot.key, permissionId), /Permission denied/)
  const marked = await tronweb.transactionBuilder.sendTrx(hot.address, 1_000_000, alice.address, {
    permissionId,
  })
  const sent = await signAndSend(marked, hot.key, permissionId)
  assert.equal(sent.code, 'SIGERROR')
  assert.equal(tronweb.toUtf8(sent.message!), 'Validate signature error: Permission denied')
})

test('a USDT transfer, balance and energy estimate work through tronweb contracts', async () => {
  served.chain.request(
    'POST',
    '/devchain/mint',
    JSON.stringify({ address: alice.address, amount: 50_000_000 }),
  )
  mine()
  const transfer = [
    { type: 'address', value: bob.address },
    { type: 'uint256', value: 2_000_000 },
  ]
  const built = await tronweb.transactionBuilder.triggerSmartContract(
    USDT,
    'transfer(address,uint256)',
    { feeLimit: 100_000_000 },
    transfer,
    alice.address,
  )
  const receipt = await settle(built.transaction)
  assert.equal(receipt.receipt.result, 'SUCCESS')
  assert.equal(receipt.receipt.energy_usage_total, 130_285)
  const contract = await tronweb.contract().at(USDT)
  assert.equal(String(await contract.balanceOf!(bob.address).call()), '2000000')
  assert.equal(await contract.symbol!().call(), 'USDT')
  const estimate = await tronweb.transactionBuilder.estimateEnergy(
    USDT,
    'transfer(address,uint256)',
    {},
    transfer,
    alice.address,
  )
  assert.equal(estimate.energy_required, 64_285)
})

test("a token's events are found by contract, transaction and block, with names", async () => {
  const sent = await settle(
    (
      await tronweb.transactionBuilder.triggerSmartContract(
        USDT,
        'transfer(address,uint256)',
        { feeLimit: 100_000_000 },
        [
          { type: 'address', value: bob.address },
          { type: 'uint256', value: 5 },
        ],
        alice.address,
      )
    ).transaction,
  )
  const expected = { from: `0x${alice.hex.slice(2)}`, to: `0x${bob.hex.slice(2)}`, value: '5' }
  const byId = await tronweb.event.getEventsByTransactionID(sent.id)
  assert.deepEqual(byId.data![0]!.result, { 0: expected.from, 1: expected.to, 2: '5', ...expected })
  assert.equal(
    byId.data![0]!.event,
    'Transfer(address indexed from, address indexed to, uint256 value)',
  )
  const byContract = await tronweb.event.getEventsByContractAddress(USDT, {
    eventName: 'Transfer',
    limit: 1,
  })
  assert.equal(byContract.data!.length, 1)
  assert.equal(byContract.data![0]!.transaction_id, sent.id)
  assert.ok(byContract.meta!.fingerprint)
  const next = await tronweb.event.getEventsByContractAddress(USDT, {
    limit: 1,
    fingerprint: byContract.meta!.fingerprint!,
  })
  assert.notEqual(next.data![0]!.transaction_id, sent.id)
  assert.equal((await tronweb.event.getEventsByBlockNumber(sent.blockNumber)).data!.length, 1)
  assert.equal((await tronweb.event.getEventsOfLatestBlock()).data!.length, 1)
  assert.deepEqual(
    (await tronweb.event.getEventsByTransactionID(sent.id, { only_confirmed: true })).data,
    [],
  )
  await assert.rejects(tronweb.event.getEventsByBlockNumber('zz'))
})

test('witnesses, votes, names and ids work as tronweb sends them', async () => {
  const carol = person('carol')
  served.chain.fund(carol.address, 50_000n * TRX)
  mine()
  const { transactionBuilder: build, trx } = tronweb
  await settle(await build.updateAccount('Carol', carol.address), carol.key)
  await settle(
    await build.setAccountId(Buffer.from('carol-000001').toString('hex'), carol.address),
    carol.key,
  )
  await settle(await build.applyForSR(carol.address, 'https://carol.example'), carol.key)
  await settle(await build.freezeBalanceV2(100_000_000, 'ENERGY', carol.address), carol.key)
  await settle(await build.vote({ [carol.address]: 60 }, carol.address), carol.key)
  await settle(await build.updateBrokerage(10, carol.address), carol.key)
  const id = Buffer.from('carol-000001').toString('hex')
  const account = await trx.getUnconfirmedAccountById(id)
  assert.equal(account.address, carol.hex)
  assert.deepEqual(account.votes, [{ vote_address: carol.hex, vote_count: 60 }])
  assert.equal(await trx.getUnconfirmedBrokerage(carol.address), 10)
  assert.equal(await trx.getUnconfirmedReward(carol.address), 0)
  const ranked = await trx.getNowWitnessList({ confirmed: false, limit: 100 })
  assert.equal(ranked.find(({ address }) => address === carol.hex)!.voteCount, 60)
  assert.equal((await trx.listSuperRepresentatives()).length, 28)
  assert.ok((await trx.timeUntilNextVoteCycle()) > 0)
  mine(19)
  assert.equal((await trx.getAccountById(id)).address, carol.hex)
  const refused = await signAndSend(await build.withdrawBlockRewards(carol.address), carol.key)
  assert.equal(
    tronweb.toUtf8(refused.message!),
    'Contract validate error : witnessAccount does not have any reward',
  )
})

test('reads with 64-bit integers as text, and empty lists, are what tronweb expects', async () => {
  const { raw } = tronweb.trx
  assert.equal(
    (await raw.getUnconfirmedAccount(bob.address)).balance,
    String(await tronweb.trx.getUnconfirmedBalance(bob.address)),
  )
  assert.equal(typeof (await raw.getCurrentBlock()).block_header.raw_data.number, 'string')
  assert.equal(typeof (await raw.getAccountResources(alice.address)).TotalEnergyWeight, 'string')
  assert.match(String(await raw.timeUntilNextVoteCycle()), /^\d+$/)
  const { trx } = tronweb
  assert.deepEqual(await trx.listProposals(), [])
  assert.deepEqual(await trx.listExchanges(), [])
  assert.deepEqual(await trx.listNodes(), [])
  assert.deepEqual(await trx.listTokens(), [])
  assert.deepEqual(await trx.getTokensIssuedByAddress(alice.address), {})
  await assert.rejects(trx.getTokenByID('1000001'), /Token does not exist/)
  await assert.rejects(trx.getBlock(99_999_999), /Block not found/)
  assert.equal((await trx.getBlockRange(1, 5)).length, 5)
  assert.match(await trx.getEnergyPrices(), /^\d+:100$/)
  assert.ok((await trx.getNodeInfo()).block)
})

test('a transaction of three signers gathers its weight, and says who has signed', async () => {
  const [one, two, three] = [person('one'), person('two'), person('three')]
  served.chain.fund(one.address, 1000n * TRX)
  mine()
  const keys = [one, two, three].map(({ hex }) => ({ address: hex, weight: 1 }))
  const owner = { type: 0, permission_name: 'owner', threshold: 2, keys }
  const active = {
    type: 2,
    permission_name: 'all',
    threshold: 2,
    operations: `02${'00'.repeat(31)}`,
    keys,
  }
  const { transactionBuilder: build, trx } = tronweb
  await settle(
    await build.updateAccountPermissions(one.address, owner, undefined, [active]),
    one.key,
  )
  const unsigned = await build.sendTrx(bob.address, 1_000_000, one.address, { permissionId: 2 })
  const once = await trx.multiSign(unsigned, two.key, 2)
  const half = await trx.getSignWeight(once, 2)
  assert.equal(half.result.code, 'NOT_ENOUGH_PERMISSION')
  assert.equal(half.current_weight, 1)
  const twice = await trx.multiSign(once, three.key, 2)
  assert.deepEqual((await trx.getApprovedList(twice)).approved_list, [two.hex, three.hex])
  assert.equal((await trx.getSignWeight(twice, 2)).result.code, undefined)
  const sent = (await trx.sendRawTransaction(twice)) as BroadcastAnswer
  assert.equal(sent.result, true)
  mine()
  const { fee, receipt } = await trx.getUnconfirmedTransactionInfo(sent.txid!)
  assert.equal(fee! - (receipt.net_fee ?? 0), 1_000_000)
  const unmarked = await build.sendTrx(bob.address, 1_000_000, one.address)
  await assert.rejects(trx.multiSign(unmarked, person('four').key, 2), /has no permission to sign/)
})

test('a changed transaction gets the id that the node computes for it', async () => {
  const { transactionBuilder: build } = tronweb
  const sent = await build.sendTrx(bob.address, 1, alice.address)
  const longer = await build.extendExpiration(sent, 30)
  assert.notEqual(longer.txID, sent.txID)
  assert.equal(longer.raw_data.expiration, sent.raw_data.expiration + 30_000)
  const noted = await build.addUpdateData(sent, 'a note', 'utf8')
  const receipt = await settle(noted)
  assert.equal(receipt.fee, 1_000_000)
})

test('refusals come with the codes and hexadecimal messages that tronweb decodes', async () => {
  const poor = person('poor')
  const overspent = await signAndSend(
    await tronweb.transactionBuilder.sendTrx(bob.address, 90_000_000_000_000, alice.address),
  )
  assert.equal(overspent.code, 'CONTRACT_VALIDATE_ERROR')
  assert.equal(
    tronweb.toUtf8(overspent.message!),
    'Contract validate error : Validate TransferContract error, balance is not sufficient.',
  )
  const missing = await signAndSend(
    await tronweb.transactionBuilder.sendTrx(bob.address, 1, poor.address),
    poor.key,
  )
  assert.match(
    tronweb.toUtf8(missing.message!),
    /^Contract validate error : account \[T\w{33}\] does not exist$/,
  )
  const foreign = await tronweb.transactionBuilder.sendTrx(bob.address, 1, alice.address)
  await assert.rejects(tronweb.trx.sign(foreign, bob.key), /Private key does not match/)
})

test('a proposal for parameter number 0 is read as tronweb wrote it, then refused', async () => {
  const sent = await signAndSend(
    await tronweb.transactionBuilder.createProposal({ key: 0, value: 100_000 }, alice.address),
  )
  assert.equal(sent.code, 'CONTRACT_VALIDATE_ERROR')
})
