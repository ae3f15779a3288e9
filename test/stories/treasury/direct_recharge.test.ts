// TRX sent to the published address buys energy for an hour, for anyone who sent it. Every deposit
// has exactly one end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Person } from 'penstock-devchain/scene.ts'
import type { Deposit } from 'penstock-service/treasury/deposits/deposits.ts'
import { findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { makeWorld, post, TRX, type World } from '../../harness/world.ts'

type Rates = { address: string; rates: { min_energy: number; max_energy: number; price: number }[] }

async function depositOf(world: World, tx_id: string): Promise<Deposit> {
  const [deposit, ...more] = await findDeposits(world.sql, tx_id)
  assert.ok(deposit, `no deposit ${tx_id}`)
  assert.equal(more.length, 0)
  return deposit
}

async function recharge(world: World, from: Person, sun: bigint): Promise<Deposit> {
  const tx_id = world.pay(world.recharge.address, sun, from)
  world.mine()
  await world.drain()
  await world.settle()
  return depositOf(world, tx_id)
}

test('the published address and rates are those at which energy is delivered', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 1_000)
  const { code, result } = await post(world.api, '/v1/direct-recharge-info', undefined)
  assert.equal(code, 0)
  const { address, rates } = result as Rates
  assert.equal(address, world.recharge.address)
  const rate = rates[0]!
  const deposit = await recharge(world, sam, 3n * TRX)
  assert.equal(deposit.state, 'delivered')
  assert.equal(Number(deposit.energy), Math.floor((3 * 1_000) / rate.price))
  const limit = await world.energyLimit(sam.address)
  assert.ok(limit >= Number(deposit.energy), `${limit}`)
})

test('the amount decides the tier: every sun counts and the energy is rounded down', async (t) => {
  const world = await makeWorld(t)
  // 32,000 to 130,999 at 0.045 and 131,000 to 3,000,000 at 0.042 TRX for 1000.
  const cases: [sun: bigint, energy: bigint | null][] = [
    [1_439_999n, null],
    [1_440_000n, 32_000n],
    [1_440_044n, 32_000n],
    [1_440_045n, 32_001n],
    [5_501_999n, 122_266n],
    [5_502_000n, 131_000n],
    [126_000_000n, 3_000_000n],
    [126_000_042n, null],
  ]
  const sent = cases.map(([sun, energy], i) => {
    const from = world.person(`sam-${i}`, 1_000)
    return { from, energy, tx_id: world.pay(world.recharge.address, sun, from) }
  })
  world.mine()
  await world.settle()
  await world.solidify()
  await world.settle()
  await world.solidify()
  for (const { from, energy, tx_id } of sent) {
    const deposit = await depositOf(world, tx_id)
    assert.equal(deposit.energy, energy, `${deposit.amount_sun}`)
    assert.equal(deposit.state, energy === null ? 'refunded' : 'delivered')
    const limit = await world.energyLimit(from.address)
    if (energy === null) assert.equal(limit, 0)
    else assert.ok(limit >= Number(energy), `${limit} of ${energy}`)
  }
})

test('when it is acted on at inclusion the energy is there within two blocks', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  await world.drain()
  world.mine()
  assert.ok((await world.energyLimit(sam.address)) > 65_000)
})

test('when it is acted on at solid nothing is delivered before', async (t) => {
  const world = await makeWorld(t, { recharge_at: 'solid' })
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine(18)
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'seen')
  assert.equal(await world.energyLimit(sam.address), 0)
  world.mine()
  await world.settle()
  assert.equal((await depositOf(world, tx_id)).state, 'delivered')
  assert.ok((await world.energyLimit(sam.address)) > 65_000)
})

test('a deposit that buys nothing goes back, less the network fee, once solid', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 1n * TRX, sam)
  const balance = world.scene.balance(sam)
  world.mine(2)
  await world.drain()
  const waiting = await depositOf(world, tx_id)
  assert.equal(waiting.state, 'returning')
  await world.solidify()
  await world.settle()
  await world.solidify()
  const deposit = await depositOf(world, tx_id)
  assert.equal(deposit.state, 'refunded')
  assert.match(String(deposit.reason), /no tier/)
  assert.equal(world.scene.balance(sam) - balance, 700_000n)
  const [sums] = await world.sql<{ sun: bigint }>`
    select sum(case when credit = 'customer:direct_recharge' then amount_sun
      else -amount_sun end)::bigint as sun
    from transfer where kind in ('move', 'capture')
      and 'customer:direct_recharge' in (debit, credit)`
  assert.equal(sums?.sun, 0n)
})

test('a refund that is lost is sent again, and paid once', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 1n * TRX, sam)
  const balance = world.scene.balance(sam)
  world.network.loses = (type) => type === 'TransferContract'
  await world.solidify()
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'refunding')
  world.mine(45)
  await world.drain()
  world.network.loses = () => false
  await world.settle()
  await world.solidify()
  assert.equal((await depositOf(world, tx_id)).state, 'refunded')
  assert.equal(world.scene.balance(sam) - balance, 700_000n)
})

