// Money that arrives on the chain.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDeposits } from '../src/treasury/deposits.ts'
import { makeWorld, TRX } from './world.ts'

test('a deposit is credited when its block is solid and not before, once, whoever runs the steps how often', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const other = await world.startProcess()
  world.pay(anna.deposit_address, 12_345_678n)
  world.mine(18)
  await world.drain()
  assert.equal(await anna.balance(), 0)
  world.mine(1)
  for (let round = 0; round < 3; round++) {
    await Promise.all([...world.app.steps, ...other.app.steps].map((step) => step.run()))
  }
  await world.drain()
  await world.drain(other.app)
  assert.equal(await anna.balance(), 12.345678)
})

test('a deposit in a block that a fork takes back is not credited, and credited once when it comes again', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  world.pay(anna.deposit_address, 5n * TRX)
  world.mine()
  await world.drain()
  world.fork(1, { drop: true })
  await world.drain()
  world.pay(zoe.deposit_address, 7n * TRX)
  world.mine()
  await world.drain()
  world.fork(1)
  await world.solidify()
  assert.equal(await anna.balance(), 0)
  assert.equal(await zoe.balance(), 7)
})

test('several deposits in one block are credited each, down to a single sun', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  const ids = [
    world.pay(anna.deposit_address, 1n),
    world.pay(anna.deposit_address, 2n),
    world.pay(zoe.deposit_address, 3n),
    world.pay(anna.deposit_address, 1_000_000n, world.person('pool-0')),
  ]
  await world.solidify()
  assert.equal(await anna.balance(), 1.000003)
  assert.equal(await zoe.balance(), 0.000003)
  for (const id of ids) assert.equal((await findDeposits(world.sql, id))[0]?.state, 'credited')
})

test('a deposit beyond 2^53 sun is credited to the sun', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const sun = 2n ** 53n + 1n
  world.scene.devchain.fund(world.person('whale').address, 2n * sun)
  world.mine()
  world.pay(anna.deposit_address, sun, world.person('whale'))
  await world.solidify()
  const { payload } = await world.api.inject({ method: 'GET', url: '/health' })
  assert.match(payload, /ok/)
  const [account] = await world.sql<{
    posted_sun: bigint
  }>`select posted_sun from account where id = ${`customer:${anna.id}`}`
  assert.equal(account?.posted_sun, sun)
})

type One = { txID: string }

test('tokens, transfers of nothing and failed transfers are not deposits', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  // The chain refuses some of these today; what a node could still say of older blocks is put into its mouth.
  const changes: Record<string, (body: string) => string> = {}
  const told = (change: (body: string) => string) => {
    changes[world.pay(anna.deposit_address, 5n * TRX)] = change
  }
  told((body) => body.replace('"type":"TransferContract"', '"type":"TransferAssetContract"'))
  told((body) => body.replace('"amount":5000000', '"amount":0'))
  told((body) => body.replace(',"amount":5000000', ''))
  told((body) => body.replace('"contractRet":"SUCCESS"', '"contractRet":"REVERT"'))
  told((body) => body.replace('"ret":[{"contractRet":"SUCCESS"}],', ''))
  // TRX that goes along with a call of a contract.
  told((body) =>
    body
      .replace('"type":"TransferContract"', '"type":"TriggerSmartContract"')
      .replace('"to_address"', '"contract_address"')
      .replace('"amount"', '"call_value"'),
  )
  const good = world.pay(anna.deposit_address, 3n * TRX)
  let changed = 0
  world.weather.answers = (_path, body) => {
    const answer = JSON.parse(body) as { block?: { transactions?: One[] }[] }
    for (const block of answer.block ?? []) {
      if (!block.transactions) continue
      block.transactions = block.transactions.map((one) => {
        const change = changes[one.txID]
        if (!change) return one
        const text = JSON.stringify(one)
        assert.notEqual(change(text), text)
        changed += 1
        return JSON.parse(change(text)) as One
      })
    }
    return answer.block ? JSON.stringify(answer) : body
  }
  await world.solidify()
  assert.ok(changed >= 6, `${changed}`)
  assert.equal(await anna.balance(), 3)
  assert.equal((await findDeposits(world.sql, good)).length, 1)
  const [rows] = await world.sql<{ n: bigint }>`select count(*) as n from deposit`
  assert.equal(rows?.n, 1n)
})

test('what is sent to nobody we know is not a deposit', async (t) => {
  const world = await makeWorld(t)
  const stranger = world.person('stranger', 1)
  const tx_id = world.pay(stranger.address, 5n * TRX)
  await world.solidify()
  assert.deepEqual(await findDeposits(world.sql, tx_id), [])
})

test('a service that was down for long reads every block it missed, in order', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  let sun = 0n
  for (let i = 1; i <= 60; i++) {
    const amount_sun = BigInt(i) * 1_000n
    if (i % 3 === 0) {
      world.pay(anna.deposit_address, amount_sun)
      sun += amount_sun
    }
    world.mine(4)
  }
  await world.solidify()
  assert.equal(await anna.balance(), Number(sun) / 1e6)
  const [gap] =
    await world.sql`select number from block as b where not exists (select 1 from block as p where p.number = b.number - 1)
    and number > (select min(number) from block)`
  assert.equal(gap, undefined)
})

test('every customer has a deposit address of its own', async (t) => {
  const world = await makeWorld(t)
  const addresses = new Set<string>()
  for (let i = 0; i < 5; i++) addresses.add((await world.customer()).deposit_address)
  assert.equal(addresses.size, 5)
  const anna = await world.customer()
  const { address } = await anna.get<{ address: string }>('/v1/balance')
  assert.equal(address, anna.deposit_address)
})
