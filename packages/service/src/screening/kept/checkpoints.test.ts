import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { temporaryKeptFolder } from 'penstock-test/harness/kept_folder.ts'
import type { Clock } from '../../lib/clock.ts'
import { finished } from '../../lib/portions.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { FlowIndex } from '../flow/flow_index.ts'
import { LabelTable } from '../flow/label_table.ts'
import { addressWords } from '../flow/memory.ts'
import {
  forgetCheckpoints,
  newestCheckpoint,
  saveCheckpoint,
  savedSent,
  saveSent,
} from './checkpoints.ts'
import { MemoryFlow } from './flow_state.ts'
import { KeptFolder } from './kept_folder.ts'
import { KIND, ownNewest, restoreNewest, usedBefore } from './positions.ts'

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

/** A checkpoint of a generation at each of these blocks. */
async function saveAt(needs: { sql: Sql; clock: Clock }, generation: number, ...at: number[]) {
  for (const number of at) await saveCheckpoint(needs, generation, indexAt(number))
}

const newest = async (sql: Sql, generation: number, before?: number) =>
  (
    await finished(
      newestCheckpoint(sql, generation, {
        labels: new LabelTable(),
        ...(before !== undefined && { before }),
      }),
    )
  )?.block_number

test('the newest checkpoint before a block is read, of its own generation', async (t) => {
  const { sql, clock } = await someDatabase(t)
  assert.equal(await newest(sql, 1), undefined)
  await saveAt({ sql, clock }, 1, 10, 20)
  await saveAt({ sql, clock }, 2, 15, 25)
  assert.deepEqual([await newest(sql, 1), await newest(sql, 2)], [20, 25])
  const before = await Promise.all([21, 20, 11, 10].map((number) => newest(sql, 1, number)))
  assert.deepEqual(before, [20, 10, 10, undefined])
})

test('a broken checkpoint is passed over for the one before it, and no other', async (t) => {
  const { sql, clock } = await someDatabase(t)
  await saveAt({ sql, clock }, 1, 10, 20)
  await saveAt({ sql, clock }, 2, 20)
  await sql`
    update flow_checkpoint_part set bytes = overlay(bytes placing '\\x00' from 3)
    where generation = 1 and number = 20`
  assert.deepEqual([await newest(sql, 1), await newest(sql, 2)], [10, 20])
  await sql`delete from flow_checkpoint_part where generation = 1 and number = 10`
  assert.equal(await newest(sql, 1), undefined)
})

test('a checkpoint is in parts, read in their order, and once for each block', async (t) => {
  const { sql, clock } = await someDatabase(t)
  const index = new FlowIndex([])
  index.beginBlock(30, 30)
  const slotOf = (n: number) => {
    const bytes = Buffer.alloc(20, 9)
    bytes.writeUInt32LE(n, 0)
    return index.slot(0, addressWords(bytes))
  }
  for (let n = 0; n < 22_000; n++)
    index.transfer(slotOf(n), slotOf(n + 1), { low: 7 + n, high: 0 }, n + 1)
  await saveCheckpoint({ sql, clock }, 1, index)
  const parts = await sql<{ parts: number; count: bigint }>`
    select c.parts, (select count(*) from flow_checkpoint_part) as count from flow_checkpoint as c`
  assert.ok(parts[0]!.parts > 1)
  assert.deepEqual(parts, [{ parts: parts[0]!.parts, count: BigInt(parts[0]!.parts) }])
  const read = await finished(newestCheckpoint(sql, 1, { labels: new LabelTable() }))
  assert.equal(stateHash(read!), stateHash(index))
  await saveCheckpoint({ sql, clock: { now: () => new Date(0) } }, 1, index)
  const made = await sql<{ made_at: Date }>`select made_at from flow_checkpoint`
  assert.deepEqual(made, [{ made_at: clock.now() }], 'the first stays')
})

