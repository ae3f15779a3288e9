// What people do in the portal, in a real browser: found by role and name, with the mouse and with
// the keyboard alone. One sandbox and one browser for all of it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { barriers, newContext } from 'penstock-test/harness/browser.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { shiftsOf } from 'penstock-test/harness/layout_shifts.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, field, heading, link, rows, visit } = portal

/** Somebody whom the chain knows. */
const someone = () => portal.sandbox.sandbox.funded_accounts[0]!.address

/** Milliseconds until something is seen. */
async function seen(what: Promise<unknown>): Promise<number> {
  const began = performance.now()
  await what
  return Math.round(performance.now() - began)
}

const buy = (external_id: string) =>
  portal.penstock.orders.create({
    service: 'energy',
    params: { address: someone(), amount: 65_000, duration: 1 },
    external_id,
  })

portal.test('a link signs in, once, and leaves the address', async () => {
  assert.equal(await portal.page.evaluate('location.hash'), '')
  const other = await newContext(portal.browser)
  const again = await other.newPage()
  await again.goto(portal.sandbox.sign_in.portal)
  await again.getByText('This link is not valid, or was already used.').waitFor()
  await other.close()
})

portal.test('a first signed call: what Home shows for the shell works', async () => {
  await portal.page.getByText('First call', { exact: true }).click()
  const line = await portal.page.locator('.code code').innerText()
  const env = {
    ...process.env,
    PENSTOCK_TOKEN: portal.sandbox.customer.token,
    PENSTOCK_SECRET: portal.sandbox.customer.secret,
  }
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env })
  assert.equal((JSON.parse(stdout) as { code: number }).code, 0)
})

portal.test(
  'a first signed call: what the page of a new key shows works as it stands',
  async () => {
    for (const user of ['An existing client', 'Penstock SDK or command line']) {
      await visit('/portal/developers/keys')
      await button('New key').click()
      await field('Name').fill(user)
      await portal.page.getByLabel('What will use this key').selectOption({ label: user })
      await button('Create key').click()
      await portal.page.getByText('Make a first call', { exact: true }).click()
      const line = await portal.page.locator('dialog .code code').innerText()
      const { PATH = '' } = process.env
      const { stdout } = await promisify(execFile)('sh', ['-c', line], { env: { PATH } })
      const { code, result } = JSON.parse(stdout) as { code: number; result: { key: object } }
      assert.deepEqual([code, 'name' in result.key && result.key.name], [0, user])
      assert.equal(line.includes('X-Signature-V2'), user !== 'An existing client')
    }
  },
)

portal.job(
  'bought by hand, the price before',
  { clicks: 3, seconds: 5 },
  async (hands, answered) => {
    const { items } = await portal.penstock.call('/v1/transactions/list', { limit: 1 })
    await hands.press(link('Buy'))
    await hands.type(field('Address'), someone())
    await hands.press(button('Buy'))
    await portal.page.getByText('2.93 TRX').first().waitFor()
    await hands.press(button('Confirm'))
    await heading(/ energy → T/).waitFor()
    await portal.page.getByText(/Delivered in/).waitFor()
    answered()
    const { items: after } = await portal.penstock.call('/v1/transactions/list', { limit: 1 })
    assert.notEqual(after[0]!.id, items[0]?.id)
  },
)

portal.test('the price is there: Enter buys', async () => {
  await visit('/portal/buy')
  await field('Address').fill(someone())
  await portal.page.keyboard.press('Enter')
  // An estimate has the same price: only the quote gives the focus to Confirm.
  await button('Confirm').and(portal.page.locator(':focus')).waitFor()
  await portal.page.keyboard.press('Enter')
  await heading(/ energy → T/).waitFor()
})

const quotesAsked = () => {
  const asked: string[] = []
  portal.page.on('request', (request) => {
    if (/\/v1\/(quote\/new|calculate)$/.test(request.url())) asked.push(request.url())
  })
  return (path: string) => asked.filter((url) => url.endsWith(path)).length
}

