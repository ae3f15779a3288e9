// Pages: what is read with GET, beside the endpoints and outside /v1. They are public and count
// against the rate of the caller's address. Here are the reference as documents, printed from the
// endpoints, and the codes of refusals; the pages that show it are those of the portal.

import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { TSchema } from 'typebox'
import type { Answer } from '../wire/replies.ts'
import { refusalPage } from './refusal_codes.ts'

/** What a page is asked with. Nobody has checked any of it. */
export type PageRequest = {
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  headers: IncomingHttpHeaders
  request_id: string
}

export type Page = {
  /** As the router reads it: `/deposits/:tx_id`, `/portal/*` for all that is below. */
  readonly path: `/${string}`
  readonly summary: string
  /** Schema of `result`. */
  readonly reply?: TSchema
  /** Schema of the whole answer, where others have settled its form. With neither, the page is for
   *  a browser, and is not in the reference. */
  readonly document?: TSchema
  /** Programs find nothing there: another method is answered as where nothing is. */
  readonly for_browsers_alone?: boolean
  handle(asked: PageRequest): Promise<Answer>
}

/** The reference as a document, printed by `npm run print`. */
export const OPENAPI_FILE = fileURLToPath(new URL('../../../openapi.json', import.meta.url))

/** The same for programs that generate clients. */
export const OPENAPI_30_FILE = fileURLToPath(new URL('../../../openapi-3.0.json', import.meta.url))

/** Everything from here, nothing from elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
}

const gzipped = promisify(gzip)

const FILES: readonly [path: Page['path'], file: string, content_type: string, summary: string][] =
  [
    [
      '/openapi.json',
      OPENAPI_FILE,
      'application/json; charset=utf-8',
      'The reference as an OpenAPI document',
    ],
    [
      '/openapi-3.0.json',
      OPENAPI_30_FILE,
      'application/json; charset=utf-8',
      'The same in OpenAPI 3.0, for programs that generate clients',
    ],
  ]

/** What each code means. */
const REFUSALS: Page = {
  path: '/docs/refusals',
  summary: 'What calls are refused for, code by code',
  async handle() {
    const content_type = 'text/html; charset=utf-8'
    return { status: 200, code: 0, content_type, body: refusalPage(), headers: HEADERS }
  },
}

/** The reference as documents, and what refusals mean. A file is read when it is first asked
 *  for, and again until that has succeeded. */
export function referencePages(files = FILES): Page[] {
  const pages = files.map(([path, file, content_type, summary]): Page => {
    let bytes: Buffer | undefined
    let small: Buffer | undefined
    return {
      path,
      summary,
      async handle({ headers }) {
        bytes ??= await readFile(file)
        if (!acceptsEncoding(String(headers['accept-encoding'] ?? ''), 'gzip'))
          return { status: 200, code: 0, content_type, body: bytes, headers: HEADERS }
        small ??= await gzipped(bytes)
        const compressed = { ...HEADERS, 'content-encoding': 'gzip' }
        return { status: 200, code: 0, content_type, body: small, headers: compressed }
      },
    }
  })
  return [...pages, REFUSALS]
}

/** Whether a browser takes this encoding, by its header Accept-Encoding. */
export const acceptsEncoding = (accepted: string, encoding: string): boolean =>
  accepted.split(',').some((one) => {
    const [name, ...more] = one.split(';').map((part) => part.trim())
    return name === encoding && !more.includes('q=0')
  })
