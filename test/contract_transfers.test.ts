// What contracts do with TRX and with stakes, as receipts show it: money is only what the chain moved.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { selectorOf, wordOfAddress, wordOfInteger } from '../devchain/abi.ts'
import { addressToHex } from '../src/tron/address.ts'
import { worldDesk } from './desk.ts'
import { makeWorld, TRX, type World, type WorldOptions } from './world.ts'

type Call = (signature: string, ...values: (string | bigint)[]) => string

/** A contract that its owner commands, with 1000 TRX, of which half are staked. */
async function contractWorld(t: TestContext, options: WorldOptions = {}): Promise<{ world: World; call: Call }> {
  const world = await makeWorld(t, options)
  const owner = world.person('mallory', 100_000)
  const contract = world.person('contract')
  world.scene.post('/devchain/contract', { address: contract.address, owner: owner.address })
  world.scene.post('/devchain/fund', { address: contract.address, sun: 1000n * TRX })
  world.mine()
  const call: Call = (signature, ...values) => {
    const asWord = (one: string | bigint) =>
      typeof one === 'bigint' ? wordOfInteger(one) : wordOfAddress(addressToHex(one))
    const data = selectorOf(signature) + values.map(asWord).join('')
    const message = { contract_address: contract.hex, data }
    const answer = world.scene.send(owner, 'TriggerSmartContract', message, { fee_limit: 1_000n * TRX })
    assert.equal(answer.result, true, String(answer.message))
    world.mine()
    return String(answer.txid)
  }
  call('freeze(uint256,uint256)', 500n * TRX, 1n)
  return { world, call }
}

test('a contract that delegates to a deposit address in a loop makes no money there', async (t) => {
  const { world, call } = await contractWorld(t)
  const anna = await world.customer({ trx: 3 })
  for (let i = 0; i < 3; i++) {
    call('delegate(address,uint256,uint256)', anna.deposit_address, 400n * TRX, 1n)
    call('undelegate(address,uint256,uint256)', anna.deposit_address, 400n * TRX, 1n)
  }
  await world.solidify()
  assert.equal(await anna.balance(), 3)
  const [rows] = await world.sql<{ n: bigint }>`select count(*) as n from deposit`
  assert.equal(rows?.n, 1n)
  assert.equal((await (await worldDesk(world)).type('books', 'check')).code, 0)
})

test('a contract that delegates to an address does not wash what came there before', async (t) => {
  const { world, call } = await contractWorld(t)
  const carol = world.person('carol')
  world.pay(carol.address, 10n * TRX)
  world.mine()
  call('delegate(address,uint256,uint256)', carol.address, 400n * TRX, 1n)
  call('undelegate(address,uint256,uint256)', carol.address, 400n * TRX, 1n)
  call('send(address,uint256)', carol.address, 7n * TRX)
  await world.solidify()
  const rows = await world.sql<{ contents: { m: string[][] } }>`select contents from block`
  const received = rows.flatMap(({ contents }) => contents.m).filter((one) => one[5] === carol.address)
  assert.deepEqual(
    received.map(([, kind, , , , , amount]) => [kind, amount]).sort(),
    [
      ['internal', '7000000'],
      ['transfer', '10000000'],
    ],
    'what the flow of money is followed by',
  )
})
