// Earnings of each day (UTC), by service: charges less what was given back, from the ledger alone.

import type { Sql } from '../../platform/database/sql.ts'
import { REVENUE } from '../accounts/ledger.ts'

export type ServiceDay = {
  day: string
  /** A service of orders, or `subscription`, `aml` and what else was charged. */
  service: string
  charges: number
  earned_sun: bigint
}

/** The days from `since` on and before `until`, newest first, those without a charge left out. */
export const earningsOf = (
  sql: Sql,
  { since, until }: { since: Date; until: Date },
): Promise<ServiceDay[]> => sql<ServiceDay>`
  with entry as (
    select coalesce(hold_id, id) as cause, made_at, amount_sun, 1 as charges from transfer
    where credit = ${REVENUE} and kind in ('capture', 'move')
      and made_at >= ${since} and made_at < ${until}
    union all
    select id, made_at, -amount_sun, 0 from transfer
    where debit = ${REVENUE} and kind in ('capture', 'move')
      and made_at >= ${since} and made_at < ${until})
  select to_char(made_at at time zone 'UTC', 'YYYY-MM-DD') as day,
    coalesce(o.service, split_part(cause, ':', 1)) as service,
    sum(charges)::integer as charges, sum(entry.amount_sun)::bigint as earned_sun
  from entry left join orders as o on cause like 'order:%' and o.id = substr(cause, 7)
  group by 1, 2 order by 1 desc, 4 desc, 2`
