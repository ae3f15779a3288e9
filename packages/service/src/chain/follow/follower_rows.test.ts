// What one look at a node stores, takes back and confirms, by rows and what the node says.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putAttempt } from 'penstock-test/harness/attempt_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { type MadeBlock, madeBlock, storedBlock } from 'penstock-test/harness/made_chain.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Node, Side } from '../node/node.ts'
import { storeBlock } from './blocks.ts'
import { follow } from './follower.ts'

const NOW = new Date(1_780_000_000_000)
const after = (ms: number) => new Date(NOW.getTime() + ms)

/** A block of the branch that leaves the other one after block `fork`. */
function blockOf(number: number, fork = Number.POSITIVE_INFINITY): MadeBlock {
  const idOf = (of: number) => `${of > fork ? 'other' : 'ours'} ${of}`
  const read_from = new Set(['a'])
  return { ...madeBlock(number), id: idOf(number), parent_id: idOf(number - 1), read_from }
}

type Answers = {
  head: number
  solid: number
  fork?: number
  solid_fork?: number
  names?: readonly string[]
  /** Blocks from this number on it does not give. */
  without?: number
  /** Of whom it says to have the blocks. */
  giver?: string
  meanwhile?: () => Promise<unknown>
}

/** A look at a node at this moment, and what it was asked for. */
async function look(sql: Sql, said: Answers, now = NOW) {
  const { head, solid, fork, solid_fork = fork, names = ['a'], giver = 'a' } = said
  const { without = Number.POSITIVE_INFINITY, meanwhile = async () => {} } = said
  const asked: string[] = []
  const give = (number: number, side: Side) => ({
    ...blockOf(number, side === 'solid' ? solid_fork : fork),
    read_from: new Set([giver]),
  })
  const node = {
    names,
    head: async () => blockOf(head, fork),
    async solidHead() {
      asked.push('solid head')
      return blockOf(solid, solid_fork)
    },
    async blocks(first: number, last: number, side: Side) {
      asked.push(`${side} ${first}-${last}`)
      await meanwhile()
      const found: MadeBlock[] = []
      const end = Math.min(last, side === 'solid' ? solid : head, without - 1)
      for (let number = first; number <= end; number++) found.push(give(number, side))
      return found
    },
    receipts: async () => [],
    async blockWithReceipts(number: number, side: Side) {
      asked.push(`${side} block ${number}`)
      await meanwhile()
      return number < without ? { block: give(number, side), receipts: [] } : undefined
    },
  } as unknown as Node
  const moved = await follow({ sql, clock: { now: () => now }, node, tokens: new Set() })
  return { moved, asked }
}

