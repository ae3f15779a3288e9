// Credit notes for money that an operator gives back for an invoice, with the correction itself.

import { customerAccount, REVENUE } from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { Invoice, InvoiceDocument } from './forms.ts'
import { findInvoice } from './invoices.ts'
import { issueDocument } from './issuing.ts'

/** Issues the credit note of a correction. Throws Refused when the invoice is not this customer's,
 *  is a credit note itself, or has less left than is given back. */
export async function issueCorrectionNote(
  tx: Tx,
  correction: {
    id: string
    customer_id: string
    amount_sun: bigint
    made_at: Date
    invoice_number: bigint
  },
): Promise<void> {
  const { id, customer_id, amount_sun, made_at, invoice_number } = correction
  await tx`select 1 from invoice_progress for update`
  const invoice = await findInvoice(tx, { customer_id, number: invoice_number })
  if (invoice?.kind !== 'invoice')
    throw refusal(`There is no invoice ${invoice_number} of this customer.`)
  if (amount_sun <= 0n) throw refusal('A credit note gives money back: customers credit.')
  const [notes] = await tx<{ sun: bigint }>`
    select coalesce(sum(total_sun), 0)::bigint as sun from invoice
    where corrects = ${invoice_number} and kind = 'credit_note'`
  const left_sun = invoice.total_sun + notes!.sun - (await cameBack(tx, invoice))
  if (amount_sun > left_sun)
    throw refusal(`Of the invoice ${invoice_number} ${trxText(left_sun)} TRX are left.`)
  const { issuer } = JSON.parse(invoice.document) as InvoiceDocument
  const unit = `correction ${id}`
  const line = { service: 'correction', unit, unit_sun: amount_sun, count: -1 }
  await issueDocument(tx, {
    customer_id,
    month: `${made_at.toISOString().slice(0, 7)}-01`,
    corrects: invoice_number,
    correction_id: id,
    issuer,
    lines: [{ ...line, total_sun: -amount_sun }],
    now: made_at,
  })
}

/** The sum of charges of an invoice that came back since the documents that were issued last: the
 *  credit note of that is still to come. */
async function cameBack(tx: Tx, { customer_id, month }: Invoice): Promise<bigint> {
  const [came] = await tx<{ sun: bigint }>`
    with issued as (
      select case when customer_id >= ${customer_id} then month + interval '1 month' else month end
        at time zone 'UTC' as until
      from invoice_progress
    )
    select coalesce(sum(back.amount_sun), 0)::bigint as sun
    from issued cross join transfer as back join transfer as charge
      on charge.id = substring(back.id from '^[^/]*/[^/]*/[^/]*')
    where back.credit = ${customerAccount(customer_id)} and back.debit = ${REVENUE}
      and back.kind = 'move' and back.made_at >= issued.until
      and to_char(charge.made_at at time zone 'UTC', 'YYYY-MM') = ${month}`
  return came!.sun
}
