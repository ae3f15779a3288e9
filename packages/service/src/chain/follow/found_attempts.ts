// What attempts do, so that transactions that were found in blocks can be held against them.

import type { Contract } from 'penstock-tron/transaction.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { fromRow } from './attempts.ts'

/** What a contract does, in one line. Equal for two that do the same. */
export function effectOf({ type, parameter: { value } }: Contract): string {
  const receiver = value.receiver_address ?? value.account_address ?? value.to_address
  const { owner_address, resource = 'BANDWIDTH', balance, amount = 0n, votes } = value
  const ballot = Array.isArray(votes) ? votes.map(ballotLine).join() : ''
  return [type, owner_address, receiver, resource, balance ?? amount, ballot].map(String).join(' ')
}

function ballotLine(vote: unknown): string {
  const { vote_address, vote_count } = vote as Record<string, unknown>
  return `${String(vote_address)}=${String(vote_count)}`
}

type UnsignedAttempt = { id: string; subject: string; contract: Contract }

/** Locks all that are not signed. */
export async function lockUnsigned(tx: Tx): Promise<UnsignedAttempt[]> {
  const rows = await tx<UnsignedAttempt>`
    select id, subject, contract from attempt where state = 'new' order by id for no key update`
  return rows.map((row) => ({ ...row, contract: fromRow(row.contract) }))
}
