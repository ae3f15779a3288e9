import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  makeScreeningWorld,
  type ScreeningWorld,
  TRX,
} from 'penstock-test/harness/screening_world.ts'
import { checkBooks } from '../../ledger/accounts/books.ts'
import { customerAccount, spendable } from '../../ledger/accounts/ledger.ts'
import { Fault } from '../../lib/fault.ts'
import { CHECK_STATES, type CheckState } from './checks.ts'
import { checkHistory } from './history.ts'
import { aboutAddress, placeAgain } from './placing.ts'

const factors = (check: { risk_factors: { name: string; score: number }[] }) =>
  check.risk_factors.map(({ name, score }) => [name, score])

const free = async ({ sql }: ScreeningWorld, customer_id: string) =>
  Number(await spendable(sql, customerAccount(customer_id))) / 1e6

test('an unknown address is unidentified, 25.0, low, and is charged once', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer(10)
  const stranger = world.person()
  const { check } = await world.process.place({
    customer_id,
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    address: stranger.address,
    hash: null,
    direction: null,
  })
  assert.deepEqual([check.state, check.risk_score, check.risk_factors], ['pending', null, []])
  assert.equal(await free(world, customer_id), 9)
  await world.drain()
  const done = await world.check(check.id)
  assert.deepEqual(
    [done.state, done.risk_score, done.risk_level, done.blacklist],
    ['completed', '25.0', 'low', false],
  )
  assert.deepEqual(factors(done), [['unidentified', 1]])
  assert.equal(await free(world, customer_id), 9)
  const { notes } = await world.evidence(check.id)
  assert.ok(notes.includes('No list is loaded: nothing is known of who addresses belong to.'))
  assert.ok(notes.includes('The index has no history of this address.'))
  assert.deepEqual(await checkBooks(world.sql), [])
})

test('money of a mixer that passed through others is found, with the way it came', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, middle, exchange, end] = [
    world.person(),
    world.person(),
    world.person(),
    world.person(),
  ]
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: 'Spinner' },
    { address: exchange.address, category: 'exchange_licensed', entity: 'Market' },
  ])
  const first = world.send(mixer, middle, 30_000n * TRX)
  world.send(exchange, middle, 70_000n * TRX)
  const second = world.send(middle, end, 50_000n * TRX)
  await world.settle()
  const check = await world.ask({ customer_id, address: end.address })
  assert.deepEqual(factors(check), [
    ['exchange_licensed', 0.7],
    ['mixer', 0.3],
  ])
  // 0.3 * 100 + 0.7 * 10 = 37; indirect severe money, 4,500 dollars and 30 %, raises to 70.
  assert.deepEqual([check.risk_score, check.risk_level, check.blacklist], ['70.0', 'high', false])
  const { factors: explained, floors } = await world.evidence(check.id)
  const found = explained.find(({ category }) => category === 'mixer')!
  assert.equal(found.usd, '4500.00')
  assert.equal(found.direct_usd, '0.00')
  assert.equal(found.mean_hops, '2.00')
  assert.deepEqual(found.units, { TRX: '15000000000' })
  assert.deepEqual(
    found.path.map(({ tx_id, carried }) => [tx_id, carried]),
    [
      [second, '15000000000'],
      [first, '30000000000'],
    ],
  )
  assert.deepEqual(
    found.origins.map(({ entity, list }) => [entity, list]),
    [['Spinner', 'operator']],
  )
  assert.deepEqual(
    floors.map(({ rule }) => rule),
    ['indirect', 'indirect', 'combined'],
  )
})

test('TRX and tokens count by their worth', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [exchange, pool, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    { address: exchange.address, category: 'exchange_licensed' },
    { address: pool.address, category: 'liquidity_pools' },
  ])
  world.send(exchange, end, 1_000n * TRX)
  world.sendToken(pool, end, 100_000_000n)
  await world.settle()
  const check = await world.ask({ customer_id, address: end.address })
  // 300 dollars of TRX at 0.30, 100 dollars of the token.
  assert.deepEqual(factors(check), [
    ['exchange_licensed', 0.75],
    ['liquidity_pools', 0.25],
  ])
  assert.equal(check.risk_score, '20.0')
})

