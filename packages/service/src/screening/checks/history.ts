// Looking checks up. One of them, with what it rests on. And the history: pages, newest first, and
// exact totals however long it is. Checks are counted by state and by the day (UTC) that they were
// asked on. Code that moves a check notes the change beside it, in its own transaction and without
// waiting for others; a step adds the changes to the sums. A page is found by its day, and only
// what is of that day is skipped over.

import { DAY_MS } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type Evidence, readEvidence } from '../engine/evidence.ts'
import { CHECK_STATES, type Check, type CheckState } from './checks.ts'
import { CHECK_COLUMNS } from './forms.ts'

/** Adds the changes to the sums. */
export function foldCountsStep({ sql }: { sql: Sql }): Step {
  return {
    name: 'fold_counts',
    rest_ms: 1_000,
    due: (sql) => sql`select from aml_count_delta`,
    after: ['screen', 'ask_providers'],
    async run() {
      const folded = await sql`
        with taken as (
          delete from aml_count_delta where id in (
            select id from aml_count_delta order by id limit 5000 for update skip locked)
          returning customer_id, day, state, d
        ), sums as (
          select customer_id, day, state, sum(d)::bigint as d from taken group by customer_id, day,
            state
        )
        insert into aml_count (customer_id, day, state, n)
        select customer_id, day, state, d from sums order by customer_id, day, state
        on conflict (customer_id, day, state) do update set n = aml_count.n + excluded.n
        returning 1`
      return folded.length > 0
    },
  }
}

export type CheckFilter = {
  customer_id: string
  page: number
  per_page: number
  state: CheckState | undefined
}

/** One page of a customer's checks, newest first, and how many there are; both as of one
 *  instant. */
export async function checkHistory(
  sql: Sql,
  wanted: CheckFilter,
): Promise<{ total: number; checks: Check[] }> {
  const { customer_id, page, per_page, state } = wanted
  return sql.begin(async (tx) => {
    tx.send`set transaction isolation level repeatable read, read only`
    const days = await countDays(tx, customer_id, state === undefined ? CHECK_STATES : [state])
    const total = days.reduce((sum, day) => sum + day.count, 0)
    const offset = (page - 1) * per_page
    if (offset >= total) return { total, checks: [] }
    const count = Math.min(per_page, total - offset)
    const first = dayAt(days, offset)
    const last = dayAt(days, offset + count - 1)
    const newer = offset - first.before
    const older = last.before + last.count - offset - count
    // From the nearer end: from the end of the day that the page begins on, or from the start of
    // the one that it ends on.
    const checks =
      newer <= older
        ? await downFrom(tx, { customer_id, state, bound: first.end, offset: newer, count })
        : (
            await upFrom(tx, { customer_id, state, bound: last.start, offset: older, count })
          ).reverse()
    return { total, checks }
  })
}

type Day = { start: Date; end: Date; count: number }

/** The days that have checks in these states, newest first. */
async function countDays(
  tx: Tx,
  customer_id: string,
  states: readonly CheckState[],
): Promise<Day[]> {
  const rows = await tx<{ day: string; count: bigint }>`
    select day::text, sum(n)::bigint as count from (
      select day, n from aml_count where customer_id = ${customer_id} and state = any(${states})
      union all
      select day, d from aml_count_delta where customer_id = ${customer_id}
        and state = any(${states})) as one
    group by day having sum(n) <> 0 order by day desc`
  return rows.map(({ day, count }) => {
    const start = new Date(`${day}T00:00:00Z`)
    return { start, end: new Date(start.getTime() + DAY_MS), count: Number(count) }
  })
}

/** The day of the check at this place, and how many checks are newer than that day. */
function dayAt(days: readonly Day[], place: number): Day & { before: number } {
  let before = 0
  for (const day of days) {
    if (place < before + day.count) return { ...day, before }
    before += day.count
  }
  throw new Error(`there is no check at ${place}`)
}

type Part = {
  customer_id: string
  state: CheckState | undefined
  bound: Date
  offset: number
  count: number
}

// Only ids are skipped over, out of the index; the rows are fetched for the page alone.

