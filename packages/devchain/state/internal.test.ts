import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { addressToHex } from 'penstock-tron/address.ts'
import { selectorOf, wordOfAddress, wordOfInteger } from '../calls/abi.ts'
import { USDT } from '../devchain.ts'
import { type Answer, audit, type Person, person, Scene, TRX } from '../scene.ts'

const owner = person('owner')
const alice = person('alice')
const bob = person('bob')
const carol = person('carol')
const payer = person('payer contract')
const forwarder = person('forwarding contract')

type Internal = {
  hash: string
  caller_address: string
  transferTo_address: string
  callValueInfo: { callValue?: number; tokenId?: string }[]
  note: string
  rejected?: boolean
}

const hexOf = (text: string) => Buffer.from(text).toString('hex')

/** A chain with a contract that its owner commands, and that has 1000 TRX. */
function scene(options: { receivers?: Person[] } = {}): Scene {
  const on = new Scene({ owner: 100_000n * TRX, alice: 1000n * TRX, carol: TRX })
  on.post('/devchain/contract', { address: payer.address, owner: owner.address })
  on.post('/devchain/contract', {
    address: forwarder.address,
    owner: owner.address,
    receivers: (options.receivers ?? [alice]).map(({ address }) => address),
  })
  on.post('/devchain/fund', { address: payer.address, sun: 1000n * TRX })
  on.mine()
  return on
}

const asWord = (value: Person | bigint) =>
  typeof value === 'bigint' ? wordOfInteger(value) : wordOfAddress(value.hex)

type CallInput = { to?: Person; from?: Person; sun?: bigint; fee_limit?: bigint }

/** A call of the paying contract by its owner, and its receipt. */
function call(
  on: Scene,
  signature: string,
  values: (Person | bigint)[],
  asked: CallInput = {},
): Answer {
  const { to = payer, from = owner, sun = 0n, fee_limit = 1000n * TRX } = asked
  const data = signature === '' ? '' : selectorOf(signature) + values.map(asWord).join('')
  const message = { contract_address: to.hex, data, call_value: sun }
  return on.do(from, 'TriggerSmartContract', message, { fee_limit })
}

const internalOf = (receipt: Answer) => (receipt.internal_transactions ?? []) as Internal[]
const resultOf = ({ receipt }: Answer) => (receipt as { result: string }).result
const brief = (receipt: Answer) =>
  internalOf(receipt).map(({ note, callValueInfo, rejected }) => [
    Buffer.from(note, 'hex').toString(),
    callValueInfo[0]!.callValue ?? 0,
    rejected ?? false,
  ])

function assertBalanced(on: Scene): void {
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
}

test('TRX that a contract passes on arrive, and its receipt has them as a call', () => {
  const on = scene()
  const receipt = call(on, 'forward(address)', [bob], { from: alice, sun: 7n * TRX })
  assert.equal(resultOf(receipt), 'SUCCESS')
  assert.deepEqual(internalOf(receipt), [
    {
      hash: internalOf(receipt)[0]!.hash,
      caller_address: payer.hex,
      transferTo_address: bob.hex,
      callValueInfo: [{ callValue: 7_000_000 }],
      note: hexOf('call'),
    },
  ])
  assert.equal(on.balance(bob), 7n * TRX)
  assert.equal(on.balance(payer), 1000n * TRX)
  const { id } = receipt
  const visible = on.post('/wallet/gettransactioninfobyid', { value: id, visible: true })
  assert.equal(internalOf(visible)[0]!.caller_address, payer.address)
  assert.equal(internalOf(visible)[0]!.transferTo_address, bob.address)
  assert.equal(internalOf(visible)[0]!.note, hexOf('call'))
  assertBalanced(on)
})

test('the hash covers the parent, the receiver, the value and the place in the transaction', () => {
  const on = scene({ receivers: [alice, bob] })
  const receipt = call(on, 'pay(address,uint256)', [forwarder, 10n * TRX])
  const [outer, first, second] = internalOf(receipt)
  const hash = (parent: string, to: string, sun: bigint, place: number) => {
    const value = sun.toString(16).padStart(16, '0')
    const number = place.toString(16).padStart(16, '0')
    return bytesToHex(keccak_256(hexToBytes(parent + to + value + number)))
  }
  assert.equal(outer!.hash, hash(String(receipt.id), forwarder.hex, 10n * TRX, 1))
  assert.equal(first!.hash, hash(outer!.hash, alice.hex, 5n * TRX, 2))
  assert.equal(second!.hash, hash(outer!.hash, bob.hex, 5n * TRX, 3))
})

