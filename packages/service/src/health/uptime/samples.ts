// What happened in a range of time, as the rows tell it: how long each thing took, and what waited
// longer than it may. A sample belongs to the minute in which it came to its end. Every end is an
// event, so events are where all of this begins.

import type { Query } from '../../platform/database/sql.ts'
import { BOUNDS_MS, FAILED } from './histograms.ts'
import type { Range } from './metrics.ts'
import { type Latency, type Part, RULES } from './states.ts'

/** How many samples of a minute were in a bucket. */
export type Sample = { metric: Latency; at: Date; bucket: number; count: number }
/** A time in which something waited longer than it may; until undefined: it still does. */
export type Lateness = { part: Part; since: Date; until: Date | null }

/** A block that so many have followed is irreversible: by then 19 of 27 producers have built on
 *  it. */
const IRREVERSIBLE_BLOCKS = 19
/** How long that takes where a block is not kept any more. */
const IRREVERSIBLE_SECONDS = 3 * IRREVERSIBLE_BLOCKS

/** From the acceptance of orders. One that failed counts among all three. Where the time of a block
 *  does not fit our clock, as where a development chain was pushed ahead, it is the time at which
 *  we saw it: a span between two clocks says nothing. */
async function orderSamples(sql: Query, { from, until }: Range): Promise<Sample[]> {
  return sql<Sample>`
    select s.metric, date_trunc('minute', e.at) as at,
      case when e.type = 'order.failed' then ${FAILED}::integer
        else width_bucket(greatest(extract(epoch from s.reached_at - o.created_at) * 1000, 0),
          ${BOUNDS_MS}::numeric[]) end as bucket,
      count(*)::integer as count
    from noted_event as e
      join orders as o on o.id = substr(e.subject, length('order:') + 1)
      cross join lateral (
        select max(sent_at) as sent_at, max(block_time) as block_time from (
          select sent_at, block_time from attempt where tx_id = o.tx_id
          union all
          select a.sent_at, a.block_time from delegation as d join attempt as a
            on a.id = d.attempt_id
          where d.order_id = o.id and d.state <> 'failed') as part) as t
      cross join lateral (values
        ('order_sent', t.sent_at, 'order.succeeded'),
        ('order_in_block', case when t.block_time between o.created_at and e.at
          then t.block_time when t.block_time is not null then e.at end, 'order.succeeded'),
        ('order_irreversible', e.at, 'order.solid')) as s (metric, reached_at, type)
    where e.at >= ${from} and e.at < ${until} and not e.test
      and e.type in ('order.succeeded', 'order.failed', 'order.solid')
      and (e.type = s.type or e.type = 'order.failed')
      and (s.reached_at is not null or e.type = 'order.failed')
    group by 1, 2, 3`
}

/** From the moment when no fork could take deposits back. One of a chain that is ahead of our clock
 *  is left out: its blocks have yet to come. */
async function depositSamples(sql: Query, { from, until }: Range): Promise<Sample[]> {
  return sql<Sample>`
    select 'deposit_credited' as metric, date_trunc('minute', e.at) as at,
      width_bucket(extract(epoch from e.at - b.irreversible_at) * 1000, ${BOUNDS_MS}::numeric[])
        as bucket,
      count(*)::integer as count
    from noted_event as e
      cross join lateral (select substr(e.subject, length('deposit:') + 1) as place) as p
      join deposit as d on d.tx_id = split_part(p.place, '/', 1)
        and d.position = coalesce(nullif(split_part(p.place, '/', 2), '')::integer, 0)
      cross join lateral (select coalesce(
        (select time from block where number = d.block_number + ${IRREVERSIBLE_BLOCKS}::bigint),
        d.block_time + ${IRREVERSIBLE_SECONDS}::integer * interval '1 second')
          as irreversible_at) as b
    where e.at >= ${from} and e.at < ${until} and not e.test and e.type = 'deposit.credited'
      and e.at >= b.irreversible_at
    group by 1, 2, 3`
}

/** From the acceptance of screening checks. */
async function checkSamples(sql: Query, { from, until }: Range): Promise<Sample[]> {
  return sql<Sample>`
    select 'check_ended' as metric, date_trunc('minute', e.at) as at,
      case when e.type = 'aml_check.failed' then ${FAILED}::integer
        else width_bucket(greatest(extract(epoch from c.ended_at - c.created_at) * 1000, 0),
          ${BOUNDS_MS}::numeric[]) end as bucket,
      count(*)::integer as count
    from noted_event as e
      join aml_check as c on c.id = substr(e.subject, length('aml_check:') + 1)
    where e.at >= ${from} and e.at < ${until} and not e.test
      and e.type in ('aml_check.completed', 'aml_check.failed')
    group by 1, 2, 3`
}

/** While a receiver is being called, it may be the receiver who takes long. */
const BUSY_SECONDS = 10

/** First calls of webhooks, from their events. Not counted is what the receiver has held up: it was
 *  being called about other events meanwhile, its last call before had failed, or it was made, or
 *  put on again, after the event. */
