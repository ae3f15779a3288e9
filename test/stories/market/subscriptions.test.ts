// Subscriptions on the wire: plans, starting, naming, the history, and what is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setSwitches } from 'penstock-service/market/prices/switches.ts'
import {
  check,
  energyLeft,
  expiryOf,
  listed,
  PER_TRANSACTION,
  START,
  type Subscription,
  type SubscriptionItem,
  sender,
  subscribe,
  wanted,
} from '../../harness/subscribers.ts'
import { makeWorld } from '../../harness/world.ts'

test('the plans are an object by key, in the order of making, with prices in TRX', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const plans = await anna.get<Record<string, { id: number }>>('/v1/subscriptions')
  assert.deepEqual(Object.keys(plans), ['unlimited_energy', 'energy_pack_100'])
  assert.deepEqual(plans, {
    unlimited_energy: {
      id: plans.unlimited_energy!.id,
      name: 'Unlimited energy',
      activation_fee: 0,
      initial_price: 6,
      price: 2.8,
      transactions_limit: 0,
      duration_days: 0,
    },
    energy_pack_100: {
      id: plans.energy_pack_100!.id,
      name: 'Energy for 100 transactions',
      activation_fee: 0,
      initial_price: 250,
      price: 0,
      transactions_limit: 100,
      duration_days: 30,
    },
  })
  for (const { id } of Object.values(plans)) assert.ok(Number.isInteger(id))
})

test('a start takes the initial price, gives the first energy, and is active then', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const bob = sender(world)
  const started = await anna.get<Subscription>(
    START,
    wanted(bob.address, { duration: 30 }, { external_id: 'sub-1' }),
  )
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
  assert.deepEqual(await anna.get('/v1/subscription/check', { external_id: 'sub-1' }), {
    ...started,
    status: 'active',
  })
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
  assert.equal(await anna.balance(), 4)
  const item = await listed(anna, started.id)
  assert.deepEqual(item, {
    id: started.id,
    status: 'active',
    subscription_id: 'unlimited_energy',
    address: bob.address,
    transactions_limit: 0,
    transactions_used: 0,
    energy_used: 0,
    total_price: 6,
    started_at: item.started_at,
    renewed_at: item.renewed_at,
    stopped_at: null,
    expire_at: started.expire_at,
    created_at: started.created_at,
  })
  assert.match(String(item.started_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
})

test('a start that cannot be supplied is an error after ten minutes, and paid back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10, daily_cap_sun: 10_000_000n })
  const bob = sender(world)
  world.network.loses = (type) => type === 'DelegateResourceContract'
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  for (let i = 0; i < 30; i++) {
    world.mine(8)
    await world.drain()
  }
  const item = await listed(anna, id)
  assert.deepEqual([item.status, item.total_price], ['error', 0])
  assert.match(String(item.reason), /supplied/)
  assert.equal(await anna.balance(), 10)
  world.network.loses = () => false
  await subscribe(world, anna, wanted(bob.address))
  assert.equal(await anna.balance(), 4, 'what was given back does not count against the cap either')
})

test('an inactive address is activated when asked for, and refused otherwise', async (t) => {
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

test('one address has one subscription; another customer hears that it has an owner', async (t) => {
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

test('racing twins get one subscription; one external_id with another meaning fails', async (t) => {
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
    assert.deepEqual(
      [code, key],
      [2, 'invalid_service_or_params.external_id'],
      JSON.stringify(change),
    )
  }
  const named = await anna.call(START, wanted(sue.address), { 'idempotency-key': 'k' })
  const again = await anna.call(START, wanted(sue.address), { 'idempotency-key': 'k' })
  assert.deepEqual(
    [again.result.id, again.headers['idempotency-replayed']],
    [named.result.id, 'true'],
  )
  const racing = await Promise.all(
    ['a', 'b'].map((external_id) =>
      anna.call(START, wanted(world.person('shop').address, {}, { external_id })),
    ),
  )
  assert.deepEqual(racing.map(({ code }) => code).sort(), [0, 10])
  assert.equal(await anna.balance(), 82)
})

test('the limits of a start may narrow the plan, not widen it; nonsense is refused', async (t) => {
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
  for (const [body, code] of rows)
    assert.equal((await anna.call(START, body)).code, code, JSON.stringify(body))
  assert.equal(await anna.balance(), 1_000)
  const sue = sender(world, 'sue')
  await subscribe(world, anna, wanted(sue.address, { duration: 30, transactions_limit: 100 }, pack))
})

test('a subscription is named by id, old id, own id, or both when they agree', async (t) => {
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
    assert.equal(
      (await anna.call('/v1/subscription/stop', body)).code,
      outcome,
      JSON.stringify(body),
    )
  }
})

test('the history is newest first, with totals, filters, and pages past the end', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 100 })
  const ids: string[] = []
  for (const name of ['a', 'b', 'c'])
    ids.push((await subscribe(world, anna, wanted(sender(world, name).address))).id)
  await subscribe(world, zoe, wanted(sender(world, 'd').address))
  await anna.get('/v1/subscription/stop', { id: ids[1] })
  const page = async (body: object) => {
    const { items, ...rest } = await anna.get<{ items: SubscriptionItem[] }>(
      '/v1/subscriptions/history',
      body,
    )
    return { ...rest, ids: items.map((item) => item.id) }
  }
  const [first, second, third] = ids as [string, string, string]
  assert.deepEqual(await page({}), { page: 1, per_page: 10, total: 3, ids: [third, second, first] })
  assert.deepEqual(await page({ page: 2, per_page: 2 }), {
    page: 2,
    per_page: 2,
    total: 3,
    ids: [first],
  })
  for (const far of [9, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER])
    assert.deepEqual(await page({ page: far, per_page: 50 }), {
      page: far,
      per_page: 50,
      total: 3,
      ids: [],
    })
  assert.deepEqual(await page({ status: 'stopped' }), {
    page: 1,
    per_page: 10,
    total: 1,
    ids: [second],
  })
  assert.deepEqual(await page({ status: '' }), {
    page: 1,
    per_page: 10,
    total: 3,
    ids: [third, second, first],
  })
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

test('a start while subscriptions are not on sale is refused, and costs nothing', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const put = (on_sale: boolean) =>
    world.sql.begin((tx) =>
      setSwitches(tx, { names: ['subscription'], on_sale, changed_by: 'olga', at: world.now }),
    )
  await put(false)
  world.wait(3)
  const refused = await anna.call(START, wanted(bob.address))
  assert.deepEqual([refused.code, await anna.balance()], [35, 100])
  await put(true)
  world.wait(3)
  await subscribe(world, anna, wanted(bob.address))
})
