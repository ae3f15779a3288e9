// What of the index is read back as it was: what was sent, by the generation that has read it, and
// the state at a block.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { makeScreeningWorld, TRX } from 'penstock-test/harness/screening_world.ts'
import { publishPolicy, SHIPPED_NEWEST } from '../engine/policy.ts'
import { replayCheck, stateAt } from './replay.ts'

test('what was sent is read back by the generation that has read it', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock } = world
  await sql.begin((tx) =>
    publishPolicy(tx, { body: SHIPPED_NEWEST, published_by: 'x', published_at: clock.now() }),
  )
  world.now_ms += 2_000
  const customer_id = await world.customer()
  const [exchange, shop, middle, mixer] = Array.from({ length: 4 }, () => world.person())
  const labels = [
    { address: exchange!.address, category: 'exchange_licensed' },
    { address: mixer!.address, category: 'mixer' },
  ]
  await world.publish('operator', labels)
  await world.settle()
  world.send(exchange!, shop!, 900n * TRX)
  world.send(shop!, middle!, 800n * TRX)
  world.send(middle!, mixer!, 700n * TRX)
  await world.settle()
  await sql`update flow_sent set begun_at = begun_at - interval '1 day'`
  await world.settle()
  const asked = { customer_id, address: shop!.address }
  const before = await world.ask(asked)
  await world.publish('operator', labels.slice(0, 1))
  await world.settle()
  const after = await world.ask(asked)
  assert.ok(after.generation! > before.generation!)
  const then = await Promise.all([before, after].map(({ id }) => world.evidence(id)))
  assert.deepEqual(
    then.map(({ sent }) => Object.keys(sent!.ended).includes('mixer')),
    [true, true],
  )
  for (const { id } of [before, after]) assert.equal((await replayCheck({ sql }, id)).same, true)
})

test('the state of the index is computed for each block that it has', async (t) => {
  const { sql: empty } = await freshDatabase(t)
  await assert.rejects(stateAt({ sql: empty }, undefined), /There is no index yet/)
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 1 })
  const { sql } = world
  world.send(world.person(), world.person(), TRX)
  await world.settle()
  world.send(world.person(), world.person(), TRX)
  await world.settle()
  const { index, first_block } = world.process.generations.current()!
  const newest = index.block_number
  await sql`
    insert into flow_generation (label_set, first_number, rules, begun_at, reach)
    select label_set, first_number + 1, rules, begun_at, reach + 1 from flow_generation
    order by number desc limit 1`
  const saved = await sql<{ number: number }>`select number::integer from flow_checkpoint`
  assert.ok(saved.length > 0)
  const numbers = saved.flatMap(({ number }) => [number - 1, number, number + 1])
  for (const block of new Set([first_block, newest, ...numbers])) {
    if (block < first_block || block > newest) continue
    const found = await stateAt({ sql }, block)
    assert.deepEqual([found.block, found.first_block], [block, first_block])
  }
  assert.equal((await stateAt({ sql }, undefined)).block, newest)
  for (const block of [first_block - 1, newest + 1])
    await assert.rejects(stateAt({ sql }, block), new RegExp(`Block ${block} is not in the index`))
})
