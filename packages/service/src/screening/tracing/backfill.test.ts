// The past read from a node: how far, in which portions, and what is refused.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { addressNumbered, momentOf } from 'penstock-test/harness/logged_world.ts'
import {
  type MadeBlock,
  madeBlock,
  madeNode,
  storedBlock,
} from 'penstock-test/harness/made_chain.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Node } from '../../chain/node/node.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import { backfill } from './backfill.ts'
import { recordStep } from './flow_log.ts'

const [A, B] = [addressNumbered(1), addressNumbered(2)]
const LOWEST = 400
const MADE = { made_by: 'me', made_at: momentOf(0) }

const BLOCKS = Array.from({ length: LOWEST + 1 }, (_, number) =>
  madeBlock(number, { moves: [{ tx: number + 1, from: A, to: B, asset: 0, amount: 1n }] }),
)

/** A service that has followed a chain from a block on. */
async function world(t: TestContext, node: Node = madeNode(BLOCKS)) {
  const { sql } = await freshDatabase(t)
  const needs = { sql, node, tokens: new Set([USDT]) }
  const step = recordStep(needs)
  await step.reads.prepare!()
  await sql.begin((tx) => step.reads.work(tx, [storedBlock(BLOCKS[LOWEST]!)]))
  const progress: number[][] = []
  const from = (from_number: number, of = node) =>
    backfill({ ...needs, node: of }, { ...MADE, from_number }, (...at) => progress.push(at))
  const numbers = async () => {
    const blocks = await transferLog(sql).after(-1, { limit: 1_000, base: 0n })
    assert.ok(blocks.every(({ first_sequence }, i) => first_sequence === i + 2 - blocks.length))
    return blocks.map(({ number }) => number)
  }
  return { sql, from, progress, numbers }
}

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)

test('the past is read in portions, the newest first, down to what is wanted', async (t) => {
  const { sql, from, progress, numbers } = await world(t)
  assert.deepEqual(await from(LOWEST - 150), { first_number: LOWEST - 150, reach: 1, blocks: 150 })
  assert.deepEqual(progress, [
    [LOWEST, LOWEST - 150],
    [LOWEST - 99, LOWEST - 150],
    [LOWEST - 150, LOWEST - 150],
  ])
  assert.deepEqual(await numbers(), range(LOWEST - 150, LOWEST))
  // As many as are asked for at once, and one more.
  for (const [below, blocks] of [
    [158, 8],
    [167, 9],
    [168, 1],
  ] as const) {
    assert.equal((await from(LOWEST - below)).blocks, blocks)
    assert.deepEqual(await numbers(), range(LOWEST - below, LOWEST))
  }
  const reaches = await sql<{ first_number: bigint; reason: string }>`
    select first_number, reason from flow_reach order by number`
  assert.deepEqual(
    reaches.map((one) => [Number(one.first_number), one.reason]),
    [150, 158, 167, 168].map((below) => [LOWEST - below, 'the past was read']),
  )
  await assert.rejects(from(LOWEST - 167), /^Refused: The index begins with block 232 already\.$/)
  assert.deepEqual(await from(LOWEST - 168), { first_number: 232, reach: 5, blocks: 0 })
})

test('without a log there is no past of it', async (t) => {
  const { sql, from } = await world(t)
  await sql`delete from flow_block`
  await assert.rejects(from(1), /^Refused: Nothing is in the log yet: start the service first\.$/)
})

test('a node that lacks a block, or has another chain, gives no past', async (t) => {
  const { from, numbers } = await world(t)
  const with_one = (number: number, change: Partial<MadeBlock>) =>
    madeNode(BLOCKS.map((block) => (block.number === number ? { ...block, ...change } : block)))
  const without = (number: number) => madeNode(BLOCKS.filter((one) => one.number !== number))
  const id = 'cd'.repeat(32)
  for (const [node, rule] of [
    [without(LOWEST), /^Outage: the node lacks blocks from 390 on$/],
    [without(LOWEST - 5), /^Outage: the node lacks blocks from 390 on$/],
    [without(LOWEST - 10), /^Outage: the node lacks blocks from 390 on$/],
    [with_one(LOWEST, { id }), /^Refused: Block 400 of this node is not that of the log\.$/],
    [with_one(LOWEST, { parent_id: id }), /^Refused: Block 400 has another parent\.$/],
    [with_one(LOWEST - 9, { parent_id: id }), /^Refused: Block 391 has another parent\.$/],
  ] as const)
    await assert.rejects(from(LOWEST - 10, node), rule)
  assert.deepEqual(await numbers(), [LOWEST])
  const other_past = with_one(LOWEST - 10, { parent_id: id })
  assert.equal((await from(LOWEST - 10, other_past)).blocks, 10)
})

test('of two runs at a time each leaves the blocks alone that the other has read', async (t) => {
  const { from, numbers, progress } = await world(t)
  const honest = madeNode(BLOCKS)
  let others = 0
  const interrupted: Node = {
    ...honest,
    async blocks(...asked) {
      if (others++ === 0) await from(LOWEST - 20, honest)
      return honest.blocks(...asked)
    },
  }
  const { first_number } = await from(LOWEST - 30, interrupted)
  assert.equal(first_number, LOWEST - 30)
  assert.deepEqual(await numbers(), range(LOWEST - 30, LOWEST))
  assert.deepEqual(
    progress.map(([at]) => at),
    [LOWEST, LOWEST, LOWEST - 20, LOWEST - 20, LOWEST - 30],
  )
})
