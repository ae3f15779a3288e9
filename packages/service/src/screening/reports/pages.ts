// The report of a check, for paper.

import { type Needs as OfPapers, paperPage } from '../../people/users/papers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Page } from '../../platform/http/pages.ts'
import { visitorOf } from '../../web/visitor.ts'
import { findCheck } from '../checks/checks.ts'
import { readEvidence } from '../engine/evidence.ts'
import { forCustomers, readReportContext } from './context.ts'
import { reportPage } from './report.ts'
import { STYLE } from './style.ts'

export type Needs = OfPapers & { sql: Sql }

export const reportPages = (needs: Needs): Page[] => [
  paperPage(needs, {
    path: '/portal/reports/:id',
    summary: 'The report of a screening check, for paper',
    scope: 'aml',
    page: (id) => `/portal/screening/${encodeURIComponent(id)}`,
    style: STYLE,
    async print({ customer_id, id, headers }) {
      const check = await findCheck(needs.sql, { id, customer_id })
      const evidence = check && (await readEvidence(needs.sql, id))
      if (!evidence) return undefined
      const context = forCustomers(await readReportContext(needs.sql, evidence))
      return reportPage(evidence, context, visitorOf(headers).language)
    },
  }),
]
