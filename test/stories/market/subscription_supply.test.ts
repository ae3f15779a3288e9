// Subscribed addresses that spend energy: supplied within a block, counted, charged once, and how
// it ends.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drain } from 'penstock-service/platform/steps/step.ts'
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
  sendTokens,
  subscribe,
  use,
  wanted,
} from '../../harness/subscribers.ts'
import { makeWorld } from '../../harness/world.ts'

test('a transaction that used energy is seen; the next block refills the address', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  let energy_used = 0
  for (const [i, price] of [6, 6, 8.67, 11.47].entries()) {
    energy_used += await use(world, bob)
    world.mine()
    await world.drain()
    const [last] = await world.sql<{ block: bigint }>`
      select max(block_number) as block from attempt where subject like 'delegate:%'`
    assert.equal(
      Number(last!.block),
      world.scene.devchain.head.header.number,
      'it is in the block after',
    )
    assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
    const item = await listed(anna, id)
    assert.equal(item.transactions_used, i + 1)
    assert.deepEqual(
      [item.total_price, item.energy_used, item.status],
      [price, energy_used, 'active'],
    )
  }
  assert.equal(await anna.balance(), 85.73, 'the price of the next one is set aside')
  await world.solidify()
  await world.solidify()
  assert.equal((await listed(anna, id)).transactions_used, 4, 'each transaction counts once')
})

test('an address blacklisted meanwhile: the subscription is stopped and says why', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await world.bar(bob.address)
  assert.equal((await listed(anna, id)).status, 'active', 'it still has what it was given')
  await use(world, bob)
  await world.settle()
  const item = await listed(anna, id)
  assert.deepEqual(
    [item.status, item.reason, item.transactions_used],
    ['stopped', 'This address is blacklisted', 1],
  )
  assert.notEqual(item.stopped_at, null)
  await world.solidify()
  await world.settle()
  assert.ok((await energyLeft(world, bob)) < PER_TRANSACTION, 'what was left is taken back')
  const again = await anna.call(START, wanted(bob.address))
  assert.deepEqual([again.code, again.key], [10, 'invalid_network_address.blacklisted'])
})

test('an address blacklisted before its first energy is an error, and paid back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  await world.bar(bob.address)
  const item = await listed(anna, id)
  assert.deepEqual(
    [item.status, item.reason, item.total_price],
    ['error', 'This address is blacklisted', 0],
  )
  assert.equal(await anna.balance(), 100)
})

test('a transfer to a new holder counts what our energy paid, and no more', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const energy = await use(world, bob, world.person('newcomer', 1))
  assert.ok(energy > 2 * PER_TRANSACTION, `${energy}`)
  const one = await listed(anna, id)
  assert.deepEqual([one.transactions_used, one.total_price], [1, 6], 'the rest was burnt')
  assert.ok(one.energy_used < 1.02 * PER_TRANSACTION, `${one.energy_used}`)
})

test('where energy of two lies, a transfer to a new holder counts as two', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  // Renewed five minutes before its hour is over, so that both lie there.
  while ((await energyLeft(world, bob)) < 2 * PER_TRANSACTION) {
    await world.advance(60)
    await world.drain()
    world.mine()
  }
  const energy = await use(world, bob, world.person('newcomer', 1))
  const { transactions_used, energy_used } = await listed(anna, id)
  assert.deepEqual([transactions_used, energy_used], [2, energy])
})

test('what the address has of its own is not charged, as often as it has it', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  await anna.buy({ service: 'energy', params })
  await world.settle()
  await world.advance(60)
  await use(world, bob)
  world.mine()
  await world.drain()
  assert.deepEqual([(await listed(anna, id)).transactions_used], [0], 'paid with what it bought')
  await use(world, bob)
  world.mine()
  await world.drain()
  assert.deepEqual([(await listed(anna, id)).transactions_used], [1])
})

test('two transactions in a block, or two blocks on end, count as they were served', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  sendTokens(world, bob)
  sendTokens(world, bob)
  world.mine()
  await world.drain()
  assert.equal((await listed(anna, id)).transactions_used, 1, 'the second was burnt')
  world.mine()
  await world.drain()
  await use(world, bob)
  await use(world, bob)
  world.mine()
  await world.drain()
  world.mine()
  await world.drain()
  assert.equal(
    (await listed(anna, id)).transactions_used,
    3,
    'in two blocks on end each was served',
  )
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
})