test("an authority's list: blacklisted, 100.0, high; the operator's: high alone", async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [listed, said] = [world.person(), world.person()]
  await world.publish('ofac_sdn', [
    { address: listed.address, category: 'sanctions', kind: 'authority' },
  ])
  await world.publish('operator', [{ address: said.address, category: 'sanctions' }])
  await world.settle()
  const barred = await world.ask({ customer_id, address: listed.address })
  assert.deepEqual(
    [barred.risk_score, barred.risk_level, barred.blacklist],
    ['100.0', 'high', true],
  )
  assert.deepEqual(factors(barred), [['sanctions', 1]])
  const named = await world.ask({ customer_id, address: said.address })
  assert.deepEqual([named.risk_score, named.risk_level, named.blacklist], ['100.0', 'high', false])
})

test('the issuer freezes an address: it is blacklisted as long as it is frozen', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [frozen, friend] = [world.person(), world.person()]
  world.freeze(frozen, true)
  world.send(frozen, friend, 1_000n * TRX)
  await world.settle()
  const during = await world.ask({ customer_id, address: frozen.address })
  assert.deepEqual([during.blacklist, factors(during)], [true, [['issuer_frozen', 1]]])
  const paid = await world.ask({ customer_id, address: friend.address })
  assert.deepEqual(
    [paid.blacklist, factors(paid), paid.risk_score],
    [false, [['issuer_frozen', 1]], '100.0'],
  )
  world.freeze(frozen, false)
  await world.settle()
  const after = await world.ask({ customer_id, address: frozen.address })
  assert.deepEqual([after.blacklist, factors(after)], [false, [['unidentified', 1]]])
})

test('labels that are published later act on what moved before', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [thief, end, other] = [world.person(), world.person(), world.person()]
  world.send(other, end, 10n * TRX)
  world.send(thief, end, 30n * TRX)
  await world.settle()
  const before = await world.ask({ customer_id, address: end.address })
  assert.deepEqual(factors(before), [['unidentified', 1]])
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.drain()
  const after = await world.ask({ customer_id, address: end.address })
  assert.deepEqual(factors(after), [
    ['stolen_coins', 0.75],
    ['unidentified', 0.25],
  ])
  assert.deepEqual([before.label_set, after.label_set], [0, 1])
})

test('a deposit is judged by the money it brought, a withdrawal by its recipient', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, sender, recipient] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  world.send(mixer, sender, 10n * TRX)
  const hash = world.send(sender, recipient, 10n * TRX)
  world.send(world.person(), recipient, 30n * TRX)
  world.send(world.person(), sender, 10n * TRX)
  await world.settle()
  const ask = (direction: 'deposit' | 'withdrawal' | null) =>
    world.ask({ customer_id, type: 'hash', address: recipient.address, hash, direction })
  const deposit = await ask('deposit')
  assert.deepEqual([deposit.state, factors(deposit)], ['completed', [['mixer', 1]]])
  assert.deepEqual(factors(await ask(null)), [['mixer', 1]])
  const withdrawal = await ask('withdrawal')
  assert.deepEqual(factors(withdrawal), [
    ['unidentified', 0.75],
    ['mixer', 0.25],
  ])
  assert.equal(await free(world, customer_id), 1_000 - 3 * 1.5)
  const { factors: explained } = await world.evidence(deposit.id)
  assert.equal(explained[0]!.direct_usd, '0.00')
})

test('a withdrawal to somebody who sends to a mixer is high', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, sender, recipient] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  const hash = world.send(sender, recipient, 1_000n * TRX)
  world.send(recipient, mixer, 400n * TRX)
  await world.settle()
  const ask = (direction: 'deposit' | 'withdrawal') =>
    world.ask({ customer_id, type: 'hash', address: recipient.address, hash, direction })
  assert.deepEqual(
    [(await ask('withdrawal')).risk_score, (await ask('deposit')).risk_score],
    ['75.0', '25.0'],
  )
})

