// Which blocks are confirmed, disputed or taken back, by what nodes say of the rows that are
// stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { addressNumbered } from 'penstock-test/harness/logged_world.ts'
import { type MadeBlock, madeBlock, storedBlock } from 'penstock-test/harness/made_chain.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Node } from '../node/node.ts'
import { storeBlock } from './blocks.ts'
import { confirmStep } from './confirm.ts'

const NOW = new Date(1_780_000_000_000)
const DAY_MS = 86_400_000
const [FROM, TO] = [addressNumbered(1), addressNumbered(2)]

/** A block with a payment, which a contract sent on in part, if it is shown. */
function blockAt(number: number, { sent }: { sent?: bigint } = {}): MadeBlock {
  const block = madeBlock(number, {
    moves: [{ tx: number, asset: 0, from: FROM, to: TO, amount: 5n }],
  })
  if (sent !== undefined)
    block.receipts[0]!.internal.push({
      asset: undefined,
      from: TO,
      to: FROM,
      amount: sent,
    } as never)
  return block
}

/** Says otherwise of a block. */
type Says = (block: MadeBlock) => MadeBlock | undefined
const same: Says = (block) => block
const otherId: Says = (block) => ({ ...block, id: `x${block.id.slice(1)}` })
const upTo =
  (last: number): Says =>
  (block) =>
    block.number <= last ? block : undefined
const from =
  (first: number, says: Says): Says =>
  (block) =>
    block.number < first ? block : says(block)
const silent: Says = () => {
  throw new Outage('silent')
}

