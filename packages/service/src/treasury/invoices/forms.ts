// What an invoice and a credit note are, the forms in which they go over the wire, and their event.

import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { word } from '../../platform/wire/schemas.ts'

/** An invoice, or a credit note, whose total is below zero. `month`: `2026-10`, in which it was
 *  charged or came back; `corrects`: of a credit note, the invoice that it is about; of an invoice,
 *  the one that it replaces. */
export type Invoice = {
  number: bigint
  kind: 'invoice' | 'credit_note'
  corrects: bigint | null
  customer_id: string
  month: string
  issued_at: Date
  total_sun: bigint
  document: string
  sha256: string
}

/** Amounts are TRX as text, so that no reader rounds them. */
export type InvoiceDocument = {
  number: number
  kind: Invoice['kind']
  corrects: number | null
  month: string
  issued_at: string
  issuer: string | null
  customer: { id: string; name: string; billing: string[] }
  lines: InvoiceLine[]
  total: string
}

/** `unit`: what one of them is, like `energy 65000`; null where there are too many kinds to list
 *  each. On a credit note `count` and `total` are below zero. */
export type InvoiceLine = {
  service: string
  unit: string | null
  unit_price: string | null
  count: number
  total: string
}

/** An invoice or a credit note without its lines. */
export const InvoiceForm = Type.Object({
  number: Type.Integer(),
  kind: word(['invoice', 'credit_note']),
  corrects: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The invoice that a credit note is about, or that this one replaces',
  }),
  month: Type.String({ description: '`2026-10`' }),
  state: word(['issued']),
  issued_at: Type.String(),
  total: Money({ description: 'TRX; of a credit note below zero' }),
  sha256: Type.String({ description: 'Of its document in UTF-8' }),
})

const Line = Type.Object({
  service: Type.String({
    description:
      'energy, bandwidth, resource_bundle, activate_address, subscription, aml or correction',
  }),
  unit: Type.Union([Type.String(), Type.Null()], {
    description:
      'What one is, like `energy 65000` or `unlimited_energy, transaction`; null: kinds beyond ' +
      'the 500 largest',
  }),
  unit_price: Type.Union([Money(), Type.Null()], { description: 'TRX for one' }),
  count: Type.Integer({ description: 'Of a credit note below zero' }),
  total: Money({ description: 'TRX' }),
})

export const WholeInvoice = Type.Object({
  ...InvoiceForm.properties,
  issuer: Type.Union([Type.String(), Type.Null()]),
  billing: Type.Array(Type.String(), { description: 'Your own lines, as they were then' }),
  lines: Type.Array(Line),
  document: Type.String({ description: 'All of it as JSON, byte for byte as it was issued' }),
})

export const printInvoice = (invoice: Invoice): Static<typeof InvoiceForm> => ({
  number: Number(invoice.number),
  kind: invoice.kind,
  corrects: invoice.corrects === null ? null : Number(invoice.corrects),
  month: invoice.month,
  state: 'issued',
  issued_at: wireTime(invoice.issued_at),
  total: money(invoice.total_sun),
  sha256: invoice.sha256,
})

/** Of what was stored, not of what a row would say now. */
export function printWholeInvoice(invoice: Invoice): Static<typeof WholeInvoice> {
  const { issuer, customer, lines } = JSON.parse(invoice.document) as InvoiceDocument
  return {
    ...printInvoice(invoice),
    issuer,
    billing: customer.billing,
    lines: lines.map(({ unit_price, total, ...line }) => ({
      ...line,
      unit_price: unit_price === null ? null : JSON.rawJSON(unit_price),
      total: JSON.rawJSON(total),
    })),
    document: invoice.document,
  }
}

export const invoiceKinds: readonly EventKind[] = [
  eventKind('invoice.issued', {
    data: InvoiceForm,
    when: 'a month is over in which something was charged, or a credit note is issued',
    scope: 'money',
    sample: {
      number: 12,
      kind: 'invoice',
      corrects: null,
      month: '2026-10',
      state: 'issued',
      issued_at: '2026-11-01T00:05:03Z',
      total: 2_930.4,
      sha256: '9f2c'.repeat(16),
    },
  }),
]
