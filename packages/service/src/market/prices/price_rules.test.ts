import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { worldOperator } from 'penstock-test/harness/operator.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { makeWorld, type World } from 'penstock-test/harness/world.ts'
import { unitCostOf } from '../pool/costs.ts'
import {
  type FullStep,
  floorOf,
  fullPercentOf,
  raiseAt,
  readRules,
  repriceStep,
  setRule,
} from './price_rules.ts'
import { charge } from './prices.ts'
import { previewRule } from './rule_preview.ts'
import { pricesInForce, setPrices } from './tiers.ts'

const STEPS: FullStep[] = [
  { full_percent: 50, raise_percent: 20 },
  { full_percent: 80, raise_percent: 100 },
]
const TIER = { min_amount: 32_000n, max_amount: 130_999n }

const setTo = (world: World, margin_percent: number | null, steps: FullStep[] = []) =>
  world.sql.begin((tx) =>
    setRule(
      tx,
      { resource: 'energy', margin_percent, steps },
      { clock: { now: () => world.now }, by: 'olga' },
    ),
  )

const typed = (world: World, price_sun: bigint) =>
  world.sql.begin((tx) =>
    setPrices(tx, {
      resource: 'energy',
      tiers: [{ ...TIER, price_sun }],
      replace: false,
      confirmed: true,
      at: world.now,
      changed_by: 'olga',
    }),
  )

/** The tier of 65,000 energy: what it costs, and what was set. */
async function tierOf(world: World): Promise<[price: bigint, base: bigint | null]> {
  const tiers = await pricesInForce(world.sql)
  const tier = tiers.find((one) => one.resource === 'energy' && one.min_amount === 32_000n)
  return [tier!.price_sun, tier!.base_sun]
}

/** Moves the service's clock alone, and runs the step. */
async function look(world: World, seconds: number): Promise<boolean> {
  world.wait(seconds)
  return repriceStep({ sql: world.sql, clock: { now: () => world.now } }).run()
}

test('a step counts from its share of the pool on, the highest that is reached', () => {
  const at = [0, 49, 50, 79, 80, 100].map((full) => raiseAt(STEPS, full))
  assert.deepEqual(at, [0, 0, 20, 20, 100, 100])
  assert.equal(raiseAt([], 100), 0)
})

test('a floor is the cost with its margin, rounded up; without a cost there is none', () => {
  assert.equal(floorOf(40_000n, 10), 44_000n)
  assert.equal(floorOf(40_001n, 10), 44_100n)
  assert.equal(floorOf(40_000n, 0), 40_000n)
  assert.equal(floorOf(0n, 100), null)
})

test('no price is below the floor from the moment it is set, and the old come back', async (t) => {
  // Wallets burn for their transactions, so that energy has a cost.
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl', 'dora', 'emil'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  const { cost_sun } = await unitCostOf(world.sql, 'energy', { now: world.now, hours: 24 })
  const base = cost_sun / 2n
  await typed(world, base)
  world.wait(1)
  const { actions } = await setTo(world, 20)
  const floor = floorOf(cost_sun, 20)!
  assert.deepEqual(await tierOf(world), [floor, base])
  assert.deepEqual(
    actions.map(({ subject }) => subject),
    ['price_rule:energy', 'price:energy'],
  )
  // A price that is typed below it is in force at the floor, one above it as it is.
  world.wait(1)
  await typed(world, base + 1n)
  assert.deepEqual(await tierOf(world), [floor, base + 1n])
  world.wait(1)
  await typed(world, 2n * floor)
  assert.deepEqual(await tierOf(world), [2n * floor, null])
  world.wait(1)
  await typed(world, base)
  world.wait(3)
  // What is charged is what is in force.
  const order = await anna.buyEnergy(world.person('finn').address, 65_000, {
    activate_address: true,
  })
  const [fee] = await world.sql<{ sun: bigint }>`
    select fee_sun as sun from orders where id = ${order.id}`
  assert.equal(BigInt(Math.round(order.amount * 1e6)) - fee!.sun, charge(floor, 65_000))
  world.wait(1)
  const ended = await setTo(world, null)
  assert.equal(ended.result, undefined)
  assert.deepEqual([await tierOf(world), await readRules(world.sql)], [[base, null], []])
})

