// A second pair of eyes for corrections: where all that was corrected within a day without one
// comes to an amount, whoever did it and for whom, one operator proposes and another one approves.
//
//   -> proposed -> approved (the correction is made) | expired (an hour later; proposed anew)
//
// Who they are is what they typed, and, where the rule says so, also the role that the database saw
// them log in with.

import type { Change } from '../../ledger/accounts/actions.ts'
import { refusal } from '../../lib/fault.ts'
import { findCustomer } from '../../people/customers/customers.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { type Correction, correct, findCorrection, isSame } from './corrections.ts'

/** Who must approve: nobody, somebody of another name, or of another name and role. */
export const SECONDS = ['none', 'name', 'role'] as const

/** `from_sun`: from where on corrections of a day come to so much, either way. */
export type ApprovalRule = { second: (typeof SECONDS)[number]; from_sun: bigint }

export type Proposal = {
  id: string
  customer_id: string
  amount_sun: bigint
  reason: string
  proposed_at: Date
  proposed_by: string
  proposed_role: string
  ends_at: Date
  approved_at: Date | null
  approved_by: string | null
  approved_role: string | null
  invoice_number: bigint | null
}

const PROPOSAL_COLUMNS = columnsOf<Proposal>()([
  'id',
  'customer_id',
  'amount_sun',
  'reason',
  'proposed_at',
  'proposed_by',
  'proposed_role',
  'ends_at',
  'approved_at',
  'approved_by',
  'approved_role',
  'invoice_number',
])

export const PROPOSAL_MS = 3_600_000
const COUNTED_MS = 24 * 3_600_000

/** The rule as of a time. What was begun before a change ends by the rule before. */
export async function readApprovalRule(sql: Query, at: Date): Promise<ApprovalRule> {
  const [rule] = await sql<ApprovalRule>`
    select second, from_sun from approval_rule where since <= ${at} order by since desc limit 1`
  return rule ?? { second: 'none', from_sun: 0n }
}

/** Nobody else corrects, or changes the rule, until the transaction ends: sums are of all. */
const lockCorrections = (tx: Tx) => tx`select pg_advisory_xact_lock(720461514)`

/** Whether a rule lets more through than the one in force. */
export function isLooser(rule: ApprovalRule, than: ApprovalRule): boolean {
  const strictness = ({ second }: ApprovalRule) => SECONDS.indexOf(second)
  if (than.second === 'none') return false
  return strictness(rule) < strictness(than) || rule.from_sun > than.from_sun
}

/** In force at once, for all that is begun from then on. */
export async function setApprovalRule(
  tx: Tx,
  { second, from_sun }: ApprovalRule,
  { at, by }: { at: Date; by: string },
): Promise<Change<ApprovalRule>> {
  await lockCorrections(tx)
  const before = await readApprovalRule(tx, at)
  const after = { second, from_sun }
  if (before.second === second && before.from_sun === from_sun)
    return { result: after, actions: [] }
  await tx`
    insert into approval_rule (since, second, from_sun, set_by, summed)
    select greatest(${at}::timestamptz, max(made_at) + interval '1 millisecond'), ${second},
      ${from_sun}, ${by}, true
    from correction`
  return { result: after, actions: [{ subject: 'approvals', before, after }] }
}

/** What has become of a correction that was asked for; `made`: false when it was made before. */
export type CorrectionOutcome =
  | { correction: Correction; made: boolean }
  | { proposal: Proposal; proposed: boolean }

/** Corrects an account, or proposes to, where the rule wants a second operator. The same again, by
 *  its id, changes nothing, but proposes anew what has expired. Throws Refused as correct()
 *  does. */
export async function correctOrPropose(tx: Tx, wanted: Correction): Promise<CorrectionOutcome> {
  await lockCorrections(tx)
  const before = await findCorrection(tx, wanted)
  if (before) return { correction: before, made: false }
  const { second, from_sun } = await readApprovalRule(tx, wanted.made_at)
  const sun = wanted.amount_sun < 0n ? -wanted.amount_sun : wanted.amount_sun
  const before_sun = second === 'none' ? 0n : await uncheckedSun(tx, wanted.made_at)
  if (second === 'none' || before_sun + sun < from_sun) return correct(tx, wanted)
  return propose(tx, wanted)
}

/** What was corrected in the day before, by whomever and for whomever, that nobody else has
 *  approved. */
async function uncheckedSun(tx: Tx, at: Date): Promise<bigint> {
  const [sum] = await tx<{ sun: bigint }>`
    select coalesce(sum(abs(amount_sun)), 0)::bigint as sun from correction as c
    where made_at > ${new Date(at.getTime() - COUNTED_MS)} and not exists (
      select 1 from correction_proposal as p where p.id = c.id and p.approved_at is not null)`
  return sum!.sun
}

