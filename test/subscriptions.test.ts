// Subscriptions through the front door, on a chain where the subscribed address really spends energy: it sends tokens.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectorOf, wordOfAddress, wordOfInteger } from '../devchain/abi.ts'
import type { Person } from '../devchain/scene.ts'
import { addressToHex } from '../src/tron/address.ts'
import { USDT } from '../src/tron/tokens.ts'
import { type Customer, makeWorld, TRX, type World } from './world.ts'

type Subscription = {
  id: string
  subscription_id: string
  created_at: string
  expire_at?: string | null
  stopped_at?: string | null
  address?: string
  status: string
  external_id: string | null
  params: { address: string; duration: number; transactions_limit: number; activate_address: boolean }
}

type Listed = {
  id: string
  status: string
  transactions_limit: number
  transactions_used: number
  energy_used: number
  total_price: number
  started_at: string | null
  renewed_at: string | null
  stopped_at: string | null
  expire_at: string | null
  created_at: string
  reason?: string
}

const PER_TRANSACTION = 65_000
const START = '/v1/subscription/start'

const wanted = (address: string, params: object = {}, more: object = {}) => ({
  subscription_id: 'unlimited_energy',
  params: { address, duration: 0, transactions_limit: 0, ...params },
  ...more,
})

/** Somebody with tokens to send, and TRX for what energy does not cover. */
function sender(world: World, name = 'bob', trx = 1_000): Person {
  const bob = world.person(name, trx)
  world.scene.post('/devchain/mint', { address: bob.address, amount: 1_000_000_000n })
  // Who holds some already costs less to send to.
  world.scene.post('/devchain/mint', { address: world.person('shop', 1).address, amount: 1n })
  return bob
}

/** Puts a transfer of tokens into the next block. */
function sendTokens(world: World, from: Person, to: Person = world.person('shop')): string {
  const data = selectorOf('transfer(address,uint256)') + wordOfAddress(to.hex) + wordOfInteger(1n)
  const message = { contract_address: addressToHex(USDT), data }
  const answer = world.scene.send(from, 'TriggerSmartContract', message, { fee_limit: 1_000n * TRX })
  assert.equal(answer.result, true, String(answer.message))
  return String(answer.txid)
}

/** Sends tokens and lets the service see the block. Returns the energy that it took. */
async function use(world: World, from: Person, to?: Person): Promise<number> {
  const tx_id = sendTokens(world, from, to)
  world.mine()
  await world.drain()
  const { receipt } = world.scene.post('/wallet/gettransactioninfobyid', { value: tx_id }) as {
    receipt: { energy_usage_total: number }
  }
  return Number(receipt.energy_usage_total)
}

/** Starts one, and waits until it is active. */
async function subscribe(world: World, who: Customer, body: object): Promise<Subscription> {
  const started = await who.get<Subscription>(START, body)
  await world.settle()
  const now = await check(who, started.id)
  assert.equal(now.status, 'active')
  return now
}

const check = (who: Customer, id: string) => who.get<Subscription>('/v1/subscription/check', { id })

async function listed(who: Customer, id: string): Promise<Listed> {
  const { items } = await who.get<{ items: Listed[] }>('/v1/subscriptions/history', { per_page: 50 })
  return items.find((item) => item.id === id)!
}

const energyLeft = async (world: World, { address }: Person) =>
  Number((await world.node.resource(address, 'energy')).left)

const expiryOf = (created_at: string, days: number) =>
  `${new Date(Date.parse(created_at) + days * 86_400_000).toISOString().slice(0, 19)}Z`

test('the plans are an object by their keys, in the order in which they were made, with prices in TRX', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const plans = await anna.get<Record<string, { id: number }>>('/v1/subscriptions')
  assert.deepEqual(Object.keys(plans), ['unlimited_energy', 'energy_pack_100'])
  assert.deepEqual(plans, {
    unlimited_energy: {
      ...{ id: plans.unlimited_energy!.id, name: 'Unlimited energy', activation_fee: 0, initial_price: 6, price: 2.8 },
      ...{ transactions_limit: 0, duration_days: 0 },
    },
    energy_pack_100: {
      ...{ id: plans.energy_pack_100!.id, name: 'Energy for 100 transactions', activation_fee: 0, initial_price: 250 },
      ...{ price: 0, transactions_limit: 100, duration_days: 30 },
    },
  })
  for (const { id } of Object.values(plans)) assert.ok(Number.isInteger(id))
})

