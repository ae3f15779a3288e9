// The rules of the books about collecting: each transfer that has left a deposit address has its
// entries, in full, and there are no others.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'

/** Everything about what was collected that does not hold (C18). */
export function wrongCollections(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with ended as (
      select t.tx_id, t.token, t.moved, t.fee_sun, t.amount, t.state, o.amount_sun as left_sun,
        o.fee_sun as left_fee_sun
      from collection_transfer as t left join deposit_outflow as o on o.tx_id = t.tx_id
      where t.state in ('collected', 'failed')
    ), wanted as (
      select 'collected:' || tx_id as id, 'treasury:collected' as debit, moved::bigint as sun
      from ended where token is null and moved > 0
      union all
      select 'collected:' || tx_id || '/fee', 'treasury:fees', fee_sun
      from ended where fee_sun > 0
    ), booked as (
      select id, kind, debit, credit, amount_sun as sun from transfer
      where id like 'collected:%' or debit in ('treasury:collected', 'treasury:fees')
        or credit in ('treasury:collected', 'treasury:fees')
    )
    select coalesce(wanted.id, booked.id) as subject,
           case when booked.id is null then format('%s sun are not booked', wanted.sun)
                when wanted.id is null then format('%s sun from %s to %s, and nothing left',
                  booked.sun, booked.credit, booked.debit)
                else format('%s sun left to %s, booked are %s sun from %s to %s', wanted.sun,
                  wanted.debit, booked.sun, booked.credit, booked.debit) end as found
    from wanted full join booked using (id)
    where wanted.id is null or booked.id is null or kind <> 'move' or credit <> 'world'
       or (wanted.debit, wanted.sun) is distinct from (booked.debit, booked.sun)
    union all
    select 'transfer ' || tx_id, format('it is %s with %s, and %s sun left by it', state, moved,
      coalesce(left_sun::text, 'no'))
    from ended where token is null and moved is distinct from coalesce(left_sun, 0)
      or fee_sun is distinct from coalesce(left_fee_sun, fee_sun)
    order by 1 limit ${FINDINGS_MAX}`
}