test('a refund is booked when its block is solid, and not before', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 1n * TRX, sam)
  await world.solidify()
  const booked = async () =>
    (await world.sql`select 1 from transfer where id = ${`refund:${tx_id}`}`).length
  for (const fork of [true, false]) {
    world.wait(10)
    await world.drain()
    world.mine()
    await world.drain()
    assert.deepEqual(await world.attempts('refund'), ['included'])
    assert.deepEqual([(await depositOf(world, tx_id)).state, await booked()], ['refunding', 0])
    if (fork) world.fork(1, { drop: true })
    await world.drain()
  }
  await world.solidify()
  assert.deepEqual([(await depositOf(world, tx_id)).state, await booked()], ['refunded', 1])
})

test('an order placed before a crash is found again, though sales have ended', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  for (const name of ['follow', 'arrive', 'recharge']) {
    await world.app.steps.find((step) => step.name === name)!.run()
  }
  const { order_id } = await depositOf(world, tx_id)
  assert.ok(order_id)
  await world.sql`
    update deposit set state = 'received', order_id = null, energy = null where tx_id = ${tx_id}`
  await world.sql`update service set on_sale = false where name = 'direct_recharge'`
  world.wait(31)
  await world.settle()
  const deposit = await depositOf(world, tx_id)
  assert.deepEqual(
    [deposit.state, deposit.order_id, deposit.energy],
    ['delivered', order_id, 66_666n],
  )
})

for (const { held, sun, refunds, reason } of [
  { held: 'too little to send back', sun: 100_000n, refunds: true, reason: /too little/ },
  { held: 'all without a refund wallet', sun: 1_000_000n, refunds: false, reason: /no wallet/ },
])
  test(`${held} is held`, async (t) => {
    const world = await makeWorld(t, { refunds })
    const sam = world.person('sam', 100)
    const tx_id = world.pay(world.recharge.address, sun, sam)
    await world.solidify()
    await world.settle()
    const deposit = await depositOf(world, tx_id)
    assert.equal(deposit.state, 'held')
    assert.match(String(deposit.reason), reason)
  })

test('what no refund may send, or would send to itself, is held with the reason', async (t) => {
  const world = await makeWorld(t)
  const whale = world.person('whale', 2_000)
  const cases = [
    {
      tx_id: world.pay(world.recharge.address, 1_001n * TRX, whale),
      reason: /more than a refund may send/,
    },
    {
      tx_id: world.pay(world.recharge.address, 1n * TRX, world.person('refund')),
      reason: /the wallet for refunds/,
    },
  ]
  await world.solidify()
  await world.settle()
  for (const { tx_id, reason } of cases) {
    const deposit = await depositOf(world, tx_id)
    assert.equal(deposit.state, 'held')
    assert.match(String(deposit.reason), reason)
  }
})

test('an address that is not sold to gets its money back, if the policy agrees', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  await world.bar(sam.address, { hold_deposits_from: 'none' })
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'returning')
  await world.solidify()
  await world.settle()
  await world.solidify()
  assert.equal((await depositOf(world, tx_id)).state, 'refunded')
})

test('a pool that is short for two minutes sends the money back', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000] })
  const sam = world.person('sam', 1_000)
  const tx_id = world.pay(world.recharge.address, 30n * TRX, sam)
  world.mine(2)
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'received')
  world.mine(41)
  await world.drain()
  await world.settle()
  await world.solidify()
  const deposit = await depositOf(world, tx_id)
  assert.equal(deposit.state, 'refunded')
  assert.match(String(deposit.reason), /pool/)
})

test('a delivery that never gets into a block sends the money back', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  world.network.loses = (type) => type === 'DelegateResourceContract'
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  await world.drain()
  await world.settle()
  await world.solidify()
  await world.settle()
  await world.solidify()
  const deposit = await depositOf(world, tx_id)
  assert.equal(deposit.state, 'refunded')
  assert.equal(await world.energyLimit(sam.address), 0)
})

test('two deposits of one sender in one block are delivered each', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const ids = [3n * TRX, 4n * TRX].map((sun) => world.pay(world.recharge.address, sun, sam))
  world.mine()
  await world.settle()
  for (const id of ids) assert.equal((await depositOf(world, id)).state, 'delivered')
  assert.ok((await world.energyLimit(sam.address)) >= 66_666 + 88_888)
})

test('a deposit that a fork moves to another block is delivered once', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  await world.settle()
  world.fork(2)
  await world.settle()
  await world.solidify()
  await world.settle()
  assert.equal((await depositOf(world, tx_id)).state, 'delivered')
  const limit = await world.energyLimit(sam.address)
  assert.ok(limit >= 66_666 && limit < 68_000, `${limit}`)
  const [moves] = await world.sql<{
    n: bigint
  }>`select count(*) as n from transfer where id = ${`deposit:${tx_id}`}`
  assert.equal(moves?.n, 1n)
})

