// Whether the house may deal with an address at all: official lists, tokens' freeze lists, and what the operator has
// denied. Asked of the database, so that every process gives the same answer; and only when the policy says so.

import type { Clock } from '../lib/clock.ts'
import type { Sql } from '../lib/sql.ts'
import type { Address } from '../tron/address.ts'
import { policyReader } from './policy.ts'

/** Answers whether nothing may be sold to an address. Always false unless the policy refuses blacklisted receivers. */
export function barredReader({ sql, clock }: { sql: Sql; clock: Clock }): (address: Address) => Promise<boolean> {
  const readPolicy = policyReader({ sql, clock })
  return async (address) => (await readPolicy()).refuse_blacklisted_receivers && isBarred(sql, address, clock.now())
}

async function isBarred(sql: Sql, address: Address, at: Date): Promise<boolean> {
  const found = await sql`
    select 1 from list_entry join label_set_version using (version_id)
    where address = ${address} and kind = 'authority' and label_set = (select max(number) from label_set)
      and (valid_from is null or valid_from <= ${at}) and (valid_to is null or valid_to > ${at})
    union all select 1 from flow_freeze where address = ${address} and frozen
    union all select 1 from aml_entry
    where address = ${address} and customer_id is null and kind = 'deny' and made_at <= ${at}
      and (expires_at is null or expires_at > ${at}) and (withdrawn_at is null or withdrawn_at > ${at})
    limit 1`
  return found.length > 0
}
