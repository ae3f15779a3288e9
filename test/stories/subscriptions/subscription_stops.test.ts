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
  use,
  wanted,
} from '../../harness/subscribers.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

const stop = (who: Customer, id: string) => who.get<Subscription>('/v1/subscription/stop', { id })

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
    assert.equal((await anna.call('/v1/subscription/stop', { id })).code, 21)
    await world.settle()
    await world.solidify()
    await world.solidify()
    await world.settle()
    const { status, total_price, transactions_used } = await listed(anna, id)
    assert.deepEqual([status, total_price, transactions_used], ['stopped', 0, 0])
    assert.equal(await anna.balance(), 10)
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
