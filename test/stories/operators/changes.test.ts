// What operators change, as customers and the house are told of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Errors } from 'typebox/schema'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type LoggedEvent = { type: string; subject: string; data: Record<string, unknown> }

/** What was told to a customer or to the house, oldest first; each fits the schema of its kind. */
async function told(world: World, customer_id: string): Promise<LoggedEvent[]> {
  await world.drain()
  const events = await world.sql<{ type: string; subject: string; data: string }>`
    select type, subject, data from event where customer_id = ${customer_id} order by number`
  return events.map(({ type, subject, data: text }) => {
    const data = JSON.parse(text) as LoggedEvent['data']
    const [fits, errors] = Errors(world.app.kinds.find((one) => one.type === type)!.data, data)
    assert.ok(fits, `${type} ${JSON.stringify(errors)}`)
    return { type, subject, data }
  })
}

test('prices and what is on sale: told to every customer but the closed', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const [anna, bert, zoe] = [await world.customer(), await world.customer(), await world.customer()]
  await json('customers', 'suspend', bert.id, '--reason', 'asked for')
  await json('customers', 'close', zoe.id, '--reason', 'asked for')
  await json('prices', 'set', 'bandwidth', '300-100000=0.8')
  await json('prices', 'set', 'bandwidth', '300-100000=0.8')
  await json('fees', 'set', 'activate_address', '1.3')
  await json('services', 'off', 'energy', 'bandwidth')
  await json('services', 'off', 'energy')
  await json('services', 'on', 'energy')
  const ours = (events: LoggedEvent[]) =>
    events.filter(({ type }) => /^(price|service)\./.test(type))
  const seen = ours(await told(world, anna.id))
  assert.deepEqual(
    seen.map(({ type, subject }) => [type, subject]),
    [
      ['price.changed', 'price:bandwidth'],
      ['price.changed', 'price:activate_address'],
      ['service.off', 'services'],
      ['service.on', 'services'],
    ],
  )
  const [bandwidth, fee, off, on] = seen.map(({ data }) => data)
  const { tiers } = await anna.get<{ tiers: { resource: string; until: string | null }[] }>(
    '/v1/prices/history',
    { resource: 'bandwidth' },
  )
  const in_force = tiers
    .filter(({ until }) => until === null)
    .map(({ resource: _, since: _since, until: _until, ...tier }: Record<string, unknown>) => tier)
  const least = (tier: Record<string, unknown>) => Number(tier.min_amount)
  assert.deepEqual(
    bandwidth!.tiers,
    in_force.toSorted((a, b) => least(a) - least(b)),
  )
  assert.equal(fee!.price, 1.3)
  assert.deepEqual(off, { services: ['bandwidth', 'energy'] })
  assert.deepEqual(on, { services: ['energy'] })
  assert.deepEqual(ours(await told(world, bert.id)), seen)
  assert.deepEqual(ours(await told(world, zoe.id)), [])
})

test('the house is told of every customer that is made, and of every record', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const anna = await world.customer()
  await json('services', 'off', 'energy', '--reason', 'maintenance')
  const events = await told(world, 'house')
  const made = events.filter(({ type }) => type === 'customer.created')
  assert.deepEqual(
    made.map(({ subject, data }) => [subject, data.id, data.deposit_address]),
    [[`customer:${anna.id}`, anna.id, anna.deposit_address]],
  )
  const actions = await json<{ number: number; action: string }[]>('actions', 'list')
  const recorded = events.filter(({ type }) => type === 'action.made')
  assert.deepEqual(
    recorded.map(({ data }) => [data.number, data.action]),
    actions.toReversed().map(({ number, action }) => [number, action]),
  )
  assert.deepEqual(recorded.at(-1)!.data.after, { on_sale: false })
  assert.equal(recorded.at(-1)!.data.reason, 'maintenance')
})
