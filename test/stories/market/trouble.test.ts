// What goes wrong on the way to a delivery, and that it neither costs the customer twice nor
// delivers twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { totalsOf } from 'penstock-devchain/state/state.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { CARRIES_MIN, TRANSACTION_BANDWIDTH } from 'penstock-service/market/pool/pool.ts'
import { ownTransaction } from '../../harness/own_transaction.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

const DELEGATE = 'DelegateResourceContract'

async function refunded(customer: Customer, order_id: string, trx: number): Promise<void> {
  const failed = await customer.check(order_id)
  assert.equal(failed.status, 'failed')
  assert.equal(failed.hash, undefined)
  assert.equal(await customer.balance(), trx)
}

test('a delegation that never gets into a block: the order fails, the money is back', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === DELEGATE
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  world.mine(30)
  await world.drain()
  assert.equal(
    (await anna.check(order.id)).status,
    'pending',
    'no answer and no silence makes it dead',
  )
  assert.equal(await anna.balance(), 7.07)
  await world.settle()
  await refunded(anna, order.id, 10)
  // It is given up by time alone, ten minutes after the purchase.
  const attempts = await world.attempts('delegate')
  assert.deepEqual([attempts.length > 3, new Set(attempts)], [true, new Set(['dead'])])
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('a delegation that the node drops is made again when dead, and delivered once', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === DELEGATE
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  world.mine(20)
  await world.drain()
  // The first one's time is over: it is not sent again, and must be dead before there is another.
  world.network.loses = () => false
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.equal(done.delegations.length, 1)
  assert.equal(await anna.balance(), 7.07)
  assert.deepEqual(await world.attempts('delegate'), ['dead', 'included'])
  const limit = await world.energyLimit(bob.address)
  assert.ok(limit >= 65_000 && limit < 67_000, `${limit}`)
})

test('an order that was given up while its delivery waited for the pool is not sent', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  const other = await ownTransaction(t, world.database.url)
  await other.query('select from pool_wallet for update')
  const running = world.app.steps.find(({ name }) => name === 'delegate')!.run()
  await other.waitedFor(running)
  world.wait(601)
  await other.commit()
  await running
  assert.deepEqual(await world.sql`select from delegation`, [])
  await world.drain()
  await refunded(anna, order.id, 10)
})

test('what took nine seconds to be judged is not bought by what was known before', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  await world.drain()
  const body = {
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
    external_id: 'one',
  }
  const asked = (seconds: number) => {
    world.network.onRequest = async (path) => {
      if (path !== '/wallet/getaccount') return
      world.network.onRequest = () => {}
      // The process was stopped: its key may be revoked by now, and prices are others.
      world.mine(seconds / 3)
      const follow = world.app.steps.find(({ name }) => name === 'follow')!
      while (await follow.run());
    }
    return anna.call('/v1/transaction/new', body)
  }
  assert.equal((await asked(9)).code, 35)
  assert.deepEqual(await world.sql`select from orders`, [])
  assert.equal((await asked(6)).code, 0)
  await world.settle()
  assert.equal(await anna.balance(), 7.07)
})

for (const kind of [
  'lose_answer',
  'busy',
  'false_dup',
  'timeout',
  'rate_limit',
  'overload',
] as const)
  test(`after the fault ${kind} of the node the same bytes go out again`, async (t) => {
    const world = await makeWorld(t)
    const bob = world.person('bob', 1)
    const anna = await world.customer({ trx: 10 })
    const order = await anna.buyEnergy(bob.address, 65_000)
    let armed = false
    world.network.onRequest = (path) => {
      if (path === '/wallet/broadcasthex' && !armed) {
        armed = true
        world.fault(kind)
      }
    }
    await world.settle()
    assert.equal(armed, true)
    assert.equal((await anna.check(order.id)).status, 'success', kind)
    assert.equal((await world.attempts('delegate')).length, 1, kind)
    const limit = await world.energyLimit(bob.address)
    assert.ok(limit >= 65_000 && limit < 67_000, `${kind}: ${limit}`)
  })

test('a delegation that waits in the pool for long is included and delivered once', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  world.fault('delay', { seconds: 45 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.deepEqual(await world.attempts('delegate'), ['included'])
})

test('part of an order cannot be delivered: the rest is reclaimed, all is refunded', async (t) => {
  const world = await makeWorld(t, { pool_trx: [5_000, 5_000, 5_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 131_000)
  let seen = 0
  world.network.loses = (type) => type === DELEGATE && ++seen > 1
  await world.settle()
  await refunded(anna, order.id, 10)
  world.network.loses = () => false
  await world.solidify()
  await world.settle()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('what a failure gives back does not count against the daily cap of the key', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10, daily_cap_sun: 3_000_000n })
  world.network.loses = (type) => type === DELEGATE
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await refunded(anna, order.id, 10)
  world.network.loses = () => false
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  assert.equal(await anna.balance(), 7.07)
})

test('while the node is down a purchase is refused with 35 and costs nothing', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  world.network.down = true
  const refused = await anna.call('/v1/transaction/new', { service: 'energy', params })
  assert.equal(refused.code, 35)
  assert.equal((await anna.call('/v1/calculate', params)).code, 35)
  world.network.down = false
  assert.equal(await anna.balance(), 10)
  await anna.buy({ service: 'energy', params })
})

test('a chain silent for half a minute sells nothing, though the receiver is known', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  await anna.buy({ service: 'energy', params })
  await world.settle()
  world.network.down = true
  world.wait(31)
  assert.equal((await anna.call('/v1/transaction/new', { service: 'energy', params })).code, 35)
  world.network.down = false
  await world.drain()
  await anna.buy({ service: 'energy', params })
})

