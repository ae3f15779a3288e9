// The rules of the books about what the house brings in by itself: each transfer that has left a
// deposit address, and each reward that was withdrawn, is booked once, in full, and nothing else is
// booked as such.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import type { Scope } from './scope.ts'

/** Everything about what was collected that does not hold (C18). A transfer ends as it is
 *  booked. */
export function wrongCollections(
  tx: Tx,
  { since, before_entry, sealed_entry }: Scope,
): Promise<Finding[]> {
  return tx<Finding>`
    with touched as (
      select split_part(split_part(id, ':', 2), '/', 1) as tx_id from transfer
      where ${sealed_entry}::bigint > 0 and number > ${sealed_entry}
        and starts_with(id, 'collected:')
    ), ended as (
      select t.tx_id, t.token, t.moved, t.fee_sun, t.amount, t.state, o.amount_sun as left_sun,
        o.fee_sun as left_fee_sun
      from collection_transfer as t left join deposit_outflow as o on o.tx_id = t.tx_id
      where t.state in ('collected', 'failed')
        and (t.ended_at >= ${since} or t.tx_id in (select tx_id from touched))
    ), wanted as (
      select 'collected:' || tx_id as id, 'treasury:collected' as debit, moved::bigint as sun
      from ended where token is null and moved > 0
      union all
      select 'collected:' || tx_id || '/fee', 'treasury:fees', fee_sun
      from ended where fee_sun > 0
    ), booked as (
      select id, kind, debit, credit, amount_sun as sun, number from transfer
      where number > ${before_entry} and (id like 'collected:%'
        or debit in ('treasury:collected', 'treasury:fees')
        or credit in ('treasury:collected', 'treasury:fees'))
    )
    select coalesce(wanted.id, booked.id) as subject,
           case when booked.id is null then format('%s sun are not booked', wanted.sun)
                when wanted.id is null then format('%s sun from %s to %s, and nothing left',
                  booked.sun, booked.credit, booked.debit)
                else format('%s sun left to %s, booked are %s sun from %s to %s', wanted.sun,
                  wanted.debit, booked.sun, booked.credit, booked.debit) end as found
    from wanted full join booked using (id)
    where (wanted.id is not null or booked.number > ${sealed_entry})
      and (wanted.id is null or booked.id is null or kind <> 'move' or credit <> 'world'
       or (wanted.debit, wanted.sun) is distinct from (booked.debit, booked.sun))
    union all
    select 'transfer ' || tx_id, format('it is %s with %s, and %s sun left by it', state, moved,
      coalesce(left_sun::text, 'no'))
    from ended where token is null and moved is distinct from coalesce(left_sun, 0)
      or fee_sun is distinct from coalesce(left_fee_sun, fee_sun)
    order by 1 limit ${FINDINGS_MAX}`
}

/** Everything about votes and rewards that does not hold (C19). A claim ends as it is booked. */
export function wrongRewards(
  tx: Tx,
  { since, before_entry, sealed_entry }: Scope,
): Promise<Finding[]> {
  return tx<Finding>`
    with touched as (
      select id from transfer where ${sealed_entry}::bigint > 0 and number > ${sealed_entry}
        and starts_with(id, 'reward:')
    ), wanted as (
      select 'reward:' || id as id, reward_sun as sun from reward_claim
      where state = 'claimed'
        and (ended_at >= ${since} or 'reward:' || id in (select id from touched))
    ), booked as (
      select id, kind, debit, credit, amount_sun as sun, number from transfer
      where number > ${before_entry} and (id like 'reward:%'
        or debit in ('income:votes', 'treasury:wallets')
        or credit in ('income:votes', 'treasury:wallets'))
    )
    select coalesce(wanted.id, booked.id) as subject,
           case when booked.id is null then format('%s sun are not booked', wanted.sun)
                when wanted.id is null then format('%s sun from %s to %s, of no withdrawal',
                  booked.sun, booked.debit, booked.credit)
                else format('%s sun were withdrawn, booked are %s sun from %s to %s', wanted.sun,
                  booked.sun, booked.debit, booked.credit) end as found
    from wanted full join booked using (id)
    where (wanted.id is not null or booked.number > ${sealed_entry})
      and (wanted.id is null or booked.id is null or kind <> 'move'
       or debit <> 'treasury:wallets' or credit <> 'income:votes' or wanted.sun <> booked.sun)
    union all
    select 'claim ' || c.id, format('it is %s while its transaction is %s', c.state, a.state)
    from reward_claim as c join attempt as a on a.id = c.attempt_id
    where (c.state = 'claimed' and a.state <> 'solid') or (c.state = 'failed' and a.state <> 'dead')
    union all
    select 'vote ' || v.id, format('it is %s while its transaction is %s', v.state, a.state)
    from vote as v join attempt as a on a.id = v.attempt_id
    where (v.state = 'cast' and a.state <> 'solid') or (v.state = 'failed' and a.state <> 'dead')
    order by 1 limit ${FINDINGS_MAX}`
}