test('a start takes the initial price at once, gives the address its first energy, and is active then', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const bob = sender(world)
  const started = await anna.get<Subscription>(START, wanted(bob.address, { duration: 30 }, { external_id: 'sub-1' }))
  assert.match(started.id, /^[0-9a-z]{26}$/)
  assert.deepEqual(started, {
    id: started.id,
    subscription_id: 'unlimited_energy',
    created_at: started.created_at,
    status: 'new',
    external_id: 'sub-1',
    params: { address: bob.address, duration: 30, transactions_limit: 0, activate_address: false },
    address: bob.address,
    expire_at: expiryOf(started.created_at, 30),
  })
  assert.equal(await anna.balance(), 4)
  await world.drain()
  assert.equal((await check(anna, started.id)).status, 'pending')
  world.mine()
  await world.drain()
  assert.deepEqual(await check(anna, started.id), { ...started, status: 'active' })
  assert.deepEqual(await anna.get('/v1/subscription/check', { external_id: 'sub-1' }), { ...started, status: 'active' })
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
  assert.equal(await anna.balance(), 4)
  const item = await listed(anna, started.id)
  assert.deepEqual(item, {
    ...{ id: started.id, status: 'active', subscription_id: 'unlimited_energy', address: bob.address },
    ...{ transactions_limit: 0, transactions_used: 0, energy_used: 0, total_price: 6 },
    ...{ started_at: item.started_at, renewed_at: item.renewed_at, stopped_at: null },
    ...{ expire_at: started.expire_at, created_at: started.created_at },
  })
  assert.match(String(item.started_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
})

test('a transaction that used energy is seen in its block, and the next block fills the address up again', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  let energy_used = 0
  for (const [i, price] of [6, 6, 8.8, 11.6].entries()) {
    energy_used += await use(world, bob)
    world.mine()
    await world.drain()
    const [last] = await world.sql<{ block: bigint }>`
      select max(block_number) as block from attempt where subject like 'delegate:%'`
    assert.equal(Number(last!.block), world.scene.devchain.head.header.number, 'it is in the block after')
    assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
    const item = await listed(anna, id)
    assert.equal(item.transactions_used, i + 1)
    assert.deepEqual([item.total_price, item.energy_used, item.status], [price, energy_used, 'active'])
  }
  assert.equal(await anna.balance(), 88.4)
  await world.solidify()
  await world.solidify()
  assert.equal((await listed(anna, id)).transactions_used, 4, 'each transaction counts once')
})

test('a transaction that takes the energy of several counts as several', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const energy = await use(world, bob, world.person('newcomer', 1))
  assert.ok(energy > PER_TRANSACTION, `${energy}`)
  const count = Math.ceil(energy / PER_TRANSACTION)
  const item = await listed(anna, id)
  assert.equal(item.transactions_used, count)
  assert.equal(item.total_price, Math.round(100 * (6 + 2.8 * Math.max(0, count - 2))) / 100)
})

test('two transactions in one block, and two blocks on end, are each counted and supplied', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  sendTokens(world, bob)
  sendTokens(world, bob)
  world.mine()
  await world.drain()
  assert.equal((await listed(anna, id)).transactions_used, 2)
  await use(world, bob)
  await use(world, bob)
  world.mine()
  await world.drain()
  world.mine()
  await world.drain()
  assert.equal((await listed(anna, id)).transactions_used, 4)
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
})

test('what is not used stays: the supply is renewed before its hour is over', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await world.solidify()
  for (let minutes = 0; minutes < 150; minutes += 4) {
    await world.advance(240)
    world.mine()
    await world.drain()
    assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION, `after ${minutes} minutes`)
  }
  const { transactions_used, total_price, renewed_at, started_at } = await listed(anna, id)
  assert.deepEqual([transactions_used, total_price], [0, 6])
  assert.ok(Date.parse(String(renewed_at)) > Date.parse(String(started_at)))
  assert.ok((await world.energyLimit(bob.address)) < 3 * PER_TRANSACTION, 'the old ones are taken back')
})

test('a stop ends it at once, takes the energy back, and nothing is charged after it', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const active = await subscribe(world, anna, wanted(bob.address, {}, { external_id: 'sub-1' }))
  const stopped = await anna.get<Subscription>('/v1/subscription/stop', { external_id: 'sub-1' })
  assert.deepEqual(stopped, {
    ...{ id: active.id, subscription_id: 'unlimited_energy', created_at: active.created_at, status: 'stopped' },
    ...{ external_id: 'sub-1', params: active.params, stopped_at: `${world.now.toISOString().slice(0, 19)}Z` },
  })
  assert.equal((await anna.call('/v1/subscription/stop', { external_id: 'sub-1' })).code, 21)
  await use(world, bob)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
  const { transactions_used, total_price, stopped_at } = await listed(anna, active.id)
  assert.deepEqual([transactions_used, total_price, stopped_at], [0, 6, stopped.stopped_at])
  assert.equal(await anna.balance(), 94)
})

