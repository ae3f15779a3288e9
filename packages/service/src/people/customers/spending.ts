// What API keys with a daily cap have spent today, from midnight to midnight in UTC. Code that
// takes money for a key adds it here in the same transaction, and takes it off again when it is
// given back. Keys that a key with a cap has made spend from the same sum as that one.

import { dayOf } from '../../lib/clock.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'

/** The key that asks, when it has a cap. `spends_from`: the key whose sum it spends from, mostly
 *  itself. */
export type CappedKey = { key_id: string; spends_from: string; daily_cap_sun: bigint }

export const cappedKey = ({
  key_id,
  daily_cap_sun,
  spends_from = key_id,
}: Pick<Customer, 'key_id' | 'daily_cap_sun' | 'spends_from'>): CappedKey | undefined =>
  daily_cap_sun === undefined ? undefined : { key_id, spends_from, daily_cap_sun }

/** Locks and reads the sums of keys on the day of `at`, in sun; a key from which nothing was spent
 *  has no entry. */
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

/** Locks and reads the sum that a key spends from, on the day of `at`, in sun. */
export async function spentBy(tx: Tx, key_id: string, at: Date): Promise<bigint> {
  const [sum] = await tx<{ spent_sun: bigint }>`
    select spent_sun from api_key_spending
    where day = ${dayOf(at)}
      and key_id = (select coalesce(spends_from, id) from api_key where id = ${key_id})
    for update`
  return sum?.spent_sun ?? 0n
}

/** Adds to what a key has spent on the day of `at`; a negative amount gives back. */
export function addSpending(tx: Tx, key_id: string, { sun, at }: { sun: bigint; at: Date }): void {
  tx.send`
    insert into api_key_spending (key_id, day, spent_sun)
    select coalesce(spends_from, id), ${dayOf(at)}::date, ${sun}::bigint from api_key
    where id = ${key_id}
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

/** Notes that purchases by these keys were refused because of their caps, once a day for each. */
export function noteRefusedByCap(tx: Tx, key_ids: readonly string[], at: Date): void {
  if (key_ids.length === 0) return
  tx.send`
    insert into api_key_cap (key_id, day)
    select key_id, ${dayOf(at)}::date from unnest(${[...key_ids].sort()}::text[]) as t (key_id)
    on conflict do nothing`
}

/** The keys whose customers are to be told that a cap is reached; they are told now. What is older
 *  than a week is nobody's any more. */
export async function takeReachedCaps(
  tx: Tx,
  { limit, now }: { limit: number; now: Date },
): Promise<{ id: string; customer_id: string }[]> {
  const taken = await tx<{ id: string; customer_id: string }>`
    update api_key_cap as c set told_at = ${now} from api_key as k
    where k.id = c.key_id and (c.key_id, c.day) in (
      select key_id, day from api_key_cap where told_at is null
      order by key_id, day limit ${limit} for update skip locked)
    returning k.id, k.customer_id`
  if (taken.length > 0)
    tx.send`
      delete from api_key_cap where key_id = any(${taken.map(({ id }) => id)})
        and day < ${dayOf(now)}::date - 7`
  return taken
}
