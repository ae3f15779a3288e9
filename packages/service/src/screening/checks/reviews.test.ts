import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningWorld,
  TRX,
} from 'penstock-test/harness/screening_world.ts'
import { publishPolicy, SHIPPED_POLICY } from '../engine/policy.ts'
import { findEntry, withdrawEntry } from '../labels/entries.ts'
import { type Decision, decideReview, listReviews, showReview } from './reviews.ts'

/** Somebody a tenth of whose money is from a thief: a floor makes that 75.0, and the mean 32.5. */
async function tainted(world: ScreeningWorld): Promise<Person> {
  const [thief, other, shop] = [world.person(), world.person(), world.person()]
  world.send(thief, shop, 1_000n * TRX)
  world.send(other, shop, 9_000n * TRX)
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.settle()
  return shop
}

function decide(world: ScreeningWorld, check_id: string, decision: Decision) {
  const at = world.clock.now()
  const deciding = { check_id, decision, reason: 'we know them', by: 'olga', at }
  return world.sql.begin((tx) => decideReview(tx, world, deciding))
}

async function told(world: ScreeningWorld, type: string): Promise<Record<string, unknown>[]> {
  const notes = await world.sql<{ data: string }>`
    select data from event_note where type = ${type} order by id`
  return notes.map(({ data }) => JSON.parse(data) as Record<string, unknown>)
}

test('a high answer is given at once, and waits once for each customer', async (t) => {
  const world = await makeScreeningWorld(t)
  const [anna, bert] = [await world.customer(), await world.customer()]
  const shop = await tainted(world)
  const check = await world.ask({ customer_id: anna, address: shop.address })
  assert.deepEqual([check.state, check.risk_score, check.risk_level], ['completed', '75.0', 'high'])
  await world.ask({ customer_id: anna, address: shop.address })
  await world.ask({ customer_id: anna, address: world.person().address })
  const other = await world.ask({ customer_id: bert, address: shop.address })
  const open = await listReviews(world.sql, { state: 'open', limit: 10 })
  assert.deepEqual(
    open.map(({ check_id, customer_id, address, risk_score }) => [
      ...[check_id, customer_id, address, risk_score],
    ]),
    [
      [other.id, bert, shop.address, '75.0'],
      [check.id, anna, shop.address, '75.0'],
    ],
  )
  assert.deepEqual(
    (await told(world, 'review.opened')).map(({ check_id, risk_score, blacklist }) => [
      ...[check_id, risk_score, blacklist],
    ]),
    [
      [check.id, '75.0', false],
      [other.id, '75.0', false],
    ],
  )
  const owners = await world.sql`
    select distinct customer_id from event_note where type = 'review.opened'`
  assert.deepEqual(owners, [{ customer_id: 'house' }])
  const next = await listReviews(world.sql, { before: other.id, limit: 10 })
  assert.deepEqual(
    next.map(({ check_id }) => check_id),
    [check.id],
  )
})

test('to allow asks again for this customer, and the answer before stays as it was', async (t) => {
  const world = await makeScreeningWorld(t)
  const [anna, bert] = [await world.customer(), await world.customer()]
  const shop = await tainted(world)
  const check = await world.ask({ customer_id: anna, address: shop.address })
  const { after } = await decide(world, check.id, 'allow')
  await world.drain()
  assert.deepEqual(await world.check(check.id), check)
  const next = await world.check(after.next_check_id!)
  assert.deepEqual(
    [next.state, next.risk_score, next.risk_level, next.supersedes, next.price_sun],
    ['completed', '32.5', 'medium', check.id, 0n],
  )
  const [changed] = await told(world, 'aml_watch.changed')
  assert.deepEqual([changed!.risk_level, changed!.level_before], ['medium', 'high'])
  const entry = (await findEntry(world.sql, after.entry_id!))!
  assert.deepEqual(
    [entry.customer_id, entry.address, entry.kind, entry.reason, entry.made_by],
    [anna, shop.address, 'allow', 'we know them', 'olga'],
  )
  const foreign = await world.ask({ customer_id: bert, address: shop.address })
  assert.equal(foreign.risk_score, '75.0')
  const { state, decision, evidence } = await showReview(world.sql, check.id)
  assert.deepEqual([state, decision], ['decided', 'allow'])
  assert.equal((evidence as { result: { risk_score: string } }).result.risk_score, '75.0')
  await assert.rejects(decide(world, check.id, 'deny'), /olga has decided it already: allow/)
  await assert.rejects(decide(world, next.id, 'deny'), /There is no review of check/)
})

