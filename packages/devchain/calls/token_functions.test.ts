import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { USDT } from '../devchain.ts'
import { type Answer, type Person, person, Scene, TRX } from '../scene.ts'
import { selectorOf, topicOf, wordOfAddress, wordOfInteger } from './abi.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')
const usdt = addressToHex(USDT)
const USD = 1_000_000n

type TokenScene = { on: Scene; owner: Person }

/** Alice has 1000 USDT; the owner of USDT can pay for calls. */
function scene(): TokenScene {
  const on = new Scene({ alice: 100_000n * TRX, bob: 1000n * TRX })
  const key = on.devchain.usdt_owner_key
  const owner = { key, address: addressOf(key), hex: addressToHex(addressOf(key)) }
  on.devchain.fund(owner.address, 10_000n * TRX)
  on.post('/devchain/mint', { address: alice.address, amount: 1000n * USD })
  on.mine()
  return { on, owner }
}

const word = (value: Person | bigint) =>
  typeof value === 'bigint' ? wordOfInteger(value) : wordOfAddress(value.hex)

function call({ on }: TokenScene, from: Person, signature: string, ...values: (Person | bigint)[]) {
  const data = selectorOf(signature) + values.map(word).join('')
  const message = { contract_address: usdt, data }
  const receipt = on.do(from, 'TriggerSmartContract', message, { fee_limit: 100n * TRX })
  const { result, energy_usage_total } = receipt.receipt as Answer
  const logs = (receipt.log ?? []) as { topics: string[]; data?: string }[]
  return {
    result,
    energy: energy_usage_total,
    logs,
    output: (receipt.contractResult as string[])[0],
  }
}

function ask(
  { on }: TokenScene,
  signature: string,
  ...values: (Person | bigint)[]
): bigint | undefined {
  const parameter = values.map(word).join('')
  const asked = { owner_address: alice.hex, contract_address: usdt, parameter }
  const answer = on.post('/wallet/triggerconstantcontract', {
    ...asked,
    function_selector: signature,
  })
  const [output] = answer.constant_result as [string]
  return output === '' ? undefined : BigInt(`0x${output}`)
}

const balance = (world: TokenScene, who: Person) => ask(world, 'balanceOf(address)', who)

test('transfer succeeds and returns false, transferFrom and approve return true', () => {
  const world = scene()
  const sent = call(world, alice, 'transfer(address,uint256)', carol, 5n * USD)
  assert.deepEqual([sent.result, sent.output], ['SUCCESS', wordOfInteger(0n)])
  assert.equal(balance(world, carol), 5n * USD)
  assert.equal(
    call(world, alice, 'approve(address,uint256)', bob, 9n * USD).output,
    wordOfInteger(1n),
  )
  const from = call(world, bob, 'transferFrom(address,address,uint256)', alice, carol, USD)
  assert.equal(from.output, wordOfInteger(1n))
  assert.equal(balance(world, carol), 6n * USD)
})

test('a transfer of more than there is costs 8,000 energy, and one to nobody is refused', () => {
  const world = scene()
  const poor = call(world, bob, 'transfer(address,uint256)', alice, USD)
  assert.deepEqual([poor.result, poor.energy], ['REVERT', 8000])
  const nobody = { ...bob, hex: `41${'00'.repeat(20)}` }
  assert.equal(call(world, alice, 'transfer(address,uint256)', nobody, USD).result, 'REVERT')
})

test("the contract has the real one's 33 functions, and events with the address indexed", () => {
  const { on } = scene()
  type Entry = { name: string; type: string; inputs?: { name: string; indexed?: boolean }[] }
  const { entrys } = on.post('/wallet/getcontract', { value: usdt }).abi as { entrys: Entry[] }
  const functions = entrys.filter(({ type }) => type === 'Function').map(({ name }) => name)
  assert.equal(new Set(functions).size, 33)
  assert.ok(!functions.includes('getOwner'))
  for (const name of ['AddedBlackList', 'RemovedBlackList', 'DestroyedBlackFunds']) {
    const event = entrys.find((one) => one.name === name)!
    assert.equal(event.inputs![0]!.indexed, true, name)
  }
})

