// Money that arrives on the chain.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainView, missingOnChain } from '../src/admin/chain_books.ts'
import { findDeposits } from '../src/treasury/deposits.ts'
import { addressToHex } from '../src/tron/address.ts'
import { worldDesk } from './desk.ts'
import { makeWorld, TRX, type World } from './world.ts'

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
  assert.ok(changed >= 5, `${changed}`)
  assert.equal(await anna.balance(), 3)
  assert.equal((await findDeposits(world.sql, good)).length, 1)
  const [rows] = await world.sql<{ n: bigint }>`select count(*) as n from deposit`
  assert.equal(rows?.n, 1n)
})

type Inner = { to: string; sun: number; rejected?: boolean; token?: string }

/** Lets the node say that contracts sent TRX along in a transaction. */
function sendsAlong(world: World, tx_id: string, inner: Inner[]): void {
  const contract = addressToHex(world.person('contract').address)
  const internal_transactions = inner.map(({ to, sun, rejected, token }) => ({
    ...{ hash: tx_id, caller_address: contract, transferTo_address: addressToHex(to), note: '63616c6c' },
    callValueInfo: [{ callValue: sun, ...(token !== undefined && { tokenId: token }) }],
    ...(rejected && { rejected }),
  }))
  const before = world.weather.answers
  world.weather.answers = (path, body) => {
    const answer = before(path, body)
    if (!path.endsWith('gettransactioninfobyblocknum') || !answer.includes(tx_id)) return answer
    const receipts = JSON.parse(answer) as { id: string }[]
    return JSON.stringify(receipts.map((one) => (one.id === tx_id ? { ...one, internal_transactions } : one)))
  }
}

test('TRX that a contract sends to a deposit address is credited, each part once, unless it was rejected', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  const tx_id = world.pay(world.person('router', 1).address, TRX)
  sendsAlong(world, tx_id, [
    { to: anna.deposit_address, sun: 2_000_000 },
    { to: zoe.deposit_address, sun: 5 },
    { to: anna.deposit_address, sun: 2_000_000 },
    { to: anna.deposit_address, sun: 7_000_000, rejected: true },
    { to: anna.deposit_address, sun: 9_000_000, token: '1002000' },
    { to: anna.deposit_address, sun: 0 },
  ])
  world.mine(18)
  await world.drain()
  assert.equal(await anna.balance(), 0, 'not before it is solid')
  const other = await world.startProcess()
  await world.solidify()
  await world.drain(other.app)
  assert.deepEqual([await anna.balance(), await zoe.balance()], [4, 0.000005])
  const { result } = (await world.api.inject({ method: 'GET', url: `/deposits/${tx_id}` })).json()
  assert.deepEqual(
    result.deposits.map(({ state, amount, from_address }: Record<string, unknown>) => [state, amount, from_address]),
    [2, 0.000005, 2].map((amount) => ['credited', amount, world.person('contract').address]),
  )
  const at = await worldDesk(world)
  const { code, out } = await at.type('books', 'check')
  assert.equal(code, 0, out)
  const view = chainView([{ url: 'http://devchain' }], async ({ url, body }) => {
    const path = new URL(url).pathname
    const answer = world.scene.devchain.request('POST', path, body)
    return { ...answer, body: world.weather.answers(path, answer.body) }
  })
  assert.deepEqual((await missingOnChain(world.sql, view, null)).deposits, [])
  world.weather.answers = (_path, body) => body
  assert.equal((await missingOnChain(world.sql, view, null)).deposits.length, 3, 'the node says otherwise now')
})

test('TRX that a contract sends to the published address buys nothing and is held, with the reason', async (t) => {
  const world = await makeWorld(t)
  const tx_id = world.pay(world.person('router', 1).address, TRX)
  sendsAlong(world, tx_id, [{ to: world.recharge.address, sun: 3_000_000 }])
  await world.solidify()
  await world.solidify()
  const [held, ...more] = await findDeposits(world.sql, tx_id)
  assert.deepEqual([held?.state, held?.reason, held?.amount_sun], ['held', 'it was sent by a contract', 3_000_000n])
  assert.equal(more.length, 0)
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
