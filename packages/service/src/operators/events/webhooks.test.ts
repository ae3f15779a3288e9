// Operators' hands on webhooks: those of customers, and those of the house.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worldOperator } from 'penstock-test/harness/operator.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { watchAlertsStep } from '../../health/monitoring/watch_alerts.ts'

type Row = { id: string; state: string; reason: string | null; due: number }

test('a network that is allowed for one customer is allowed for nobody else', async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const customer = () => world.customer({ scopes: ['read', 'webhooks'] })
  const [anna, bert] = [await customer(), await customer()]
  const make = async (who: typeof anna) =>
    (await who.call('/v1/webhook/new', { url: 'http://10.1.2.3:3000/hook' })).key
  assert.equal(await make(anna), 'url_refused.scheme')
  const said = async (word: string) => {
    const { out, err } = await type('webhooks', word, anna.id, '10.1.0.0/16')
    return `${out}${err}`
  }
  assert.match(await said('allow'), /In force with the next call\./)
  assert.match(await said('allow'), /No change\./)
  assert.deepEqual(await json('webhooks', 'networks', anna.id), [{ network: '10.1.0.0/16' }])
  assert.equal(await make(anna), undefined)
  assert.equal(await make(bert), 'url_refused.scheme')
  assert.match(await said('deny'), /In force with the next call\./)
  assert.match(await said('deny'), /No change\./)
  assert.equal(await make(anna), 'url_refused.scheme')
  // The record has what changed something.
  const recorded = await world.sql<{ after: unknown }>`
    select after from operator_action where subject = ${`webhook_network:${anna.id}`}
    order by number`
  assert.deepEqual(
    recorded.map(({ after }) => after),
    [true, false].map((allowed) => ({ network: '10.1.0.0/16', allowed })),
  )
  for (const [words, said] of [
    [['allow', anna.id, 'all'], /^all is neither an address nor a network\./],
    [['allow', 'nobody', '10.1.0.0/16'], /^There is no customer nobody\./],
    [['show', 'nothing'], /^There is no webhook nothing\./],
    [['add', 'http://10.1.2.3/'], /^Only https is called\./],
    [['add', 'https://ops.example/', '--type', 'order.created'], /--type order\.created: it is/],
  ] as const) {
    const { code, err } = await type('webhooks', ...words)
    assert.ok(code > 0, words.join(' '))
    assert.match(err, said)
  }
})

test("an operator disables a customer's webhook, says why, and enables it again", async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const anna = await world.customer({ trx: 100, scopes: ['read', 'buy', 'webhooks'] })
  const made = await anna.call('/v1/webhook/new', { url: 'https://shop.example/' })
  const { id } = (made.result as { webhook: Row }).webhook
  assert.equal((await type('webhooks', 'disable', id)).code, 2, 'without a reason')
  await json('webhooks', 'disable', id, '--reason', 'it floods a third party')
  const seen = await anna.get<Row>('/v1/webhook/check', { id })
  assert.deepEqual([seen.state, seen.reason], ['disabled', 'it floods a third party'])
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  assert.equal(world.called.length, 0)
  await json('webhooks', 'enable', id)
  await world.drain()
  const types = world.called.map(({ body }) => (JSON.parse(body) as { type: string }).type)
  assert.deepEqual(types.toSorted(), ['order.created', 'webhook.disabled', 'webhook.enabled'])
  const actions = await json<{ action: string }[]>('actions', 'list', '--subject', `webhook:${id}`)
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['webhooks enable', 'webhooks disable'],
  )
})

test('the house is told of alerts, records and customers, and nothing of theirs', async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const made = await json<{ id: string; secret: string }>('webhooks', 'add', 'https://ops.example/')
  assert.match(made.secret, /^whsec_/)
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  const told = () =>
    world.called.map(({ body }) => JSON.parse(body) as { type: string; subject: string })
  assert.deepEqual(
    told().map(({ type: of_type }) => of_type),
    ['action.made', 'customer.created'],
  )
  await json('signer', 'stop')
  const step = watchAlertsStep({ sql: world.sql, clock: { now: () => world.now } })
  await step.run()
  await world.drain()
  await json('signer', 'go')
  await step.run()
  await world.drain()
  assert.deepEqual(
    told()
      .filter(({ subject }) => subject === 'alert:signing_stopped')
      .map(({ type: of_type }) => of_type),
    ['alert.raised', 'alert.cleared'],
  )
  const of_house = world.app.kinds.filter(({ scope }) => scope === 'house')
  const types = of_house.flatMap((kind) => ['--type', kind.type])
  await json('webhooks', 'add', 'https://types.example/', ...types)
  const rotated = await json<{ secret: string }>('webhooks', 'rotate', made.id)
  assert.notEqual(rotated.secret, made.secret)
  const theirs = await world.customer({ scopes: ['webhooks'] })
  const hook = await theirs.call('/v1/webhook/new', { url: 'https://shop.example/' })
  const { id } = (hook.result as { webhook: Row }).webhook
  assert.match((await type('webhooks', 'rotate', id)).err, /only its owner may see its secret/)
})

test('sealed again with another key, webhooks are signed as before', async (t) => {
  const world = await makeWorld(t)
  const { json, io } = await worldOperator(world)
  const anna = await world.customer({ trx: 100, scopes: ['read', 'buy', 'webhooks'] })
  await anna.call('/v1/webhook/new', { url: 'https://shop.example/' })
  const old_key = io.env.PENSTOCK_SECRET_KEY!
  io.env.PENSTOCK_SECRET_KEY = `k2:${'08'.repeat(32)},${old_key}`
  const [before] = await world.sql<{ sealed_secret: string }>`
    select sealed_secret from webhook_secret`
  // The secrets of the key and of the webhook, and the key that signs receipts.
  assert.deepEqual(await json('keys', 'reseal'), { resealed: 3 })
  const [after] = await world.sql<{ sealed_secret: string }>`
    select sealed_secret from webhook_secret`
  assert.notEqual(after!.sealed_secret, before!.sealed_secret)
  assert.ok(after!.sealed_secret.startsWith('k2.'))
})