test('a forwarding contract divides what it is sent, also when a contract sends it', () => {
  const on = scene({ receivers: [bob, carol] })
  const direct = call(on, '', [], { to: forwarder, from: alice, sun: 3n * TRX })
  assert.deepEqual(brief(direct), [
    ['call', 1_500_000, false],
    ['call', 1_500_000, false],
  ])
  const nested = call(on, 'pay(address,uint256)', [forwarder, 4n * TRX])
  assert.deepEqual(brief(nested), [
    ['call', 4_000_000, false],
    ['call', 2_000_000, false],
    ['call', 2_000_000, false],
  ])
  assert.equal(on.balance(bob), 3_500_000n)
  assert.equal(on.balance(forwarder), 0n)
  assertBalanced(on)
})

test('a batch pays everybody, and not one of them when the last cannot be paid', () => {
  const on = scene()
  const lists = (sums: bigint[]) => [64n, 64n + 96n, 2n, bob, carol, BigInt(sums.length), ...sums]
  const paid = call(on, 'payMany(address[],uint256[])', lists([TRX, 2n * TRX]))
  assert.deepEqual(brief(paid), [
    ['call', 1_000_000, false],
    ['call', 2_000_000, false],
  ])
  assert.equal(on.balance(bob), TRX)
  const failed = call(on, 'payMany(address[],uint256[])', lists([TRX, 5000n * TRX]))
  assert.equal(resultOf(failed), 'REVERT')
  assert.deepEqual(brief(failed), [['call', 1_000_000, true]])
  assert.equal(on.balance(bob), TRX)
  assertBalanced(on)
})

test('a refused call stays as rejected and moves nothing, and the contract may go on', () => {
  const on = scene()
  const usdt = { ...payer, hex: addressToHex(USDT), address: USDT }
  const receipt = call(on, 'send(address,uint256)', [usdt, 5n * TRX])
  assert.equal(resultOf(receipt), 'SUCCESS')
  assert.deepEqual(receipt.contractResult, [wordOfInteger(0n)])
  assert.deepEqual(brief(receipt), [['call', 5_000_000, true]])
  assert.equal(on.balance(payer), 1000n * TRX)
  // Without the money there is no call at all.
  assert.deepEqual(brief(call(on, 'send(address,uint256)', [bob, 5000n * TRX])), [])
  const reverted = call(on, 'pay(address,uint256)', [usdt, 5n * TRX])
  assert.equal(resultOf(reverted), 'REVERT')
  assert.deepEqual(brief(reverted), [['call', 5_000_000, true]])
})

test('without energy nothing that was done remains, and all of it is rejected', () => {
  const on = scene({ receivers: [bob, carol] })
  const receipt = call(on, '', [], { to: forwarder, from: alice, sun: 3n * TRX, fee_limit: TRX })
  assert.equal(resultOf(receipt), 'OUT_OF_ENERGY')
  assert.ok(internalOf(receipt).every(({ rejected }) => rejected === true))
  assert.equal(on.post('/wallet/getaccount', { address: bob.hex }).address, undefined)
  assert.equal(on.balance(forwarder), 0n)
  assertBalanced(on)
})

test('a contract makes another with TRX, and leaves all to an heir', () => {
  const on = scene()
  const created = call(on, 'create(uint256)', [10n * TRX])
  assert.deepEqual(brief(created), [['create', 10_000_000, false]])
  const [child] = internalOf(created).map(({ transferTo_address }) => transferTo_address)
  assert.deepEqual(created.contractResult, [child!.slice(2).padStart(64, '0')])
  const found = on.post('/wallet/getaccount', { address: child })
  assert.deepEqual([found.type, found.balance], ['Contract', 10_000_000])
  const ended = call(on, 'destroy(address)', [bob])
  assert.deepEqual(brief(ended), [['suicide', 990_000_000, false]])
  assert.equal(on.balance(bob), 990n * TRX)
  assert.equal(on.balance(payer), 0n)
  assert.equal(on.account(payer).type, 'Contract')
  call(on, 'freeze(uint256,uint256)', [TRX, 1n], { sun: TRX })
  assert.equal(resultOf(call(on, 'destroy(address)', [bob])), 'REVERT')
  assertBalanced(on)
})

