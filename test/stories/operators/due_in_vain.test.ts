// A step that is asked about may find a row in vain, but not for good: each process asks every
// second, and a service that sells nothing should sleep. So while the clock and the chain stand
// still, what has done all that it can is not due, whatever else stands in the same tables.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { sender, subscribe, use, wanted } from '../../harness/subscribers.ts'
import { makeWorld, TRX, type World } from '../../harness/world.ts'

/** It waits for the first index of flows, which no world has. */
const IN_VAIN = ['read_sent']

/** The steps that are due although all is done. */
function idleSteps(world: World): () => Promise<string[]> {
  const { steps } = world.app
  const names = new Set(steps.filter(({ due }) => due).map(({ name }) => name))
  assert.ok(names.size > 40)
  const ask = dueAsker(world.sql, steps)
  return async () => {
    await world.drain()
    // Also those that would rest for a while yet.
    await drain(steps, { ask })
    return [...(await ask(names))].filter((name) => !IN_VAIN.includes(name))
  }
}

test('nothing that was sold or paid makes a step due that can do nothing for it', async (t) => {
  const world = await makeWorld(t, { watches_books: true })
  const due = idleSteps(world)
  const anna = await world.customer({ trx: 200 })
  const [bob, nina] = [sender(world), world.person('nina')]
  assert.deepEqual(await due(), [], 'a deposit')
  // Sold, and not on the chain yet: also what creates an account first.
  await anna.buyEnergy(bob.address, 65_000)
  await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  await anna.buy({ service: 'activate_address', params: { address: world.person('ned').address } })
  assert.deepEqual(await due(), [], 'orders whose transactions are sent')
  world.mine()
  assert.deepEqual(await due(), [], 'orders whose transactions are in a block')
  await world.settle()
  assert.deepEqual(await due(), [], 'orders that are delivered')
  await world.solidify()
  assert.deepEqual(await due(), [], 'orders that are delivered for good')
  // Of what came to the published address one amount buys, and one goes back.
  for (const sun of [3n * TRX, TRX / 2n]) world.pay(world.recharge.address, sun, bob)
  world.mine()
  assert.deepEqual(await due(), [], 'deposits that are not solid')
  await world.solidify()
  await world.settle()
  assert.deepEqual(await due(), [], 'a deposit that was delivered, one that is sent back')
  await subscribe(world, anna, wanted(bob.address))
  await use(world, bob)
  assert.deepEqual(await due(), [], 'a subscription')
  for (const minutes of [20, 50]) {
    await world.advance(minutes * 60)
    await world.settle()
    await world.solidify()
    assert.deepEqual(await due(), [], `${minutes} minutes later`)
  }
})

test('what a fork has taken for good makes no step due once it was delivered again', async (t) => {
  const world = await makeWorld(t, { watches_books: true })
  const due = idleSteps(world)
  const anna = await world.customer({ trx: 10 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  world.network.loses = () => true
  world.fork(1, { drop: true })
  assert.deepEqual(await due(), [], 'while it is lost')
  world.mine(30)
  await world.drain()
  world.network.loses = () => false
  await world.settle()
  await world.solidify()
  assert.deepEqual(await due(), [], 'when its transaction is dead, and another one is solid')
})