/** -> proposed */
async function propose(
  tx: Tx,
  { id, customer_id, amount_sun, reason, made_at, made_by, invoice_number }: Correction,
): Promise<{ proposal: Proposal; proposed: boolean }> {
  if (!(await findCustomer(tx, customer_id))) throw refusal(`There is no customer ${customer_id}.`)
  const ends_at = new Date(made_at.getTime() + PROPOSAL_MS)
  const [proposal] = await tx<Proposal>`
    insert into correction_proposal as p
      (id, customer_id, amount_sun, reason, proposed_at, proposed_by, proposed_role, ends_at,
        invoice_number)
    values (${id}, ${customer_id}, ${amount_sun}, ${reason}, ${made_at}, ${made_by}, session_user,
            ${ends_at}, ${invoice_number})
    on conflict (id) do update set reason = excluded.reason, proposed_at = excluded.proposed_at,
      proposed_by = excluded.proposed_by, proposed_role = excluded.proposed_role,
      ends_at = excluded.ends_at
    where p.approved_at is null and p.ends_at <= excluded.proposed_at
      and p.customer_id = excluded.customer_id and p.amount_sun = excluded.amount_sun
      and p.invoice_number is not distinct from excluded.invoice_number
    returning ${PROPOSAL_COLUMNS}`
  if (proposal) return { proposal, proposed: true }
  const [open] =
    await tx<Proposal>`select ${PROPOSAL_COLUMNS} from correction_proposal where id = ${id}`
  if (open && isSame(open, { customer_id, amount_sun, invoice_number }))
    return { proposal: open, proposed: false }
  throw refusal(`The id ${id} was used for another correction.`)
}

/** proposed -> approved: makes the correction. Throws Refused when it may not be approved, or not
 *  by this operator, or the customer cannot spend what is to be taken. */
export async function approveCorrection(
  tx: Tx,
  { id, at, by }: { id: string; at: Date; by: string },
): Promise<Correction> {
  const [proposal] = await tx<Proposal & { role: string }>`
    select ${PROPOSAL_COLUMNS}, session_user::text as role from correction_proposal
    where id = ${id} for update`
  if (!proposal) throw refusal(`Nothing is proposed under the id ${id}.`)
  await requireSecond(tx, proposal, { at, by, verb: 'approve' })
  const { customer_id, amount_sun, reason, proposed_by, invoice_number } = proposal
  await tx`
    update correction_proposal set approved_at = ${at}, approved_by = ${by},
      approved_role = session_user
    where id = ${id}`
  const wanted = { id, customer_id, amount_sun, invoice_number, reason }
  const made_now = { ...wanted, made_at: at, made_by: proposed_by }
  const { correction, made } = await correct(tx, made_now)
  if (!made) throw refusal('It was made before, without an approval.')
  return correction
}

type Consent = Pick<Proposal, 'ends_at' | 'approved_by' | 'proposed_by' | 'proposed_role'> & {
  /** That the database sees now. */
  role: string
}
const DONE = { approve: 'approved', allow: 'allowed' } as const

/** Throws Refused when it is too late to consent to a proposal, or this operator may not: who may
 *  is the same for corrections and for everything else that wants two. */
export async function requireSecond(
  tx: Tx,
  { ends_at, approved_by, proposed_by, proposed_role, role }: Consent,
  { at, by, verb }: { at: Date; by: string; verb: keyof typeof DONE },
): Promise<void> {
  if (approved_by !== null) throw refusal(`${approved_by} has ${DONE[verb]} it already.`)
  if (at >= ends_at) throw refusal('Its hour is over: it must be proposed again.')
  if (nameOf(by) === nameOf(proposed_by))
    throw refusal(`The operator who has proposed it cannot ${verb} it.`)
  const { second } = await readApprovalRule(tx, at)
  if (second === 'role' && role === proposed_role)
    throw refusal(`The role ${role} of the database has proposed it, and cannot ${verb} it.`)
}

/** Two spellings of one name are one operator. */
export const nameOf = (by: string) => by.trim().toLowerCase()

/** Newest first; `open`: only those that can still be approved. */
export async function listProposals(
  sql: Sql,
  { open, now, limit }: { open: boolean; now: Date; limit: number },
): Promise<Proposal[]> {
  return sql<Proposal>`
    select ${PROPOSAL_COLUMNS} from correction_proposal
    where not ${open}::boolean or (approved_at is null and ends_at > ${now})
    order by proposed_at desc, id desc limit ${limit}`
}
