// Subscriptions that take no more than was paid for: the next transaction is set aside before it is
// supplied, idle addresses rest, uses are charged until the energy is back, caps and revoked keys
// bind, and operators can stop one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectorOf, wordOfAddress } from 'penstock-devchain/calls/abi.ts'
import { showChain } from 'penstock-service/chain/follow/progress.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { type Operator, worldOperator } from '../../harness/operator.ts'
import { ownTransaction } from '../../harness/own_transaction.ts'
import {
  check,
  energyLeft,
  listed,
  PER_TRANSACTION,
  START,
  type Subscription,
  sender,
  sendTokens,
  subscribe,
  use,
  wanted,
} from '../../harness/subscribers.ts'
import { type Customer, makeWorld, TRX, type World } from '../../harness/world.ts'

const DAY = 86_400

const supplies = async (world: World) => {
  const rows = await world.sql`select 1 from orders where customer_id = 'subscriptions'`
  return rows.length
}

/** Lets hours go by, looking every few minutes. */
async function pass(world: World, hours: number): Promise<void> {
  for (let minutes = 0; minutes < hours * 60; minutes += 20) {
    await world.advance(1_200)
    world.mine()
    await world.drain()
  }
}

/** One use after another, each of them supplied again. */
async function useAndWait(world: World, who: Parameters<typeof use>[1], times: number) {
  for (let i = 0; i < times; i++) {
    await use(world, who)
    world.mine()
    await world.drain()
  }
}

const keyOf = async (operator: Operator, { id }: Customer) =>
  (await operator.json<{ id: string }[]>('keys', 'list', id))[0]!.id

const held = async (world: World, { id }: Customer) => {
  const [row] = await world.sql<{ held_sun: bigint }>`
    select held_sun from account where id = ${`customer:${id}`}`
  return Number(row!.held_sun) / 1e6
}

test('an address unused for two hours is supplied no more, and takes no more room', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const people = ['a', 'b', 'c'].map((name) => sender(world, name))
  for (const one of people) await subscribe(world, anna, wanted(one.address))
  await pass(world, 12)
  assert.equal(await supplies(world), 6, 'two for each, and not one for each hour')
  assert.deepEqual(await world.sql`select 1 from delegation where state <> 'ended'`, [])
  for (const one of people) assert.equal(await world.energyLimit(one.address), 0)
  const { items } = await anna.get<{
    items: { status: string; resting?: string; total_price: number }[]
  }>('/v1/subscriptions/history')
  for (const { status, resting, total_price } of items)
    assert.deepEqual([status, resting, total_price], ['active', 'idle', 6])
})

test('hours are idle by the time of the chain: pushed ahead, nothing is supplied on', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  const before = await supplies(world)
  for (let pushed = 0; pushed < 12; pushed += 2) {
    // The chain alone goes on: the service's clock does not.
    world.scene.wait(7_200)
    world.wait(61)
    await world.drain()
  }
  const { resting } = await anna.get<Subscription & { resting?: string }>(
    '/v1/subscription/check',
    { id },
  )
  assert.deepEqual([resting, await supplies(world)], ['idle', before])
  const chain = await showChain(world.sql, world.now)
  assert.ok(chain!.behind_seconds < -11 * 3_600, `${chain!.behind_seconds}: it is ahead`)
})

test('days are over by the time of the chain', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address, { duration: 1 }))
  world.scene.wait(DAY - 600)
  await world.drain()
  assert.equal((await check(anna, id)).status, 'active')
  world.scene.wait(600)
  await world.drain()
  assert.equal((await check(anna, id)).status, 'expired')
})

test('a resting address is woken by a use, which costs nothing, and supplied again', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 2)
  assert.equal(await anna.balance(), 91.2, 'the third is set aside')
  await pass(world, 3)
  for (let i = 0; i < 3; i++) await world.solidify()
  const resting = await anna.get<Subscription & { resting?: string }>('/v1/subscription/check', {
    id,
  })
  assert.deepEqual([resting.status, resting.resting], ['active', 'idle'])
  assert.equal(await anna.balance(), 94, 'nothing is set aside for who rests')
  await use(world, bob)
  world.mine()
  await world.drain()
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
  const woken = await listed(anna, id)
  assert.deepEqual([woken.transactions_used, woken.total_price, await anna.balance()], [2, 6, 91.2])
  await use(world, bob)
  const served = await listed(anna, id)
  assert.deepEqual(
    [served.transactions_used, served.total_price, served.status],
    [3, 8.67, 'active'],
  )
  assert.equal('resting' in (await check(anna, id)), false)
})

