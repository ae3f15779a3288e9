// An invoice, for paper.

import { type Needs as OfPapers, paperPage } from '../../people/users/papers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Page } from '../../platform/http/pages.ts'
import { visitorOf } from '../../web/visitor.ts'
import { findInvoice } from './invoices.ts'
import { invoicePage, STYLE } from './paper.ts'

export type Needs = OfPapers & { sql: Sql }

const NUMBER = /^[1-9]\d{0,15}$/

export const invoicePages = (needs: Needs): Page[] => [
  paperPage(needs, {
    path: '/portal/invoices/:id',
    summary: 'An invoice, for paper',
    scope: 'money',
    page: (id) => `/portal/money/invoices/${encodeURIComponent(id)}`,
    style: STYLE,
    async print({ customer_id, id, headers }) {
      if (!NUMBER.test(id)) return undefined
      const invoice = await findInvoice(needs.sql, { customer_id, number: BigInt(id) })
      return invoice && invoicePage(invoice, visitorOf(headers).language)
    },
  }),
]
