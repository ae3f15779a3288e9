// What contracts do with TRX and with stakes, as receipts show it: money is only what the chain
// moved.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import type { Person } from 'penstock-devchain/scene.ts'
import { chainView, missingHoldings, missingOnChain } from 'penstock-service/health/books/chain.ts'
import { alerts } from 'penstock-service/health/monitoring/alerts.ts'
import { findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { UNPROVEN } from 'penstock-service/treasury/deposits/holdings.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { Liar } from '../../harness/liars.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, TRX, type World, type WorldOptions } from '../../harness/world.ts'

type Call = (signature: string, ...values: (string | bigint)[]) => string

/** A contract that its owner commands, with 1000 TRX, of which half are staked. */
async function contractWorld(
  t: TestContext,
  options: WorldOptions = {},
): Promise<{ world: World; call: Call }> {
  const world = await makeWorld(t, options)
  const owner = world.person('mallory', 100_000)
  const contract = world.person('contract')
  world.scene.post('/devchain/contract', { address: contract.address, owner: owner.address })
  world.scene.post('/devchain/fund', { address: contract.address, sun: 1000n * TRX })
  world.mine()
  const call: Call = (signature, ...values) => {
    const asWord = (one: string | bigint) =>
      typeof one === 'bigint' ? wordOfInteger(one) : wordOfAddress(addressToHex(one))
    const data = selectorOf(signature) + values.map(asWord).join('')
    const message = { contract_address: contract.hex, data }
    const answer = world.scene.send(owner, 'TriggerSmartContract', message, {
      fee_limit: 1_000n * TRX,
    })
    assert.equal(answer.result, true, String(answer.message))
    world.mine()
    return String(answer.txid)
  }
  call('freeze(uint256,uint256)', 500n * TRX, 1n)
  return { world, call }
}

test('a contract that delegates to a deposit address in a loop makes no money there', async (t) => {
  const { world, call } = await contractWorld(t)
  const anna = await world.customer({ trx: 3 })
  for (let i = 0; i < 3; i++) {
    call('delegate(address,uint256,uint256)', anna.deposit_address, 400n * TRX, 1n)
    call('undelegate(address,uint256,uint256)', anna.deposit_address, 400n * TRX, 1n)
  }
  await world.solidify()
  assert.equal(await anna.balance(), 3)
  const [rows] = await world.sql<{ n: bigint }>`select count(*) as n from deposit`
  assert.equal(rows?.n, 1n)
  assert.equal((await (await worldOperator(world)).type('books', 'check')).code, 0)
})

test('a contract that delegates to an address does not wash what came there before', async (t) => {
  const { world, call } = await contractWorld(t)
  const carol = world.person('carol')
  world.pay(carol.address, 10n * TRX)
  world.mine()
  call('delegate(address,uint256,uint256)', carol.address, 400n * TRX, 1n)
  call('undelegate(address,uint256,uint256)', carol.address, 400n * TRX, 1n)
  call('send(address,uint256)', carol.address, 7n * TRX)
  await world.solidify()
  const rows = await world.sql<{ contents: { m: string[][] } }>`select contents from block`
  const received = rows
    .flatMap(({ contents }) => contents.m)
    .filter((one) => one[5] === carol.address)
  assert.deepEqual(
    received.map(([, kind, , , , , amount]) => [kind, amount]).sort(),
    [
      ['internal', '7000000'],
      ['transfer', '10000000'],
    ],
    'what the flow of money is followed by',
  )
})

const alertNames = async ({ sql, now }: World) =>
  (await alerts({ sql, now })).map(({ alert }) => alert)

/** The node lies as it is told to. */
function liarIn(world: World, to: string, sun: bigint, name = 'devchain'): Liar {
  const ask = (path: string, body: string) => world.scene.devchain.request('POST', path, body)
  const liar = new Liar(ask, () => ({ to: [to], sun, from: world.person('nobody').address }))
  world.network.nodes.set(name, (path, body) => liar.answer(path, body))
  return liar
}

test('what a contract sends is credited when the balance bears it out, and once', async (t) => {
  const { world, call } = await contractWorld(t)
  const anna = await world.customer({ trx: 3 })
  const tx_id = call('send(address,uint256)', anna.deposit_address, 7n * TRX)
  await world.solidify()
  await world.solidify()
  assert.equal(await anna.balance(), 10)
  const [deposit, ...more] = await findDeposits(world.sql, tx_id)
  assert.deepEqual([deposit?.state, deposit?.position, more.length], ['credited', -1, 0])
  await world.solidify()
  assert.equal(await anna.balance(), 10)
  assert.deepEqual(await alertNames(world), [])
})

