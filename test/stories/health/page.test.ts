// The status page: what it says, to whom, and what it keeps to itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Status } from 'penstock-service/health/status/report.ts'
import { StatusForm } from 'penstock-service/health/status/report.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { Errors } from 'typebox/schema'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

/** Time passes while an API and a worker are there and have nothing to do. */
async function live(world: World, seconds: number): Promise<void> {
  const idle = ['follow', 'confirm', 'attend', 'count_purchases', 'measure_minutes']
  const steps = [...world.app.steps, ...world.app.api_steps]
  for (let passed = 0; passed < seconds; passed += 3) {
    world.mine()
    await drain(steps.filter(({ name }) => idle.includes(name)))
  }
}

async function status(world: World): Promise<Status> {
  const answer = await world.api.inject({ method: 'GET', url: '/status.json' })
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['cache-control'], 'public, max-age=15')
  const found = answer.json<Status>()
  const [fits, errors] = Errors(StatusForm, found)
  assert.ok(fits, JSON.stringify(errors))
  return found
}

test('the status says what was measured, and what was not yet', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const nothing = await status(world)
  assert.deepEqual(
    nothing.parts.map(({ state }) => state),
    Array(5).fill('up'),
    'in its first minute nothing is known against it',
  )
  await live(world, 180)
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await live(world, 90)
  const { parts, latencies, begun_at, network } = await status(world)
  assert.deepEqual(
    parts.map(({ part, state }) => [part, state]),
    ['buying', 'delivering', 'deposits', 'screening', 'events'].map((part) => [part, 'up']),
  )
  assert.ok(begun_at !== null && network === 'private')
  const today = parts[1]!.days.at(-1)!
  const passed_ms = Math.floor(world.now.getTime() / 60_000) * 60_000 - Date.parse(begun_at)
  assert.equal(today.up + today.slow + today.down, passed_ms / 60_000, 'the last minute too')
  assert.equal(parts[1]!.days.length, 90)
  assert.deepEqual([parts[1]!.days[0]!.up, parts[1]!.days[0]!.down], [0, 0])
  const sent = latencies.find(({ latency }) => latency === 'order_sent')!
  assert.deepEqual([sent.today.samples, sent.today.failed], [1, 0])
  assert.equal(sent.days.at(-1)!.p95_ms, sent.today.p95_ms)
})

test('when nobody measures any more, that is an outage too', async (t) => {
  const world = await makeWorld(t)
  await live(world, 180)
  const before = (await status(world)).parts[2]!.days.at(-1)!
  world.wait(50 * 3_600)
  const { parts } = await status(world)
  const days = parts[2]!.days.slice(-3)
  const down = days.reduce((sum, day) => sum + day.down, 0)
  assert.ok(down - before.down >= 2_998 && down - before.down <= 3_001, String(down))
  assert.equal(days[1]!.down, 1_440, 'all of the day between')
  assert.equal(parts[2]!.state, 'down')
})

test('the operator hides the pool and prices, never outages; incidents are shown', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  await live(world, 180)
  const { pool, recharge, burning, incidents } = await status(world)
  const [energy] = pool!
  assert.equal(energy!.resource, 'energy')
  assert.ok(energy!.largest_order > 0 && energy!.largest_order % 100 === 0)
  assert.ok(recharge!.length > 0)
  assert.ok(Number(burning) > 0)
  const page = await world.api.inject({ method: 'GET', url: '/status?language=en' })
  assert.match(page.body, new RegExp(`Burning costs ${burning} TRX: the dashed line\\.`))
  const steps = /<path class="line" d="(M[\d.,]+(?:L[\d.,]+)+)"\/><path class="line second"/
  assert.equal(steps.exec(page.body)![1]!.split('L').length, 2 * recharge!.length + 1)
  assert.deepEqual(incidents, [])
  const words = ['Late', 'A node is away.', '--part', 'events', '--reason', 'secret reason']
  const posted = await operator.json<{ id: string }>('incidents', 'post', ...words)
  await operator.json('status-page', 'set', '--pool', 'hidden', '--prices', 'hidden')
  world.wait(16)
  const hidden = await status(world)
  assert.deepEqual([hidden.pool, hidden.recharge, hidden.burning], [null, null, null])
  assert.equal(hidden.parts.length, 5)
  assert.deepEqual(
    hidden.incidents.map(({ id, title, closed_at }) => [id, title, closed_at]),
    [[posted.id, 'Late', null]],
  )
  assert.doesNotMatch(JSON.stringify(hidden), /secret reason/)
  await operator.json('incidents', 'close', posted.id, 'It is back.')
  await operator.json('services', 'off', 'direct_recharge')
  await operator.json('status-page', 'set', '--prices', 'shown')
  world.wait(16)
  const after = await status(world)
  assert.equal(after.incidents[0]!.outcome, 'It is back.')
  assert.notEqual(after.incidents[0]!.closed_at, null)
  assert.equal(after.recharge, null, 'what is off sale has no rates')
})

test('however many ask, it is read once in fifteen seconds', async (t) => {
  const world = await makeWorld(t)
  await live(world, 120)
  const first = await status(world)
  world.wait(14)
  assert.equal((await status(world)).at, first.at)
  world.wait(2)
  assert.notEqual((await status(world)).at, first.at)
})

test('the page has the name, the colour, the help and the terms of the house', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const opened = async (url: string) => (await world.api.inject({ method: 'GET', url })).body
  assert.match(await opened('/status'), /<title>[^<]* · Penstock<\/title>/)
  const texts = ['--name', 'Example & Sons', '--support', 'help@example.com']
  const more = ['--accent', '#ffcc00', '--terms-url', 'https://example.com/terms']
  await operator.json('brand', 'set', ...texts, ...more)
  await world.advance(20)
  const page = await opened('/status')
  assert.match(page, /<title>[^<]* · Example &amp; Sons<\/title>/)
  assert.match(page, /<link rel="stylesheet" href="\/accent.css\?ffcc00">/)
  assert.match(page, /<footer class="house"><span>help@example.com<\/span> <a href="https:/)
})
