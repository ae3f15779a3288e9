import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { makeMetrics } from '../../lib/metrics.ts'
import { ALERTS } from './alerts.ts'
import { METRICS, measureStep } from './metrics.ts'

test('what happened is measured: orders, checks, chain, pool, money and alerts', async (t) => {
  const world = await makeWorld(t)
  const measures = makeMetrics(METRICS, '')
  const step = measureStep({ sql: world.sql, clock: { now: () => world.now }, measures })
  const anna = await world.customer({ trx: 100 })
  await step.run()
  assert.match(measures.text(), /^balance_customers_sun 100000000$/m)
  assert.match(measures.text(), /^alert\{alert="chain_unknown"\} 0$/m)
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  world.wait(6)
  await step.run()
  assert.match(measures.text(), /^orders_open\{service="energy"\} 1$/m)
  assert.match(measures.text(), /^held_sun [1-9]\d*$/m)
  await world.settle()
  world.wait(6)
  await step.run()
  await step.run()
  const text = measures.text()
  assert.match(text, /^orders_total\{service="energy",outcome="success"\} 1$/m, 'once')
  assert.match(text, /^order_delivered_seconds_count\{service="energy"\} 1$/m)
  assert.match(text, /^held_sun 0$/m)
  assert.doesNotMatch(text, /^orders_open\{/m, 'what is not there any more is forgotten')
  for (const name of Object.keys(ALERTS))
    assert.match(text, new RegExp(`^alert\\{alert="${name}"\\} [01]$`, 'm'))
  for (const name of [
    'chain_head_number',
    'chain_solid_number',
    'pool_room_units',
    'wallet_transactions_left',
  ])
    assert.match(text, new RegExp(`^${name}(\\{.*\\})? \\d+$`, 'm'), name)
  assert.equal(step.readAt()?.getTime(), world.now.getTime())
  const { address } = world.person('bob', 1)
  for (const secret of [anna.token, anna.secret, address]) assert.ok(!text.includes(secret))
})

test('the guide has every metric', async () => {
  const guide = await readFile(
    new URL('../../../../../docs/operators/processes.md', import.meta.url),
    'utf8',
  )
  for (const name of Object.keys(METRICS)) assert.ok(guide.includes(`\`${name}\``), name)
})
