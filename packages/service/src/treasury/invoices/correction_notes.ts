// Credit notes for money that an operator gives back for an invoice, with the correction itself.

import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { InvoiceDocument } from './forms.ts'
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
  const left_sun = invoice.total_sun + notes!.sun
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