async function callSamples(sql: Query, { from, until }: Range): Promise<Sample[]> {
  return sql<Sample>`
    select 'event_called' as metric, date_trunc('minute', c.at) as at,
      width_bucket(greatest(extract(epoch from c.at - e.at) * 1000, 0), ${BOUNDS_MS}::numeric[])
        as bucket,
      count(*)::integer as count
    from webhook_call as c join webhook as w on w.id = c.webhook_id
      join event as e on e.customer_id = w.customer_id and e.number = c.number
    where c.at >= ${from} and c.at < ${until} and not e.test and e.at >= w.made_at
      and not exists (
        select from webhook_call as before
        where before.webhook_id = c.webhook_id and before.number = c.number and before.at < c.at)
      and not exists (
        select from webhook_call as other
        where other.webhook_id = c.webhook_id and other.at >= e.at
          and other.at < c.at - ${BUSY_SECONDS}::integer * interval '1 second')
      and coalesce((
        select last.status between 200 and 299 from webhook_call as last
        where last.webhook_id = c.webhook_id and last.at < e.at
          and last.at >= e.at - interval '1 day'
        order by last.at desc limit 1), true)
      and not exists (
        select from event as put_on
        where put_on.customer_id = w.customer_id and put_on.subject = 'webhook:' || w.id
          and put_on.type = 'webhook.enabled' and put_on.at >= e.at and put_on.at <= c.at)
    group by 1, 2, 3`
}

export async function readSamples(sql: Query, range: Range): Promise<Sample[]> {
  const of_all = await Promise.all([
    orderSamples(sql, range),
    depositSamples(sql, range),
    checkSamples(sql, range),
    callSamples(sql, range),
  ])
  return of_all.flat()
}

/** What waited longer than it may, as far as that reaches into the range or beyond it. */
export async function readLateness(sql: Query, { from }: Range): Promise<Lateness[]> {
  const limit_of = (part: Part) => RULES[part].late_ms ?? 0
  const of_all = await Promise.all([
    lateOrders(sql, from, limit_of('delivering')),
    lateDeposits(sql, from, limit_of('deposits')),
    lateChecks(sql, from, limit_of('screening')),
    lateCalls(sql, limit_of('events')),
  ])
  return of_all.flat()
}

const lateOrders = (sql: Query, from: Date, late_ms: number): Promise<Lateness[]> => sql<Lateness>`
  select 'delivering' as part, created_at + ${late_ms}::integer * interval '1 millisecond' as since,
    null::timestamptz as until
  from orders where state in ('new', 'pending')
  union all
  select 'delivering', o.created_at + ${late_ms}::integer * interval '1 millisecond', e.at
  from noted_event as e join orders as o on o.id = substr(e.subject, length('order:') + 1)
  where e.at >= ${from} and e.type in ('order.succeeded', 'order.failed') and not e.test
    and e.at > o.created_at + ${late_ms}::integer * interval '1 millisecond'`

const lateDeposits = (sql: Query, from: Date, late_ms: number): Promise<Lateness[]> =>
  sql<Lateness>`
    with of_customer as (
      select block_number, block_time, null::timestamptz as until from deposit
      where solid_at is null and customer_id is not null and state in ('seen', 'unproven')
      union all
      select d.block_number, d.block_time, e.at
      from noted_event as e
        cross join lateral (select substr(e.subject, length('deposit:') + 1) as place) as p
        join deposit as d on d.tx_id = split_part(p.place, '/', 1)
          and d.position = coalesce(nullif(split_part(p.place, '/', 2), '')::integer, 0)
      where e.at >= ${from} and e.type in ('deposit.credited', 'deposit.held') and not e.test)
    select 'deposits' as part, until, coalesce(
        (select time from block where number = block_number + ${IRREVERSIBLE_BLOCKS}::bigint),
        block_time + ${IRREVERSIBLE_SECONDS}::integer * interval '1 second')
      + ${late_ms}::integer * interval '1 millisecond' as since
    from of_customer, chain
    where block_number + ${IRREVERSIBLE_BLOCKS}::bigint <= head_number`

/** While no process has the index every check would wait, whether or not one was asked for. */
const lateChecks = (sql: Query, from: Date, late_ms: number): Promise<Lateness[]> => sql<Lateness>`
  select 'screening' as part, created_at + ${late_ms}::integer * interval '1 millisecond' as since,
    null::timestamptz as until
  from aml_check where state in ('pending', 'processing')
  union all
  select 'screening', c.created_at + ${late_ms}::integer * interval '1 millisecond', e.at
  from noted_event as e
    join aml_check as c on c.id = substr(e.subject, length('aml_check:') + 1)
  where e.at >= ${from} and e.type in ('aml_check.completed', 'aml_check.failed') and not e.test
    and c.ended_at > c.created_at + ${late_ms}::integer * interval '1 millisecond'
  union all
  select 'screening', raised_at + ${late_ms}::integer * interval '1 millisecond', null
  from alert where alert = 'index_missing'`

/** Events that have no number yet, and webhooks that could be called and are told nothing. */
const lateCalls = (sql: Query, late_ms: number): Promise<Lateness[]> => sql<Lateness>`
  select 'events' as part, at + ${late_ms}::integer * interval '1 millisecond' as since,
    null::timestamptz as until
  from (select min(at) as at from event_note having count(*) > 0) as oldest
  union all
  select 'events', greatest(first.at, coalesce(w.called_at, first.at))
      + ${late_ms}::integer * interval '1 millisecond', null
  from webhook as w cross join lateral (
      select min(at) as at from (
        (select at from event as e where e.customer_id = w.customer_id and e.number > w.position
         order by number limit 1)
        union all
        (select e.at from notice as n
           join event as e on e.customer_id = w.customer_id and e.number = n.number
         where n.webhook_id = w.id and n.state = 'due' and n.calls = 0
         order by n.number limit 1)) as waiting) as first
  where w.state = 'on' and w.failing_since is null and w.paused_until is null
    and first.at >= w.made_at`
