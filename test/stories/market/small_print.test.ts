// What the market says of itself agrees with what it does: what is off sale is offered nowhere, a
// repetition is answered, and nothing is sold that cannot be delivered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, TRX, type World } from '../../harness/world.ts'

const DELEGATE = 'DelegateResourceContract'

const purchase = (address: string, more: object = {}) => ({
  service: 'energy',
  params: { address, amount: 65_000, duration: 1 },
  ...more,
})

async function turn(world: World, name: string, on_sale: boolean): Promise<void> {
  await world.sql`update service set on_sale = ${on_sale} where name = ${name}`
  // Prices may be used for a moment after they have changed.
  world.wait(2)
}

test('a letter outside the first plane is one character of an external_id', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  for (const length of [65, 128]) {
    const external_id = '𝄞'.repeat(length)
    const { code, error, result } = await anna.call(
      '/v1/transaction/new',
      purchase(bob.address, { external_id }),
    )
    assert.deepEqual([code, error, result.external_id], [0, undefined, external_id])
  }
  const long = await anna.call(
    '/v1/transaction/new',
    purchase(bob.address, { external_id: '𝄞'.repeat(129) }),
  )
  assert.deepEqual([long.code, long.key], [2, 'invalid_service_or_params.external_id'])
})

test('what is off sale is listed, priced, estimated, quoted and sold nowhere', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const services = async () => {
    const now = await anna.get<Record<'energy' | 'bandwidth', unknown[]>>('/v1/services')
    return [now.energy.length > 0, now.bandwidth.length > 0]
  }
  const bundle = purchase(bob.address, {
    service: 'resource_bundle',
    params: { address: bob.address, amounts: { energy: 65_000, bandwidth: 345 }, duration: 1 },
  })
  const asked: [string, object][] = [
    ['/v1/calculate', { address: bob.address, amount: 65_000, duration: 1 }],
    ['/v1/estimate-energy', { from_address: bob.address, to_address: bob.address }],
    ['/v1/transaction/new', purchase(bob.address)],
    ['/v1/transaction/new', bundle],
    ['/v1/quote/new', purchase(bob.address)],
    ['/v1/subscription/start', { subscription_id: 'unlimited_energy', params: bob }],
    ['/v1/direct-recharge-info', {}],
  ]
  assert.deepEqual(await services(), [true, true])
  await turn(world, 'energy', false)
  assert.deepEqual(await services(), [false, true])
  for (const [path, body] of asked) assert.equal((await anna.call(path, body)).code, 35, path)
  assert.deepEqual(await anna.get('/v1/subscriptions'), {})
  await turn(world, 'energy', true)
  await turn(world, 'subscription', false)
  assert.deepEqual(await anna.get('/v1/subscriptions'), {})
  assert.equal((await anna.call(...asked[0]!)).code, 0)
  assert.equal(await anna.balance(), 100)
})

test('an activation that is off sale is not sold along the way either', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 100 })
  const along = { address: nina.address, amount: 65_000, duration: 1, activate_address: true }
  await turn(world, 'activate_address', false)
  const asked: [string, object][] = [
    ['/v1/transaction/new', purchase(nina.address, { params: along })],
    ['/v1/calculate', { address: nina.address, amount: 65_000, duration: 1 }],
    ['/v1/estimate-energy', { from_address: nina.address, to_address: nina.address }],
    ['/v1/quote/new', purchase(nina.address, { params: along })],
    ['/v1/subscription/start', { subscription_id: 'unlimited_energy', params: along }],
  ]
  for (const [path, body] of asked) assert.equal((await anna.call(path, body)).code, 35, path)
  assert.equal(await anna.balance(), 100)
})

