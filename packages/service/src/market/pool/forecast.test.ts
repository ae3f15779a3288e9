import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Person } from 'penstock-devchain/scene.ts'
import { sender, sendTokens } from 'penstock-test/harness/subscribers.ts'
import { type Customer, makeWorld, type World } from 'penstock-test/harness/world.ts'
import { ALERTS } from '../../health/monitoring/alerts.ts'
import { joinFragments, writeFragment } from '../../platform/database/fragments.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { drain } from '../../platform/steps/step.ts'
import { poolRows, poolWallets } from './figures.ts'
import { type ForecastPoint, poolForecast } from './forecast.ts'

/** Nobody stakes on this network, so its units for a stake stay. */
const STEADY = { drift_percent: () => 0 }

test('at 20 moments of a day the room an hour later is within the forecast', async (t) => {
  const world = await makeWorld(t, { pool_trx: [60_000, 40_000] })
  const anna = await world.customer({ trx: 20_000 })
  const draw = dice(7)
  const people = ['bob', 'carl', 'dora', 'eve'].map((name) => sender(world, name, 100_000))
  let moved = 0
  for (let round = 1; round <= 10; round += 1) {
    await buySome(world, anna, draw, people)
    // Nothing is sold until an hour after both moments.
    await later(world, 1 + draw(600))
    const first = await poolForecast(world.sql, STEADY)
    await later(world, 600 + draw(2_400))
    if (draw(2) === 0) sendTokens(world, people[draw(people.length)]!)
    const second = await poolForecast(world.sql, STEADY)
    for (const forecast of [first, second]) {
      await passUntil(world, forecast.at(-1)!.at.getTime())
      const then = { minutes: 60, when: `round ${round}` }
      for (const { resource, free } of await assertWithin(world, forecast, then)) {
        const now = forecast.find((one) => one.resource === resource)!
        if (free !== now.free) moved += 1
      }
    }
  }
  assert.ok(moved > 20, `the room was another one an hour later ${moved} times`)
})

/** What is free now, which must be within what a forecast said of so many minutes later. */
async function assertWithin(
  world: World,
  forecast: readonly ForecastPoint[],
  { minutes, when }: { minutes: number; when: string },
) {
  const rows = await poolRows(world.sql)
  for (const { resource, free } of rows) {
    const { free: most, free_if_used: least } = forecast.find(
      (point) => point.resource === resource && point.minutes === minutes,
    )!
    assert.ok(least <= free && free <= most, `${when}: ${least} <= ${free} <= ${most} ${resource}`)
  }
  return rows
}

/** Nothing happens until shortly before; then as many blocks are made as make that time solid, what
 *  is over is taken back, and the pool is looked at again. `use` happens three times before that,
 *  when all of it is due already. */
async function passUntil(world: World, time_ms: number, use?: () => void): Promise<void> {
  const SOLID_BLOCKS = 20
  world.scene.wait((time_ms - headTime(world)) / 1_000 - 3 * (SOLID_BLOCKS + 1))
  world.mine(SOLID_BLOCKS - (use ? 3 : 0))
  for (let left = use ? 3 : 0; left > 0; left -= 1) {
    use?.()
    world.mine()
  }
  await moveOrders(world)
  world.mine()
  await moveOrders(world)
}

/** Runs the steps that buy, deliver and take back: the upkeep has no part in it. */
const moveOrders = ({ app }: World) => drain(app.steps.filter(({ duty }) => duty !== 'upkeep'))

/** Makes one block after so many seconds. */
async function later(world: World, seconds: number): Promise<void> {
  world.scene.wait(seconds)
  world.mine()
  await moveOrders(world)
}

const headTime = (world: World) => world.scene.devchain.head.header.timestamp

/** Numbers below a limit, the same in each run. */
function dice(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

/** One to three purchases, some of which are used, and some still open. */
async function buySome(
  world: World,
  anna: Customer,
  draw: (limit: number) => number,
  people: readonly Person[],
): Promise<void> {
  for (let left = 1 + draw(3); left > 0; left -= 1) {
    const person = people[draw(people.length)]!
    const { address } = person
    if (draw(3) > 0) await anna.buyEnergy(address, 65_000)
    else await anna.buy({ service: 'bandwidth', params: { address, amount: 1_000, duration: 1 } })
    if (draw(3) > 0) await moveOrders(world)
    world.mine()
    if (draw(3) > 0) sendTokens(world, person)
    // The same twice in one block would be one transaction.
    world.mine()
  }
}

test('a forecast says what comes back if nothing of it was used, and if all was', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const anna = await world.customer({ trx: 100 })
  const bob = sender(world)
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  sendTokens(world, bob)
  const idle = world.person('idle', 1)
  await anna.buyEnergy(idle.address, 65_000)
  await world.settle()
  await world.solidify()
  const forecast = await poolForecast(world.sql)
  const at = (minutes: number) =>
    forecast.find((one) => one.resource === 'energy' && one.minutes === minutes)!
  assert.equal(at(0).free, at(0).free_if_used)
  assert.ok(at(60).free >= at(0).free + 130_000n)
  assert.ok(at(60).free_if_used < at(0).free + 130_000n)

  await world.advance(3_600)
  await world.settle()
  await world.solidify()
  await world.settle()
  await world.solidify()
  assert.deepEqual(await world.attempts('reclaim'), ['solid', 'solid'])
  const { free } = (await poolRows(world.sql)).find(({ resource }) => resource === 'energy')!
  // One of the two had used what it was given.
  assert.ok(free < at(60).free - 50_000n, `${free} of ${at(60).free}`)
  assert.ok(free > at(60).free_if_used, `${free} of ${at(60).free_if_used}`)
})

