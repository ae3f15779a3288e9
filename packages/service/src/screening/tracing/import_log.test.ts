// History from files of a chain that the test makes up: which blocks a node is asked for, which
// files fit, and from where on the index is computed.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { addressNumbered, momentOf } from 'penstock-test/harness/logged_world.ts'
import {
  blockIdOf,
  type MadeBlock,
  madeBlock,
  madeNode,
  storedBlock,
} from 'penstock-test/harness/made_chain.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Node } from '../../chain/node/node.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { recordStep } from './flow_log.ts'
import { importLog } from './import_log.ts'
import { importedFiles, importedFrom } from './imports.ts'

const [A, B] = [addressNumbered(1), addressNumbered(2)]
const LOWEST = 2_000

/** Each block has a transfer of TRX, every tenth one of the token too, and freezes somebody. */
const BLOCKS = Array.from({ length: 1_101 }, (_, i) => {
  const number = LOWEST - 1_100 + i
  const one = { tx: 2 * number, from: A, to: B, asset: 0, amount: BigInt(number) }
  const tenth = number % 10 === 0
  const moves = tenth ? [one, { ...one, tx: 2 * number + 1, asset: 1 }] : [one]
  return madeBlock(number, { moves, frozen: tenth ? [100 + ((number / 10) % 100)] : [] })
})

const blocksFrom = (first: number, last: number) =>
  BLOCKS.filter(({ number }) => number >= first && number <= last)

type Field = string | number | bigint

const COLUMNS = 'block,block_id,time,tx,index,event,asset,from,to,amount'

/** The rows of blocks, without the line of names. */
function rowsOf(blocks: readonly MadeBlock[], with_ids = true): Field[][] {
  return blocks.flatMap((block) => {
    const { number, time } = block
    const of = [number, with_ids ? block.id : '', time.toISOString()]
    const { moves, freezes } = storedBlock(block).contents
    return [
      ...moves.map(({ tx_id, asset, from, to, amount }, i) => [
        ...[...of, tx_id, i, 'transfer', asset, from, to, amount],
      ]),
      ...freezes.map(({ token, address }, i) => [
        ...[...of, '', 100 + i, 'freeze', token, '', address, ''],
      ]),
    ]
  })
}

const csvOf = (rows: readonly Field[][]) =>
  [COLUMNS, ...rows.map((row) => row.join(',')), ''].join('\n')

/** A service that has followed the chain from block 2,000 on. */
async function world(t: TestContext) {
  const { sql } = await freshDatabase(t)
  const honest = madeNode(BLOCKS)
  const tokens = new Set([USDT])
  const step = recordStep({ sql, node: honest, tokens })
  await step.reads.prepare!()
  await sql.begin((tx) => step.reads.work(tx, [storedBlock(BLOCKS.at(-1)!)]))
  const folder = await mkdtemp(join(tmpdir(), 'history-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = async (name: string, rows: readonly Field[][]) => {
    await writeFile(join(folder, name), csvOf(rows))
    return join(folder, name)
  }
  const asked: number[] = []
  const noting = (node: Node): Node => ({
    ...node,
    blockWithReceipts(number, side) {
      asked.push(number)
      return node.blockWithReceipts(number, side)
    },
  })
  const progress: [string, number, number | undefined][] = []
  /** `draws`: at random, in place of zeros. */
  const bring = (
    files: string[],
    {
      node = honest,
      draws = [],
      from_number,
      fails_at,
    }: { node?: Node; draws?: number[]; from_number?: number; fails_at?: string } = {},
  ) => {
    const bytes = () => {
      const drawn = draws.shift() ?? 0
      return Uint8Array.of(drawn >> 8, drawn & 255)
    }
    return importLog(
      { sql, node: noting(node), tokens, random: { bytes } },
      { files, source: 'a friend', from_number, made_by: 'me', made_at: momentOf(0) },
      (...what) => {
        progress.push(what)
        if (what[0] === fails_at) throw new Error('no power')
      },
    )
  }
  return { sql, write, bring, asked, progress, honest }
}

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)

