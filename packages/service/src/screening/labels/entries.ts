// Allow and deny entries: what a customer, or the operator for all, has decided about an address,
// with a reason and an end. They are never changed, only withdrawn, so what was in force when a
// check was asked for can be read back.

import type { Address } from 'penstock-tron/address.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type RowOf, row } from '../../platform/wire/row.ts'
import { Moment, OrNull, Text, textAs } from '../../platform/wire/schemas.ts'

export const Entry = row({
  id: Text,
  /** Null: the operator's, for all customers. */
  customer_id: OrNull(Text),
  address: textAs<Address>(),
  kind: textAs<'allow' | 'deny'>(),
  reason: Text,
  made_by: Text,
  made_at: Moment,
  expires_at: OrNull(Moment),
  withdrawn_at: OrNull(Moment),
})
export type Entry = RowOf<typeof Entry>

/** Makes an entry. */
export async function makeEntry(
  tx: Tx,
  new_id: NewId,
  entry: Omit<Entry, 'id' | 'withdrawn_at'>,
): Promise<{ id: string }> {
  const id = new_id()
  const { customer_id, address, kind, reason, made_by, made_at, expires_at } = entry
  await tx`
    insert into aml_entry (id, customer_id, address, kind, reason, made_by, made_at, expires_at)
    values (${id}, ${customer_id}, ${address}, ${kind}, ${reason}, ${made_by}, ${made_at},
            ${expires_at})`
  return { id }
}

export async function findEntry(sql: Sql | Tx, id: string): Promise<Entry | undefined> {
  const [entry] = await sql<Entry>`select ${Entry.columns} from aml_entry where id = ${id}`
  return entry
}

/** Newest first. */
export async function listEntries(
  sql: Sql,
  { address = null, limit }: { address?: string | null | undefined; limit: number },
): Promise<Entry[]> {
  return sql<Entry>`
    select ${Entry.columns} from aml_entry where ${address}::text is null or address = ${address}
    order by made_at desc, id desc limit ${limit}`
}

/** The days that an allow entry lasts unless another end is given. */
export const ALLOWED_DAYS = 90
export const allowedUntil = (made_at: Date): Date =>
  new Date(made_at.getTime() + ALLOWED_DAYS * 86_400_000)

/** The severe part of an address: hundredths of a percent, and dollars where they are known. */
export type SevereAmounts = { share_bp: number; usd: bigint | null }

/** An allow entry wakes up when the severe share grows by the one, or the amount doubles and grows
 *  by the other. */
const WAKES_BP = 500
const WAKES_USD = 1_000n

/** Notes what is severe of an address for which an allow entry is used: at first what it is, then
 *  whenever it has grown. True when it has. */
export async function noteAllowed(tx: Tx, id: string, now: SevereAmounts): Promise<boolean> {
  const { share_bp, usd } = now
  // Locked first, if there is anything to note: another may be using it for the first time, and
  // what that saw counts. Many use one entry, and most see no more of it: these do not wait.
  const [noted] = await tx<{ was_used: boolean }>`
    with before as (
      select id, seen_severe_bp as bp from aml_entry
      where id = ${id} and (seen_severe_bp is null or ${share_bp} >= seen_severe_bp + ${WAKES_BP}
        or ${usd}::bigint >= greatest(2 * seen_severe_usd, seen_severe_usd + ${WAKES_USD}))
      for no key update
    )
    update aml_entry as e set seen_severe_bp = ${share_bp}, seen_severe_usd = ${usd}
    from before where e.id = before.id
    returning before.bp is not null as was_used`
  return noted?.was_used ?? false
}

/** Ends an entry. False when it is not there, not the customer's, or ended already. */
export async function withdrawEntry(
  tx: Tx,
  which: { id: string; customer_id: string | null; at: Date },
): Promise<boolean> {
  const { id, customer_id, at } = which
  const rows = await tx`
    update aml_entry set withdrawn_at = ${at}
    where id = ${id} and customer_id is not distinct from ${customer_id}::text
      and withdrawn_at is null returning 1`
  return rows.length > 0
}

/** The entries that are in force at an instant, oldest first: for each party, those about its
 *  address for its customer. */
export async function entriesFor(
  sql: Sql | Tx,
  parties: readonly { address: Address; customer_id: string }[],
  at: Date,
): Promise<Entry[][]> {
  const entries = await sql<Entry>`
    select ${Entry.columns} from aml_entry
    where address = any(${parties.map(({ address }) => address)})
      and (customer_id is null
        or customer_id = any(${parties.map(({ customer_id }) => customer_id)}))
      and made_at <= ${at} and (expires_at is null or expires_at > ${at})
      and (withdrawn_at is null or withdrawn_at > ${at})
    order by made_at, id`
  return parties.map(({ address, customer_id }) =>
    entries.filter(
      (entry) =>
        entry.address === address &&
        (entry.customer_id === null || entry.customer_id === customer_id),
    ),
  )
}