test('a chain that stands still for a minute sells nothing until the next block', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  world.wait(50)
  await world.drain()
  await anna.buy({ service: 'energy', params })
  world.wait(11)
  await world.drain()
  assert.equal((await anna.call('/v1/transaction/new', { service: 'energy', params })).code, 35)
  assert.equal(await anna.balance(), 7.07)
  world.mine()
  await world.drain()
  await anna.buy({ service: 'energy', params })
})

test('an order accepted before the node went down is delivered once when it is back', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  world.network.down = true
  for (const step of world.app.steps) await step.run().catch(() => {})
  world.wait(120)
  for (const step of world.app.steps) await step.run().catch(() => {})
  world.network.down = false
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  const limit = await world.energyLimit(bob.address)
  assert.ok(limit >= 65_000 && limit < 67_000, `${limit}`)
})

test('two processes that run the same steps deliver, settle and take back once', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const other = await world.startProcess()
  const receivers = ['bob', 'ben', 'bea', 'bel'].map((name) => world.person(name, 1))
  await world.drain()
  await Promise.all(receivers.map(({ address }) => anna.buyEnergy(address, 65_000)))
  const both = () =>
    Promise.all(world.app.steps.flatMap((step, i) => [step.run(), other.app.steps[i]!.run()]))
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 4; i++) await both()
    world.mine()
  }
  await world.settle()
  for (const { address } of receivers) {
    const limit = await world.energyLimit(address)
    assert.ok(limit >= 65_000 && limit < 67_000, `${limit}`)
  }
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 4; i++) await both()
    world.mine()
  }
  await world.settle()
  for (const { address } of receivers) assert.equal(await world.energyLimit(address), 0)
})

test('an order waits for room in the pool, and is refunded after ten minutes', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  const [wallet] = world.wallets.pool
  const drained = () =>
    world.sql`update pool_wallet set room_sun = 0 where address = ${wallet!.address}`
  const delegate = world.app.steps.find((step) => step.name === 'delegate')!
  await drained()
  await delegate.run()
  assert.equal((await anna.check(order.id)).status, 'new')
  await world.advance(3)
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')

  const zoe = await world.customer({ trx: 10 })
  await world.solidify()
  await world.advance(3_600)
  await world.settle()
  await world.solidify()
  // The survey that follows a block sees what is free by then.
  await world.advance(3)
  const late = await zoe.buyEnergy(bob.address, 65_000)
  // The operator takes the stake away for good.
  world.scene.send(world.person('pool-0'), 'UnfreezeBalanceV2Contract', {
    unfreeze_balance: 9_000_000_000n,
    resource: 'ENERGY',
  })
  world.mine(10)
  const survey = world.app.steps.find((step) => step.name === 'survey')!
  await survey.run()
  await world.drain()
  assert.equal((await zoe.check(late.id)).status, 'new')
  assert.equal(await zoe.balance(), 7.07)
  await world.advance(603)
  await world.settle()
  await refunded(zoe, late.id, 10)
})

test('a wallet that cannot pay for reclaiming what it delegates sells nothing', async (t) => {
  const world = await makeWorld(t, {
    pool_trx: [10_000_000],
    pool_bandwidth_trx: 0,
    pool_float_sun: 10_000_000n,
  })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  // 10 TRX burn for 28 transactions of 350 bytes, and what is free of bandwidth is spent on the
  // stake.
  const carries = async () => {
    const [row] = await world.sql<{
      carries: bigint
    }>`select carries from pool_wallet where resource = 'energy'`
    return Number(row!.carries)
  }
  const first = await carries()
  assert.ok(first >= 20 && first <= 28, `${first}`)
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.ok((await carries()) < first)
  const [sent] = await world.sql<{
    bytes: number
  }>`select max(octet_length(signed)) as bytes from attempt`
  assert.ok(sent!.bytes + 64 <= Number(TRANSACTION_BANDWIDTH))

  const refused: unknown[] = []
  for (let i = 0; i < 6; i++) {
    const answer = await anna.call('/v1/transaction/new', {
      service: 'energy',
      params: { address: bob.address, amount: 32_000, duration: 1 },
    })
    if (answer.code !== 0) refused.push(answer.code)
    await world.settle()
  }
  assert.deepEqual([...new Set(refused)], [35])
  assert.ok((await carries()) < Number(CARRIES_MIN))

  world.scene.devchain.fund(world.wallets.pool[0]!.address, 100_000_000n)
  world.mine(10)
  await world.settle()
  const again = await anna.buyEnergy(bob.address, 32_000)
  await world.settle()
  assert.equal((await anna.check(again.id)).status, 'success')
})

