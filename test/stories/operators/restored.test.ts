// A database that was restored: what our wallets did meanwhile, and what came to the published
// address, is found on the chain, and nothing is delivered for a payment a second time.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Reconciliation = {
  unknown: { tx_id: string; contract_type: string }[]
  stakes: { found: string }[]
  recharges: { tx_id: string; from: string }[]
  denied: string[]
}

async function operatorOf(t: TestContext, world: World) {
  const at = await worldOperator(world)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-restored-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'wallets.json')
  await writeFile(file, JSON.stringify(world.wallets), { mode: 0o600 })
  at.io.env.PENSTOCK_WALLETS = file
  at.io.env.PENSTOCK_ALLOW_HTTP_NODES = 'yes'
  return at
}

/** The one step that goes on. */
async function follow(world: World): Promise<void> {
  const step = world.app.steps.find(({ name }) => name === 'follow')!
  while (await step.run()) {}
}

test('what the chain knows and a restored database does not is found, and held', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await world.solidify()
  const at = await operatorOf(t, world)
  const node = ['--node-url', 'http://devchain']
  const early = await at.type('restore', 'reconcile', ...node)
  assert.deepEqual([early.code, /not marked as restored/.test(early.err)], [1, true])
  await at.json('restore', 'begin', '--reason', 'a disk died')
  const clean = await at.json<Reconciliation>('restore', 'reconcile', ...node)
  assert.deepEqual([clean.unknown, clean.stakes, clean.recharges], [[], [], []])

  // What the lost database knew: a delivery, and the payment it was for.
  const wallet = world.person('pool-0')
  const stake = { resource: 'ENERGY', balance: 5_000_000n }
  const to = { receiver_address: addressToHex(world.person('payer').address) }
  const sent = world.scene.send(wallet, 'DelegateResourceContract', { ...stake, ...to })
  const paid = world.pay(world.recharge.address, 3_000_000n)
  world.mine(40)
  await follow(world)
  const looked = await at.type('restore', 'reconcile', ...node, '--json')
  assert.equal(looked.code, 1)
  const found = JSON.parse(looked.out) as Reconciliation
  assert.deepEqual(
    found.unknown.map(({ tx_id, contract_type }) => [tx_id, contract_type]),
    [[sent.txid, 'DelegateResourceContract']],
  )
  assert.match(found.stakes[0]!.found, /5000000 sun more delegated/)
  assert.deepEqual([found.recharges.map(({ tx_id }) => tx_id), found.denied], [[paid], []])

  const applied = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const { denied } = JSON.parse(applied.out) as Reconciliation
  assert.deepEqual(denied, [world.person('payer').address])
  world.scene.send(wallet, 'UnDelegateResourceContract', { ...stake, ...to })
  world.mine(40)
  await world.drain()
  const [deposit] = await world.sql<{ state: string; orders: bigint }>`
    select state, (select count(*) from orders) as orders from deposit where tx_id = ${paid}`
  assert.deepEqual(deposit, { state: 'held', orders: 1n })
})
