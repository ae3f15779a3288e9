// A policy is tried on the answers that are kept, and then published: the same is asked again, and
// comes out as the trial has said.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tryPolicy } from 'penstock-service/screening/cases/trying.ts'
import type { Check } from 'penstock-service/screening/checks/checks.ts'
import {
  judgedPolicy,
  publishPolicy,
  SHIPPED_NEWEST,
} from 'penstock-service/screening/engine/policy.ts'
import { makeScreeningWorld, type ScreeningWorld, TRX } from '../../harness/screening_world.ts'

async function publish(world: ScreeningWorld, body: object) {
  await world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
  )
  world.now_ms += 2_000
}

/** Money of several origins among people, and a check of everybody and of some transfers. */
async function asking(world: ScreeningWorld) {
  const customers = [await world.customer(), await world.customer()]
  const [mixer, exchange, pool, scam] = Array.from({ length: 4 }, () => world.person())
  const people = Array.from({ length: 7 }, () => world.person())
  await world.publish('operator', [
    { address: mixer!.address, category: 'mixer' },
    { address: exchange!.address, category: 'exchange_licensed' },
    { address: pool!.address, category: 'liquidity_pools' },
    { address: scam!.address, category: 'scam', confidence: 40 },
  ])
  await world.settle()
  const sent: { hash: string; from: number; to: number }[] = []
  for (const [i, one] of people.entries()) {
    world.send(exchange!, one, 40_000n * TRX)
    world.send(mixer!, one, BigInt(1 + 13 ** (i % 4)) * TRX)
    if (i % 2 === 0) world.sendToken(pool!, one, 700_000n * BigInt(i + 1))
    const to = (i + 3) % people.length
    const hash = world.send(one, people[to]!, BigInt(9_000 + 997 * i) * TRX)
    sent.push({ hash, from: i, to })
    if (i > 4) world.send(one, mixer!, 5_000n * TRX)
  }
  await world.settle()
  return async () => {
    const asked: Check[] = []
    for (const [i, { address }] of [...people, mixer!, scam!].entries())
      asked.push(await world.ask({ customer_id: customers[i % 2]!, address }))
    for (const { hash, from, to } of sent) {
      const of = { customer_id: customers[0]!, type: 'hash', hash } as const
      const [own, other] = [people[from]!.address, people[to]!.address]
      asked.push(await world.ask({ ...of, address: other, direction: 'deposit' }))
      asked.push(await world.ask({ ...of, address: own, direction: 'withdrawal' }))
    }
    return asked
  }
}

const STRICT = {
  ...SHIPPED_NEWEST,
  name: 'strict',
  weights: { ...SHIPPED_NEWEST.weights, liquidity_pools: 90, exchange_licensed: 35 },
  indirect: [{ share_bp: 10, usd: 1, points: 71 }],
  direct: [{ share_bp: 1, usd: 1, points: 80 }],
  trx_micro_usd: 250_000,
  medium_from: 36,
}

const levelsOf = (checks: readonly Check[]) => {
  const levels = { low: 0, medium: 0, high: 0 }
  for (const { risk_level } of checks) levels[risk_level!] += 1
  return levels
}

test('answers scored again from their evidence are as if they were asked again', async (t) => {
  const world = await makeScreeningWorld(t)
  await publish(world, SHIPPED_NEWEST)
  const ask = await asking(world)
  const before = await ask()
  const since = new Date(0)
  const policy = judgedPolicy(STRICT, 99)
  const same = await tryPolicy(world.sql, { policy: judgedPolicy(SHIPPED_NEWEST, 98), since })
  assert.deepEqual(same.changes, [])
  assert.equal(same.reproduced, before.length)
  const trial = await tryPolicy(world.sql, { policy, since })
  assert.deepEqual([trial.answers, trial.reproduced], [before.length, before.length])
  assert.deepEqual(trial.before, levelsOf(before))
  assert.ok(trial.changes.length > 0 && trial.queue.after > trial.queue.before)
  await publish(world, STRICT)
  const after = await ask()
  assert.deepEqual(trial.after, levelsOf(after))
  const moved = new Map<string, number>()
  for (const [i, { customer_id, risk_level: from }] of before.entries()) {
    const key = `${customer_id} ${from} ${after[i]!.risk_level}`
    if (from !== after[i]!.risk_level) moved.set(key, (moved.get(key) ?? 0) + 1)
  }
  assert.deepEqual(
    new Map(trial.changes.map((one) => [`${one.customer_id} ${one.from} ${one.to}`, one.answers])),
    moved,
  )
  const reviews = await world.sql`select distinct customer_id, address from aml_review`
  assert.equal(trial.queue.after, reviews.length)
})

test('what evidence does not go into is said, and older answers are left out', async (t) => {
  const world = await makeScreeningWorld(t)
  const ask = await asking(world)
  const before = await ask()
  const policy = judgedPolicy(SHIPPED_NEWEST, 99)
  const trial = await tryPolicy(world.sql, { policy, since: new Date(0) })
  assert.equal(trial.reproduced, before.length)
  assert.equal(trial.lacking.index_rules, before.length)
  assert.ok(trial.lacking.net_new > 0 && trial.lacking.sent > 0)
  const later = new Date(world.now_ms + 60_000)
  assert.equal((await tryPolicy(world.sql, { policy, since: later })).answers, 0)
})
