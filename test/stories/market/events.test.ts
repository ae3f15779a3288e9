// What a customer is told of an order, and of the deposit that paid for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drain } from 'penstock-service/steps/step.ts'
import { Errors } from 'typebox/schema'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type Event = { type: string; number: number; subject: string; data: Record<string, unknown> | null }

/** All that the customer was told, in order; each fits the schema of its kind. */
async function told(world: World, customer: Customer): Promise<Event[]> {
  await world.drain()
  const events: Event[] = []
  for (;;) {
    const after = events.at(-1)?.number ?? 0
    const page = await customer.get<{ items: Event[]; next: string | null }>('/v1/events/list', {
      after,
      limit: 7,
    })
    if (page.items.length === 0) break
    events.push(...page.items)
  }
  assert.deepEqual(
    events.map(({ number }) => number),
    events.map((_, i) => i + 1),
    'numbers from 1 on, without gaps',
  )
  // Their keys may not see what becomes of keys.
  const seen = events.filter(({ data }) => data !== null)
  for (const { type, data } of seen) {
    const kind = world.app.kinds.find((one) => one.type === type)
    const [fits, errors] = Errors(kind!.data, data)
    assert.ok(fits, `${type} ${JSON.stringify(errors)}`)
  }
  return seen
}

const typesOf = (events: readonly Event[], subject = '') =>
  events.filter((one) => one.subject.startsWith(subject)).map(({ type }) => type)

test('an order is told from its creation to its end, in order, each thing once', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 10 })
  const { id } = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.solidify()
  await world.advance(3_600)
  await world.settle()
  await world.solidify()
  await world.advance(3)
  const events = await told(world, anna)
  assert.deepEqual(typesOf(events), [
    'deposit.credited',
    'order.created',
    'order.succeeded',
    'order.ended',
  ])
  const [created, succeeded, ended] = events.filter(({ subject }) => subject === `order:${id}`)
  assert.equal(created!.data?.status, 'new')
  assert.equal(succeeded!.data?.status, 'success')
  assert.deepEqual(ended!.data, await anna.check(id), 'as the endpoint answers')
  assert.deepEqual(typesOf(await told(world, zoe)), ['deposit.credited'])
})

test('an order that fails is told so, and never that it has ended', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  world.network.loses = (type) => type === 'DelegateResourceContract'
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  world.network.loses = () => false
  await world.settle()
  await world.advance(4_000)
  await world.settle()
  assert.deepEqual(typesOf(await told(world, anna), 'order:'), ['order.created', 'order.failed'])
})

test('what is told is what was so then, however late it is numbered', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  await world.drain()
  const steps = world.app.steps.filter(({ name }) => name !== 'publish')
  const order = await anna.buyEnergy(bob.address, 65_000)
  await drain(steps)
  world.mine()
  await drain(steps)
  const delivered = await anna.check(order.id)
  assert.equal(delivered.status, 'success')
  world.mine(20)
  await drain(steps)
  world.scene.wait(3_600)
  world.mine()
  for (let i = 0; i < 3; i++) {
    world.mine(20)
    await drain(steps)
  }
  assert.notDeepEqual(await anna.check(order.id), delivered, 'it was taken back')
  const events = await told(world, anna)
  const dataOf = (type: string) => events.find((one) => one.type === type)?.data
  const { delegations: _, hash: _hash, ...bought } = delivered
  assert.deepEqual(dataOf('order.created'), { ...bought, status: 'new' })
  assert.deepEqual(dataOf('order.succeeded'), delivered)
  assert.deepEqual(dataOf('order.ended'), await anna.check(order.id))
})

test('a deposit is told once, however often it is read, and when a fork takes it', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  world.pay(anna.deposit_address, 5_000_000n)
  world.mine(2)
  await world.drain()
  // The same deposit in another block.
  world.fork(2)
  await world.drain()
  assert.deepEqual(typesOf(await told(world, anna)), ['deposit.seen'])
  world.fork(4, { drop: true })
  await world.drain()
  await world.solidify()
  assert.deepEqual(typesOf(await told(world, anna)), ['deposit.seen', 'deposit.gone'])
})
