// A database that was restored: what our wallets did meanwhile, and what came to the published
// address, is found on the chain, and nothing is delivered for a payment a second time.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import { booksFindings, worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Reconciliation = {
  unknown: { tx_id: string; contract_type: string }[]
  stakes: { found: string }[]
  recharges: { tx_id: string; from: string }[]
  adopted: { tx_id: string; subject: string }[]
  denied: string[]
}

async function operatorOf(t: TestContext, world: World) {
  const at = await worldOperator(world)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-restored-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'wallets.json')
  // Here the keys that vote are those that delegate, which no file may have.
  const { votes: _, ...wallets } = world.wallets
  await writeFile(file, JSON.stringify(wallets), { mode: 0o600 })
  at.io.env.PENSTOCK_WALLETS = file
  at.io.env.PENSTOCK_ALLOW_HTTP_NODES = 'yes'
  return at
}

async function run(world: World, ...names: string[]): Promise<void> {
  for (const name of names) {
    const step = world.app.steps.find((one) => one.name === name)!
    while (await step.run()) {}
  }
}

/** The one step that goes on. */
const follow = (world: World) => run(world, 'follow')

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
  world.mine(60)
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

const node = ['--node-url', 'http://devchain']
const reason = ['--reason', 'restored']

/** What a wallet of ours sends without a row. Returns its id. */
function sent(world: World, from: string, type: string, value: object): string {
  const answer = world.scene.send(world.person(from), type, { ...value })
  assert.equal(answer.result, true, String(answer.message))
  return String(answer.txid)
}

test('after a restore nothing of ours that the chain has is sent once more', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000_000] })
  const anna = await world.customer({ trx: 100 })
  const [bob, carl] = [world.person('bob', 1), world.person('carl', 1)]
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  await world.solidify()
  // As of the moment one more is asked for, and a payment is to go back: neither is signed.
  await anna.buyEnergy(carl.address, 65_000)
  await run(world, 'delegate')
  const payer = world.person('payer').address
  world.pay(world.recharge.address, 900_000n)
  world.mine(21)
  await run(world, 'follow', 'confirm', 'credit', 'arrive', 'holdings', 'recharge', 'refund')
  assert.deepEqual(await world.attempts('refund'), ['new'])
  const at = await operatorOf(t, world)
  await at.json('restore', 'begin', '--reason', 'a disk died')
  const stakeOf = async (receiver: Address) => {
    const [row] = await world.sql<{ balance: bigint }>`
      select stake_sun as balance from delegation where receiver = ${receiver}`
    return { resource: 'ENERGY', ...row, receiver_address: addressToHex(receiver) }
  }

  // The lost database had signed both, sent back what came later, and taken the other stake back
  // when its hour was over.
  const delivered = sent(world, 'pool-0', 'DelegateResourceContract', await stakeOf(carl.address))
  const back = { to_address: addressToHex(payer), amount: 600_000n }
  const returned = sent(world, 'refund', 'TransferContract', back)
  const later = world.pay(world.recharge.address, 950_000n)
  const back_too = sent(world, 'refund', 'TransferContract', { ...back, amount: 650_000n })
  world.scene.wait(3_700)
  const taken = sent(world, 'pool-0', 'UnDelegateResourceContract', await stakeOf(bob.address))
  world.mine(1)
  await follow(world)
  const refused = await at.type('database', 'accept', ...reason)
  assert.match(refused.err, /restore reconcile --apply/)
  const early = await at.type('restore', 'reconcile', ...node, '--apply')
  assert.equal(early.code, 1, early.out)
  world.mine(60)
  await follow(world)
  const { out } = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const { adopted, denied } = JSON.parse(out) as Reconciliation
  assert.deepEqual(
    adopted.map(({ tx_id, subject }) => [tx_id, subject.split(':')[0]]),
    [
      [delivered, 'delegate'],
      [returned, 'refund'],
      [taken, 'reclaim'],
    ],
  )
  assert.deepEqual(denied, [payer])
  const twice = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const again = JSON.parse(twice.out) as Reconciliation
  assert.deepEqual([again.unknown.map(({ tx_id }) => tx_id), again.adopted], [[back_too], []])
  const [entries] = await world.sql`select count(*)::int as made from aml_entry`
  assert.deepEqual(entries, { made: 1 })
  await at.json('database', 'accept', ...reason)

  // A newer order for the same address has its stake for its hour.
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  world.mine(40)
  await world.drain()
  assert.deepEqual(await world.attempts('delegate'), ['solid', 'solid', 'solid'])
  assert.deepEqual(await world.attempts('refund'), ['solid'])
  type States = { orders: string[]; bob: string[]; deposits: string[] }
  const [states] = await world.sql<States>`
    select (select array_agg(state order by state) from deposit
        where customer_id is null) as deposits,
      (select array_agg(state order by created_at) from orders) as orders,
      (select array_agg(state order by delegated_at) from delegation
        where receiver = ${bob.address}) as bob`
  assert.deepEqual(states, {
    orders: ['success', 'success', 'success'],
    bob: ['ended', 'active'],
    deposits: ['held', 'refunded'],
  })
  const looked = ['--sent-by', back_too, '--keep-rest', '--blocked-reviewed', ...node]
  await at.json('deposits', 'resolve', later, ...looked, ...reason)
  assert.ok((await world.energyLimit(bob.address)) >= 65_000)
})

