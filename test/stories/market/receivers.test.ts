// Who may receive, as each process knows it: from a node, and from the blocks that are followed.
// What is remembered never sells to a contract, and never refuses an address that a block has
// activated.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { followedBlocks } from 'penstock-service/chain/receivers/followed_blocks.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

const order = (address: string) => ({
  service: 'energy',
  params: { address, amount: 65_000, duration: 1 },
})

/** A world with two processes, and how often customers' calls asked a node for an account. */
async function setting(t: TestContext) {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1_000 })
  const other = await world.startProcess()
  let asked = 0
  world.network.onRequest = (path) => {
    if (path === '/wallet/getaccount') asked += 1
  }
  /** What each process says to a purchase, and how many questions that took. */
  async function buys(customer: Customer, address: string) {
    asked = 0
    const codes: number[] = []
    for (const api of [world.api, other.api]) {
      const { code } = await customer.call('/v1/transaction/new', order(address), {}, api)
      codes.push(code)
    }
    return { codes, asked }
  }
  const next = async (world: World, blocks = 1) => {
    world.mine(blocks)
    await world.drain()
  }
  return { world, anna, buys, next: (blocks?: number) => next(world, blocks) }
}

test('whoever has signed, and is confirmed, is asked about once and never again', async (t) => {
  const { world, anna, buys, next } = await setting(t)
  const bob = world.person('bob', 10)
  world.pay(world.person('carl', 1).address, 1n, bob)
  await next()
  assert.deepEqual(await buys(anna, bob.address), { codes: [0, 0], asked: 2 })
  await next(20)
  assert.deepEqual(await buys(anna, bob.address), { codes: [0, 0], asked: 2 })
  await next(100)
  assert.deepEqual(await buys(anna, bob.address), { codes: [0, 0], asked: 0 })
})

test('who has signed what a confirmed block has is known from the blocks', async (t) => {
  const { world, next } = await setting(t)
  const followed = followedBlocks({ sql: world.sql, clock: { now: () => world.now } })
  const [bob, dora] = [world.person('bob', 10), world.person('dora')]
  world.pay(dora.address, 1_000_000n, bob)
  for (let blocks = 0; blocks < 24; blocks++) {
    await next()
    await followed.newest()
    if (blocks === 1) assert.equal(followed.hasSigned(bob.address), false, 'a fork may take it')
  }
  const known = [bob, dora].map(({ address }) => followed.hasSigned(address))
  assert.deepEqual(known, [true, false])
})

test('an address is refused until a block activates it, and not after', async (t) => {
  const { world, anna, buys, next } = await setting(t)
  const nina = world.person('nina')
  assert.deepEqual(await buys(anna, nina.address), { codes: [24, 24], asked: 2 })
  assert.deepEqual(await buys(anna, nina.address), { codes: [24, 24], asked: 0 })
  world.pay(nina.address, 1_000_000n)
  await next()
  assert.deepEqual(await buys(anna, nina.address), { codes: [0, 0], asked: 2 })
})

test('a fork that takes an activation back is known at once', async (t) => {
  const { world, anna, buys, next } = await setting(t)
  const [nina, carl] = [world.person('nina'), world.person('carl', 1)]
  world.pay(nina.address, 5_000_000n)
  await next()
  // It signs, too: that it has a key does not make it stay.
  world.pay(carl.address, 1n, nina)
  await next()
  assert.deepEqual((await buys(anna, nina.address)).codes, [0, 0])
  world.fork(2, { drop: true })
  await world.drain()
  assert.deepEqual((await buys(anna, nina.address)).codes, [24, 24])
  await world.settle()
})

test('an address that becomes a contract is sold nothing from the next block on', async (t) => {
  const { world, anna, buys, next } = await setting(t)
  const later = world.person('later', 1)
  await next(30)
  assert.deepEqual((await buys(anna, later.address)).codes, [0, 0])
  await world.settle()
  assert.deepEqual((await buys(anna, later.address)).codes, [0, 0])
  await world.settle()
  world.scene.devchain.chain.decree({
    kind: 'contract',
    address: later.hex,
    owner: world.person('owner', 1).hex,
    receivers: [],
  })
  await next()
  assert.deepEqual((await buys(anna, later.address)).codes, [10, 10])
})
