import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { ownTransaction } from 'penstock-test/harness/own_transaction.ts'
import { withRace } from 'penstock-test/harness/race.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { HOUSE, listEvents } from '../../events/log/events.ts'
import { seeAlert, watchAlertsStep } from './watch_alerts.ts'

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

test('a worker that looked before an alert was raised does not clear it', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = new Date('2026-01-01T12:00:00Z')
  const clock = { now: () => at }
  const other = watchAlertsStep({ sql, clock })
  const raised = async () => {
    await sql`update list set failing_since = ${at}, error = 'x' where code = 'ofac_sdn'`
    assert.equal(await other.run(), true)
    await sql.begin((tx) => seeAlert(tx, { alert: 'list_failing', by: 'anna', at }))
  }
  const step = watchAlertsStep({ sql: withRace(sql, raised), clock })
  assert.equal(await step.run(), true)
  const failing = () => sql`select alert, seen_by from alert where alert = 'list_failing'`
  assert.deepEqual(await failing(), [{ alert: 'list_failing', seen_by: 'anna' }])
  assert.deepEqual(await sql`select type from event_note where type = 'alert.cleared'`, [])
  assert.equal(await step.run(), false)
  await sql`update list set failing_since = null, error = null`
  assert.equal(await step.run(), true)
  assert.deepEqual(await failing(), [])
})

test('who says that an alert is seen, and who looks anew, do not stop each other', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const at = new Date('2026-01-01T12:00:00Z')
  const step = watchAlertsStep({ sql, clock: { now: () => at } })
  await sql`update list set failing_since = ${at}, error = 'x' where code = 'ofac_sdn'`
  assert.equal(await step.run(), true)
  await sql`update list set failing_since = null, error = null`
  const operator = await ownTransaction(t, url)
  await operator.query(`select from alert where alert = 'list_failing' for update`)
  const looks = step.run()
  await operator.waitedFor(looks)
  await operator.query(`update alert set seen_at = now(), seen_by = 'anna'`)
  await operator.commit()
  // It looks again at what was said meanwhile.
  assert.equal(await looks, true)
  await step.run()
  assert.deepEqual(await sql`select from alert where alert = 'list_failing'`, [])
})

test('an alert is seen by the first who says so, and no other alert with it', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = new Date('2026-01-01T12:00:00Z')
  const alerts = ['deposits_held', 'pool_short']
  await sql`
    insert into alert (alert, what, raised_at)
    select alert, 'x', ${at} from unnest(${alerts}::text[]) as a (alert)`
  const see = (alert: string, by: string) => sql.begin((tx) => seeAlert(tx, { alert, by, at }))
  const unseen = { seen_at: null, seen_by: null }
  const by_anna = { seen_at: at, seen_by: 'anna' }
  assert.deepEqual(await see('pool_short', 'anna'), { before: unseen, after: by_anna })
  assert.deepEqual(await see('pool_short', 'bob'), { before: by_anna, after: by_anna })
  assert.equal(await see('another', 'anna'), undefined)
  assert.deepEqual(await sql`select alert, seen_by from alert order by alert`, [
    { alert: 'deposits_held', seen_by: null },
    { alert: 'pool_short', seen_by: 'anna' },
  ])
})