portal.test('a price comes while one types, binds nobody, and writes nothing down', async () => {
  const { page } = portal
  const asked = quotesAsked()
  await visit('/portal/buy')
  // One that was bought for, or that paid into a sandbox, is a press away.
  await page
    .getByRole('button', { name: /^Buy for T/ })
    .and(page.getByTitle(someone()))
    .click()
  assert.equal(await field('Address').inputValue(), someone())
  const price = page.getByRole('region', { name: 'Price' })
  await price.getByText('2.93 TRX').first().waitFor()
  await field('Energy').fill('')
  await price.getByText('2.93 TRX').waitFor({ state: 'detached' })
  const typed_ms = performance.now()
  await field('Energy').pressSequentially('131000', { delay: 30 })
  const took_ms = performance.now() - typed_ms
  await price
    .getByText(/5\.\d+ TRX/)
    .first()
    .waitFor()
  assert.equal(await button('Confirm').count(), 0)
  const focused = await page.evaluate<string>('document.activeElement.id')
  assert.equal(focused, await field('Energy').getAttribute('id'))
  // Not one for each key, and nothing that would be a row.
  assert.equal(asked('/quote/new'), 0)
  // Where there was a pause of nearly half a second between two keys, it may be more.
  const calculated = asked('/calculate')
  assert.ok(took_ms < 400 ? calculated === 2 : calculated <= 7, `${calculated} in ${took_ms} ms`)
  await button('Buy').click()
  await page.getByText(/^You save \d+% compared with burning TRX/).waitFor()
  await eventually('Confirm has the focus', async () =>
    button('Confirm').evaluate((one) => one.matches(':focus')),
  )
  assert.equal(asked('/quote/new'), 1)
})

