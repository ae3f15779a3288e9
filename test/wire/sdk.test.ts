// A client that exists: `tronzap-sdk` from npm, untouched, over a real socket. Every method it has
// is called, and what it makes of the answers is what its user would see.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ErrorCode, TronZapClient, TronZapError } from 'tronzap-sdk'
import { type Customer, makeWorld, type World } from '../harness/world.ts'

/** The client as its documentation says to make it, against a service that listens. */
async function makeClient(t: TestContext, trx: number) {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx })
  const baseUrl = await world.api.listen({ port: 0, host: '127.0.0.1' })
  const client = new TronZapClient({
    apiToken: customer.token,
    apiSecret: customer.secret,
    baseUrl,
  })
  return { world, customer, baseUrl, client }
}

const used = new Set<string>()

/** The client, noting which of its methods are used. */
function noting(client: TronZapClient): TronZapClient {
  return new Proxy(client, {
    get(target, name, receiver) {
      used.add(String(name))
      return Reflect.get(target, name, receiver)
    },
  })
}

function refusedWith(code: number): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof TronZapError && thrown.code === code && thrown.message !== ''
}

type Transaction = {
  id: string
  external_id: string | null
  status: string
  amount: number
  hash?: string
}

async function settled(world: World, customer: Customer, id: string): Promise<string> {
  await world.settle()
  return (await customer.check(id)).status
}

test('every method of the SDK works against a served instance', async (t) => {
  const { world, customer, client: plain } = await makeClient(t, 100)
  const client = noting(plain)
  const bob = world.person('bob', 1).address
  const nina = world.person('nina').address
  const olga = world.person('olga').address

  const services = await client.getServices()
  assert.deepEqual(Object.keys(services), ['energy', 'bandwidth', 'activate_address'])
  assert.deepEqual(await client.getBalance(), { balance: 100, address: customer.deposit_address })

  const estimate = await client.estimateEnergy(bob, nina)
  assert.equal(estimate.energy, estimate.amount)
  assert.equal(estimate.total, estimate.price)
  const calculated = await client.calculate(bob, 65_000)
  assert.deepEqual([calculated.energy, calculated.total], [65_000, 2.93])

  const bought: Transaction = await client.createEnergyTransaction(bob, 65_000, 1, 'order-1')
  assert.deepEqual([bought.status, bought.amount, bought.external_id], ['new', 2.93, 'order-1'])
  const again: Transaction = await client.createEnergyTransaction(bob, 65_000, 1, 'order-1')
  assert.equal(again.id, bought.id, 'a repeated request buys nothing')
  const activated: Transaction = await client.createEnergyTransaction(
    nina,
    65_000,
    1,
    undefined,
    true,
  )
  assert.equal(activated.amount, 4.33)
  const activation: Transaction = await client.createAddressActivationTransaction(olga, 'order-2')
  for (const { id } of [bought, activated, activation])
    assert.equal(await settled(world, customer, id), 'success')

  const checked: Transaction = await client.checkTransaction(bought.id)
  assert.deepEqual([checked.status, checked.amount], ['success', 2.93])
  assert.match(checked.hash ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual(await client.checkTransaction(undefined, 'order-1'), checked)
  assert.deepEqual(await client.checkTransaction(bought.id, 'order-1'), checked)

  const recharge = await client.getDirectRechargeInfo()
  assert.deepEqual([recharge.address, recharge.rates.length], [world.recharge.address, 2])
  assert.equal((await client.getBalance()).balance, 91.34)

  const methods = Object.getOwnPropertyNames(TronZapClient.prototype).filter(
    (name) => name !== 'constructor' && name !== 'request',
  )
  assert.deepEqual(
    methods.filter((name) => !used.has(name)),
    [],
    'methods that were not called',
  )
})

test('the SDK sees a refusal as its own error with the code', async (t) => {
  const { world, customer, baseUrl, client } = await makeClient(t, 1)
  const bob = world.person('bob', 1).address
  const nina = world.person('nina').address
  await assert.rejects(
    client.calculate('T123', 65_000),
    refusedWith(ErrorCode.INVALID_TRON_ADDRESS),
  )
  await assert.rejects(client.calculate(bob, 1), refusedWith(ErrorCode.INVALID_ENERGY_AMOUNT))
  await assert.rejects(client.calculate(bob, 65_000, 24), refusedWith(ErrorCode.INVALID_DURATION))
  await assert.rejects(
    client.createEnergyTransaction(bob, 65_000),
    refusedWith(ErrorCode.INSUFFICIENT_FUNDS),
  )
  await assert.rejects(
    client.createEnergyTransaction(nina, 65_000),
    refusedWith(ErrorCode.ADDRESS_NOT_ACTIVATED),
  )
  await assert.rejects(
    client.createAddressActivationTransaction(bob),
    refusedWith(ErrorCode.ADDRESS_ALREADY_ACTIVATED),
  )
  await assert.rejects(
    client.checkTransaction('nobody'),
    refusedWith(ErrorCode.TRANSACTION_NOT_FOUND),
  )
  await assert.rejects(
    client.estimateEnergy(bob, 'T123'),
    refusedWith(ErrorCode.INVALID_TRON_ADDRESS),
  )
  const stranger = new TronZapClient({ apiToken: customer.token, apiSecret: 'another', baseUrl })
  await assert.rejects(stranger.getBalance(), refusedWith(ErrorCode.AUTH_ERROR))
  assert.equal((await stranger.getDirectRechargeInfo()).address, world.recharge.address)
  const lost = new TronZapClient({
    apiToken: customer.token,
    apiSecret: customer.secret,
    baseUrl: `${baseUrl}/nowhere`,
  })
  await assert.rejects(lost.getBalance(), refusedWith(404))
})
