// What customers print or hand on, as the report of a check or an invoice: pages without scripts,
// for those who are signed in at the portal. Whoever is not, or asks for what is not there, is sent
// to the page of the portal that says so.

import { createHash } from 'node:crypto'
import type { Page, PageRequest } from '../../platform/http/pages.ts'
import type { Scope } from '../../platform/wire/endpoint.ts'
import { transportRefusal } from '../../platform/wire/replies.ts'
import { documentHeaders } from '../../web/shell.ts'
import { type Face, originOf } from './faces.ts'
import { tokenOf } from './mount.ts'
import { scopesOfRole } from './roles.ts'
import type { SessionReader } from './sessions.ts'

export type Needs = { sessions: SessionReader; face: Face }

export type Paper = {
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

export function paperPage({ sessions, face }: Needs, paper: Paper): Page {
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
