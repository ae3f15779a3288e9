// Invoices, for those who run the service. They are only looked at: one is issued by a step when
// its month is over, and never again.

import { Type } from 'typebox'
import { requireCustomer } from '../customers/customers.ts'
import type { Invoice, InvoiceDocument } from '../invoices/forms.ts'
import { findInvoice, listInvoices } from '../invoices/invoices.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { LIMIT, limit, look } from '../operation/operation.ts'
import {
  Count,
  flag,
  ListOf,
  Moment,
  OrNull,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../wire/schemas.ts'

const InvoiceListed = {
  number: Whole,
  customer_id: Text,
  month: Text,
  issued_at: Moment,
  total_sun: Sun,
  sha256: Text,
}

const listed = ({ document: _, ...invoice }: Invoice) => invoice

export const invoiceOperations = [
  look({
    path: '/operator/invoices/list',
    summary: 'what customers were invoiced, newest first',
    body: Type.Object({
      customer: optional(text('CUSTOMER', 'only of this customer')),
      month: optional(text('MONTH', 'only of this month, like 2026-10')),
      limit,
      before: optional(whole('NUMBER', 'only those before this one: the next page')),
    }),
    reply: ListOf(InvoiceListed),
    async handle({ sql, body: { customer, month, before, limit = LIMIT } }) {
      if (month !== undefined && !/^\d{4}-(0[1-9]|1[0-2])$/.test(month))
        throw misuse(`${month} is not a month like 2026-10.`)
      if (customer !== undefined) await requireCustomer(sql, customer)
      const invoices = await listInvoices(sql, {
        customer_id: customer,
        month,
        before: before === undefined ? undefined : BigInt(before),
        limit,
      })
      return { value: invoices.map(listed) }
    },
  }),
  look({
    path: '/operator/invoices/show',
    summary: 'one invoice, line by line',
    body: Type.Object({ number: whole('NUMBER', 'of the invoice') }),
    reply: Type.Object({
      ...InvoiceListed,
      issuer: OrNull(Text),
      billing: Type.Array(Text),
      lines: ListOf({
        service: Text,
        unit: OrNull(Text),
        unit_price: OrNull(Text),
        count: Count,
        total: Text,
      }),
    }),
    cli: {
      operands: ['number'],
      extras: Type.Object({ document: flag('print the document alone, byte for byte') }),
      after: async (answer, { document }) =>
        document === true ? { ...answer, text: `${answer.documents!.document!()}\n` } : answer,
    },
    async handle({ sql, body }) {
      const invoice = await findInvoice(sql, { number: BigInt(body.number) })
      if (!invoice) throw refusal(`There is no invoice ${body.number}.`)
      const { issuer, customer, lines } = JSON.parse(invoice.document) as InvoiceDocument
      const value = { ...listed(invoice), issuer, billing: customer.billing, lines }
      return { value, documents: { document: () => invoice.document } }
    },
  }),
]
