import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { USDT } from '../devchain.ts'
import { audit, type Person, person, Scene, TRX } from '../scene.ts'
import { selectorOf, topicOf, wordOfAddress, wordOfInteger } from './abi.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')
const usdt = addressToHex(USDT)
const USD = 1_000_000n

function scene(): Scene {
  const on = new Scene({ alice: 100_000n * TRX, bob: 100n * TRX, carol: 100n * TRX })
  on.post('/devchain/mint', { address: alice.address, amount: 1000n * USD })
  on.post('/devchain/mint', { address: carol.address, amount: 1n })
  on.mine()
  return on
}

const call = (signature: string, ...words: string[]) => ({
  contract_address: usdt,
  data: selectorOf(signature) + words.join(''),
})
const transfer = (to: Person, amount: bigint) =>
  call('transfer(address,uint256)', wordOfAddress(to.hex), wordOfInteger(amount))
const trigger = (
  on: Scene,
  from: Person,
  message: ReturnType<typeof call>,
  fee_limit = 100n * TRX,
) => on.do(from, 'TriggerSmartContract', message, { fee_limit })

function ask(on: Scene, signature: string, ...words: string[]): string {
  const answer = on.post('/wallet/triggerconstantcontract', {
    owner_address: alice.hex,
    contract_address: usdt,
    function_selector: signature,
    parameter: words.join(''),
  })
  return (answer.constant_result as string[])[0]!
}

const holds = (on: Scene, who: Person) =>
  BigInt(`0x${ask(on, 'balanceOf(address)', wordOfAddress(who.hex))}`)

type Receipt = {
  receipt: { [name: string]: number | string }
  log: { address: string; topics: string[]; data: string }[]
  contractResult: string[]
  fee: number
  result?: string
  resMessage?: string
}

test('a transfer to a holder costs 64,285 energy, to a new one 130,285, at 100 sun each', () => {
  const on = scene()
  const first = trigger(on, alice, transfer(carol, 10n * USD)) as unknown as Receipt
  assert.deepEqual(first.receipt, {
    net_usage: 345,
    energy_fee: 6_428_500,
    energy_usage_total: 64_285,
    energy_penalty_total: 49_654,
    result: 'SUCCESS',
  })
  assert.equal(first.fee, 6_428_500)
  // Tether's contract returns nothing from `transfer`: false, although it has succeeded.
  assert.deepEqual(first.contractResult, [wordOfInteger(0n)])
  assert.deepEqual(first.log, [
    {
      address: usdt.slice(2),
      topics: [
        topicOf('Transfer(address,address,uint256)'),
        wordOfAddress(alice.hex),
        wordOfAddress(carol.hex),
      ],
      data: wordOfInteger(10n * USD),
    },
  ])
  const second = trigger(on, alice, transfer(bob, USD)) as unknown as Receipt
  assert.equal(second.receipt.energy_usage_total, 130_285)
  assert.deepEqual(
    [holds(on, alice), holds(on, bob), holds(on, carol)],
    [989n * USD, USD, 10n * USD + 1n],
  )
})

test('staked energy pays first, TRX for the rest', () => {
  const on = scene()
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 5000n * TRX, resource: 'ENERGY' })
  const { EnergyLimit } = on.resources(alice)
  const { receipt } = trigger(on, alice, transfer(carol, USD)) as unknown as Receipt
  assert.equal(receipt.energy_usage, EnergyLimit)
  assert.equal(receipt.energy_fee, (64_285 - Number(EnergyLimit)) * 100)
  // A slot later a little of it has come back.
  const used = Number(on.resources(alice).EnergyUsed)
  assert.ok(used <= Number(EnergyLimit) && used > Number(EnergyLimit) - 5, String(used))
})

test('rented energy pays for a call, its use fades, and comes back when the rental ends', () => {
  const on = scene()
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 50_000n * TRX, resource: 'ENERGY' })
  const rental = { receiver_address: carol.hex, balance: 6_773_000_000n, resource: 'ENERGY' }
  on.do(alice, 'DelegateResourceContract', rental)
  on.post('/devchain/mint', { address: carol.address, amount: 5n * USD })
  on.mine()
  const used = trigger(on, carol, transfer(alice, USD)) as unknown as Receipt
  assert.equal(used.receipt.energy_usage, 64_285)
  assert.equal(used.fee, undefined)
  on.wait(3600)
  const faded = Number(on.resources(carol).EnergyUsed)
  assert.ok(faded > 61_000 && faded < 62_000, String(faded))
  on.do(alice, 'UnDelegateResourceContract', rental)
  assert.equal(on.resources(carol).EnergyUsed, undefined)
  const back = Number(on.resources(alice).EnergyUsed)
  assert.ok(back <= faded && back > faded - 20, String(back))
})

