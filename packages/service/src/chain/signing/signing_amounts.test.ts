// What the signers of all machines count, by rows: which of them count at the first look and later,
// which are under way, and which are forgotten.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { SignatureRecord } from './signature_log.ts'
import { forgetAmountsStep, SigningAmounts } from './signing_amounts.ts'
import type { SignedSums } from './signing_limits.ts'

const START_MS = 1_780_000_000_000
const DAY_MS = 86_400_000
const wallet = person('pool').address

/** Amounts of another machine, so many milliseconds before the start. */
async function amounts(sql: Sql, rows: Record<string, number>): Promise<void> {
  for (const [attempt, before_ms] of Object.entries(rows))
    await sql`
      insert into signing_amount (attempt, type, wallet, sun, at)
      values (${attempt}, 'TransferContract', ${wallet}, 1000000,
        ${new Date(START_MS - before_ms)})`
}

/** A machine whose clock is ours, and what it counts of a day so far, in TRX. */
function machine(sql: Sql) {
  let now_ms = START_MS
  const signer = new SigningAmounts({ sql, clock: { now: () => new Date(now_ms) } })
  const countOf = (sums: SignedSums) => {
    const next = { type: 'TransferContract', wallet, sun: 0n, at: now_ms }
    const isAbove = (trx: number) => sums.above(next, { refund_trx_day: trx }, undefined)
    let counted = 0
    while (isAbove(counted) !== undefined) counted += 1
    return counted
  }
  /** How much has counted, and which of these are under way. */
  async function look(attempts: readonly string[] = [], signed: readonly SignatureRecord[] = []) {
    let seen: { counted: number; under_way: string[] } | undefined
    await signer.count((sums, isUnderWay) => {
      seen = { counted: countOf(sums), under_way: attempts.filter(isUnderWay) }
      for (const one of signed) sums.add(one)
      return [...signed]
    })
    return seen!
  }
  return {
    look,
    wait: (ms: number) => {
      now_ms += ms
    },
  }
}

const record = (attempt: string): SignatureRecord => ({
  at: START_MS,
  attempt,
  subject: `refund:${attempt}`,
  tx_id: attempt,
  type: 'TransferContract',
  wallet,
  receiver: wallet,
  sun: 1_000_000n,
  expires_at: START_MS,
  raw_data: '',
})

test('at the first look the last day counts, its last seconds as under way', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.deepEqual(await machine(sql).look(), { counted: 0, under_way: [] })
  await amounts(sql, { before: DAY_MS + 1, at: DAY_MS })
  assert.deepEqual(await machine(sql).look(), { counted: 0, under_way: [] })
  await amounts(sql, { after: DAY_MS - 1 })
  assert.equal((await machine(sql).look()).counted, 1)
  await amounts(sql, { old: 5_000, young: 4_999, now: 0, ahead: -60_000 })
  const { look, wait } = machine(sql)
  const names = ['after', 'old', 'young', 'now', 'ahead', 'none']
  const first = { counted: 5, under_way: ['young', 'now', 'ahead'] }
  assert.deepEqual(await look(names), first)
  assert.deepEqual(await look(names), first, 'each counts once')
  wait(4_999)
  assert.deepEqual((await look(names)).under_way, ['now', 'ahead'])
  wait(1)
  assert.deepEqual((await look(names)).under_way, [])
})

test('what others count is read at the next look, and what was signed here once', async (t) => {
  const { sql } = await freshDatabase(t)
  const [one, two] = [machine(sql), machine(sql)]
  await amounts(sql, { before: 60_000 })
  await one.look()
  await amounts(sql, { old: 5_000, young: 4_999 })
  assert.deepEqual(await one.look(['old', 'young']), { counted: 3, under_way: ['young'] })
  assert.equal((await one.look([], [record('own')])).counted, 3)
  assert.deepEqual(await one.look(['own']), { counted: 4, under_way: ['own'] })
  assert.deepEqual(await two.look(['own']), { counted: 4, under_way: ['own'] })
  const rows = await sql`select attempt from signing_amount order by number`
  assert.deepEqual(
    rows.map(({ attempt }) => attempt),
    ['before', 'old', 'young', 'own'],
  )
})

test('amounts are forgotten when they are older than two days, and no sooner', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = forgetAmountsStep({ sql, clock: { now: () => new Date(START_MS) } })
  const left = async () =>
    (await sql`select attempt from signing_amount`).map(({ attempt }) => attempt)
  assert.equal(await isDue(sql, step), false)
  await amounts(sql, { kept: 2 * DAY_MS })
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
  await amounts(sql, { gone: 2 * DAY_MS + 1 })
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(await left(), ['kept'])
  assert.equal(await step.run(), false)
})
