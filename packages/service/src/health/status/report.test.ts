// What is told of the service while the database does not answer.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { priceReader } from '../../market/prices/prices.ts'
import { brandReader } from '../../web/brand.ts'
import { statusReader } from './report.ts'

/** Readers on a database whose tables are locked by `hang`: as long as they are, readers have no
 *  patience, and otherwise all. */
async function makeReaders(t: TestContext) {
  const world = await makeWorld(t)
  const { sql } = world
  const clock = { now: () => world.now }
  let release = Promise.withResolvers<void>()
  let hangs = false
  let held = Promise.resolve()
  const wait = () => (hangs ? Promise.resolve() : new Promise<void>(() => {}))
  const needs = { sql, clock, wait }
  return {
    world,
    brand: brandReader(needs),
    status: statusReader({
      ...needs,
      prices: priceReader({ sql, clock }),
      network: async () => 'private',
      burnPrice: async () => undefined,
    }),
    async hang() {
      const locked = Promise.withResolvers<void>()
      release = Promise.withResolvers<void>()
      held = sql.begin(async (tx) => {
        await tx`lock table brand, status_page in access exclusive mode`
        locked.resolve()
        await release.promise
      })
      t.after(() => release.resolve())
      await locked.promise
      hangs = true
    },
    /** Whether somebody waits for what is locked: who was answered did not. */
    isAwaited() {
      return eventually('a reader that waits', async () => {
        const waiting = await sql`
          select 1 from pg_locks where not granted
            and database = (select oid from pg_database where datname = current_database())`
        return waiting.length > 0
      })
    },
    /** Time passes, and what the database answers comes in. */
    async pass() {
      world.wait(20)
      await setImmediate()
    },
    async goOn() {
      hangs = false
      release.resolve()
      await held
    },
  }
}

test('while the database hangs, pages have the name that was read last', async (t) => {
  const { world, brand, hang, isAwaited, pass, goOn } = await makeReaders(t)
  await world.sql`update brand set name = 'Example'`
  assert.equal((await brand()).name, 'Example')
  await world.sql`update brand set name = 'Other'`
  await hang()
  world.wait(10)
  assert.equal((await brand()).name, 'Example')
  assert.ok(await isAwaited())
  world.wait(10)
  assert.equal((await brand()).name, 'Example')
  await goOn()
  while ((await brand()).name !== 'Other') await pass()
})

test('while the database hangs, the status is what it was, and down after a minute', async (t) => {
  const { world, status, hang, isAwaited, goOn } = await makeReaders(t)
  const states = async () => new Set((await status()).parts.map(({ state }) => state))
  const before = await status()
  assert.deepEqual(await states(), new Set(['up']))
  await hang()
  world.wait(20)
  assert.deepEqual(await status(), before)
  assert.ok(await isAwaited())
  world.wait(50)
  assert.deepEqual(await states(), new Set(['down']))
  assert.deepEqual((await status()).pool, before.pool)
  assert.ok((await status()).at > before.at)
  await goOn()
  // No time passes: what was read is told as soon as it is there.
  await eventually('it is up again', async () => !(await states()).has('down'))
})