test('while somebody else saves a checkpoint none is saved', async (t) => {
  const { sql, clock } = await someDatabase(t)
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(7204615101)`
    await saveAt({ sql, clock }, 1, 10)
  })
  assert.equal(await newest(sql, 1), undefined)
  await saveAt({ sql, clock }, 1, 10)
  assert.equal(await newest(sql, 1), 10)
})

test('checkpoints of the generations before one are forgotten, with their parts', async (t) => {
  const { sql, clock } = await someDatabase(t)
  for (const generation of [1, 2]) await saveAt({ sql, clock }, generation, 10)
  const kept = async () => {
    const [row] = await sql<{ all: string }>`
      select (select string_agg(generation::text, ' ' order by 1) from flow_checkpoint) || ', '
        || (select string_agg(generation::text, ' ' order by 1) from flow_checkpoint_part) as all`
    return row!.all
  }
  await forgetCheckpoints(sql, 1)
  assert.equal(await kept(), '1 2, 1 2')
  await forgetCheckpoints(sql, 2)
  assert.equal(await kept(), '2, 2')
})

test('a nightly reading that is broken is none', async (t) => {
  const { sql } = await someDatabase(t)
  await sql.begin((tx) => saveSent(tx, 2, indexAt(20)))
  const read = (number: number) =>
    savedSent(sql, number, { labels: new LabelTable(), rules: { net: true, swaps: false } })
  assert.equal((await read(2))?.block_number, 20)
  await sql`update flow_sent_part set bytes = overlay(bytes placing '\\x00' from 3)`
  assert.equal(await read(2), undefined)
})

test('the last generation in use that has a file here is taken, else the last', async (t) => {
  const { sql, clock } = await someDatabase(t)
  assert.equal(await usedBefore({ sql }), undefined)
  await sql`
    insert into flow_generation (label_set, begun_at, reach, first_number, rules)
    select 1, ${clock.now()}, reach, 1, 1 from generate_series(2, 24) as reach`
  await sql`update flow_generation set active_at = ${clock.now()} where number < 25`
  const path = mkdtempSync(join(tmpdir(), 'penstock-used-'))
  t.after(() => rmSync(path, { recursive: true }))
  const withFiles = async (...numbers: number[]) => {
    const folder = await KeptFolder.take(path)
    t.after(() => folder.close())
    for (const number of numbers) writeFileSync(folder.fileOf(KIND, number), '')
    return { folder, hot_slots: 1 }
  }
  assert.equal(await usedBefore({ sql }), 24)
  assert.equal(await usedBefore({ sql, kept: await withFiles() }), 24)
  assert.equal(await usedBefore({ sql, kept: await withFiles(25, 7, 5) }), 7)
  assert.equal(await usedBefore({ sql, kept: await withFiles(5) }), 5)
  assert.equal(await usedBefore({ sql, kept: await withFiles(4) }), 24, 'of twenty')
})

test('a generation goes on from its file, or from a checkpoint that becomes one', async (t) => {
  const { sql, clock } = await someDatabase(t)
  const folder = await temporaryKeptFolder(t)
  const log = { block: async (number: number) => (number === 10 ? { id: 'ten' } : undefined) }
  const like = { labels: new LabelTable(), identity: 'a state' }
  const kept = { folder, hot_slots: 5 }
  /** Where a generation goes on, in memory or in a file. */
  const newestOf = async (generation: number, place?: typeof kept) => {
    const own = await finished(ownNewest({ sql, log, kept: place }, generation, like))
    await own?.state.close()
    const number = own?.state.index.block_number
    return own && [number, own.block_id, own.state instanceof MemoryFlow ? 'memory' : 'file']
  }
  assert.deepEqual([await newestOf(1), await newestOf(1, kept)], [undefined, undefined])
  assert.equal(folder.has(KIND, 1), false)
  assert.equal(await restoreNewest({ sql, log }, 1, like), undefined)
  await saveAt({ sql, clock }, 1, 10)
  assert.deepEqual(await newestOf(1), [10, 'ten', 'memory'])
  // A file that was begun, and into which nothing was saved.
  await folder.open(KIND, 1).then((store) => store.close())
  assert.deepEqual(await newestOf(1, kept), [10, 'ten', 'file'])
  assert.equal(folder.has(KIND, 1), true)
  await saveAt({ sql, clock }, 1, 20)
  assert.deepEqual(await newestOf(1), [20, undefined, 'memory'], 'the log does not have it')
  assert.deepEqual(await newestOf(1, kept), [10, 'ten', 'file'], 'it has a file of its own')
  await folder.open(KIND, 2).then((store) => store.close())
  assert.equal(await newestOf(2, kept), undefined)
  assert.equal(folder.has(KIND, 2), false)
})
