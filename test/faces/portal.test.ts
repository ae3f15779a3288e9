// What people do in the portal, in a real browser: found by role and name, with the mouse and with
// the keyboard alone. One sandbox and one browser for all of it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { LocalService } from 'penstock-playground/start.ts'
import { Penstock } from 'penstock-sdk'
import {
  barriers,
  clippedTexts,
  isTooWide,
  type Misdeeds,
  noBrowser,
  startBrowser,
  watchPages,
} from 'penstock-test/harness/browser.ts'
import { startSandbox } from 'penstock-test/harness/sandbox.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'

const skip = noBrowser()
/** Generous: the machine may be busy. The times themselves are printed. */
const PATIENCE_MS = 30_000

let sandbox: LocalService
let browser: Browser
let context: BrowserContext
let page: Page
let misdeeds: Misdeeds
let penstock: Penstock
let origin: string
let address: string

before(async () => {
  if (skip) return
  ;[sandbox, browser] = await Promise.all([startSandbox(), startBrowser()])
  const { token, secret } = sandbox.customer
  penstock = new Penstock({ url: sandbox.api_url, token, secret })
  origin = new URL(sandbox.sign_in.portal).origin
  address = sandbox.sandbox.funded_accounts[0]!.address
  context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
  context.setDefaultTimeout(PATIENCE_MS)
  misdeeds = watchPages(context, origin)
  page = await context.newPage()
})

after(async () => {
  await browser?.close()
  await sandbox?.close()
})

const heading = (name: string | RegExp, at = page) => at.getByRole('heading', { level: 1, name })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const link = (name: string) => page.getByRole('link', { name, exact: true }).first()

/** Milliseconds until something is seen. */
async function seen(what: Promise<unknown>): Promise<number> {
  const began = performance.now()
  await what
  return Math.round(performance.now() - began)
}

async function open(path: string): Promise<void> {
  await page.goto(origin + path)
  await page.locator('main h1').waitFor()
  await page.waitForLoadState('domcontentloaded')
}

const buy = (external_id: string) =>
  penstock.orders.create({
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
    external_id,
  })

test('a link signs in, once, and leaves the address', { skip }, async () => {
  await page.goto(sandbox.sign_in.portal)
  await heading('Home').waitFor()
  assert.ok(!page.url().includes('#'), page.url())
  const other = await browser.newContext()
  const again = await other.newPage()
  await again.goto(sandbox.sign_in.portal)
  await again.getByText('This link is not valid, or was used already.').waitFor()
  await other.close()
})

test('a first signed call: what Home shows for the shell works', { skip }, async () => {
  await page.getByText('First call', { exact: true }).click()
  const line = await page.locator('.code code').innerText()
  const env = {
    ...process.env,
    PENSTOCK_TOKEN: sandbox.customer.token,
    PENSTOCK_SECRET: sandbox.customer.secret,
  }
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env })
  assert.equal((JSON.parse(stdout) as { code: number }).code, 0)
})

test('buying by hand takes three clicks, the price comes before', { skip }, async (t) => {
  await link('Buy').click()
  await page.getByLabel('Address', { exact: true }).fill(address)
  await button('Buy').click()
  await page.getByText('2.93 TRX').first().waitFor()
  await button('Confirm').click()
  t.diagnostic(`seen after ${await seen(heading(/^Order/).waitFor())} ms`)
  t.diagnostic(`delivered after ${await seen(page.getByText(/It took/).waitFor())} ms`)
  assert.equal((await penstock.list('/v1/transactions/list').next()).done, false)
})

test('buying with the keyboard alone', { skip }, async () => {
  const press = (key: string) => page.keyboard.press(key)
  await press('Control+k')
  await page.keyboard.type('Buy')
  await press('Enter')
  await heading('Buy').waitFor()
  for (let i = 0; i < 10; i++) {
    if ((await page.evaluate(focusedLabel)) === 'Address') break
    await press('Tab')
  }
  await page.keyboard.type(address)
  await press('Enter')
  await page.getByText('2.93 TRX').first().waitFor()
  // The price was asked for: the focus is on Confirm.
  await press('Enter')
  await heading(/^Order/).waitFor()
})

/** In the page: the label of the field that has the focus. */
const focusedLabel = 'document.activeElement.labels?.[0]?.textContent'