test('the floor follows the cost when that has moved by a fiftieth, and never far', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl', 'dora'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  const at = { now: world.now, hours: 24 }
  const { cost_sun } = await unitCostOf(world.sql, 'energy', at)
  await typed(world, cost_sun / 2n)
  world.wait(1)
  await setTo(world, 0)
  const floor = floorOf(cost_sun, 0)!
  const floorNow = async () => {
    const [rule] = await readRules(world.sql)
    return [rule!.floor_sun, rule!.refused_sun]
  }
  const costs = (percent: bigint) => world.sql`
    update attempt set fee_sun = fee_sun * ${percent} / 100 where fee_sun > 0`
  await costs(101n)
  assert.equal(await look(world, 601), false)
  assert.deepEqual(await floorNow(), [floor, null], 'a hundredth is let be')
  await costs(150n)
  assert.equal(await look(world, 60), false, 'and nothing is worked out sooner')
  assert.equal(await look(world, 601), true)
  const [higher] = await floorNow()
  assert.ok(higher! > (floor * 14n) / 10n)
  assert.equal((await tierOf(world))[0], higher)
  await costs(2_000n)
  assert.equal(await look(world, 601), false)
  const [kept, refused] = await floorNow()
  assert.deepEqual([kept, refused! > 10n * floor], [higher, true])
  await world.sql`update attempt set fee_sun = 0`
  assert.equal(await look(world, 601), true)
  assert.deepEqual(await floorNow(), [null, null])
  assert.deepEqual(await tierOf(world), [cost_sun / 2n, null])
})

test('prices begin when the cost has been worked out, and nobody waits for that', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl', 'dora'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  const { cost_sun } = await unitCostOf(world.sql, 'energy', { now: world.now, hours: 24 })
  await typed(world, cost_sun / 2n)
  world.wait(1)
  await setTo(world, 0)
  const floor = (await tierOf(world))[0]
  await world.sql`update attempt set fee_sun = fee_sun * 2 where fee_sun > 0`
  let [locked, end] = [() => {}, () => {}]
  const is_locked = new Promise<void>((resolve) => (locked = resolve))
  const is_over = new Promise<void>((resolve) => (end = resolve))
  const slow = world.sql.begin(async (tx) => {
    await tx`lock table attempt in access exclusive mode`
    locked()
    await is_over
  })
  await is_locked
  const looking = look(world, 601)
  await untilBlocked(world.sql, looking)
  // Meanwhile an operator sets a price, and orders are placed at that.
  const set = typed(world, floor + 1_000n).then(() => 'set')
  const first = await Promise.race([set, delay(60_000, 'waits', { ref: false })])
  world.wait(20)
  end()
  await Promise.all([slow, looking, set])
  assert.equal(first, 'set')
  const [newest] = await world.sql<{ since: Date; price_sun: bigint }>`
    select since, price_sun from price where resource = 'energy' and min_amount = 32000
    order by id desc limit 1`
  assert.ok(newest!.price_sun > floor + 1_000n)
  assert.deepEqual(newest!.since, world.now, 'and not 20 s ago')
})

test('prices rise as the pool fills, fall again when it empties; a quote binds', async (t) => {
  const world = await makeWorld(t, { pool_trx: [25_000], pool_bandwidth_trx: 1_000 })
  const at = await worldOperator(world)
  const anna = await world.customer({ trx: 1_000 })
  const [pool] = await world.sql<{ room: bigint }>`
    select room from pool where resource = 'energy'`
  const amount = Number((pool!.room * 6n) / 10n)
  assert.ok(amount > 32_000 && amount < 3_000_000, String(amount))
  await setTo(world, null, STEPS)
  const [before] = await tierOf(world)
  const bob = world.person('bob', 1).address
  const quote = await anna.get<{ id: string; amount: number }>('/v1/quote/new', {
    service: 'energy',
    seconds: 300,
    params: { address: bob, amount: 32_000, duration: 1 },
  })
  await anna.buyEnergy(world.person('carl', 1).address, amount)
  await world.settle()
  assert.ok((await fullPercentOf(world.sql, 'energy')) >= 50)
  assert.equal(await look(world, 31), true)
  assert.deepEqual(await tierOf(world), [(before * 120n) / 100n, before])
  assert.equal(await look(world, 31), false, 'once')
  const [recorded] = await at.json<{ made_by: string; subject: string }[]>(
    ...['actions', 'list', '--subject', 'price', '--limit', '1'],
  )
  assert.deepEqual([recorded!.made_by, recorded!.subject], ['price rules', 'price:energy'])
  // The quote was given before.
  world.mine(30)
  await world.drain()
  const bought = await anna.get<{ amount: number }>('/v1/quote/accept', { id: quote.id })
  assert.equal(bought.amount, quote.amount)
  await world.settle()
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.solidify()
  assert.equal(await fullPercentOf(world.sql, 'energy'), 0)
  await look(world, 31)
  assert.deepEqual(await tierOf(world), [before, null])
  assert.equal((await at.type('books', 'check')).code, 0)
})