test('a hash that is unknown, or that moved nothing, fails and costs nothing', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer(10)
  const [a, b] = [world.person(), world.person()]
  await world.settle()
  const unknown = await world.ask({
    customer_id,
    type: 'hash',
    address: b.address,
    hash: 'ab'.repeat(32),
  })
  assert.equal(unknown.state, 'processing')
  world.now_ms += 10_000
  await world.drain()
  const gone = await world.check(unknown.id)
  assert.deepEqual([gone.state, gone.error, gone.risk_score], ['failed', 'tx_not_found', null])
  const stake = world.scene.send(a, 'FreezeBalanceV2Contract', {
    frozen_balance: TRX,
    resource: 'ENERGY',
  })
  await world.settle()
  const moved_nothing = await world.ask({
    customer_id,
    type: 'hash',
    address: a.address,
    hash: String(stake.txid),
  })
  assert.deepEqual([moved_nothing.state, moved_nothing.error], ['failed', 'no_transfer'])
  assert.equal(await free(world, customer_id), 10)
  assert.deepEqual(await checkBooks(world.sql), [])
})

test('a check that names an address which its transaction does not fails, free', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer(10)
  const [sender, recipient, other] = [world.person(), world.person(), world.person()]
  const hash = world.send(sender, recipient, 1_000n * TRX)
  await world.settle()
  for (const direction of ['deposit', 'withdrawal'] as const) {
    const asked = { customer_id, type: 'hash', address: other.address, hash, direction } as const
    const { state, error, risk_score } = await world.ask(asked)
    assert.deepEqual([state, error, risk_score], ['failed', 'not_in_transaction', null])
  }
  assert.equal(await free(world, customer_id), 10)
})

test('a transaction that is not solid yet is waited for', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [a, b] = [world.person(), world.person()]
  await world.settle()
  const hash = world.send(a, b, 10n * TRX)
  const waiting = await world.ask({
    customer_id,
    type: 'hash',
    address: b.address,
    hash,
    direction: 'deposit',
  })
  assert.equal(waiting.state, 'processing')
  await world.settle()
  // When the step ran first, the follower was behind; it looks again after its rest.
  await world.drain()
  assert.equal((await world.check(waiting.id)).state, 'completed')
})

test('without a node a hash check waits, and is released after ten minutes', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer(10)
  const b = world.person()
  await world.settle()
  const { check } = await world.process.place({
    customer_id,
    idempotency_key: null,
    type: 'hash',
    network: 'TRX',
    address: b.address,
    hash: 'cd'.repeat(32),
    direction: null,
  })
  world.down = true
  const screen = world.process.steps.find(({ name }) => name === 'screen')!
  await assert.rejects(screen.run(), /does not answer/)
  assert.equal((await world.check(check.id)).state, 'processing')
  world.now_ms += 601_000
  await world.process.steps.find(({ name }) => name === 'fail_late')!.run()
  const given_up = await world.check(check.id)
  assert.deepEqual([given_up.state, given_up.error], ['failed', 'timed_out'])
  assert.equal(await free(world, customer_id), 10)
})

test('a check waits until the index knows what was solid when it was asked for', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const someone = world.person()
  await world.settle()
  world.mine(5)
  const [follow, ...others] = world.process.steps
  await follow!.run()
  const { check } = await world.process.place({
    customer_id,
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    address: someone.address,
    hash: null,
    direction: null,
  })
  const screen = others.find(({ name }) => name === 'screen')!
  await screen.run()
  assert.equal((await world.check(check.id)).state, 'pending')
  await world.drain()
  const done = await world.check(check.id)
  assert.equal(done.state, 'completed')
  assert.ok(done.index_number! >= done.solid_number)
})

