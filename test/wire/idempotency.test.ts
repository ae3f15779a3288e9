// Buying once, however often it is asked for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { againFor } from 'penstock-service/platform/database/again.ts'
import { type Customer, makeWorld, type World } from '../harness/world.ts'

async function countOrders(world: World): Promise<number> {
  const [row] = await world.sql<{ n: bigint }>`select count(*) as n from orders`
  return Number(row!.n)
}

const purchase = (address: string, more: object = {}) => ({
  service: 'energy',
  params: { address, amount: 65_000, duration: 1 },
  external_id: 'order-42',
  ...more,
})

test('the same external_id and meaning is the same order, and charges nothing', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const first = await anna.call('/v1/transaction/new', purchase(bob.address))
  assert.equal(first.headers['idempotency-replayed'], undefined)
  await world.settle()
  // Said in other words: the sum comes from another field, and a default is spelt out.
  const params = {
    address: bob.address,
    amounts: { energy: 65_000 },
    duration: 1,
    activate_address: false,
  }
  const again = await anna.call('/v1/transaction/new', purchase(bob.address, { params }))
  assert.equal(again.code, 0)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(again.result.id, first.result.id)
  assert.equal(again.result.status, 'success')
  assert.match(String(again.result.hash), /^[0-9a-f]{64}$/)
  assert.equal(await countOrders(world), 1)
  assert.equal(await anna.balance(), 7.07)
})

test('the same external_id with another meaning is refused, whatever differs', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const ben = world.person('ben', 1)
  const anna = await world.customer({ trx: 100 })
  await anna.buy(purchase(bob.address))
  const changes = [
    { params: { address: ben.address, amount: 65_000, duration: 1 } },
    { params: { address: bob.address, amount: 65_001, duration: 1 } },
    { params: { address: bob.address, amount: 65_000, duration: 1, activate_address: true } },
    { service: 'bandwidth', params: { address: bob.address, amount: 345, duration: 1 } },
    { service: 'activate_address' },
    {
      service: 'resource_bundle',
      params: { address: bob.address, amounts: { energy: 65_000, bandwidth: 300 }, duration: 1 },
    },
  ]
  for (const change of changes) {
    const { code, key } = await anna.call('/v1/transaction/new', purchase(bob.address, change))
    assert.deepEqual(
      [code, key],
      [2, 'invalid_service_or_params.external_id'],
      JSON.stringify(change),
    )
  }
  assert.equal(await countOrders(world), 1)
})

test('an external_id belongs to its customer', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const zoe = await world.customer({ trx: 10 })
  const annas = await anna.buy(purchase(bob.address))
  const zoes = await zoe.buy(purchase(bob.address))
  assert.notEqual(annas.id, zoes.id)
  const looked_up = await zoe.get<{ id: string }>('/v1/transaction/check', {
    external_id: 'order-42',
  })
  assert.equal(looked_up.id, zoes.id)
  assert.equal(
    (await zoe.call('/v1/transaction/check', { id: annas.id })).code,
    20,
    "another's order is not found",
  )
})

test('twins that race, in one process and in two, get one order', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const other = await world.startProcess()
  const apis = [world.api, other.api, world.api, other.api, world.api, other.api]
  const replies = await Promise.all(
    apis.map((api) => anna.call('/v1/transaction/new', purchase(bob.address), {}, api)),
  )
  assert.deepEqual(
    replies.map(({ code }) => code),
    [0, 0, 0, 0, 0, 0],
  )
  assert.equal(new Set(replies.map(({ result }) => result.id)).size, 1)
  const fresh = replies.filter(({ headers }) => headers['idempotency-replayed'] === undefined)
  assert.equal(fresh.length, 1)
  assert.equal(await anna.balance(), 7.07)
})

test('twins of different meaning that race get one order; the others are refused', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const other = await world.startProcess()
  const ask = (amount: number, api = world.api) => {
    const params = { address: bob.address, amount, duration: 1 }
    return anna.call('/v1/transaction/new', purchase(bob.address, { params }), {}, api)
  }
  const replies = await Promise.all([
    ask(65_000),
    ask(65_001),
    ask(65_002, other.api),
    ask(65_003, other.api),
  ])
  assert.deepEqual(replies.map(({ code }) => code).sort(), [0, 2, 2, 2])
  assert.equal(await countOrders(world), 1)
})

test('a refused purchase does not use the external_id up', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const poor = await world.customer({ trx: 1 })
  assert.equal((await poor.call('/v1/transaction/new', purchase(nina.address))).code, 24)
  world.person('nina', 1)
  assert.equal((await poor.call('/v1/transaction/new', purchase(nina.address))).code, 6)
  world.pay(poor.deposit_address, 5_000_000n)
  await world.solidify()
  const reply = await poor.call('/v1/transaction/new', purchase(nina.address))
  assert.equal(reply.code, 0)
  assert.equal(reply.headers['idempotency-replayed'], undefined)
})

test('a failed order keeps its external_id: asking again buys nothing', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  world.network.loses = () => true
  const order = await anna.buy(purchase(bob.address))
  await world.settle()
  world.network.loses = () => false
  const again = await anna.call('/v1/transaction/new', purchase(bob.address))
  assert.deepEqual([again.result.id, again.result.status], [order.id, 'failed'])
  assert.equal(await anna.balance(), 10)
})

