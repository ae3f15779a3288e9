// What the status page draws and says of what was measured, as the text of its document.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS_MS, FAILED } from 'penstock-service/health/uptime/histograms.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

const DAY_MS = 86_400_000
const dayAt = ({ now }: World, days_ago: number): Date =>
  new Date((Math.floor(now.getTime() / DAY_MS) - days_ago) * DAY_MS)

/** Something was measured on a day. */
async function measured(world: World, metric: string, counts: number[], days_ago = 0) {
  await world.sql`
    insert into metric (span, at, metric, counts)
    values ('day', ${dayAt(world, days_ago)}, ${metric}, ${counts})`
}

/** Samples below these bounds; without one: what failed. */
const samples = (...bounds: (number | undefined)[]): number[] =>
  Array.from(
    { length: FAILED + 1 },
    (_, i) => bounds.filter((one) => BOUNDS_MS[i] === one && (one || i === FAILED)).length,
  )

/** The part of the page that has this heading. */
async function article(world: World, heading: string): Promise<string> {
  const url = '/status?language=en'
  const { body } = await world.api.inject({ method: 'GET', url })
  const found = body.split('<article>').find((text) => text.includes(`<h3>${heading}</h3>`))
  return found!.slice(0, found!.indexOf('</article>'))
}

const countOf = (text: string, part: RegExp): number => text.match(part)?.length ?? 0

type Answer = { recharge: object[]; latencies: { latency: string; today: object }[] }
const statusOf = async (world: World): Promise<Answer> =>
  (await world.api.inject({ method: 'GET', url: '/status.json' })).json()

test('what was not measured today is said with the day on which it was last', async (t) => {
  const world = await makeWorld(t)
  await measured(world, 'order_sent', samples(300, 300, 500), 2)
  await measured(world, 'purchase', samples(300))
  const day = dayAt(world, 2).toISOString().slice(0, 10)
  const sentence = `Last on ${day}: median under 300 ms, p95 under 500 ms, p99 under 500 ms.`
  assert.ok((await article(world, 'Order to broadcast')).includes(sentence))
  assert.match(await article(world, 'Purchase call'), /Today: median under 300 ms/)
  assert.match(await article(world, 'Screening check'), /No data in 90 days\./)
})

test('a percentile is the bound above its samples, and none where that many failed', async (t) => {
  const world = await makeWorld(t)
  await measured(world, 'purchase', samples(100, 100, 300, undefined))
  const { latencies } = await statusOf(world)
  const { buckets: _, ...today } = latencies.find(({ latency }) => latency === 'purchase')!
    .today as { buckets: unknown }
  assert.deepEqual(today, { samples: 4, failed: 1, p50_ms: 100, p95_ms: null, p99_ms: null })
})

test('a day alone is drawn as dashes, several days are drawn as lines alone', async (t) => {
  const world = await makeWorld(t)
  await measured(world, 'order_sent', samples(300, 500), 1)
  await measured(world, 'purchase', samples(300, 500), 1)
  await measured(world, 'purchase', samples(300, 500))
  const dash = /<path class="line[a-z ]*" d="M[\d.]+,[\d.]+h12"\/>/g
  assert.equal(countOf(await article(world, 'Order to broadcast'), dash), 3)
  assert.equal(countOf(await article(world, 'Purchase call'), dash), 0)
})

test('a duration that nothing took has no bar, but stands in the table', async (t) => {
  const world = await makeWorld(t)
  const [first, , third] = BOUNDS_MS
  await measured(world, 'purchase', samples(first, first, third))
  const text = await article(world, 'Purchase call')
  assert.equal(countOf(text, /<rect class="bar"/g), 2)
  assert.match(text, /<th scope="row">under 10 ms<\/th><td>0<\/td>/)
})

test('a part has a table of its days as soon as one of them was measured', async (t) => {
  const world = await makeWorld(t)
  await measured(world, 'state_events', [1_430, 6, 4])
  const cells = '<td>1,430</td><td>6</td><td>4</td>'
  assert.ok((await article(world, 'Events and webhooks')).includes(cells))
  const without = await article(world, 'Screening')
  assert.match(without, /No data yet/)
  assert.doesNotMatch(without, /<table>/)
})

test('the rates of a recharge are those of energy, and of nothing else', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const prices = await operator.json<Record<string, unknown>[]>('prices', 'list')
  const amounts = (resource: string) =>
    prices
      .filter((one) => one.resource === resource)
      .map(({ min_amount, max_amount }) => [min_amount, max_amount])
  assert.ok(amounts('bandwidth').length > 0)
  const { recharge } = await statusOf(world)
  const shown = recharge.map((one) => Object.values(one).slice(0, 2))
  assert.deepEqual(shown.sort(), amounts('energy').sort())
})