const logged = (sql: Sql) => transferLog(sql).after(-1, { limit: 5_000, base: 0n })

const reaches = async (sql: Sql) =>
  (await sql<{ first_number: bigint }>`select first_number from flow_reach order by number`).map(
    ({ first_number }) => Number(first_number),
  )

test('of a file its ends, some blocks in a row and one in a thousand are compared', async (t) => {
  const { sql, write, bring, asked, progress } = await world(t)
  const first = LOWEST - 1_010
  const file = await write('a.csv', rowsOf(blocksFrom(first, LOWEST - 1)))
  const outcome = await bring([file], { draws: [256 * 3 + 32, 19, 2_004] })
  assert.deepEqual(
    asked.map((number) => number - first),
    [0, ...range(19, 38), 800, 1_004, 1_009],
  )
  assert.deepEqual(outcome, {
    files: 1,
    known: 0,
    blocks: 1_010,
    transfers: 1_111,
    passed_over: 0,
    compared: 24,
    first_number: first,
    reach: 1,
  })
  assert.deepEqual(progress, [
    ['read a.csv', 1_000, undefined],
    ...[200, 400, 600, 800, 1_000, 1_010].map((n) => ['write a.csv', n, 1_010]),
  ])
  const blocks = await logged(sql)
  assert.deepEqual(
    blocks.map(({ number }) => number),
    range(first, LOWEST),
  )
  assert.deepEqual(
    blocks.map(({ id }) => id),
    range(first, LOWEST).map(blockIdOf),
  )
  const frozen = await sql`select from flow_freeze where frozen`
  assert.equal(frozen.length, 100)
  const [noted] = await importedFiles(sql, 0)
  assert.deepEqual([noted!.transfers, noted!.compared], [1_111n, 24])
  assert.deepEqual(await reaches(sql), [first])
})

test('a file without ids has that of its first block from the node', async (t) => {
  const { sql, write, bring, progress } = await world(t)
  const blocks = blocksFrom(LOWEST - 200, LOWEST - 1)
  const rows = rowsOf(blocks, false)
  rows.find(([number]) => number === LOWEST - 150)![1] = blockIdOf(LOWEST - 150)
  await bring([await write('a.csv', rows)])
  const ids = (await logged(sql)).map(({ id }) => id)
  assert.equal(ids.length, 201)
  assert.deepEqual(
    ids.filter((id) => id.length === 64),
    [LOWEST - 200, LOWEST - 150, LOWEST].map(blockIdOf),
  )
  assert.equal(ids[1], (LOWEST - 199).toString(16).padStart(16, '0'))
  await bring([await write('b.csv', rowsOf(blocksFrom(LOWEST - 401, LOWEST - 201)))])
  assert.deepEqual(progress, [
    ['write a.csv', 200, 200],
    ['write b.csv', 200, 201],
    ['write b.csv', 201, 201],
  ])
})

const refused = (rule: string) => new RegExp(`^Refused: \\S+a\\.csv${rule}`)