test('the price comes first: 6 below it, 5 without a wallet, 35 off sale', async (t) => {
  const world = await makeScreeningWorld(t)
  const poor = await world.customer(1)
  const address = world.person().address
  const ask = (customer_id: string, type: 'address' | 'hash') =>
    world.process.place({
      customer_id,
      idempotency_key: null,
      type,
      network: 'TRX',
      address,
      hash: type === 'hash' ? 'ab'.repeat(32) : null,
      direction: null,
    })
  const refused = (code: number) => (thrown: unknown) =>
    thrown instanceof Fault && thrown.code === code
  await assert.rejects(ask(poor, 'hash'), refused(6))
  await assert.rejects(ask('nobody', 'address'), refused(5))
  await world.sql`update aml_service set on_sale = false where type = 'address'`
  await assert.rejects(ask(poor, 'address'), refused(35))
  const { total } = await checkHistory(world.sql, {
    customer_id: poor,
    page: 1,
    per_page: 10,
    state: undefined,
  })
  assert.equal(total, 0)
})

test('a free check is answered or fails without entries, beside one that costs', async (t) => {
  const world = await makeScreeningWorld(t)
  const [poor, rich] = [await world.customer(0), await world.customer(10)]
  await world.settle()
  // Operators cannot set such a price, but checks that are made again have none.
  await world.sql`alter table aml_price drop constraint aml_price_positive`
  await world.sql`update aml_price set price_sun = 0 where type = 'address'`
  const { address } = world.person()
  const wanted = {
    network: 'TRX',
    address,
    direction: null,
    idempotency_key: null,
  } as const
  const placed = await Promise.all([
    world.process.place({ ...wanted, customer_id: poor, type: 'address', hash: null }),
    world.process.place({ ...wanted, customer_id: rich, type: 'hash', hash: 'ab'.repeat(32) }),
    world.process.place({
      ...wanted,
      customer_id: rich,
      type: 'address',
      hash: null,
      idempotency_key: 'twice',
    }),
    world.process.place({
      ...wanted,
      customer_id: rich,
      type: 'address',
      hash: null,
      idempotency_key: 'twice',
    }),
  ])
  const again = await world.sql.begin((tx) =>
    placeAgain(tx, world, aboutAddress(address), { customer_id: rich, supersedes: null }),
  )
  await world.drain()
  await world.sql`update aml_price set price_sun = 0 where type = 'hash'`
  const lost = await world.ask({ customer_id: poor, type: 'hash', address, hash: 'cd'.repeat(32) })
  world.now_ms += 10_000
  await world.drain()
  const states = await Promise.all(
    [...placed.map(({ check }) => check), lost, again].map(({ id }) => world.check(id)),
  )
  assert.deepEqual(
    states.map(({ state, price_sun }) => [state, price_sun]),
    [
      ['completed', 0n],
      ['failed', 1_500_000n],
      ['completed', 0n],
      ['completed', 0n],
      ['failed', 0n],
      ['completed', 0n],
    ],
  )
  assert.deepEqual(await Promise.all([free(world, poor), free(world, rich)]), [0, 10])
  const holds = await world.sql`select id from transfer where id like 'aml:%' order by id`
  assert.deepEqual(
    holds.map(({ id }) => id),
    [`aml:${placed[1].check.id}`, `aml:${placed[1].check.id}/release`],
  )
  assert.deepEqual(await checkBooks(world.sql), [])
})

test('one idempotency key is one check, also for twins; another meaning is refused', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer(10)
  const [a, b] = [world.person().address, world.person().address]
  const ask = (address: string) =>
    world.process.place({
      customer_id,
      idempotency_key: 'once',
      type: 'address',
      network: 'TRX',
      address,
      hash: null,
      direction: null,
    })
  const [first, second] = await Promise.all([ask(a), ask(a)])
  assert.equal(first.check.id, second.check.id)
  assert.deepEqual([first.replayed, second.replayed], [false, true])
  await assert.rejects(ask(b), (thrown) => thrown instanceof Fault && thrown.code === 2)
  assert.equal(await free(world, customer_id), 9)
})

