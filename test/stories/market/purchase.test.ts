// Buying, from deposit to reclaim, at the front door.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { totalsOf } from 'penstock-devchain/state/state.ts'
import { stakeFor } from 'penstock-service/market/pool/pool.ts'
import type { Customer, World } from '../../harness/world.ts'
import { makeWorld } from '../../harness/world.ts'

test('energy is bought with a deposit, delivered at inclusion, reclaimed later', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  assert.equal(await anna.balance(), 100)

  const order = await anna.buyEnergy(bob.address, 65_000)
  assert.match(order.id, /^[0-9a-z]{26}$/)
  assert.deepEqual(order, {
    id: order.id,
    external_id: null,
    service: 'energy',
    params: {
      address: bob.address,
      amounts: { energy: 65_000 },
      duration: 1,
      activate_address: false,
    },
    status: 'new',
    amount: 2.93,
    created_at: `${world.now.toISOString().slice(0, 19)}Z`,
  })
  assert.equal(await anna.balance(), 97.07)
  assert.equal(await world.energyLimit(bob.address), 0)

  await world.drain()
  assert.equal((await anna.check(order.id)).status, 'pending')
  world.mine()
  await world.drain()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  const [delegation, ...more] = done.delegations
  assert.equal(more.length, 0)
  assert.equal(done.hash, delegation?.hash)
  assert.equal(delegation?.amount, 65_000)
  const included_ms = world.scene.devchain.head.header.timestamp
  assert.equal(Date.parse(delegation.expires_at), included_ms + 3_600_000)
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
  assert.equal(await anna.balance(), 97.07)

  await world.solidify()
  const until_then_seconds =
    (included_ms + 3_600_000 - world.scene.devchain.head.header.timestamp) / 1_000
  await world.advance(until_then_seconds - 3)
  await world.settle()
  assert.equal(
    (await anna.check(order.id)).delegations[0]?.reclaim_hash,
    undefined,
    'the hour is not over',
  )
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)

  await world.advance(3)
  await world.solidify()
  await world.settle()
  const [over] = (await anna.check(order.id)).delegations
  assert.match(String(over?.reclaim_hash), /^[0-9a-f]{64}$/)
  assert.ok(Date.parse(String(over?.reclaimed_at)) >= Date.parse(delegation.expires_at))
  assert.equal(await world.energyLimit(bob.address), 0)
  assert.equal(await anna.balance(), 97.07, 'a reclaim costs nothing')
})

test('bandwidth is delivered and taken back like energy', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buy({
    service: 'bandwidth',
    params: { address: bob.address, amount: 345, duration: 1 },
  })
  assert.equal(order.amount, 0.35)
  assert.deepEqual(order.params.amounts, { bandwidth: 345 })
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.ok((await world.bandwidthLimit(bob.address)) >= 345)
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  assert.equal(await world.bandwidthLimit(bob.address), 0)
})

test("a bundle delivers both resources for their prices' sum, its hash the energy's", async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const params = { address: bob.address, amounts: { energy: 65_000, bandwidth: 345 }, duration: 1 }
  const order = await anna.buy({ service: 'resource_bundle', params })
  assert.equal(order.service, 'resource_bundle')
  assert.equal(order.amount, 3.28)
  await world.settle()
  const done = await anna.check(order.id)
  assert.deepEqual(
    done.delegations.map(({ resource, amount }) => [resource, amount]),
    [
      ['energy', 65_000],
      ['bandwidth', 345],
    ],
  )
  assert.equal(done.hash, done.delegations[0]?.hash)
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
  assert.ok((await world.bandwidthLimit(bob.address)) >= 345)
})

