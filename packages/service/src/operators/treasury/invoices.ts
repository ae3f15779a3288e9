// Invoices and credit notes, for those who run the service: looked at, and issued anew where they
// are wrong.

import { Type } from 'typebox'
import { misuse, refusal } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
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
} from '../../platform/wire/schemas.ts'
import type { Invoice, InvoiceDocument } from '../../treasury/invoices/forms.ts'
import { findInvoice, listInvoices } from '../../treasury/invoices/invoices.ts'
import {
  monthsToCompare,
  reissue,
  type WrongMonth,
  wrongMonth,
} from '../../treasury/invoices/reissue.ts'
import { LIMIT, limit, look, undertaking } from '../table/operation.ts'

const InvoiceListed = {
  number: Whole,
  kind: Text,
  corrects: OrNull(Whole),
  customer_id: Text,
  month: Text,
  issued_at: Moment,
  total_sun: Sun,
  sha256: Text,
}

const listed = ({ document: _, ...invoice }: Invoice) => invoice

/** A month whose documents are wrong; `issued`: the numbers of those that put it right. */
const Reissued = {
  customer_id: Text,
  month: Text,
  number: OrNull(Whole),
  invoiced_sun: Sun,
  charged_sun: Sun,
  credited_sun: Sun,
  returned_sun: Sun,
  issued: Type.Array(Whole),
}

const shownMonth = ({ next_month: _, month, ...wrong }: WrongMonth, issued: Invoice[]) => ({
  ...wrong,
  month: month.slice(0, 7),
  issued: issued.map(({ number }) => number),
})

/** Throws Misuse when it is no month like 2026-10. */
function requireMonth(month: string | undefined): void {
  if (month !== undefined && !/^\d{4}-(0[1-9]|1[0-2])$/.test(month))
    throw misuse(`${month} is not a month like 2026-10.`)
}

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
      requireMonth(month)
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
  undertaking({
    path: '/operator/invoices/reissue',
    role: 'admin',
    careful: true,
    summary: 'put right the documents of months that are not what was charged',
    description:
      'A credit note over what is left of the invoice that is wrong, and another invoice in its ' +
      'place; what is missing is issued. Nothing that was issued is altered. The customer is told.',
    body: Type.Object({
      customer: optional(text('CUSTOMER', 'only of this customer')),
      month: optional(text('MONTH', 'only of this month, like 2026-10')),
      dry_run: flag('say what is wrong, and issue nothing'),
    }),
    reply: ListOf(Reissued),
    async handle({ sql, clock, progress, record, body: { customer, month, dry_run = false } }) {
      requireMonth(month)
      if (customer !== undefined) await requireCustomer(sql, customer)
      const periods = await monthsToCompare(sql, { customer_id: customer, month })
      const value = []
      for (const [done, period] of periods.entries()) {
        progress({ done, whole: periods.length, unit: 'months of customers' })
        const wrong = await wrongMonth(sql, period)
        if (!wrong) continue
        const issued = dry_run
          ? []
          : await record(async (tx) => {
              const result = await reissue(tx, period, clock.now())
              const actions = result.map(({ number, kind, corrects, total_sun }) => ({
                subject: `invoice:${number}`,
                before: null,
                after: { customer_id: period.customer_id, kind, corrects, total_sun },
              }))
              return { result, actions }
            })
        value.push(shownMonth(wrong, issued))
      }
      progress()
      const note = value.length === 0 ? 'Every document is what was charged.' : undefined
      return { value, note }
    },
  }),
]
