import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { FlowIndex } from '../flow/flow_index.ts'
import { LabelTable } from '../flow/label_table.ts'
import { saveCheckpoint, savedSent, saveSent } from './checkpoints.ts'

/** At so many blocks. */
function indexAt(block_number: number): FlowIndex {
  const index = new FlowIndex([])
  index.block_number = block_number
  return index
}

/** A database with two generations, and a nightly reading of each. */
async function someDatabase(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const at = new Date(Date.UTC(2026, 9, 8))
  await sql`
    insert into label_set (number, sha256, note, published_at, published_by)
    values (1, ${'0'.repeat(64)}, 'test', ${at}, 'test')`
  await sql`
    insert into flow_generation (label_set, begun_at, reach, first_number, rules)
    select 1, ${at}, reach, 1, 1 from generate_series(0, 1) as reach`
  await sql`
    insert into flow_sent (generation, height, begun_at)
    select number, 1, ${at} from flow_generation`
  return { sql, clock: { now: () => at } }
}

test('two checkpoints of a generation are kept, and those of others are not touched', async (t) => {
  const { sql, clock } = await someDatabase(t)
  for (const generation of [1, 2]) await saveCheckpoint({ sql, clock }, generation, indexAt(10))
  for (const number of [20, 30, 40]) await saveCheckpoint({ sql, clock }, 1, indexAt(number))
  for (const table of ['flow_checkpoint', 'flow_checkpoint_part'] as const) {
    const kept =
      table === 'flow_checkpoint'
        ? await sql<{ generation: number; number: bigint }>`
            select generation, number from flow_checkpoint order by 1, 2`
        : await sql<{ generation: number; number: bigint }>`
            select distinct generation, number from flow_checkpoint_part order by 1, 2`
    assert.deepEqual(
      kept.map(({ generation, number }) => [generation, Number(number)]),
      [
        [1, 30],
        [1, 40],
        [2, 10],
      ],
      table,
    )
  }
})

test('a nightly reading is saved by the first that is through with it', async (t) => {
  const { sql } = await someDatabase(t)
  const save = (number: number, at: number) => sql.begin((tx) => saveSent(tx, number, indexAt(at)))
  const saved = async (number: number) => {
    const read = await savedSent(sql, number, {
      labels: new LabelTable(),
      rules: { net: true, swaps: false },
    })
    return read?.block_number
  }
  await save(1, 10)
  await save(1, 11)
  assert.equal(await saved(1), 10)
  await save(2, 20)
  assert.deepEqual([await saved(1), await saved(2)], [undefined, 20])
})