test('a small use wakes no address that rests: an hour would cost next to nothing', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 2)
  await pass(world, 3)
  for (let i = 0; i < 3; i++) await world.solidify()
  const restingNow = async () =>
    (await anna.get<{ resting?: string }>('/v1/subscription/check', { id })).resting
  assert.equal(await restingNow(), 'idle')
  // A look at a balance, as a transaction: it takes energy, and very little.
  const data = selectorOf('balanceOf(address)') + wordOfAddress(bob.hex)
  const message = { contract_address: addressToHex(USDT), data }
  const asked = world.scene.send(bob, 'TriggerSmartContract', message, { fee_limit: 10n * TRX })
  assert.equal(asked.result, true, String(asked.message))
  world.mine()
  await world.drain()
  const { receipt } = world.scene.post('/wallet/gettransactioninfobyid', {
    value: String(asked.txid),
  }) as { receipt: { energy_usage_total: number } }
  assert.ok(receipt.energy_usage_total > 0 && receipt.energy_usage_total < PER_TRANSACTION / 2)
  assert.equal(await restingNow(), 'idle')
  await use(world, bob)
  assert.equal(await restingNow(), undefined, 'a whole one does')
})

test('a suspended customer is supplied no more, and goes on when resumed', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await operator.json('customers', 'suspend', anna.id)
  await use(world, bob)
  await pass(world, 2)
  for (let i = 0; i < 3; i++) await world.solidify()
  assert.equal(await supplies(world), 1)
  assert.equal(await world.energyLimit(bob.address), 0)
  assert.equal((await check(anna, id)).status, 'active')
  await operator.json('customers', 'resume', anna.id)
  await world.advance(120)
  // It was idle meanwhile, so it rests until it is used.
  assert.equal((await check(anna, id)).status, 'active')
  await use(world, bob)
  world.mine()
  await world.drain()
  assert.equal(await supplies(world), 2)
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION)
})

test('a plan says for how many hours; 0 is for ever, and running ones keep theirs', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const [bob, sue] = [sender(world), sender(world, 'sue')]
  await operator.json('plans', 'set', 'unlimited_energy', '--idle-hours', '0')
  const ever = await subscribe(world, anna, wanted(bob.address))
  await operator.json('plans', 'set', 'unlimited_energy', '--idle-hours', '1')
  const hour = await subscribe(world, anna, wanted(sue.address))
  await pass(world, 4)
  type SubscriptionAnswer = { resting: string | null; supplies: number }
  const shown = async (id: string) => {
    const { resting, supplies } = await operator.json<SubscriptionAnswer>(
      'subscriptions',
      'show',
      id,
    )
    return { resting, supplies }
  }
  assert.deepEqual(await shown(hour.id), { resting: 'idle', supplies: 1 })
  const { resting, supplies: given } = await shown(ever.id)
  assert.equal(resting, null)
  assert.ok(given >= 4, `${given}`)
})

