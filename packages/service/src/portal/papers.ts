// What customers print or hand on: the report of a check, an invoice. Pages without scripts, for
// those who are signed in at the portal; whoever is not, or asks for what is not there, is sent to
// the page of the portal that says so.

import { createHash } from 'node:crypto'
import { findCheck } from '../checks/checks.ts'
import type { Sql } from '../database/sql.ts'
import type { Page, PageRequest } from '../http/pages.ts'
import { findInvoice } from '../invoices/invoices.ts'
import { STYLE as INVOICE_STYLE, invoicePage } from '../invoices/paper.ts'
import { forCustomers, readReportContext } from '../reports/context.ts'
import { STYLE as REPORT_STYLE, reportPage } from '../reports/report.ts'
import { readEvidence } from '../screening/evidence.ts'
import { type Face, originOf } from '../users/faces.ts'
import { tokenOf } from '../users/mount.ts'
import { scopesOfRole } from '../users/roles.ts'
import type { SessionReader } from '../users/sessions.ts'
import { documentHeaders } from '../web/shell.ts'
import { visitorOf } from '../web/visitor.ts'
import type { Scope } from '../wire/endpoint.ts'
import { transportRefusal } from '../wire/replies.ts'

export type Needs = { sql: Sql; sessions: SessionReader; face: Face }

type Paper = {
  path: Page['path']
  summary: string
  scope: Scope
  /** The page of the portal that shows the same. */
  page: (id: string) => string
  style: string
  /** Undefined: the customer has no such thing. */
  print: (asked: {
    customer_id: string
    id: string
    headers: PageRequest['headers']
  }) => Promise<string | undefined>
}

/** The one style of the document, by its hash: nothing else is loaded, and nothing runs. */
const policyOf = (style: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

function paperPage({ sessions, face }: Needs, paper: Paper): Page {
  const is_https = face.url?.startsWith('https:') ?? false
  const headers = {
    ...documentHeaders({ is_https }),
    'content-security-policy': policyOf(paper.style),
  }
  return {
    path: paper.path,
    summary: paper.summary,
    for_browsers_alone: true,
    async handle(asked) {
      const id = asked.params.id ?? ''
      const token = tokenOf(face, originOf(face, undefined), asked.headers.cookie)
      const session = await sessions.read(token, face)
      const customer_id = session?.customer_id
      const may = session !== undefined && scopesOfRole(session.role).includes(paper.scope)
      const body =
        customer_id && may
          ? await paper.print({ customer_id, id, headers: asked.headers })
          : undefined
      if (body === undefined)
        return transportRefusal(asked.request_id, 302, { location: paper.page(id) })
      return { status: 200, code: 0, body, content_type: 'text/html; charset=utf-8', headers }
    },
  }
}

const NUMBER = /^[1-9]\d{0,15}$/

export const paperPages = (needs: Needs): Page[] => [
  paperPage(needs, {
    path: '/portal/reports/:id',
    summary: 'The report of a screening check, for paper',
    scope: 'aml',
    page: (id) => `/portal/screening/${encodeURIComponent(id)}`,
    style: REPORT_STYLE,
    async print({ customer_id, id }) {
      const check = await findCheck(needs.sql, { id, customer_id })
      const evidence = check && (await readEvidence(needs.sql, id))
      if (!evidence) return undefined
      return reportPage(evidence, forCustomers(await readReportContext(needs.sql, evidence)))
    },
  }),
  paperPage(needs, {
    path: '/portal/invoices/:id',
    summary: 'An invoice, for paper',
    scope: 'money',
    page: (id) => `/portal/money/invoices/${encodeURIComponent(id)}`,
    style: INVOICE_STYLE,
    async print({ customer_id, id, headers }) {
      if (!NUMBER.test(id)) return undefined
      const invoice = await findInvoice(needs.sql, { customer_id, number: BigInt(id) })
      return invoice && invoicePage(invoice, visitorOf(headers).language)
    },
  }),
]