test('what was confirmed and not read yet at the moment is held: it may be done', async (t) => {
  const world = await makeWorld(t)
  await world.settle()
  await world.solidify()
  const at = await operatorOf(t, world)
  // The restored database has the block of the payment, and has not come to read it; the lost one
  // went on, and delivered.
  const paid = world.pay(world.recharge.address, 3_000_000n)
  world.mine(25)
  await run(world, 'follow', 'confirm')
  await at.json('restore', 'begin', ...reason)
  world.mine(60)
  await follow(world)
  const { out } = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const { recharges, denied } = JSON.parse(out) as Reconciliation
  assert.deepEqual(
    [recharges.map(({ tx_id }) => tx_id), denied],
    [[paid], [world.person('payer').address]],
  )
  await world.drain()
  const [deposit] = await world.sql<{ state: string; orders: bigint }>`
    select state, (select count(*) from orders) as orders from deposit where tx_id = ${paid}`
  assert.deepEqual(deposit, { state: 'held', orders: 0n })
})

test('a payment that the restored database has dealt with denies nobody', async (t) => {
  const world = await makeWorld(t)
  await world.settle()
  await world.solidify()
  const at = await operatorOf(t, world)
  const paid = world.pay(world.recharge.address, 3_000_000n, world.person('sam', 1_000))
  world.mine()
  await world.drain()
  await world.settle()
  await world.solidify()
  const [deposit] = await world.sql<{ state: string; block_number: bigint }>`
    select state, block_number from deposit where tx_id = ${paid}`
  assert.equal(deposit!.state, 'delivered')
  // As of the moment at which its block was the last one that was read.
  await world.sql`update cursor set number = ${deposit!.block_number} where name = 'deposits'`
  await at.json('restore', 'begin', ...reason)
  world.mine(60)
  await follow(world)
  const { out } = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const { recharges, denied } = JSON.parse(out) as Reconciliation
  assert.deepEqual([recharges, denied], [[], []])
})