test('a replay is answered when the purchase itself could no longer be made', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 3 })
  const first = await anna.buy(purchase(bob.address))
  await world.settle()
  await world.sql`update service set on_sale = false`
  world.wait(100)
  world.network.down = true
  const again = await anna.call('/v1/transaction/new', purchase(bob.address))
  assert.deepEqual([again.code, again.result.id], [0, first.id])
  world.network.down = false
})

test('"0" is an external_id, and an empty one or null is none', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const zero = await anna.buy(purchase(bob.address, { external_id: '0' }))
  assert.equal(zero.external_id, '0')
  assert.equal((await anna.buy(purchase(bob.address, { external_id: '0' }))).id, zero.id)
  for (const external_id of ['', null, undefined]) {
    const { code, result } = await anna.call(
      '/v1/transaction/new',
      purchase(bob.address, { external_id }),
    )
    assert.deepEqual([code, result.external_id], [0, null])
  }
  assert.equal(await countOrders(world), 4)
})

const keyed = (customer: Customer, body: object, key: string) =>
  customer.call('/v1/transaction/new', body, { 'idempotency-key': key })

test('the Idempotency-Key header acts as external_id, which goes before it', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const anonymous = purchase(bob.address, { external_id: undefined })
  const first = await keyed(anna, anonymous, 'key-1')
  const again = await keyed(anna, anonymous, 'key-1')
  assert.equal(again.result.id, first.result.id)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(await countOrders(world), 1)
  const other = await keyed(anna, anonymous, 'key-2')
  assert.notEqual(other.result.id, first.result.id)
  const conflict = await keyed(
    anna,
    { ...anonymous, params: { address: bob.address, amount: 70_000, duration: 1 } },
    'key-1',
  )
  assert.equal(conflict.code, 2)
  const both = await keyed(anna, purchase(bob.address, { external_id: 'mine' }), 'key-1')
  assert.equal(both.result.external_id, 'mine')
  assert.equal((await keyed(anna, anonymous, 'x'.repeat(129))).code, 2)
})

test('a repetition returns its order even when a new purchase would be refused', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const first = await anna.buy(purchase(bob.address))
  await world.sql`update price set until = now() where resource = 'energy'`
  await world.sql`
    insert into price (resource, min_amount, max_amount, price_sun, changed_by)
      values ('energy', 100000, 3000000, 42000, 'test')`
  // Prices may be used for a moment after they have changed.
  world.wait(60)
  const again = await anna.call('/v1/transaction/new', purchase(bob.address))
  assert.deepEqual([again.code, again.result?.id], [0, first.id])
  assert.equal(
    (await anna.call('/v1/transaction/new', purchase(bob.address, { external_id: 'order-43' })))
      .code,
    11,
  )
  const other = { params: { address: bob.address, amount: 66_000, duration: 1 } }
  assert.equal(
    (await anna.call('/v1/transaction/new', purchase(bob.address, other))).code,
    11,
    'the amount comes first',
  )
  assert.equal(await countOrders(world), 1)
})

/** The connection by which the first of these is made, and the third, is lost while it commits. */
async function loseCommits({ sql }: World): Promise<void> {
  await sql`create sequence made`
  await sql`
    create function lose() returns trigger language plpgsql security definer as $$ begin
      if nextval('made') % 2 = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
      return null; end $$`
  await sql`
    create constraint trigger loses after insert on orders deferrable initially deferred
      for each row execute function lose()`
  await sql`
    create constraint trigger loses after insert on aml_check deferrable initially deferred
      for each row execute function lose()`
  await sql`
    create constraint trigger loses after insert on subscription deferrable initially deferred
      for each row execute function lose()`
}

test('a lost commit is tried again for who has named it, and 500 for who has not', async (t) => {
  const world = await makeWorld(t)
  const { address } = world.person('bob', 1)
  const anna = await world.customer({ trx: 1_000 })
  const timer = { now_ms: () => performance.now(), wait: (ms: number) => delay(ms) }
  const { api } = await world.startProcess({ again: againFor(60_000, timer) })
  await loseCommits(world)
  const made = async () => {
    const rows = await world.sql`
      select id from orders union select id from aml_check union select id from subscription`
    return rows.length
  }
  const calls = [
    ['/v1/transaction/new', purchase(address, { external_id: undefined })],
    ['/v1/aml-checks/new', { type: 'address', network: 'TRX', address }],
    ['/v1/subscription/start', { subscription_id: 'unlimited_energy', params: { address } }],
  ] as const
  for (const [i, [path, body]] of calls.entries()) {
    await world.sql`select setval('made', 1, false)`
    assert.equal((await anna.call(path, body, {}, api)).code, 500, path)
    assert.equal(await made(), i, path)
    await world.sql`select setval('made', 1, false)`
    const named = await anna.call(path, body, { 'idempotency-key': 'mine' }, api)
    assert.equal(named.code, 0, `${path}: ${named.error}`)
    assert.equal(await made(), i + 1, path)
  }
  await world.sql`drop function lose() cascade`
  await world.settle()
})
