// Notes of operators about a customer: what was agreed, whom to ask. They are never changed, and go
// when the customer is erased. The record names a note and not its text, which nothing could take
// out of it again.

import type { Action } from '../../ledger/accounts/actions.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { requireLockedCustomer } from './customers.ts'

export const NOTE_TEXT_MAX = 2_000
/** Of one customer. */
export const NOTES_MAX = 1_000

export type CustomerNote = { id: string; at: Date; made_by: string; text: string }

/** Adds a note. Throws Refused when there is no such customer, or it has too many notes. */
export async function addNote(
  tx: Tx,
  { customer_id, ...note }: CustomerNote & { customer_id: string },
): Promise<Action> {
  const { id, at, made_by, text } = note
  await requireLockedCustomer(tx, customer_id)
  const [known] = await tx<{ notes: bigint }>`
    select count(*) as notes from customer_note where customer_id = ${customer_id}`
  if (known!.notes >= BigInt(NOTES_MAX))
    throw refusal(`The customer ${customer_id} has ${NOTES_MAX} notes; it can have no more.`)
  await tx`
    insert into customer_note (id, customer_id, at, made_by, text)
    values (${id}, ${customer_id}, ${at}, ${made_by}, ${text})`
  return { subject: `customer:${customer_id}`, before: null, after: { note: id } }
}

/** The newest first. `before`: the id of a note, only older ones. */
export const listNotes = (
  sql: Sql,
  { customer_id, before, limit }: { customer_id: string; before?: string; limit: number },
): Promise<CustomerNote[]> =>
  sql<CustomerNote>`
    select id, at, made_by, text from customer_note
    where customer_id = ${customer_id} and (${before ?? null}::text is null or id < ${before ?? ''})
    order by id desc limit ${limit}`

/** Deletes all notes about a customer; returns how many there were. */
export async function eraseNotes(tx: Tx, customer_id: string): Promise<number> {
  const rows = await tx`delete from customer_note where customer_id = ${customer_id} returning id`
  return rows.length
}
