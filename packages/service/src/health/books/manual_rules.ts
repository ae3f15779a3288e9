// What of the books is about money that operators have moved by hand: deposits that they have
// resolved, and corrections of customers' accounts. Each has exactly its entries, there are no
// others, and those that wanted a second operator had one.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import type { Scope } from './scope.ts'

/** Everything about money moved by hand that does not hold (C12). */
export const wrongByHand = async (tx: Tx, scope: Scope): Promise<Finding[]> => [
  ...(await wrongEntries(tx, scope)),
  ...(await wrongResolutions(tx)),
  ...(await wrongApprovals(tx)),
]

/** Entries that are not those of a resolution or a correction, and those that are not there. Both
 *  are made together. */
function wrongEntries(tx: Tx, { since, before_entry, sealed_entry }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with touched as (
      select id from transfer where ${sealed_entry}::bigint > 0 and number > ${sealed_entry}
        and id ~ '^(resolution|correction):'
    ), resolved as (
      select 'resolution:' || r.tx_id || case position when 0 then ''
        else '/' || position end as id,
             case when d.customer_id is null then 'customer:direct_recharge'
               else 'held_deposits' end as debit,
             way, r.customer_id, sent_amount, amount_sun
      from deposit_resolution as r join deposit as d using (tx_id, position)
        where amount_sun is not null and (r.made_at >= ${since} or 'resolution:' || r.tx_id
          || case position when 0 then '' else '/' || position end in (select id from touched))
    ), wanted as (
      select id, debit, case way when 'sent_back' then 'world'
        when 'credited' then 'customer:' || customer_id
                             else 'written_off' end as credit,
             coalesce(sent_amount, amount_sun)::bigint as sun
      from resolved
      union all
      select id || '/rest', debit, 'written_off', (amount_sun - sent_amount)::bigint from resolved
      where sent_amount < amount_sun
      union all
      select 'correction:' || id, case when amount_sun > 0 then 'corrections'
        else 'customer:' || customer_id end,
             case when amount_sun > 0 then 'customer:' || customer_id else 'corrections' end,
               abs(amount_sun)
      from correction
      where made_at >= ${since} or 'correction:' || id in (select id from touched)
    ), moved as (
      select id, kind, debit, credit, amount_sun as sun, number from transfer
      where number > ${before_entry} and (id like 'resolution:%' or id like 'correction:%'
        or debit in ('held_deposits', 'written_off', 'corrections')
         or credit in ('written_off', 'corrections'))
    )
    select coalesce(wanted.id, moved.id) as subject,
           case when moved.id is null then format('%s sun from %s to %s are not booked',
             wanted.sun, wanted.debit, wanted.credit)
                when wanted.id is null
                  then format('%s sun from %s to %s, and nobody has decided that',
                                                   moved.sun, moved.debit, moved.credit)
                else format('%s sun from %s to %s, decided were %s sun from %s to %s', moved.sun,
                  moved.debit,
                            moved.credit, wanted.sun, wanted.debit, wanted.credit) end as found
    from wanted full join moved using (id)
    where (wanted.id is not null or moved.number > ${sealed_entry})
      and (wanted.id is null or moved.id is null or kind <> 'move'
       or (wanted.debit, wanted.credit, wanted.sun) is distinct from (moved.debit, moved.credit,
         moved.sun))
    order by 1 limit ${FINDINGS_MAX}`
}

/** Deposits that are said to be resolved and are not, and resolutions that may not be. */
function wrongResolutions(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    select 'deposit ' || tx_id as subject, format('it is %s, and %s',
      coalesce(d.state, 'not there'),
             case when r.tx_id is null then 'nobody has decided how'
               else r.way || ' by hand' end) as found
    from (select tx_id, position, state from deposit where state = 'resolved') as d
    full join (select tx_id, position, way from deposit_resolution) as r using (tx_id, position)
    where d.tx_id is null or r.tx_id is null
    union all
    select 'deposit ' || r.tx_id, format('%s were sent back, and %s came', sent_amount,
      coalesce(amount_sun, token_amount))
    from deposit_resolution as r join deposit as d using (tx_id, position)
    where sent_amount > coalesce(amount_sun, token_amount) or sent_block < block_number
    union all
    select 'deposit ' || r.tx_id, format('%s is a transaction of the service for something else',
      sent_by)
    from deposit_resolution as r join attempt as a on a.tx_id = r.sent_by
    union all
    select 'transaction ' || sent_by, format('it has resolved %s deposits', count(*))
    from deposit_resolution where sent_by is not null group by sent_by having count(*) > 1
    order by 1 limit ${FINDINGS_MAX}`
}

/** Corrections that nobody else has approved, though the rule of their time wanted it, and
 *  approvals of corrections that were not made. A correction is judged by the rule of its time and
 *  by what was corrected in the day before it; by older rules alone, and not in the minute after
 *  they changed. */
function wrongApprovals(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    select 'correction ' || c.id as subject,
      format('%s sun, and nobody else has approved it', c.amount_sun) as found
    from correction as c
      cross join lateral (
        select second, from_sun, summed from approval_rule where since <= c.made_at
        order by since desc limit 1) as rule
      left join correction_proposal as p on p.id = c.id and p.approved_at = c.made_at
        and (p.customer_id, p.amount_sun) = (c.customer_id, c.amount_sun)
      cross join lateral (
        select sum(abs(o.amount_sun)) as sun from correction as o
        where rule.summed and (o.made_at, o.id) < (c.made_at, c.id)
          and o.made_at > c.made_at - interval '24 hours' and not exists (
            select 1 from correction_proposal as q
            where q.id = o.id and q.approved_at is not null)) as before
    where rule.second <> 'none' and abs(c.amount_sun) + coalesce(before.sun, 0) >= rule.from_sun
      and (p.id is null or (rule.second = 'role' and p.approved_role = p.proposed_role))
      and (rule.summed or not exists (
        select 1 from approval_rule as changed
        where changed.since between c.made_at - interval '1 minute' and c.made_at))
    union all
    select 'proposal ' || p.id, format('%s has approved it, and it was not made', p.approved_by)
    from correction_proposal as p
    where p.approved_at is not null and not exists (
      select 1 from correction as c
      where (c.id, c.customer_id, c.amount_sun, c.made_at)
        = (p.id, p.customer_id, p.amount_sun, p.approved_at))
    order by 1 limit ${FINDINGS_MAX}`
}
