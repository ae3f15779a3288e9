// What solid blocks do to watches: which become due, and of which transfers and freezes their
// customers hear. Blocks are handed to the reader as they are stored.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { USDT } from 'penstock-devchain/devchain.ts'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { publishLabels } from 'penstock-test/harness/labels.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { insertChecks, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import type { FreezeEvent } from '../../chain/follow/contents.ts'
import { watchBlocksStep } from './watch_blocks.ts'

const address = (name: string) => person(name).address
const USD = 1_000_000n

type BriefMove = [tx_id: string, from: string, to: string, units: bigint, asset?: string]
type BriefFreeze = readonly [kind: FreezeEvent['kind'], name: string]

/** A block with these transfers, of tokens unless it is said, and these freezes. */
function block(
  number: number,
  moves: readonly BriefMove[],
  freezes: readonly BriefFreeze[] = [],
): StoredBlock {
  const contents: StoredBlock['contents'] = {
    moves: moves.map(([tx_id, from, to, amount, asset = USDT], index) => ({
      tx_id,
      kind: 'transfer',
      index,
      asset,
      amount,
      from: address(from),
      to: address(to),
    })),
    unfollowed: [],
    unknown: [],
    freezes: freezes.map(([kind, name], index) => ({
      tx_id: `f${index}`,
      index,
      token: USDT,
      kind,
      address: address(name),
    })),
    energy_uses: [],
    fees: [],
  }
  return { number, id: `b${number}`, time: new Date(+MADE_AT + number * 3_000), contents }
}

type WatchRow = {
  name: string
  customer_id?: string
  check_id?: string
  due_at?: Date
  least_usd?: bigint
  sent_to?: boolean
}