test('a preview says what the last orders would have cost, by floor and by steps', async (t) => {
  const world = await makeWorld(t, { pool_trx: [25_000], pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 1_000 })
  const [pool] = await world.sql<{ room: bigint }>`
    select room from pool where resource = 'energy'`
  const large = Number((pool!.room * 6n) / 10n)
  await anna.buyEnergy(world.person('bob', 1).address, large)
  await world.settle()
  await anna.buyEnergy(world.person('carl', 1).address, 65_000)
  await world.settle()
  const wanted = { resource: 'energy', margin_percent: null, steps: STEPS } as const
  const preview = await previewRule(world.sql, wanted, world.now)
  const paid = await world.sql<{ sun: bigint }>`select amount_sun as sun from orders order by id`
  const [first, second] = paid.map(({ sun }) => sun)
  assert.equal(preview.orders, 2)
  assert.equal(preview.base_sun, first! + second!)
  // The first met an empty pool, the second one that was more than half out.
  assert.equal(preview.with_steps_sun, first! + 3_510_000n)
  assert.deepEqual(preview.steps, [
    { ...STEPS[0]!, orders: 1 },
    { ...STEPS[1]!, orders: 0 },
  ])
  assert.deepEqual([preview.floor_1000_sun, preview.below_floor], [null, 0])
  const floored = await previewRule(world.sql, { ...wanted, margin_percent: 1_000 }, world.now)
  assert.equal(floored.floor_1000_sun, floorOf(floored.cost_1000_sun, 1_000))
  assert.ok(floored.with_both_sun >= floored.with_steps_sun)
  assert.ok(floored.with_both_sun >= floored.with_floor_sun)
  assert.deepEqual(await readRules(world.sql), [], 'nothing is changed')
  // Of a resource that is hardly sold, not all orders that ever were are looked through.
  const in_two_months = new Date(world.now.getTime() + 60 * 86_400_000)
  assert.equal((await previewRule(world.sql, wanted, in_two_months)).orders, 0)
})

test('each resource has a rule of its own', async (t) => {
  const world = await makeWorld(t)
  const set = (resource: 'energy' | 'bandwidth', margin_percent: number | null) =>
    world.sql.begin((tx) =>
      setRule(
        tx,
        { resource, margin_percent, steps: [] },
        { clock: { now: () => world.now }, by: 'olga' },
      ),
    )
  const first = [(await set('energy', 10)).actions[0], (await set('bandwidth', 20)).actions[0]]
  const found = first.map((action) => [action!.subject, action!.before])
  assert.deepEqual(found, [
    ['price_rule:energy', null],
    ['price_rule:bandwidth', null],
  ])
  for (const resource of ['energy', 'bandwidth'] as const) {
    const { result } = await set(resource, 30)
    assert.deepEqual([result!.resource, result!.margin_percent], [resource, 30])
  }
  await set('energy', null)
  const left = (await readRules(world.sql)).map(({ resource }) => resource)
  assert.deepEqual(left, ['bandwidth'])
})

