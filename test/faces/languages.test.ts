// Every page in every language, with nothing of another in it. What a program, a customer or the
// chain has written stays as it is: code, ids, names, and what is marked as English.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { noBrowser } from '../harness/browser.ts'
import { consolePage } from '../harness/console_page.ts'
import { listedPages, openPage } from '../harness/listed_pages.ts'
import { newPortal } from '../harness/portal.ts'

const WORDS = join(import.meta.dirname, '../../packages/web/shared/languages')
const PARTS = ['frame', 'codes', 'portal', 'console', 'recharge', 'reference', 'report']

/** Names of things, and words of the trade that each language has taken over. */
const NAMES = new Set(
  (
    'penstock tron trx usdt api sdk cli csv env url json http https id aml utc openapi webhook ' +
    'webhooks curl bearer sha post get tls ed25519 totp sandbox owner admin start olga pst pss ' +
    'nile all worker books roots export'
  ).split(' '),
)

/** What is written on the page by the page itself, a line for each text. */
const TEXTS = `(() => {
  const written_by_others = 'code, pre, [lang]:not(html), .own-id, .long-text, svg'
  const left_out = written_by_others + ', select[aria-label] option'
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const texts = []
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement: parent } = node
    if (parent.closest(left_out) || !parent.checkVisibility()) continue
    const text = node.textContent.trim()
    if (text !== '') texts.push(text)
  }
  return [...new Set(texts)]
})()`

type Catalogue = Record<string, string>
const STATUS = join(import.meta.dirname, '../../packages/service/src/health/status')
const catalogue = async (language: string): Promise<Catalogue> => {
  const files = PARTS.map((part) => join(WORDS, language, `${part}.json`))
  const texts = [...files, join(STATUS, `${language}.json`)].map((file) => readFile(file, 'utf8'))
  return Object.assign({}, ...(await Promise.all(texts)).map((text) => JSON.parse(text)))
}

const english = await catalogue('en')

/** Texts that English has for something that this language says otherwise. */
async function englishOnly(language: string): Promise<ReadonlySet<string>> {
  const own = await catalogue(language)
  const same = new Set(Object.values(own))
  return new Set(Object.values(english).filter((text) => /[a-z]{3}/.test(text) && !same.has(text)))
}

/** Ids, hashes and addresses: some look like three words, by chance. */
const IDS = /\b(?=\w*\d)[\da-z]{20,}\b/g

/** The texts that are of another language than the page. */
function foreign(texts: readonly string[], language: string, of_english: ReadonlySet<string>) {
  if (language === 'en') return texts.filter((text) => /[\u0400-\u04ff\u4e00-\u9fff]/.test(text))
  const other = language === 'zh' ? /[\u0400-\u04ff]/ : /[\u4e00-\u9fff]/
  return texts.filter((text) => {
    if (other.test(text) || of_english.has(text)) return true
    const words =
      text
        .toLowerCase()
        .replace(IDS, ' ')
        .match(/[a-z]{3,}(?![\w-]*[_/:@.])/g) ?? []
    const strange = words.filter((word) => !NAMES.has(word))
    // One word alone may be a name; a sentence is none.
    return strange.length > 2
  })
}

type Walk = { context: BrowserContext; page: Page; origin: string; paths: readonly string[] }

async function strangersOn({ context, page, origin, paths }: Walk): Promise<string[]> {
  const found: string[] = []
  for (const language of ['en', 'zh', 'ru']) {
    const of_english = await englishOnly(language)
    await context.addCookies([{ name: 'penstock-language', value: language, url: origin }])
    for (const path of paths) {
      await openPage(page, origin + path)
      const texts = await page.evaluate<string[]>(TEXTS)
      found.push(
        ...foreign(texts, language, of_english).map((text) => `${language} ${path}: ${text}`),
      )
    }
  }
  await context.addCookies([{ name: 'penstock-language', value: 'en', url: origin }])
  return found
}

const portal = newPortal()

/** Pages of the server, for everybody. */
const PUBLIC = ['/', '/?energy=70000&bandwidth=400&activate=on', '/status']

portal.test('every page of the portal speaks its language, and no other', async () => {
  const address = portal.sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  const { id } = await portal.penstock.orders.create({ service: 'energy', params })
  await portal.penstock.orders.waitFor(id)
  const paths = await listedPages(portal.origin, 'portal')
  assert.ok(paths.length > 15)
  const { context, page, origin } = portal
  const more = [...PUBLIC, `/portal/orders/${id}`, '/portal/none']
  assert.ok(['/buy', '/docs'].every((path) => paths.includes(path)))
  const walk = { context, page, origin, paths: [...paths, ...more] }
  assert.deepEqual(await strangersOn(walk), [])
})

test('every page of the console speaks its language, and no other', {
  skip: noBrowser(),
}, async (t) => {
  const { context, page, url } = await consolePage(t, { role: 'admin' })
  const paths = await listedPages(url, 'console')
  assert.ok(paths.length > 10)
  const parts = [
    ...['people', 'approvals', 'public', 'data'].map((part) => `/console/settings?part=${part}`),
    ...['watching', 'basis'].map((part) => `/console/screening?part=${part}`),
  ]
  const walk = { context, page, origin: url, paths: [...paths, ...parts] }
  assert.deepEqual(await strangersOn(walk), [])
})

test('a stranger is found: a sentence in another language, and a word of the English pages', () => {
  const of_english = new Set(['Orders'])
  const found = (text: string, language: string) => foreign([text], language, of_english).length
  assert.equal(found('Orders', 'ru'), 1)
  assert.equal(found('the account is suspended', 'zh'), 1)
  assert.equal(found('订单', 'ru'), 1)
  assert.equal(found('Заказы', 'en'), 1)
  assert.equal(found('Заказы TRX Penstock', 'ru'), 0)
})