test('what a contract stakes and delegates looks like a payment, and no TRX moves', () => {
  const on = scene()
  const frozen = call(on, 'freeze(uint256,uint256)', [500n * TRX, 1n])
  assert.deepEqual(brief(frozen), [['freezeBalanceV2ForEnergy', 500_000_000, false]])
  const delegated = call(on, 'delegate(address,uint256,uint256)', [carol, 300n * TRX, 1n])
  assert.deepEqual(internalOf(delegated), [
    {
      hash: internalOf(delegated)[0]!.hash,
      caller_address: payer.hex,
      transferTo_address: carol.hex,
      callValueInfo: [{ callValue: 300_000_000 }],
      note: hexOf('delegateResourceOfEnergy'),
    },
  ])
  assert.equal(on.balance(carol), TRX)
  assert.ok(Number(on.resources(carol).EnergyLimit) > 2000)
  const back = call(on, 'undelegate(address,uint256,uint256)', [carol, 300n * TRX, 1n])
  assert.deepEqual(brief(back), [['unDelegateResourceOfEnergy', 300_000_000, false]])
  assert.equal(on.resources(carol).EnergyLimit, undefined)
  const thawed = call(on, 'unfreeze(uint256,uint256)', [100n * TRX, 1n])
  assert.deepEqual(brief(thawed), [['unfreezeBalanceV2ForEnergy', 100_000_000, false]])
  assertBalanced(on)
})

test('unfrozen TRX come back by withdrawal, by another unfreezing or by cancelling', () => {
  const on = scene()
  call(on, 'freeze(uint256,uint256)', [500n * TRX, 0n])
  call(on, 'unfreeze(uint256,uint256)', [100n * TRX, 0n])
  on.wait(15 * 86_400)
  assert.deepEqual(brief(call(on, 'withdraw()', [])), [
    ['withdrawExpireUnfreeze', 100_000_000, false],
  ])
  assert.deepEqual(brief(call(on, 'withdraw()', [])), [['withdrawExpireUnfreeze', 0, false]])
  call(on, 'unfreeze(uint256,uint256)', [50n * TRX, 0n])
  on.wait(15 * 86_400)
  assert.deepEqual(brief(call(on, 'unfreeze(uint256,uint256)', [20n * TRX, 0n])), [
    ['unfreezeBalanceV2ForBandwidth', 20_000_000, false],
    ['withdrawExpireUnfreezeWhileUnfreezing', 50_000_000, false],
  ])
  on.wait(15 * 86_400)
  assert.deepEqual(brief(call(on, 'cancel()', [])), [
    ['cancelAllUnfreezeV2', 0, false],
    ['withdrawExpireUnfreezeWhileCanceling', 20_000_000, false],
  ])
  assertBalanced(on)
})

test('an operation on stakes that the chain refuses is rejected, and the call succeeds', () => {
  const on = scene()
  const receipt = call(on, 'delegate(address,uint256,uint256)', [carol, 300n * TRX, 1n])
  assert.deepEqual([resultOf(receipt), receipt.contractResult], ['SUCCESS', [wordOfInteger(0n)]])
  assert.deepEqual(brief(receipt), [['delegateResourceOfEnergy', 300_000_000, true]])
  assert.equal(on.resources(carol).EnergyLimit, undefined)
  const odd = call(on, 'freeze(uint256,uint256)', [TRX, 9n])
  assert.deepEqual(brief(odd), [['freezeBalanceV2ForUnknownType', 1_000_000, true]])
  const huge = call(on, 'freeze(uint256,uint256)', [2n ** 200n, 1n])
  assert.equal(internalOf(huge)[0]!.rejected, true)
})

