// One screening check, for looking it up.

import type { Sql } from '../database/sql.ts'
import { refusal } from '../lib/fault.ts'
import { type Evidence, readEvidence } from '../screening/evidence.ts'
import { CHECK_COLUMNS } from './forms.ts'

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

/** The addresses that are watched, with their newest answers, newest first. */
export async function listWatches(sql: Sql, limit: number) {
  return sql<{
    customer_id: string
    address: string
    made_at: Date
    label_set: number | null
    check_id: string | null
    state: string | null
    risk_score: string | null
    risk_level: string | null
  }>`
    select w.customer_id, w.address, w.made_at, w.label_set, w.check_id, c.state, c.risk_score,
      c.risk_level
    from aml_watch as w left join aml_check as c on c.id = w.check_id
    order by w.made_at desc, w.address limit ${limit}`
}

/** How many of these addresses somebody watches. */
export async function watchedAmong(sql: Sql, addresses: ReadonlySet<string>): Promise<number> {
  const [row] = await sql<{ watched: number }>`
    select count(distinct address)::integer as watched from aml_watch
    where address = any(${[...addresses]})`
  return row!.watched
}
