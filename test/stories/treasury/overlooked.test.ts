// Small mistakes that nothing else would notice: each test here is for one condition in the source
// that was once taken out, or turned round, without any test failing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  captureAll,
  customerAccount,
  holdAll,
  lockAccounts,
  REVENUE,
} from 'penstock-service/ledger/accounts/ledger.ts'
import { reclaimStep } from 'penstock-service/market/pool/delegations.ts'
import { makeWorld, type World } from '../../harness/world.ts'

const made_at = new Date('2026-10-08T15:26:32Z')

test('an external_id does not stand for the same purchase with other bandwidth', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const bundle = (bandwidth: number) => ({
    service: 'resource_bundle',
    params: { address: bob.address, amounts: { energy: 65_000, bandwidth }, duration: 1 },
    external_id: 'bundle',
  })
  await anna.buy(bundle(300))
  const { code, key } = await anna.call('/v1/transaction/new', bundle(301))
  assert.deepEqual([code, key], [2, 'invalid_service_or_params.external_id'])
})

test('an address that we activated costs no second fee while a node lags', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 20 })
  const first = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  assert.equal(first.amount, 4.33)
  await world.settle()
  world.network.answers = (path, body) =>
    path === '/wallet/getaccount' && body.includes(nina.address) ? '{}' : body
  world.wait(60)
  world.mine()
  await world.drain()
  const second = await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  assert.equal(second.amount, 2.93)
  world.network.answers = (_path, body) => body
  await world.settle()
  assert.deepEqual(await world.attempts('activate'), ['included'])
})

test('a transaction that locks an account has it alone', async (t) => {
  const world = await makeWorld(t)
  const anna = customerAccount((await world.customer({ trx: 10 })).id)
  const order: string[] = []
  let second: Promise<void> = Promise.resolve()
  await world.sql.begin(async (tx) => {
    await lockAccounts(tx, [anna])
    second = world.sql.begin(async (other) => {
      await lockAccounts(other, [anna])
      order.push('second')
    })
    while (order.length === 0 && !(await somebodyWaits(world))) await turn()
    order.push('first')
  })
  await second
  assert.deepEqual(order, ['first', 'second'])
})

async function somebodyWaits({ sql }: World): Promise<boolean> {
  const waiting = await sql`
    select 1 from pg_stat_activity where datname = current_database()
      and cardinality(pg_blocking_pids(pid)) > 0`
  return waiting.length > 0
}

test('captures of which one names no hold, or takes too much, are none', async (t) => {
  const world = await makeWorld(t)
  const { sql } = world
  const anna = customerAccount((await world.customer({ trx: 10 })).id)
  const hold = (id: string) => ({ id, debit: anna, credit: REVENUE, amount_sun: 5n, made_at })
  await sql
    .begin(async (tx) => {
      await lockAccounts(tx, [anna])
      holdAll(tx, [hold('h1'), hold('h2')])
      throw new Error('only to try')
    })
    .catch(() => {})
  for (const other of [
    { hold_id: 'h2', amount_sun: 6n },
    { hold_id: 'no such hold', amount_sun: 5n },
  ]) {
    const capturing = sql.begin(async (tx) => {
      await lockAccounts(tx, [anna])
      holdAll(tx, [hold('h1'), hold('h2')])
      captureAll(tx, [{ hold_id: 'h1', amount_sun: 5n }, other], made_at)
    })
    await assert.rejects(capturing, /names no hold, or takes more/)
  }
  assert.deepEqual(await sql`select id from transfer where kind <> 'move'`, [])
})

test('a fork leaves alone what is in the last block that stays', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  assert.deepEqual(await world.attempts('delegate'), ['included'])
  const [at] = await world.sql<{ block_number: bigint }>`select block_number from attempt`
  while (world.scene.devchain.chain.head_number > Number(at!.block_number)) world.fork(1)
  world.mine(2)
  await world.drain()
  world.fork(world.scene.devchain.chain.head_number - Number(at!.block_number))
  await world.drain()
  assert.deepEqual(await world.attempts('delegate'), ['included'])
  await world.solidify()
  assert.deepEqual(await world.attempts('delegate'), ['solid'])
})

test('a transaction refers to a block that no fork can take', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  await anna.buyEnergy(bob.address, 65_000)
  const { solid, head } = world.scene.devchain
  assert.notEqual(solid.id, head.id)
  await world.drain()
  const [{ signed } = { signed: Buffer.alloc(0) }] = await world.sql<{
    signed: Buffer
  }>`select signed from attempt`
  assert.ok(signed.toString('hex').includes(solid.id.slice(16, 32)))
})

