// Money that nobody asked for: dust, tokens that anybody can make, and what blacklisted senders
// send.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Person } from 'penstock-devchain/scene.ts'
import { publishPolicy, SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import { WORTHLESS_ROWS } from 'penstock-service/treasury/deposits/deposit_step.ts'
import { BLOCKED, type Deposit, findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressWord, numberWord, USDT } from 'penstock-tron/tokens.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, TRX, type World } from '../../harness/world.ts'

async function depositOf(world: World, tx_id: string): Promise<Deposit> {
  const [deposit, ...more] = await findDeposits(world.sql, tx_id)
  assert.ok(deposit, `no deposit ${tx_id}`)
  assert.equal(more.length, 0)
  return deposit
}

const fateOf = async (world: World, tx_id: string) => {
  const { state, reason } = await depositOf(world, tx_id)
  return [state, reason]
}

async function alerts(world: World): Promise<string[]> {
  const { out } = await (await worldOperator(world)).type('status', '--json')
  return (JSON.parse(out) as { alerts: { alert: string }[] }).alerts.map(({ alert }) => alert)
}

const posted = async (world: World, account: string) => {
  const [row] = await world.sql<{ sun: bigint }>`
    select coalesce(sum(case when credit = ${account} then amount_sun else -amount_sun end),
      0)::bigint as sun
    from transfer where kind in ('move', 'capture') and ${account} in (debit, credit)`
  return row!.sun
}

/** Until what is to go back has gone back. */
async function letRefundsGo(world: World): Promise<void> {
  await world.solidify()
  await world.settle()
  await world.solidify()
}

type Event = { token: Address; to: Address; amount: bigint }

/** Lets the node say that a transaction has told of transfers of tokens. */
function tells(world: World, tx_id: string, events: Event[]): void {
  const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
  const from = addressWord(world.person('spammer').address)
  const log = events.map(({ token, to, amount }) => ({
    address: addressToHex(token).slice(2),
    topics: [topic, from, addressWord(to)],
    data: numberWord(amount),
  }))
  world.network.answers = (path, body) => {
    if (!path.endsWith('gettransactioninfobyblocknum') || !body.includes(tx_id)) return body
    const receipts = JSON.parse(body) as { id: string }[]
    return JSON.stringify(receipts.map((one) => (one.id === tx_id ? { ...one, log } : one)))
  }
}

test('dust at the published address and unknown tokens are ignored, with no alert', async (t) => {
  const world = await makeWorld(t, { tokens: [USDT] })
  const anna = await world.customer()
  const mole = world.person('mole', 10)
  const quiet = await alerts(world)
  const dust = [1n, 99_999n].map((sun) => world.pay(world.recharge.address, sun, mole))
  const credited = world.pay(anna.deposit_address, 1n, mole)
  const called = world.pay(world.person('router', 1).address, TRX)
  const fake = world.person('fake').address
  tells(world, called, [
    { token: fake, to: anna.deposit_address, amount: 10n ** 30n },
    { token: USDT, to: anna.deposit_address, amount: 999_999n },
  ])
  await letRefundsGo(world)
  for (const tx_id of dust) {
    assert.deepEqual(await fateOf(world, tx_id), [
      'ignored',
      'the amount is in no tier; too little to send back',
    ])
    const { result } = (await world.api.inject({ method: 'GET', url: `/deposits/${tx_id}` })).json()
    assert.equal(result.deposits[0].state, 'ignored', 'the sender finds it')
  }
  assert.deepEqual(await fateOf(world, credited), ['credited', null])
  assert.equal(await anna.balance(), 0.000001, 'of a customer every sun counts')
  const tokens = await findDeposits(world.sql, called)
  assert.deepEqual(
    tokens.map(({ token, state, reason }) => [token, state, reason]),
    [
      [fake, 'ignored', 'a token that is not followed'],
      [USDT, 'ignored', 'a token that is not TRX'],
    ],
  )
  assert.deepEqual(await alerts(world), quiet)
  // From the floor on somebody should look.
  world.pay(world.recharge.address, 100_000n, mole)
  await letRefundsGo(world)
  assert.deepEqual(await alerts(world), [...quiet, 'deposit_held'])
})

test('one call with thousands of worthless transfers makes few rows, and a count', async (t) => {
  const world = await makeWorld(t, { tokens: [USDT] })
  const anna = await world.customer()
  const called = world.pay(world.person('router', 1).address, TRX)
  const [fake, to] = [world.person('fake').address, anna.deposit_address]
  tells(world, called, [
    ...Array.from({ length: 3_000 }, (_, i) => ({
      token: i % 2 ? fake : USDT,
      to,
      amount: BigInt(1 + (i % 7)),
    })),
    { token: USDT, to, amount: 5_000_000n },
  ])
  const honest = world.pay(anna.deposit_address, 5n * TRX)
  world.mine()
  await world.drain()
  const seen = await findDeposits(world.sql, called)
  assert.deepEqual(
    [seen.length, new Set(seen.map(({ state }) => state))],
    [WORTHLESS_ROWS + 1, new Set(['seen'])],
  )
  await world.solidify()
  const rows = await findDeposits(world.sql, called)
  assert.deepEqual(
    rows.map(({ state, left_out }) => [state, left_out]),
    [
      ...Array.from({ length: WORTHLESS_ROWS - 1 }, () => ['ignored', 0]),
      ['ignored', 3_000 - WORTHLESS_ROWS],
      ['held', 0],
    ],
  )
  assert.equal((await depositOf(world, honest)).state, 'credited')
  assert.equal(await anna.balance(), 5)
})

for (const recharge_at of ['inclusion', 'solid'] as const)
  test(`recharges at ${recharge_at}: a blacklisted sender's money is held, not used`, async (t) => {
    const world = await makeWorld(t, { recharge_at })
    const anna = await world.customer()
    const [thief, sam] = [world.person('thief', 100), world.person('sam', 100)]
    await world.blacklist(thief.address)
    const before = world.scene.balance(world.person('refund'))
    const [to_anna, buys, buys_nothing] = [
      world.pay(anna.deposit_address, 50n * TRX, thief),
      world.pay(world.recharge.address, 3n * TRX, thief),
      world.pay(world.recharge.address, 1n * TRX, thief),
    ]
    const dust = world.pay(anna.deposit_address, 5n, thief)
    const honest = world.pay(anna.deposit_address, 7n * TRX, sam)
    await letRefundsGo(world)
    for (const tx_id of [to_anna, buys, buys_nothing])
      assert.deepEqual(await fateOf(world, tx_id), ['held', BLOCKED])
    // Strangers learn from the public pages that it is held, and not whom we have barred.
    for (const url of [`/deposits/${buys}`, `/deposits/from/${thief.address}`]) {
      const { result } = (await world.api.inject({ method: 'GET', url })).json()
      assert.ok(result.deposits.length > 0)
      for (const { state, reason } of result.deposits)
        assert.deepEqual([state, reason], ['held', null], url)
    }
    assert.deepEqual(await fateOf(world, dust), ['ignored', BLOCKED], 'nobody need look at that')
    assert.deepEqual(await fateOf(world, honest), ['credited', null])
    assert.equal(await anna.balance(), 7)
    assert.equal(await world.energyLimit(thief.address), 0)
    assert.equal(world.scene.balance(world.person('refund')), before, 'nothing left our wallet')
    assert.equal(await posted(world, 'held_deposits'), 50n * TRX + 5n)
    assert.equal(await posted(world, 'customer:direct_recharge'), 4n * TRX)
    assert.ok((await alerts(world)).includes('deposit_held'))
    const { code, out } = await (await worldOperator(world)).type('books', 'check')
    assert.equal(code, 0, out)
  })

test('what a blacklisted owner has a contract send is held too', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const thief = world.person('thief', 100)
  await world.blacklist(thief.address)
  const contract = addressToHex(world.person('contract').address)
  const paid = [world.person('payer'), thief].map((from) =>
    world.pay(world.person('router', 1).address, TRX, from),
  )
  world.network.answers = (path, body) => {
    if (!path.endsWith('gettransactioninfobyblocknum')) return body
    const receipts = JSON.parse(body) as { id: string; receipt?: object }[]
    const inner = (hash: string) => ({
      hash,
      caller_address: contract,
      transferTo_address: addressToHex(anna.deposit_address),
      note: '63616c6c',
      callValueInfo: [{ callValue: 2_000_000 }],
    })
    const sends = (one: (typeof receipts)[number]) => ({
      ...one,
      receipt: { ...one.receipt, energy_usage_total: 9_000 },
      internal_transactions: [inner(one.id)],
    })
    return JSON.stringify(receipts.map((one) => (paid.includes(one.id) ? sends(one) : one)))
  }
  // The balance bears both out.
  world.scene.post('/devchain/fund', { address: anna.deposit_address, sun: 4_000_000 })
  await world.solidify()
  assert.deepEqual(await Promise.all(paid.map((tx_id) => fateOf(world, tx_id))), [
    ['credited', null],
    ['held', BLOCKED],
  ])
  assert.equal(await anna.balance(), 2)
})