for (const nodes of [1, 2]) {
  test(`with ${nodes} node(s), a transfer that the balance does not prove is held`, async (t) => {
    const world = await makeWorld(t, { nodes })
    const anna = await world.customer({ trx: 3 })
    const liar = liarIn(world, anna.deposit_address, 5n * TRX)
    liar.lie = 'sends inside'
    liar.from_block = world.scene.devchain.head.header.number + 1
    const tx_id = world.pay(world.person('somebody', 1).address, TRX)
    await world.solidify()
    liar.lie = undefined
    await world.solidify()
    assert.ok(liar.told > 0)
    assert.equal(await anna.balance(), 3)
    const deposits = await findDeposits(world.sql, tx_id)
    assert.deepEqual(
      deposits.map(({ state, reason, amount_sun }) => [state, reason, amount_sun]),
      [['held', UNPROVEN, null]],
    )
    assert.ok((await alertNames(world)).includes('deposit_held'))
    assert.equal((await (await worldOperator(world)).type('books', 'check')).code, 0)
  })
}

test('what a contract sent to a customer is his, though a node named another', async (t) => {
  const { world, call } = await contractWorld(t, { nodes: 3 })
  const [anna, zoe] = [await world.customer(), await world.customer()]
  await world.solidify()
  const liar = liarIn(world, anna.deposit_address, 5n * TRX)
  liar.lie = 'sends inside'
  liar.from_block = world.scene.devchain.head.header.number + 1
  const tx_id = call('send(address,uint256)', zoe.deposit_address, 4n * TRX)
  await world.drain()
  const told = async () => {
    const rows = await findDeposits(world.sql, tx_id)
    return rows.map(({ state, customer_id, amount_sun }) => [state, customer_id, amount_sun])
  }
  assert.deepEqual(await told(), [['seen', anna.id, 5n * TRX]])
  await world.solidify()
  await world.solidify()
  assert.deepEqual(await told(), [['credited', zoe.id, 4n * TRX]])
  assert.deepEqual([await anna.balance(), await zoe.balance()], [0, 4])
})

test('an internal transaction of an unknown kind is held, and nobody is credited', async (t) => {
  const { world, call } = await contractWorld(t)
  const anna = await world.customer({ trx: 3 })
  const hex = (text: string) => Buffer.from(text).toString('hex')
  world.network.answers = (_path, body) =>
    body.replaceAll(`"note":"${hex('call')}"`, `"note":"${hex('stakeLater')}"`)
  const tx_id = call('send(address,uint256)', anna.deposit_address, 7n * TRX)
  await world.solidify()
  const [deposit] = await findDeposits(world.sql, tx_id)
  assert.equal(deposit?.state, 'held')
  assert.match(deposit.reason!, /not known to move TRX: "stakeLater"/)
  assert.equal(await anna.balance(), 3)
  assert.ok((await alertNames(world)).includes('deposit_held'))
  const [kept] = await world.sql<{ m: string[][]; u: string[][] }>`
    select contents->'m' as m, contents->'u' as u from block
      where contents::text like '%stakeLater%'`
  assert.deepEqual(
    [kept!.m.filter(([, kind]) => kind === 'internal').length, kept!.u.length],
    [0, 1],
  )
})

test('a node that hides what contracts send is found out, and sales go on', async (t) => {
  const { world, call } = await contractWorld(t)
  const anna = await world.customer({ trx: 3 })
  const seen = call('send(address,uint256)', anna.deposit_address, 7n * TRX)
  await world.solidify()
  await world.solidify()
  assert.equal(await anna.balance(), 10)
  const liar = liarIn(world, anna.deposit_address, 0n)
  liar.lie = 'hides'
  call('send(address,uint256)', anna.deposit_address, 5n * TRX)
  await world.solidify()
  await world.advance(70)
  await world.solidify()
  assert.equal(await anna.balance(), 10)
  assert.ok((await alertNames(world)).includes('internal_transfers_hidden'))
  const view = chainView([{ url: 'http://devchain' }], async ({ url, body }) =>
    liar.answer(new URL(url).pathname, body),
  )
  const { deposits, unseen } = await missingOnChain(world.sql, view, null)
  assert.deepEqual(
    [deposits, unseen.map(({ subject }) => subject)],
    [[], [seen]],
    'it cannot be seen, and is not missing',
  )
  const other = chainView([{ url: 'http://one' }, { url: 'http://two' }], async ({ url, body }) => {
    const { host, pathname } = new URL(url)
    return host === 'two'
      ? liar.answer(pathname, body)
      : world.scene.devchain.request('POST', pathname, body)
  })
  assert.deepEqual(
    (await missingOnChain(world.sql, other, null)).unseen,
    [],
    'another node shows it',
  )
})

