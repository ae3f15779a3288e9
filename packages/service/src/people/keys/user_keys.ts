// The keys that stand for the users of a customer. Such a key has the id of its user, signs nothing
// and is not listed: it is there so that whatever names a key can name a user.

import { dayOf } from '../../lib/clock.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { Scope } from '../../platform/wire/endpoint.ts'
import { ERASED } from '../customers/customers.ts'
import { changeKey, lockKey } from './keys.ts'

export type UserKey = {
  user_id: string
  customer_id: string
  name: string
  scopes: readonly Scope[]
  /** What the user may spend in a day, in sun; null: no limit. */
  daily_cap_sun: bigint | null
  /** The addresses for which alone the user buys; null: any; left out: as it was. */
  receivers?: readonly string[] | null | undefined
  /** Another key whose spending of a day the user's counts as. */
  spends_from?: string | null | undefined
}

export async function openUserKey(tx: Tx, key: UserKey, at: Date): Promise<void> {
  const { user_id, customer_id, name, scopes, daily_cap_sun, spends_from = null } = key
  const { receivers = null } = key
  await tx`
    insert into api_key (id, user_id, customer_id, name, scopes, daily_cap_sun, receivers,
      spending_counted_from, spends_from, require_v2, created_at, secret_made_at)
    values (${user_id}, ${user_id}, ${customer_id}, ${name}, ${scopes}, ${daily_cap_sun},
      ${receivers}, ${daily_cap_sun === null ? null : dayOf(at)}, ${spends_from}, false, ${at},
      ${at})`
}

/** Follows a change of the user. */
export async function changeUserKey(
  tx: Tx,
  change: Omit<UserKey, 'customer_id' | 'spends_from'>,
  at: Date,
): Promise<void> {
  const key = await lockKey(tx, change.user_id)
  if (key) await changeKey(tx, key, { ...change, at })
}

export async function endUserKey(tx: Tx, user_id: string, at: Date): Promise<void> {
  await tx`update api_key set revoked_at = ${at} where id = ${user_id} and revoked_at is null`
}

/** Replaces the names of a customer's keys, or of the one that stands for a user, and forgets the
 *  networks that they were bound to: with people these are where they live. */
export async function eraseKeyNames(
  tx: Tx,
  { customer_id, user_id }: { customer_id?: string; user_id?: string },
): Promise<number> {
  const erased = await tx`
    update api_key set name = ${ERASED}, allowed_networks = null
    where (id = ${user_id ?? null} or (customer_id = ${customer_id ?? null} and user_id is null))
      and name <> ${ERASED} returning 1`
  return erased.length
}
