// When an attempt is dead, in a block or solid, by rows just inside and just outside of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AttemptFields,
  after,
  asked,
  attemptRows,
  attemptStates,
  blockWith,
  CONFIRMED,
  clock,
  hasNothing,
  isTaken,
  LATE,
  NOW,
  PAYMENT,
  putAttempt,
  timeOf,
  withChain,
} from 'penstock-test/harness/attempt_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Outage } from '../../lib/fault.ts'
import type { Receipt } from '../node/node.ts'
import {
  type FoundTransaction,
  fromRow,
  includeAttempts,
  includeUnsigned,
  insertFound,
  judgeStep,
  makeAttemptsSolid,
  revertAttempts,
} from './attempts.ts'

test('one is dead when the parent of the confirmed block is at its time', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  const step = judgeStep({ sql, clock, node: hasNothing })
  for (const state of ['signed', 'sent']) {
    assert.equal(await isTaken(sql, step, { state, expires_at: LATE }), true)
    const later = new Date(LATE.getTime() + 1)
    assert.equal(await isTaken(sql, step, { state, expires_at: later }), false)
    assert.equal(await isTaken(sql, step, { state, expires_at: LATE, send_at: after(1) }), false)
  }
  assert.equal(await isTaken(sql, step, { state: 'dead', expires_at: LATE }), false)
  const in_a_block = { expires_at: LATE, block_number: 70 }
  for (const state of ['included', 'solid'])
    assert.equal(await isTaken(sql, step, { state, ...in_a_block }), false)
})

test('one that was postponed is given up when it is unsigned for five minutes', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  const step = judgeStep({ sql, clock, node: hasNothing })
  const made_at = after(-300_001)
  assert.equal(await isTaken(sql, step, { made_at }), true)
  const [given_up] = await attemptRows(sql)
  assert.deepEqual([given_up!.state, given_up!.answer], ['dead', 'it could not be signed'])
  assert.equal(await isTaken(sql, step, { made_at, send_at: after(600_000), answer: 'no' }), true)
  assert.equal((await attemptRows(sql))[0]!.answer, 'no')
  assert.equal(await isTaken(sql, step, { made_at, send_at: made_at }), false)
  assert.equal(await isTaken(sql, step, { made_at: after(-300_000) }), false)
  for (const state of ['signed', 'sent', 'dead'])
    assert.equal(await isTaken(sql, step, { made_at, state }), false, state)

  await sql`delete from attempt`
  await putAttempt(sql, 'unsigned', { made_at })
  await putAttempt(sql, 'late', { state: 'sent', expires_at: LATE })
  await sql`update chain set behind = 6`
  assert.equal(await step.run(), true)
  assert.deepEqual(await attemptStates(sql), { late: 'dead', unsigned: 'new' })
})

test('what some node has, or is not far enough to know, is looked at again later', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  const findings: Record<string, [boolean, number][]> = {
    'tx a': [
      [false, CONFIRMED],
      [false, CONFIRMED - 1],
    ],
    'tx b': [
      [false, CONFIRMED],
      [true, CONFIRMED + 9],
    ],
    'tx c': [
      [false, CONFIRMED],
      [false, CONFIRMED + 9],
    ],
  }
  const node = asked(async (tx_id) => {
    if (!findings[tx_id]) throw new Outage('silent')
    return findings[tx_id].map(([found, solid_number]) => ({ found, solid_number }))
  })
  const step = judgeStep({ sql, clock, node })
  for (const id of ['a', 'b', 'c', 'd'])
    await putAttempt(sql, id, { state: 'sent', expires_at: LATE })
  await putAttempt(sql, 'other', { state: 'sent' })
  await assert.rejects(step.run(), Outage)
  const seen = async () =>
    (await attemptRows(sql)).map(({ state, send_at }) => [state, send_at.getTime() - NOW.getTime()])
  assert.deepEqual(await seen(), [
    ['sent', 5_000],
    ['sent', 5_000],
    ['dead', 0],
    ['sent', 5_000],
    ['sent', 0],
  ])
  await sql`delete from attempt where id <> 'a'`
  await sql`update attempt set send_at = ${NOW}`
  assert.equal(await step.run(), false)
  assert.deepEqual(await seen(), [['sent', 5_000]], 'a single one, too')
})

test('one that a block has got while the nodes were asked does not die', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  await putAttempt(sql, 'one', { state: 'sent', expires_at: LATE })
  const node = asked(async () => {
    await sql`update attempt set state = 'included', block_number = 81, block_time = ${NOW}`
    return [{ found: false, solid_number: CONFIRMED }]
  })
  assert.equal(await judgeStep({ sql, clock, node }).run(), false)
  assert.deepEqual(await attemptStates(sql), { one: 'included' })
})

const costing = (fee_sun: bigint, bandwidth: bigint, energy: bigint) =>
  ({ fee_sun, bandwidth, energy }) as Receipt