test('what was booked and is not at the address is found by the books', async (t) => {
  const { world } = await contractWorld(t)
  const anna = await world.customer({ trx: 30 })
  const answers = (poorer: number) =>
    chainView([{ url: 'http://devchain' }], async ({ url, body }) => {
      const { pathname } = new URL(url)
      const answer = world.scene.devchain.request('POST', pathname, body)
      if (!pathname.endsWith('getaccount') || !body.includes(anna.deposit_address)) return answer
      const account = JSON.parse(answer.body) as { balance: number }
      return { ...answer, body: JSON.stringify({ ...account, balance: account.balance - poorer }) }
    })
  assert.deepEqual(await missingHoldings(world.sql, answers(0), null), [])
  assert.deepEqual(await missingHoldings(world.sql, answers(1), null), [
    { subject: anna.deposit_address, found: 'the chain shows 1 sun less than was booked there' },
  ])
})

test('what the operator collected does not make a later transfer doubtful', async (t) => {
  const { world, call } = await contractWorld(t)
  const { recharge } = world
  const reasonOf = async (tx_id: string) => (await findDeposits(world.sql, tx_id))[0]?.reason
  const first = call('send(address,uint256)', recharge.address, 50n * TRX)
  await world.solidify()
  await world.solidify()
  // To an address that is not there yet: a fee of its own.
  world.pay(world.person('cold').address, 40n * TRX, recharge)
  world.pay(world.person('payer').address, 2n * TRX, recharge)
  const second = call('send(address,uint256)', recharge.address, 3n * TRX)
  await world.solidify()
  await world.advance(70)
  await world.solidify()
  assert.deepEqual(
    [await reasonOf(first), await reasonOf(second)],
    Array(2).fill('it was sent by a contract'),
  )
  const [left] = await world.sql<{ n: bigint; fees: bigint }>`
    select count(*) as n, sum(fee_sun)::bigint as fees from deposit_outflow`
  assert.equal(left?.n, 2n)
  assert.ok(left.fees >= 1_000_000n)
  const [holding] = await world.sql<{ surplus_sun: bigint }>`
    select surplus_sun from holding where address = ${recharge.address}`
  assert.equal(holding?.surplus_sun, 0n)
})

test('what an address of ours sends along with a call has left it', async (t) => {
  const { world, call } = await contractWorld(t)
  const { recharge, sql } = world
  call('send(address,uint256)', recharge.address, 50n * TRX)
  await world.solidify()
  const answer = world.scene.send(
    recharge,
    'TriggerSmartContract',
    { contract_address: world.person('contract').hex, data: '', call_value: 7n * TRX },
    { fee_limit: 100n * TRX },
  )
  assert.equal(answer.result, true, String(answer.message))
  world.mine()
  await world.solidify()
  const outflows = await sql<{ tx_id: string; amount_sun: bigint }>`
    select tx_id, amount_sun from deposit_outflow where address = ${recharge.address}`
  assert.deepEqual(outflows, [{ tx_id: String(answer.txid), amount_sun: 7n * TRX }])
})

/** Changes who may do what with the account, which takes 100 TRX of it and moves nothing. */
function changePermissions(world: World, person: Person): void {
  const keys = [{ address: person.hex, weight: 1 }]
  const operations = `02${'0'.repeat(62)}`
  const answer = world.scene.send(person, 'AccountPermissionUpdateContract', {
    owner: { permission_name: 'owner', threshold: 1, keys },
    actives: [{ type: 2, permission_name: 'hot', threshold: 1, operations, keys }],
  })
  assert.equal(answer.result, true, String(answer.message))
  world.mine()
}

test('what the network took for other things than transfers left an address too', async (t) => {
  const { world, call } = await contractWorld(t)
  const { recharge, sql } = world
  call('send(address,uint256)', recharge.address, 150n * TRX)
  await world.solidify()
  await world.solidify()
  changePermissions(world, recharge)
  await world.advance(70)
  await world.solidify()
  const [left] = await sql<{
    sun: bigint
  }>`select sum(amount_sun + fee_sun)::bigint as sun from deposit_outflow`
  assert.equal(left?.sun, 100n * TRX)
  const chain = chainView([{ url: 'http://devchain' }], async ({ url, body }) =>
    world.scene.devchain.request('POST', new URL(url).pathname, body),
  )
  assert.deepEqual(await missingHoldings(sql, chain, null), [])
})