test('a block that is another than the node has is refused with both words', async (t) => {
  const { sql, write, bring, honest } = await world(t)
  const number = LOWEST - 10
  const rows = rowsOf(blocksFrom(number, LOWEST - 1))
  const changed = (at: number, column: number, value: Field) =>
    rows.map((row, i) => (i === at ? row.with(column, value) : row))
  const all_of_one = (column: number, value: Field) =>
    rows.map((row) => (row[0] === number ? row.with(column, value) : row))
  const other_id = blockIdOf(number).replaceAll('ab', 'cd')
  const says = (what: string) => refused(`, row 1: block 1990 is not the node's: ${what}`)
  for (const [wrong, rule] of [
    [all_of_one(1, other_id), says(`its id is ${other_id} in the file, ${blockIdOf(number)} at`)],
    [
      all_of_one(2, '2026-10-01T00:00:00Z'),
      says('its time is 2026-10-01T00:00:00.000Z in the file, 2026-10-01T01:39:30.000Z at'),
    ],
    [changed(0, 9, 7), says('transfer 1 is 7 TRX from T\\w+ to T\\w+ in 0+f8c in the file, 1990')],
    [changed(1, 7, addressNumbered(5)), says('transfer 2 is 1990 \\w+ from \\w+ to \\w+ in 0+f8d')],
    [rows.toSpliced(1, 1), says('transfer 2 is none in the file, 1990 \\w+ from .* at the node')],
    [
      rows.toSpliced(2, 0, rows[1]!.with(4, 50)),
      says('transfer 3 is 1990 .* in the file, none at the node'),
    ],
    [rows.toSpliced(2, 1), says('its freezes are \\[\\] in the file, \\[\\["T')],
    [[], refused(' has no row')],
  ] as const)
    await assert.rejects(bring([await write('a.csv', wrong)]), rule)
  const without = (gone: number) => madeNode(BLOCKS.filter((one) => one.number !== gone))
  const file = await write('a.csv', rows)
  await assert.rejects(
    bring([file], { node: without(number) }),
    /^Outage: the node does not have block 1990: history is checked with it$/,
  )
  const failing = { ...honest, blockWithReceipts: () => Promise.reject(new Error('no power')) }
  await assert.rejects(bring([file], { node: failing }), /^Error: no power$/)
  assert.equal((await logged(sql)).length, 1)
})

test('the newest file ends below the log, whose lowest block the node has, too', async (t) => {
  const { sql, write, bring } = await world(t)
  const with_one = (number: number, change: Partial<MadeBlock>) =>
    madeNode(BLOCKS.map((block) => (block.number === number ? { ...block, ...change } : block)))
  const file = await write('a.csv', rowsOf(blocksFrom(LOWEST - 20, LOWEST - 1)))
  const id = 'cd'.repeat(32)
  const apart = refused(': above it the log has block 2000 with the id 0000\\w+, and the node has')
  for (const [node, rule] of [
    [with_one(LOWEST, { id }), apart],
    [with_one(LOWEST, { parent_id: id }), apart],
    [madeNode(BLOCKS.slice(0, -1)), /^Outage: the node lacks block 2000$/],
  ] as const)
    await assert.rejects(bring([file], { node }), rule)
  for (const last of [LOWEST - 2, LOWEST])
    await assert.rejects(
      bring([await write('a.csv', rowsOf(blocksFrom(LOWEST - 20, last)))]),
      refused(`, row \\d+: its last block is ${last}, and the log begins with block 2000\\.`),
    )
  const older = await write('b.csv', rowsOf(blocksFrom(LOWEST - 40, LOWEST - 22)))
  await write('a.csv', rowsOf(blocksFrom(LOWEST - 20, LOWEST - 1)))
  await assert.rejects(
    bring([older, file]),
    /b\.csv, row \d+: its last block is 1978, and \S+a\.csv begins with block 1980\. Nothing was/,
  )
  await sql`delete from flow_block`
  await assert.rejects(bring([file]), /^Refused: Nothing is in the log yet: start the service/)
})

test('what has changed between reading and writing is not written', async (t) => {
  const { sql, write, bring, honest } = await world(t)
  const rows = rowsOf(blocksFrom(LOWEST - 20, LOWEST - 1))
  const file = await write('a.csv', rows)
  /** Does something when all was read, and nothing is written. */
  const before_writing = (work: () => Promise<unknown>): Node => ({
    ...honest,
    async blocks(...asked) {
      await work()
      return honest.blocks(...asked)
    },
  })
  const changed = refused(' has changed while it was read\\. Nothing of it was imported\\.')
  for (const other of [rows.with(3, rows[3]!.with(9, 3)), rows.toSpliced(1, 1)]) {
    await write('a.csv', rows)
    const node = before_writing(() => write('a.csv', other))
    await assert.rejects(bring([file], { node }), changed)
  }
  await write('a.csv', rows)
  const step = recordStep({ sql, node: honest, tokens: new Set([USDT]) })
  await step.reads.prepare!()
  const node = before_writing(async () => {
    await sql`delete from flow_block`
    await sql.begin((tx) => step.reads.work(tx, [storedBlock(BLOCKS.at(-2)!)]))
  })
  await assert.rejects(
    bring([file], { node }),
    refused(': the log begins with block 1999 meanwhile\\.'),
  )
  assert.deepEqual(await importedFiles(sql, 0), [])
})

