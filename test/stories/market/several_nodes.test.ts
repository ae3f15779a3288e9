// With two nodes or more, money is what two of them say. One lies, in every manner, and the other
// does not.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Alert, alerts } from 'penstock-service/health/monitoring/alerts.ts'
import { findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { decodeRawData, decodeTransaction, transactionId } from 'penstock-tron/transaction.ts'
import { Liar, type Lie } from '../../harness/liars.ts'
import {
  type Answer,
  type Customer,
  makeWorld,
  TRX,
  type World,
  type WorldOptions,
} from '../../harness/world.ts'

const LIE_SUN = 9_000_000n * TRX

type Stage = { world: World; anna: Customer; liar: Liar }

/** The liar is one of the nodes; what it wants is that the customer is credited. */
async function stage(t: TestContext, liar_name: string, options: WorldOptions): Promise<Stage> {
  const world = await makeWorld(t, options)
  const anna = await world.customer({ trx: 5 })
  const from = world.person('nobody').address
  const ask = (path: string, body: string) => world.scene.devchain.request('POST', path, body)
  const liar = new Liar(ask, () => ({ to: [anna.deposit_address], sun: LIE_SUN, from }))
  world.network.nodes.set(liar_name, (path, body) => liar.answer(path, body))
  return { world, anna, liar }
}

const alertNames = async ({ sql, now }: World) =>
  (await alerts({ sql, now })).map(({ alert }: Alert) => alert)

/** The lie is told for as long as it takes for it to be solid, with an honest deposit in
 *  between. */
async function lieFor({ world, anna, liar }: Stage, lie: Lie): Promise<string> {
  liar.lie = lie
  liar.from_block = world.scene.devchain.head.header.number + 1
  const tx_id = world.pay(anna.deposit_address, TRX)
  for (let i = 0; i < 3; i++) {
    world.mine(10)
    await world.drain()
  }
  return tx_id
}

async function chainRow({ sql }: World) {
  const [row] = await sql<{
    solid_number: bigint
    confirmed_number: bigint
    disputed_number: bigint | null
  }>`
    select solid_number, confirmed_number, disputed_number from chain`
  return row!
}

for (const liar_name of ['devchain', 'node2']) {
  test(`two nodes, ${liar_name} lies: nothing it says is credited, none sold`, async (t) => {
    const on = await stage(t, liar_name, { nodes: 2 })
    const { world, anna, liar } = on
    let honest = 5
    for (const lie of ['invents', 'alters', 'leaves out'] as const) {
      await lieFor(on, lie)
      assert.ok(liar.told > 0, lie)
      // What came before the first lie may have been confirmed.
      assert.ok((await anna.balance()) < honest + 1.1, lie)
      const { confirmed_number, solid_number, disputed_number } = await chainRow(world)
      assert.equal(disputed_number, confirmed_number + 1n, lie)
      assert.ok(confirmed_number < solid_number)
      assert.ok((await alertNames(world)).includes('nodes_disagree'), lie)
      const params = { address: world.person('bob', 1).address, amount: 32_000, duration: 1 }
      const refused = await anna.call('/v1/transaction/new', { service: 'energy', params })
      assert.equal(refused.code, 35, lie)
      liar.lie = undefined
      liar.told = 0
      await world.solidify()
      honest += 1
      assert.ok(Math.abs((await anna.balance()) - honest) < 1e-6, `${lie}: they agree again`)
      assert.equal((await chainRow(world)).disputed_number, null)
      await anna.buyEnergy(params.address, 32_000)
      await world.settle()
      honest = await anna.balance()
    }
    const [wrong] = await world.sql<{
      n: bigint
    }>`select count(*) as n from deposit where amount_sun = ${LIE_SUN} and solid_at is not null`
    assert.equal(wrong?.n, 0n)
  })
}

test('three nodes, and the first lies: it is outvoted, its word taken back', async (t) => {
  const on = await stage(t, 'devchain', { nodes: 3 })
  const { world, anna } = on
  const invented = await lieFor(on, 'invents')
  assert.equal(await anna.balance(), 6)
  assert.equal((await findDeposits(world.sql, invented))[0]?.state, 'credited')
  const left_out = await lieFor(on, 'leaves out')
  await world.solidify()
  assert.equal(await anna.balance(), 7)
  assert.equal((await findDeposits(world.sql, left_out))[0]?.state, 'credited')
  assert.ok((await alertNames(world)).includes('nodes_disagree'))
  const [dispute] = await world.sql<{
    dissenting: string[]
    against: string[]
  }>`select dissenting, against from node_dispute`
  assert.deepEqual(dispute, { dissenting: ['devchain'], against: ['node2', 'node3'] })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  const seen =
    await world.sql`select 1 from deposit where amount_sun = ${LIE_SUN} and state <> 'gone'`
  assert.equal(seen.length, 0)
})

test('a delivery that only a lying node shows is taken back, and made', async (t) => {
  const world = await makeWorld(t, { nodes: 3 })
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  const chain = (path: string, body: string) => world.scene.devchain.request('POST', path, body)
  const swallowed = new Set<string>()
  const swallow = (path: string, body: string) => {
    if (path !== '/wallet/broadcasthex') return chain(path, body)
    swallowed.add((JSON.parse(body) as { transaction: string }).transaction)
    return { status: 200, body: '{"result":true,"code":"SUCCESS"}' }
  }
  const shown_at = world.scene.devchain.head.header.number + 1
  world.network.nodes.set('devchain', (path, body) =>
    withShown(swallow(path, body), path, shown_at, swallowed),
  )
  for (const name of ['node2', 'node3']) world.network.nodes.set(name, swallow)
  const placed = await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  assert.equal(swallowed.size, 1)
  world.mine()
  await world.drain()
  assert.equal(
    (await anna.check(placed.id)).status,
    'success',
    'what one node says is enough to be told soon',
  )
  assert.deepEqual(await world.attempts('delegate'), ['included'])
  assert.equal(world.delegated(world.wallets.pool[0]!.address, bob.address, 'energy'), 0n)
  // Now whatever is sent arrives.
  for (const name of ['node2', 'node3']) world.network.nodes.delete(name)
  await world.solidify()
  await world.solidify()
  await world.settle()
  await world.solidify()
  // The first had expired by then; it is dead, since no node's solid chain has it.
  assert.deepEqual(await world.attempts('delegate'), ['dead', 'solid'])
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
  assert.equal((await anna.check(placed.id)).status, 'success')
  assert.ok((await alertNames(world)).includes('nodes_disagree'))
  world.network.nodes.clear()
})

/** The answer with transactions that are in no block shown in one. */
function withShown(
  { status, body }: Answer,
  path: string,
  number: number,
  swallowed: ReadonlySet<string>,
): Answer {
  const [, , name] = path.split('/')
  const transactions = [...swallowed].map((signed) => {
    const { raw_data } = decodeTransaction(Buffer.from(signed, 'hex'))
    const { contract } = decodeRawData(raw_data)
    const printed = JSON.parse(
      JSON.stringify({ contract }, (_, one) => (typeof one === 'bigint' ? Number(one) : one)),
    )
    const raw_data_hex = Buffer.from(raw_data).toString('hex')
    return {
      txID: transactionId(raw_data),
      ret: [{ contractRet: 'SUCCESS' }],
      raw_data: printed,
      raw_data_hex,
    }
  })
  const said = JSON.parse(body)
  if (name === 'getblockbylimitnext') {
    for (const block of said.block ?? []) {
      if (block.block_header.raw_data.number === number) block.transactions = transactions
    }
  }
  if (name === 'gettransactioninfobyblocknum' && transactions.length > 0 && said.length === 0) {
    return { status, body: JSON.stringify(transactions.map(({ txID }) => ({ id: txID }))) }
  }
  return { status, body: JSON.stringify(said) }
}

test('a second node that is silent makes deposits wait and stops no sale', async (t) => {
  const world = await makeWorld(t, { nodes: 2 })
  const anna = await world.customer({ trx: 10 })
  world.network.nodes.set('node2', () => undefined)
  world.pay(anna.deposit_address, TRX)
  for (let i = 0; i < 5; i++) {
    world.mine(20)
    await world.drain()
  }
  assert.equal(await anna.balance(), 10)
  assert.ok((await alertNames(world)).includes('second_node_silent'))
  const { id } = await anna.buyEnergy(world.person('bob', 1).address, 32_000)
  await world.settle()
  assert.equal((await anna.check(id)).status, 'success')
  assert.deepEqual(await world.attempts('delegate'), ['included'])
  const before = await anna.balance()
  world.network.nodes.clear()
  await world.solidify()
  await world.drain()
  assert.equal(await anna.balance(), before + 1)
  assert.deepEqual(await world.attempts('delegate'), ['solid'])
  assert.ok(!(await alertNames(world)).includes('second_node_silent'))
})

test('what a node that is removed has told is asked of the one that stays', async (t) => {
  const on = await stage(t, 'devchain', { nodes: 2 })
  const { world, anna } = on
  await lieFor(on, 'invents')
  assert.notEqual((await chainRow(world)).disputed_number, null)
  const { app } = await world.startProcess({ names: ['node2'] })
  world.mine(2)
  for (let i = 0; i < 5; i++) await world.drain(app)
  assert.equal((await chainRow(world)).disputed_number, null)
  assert.equal(await anna.balance(), 6)
  world.network.nodes.clear()
})

test('a recharge that is acted on in its block waits for a second node to have it', async (t) => {
  const world = await makeWorld(t, { nodes: 2, recharge_at: 'inclusion' })
  const sender = world.person('sender', 100)
  world.network.nodes.set('node2', (path, body) => {
    if (path === '/wallet/gettransactionbyid') return { status: 200, body: '{}' }
    return world.scene.devchain.request('POST', path, body)
  })
  const tx_id = world.pay(world.recharge.address, 5n * TRX, sender)
  world.mine()
  await world.drain()
  assert.equal((await findDeposits(world.sql, tx_id))[0]?.state, 'received')
  world.network.nodes.clear()
  world.mine(2)
  await world.drain()
  assert.equal((await findDeposits(world.sql, tx_id))[0]?.state, 'delivering')
  await world.settle()
})
