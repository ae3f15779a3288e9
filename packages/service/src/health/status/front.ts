// The first page, for those who open the address of the service in a browser: whether it is well,
// the prices of energy beside burning for it, and where to go. No script runs on it: an amount
// that is typed goes to the server and comes back with its price.

import type { Language } from 'penstock-web/build/languages.ts'
import { escaped } from '../../lib/html.ts'
import { trxText } from '../../lib/json.ts'
import { leastPriceOf, type Prices } from '../../market/prices/prices.ts'
import type { Page } from '../../platform/http/pages.ts'
import { transportRefusal } from '../../platform/wire/replies.ts'
import type { Brand } from '../../web/brand.ts'
import { accentLink, documentHeaders, houseFooter } from '../../web/shell.ts'
import { visitorOf } from '../../web/visitor.ts'
import { stateMark, worstState } from './document.ts'
import type { Status } from './report.ts'
import { type Words, wordsOf } from './words.ts'

export type Needs = {
  read(): Promise<Status>
  prices(): Promise<Prices>
  /** Of 1000 energy, in sun; undefined: the chain has not said. */
  burnPrice(): Promise<bigint | undefined>
  brand(): Promise<Brand>
  /** The links to the style sheet of the pages, as text of HTML. */
  styleLinks(language: Language): Promise<string>
  is_https: boolean
}

const LINKS = ['/portal', '/docs', '/status', '/openapi.json'] as const
/** A transfer of USDT to an address that has some, and to one that has none. */
const USUAL = { transfer: 65_000, transfer_to_new: 131_000 } as const

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

type Price = { energy: number; sun: bigint | undefined; burning_sun: bigint | undefined }

async function offerOf(needs: Needs, query: URLSearchParams, words: Words): Promise<string> {
  const [prices, burn] = await Promise.all([needs.prices(), needs.burnPrice()])
  const priceOf = (energy: number): Price => {
    const sun = isSold(prices, energy) ? leastPriceOf(prices, BigInt(energy)) : undefined
    return { energy, sun, burning_sun: burn && (burn * BigInt(energy)) / 1_000n }
  }
  const typed = query.get('energy')?.replace(/[\s,.'\u2009]/g, '')
  const chosen = typed !== undefined && /^\d{1,9}$/.test(typed) ? Number(typed) : undefined
  const amounts = [...new Set([...Object.values(USUAL), ...(chosen === undefined ? [] : [chosen])])]
  const rows = amounts.map((energy) => priceRow(priceOf(energy), words))
  const columns = ['front.for', 'front.price', 'front.burning'] as const
  const heads = columns.map((one) => `<th scope="col">${escaped(words.say(one))}</th>`)
  return (
    `<section class="panel" aria-label="${escaped(words.say('front.prices'))}">` +
    `<div class="table-frame"><table><caption>${escaped(words.say('front.prices'))}</caption>` +
    `<thead><tr>${heads.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>` +
    calculator(chosen ?? USUAL.transfer, words) +
    `<p><a class="button main" href="/buy?energy=${chosen ?? USUAL.transfer}">` +
    `${escaped(words.say('front.buy'))}</a></p></section>`
  )
}

/** An order has a largest amount; less than the least is bought as that. */
const isSold = ({ tiers }: Prices, energy: number): boolean =>
  energy > 0 &&
  tiers.some(({ resource, max_amount }) => resource === 'energy' && energy <= max_amount)

function priceRow({ energy, sun, burning_sun }: Price, words: Words): string {
  const usual =
    energy === USUAL.transfer
      ? ` ${words.say('front.transfer')}`
      : energy === USUAL.transfer_to_new
        ? ` ${words.say('front.transfer_to_new')}`
        : ''
  const price = sun === undefined ? words.say('front.not_sold') : `${trxText(sun)} TRX`
  const is_less = sun !== undefined && burning_sun !== undefined && sun < burning_sun
  const saved = is_less ? Number(((burning_sun - sun) * 100n) / burning_sun) : undefined
  const burning =
    burning_sun === undefined
      ? '–'
      : `${trxText(burning_sun)} TRX` +
        (saved === undefined ? '' : ` (${words.say('front.saved', { n: saved })})`)
  return (
    `<tr><td>${escaped(words.say('front.energy', { n: energy }))}` +
    `<span class="quiet">${escaped(usual)}</span></td>` +
    `<td><strong>${escaped(price)}</strong></td><td>${escaped(burning)}</td></tr>`
  )
}

const calculator = (energy: number, words: Words): string =>
  `<form method="get" action="/" class="calculator"><label for="energy">` +
  `${escaped(words.say('recharge.energy'))}</label>` +
  `<input id="energy" name="energy" inputmode="numeric" autocomplete="off" maxlength="12" ` +
  `value="${energy}"> ` +
  `<button type="submit">${escaped(words.say('front.calculate'))}</button></form>`

function links(words: Words): string {
  const items = LINKS.map((href) => {
    const title = escaped(words.say(`link.${href}`))
    const what = escaped(words.say(`link.${href}.what`))
    return `<li><a href="${href}"><strong>${title}</strong> ${what}</a></li>`
  })
  return `<ul class="links">${items.join('\n')}</ul>`
}