test('a use after a stop, while energy is left, is charged from what was set aside', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 2)
  await anna.get('/v1/subscription/stop', { id })
  const energy = await use(world, bob)
  assert.ok(energy > 60_000)
  const { transactions_used, total_price, status } = await listed(anna, id)
  assert.deepEqual([transactions_used, total_price, status], [3, 8.67, 'stopped'])
  // Nothing more of ours lies there to be paid for.
  await use(world, bob)
  await world.solidify()
  await world.solidify()
  await use(world, bob)
  assert.deepEqual(
    [(await listed(anna, id)).total_price, await anna.balance(), await held(world, anna)],
    [8.67, 91.33, 0],
  )
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('without the money for the next transaction nothing is supplied: none is free', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 8 })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 2)
  const { status, transactions_used, total_price, reason } = await listed(anna, id)
  assert.deepEqual([status, transactions_used, total_price], ['stopped', 2, 6])
  assert.match(String(reason), /cannot be paid/)
  assert.ok((await energyLeft(world, bob)) < 5_000)
  assert.equal(await anna.balance(), 2)
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('a subscription counts for its key, and at the cap waits for the next day', async (t) => {
  const world = await makeWorld(t)
  // At noon, so that the day does not end on the way.
  await world.advance(DAY * 1.5 - ((world.now.getTime() / 1_000) % DAY))
  const anna = await world.customer({ trx: 200, daily_cap_sun: 10_000_000n })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 6)
  const { total_price, status } = await listed(anna, id)
  assert.deepEqual([total_price, status, await anna.balance()], [8.67, 'active', 191.33])
  const [spent] = await world.sql<{ spent_sun: bigint }>`select spent_sun from api_key_spending`
  assert.equal(spent!.spent_sun, 8_670_000n)
  const refused = await anna.call('/v1/transaction/new', {
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
  })
  assert.deepEqual([refused.code, refused.key], [6, 'insufficient_funds.daily_cap'])
  const operator = await worldOperator(world)
  const shown = await operator.json<{ resting: string; key_id: string }>(
    'subscriptions',
    'show',
    id,
  )
  assert.equal(shown.resting, 'daily_cap')
  assert.equal(shown.key_id, await keyOf(operator, anna))
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
  await world.advance(DAY / 2)
  await world.settle()
  assert.ok((await energyLeft(world, bob)) >= PER_TRANSACTION, 'the next day it goes on')
  assert.equal('resting' in (await check(anna, id)), false)
  assert.equal((await listed(anna, id)).total_price, 8.67)
})

test('what a fork takes back counts less on the day on which it was charged', async (t) => {
  const world = await makeWorld(t)
  const secondsToday = () => (world.now.getTime() / 1_000) % DAY
  await world.advance(DAY * 2 - 600 - secondsToday())
  const anna = await world.customer({ trx: 200, daily_cap_sun: 50_000_000n })
  const bob = sender(world)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 2)
  await world.solidify()
  await world.advance(DAY - 30 - secondsToday())
  await use(world, bob)
  const spent = () =>
    world.sql<{ spent_sun: bigint }>`select spent_sun from api_key_spending order by day`
  const before = (await spent()).map(({ spent_sun }) => spent_sun)
  world.fork(1, { drop: true })
  // After midnight, when the block without it is solid.
  await world.advance(60)
  await world.solidify()
  const after = (await spent()).map(({ spent_sun }) => spent_sun)
  assert.equal((await listed(anna, id)).transactions_used, 2)
  assert.deepEqual(after[0], before[0]! - 2_670_000n)
  assert.ok(
    after.every((sun) => sun >= 0n),
    'and none less on the day after',
  )
})

