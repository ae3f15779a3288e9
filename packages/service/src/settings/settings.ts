// What customers have set for themselves. The code that tells them of low balances and of hours
// that end reads it here.

import type { Sql, Tx } from '../database/sql.ts'

/** `balance_low_sun`: they want to be told when less can be spent. `ending_minutes`: how long
 *  before an order's hour is over they want to be told. `billing`: lines of their own on
 *  invoices. */
export type Settings = {
  balance_low_sun: bigint | null
  ending_minutes: number | null
  billing: string[]
}

const NOTHING: Settings = { balance_low_sun: null, ending_minutes: null, billing: [] }

export async function settingsOf(sql: Sql | Tx, customer_id: string): Promise<Settings> {
  const [settings] = await sql<Settings>`
    select balance_low_sun, ending_minutes, billing from customer_setting
    where customer_id = ${customer_id}`
  return settings ?? NOTHING
}

/** Sets what is given, and leaves the rest as it is. */
export async function changeSettings(
  tx: Tx,
  customer_id: string,
  { at, ...wanted }: Partial<Settings> & { at: Date },
): Promise<Settings> {
  // The first change of a customer has no row to lock.
  await tx`
    insert into customer_setting (customer_id, changed_at) values (${customer_id}, ${at})
    on conflict (customer_id) do update set changed_at = excluded.changed_at`
  const changed = { ...(await settingsOf(tx, customer_id)), ...wanted }
  await tx`
    update customer_setting set balance_low_sun = ${changed.balance_low_sun},
      ending_minutes = ${changed.ending_minutes}, billing = ${changed.billing}
    where customer_id = ${customer_id}`
  return changed
}
