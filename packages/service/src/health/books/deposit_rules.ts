// The rules of the books about deposits: each that is solid was booked once, in full, nothing else
// came in or went out, and what came to buy directly was delivered or sent back, not both.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import type { Scope } from './scope.ts'

/** Everything about deposits that does not hold (C6). */
export const wrongDeposits = async (tx: Tx, scope: Scope): Promise<Finding[]> => [
  ...(await wrongBookings(tx, scope)),
  ...(await wrongReturns(tx, scope)),
  ...(await wrongRecharges(tx, scope)),
]

/** Deposits that are not booked as they came, and entries across the border without a deposit. A
 *  deposit can be booked long after its block. */
function wrongBookings(tx: Tx, { since, before_entry, sealed_entry }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with touched as (
      select id, split_part(split_part(id, ':', 2), '/', 1) as tx_id from transfer
      where ${sealed_entry}::bigint > 0 and number > ${sealed_entry}
        and starts_with(id, 'deposit:')
    ), came as (
      select * from deposit where block_time >= ${since}
      union all
      select * from deposit where block_time < ${since} and tx_id in (select tx_id from touched)
    ), wanted as (
      select 'deposit:' || tx_id || case position when 0 then ''
        else '/' || position end as id, 'world' as debit,
             case when customer_id is null then 'customer:direct_recharge'
               when state = 'credited' then 'customer:' || customer_id
                  else 'held_deposits' end as credit, amount_sun, block_time
      from came where solid_at is not null and amount_sun is not null
    ), border as (
      select * from transfer where number > ${before_entry}
        and (debit = 'world' or (credit = 'world' and id !~ '^(refund|resolution|collected):'))
    )
    select coalesce(wanted.id, border.id) as subject,
           case when border.id is null then format('%s sun are not booked', wanted.amount_sun)
                when wanted.id is null then format('%s sun from %s to %s, and no deposit',
                  border.amount_sun, border.debit, border.credit)
                else format('%s sun to %s, booked %s sun to %s', wanted.amount_sun,
                  wanted.credit, border.amount_sun, border.credit) end as found
    from wanted full join border using (id)
    where (border.number > ${sealed_entry} or block_time >= ${since})
      and (wanted.id is null or border.id is null or border.kind <> 'move'
        or border.amount_sun <> wanted.amount_sun
        or border.credit <> wanted.credit or border.debit <> wanted.debit)
    order by 1 limit ${FINDINGS_MAX}`
}

/** Deposits that are booked as sent back and are not, or not in full, and the other way about. */
function wrongReturns(tx: Tx, { since, sealed_entry }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with touched as (
      select split_part(id, ':', 2) as tx_id from transfer
      where ${sealed_entry}::bigint > 0 and number > ${sealed_entry}
        and id ~ '^refund(_fee)?:'
    ), came as (
      select * from deposit where block_time >= ${since}
      union all
      select * from deposit where block_time < ${since} and tx_id in (select tx_id from touched)
    )
    select 'deposit ' || tx_id as subject, format('%s, and %s sun of %s are booked as sent back',
      state, coalesce(sum(amount_sun), 0), deposited) as found
    from (select d.tx_id, d.state, d.amount_sun as deposited, t.amount_sun from came as d
          left join transfer as t on t.id in ('refund:' || d.tx_id, 'refund_fee:' || d.tx_id)
          where d.position = 0 and d.amount_sun is not null) as refund
    group by tx_id, state, deposited
    having coalesce(sum(amount_sun), 0) <> case state when 'refunded' then deposited else 0 end
    union all
    select 'refund ' || t.id, format('%s sun were sent back, and no deposit', t.amount_sun)
    from transfer as t
    where t.number > ${sealed_entry} and starts_with(t.id, 'refund:') and not exists (
      select 1 from deposit as d where d.tx_id = split_part(t.id, ':', 2)
        and d.state = 'refunded')
    order by 1 limit ${FINDINGS_MAX}`
}

/** Direct recharges whose order is another one, or did not end as they did. */
function wrongRecharges(tx: Tx, { since, first_id }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with recent_order as (
      select * from orders where id >= ${first_id} and customer_id = 'direct_recharge'
    ), came as (
      select * from deposit where block_time >= ${since}
      union all
      select * from deposit where block_time < ${since} and tx_id in (
        select split_part(external_id, ':', 2) from recent_order)
    ), recharge as materialized (
      select tx_id, state, order_id, amount_sun from came
      where position = 0 and customer_id is null and amount_sun is not null
    ), bought as (
      select id, external_id, state, amount_sun from recent_order
      union all
      select id, external_id, state, amount_sun from orders
      where id < ${first_id} and id in (select order_id from recharge)
        and customer_id = 'direct_recharge'
    )
    select 'recharge ' || coalesce(d.tx_id, o.external_id) as subject,
      format('the deposit is %s, the order %s', coalesce(d.state, 'not there'),
      coalesce(o.state, 'not there')) as found
    from recharge as d full join (select * from bought where state <> 'failed') as o
      on o.external_id = 'deposit:' || d.tx_id
    where (o.id is not null and (d.tx_id is null
      or d.state not in ('received', 'delivering', 'delivered', 'gone')))
       or (d.state = 'delivered' and o.state is distinct from 'success')
       or (d.state in ('delivering', 'delivered') and (d.order_id <> o.id
         or d.amount_sun <> o.amount_sun))
    order by 1 limit ${FINDINGS_MAX}`
}