test('a block includes those that have succeeded in it, with what each has cost', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const state of ['signed', 'sent', 'dead']) await putAttempt(sql, state, { state })
  for (const id of ['failed', 'elsewhere']) await putAttempt(sql, id, { state: 'sent' })
  await putAttempt(sql, 'included', { state: 'included', block_number: 89 })
  await putAttempt(sql, 'solid', { state: 'solid', block_number: 88 })
  const include = (names: readonly string[], receipts: readonly Receipt[]) =>
    sql.begin(async (tx) => {
      const all = Object.fromEntries(names.map((id) => [`tx ${id}`, id !== 'failed']))
      includeAttempts(tx, blockWith(all), receipts)
    })
  await include([], [])
  await include(['failed'], [costing(1n, 1n, 1n)])
  await include(
    ['failed', 'dead', 'included', 'solid', 'signed'],
    [
      costing(1n, 1n, 1n),
      costing(2n, 2n, 2n),
      costing(3n, 3n, 3n),
      costing(4n, 4n, 4n),
      costing(5n, 6n, 7n),
    ],
  )
  await include(['sent'], [])
  const rows = (await attemptRows(sql)).map((row) => [
    row.id,
    row.state,
    row.block_number,
    row.block_id,
    row.fee_sun,
    row.bandwidth,
    row.energy,
  ])
  assert.deepEqual(rows, [
    ['dead', 'dead', null, null, null, null, null],
    ['elsewhere', 'sent', null, null, null, null, null],
    ['failed', 'sent', null, null, null, null, null],
    ['included', 'included', 89n, 'block', null, null, null],
    ['sent', 'included', 90n, 'block 90', null, null, null],
    ['signed', 'included', 90n, 'block 90', 5n, 6n, 7n],
    ['solid', 'solid', 88n, 'block', null, null, null],
  ])
  assert.deepEqual((await attemptRows(sql)).at(-2)!.block_time, timeOf(90))
})

test('a fork takes back what is above the block that stays, and nothing solid', async (t) => {
  const { sql } = await freshDatabase(t)
  await putAttempt(sql, 'above', { state: 'included', block_number: 91 })
  await putAttempt(sql, 'kept', { state: 'included', block_number: 90 })
  await putAttempt(sql, 'solid', { state: 'solid', block_number: 91 })
  await putAttempt(sql, 'waiting', { state: 'signed' })
  await sql`update attempt set fee_sun = 1, bandwidth = 2, energy = 3 where id = 'above'`
  await sql.begin((tx) => revertAttempts(tx, 90))
  assert.deepEqual(
    (await attemptRows(sql)).map((row) => [row.id, row.state, row.uncovered]),
    [
      ['above', 'sent', true],
      ['kept', 'included', false],
      ['solid', 'solid', false],
      ['waiting', 'signed', false],
    ],
  )
  const [{ block_number, block_time, block_id, fee_sun, bandwidth, energy }] = (await attemptRows(
    sql,
  )) as [AttemptFields]
  const left = [block_number, block_time, block_id, fee_sun, bandwidth, energy]
  assert.deepEqual(left, [null, null, null, null, null, null])
})

test('what is in the confirmed block or below it is solid', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  await putAttempt(sql, 'in it', { state: 'included', block_number: CONFIRMED })
  await putAttempt(sql, 'below', { state: 'included', block_number: CONFIRMED - 1 })
  await putAttempt(sql, 'above', { state: 'included', block_number: CONFIRMED + 1 })
  await putAttempt(sql, 'sent', { state: 'sent' })
  await sql.begin(async (tx) => makeAttemptsSolid(tx))
  const states = { above: 'included', below: 'solid', 'in it': 'solid', sent: 'sent' }
  assert.deepEqual(await attemptStates(sql), states)
})

test('what was found on the chain is included, where the rows did not know of it', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['a', 'b']) await putAttempt(sql, id, {})
  await putAttempt(sql, 'signed', { state: 'signed' })
  const found = (tx_id: string): FoundTransaction => ({
    tx_id,
    block_number: 70n,
    block_id: 'block 70',
    block_time: timeOf(70),
    contract: PAYMENT,
    signed: Buffer.from(`bytes of ${tx_id}`),
    expires_at: LATE,
  })
  await sql.begin(async (tx) => {
    await includeUnsigned(tx, [
      { id: 'a', ...found('1') },
      { id: 'signed', ...found('2') },
    ])
    await insertFound(tx, [{ id: 'c', subject: 'pay:c', ...found('3') }])
  })
  const of_block = [70n, timeOf(70), 'block 70', LATE]
  assert.deepEqual(
    (await attemptRows(sql)).map((row) => [
      row.id,
      row.state,
      row.tx_id,
      row.signed?.toString(),
      [row.block_number, row.block_time, row.block_id, row.expires_at],
    ]),
    [
      ['a', 'included', '1', 'bytes of 1', of_block],
      ['b', 'new', null, undefined, [null, null, null, null]],
      ['c', 'included', '3', 'bytes of 3', of_block],
      ['signed', 'signed', 'tx signed', 'signed', [null, null, null, after(1)]],
    ],
  )
  const [{ contract: stored }] = (await sql`select contract from attempt where id = 'c'`) as [
    { contract: typeof PAYMENT },
  ]
  assert.deepEqual(fromRow(stored), PAYMENT)
})
