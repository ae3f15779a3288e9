// Rows of screening, for tests of what is read of them: each says only what the test is about.

import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** When a row is made that does not say so. */
export const MADE_AT = new Date('2026-11-21T12:00:00Z')

type CheckRow = {
  id: string
  customer_id?: string
  address?: string
  type?: 'address' | 'hash'
  state?: 'pending' | 'processing' | 'completed' | 'failed'
  risk_level?: 'low' | 'medium' | 'high'
  blacklist?: boolean
  index_number?: number
  supersedes?: string
  created_at?: Date
  ended_at?: Date
}

/** Checks, answered unless they say another state. */
export async function insertChecks(sql: Sql, checks: readonly CheckRow[]): Promise<void> {
  for (const check of checks) {
    const { id, customer_id = 'anna', address = 'there', type = 'address' } = check
    const { state = 'completed', created_at = MADE_AT, ended_at = created_at } = check
    const { blacklist = false, index_number = null, supersedes = null } = check
    const answered = state === 'completed'
    const has_ended = answered || state === 'failed'
    await sql`
      insert into aml_check (id, customer_id, type, network, address, hash, state, price_sun,
        solid_number, due_at, created_at, ended_at, risk_score, risk_level, blacklist, error,
        index_number, supersedes)
      values (${id}, ${customer_id}, ${type}, 'TRX', ${address}, ${type === 'hash' ? id : null},
        ${state}, 0, 0, ${created_at}, ${created_at}, ${has_ended ? ended_at : null},
        ${answered ? '75.0' : null}, ${answered ? (check.risk_level ?? 'high') : null},
        ${blacklist}, ${state === 'failed' ? 'broken' : null}, ${index_number}, ${supersedes})`
  }
}

type ReviewRow = {
  check_id: string
  customer_id?: string
  address?: string
  state?: 'open' | 'decided'
}

/** Reviews of checks that are there; one that is decided has left the answer as it was. */
export async function insertReviews(sql: Sql, reviews: readonly ReviewRow[]): Promise<void> {
  for (const { check_id, customer_id = 'anna', address = 'there', state = 'open' } of reviews) {
    const is_decided = state === 'decided'
    const [decision, by, at] = is_decided ? ['leave', 'olga', MADE_AT] : [null, null, null]
    await sql`
      insert into aml_review (check_id, customer_id, address, risk_score, state, opened_at,
        decision, reason, decided_by, decided_at)
      values (${check_id}, ${customer_id}, ${address}, 75, ${state}, ${MADE_AT}, ${decision}, ${by},
        ${by}, ${at})`
  }
}

/** Customers of whom only the id matters. */
export async function insertCustomers(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`
    insert into customer (id, name, created_at, deposit_index, deposit_address)
    select id, id, ${MADE_AT}, n, rpad(id, 34, 'x')
    from unnest(${[...ids]}::text[]) with ordinality as c (id, n)`
}
