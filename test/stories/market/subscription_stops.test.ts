// A subscription that is stopped before it was active: at once, and what was not delivered is given
// back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  check,
  energyLeft,
  listed,
  START,
  type Subscription,
  sender,
  subscribe,
  use,
  wanted,
} from '../../harness/subscribers.ts'
import { Customer, makeWorld, type World } from '../../harness/world.ts'

const stop = (who: Customer, id: string) => who.get<Subscription>('/v1/subscription/stop', { id })

type KeyAccess = { key: { id: string }; token: string; secret: string }

/** Runs one step and nothing else. */
const run = (world: World, name: string) =>
  world.app.steps.find((step) => step.name === name)!.run()

/** What a subscription goes through before it is active, further each time. */
const BEFORE: Record<string, (world: World) => Promise<unknown>> = {
  'nothing was ordered': async () => {},
  'its energy is ordered': (world) => run(world, 'supply'),
  'its energy is planned': async (world) => {
    await run(world, 'supply')
    await run(world, 'delegate')
  },
  'its energy was sent': (world) => world.drain(),
  'its energy is in a block': async (world) => {
    await world.drain()
    world.mine()
    await run(world, 'follow')
    await run(world, 'settle')
  },
}

for (const [when, go] of Object.entries(BEFORE))
  test(`a stop when ${when} ends it at once, and gives all back`, async (t) => {
    const world = await makeWorld(t)
    const anna = await world.customer({ trx: 10, daily_cap_sun: 10_000_000n })
    const bob = sender(world)
    const { id } = await anna.get<Subscription>(START, wanted(bob.address))
    await go(world)
    const stopped = await stop(anna, id)
    assert.equal(stopped.status, 'stopped')
    assert.notEqual(stopped.stopped_at, null)
    assert.deepEqual(
      [stopped.held, (await check(anna, id)).held, (await listed(anna, id)).held],
      [6, 6, 6],
      'until then it says what is still set aside',
    )
    assert.equal((await anna.call('/v1/subscription/stop', { id })).code, 21)
    await world.settle()
    await world.solidify()
    await world.solidify()
    await world.settle()
    const { status, total_price, transactions_used } = await listed(anna, id)
    assert.deepEqual([status, total_price, transactions_used], ['stopped', 0, 0])
    assert.equal(await anna.balance(), 10)
    assert.equal((await check(anna, id)).held, undefined, 'nothing is set aside any more')
    assert.ok((await energyLeft(world, bob)) < 1_000, 'what was delivered is taken back')
    const again = await anna.get<Subscription>(START, wanted(bob.address))
    await world.settle()
    assert.equal((await check(anna, again.id)).status, 'active')
    assert.equal(await anna.balance(), 4, 'nor does it count against the cap of the key')
  })

test('what is used after such a stop, while energy lies there, is paid by the start', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const bob = sender(world)
  const { id } = await anna.get<Subscription>(START, wanted(bob.address))
  await world.drain()
  await stop(anna, id)
  world.mine()
  await use(world, bob)
  await world.solidify()
  await world.solidify()
  const { status, total_price, transactions_used } = await listed(anna, id)
  assert.deepEqual([status, total_price, transactions_used], ['stopped', 6, 1])
  assert.equal(await anna.balance(), 4)
})

test('an activation that such a stop cannot take back is paid for', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const nina = world.person('nina')
  const body = wanted(nina.address, { activate_address: true })
  const { id } = await anna.get<Subscription>(START, body)
  await world.drain()
  world.mine()
  await world.drain()
  await stop(anna, id)
  await world.settle()
  await world.solidify()
  await world.solidify()
  assert.equal((await listed(anna, id)).total_price, 1.4)
  assert.equal(await anna.balance(), 8.6)
})

test('who revokes the key of a start pays for the activation and for what is used', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 20, scopes: ['read', 'buy', 'manage'] })
  const made = { name: 'shop', scopes: ['read', 'buy'] }
  const { key, ...access } = await anna.get<KeyAccess>('/v1/key/new', made)
  const { id, deposit_address } = anna
  const shopping = new Customer(world, { id, deposit_address, ...access })
  const nina = world.person('nina')
  const bob = sender(world)
  const activating = wanted(nina.address, { activate_address: true })
  const [of_nina, of_bob] = [
    await shopping.get<Subscription>(START, activating),
    await shopping.get<Subscription>(START, wanted(bob.address)),
  ]
  await world.drain()
  world.mine()
  await world.drain()
  await anna.get('/v1/key/revoke', { id: key.id })
  world.mine()
  await use(world, bob)
  await world.settle()
  await world.solidify()
  await world.solidify()
  const seen = async ({ id }: Subscription) => {
    const { status, total_price, transactions_used } = await listed(anna, id)
    return [status, total_price, transactions_used]
  }
  assert.deepEqual(await seen(of_nina), ['stopped', 1.4, 0])
  assert.deepEqual(await seen(of_bob), ['stopped', 6, 1])
  assert.equal(await anna.balance(), 12.6)
  assert.ok((await energyLeft(world, bob)) < 1_000, 'what was delivered is taken back')
})

test('a key revoked while the chain is asked about its start: nothing is ordered', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 20, scopes: ['read', 'buy', 'manage'] })
  await world.drain()
  const made = { name: 'shop', scopes: ['read', 'buy'] }
  const { key, ...access } = await anna.get<KeyAccess>('/v1/key/new', made)
  const { id, deposit_address } = anna
  const shopping = new Customer(world, { id, deposit_address, ...access })
  const body = wanted(world.person('nina').address, { activate_address: true })
  const started = await shopping.get<Subscription>(START, body)
  world.mine()
  await run(world, 'follow')
  let revoked = false
  world.network.onRequest = async (path) => {
    if (revoked || path !== '/wallet/getaccount') return
    revoked = true
    await anna.get('/v1/key/revoke', { id: key.id })
  }
  await run(world, 'supply')
  assert.equal(revoked, true)
  await world.settle()
  assert.deepEqual(await world.sql`select from orders`, [])
  assert.equal((await listed(anna, started.id)).status, 'error')
  assert.equal(await anna.balance(), 20)
})

test("one that cannot be stopped says why: its plan's limit, its own, its end", async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 300 })
  const pack = { subscription_id: 'energy_pack_100' }
  const started = await anna.get<Subscription>(START, wanted(sender(world).address, {}, pack))
  const narrow = wanted(sender(world, 'sue').address, { transactions_limit: 3 })
  const narrowed = await anna.get<Subscription>(START, narrow)
  const free = await anna.get<Subscription>(START, wanted(sender(world, 'tom').address))
  const refusalOf = async ({ id }: Subscription) => {
    const { code, error } = await anna.call('/v1/subscription/stop', { id })
    return [code, String(error)] as const
  }
  for (const limited of [started, narrowed]) {
    const [code, error] = await refusalOf(limited)
    assert.equal(code, 21)
    assert.match(error, /limit of transactions/)
  }
  await stop(anna, free.id)
  const [again, ended] = await refusalOf(free)
  assert.equal(again, 21)
  assert.match(ended, /has ended already/)
})

test('where the chain is ahead, one that is stopped ends at its newest block', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  // The chain alone goes on: the service's clock does not.
  const clock = world.now
  world.scene.wait(1_800)
  await world.drain()
  const { stopped_at } = await stop(anna, id)
  const { head_time } = (await world.sql<{ head_time: Date }>`select head_time from chain`)[0]!
  assert.ok(head_time > clock)
  assert.equal(Date.parse(String(stopped_at)), head_time.getTime())
})
