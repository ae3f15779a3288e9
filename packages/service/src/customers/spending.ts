// What API keys with a daily cap have spent today, from midnight to midnight in UTC. Whoever takes
// money for a key adds it here in the same transaction, and takes it off again when it is given
// back.

import type { Tx } from '../database/sql.ts'
import { dayOf } from '../lib/clock.ts'
import type { Customer } from '../wire/endpoint.ts'

/** The key that asks, when it has a cap. */
export type CappedKey = { key_id: string; daily_cap_sun: bigint }

export const cappedKey = ({
  key_id,
  daily_cap_sun,
}: Pick<Customer, 'key_id' | 'daily_cap_sun'>): CappedKey | undefined =>
  daily_cap_sun === undefined ? undefined : { key_id, daily_cap_sun }

/** Locks and reads what the keys have spent on the day of `at`, in sun; a key that has spent
 *  nothing has no entry. */
export async function spentOn(
  tx: Tx,
  key_ids: readonly string[],
  at: Date,
): Promise<Map<string, bigint>> {
  if (key_ids.length === 0) return new Map()
  const rows = await tx<{ key_id: string; spent_sun: bigint }>`
    select key_id, spent_sun from api_key_spending where key_id = any(${key_ids})
      and day = ${dayOf(at)}
    order by key_id for update`
  return new Map(rows.map(({ key_id, spent_sun }) => [key_id, spent_sun]))
}

/** Adds to what a key has spent on the day of `at`; a negative amount gives back. */
export function addSpending(tx: Tx, key_id: string, { sun, at }: { sun: bigint; at: Date }): void {
  tx.send`
    insert into api_key_spending (key_id, day, spent_sun) values (${key_id}, ${dayOf(at)}, ${sun})
    on conflict (key_id, day) do update set spent_sun = api_key_spending.spent_sun
      + excluded.spent_sun`
}

/** Adds what a batch has spent on the day of `at`, key by key in their order. */
export function addAllSpending(
  tx: Tx,
  spent: readonly { key_id: string | null; sun: bigint }[],
  at: Date,
): void {
  const sums = new Map<string, bigint>()
  for (const { key_id, sun } of spent)
    if (key_id !== null) sums.set(key_id, (sums.get(key_id) ?? 0n) + sun)
  for (const [key_id, sun] of [...sums].sort()) addSpending(tx, key_id, { sun, at })
}