test('of a wallet whose key may do too much nothing is sold until it is put right', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const anna = await world.customer({ trx: 10 })
  const params = { address: world.person('bob', 1).address, amount: 65_000, duration: 1 }
  const buy = () => anna.call('/v1/transaction/new', { service: 'energy', params })
  await world.sql`
    update wallet_check set stopped = true, complaints = '{It can do everything.}'
    where address = ${world.wallets.pool[0]!.address}`
  // The pool is looked at anew after some blocks.
  world.mine(10)
  await world.drain()
  assert.equal((await buy()).code, 35)
  await world.sql`update wallet_check set stopped = false, complaints = '{}'`
  world.mine(10)
  await world.drain()
  assert.equal((await buy()).code, 0)
  await world.settle()
})

/** Lets the network's total stake grow, which makes every stake worth less. */
function growNetwork(world: World, times: bigint): void {
  const { chain } = world.scene.devchain
  const { rest_energy_weight } = totalsOf(chain.headView())
  chain.decree({ kind: 'weights', energy_weight_trx: rest_energy_weight * times })
  // Nothing of ours has moved: it is seen after ten blocks.
  world.mine(10)
}

test('an order beyond the stake of one delegation is split, not refused', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 200 })
  growNetwork(world, 5n)
  await world.drain()
  const order = await anna.buyEnergy(bob.address, 3_000_000)
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.equal(done.delegations.length, 2)
  assert.ok((await world.energyLimit(bob.address)) >= 3_000_000)
})

test('an order whose transactions the signer refuses is refunded', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  const follow = world.app.steps.find((step) => step.name === 'follow')!
  for (let minute = 0; minute < 20; minute++) {
    while (await follow.run()) {}
    for (const step of world.app.steps) {
      // Somebody spoils what is to be signed: a locked delegation could not be taken back.
      if (step.name === 'sign')
        await world.sql`
          update attempt set contract = jsonb_set(contract, '{parameter,value,lock}', 'true')
            where state = 'new'`
      await step.run().catch(() => {})
    }
    world.mine(20)
  }
  assert.deepEqual(new Set(await world.attempts('delegate')), new Set(['dead']))
  await refunded(anna, order.id, 10)
})

test('an address that only seemed active is not taken for active for ever', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  world.fault('drop')
  world.pay(nina.address, 1_000_000n)
  assert.equal((await world.node.account(nina.address)).active, true, 'so the head has it')
  const params = { address: nina.address, amount: 65_000, duration: 1 }
  const first = await anna.call('/v1/transaction/new', { service: 'energy', params })
  world.mine(25)
  await world.settle()
  assert.equal((await world.node.account(nina.address)).active, false)
  if (first.code === 0) await refunded(anna, String(first.result.id), 10)
  const second = await anna.call('/v1/transaction/new', { service: 'energy', params })
  assert.equal(second.code, 24)
})

test('a database that drops connections: every order is placed and paid once', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const names = Array.from({ length: 12 }, (_, i) => `bob-${i}`)
  const receivers = names.map((name) => world.person(name, 1).address)
  await world.drain()
  let bought = 0
  const buy = async (address: string) => {
    const body = {
      service: 'energy',
      params: { address, amount: 65_000, duration: 1 },
      external_id: address,
    }
    for (;;) {
      const { code } = await anna.call('/v1/transaction/new', body)
      if (code === 0) break
      assert.equal(code, 500, 'it is our failure, and asking again is safe')
    }
    bought += 1
  }
  const tolerant = async (work: () => Promise<unknown>) => {
    await work().catch((thrown) => assert.ok(thrown instanceof Outage, String(thrown)))
  }
  const buying = Promise.all(receivers.map(buy))
  while (bought < receivers.length) {
    await world.dropConnections()
    for (const step of world.app.steps) await tolerant(() => step.run())
  }
  await buying
  for (let round = 0; round < 6; round++) {
    const running = Promise.all(world.app.steps.map((step) => tolerant(() => step.run())))
    await world.dropConnections()
    await running
    world.mine()
  }
  // Until every connection that was closed has been noticed.
  for (let i = 0; i < 20; i++) await tolerant(() => world.sql`select 1`)
  for (let i = 0; i < 20; i++) await tolerant(() => world.drain())
  await world.settle()
  for (const address of receivers) {
    const limit = await world.energyLimit(address)
    assert.ok(limit >= 65_000 && limit < 67_000, `${limit}`)
  }
  assert.equal(await anna.balance(), Math.round((100 - 12 * 2.93) * 100) / 100)
})