test('a worker raises prices by the rule alone, and from what was set alone', async (t) => {
  const world = await makeWorld(t)
  const worker = world.database.connect({ role: 'penstock_worker' })
  await setTo(world, null, STEPS)
  const denied = /permission denied/
  await assert.rejects(worker`update price set price_sun = 1`, denied)
  await assert.rejects(worker`update price_rule set steps = '[]'`, denied)
  await assert.rejects(worker`delete from price_rule`, denied)
  const [before] = await tierOf(world)
  await assert.rejects(worker`update price_rule set raise_percent = -50`, /price_rule_raise/)
  await assert.rejects(worker`update price_rule set floor_sun = 0`, /price_rule_floor/)
  await worker`update price_rule set raise_percent = 10, looked_at = ${world.now}`
  assert.deepEqual(await tierOf(world), [(before * 110n + 99n) / 100n, before])
  await worker`update price_rule set raise_percent = 0`
  assert.deepEqual(await tierOf(world), [before, null])
  // No more than the highest step, nor a floor where the rule has none.
  await worker`update price_rule set raise_percent = 1000, floor_sun = 1000000000000`
  assert.deepEqual(await tierOf(world), [before * 2n, before])
  await setTo(world, 10)
  await worker`update price_rule set raise_percent = 1000, floor_sun = 1000000000001`
  assert.deepEqual(await tierOf(world), [before * 10n, before], 'ten times at most')
  await world.database.giveBack(worker)
})

test('a price that is lowered below a tenth of the floor is ten times of it at most', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl', 'dora'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  const { cost_sun } = await unitCostOf(world.sql, 'energy', { now: world.now, hours: 24 })
  await setTo(world, 0)
  const floor = floorOf(cost_sun, 0)!
  const low = floor / 20n
  world.wait(1)
  await typed(world, low)
  assert.deepEqual(await tierOf(world), [10n * low, low])
  // The floor goes down with the cost all the same, though it is refused for being far off.
  await world.sql`update attempt set fee_sun = fee_sun * 3 / 4 where fee_sun > 0`
  await look(world, 601)
  const [rule] = await readRules(world.sql)
  assert.ok(rule!.floor_sun! < (floor * 4n) / 5n, `${rule!.floor_sun} of ${floor}`)
  assert.equal(rule!.refused_sun, rule!.floor_sun)
})

test('prices are what the rule makes of them, whoever changes both at once', async (t) => {
  const world = await makeWorld(t)
  const base = (await tierOf(world))[0]
  for (let round = 0; round < 12; round++) {
    world.wait(31)
    const step = { full_percent: 1, raise_percent: 10 + round }
    await Promise.all([
      typed(world, base + BigInt(round)),
      setTo(world, round % 4 === 3 ? null : 1, round % 3 === 2 ? [] : [step]),
      repriceStep({ sql: world.sql, clock: { now: () => world.now } }).run(),
      world.sql`update price_rule set raise_percent = ${round % 2 ? 5 : 0}, floor_sun = 300000`,
      typed(world, base - BigInt(round)),
    ])
    const wrong = await world.sql`
      select min_amount, price_sun, base_sun from price
      where until is null and price_sun <> ruled_sun(resource, coalesce(base_sun, price_sun))`
    assert.deepEqual([...wrong], [], `round ${round}`)
  }
})

test('what is no rule is refused in one sentence, and changes nothing', async (t) => {
  const world = await makeWorld(t)
  const at = await worldOperator(world)
  const refused = async (words: string[], sentence: RegExp) => {
    const { code, err } = await at.type('price-rules', ...words, '--reason', 'a test')
    assert.notEqual(code, 0)
    assert.match(err, sentence)
  }
  await refused(['set', 'energy'], /takes steps like 80=10, --margin, or --none/)
  await refused(['set', 'energy', '80=10', '--none'], /takes steps like 80=10, --margin, or/)
  await refused(['set', 'energy', '80'], /80 is not a step/)
  await refused(['set', 'energy', '0=10'], /0=10: FULL is from 1 to 100/)
  await refused(['set', 'energy', '80=0'], /80=0: FULL is from 1 to 100, and RAISE from 1/)
  await refused(['set', 'energy', '80=1001'], /RAISE from 1 to 1000/)
  await refused(['set', 'energy', '80=10', '70=20'], /70=20: each step is fuller and higher/)
  await refused(['set', 'energy', '80=10', '90=10'], /90=10: each step is fuller and higher/)
  await refused(
    ['set', 'energy', ...Array.from({ length: 11 }, (_, i) => `${i + 1}=${i + 1}`)],
    /10/,
  )
  await refused(['set', 'energy', '--margin', '1001'], /1000/)
  await refused(['set', 'power', '80=10'], /energy/)
  assert.deepEqual(await readRules(world.sql), [])
})
