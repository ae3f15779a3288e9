// The subjects of a case, and how cases are listed and shown.

import type { Change } from '../../ledger/accounts/actions.ts'
import { refusal } from '../../lib/fault.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import {
  type By,
  CASE_COLUMNS,
  type Case,
  type CaseEntry,
  type CaseState,
  joinCase,
  type Level,
  lockOpenCase,
  requireCase,
} from './cases.ts'

export type CaseSubject = {
  kind: 'address' | 'check' | 'deposit'
  subject: string
  added_at: Date
  added_by: string
}

const SUBJECTS_MAX = 200

/** Adds what is not there yet. False: it was. The caller has locked the case. */
export async function insertSubject(
  tx: Tx,
  case_id: string,
  { kind, subject, added_at, added_by }: CaseSubject,
): Promise<boolean> {
  const added = await tx`
    insert into aml_case_subject (case_id, kind, subject, added_at, added_by)
    values (${case_id}, ${kind}, ${subject}, ${added_at}, ${added_by})
    on conflict do nothing returning 1`
  return added.length > 0
}

/** Adds a check, a deposit or another address to a case that is not closed. Throws Refused when
 *  the check is not there or another customer's, or there are too many. */
export async function addSubject(
  tx: Tx,
  { id, kind, subject, by, at }: By & Pick<CaseSubject, 'kind' | 'subject'> & { id: string },
): Promise<Change<Case>> {
  const before = await lockOpenCase(tx, id)
  const risk_level = kind === 'check' ? await levelOf(tx, before, subject) : null
  const [counted] = await tx<{ n: number }>`
    select count(*)::int as n from aml_case_subject where case_id = ${id}`
  if (counted!.n >= SUBJECTS_MAX) throw refusal(`A case is about ${SUBJECTS_MAX} things at most.`)
  const added = await insertSubject(tx, id, { kind, subject, added_at: at, added_by: by })
  if (!added) throw refusal('The case has it already.')
  const entry = { kind: 'added', text: `${kind} ${subject}`, by, at }
  await joinCase(tx, before, { priority: before.priority, risk_level }, entry)
  const result = await requireCase(tx, id)
  const action = { subject: `case:${id}`, before: null, after: { kind, subject } }
  return { result, actions: [action] }
}

async function levelOf(tx: Tx, { customer_id }: Case, check_id: string): Promise<Level | null> {
  const [check] = await tx<{ customer_id: string; risk_level: Level | null }>`
    select customer_id, risk_level from aml_check where id = ${check_id}`
  if (!check) throw refusal(`There is no check ${check_id}.`)
  if (customer_id !== null && check.customer_id !== customer_id)
    throw refusal(`Check ${check_id} is another customer's.`)
  return check.risk_level
}

export type CaseRow = Case & { is_late: boolean }

export type CaseFilter = {
  state?: CaseState | undefined
  owner?: string | undefined
  customer?: string | undefined
  /** Those that are not closed and were due before `now`. */
  late: boolean
  now: Date
  before?: string | undefined
  limit: number
}

/** Newest first; those listed after `before`. */
export function listCases(sql: Sql, wanted: CaseFilter): Promise<CaseRow[]> {
  const { state = null, owner = null, customer = null, before = null, late, now, limit } = wanted
  return sql<CaseRow>`
    select ${CASE_COLUMNS}, state <> 'closed' and due_at <= ${now} as is_late from aml_case
    where (${state}::text is null or state = ${state})
      and (${owner}::text is null or lower(btrim(owner)) = lower(btrim(${owner})))
      and (${customer}::text is null or customer_id = ${customer})
      and (not ${late}::boolean or (state <> 'closed' and due_at <= ${now}))
      and (${before}::text is null or id < ${before})
    order by id desc limit ${limit}`
}

export type CaseReview = {
  check_id: string
  state: string
  risk_score: string
  decision: string | null
  decided_by: string | null
}

/** One case with all that is in it; the texts of files are left out. Throws Refused when there is
 *  none. */
export async function showCase(sql: Sql, id: string, now: Date) {
  const found = await requireCase(sql, id)
  const subjects = await sql<CaseSubject>`
    select kind, subject, added_at, added_by from aml_case_subject
    where case_id = ${id} order by added_at, kind, subject`
  const reviews = await sql<CaseReview>`
    select r.check_id, r.state, r.risk_score::text, r.decision, r.decided_by
    from aml_case_subject as s join aml_review as r on r.check_id = s.subject
    where s.case_id = ${id} and s.kind = 'check' order by r.check_id`
  const earlier = await sql<Pick<Case, 'id' | 'customer_id' | 'state' | 'code' | 'opened_at'>>`
    select id, customer_id, state, code, opened_at from aml_case
    where address = ${found.address} and id <> ${id} order by id desc limit 20`
  return {
    ...found,
    is_late: found.state !== 'closed' && found.due_at <= now,
    subjects,
    reviews,
    entries: await readEntries(sql, id),
    earlier,
  }
}

/** The history of a case, the oldest first; of files only their names. */
function readEntries(sql: Query, id: string): Promise<CaseEntry[]> {
  return sql<CaseEntry>`
    select number, kind, at, made_by, case when kind = 'file' then '' else text end as text, name,
      sha256
    from aml_case_entry where case_id = ${id} order by number`
}

/** A file of a case, with its text. Throws Refused when there is none of that number. */
export async function readFile(sql: Query, id: string, number: number): Promise<CaseEntry> {
  const [file] = await sql<CaseEntry>`
    select number, kind, at, made_by, text, name, sha256 from aml_case_entry
    where case_id = ${id} and number = ${number} and kind = 'file'`
  if (!file) throw refusal(`Case ${id} has no file ${number}.`)
  return file
}
