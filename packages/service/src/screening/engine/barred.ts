// Whether the service may deal with an address at all: official lists, tokens' freeze lists, and
// what the operator has denied. Asked of the database, so that every process gives the same answer;
// and only when the policy says so.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { TERMINAL_CONFIDENCE } from '../flow/labels.ts'
import type { Issuers } from './issuers.ts'
import { currentPolicy, policyReader } from './policy.ts'

type Needs = { sql: Sql; clock: Clock }

/** Answers whether nothing may be sold to an address. Always false unless the policy refuses
 *  blacklisted receivers. */
export function barredReader({
  sql,
  clock,
  issuers,
}: Needs & { issuers: Pick<Issuers, 'ask'> }): (address: Address) => Promise<boolean> {
  const readPolicy = policyReader({ sql, clock })
  return async (address) => {
    const { refuse_blacklisted_receivers } = await readPolicy()
    if (!refuse_blacklisted_receivers) return false
    await issuers.ask([address])
    return (await blacklisted(sql, [address], clock.now())).size > 0
  }
}

/** Those of the addresses whose money is held. */
export type HeldSenders = (
  sql: Sql | Tx,
  addresses: readonly Address[],
) => Promise<ReadonlySet<Address>>

/** Answers from which of some addresses money is held: from none unless the policy holds what
 *  blacklisted senders send. The policy is the one in force at that very moment, for what it
 *  decides is not decided again. */
export function heldSenders({ clock }: Pick<Needs, 'clock'>): HeldSenders {
  return async (sql, addresses) => {
    const found = await blacklisted(sql, addresses, clock.now())
    if (found.size === 0) return found
    return (await currentPolicy(sql)).hold_deposits_from === 'none' ? new Set() : found
  }
}

/** Those of the addresses that an official list, a token's issuer or the operator bars. */
async function blacklisted(
  sql: Sql | Tx,
  addresses: readonly Address[],
  at: Date,
): Promise<ReadonlySet<Address>> {
  const found = await sql<{ address: Address }>`
    select address from version_entry join label_set_version using (version_id)
    where address = any(${addresses}) and kind = 'authority' and label_set = (select max(number)
      from label_set)
      and (valid_from is null or valid_from <= ${at}) and (valid_to is null or valid_to > ${at})
    union select address from flow_freeze where address = any(${addresses}) and frozen
    union select address from (
      select distinct on (address, token) address, token, said from issuer_word
      where address = any(${addresses}) and said <> 'not_asked'
      order by address, token, asked_at desc) as w
    where said = 'frozen' and not exists (
      select 1 from flow_freeze as f where f.address = w.address and f.token = w.token)
    union select address from aml_entry
    where address = any(${addresses}) and customer_id is null and kind = 'deny' and made_at <= ${at}
      and (expires_at is null or expires_at > ${at})
        and (withdrawn_at is null or withdrawn_at > ${at})`
  return new Set(found.map(({ address }) => address))
}

/** Those of the addresses that are terminals of a severe category, or barred, by what the newest
 *  rows say, with the category. */
export async function severeTerminals(
  sql: Sql | Tx,
  addresses: readonly Address[],
  { at, severe }: { at: Date; severe: readonly string[] },
): Promise<ReadonlyMap<Address, string>> {
  const rows = await sql<{ address: Address; category: string }>`
    select address, min(category) as category
    from version_entry join label_set_version using (version_id)
    where address = any(${addresses}) and category = any(${severe})
      and confidence >= ${TERMINAL_CONFIDENCE}
      and label_set = (select max(number) from label_set)
      and (valid_from is null or valid_from <= ${at}) and (valid_to is null or valid_to > ${at})
    group by address`
  const barred = await blacklisted(sql, addresses, at)
  return new Map([
    ...[...barred].map((address) => [address, 'blacklisted'] as const),
    ...rows.map(({ address, category }) => [address, category] as const),
  ])
}