test('revoking a key ends what it started, unless that is to be kept', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const zoe = await world.customer({ trx: 100 })
  const [bob, sue, joe] = [sender(world), sender(world, 'sue'), sender(world, 'joe')]
  const mine = await subscribe(world, anna, wanted(bob.address))
  const kept = await subscribe(world, zoe, wanted(sue.address))
  const fresh = await anna.get<Subscription>(START, wanted(joe.address))
  const key = await keyOf(operator, anna)
  const revoked = await operator.json<{ ended_subscriptions: number }>(
    'keys',
    'revoke',
    key,
    '--reason',
    'stolen',
  )
  assert.equal(revoked.ended_subscriptions, 2)
  await operator.json('keys', 'revoke', await keyOf(operator, zoe), '--keep-subscriptions')
  const states = await world.sql<{ id: string; state: string; reason: string | null }>`
    select id, state, reason from subscription order by id`
  const by_id = new Map(states.map(({ id, state, reason }) => [id, [state, reason]]))
  const why = 'the key that started it was revoked'
  assert.deepEqual(by_id.get(mine.id), ['stopped', why])
  assert.deepEqual(by_id.get(fresh.id), ['error', why], 'one that had not begun is paid back')
  assert.deepEqual(by_id.get(kept.id), ['active', null])
  const actions = await operator.json<{ subject: string; reason: string }[]>(
    'actions',
    'list',
    '--limit',
    '3',
  )
  const subjects = [`subscription:${fresh.id}`, `subscription:${mine.id}`, `key:${key}`]
  assert.deepEqual(
    actions.slice(0, 3).map(({ subject }) => subject.split(':')[0]),
    ['key', 'subscription', 'subscription'],
  )
  for (const subject of subjects) {
    const [action] = await operator.json<{ reason: string }[]>(
      'actions',
      'list',
      '--subject',
      subject,
    )
    assert.equal(action!.reason, 'stolen')
  }
  await world.solidify()
  await world.settle()
  for (const one of [bob, joe]) assert.equal(await world.energyLimit(one.address), 0)
  const [{ spendable_sun }] = (await world.sql<{ spendable_sun: bigint }>`
    select posted_sun - held_sun as spendable_sun from account
      where id = ${`customer:${anna.id}`}`) as [{ spendable_sun: bigint }]
  assert.equal(spendable_sun, 94_000_000n)
  const again = await anna.call(START, wanted(bob.address))
  assert.equal(again.code, 1)
})

test('a start that was let in just before its key was revoked is refused', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  // The server remembers the key for a second.
  await anna.get('/v1/balance')
  await operator.json('keys', 'revoke', await keyOf(operator, anna))
  assert.equal((await anna.call('/v1/balance')).code, 0)
  assert.equal((await anna.call(START, wanted(bob.address))).code, 1)
  assert.deepEqual(await world.sql`select 1 from subscription`, [])
})

test('operators list, show and stop subscriptions, also those with a limit', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 600 })
  const zoe = await world.customer({ trx: 600 })
  const [bob, sue, joe] = [sender(world), sender(world, 'sue'), sender(world, 'joe')]
  const pack = { subscription_id: 'energy_pack_100' }
  const limited = await subscribe(world, anna, wanted(bob.address, { transactions_limit: 5 }, pack))
  const other = await subscribe(world, zoe, wanted(sue.address, {}, { external_id: 'sub-1' }))
  const fresh = await anna.get<Subscription>(START, wanted(joe.address))
  const list = async (...words: string[]) =>
    (await operator.json<{ id: string }[]>('subscriptions', 'list', ...words)).map(({ id }) => id)
  assert.deepEqual(await list(), [fresh.id, other.id, limited.id])
  assert.deepEqual(await list('--customer', anna.id), [fresh.id, limited.id])
  assert.deepEqual(await list('--state', 'active'), [other.id, limited.id])
  assert.deepEqual(await list('--address', sue.address), [other.id])
  assert.deepEqual(await list('--key', await keyOf(operator, zoe)), [other.id])
  assert.deepEqual(await list('--limit', '1', '--before', fresh.id), [other.id])
  const shown = await operator.json<{ id: string; supply_orders: unknown[] }>(
    'subscriptions',
    'show',
    'sub-1',
  )
  assert.deepEqual([shown.id, shown.supply_orders.length], [other.id, 1])
  const stop = (id: string) =>
    operator.json('subscriptions', 'stop', id, '--reason', 'it was a mistake')
  assert.deepEqual(await stop(limited.id), { id: limited.id, state: 'stopped' })
  assert.deepEqual(await stop(fresh.id), { id: fresh.id, state: 'error' })
  const [action] = await operator.json<{ before: object; after: object; reason: string }[]>(
    ...['actions', 'list', '--subject', `subscription:${limited.id}`],
  )
  const after = { state: 'stopped', reason: 'stopped by the operator' }
  assert.deepEqual(
    [action!.before, action!.after, action!.reason],
    [{ state: 'active' }, after, 'it was a mistake'],
  )
  assert.equal((await listed(anna, limited.id)).reason, 'stopped by the operator')
  assert.equal(await anna.balance(), 350)
  const again = await operator.type('subscriptions', 'stop', limited.id)
  assert.deepEqual(
    [again.code, again.err],
    [1, `The subscription ${limited.id} does not run: it is stopped.\n`],
  )
  for (const verb of ['show', 'stop'])
    assert.equal(
      (await operator.type('subscriptions', verb, 'nobody')).err,
      'There is no subscription nobody.\n',
    )
  const { subscriptions } = await operator.json<{ subscriptions: object[] }>(
    'customers',
    'show',
    anna.id,
  )
  assert.deepEqual(subscriptions, [
    { state: 'error', resting: null, subscriptions: 1 },
    { state: 'stopped', resting: null, subscriptions: 1 },
  ])
  await world.solidify()
  await world.settle()
  for (const one of [bob, joe]) assert.equal(await world.energyLimit(one.address), 0)
})

