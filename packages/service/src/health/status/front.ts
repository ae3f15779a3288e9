// The first page, for those who open the address of the service in a browser: whether it is well,
// prices beside burning, and where to go. No script runs on it: an amount that is typed goes to the
// server and comes back with its price.

import type { Language } from 'penstock-web/build/languages.ts'
import { escaped } from '../../lib/html.ts'
import type { Prices } from '../../market/prices/prices.ts'
import type { Page } from '../../platform/http/pages.ts'
import { transportRefusal } from '../../platform/wire/replies.ts'
import type { Brand } from '../../web/brand.ts'
import { accentLink, documentHeaders, houseFooter } from '../../web/shell.ts'
import { visitorOf } from '../../web/visitor.ts'
import type { BurnPrices } from './burn_price.ts'
import { stateMark, worstState } from './document.ts'
import { pricesHtml } from './front_prices.ts'
import type { Status } from './report.ts'
import { type Words, wordsOf } from './words.ts'

export type Needs = {
  read(): Promise<Status>
  prices(): Promise<Prices>
  burnPrices(): Promise<BurnPrices>
  brand(): Promise<Brand>
  /** The links to the style sheet of the pages, as text of HTML. */
  styleLinks(language: Language): Promise<string>
  is_https: boolean
}

const LINKS = ['/portal', '/docs', '/status', '/openapi.json'] as const

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Programs are answered as everywhere where nothing is. */
export const frontPage = (needs: Needs): Page => ({
  path: '/',
  summary: 'Whether it is well, what it costs, and where to go, for a browser',
  for_browsers_alone: true,
  async handle({ headers, query, request_id }) {
    if (!/\btext\/html\b/.test(headers.accept ?? '')) return transportRefusal(request_id, 404)
    const [brand, status] = await Promise.all([needs.brand(), needs.read()])
    const { language, theme } = visitorOf(headers)
    const words = wordsOf(language)
    // What the house does not show on its status page, it does not show here.
    const offer = status.recharge === null ? '' : await offerOf(needs, query, words)
    const style_links = await needs.styleLinks(language).catch(() => '')
    const body = [
      '<!doctype html>',
      `<html lang="${language}"${theme === null ? '' : ` data-theme="${theme}"`}>`,
      '<head><meta charset="utf-8">',
      '<meta name="viewport" content="width=device-width, initial-scale=1">',
      `<title>${escaped(brand.name)}</title><link rel="icon" href="data:,">`,
      `${style_links}${accentLink(brand)}</head>`,
      `<body><main class="front"><h1>${escaped(brand.name)}</h1>`,
      healthOf(status, words),
      offer,
      links(words),
      `</main>${houseFooter(brand, language)}</body>`,
      '</html>',
      '',
    ].join('\n')
    return {
      status: 200,
      code: 0,
      body,
      content_type: 'text/html; charset=utf-8',
      headers: { ...documentHeaders(needs), 'content-security-policy': POLICY },
    }
  },
})

function healthOf(status: Status, words: Words): string {
  const worst = worstState(status)
  const text = escaped(words.say(`all.${worst}`))
  return `<p><a href="/status">${stateMark(worst)}${text}</a></p>`
}

async function offerOf(needs: Needs, query: URLSearchParams, words: Words): Promise<string> {
  const [prices, burning] = await Promise.all([needs.prices(), needs.burnPrices()])
  return pricesHtml({ prices, burning, query, words })
}

function links(words: Words): string {
  const items = LINKS.map((href) => {
    const title = escaped(words.say(`link.${href}`))
    const what = escaped(words.say(`link.${href}.what`))
    return `<li><a href="${href}"><strong>${title}</strong> ${what}</a></li>`
  })
  return `<ul class="links">${items.join('\n')}</ul>`
}
