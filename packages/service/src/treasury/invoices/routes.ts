// Invoices on the wire.

import { Type } from 'typebox'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  invalid,
  NotFound,
  refuses,
} from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  page,
  readPlace,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { InvoiceForm, printInvoice, printWholeInvoice, WholeInvoice } from './forms.ts'
import { findInvoice, listInvoices } from './invoices.ts'

export type Needs = { sql: Sql }

const MONTH = '^[0-9]{4}-(0[1-9]|1[0-2])$'

export const routes = ({ sql }: Needs): Endpoint[] => [
  endpoint({
    path: '/v1/invoices/list',
    auth: 'signature',
    scope: 'money',
    summary: 'Your invoices and credit notes, newest first',
    description:
      'An invoice is issued when a month (UTC) is over in which something was charged; a credit ' +
      'note when something that was invoiced came back later.',
    body: Type.Object({
      month: Type.Optional(
        Type.String({
          pattern: MONTH,
          description: 'That of what was charged, like `2026-10` (UTC)',
          ...invalid('month'),
        }),
      ),
      ...listFields(),
    }),
    reply: listOf(InvoiceForm),
    faults: [refuses(InvalidParams, '`month` is no month', 'month'), ...LIST_REFUSALS],
    async handle({ body: { month, before, limit }, customer: { customer_id } }) {
      const place = { before: readPlace(before), limit: rowsFor(limit) }
      const rows = await listInvoices(sql, { customer_id, month, ...place })
      return page(rows, limit, { print: printInvoice, placeOf: ({ number }) => `${number}` })
    },
  }),

  endpoint({
    path: '/v1/invoice/check',
    keeps_body: true,
    auth: 'signature',
    scope: 'money',
    summary: 'An invoice or a credit note, line by line',
    body: Type.Object({
      number: Type.Integer({ minimum: 1, fault: () => InvalidParams('number', 'Invalid number') }),
    }),
    reply: WholeInvoice,
    faults: [
      refuses(InvalidParams, '`number` is no whole number from 1', 'number'),
      refuses(NotFound, 'You have no such invoice', 'invoice'),
    ],
    examples: [{ summary: 'One that is not there', body: { number: 1 } }],
    async handle({ body, customer: { customer_id } }) {
      const invoice = await findInvoice(sql, { customer_id, number: BigInt(body.number) })
      if (!invoice)
        throw NotFound('invoice', 'There is no such invoice').absent('number', 'invoice of yours')
      return printWholeInvoice(invoice)
    },
  }),
]