function downFrom(tx: Tx, { customer_id, state, bound, offset, count }: Part): Promise<Check[]> {
  return state === undefined
    ? tx<Check>`
        with page as (
          select id from aml_check where customer_id = ${customer_id} and created_at < ${bound}
          order by created_at desc, id desc limit ${count} offset ${offset})
        select c.${CHECK_COLUMNS} from page join aml_check as c using (id)
        order by c.created_at desc, c.id desc`
    : tx<Check>`
        with page as (
          select id from aml_check where customer_id = ${customer_id} and state = ${state}
            and created_at < ${bound}
          order by created_at desc, id desc limit ${count} offset ${offset})
        select c.${CHECK_COLUMNS} from page join aml_check as c using (id)
        order by c.created_at desc, c.id desc`
}

function upFrom(tx: Tx, { customer_id, state, bound, offset, count }: Part): Promise<Check[]> {
  return state === undefined
    ? tx<Check>`
        with page as (
          select id from aml_check where customer_id = ${customer_id} and created_at >= ${bound}
          order by created_at, id limit ${count} offset ${offset})
        select c.${CHECK_COLUMNS} from page join aml_check as c using (id)
        order by c.created_at, c.id`
    : tx<Check>`
        with page as (
          select id from aml_check where customer_id = ${customer_id} and state = ${state}
            and created_at >= ${bound}
          order by created_at, id limit ${count} offset ${offset})
        select c.${CHECK_COLUMNS} from page join aml_check as c using (id)
        order by c.created_at, c.id`
}

type CheckRow = {
  id: string
  customer_id: string
  idempotency_key: string | null
  type: string
  network: string
  address: string
  hash: string | null
  direction: string | null
  state: string
  price_sun: bigint
  key_id: string | null
  solid_number: bigint
  due_at: Date
  tries: number
  created_at: Date
  ended_at: Date | null
  risk_score: string | null
  risk_level: string | null
  blacklist: boolean
  risk_factors: unknown
  sent_factors: unknown
  error: string | null
  provider: string | null
  policy: number | null
  label_set: number | null
  generation: number | null
  index_number: bigint | null
  evidence_sha256: string | null
  supersedes: string | null
}

type AnswerRow = {
  provider: string
  outcome: string
  sha256: string
  received_at: Date
  bytes: number
}

/** The row of a check with the answers of providers. Throws Refused when there is no such check. */
export async function showCheck(sql: Sql, id: string) {
  const [row] = await sql<CheckRow>`select ${CHECK_COLUMNS} from aml_check where id = ${id}`
  if (!row) throw refusal(`There is no check ${id}.`)
  const answers = await sql<AnswerRow>`
    select provider, outcome, sha256, received_at, octet_length(body) as bytes from aml_answer
    where check_id = ${id} order by id`
  return { ...row, answers }
}

/** What a check's answer rests on. Throws Refused when there is no such check, or it has no
 *  evidence. */
export async function requireEvidence(sql: Sql, id: string): Promise<Evidence> {
  const [row] = await sql<{ state: string }>`select state from aml_check where id = ${id}`
  if (!row) throw refusal(`There is no check ${id}.`)
  const evidence = await readEvidence(sql, id)
  if (evidence) return evidence
  throw refusal(
    row.state === 'completed'
      ? `The evidence of check ${id} is not kept any more.`
      : `Check ${id} is ${row.state}: it has no evidence.`,
  )
}

/** The id of the check that came after a check of a watched address. */
export async function supersedingCheck(sql: Sql, id: string): Promise<string | null> {
  const [next] = await sql<{ id: string }>`
    select id from aml_check where supersedes = ${id} order by id desc limit 1`
  return next?.id ?? null
}

type DayOfChecks = {
  day: string
  low: bigint
  medium: bigint
  high: bigint
  failed: bigint
  open: bigint
}

/** Of the last days that had any, today included; newest first. A day begins at 00:00 UTC. */
export function checksByDay(sql: Sql, now: Date, days: number): Promise<DayOfChecks[]> {
  const today_ms = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  const since = new Date(today_ms - (days - 1) * DAY_MS)
  return sql<DayOfChecks>`
    select (created_at at time zone 'UTC')::date::text as day,
           count(*) filter (where risk_level = 'low') as low,
           count(*) filter (where risk_level = 'medium') as medium,
           count(*) filter (where risk_level = 'high') as high,
           count(*) filter (where state = 'failed') as failed,
           count(*) filter (where state in ('pending', 'processing')) as open
    from aml_check where id >= ${firstIdAt(since)} group by 1 order by 1 desc`
}
