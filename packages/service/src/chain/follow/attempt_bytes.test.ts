// The bytes of solid transactions: when they are emptied, and what is made of what stays.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { emptyBytesStep, rawDataOf, type WrittenBytes } from './attempt_bytes.ts'

const DAYS_MS = 30 * 86_400_000
const LONG_AGO = new Date('2026-01-01T00:00:00Z')
const CREATION = contract('AccountCreateContract', {
  owner_address: person('pool').hex,
  account_address: person('bob').hex,
})

/** The raw data of a transaction, in which the fields are as they always are, or others. */
const rawWith = (timestamp: number, more: { data?: string } = {}) =>
  encodeRawData({
    ref_block_bytes: '0102',
    ref_block_hash: '0304050607080910',
    expiration: LONG_AGO.getTime(),
    timestamp,
    contract: [CREATION],
    ...more,
  })

let made = 0

type BytesFields = { state?: string; block_time?: Date; made_at?: Date; data?: string }

/** A transaction that was in a block and made long ago. */
async function put(sql: Sql, id: string, given: BytesFields = {}): Promise<Uint8Array> {
  const { state = 'solid', block_time = LONG_AGO, made_at = LONG_AGO, data } = given
  const raw_data = rawWith(1_767_225_600_000 + made++, data === undefined ? {} : { data })
  const signed = Buffer.from(encodeTransaction(raw_data, ['11'.repeat(65)]))
  const number = ['included', 'solid'].includes(state) ? 7 : null
  await sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at,
      answer, block_number, block_time)
    values (${id}, ${id}, ${JSON.stringify(CREATION)}::jsonb, ${state}, ${transactionId(raw_data)},
      ${signed}, ${LONG_AGO}, ${LONG_AGO}, ${made_at}, 'SUCCESS', ${number},
      ${number === null ? null : block_time})`
  return raw_data
}

type Row = WrittenBytes & { answer: string | null }

async function rowOf(sql: Sql, id: string): Promise<Row> {
  const [row] = await sql<Row>`
    select contract, expires_at, signed, stamp, answer from attempt where id = ${id}`
  return row!
}

const emptying = (sql: Sql, now: Date) => emptyBytesStep({ sql, clock: { now: () => now } })

test('of emptied bytes the raw data is made again, and others keep theirs', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = emptying(sql, new Date('2099-01-01T00:00:00Z'))
  assert.equal(await step.run(), false)
  const raw_data = await put(sql, 'one')
  assert.deepEqual(Buffer.from(rawDataOf(await rowOf(sql, 'one'))), Buffer.from(raw_data))
  assert.equal(await step.run(), true, 'one is enough')
  const one = await rowOf(sql, 'one')
  assert.deepEqual([one.signed, one.answer, one.stamp!.length], [null, null, 18])
  assert.deepEqual(Buffer.from(rawDataOf(one)), Buffer.from(raw_data))
  const [first, second, third] = [
    await put(sql, 'first'),
    await put(sql, 'second', { data: 'ab' }),
    await put(sql, 'third'),
  ]
  assert.equal(await step.run(), true)
  const rows = await Promise.all(['first', 'second', 'third'].map((id) => rowOf(sql, id)))
  assert.deepEqual(
    rows.map((row) => Buffer.from(rawDataOf(row))),
    [first, second, third].map((bytes) => Buffer.from(bytes!)),
  )
  const [, memo] = rows
  assert.deepEqual([memo!.signed !== null, memo!.answer, memo!.stamp!.length], [true, 'SUCCESS', 0])
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false, 'what cannot be emptied is tried once')
})

test('bytes are emptied 30 days after the block and the row, by either clock', async (t) => {
  const { sql } = await freshDatabase(t)
  const now = new Date(LONG_AGO.getTime() + DAYS_MS + 1)
  const step = emptying(sql, now)
  const isTaken = async (given: BytesFields, by = step) => {
    await sql`delete from attempt`
    await put(sql, 'one', given)
    const due = await isDue(sql, by)
    assert.equal(await by.run(), due)
    return due
  }
  const later = new Date(LONG_AGO.getTime() + 1)
  assert.equal(await isTaken({}), true)
  assert.equal(await isTaken({ block_time: later }), false)
  assert.equal(await isTaken({ made_at: later }), false)
  for (const state of ['signed', 'sent', 'included', 'dead'])
    assert.equal(await isTaken({ state }), false, state)
  // The clock of the service may be wrong; that of the database is asked, too.
  const wrong = emptying(sql, new Date('2099-01-01T00:00:00Z'))
  const young = new Date(Date.now() - DAYS_MS + 60_000)
  const old = new Date(Date.now() - DAYS_MS - 60_000)
  assert.equal(await isTaken({ block_time: old, made_at: old }, wrong), true)
  assert.equal(await isTaken({ block_time: young }, wrong), false)
  assert.equal(await isTaken({ made_at: young }, wrong), false)
})