test('a low fee limit ends in OUT_OF_ENERGY even with rented energy: paid, nothing done', () => {
  const on = scene()
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 50_000n * TRX, resource: 'ENERGY' })
  const failed = trigger(on, alice, transfer(carol, USD), 1n * TRX) as unknown as Receipt
  assert.equal(failed.result, 'FAILED')
  assert.equal(failed.receipt.result, 'OUT_OF_ENERGY')
  assert.equal(failed.receipt.energy_usage, 10_000)
  const message = Buffer.from(failed.resMessage!, 'hex').toString()
  assert.match(message, /^Not enough energy for 'SSTORE' operation executing: /)
  assert.match(message, /: curInvokeEnergyLimit\[10000\], .*usedEnergy\[10000\]$/)
  assert.equal(holds(on, carol), 1n)
  const { transactions } = on.post('/wallet/getnowblock') as { transactions: { ret: unknown }[] }
  assert.deepEqual(transactions[0]!.ret, [{ contractRet: 'OUT_OF_ENERGY' }])
})

test('a call that makes no sense is in a block as REVERT, with its energy paid', () => {
  const on = scene()
  const broke = trigger(on, bob, transfer(alice, USD)) as unknown as Receipt
  assert.deepEqual([broke.result, broke.receipt.result], ['FAILED', 'REVERT'])
  assert.equal(Buffer.from(broke.resMessage!, 'hex').toString(), 'REVERT opcode executed')
  assert.ok(Number(broke.receipt.energy_usage_total) < 10_000)
  const unknown = trigger(on, bob, call('nothing()')) as unknown as Receipt
  assert.equal(unknown.receipt.result, 'REVERT')
})

test('a fee limit beyond the chain parameter and an unknown contract are refused', () => {
  const on = scene()
  const message = (answer: { [name: string]: unknown }) => String(answer.message)
  assert.match(
    message(
      on.send(alice, 'TriggerSmartContract', transfer(bob, 1n), { fee_limit: 15_000_000_001n }),
    ),
    /feeLimit must be >= 0 and <= 15000000000$/,
  )
  assert.match(
    message(
      on.send(alice, 'TriggerSmartContract', { ...transfer(bob, 1n), contract_address: bob.hex }),
    ),
    /No contract or not a valid smart contract$/,
  )
})

test('allowances let somebody else send, up to what was allowed', () => {
  const on = scene()
  trigger(
    on,
    alice,
    call('approve(address,uint256)', wordOfAddress(bob.hex), wordOfInteger(5n * USD)),
  )
  const send = (amount: bigint) =>
    trigger(
      on,
      bob,
      call(
        'transferFrom(address,address,uint256)',
        wordOfAddress(alice.hex),
        wordOfAddress(carol.hex),
        wordOfInteger(amount),
      ),
    ) as unknown as Receipt
  assert.equal(send(3n * USD).receipt.result, 'SUCCESS')
  assert.equal(send(3n * USD).receipt.result, 'REVERT')
  const words = [wordOfAddress(alice.hex), wordOfAddress(bob.hex)]
  assert.equal(BigInt(`0x${ask(on, 'allowance(address,address)', ...words)}`), 2n * USD)
})

test("the freeze list is the owner's: who is on it cannot send, and may lose the tokens", () => {
  const on = scene()
  const key = on.devchain.usdt_owner_key
  const owner = { key, address: addressOf(key), hex: addressToHex(addressOf(key)) }
  on.devchain.fund(owner.address, 1000n * TRX)
  const listed = () => BigInt(`0x${ask(on, 'isBlackListed(address)', wordOfAddress(alice.hex))}`)
  assert.equal(
    (
      trigger(
        on,
        bob,
        call('addBlackList(address)', wordOfAddress(alice.hex)),
      ) as unknown as Receipt
    ).result,
    'FAILED',
  )
  const added = trigger(
    on,
    owner,
    call('addBlackList(address)', wordOfAddress(alice.hex)),
  ) as unknown as Receipt
  assert.deepEqual(added.log, [
    {
      address: usdt.slice(2),
      topics: [
        '42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc',
        wordOfAddress(alice.hex),
      ],
    },
  ])
  assert.equal(listed(), 1n)
  assert.equal(
    (trigger(on, alice, transfer(bob, 1n)) as unknown as Receipt).receipt.result,
    'REVERT',
  )
  const supply = BigInt(`0x${ask(on, 'totalSupply()')}`)
  trigger(on, owner, call('destroyBlackFunds(address)', wordOfAddress(alice.hex)))
  assert.equal(holds(on, alice), 0n)
  assert.equal(BigInt(`0x${ask(on, 'totalSupply()')}`), supply - 1000n * USD)
  trigger(on, owner, call('removeBlackList(address)', wordOfAddress(alice.hex)))
  assert.equal(listed(), 0n)
  on.post('/devchain/blacklist', { address: alice.address })
  assert.equal(listed(), 1n)
})