/** Blocks 100 to the head as they were read, and how far they are solid and confirmed. */
async function stored(sql: Sql, head: number, solid: number, confirmed = solid): Promise<void> {
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
      head_seen_at)
    values (${head}, ${blockOf(head).id}, ${blockOf(head).time}, ${solid}, ${confirmed}, ${NOW},
      ${NOW})`
  await sql.begin(async (tx) => {
    for (let number = 100; number <= head; number++) storeBlock(tx, storedBlock(blockOf(number)))
  })
}

async function state(sql: Sql) {
  const [row] = await sql<{ head_number: number; solid: number; confirmed: number }>`
    select head_number::int, solid_number::int as solid, confirmed_number::int as confirmed
    from chain`
  const blocks = await sql<{ id: string }>`select id from block order by number`
  return { numbers: row && Object.values(row), last: blocks.at(-1)?.id, blocks: blocks.length }
}

const times = async (sql: Sql) =>
  (await sql`select seen_at, head_seen_at, behind from chain`)[0] as Record<string, unknown>

test('the first look stores the solid block; with one node it is confirmed', async (t) => {
  for (const [names, confirmed] of [
    [['a'], 90],
    [['a', 'b'], 89],
  ] as const) {
    const { sql } = await freshDatabase(t)
    const said = { head: 97, solid: 90, names }
    assert.equal((await look(sql, { ...said, without: 90 })).moved, false)
    assert.equal((await state(sql)).numbers, undefined)
    assert.equal((await look(sql, said)).moved, true)
    assert.deepEqual(await state(sql), { numbers: [90, 90, confirmed], last: 'ours 90', blocks: 1 })
    assert.deepEqual(await times(sql), { seen_at: NOW, head_seen_at: NOW, behind: 7 })
  }
  const { sql } = await freshDatabase(t)
  await look(sql, { head: 97, solid: 90, meanwhile: () => stored(sql, 100, 100) })
  const by_another = { numbers: [100, 100, 100], last: 'ours 100', blocks: 1 }
  assert.deepEqual(await state(sql), by_another, 'another process has begun')
})

test('while the head stays the same nothing more is asked for four seconds', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 110, 100)
  const said = { head: 110, solid: 100 }
  assert.deepEqual(await look(sql, said, after(3_999)), { moved: false, asked: [] })
  assert.deepEqual((await times(sql)).seen_at, NOW)
  assert.deepEqual(await look(sql, said, after(4_000)), { moved: false, asked: ['solid head'] })
  assert.deepEqual(await times(sql), { seen_at: after(4_000), head_seen_at: NOW, behind: 0 })
  assert.equal((await look(sql, { head: 111, solid: 100 }, after(4_001))).moved, true)
  assert.deepEqual((await times(sql)).head_seen_at, after(4_001))
})

test('the one next block comes with its receipts, unless it may be solid already', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 105, 100)
  const next = await look(sql, { head: 106, solid: 100 })
  assert.deepEqual(next.asked.toSorted(), ['head block 106', 'solid head'])
  await look(sql, { head: 108, solid: 100 })
  assert.deepEqual(await state(sql), { numbers: [108, 100, 100], last: 'ours 108', blocks: 9 })
  await sql`update chain set solid_number = 104`
  const near = await look(sql, { head: 109, solid: 104 })
  assert.deepEqual(near.asked, ['solid head', 'head 109-109'])
  const passed = await look(sql, { head: 112, solid: 110 })
  assert.deepEqual(passed.asked, ['solid head', 'solid 110-110'])
  assert.deepEqual((await state(sql)).numbers, [110, 110, 110])
  assert.equal((await times(sql)).behind, 2)
  const much = await look(sql, { head: 140, solid: 118 })
  assert.deepEqual(much.asked, ['solid head', 'solid 111-115', 'solid 116-118'])
  const more = await look(sql, { head: 140, solid: 118 })
  assert.equal(more.asked.at(-1), 'head 134-138')
  assert.deepEqual((await state(sql)).numbers, [138, 118, 118], 'twenty at a time')
})

test('a solid side that has passed the head proves nothing while it gives no block', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 105, 100)
  assert.equal((await look(sql, { head: 108, solid: 106, without: 106 })).moved, false)
  assert.deepEqual((await state(sql)).numbers, [105, 100, 100])
  assert.equal((await look(sql, { head: 108, solid: 105, without: 106 })).moved, true)
  assert.deepEqual((await state(sql)).numbers, [105, 105, 105], 'as far as the head it does')
  assert.equal((await look(sql, { head: 108, solid: 103, without: 106 })).moved, false)
  assert.deepEqual((await state(sql)).numbers, [105, 105, 105], 'it never goes back')
})

test('a fork is taken back to the last block of both, unless another has', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 100)
  const fork = { head: 110, solid: 100, fork: 105 }
  assert.equal((await look(sql, fork)).moved, true)
  assert.deepEqual(await state(sql), { numbers: [105, 100, 100], last: 'ours 105', blocks: 6 })
  await look(sql, fork)
  assert.deepEqual(await state(sql), { numbers: [110, 100, 100], last: 'other 110', blocks: 11 })
})

test('a fork that another process has seen first is looked at again', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 100)
  const meanwhile = () => sql`update chain set head_id = 'moved'`
  const moved = await look(sql, { head: 110, solid: 100, fork: 105, meanwhile })
  assert.equal(moved.moved, true)
  assert.equal((await state(sql)).blocks, 9, 'nothing is taken back')
})

test('what another process has stored meanwhile is not stored again', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 100)
  const meanwhile = () => sql`update chain set head_id = 'moved'`
  assert.equal((await look(sql, { head: 110, solid: 102, meanwhile })).moved, true)
  assert.deepEqual(await state(sql), { numbers: [108, 100, 100], last: 'ours 108', blocks: 9 })
})

test('a solid block that is another than ours takes ours back, above the solid one', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 100)
  const said = { head: 108, solid: 104, fork: 103 }
  await look(sql, said)
  assert.deepEqual(await state(sql), { numbers: [103, 100, 100], last: 'ours 103', blocks: 4 })
  const { sql: second } = await freshDatabase(t)
  await stored(second, 108, 104)
  await look(second, { head: 109, solid: 104, solid_fork: 103 })
  assert.equal((await state(second)).last, 'ours 109', 'what was solid before is not asked about')
  for (const solid of [105, 108]) {
    const { sql } = await freshDatabase(t)
    await stored(sql, 108, 104)
    await assert.rejects(look(sql, { head: 109, solid, solid_fork: 103 }), Outage)
    assert.deepEqual((await state(sql)).numbers, [108, 104, 104], 'its own sides differ')
  }
})

test('a head whose parent is not ours, on a branch that has ours, is an outage', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 104)
  await assert.rejects(look(sql, { head: 110, solid: 109, solid_fork: 107 }), Outage)
  assert.equal((await state(sql)).blocks, 9)
})

test('with one node what is solid is confirmed, unless another gave the blocks', async (t) => {
  for (const [said, confirmed, attempt] of [
    [{ head: 109, solid: 105 }, 105, 'solid'],
    [{ head: 109, solid: 105, names: ['a', 'b'] }, 100, 'included'],
    [{ head: 109, solid: 105, names: ['b'] }, 100, 'included'],
    [{ head: 109, solid: 104 }, 104, 'included'],
    [{ head: 112, solid: 112, giver: 'z' }, 108, 'solid'],
  ] as [Answers, number, string][]) {
    const { sql } = await freshDatabase(t)
    await stored(sql, 108, 100)
    await putAttempt(sql, 'one', { state: 'included', block_number: 105 })
    await look(sql, said)
    assert.equal((await state(sql)).numbers!.at(-1), confirmed)
    const [one] = await sql`select state from attempt`
    assert.deepEqual([one!.state, confirmed], [attempt, confirmed])
  }
})

test('what the solid side gives at once is solid with its block', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 108)
  await putAttempt(sql, 'one', { state: 'sent' })
  const meanwhile = () =>
    sql`update attempt set state = 'included', block_number = 109, block_time = ${NOW}`
  await look(sql, { head: 112, solid: 109, meanwhile })
  assert.deepEqual(await sql`select state from attempt`, [{ state: 'solid' }])
  assert.deepEqual((await state(sql)).numbers, [109, 109, 109])
})

test('a confirmed block of another giver does not hold up what comes after it', async (t) => {
  const { sql } = await freshDatabase(t)
  await stored(sql, 108, 101)
  await sql`update block set read_from = '{z}' where number <= 101`
  await look(sql, { head: 109, solid: 105 })
  assert.deepEqual((await state(sql)).numbers, [109, 105, 105])
})