test('an activation wallet pays for one more: the next is refused before it is paid', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const wallet = world.person('activation')
  const left = (await world.node.account(wallet.address)).balance_sun
  world.scene.send(wallet, 'TransferContract', {
    to_address: world.person('elsewhere', 1).hex,
    amount: left - 2n * TRX,
  })
  await world.advance(33)
  const activate = (name: string) =>
    anna.call('/v1/transaction/new', {
      service: 'activate_address',
      params: { address: world.person(name).address },
    })
  const along = (name: string) =>
    anna.call(
      '/v1/transaction/new',
      purchase('', {
        params: {
          address: world.person(name).address,
          amount: 65_000,
          duration: 1,
          activate_address: true,
        },
      }),
    )
  const answers = await Promise.all([along('nina'), along('nora'), activate('nell')])
  assert.deepEqual(answers.map(({ code }) => code).sort(), [0, 35, 35])
  await world.settle()
  assert.equal((await activate('nell')).code, 35)
  world.scene.devchain.fund(wallet.address, 10n * TRX)
  await world.advance(33)
  assert.equal((await activate('nell')).code, 0)
  await world.settle()
})

test('a suspended customer who asks again for what was accepted gets it', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const named = { external_id: 'mine' }
  const key = { 'idempotency-key': 'mine' }
  const quote = await anna.get<{ id: string }>('/v1/quote/new', purchase(bob.address))
  const calls: [string, object, Record<string, string>][] = [
    ['/v1/transaction/new', purchase(bob.address, named), {}],
    ['/v1/quote/accept', { id: quote.id }, {}],
    ['/v1/aml-checks/new', { type: 'address', network: 'TRX', address: bob.address }, key],
    [
      '/v1/subscription/start',
      { subscription_id: 'unlimited_energy', params: { address: bob.address }, ...named },
      {},
    ],
  ]
  const first = await Promise.all(calls.map((call) => anna.call(...call)))
  const balance = await anna.balance()
  await world.sql`update customer set state = 'suspended' where id = ${anna.id}`
  world.wait(2)
  for (const [i, call] of calls.entries()) {
    const again = await anna.call(...call)
    assert.deepEqual([again.code, again.result?.id], [0, first[i]!.result.id], call[0])
    assert.equal(again.headers['idempotency-replayed'], 'true', call[0])
  }
  const others: [string, object][] = [
    ['/v1/transaction/new', purchase(bob.address)],
    ['/v1/transaction/new', purchase(bob.address, { external_id: 'another' })],
    ['/v1/transaction/new', purchase('T123', { external_id: 'another' })],
    ['/v1/quote/accept', { id: 'nothing' }],
    ['/v1/aml-checks/new', { type: 'address', network: 'TRX', address: bob.address }],
    ['/v1/subscription/start', { subscription_id: 'unlimited_energy', params: bob }],
  ]
  for (const [path, body] of others) {
    const { code, key: slug } = await anna.call(path, body)
    assert.deepEqual([code, slug], [1, 'auth.suspended'], path)
  }
  assert.equal(await anna.balance(), balance)
  await world.settle()
})

test('nothing is sold to a wallet of our own', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const { pool, activation, refund, recharge_address } = world.wallets
  const ours = [...pool, activation, refund!].map(({ address }) => address)
  for (const address of [...ours, recharge_address]) {
    const params = { address, amount: 65_000, duration: 1 }
    const asked: [string, object][] = [
      ['/v1/transaction/new', { service: 'energy', params }],
      ['/v1/calculate', params],
      ['/v1/subscription/start', { subscription_id: 'unlimited_energy', params }],
    ]
    for (const [path, body] of asked) {
      const { code, key } = await anna.call(path, body)
      assert.deepEqual([code, key], [10, 'invalid_network_address'], `${path} ${address}`)
    }
  }
  assert.equal(await anna.balance(), 100)
})

test('an order in parts that die again and again is tried until its time is over', async (t) => {
  const world = await makeWorld(t, { pool_trx: [5_000, 5_000, 5_000, 5_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === DELEGATE
  const order = await anna.buyEnergy(bob.address, 131_000)
  const died = async () =>
    (await world.attempts('delegate')).filter((state) => state === 'dead').length
  for (let round = 0; round < 4; round++) {
    await world.advance(70)
    await world.solidify()
  }
  assert.ok((await died()) >= 6, `${await died()} parts have died`)
  assert.equal((await anna.check(order.id)).status, 'pending')
  world.network.loses = () => false
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.ok((await world.energyLimit(bob.address)) >= 131_000)
})