test('what is not used stays: the supply is renewed before its hour is over', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await world.solidify()
  for (let minutes = 0; minutes < 150; minutes += 4) {
    if (minutes === 80) await use(world, bob)
    await world.advance(240)
    world.mine()
    await world.drain()
    assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION, `after ${minutes} minutes`)
  }
  const { transactions_used, total_price, renewed_at, started_at } = await listed(anna, id)
  assert.deepEqual([transactions_used, total_price], [1, 6])
  assert.ok(Date.parse(String(renewed_at)) > Date.parse(String(started_at)))
  assert.ok(
    (await world.energyLimit(bob.address)) < 3 * PER_TRANSACTION,
    'the old ones are taken back',
  )
})

test('a stop ends it at once, takes the energy back, and charges nothing after', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const active = await subscribe(world, anna, wanted(bob.address, {}, { external_id: 'sub-1' }))
  const stopped = await anna.get<Subscription>('/v1/subscription/stop', { external_id: 'sub-1' })
  assert.deepEqual(stopped, {
    id: active.id,
    subscription_id: 'unlimited_energy',
    created_at: active.created_at,
    status: 'stopped',
    external_id: 'sub-1',
    params: active.params,
    stopped_at: `${world.now.toISOString().slice(0, 19)}Z`,
  })
  assert.equal((await anna.call('/v1/subscription/stop', { external_id: 'sub-1' })).code, 21)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
  await use(world, bob)
  const { transactions_used, total_price, stopped_at } = await listed(anna, active.id)
  assert.deepEqual([transactions_used, total_price, stopped_at], [0, 6, stopped.stopped_at])
  assert.equal(await anna.balance(), 94)
})

test('a transaction from before the stop is charged, whenever its block is read', async (t) => {
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
  assert.deepEqual([transactions_used, total_price, status], [3, 8.67, 'stopped'])
  assert.equal(await anna.balance(), 91.33)
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
  assert.deepEqual(
    [(await check(anna, id)).status, (await listed(anna, id)).transactions_used],
    ['active', 0],
  )
})

test('transactions right after the first supply count, though read all at once', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  await world.drain()
  world.mine()
  sendTokens(world, bob)
  world.mine()
  await world.drain()
  assert.deepEqual(
    [(await check(anna, id)).status, (await listed(anna, id)).transactions_used],
    ['active', 1],
  )
})

test('the transactions of a limit are used up: it expires, and its energy goes back', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 300 })
  const bob = sender(world)
  const pack = wanted(
    bob.address,
    { transactions_limit: 2 },
    { subscription_id: 'energy_pack_100' },
  )
  const { id, expire_at, created_at } = await subscribe(world, anna, pack)
  assert.equal(expire_at, expiryOf(created_at, 30), 'the days of the plan')
  assert.equal(
    (await anna.call('/v1/subscription/stop', { id })).code,
    21,
    'one with a limit cannot be stopped',
  )
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

test('a charge that cannot be paid stops it, and the balance stays above zero', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 9 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  for (let i = 0; i < 2; i++) {
    await use(world, bob)
    world.mine()
    await world.drain()
  }
  assert.deepEqual([(await listed(anna, id)).status, await anna.balance()], ['active', 0.2])
  await use(world, bob)
  const item = await listed(anna, id)
  assert.deepEqual([item.status, item.transactions_used, item.total_price], ['stopped', 3, 8.67])
  assert.match(String(item.reason), /paid/)
  assert.equal(await anna.balance(), 0.33)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('of what was sent before a stop, only what our energy served is counted', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 6 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  for (let i = 0; i < 5; i++) {
    sendTokens(world, bob)
    world.mine()
  }
  await anna.get('/v1/subscription/stop', { id })
  await world.drain()
  // Energy for one lay there, and was not filled up: the others have burnt TRX.
  const { status, transactions_used, total_price } = await listed(anna, id)
  assert.deepEqual(
    [status, transactions_used, total_price, await anna.balance()],
    ['stopped', 1, 6, 0],
  )
})

test('what a fork takes away is given back when solid; what it keeps counts once', async (t) => {
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
  assert.equal((await listed(anna, id)).total_price, 11.47)
  world.fork(1)
  await world.drain()
  await world.solidify()
  const moved = await listed(anna, id)
  assert.deepEqual([moved.transactions_used, moved.total_price], [4, 11.47], 'it is still there')
  await use(world, bob)
  assert.equal((await listed(anna, id)).total_price, 14.27)
  world.fork(1, { drop: true })
  await world.drain()
  await world.solidify()
  const after = await listed(anna, id)
  assert.deepEqual(
    [after.transactions_used, after.energy_used, after.total_price],
    [4, moved.energy_used, 11.47],
  )
  assert.equal(await anna.balance(), 82.93, 'energy for two lies there now, and is set aside for')
})

