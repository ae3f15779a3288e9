import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { dueAsker } from '../../platform/steps/due.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { StoredBlock } from './blocks.ts'
import { pack } from './contents.ts'
import { type BlockReader, isBehind, joinReaders, type ReadStep, readBlocks } from './cursors.ts'

const NOTHING = { moves: [], unfollowed: [], unknown: [], energy_uses: [], fees: [], freezes: [] }

/** Blocks 1 to `last`, the last three of which are not confirmed. */
async function addBlocks(sql: Sql, last: number): Promise<void> {
  await sql`
    insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
    select n, 'b' || n, 'b' || n - 1, timestamptz '2026-01-01' + n * interval '3 s',
      ${pack(NOTHING)}, '{one}', ''
    from generate_series(1, ${last}::int) as n on conflict (number) do nothing`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
      head_seen_at)
    values (${last}, 'x', now(), ${last - 3}, ${last - 3}, now(), now())
    on conflict (one) do update set head_number = excluded.head_number,
      solid_number = excluded.solid_number, confirmed_number = excluded.confirmed_number`
}

type Seen = { name: string; numbers: number[]; transaction: string }

/** A step that notes which blocks it was handed, and in which transaction. */
function reader(
  sql: Sql,
  seen: Seen[],
  { name, side = 'solid', work = async () => {} }: Partial<BlockReader> & { name: string },
): ReadStep {
  const reads: BlockReader = {
    name,
    side,
    async work(tx: Tx, blocks: StoredBlock[]) {
      const [row] = await tx<{ id: string }>`select pg_current_xact_id()::text as id`
      seen.push({ name, numbers: blocks.map(({ number }) => number), transaction: row!.id })
      await work(tx, blocks)
    },
  }
  return {
    name: name as Step['name'],
    rest_ms: 3_000,
    due: (write) => isBehind(write, reads),
    duty: 'blocks',
    after: ['follow'],
    before: ['publish'],
    reads,
    run: () => readBlocks(sql, reads, reads.work),
  }
}

const positions = async (sql: Sql) =>
  (await sql<{ name: string; number: bigint }>`select name, number from cursor order by name`).map(
    ({ name, number }) => [name, Number(number)],
  )

async function runWhileItMoves(step: Step): Promise<void> {
  while (await step.run());
}

test('who has come equally far reads in one transaction; head and solid apart', async (t) => {
  const { sql } = await freshDatabase(t)
  await addBlocks(sql, 6)
  const seen: Seen[] = []
  const steps = joinReaders(sql, [
    reader(sql, seen, { name: 'a' }),
    reader(sql, seen, { name: 'b', side: 'head' }),
    reader(sql, seen, { name: 'c' }),
  ])
  assert.deepEqual(
    steps.map(({ name, after, before, duty }) => ({ name, after, before, duty })),
    [
      { name: 'read_solid', after: ['follow'], before: ['publish'], duty: 'blocks' },
      { name: 'read_head', after: ['follow'], before: ['publish'], duty: 'blocks' },
    ],
  )
  const names = new Set(['read_solid', 'read_head'])
  const ask = dueAsker(sql, steps)
  assert.deepEqual(await ask(names), names, 'nobody has begun')
  for (const step of steps) await runWhileItMoves(step)
  assert.deepEqual(await positions(sql), [
    ['a', 3],
    ['b', 6],
    ['c', 3],
  ])
  assert.deepEqual(await ask(names), new Set())
  await addBlocks(sql, 8)
  seen.length = 0
  assert.deepEqual(await ask(names), names)
  for (const step of steps) await runWhileItMoves(step)
  const of = (name: string) => seen.filter((one) => one.name === name)
  assert.deepEqual(
    of('a').map(({ numbers }) => numbers),
    [[4, 5]],
  )
  assert.deepEqual(
    of('b').map(({ numbers }) => numbers),
    [[7, 8]],
  )
  assert.equal(of('a')[0]!.transaction, of('c')[0]!.transaction)
  assert.notEqual(of('a')[0]!.transaction, of('b')[0]!.transaction)
})

test('one that cannot read holds up no other, and reads each block once later', async (t) => {
  const { sql } = await freshDatabase(t)
  await addBlocks(sql, 6)
  const seen: Seen[] = []
  let broken: Error | undefined
  const work = async () => {
    if (broken) throw broken
  }
  const [step] = joinReaders(sql, [
    reader(sql, seen, { name: 'a' }),
    reader(sql, seen, { name: 'b', work }),
    reader(sql, seen, { name: 'c' }),
  ])
  await runWhileItMoves(step!)
  for (const thrown of [new Outage('its node is away'), new Error('a mistake')]) {
    const [[, at]] = (await positions(sql)) as [[string, number]]
    broken = thrown
    await addBlocks(sql, at + 4)
    await assert.rejects(step!.run(), thrown)
    assert.deepEqual(await positions(sql), [
      ['a', at + 1],
      ['b', at],
      ['c', at + 1],
    ])
    await addBlocks(sql, at + 5)
    await assert.rejects(step!.run(), thrown, 'it is behind now, and fails alone')
    assert.deepEqual(await positions(sql), [
      ['a', at + 2],
      ['b', at],
      ['c', at + 2],
    ])
    broken = undefined
    await runWhileItMoves(step!)
    assert.deepEqual(await positions(sql), [
      ['a', at + 2],
      ['b', at + 2],
      ['c', at + 2],
    ])
  }
  const committed = await sql<{ id: string }>`
    select id from unnest(${seen.map((one) => one.transaction)}::text[]) as id
    where pg_xact_status(id::xid8) = 'committed'`
  const kept = new Set(committed.map(({ id }) => id))
  for (const name of ['a', 'b', 'c'])
    assert.deepEqual(
      seen.flatMap((one) => (one.name === name && kept.has(one.transaction) ? one.numbers : [])),
      [1, 2, 3, 4, 5, 6, 7],
      name,
    )
})

test('who waits for a reader waits for the one in its place', async (t) => {
  const { sql } = await freshDatabase(t)
  const waiting = { name: 'supply', rest_ms: 1, after: ['use', 'arrive'], run: async () => false }
  const steps = joinReaders(sql, [
    { ...reader(sql, [], { name: 'x', side: 'head' }), name: 'use' },
    { ...reader(sql, [], { name: 'y', side: 'head' }), name: 'arrive' },
    waiting as Step,
  ])
  assert.deepEqual(
    steps.map(({ name, after }) => [name, after]),
    [
      ['read_head', ['follow']],
      ['supply', ['read_head']],
    ],
  )
})
