// Entries of the ledger by themselves, and the seals over them, for tests of what is read of them.

import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** A payment of Anna's, unless it says another. */
export type EntryRow = {
  id: string
  at: Date
  sun: number
  kind?: string
  /** The hold that it ends. */
  of?: string
  debit?: string
  credit?: string
}

/** One after the other, so that they are numbered in this order. */
export async function enterAll(sql: Sql, entries: readonly EntryRow[]): Promise<void> {
  for (const { id, at, sun, kind = 'move', of = null, ...sides } of entries) {
    const { debit = 'customer:anna', credit = 'revenue' } = sides
    await sql`
      insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      values (${id}, ${kind}, ${of}, ${debit}, ${credit}, ${sun}, ${at})`
  }
}

/** A seal over these numbers, whose sum is none. */
export async function sealRow(
  sql: Sql,
  { number, first, last, at }: { number: number; first: number; last: number; at: Date },
): Promise<void> {
  await sql`
    insert into journal (number, first_entry, last_entry, entries, actions, sealed_at, sha256)
    values (${number}, ${first}, ${last}, ${last - first + 1}, 0, ${at}, 'no sum')`
}

/** An order of energy, which is Anna's unless it says another's. */
export async function orderRow(
  sql: Sql,
  { id, of = 'anna', energy = 65_000 }: { id: string; of?: string; energy?: number },
): Promise<void> {
  await sql`
    insert into orders (id, customer_id, external_id, service, address, energy, activate,
      to_delegate, amount_sun, due_at, created_at)
    values (${id}, ${of}, ${`external ${id}`}, 'energy', 'bob', ${energy}, false, true, 0, now(),
      now())`
}