test("a customer's subscriptions and open orders are limited by the operator", async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 600 })
  const people = ['a', 'b', 'c'].map((name) => sender(world, name))
  const limits = (...words: string[]) => operator.json('customers', 'limits', anna.id, ...words)
  const shown = async () => {
    const row = await operator.json<Record<string, number>>('customers', 'show', anna.id)
    return [row.subscriptions_limit, row.open_orders_limit]
  }
  assert.deepEqual(await shown(), [100, 100_000])
  await limits('--subscriptions', '2', '--open-orders', '3')
  assert.deepEqual(await shown(), [2, 3])
  const starts = await Promise.all(people.map((one) => anna.call(START, wanted(one.address))))
  assert.deepEqual(starts.map(({ code }) => code).sort(), [0, 0, 35])
  const refused = starts.find(({ code }) => code === 35)!
  assert.equal(refused.key, 'service_unavailable.subscriptions')
  const buy = (external_id: string) => {
    const params = { address: people[0]!.address, amount: 32_000, duration: 1 }
    return anna.call('/v1/transaction/new', { service: 'energy', params, external_id })
  }
  const orders = await Promise.all(['1', '2', '3', '4', '5'].map(buy))
  assert.deepEqual(orders.map(({ code }) => code).sort(), [0, 0, 0, 35, 35])
  assert.equal(orders.find(({ code }) => code === 35)!.key, 'service_unavailable.open_orders')
  assert.equal((await buy('1')).code, 0, 'one that was placed before is answered as before')
  await world.settle()
  assert.equal((await buy('6')).code, 0, 'what is delivered is not open any more')
  await limits('--subscriptions', 'default')
  assert.deepEqual(await shown(), [100, 3])
  for (const [words, err] of [
    [[], 'Which limit: --subscriptions or --open-orders?\n'],
    [['--subscriptions', '-1'], '--subscriptions -1: it is a whole number, or default.\n'],
  ] as const) {
    const said = await operator.type('customers', 'limits', anna.id, ...words)
    assert.deepEqual([said.code, said.err], [2, err])
  }
  await world.sql`update customer set subscriptions_limit = 7 where id = ${anna.id}`
  const { out } = await operator.type('books', 'check', '--json')
  const { rules } = JSON.parse(out) as {
    rules: { rule: string; findings: { subject: string }[] }[]
  }
  const found = rules.flatMap(({ rule, findings }) =>
    findings.map(({ subject }) => `${rule} ${subject}`),
  )
  assert.deepEqual(found, [`C10 customer:${anna.id}`], 'a limit without its record is noticed')
  await limits('--subscriptions', 'default')
})

test('a stop and a use that race are charged once, whichever comes first', async (t) => {
  const world = await makeWorld(t)
  const other = await world.startProcess()
  const anna = await world.customer({ trx: 300 })
  const people = ['a', 'b', 'c', 'd'].map((name) => sender(world, name))
  const ids: string[] = []
  for (const one of people) {
    ids.push((await subscribe(world, anna, wanted(one.address))).id)
    await useAndWait(world, one, 2)
  }
  for (const one of people) sendTokens(world, one)
  world.mine()
  const steps = [...world.app.steps, ...other.app.steps].map((step) => step.run())
  const stops = ids.map((id) => anna.call('/v1/subscription/stop', { id }))
  await Promise.all([...steps, ...stops])
  await world.drain()
  await world.solidify()
  await world.solidify()
  for (const id of ids) {
    const { transactions_used, total_price, status } = await listed(anna, id)
    assert.deepEqual([transactions_used, total_price, status], [3, 8.67, 'stopped'])
  }
  assert.deepEqual([await anna.balance(), await held(world, anna)], [265.32, 0])
})