test('what nobody saw come is alerted until the operator says that it is explained', async (t) => {
  const { world } = await contractWorld(t)
  const { address } = world.recharge
  const at = await worldOperator(world)
  world.scene.post('/devchain/fund', { address, sun: 5n * TRX })
  await world.solidify()
  await world.advance(70)
  await world.solidify()
  const isAlerted = async () => (await alertNames(world)).includes('internal_transfers_hidden')
  assert.equal(await isAlerted(), true)
  assert.equal((await at.type('deposits', 'recount', address)).code, 2, 'without a reason')
  const stranger = world.person('somebody').address
  assert.equal((await at.type('deposits', 'recount', stranger, '--reason', 'a try')).code, 1)
  const { code, out } = await at.type(
    'deposits',
    'recount',
    address,
    '--reason',
    'a gift',
    '--json',
  )
  assert.deepEqual([code, JSON.parse(out).surplus_sun], [0, 5_000_000])
  await world.advance(70)
  await world.solidify()
  assert.equal(await isAlerted(), false)
  const [holding] = await world.sql<{
    prior_sun: bigint
  }>`select prior_sun from holding where address = ${address}`
  assert.equal(holding?.prior_sun, 6n * TRX, 'with what was there before')
  assert.match((await at.type('actions', 'list')).out, /a gift +deposits recount/)
  assert.equal((await at.type('books', 'check')).code, 0)
})

/** Time passes though a step fails. */
async function passWithFailures(world: World): Promise<unknown[]> {
  const thrown: unknown[] = []
  for (let i = 0; i < 4; i++) {
    await world.solidify().catch((one: unknown) => thrown.push(one))
    await world.advance(65).catch((one: unknown) => thrown.push(one))
  }
  return thrown
}

test('an address that cannot be compared holds up no other', async (t) => {
  const { world, call } = await contractWorld(t)
  const customers = []
  for (let i = 0; i < 8; i++) customers.push(await world.customer())
  await world.solidify()
  const first = customers[0]!
  // More than a number of the database can say.
  await world.sql`
    insert into deposit_outflow (tx_id, address, block_number, amount_sun, fee_sun)
    select 'too much ' || i, ${first.deposit_address}, 1, 9000000000000000000, 0
    from generate_series(1, 2) as i`
  for (const { deposit_address } of customers)
    call('send(address,uint256)', deposit_address, 5n * TRX)
  const thrown = await passWithFailures(world)
  assert.ok(thrown.length > 0)
  const balances = await Promise.all(customers.map((one) => one.balance()))
  assert.deepEqual(balances, [0, 5, 5, 5, 5, 5, 5, 5])
  await world.sql`delete from deposit_outflow where tx_id like 'too much %'`
  await world.advance(65)
  await world.solidify()
  assert.equal(await first.balance(), 5)
})

test('fees that no node tells hold up no other, and their own address for a day', async (t) => {
  const { world, call } = await contractWorld(t)
  const [anna, carol] = [await world.customer(), await world.customer()]
  call('send(address,uint256)', world.recharge.address, 50n * TRX)
  await world.solidify()
  await world.sql`
    insert into deposit_outflow (tx_id, address, block_number, amount_sun, seen_at, due_at)
    select 'unknown ' || i, ${anna.deposit_address}, 1, 0, now, now
    from generate_series(1, 30) as i, (select ${world.now}::timestamptz as now) as t`
  world.pay(world.person('cold').address, 40n * TRX, world.recharge)
  for (const { deposit_address } of [anna, carol])
    call('send(address,uint256)', deposit_address, 5n * TRX)
  assert.deepEqual(await passWithFailures(world), [])
  const [left] = await world.sql<{ fee_sun: bigint | null }>`
    select fee_sun from deposit_outflow where address = ${world.recharge.address}`
  assert.ok(left?.fee_sun !== null)
  assert.deepEqual([await anna.balance(), await carol.balance()], [0, 5])
  await world.sql`update deposit_outflow set seen_at = seen_at - interval '1 day'`
  assert.deepEqual(await passWithFailures(world), [])
  assert.equal(await anna.balance(), 5)
})
