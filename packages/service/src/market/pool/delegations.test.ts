// Each arrow of a delegation, shown one of each state: it moves those that it says, and no other.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  begun_at,
  HOUR_MS,
  insertDelegation as insert,
  wallet,
} from 'penstock-test/harness/delegation_rows.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  activateDelegations,
  delegationsOf,
  delegationsOnChain,
  endDelegationsNow,
  reclaimedStep,
  reclaimStep,
} from './delegations.ts'

const afterwards = (ms: number) => new Date(begun_at.getTime() + ms)
const over_at = afterwards(HOUR_MS)

const STATES = ['delegating', 'active', 'reclaiming', 'ended', 'failed']

async function withOneOfEach(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const state of STATES) await insert(sql, { id: state, state })
  return sql
}

async function movesIn(sql: Sql): Promise<string[]> {
  const rows = await sql<{ id: string; state: string }>`
    select id, state from delegation where split_part(id, ' ', 1) <> state order by id`
  return rows.map(({ id, state }) => `${id} -> ${state}`)
}

test('only what is being delegated becomes active, from its block on', async (t) => {
  for (const hours of [0, 1] as const) {
    const sql = await withOneOfEach(t)
    await insert(sql, { id: 'delegating other', state: 'delegating' })
    const ids = [...STATES]
    await sql.begin(async (tx) => activateDelegations(tx, ids, hours))
    assert.deepEqual(await movesIn(sql), ['delegating -> active'])
    const [row] = await sql<{ delegated_at: Date; expires_at: Date }>`
      select delegated_at, expires_at from delegation where id = 'delegating'`
    assert.deepEqual(row, { delegated_at: begun_at, expires_at: afterwards(hours * HOUR_MS) })
  }
})

test('of an order that failed, what is active is due at once, and nothing else', async (t) => {
  const sql = await withOneOfEach(t)
  await insert(sql, { id: 'active other', state: 'active' })
  await sql.begin(async (tx) =>
    endDelegationsNow(
      tx,
      STATES.map((one) => `order of ${one}`),
    ),
  )
  const due = await sql<{ id: string }>`select id from delegation where expires_at = delegated_at`
  assert.deepEqual(due, [{ id: 'active' }])
})

test('taken back is what a block took back; what is dead or lost in a fork is not', async (t) => {
  const rows: [state: string, reclaim: string, uncovered: boolean, moved: string | undefined][] = [
    ['reclaiming', 'signed', false, undefined],
    ['reclaiming', 'sent', true, undefined],
    ['reclaiming', 'included', false, 'ended'],
    ['reclaiming', 'solid', false, 'ended'],
    ['reclaiming', 'dead', false, 'active'],
    ['ended', 'included', false, undefined],
    ['ended', 'solid', true, undefined],
    ['ended', 'signed', true, 'reclaiming'],
    ['ended', 'sent', true, 'reclaiming'],
    // What a restore does not know the block of was in one.
    ['ended', 'sent', false, undefined],
    ['ended', 'dead', true, 'active'],
    ['ended', 'dead', false, undefined],
  ]
  const { sql } = await freshDatabase(t)
  for (const [state, reclaim, uncovered] of rows)
    await insert(sql, { id: `${state} ${reclaim} ${uncovered}`, state, reclaim, uncovered })
  const step = reclaimedStep({ sql })
  assert.equal(await step.run(), true)
  const moves = rows.flatMap(([state, reclaim, uncovered, moved]) =>
    moved === undefined ? [] : [`${state} ${reclaim} ${uncovered} -> ${moved}`],
  )
  assert.deepEqual(await movesIn(sql), moves.sort())
  const unsure = await sql`select from delegation where state = 'active' and reclaim_id is not null`
  assert.equal(unsure.length, 0)
  assert.equal(await step.run(), false)
})

