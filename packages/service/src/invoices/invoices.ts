// Invoices: what a customer was charged in a month, issued once the month is over and summarised.
// An invoice is a document that never changes, with its sum; numbers run without gaps, because who
// issues one holds the row that says which month is due.
//
//   issue_invoices     captures of a month -> invoice

import { createHash } from 'node:crypto'
import type { Query, Sql, Tx } from '../database/sql.ts'
import { noteEvents } from '../events/notes.ts'
import { customerAccount } from '../ledger/ledger.ts'
import { type Clock, dayOf, wireTime } from '../lib/clock.ts'
import { printJson, trxText } from '../lib/json.ts'
import { settingsOf } from '../settings/settings.ts'
import type { Step } from '../steps/step.ts'
import { type Invoice, type InvoiceDocument, printInvoice } from './forms.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  /** A line of the house's own on every invoice. */
  issuer: string | undefined
}

type Sum = {
  service: string
  unit: string | null
  unit_sun: bigint | null
  count: number
  total_sun: bigint
}

const LINES_MAX = 500

/** captures -> invoice, one customer at a time. */
export function issueInvoicesStep(needs: Needs): Step {
  return {
    name: 'issue_invoices',
    rest_ms: 600_000,
    duty: 'upkeep',
    after: ['summarize'],
    before: ['publish'],
    run: () => needs.sql.begin((tx) => issueNext(tx, needs)),
  }
}

/** True when there may be more. Direct recharges have an account, and nobody to invoice. */
async function issueNext(tx: Tx, needs: Needs): Promise<boolean> {
  const now = needs.clock.now()
  const this_month = `${dayOf(now).slice(0, 7)}-01`
  await tx`
    insert into invoice_progress (month) values (${this_month}::date) on conflict (one) do nothing`
  const [due] = await tx<{ month: string; next_month: string; customer_id: string }>`
    select month::text as month, (month + interval '1 month')::date::text as next_month, customer_id
    from invoice_progress
    where (month + interval '1 month') at time zone 'UTC' <= (
      select until from summary_progress where bucket = 'day')
    for update skip locked`
  if (!due) return false
  const { month, next_month } = due
  const [next] = await tx<{ customer_id: string }>`
    select distinct customer_id from summary join customer on customer.id = customer_id
    where bucket = 'day' and at >= ${month}::date::timestamp at time zone 'UTC'
      and at < ${next_month}::date::timestamp at time zone 'UTC'
      and spent_sun > 0 and customer_id > ${due.customer_id}
    order by customer_id limit 1`
  if (next) await issue(tx, { ...needs, ...next, month, next_month, now })
  const [at, after] = next ? [month, next.customer_id] : [next_month, '']
  await tx`update invoice_progress set month = ${at}::date, customer_id = ${after}`
  return true
}

type Issue = Needs & { customer_id: string; month: string; next_month: string; now: Date }

/** Nothing when nothing was charged: what an operator has corrected is no sale. */
async function issue(tx: Tx, { customer_id, month, next_month, issuer, now }: Issue) {
  const sums = await sumsOf(tx, { customer_id, month, next_month })
  const total_sun = sums.reduce((all, { total_sun }) => all + total_sun, 0n)
  if (total_sun === 0n) return
  const [[last], [customer], { billing }] = await Promise.all([
    tx<{ number: bigint | null }>`select max(number) as number from invoice`,
    tx<{ name: string }>`select name from customer where id = ${customer_id}`,
    settingsOf(tx, customer_id),
  ])
  const number = (last?.number ?? 0n) + 1n
  const document: InvoiceDocument = {
    number: Number(number),
    month: month.slice(0, 7),
    issued_at: wireTime(now),
    issuer: issuer ?? null,
    customer: { id: customer_id, name: customer!.name, billing },
    lines: sums.map(({ unit_sun, total_sun, ...sum }) => ({
      ...sum,
      unit_price: unit_sun === null ? null : trxText(unit_sun),
      total: trxText(total_sun),
    })),
    total: trxText(total_sun),
  }
  const text = printJson(document)
  const sha256 = createHash('sha256').update(text).digest('hex')
  await tx`
    insert into invoice (number, customer_id, month, issued_at, total_sun, document, sha256)
    values (${number}, ${customer_id}, ${month}::date, ${now}, ${total_sun}, ${text}, ${sha256})`
  const invoice = { number, customer_id, month: month.slice(0, 7), issued_at: now }
  const data = printInvoice({ ...invoice, total_sun, document: text, sha256 })
  const subject = `invoice:${number}`
  noteEvents(tx, [{ type: 'invoice.issued', subject, customer_id, at: now, data }])
}

/** What was charged, by service and by the price of one: at most LINES_MAX kinds apart, by how much
 *  they come to. */
async function sumsOf(
  tx: Tx,
  { customer_id, month, next_month }: Pick<Issue, 'customer_id' | 'month' | 'next_month'>,
): Promise<Sum[]> {
  return tx<Sum>`
    with charge as (
      select t.amount_sun, coalesce(o.service, split_part(t.hold_id, ':', 1)) as service,
        concat_ws(' ', case when o.energy > 0 then 'energy ' || o.energy end,
          case when o.bandwidth > 0 then 'bandwidth ' || o.bandwidth end,
          case when o.fee_sun > 0 then 'activation' end) as unit
      from transfer as t left join orders as o on t.hold_id like 'order:%'
        and o.id = substr(t.hold_id, 7)
      where t.debit = ${customerAccount(customer_id)} and t.kind = 'capture'
        and t.made_at >= ${month}::date::timestamp at time zone 'UTC'
        and t.made_at < ${next_month}::date::timestamp at time zone 'UTC'
    ), kind as (
      select service, coalesce(nullif(unit, ''), service) as unit, amount_sun as unit_sun,
        count(*) as count, sum(amount_sun) as total_sun,
        row_number() over (order by sum(amount_sun) desc, service, unit, amount_sun) as rank
      from charge group by service, unit, amount_sun
    )
    select service, case when rank <= ${LINES_MAX} then unit end as unit,
      case when rank <= ${LINES_MAX} then unit_sun end as unit_sun,
      sum(count)::integer as count, sum(total_sun)::bigint as total_sun
    from kind group by 1, 2, 3 order by 1, 2 nulls last, 3`
}

/** Invoices, newest first; those of everybody, or of every month, where nothing else is said.
 *  `month`: `2026-10`. */
export async function listInvoices(
  sql: Query,
  wanted: {
    customer_id?: string | undefined
    month?: string | undefined
    before: bigint | undefined
    limit: number
  },
): Promise<Invoice[]> {
  const { customer_id = null, month = null, before = null, limit } = wanted
  return sql<Invoice>`
    select number, customer_id, to_char(month, 'YYYY-MM') as month, issued_at, total_sun, document,
      sha256
    from invoice
    where (${customer_id}::text is null or customer_id = ${customer_id})
      and (${month}::text is null or to_char(month, 'YYYY-MM') = ${month})
      and (${before}::bigint is null or number < ${before})
    order by number desc limit ${limit}`
}

/** Undefined also when it is another customer's than the one that is named. */
export async function findInvoice(
  sql: Query,
  { customer_id = null, number }: { customer_id?: string | null; number: bigint },
): Promise<Invoice | undefined> {
  const [invoice] = await sql<Invoice>`
    select number, customer_id, to_char(month, 'YYYY-MM') as month, issued_at, total_sun, document,
      sha256
    from invoice
    where number = ${number} and (${customer_id}::text is null or customer_id = ${customer_id})`
  return invoice
}
