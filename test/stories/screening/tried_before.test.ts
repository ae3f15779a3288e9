// Attempts on the engine that once worked, where no other story has them: one operator who
// lets an address pass for good, money that goes through a service that nobody has named, and a
// list that is published while many blocks wait.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replayCheck } from 'penstock-service/screening/checks/replay.ts'
import { publishPolicy, SHIPPED_NEWEST } from 'penstock-service/screening/engine/policy.ts'
import type { Address } from 'penstock-tron/address.ts'
import { publishLabels } from '../../harness/labels.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeScreeningWorld } from '../../harness/screening_world.ts'
import { type Customer, makeWorld, TRX, type World } from '../../harness/world.ts'

const ADDRESS_CHECK = { type: 'address', network: 'TRX' } as const

/** The answer for an address, when it is there. */
async function ask(world: World, customer: Customer, address: Address) {
  const { result } = await customer.call('/v1/aml-checks/new', { ...ADDRESS_CHECK, address })
  await world.drain()
  const { id } = result as { id: string }
  const check = await customer.get<{ risk_score: string; risk_level: string }>(
    '/v1/aml-checks/check',
    { id },
  )
  return { id, score: check.risk_score, level: check.risk_level }
}

test('S7: nobody alone lets an address pass, and not for what comes later', async (t) => {
  const world = await makeWorld(t)
  const at = await worldOperator(world)
  const anna = await world.customer({ trx: 1_000 })
  const [thief, other] = [world.person('thief', 100_000), world.person('other', 100_000)]
  const shop = world.person('shop', 10)
  await publishLabels(world.sql, [{ address: thief.address, category: 'stolen_coins' }], {
    at: world.now,
  })
  world.pay(shop.address, 900n * TRX, thief)
  world.pay(shop.address, 9_100n * TRX, other)
  await world.solidify()
  const first = await ask(world, anna, shop.address)
  assert.deepEqual([first.score, first.level], ['75.0', 'high'])
  await at.json('aml', 'reviews', 'decide', first.id, 'leave', '--reason', 'we ask them')
  await at.json('approvals', 'set', 'name', '--from', '100', '--by', 'olga', '--reason', 'two')
  const allow = ['aml', 'allow', shop.address, 'known', '--customer', anna.id, '--by', 'olga']
  const alone = await at.type(...allow)
  assert.notEqual(alone.code, 0)
  const proposal = alone.err.match(/approvals allow (\S+?)\. /)?.[1] ?? assert.fail(alone.err)
  assert.notEqual((await at.type('approvals', 'allow', proposal, '--by', 'olga')).code, 0)
  assert.equal((await ask(world, anna, shop.address)).level, 'high', 'nothing is allowed yet')
  await at.json('approvals', 'allow', proposal, '--by', 'bea')
  const entry = await at.json<{ made_at: string; expires_at: string }>(...allow)
  assert.equal(Date.parse(entry.expires_at) - Date.parse(entry.made_at), 90 * 86_400_000)
  const open = async () =>
    (await at.json<{ check_id: string }[]>('aml', 'reviews', 'list', '--state', 'open')).map(
      ({ check_id }) => check_id,
    )
  assert.equal((await ask(world, anna, shop.address)).level, 'medium')
  assert.deepEqual(await open(), [], 'what was seen when it was allowed')
  // From 9 % to nearly half.
  world.pay(shop.address, 8_000n * TRX, thief)
  await world.solidify()
  const more = await ask(world, anna, shop.address)
  assert.equal(more.level, 'medium', 'it is allowed still')
  assert.deepEqual(await open(), [more.id], 'and waits for a person again')
  await at.json('aml', 'reviews', 'decide', more.id, 'leave', '--reason', 'we ask again')
  await ask(world, anna, shop.address)
  assert.deepEqual(await open(), [], 'once for each growth')
})

test('S9: money of a thief through a service that nobody has named stays dirty', async (t) => {
  const world = await makeScreeningWorld(t, { hub_counterparties: 5 })
  const customer_id = await world.customer()
  const [hub, thief, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  world.send(thief, hub, 20_000n * TRX)
  for (let i = 0; i < 6; i++) world.send(hub, world.person(), 10n * TRX)
  world.send(hub, end, 10_000n * TRX)
  await world.settle()
  const publish = async (body: object) => {
    await world.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
    )
    world.now_ms += 2_000
    await world.settle()
  }
  assert.equal((await world.ask({ customer_id, address: end.address })).risk_score, '100.0')
  await publish({ ...SHIPPED_NEWEST, index_rules: 2 })
  const before = await world.ask({ customer_id, address: end.address })
  assert.deepEqual([before.risk_score, before.risk_level], ['40.0', 'medium'])
  await publish(SHIPPED_NEWEST)
  const after = await world.ask({ customer_id, address: end.address })
  assert.equal(after.risk_level, 'high')
  assert.deepEqual(
    after.risk_factors.map(({ name, score }) => [name, score]),
    [
      ['stolen_coins', 0.51],
      ['unidentified_service', 0.49],
    ],
  )
  for (const { id } of [before, after]) assert.ok((await replayCheck(world, id)).same)
})

test('S10: a list that is published while many blocks wait fails no check', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const { steps, generations, place } = world.process
  const stepOf = (name: string) => steps.find((step) => step.name === name)!
  const [thief, end] = [world.person(), world.person()]
  world.send(thief, end, 10n * TRX)
  world.mine(1_500)
  await world.settle()
  const used = generations.current()!.number
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  // Blocks of 630 seconds, of which the index gets one run for each ten.
  for (let i = 0; i < 21; i++) {
    world.mine(10)
    for (const name of ['follow', 'record']) while (await stepOf(name).run());
    await stepOf('index').run()
    const { check } = await place({
      ...ADDRESS_CHECK,
      customer_id,
      idempotency_key: null,
      address: end.address,
      hash: null,
      direction: null,
    })
    await stepOf('screen').run()
    const { state, generation } = await world.check(check.id)
    assert.deepEqual([state, generation], ['completed', used], `run ${i}`)
  }
  await world.drain()
  assert.notEqual(generations.current()!.number, used)
  const after = await world.ask({ customer_id, address: end.address })
  assert.equal(after.risk_level, 'high')
})
