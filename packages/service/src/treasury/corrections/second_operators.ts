// A second pair of eyes for what hands out money or rights by another door than corrections: where
// the rule wants two, one operator proposes what he is about to do, another allows it, and the
// first does the same again within the hour, once. So what is shown once, a secret or a link, is
// shown to the one who asked for it.
//
//   -> proposed -> allowed -> used | expired (an hour after it was proposed; proposed anew)

import { refusal } from '../../lib/fault.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { nameOf, PROPOSAL_MS, requireSecond } from './approvals.ts'

export type OperationProposal = {
  id: string
  action: string
  body: unknown
  reason: string | null
  proposed_at: Date
  proposed_by: string
  proposed_role: string
  ends_at: Date
  approved_at: Date | null
  approved_by: string | null
  used_at: Date | null
}

const OPERATION_COLUMNS = columnsOf<OperationProposal>()([
  'id',
  'action',
  'body',
  'reason',
  'proposed_at',
  'proposed_by',
  'proposed_role',
  'ends_at',
  'approved_at',
  'approved_by',
  'used_at',
])

/** What an operator is about to do. */
export type Intention = { action: string; body: string; by: string }

/** The proposal of the very same by the same operator that is still of use. */
async function findProposal(
  sql: Query,
  { action, body, by }: Intention,
  at: Date,
): Promise<OperationProposal | undefined> {
  const [found] = await sql<OperationProposal>`
    select ${OPERATION_COLUMNS} from operation_proposal
    where action = ${action} and body = ${body}::jsonb and used_at is null and ends_at > ${at}
      and lower(trim(proposed_by)) = ${nameOf(by)}
    order by proposed_at desc limit 1`
  return found
}

/** -> proposed, unless it was before. Says under which id, and whether another has allowed it. */
export async function proposeOperation(
  tx: Tx,
  intention: Intention,
  { id, reason, at }: { id: string; reason: string | null; at: Date },
): Promise<{ id: string; allowed: boolean; is_new: boolean }> {
  const before = await findProposal(tx, intention, at)
  if (before) return { id: before.id, allowed: before.approved_at !== null, is_new: false }
  const { action, body, by } = intention
  await tx`
    insert into operation_proposal (id, action, body, reason, proposed_at, proposed_by,
      proposed_role, ends_at)
    values (${id}, ${action}, ${body}::jsonb, ${reason}, ${at}, ${by}, session_user,
      ${new Date(at.getTime() + PROPOSAL_MS)})`
  return { id, allowed: false, is_new: true }
}

/** proposed -> allowed. Throws Refused when there is none, or this operator may not allow it. */
export async function allowOperation(
  tx: Tx,
  { id, at, by }: { id: string; at: Date; by: string },
): Promise<OperationProposal> {
  const [found] = await tx<OperationProposal & { role: string }>`
    select ${OPERATION_COLUMNS}, session_user::text as role from operation_proposal
    where id = ${id} for update`
  if (!found) throw refusal(`Nothing is proposed under the id ${id}.`)
  const { role: _, ...proposal } = found
  await requireSecond(tx, found, { at, by, verb: 'allow' })
  await tx`
    update operation_proposal set approved_at = ${at}, approved_by = ${by},
      approved_role = session_user
    where id = ${id}`
  return { ...proposal, approved_at: at, approved_by: by }
}

/** allowed -> used, in the transaction of what was allowed. Throws Refused when it was used. */
export async function useAllowance(tx: Tx, id: string, at: Date): Promise<void> {
  const used = await tx`
    update operation_proposal set used_at = ${at}
    where id = ${id} and used_at is null and approved_at is not null and ends_at > ${at}
    returning 1`
  if (used.length === 0) throw refusal('What was allowed was done already, or its hour is over.')
}

/** Newest first. */
export function listOperationProposals(
  sql: Sql,
  { limit }: { limit: number },
): Promise<OperationProposal[]> {
  return sql<OperationProposal>`
    select ${OPERATION_COLUMNS} from operation_proposal
    order by proposed_at desc, id desc limit ${limit}`
}