test('the factor of a contract scales the penalty and nothing else', () => {
  const on = scene()
  on.post('/devchain/set_factor', { factor: 0 })
  const cold = trigger(on, alice, transfer(carol, USD)) as unknown as Receipt
  assert.deepEqual(
    [cold.receipt.energy_usage_total, cold.receipt.energy_penalty_total],
    [14_631, undefined],
  )
  on.post('/devchain/set_factor', { factor: 17_000 })
  const warm = trigger(on, alice, transfer(carol, USD)) as unknown as Receipt
  assert.deepEqual(
    [warm.receipt.energy_usage_total, warm.receipt.energy_penalty_total],
    [39_458, 24_827],
  )
})

test('constant calls and estimates need no transaction, and say failures their own way', () => {
  const on = scene()
  const asked = {
    owner_address: alice.address,
    contract_address: USDT,
    function_selector: 'transfer(address,uint256)',
    parameter: wordOfAddress(bob.hex) + wordOfInteger(USD),
    visible: true,
  }
  const answer = on.post('/wallet/triggerconstantcontract', asked)
  assert.deepEqual(answer.result, { result: true })
  assert.deepEqual([answer.energy_used, answer.energy_penalty], [130_285, 100_654])
  assert.deepEqual((answer.transaction as { ret: unknown }).ret, [{}])
  assert.equal(holds(on, bob), 0n)
  assert.deepEqual(on.post('/wallet/estimateenergy', asked), {
    result: { result: true },
    energy_required: 130_285,
  })
  const broke = on.post('/wallet/triggerconstantcontract', { ...asked, owner_address: bob.address })
  assert.deepEqual(broke.result, { result: true, message: 'REVERT opcode executed' })
  assert.deepEqual((broke.transaction as { ret: unknown }).ret, [{ ret: 'FAILED' }])
  for (const path of ['triggerconstantcontract', 'triggersmartcontract', 'estimateenergy']) {
    assert.deepEqual(on.post(`/wallet/${path}`, { ...asked, parameter: 'zz' }), {
      result: {
        code: 'OTHER_ERROR',
        message:
          'class org.tron.core.services.http.JsonFormat$ParseException : 1:1: INVALID hex String',
      },
    })
  }
  const nowhere = on.post('/wallet/triggerconstantcontract', {
    ...asked,
    visible: false,
    owner_address: bob.hex,
    contract_address: bob.hex,
  })
  assert.deepEqual(nowhere.result, {
    code: 'CONTRACT_VALIDATE_ERROR',
    message: Buffer.from('Smart contract is not exist.').toString('hex'),
  })
})

test('byte code that is to be tried out as a new contract is refused as a deployment is', () => {
  const on = scene()
  const code = { owner_address: alice.hex, data: '6080604052' }
  const message = Buffer.from('CreateSmartContract is not executed by this chain').toString('hex')
  for (const path of ['triggerconstantcontract', 'estimateenergy']) {
    const { result } = on.post(`/wallet/${path}`, code)
    assert.deepEqual(result, { code: 'CONTRACT_VALIDATE_ERROR', message }, path)
  }
})

test('solid answers are those of the solid state', () => {
  const on = scene()
  trigger(on, alice, transfer(bob, USD))
  const balance = (side: string) => {
    const answer = on.post(`/${side}/triggerconstantcontract`, {
      owner_address: alice.hex,
      contract_address: usdt,
      function_selector: 'balanceOf(address)',
      parameter: wordOfAddress(bob.hex),
    })
    return BigInt(`0x${(answer.constant_result as string[])[0]}`)
  }
  assert.deepEqual([balance('wallet'), balance('walletsolidity')], [USD, 0n])
  on.mine(18)
  assert.equal(balance('walletsolidity'), USD)
})

test('tokens never come from nothing: balances add up to the supply, and TRX are conserved', () => {
  const on = scene()
  for (const amount of [1n, 500n * USD, 600n * USD, 3n]) trigger(on, alice, transfer(bob, amount))
  let sum = 0n
  for (const [key, value] of on.devchain.chain.head_state.entries('slot'))
    if (key.includes(':balance:')) sum += value!
  assert.equal(sum, BigInt(`0x${ask(on, 'totalSupply()')}`))
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
})

test('another token can be made, with its own name and owner', () => {
  const on = scene()
  const address = person('token').address
  on.post('/devchain/token', {
    address,
    owner: bob.address,
    name: 'Test',
    symbol: 'TST',
    decimals: 2,
  })
  on.post('/devchain/mint', { token: address, address: carol.address, amount: 7 })
  const printed = on.post('/wallet/getcontract', { value: address, visible: true })
  assert.equal(printed.name, 'TST')
  assert.equal(printed.origin_address, bob.address)
  assert.equal(on.account(person('token')).type, 'Contract')
  assert.deepEqual(on.post('/wallet/getcontract', { value: bob.hex }), {})
  assert.match(
    String(on.post('/devchain/mint', { token: bob.address, address, amount: 1 }).error),
    /no token/,
  )
})