test('a sender blacklisted while the money waits gets none back until it is signed', async (t) => {
  const world = await makeWorld(t)
  const waits = world.person('waits', 100)
  const unsigned = world.person('unsigned', 100)
  const signed = world.person('signed', 100)
  const step = (name: string) => world.app.steps.find((one) => one.name === name)!
  const pay = (from: Person) => world.pay(world.recharge.address, 1n * TRX, from)
  // It waits for its block to be solid.
  const first = pay(waits)
  world.mine()
  await world.drain()
  assert.equal((await depositOf(world, first)).state, 'returning')
  await world.blacklist(waits.address)
  await letRefundsGo(world)
  assert.deepEqual(await fateOf(world, first), ['held', BLOCKED])
  // The refund is asked for and not signed, then it is signed.
  for (const [from, ends] of [
    [unsigned, 'held'],
    [signed, 'refunded'],
  ] as const) {
    const tx_id = pay(from)
    world.mine(20)
    for (const name of ['follow', 'arrive', 'credit', 'recharge', 'refund']) {
      while (await step(name).run());
    }
    assert.equal((await depositOf(world, tx_id)).state, 'refunding')
    if (from === signed) await step('sign').run()
    await world.blacklist(from.address)
    await step('refund').run()
    await world.drain()
    await letRefundsGo(world)
    assert.equal((await depositOf(world, tx_id)).state, ends)
  }
})

