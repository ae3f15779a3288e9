// What a customer is told of an order, and of the deposit that paid for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOrderCreated } from 'penstock-service/events/log/order_created.ts'
import { wrongEvents } from 'penstock-service/health/books/event_rules.ts'
import { WHOLE } from 'penstock-service/health/books/scope.ts'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
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
    'deposit.seen',
    'deposit.credited',
    'order.created',
    'order.succeeded',
    'order.solid',
    'order.ended',
  ])
  const [created, succeeded, solid, ended] = events.filter(
    ({ subject }) => subject === `order:${id}`,
  )
  assert.equal(created!.data?.status, 'new')
  assert.equal(succeeded!.data?.status, 'success')
  assert.deepEqual(solid!.data, succeeded!.data)
  assert.deepEqual(ended!.data, await anna.check(id), 'as the endpoint answers')
  assert.deepEqual(typesOf(await told(world, zoe)), ['deposit.seen', 'deposit.credited'])
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
  const events = await told(world, anna)
  assert.deepEqual(typesOf(events, 'order:'), ['order.created', 'order.delayed', 'order.failed'])
})

test('a fork that takes a delivered part is told; delivered again, it is solid', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const { id } = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const { hash } = await anna.check(id)
  world.network.loses = () => true
  world.fork(1, { drop: true })
  world.mine(30)
  await world.drain()
  world.network.loses = () => false
  await world.settle()
  await world.solidify()
  const events = (await told(world, anna)).filter(({ subject }) => subject === `order:${id}`)
  assert.deepEqual(typesOf(events), [
    'order.created',
    'order.succeeded',
    'order.reverted',
    'order.solid',
  ])
  const [, succeeded, reverted, solid] = events.map(({ data }) => data!)
  assert.equal(succeeded!.hash, hash)
  assert.deepEqual([reverted!.status, reverted!.delegations], ['success', []])
  assert.notEqual(solid!.hash, hash, 'it was delivered again')
  assert.deepEqual(solid, await anna.check(id))
})

test('an order is solid when the activation of its address is, and not before', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const { address } = world.person('nina')
  const { id } = await anna.buy({ service: 'activate_address', params: { address } })
  await world.settle()
  const typesNow = async () => typesOf(await told(world, anna), `order:${id}`)
  assert.equal((await anna.check(id)).status, 'success')
  // As when another order is due.
  await world.app.steps.find(({ name }) => name === 'solidify')!.run()
  await world.drain()
  assert.deepEqual(await typesNow(), ['order.created', 'order.succeeded'], 'a fork may take it')
  await world.solidify()
  assert.deepEqual(await typesNow(), ['order.created', 'order.succeeded', 'order.solid'])
})

test('an order waits for the activation of its own address, and for no other', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const activate = (name: string) =>
    anna.buy({ service: 'activate_address', params: { address: world.person(name).address } })
  await activate('nina')
  await world.settle()
  await world.solidify()
  await activate('ned')
  await world.settle()
  const due = await dueAsker(world.sql, world.app.steps)(new Set(['solidify'] as const))
  assert.deepEqual([...due], [], "ned's may be taken by a fork, nina's not")
})

test('an operator may leave order.created out, and the books know from when on', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const switchTo = (is_told: boolean) =>
    world.sql.begin((tx) => changeOrderCreated(tx, is_told, world.now))
  const ids: string[] = []
  const buy = async () => {
    await world.advance(30)
    ids.push((await anna.buyEnergy(bob.address, 65_000)).id)
    await world.settle()
  }
  await buy()
  await switchTo(false)
  assert.deepEqual((await switchTo(false)).actions, [])
  await buy()
  await switchTo(true)
  await buy()
  const events = await told(world, anna)
  const typesOfOrders = ids.map((id) => typesOf(events, `order:${id}`)[0])
  assert.deepEqual(typesOfOrders, ['order.created', 'order.succeeded', 'order.created'])
  assert.deepEqual(await world.sql.begin((tx) => wrongEvents(tx, WHOLE)), [])
  await world.sql`update event_publisher set order_created_from = '-infinity'`
  const wrong = await world.sql.begin((tx) => wrongEvents(tx, WHOLE))
  assert.deepEqual(
    wrong.map(({ subject, found }) => [subject, found]),
    [[`order:${ids[1]}`, 'order.created was told 0 times']],
  )
})