test('a file is known by its bytes and where it begins, and is brought once', async (t) => {
  const { sql, write, bring } = await world(t)
  const part = (first: number, last: number) => rowsOf(blocksFrom(first, last))
  const newer = await write('new.csv', part(LOWEST - 10, LOWEST - 1))
  await bring([newer])
  const older = await write('old.csv', part(LOWEST - 30, LOWEST - 11))
  const { known, blocks } = await bring([newer, older])
  assert.deepEqual([known, blocks], [1, 20])
  assert.deepEqual((await bring([older, newer])).known, 2)
  await write('new.csv', part(LOWEST - 10, LOWEST - 2))
  await assert.rejects(bring([newer]), /its last block is 1998, and the log begins with block 1970/)
  await write('new.csv', part(LOWEST - 10, LOWEST - 1))
  // The same bytes, of other blocks.
  await sql`alter table flow_import disable trigger user`
  await sql`update flow_import set first_number = 1991 where first_number = 1990`
  await assert.rejects(bring([newer]), /its last block is 1999, and the log begins with block 1970/)
})

test('the files of an index are those that reach its first block, by source', async (t) => {
  const { sql, write, bring } = await world(t)
  const part = (first: number, last: number) => rowsOf(blocksFrom(first, last))
  await bring([await write('new.csv', part(LOWEST - 10, LOWEST - 1))])
  await bring([await write('old.csv', part(LOWEST - 30, LOWEST - 11))])
  const from = async (number: number) =>
    (await importedFrom(sql, number)).map((one) => [one.first_block, one.last_block, one.files])
  assert.deepEqual(await from(0), [[LOWEST - 30, LOWEST - 1, 2]])
  assert.deepEqual(await from(LOWEST - 11), [[LOWEST - 30, LOWEST - 1, 2]])
  assert.deepEqual(await from(LOWEST - 10), [[LOWEST - 10, LOWEST - 1, 1]])
  assert.deepEqual(await from(LOWEST), [])
})

test('the index is computed from the wanted block as soon as the log reaches it', async (t) => {
  const { sql, write, bring } = await world(t)
  const part = (first: number, last: number) => rowsOf(blocksFrom(first, last))
  const files = [
    await write('new.csv', part(LOWEST - 10, LOWEST - 1)),
    await write('old.csv', part(LOWEST - 20, LOWEST - 11)),
  ]
  const oldest = await write('oldest.csv', part(LOWEST - 30, LOWEST - 21))
  await sql`
    insert into flow_reach (first_number, made_at, made_by, reason)
    values (${LOWEST}, ${momentOf(0)}, 'me', 'so')`
  const early = await bring(files.slice(0, 1), { from_number: LOWEST - 11 })
  assert.equal(early.reach, null, 'the log does not reach it')
  const both = [files[1]!, oldest]
  const from_number = LOWEST - 20
  await assert.rejects(bring(both, { from_number, fails_at: 'write oldest.csv' }), /no power/)
  assert.deepEqual(await reaches(sql), [LOWEST, LOWEST - 20], 'although an older file failed')
  const whole = await bring(both, { from_number })
  assert.deepEqual([whole.known, whole.reach, whole.first_number], [1, null, LOWEST - 30])
  assert.equal((await bring([oldest], { from_number: LOWEST - 20 })).reach, null, 'no earlier')
  assert.equal((await bring([oldest], { from_number: LOWEST - 19 })).reach, null, 'later')
  assert.equal((await bring([oldest], { from_number: LOWEST - 21 })).reach, 3)
  assert.equal((await bring([oldest])).reach, 4, 'from the lowest')
  assert.deepEqual(await reaches(sql), [2_000, 1_980, 1_979, 1_970])
})