test('a transaction in a block from before the stop is served and charged, whenever the block is read', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await use(world, bob)
  world.mine()
  await use(world, bob)
  world.mine()
  sendTokens(world, bob)
  world.mine()
  await anna.get('/v1/subscription/stop', { id })
  await world.drain()
  const { transactions_used, total_price, status } = await listed(anna, id)
  assert.deepEqual([transactions_used, total_price, status], [3, 8.8, 'stopped'])
  assert.equal(await anna.balance(), 91.2)
})

test('what the address used before its first supply is not charged', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  sendTokens(world, bob)
  world.mine()
  // The block is not read yet.
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  await world.settle()
  assert.deepEqual([(await check(anna, id)).status, (await listed(anna, id)).transactions_used], ['active', 0])
})

test('transactions right after the first supply count, though the service saw all the blocks at once', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  await world.drain()
  world.mine()
  sendTokens(world, bob)
  world.mine()
  await world.drain()
  assert.deepEqual([(await check(anna, id)).status, (await listed(anna, id)).transactions_used], ['active', 1])
})

test('the transactions of a limit are used up: it expires, and its energy goes back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 300 })
  const bob = sender(world)
  const pack = wanted(bob.address, { transactions_limit: 2 }, { subscription_id: 'energy_pack_100' })
  const { id, expire_at, created_at } = await subscribe(world, anna, pack)
  assert.equal(expire_at, expiryOf(created_at, 30), 'the days of the plan')
  assert.equal((await anna.call('/v1/subscription/stop', { id })).code, 21, 'one with a limit cannot be stopped')
  await use(world, bob)
  world.mine()
  await world.drain()
  assert.equal((await listed(anna, id)).status, 'active')
  await use(world, bob)
  const item = await listed(anna, id)
  assert.deepEqual(
    [item.status, item.transactions_used, item.transactions_limit, item.total_price],
    ['expired', 2, 2, 250],
  )
  assert.match(String(item.reason), /used up/)
  world.mine()
  await use(world, bob)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
  assert.equal((await listed(anna, id)).transactions_used, 2)
  assert.equal(await anna.balance(), 50)
})

test('its days are used up: it expires, and its energy goes back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 300 })
  const bob = sender(world)
  const { id, expire_at } = await subscribe(world, anna, wanted(bob.address, { duration: 1 }))
  await world.solidify()
  await world.advance(86_300)
  await world.settle()
  assert.equal((await check(anna, id)).status, 'active')
  await world.advance(200)
  await world.drain()
  const item = await listed(anna, id)
  assert.deepEqual([item.status, item.expire_at], ['expired', expire_at])
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
  assert.equal(await anna.balance(), 294)
})

test('a charge that cannot be paid stops it, with the reason, and the balance never goes below zero', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 9 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  for (let i = 0; i < 3; i++) {
    await use(world, bob)
    world.mine()
    await world.drain()
  }
  assert.deepEqual([(await listed(anna, id)).status, await anna.balance()], ['active', 0.2])
  await use(world, bob)
  const item = await listed(anna, id)
  assert.deepEqual([item.status, item.transactions_used, item.total_price], ['stopped', 4, 8.8])
  assert.match(String(item.reason), /paid/)
  assert.equal(await anna.balance(), 0.2)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('a start that cannot be supplied is an error after ten minutes, and everything is paid back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10, daily_cap_sun: 10_000_000n })
  const bob = sender(world)
  world.weather.loses = (type) => type === 'DelegateResourceContract'
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  for (let i = 0; i < 30; i++) {
    world.mine(8)
    await world.drain()
  }
  const item = await listed(anna, id)
  assert.deepEqual([item.status, item.total_price], ['error', 0])
  assert.match(String(item.reason), /supplied/)
  assert.equal(await anna.balance(), 10)
  world.weather.loses = () => false
  await subscribe(world, anna, wanted(bob.address))
  assert.equal(await anna.balance(), 4, 'what was given back does not count against the cap either')
})

