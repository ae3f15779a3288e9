import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { makeMetrics } from '../../lib/metrics.ts'
import { ALERTS } from './alerts.ts'
import { METRICS, namesShown, readMeasures, totalsOf } from './measures.ts'
import { measureStep } from './metrics.ts'

test('what happened is measured: orders, checks, chain, pool, money and alerts', async (t) => {
  const world = await makeWorld(t, { watches_books: true })
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

test('whoever shows a measure shows the same, and each can be read', async (t) => {
  const world = await makeWorld(t, { watches_books: true })
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.sql`
    update books_check set checked_at = ${new Date(world.now.getTime() - 7_500)}`
  const names = [...new Set((['metrics', 'status', 'now'] as const).flatMap(namesShown))]
  const readings = await readMeasures(world.sql, { names, now: world.now })
  const totals = totalsOf(readings, ['orders_open', 'customers', 'deposits_held'])
  assert.deepEqual(totals, { orders_open: 1n, customers: 1n, deposits_held: 0n })
  const age = readings.find(({ name }) => name === 'books_checked_age_seconds')
  assert.deepEqual([age?.value, age?.labels], [7.5, {}])
  const open = readings.find(({ name }) => name === 'orders_open')
  assert.deepEqual(open?.labels, { service: 'energy' })
  // Nothing is asked for yet, nothing was ever backed up, and nothing is found in the books.
  const read = new Set(readings.map(({ name }) => name))
  assert.deepEqual(
    names.filter((name) => !read.has(name)),
    ['attempts_open', 'backup_age_seconds', 'restore_drill_age_seconds', 'books_findings'],
  )
})