test('two orders to one receiver are kept apart: each takes back its own stake', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 100 })
  const first = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.advance(1_800)
  const second = await zoe.buyEnergy(bob.address, 131_000)
  await world.settle()
  assert.ok((await world.energyLimit(bob.address)) >= 196_000)

  world.mine(20)
  await world.advance(1_800)
  await world.solidify()
  await world.settle()
  assert.ok((await anna.check(first.id)).delegations[0]?.reclaim_hash)
  assert.equal((await zoe.check(second.id)).delegations[0]?.reclaim_hash, undefined)
  const left = await world.energyLimit(bob.address)
  assert.ok(left >= 131_000 && left < 140_000, `${left}`)
  const [stake] = await world.sql<{
    stake_sun: bigint
  }>`select stake_sun from delegation where order_id = ${second.id}`
  const [wallet] = world.wallets.pool
  assert.equal(world.delegated(wallet!.address, bob.address, 'energy'), stake?.stake_sun)

  await world.advance(1_800)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('an order that no single wallet can deliver is split over several', async (t) => {
  // 5000 TRX are some 48,000 energy a day.
  const world = await makeWorld(t, { pool_trx: [5_000, 5_000, 5_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const order = await anna.buyEnergy(bob.address, 131_000)
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.equal(done.delegations.length, 3)
  assert.equal(
    done.delegations.reduce((sum, one) => sum + one.amount, 0),
    131_000,
  )
  assert.equal(new Set(done.delegations.map((one) => one.hash)).size, 3)
  assert.ok((await world.energyLimit(bob.address)) >= 131_000)
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('what the pool cannot deliver is refused before money moves, and sold later', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  await anna.buy({ service: 'energy', params })
  const refused = await anna.call('/v1/transaction/new', {
    service: 'energy',
    params,
    external_id: 'second',
  })
  assert.equal(refused.code, 35)
  assert.equal(await anna.balance(), 97.07)
  await world.settle()
  assert.equal(
    (await anna.call('/v1/transaction/new', { service: 'energy', params })).code,
    35,
    'and when delivered',
  )
  assert.equal(await anna.balance(), 97.07)

  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.solidify()
  const order = await anna.buy({ service: 'energy', params, external_id: 'second' })
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
})

test('customers who buy at the same moment never buy more than the pool has', async (t) => {
  const world = await makeWorld(t, { pool_trx: [20_000, 20_000] })
  const customers: Customer[] = []
  for (let i = 0; i < 4; i++) customers.push(await world.customer({ trx: 20 }))
  const bob = world.person('bob', 1)
  const { api } = await world.startProcess()
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  const replies = await Promise.all(
    customers.flatMap((one) =>
      [world.api, api, world.api].map((at) =>
        one.call('/v1/transaction/new', { service: 'energy', params }, {}, at),
      ),
    ),
  )
  const codes = replies.map(({ code }) => code)
  assert.equal(codes.filter((code) => code === 0).length, 5, codes.join(' '))
  assert.equal(codes.filter((code) => code === 35).length, 7)
  await world.settle()
  const [orders] = await world.sql<{
    n: bigint
  }>`select count(*) as n from orders where state = 'success'`
  assert.equal(orders?.n, 5n)
  assert.ok((await world.energyLimit(bob.address)) >= 5 * 65_000)
})

async function roomOf(world: World, resource: string) {
  const [pool] = await world.sql<{ free: bigint }>`
    select room - reserved as free from pool where resource = ${resource}`
  return pool
}

test('what is bought at the same moment is never more bandwidth than there is', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000], pool_bandwidth_trx: 10_000 })
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  const { free } = (await roomOf(world, 'bandwidth'))!
  const amount = 1_000
  const params = { address: bob.address, amount, duration: 1 }
  const most = Math.floor(Number(free) / amount)
  assert.ok(most > 0 && most < 20, `${most}`)
  const buying = Array.from({ length: most + 3 }, () =>
    anna.call('/v1/transaction/new', { service: 'bandwidth', params }),
  )
  const codes = (await Promise.all(buying)).map(({ code }) => code)
  assert.equal(codes.filter((code) => code === 0).length, most)
  assert.equal(codes.filter((code) => code === 35).length, 3)
  assert.ok((await roomOf(world, 'bandwidth'))!.free >= 0n)
  await world.settle()
})

test('a customer who buys everything at once is not overdrawn', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 9 })
  const { api } = await world.startProcess()
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      anna.call(
        '/v1/transaction/new',
        { service: 'energy', params },
        {},
        i % 2 === 0 ? api : world.api,
      ),
    ),
  )
  const codes = replies.map(({ code }) => code).toSorted()
  assert.deepEqual(codes, [0, 0, 0, 6, 6, 6, 6, 6, 6, 6])
  assert.equal(await anna.balance(), 0.21)
  await world.settle()
  assert.equal(await anna.balance(), 0.21)
})

