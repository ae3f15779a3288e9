// Rows beside the index: what of them is forgotten, which input is the newest, which addresses are
// hubs, and how far a way back goes.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { publishLabels } from 'penstock-test/harness/labels.ts'
import {
  addressNumbered,
  idNumbered,
  type LoggedMove,
  loggedWorld,
  momentOf,
  writeLog,
} from 'penstock-test/harness/logged_world.ts'
import type { Address } from 'penstock-tron/address.ts'
import { bareHex } from '../../chain/transfers/bare_addresses.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { newestInput, pruneIndexStep } from './generations.ts'
import { findHubs, hubLabels, hubsOf, storeHubs } from './hubs.ts'
import { pathsBack } from './paths.ts'

const AT = momentOf(0)

/** Generations from 1 on: `used`, in order, were in use. */
async function someGenerations(t: TestContext, used: readonly boolean[]): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into label_set (number, sha256, note, published_at, published_by)
    values (7, ${'0'.repeat(64)}, 'test', ${AT}, 'test')`
  for (const [reach, is_used] of used.entries())
    await sql`
      insert into flow_generation (label_set, begun_at, reach, first_number, rules, active_at)
      values (7, ${AT}, ${reach}, ${10 + reach}, 1, ${is_used ? AT : null})`
  return sql
}

const pairs = async (rows: Promise<{ a: number; b: bigint }[]>) =>
  (await rows).map(({ a, b }) => [a, Number(b)])

const pruning = (sql: Sql) =>
  pruneIndexStep({
    sql,
    clock: { now: () => AT },
    carried_blocks: 10,
    checkpoint_transfers: 1,
  })

/** In generations 1 to 5 what blocks carried, who has it from whom, and checkpoints. */
async function carriedRows(sql: Sql): Promise<void> {
  const rows = [1, 2, 3, 4, 5].flatMap((generation) =>
    [179, 180, 185, 186, 190, 191].map((number) => [generation, number]),
  )
  for (const [generation, number] of rows)
    await sql`insert into flow_carried values (${generation}, ${number}, '')`
  for (const generation of [2, 3, 4])
    for (const number of [180, 190]) {
      await sql`insert into flow_checkpoint values (${generation}, ${number}, 1, ${AT})`
      await sql`insert into flow_checkpoint_part values (${generation}, ${number}, 0, '')`
    }
  const from = [
    [4, 2, 190],
    [3, 2, 185],
    [5, 4, 179],
    [5, 3, 180],
    [2, 1, 179],
  ]
  for (const [generation, other, until] of from)
    await sql`insert into flow_carried_from values (${generation}, ${other}, ${until})`
}

test('what no generation in use leads to is forgotten, and what is long ago', async (t) => {
  const sql = await someGenerations(t, [true, true, true, true, false])
  await carriedRows(sql)
  await writeLog(sql, [[]], { first: 200 })
  const step = pruning(sql)
  assert.equal(await step.run(), true)
  const kept = await pairs(
    sql<{ a: number; b: bigint }>`
      select generation as a, number as b from flow_carried order by 1, 2`,
  )
  const all = [180, 185, 186, 190, 191]
  assert.deepEqual(kept, [
    ...[180, 185, 186, 190].map((number) => [2, number]),
    ...[3, 4, 5].flatMap((generation) => all.map((number) => [generation, number])),
  ])
  const from = sql<{ a: number; b: bigint }>`
    select generation as a, until as b from flow_carried_from order by 1, 2`
  assert.deepEqual(await pairs(from), [
    [3, 185],
    [4, 190],
    [5, 180],
  ])
  for (const table of [
    sql<{ a: number; b: bigint }>`
      select generation as a, number as b from flow_checkpoint order by 1, 2`,
    sql<{ a: number; b: bigint }>`
      select generation as a, number as b from flow_checkpoint_part order by 1, 2`,
  ])
    assert.deepEqual(await pairs(table), [
      [3, 180],
      [3, 190],
      [4, 180],
      [4, 190],
    ])
  assert.equal(await step.run(), false, 'nothing is left to be forgotten')
})

test('nothing is forgotten before an index was in use', async (t) => {
  const sql = await someGenerations(t, [false, false, false, false, false])
  await carriedRows(sql)
  await writeLog(sql, [[]], { first: 200 })
  assert.equal(await pruning(sql).run(), false)
  const [row] = await sql<{ count: bigint }>`select count(*) as count from flow_carried`
  assert.equal(Number(row!.count), 30)
})

test('the index is of the newest labels and reach, in the generation of just those', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.equal(await newestInput(sql), undefined, 'no block')
  await writeLog(sql, [[], []])
  const first = { label_set: 0, reach: 0, rules: 1, first_number: 100, generation: null }
  assert.deepEqual(await newestInput(sql), first)
  const generation = (label_set: number, reach: number, rules: number, first_number: number) => sql`
    insert into flow_generation (label_set, begun_at, reach, first_number, rules)
    values (${label_set}, ${AT}, ${reach}, ${first_number}, ${rules})`
  await generation(0, 0, 2, 103)
  await generation(0, 1, 1, 102)
  assert.deepEqual(await newestInput(sql), { ...first, first_number: 102 })
  await generation(0, 0, 1, 101)
  assert.deepEqual(await newestInput(sql), { ...first, first_number: 101, generation: 3 })
  await sql`
    insert into label_set (number, sha256, note, published_at, published_by)
    values (1, ${'0'.repeat(64)}, 'test', ${AT}, 'test')`
  const labelled = { ...first, label_set: 1, first_number: 101 }
  assert.deepEqual(await newestInput(sql), labelled)
  for (const first_number of [90, 80])
    await sql`
      insert into flow_reach (first_number, made_at, made_by, reason)
      values (${first_number}, ${AT}, 'me', 'so')`
  assert.deepEqual(await newestInput(sql), { ...labelled, reach: 2, first_number: 80 })
})

const move = (from: Address, to: Address, more: Partial<LoggedMove> = {}): LoggedMove => ({
  tx: 1,
  from,
  to,
  asset: 0,
  amount: 1_000n,
  ...more,
})

test('a hub has no label and deals with more than so many, in all assets together', async (t) => {
  const [BUSY, SPREAD, LESS, SHOP] = [100, 101, 102, 103].map(addressNumbered) as [
    Address,
    Address,
    Address,
    Address,
  ]
  const with_others = (one: Address, asset: number, others: readonly number[]) =>
    others.map((n) => move(addressNumbered(n), one, { asset }))
  const { sql, generations, index } = await loggedWorld(
    t,
    {
      labels: [{ address: SHOP, category: 'exchange_licensed' }],
      blocks: [
        with_others(BUSY, 0, [1, 2, 3, 4]),
        [...with_others(SPREAD, 0, [11, 12]), ...with_others(SPREAD, 1, [12, 13, 14])],
        [...with_others(LESS, 0, [21, 22, 23]), ...with_others(LESS, 1, [21, 22, 23])],
        with_others(SHOP, 0, [31, 32, 33, 34, 35]),
      ],
    },
    { hub_counterparties: 3 },
  )
  const found = await findHubs(sql, generations.current()!)
  assert.deepEqual(
    found.map(({ address, counterparties }) => [address, counterparties]),
    [
      [bareHex(BUSY), 4],
      [bareHex(SPREAD), 4],
    ],
  )
  assert.equal(generations.current()!.hubs, 0)
  await publishLabels(sql, [{ address: addressNumbered(200), category: 'scam' }], { at: AT })
  await index()
  const { number, hubs } = generations.current()!
  assert.deepEqual([number, hubs], [2, 2])
  assert.deepEqual(await hubsOf(sql, 1), [])
  assert.deepEqual(await hubsOf(sql, 2), found)
  assert.deepEqual(
    (await findHubs(sql, generations.current()!)).slice(0, 2),
    found,
    'those that are hubs already stay',
  )
  await sql.begin((tx) => storeHubs(tx, 1, []))
  assert.deepEqual(await hubsOf(sql, 1), [])
})

test('a hub is a terminal by the first rules, and half of one since the third', () => {
  const confidences = [1, 2, 3].map(
    (rules) => hubLabels([{ address: '11'.repeat(20), counterparties: 9 }], rules)[0]!.confidence,
  )
  assert.deepEqual(confidences, [50, 50, 49])
})

test('a way back ends where the money began, after ten steps, or before the window', async (t) => {
  const people = Array.from({ length: 13 }, (_, n) => addressNumbered(n + 1))
  const blocks = people.slice(1).map((to, i) => [move(people[i]!, to, { tx: i + 1 })])
  const { generations } = await loggedWorld(t, { labels: [], blocks })
  const { transfers } = generations.current()!
  const wayOf = async (sequence: number, since = 0, category = 20) => {
    const [steps] = await pathsBack(transfers, [{ sequence, category }], since)
    return steps!.map(({ transfer, carried }) => [
      Number(`0x${transfer.tx_id}`),
      carried === undefined ? null : Number(carried),
    ])
  }
  const steps = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, i) => [from - i, 1_000])
  assert.deepEqual(await wayOf(3), steps(3, 1))
  assert.deepEqual(await wayOf(12), steps(12, 3), 'ten steps')
  assert.deepEqual(await wayOf(5, 102), [...steps(5, 3), [2, null]], 'what block 101 carried')
  assert.deepEqual(await wayOf(3, 0, 7), [[3, null]], 'it carried nothing of that category')
  assert.deepEqual(await wayOf(99), [], 'there is no such transfer')
  assert.deepEqual(await pathsBack(transfers, [], 0), [])
  const ways = await pathsBack(
    transfers,
    [1, 99, 2].map((sequence) => ({ sequence, category: 20 })),
    0,
  )
  assert.deepEqual(
    ways.map((way) => way.length),
    [1, 0, 2],
  )
  const of = await transfers.ofTransaction(103, idNumbered(4))
  assert.deepEqual(
    of.map(({ sequence, from, to }) => [sequence, from, to]),
    [[4, people[3], people[4]]],
  )
  assert.deepEqual(await transfers.ofTransaction(103, idNumbered(5)), [])
  assert.deepEqual(await transfers.ofTransaction(999, idNumbered(4)), [])
  const found = await transfers.bySequence([4, 99, 1, 4])
  assert.deepEqual(
    [...found].map(([sequence, one]) => [sequence, one.block_number]),
    [
      [4, 103],
      [1, 100],
    ],
  )
})