test('a lost answer is said to be unknown, and never buys twice', { skip }, async () => {
  await open('/portal/buy')
  await page.getByLabel('Address', { exact: true }).fill(address)
  await button('Buy').click()
  const before = await page.evaluate<number>(countOrders)
  await page.route('**/v1/quote/accept', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await button('Confirm').click()
  await page.getByText(/it is not known whether it was bought/).waitFor()
  await page.unroute('**/v1/quote/accept')
  await button('Confirm').click()
  await heading(/^Order/).waitFor()
  assert.equal(await page.evaluate<number>(countOrders), before + 1)
})

/** In the page, with its session. */
const countOrders = `fetch('/portal/v1/transactions/list', {
  method: 'POST',
  headers: { 'x-penstock': '1', 'content-type': 'application/json' },
  body: '{"limit":100}',
}).then((answer) => answer.json()).then((said) => said.result.items.length)`

test('an order is found by id, external id, address and transaction', { skip }, async (t) => {
  const order = await buy('found-by-name')
  const { hash } = await penstock.orders.waitFor(order.id)
  for (const text of [order.id, 'found-by-name', hash!]) {
    await open('/portal')
    await page.keyboard.press('Control+k')
    await page.keyboard.insertText(text)
    await page.keyboard.press('Enter')
    const ms = await seen(heading(`Order ${order.id}`).waitFor())
    t.diagnostic(`${text.slice(0, 16)}: ${ms} ms`)
  }
  await page.getByRole('combobox', { name: 'Search' }).fill(address)
  await page.getByRole('option', { name: /all orders for this address/ }).click()
  await page.getByRole('cell', { name: 'found-by-name' }).waitFor()
})

test('an order says where it is and why, and its receipt is verified here', { skip }, async () => {
  await open('/portal')
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByText(/It took .* The hour is over at/).waitFor()
  await page.getByText('in a block').waitFor()
  await page.getByText('verified, here in the browser').waitFor()
})

test('orders are live, in every tab over one stream', { skip }, async (t) => {
  let streams = 0
  const count = (request: { url(): string }) => {
    if (request.url().endsWith('/portal/events')) streams++
  }
  context.on('request', count)
  const tabs = [await context.newPage(), await context.newPage()]
  for (const tab of tabs) await tab.goto(`${origin}/portal/orders`)
  await open('/portal/orders')
  for (const tab of [page, ...tabs]) await tab.getByText(/^● live$/).waitFor()
  await buy('live-1')
  const news = [page, ...tabs].map((tab) => tab.getByRole('button', { name: '1 new' }).waitFor())
  t.diagnostic(`three tabs said so after ${await seen(Promise.all(news))} ms`)
  await button('1 new').click()
  const row = page.getByRole('row').filter({ hasText: 'live-1' })
  t.diagnostic(`delivered after ${await seen(row.getByText('delivered').waitFor())} ms`)
  for (const tab of tabs) await tab.close()
  assert.ok(streams <= 2, `${streams} streams were opened`)
  context.off('request', count)
})

test('the list goes on and back, and the address says where one is', { skip }, async () => {
  await Promise.all(Array.from({ length: 25 }, (_, i) => buy(`many-${i}`)))
  await buy('many-25')
  await open('/portal/orders')
  await page.getByText('many-25').waitFor()
  await link('Older').click()
  await page.getByText('found-by-name').waitFor()
  assert.match(page.url(), /before=/)
  await page.reload()
  await page.getByText('found-by-name').waitFor()
  await link('Newer').click()
  await page.getByText('many-25').waitFor()
  await open('/portal/orders?external_id_prefix=found')
  await page.getByText('found-by-name').waitFor()
  assert.equal(await page.getByRole('row').count(), 2)
})

const HOSTILE = [
  '<script>window.broken = 1</script>',
  '<img src=x onerror=window.broken=1>',
  '"><svg/onload=window.broken=1>',
  "javascript:window.broken=1//'",
  '{{constructor.constructor("window.broken=1")()}}',
  '\u202egnp.exe <b>bold</b> &lt;i&gt; &amp;',
  '=cmd|calc!A1',
]

test('text of strangers stays text, wherever it stands', { skip }, async () => {
  for (const text of HOSTILE) await buy(text)
  await open('/portal/orders')
  for (const text of HOSTILE) await page.getByText(text, { exact: true }).waitFor()
  await open('/portal')
  await page.getByText(HOSTILE[0]!, { exact: true }).waitFor()
  await page.getByRole('combobox', { name: 'Search' }).fill(HOSTILE[0]!)
  await page.getByRole('option', { name: HOSTILE[0]! }).click()
  await page.getByText(HOSTILE[0]!, { exact: true }).first().waitFor()
  const odd = encodeURIComponent(HOSTILE[1]!)
  for (const path of [`/portal/orders/${odd}`, `/portal/${odd}`, `/portal/orders?status=${odd}`])
    await open(path)
  assert.equal(await page.evaluate('window.broken'), undefined)
})

const PAGES = [
  '/portal',
  '/portal/buy',
  '/portal/orders',
  '/portal/orders/:id',
  '/portal/orders?external_id_prefix=nothing-like-it',
  '/portal/developers/events',
  '/portal/developers/events/1',
  '/portal/nowhere',
]

/** Each language, theme and width once for each page; FACES=all: every one with every other. */
const VIEWS =
  process.env.FACES === 'all'
    ? ['en', 'zh', 'ru'].flatMap((language) =>
        [1280, 375].flatMap((width) => [
          { language, width, colorScheme: 'light' as const },
          { language, width, colorScheme: 'dark' as const },
        ]),
      )
    : [
        { language: 'en', width: 1280, colorScheme: 'light' as const },
        { language: 'zh', width: 1280, colorScheme: 'dark' as const },
        { language: 'ru', width: 375, colorScheme: 'dark' as const },
      ]

test('no page has barriers, in each language, theme and width', { skip }, async () => {
  const { id } = (await penstock.list('/v1/transactions/list').next()).value!
  const found: string[] = []
  for (const { language, width, colorScheme } of VIEWS) {
    await context.addCookies([{ name: 'penstock-language', value: language, url: origin }])
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    for (const path of PAGES) {
      await open(path.replace(':id', id))
      await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
      const lines = await barriers(page)
      if (await isTooWide(page)) lines.push('is too wide')
      lines.push(...(await clippedTexts(page)).map((text) => `is clipped: ${text}`))
      found.push(...lines.map((line) => `${path} ${language} ${width} ${colorScheme}: ${line}`))
    }
  }
  await context.addCookies([{ name: 'penstock-language', value: 'en', url: origin }])
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  assert.deepEqual(found, [])
})

const KILOBYTE = 1_000

/** Bytes that a path loads, compressed with gzip as a browser without brotli would get them. */
async function loaded(path: string): Promise<Record<'script' | 'stylesheet' | 'words', number>> {
  const names: string[] = []
  const fresh = await browser.newContext({ storageState: await context.storageState() })
  const one = await fresh.newPage()
  one.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/assets/')) names.push(pathname)
  })
  await one.goto(origin + path)
  await one.locator('main h1').waitFor()
  await one.waitForTimeout(500)
  await fresh.close()
  const sizes = { script: 0, stylesheet: 0, words: 0 }
  const kinds = { js: 'script', css: 'stylesheet', json: 'words' } as const
  for (const name of new Set(names)) {
    const bytes = await gzipSize(name)
    sizes[kinds[name.split('.').at(-1) as 'js' | 'css' | 'json']] += bytes
  }
  return sizes
}

