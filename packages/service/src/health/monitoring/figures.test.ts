// The figures of the moment, from rows that are just inside and just outside of what each counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { enterAll } from 'penstock-test/harness/ledger_rows.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { figuresReader, raisedAlerts } from './figures.ts'

const HOUR_MS = 3_600_000
const DAY = Date.UTC(2026, 9, 8)
const at = (ms: number) => new Date(DAY + ms)
const noon = at(12 * HOUR_MS)
const before = (ms: number) => new Date(noon.getTime() - ms)

type Row = { state: string; sent_ms?: number; block_ms?: number; captured_ms?: number }

/** An order of so long before noon, with what it took. */
async function order(sql: Sql, made_ms: number, row: Row): Promise<void> {
  const { state, sent_ms, block_ms = 0, captured_ms } = row
  const made_at = before(made_ms)
  const id = firstIdAt(made_at)
  const tx_id = sent_ms === undefined ? null : `tx ${id}`
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, tx_id, due_at, created_at)
    values (${id}, 'anna', 'energy', 'bob', 65000, false, ${state}, true, 0, ${tx_id}, ${made_at},
      ${made_at})`
  if (sent_ms === undefined) return
  const later = (ms: number) => new Date(made_at.getTime() + ms)
  await sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at,
      sent_at, block_number, block_time)
    values (${id}, ${id}, '{}', 'solid', ${tx_id}, ${Buffer.alloc(0)}, ${made_at}, ${made_at},
      ${made_at}, ${later(sent_ms)}, 1, ${later(block_ms)})`
  if (captured_ms === undefined) return
  const hold = { id: `order:${id}`, at: made_at, sun: 1, kind: 'hold' }
  const capture = { id: `${hold.id}/capture`, kind: 'capture', of: hold.id, sun: 1 }
  await enterAll(sql, [hold, { ...capture, at: later(captured_ms) }])
}

const reader = (sql: Sql, now = noon) => {
  const clock = { at: now, now: () => clock.at }
  return { clock, read: figuresReader({ sql, clock }) }
}

test('orders count for an hour, and those of the last minute for themselves', async (t) => {
  const { sql } = await freshDatabase(t)
  const { read } = reader(sql)
  const none = await read()
  assert.deepEqual([none.ended, none.delivered, none.orders_last_minute], [0n, 0n, 0n])
  assert.deepEqual([none.broadcast_p50_ms, none.block_p95_ms], [null, null])
  const took = { sent_ms: 1_000, block_ms: 3_000, captured_ms: 4_000 }
  await order(sql, HOUR_MS + 1, { state: 'success', ...took, sent_ms: 90_000 })
  await order(sql, HOUR_MS, { state: 'success', ...took })
  await order(sql, 60_001, { state: 'failed', sent_ms: 80_000 })
  await order(sql, 60_000, { state: 'new' })
  await order(sql, 59_999, { state: 'pending', sent_ms: 70_000 })
  const one = await read()
  assert.deepEqual([one.ended, one.delivered, one.orders_last_minute], [2n, 1n, 2n])
  assert.deepEqual([one.broadcast_p50_ms, one.broadcast_p95_ms], [1_000, 1_000])
  assert.deepEqual([one.block_p50_ms, one.block_p95_ms], [3_000, 3_000])
})

test("the block's time counts where it fits ours, and else that of the charge", async (t) => {
  for (const [block_ms, captured_ms, shown] of [
    [0, 4_000, 0],
    [4_000, 4_000, 4_000],
    [4_001, 4_000, 4_000],
    [-1, 5_000, 5_000],
  ] as const) {
    const { sql } = await freshDatabase(t)
    await order(sql, 1_000, { state: 'success', sent_ms: 1_000, block_ms, captured_ms })
    const { block_p50_ms } = await reader(sql).read()
    assert.equal(block_p50_ms, shown, `${block_ms} ${captured_ms}`)
  }
})

test('what is earned today is what was charged since midnight, less what went back', async (t) => {
  const { sql } = await freshDatabase(t)
  const back = { debit: 'revenue', credit: 'customer:anna' }
  await enterAll(sql, [
    { id: 'before', at: at(-1), sun: 1 },
    { id: 'first', at: at(0), sun: 20 },
    { id: 'hour', at: at(HOUR_MS), sun: 300 },
    { id: 'now', at: noon, sun: 4_000 },
    { id: 'held', at: at(1), sun: 50_000, kind: 'hold' },
    { id: 'deposit', at: at(1), sun: 600_000, debit: 'world', credit: 'customer:anna' },
    { id: 'back before', at: at(-1), sun: 2, ...back },
    { id: 'back first', at: at(0), sun: 3, ...back },
    { id: 'back hour', at: at(HOUR_MS), sun: 7, ...back },
    { id: 'back held', at: at(1), sun: 70_000, kind: 'hold', ...back },
  ])
  const { clock, read } = reader(sql)
  assert.equal((await read()).earned_today_sun, 4_310n)
  clock.at = at(24 * HOUR_MS)
  assert.equal((await read()).earned_today_sun, 0n, 'the next day')
})

test('an hour is added up once when it is over, and five minutes late', async (t) => {
  const { sql } = await freshDatabase(t)
  const { clock, read } = reader(sql, at(HOUR_MS + 300_000 - 1))
  const earned = async (id: string) => {
    await enterAll(sql, [{ id, at: at(5), sun: 1 }])
    return (await read()).earned_today_sun
  }
  assert.equal(await earned('one'), 1n)
  assert.equal(await earned('two'), 2n)
  clock.at = at(HOUR_MS + 300_000)
  assert.equal(await earned('three'), 3n)
  assert.equal(await earned('four'), 3n)
})

test('alerts that nobody has seen to come first, the oldest first', async (t) => {
  const { sql } = await freshDatabase(t)
  const raise = (alert: string, since: Date | null, seen: boolean) => sql`
    insert into alert (alert, what, since, raised_at, seen_at, seen_by)
    values (${alert}, 'what', ${since}, ${noon}, ${seen ? noon : null}, ${seen ? 'olga' : null})`
  await raise('a seen one', at(1), true)
  await raise('newest', null, false)
  await raise('oldest', at(2), false)
  assert.deepEqual(
    (await raisedAlerts(sql)).map(({ alert }) => alert),
    ['oldest', 'newest', 'a seen one'],
  )
})

test('attempts are counted by their states, and the chain is told when it is known', async (t) => {
  const { sql } = await freshDatabase(t)
  const { read } = reader(sql)
  assert.equal((await read()).chain, null)
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (12, 'h', ${before(-2_000)}, 11, 10, ${before(7_000)})`
  await order(sql, 1_000, { state: 'pending', sent_ms: 1 })
  const { chain, attempts } = await read()
  assert.deepEqual(chain, {
    head_number: 12,
    solid_number: 11,
    behind_seconds: -2,
    silent_seconds: 7,
  })
  assert.deepEqual(attempts, [{ state: 'included', attempts: 0n }])
  await sql`update attempt set state = 'sent', block_number = null, block_time = null`
  assert.deepEqual((await read()).attempts, [
    { state: 'sent', attempts: 1n },
    { state: 'included', attempts: 0n },
  ])
})
