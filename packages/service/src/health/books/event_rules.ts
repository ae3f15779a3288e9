// What of the books is about events: each customer's are numbered without gaps, and what ended was
// told exactly as it ended. What is noted and has no number yet counts as told; what ended before
// the oldest event that is kept was placed is not looked at.

import { DIRECT_RECHARGE, SUBSCRIPTIONS } from '../../people/customers/customers.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import type { Scope } from './scope.ts'

/** Everything about events that does not hold (C14). */
export const wrongEvents = async (tx: Tx, scope: Scope): Promise<Finding[]> => [
  ...(await wrongNumbers(tx, scope)),
  ...(await wrongEnds(tx, scope)),
]

/** Gaps among the numbers that are kept, counters that say something else, and notes that nobody
 *  has numbered. Numbers are given in another order than that of the times: of each customer the
 *  least number of the last days is where they begin. */
function wrongNumbers(tx: Tx, { since }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with began as (
      select customer_id, min(number) as number from event where at >= ${since}
      group by customer_id
    ), kept as (
      select e.customer_id, count(*) as count, min(e.number) as least, max(e.number) as most
      from event as e join began as b on b.customer_id = e.customer_id and e.number >= b.number
      group by e.customer_id
    )
    select customer_id as subject,
      format('%s events are kept, numbered %s to %s, and the counter is at %s', k.count, k.least,
        k.most, c.last_number) as found
    from kept as k left join event_counter as c using (customer_id)
    where k.count <> k.most - k.least + 1 or c.last_number is distinct from k.most
    union all
    select n.subject, format('%s was noted at %s and has no number', n.type, n.at)
    from event_note as n, chain where n.at < chain.head_time - interval '1 minute'
    order by 1 limit ${FINDINGS_MAX}`
}

/** Orders, deposits, checks and subscriptions that ended, and were not told so exactly once. Their
 *  events are not older than they are. */
function wrongEnds(tx: Tx, { since, first_id }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with oldest as (
      select min(at) as at from event
    ), told as (
      select subject, type, count(*) as times from (
        select subject, type from event
          -- What the chain's clock says may be a little later than ours.
          where not test and at >= ${since}::timestamptz - interval '1 hour'
        union all select subject, type from event_note where not test) as both_kinds
      group by subject, type
    ), due as (
      select 'order:' || id as subject, 'order.created' as type,
        -- What was told before it was switched off is no wrong.
        case when created_at >= (select order_created_from from event_publisher) then true
        end as wanted, created_at as at
      from orders where id >= ${first_id} and customer_id not in (${DIRECT_RECHARGE},
        ${SUBSCRIPTIONS})
      union all
      select 'order:' || id, t.type, t.wanted, created_at
      from orders, lateral (values ('order.succeeded', state = 'success'),
        ('order.failed', state = 'failed'), ('order.ended', ended_at is not null),
        ('order.delayed', delayed_at is not null), ('order.ending', ending_at is not null),
        -- What was over before anybody was told says when it was placed.
        ('order.solid', coalesce(solid_at > created_at, false)))
        as t (type, wanted)
      where id >= ${first_id} and customer_id not in (${DIRECT_RECHARGE}, ${SUBSCRIPTIONS})
      union all
      select 'deposit:' || tx_id || case position when 0 then '' else '/' || position end,
        'deposit.' || state, true, seen_at
      from deposit where block_time >= ${since} and customer_id is not null
        and state in ('credited', 'held', 'resolved')
      union all
      select 'aml_check:' || id, 'aml_check.' || state, true, created_at
      from aml_check where id >= ${first_id} and state in ('completed', 'failed')
      union all
      select 'subscription:' || id,
        'subscription.' || case state when 'error' then 'failed' else state end, true, created_at
      from subscription where id >= ${first_id} and state in ('error', 'stopped', 'expired')
    )
    select d.subject, format('%s was told %s times', d.type, coalesce(t.times, 0)) as found
    from due as d cross join oldest left join told as t using (subject, type)
    where d.at > oldest.at and coalesce(t.times, 0) <>
      coalesce(d.wanted::integer, least(coalesce(t.times, 0), 1))
    order by 1, 2 limit ${FINDINGS_MAX}`
}
