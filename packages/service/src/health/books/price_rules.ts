// What of the books is about prices: nothing was sold below what was in force, and each quote has
// bought what it was for, for no more than it said.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'

/** Orders from the one with the id `first` on that were bought by a quote and are not what that
 *  said (C15). */
export const wrongByQuote = (tx: Tx, first: string): Promise<Finding[]> => tx<Finding>`
  select o.id as subject,
    format('%s of %s was quoted at %s sun, %s of it the fee, and cost %s, %s of it the fee',
      q.service, q.address, q.amount_sun, q.fee_sun, o.amount_sun, o.fee_sun) as found
  from orders as o join quote as q on q.id = o.quote_id
  where o.id >= ${first} and (o.amount_sun > q.amount_sun or o.fee_sun > q.fee_sun
    or o.created_at >= q.expires_at or o.created_at < q.made_at
    or (o.customer_id, o.service, o.address, o.energy, o.bandwidth, o.activate)
      is distinct from (q.customer_id, q.service, q.address, q.energy, q.bandwidth, q.activate))
  order by 1 limit ${FINDINGS_MAX}`

/** Orders from the one with the id `first` on that cost less than any price in force when they were
 *  made, or when their quote was (C17). An activation that somebody else's order has paid costs
 *  nothing. What so much costs is the same from one change of the prices to the next, and is worked
 *  out once for that time. */
export const wrongPrices = (tx: Tx, first: string): Promise<Finding[]> => tx<Finding>`
  with edge as (
    select array_agg(distinct at order by at) as ats from (
      select since - interval '10 seconds' + interval '1 microsecond' as at from price
      union all select until + interval '10 seconds' from price where until is not null
      union all select since - interval '10 seconds' + interval '1 microsecond' from fee
      union all select until + interval '10 seconds' from fee where until is not null) as change
  ), sold as not materialized (
    select o.*, width_bucket(o.created_at, ats) as time from orders as o, edge
    where o.id >= ${first} and o.customer_id not in ('subscriptions', 'direct_recharge')
  ), cheapest as materialized (
    select energy, bandwidth, time, least_price_sun(energy, bandwidth, min(created_at)) as sun,
      least_fee_sun(min(created_at)) as fee_sun
    from sold group by energy, bandwidth, time
  )
  select o.id as subject,
    format('%s energy and %s bandwidth for %s sun and a fee of %s, at least %s',
      o.energy, o.bandwidth, o.amount_sun - o.fee_sun, o.fee_sun,
      coalesce(least(c.sun, least_price_sun(o.energy, o.bandwidth, q.made_at))::text,
        'not on sale')) as found
  from sold as o
    join cheapest as c on c.energy = o.energy and c.bandwidth = o.bandwidth and c.time = o.time
    left join quote as q on q.id = o.quote_id and q.expires_at < q.made_at + interval '10 minutes'
  where not coalesce(o.amount_sun - o.fee_sun >= c.sun, false)
      and not coalesce(o.amount_sun - o.fee_sun >=
        least_price_sun(o.energy, o.bandwidth, q.made_at), false)
    or o.fee_sun > 0 and o.fee_sun < c.fee_sun
      and not coalesce(o.fee_sun >= least_fee_sun(q.made_at), false)
  union all
  select o.id, format('%s energy for %s sun as %s', o.energy, o.amount_sun, o.customer_id)
  from orders as o
  where o.id >= ${first} and o.customer_id in ('subscriptions', 'direct_recharge')
    and is_priced(o) is not true
  order by 1 limit ${FINDINGS_MAX}`