/** Blocks are confirmed up to this time. */
async function confirmUntil(sql: Sql, time: Date): Promise<void> {
  await sql`
    insert into block (number, id, parent_id, time, contents)
    select number, 'block ' || number, '', ${time}::timestamptz + (number - 50) * interval '1 hour',
      '{}'
    from generate_series(49, 51) as number`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (51, 'block 51', ${time}, 51, 50, ${time})`
}

const reclaimIn = (sql: Sql) => {
  let made = 0
  return reclaimStep({
    sql,
    clock: { now: () => over_at },
    new_id: () => `attempt ${++made}`,
    permissions: new Map([[wallet, 2]]),
  })
}

test('what is solid is taken back when a confirmed block says that it is over', async (t) => {
  const { sql } = await freshDatabase(t)
  const later = afterwards(HOUR_MS + 1)
  await insert(sql, { id: 'active due', state: 'active' })
  await insert(sql, { id: 'active later', state: 'active', expires_at: later })
  await insert(sql, { id: 'active unsolid', state: 'active', attempt: 'included' })
  await insert(sql, { id: 'active elsewhere', state: 'active', of_wallet: person('cold').address })
  for (const state of STATES.filter((one) => one !== 'active'))
    await insert(sql, { id: `${state} other`, state })
  const step = reclaimIn(sql)
  assert.equal(await step.run(), false, 'nothing is confirmed')
  await confirmUntil(sql, over_at)
  assert.equal(await step.run(), true)
  assert.deepEqual(await movesIn(sql), ['active due -> reclaiming'])
  const [attempt] = await sql<{ subject: string; contract: { type: string } }>`
    select a.subject, contract from attempt as a join delegation as d on d.reclaim_id = a.id
    where d.id = 'active due'`
  assert.equal(attempt!.subject, 'reclaim:active due')
  assert.match(JSON.stringify(attempt!.contract), /UnDelegateResourceContract/)
  assert.equal(await step.run(), false)
})

test('where a fork has moved a delegation, its hour is counted from there', async (t) => {
  const { sql } = await freshDatabase(t)
  await insert(sql, { id: 'active', state: 'active' })
  await insert(sql, { id: 'active other', state: 'active', expires_at: afterwards(2 * HOUR_MS) })
  await sql`
    update attempt set block_time = block_time + interval '1 minute' where id = 'delegate:active'`
  await confirmUntil(sql, over_at)
  const step = reclaimIn(sql)
  assert.equal(await step.run(), true, 'it was counted anew')
  assert.deepEqual(await movesIn(sql), [])
  const rows = await sql<{ id: string; delegated_at: Date; expires_at: Date }>`
    select id, delegated_at, expires_at from delegation order by id`
  assert.deepEqual(rows, [
    { id: 'active', delegated_at: afterwards(60_000), expires_at: afterwards(HOUR_MS + 60_000) },
    { id: 'active other', delegated_at: begun_at, expires_at: afterwards(2 * HOUR_MS) },
  ])
  assert.equal(await step.run(), false)
})

test('one that is being taken back already, since a restore, is not taken twice', async (t) => {
  for (const [state, again] of [
    ['sent', false],
    ['dead', true],
  ] as const) {
    const { sql } = await freshDatabase(t)
    await insert(sql, { id: 'active', state: 'active' })
    await sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at)
      values ('found', 'reclaim:active', '{}', ${state}, 'found', '', now(), now(), now())`
    await confirmUntil(sql, over_at)
    assert.equal(await reclaimIn(sql).run(), true)
    const [row] = await sql<{ reclaim_id: string }>`select reclaim_id from delegation`
    assert.equal(row!.reclaim_id !== 'found', again, state)
  }
})

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort()

test('on the chain is what a block has, and nothing takes back', async (t) => {
  const sql = await withOneOfEach(t)
  await insert(sql, { id: 'delegating sent', state: 'delegating', attempt: 'sent' })
  const found = async () => idsOf(await sql.begin((tx: Tx) => delegationsOnChain(tx)))
  assert.deepEqual(await found(), ['active', 'delegating'])
  const reclaim = (state: string) => sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at)
    values (${state}, 'reclaim:active', '{}', ${state}, ${state}, '', now(), now(), now())`
  await reclaim('dead')
  assert.deepEqual(await found(), ['active', 'delegating'])
  await reclaim('sent')
  assert.deepEqual(await found(), ['delegating'])
})

test("an order's delegations are its own that are or were on the chain", async (t) => {
  const sql = await withOneOfEach(t)
  await sql`update delegation set order_id = 'order of active'`
  await insert(sql, { id: 'active other', state: 'active' })
  const found = await delegationsOf(sql, 'order of active')
  assert.deepEqual(idsOf(found), ['active', 'ended', 'reclaiming'])
  assert.deepEqual(
    found.map(({ id, tx_id, reclaim_tx_id }) => [id, tx_id, reclaim_tx_id]),
    [
      ['active', 'delegate:active', null],
      ['ended', 'delegate:ended', 'reclaim:ended'],
      ['reclaiming', 'delegate:reclaiming', 'reclaim:reclaiming'],
    ],
  )
})
