// A customer's checks by pages, what is counted of them, and how one is shown: on rows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { insertChecks, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { firstIdAt, idOf } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { CHECK_STATES, type CheckState } from './checks.ts'
import {
  checkHistory,
  checksByDay,
  foldCountsStep,
  requireEvidence,
  showCheck,
  supersedingCheck,
} from './history.ts'

const MIDNIGHT_MS = Math.floor(+MADE_AT / DAY_MS) * DAY_MS

/** Two customers' checks of days with different numbers of them, the first of each at midnight and
 *  the last at its end; of some days the counts are folded. */
async function insertDays(sql: Sql, customer_id: string, counts: readonly number[]) {
  const rows = counts.flatMap((count, day) =>
    Array.from({ length: count }, (_, i) => {
      const into_ms = i === 0 ? 0 : i === 1 ? DAY_MS - 1 : i * 3_600_000
      const created_at = new Date(MIDNIGHT_MS + day * DAY_MS + into_ms)
      const state = CHECK_STATES[(day + i) % 4]!
      return { id: idOf(created_at, `${customer_id} ${i}`), customer_id, state, created_at }
    }),
  )
  await insertChecks(sql, rows)
  for (const { state, created_at } of rows)
    if (created_at.getUTCDate() % 2 === 0)
      await sql`
        insert into aml_count (customer_id, day, state, n)
        values (${customer_id}, (${created_at}::timestamptz at time zone 'UTC')::date, ${state}, 1)
        on conflict (customer_id, day, state) do update set n = aml_count.n + 1`
    else
      await sql`
        insert into aml_count_delta (customer_id, day, state, d)
        values (${customer_id}, (${created_at}::timestamptz at time zone 'UTC')::date, ${state}, 1)`
  return rows.sort((a, b) => +b.created_at - +a.created_at)
}

test("each page has a customer's own checks, from whichever end it is read", async (t) => {
  const { sql } = await freshDatabase(t)
  const all = await insertDays(sql, 'anna', [1, 4, 3, 0, 5, 1])
  await insertDays(sql, 'bert', [2, 5, 1, 2, 4, 3])
  // A day whose checks have all changed their state again.
  await sql`
    insert into aml_count_delta (customer_id, day, state, d)
    select 'anna', '2026-11-24', 'pending', d from unnest(array[1, -1]) as d`
  const ids = (state: CheckState | undefined) =>
    all.filter((one) => state === undefined || one.state === state).map(({ id }) => id)
  for (const state of [undefined, ...CHECK_STATES])
    for (const per_page of [1, 2, 3, 7]) {
      const wanted = ids(state)
      for (let page = 1; page <= wanted.length / per_page + 1; page++) {
        const asked = { customer_id: 'anna', page, per_page, state }
        const { total, checks } = await checkHistory(sql, asked)
        assert.deepEqual(
          [total, checks.map(({ id }) => id)],
          [wanted.length, wanted.slice((page - 1) * per_page, page * per_page)],
          `${state} ${per_page} ${page}`,
        )
      }
    }
  const nothing = { customer_id: 'carl', page: 1, per_page: 10, state: undefined }
  assert.deepEqual(await checkHistory(sql, nothing), { total: 0, checks: [] })
})

test('changes are added to the sums, each once, and five thousand at a time', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = foldCountsStep({ sql })
  const note = (customer_id: string, state: string, d: number, times = 1) => sql`
    insert into aml_count_delta (customer_id, day, state, d)
    select ${customer_id}, '2026-11-21', ${state}, ${d} from generate_series(1, ${times}::integer)`
  const sums = async () =>
    (
      await sql<{ text: string }>`
        select concat_ws(' ', customer_id, state, n) as text from aml_count order by text`
    ).map(({ text }) => text)
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
  await note('anna', 'pending', 1)
  assert.deepEqual([await isDue(sql, step), await step.run()], [true, true])
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
  await note('anna', 'pending', -1)
  await note('anna', 'completed', 1, 2)
  await note('bert', 'pending', 3)
  assert.equal(await step.run(), true)
  assert.deepEqual(await sums(), ['anna completed 2', 'anna pending 0', 'bert pending 3'])
  await note('bert', 'pending', 1, 5_001)
  assert.equal(await step.run(), true)
  assert.deepEqual((await sums()).slice(2), ['bert pending 5003'])
  assert.deepEqual([await isDue(sql, step), await step.run()], [true, true])
  assert.deepEqual((await sums()).slice(2), ['bert pending 5004'])
})

test('a check is shown with its own answers, or it is said what it lacks', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertChecks(sql, [
    { id: 'a', risk_level: 'low' },
    { id: 'b', address: 'of b' },
    { id: 'waits', state: 'pending' },
    { id: 'c', supersedes: 'b' },
    { id: 'd', supersedes: 'b' },
    { id: 'e', supersedes: 'a' },
  ])
  for (const id of ['a', 'b'])
    await sql`
      insert into aml_answer (check_id, provider, outcome, body, sha256, received_at)
      values (${id}, ${`of ${id}`}, 'answered', ${Buffer.from(id)}, '', ${MADE_AT})`
  await sql`insert into aml_evidence values ('b', '{}', encode(sha256('{}'), 'hex'))`
  const { address, answers } = await showCheck(sql, 'b')
  assert.deepEqual([address, answers.map(({ provider }) => provider)], ['of b', ['of b']])
  await assert.rejects(showCheck(sql, 'none'), /There is no check none/)
  assert.equal((await requireEvidence(sql, 'b')).check_id, 'b')
  for (const [id, why] of [
    ['none', /There is no check none/],
    ['a', /The evidence of check a is not kept any more/],
    ['waits', /Check waits is pending: it has no evidence/],
  ] as const)
    await assert.rejects(requireEvidence(sql, id), why)
  const next = await Promise.all(['a', 'b', 'c'].map((id) => supersedingCheck(sql, id)))
  assert.deepEqual(next, ['e', 'd', null])
})

test('checks are counted by the day (UTC) that they were asked on', async (t) => {
  const { sql } = await freshDatabase(t)
  const made = (day: number, ms: number) => new Date(MIDNIGHT_MS + day * DAY_MS + ms)
  const insert = (
    at: Date,
    more: Partial<Parameters<typeof insertChecks>[1][number]>,
    name = 'x',
  ) => insertChecks(sql, [{ id: idOf(at, name), created_at: at, ...more }])
  await insert(made(-2, DAY_MS - 1), {})
  await insertChecks(sql, [{ id: firstIdAt(made(-1, 0)), created_at: made(-1, 0) }])
  await insert(made(-1, 1), { risk_level: 'low' })
  await insert(made(-1, 1), { risk_level: 'low' }, 'y')
  for (const [i, state] of (
    ['failed', 'failed', 'failed', 'pending', 'processing'] as const
  ).entries())
    await insert(made(0, i), { state })
  for (const i of [10, 11, 12, 13]) await insert(made(0, i), { risk_level: 'medium' })
  const days = await checksByDay(sql, made(0, 50_000_000), 2)
  assert.deepEqual(
    days.map(({ day, low, medium, high, failed, open }) => {
      const counts = [low, medium, high, failed, open].join(' ')
      return `${day} ${counts}`
    }),
    ['2026-11-21 0 4 0 3 2', '2026-11-20 2 0 1 0 0'],
  )
  assert.equal((await checksByDay(sql, made(0, 0), 3)).length, 3)
})