/** Buys so much that nobody else's address can be supplied for an hour. */
async function emptyPool(world: World, who: Customer): Promise<void> {
  const [pool] = await world.sql<{ left: bigint }>`
    select max(room - reserved) as left from pool where resource = 'energy'`
  const amount = Number(pool!.left) - PER_TRANSACTION / 2
  const params = { address: world.person('hoarder', 1).address, amount, duration: 1 }
  await who.buy({ service: 'energy', params })
  await world.settle()
}

test('what was held for a resting one, stopped before its supply, is given back', async (t) => {
  const world = await makeWorld(t, { pool_trx: [30_000] })
  // At noon, so that the day does not end on the way.
  await world.advance(DAY * 1.5 - ((world.now.getTime() / 1_000) % DAY))
  const zoe = await world.customer({ trx: 10_000 })
  const anna = await world.customer({ trx: 200, daily_cap_sun: 10_000_000n })
  const ben = await world.customer({ trx: 200 })
  const [bob, sue] = [sender(world), sender(world, 'sue')]
  const capped = await subscribe(world, anna, wanted(bob.address))
  await useAndWait(world, bob, 6)
  const idle = await subscribe(world, ben, wanted(sue.address))
  await useAndWait(world, sue, 2)
  await pass(world, 3)
  await world.solidify()
  const resting = await world.sql`select id, resting, withdrawn from subscription order by id`
  assert.deepEqual(resting, [
    { id: capped.id, resting: 'daily_cap', withdrawn: true },
    { id: idle.id, resting: 'idle', withdrawn: true },
  ])
  await world.advance(DAY - 1_800 - ((world.now.getTime() / 1_000) % DAY))
  await emptyPool(world, zoe)
  const given = await supplies(world)
  await use(world, sue)
  await world.advance(2_400)
  assert.deepEqual(
    [await supplies(world), await held(world, anna), await held(world, ben)],
    [given, 2.8, 0],
    'the second of sue was burnt in an empty pool, so the plan includes her next one',
  )
  await anna.get('/v1/subscription/stop', { id: capped.id })
  await ben.get('/v1/subscription/stop', { id: idle.id })
  await world.drain()
  assert.deepEqual([await held(world, anna), await held(world, ben)], [0, 0])
  assert.deepEqual([await anna.balance(), await ben.balance()], [191.33, 194])
})

test('one that is stopped, supplied or used as it is put to rest does not rest', async (t) => {
  const world = await makeWorld(t)
  const { sql } = world
  const anna = await world.customer({ trx: 400 })
  const started = new Map<string, string>()
  for (const name of ['quiet', 'stopped', 'supplied', 'used']) {
    const { id } = await subscribe(world, anna, wanted(sender(world, name).address))
    started.set(id, name)
  }
  const idOf = (wanted: string) => [...started].find(([, name]) => name === wanted)![0]
  // Unused for long, and what they have is over in a moment.
  await sql`update delegation set expires_at = (select head_time from chain)`
  await sql`
    update subscription set idle_since = idle_since - interval '3 hours', look_at = ${world.now}`
  const step = world.app.steps.find(({ name }) => name === 'supply')!
  // A connection of its own: those of the service wait.
  const client = await ownTransaction(t, world.database.url)
  for (const [name, change] of [
    ['stopped', "state = 'stopped'"],
    ['supplied', 'supplies = supplies + 1'],
    ['used', 'transactions_used = transactions_used + 1'],
  ] as const)
    await client.query(`update subscription set ${change} where id = $1`, [idOf(name)])
  const running = step.run()
  // All are read by then: the first that is to rest waits.
  await client.waitedFor(running)
  await client.commit()
  await running
  const resting = await sql<{ id: string }>`select id from subscription where resting is not null`
  assert.deepEqual(
    resting.map(({ id }) => started.get(id)),
    ['quiet'],
  )
})
