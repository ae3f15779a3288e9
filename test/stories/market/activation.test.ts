// Addresses that are not on the chain yet: activated on demand, on the way, or by somebody else
// meanwhile.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../harness/world.ts'

test('an address is activated for its fee, and the hash is that of the activation', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buy({ service: 'activate_address', params: { address: nina.address } })
  assert.deepEqual(order.params, { address: nina.address, activate_address: true })
  assert.equal(order.amount, 1.4)
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.deepEqual(done.delegations, [])
  const found = world.scene.post('/wallet/gettransactionbyid', { value: done.hash })
  assert.match(JSON.stringify(found), /AccountCreateContract/)
  assert.equal((await world.node.account(nina.address)).active, true)
  assert.equal(await anna.balance(), 8.6)
})

test('activation along the way comes before the delegation and is paid with it', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  assert.equal(order.amount, 4.33)
  assert.equal(order.params.activate_address, true)
  assert.equal(await anna.balance(), 5.67)
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.equal(done.amount, 4.33)
  assert.equal(done.hash, done.delegations[0]?.hash)
  assert.ok((await world.energyLimit(nina.address)) >= 65_000)
})

test('asking for activation of an active address costs nothing extra', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000, { activate_address: true })
  assert.equal(order.amount, 2.93)
  assert.equal(order.params.activate_address, true)
  await world.settle()
  const [activations] = await world.sql<{ n: bigint }>`select count(*) as n from activation`
  assert.equal(activations?.n, 0n)
})

test('an order for an address under activation waits for it and pays no fee', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const zoe = await world.customer({ trx: 10 })
  const activation = await anna.buy({
    service: 'activate_address',
    params: { address: nina.address },
  })
  const order = await zoe.buyEnergy(nina.address, 65_000)
  assert.equal(order.amount, 2.93)
  const again = await zoe.call('/v1/transaction/new', {
    service: 'activate_address',
    params: { address: nina.address },
  })
  assert.equal(again.code, 25, 'an activation is under way')
  await world.settle()
  assert.equal((await anna.check(activation.id)).status, 'success')
  assert.equal((await zoe.check(order.id)).status, 'success')
  assert.equal(await anna.balance(), 8.6)
  assert.equal(await zoe.balance(), 7.07)
  const [attempts] = await world.sql<{
    n: bigint
  }>`select count(*) as n from attempt where subject like 'activate:%'`
  assert.equal(attempts?.n, 1n)
})

test('two customers who ask for one activation share it, and one of them pays', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const zoe = await world.customer({ trx: 10 })
  const other = await world.startProcess()
  const orders = await Promise.all([
    anna.buyEnergy(nina.address, 65_000, { activate_address: true }),
    zoe
      .call(
        '/v1/transaction/new',
        {
          service: 'energy',
          params: { address: nina.address, amount: 65_000, duration: 1, activate_address: true },
        },
        {},
        other.api,
      )
      .then(({ result }) => result as { amount: number }),
  ])
  assert.deepEqual(orders.map(({ amount }) => amount).sort(), [2.93, 4.33])
  await world.settle()
  assert.equal((await anna.balance()) + (await zoe.balance()), 20 - 2.93 - 4.33)
  assert.ok((await world.energyLimit(nina.address)) >= 130_000)
})

test('an address activated by others meanwhile: energy delivered, fee returned', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === 'AccountCreateContract'
  const order = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  assert.equal(await anna.balance(), 5.67)
  await world.drain()
  world.pay(nina.address, 1_000_000n)
  await world.settle()
  const done = await anna.check(order.id)
  assert.equal(done.status, 'success')
  assert.equal(done.amount, 2.93)
  assert.equal(await anna.balance(), 7.07)
  assert.ok((await world.energyLimit(nina.address)) >= 65_000)
})

test('an activation that somebody else has done is not charged', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === 'AccountCreateContract'
  const order = await anna.buy({ service: 'activate_address', params: { address: nina.address } })
  await world.drain()
  world.pay(nina.address, 1_000_000n)
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'failed')
  assert.equal(await anna.balance(), 10)
})

test('an activation that never gets into a block is retried, then refunded to all', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  const zoe = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === 'AccountCreateContract'
  const paying = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  const waiting = await zoe.buyEnergy(nina.address, 65_000)
  await world.settle()
  assert.equal((await anna.check(paying.id)).status, 'failed')
  assert.equal((await zoe.check(waiting.id)).status, 'failed')
  assert.equal(await anna.balance(), 10)
  assert.equal(await zoe.balance(), 10)
  const tried = await world.sql`select state from attempt where subject like 'activate:%'`
  assert.deepEqual(
    tried.map(({ state }) => state),
    ['dead', 'dead', 'dead'],
  )
  assert.equal((await world.node.account(nina.address)).active, false)

  world.network.loses = () => false
  const order = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success', 'and it can be bought again')
})

test('a worker that was asking of a dead attempt does not undo what came after it', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 10 })
  world.network.loses = (type) => type === 'AccountCreateContract'
  const order = await anna.buy({ service: 'activate_address', params: { address: nina.address } })
  await world.drain()
  world.network.loses = () => false
  // Its time passes, and the first attempt is dead.
  world.mine(60)
  const others = world.app.steps.filter(({ name }) => name !== 'activated')
  await world.drain({ ...world.app, steps: others })
  assert.deepEqual(await world.attempts('activate'), ['dead'])
  let is_first = true
  world.network.onRequest = async (path) => {
    if (path !== '/wallet/getaccount' || !is_first) return
    is_first = false
    // While this one waits for the node, another worker makes the second attempt, which a block
    // has then.
    await world.drain()
    world.mine(1)
    await world.drain({ ...world.app, steps: others })
  }
  await world.app.steps.find(({ name }) => name === 'activated')!.run()
  assert.equal(is_first, false)
  await world.settle()
  assert.deepEqual(await world.attempts('activate'), ['dead', 'included'])
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.equal(await anna.balance(), 8.6)
})