test('a deposit that a fork takes away before its delivery is not delivered', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000], forges: true })
  const anna = await world.customer({ trx: 10 })
  const bob = world.person('bob', 1)
  const sam = world.person('sam', 1_000)
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.solidify()
  // No room for it now; room again when the hour is over.
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'received')
  world.fork(1, { drop: true })
  await world.drain()
  await world.sql`update delegation set expires_at = delegated_at where state = 'active'`
  await world.settle()
  for (let i = 0; i < 6; i++) {
    world.mine()
    await world.drain()
  }
  await world.solidify()
  assert.equal(await world.energyLimit(sam.address), 0, 'nobody has paid for this')
  assert.equal((await depositOf(world, tx_id)).state, 'gone')
})

test('a deposit that a fork takes away while it waits to be sent back ends as gone', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 1n * TRX, sam)
  world.mine()
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'returning')
  world.fork(1, { drop: true })
  await world.drain()
  await world.solidify()
  await world.solidify()
  assert.equal((await depositOf(world, tx_id)).state, 'gone')
})

test('off sale: the information is refused, and what still arrives goes back', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  await world.sql`update service set on_sale = false where name = 'direct_recharge'`
  world.wait(2)
  assert.equal((await post(world.api, '/v1/direct-recharge-info', undefined)).code, 35)
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  await world.solidify()
  await world.settle()
  await world.solidify()
  assert.equal((await depositOf(world, tx_id)).state, 'refunded')
})

test('two processes that read the same deposits deliver each once', async (t) => {
  const world = await makeWorld(t)
  const other = await world.startProcess()
  const senders = ['sam', 'sue', 'sid'].map((name) => world.person(name, 100))
  const ids = senders.map((from) => world.pay(world.recharge.address, 3n * TRX, from))
  world.mine()
  for (let round = 0; round < 8; round++) {
    await Promise.all([...world.app.steps, ...other.app.steps].map((step) => step.run()))
    if (round % 2 === 1) world.mine()
  }
  await world.settle()
  for (const id of ids) assert.equal((await depositOf(world, id)).state, 'delivered')
  for (const { address } of senders) {
    const limit = await world.energyLimit(address)
    assert.ok(limit >= 66_666 && limit < 68_000, `${limit}`)
  }
})

test('a worker that was away too long does not deliver what another has sent back', async (t) => {
  const world = await makeWorld(t)
  const other = await world.startProcess()
  const sam = world.person('sam', 100)
  await world.drain()
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  for (const name of ['follow', 'arrive'])
    await world.app.steps.find((step) => step.name === name)!.run()
  const recharge = (steps = world.app.steps) => steps.find(({ name }) => name === 'recharge')!.run()
  let is_away = false
  world.network.onRequest = async (path) => {
    if (is_away || path !== '/wallet/getaccount') return
    is_away = true
    // While this one waits for a node, the pool is short for two minutes, and the other one gives
    // the money back.
    await world.sql`update pool set reserved = reserved + 10000000000`
    world.mine(45)
    const follow = other.app.steps.find(({ name }) => name === 'follow')!
    while (await follow.run());
    await recharge(other.app.steps)
    await world.sql`update pool set reserved = reserved - 10000000000`
  }
  await recharge()
  assert.deepEqual([is_away, (await depositOf(world, tx_id)).state], [true, 'returning'])
  assert.deepEqual(await world.sql`select from orders`, [])
  await world.settle()
  await world.solidify()
  await world.solidify()
  assert.equal((await depositOf(world, tx_id)).state, 'refunded')
  assert.equal(await world.energyLimit(sam.address), 0)
})

test('what is placed for a deposit is its order from that very moment', async (t) => {
  const world = await makeWorld(t)
  const sam = world.person('sam', 100)
  const tx_id = world.pay(world.recharge.address, 3n * TRX, sam)
  world.mine()
  for (const name of ['follow', 'arrive'])
    await world.app.steps.find((step) => step.name === name)!.run()
  // The transaction that places it is all that the database does.
  const { transaction_ids } = await inOneTransaction(world, 'recharge')
  assert.equal(transaction_ids.size, 1)
  assert.equal((await depositOf(world, tx_id)).state, 'delivering')
})

/** Runs a step, and says in which transactions deposits and orders were written. */
async function inOneTransaction(world: World, name: string) {
  await world.app.steps.find((step) => step.name === name)!.run()
  const rows = await world.sql<{ xid: string }>`
    select xmin::text as xid from orders union select xmin::text from deposit`
  return { transaction_ids: new Set(rows.map(({ xid }) => xid)) }
}
