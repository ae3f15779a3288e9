// What sending the same money around does to a score: under the policy that a new installation
// begins with, nothing; under the one before, which still answers as it did, much.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replayCheck } from 'penstock-service/screening/checks/replay.ts'
import {
  beginWithNewest,
  currentPolicy,
  publishPolicy,
  SHIPPED_NEWEST,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { freshDatabase } from '../../harness/database.ts'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningWorld,
  TRX,
} from '../../harness/screening_world.ts'

const publish = (world: ScreeningWorld, body: object) =>
  world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
  )

/** Stolen money that came by way of somebody and was passed on, and clean money of the same owner
 *  elsewhere. */
async function launderer(world: ScreeningWorld) {
  const [thief, exchange, mule, own, other, end] = [1, 2, 3, 4, 5, 6].map(() => world.person()) as [
    Person,
    Person,
    Person,
    Person,
    Person,
    Person,
  ]
  await world.publish('operator', [
    { address: thief.address, category: 'stolen_coins' },
    { address: exchange.address, category: 'exchange_licensed' },
  ])
  await world.settle()
  world.send(thief, mule, 30_000n * TRX)
  world.send(mule, own, 30_000n * TRX)
  world.send(own, end, 30_000n * TRX)
  world.send(exchange, other, 10_000n * TRX)
  await world.settle()
  return { own, other }
}

function sendAround(world: ScreeningWorld, { own, other }: Record<'own' | 'other', Person>) {
  world.send(other, own, 10_000n * TRX)
  world.send(own, other, 10_000n * TRX)
}

test('S4: ten thousand TRX sent to and fro three hundred times buy nothing', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const people = await launderer(world)
  const { address } = people.own
  const under = async (body: object) => {
    await publish(world, body)
    // A process follows a new policy within a second.
    world.now_ms += 2_000
    return world.ask({ customer_id, address })
  }
  sendAround(world, people)
  await world.settle()
  const once = await under(SHIPPED_NEWEST)
  assert.deepEqual([once.risk_score, once.risk_level], ['77.5', 'high'])
  for (let trip = 0; trip < 299; trip++) sendAround(world, people)
  await world.settle()
  const bought = await under(SHIPPED_POLICY)
  assert.ok(Number(bought.risk_score) < 32, `the first policy says ${bought.risk_score}`)
  const kept = await under(SHIPPED_NEWEST)
  assert.ok(Math.abs(Number(kept.risk_score) - Number(once.risk_score)) <= 1, kept.risk_score!)
  assert.equal(kept.risk_level, 'high')
  assert.deepEqual(kept.risk_factors, bought.risk_factors, 'factors are of all that was received')
  const facts = await world.evidence(kept.id)
  assert.equal(facts.engine, 'penstock 5')
  assert.equal(facts.counted.net_new.stolen_coins!.usd, '9000.00')
  for (const { id } of [once, bought, kept]) assert.equal((await replayCheck(world, id)).same, true)
  assert.equal((await world.evidence(bought.id)).engine, 'penstock 4')
})

test('a new installation begins with the newest policy, an older one keeps its own', async (t) => {
  const clock = { now: () => new Date('2026-11-26T00:00:00Z') }
  const { sql } = await freshDatabase(t)
  assert.deepEqual(
    [await beginWithNewest(sql, clock), await beginWithNewest(sql, clock)],
    [true, false],
  )
  const begun = await currentPolicy(sql)
  assert.deepEqual([begun.version, begun.name], [2, 'p2'])
  assert.deepEqual({ ...begun, version: 0 }, { ...SHIPPED_NEWEST, version: 0 })

  const world = await makeScreeningWorld(t)
  await world.settle()
  assert.equal(await beginWithNewest(world.sql, clock), false)
  assert.deepEqual(await currentPolicy(world.sql), SHIPPED_POLICY)
  await publish(world, SHIPPED_NEWEST)
  assert.equal((await currentPolicy(world.sql)).name, 'p2', 'its operator switches')
})
