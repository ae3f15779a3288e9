import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sender, sendTokens } from 'penstock-test/harness/subscribers.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { poolForecast, poolRows } from './figures.ts'

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