test('two processes answer each check once, from equal indexes', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const other_sql = world.connect()
  t.after(() => other_sql.close())
  const other = world.startProcess(other_sql)
  const [a, b] = [world.person(), world.person()]
  world.send(a, b, 10n * TRX)
  await world.settle()
  await world.drain(other)
  const placed = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? world.process : other).place({
        customer_id,
        idempotency_key: null,
        type: 'address',
        network: 'TRX',
        address: b.address,
        hash: null,
        direction: null,
      }),
    ),
  )
  await Promise.all([world.drain(), world.drain(other)])
  for (const { check } of placed) assert.equal((await world.check(check.id)).state, 'completed')
  assert.equal(await free(world, customer_id), 1_000 - 40)
  assert.deepEqual(await checkBooks(world.sql), [])
})

test('totals are exact at every moment, and pages come newest first from both ends', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql } = world
  const states = Array.from({ length: 137 }, (_, i) => CHECK_STATES[i % 4]!)
  await sql.begin(async (tx) => {
    await tx`
      insert into aml_check (id, customer_id, type, network, address, state, price_sun,
        solid_number, due_at, created_at,
                             ended_at, risk_score, risk_level, error)
      select lpad(n::text, 6, '0'), 'c1', 'address', 'TRX', 'x', state, 1, 0, now(),
        to_timestamp(10000 * (n / 3)),
             case when state in ('completed', 'failed') then now() end, case state
               when 'completed' then '1.0' end,
             case state when 'completed' then 'low' end, case state when 'failed' then 'broken' end
      from unnest(${states}::text[]) with ordinality as s (state, n)`
    await tx`
      insert into aml_count_delta (customer_id, day, state, d)
      select customer_id, (created_at at time zone 'UTC')::date, state, count(*)
      from aml_check group by 1, 2, 3`
  })
  const all = states.map((state, i) => ({ state, id: String(i + 1).padStart(6, '0') })).reverse()
  const look = async (state: CheckState | undefined, per_page: number) => {
    const wanted = all
      .filter((one) => state === undefined || one.state === state)
      .map(({ id }) => id)
    for (let page = 1; page <= Math.ceil(wanted.length / per_page) + 1; page++) {
      const { total, checks } = await checkHistory(sql, {
        customer_id: 'c1',
        page,
        per_page,
        state,
      })
      assert.equal(total, wanted.length)
      assert.deepEqual(
        checks.map(({ id }) => id),
        wanted.slice((page - 1) * per_page, page * per_page),
      )
    }
  }
  await look(undefined, 10)
  await look('failed', 7)
  const fold = world.process.steps.find(({ name }) => name === 'fold_counts')!
  while (await fold.run());
  assert.deepEqual(await sql`select count(*) as n from aml_count_delta`, [{ n: 0n }])
  await look(undefined, 50)
  await look('completed', 3)
  const beyond = await checkHistory(sql, {
    customer_id: 'c1',
    page: 1_000_000_000,
    per_page: 50,
    state: undefined,
  })
  assert.deepEqual(beyond, { total: 137, checks: [] })
})

test('counts follow the states of real checks', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const b = world.person().address
  await world.settle()
  for (let i = 0; i < 3; i++) await world.ask({ customer_id, address: b })
  const lost = await world.ask({ customer_id, type: 'hash', address: b, hash: 'ab'.repeat(32) })
  world.now_ms += 10_000
  await world.drain()
  assert.equal((await world.check(lost.id)).state, 'failed')
  for (const [state, expected] of [
    ['completed', 3],
    ['failed', 1],
    ['pending', 0],
    ['processing', 0],
    [undefined, 4],
  ] as const) {
    const { total } = await checkHistory(world.sql, { customer_id, page: 1, per_page: 10, state })
    assert.equal(total, expected, state)
  }
})