test('an order that is open for five minutes is told once, with what it waits for', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  world.network.loses = () => true
  await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  for (const seconds of [200, 99]) await world.advance(seconds)
  assert.deepEqual(typesOf(await told(world, anna), 'order:'), ['order.created'])
  for (const seconds of [10, 10, 10]) await world.advance(seconds)
  const [, delayed, ...others] = (await told(world, anna)).filter(({ subject }) =>
    subject.startsWith('order:'),
  )
  assert.equal(delayed?.type, 'order.delayed')
  assert.equal(delayed.data?.waits_for, 'block')
  assert.deepEqual(others, [])
})

test('what an order waits for is its own: a block, or a signature', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const anna = await world.customer({ trx: 100 })
  const unsigned = { ...world.app, steps: world.app.steps.filter(({ name }) => name !== 'sign') }
  world.network.loses = () => true
  const sent = await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  const waiting = await anna.buyEnergy(world.person('carl', 1).address, 65_000)
  await world.drain(unsigned)
  world.wait(301)
  await world.drain(unsigned)
  const delayed = (await told(world, anna)).filter(({ type }) => type === 'order.delayed')
  assert.deepEqual(
    new Map(delayed.map(({ subject, data }) => [subject, data?.waits_for])),
    new Map([
      [`order:${sent.id}`, 'block'],
      [`order:${waiting.id}`, 'signature'],
    ]),
  )
})

test('each order is told late at its own time, also beside one that was so before', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  world.network.loses = () => true
  const first = await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  await world.advance(200)
  const second = await anna.buyEnergy(bob.address, 65_000)
  const late = async () =>
    (await told(world, anna))
      .filter(({ type }) => type === 'order.delayed')
      .map(({ subject }) => subject)
  for (const seconds of [100, 10]) await world.advance(seconds)
  assert.deepEqual(await late(), [`order:${first.id}`])
  for (const seconds of [190, 10]) await world.advance(seconds)
  assert.deepEqual(await late(), [`order:${first.id}`, `order:${second.id}`])
})

test('an hour that is nearly over is told once, to those who want to know', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 100 })
  const { id } = await anna.buyEnergy(bob.address, 65_000)
  await world.sql`
    insert into customer_setting (customer_id, ending_minutes, changed_at)
    select customer_id, 10, created_at from orders where id = ${id}`
  await zoe.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.solidify()
  const [expires_at] = (await anna.check(id)).delegations.map((one) => one.expires_at)
  const left = () => (Date.parse(expires_at!) - world.scene.devchain.head.header.timestamp) / 1_000
  await world.advance(left() - 603)
  assert.ok(left() > 600)
  assert.equal(typesOf(await told(world, anna)).includes('order.ending'), false)
  await world.advance(left() - 600)
  await world.advance(60)
  const events = await told(world, anna)
  assert.deepEqual(typesOf(events, 'order:').slice(-2), ['order.solid', 'order.ending'])
  assert.deepEqual(events.at(-1)!.data, await anna.check(id))
  assert.equal(typesOf(await told(world, zoe)).includes('order.ending'), false)
})

test('an hour that is over is not told to be nearly over', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const { id } = await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await world.advance(3_400)
  await world.sql`
    insert into customer_setting (customer_id, ending_minutes, changed_at)
    select customer_id, 5, created_at from orders where id = ${id}`
  const step = world.app.steps.find(({ name }) => name === 'remind_endings')!
  const [part] = await world.sql<{ expires_at: Date }>`select expires_at from delegation`
  const tellsAt = async (seconds: number) => {
    await world.sql`
      update delegation set expires_at = head_time + ${seconds} * interval '1 second' from chain`
    return step.run()
  }
  assert.equal(await tellsAt(301), false, 'a second too early')
  assert.equal(await tellsAt(0), false, 'over at this very moment')
  assert.equal(await tellsAt(300), true)
  assert.equal(await tellsAt(300), false, 'once')
  await world.sql`update delegation set expires_at = ${part!.expires_at}`
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