async function gzipSize(path: string): Promise<number> {
  const { stdout } = await promisify(execFile)('curl', [
    '-s',
    '-o',
    '/dev/null',
    '-w',
    '%{size_download}',
    '-H',
    'Accept-Encoding: gzip',
    origin + path,
  ])
  return Number(stdout)
}

test('what is loaded first is small', { skip }, async (t) => {
  const home = await loaded('/portal')
  t.diagnostic(`Home: ${JSON.stringify(home)}`)
  assert.ok(home.script <= 45 * KILOBYTE, `${home.script} bytes of scripts`)
  assert.ok(home.stylesheet <= 10 * KILOBYTE && home.words <= 10 * KILOBYTE)
  for (const path of ['/portal/buy', '/portal/orders', '/portal/developers/events']) {
    const { script } = await loaded(path)
    assert.ok(script <= home.script + 15 * KILOBYTE, `${path}: ${script} bytes of scripts`)
  }
})

test('nothing was asked of others, no policy was broken, nothing was thrown', { skip }, () => {
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

test('signing out ends it, and whatever page is asked for asks to sign in', { skip }, async () => {
  await open('/portal')
  await page.getByText('Sandbox owner', { exact: true }).first().click()
  await button('Sign out').click()
  await heading('Sign in').waitFor()
  await open('/portal/orders')
  await heading('Sign in').waitFor()
  assert.deepEqual(await barriers(page), [])
})
