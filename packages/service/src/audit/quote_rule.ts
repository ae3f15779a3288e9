// What of the books is about quotes: each has bought what it was for, for no more than it said.

import type { Tx } from '../database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'

/** Orders that were bought by a quote and are not what that said (C15). */
export const wrongByQuote = (tx: Tx): Promise<Finding[]> => tx<Finding>`
  select o.id as subject,
    format('%s of %s was quoted at %s sun, %s of it the fee, and cost %s, %s of it the fee',
      q.service, q.address, q.amount_sun, q.fee_sun, o.amount_sun, o.fee_sun) as found
  from orders as o join quote as q on q.id = o.quote_id
  where o.amount_sun > q.amount_sun or o.fee_sun > q.fee_sun
    or o.created_at >= q.expires_at or o.created_at < q.made_at
    or (o.customer_id, o.service, o.address, o.energy, o.bandwidth, o.activate)
      is distinct from (q.customer_id, q.service, q.address, q.energy, q.bandwidth, q.activate)
  order by 1 limit ${FINDINGS_MAX}`
