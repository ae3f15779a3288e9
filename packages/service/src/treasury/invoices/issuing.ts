// Documents are issued here, and never changed: invoices of what a customer was charged in a month,
// once the month is over and summarised, and credit notes for what came back after that. Numbers
// run without gaps, because who issues one holds the row that says which month is due.
//
//   issue_invoices     charges of a month -> invoice, credit notes

import { createHash } from 'node:crypto'
import { noteEvents } from '../../events/log/notes.ts'
import { customerAccount, REVENUE } from '../../ledger/accounts/ledger.ts'
import { type Clock, dayOf, wireTime } from '../../lib/clock.ts'
import { printJson, trxText } from '../../lib/json.ts'
import { settingsOf } from '../../people/settings/settings.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type ChargeLine, chargesOf, type Period, totalOf } from './charges.ts'
import { type Invoice, type InvoiceDocument, printInvoice } from './forms.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  /** A line of the house's own on every invoice. */
  issuer: string | undefined
}

/** charges -> documents, one customer at a time. */
export function issueInvoicesStep(needs: Needs): Step {
  return {
    name: 'issue_invoices',
    rest_ms: 600_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select where not exists (select from invoice_progress)
      union all
      select from invoice_progress
      where (month + interval '1 month') at time zone 'UTC' <= (
        select until from summary_progress where bucket = 'day')`,
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
  const [due] = await tx<Period>`
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
      and (spent_sun > 0 or deposited_sun > 0) and customer_id > ${due.customer_id}
    order by customer_id limit 1`
  if (next) await issueMonth(tx, { ...needs, ...next, month, next_month, now })
  const [at, after] = next ? [month, next.customer_id] : [next_month, '']
  await tx`update invoice_progress set month = ${at}::date, customer_id = ${after}`
  return true
}

/** The first month, `2026-10`, of which the customer is still to get an invoice or a credit note,
 *  by what was charged and came back; undefined: none. */
export async function monthToInvoice(tx: Tx, customer_id: string): Promise<string | undefined> {
  const account = customerAccount(customer_id)
  const [found] = await tx<{ month: string | null }>`
    with issued as (
      select case when customer_id >= ${customer_id} then month + interval '1 month' else month end
        at time zone 'UTC' as until
      from invoice_progress
    )
    select to_char(min(made_at) at time zone 'UTC', 'YYYY-MM') as month from transfer
    where kind in ('capture', 'move')
      and (debit = ${account} and credit = ${REVENUE}
        or credit = ${account} and debit = ${REVENUE})
      and made_at >= coalesce((select until from issued), '-infinity')`
  return found?.month ?? undefined
}

/** What a customer gets of a month; nothing when nothing was charged and nothing came back. What an
 *  operator has corrected is no sale. */
async function issueMonth(tx: Tx, month: Period & { issuer: string | undefined; now: Date }) {
  for (const [corrects, lines] of await chargesOf(tx, month)) {
    // More came back than was charged, of a time without invoices: there is nothing to correct.
    if (corrects === null && totalOf(lines) < 0n) continue
    await issueDocument(tx, { ...month, issuer: month.issuer ?? null, corrects, lines })
  }
}

/** A document to be. `month`: its first day; `corrects`: the invoice that it corrects or replaces;
 *  `correction_id`: the correction that it is about. */
export type NewDocument = Pick<Invoice, 'customer_id' | 'month' | 'corrects'> & {
  correction_id?: string
  issuer: string | null
  lines: readonly ChargeLine[]
  now: Date
}

/** Issues one, with the next number: an invoice, or a credit note when its total is below zero. The
 *  caller holds the row of invoice_progress. Undefined when it comes to nothing. */
export async function issueDocument(tx: Tx, document: NewDocument): Promise<Invoice | undefined> {
  const { customer_id, month, corrects, correction_id = null, issuer, lines, now } = document
  const total_sun = totalOf(lines)
  if (total_sun === 0n) return undefined
  const [[last], [customer], { billing }] = await Promise.all([
    tx<{ number: bigint | null }>`select max(number) as number from invoice`,
    tx<{ name: string }>`select name from customer where id = ${customer_id}`,
    settingsOf(tx, customer_id),
  ])
  const head = {
    number: (last?.number ?? 0n) + 1n,
    kind: total_sun > 0n ? ('invoice' as const) : ('credit_note' as const),
    corrects,
    month: month.slice(0, 7),
  }
  const text = printJson({
    ...head,
    number: Number(head.number),
    corrects: corrects === null ? null : Number(corrects),
    issued_at: wireTime(now),
    issuer,
    customer: { id: customer_id, name: customer!.name, billing },
    lines: lines.map(({ unit_sun, total_sun, ...line }) => ({
      ...line,
      unit_price: unit_sun === null ? null : trxText(unit_sun),
      total: trxText(total_sun),
    })),
    total: trxText(total_sun),
  } satisfies InvoiceDocument)
  const sha256 = createHash('sha256').update(text).digest('hex')
  await tx`
    insert into invoice (number, kind, corrects, correction_id, customer_id, month, issued_at,
      total_sun, document, sha256)
    values (${head.number}, ${head.kind}, ${corrects}, ${correction_id}, ${customer_id},
      ${month}::date, ${now}, ${total_sun}, ${text}, ${sha256})`
  const invoice: Invoice = {
    ...head,
    customer_id,
    issued_at: now,
    total_sun,
    document: text,
    sha256,
  }
  const data = printInvoice(invoice)
  const subject = `invoice:${head.number}`
  noteEvents(tx, [{ type: 'invoice.issued', subject, customer_id, at: now, data }])
  return invoice
}