test('an address that is not active is activated when that is asked for, and refused otherwise', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 20 })
  const nina = world.person('nina')
  const { code, key } = await anna.call(START, wanted(nina.address))
  assert.deepEqual([code, key], [24, 'address_not_activated.subscription'])
  const { params } = await subscribe(world, anna, wanted(nina.address, { activate_address: true }))
  assert.equal(params.activate_address, true)
  assert.ok((await energyLeft(world, nina)) >= PER_TRANSACTION)
  assert.equal(await anna.balance(), 14)
})

test('one address has one subscription, and another customer hears only that it has an owner', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const own = await anna.call(START, wanted(bob.address))
  assert.deepEqual([own.code, own.key], [10, 'invalid_network_address.already_subscribed'])
  const other = await zoe.call(START, wanted(bob.address))
  assert.deepEqual([other.code, other.key], [2, 'invalid_service_or_params.address_owner'])
  assert.equal((await zoe.call('/v1/subscription/check', { id })).code, 20)
  assert.equal((await zoe.call('/v1/subscription/stop', { id })).code, 20)
  await anna.get('/v1/subscription/stop', { id })
  await subscribe(world, zoe, wanted(bob.address))
  assert.deepEqual([await anna.balance(), await zoe.balance()], [94, 94])
})

test('twins that race get one subscription; the same external_id with another meaning is refused', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const [bob, sue] = [sender(world), sender(world, 'sue')]
  const body = wanted(bob.address, {}, { external_id: '0' })
  const twins = await Promise.all(Array.from({ length: 6 }, () => anna.call(START, body)))
  assert.equal(new Set(twins.map(({ result }) => result.id)).size, 1)
  assert.equal(twins.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 5)
  assert.equal(await anna.balance(), 94)
  const changes: object[] = [
    wanted(sue.address),
    wanted(bob.address, { duration: 1 }),
    wanted(bob.address, { transactions_limit: 1 }),
    wanted(bob.address, { activate_address: true }),
    { ...body, subscription_id: 'energy_pack_100' },
  ]
  for (const change of changes) {
    const { code, key } = await anna.call(START, { ...change, external_id: '0' })
    assert.deepEqual([code, key], [2, 'invalid_service_or_params.external_id'], JSON.stringify(change))
  }
  const named = await anna.call(START, wanted(sue.address), { 'idempotency-key': 'k' })
  const again = await anna.call(START, wanted(sue.address), { 'idempotency-key': 'k' })
  assert.deepEqual([again.result.id, again.headers['idempotency-replayed']], [named.result.id, 'true'])
  const racing = await Promise.all(
    ['a', 'b'].map((external_id) => anna.call(START, wanted(world.person('shop').address, {}, { external_id }))),
  )
  assert.deepEqual(racing.map(({ code }) => code).sort(), [0, 10])
  assert.equal(await anna.balance(), 82)
})

test('the limits of a start may narrow the plan and not widen it; nonsense is refused', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1_000 })
  const bob = sender(world)
  const pack = { subscription_id: 'energy_pack_100' }
  const rows: [body: unknown, code: number][] = [
    [wanted(bob.address, { duration: 31 }, pack), 12],
    [wanted(bob.address, { transactions_limit: 101 }, pack), 2],
    [wanted(bob.address, { duration: -1 }), 12],
    [wanted(bob.address, { duration: '30' }), 12],
    [JSON.stringify(wanted(bob.address)).replace('"duration":0', '"duration":30.0'), 12],
    [wanted(bob.address, { duration: true }), 12],
    [wanted(bob.address, { transactions_limit: -1 }), 2],
    [wanted(bob.address, { transactions_limit: '1' }), 2],
    [wanted(bob.address, { activate_address: 1 }), 2],
    [wanted('T123'), 10],
    [wanted(bob.address, {}, { subscription_id: 'gone' }), 2],
    [wanted(bob.address, {}, { subscription_id: 8 }), 2],
    [wanted(bob.address, {}, { subscription_id: null }), 2],
    [wanted(bob.address, {}, { external_id: 7 }), 2],
    [{ subscription_id: 'unlimited_energy' }, 2],
    [{ subscription_id: 'unlimited_energy', params: [] }, 2],
  ]
  for (const [body, code] of rows) assert.equal((await anna.call(START, body)).code, code, JSON.stringify(body))
  assert.equal(await anna.balance(), 1_000)
  const sue = sender(world, 'sue')
  await subscribe(world, anna, wanted(sue.address, { duration: 30, transactions_limit: 100 }, pack))
})

