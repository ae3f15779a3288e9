// What of the books is about what was worked out from the ledger and kept: summaries, from which
// statements go on, and invoices with their credit notes. Both are worked out again here, and not
// as those who write them do.

import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import type { Scope } from './scope.ts'

/** Summaries and invoices that are not what the entries come to (C16). What documents come to in a
 *  month needs all entries of that month: a whole check works it out. */
export const wrongDocuments = async (tx: Tx, scope: Scope): Promise<Finding[]> => [
  ...(await wrongSummaries(tx, scope)),
  ...(scope.seal ? [] : await wrongTotals(tx)),
  ...(scope.seal ? [] : await documentsUnlikeSummaries(tx)),
  ...(await wrongPapers(tx, scope)),
  ...(await wrongCreditNotes(tx)),
]

/** Every hour and every day that is summarised: what was spent and deposited in it, and the figures
 *  at its end, which are the sums of all entries until then, or go on from those at the end of the
 *  last one that is not looked at. */
function wrongSummaries(tx: Tx, { since, before_entry }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with side as (
      select debit as account, -1 as sign, number, kind, amount_sun, made_at, hold_id
        from transfer
        where number > ${before_entry} and made_at >= ${since} and debit like 'customer:%'
      union all
      select credit, 1, number, kind, amount_sun, made_at, null from transfer
        where number > ${before_entry} and made_at >= ${since} and kind = 'move'
          and credit like 'customer:%'
    ), sum as (
      select substr(account, 10) as customer_id, bucket,
        date_trunc(bucket, side.made_at, 'UTC') as at,
        coalesce(sum(side.amount_sun) filter (where side.kind = 'capture'
          or (side.kind = 'move' and sign < 0)), 0) as spent_sun,
        coalesce(sum(side.amount_sun) filter (where sign > 0), 0) as deposited_sun,
        coalesce(sum(case side.kind when 'hold' then side.amount_sun when 'move' then 0
          else -coalesce(hold.amount_sun, older.amount_sun) end), 0) as held_sun
      from side join summary_progress on side.made_at < until and side.number <= entry
        left join transfer as hold on hold.id = side.hold_id and hold.number > ${before_entry}
        left join lateral (select amount_sun from transfer
          where id = side.hold_id and hold.id is null offset 0) as older on true
      where exists (select 1 from customer where id = substr(account, 10))
      group by 1, 2, 3
    ), base as (
      select one.customer_id, one.bucket, before.balance_sun, before.spendable_sun
      from (select distinct customer_id, bucket from sum) as one cross join lateral (
        select balance_sun, spendable_sun from summary
        where (customer_id, bucket) = (one.customer_id, one.bucket) and at < ${since}
        order by at desc limit 1) as before
    ), running as (
      select customer_id, bucket, at, spent_sun, deposited_sun,
        coalesce(base.balance_sun, 0)
          + sum(deposited_sun - spent_sun) over earlier as balance_sun,
        coalesce(base.spendable_sun, 0)
          + sum(deposited_sun - spent_sun - held_sun) over earlier as spendable_sun
      from sum left join base using (customer_id, bucket)
      window earlier as (partition by customer_id, bucket order by at)
    ), kept as (
      select * from summary where bucket in ('hour', 'day') and at >= ${since}
        and exists (select 1 from customer where id = customer_id)
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

/** Months whose documents do not come to what the account `revenue` got from their customer, less
 *  what it gave back: who issues a document goes by the customer's purchases instead. */
function wrongTotals(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with entry as (
      select debit as account, amount_sun as sun, made_at from transfer
      where credit = 'revenue' and kind in ('move', 'capture')
      union all
      select credit, -amount_sun, made_at from transfer
      where debit = 'revenue' and kind in ('move', 'capture')
    ), charged as (
      select substr(account, 10) as customer_id, sum(sun) as sun,
        date_trunc('month', made_at at time zone 'UTC')::date as month
      from entry where account like 'customer:%' group by 1, 3
    ), wanted as (
      select charged.* from charged, invoice_progress as progress
      where charged.month >= (select min(month) from invoice)
        and (charged.month, charged.customer_id) <= (progress.month, progress.customer_id)
        and exists (select 1 from customer where id = charged.customer_id)
    ), issued as (
      select customer_id, month, sum(total_sun) as sun,
        max(number) filter (where kind = 'invoice') as number
      from invoice where correction_id is null group by 1, 2
    )
    select 'invoice ' || coalesce(number::text, format('of %s for %s', customer_id, month))
        as subject,
      format('%s sun, and %s were charged', coalesce(issued.sun, 0), coalesce(wanted.sun, 0))
        as found
    from wanted full join issued using (customer_id, month)
    where coalesce(issued.sun, 0) <> coalesce(wanted.sun, 0)
    order by 1 limit ${FINDINGS_MAX}`
}

/** Months whose documents do not come to what the summaries say was spent, less what came back and
 *  what was taken by hand. */
function documentsUnlikeSummaries(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with side as (
      select customer_id, date_trunc('month', at at time zone 'UTC')::date as month,
        spent_sun as sun
      from summary where bucket = 'day'
      union all
      select substr(credit, 10), date_trunc('month', made_at at time zone 'UTC')::date, -amount_sun
      from transfer where debit = 'revenue' and kind = 'move' and credit like 'customer:%'
      union all
      select substr(debit, 10), date_trunc('month', made_at at time zone 'UTC')::date, -amount_sun
      from transfer where kind = 'move' and debit like 'customer:%' and credit <> 'revenue'
      union all
      select customer_id, month, -total_sun from invoice where correction_id is null
    )
    select format('documents of %s for %s', side.customer_id, side.month) as subject,
      format('%s sun more was spent by the summaries', sum(sun)) as found
    from side, invoice_progress as progress
    where side.month >= (select min(month) from invoice)
      and (side.month, side.customer_id) <= (progress.month, progress.customer_id)
      and exists (select 1 from customer where id = side.customer_id)
    group by side.customer_id, side.month having sum(sun) <> 0
    order by 1 limit ${FINDINGS_MAX}`
}

/** Documents that say something else than their rows, and numbers with gaps. */
function wrongPapers(tx: Tx, { since }: Scope): Promise<Finding[]> {
  return tx<Finding>`
    with printed as (
      select number, kind, corrects, customer_id, total_sun, document::jsonb as document
      from invoice where issued_at >= ${since}
    )
    select 'invoice ' || number as subject, 'its document says something else' as found
    from printed
    where (document ->> 'number')::bigint <> number
      or coalesce(document ->> 'kind', 'invoice') <> kind
      or (document ->> 'corrects')::bigint is distinct from corrects
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

/** Documents that correct one of another customer, or more than it came to; corrections of an
 *  invoice without their credit note, and credit notes without their correction. */
function wrongCreditNotes(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    select 'invoice ' || one.number as subject,
      format('it corrects %s, which is no invoice of its customer', one.corrects) as found
    from invoice as one join invoice as other on other.number = one.corrects
    where other.kind <> 'invoice' or other.customer_id <> one.customer_id
      or (one.kind = 'invoice' and other.month <> one.month)
    union all
    select 'invoice ' || other.number, format('%s sun, and %s were credited', other.total_sun,
      -sum(one.total_sun))
    from invoice as one join invoice as other on other.number = one.corrects
    where one.kind = 'credit_note'
    group by other.number having -sum(one.total_sun) > other.total_sun
    union all
    select 'correction ' || coalesce(c.id, note.correction_id),
      format('%s sun for the invoice %s, and a credit note over %s', coalesce(c.amount_sun, 0),
        c.invoice_number, coalesce(-note.total_sun, 0))
    from (select id, customer_id, amount_sun, invoice_number from correction
          where invoice_number is not null) as c
      full join (select correction_id, customer_id, total_sun, corrects from invoice
                 where correction_id is not null) as note on note.correction_id = c.id
    where (c.customer_id, c.amount_sun, c.invoice_number)
      is distinct from (note.customer_id, -note.total_sun, note.corrects)
    order by 1 limit ${FINDINGS_MAX}`
}