test('freeze events have the address as a topic, and the event service reads it', () => {
  const world = scene()
  const { on, owner } = world
  call(world, owner, 'addBlackList(address)', alice)
  const { logs } = call(world, owner, 'destroyBlackFunds(address)', alice)
  assert.deepEqual(logs[0]!.topics, [
    topicOf('DestroyedBlackFunds(address,uint256)'),
    wordOfAddress(alice.hex),
  ])
  assert.equal(logs[0]!.data, wordOfInteger(1000n * USD))
  const removed = call(world, owner, 'removeBlackList(address)', alice)
  assert.deepEqual(
    [removed.logs[0]!.topics[1], removed.logs[0]!.data],
    [wordOfAddress(alice.hex), undefined],
  )
  type Event = { event_name: string; result: { [name: string]: string } }
  const { data } = on.get(`/v1/contracts/${USDT}/events?event_name=DestroyedBlackFunds`) as {
    data: Event[]
  }
  assert.equal(data[0]!.result._blackListedUser, `0x${alice.hex.slice(2)}`)
  assert.equal(data[0]!.result._balance, String(1000n * USD))
})

test('allowances go up and down, and stop at nothing', () => {
  const world = scene()
  const left = () => ask(world, 'allowance(address,address)', alice, bob)
  call(world, alice, 'increaseApproval(address,uint256)', bob, 5n)
  call(world, alice, 'increaseApproval(address,uint256)', bob, 3n)
  assert.equal(left(), 8n)
  call(world, alice, 'decreaseApproval(address,uint256)', bob, 2n)
  assert.equal(left(), 6n)
  const { logs } = call(world, alice, 'decreaseApproval(address,uint256)', bob, 100n)
  assert.deepEqual([left(), logs[0]!.data], [0n, wordOfInteger(0n)])
  const most = ask(world, 'MAX_UINT()')!
  call(world, alice, 'approve(address,uint256)', bob, most)
  assert.equal(call(world, alice, 'increaseApproval(address,uint256)', bob, 1n).result, 'REVERT')
})

test('a fee that the owner sets goes to the owner, up to its bound', () => {
  const world = scene()
  const { owner } = world
  assert.equal(call(world, alice, 'setParams(uint256,uint256)', 10n, 5n).result, 'REVERT')
  assert.equal(call(world, owner, 'setParams(uint256,uint256)', 20n, 5n).result, 'REVERT')
  call(world, owner, 'setParams(uint256,uint256)', 10n, 1n)
  assert.deepEqual([ask(world, 'basisPointsRate()'), ask(world, 'maximumFee()')], [10n, USD])
  assert.equal(ask(world, 'calcFee(uint256)', 100n * USD), 100_000n)
  assert.equal(ask(world, 'calcFee(uint256)', 10n ** 12n), USD)
  const { logs } = call(world, alice, 'transfer(address,uint256)', carol, 100n * USD)
  assert.equal(logs.length, 2)
  assert.deepEqual([balance(world, carol), balance(world, owner)], [99_900_000n, 100_000n])
  assert.equal(balance(world, alice), 900n * USD)
})

test('tokens are issued and redeemed as transfers from and to nobody', () => {
  const world = scene()
  const { owner } = world
  const issued = call(world, owner, 'issue(uint256)', 7n * USD)
  const transfer = topicOf('Transfer(address,address,uint256)')
  assert.deepEqual(issued.logs[1]!.topics, [transfer, wordOfInteger(0n), wordOfAddress(owner.hex)])
  assert.equal(ask(world, '_totalSupply()'), 1007n * USD)
  const redeemed = call(world, owner, 'redeem(uint256)', 2n * USD)
  assert.equal(redeemed.logs[0]!.topics[0], topicOf('Redeem(uint256)'))
  assert.deepEqual([ask(world, 'totalSupply()'), balance(world, owner)], [1005n * USD, 5n * USD])
  assert.equal(call(world, owner, 'redeem(uint256)', 6n * USD).result, 'REVERT')
})

test('a paused token moves nothing, may change owners, and a deprecated one is silent', () => {
  const world = scene()
  const { owner } = world
  call(world, owner, 'pause()')
  assert.equal(call(world, alice, 'transfer(address,uint256)', bob, 1n).result, 'REVERT')
  assert.equal(call(world, alice, 'approve(address,uint256)', bob, 1n).result, 'REVERT')
  call(world, owner, 'unpause()')
  assert.equal(call(world, owner, 'unpause()').result, 'REVERT')
  call(world, owner, 'transferOwnership(address)', bob)
  assert.equal(ask(world, 'owner()'), BigInt(`0x${bob.hex.slice(2)}`))
  assert.equal(call(world, owner, 'pause()').result, 'REVERT')
  assert.equal(ask(world, 'oldBalanceOf(address)', alice), 0n)
  call(world, bob, 'deprecate(address)', carol)
  assert.deepEqual([ask(world, 'deprecated()'), balance(world, alice)], [1n, undefined])
  assert.equal(ask(world, 'oldBalanceOf(address)', alice), 1000n * USD)
  assert.equal(call(world, alice, 'transfer(address,uint256)', bob, 1n).result, 'REVERT')
})