test('what names a subscription: its id, the old name for it, the own id, or both when they agree', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address, {}, { external_id: 'sub-1' }))
  const rows: [body: object, outcome: number | string][] = [
    [{ id }, id],
    [{ subscription_id: id }, id],
    [{ id: '', subscription_id: id }, id],
    [{ external_id: 'sub-1' }, id],
    [{ id, external_id: 'sub-1' }, id],
    [{ id, external_id: 'sub-2' }, 20],
    [{ id: 'x' }, 20],
    [{ external_id: '0' }, 20],
    [{}, 2],
    [{ id: 8 }, 2],
    [{ id, external_id: [] }, 2],
  ]
  for (const [body, outcome] of rows) {
    const { code, result } = await anna.call('/v1/subscription/check', body)
    assert.equal(code === 0 ? result.id : code, outcome, JSON.stringify(body))
  }
  for (const [body, outcome] of rows.slice(5)) {
    assert.equal((await anna.call('/v1/subscription/stop', body)).code, outcome, JSON.stringify(body))
  }
})

test('the history is newest first, with exact totals, filters, and pages past the end', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 100 })
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) ids.push((await subscribe(world, anna, wanted(sender(world, name).address))).id)
  await subscribe(world, zoe, wanted(sender(world, 'd').address))
  await anna.get('/v1/subscription/stop', { id: ids[1] })
  const page = async (body: object) => {
    const { items, ...rest } = await anna.get<{ items: Listed[] }>('/v1/subscriptions/history', body)
    return { ...rest, ids: items.map((item) => item.id) }
  }
  const [first, second, third] = ids as [string, string, string]
  assert.deepEqual(await page({}), { page: 1, per_page: 10, total: 3, ids: [third, second, first] })
  assert.deepEqual(await page({ page: 2, per_page: 2 }), { page: 2, per_page: 2, total: 3, ids: [first] })
  assert.deepEqual(await page({ page: 9 }), { page: 9, per_page: 10, total: 3, ids: [] })
  assert.deepEqual(await page({ status: 'stopped' }), { page: 1, per_page: 10, total: 1, ids: [second] })
  assert.deepEqual(await page({ status: '' }), { page: 1, per_page: 10, total: 3, ids: [third, second, first] })
  assert.deepEqual(await page({ status: 'expired' }), { page: 1, per_page: 10, total: 0, ids: [] })
  for (const [field, value] of [
    ['page', 0],
    ['page', '1'],
    ['per_page', 0],
    ['per_page', 51],
    ['status', 'success'],
  ]) {
    const { code, key } = await anna.call('/v1/subscriptions/history', { [String(field)]: value })
    assert.deepEqual([code, key], [2, `invalid_service_or_params.${field}`])
  }
})

test('what a fork takes away is given back when the other branch is solid, and what it keeps counts once', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await world.solidify()
  for (let i = 0; i < 3; i++) {
    await use(world, bob)
    world.mine()
    await world.drain()
  }
  await world.solidify()
  await use(world, bob)
  assert.equal((await listed(anna, id)).total_price, 11.6)
  world.fork(1)
  await world.drain()
  await world.solidify()
  const moved = await listed(anna, id)
  assert.deepEqual([moved.transactions_used, moved.total_price], [4, 11.6], 'it is still there')
  await use(world, bob)
  assert.equal((await listed(anna, id)).total_price, 14.4)
  world.fork(1, { drop: true })
  await world.drain()
  await world.solidify()
  const after = await listed(anna, id)
  assert.deepEqual([after.transactions_used, after.energy_used, after.total_price], [4, moved.energy_used, 11.6])
  assert.equal(await anna.balance(), 88.4)
})

test('two processes count, charge and supply each transaction once', async (t) => {
  const world = await makeWorld(t)
  const other = await world.startProcess()
  const anna = await world.customer({ trx: 100 })
  const people = ['a', 'b', 'c'].map((name) => sender(world, name))
  for (const one of people) await subscribe(world, anna, wanted(one.address))
  for (let round = 0; round < 4; round++) {
    for (const one of people) sendTokens(world, one)
    world.mine()
    for (let turn = 0; turn < 4; turn++) {
      await Promise.all([...world.app.steps, ...other.app.steps].map((step) => step.run()))
    }
    world.mine()
    await world.drain()
  }
  const { items } = await anna.get<{ items: Listed[] }>('/v1/subscriptions/history')
  for (const item of items) assert.deepEqual([item.transactions_used, item.total_price], [4, 11.6])
  assert.equal(await anna.balance(), Math.round(100 * (100 - 3 * 11.6)) / 100)
  for (const one of people) assert.ok((await energyLeft(world, one)) < 3 * PER_TRANSACTION)
})
