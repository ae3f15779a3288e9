// What was invoiced wrongly, put right without altering a document: a credit note takes back all
// that is left of the invoice that is wrong, and another one takes its place. What was given back
// of the one is given back of the other.

import { REVENUE } from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import { sunOf, trxText } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type ChargeLine, chargesOf, type Period, totalOf } from './charges.ts'
import type { Invoice, InvoiceDocument } from './forms.ts'
import { invoiceInForce } from './invoices.ts'
import { issueDocument } from './issuing.ts'

/** A month of a customer whose documents are not what was charged. `number`: of the invoice that is
 *  wrong; null: there is none. `returned_sun`, `credited_sun`: what came back of earlier months,
 *  and what credit notes say of that, both below zero. */
export type WrongMonth = Period & {
  number: bigint | null
  invoiced_sun: bigint
  charged_sun: bigint
  credited_sun: bigint
  returned_sun: bigint
}

/** Months that are over in which something was charged or came back, oldest first. */
export async function monthsToCompare(
  sql: Sql,
  wanted: { customer_id?: string | undefined; month?: string | undefined },
): Promise<Period[]> {
  const { customer_id = null, month = null } = wanted
  return sql<Period>`
    with moved as (
      select debit as account, made_at from transfer
      where credit = ${REVENUE} and kind in ('capture', 'move')
      union all
      select credit, made_at from transfer where debit = ${REVENUE} and kind = 'move'
    ), period as (
      select distinct substr(account, 10) as customer_id,
        date_trunc('month', made_at at time zone 'UTC')::date as month
      from moved where account like 'customer:%'
    )
    select period.customer_id, period.month::text as month,
      (period.month + interval '1 month')::date::text as next_month
    from period join customer on customer.id = period.customer_id
      cross join invoice_progress as progress
    where period.month >= (select min(month) from invoice)
      and (period.month, period.customer_id) <= (progress.month, progress.customer_id)
      and (${customer_id}::text is null or period.customer_id = ${customer_id})
      and (${month}::text is null or to_char(period.month, 'YYYY-MM') = ${month})
    order by period.month, period.customer_id`
}

/** What is wrong with the documents of a month. Undefined: nothing is. */
export const wrongMonth = async (sql: Sql | Tx, period: Period): Promise<WrongMonth | undefined> =>
  (await compareMonth(sql, period)).wrong

/** A month's charges and its invoice, and what is wrong with its documents. */
async function compareMonth(sql: Sql | Tx, period: Period) {
  const charges = await chargesOf(sql, period)
  const invoice = await invoiceInForce(sql, period)
  // A credit note over an invoice of the month itself was issued when that was replaced.
  const [issued] = await sql<{ of_month_sun: bigint; of_earlier_sun: bigint }>`
    select coalesce(sum(one.total_sun) filter (where is_of_month), 0)::bigint as of_month_sun,
      coalesce(sum(one.total_sun) filter (where not is_of_month), 0)::bigint as of_earlier_sun
    from invoice as one left join invoice as earlier on earlier.number = one.corrects,
      lateral (select one.kind = 'invoice' or earlier.month = one.month as is_of_month) as kind
    where one.customer_id = ${period.customer_id} and one.month = ${period.month}::date
      and one.correction_id is null`
  const returned = [...charges].flatMap(([corrects, lines]) => (corrects === null ? [] : lines))
  const month: WrongMonth = {
    ...period,
    number: invoice?.number ?? null,
    invoiced_sun: issued!.of_month_sun,
    charged_sun: totalOf(charges.get(null) ?? []),
    credited_sun: issued!.of_earlier_sun,
    returned_sun: totalOf(returned),
  }
  const { invoiced_sun, charged_sun, credited_sun, returned_sun } = month
  const is_right = invoiced_sun === charged_sun && credited_sun === returned_sun
  return { charges, invoice, wrong: is_right ? undefined : month }
}

/** Issues what a month lacks: a credit note over an invoice that is wrong and another one in its
 *  place, an invoice that is missing, credit notes for what came back. Says what it issued. */
export async function reissue(tx: Tx, period: Period, now: Date): Promise<Invoice[]> {
  await tx`select 1 from invoice_progress for update`
  const { charges, invoice, wrong } = await compareMonth(tx, period)
  if (!wrong) return []
  const issued: (Invoice | undefined)[] = []
  const document = { ...period, now, issuer: await lastIssuer(tx) }
  if (wrong.invoiced_sun !== wrong.charged_sun) {
    const corrects = invoice?.number ?? null
    const lines = charges.get(null) ?? []
    const given = invoice ? await givenBack(tx, invoice.number) : []
    // Nothing stands in the place of one that was taken back because nothing was charged.
    const kept = invoice?.total_sun === wrong.invoiced_sun ? given : []
    requireCovered(wrong, kept)
    if (invoice) {
      const left = reversed([...linesOf(invoice), ...given])
      issued.push(await issueDocument(tx, { ...document, corrects, lines: left }))
    }
    const another = await issueDocument(tx, { ...document, corrects, lines })
    issued.push(another)
    if (another)
      issued.push(await issueDocument(tx, { ...document, corrects: another.number, lines: kept }))
  }
  // A credit note that is there is never repeated: one that is wrong is left to people.
  if (wrong.credited_sun === 0n) {
    for (const [corrects, lines] of charges)
      if (corrects !== null) issued.push(await issueDocument(tx, { ...document, corrects, lines }))
  }
  return issued.filter((one) => one !== undefined)
}

/** The lines of the credit notes over an invoice. */
async function givenBack(tx: Tx, number: bigint): Promise<ChargeLine[]> {
  const notes = await tx<{ document: string }>`
    select document from invoice where corrects = ${number} and kind = 'credit_note'
    order by number`
  return notes.flatMap(linesOf)
}

/** Throws Refused when more was given back of the wrong invoice than the other one comes to. */
function requireCovered({ number, charged_sun }: WrongMonth, kept: readonly ChargeLine[]): void {
  const kept_sun = -totalOf(kept)
  if (kept_sun > 0n && kept_sun > charged_sun)
    throw refusal(
      `Of the invoice ${number} ${trxText(kept_sun)} TRX were given back, and ` +
        `${trxText(charged_sun)} TRX were charged: no invoice can take its place.`,
    )
}

const linesOf = ({ document }: Pick<Invoice, 'document'>): ChargeLine[] =>
  (JSON.parse(document) as InvoiceDocument).lines.map(
    ({ service, unit, unit_price, count, total }) => ({
      service,
      unit,
      unit_sun: unit_price === null ? null : sunOf(unit_price)!,
      count,
      total_sun: total.startsWith('-') ? -sunOf(total.slice(1))! : sunOf(total)!,
    }),
  )

const reversed = (lines: readonly ChargeLine[]): ChargeLine[] =>
  lines.map((line) => ({ ...line, count: -line.count, total_sun: -line.total_sun }))

/** The house's own line on the newest document. */
async function lastIssuer(tx: Tx): Promise<string | null> {
  const [last] = await tx<{ document: string }>`
    select document from invoice order by number desc limit 1`
  return last === undefined ? null : (JSON.parse(last.document) as InvoiceDocument).issuer
}