test('a forecast holds when all that is open fails, and when all is used to the end', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const anna = await world.customer({ trx: 1_000 })
  const bob = sender(world, 'bob', 100_000)
  world.network.loses = () => true
  await anna.buyEnergy(bob.address, 65_000)
  await world.drain()
  await anna.buyEnergy(bob.address, 65_000)
  const failing = await poolForecast(world.sql, STEADY)
  let minutes = 0
  const isOpen = async () =>
    (await world.sql`select 1 from orders where state in ('new', 'pending')`).length > 0
  while (await isOpen()) {
    assert.ok(minutes < 60, 'the orders do not fail')
    world.mine(100)
    minutes += 5
    await world.drain()
  }
  await surveyAgain(world)
  const [energy] = await poolRows(world.sql)
  assert.equal(energy!.out, 0n)
  assert.ok(energy!.free > failing[0]!.free + 65_000n, 'both are given back')
  await assertWithin(world, failing, { minutes, when: 'all failed' })

  world.network.loses = () => false
  await anna.buyEnergy(bob.address, 131_000)
  const open = await poolForecast(world.sql, STEADY)
  await world.drain()
  const delegating = await poolForecast(world.sql, STEADY)
  await surveyAgain(world)
  await assertWithin(world, open, { minutes: 5, when: 'delivered' })
  await assertWithin(world, delegating, { minutes: 5, when: 'delegated' })
  // Then its hour is over 2 to 3 minutes before the last point.
  await later(world, 90)
  const used = await poolForecast(world.sql, STEADY)
  await passUntil(world, used.at(-1)!.at.getTime(), () => sendTokens(world, bob))
  const [{ free: most } = { free: 0n }] = used.filter((one) => one.minutes === 60)
  const rows = await assertWithin(world, used, { minutes: 60, when: 'all was used' })
  assert.ok(rows[0]!.free < most - 130_000n, 'all of it')
})

test('wallets that can hardly pay, and a ratio that moves, are in the forecast', async (t) => {
  // Each transaction takes 0.35 TRX.
  const world = await makeWorld(t, {
    pool_trx: [100_000],
    pool_bandwidth_trx: 0,
    pool_float_sun: 9_000_000n,
  })
  const energyOf = async () =>
    (await poolRows(world.sql)).find(({ resource }) => resource === 'energy')!
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl', 'dora', 'eve'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  const selling = await poolForecast(world.sql)
  await surveyAgain(world)
  const { free: none } = await energyOf()
  assert.equal(none, 0n, 'it sells nothing when it can pay for less than 20')
  await assertWithin(world, selling, { minutes: 5, when: 'the wallet has left the room' })

  const poor = await poolForecast(world.sql)
  world.scene.devchain.fund(world.wallets.pool[0]!.address, 1_000_000_000n)
  await surveyAgain(world)
  assert.ok((await energyOf()).free > 0n)
  await assertWithin(world, poor, { minutes: 5, when: 'it has come back' })

  const [before, forecast] = [await energyOf(), await poolForecast(world.sql)]
  const [pool] = await world.sql<{ total_weight: bigint }>`
    select total_weight from pool where resource = 'energy'`
  const stake_trx = pool!.total_weight / 120n
  world.scene.send(world.person('whale', Number(stake_trx) + 1_000), 'FreezeBalanceV2Contract', {
    frozen_balance: stake_trx * 1_000_000n,
    resource: 'ENERGY',
  })
  await surveyAgain(world)
  const after = await energyOf()
  assert.ok(after.free < before.free, 'the same stake gives less')
  await assertWithin(world, forecast, { minutes: 5, when: 'others have staked' })
})

/** Delivers what is open, and looks at the pool again. */
async function surveyAgain(world: World): Promise<void> {
  await world.settle()
  world.scene.wait(60)
  world.mine()
  await world.drain()
}

test('what is delegated now is found by indexes, however much there has been', async (t) => {
  const world = await makeWorld(t)
  const alert = ALERTS.delegation_overdue!({ sql: writeFragment, now: world.now })
  const overdue = (sql: Sql) => sql(...joinFragments([alert]))
  for (const look of [poolForecast, poolRows, poolWallets, overdue]) {
    const scans = await world.sql.begin(async (tx) => {
      // Where there is little, reading all of it is cheaper.
      await tx`set local enable_seqscan = off`
      const count = async () => {
        const [row] = await tx<{ seq: bigint; by_index: bigint }>`
          select pg_stat_get_xact_numscans('delegation'::regclass) as seq,
            (select sum(pg_stat_get_xact_numscans(indexrelid)) from pg_index
             where indrelid = 'delegation'::regclass)::bigint as by_index`
        return row!
      }
      const before = await count()
      await look(tx as unknown as Sql)
      const after = await count()
      return { seq: after.seq - before.seq, by_index: after.by_index - before.by_index }
    })
    assert.equal(scans.seq, 0n, look.name)
    assert.ok(scans.by_index > 0n, look.name)
  }
})
