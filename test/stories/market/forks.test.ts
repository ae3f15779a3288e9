// Blocks that are taken back, with what was in them. What was paid stays paid once, and what was
// bought is delivered once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../harness/world.ts'

test('a part moved to another block by a fork: nothing is charged or sent again', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const before = await anna.check(order.id)
  world.mine(2)
  await world.drain()
  world.fork(3)
  await world.settle()
  const after = await anna.check(order.id)
  assert.equal(after.status, 'success')
  assert.equal(after.hash, before.hash)
  assert.equal(after.delegations.length, 1)
  const [row] = await world.sql<{ delegated_at: Date; block_time: Date }>`
    select delegated_at, block_time from delegation join attempt on attempt.id = attempt_id`
  assert.equal(
    row?.delegated_at.getTime(),
    row?.block_time.getTime(),
    'the hour begins with the block that stays',
  )
  assert.equal(await anna.balance(), 7.07)
})

test('a reorganisation that loses a delivered part: delivered again, at our cost', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  world.network.loses = () => true
  world.fork(1, { drop: true })
  await world.drain()
  assert.equal(await world.energyLimit(bob.address), 0)
  assert.equal((await anna.check(order.id)).status, 'success', 'a success stays one')
  world.mine(30)
  await world.drain()
  world.network.loses = () => false
  await world.settle()
  const after = await anna.check(order.id)
  assert.equal(after.status, 'success')
  assert.equal(after.delegations.length, 1)
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
  assert.equal(
    after.hash,
    after.delegations[0]?.hash,
    'the transaction that is on the chain is shown',
  )
  assert.equal(await anna.balance(), 7.07)
})

test('what a fork takes from an old success is delivered again all the same', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  world.network.loses = () => true
  world.fork(1, { drop: true })
  // Longer than an order that was not delivered yet may wait.
  world.mine(220)
  await world.drain()
  assert.equal(await world.energyLimit(bob.address), 0)
  world.network.loses = () => false
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
})

test('a delegation in a lost block is sent again as it is, while there is time', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  world.fork(1, { drop: true })
  await world.drain()
  world.wait(10)
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.deepEqual(await world.attempts('delegate'), ['included'])
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
})

test("a lost block's reclaim is made again, and takes no more than was delegated", async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const first = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.advance(1_800)
  const second = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.solidify()
  await world.advance(1_800)
  await world.solidify()
  await world.settle()
  assert.ok((await anna.check(first.id)).delegations[0]?.reclaimed_at)
  world.network.loses = () => true
  world.fork(1, { drop: true })
  await world.drain()
  assert.equal((await anna.check(first.id)).delegations[0]?.reclaimed_at, undefined)
  world.mine(45)
  await world.drain()
  world.network.loses = () => false
  await world.settle()
  assert.ok((await anna.check(first.id)).delegations[0]?.reclaimed_at)
  assert.equal((await anna.check(second.id)).delegations[0]?.reclaimed_at, undefined)
  const limit = await world.energyLimit(bob.address)
  assert.ok(limit >= 65_000 && limit < 67_000, `${limit}`)
})

test('a fork that takes activation and delegation: both are made again, paid once', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  await world.settle()
  world.network.loses = () => true
  world.fork(4, { drop: true })
  await world.drain()
  assert.equal((await world.node.account(nina.address)).active, false)
  world.mine(45)
  await world.drain()
  world.network.loses = () => false
  await world.settle()
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.ok((await world.energyLimit(nina.address)) >= 65_000)
  assert.equal(await anna.balance(), 5.67)
})

test('two activations of one address that a fork took: one at a time is under way', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  await anna.buy({ service: 'activate_address', params: { address: nina.address } })
  await world.settle()
  // One that a node knew nothing of was asked for a second time.
  await world.sql`
    insert into activation (id, address, state, attempt_id, made_at)
    select 'again', address, state, attempt_id, made_at from activation`
  world.network.loses = () => true
  world.fork(4, { drop: true })
  for (const name of ['follow', 'activated'])
    await world.app.steps.find((step) => step.name === name)!.run()
  const rows = await world.sql<{ state: string }>`select state from activation order by state`
  assert.deepEqual(
    rows.map(({ state }) => state),
    ['activating', 'active'],
  )
})

test('a delegation seen in its new block before the activation: settled with both', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  await world.drain()
  world.mine(1)
  await world.drain()
  // Now the activation is in a block and the delegation is sent; then both are in another block
  // together.
  world.fork(1, { drop: true })
  await world.drain()
  world.wait(10)
  await world.drain()
  world.mine(1)
  const run = async (name: string) => world.app.steps.find((step) => step.name === name)!.run()
  await run('follow')
  assert.deepEqual(
    [...(await world.attempts('activate')), ...(await world.attempts('delegate'))],
    ['included', 'included'],
  )
  await run('settle')
  assert.equal((await anna.check(order.id)).status, 'pending')
  await run('activated')
  await run('settle')
  assert.equal((await anna.check(order.id)).status, 'success')
})
