// Blocks that are stored, found, taken back and forgotten, by rows at the edges.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { addressNumbered } from 'penstock-test/harness/logged_world.ts'
import { madeBlock, storedBlock } from 'penstock-test/harness/made_chain.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { blocksAt, keptBlockWith, pruneStep, storeBlock, takeBack } from './blocks.ts'

const NOW = new Date(1_780_000_000_000)
const MOVE = { asset: 0, from: addressNumbered(1), to: addressNumbered(2), amount: 5n }

/** Blocks of these numbers, and the chain that they are of. */
async function withBlocks(
  sql: Sql,
  numbers: readonly number[],
  given: { confirmed_number?: number; solid_number?: number } = {},
): Promise<void> {
  const { confirmed_number = numbers[0]! } = given
  const { solid_number = confirmed_number } = given
  await sql`
    insert into block (number, id, parent_id, time, contents)
    select n, 'block ' || n, '', ${NOW}::timestamptz + n * interval '3 s', '{"m":[],"f":[],"e":[]}'
    from unnest(${numbers}::bigint[]) as n`
  const head = numbers.at(-1)!
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (${head}, ${`block ${head}`}, ${NOW}, ${solid_number}, ${confirmed_number}, ${NOW})`
}

async function numbersOf(sql: Sql): Promise<number[]> {
  const rows = await sql<{ number: bigint }>`select number from block order by number`
  return rows.map(({ number }) => Number(number))
}

const chainOf = async (sql: Sql) =>
  (
    await sql<{ head_number: bigint; head_id: string; head_time: Date; solid_number: bigint }>`
      select head_number, head_id, head_time, solid_number from chain`
  )[0]

test('blocks above the one that stays are taken back, down to the confirmed one', async (t) => {
  const { sql } = await freshDatabase(t)
  await withBlocks(sql, [10, 11, 12, 13, 14], { confirmed_number: 11, solid_number: 13 })
  await sql`insert into cursor (name, number) values ('low', 11), ('at', 12), ('high', 14)`
  await sql.begin((tx) => takeBack(tx, 12))
  assert.deepEqual(await numbersOf(sql), [10, 11, 12])
  assert.deepEqual(await chainOf(sql), {
    head_number: 12n,
    head_id: 'block 12',
    head_time: new Date(NOW.getTime() + 36_000),
    solid_number: 12n,
  })
  const cursors = await sql`select name, number from cursor order by name`
  assert.deepEqual(cursors, [
    { name: 'at', number: 12n },
    { name: 'high', number: 12n },
    { name: 'low', number: 11n },
  ])
  await sql.begin((tx) => takeBack(tx, 11))
  assert.deepEqual(await numbersOf(sql), [10, 11])
  assert.equal((await chainOf(sql))!.solid_number, 11n)
  await assert.rejects(
    sql.begin((tx) => takeBack(tx, 10)),
    /the confirmed block below 10 is not the node's/,
  )
  assert.deepEqual(await numbersOf(sql), [10, 11])
})

test('without any block that stays everything begins again, but not with a gap', async (t) => {
  const { sql } = await freshDatabase(t)
  await withBlocks(sql, [10, 12])
  await sql`insert into cursor (name, number) values ('reader', 9)`
  await assert.rejects(
    sql.begin((tx) => takeBack(tx, 11)),
    /the block 11 is missing/,
  )
  assert.deepEqual(await numbersOf(sql), [10, 12])
  await sql.begin((tx) => takeBack(tx, 9))
  assert.deepEqual(await numbersOf(sql), [])
  assert.equal(await chainOf(sql), undefined)
  assert.deepEqual(await sql`select name from cursor`, [])
})

test('a block is stored with its givers; the last of them is who hides calls in it', async (t) => {
  const { sql } = await freshDatabase(t)
  const block = storedBlock(madeBlock(10, { moves: [{ tx: 7, ...MOVE }] }))
  const store = (number: number, read_from: readonly string[], hidden_in?: string) =>
    sql.begin(async (tx) =>
      storeBlock(tx, { ...block, number, read_from: new Set(read_from), hidden_in }),
    )
  await store(10, ['z', 'a'])
  assert.deepEqual(await sql`select node from node_hiding`, [])
  await store(11, ['z', 'a'], 'hidden')
  await store(12, [], 'hidden')
  const hiding = await sql`select node, number, tx_id, seen_at from node_hiding`
  assert.deepEqual(hiding, [{ node: 'a', number: 11n, tx_id: 'hidden', seen_at: block.time }])
  await store(13, ['a'], 'later')
  const again = await sql`select number, tx_id from node_hiding`
  assert.deepEqual(again, [{ number: 13n, tx_id: 'later' }])
  const given = await sql`select read_from from block where number in (10, 12) order by number`
  assert.deepEqual(given, [{ read_from: ['a', 'z'] }, { read_from: [] }])
  const read = await sql.begin((tx) => blocksAt(tx, [11n, 12n, 99n]))
  assert.deepEqual(read.map(({ number, contents }) => [number, contents.moves.length]).sort(), [
    [11, 1],
    [12, 1],
  ])
})

test('a transaction is found in the newest confirmed block that has it', async (t) => {
  const { sql } = await freshDatabase(t)
  await withBlocks(sql, [10, 11, 12, 13, 14], { confirmed_number: 13 })
  const has = (tx_id: string, ...numbers: number[]) => sql`
    update block set contents = ${`{"m":[],"f":[],"e":[["${tx_id}","T",1]]}`}
    where number = any(${numbers})`
  await has('seen', 10, 13)
  await has('old', 11)
  await has('new', 14)
  const found = async (tx_id: string) => (await keptBlockWith(sql, tx_id))?.number
  assert.equal(await found('seen'), 13)
  assert.equal(await found('old'), 11)
  assert.equal(await found('new'), undefined)
})

test('blocks are forgotten 2000 below the slowest reader and the confirmed one', async (t) => {
  const { sql } = await freshDatabase(t)
  await withBlocks(sql, [98, 99, 100, 2_050, 2_200], { confirmed_number: 2_100 })
  const prune = pruneStep({ sql })
  const forgets = async (kept: readonly number[], moved: boolean) => {
    assert.equal(await isDue(sql, prune), moved)
    assert.equal(await prune.run(), moved)
    assert.deepEqual(await numbersOf(sql), kept)
  }
  await sql`insert into cursor (name, number) values ('slow', 2098), ('fast', 2200)`
  await forgets([98, 99, 100, 2_050, 2_200], false)
  await sql`update cursor set number = 2099 where name = 'slow'`
  await forgets([99, 100, 2_050, 2_200], true)
  await sql`update cursor set number = 2200 where name = 'slow'`
  await forgets([100, 2_050, 2_200], true)
  await forgets([100, 2_050, 2_200], false)
})
