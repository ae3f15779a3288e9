// The status page as it is served: to programs as JSON, which any other site may read.

import type { Page } from '../http/pages.ts'
import { printJson } from '../lib/json.ts'
import { type Needs, StatusForm, statusReader } from './report.ts'

const CACHED = 'public, max-age=15'

export function statusPages(needs: Needs): Page[] {
  const read = statusReader(needs)
  return [
    {
      path: '/status.json',
      summary: 'How each part of the service does and did, and how long things take',
      document: StatusForm,
      async handle() {
        const headers = { 'access-control-allow-origin': '*', 'cache-control': CACHED }
        return { status: 200, code: 0, body: printJson(await read()), headers }
      },
    },
  ]
}