test('votes and rewards that the lost database saw to are noted, and not done again', async (t) => {
  const world = await makeWorld(t, { votes: true, pool_trx: [30_000_000, 10_000_000] })
  const at = await operatorOf(t, world)
  const listed = world.scene.get('/wallet/listwitnesses').witnesses as { address: string }[]
  const [one, two] = listed.map(({ address }) => addressFromHex(address))
  await at.json('votes', 'set', `${one}=3`, ...node, '--reason', 'a plan')
  for (let period = 0; period < 2; period++) {
    await world.advance(700)
    await world.settle()
    await world.solidify()
    await world.advance(21_600)
    world.mine(30)
    await world.drain()
  }
  await world.solidify()
  await world.solidify()
  const before = await world.sql<{ count: bigint }>`select count(*) from reward_claim`
  await at.json('restore', 'begin', '--reason', 'a disk died')
  const ballot = { vote_address: addressToHex(two!), vote_count: 5_000_000n }
  const voted = sent(world, 'pool-0', 'VoteWitnessContract', { votes: [ballot] })
  world.scene.wait(86_400)
  world.mine(10)
  const claimed = ['pool-0', 'pool-1'].map((who) => sent(world, who, 'WithdrawBalanceContract', {}))
  world.mine(1)
  world.scene.wait(86_401)
  world.mine(10)
  claimed.push(sent(world, 'pool-0', 'WithdrawBalanceContract', {}))
  world.mine(60)
  await follow(world)
  const { out, err } = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  assert.notEqual(out, '', err)
  const { adopted, unknown } = JSON.parse(out) as Reconciliation
  assert.deepEqual(
    adopted.map(({ tx_id, subject }) => [tx_id, subject.split(':')[0]]),
    [[voted, 'vote'], ...claimed.map((tx_id) => [tx_id, 'claim'])],
  )
  assert.equal(unknown.length, 4)
  const again = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const { unknown: rest } = JSON.parse(again.out) as Reconciliation
  assert.deepEqual([again.code, rest], [0, []])
  await at.json('database', 'accept', ...reason)
  await world.drain()
  await world.solidify()
  await world.solidify()
  const rows = await world.sql<{ tx_id: string; state: string; sun: bigint; booked: bigint }>`
    select a.tx_id, c.state, reward_sun as sun, t.amount_sun as booked from reward_claim as c
      join attempt as a on a.id = c.attempt_id left join transfer as t on t.id = 'reward:' || c.id
    where c.found order by a.block_number, c.wallet = ${world.wallets.pool[1]!.address}`
  assert.deepEqual(
    rows.map(({ tx_id, state }) => [tx_id, state]),
    claimed.map((tx_id) => [tx_id, 'claimed']),
  )
  for (const { tx_id, sun, booked } of rows) {
    assert.equal(sun, await world.node.rewardOf(tx_id))
    assert.ok(sun > 0n && booked === sun, tx_id)
  }
  const [after] = await world.sql<{ count: bigint }>`select count(*) from reward_claim`
  assert.equal(after!.count, before[0]!.count + 3n, 'nothing is withdrawn a second time')
  const [vote] = await world.sql<{ state: string; power: bigint }>`
    select state, power from vote where found`
  assert.deepEqual(vote, { state: 'cast', power: 5_000_000n })
  assert.deepEqual(await booksFindings(at), [])
})

test('a withdrawal that waits for a signature is the one that the chain has', async (t) => {
  const world = await makeWorld(t, { votes: true, pool_trx: [30_000_000] })
  const at = await operatorOf(t, world)
  const listed = world.scene.get('/wallet/listwitnesses').witnesses as { address: string }[]
  const [one] = listed.map(({ address }) => addressFromHex(address))
  await at.json('votes', 'set', `${one}=3`, ...node, '--reason', 'a plan')
  await world.advance(700)
  await world.settle()
  for (let period = 0; period < 5; period++) {
    world.scene.wait(21_600)
    world.mine(30)
  }
  await run(world, 'follow', 'confirm', 'claim')
  const [open] = await world.sql<{ id: string; subject: string }>`
    select id, subject from attempt where state = 'new' and subject like 'claim:%'`
  assert.ok(open, 'one is asked for')
  await at.json('restore', 'begin', '--reason', 'a disk died')
  const claimed = sent(world, 'pool-0', 'WithdrawBalanceContract', {})
  world.mine(60)
  await follow(world)
  const { out } = await at.type('restore', 'reconcile', ...node, '--apply', '--json')
  const { adopted } = JSON.parse(out) as Reconciliation
  assert.deepEqual(adopted, [{ tx_id: claimed, subject: open.subject }])
  world.mine(300)
  await follow(world)
  await at.json('database', 'accept', ...reason)
  await world.drain()
  await world.solidify()
  await world.solidify()
  const claims = await world.sql<{ state: string; found: boolean }>`
    select c.state, found from reward_claim as c join attempt as a on a.id = c.attempt_id
    where a.tx_id = ${claimed}`
  assert.deepEqual([...claims], [{ state: 'claimed', found: false }])
  assert.deepEqual(await booksFindings(at), [])
})
