// What of the books is about what was worked out from the ledger and kept: summaries, from which
// statements go on, and invoices. Both are worked out again here.

import type { Tx } from '../database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'

/** Summaries and invoices that are not what the entries come to (C16). */
export const wrongDocuments = async (tx: Tx): Promise<Finding[]> => [
  ...(await wrongSummaries(tx)),
  ...(await wrongInvoices(tx)),
]

/** Every hour and every day that is summarised: what was spent and deposited in it, and the figures
 *  at its end, which are the sums of all entries until then. */
function wrongSummaries(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with side as (
      select debit as account, -1 as sign, number, kind, amount_sun, made_at, hold_id
        from transfer
        where debit like 'customer:%'
      union all
      select credit, 1, number, kind, amount_sun, made_at, null from transfer
        where kind = 'move' and credit like 'customer:%'
    ), sum as (
      select substr(account, 10) as customer_id, bucket,
        date_trunc(bucket, side.made_at, 'UTC') as at,
        coalesce(sum(side.amount_sun) filter (where side.kind = 'capture'
          or (side.kind = 'move' and sign < 0)), 0) as spent_sun,
        coalesce(sum(side.amount_sun) filter (where sign > 0), 0) as deposited_sun,
        coalesce(sum(case side.kind when 'hold' then side.amount_sun when 'move' then 0
          else -hold.amount_sun end), 0) as held_sun
      from side join summary_progress on side.made_at < until and side.number <= entry
        left join transfer as hold on hold.id = side.hold_id
      where exists (select 1 from customer where id = substr(account, 10))
      group by 1, 2, 3
    ), running as (
      select customer_id, bucket, at, spent_sun, deposited_sun,
        sum(deposited_sun - spent_sun) over earlier as balance_sun,
        sum(deposited_sun - spent_sun - held_sun) over earlier as spendable_sun
      from sum window earlier as (partition by customer_id, bucket order by at)
    ), kept as (
      select * from summary where exists (select 1 from customer where id = customer_id)
    )
    select format('summary %s %s %s', customer_id, bucket, at) as subject,
      format('%s sun spent, %s deposited, balance %s, spendable %s; the entries say %s, %s, %s, %s',
        kept.spent_sun, kept.deposited_sun, kept.balance_sun, kept.spendable_sun,
        running.spent_sun, running.deposited_sun, running.balance_sun, running.spendable_sun)
        as found
    from running full join kept using (customer_id, bucket, at)
    where (kept.spent_sun, kept.deposited_sun, kept.balance_sun, kept.spendable_sun)
      is distinct from (running.spent_sun::bigint, running.deposited_sun::bigint,
        running.balance_sun::bigint, running.spendable_sun::bigint)
    order by 1 limit ${FINDINGS_MAX}`
}

/** Invoices that are not what was charged in their month, that are not there, whose documents say
 *  something else, or whose numbers have gaps. */
function wrongInvoices(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with charged as (
      select substr(debit, 10) as customer_id, sum(amount_sun) as sun,
        date_trunc('month', made_at at time zone 'UTC')::date as month
      from transfer where kind = 'capture' and debit like 'customer:%' group by 1, 3
    ), wanted as (
      select charged.* from charged, invoice_progress as progress
      where sun > 0 and charged.month >= (select min(month) from invoice)
        and (charged.month, charged.customer_id) <= (progress.month, progress.customer_id)
        and exists (select 1 from customer where id = charged.customer_id)
    ), printed as (
      select number, customer_id, total_sun, document::jsonb as document from invoice
    )
    select 'invoice ' || coalesce(number::text, format('of %s for %s', customer_id, month))
        as subject,
      format('%s sun, and %s were charged', coalesce(total_sun, 0), coalesce(sun, 0)) as found
    from wanted full join invoice using (customer_id, month)
    where total_sun is distinct from sun::bigint
    union all
    select 'invoice ' || number, 'its document says something else' from printed
    where (document ->> 'number')::bigint <> number
      or document #>> '{customer,id}' <> customer_id
      or (document ->> 'total')::numeric * 1000000 <> total_sun
      or total_sun <> (
        select coalesce(sum((line ->> 'total')::numeric), 0) * 1000000
        from jsonb_array_elements(document -> 'lines') as line)
    union all
    select 'invoices', format('%s of them, and the last has the number %s', count(*), max(number))
    from invoice having count(*) <> coalesce(max(number), 0)
    order by 1 limit ${FINDINGS_MAX}`
}