/** Lets the network's total stake grow, which makes every stake worth less. */
function growNetwork(world: World, thousandths: bigint): void {
  const { chain } = world.scene.devchain
  const { rest_energy_weight, rest_net_weight } = totalsOf(chain.headView())
  const grown = (weight: bigint) => (weight * (1000n + thousandths)) / 1000n
  chain.decree({
    kind: 'weights',
    energy_weight_trx: grown(rest_energy_weight),
    net_weight_trx: grown(rest_net_weight),
  })
}

test('the receiver gets at least what was bought, also when the network grows', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1_000 })
  const amounts = [32_000, 64_999, 65_000, 130_999, 131_000, 1_234_567]
  for (const [i, amount] of amounts.entries()) {
    const bob = world.person(`bob-${i}`, 1)
    const ann = world.person(`ann-${i}`, 1)
    await world.drain()
    const energy = await anna.buyEnergy(bob.address, amount)
    const bandwidth = await anna.buy({
      service: 'bandwidth',
      params: { address: ann.address, amount: 300 + i, duration: 1 },
    })
    await world.drain()
    growNetwork(world, 9n)
    world.mine()
    await world.drain()
    assert.equal((await anna.check(energy.id)).status, 'success')
    assert.equal((await anna.check(bandwidth.id)).status, 'success')
    const energy_limit = await world.energyLimit(bob.address)
    const bandwidth_limit = await world.bandwidthLimit(ann.address)
    assert.ok(energy_limit >= amount, `${energy_limit} of ${amount}`)
    assert.ok(bandwidth_limit >= 300 + i, `${bandwidth_limit} of ${300 + i}`)
  }
})

test('the margin on a stake is no more than two in a hundred', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(bob.address, 1_000_000)
  await world.settle()
  const limit = await world.energyLimit(bob.address)
  assert.ok(limit <= 1_020_000, `${limit}`)
  const [pool] = await world.sql<{ total_limit: bigint; total_weight: bigint }>`
    select total_limit, total_weight from pool where resource = 'energy'`
  const delegated = world.wallets.pool.map(({ address }) =>
    world.delegated(address, bob.address, 'energy'),
  )
  assert.deepEqual(delegated.toSorted(), [0n, stakeFor(1_000_000, pool!)])
})

test('a changed price holds for the next purchase and leaves earlier ones alone', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const first = await anna.buyEnergy(bob.address, 65_000)
  await world.sql.begin(async (tx) => {
    await tx`update price set until = now() where resource = 'energy' and min_amount = 32000`
    await tx`
      insert into price (resource, min_amount, max_amount, price_sun, changed_by)
      values ('energy', 32000, 130999, 60000, 'test')`
  })
  world.wait(2)
  const second = await anna.buyEnergy(bob.address, 65_000)
  assert.equal(second.amount, 3.9)
  assert.equal((await anna.check(first.id)).amount, 2.93)
  assert.equal(await anna.balance(), 93.17)
})

test('a service that is off sale is refused with 35, and its neighbours are sold', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  await world.sql`update service set on_sale = false where name in ('bandwidth', 'direct_recharge')`
  world.wait(2)
  const params = { address: bob.address, amount: 345, duration: 1 }
  assert.equal((await anna.call('/v1/transaction/new', { service: 'bandwidth', params })).code, 35)
  assert.equal((await anna.call('/v1/calculate', { ...params, type: 'bandwidth' })).code, 35)
  assert.equal((await anna.call('/v1/direct-recharge-info')).code, 35)
  await anna.buyEnergy(bob.address, 65_000)
})

test('a column more while customers buy refuses nothing, and steps go on', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 1_000 })
  const other = await world.startProcess()
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  let altered = false
  let bought = 0
  // Every process has prepared all of it before, on each of its connections.
  const buying = [world.api, world.api, other.api, other.api].map(async (api, buyer) => {
    const codes: number[] = []
    for (let round = 0, after = 0; after < 3; round++, after += altered ? 1 : 0) {
      const body = { service: 'energy', params, external_id: `${buyer} ${round}` }
      for (const path of ['/v1/transaction/new', '/v1/transaction/new', '/v1/transaction/check'])
        codes.push((await anna.call(path, body, {}, api)).code)
      bought += 1
    }
    return codes
  })
  while (bought < 12) await delay(10)
  await world.sql`alter table orders add column one_more integer`
  altered = true
  for (const codes of await Promise.all(buying))
    assert.deepEqual([...new Set(codes)], [0], codes.join())
  await world.settle()
})
