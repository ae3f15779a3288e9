// The rules of the books about what customers' money was set aside for, and what it was taken for
// without that: holds are those of what was bought, and end as it does; nothing else moves between
// accounts than what subscriptions used and the fees of refunds, or by hand.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import type { Scope } from './scope.ts'

/** Holds that are not those of an order, a subscription or a check, or did not end as that did
 *  (C4). `due`: the end that a hold must have come to. A new kind of purchase adds its holds here.
 *  A hold ends after it was made: the later ones are joined among themselves, earlier ones by their
 *  index, however many there are: `offset 0` keeps PostgreSQL, which does not know that they are
 *  few, from reading all. */
export async function wrongHolds(tx: Tx, scope: Scope): Promise<Finding[]> {
  const { hold_ids, touched, unfinished } = await stillLookedAt(tx, scope)
  return tx<Finding>`
    with supplied as materialized (
      select * from subscription where id >= ${scope.first_id} union all
      select * from subscription where id < ${scope.first_id}
        and id = any(${[...touched, ...unfinished]})
    ), bought as (
      select * from orders where id >= ${scope.first_id} union all
      select * from orders where id < ${scope.first_id} and id = any(${touched})
    ), checked as (
      select * from aml_check where id >= ${scope.first_id} union all
      select * from aml_check where id < ${scope.first_id} and id = any(${touched})
    ), supply as materialized (
      select 'subscription:' || id as id, 'customer:' || customer_id as debit,
        start_sun as amount_sun, start_sun > 0 and state <> 'error' as needed,
        case when state = 'error' then 'release' when state in ('new', 'pending') then 'open'
          -- Stopped before it was active: it stays held until all of it is taken back.
          when state = 'stopped' and started_at is null
            then case when total_sun = 0 then 'release' else 'open' end
          else 'capture' end as due, null::timestamptz as made_at
      from (
        select *, total_sun - coalesce((select sum(charged_sun) from subscription_use
          where subscription_id = s.id), 0) as start_sun from supplied as s) as started
      union all
      select 'subscription:' || s.id || '/next/' || number, 'customer:' || customer_id,
        plan.price_sun, true,
        case when number <= holds_ended or withdrawn then 'release' else 'open' end, null
      from supplied as s join plan on plan.id = plan_id, generate_series(1, holds_made) as number
    ), wanted as (
      select 'order:' || id as id, 'customer:' || customer_id as debit, amount_sun,
        amount_sun > 0 as needed, case state when 'success' then 'capture'
          when 'failed' then 'release' else 'open' end as due, created_at as made_at from bought
      union all select * from supply
      union all select 'aml:' || id, 'customer:' || customer_id, price_sun, price_sun > 0,
        case state when 'completed' then 'capture' when 'failed' then 'release' else 'open' end,
        null from checked
    ), lately as not materialized (
      select * from transfer where number > ${scope.before_entry}
    ), held as (
      select hold.*, coalesce(r.kind, 'open') as end_kind,
        coalesce(r.amount_sun, hold.amount_sun) as end_sun
      from lately as hold left join lately as r on r.hold_id = hold.id where hold.kind = 'hold'
      union all
      select hold.*, coalesce(r.kind, 'open'), coalesce(r.amount_sun, hold.amount_sun)
      from (select id from supply union select * from unnest(${hold_ids}::text[])) as asked
        cross join lateral (select * from transfer as t where t.id = asked.id
          and t.kind = 'hold' and t.number <= ${scope.before_entry} offset 0) as hold
        left join lateral (select kind, amount_sun from transfer as t
          where t.hold_id = hold.id offset 0) as r on true
      where ${scope.sealed_entry}::bigint > 0
    )
    select coalesce(held.id, wanted.id) as subject, case
      when wanted.id is null
        then format('%s of %s sun, and nothing that it is for', end_kind, held.amount_sun)
      when held.id is null then format('there is no hold of %s sun', wanted.amount_sun)
      when abs(extract(epoch from wanted.made_at - held.made_at)) > 60
        then format('it says that it was made at %s, and was paid for at %s', wanted.made_at,
          held.made_at)
      else format('%s of %s sun from %s to %s, expected %s of %s sun from %s', end_kind, end_sun,
        held.debit, held.credit, due, wanted.amount_sun, wanted.debit) end as found
    from wanted full join held using (id)
    where (held.id is null and wanted.needed)
      or (wanted.id is null and held.number > ${scope.sealed_entry})
      or (held.id is not null and wanted.id is not null and (
        end_kind <> wanted.due or held.debit <> wanted.debit or held.credit <> 'revenue'
        or (end_kind <> 'release' and end_sun <> wanted.amount_sun)
        or abs(extract(epoch from wanted.made_at - held.made_at)) > 60))
    order by 1 limit ${FINDINGS_MAX}`
}

