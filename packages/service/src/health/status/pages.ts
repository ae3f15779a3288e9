// The status page as it is served: to people as a document, to programs as JSON, which any other
// site may read. It is printed and compressed once for each language and theme while it is fresh.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { LANGUAGES, type Language } from 'penstock-web/build/languages.ts'
import { printJson } from '../../lib/json.ts'
import { acceptsEncoding, type Page } from '../../platform/http/pages.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Brand } from '../../web/brand.ts'
import { documentHeaders } from '../../web/shell.ts'
import { type Visitor, visitorOf } from '../../web/visitor.ts'
import { statusDocument } from './document.ts'
import { type Status, StatusForm } from './report.ts'

export type Needs = {
  read(): Promise<Status>
  wait(ms: number): Promise<void>
  /** The links to the style sheet of the pages; undefined: they have none. */
  styleLinks: ((language: Language) => Promise<string>) | undefined
  is_https: boolean
  brand: () => Promise<Brand>
}

const CACHED = 'public, max-age=15'
/** Once would do. */
const DRAWN_AGAIN_MS = 86_400_000
const gzipped = promisify(gzip)

/** Nothing runs, and nothing is loaded but our own style sheet and its typeface. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

type PrintedPage = { status: Status; brand: Brand; bytes: Promise<{ plain: Buffer; gzip: Buffer }> }

/** The pages; and a step that draws the first of them in each language when
 *  the process begins, because what draws it is slow the first time. Who asks meanwhile waits for
 *  the same drawing. */
export function statusPages(needs: Needs): { pages: Page[]; drawStep: Step } {
  const { read } = needs
  const printed = new Map<string, PrintedPage>()

  async function print(status: Status, brand: Brand, visitor: Visitor) {
    // A page without its looks still tells what it is for.
    const style_links = await needs.styleLinks?.(visitor.language).catch(() => '')
    const text = statusDocument({ status, visitor, brand, style_links: style_links ?? '' })
    const plain = Buffer.from(text)
    return { plain, gzip: await gzipped(plain, { level: 9 }) }
  }
  function printedFor(status: Status, brand: Brand, visitor: Visitor): PrintedPage['bytes'] {
    const key = `${visitor.language} ${visitor.theme}`
    const kept = printed.get(key)
    if (kept?.status === status && kept.brand === brand) return kept.bytes
    const bytes = print(status, brand, visitor)
    printed.set(key, { status, brand, bytes })
    return bytes
  }

  const drawStep: Step = {
    name: 'draw_status',
    rest_ms: DRAWN_AGAIN_MS,
    async run() {
      const [status, brand] = [await read(), await needs.brand()]
      for (const language of LANGUAGES) await printedFor(status, brand, { language, theme: null })
      return false
    },
  }

  const pages: Page[] = [
    {
      path: '/status',
      summary: 'How each part of the service does and did, for a browser',
      async handle({ query, headers }) {
        const chosen = LANGUAGES.find((language) => language === query.get('language'))
        const visitor = visitorOf(headers)
        const { plain, gzip } = await printedFor(await read(), await needs.brand(), {
          ...visitor,
          language: chosen ?? visitor.language,
        })
        const compressed = acceptsEncoding(String(headers['accept-encoding'] ?? ''), 'gzip')
        return {
          status: 200,
          code: 0,
          content_type: 'text/html; charset=utf-8',
          body: compressed ? gzip : plain,
          headers: {
            ...documentHeaders(needs),
            'content-security-policy': POLICY,
            'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
            'cache-control': CACHED,
            vary: 'accept-encoding, accept-language, cookie',
            ...(compressed && { 'content-encoding': 'gzip' }),
          },
        }
      },
    },
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
  return { pages, drawStep }
}
