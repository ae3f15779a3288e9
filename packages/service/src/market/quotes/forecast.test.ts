// What customers see of the pool, and what the operator offers, on rows written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Fault } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { readPrices } from '../prices/prices.ts'
import { forecastRoute, largestOrders } from './forecast.ts'
import { changeOffer, readOffer } from './offer.ts'

const head_time = new Date('2026-10-08T14:20:00Z')

const startChain = (sql: Sql) => sql`
  insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
  values (1, 'a', ${head_time}, 1, 1, ${head_time})`

type Forecast = {
  at: string
  now: { room: number; largest_order: number }
  points: { at: string }[]
}

async function ask(sql: Sql, hours: number, resource = 'energy'): Promise<Forecast> {
  const endpoint = forecastRoute({ sql, prices: () => readPrices(sql) })
  return (await endpoint.handle({ body: { resource, hours } } as never)) as Forecast
}

test('a forecast has a point each 5 minutes of one hour, 15 of six, and 60 of more', async (t) => {
  const { sql } = await freshDatabase(t)
  await startChain(sql)
  const rows: [hours: number, points: number, minutes: number][] = [
    [1, 12, 5],
    [2, 8, 15],
    [6, 24, 15],
    [7, 7, 60],
    [24, 24, 60],
  ]
  for (const [hours, points, minutes] of rows) {
    const found = await ask(sql, hours)
    const times = [found.at, ...found.points.map(({ at }) => at)].map((at) => Date.parse(at))
    const wanted = Array.from({ length: points + 1 }, (_, i) => i * minutes * 60_000)
    assert.deepEqual(
      times.map((time) => time - head_time.getTime()),
      wanted,
      `${hours} hours`,
    )
  }
})

test('an order is no larger than a tier of its own resource, or than what is free', async (t) => {
  const { sql } = await freshDatabase(t)
  await startChain(sql)
  const rows: [room: number, reserved: number, energy: number, bandwidth: number][] = [
    [50_999, 0, 50_000, 50_000],
    [50_999, 1_000, 49_000, 49_000],
    [9_000_000, 0, 3_000_000, 100_000],
    [10, 11, 0, 0],
  ]
  for (const [room, reserved, ...largest] of rows) {
    await sql`update pool set room = ${room}, reserved = ${reserved}`
    const found = await largestOrders(sql, await readPrices(sql))
    assert.deepEqual(found, [
      { resource: 'energy', largest_order: largest[0] },
      { resource: 'bandwidth', largest_order: largest[1] },
    ])
    for (const [i, resource] of ['energy', 'bandwidth'].entries())
      assert.equal((await ask(sql, 1, resource)).now.largest_order, largest[i])
  }
  await sql`update price set until = now() where resource = 'energy'`
  await sql`update pool set room = 500, reserved = 0`
  const left = (await largestOrders(sql, await readPrices(sql))).map((one) => one.largest_order)
  assert.deepEqual(left, [0, 500])
})

test('no forecast is given of a pool that was not looked at, or that is hidden', async (t) => {
  const { sql } = await freshDatabase(t)
  const refused = (key: string) => (thrown: unknown) =>
    thrown instanceof Fault && thrown.key === key
  await assert.rejects(ask(sql, 1), refused('service_unavailable'))
  await startChain(sql)
  assert.equal((await ask(sql, 1)).points.length, 12)
  await sql`update offer set forecast_shown = false`
  await assert.rejects(ask(sql, 1), refused('service_unavailable.forecast'))
})

test('an offer is changed by what is given of it, and the same again is no change', async (t) => {
  const { sql } = await freshDatabase(t)
  const change = (given: Parameters<typeof changeOffer>[1]) =>
    sql.begin((tx) => changeOffer(tx, given))
  const shipped = { quote_seconds_max: 300, forecast_shown: true }
  const rows: [given: Parameters<typeof changeOffer>[1], after: typeof shipped][] = [
    [{ quote_seconds_max: 60 }, { quote_seconds_max: 60, forecast_shown: true }],
    [{ forecast_shown: false }, { quote_seconds_max: 60, forecast_shown: false }],
    [shipped, shipped],
  ]
  let before = shipped
  for (const [given, after] of rows) {
    const actions = [{ subject: 'offer', before, after }]
    assert.deepEqual(await change(given), { result: after, actions })
    assert.deepEqual(await readOffer(sql), after)
    assert.deepEqual(await change(given), { result: after, actions: [] })
    before = after
  }
  assert.deepEqual(await change({}), { result: shipped, actions: [] })
})
