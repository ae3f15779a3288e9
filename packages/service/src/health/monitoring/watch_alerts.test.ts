import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { HOUSE, listEvents } from '../../events/log/events.ts'
import { watchAlertsStep } from './watch_alerts.ts'

test('an alert is told once when it is raised and once when it is cleared', async (t) => {
  const world = await makeWorld(t)
  const { sql } = world
  const clock = { now: () => world.now }
  // Two workers look.
  const steps = [watchAlertsStep({ sql, clock }), watchAlertsStep({ sql, clock })]
  const told = async () => {
    await Promise.all(steps.map((step) => step.run()))
    await world.drain()
    const events = await listEvents(sql, { customer_id: HOUSE, after: 0n, limit: 100 })
    return events
      .filter(({ subject }) => subject === 'alert:webhooks_failing')
      .map(({ type, data }) => [type, (JSON.parse(data) as { what: string }).what])
  }
  assert.deepEqual(await told(), [])
  const anna = await world.customer({ trx: 100, scopes: ['read', 'buy', 'webhooks'] })
  const made = await anna.call('/v1/webhook/new', { url: 'https://shop.example/' })
  const { id } = (made.result as { webhook: { id: string } }).webhook
  world.hook = () => ({ status: 410 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  const what = `webhooks that are not called any more, or fail for an hour: 1, the first ${id}`
  assert.deepEqual(await told(), [['alert.raised', what]])
  assert.deepEqual(await told(), [['alert.raised', what]])
  await anna.call('/v1/webhook/change', { id, state: 'on' })
  assert.deepEqual(await told(), [
    ['alert.raised', what],
    ['alert.cleared', what],
  ])
})