portal.test('an answer that was lost keeps its id, whatever is typed meanwhile', async () => {
  const { page } = portal
  await visit(`/portal/buy?address=${someone()}`)
  await button('Buy').click()
  const before = await page.evaluate<number>(countOrders)
  await page.route('**/v1/quote/accept', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await button('Confirm').click()
  await page.getByText(/we can't tell whether this was bought/).waitFor()
  await page.unroute('**/v1/quote/accept')
  await field('Energy').fill('70000')
  await button('Buy').click()
  await page.getByText(/we can't tell whether this was bought/).waitFor()
  await button('Confirm').click()
  await heading(/ energy → T/).waitFor()
  assert.equal(await page.evaluate<number>(countOrders), before + 1)
})

portal.test('a lost answer is said to be unknown, and never buys twice', async () => {
  await visit('/portal/buy')
  await portal.page.getByLabel('Address', { exact: true }).fill(someone())
  await button('Buy').click()
  const before = await portal.page.evaluate<number>(countOrders)
  await portal.page.route('**/v1/quote/accept', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await button('Confirm').click()
  await portal.page.getByText(/we can't tell whether this was bought/).waitFor()
  await portal.page.unroute('**/v1/quote/accept')
  await button('Confirm').click()
  await heading(/ energy → T/).waitFor()
  assert.equal(await portal.page.evaluate<number>(countOrders), before + 1)
})

portal.test('a refusal of the next try leaves what the first may have bought unknown', async () => {
  const { page } = portal
  const failed = { code: 500, key: 'internal_server_error', error: 'Internal server error' }
  const busy = { code: 429, key: 'rate_limit', error: 'Too many requests' }
  await visit(`/portal/buy?address=${someone()}`)
  await button('Buy').click()
  const before = await page.evaluate<number>(countOrders)
  let tries = 0
  await page.route('**/v1/quote/accept', async (route) => {
    tries += 1
    if (tries === 1) await route.fetch()
    await route.fulfill({ json: tries === 1 ? failed : busy })
  })
  for (const { error } of [failed, busy]) {
    await button('Confirm').click()
    await page.getByText(error).waitFor()
    await page.getByText(/we can't tell whether this was bought/).waitFor()
  }
  await page.unroute('**/v1/quote/accept')
  await field('Energy').fill('70000')
  await button('Confirm').click()
  await heading(/ energy → T/).waitFor()
  assert.deepEqual([tries, await page.evaluate<number>(countOrders)], [2, before + 1])
})

/** In the page, with its session. */
const countOrders = `fetch('/portal/v1/transactions/list', {
  method: 'POST',
  headers: { 'x-penstock': '1', 'content-type': 'application/json' },
  body: '{"limit":100}',
}).then((answer) => answer.json()).then((said) => said.result.items.length)`

for (const by of ['id', 'external id', 'transaction'] as const)
  portal.job(`an order is found by its ${by}`, { clicks: 2, seconds: 0.5 }, async (hands) => {
    const external_id = `found by ${by} with the ${hands.name}`
    const { id } = await buy(external_id)
    const { hash } = await portal.penstock.orders.waitFor(id)
    await hands.shortcut('Control+k')
    const search = portal.page.getByRole('combobox', { name: 'Search' })
    await search.and(portal.page.locator(':focus')).waitFor()
    await hands.paste({ id, 'external id': external_id, transaction: hash! }[by])
    // What was pasted is sent off as a form is, by Enter: that counts none.
    await portal.page.keyboard.press('Enter')
    await heading(/ → T/).waitFor()
    await portal.page.locator('main').getByTitle(id).waitFor()
  })

portal.test('all orders for an address are found by it', async () => {
  const { id } = await buy('found-by-name')
  await portal.penstock.orders.waitFor(id)
  await visit('/portal')
  await portal.page.getByRole('combobox', { name: 'Search' }).fill(someone())
  await portal.page.getByRole('option', { name: /all orders for this address/ }).click()
  await portal.page.getByRole('cell', { name: 'found-by-name' }).waitFor()
})

portal.job('an order says where it is and why', { clicks: 2, seconds: 0.5 }, async (hands) => {
  const delivered = portal.page.getByRole('row').filter({ hasText: 'delivered' })
  await hands.press(delivered.getByRole('link').first())
  await portal.page.getByText(/Delivered in .* Yours until/).waitFor()
  await portal.page.getByText('in a block').waitFor()
})

portal.job(
  'from a line of the statement to the order and its proof, verified here',
  { clicks: 2, seconds: 0.5 },
  async (hands) => {
    await hands.press(link('Statement'))
    await hands.press(rows('Statement').getByRole('link', { name: 'energy' }).first())
    await portal.page.getByText('verified in your browser').waitFor()
  },
)

portal.job('what is left is there at once', { clicks: 0, seconds: 0.5 }, async () => {
  await portal.page.locator('.headline').getByText(/TRX/).first().waitFor()
  await portal.page.getByRole('heading', { level: 3, name: 'Balance' }).waitFor()
})

portal.job('orders are watched', { clicks: 1, seconds: 1 }, async (hands, answered) => {
  await hands.press(link('Orders'))
  await heading('Orders').waitFor()
  await portal.page.getByText(/^● live$/).waitFor()
  // What is bought before the list has come is in the list.
  await rows('Orders').first().waitFor()
  answered()
  const external_id = `watched with the ${hands.name}`
  await buy(external_id)
  await button('1 new').click()
  await portal.page
    .getByRole('row')
    .filter({ hasText: external_id })
    .getByText('delivered')
    .waitFor()
})

portal.test('orders are live, in every tab over one stream', async (t) => {
  let streams = 0
  const count = (request: { url(): string }) => {
    if (request.url().endsWith('/portal/events')) streams++
  }
  portal.context.on('request', count)
  const tabs = [await portal.context.newPage(), await portal.context.newPage()]
  for (const tab of tabs) await tab.goto(`${portal.origin}/portal/orders`)
  await visit('/portal/orders')
  for (const tab of [portal.page, ...tabs]) {
    await tab.getByText(/^● live$/).waitFor()
    await tab.getByRole('row').nth(1).waitFor()
  }
  await buy('live-1')
  const news = [portal.page, ...tabs].map((tab) =>
    tab.getByRole('button', { name: '1 new' }).waitFor(),
  )
  t.diagnostic(`three tabs said so after ${await seen(Promise.all(news))} ms`)
  await button('1 new').click()
  const row = portal.page.getByRole('row').filter({ hasText: 'live-1' })
  t.diagnostic(`delivered after ${await seen(row.getByText('delivered').waitFor())} ms`)
  for (const tab of tabs) await tab.close()
  assert.ok(streams <= 2, `${streams} streams were opened`)
  portal.context.off('request', count)
})

portal.test('the list goes on and back, and the address says where one is', async () => {
  await Promise.all(Array.from({ length: 25 }, (_, i) => buy(`many-${i}`)))
  await buy('many-25')
  await visit('/portal/orders')
  await portal.page.getByText('many-25').waitFor()
  await link('Older').click()
  await portal.page.getByText('found-by-name').waitFor()
  assert.match(portal.page.url(), /before=/)
  await portal.page.reload()
  await portal.page.getByText('found-by-name').waitFor()
  await link('Newer').click()
  await portal.page.getByText('many-25').waitFor()
  await visit('/portal/orders?external_id_prefix=found-by-name')
  await portal.page.getByText('found-by-name').waitFor()
  assert.equal(await portal.page.getByRole('row').count(), 2)
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

portal.test('text of strangers stays text, wherever it stands', async () => {
  for (const text of HOSTILE) await buy(text)
  await visit('/portal/orders')
  for (const text of HOSTILE) {
    // What would turn the words around it is shown as a dot.
    const shown = text.replace('\u202e', '·')
    await portal.page.getByText(shown, { exact: true }).waitFor()
  }
  await visit('/portal')
  await portal.page.getByText(HOSTILE[0]!, { exact: true }).waitFor()
  await portal.page.getByRole('combobox', { name: 'Search' }).fill(HOSTILE[0]!)
  await portal.page.getByRole('option', { name: HOSTILE[0]! }).click()
  await portal.page.getByText(HOSTILE[0]!, { exact: true }).first().waitFor()
  const odd = encodeURIComponent(HOSTILE[1]!)
  for (const path of [`/portal/orders/${odd}`, `/portal/${odd}`, `/portal/orders?status=${odd}`])
    await visit(path)
  assert.equal(await portal.page.evaluate('window.broken'), undefined)
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

portal.looks(async () => {
  const { id } = (await portal.penstock.list('/v1/transactions/list').next()).value!
  return PAGES.map((path) => ({ path: path.replace(':id', id) }))
})

const KILOBYTE = 1_000

const KINDS = {
  js: 'script',
  css: 'stylesheet',
  json: 'words',
  svg: 'icons',
  woff2: 'typeface',
} as const
type Kind = (typeof KINDS)[keyof typeof KINDS]

/** Bytes that a path loads, compressed with gzip as a browser without brotli would get them. */
async function loaded(path: string): Promise<Record<Kind, number>> {
  const names: string[] = []
  const fresh = await portal.anotherBrowser()
  const one = await fresh.newPage()
  one.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/assets/')) names.push(pathname)
  })
  await one.goto(portal.origin + path)
  await one.locator('main h1').waitFor()
  await one.waitForTimeout(500)
  await fresh.close()
  const sizes = { script: 0, stylesheet: 0, words: 0, icons: 0, typeface: 0 }
  for (const name of new Set(names)) {
    const bytes = await gzipSize(name)
    sizes[KINDS[name.split('.').at(-1) as keyof typeof KINDS]] += bytes
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
    portal.origin + path,
  ])
  return Number(stdout)
}

const MAIN_PAGES = ['', '/buy', '/orders', '/subscriptions', '/screening', '/money', '/settings']
const SHIFT_MAX = 0.02

portal.test('nothing moves while a page comes, whatever is answered last', async () => {
  const { page, origin } = portal
  // Each answer comes a little later than the one that was asked for before.
  let late_ms = 0
  await page.route('**/portal/v1/**', async (route) => {
    late_ms = (late_ms + 170) % 600
    await new Promise((resolve) => setTimeout(resolve, late_ms))
    await route.continue().catch(() => {})
  })
  const moved: object[] = []
  for (const path of MAIN_PAGES) {
    const { sum, parts } = await shiftsOf(page, `${origin}/portal${path}`)
    if (sum > SHIFT_MAX) moved.push({ path, sum, parts })
  }
  await page.unroute('**/portal/v1/**')
  assert.deepEqual(moved, [])
})

portal.test('what is loaded first is small', async (t) => {
  const home = await loaded('/portal')
  t.diagnostic(`Home: ${JSON.stringify(home)}`)
  assert.ok(home.script <= 35 * KILOBYTE, `${home.script} bytes of scripts`)
  // The typeface comes beside it: a page that has it late is drawn without it.
  const needed = home.script + home.stylesheet + home.words + home.icons
  assert.ok(needed <= 60 * KILOBYTE, `${needed} bytes before there is data`)
  assert.ok(home.typeface <= 40 * KILOBYTE, `${home.typeface} bytes of typeface`)
  // Of the words a sixth explains refusals, on a page that few look at: they should come with it.
  assert.ok(home.stylesheet <= 10 * KILOBYTE, `${home.stylesheet} bytes of styles`)
  assert.ok(home.words <= 13 * KILOBYTE, `${home.words} bytes of words`)
  for (const path of ['/portal/buy', '/portal/orders', '/portal/developers/events']) {
    const { script } = await loaded(path)
    assert.ok(script <= home.script + 15 * KILOBYTE, `${path}: ${script} bytes of scripts`)
  }
})

portal.behaves()

portal.test('signing out ends it, and whatever page is asked for asks to sign in', async () => {
  await visit('/portal')
  await portal.page.getByText('Sandbox owner', { exact: true }).first().click()
  await button('Sign out').click()
  await heading('Sign in').waitFor()
  await visit('/portal/orders')
  await heading('Sign in').waitFor()
  assert.deepEqual(await barriers(portal.page), [])
})
