// What customers are told of orders when nothing else moves them: that one is late, that no fork
// can take it back any more, and that its hour is nearly over. Each is told once.

import { type Clock, later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { ORDER_COLUMNS } from '../orders/forms.ts'
import {
  type DelayedOrder,
  delayOrders,
  type Order,
  remindOrders,
  solidifyOrders,
} from '../orders/orders.ts'

export type Needs = { sql: Sql; clock: Clock }

/** How long an order is open before its customer is told that it is late. */
const LATE_MS = 300_000
const AT_ONCE = 200

/** Orders that are open for long, and what each of them waits for. */
export function remindStep({ sql, clock }: Needs): Step {
  return {
    name: 'remind',
    rest_ms: 5_000,
    due: (sql) => sql`
      select from orders where state in ('new', 'pending') and delayed_at is null
        and created_at <= ${later(clock, -LATE_MS)}`,
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        const late = await tx<DelayedOrder>`
          select o.${ORDER_COLUMNS}, case
            when v.state in ('new', 'activating') then 'activation'
            when o.to_delegate then 'room'
            when exists (
              select from delegation as d join attempt as a on a.id = d.attempt_id
              where d.order_id = o.id and d.state = 'delegating' and a.state = 'new')
              then 'signature'
            else 'block' end as waits_for
          from orders as o left join activation as v on v.id = o.activation_id
          where o.state in ('new', 'pending') and o.delayed_at is null
            and o.created_at <= ${later(clock, -LATE_MS)}
          order by o.id limit ${AT_ONCE} for no key update of o skip locked`
        await delayOrders(tx, late, clock.now())
        return late.length > 0
      }),
  }
}

/** Orders of which every part is irreversible, the activation of their address too. */
export function solidifyStep({ sql, clock }: Needs): Step {
  return {
    name: 'solidify',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from orders as o left join activation as v on v.id = o.activation_id
        left join attempt as t on t.id = v.attempt_id
      where o.state = 'success' and o.solid_at is null and not o.to_delegate
        and (t.id is null or t.state = 'solid')
        and not exists (
          select from delegation as d join attempt as a on a.id = d.attempt_id
          where d.order_id = o.id and d.state <> 'failed' and a.state <> 'solid')`,
    after: ['follow', 'settle'],
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        const solid = await tx<Order>`
          select o.${ORDER_COLUMNS}
          from orders as o left join activation as v on v.id = o.activation_id
            left join attempt as t on t.id = v.attempt_id
          where o.state = 'success' and o.solid_at is null and not o.to_delegate
            and (t.id is null or t.state = 'solid')
            and not exists (
              select from delegation as d join attempt as a on a.id = d.attempt_id
              where d.order_id = o.id and d.state <> 'failed' and a.state <> 'solid')
          order by o.id limit ${AT_ONCE} for no key update of o skip locked`
        await solidifyOrders(tx, solid, clock.now())
        return solid.length > 0
      }),
  }
}

/** Orders whose hour is over in as many minutes as their customer has set, by the time of the
 *  newest block. One is delivered after it was placed, so only what was placed long enough ago is
 *  looked at; our clock and the chain's may differ by a minute. */
export function endingStep({ sql, clock }: Needs): Step {
  return {
    name: 'remind_endings',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from chain cross join customer_setting as s
        join orders as o on o.customer_id = s.customer_id
        join delegation as d on d.order_id = o.id and d.state = 'active'
      where s.ending_minutes is not null
        and o.state = 'success' and o.ended_at is null and o.ending_at is null
        and o.energy + o.bandwidth > 0
        and o.created_at <= head_time - interval '59 minutes'
          + s.ending_minutes * interval '1 minute'
        and head_time >= d.expires_at - s.ending_minutes * interval '1 minute'
        and head_time < d.expires_at`,
    after: ['follow'],
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        const ending = await tx<Order>`
          select o.${ORDER_COLUMNS} from chain cross join customer_setting as s
            join orders as o on o.customer_id = s.customer_id
            cross join lateral (
              select min(expires_at) as ends_at from delegation as d
              where d.order_id = o.id and d.state = 'active') as part
          where s.ending_minutes is not null
            and o.state = 'success' and o.ended_at is null and o.ending_at is null
            and o.energy + o.bandwidth > 0
            and o.created_at <= head_time - interval '59 minutes'
              + s.ending_minutes * interval '1 minute'
            and head_time >= part.ends_at - s.ending_minutes * interval '1 minute'
            and head_time < part.ends_at
          order by o.id limit ${AT_ONCE} for no key update of o skip locked`
        await remindOrders(tx, ending, clock.now())
        return ending.length > 0
      }),
  }
}
