// Attempts whose transactions were found in solid blocks although the rows did not know of them: a
// database was restored to a moment, and they were signed after it. From here on they are attempts
// like any other.
//
//   new -> included         it was asked for before the moment
//   (found) -> included     it was asked for after it; what it is for finds it by its subject

import type { Contract } from 'penstock-tron/transaction.ts'
import type { Tx } from '../database/sql.ts'
import { fromRow, toText } from './attempts.ts'

export type FoundTransaction = {
  tx_id: string
  block_number: bigint
  block_id: string
  block_time: Date
  contract: Contract
  /** The whole transaction. */
  signed: Uint8Array
  expires_at: Date
}

/** What a contract does, in one line. Equal for two that do the same. */
export function effectOf({ type, parameter: { value } }: Contract): string {
  const receiver = value.receiver_address ?? value.account_address ?? value.to_address
  const { owner_address, resource = 'BANDWIDTH', balance, amount = 0n } = value
  return [type, owner_address, receiver, resource, balance ?? amount].map(String).join(' ')
}

type UnsignedAttempt = { id: string; subject: string; contract: Contract }

/** Locks all that are not signed. */
export async function lockUnsigned(tx: Tx): Promise<UnsignedAttempt[]> {
  const rows = await tx<UnsignedAttempt>`
    select id, subject, contract from attempt where state = 'new' order by id for no key update`
  return rows.map((row) => ({ ...row, contract: fromRow(row.contract) }))
}

/** new -> included: the caller has locked them. */
export async function includeUnsigned(
  tx: Tx,
  found: readonly (FoundTransaction & { id: string })[],
): Promise<void> {
  for (const { id, tx_id, signed, expires_at, block_number, block_id, block_time } of found)
    await tx`
      update attempt set state = 'included', tx_id = ${tx_id}, signed = ${signed},
        expires_at = ${expires_at}, block_number = ${block_number}, block_id = ${block_id},
        block_time = ${block_time}
      where id = ${id} and state = 'new'`
}

/** (found) -> included */
export async function insertFound(
  tx: Tx,
  found: readonly (FoundTransaction & { id: string; subject: string })[],
): Promise<void> {
  for (const { id, subject, contract, block_time, ...one } of found)
    await tx`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_id, block_time)
      values (${id}, ${subject}, ${toText(contract)}::jsonb, 'included', ${one.tx_id},
        ${one.signed}, ${one.expires_at}, ${block_time}, ${block_time}, ${one.block_number},
        ${one.block_id}, ${block_time})`
}