test('a node shows none of them, only those that move TRX, or all, as it is set', () => {
  const on = new Scene({ owner: 100_000n * TRX }, { internal: 'calls' })
  on.post('/devchain/contract', { address: payer.address, owner: owner.address })
  on.post('/devchain/fund', { address: payer.address, sun: 1000n * TRX })
  const frozen = call(on, 'freeze(uint256,uint256)', [5n * TRX, 1n])
  assert.deepEqual(brief(frozen), [])
  assert.deepEqual(brief(call(on, 'pay(address,uint256)', [bob, TRX])), [
    ['call', 1_000_000, false],
  ])
  assert.equal(on.post('/devchain/set_internal', { show: 'all' }).internal, 'all')
  const again = on.post('/wallet/gettransactioninfobyid', { value: frozen.id })
  assert.deepEqual(brief(again), [['freezeBalanceV2ForEnergy', 5_000_000, false]])
  on.post('/devchain/set_internal', { show: 'off' })
  const paid = call(on, 'pay(address,uint256)', [bob, TRX])
  assert.equal(paid.internal_transactions, undefined)
  assert.equal(on.balance(bob), 2n * TRX)
  const block = on.devchain.head.header.number
  const ofBlock = on.post('/wallet/gettransactioninfobyblocknum', { num: block })
  assert.doesNotMatch(JSON.stringify(ofBlock), /internal_transactions/)
  assert.match(String(on.post('/devchain/set_internal', { show: 'some' }).error), /off, calls, all/)
})

test('a TRC10 token that a contract sends is named beside TRX', () => {
  const on = scene()
  const now = on.devchain.head.header.timestamp
  const issued = on.do(owner, 'AssetIssueContract', {
    name: hexOf('Coin'),
    abbr: hexOf('C'),
    total_supply: 1000n,
    trx_num: 1n,
    num: 1n,
    start_time: BigInt(now + 60_000),
    end_time: BigInt(now + 120_000),
    url: hexOf('http://coin.invalid'),
  })
  const id = String(issued.assetIssueID)
  const sent = { to_address: payer.hex, asset_name: hexOf(id), amount: 100n }
  on.do(owner, 'TransferAssetContract', sent)
  const receipt = call(on, 'sendAsset(address,uint256,uint256)', [carol, 40n, BigInt(id)])
  assert.deepEqual(internalOf(receipt)[0]!.callValueInfo, [{}, { callValue: 40, tokenId: id }])
  const { assetV2 } = on.account(carol) as { assetV2: unknown }
  assert.deepEqual(assetV2, [{ key: id, value: 40 }])
})

test('only its owner commands a contract, and what is wrong with a new one is said', () => {
  const on = scene()
  const stolen = call(on, 'pay(address,uint256)', [bob, TRX], { from: alice })
  assert.equal(resultOf(stolen), 'REVERT')
  assert.equal(resultOf(call(on, 'nothing()', [])), 'REVERT')
  const error = (members: object) => String(on.post('/devchain/contract', { ...members }).error)
  const fresh = { address: bob.address, owner: owner.address }
  assert.match(error({ address: payer.address, owner: owner.address }), /contract at this address/)
  assert.match(error({ address: bob.address }), /owner must be a TRON address/)
  assert.match(error({ ...fresh, receivers: 'x' }), /receivers must be a list/)
  assert.match(error({ ...fresh, receivers: ['x'] }), /receivers must be a TRON address/)
})

test('a constant call tells its would-be internal transactions, and changes nothing', () => {
  const on = scene()
  const asked = {
    owner_address: owner.hex,
    contract_address: payer.hex,
    function_selector: 'pay(address,uint256)',
    parameter: wordOfAddress(bob.hex) + wordOfInteger(TRX),
  }
  const answer = on.post('/wallet/triggerconstantcontract', asked)
  assert.deepEqual(brief(answer), [['call', 1_000_000, false]])
  assert.equal(on.balance(payer), 1000n * TRX)
  const broke = { ...asked, owner_address: bob.hex, call_value: 5n * TRX }
  assert.deepEqual(
    (on.post('/wallet/triggerconstantcontract', broke).result as Answer).result,
    true,
  )
  const { abi } = on.post('/wallet/getcontract', { value: payer.hex }) as { abi: Answer }
  assert.match(JSON.stringify(abi), /"payMany","type":"Function","stateMutability":"Payable"/)
})

test('contracts that send each other everything end when the energy does', () => {
  const on = scene()
  const ping = person('ping contract')
  const pong = person('pong contract')
  const made = (one: Person, others: Person[]) =>
    on.post('/devchain/contract', {
      address: one.address,
      owner: owner.address,
      receivers: others.map(({ address }) => address),
    })
  made(ping, [pong, pong])
  made(pong, [ping, ping])
  const receipt = call(on, '', [], {
    to: ping,
    from: owner,
    sun: 1000n * TRX,
    fee_limit: 50n * TRX,
  })
  assert.match(resultOf(receipt), /OUT_OF_ENERGY|REVERT/)
  assert.equal(on.balance(ping) + on.balance(pong), 0n)
  assertBalanced(on)
})
