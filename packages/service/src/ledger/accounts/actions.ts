// The record of what operators have changed. A change and its record are one transaction; the
// database numbers the records without gaps and chains their sums, so a record cannot be altered or
// taken out unseen. Nothing secret goes in.

import { brokenConstraint, type Sql, type Tx } from '../../platform/database/sql.ts'

/** Who changes something, and why. */
export type Operator = { made_by: string; reason: string | null }

/** What was changed: one subject, as it was and as it is. Either is null where there was or is
 *  nothing. */
export type Action = { subject: string; before: object | null; after: object | null }

/** What a change comes to, and what is to be recorded of it. No actions: everything was so
 *  already. */
export type Change<Result> = { result: Result; actions: Action[] }

/** What the database itself refuses, in words. */
const SENTENCES: Record<string, string> = {
  customer_name_length: 'A name has 1 to 200 characters.',
  api_key_name_length: 'The name of a key has 1 to 200 characters.',
  api_key_of_customer: 'There is no such customer.',
  price_range: 'A tier begins at 1 or above and ends where it begins or above.',
  price_positive: 'A price is more than 0.',
  price_energy_once: 'Two tiers of energy would reach the same amount.',
  price_bandwidth_once: 'Two tiers of bandwidth would reach the same amount.',
  fee_positive: 'A price is more than 0.',
  aml_entry_reason_given: 'Why has 1 to 1000 characters.',
  aml_price_positive: 'A price is more than 0.',
  correction_id_length: 'The id of a correction has 1 to 100 characters.',
  correction_proposal_id_length: 'The id of a correction has 1 to 100 characters.',
  deposit_resolution_sent_by_once: 'That transaction has resolved another deposit.',
  operator_action_made_by_length: 'The name of who changes something has 1 to 100 characters.',
  operator_action_reason_length: 'A reason has 1 to 500 characters.',
}

/** What the database has refused by a constraint that an operator can break, in words. */
export const sentenceOf = (thrown: unknown): string | undefined =>
  SENTENCES[brokenConstraint(thrown) ?? '']

/** Records what was changed, in the transaction that changes it. */
export async function recordActions(
  tx: Tx,
  made: { operator: Operator; action: string; made_at: Date },
  actions: readonly Action[],
): Promise<ActionRow[]> {
  const { operator, action, made_at } = made
  const rows: ActionRow[] = []
  for (const { subject, before, after } of actions) {
    const [row] = await tx<ActionRow>`
      insert into operator_action (made_at, made_by, reason, action, subject, before, after)
      values (${made_at}, ${operator.made_by}, ${operator.reason}, ${action}, ${subject},
              ${plain(before)}, ${plain(after)})
      returning number, made_at, made_by, made_role, made_from, reason, action, subject, before,
        after`
    rows.push(row!)
  }
  return rows
}

/** As JSON, integers whole. */
function plain(value: object | null): string | null {
  if (value === null) return null
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? JSON.rawJSON(one.toString()) : one,
  )
}

export type ActionRow = {
  number: bigint
  made_at: Date
  /** What was typed, or the user of the machine. */
  made_by: string
  /** The role and the address that the database saw; null in records from before it noted them, the
   *  address also over a socket of the machine. */
  made_role: string | null
  made_from: string | null
  reason: string | null
  action: string
  subject: string
  before: unknown
  after: unknown
}

/** Newest first. A subject also stands for those that begin with it and a colon: `price` for
 *  `price:energy`; an action also for those that begin with it and a space: `prices` for
 *  `prices set`. From `since` on, and before `until`. */
export async function listActions(
  sql: Sql,
  wanted: {
    subject?: string | undefined
    made_by?: string | undefined
    action?: string | undefined
    since?: Date | undefined
    until?: Date | undefined
    before?: number | undefined
    limit: number
  },
): Promise<ActionRow[]> {
  const { subject = null, made_by = null, action = null, before = null, limit } = wanted
  const { since = null, until = null } = wanted
  return sql<ActionRow>`
    select number, made_at, made_by, made_role, made_from, reason, action, subject, before, after
    from operator_action
    where (${subject}::text is null or subject = ${subject}
      or starts_with(subject, ${subject} || ':'))
      and (${made_by}::text is null or made_by = ${made_by})
      and (${action}::text is null or action = ${action}
        or starts_with(action, ${action} || ' '))
      and (${since}::timestamptz is null or made_at >= ${since})
      and (${until}::timestamptz is null or made_at < ${until})
      and (${before}::bigint is null or number < ${before})
    order by number desc limit ${limit}`
}