test('however many refunds wait to be signed, none goes to a blacklisted sender', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const last = world.person('last').address
  await world.sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    select 'refund ' || i, 'refund:' || i, '{}', ${world.now}, ${world.now}
    from generate_series(1000, 1120) as i`
  await world.sql`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
      block_time, state, reason, refund_id, solid_at, due_at, seen_at)
    select i::text, 0, case i when 1120 then ${last} else 'T' || i end,
      ${world.recharge.address}, 5000000, 1, ${world.now}::timestamptz, 'refunding', 'no room',
      'refund ' || i, ${world.now}::timestamptz, ${world.now}::timestamptz,
      ${world.now}::timestamptz
    from generate_series(1000, 1120) as i`
  await world.blacklist(last)
  await world.app.steps.find((one) => one.name === 'refund')!.run()
  const dead = await world.sql<{ id: string }>`select id from attempt where state = 'dead'`
  assert.deepEqual(
    dead.map(({ id }) => id),
    ['refund 1120'],
  )
})

test('a delivery is not ordered for a sender blacklisted since; credits stay', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000] })
  const anna = await world.customer()
  const sam = world.person('sam', 1_000)
  const credited = world.pay(anna.deposit_address, 4n * TRX, sam)
  await world.solidify()
  // The pool is too small for it now.
  const tx_id = world.pay(world.recharge.address, 30n * TRX, sam)
  world.mine(2)
  await world.drain()
  assert.equal((await depositOf(world, tx_id)).state, 'received')
  await world.blacklist(sam.address)
  world.mine(2)
  await world.drain()
  assert.deepEqual(await fateOf(world, tx_id), ['returning', BLOCKED])
  await world.sql`update flow_freeze set frozen = false`
  await letRefundsGo(world)
  assert.deepEqual(
    await fateOf(world, tx_id),
    ['held', BLOCKED],
    'that he is not blacklisted any more is for a person',
  )
  assert.deepEqual(await fateOf(world, credited), ['credited', null])
  assert.equal(await anna.balance(), 4)
})

test("with the policy's switch off nothing is held; older policies have it on", async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const thief = world.person('thief', 100)
  await world.blacklist(thief.address)
  const publish = (body: object) =>
    world.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'test', published_at: world.now }),
    )
  const { hold_deposits_from: shipped, ...older } = SHIPPED_POLICY
  assert.equal(shipped, 'blacklisted')
  await publish(older)
  const held = world.pay(anna.deposit_address, 5n * TRX, thief)
  await world.solidify()
  await publish({ ...older, hold_blacklisted_senders: false })
  const credited = world.pay(anna.deposit_address, 6n * TRX, thief)
  const returned = world.pay(world.recharge.address, TRX, thief)
  await letRefundsGo(world)
  assert.deepEqual(await fateOf(world, held), ['held', BLOCKED])
  assert.deepEqual(await fateOf(world, credited), ['credited', null])
  assert.equal((await depositOf(world, returned)).state, 'refunded')
  assert.equal(await anna.balance(), 6)
})

test('what comes for a suspended or closed customer is held, and credited later', async (t) => {
  const world = await makeWorld(t)
  const [anna, zoe] = [await world.customer(), await world.customer()]
  const at = await worldOperator(world)
  await at.json('customers', 'suspend', anna.id)
  await at.json('customers', 'close', zoe.id)
  const [held, too, dust] = [
    world.pay(anna.deposit_address, 5n * TRX),
    world.pay(zoe.deposit_address, 6n * TRX),
    world.pay(zoe.deposit_address, 7n),
  ]
  await world.solidify()
  assert.deepEqual(await fateOf(world, held), ['held', 'the customer is suspended'])
  assert.deepEqual(await fateOf(world, too), ['held', 'the customer is closed'])
  assert.deepEqual(await fateOf(world, dust), ['ignored', 'the customer is closed'])
  await at.json('customers', 'resume', anna.id)
  const credited = world.pay(anna.deposit_address, 8n * TRX)
  await world.solidify()
  assert.deepEqual(await fateOf(world, credited), ['credited', null])
  assert.equal(await posted(world, `customer:${anna.id}`), 8n * TRX)
  assert.equal(await posted(world, 'held_deposits'), 11n * TRX + 7n)
})