/** The order fails while its part is under way, as when a fork has taken that out of its block. */
function failByHand({ sql }: World): Promise<void> {
  return sql.begin(async (tx) => {
    await tx`update orders set state = 'failed', to_delegate = false`
    await tx`insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      select id || '/release', 'release', id, debit, credit, amount_sun, made_at from transfer
        where kind = 'hold'`
  })
}

test('a part that arrives after its order has failed is due at once', async (t) => {
  const world = await makeWorld(t, { pool_trx: [5_000, 5_000, 5_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 131_000)
  await world.drain()
  world.mine()
  await failByHand(world)
  await world.drain()
  const hours = await world.sql`
      select 1 from delegation where state = 'delegating' or expires_at <> delegated_at`
  assert.deepEqual(hours, [])
  assert.equal((await anna.check(order.id)).status, 'failed')
  await world.solidify()
  await world.settle()
  await world.solidify()
  assert.equal(await world.energyLimit(bob.address), 0)
})

test('a part that dies after its order failed is not made again, and keeps no room', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  world.network.loses = () => true
  await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  await failByHand(world)
  world.mine(45)
  await world.drain()
  assert.deepEqual(await world.attempts('delegate'), ['dead'])
  const kept = await world.sql`
      select 1 from pool where reserved <> 0 union all select 1 from orders where to_delegate`
  assert.deepEqual(kept, [])
})

test('a fee that is given back does not count against the daily cap', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 20, daily_cap_sun: 6_000_000n })
  world.network.loses = (type) => type === 'AccountCreateContract'
  await anna.buyEnergy(nina.address, 65_000, { activate_address: true })
  await world.drain()
  world.pay(nina.address, 1_000_000n)
  await world.settle()
  assert.equal(await anna.balance(), 17.07)
  await anna.buyEnergy(nina.address, 65_000)
  const { code } = await anna.call('/v1/transaction/new', {
    service: 'energy',
    params: { address: nina.address, amount: 65_000, duration: 1 },
  })
  assert.equal(code, 6)
})

test('an order for one of our own pool wallets is refused', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  for (const { address } of world.wallets.pool) {
    const params = { address, amount: 65_000, duration: 1 }
    const { code } = await anna.call('/v1/transaction/new', { service: 'energy', params })
    assert.equal(code, 10)
  }
  assert.equal(await anna.balance(), 100)
})

test('running subscriptions stay supplied while nothing is on sale', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  const params = {
    address: bob.address,
    duration: 0,
    transactions_limit: 0,
    activate_address: false,
  }
  await anna.get('/v1/subscription/start', { subscription_id: 'unlimited_energy', params })
  await world.settle()
  await world.settle()
  await world.sql`update service set on_sale = false`
  await world.advance(3_500)
  await world.settle()
  await world.advance(400)
  await world.settle()
  await world.solidify()
  await world.settle()
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
  const { code } = await anna.call('/v1/transaction/new', {
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
  })
  assert.equal(code, 35)
})

test('delegations of a wallet no longer configured keep nothing else waiting', async (t) => {
  const world = await makeWorld(t, { pool_trx: [750_000, 10_000_000] })
  const anna = await world.customer({ trx: 1_000 })
  const bob = world.person('bob', 1)
  // The smaller wallet comes first, and a run takes up no more than 200.
  for (const length of [200, 1]) {
    await Promise.all(Array.from({ length }, () => anna.buyEnergy(bob.address, 32_000)))
    await world.settle()
  }
  await anna.buyEnergy(bob.address, 3_000_000)
  await world.settle()
  const [small, big] = world.wallets.pool.map(({ address }) => address)
  const live = () =>
    world.sql<{ wallet: string; count: bigint }>`
      select wallet, count(*) from delegation where state = 'active' group by wallet
        order by 2 desc`
  assert.deepEqual(
    (await live()).map(({ wallet, count }) => [wallet, count]),
    [
      [small, 201n],
      [big, 1n],
    ],
  )
  world.mine(20)
  world.scene.wait(3_700)
  const follow = world.app.steps.find(({ name }) => name === 'follow')
  world.mine(20)
  while (await follow?.run());
  const clock = { now: () => world.now }
  const left = reclaimStep({
    sql: world.sql,
    clock,
    new_id: world.app.new_id,
    permissions: new Map([[big!, 0]]),
  })
  assert.equal(await left.run(), true)
  assert.deepEqual(
    (await live()).map(({ wallet }) => wallet),
    [small],
  )
  await world.settle()
})