test('what was denied does not wait again until the entry is withdrawn', async (t) => {
  const world = await makeScreeningWorld(t)
  const anna = await world.customer()
  const shop = await tainted(world)
  const check = await world.ask({ customer_id: anna, address: shop.address })
  const { after } = await decide(world, check.id, 'deny')
  await world.drain()
  const next = await world.check(after.next_check_id!)
  assert.deepEqual([next.risk_score, next.blacklist], ['100.0', true])
  assert.equal((await listReviews(world.sql, { state: 'open', limit: 10 })).length, 0)
  const at = world.clock.now()
  await world.sql.begin((tx) => withdrawEntry(tx, { id: after.entry_id!, customer_id: anna, at }))
  world.mine()
  await world.publish('operator', [{ address: shop.address, category: 'scam' }])
  await world.settle()
  const worse = await world.ask({ customer_id: anna, address: shop.address })
  assert.equal(worse.risk_score, '100.0')
  const open = await listReviews(world.sql, { state: 'open', limit: 10 })
  assert.deepEqual(
    open.map(({ check_id }) => check_id),
    [worse.id],
  )
  const { earlier } = await showReview(world.sql, worse.id)
  assert.deepEqual(
    earlier.map(({ check_id, decision }) => [check_id, decision]),
    [[check.id, 'deny']],
  )
})

test('what is left as it is waits again only for a worse answer', async (t) => {
  const world = await makeScreeningWorld(t)
  const anna = await world.customer()
  const shop = await tainted(world)
  const check = await world.ask({ customer_id: anna, address: shop.address })
  const { after } = await decide(world, check.id, 'leave')
  assert.deepEqual([after.entry_id, after.next_check_id], [null, null])
  const same = await world.ask({ customer_id: anna, address: shop.address })
  assert.equal(same.risk_score, '75.0')
  assert.equal((await listReviews(world.sql, { state: 'open', limit: 10 })).length, 0)
  await world.publish('operator', [{ address: shop.address, category: 'scam' }])
  await world.settle()
  await world.ask({ customer_id: anna, address: shop.address })
  assert.equal((await listReviews(world.sql, { state: 'open', limit: 10 })).length, 1)
})

test('of a transaction the counterparty waits, and the same is asked again', async (t) => {
  const world = await makeScreeningWorld(t)
  const anna = await world.customer()
  const [thief, ours] = [world.person(), world.person()]
  const hash = world.send(thief, ours, 1_000n * TRX)
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.settle()
  const asked = { type: 'hash', hash, direction: 'deposit' } as const
  const check = await world.ask({ customer_id: anna, address: ours.address, ...asked })
  const [review] = await listReviews(world.sql, { limit: 10 })
  assert.deepEqual([review!.check_id, review!.address], [check.id, thief.address])
  const { after } = await decide(world, check.id, 'deny')
  await world.drain()
  const next = await world.check(after.next_check_id!)
  assert.deepEqual(
    [next.type, next.hash, next.direction, next.address, next.blacklist],
    ['hash', hash, 'deposit', ours.address, true],
  )
})

test('nothing waits where the policy has no answers reviewed', async (t) => {
  const world = await makeScreeningWorld(t)
  const anna = await world.customer()
  const shop = await tainted(world)
  const body = { ...SHIPPED_POLICY, review_high_answers: false }
  const published_at = world.clock.now()
  await world.sql.begin((tx) => publishPolicy(tx, { body, published_by: 'test', published_at }))
  const check = await world.ask({ customer_id: anna, address: shop.address })
  assert.equal(check.risk_level, 'high')
  assert.equal((await listReviews(world.sql, { limit: 10 })).length, 0)
})
