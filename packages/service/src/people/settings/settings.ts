// What customers have set for themselves. The code that tells them of low balances and of hours
// that end reads it here.

import { noteEvents } from '../../events/log/notes.ts'
import { money } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

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
): Promise<{ before: Settings; after: Settings }> {
  // The first change of a customer has no row to lock.
  await tx`
    insert into customer_setting (customer_id, changed_at) values (${customer_id}, ${at})
    on conflict (customer_id) do update set changed_at = excluded.changed_at`
  const before = await settingsOf(tx, customer_id)
  const changed = { ...before, ...wanted }
  await tx`
    update customer_setting set balance_low_sun = ${changed.balance_low_sun},
      balance_low_at = case when balance_low_sun = ${changed.balance_low_sun}
        then balance_low_at end,
      ending_minutes = ${changed.ending_minutes}, billing = ${changed.billing}
    where customer_id = ${customer_id}`
  return { before, after: changed }
}

/** Deletes the lines that stand on invoices to come. */
export async function eraseBilling(tx: Tx, customer_id: string): Promise<void> {
  await tx`update customer_setting set billing = '{}' where customer_id = ${customer_id}`
}

const AT_ONCE = 200

/** (told) -> (to be told again): the balance was a tenth above the limit. True when any was. */
export async function forgetLowBalances(tx: Tx): Promise<boolean> {
  const above = await tx`
    update customer_setting set balance_low_at = null where customer_id in (
      select s.customer_id from customer_setting as s
        join account as a on a.id = 'customer:' || s.customer_id
      where s.balance_low_sun is not null and s.balance_low_at is not null
        and (a.posted_sun - a.held_sun) * 10 >= s.balance_low_sun * 11
      order by s.customer_id limit ${AT_ONCE} for no key update of s skip locked)
    returning 1`
  return above.length > 0
}

type LowBalance = { customer_id: string; spendable_sun: bigint; balance_low_sun: bigint }

/** (to be told) -> (told): less can be spent than the limit. True when any was. */
export async function noteLowBalances(tx: Tx, now: Date): Promise<boolean> {
  const low = await tx<LowBalance>`
    select s.customer_id, s.balance_low_sun, a.posted_sun - a.held_sun as spendable_sun
    from customer_setting as s join account as a on a.id = 'customer:' || s.customer_id
    where s.balance_low_sun is not null and s.balance_low_at is null
      and a.posted_sun - a.held_sun < s.balance_low_sun
    order by s.customer_id limit ${AT_ONCE} for no key update of s skip locked`
  if (low.length === 0) return false
  tx.send`
    update customer_setting set balance_low_at = ${now}
    where customer_id = any(${low.map(({ customer_id }) => customer_id)})`
  noteEvents(
    tx,
    low.map(({ customer_id, spendable_sun, balance_low_sun }) => ({
      type: 'balance.low',
      subject: 'balance',
      customer_id,
      at: now,
      data: { balance: money(spendable_sun), limit: money(balance_low_sun) },
    })),
  )
  return true
}