test('a fork takes the use that the initial price covered: it covers a later one', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await world.solidify()
  for (let i = 0; i < 3; i++) await use(world, bob)
  assert.equal((await listed(anna, id)).total_price, 8.67)
  world.fork(3, { drop: true })
  await world.drain()
  await use(world, bob)
  await use(world, bob)
  assert.equal(
    (await listed(anna, id)).total_price,
    14.27,
    'until it is certain that the first three are gone',
  )
  await world.solidify()
  const { transactions_used, total_price } = await listed(anna, id)
  assert.deepEqual([transactions_used, total_price, await anna.balance()], [2, 6, 88.4])
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
  const { items } = await anna.get<{ items: SubscriptionItem[] }>('/v1/subscriptions/history')
  for (const item of items) assert.deepEqual([item.transactions_used, item.total_price], [4, 11.47])
  assert.equal(await anna.balance(), Math.round(100 * (100 - 3 * (11.47 + 2.8))) / 100)
  for (const one of people) assert.ok((await energyLeft(world, one)) < 3 * PER_TRANSACTION)
})

test('a supply that was ordered just before a crash is noted, though it has arrived', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  type SupplyRow = { supplies: number; order_id: string }
  const supplied = async () => {
    const [row] = await world.sql<SupplyRow>`
      select supplies, order_id from subscription where id = ${id}`
    return row!
  }
  const known = () =>
    world.sql`select order_id from subscription_supply where subscription_id = ${id}`
  const run = (...names: string[]) =>
    drain(world.app.steps.filter(({ name }) => names.includes(name)))
  sendTokens(world, bob)
  world.mine()
  await run('follow', 'confirm', 'use', 'supply')
  const first = await supplied()
  // The process has placed the order, and dies before it says so.
  const [{ order_id } = { order_id: '' }] = await world.sql<{ order_id: string }>`
    delete from subscription_supply where order_id = ${first.order_id} returning order_id`
  await world.sql`
    update subscription set supplies = supplies - 1, order_id =
        (select order_id from subscription_supply where subscription_id = ${id})
    where id = ${id}`
  assert.deepEqual([first.supplies, (await known()).length], [2, 1])
  for (const _ of [1, 2]) {
    await run('delegate', 'sign', 'send')
    world.mine()
    await run('follow', 'confirm', 'settle')
  }
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION, 'its energy is there')
  world.wait(60)
  await world.drain()
  assert.deepEqual(await supplied(), { supplies: 2, order_id })
  assert.equal((await known()).length, 2)
})

test('energy whose hour is over in exactly five minutes is renewed', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const step = world.app.steps.find(({ name }) => name === 'supply')!
  const supplied = async (left: string) => {
    await world.sql`
      update delegation set expires_at = (select head_time from chain) + ${left}::interval`
    await world.sql`update subscription set look_at = ${world.now} where id = ${id}`
    while (await step.run()) {}
    const rows = await world.sql`select 1 from orders where customer_id = 'subscriptions'`
    return rows.length
  }
  assert.equal(await supplied('5 minutes 1 microsecond'), 1)
  assert.equal(await supplied('5 minutes'), 2)
})

test('while uses are not counted, an address is not supplied; then all are charged', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const without = world.app.steps.filter(({ name }) => name !== 'use')
  const mineUnread = async (blocks: number) => {
    for (let i = 0; i < blocks; i++) {
      world.mine()
      world.wait(3)
      await world.drain({ ...world.app, steps: without })
    }
  }
  await mineUnread(21)
  sendTokens(world, bob)
  // More than two minutes: it is looked at several times.
  await mineUnread(45)
  assert.ok((await energyLeft(world, bob)) < PER_TRANSACTION, 'nothing is given for nothing')
  const [before] = await world.sql<{ supplies: number }>`
    select supplies from subscription where id = ${id}`
  await world.drain()
  world.wait(15)
  await world.settle()
  const item = await listed(anna, id)
  assert.deepEqual([item.status, item.transactions_used], ['active', 1])
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
  const [after] = await world.sql<{ supplies: number }>`
    select supplies from subscription where id = ${id}`
  assert.equal(after!.supplies, before!.supplies + 1)
})