/** Blocks 11 to `solid_number`, of which none is confirmed, and the nodes of a process. */
async function chain(sql: Sql, givers: readonly (readonly string[])[], made = blockAt) {
  const blocks = givers.map((_, i) => made(11 + i))
  await sql`
    insert into block (number, id, parent_id, time, contents)
    values (10, 'first', '', ${NOW}, '{"m":[],"f":[],"e":[]}')`
  const last = 10 + blocks.length
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (${last}, 'head', ${NOW}, ${last}, 10, ${NOW})`
  await sql.begin(async (tx) => {
    for (const [i, block] of blocks.entries())
      storeBlock(tx, { ...storedBlock(block), read_from: new Set(givers[i]) })
  })
  /** What the step does with nodes that say so, and whom it asks. */
  async function run(nodes: Record<string, Says>, meanwhile = async () => {}) {
    const asked: string[] = []
    const ranges: string[] = []
    let avoided: string[] = []
    const only = (name: string) => ({
      async blocks(first: number, end: number) {
        if (asked.length === 0) await meanwhile()
        asked.push(name)
        ranges.push(`${first}-${end}`)
        const found = blocks.filter(({ number }) => number >= first && number <= end)
        return found.flatMap((block) => nodes[name]!(block) ?? [])
      },
      receipts: async (block: MadeBlock) => block.receipts,
    })
    const node = {
      names: Object.keys(nodes),
      only,
      avoid: (names: ReadonlySet<string>) => {
        avoided = [...names].sort()
      },
    } as unknown as Node
    const step = confirmStep({ sql, clock: { now: () => NOW }, node, tokens: new Set() })
    const due = await isDue(sql, step)
    const moved = await step.run()
    return { due, moved, asked: [...new Set(asked)], avoided, ranges }
  }
  async function state() {
    const [row] = await sql<{ confirmed: number; since: Date | null; disputed: number | null }>`
      select confirmed_number::int as confirmed, unconfirmed_since as since,
        disputed_number::int as disputed from chain`
    return [row!.confirmed, row!.since, row!.disputed]
  }
  return { run, state }
}

const disputes = (sql: Sql) => sql`
  select dissenting, against, number::int, what, times::int from node_dispute
  order by dissenting`

test('blocks are confirmed as far as a second node has them, and doubts end there', async (t) => {
  const { sql } = await freshDatabase(t)
  const givers = [['a'], ['a'], ['a']]
  const { run, state } = await chain(sql, givers)
  assert.deepEqual(await state(), [10, null, null])
  const none = await run({ a: same, b: upTo(10) })
  assert.deepEqual([none.due, none.moved, none.asked], [true, false, ['b']])
  assert.deepEqual(await state(), [10, NOW, null])
  await sql`update chain set unconfirmed_since = '2026-01-01', disputed_number = 12`
  await run({ a: same, b: silent })
  assert.deepEqual(await state(), [10, new Date('2026-01-01T00:00:00Z'), 12], 'since it began')
  assert.equal((await run({ a: same, b: upTo(11) })).moved, true)
  assert.deepEqual(await state(), [11, NOW, 12])
  assert.equal((await run({ a: same, b: upTo(12) })).moved, true)
  assert.deepEqual(await state(), [12, NOW, null])
  assert.equal((await run({ a: same, b: same })).moved, true)
  assert.deepEqual(await state(), [13, null, null])
  assert.equal((await run({ a: same, b: same })).due, false)
  for (const doubt of [{ since: NOW }, { disputed: 13 }]) {
    const { since = null, disputed = null } = doubt as { since?: Date; disputed?: number }
    await sql`update chain set unconfirmed_since = ${since}, disputed_number = ${disputed}`
    const { due, moved, asked } = await run({ a: same, b: same })
    assert.deepEqual([due, moved, asked], [true, false, []])
    assert.deepEqual(await state(), [13, null, null])
  }
})

test('a block needs two nodes, of which who gave it alone is one', async (t) => {
  const cases: [string[], string[], Record<string, Says>][] = [
    [['a'], ['b'], { a: same, b: same, c: same }],
    [['a'], ['b', 'c'], { a: same, b: silent, c: same }],
    [['c'], ['a'], { a: same, b: same, c: same }],
    [['a', 'b'], ['a', 'b'], { a: same, b: same, c: same }],
    [['gone'], ['a', 'b'], { a: same, b: same, c: same }],
    [[], ['a', 'b'], { a: same, b: same, c: same }],
    [[], ['a'], { a: same }],
  ]
  for (const [read_from, asked, nodes] of cases) {
    const { sql } = await freshDatabase(t)
    const { run, state } = await chain(sql, [read_from])
    assert.deepEqual((await run(nodes)).asked, asked, read_from.join())
    assert.deepEqual(await state(), [11, null, null], read_from.join())
  }
  const { sql } = await freshDatabase(t)
  const { run, state } = await chain(sql, [[], []])
  await run({ a: same, b: upTo(11), c: silent })
  assert.deepEqual(await state(), [11, NOW, null], 'as far as the one that has least')
  await run({ a: silent, b: silent, c: same })
  assert.deepEqual(await state(), [11, NOW, null], 'one is not enough')
})

test('blocks of other givers wait for the next run', async (t) => {
  const { sql } = await freshDatabase(t)
  const { run, state } = await chain(sql, [['a'], ['a'], ['b']])
  assert.deepEqual((await run({ a: same, b: same })).asked, ['b'])
  assert.deepEqual(await state(), [12, NOW, null])
  assert.deepEqual((await run({ a: same, b: same })).asked, ['a'])
  assert.deepEqual(await state(), [13, null, null])
})

test('two nodes that differ dispute a block, and what is before it is confirmed', async (t) => {
  const { sql } = await freshDatabase(t)
  const { run, state } = await chain(sql, [['a'], ['a'], ['a']])
  assert.equal((await run({ a: same, b: from(12, otherId) })).moved, true)
  assert.deepEqual(await state(), [11, NOW, 12])
  const dispute = { dissenting: ['a', 'b'], against: [], number: 12, what: 'the block', times: 1 }
  assert.deepEqual(await disputes(sql), [dispute])
  await sql`update chain set unconfirmed_since = '2026-01-01'`
  assert.equal((await run({ a: same, b: from(12, otherId) })).moved, false)
  assert.deepEqual(await disputes(sql), [{ ...dispute, times: 2 }])
  assert.deepEqual(await state(), [11, new Date('2026-01-01T00:00:00Z'), 12])
  assert.deepEqual((await run({ a: same, b: same })).avoided, [], 'no majority was against them')
  assert.deepEqual(await state(), [13, null, null])
})

test('a majority against the giver takes the block back; one for it goes on', async (t) => {
  for (const [nodes, moved, left, dissenting, against] of [
    [{ a: same, b: otherId, c: otherId }, true, 1, ['a'], ['b', 'c']],
    [{ a: same, b: otherId, c: same }, true, 3, ['b'], ['a', 'c']],
  ] as [Record<string, Says>, boolean, number, string[], string[]][]) {
    const { sql } = await freshDatabase(t)
    const { run, state } = await chain(sql, [['a'], ['a']])
    assert.equal((await run(nodes)).moved, moved)
    assert.equal((await sql`select number from block`).length, left)
    const expected = { dissenting, against, number: 11, what: 'the block', times: 1 }
    assert.deepEqual(await disputes(sql), [expected])
    assert.deepEqual(await state(), [10, null, null])
  }
})

test('who was outvoted within a day is asked last, and read from last', async (t) => {
  const { sql } = await freshDatabase(t)
  const { run } = await chain(sql, [[], []])
  const at = (ms: number) => new Date(NOW.getTime() - ms)
  await sql`
    insert into node_dispute (dissenting, against, number, what, times, first_at, last_at)
    values ('{a}', '{b,c}', 1, '', 1, ${NOW}, ${at(DAY_MS - 1)}),
      ('{b}', '{a,c}', 1, '', 1, ${NOW}, ${at(DAY_MS)}), ('{c}', '{}', 1, '', 1, ${NOW}, ${NOW}),
      ('{d}', '{a}', 1, '', 1, ${NOW}, ${NOW})`
  const { asked, avoided } = await run({ a: same, b: same, c: same })
  assert.deepEqual(
    [asked, avoided],
    [
      ['b', 'c'],
      ['a', 'd'],
    ],
  )
})

const withTime: Says = (block) => ({ ...block, time: new Date(block.time.getTime() + 1) })
const withParent: Says = (block) => ({ ...block, parent_id: 'other' })
const withFailure: Says = (block) => ({
  ...block,
  transactions: block.transactions.map((one) => ({ ...one, succeeded: false })),
})
const withMove: Says = (block) => ({
  ...block,
  transfers: block.transfers.map((one) => ({ ...one, amount_sun: 6n })),
})
const sending =
  (sent?: bigint): Says =>
  ({ number }) =>
    blockAt(number, sent === undefined ? {} : { sent })

test('nodes differ in a block, its time, its outcomes, or what it moved', async (t) => {
  for (const [says, what] of [
    [otherId, 'the block'],
    [withParent, 'the block'],
    [withTime, 'its time'],
    [withFailure, 'its transactions'],
    [withMove, 'what it moved'],
    [sending(2n), 'what contracts sent'],
  ] as [Says, string][]) {
    const { sql } = await freshDatabase(t)
    const { run, state } = await chain(sql, [['a']], (number) => blockAt(number, { sent: 1n }))
    await run({ a: same, b: says })
    assert.deepEqual(await state(), [10, NOW, 11], what)
    assert.equal((await disputes(sql))[0]!.what, what)
  }
})

const stored = async (sql: Sql) =>
  (
    await sql<{ read_from: string[]; moves: number }>`
      select read_from, json_array_length(contents -> 'm') as moves from block where number = 11`
  )[0]

test('what contracts sent is kept from who shows it, and who hides it is known', async (t) => {
  for (const [giver, witness, node, read_from] of [
    [undefined, 1n, 'a', ['b']],
    [1n, undefined, 'b', ['a']],
    [1n, 1n, undefined, ['a']],
  ] as const) {
    const { sql } = await freshDatabase(t)
    const giving = (number: number) => blockAt(number, giver === undefined ? {} : { sent: giver })
    const { run, state } = await chain(sql, [['a']], giving)
    await run({ a: same, b: sending(witness) })
    assert.deepEqual(await state(), [11, null, null])
    assert.deepEqual(await stored(sql), { read_from, moves: 2 })
    const hiding = await sql`select node from node_hiding`
    assert.deepEqual(hiding, node === undefined ? [] : [{ node }])
  }
})

test('of a block whose outcomes were not kept what contracts sent is read anew', async (t) => {
  const { sql } = await freshDatabase(t)
  const { run, state } = await chain(sql, [['a']], (number) => blockAt(number, { sent: 1n }))
  await sql`update block set outcomes_sha256 = ''`
  await run({ a: same, b: sending(2n) })
  assert.deepEqual(await state(), [11, null, null])
  assert.deepEqual(await stored(sql), { read_from: ['b'], moves: 2 })
})

test('a run looks at twenty blocks, and takes no gap from a node', async (t) => {
  const { sql } = await freshDatabase(t)
  const { run, state } = await chain(
    sql,
    Array.from({ length: 23 }, () => ['a']),
  )
  const without =
    (number: number): Says =>
    (block) =>
      block.number === number ? undefined : block
  await run({ a: same, b: without(11) })
  assert.deepEqual(await state(), [10, NOW, null])
  await run({ a: same, b: without(13) })
  assert.deepEqual(await state(), [12, NOW, null])
  await run({ a: same, b: same })
  assert.deepEqual(await state(), [32, NOW, null])
  await run({ a: same, b: same })
  assert.deepEqual(await state(), [33, null, null])
})

test('what others have confirmed, or read anew, meanwhile is left as it is', async (t) => {
  const confirmedTo = (number: number) => (sql: Sql) =>
    sql`update chain set confirmed_number = ${number}`
  const readAnew = (sql: Sql) => sql`update block set read_from = '{c}' where number = 12`
  const cases: [(sql: Sql) => Promise<unknown>, Says, unknown[]][] = [
    [confirmedTo(11), same, [11, null, null]],
    [readAnew, same, [10, null, null]],
    [confirmedTo(12), otherId, [12, null, null]],
    [confirmedTo(11), otherId, [11, NOW, 12]],
    [readAnew, otherId, [11, NOW, null]],
  ]
  for (const [act, says, expected] of cases) {
    const { sql } = await freshDatabase(t)
    const { run, state } = await chain(sql, [['a'], ['a']])
    const { moved } = await run({ a: same, b: from(12, says) }, async () => {
      await act(sql)
    })
    assert.equal(moved, true, 'it looks again')
    assert.deepEqual(await state(), expected)
  }
})

test('a node is asked for five solid blocks at a time, as far as it has them', async (t) => {
  const { sql } = await freshDatabase(t)
  const givers = Array.from({ length: 11 }, () => ['a'])
  const { run, state } = await chain(sql, givers)
  await sql`update chain set solid_number = 20`
  assert.deepEqual((await run({ a: same, b: upTo(10) })).ranges, ['11-15'])
  assert.deepEqual((await run({ a: same, b: same })).ranges, ['11-15', '16-20'])
  assert.deepEqual(await state(), [20, null, null], 'block 21 is not solid yet')
})

test('where two must say the same, one that differs confirms nothing before it', async (t) => {
  const { sql } = await freshDatabase(t)
  const { run, state } = await chain(sql, [[], []])
  await run({ a: from(12, otherId), b: same })
  assert.deepEqual(await state(), [10, NOW, 12])
})