async function watching(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into flow_asset (number, contract, symbol, decimals) values (7, ${USDT}, 'USDT', 6)`
  const step = watchBlocksStep({ sql })
  const insert = async (...watches: WatchRow[]) => {
    for (const { name, customer_id = 'anna', check_id = null, sent_to = false, ...more } of watches)
      await sql`
        insert into aml_watch (customer_id, address, made_at, label_set, due_at, check_id,
          any_incoming_usd, sent_to)
        values (${customer_id}, ${address(name)}, ${MADE_AT}, 3, ${more.due_at ?? MADE_AT},
          ${check_id}, ${more.least_usd ?? null}, ${sent_to})`
  }
  const read = (...blocks: StoredBlock[]) => sql.begin((tx) => step.reads.work(tx, blocks))
  /** What was noted since it was last asked. */
  const noted = async () => {
    const rows = await sql<{ customer_id: string; type: string; data: string }>`
      with gone as (delete from event_note returning id, customer_id, type, data)
      select customer_id, type, data from gone order by id`
    return rows.map(({ customer_id, type, data: text }) => {
      const data = JSON.parse(text) as Record<string, unknown>
      return { customer_id, type, data }
    })
  }
  /** The alerts of them: of whom, by which rule, and about which transfer. */
  const alerts = async () =>
    (await noted()).map(({ customer_id, data }) => {
      const { tx_id, counterparty, category } = data.transfer as Record<string, string>
      const names = ['honest', 'mixer', 'scam', 'shop']
      const other = names.find((name) => address(name) === counterparty)
      return [customer_id, data.rule, tx_id, data.transfers, other, category].join(' ')
    })
  return { sql, insert, read, noted, alerts }
}

test('what money moved to or from is due a minute after its newest answer was asked', async (t) => {
  const { sql, insert, read } = await watching(t)
  const later = new Date(+MADE_AT + 3_600_000)
  await insertChecks(sql, [{ id: 'one' }, { id: 'two', created_at: later }])
  await insert(
    { name: 'sender', due_at: later, check_id: 'one' },
    { name: 'receiver', due_at: later, check_id: 'one' },
    { name: 'receiver', due_at: later, customer_id: 'bert', check_id: 'two' },
    { name: 'never answered', due_at: later },
    { name: 'of one unit', due_at: later, check_id: 'one' },
    { name: 'due before', due_at: MADE_AT, check_id: 'one' },
    { name: 'of nothing', due_at: later, check_id: 'one' },
    { name: 'itself', due_at: later, check_id: 'one' },
    { name: 'absent', due_at: later, check_id: 'one' },
  )
  await read(
    block(5, [
      ['a', 'sender', 'receiver', 9n],
      ['b', 'sender', 'never answered', 9n],
      ['c', 'x', 'of one unit', 1n],
      ['d', 'x', 'due before', 9n],
      ['e', 'x', 'of nothing', 0n],
      ['f', 'itself', 'itself', 9n],
    ]),
    block(6, [['g', 'x', 'receiver', 9n]]),
  )
  type Row = { address: string; customer_id: string; due: string; moved_number: bigint | null }
  const rows = await sql<Row>`
    select address, customer_id, moved_number, case due_at when '-infinity' then 'at once'
      else extract(epoch from due_at - ${MADE_AT})::integer::text end as due from aml_watch`
  const of = (name: string, customer_id = 'anna') => {
    const row = rows.find(
      (one) => one.address === address(name) && one.customer_id === customer_id,
    )!
    return `${row.due} ${row.moved_number}`
  }
  assert.deepEqual(
    ['sender', 'receiver', 'never answered', 'of one unit', 'due before'].map((one) => of(one)),
    ['60 5', '60 6', 'at once 5', '60 5', '0 5'],
  )
  assert.equal(of('receiver', 'bert'), '3600 6')
  for (const name of ['of nothing', 'itself', 'absent']) assert.equal(of(name), '3600 null', name)
})

test('one address that is watched, and touched alone, becomes due', async (t) => {
  const { sql, insert, read, alerts } = await watching(t)
  await insert({ name: 'shop', due_at: new Date(+MADE_AT + 1), least_usd: 1n })
  await read(block(5, [['a', 'honest', 'shop', USD]]))
  assert.equal((await sql`select from aml_watch where due_at = '-infinity'`).length, 1)
  assert.deepEqual(await alerts(), ['anna any_incoming_usd a 1 honest '])
})

test('what a block says of watches does not stop who settles their checks', async (t) => {
  const { sql, insert, read } = await watching(t)
  // Read in the order of the rows, these are the other way about.
  for (const customer_id of ['cora', 'bert', 'anna']) await insert({ name: 'moved', customer_id })
  for (const given of [
    block(1, [['a', 'other', 'moved', USD]]),
    block(2, [], [['added', 'moved']]),
    block(3, [['b', 'other', 'moved', USD]], [['removed', 'moved']]),
  ]) {
    const { reading } = await sql.begin(async (tx) => {
      await tx`select from aml_watch where customer_id = 'anna' for update`
      const reading = read(given)
      await untilBlocked(sql, reading)
      await tx`select from aml_watch where customer_id = 'cora' for update`
      return { reading }
    })
    await reading
  }
})

test('of each block the largest transfer that is large enough is told of', async (t) => {
  const { insert, read, alerts } = await watching(t)
  await insert(
    { name: 'shop', least_usd: 100n },
    { name: 'shop', customer_id: 'bert' },
    { name: 'any', least_usd: 0n },
  )
  const hundred = 100n * USD
  await read(block(5, [['a', 'honest', 'shop', hundred - 1n]]))
  assert.deepEqual(await alerts(), [])
  await read(block(5, [['a', 'shop', 'honest', 2n * hundred]]))
  assert.deepEqual(await alerts(), [], 'it was sent')
  await read(block(5, [['a', 'shop', 'shop', 2n * hundred]]))
  assert.deepEqual(await alerts(), [], 'it was sent to itself')
  await read(block(5, [['a', 'honest', 'other', 2n * hundred]]))
  assert.deepEqual(await alerts(), [], 'to one who is not watched')
  await read(block(5, [['a', 'honest', 'shop', 2n * hundred, 'not followed']]))
  assert.deepEqual(await alerts(), [], 'of an asset that is not followed')
  await read(
    block(5, [
      ['a', 'honest', 'shop', hundred],
      ['b', 'scam', 'shop', hundred + 1n],
      ['c', 'mixer', 'shop', hundred + 1n],
      ['d', 'honest', 'shop', 1n],
    ]),
    block(6, [['e', 'honest', 'shop', hundred]]),
  )
  assert.deepEqual(await alerts(), [
    'anna any_incoming_usd b 3 scam ',
    'anna any_incoming_usd e 1 honest ',
  ])
  await read(
    block(5, [
      ['a', 'honest', 'any', 0n],
      ['b', 'any', 'any', 5n],
      ['c', 'honest', 'any', 5n, 'not followed'],
    ]),
  )
  assert.deepEqual(await alerts(), [])
  await read(block(5, [['a', 'honest', 'any', 1n]]))
  assert.deepEqual(await alerts(), ['anna any_incoming_usd a 1 honest '])
})

test('money sent to a severe category is told of where that is wanted', async (t) => {
  const { sql, insert, read, alerts } = await watching(t)
  const labels = [
    { address: address('mixer'), category: 'mixer' },
    { address: address('scam'), category: 'scam' },
  ]
  await publishLabels(sql, labels, { at: MADE_AT })
  await insert(
    { name: 'shop', sent_to: true },
    { name: 'shop', customer_id: 'bert', least_usd: 0n },
    { name: 'other' },
  )
  await read(block(5, [['a', 'shop', 'mixer', 5n]]))
  assert.deepEqual(await alerts(), ['anna sent_to a 1 mixer mixer'])
  await read(block(5, [['a', 'shop', 'honest', 5n]]))
  assert.deepEqual(await alerts(), [])
  await read(block(5, [['a', 'other', 'mixer', 5n]]))
  assert.deepEqual(await alerts(), [], 'nobody wants to hear of that')
  await read(block(5, [['a', 'mixer', 'shop', 5n]]))
  assert.deepEqual(await alerts(), ['bert any_incoming_usd a 1 mixer '])
  await read(
    block(5, [
      ['a', 'shop', 'honest', 9n],
      ['b', 'shop', 'mixer', 5n],
      ['c', 'shop', 'scam', 6n],
    ]),
  )
  assert.deepEqual(await alerts(), ['anna sent_to c 2 scam scam'])
  const kept = await sql<{ customer_id: string }>`select customer_id from aml_case_alert`
  assert.deepEqual(
    kept.map(({ customer_id }) => customer_id),
    ['anna', 'anna'],
  )
})

test('a freeze and its end are told of, and what is watched is screened again', async (t) => {
  const { sql, insert, read, noted } = await watching(t)
  await insert({ name: 'shop' }, { name: 'shop', customer_id: 'bert' }, { name: 'other' })
  const told = async () =>
    (await noted()).map(({ customer_id, type, data }) => {
      assert.deepEqual([data.address, data.token], [address('shop'), USDT])
      return `${customer_id} ${type} ${data.block_number}`
    })
  const outdated = async () => {
    const rows = await sql<{ customer_id: string; address: string }>`
      select customer_id, address from aml_watch where label_set = -1 order by customer_id`
    for (const row of rows) assert.equal(row.address, address('shop'))
    await sql`update aml_watch set label_set = 3`
    return rows.map(({ customer_id }) => customer_id)
  }
  await read(block(5, [], [['added', 'shop']]))
  assert.deepEqual(await told(), ['anna freeze.executed 5', 'bert freeze.executed 5'])
  assert.deepEqual(await outdated(), ['anna', 'bert'])
  await read(block(6, [], [['destroyed', 'shop']]))
  assert.deepEqual([await told(), await outdated()], [[], []])
  await read(block(7, [], [['added', 'stranger']]))
  assert.deepEqual([await told(), await outdated()], [[], []])
  const both = [
    ['added', 'stranger'],
    ['removed', 'shop'],
  ] as const
  await read(block(8, [], both))
  assert.deepEqual(await told(), ['anna freeze.lifted 8', 'bert freeze.lifted 8'])
  assert.deepEqual(await outdated(), ['anna', 'bert'])
})