/** The rows that a check that goes on looks at whatever their age, in its own snapshot: those that
 *  an entry after the seal is about, and subscriptions that run or hold money, in the words of
 *  their indexes. */
async function stillLookedAt(
  tx: Tx,
  { sealed_entry }: Scope,
): Promise<{ hold_ids: string[]; touched: string[]; unfinished: string[] }> {
  if (sealed_entry <= 0n) return { hold_ids: [], touched: [], unfinished: [] }
  const holds = await tx<{ id: string }>`
    select distinct coalesce(hold_id, id) as id from transfer
    where number > ${sealed_entry} and kind <> 'move'`
  const subscriptions = await tx<{ id: string }>`
    select id from subscription where state in ('new', 'pending', 'active')
    union select id from subscription
      where not withdrawn and (state in ('stopped', 'expired', 'error') or resting is not null)`
  const hold_ids = holds.map(({ id }) => id)
  const touched = [...new Set(hold_ids.map(boughtBy))]
  return { hold_ids, touched, unfinished: subscriptions.map(({ id }) => id) }
}

/** `order:x` is for x, and `subscription:x/next/1` too. */
const boughtBy = (hold_id: string) => hold_id.split(':')[1]?.split('/')[0] ?? ''

/** Moves between our accounts that are neither what a subscription used nor the fee of a refund,
 *  and those that are missing (C4). What a use was charged is what its moves come to: a fork may
 *  have taken some of it back. */
export const wrongMoves = (
  tx: Tx,
  { since, before_entry, sealed_entry }: Scope,
): Promise<Finding[]> =>
  tx<Finding>`
    with touched as (
      select split_part(id, ':', 1) as what, split_part(split_part(id, ':', 2), '/', 1) as first,
        split_part(id, '/', 2) as second
      from transfer
      where ${sealed_entry}::bigint > 0 and number > ${sealed_entry} and kind = 'move'
    ), used as (
      select * from subscription_use where used_at >= ${since}
      union all
      select * from subscription_use where used_at < ${since} and (subscription_id, tx_id) in (
        select first, second from touched where what = 'subscription')
    ), refunded as (
      select * from deposit where state = 'refunded' and block_time >= ${since}
      union all
      select * from deposit where state = 'refunded' and block_time < ${since}
        and tx_id in (select first from touched where what = 'refund_fee')
    ), wanted as (
      select 'subscription:' || subscription_id || '/' || tx_id as cause,
        'customer:' || customer_id as account, charged_sun as sun
      from used join subscription on subscription.id = subscription_id where charged_sun > 0
      union all
      select 'refund_fee:' || d.tx_id, 'customer:direct_recharge',
             d.amount_sun - (a.contract #>> '{parameter,value,amount,int64}')::bigint
      from refunded as d join attempt as a on a.id = d.refund_id
    ), moved as (
      select case when id like 'subscription:%' then split_part(id, '/',
        1) || '/' || split_part(id, '/', 2) else id end as cause,
             case when credit = 'revenue' then debit when debit = 'revenue' then credit
                  else debit || ' to ' || credit end as account,
             sum(case when credit = 'revenue' then amount_sun else -amount_sun end) as sun,
             max(number) as last_entry
      from transfer
      where number > ${before_entry} and kind = 'move' and debit <> 'world' and credit <> 'world'
        and id !~ '^(resolution|correction|reward):'
      group by 1, 2 having sum(case when credit = 'revenue' then amount_sun
        else -amount_sun end) <> 0
    )
    select cause as subject, format('%s sun from %s, expected %s sun from %s',
      coalesce(moved.sun, 0),
                                    coalesce(moved.account, 'nobody'), coalesce(wanted.sun, 0),
                                      coalesce(wanted.account, 'nobody')) as found
    from wanted full join moved using (cause)
    where (wanted.cause is not null or moved.last_entry > ${sealed_entry})
      and (wanted.sun is distinct from moved.sun or wanted.account <> moved.account)
    order by 1 limit ${FINDINGS_MAX}`
