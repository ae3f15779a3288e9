// Whether pages have room for what customers really have: long ids, keys with every limit, a phone
// and a thumb. And how many files come before what one wants to see.

import assert from 'node:assert/strict'
import { newContext } from 'penstock-test/harness/browser.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'
import type { Locator } from 'playwright-core'

const portal = newPortal()
const { button, rows, visit } = portal

/** As long as may be, without a place to break. */
const LONGEST_ID = 'shop-'.padEnd(128, 'x')
const PHONE = { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true }

const someone = () => portal.sandbox.sandbox.funded_accounts[0]!.address
const buy = (external_id: string) =>
  portal.penstock.orders.create({
    service: 'energy',
    params: { address: someone(), amount: 65_000, duration: 1 },
    external_id,
  })

/** Whether a table goes on behind the edge of its place, where nobody looks. */
const hasMore = (table: Locator): Promise<boolean> =>
  table.evaluate((element) => {
    const { parentElement: frame } = element as unknown as { parentElement: Measures }
    return frame.scrollWidth > frame.clientWidth
  })
/** Whether lines of a text are left out. */
const isCut = (element: unknown): boolean => {
  const { scrollHeight, clientHeight } = element as Measures
  return scrollHeight > clientHeight + 1
}
type Measures = Record<'scrollWidth' | 'clientWidth' | 'scrollHeight' | 'clientHeight', number>

const table = (name: string) => portal.page.getByRole('table', { name })

portal.test('an id of a customer of any length leaves all columns in sight', async () => {
  await buy(LONGEST_ID)
  await buy('short')
  for (const [path, name] of [
    ['/portal', 'Recent orders'],
    ['/portal/orders', 'Orders'],
    ['/portal/money/statement', 'Statement'],
  ] as const) {
    await visit(path)
    const row = rows(name).filter({ hasText: LONGEST_ID }).first()
    await row.waitFor()
    assert.equal(await hasMore(table(name)), false, path)
    const { height } = (await row.boundingBox())!
    assert.ok(height <= 64, `${path}: a row of ${height} px`)
    // Whole for those who point at it, and on paper.
    await portal.page.emulateMedia({ media: 'print' })
    const id = row.getByTitle(LONGEST_ID)
    assert.equal(await id.evaluate(isCut), false)
    assert.equal(await hasMore(table(name)), false, `${path} on paper`)
    await portal.page.emulateMedia({ media: 'screen' })
  }
})

/** The page gives the focus, and a menu its place, a moment after what was pressed. */
const hasFocus = (one: Locator) =>
  eventually('it has the focus', () => one.evaluate((element) => element.matches(':focus')))
const isWhole = (one: Locator) =>
  eventually('it is whole in the window', async () => {
    const { x, y, width, height } = (await one.boundingBox())!
    return x >= 0 && x + width <= 1280 && y >= 0 && y + height <= 900
  })

portal.test('what can be done to a key is in sight, whatever the key may do', async () => {
  const { keys } = portal.penstock
  const { key } = await keys.create({
    name: 'a-key-of-the-billing-service-in-frankfurt',
    scopes: ['read', 'buy', 'aml', 'money', 'webhooks', 'manage'],
    networks: ['203.0.113.0/24', '2001:db8:85a3:8d3:1319:8a2e:370:7348'],
    daily_cap: 12_345.678,
    require_v2: true,
    ends_at: '2030-01-01T00:00:00Z',
  })
  await keys.rotate({ id: key.id, overlap_hours: 24 })
  await visit('/portal/developers/keys')
  const row = rows('Keys').filter({ hasText: key.name })
  await row.waitFor()
  assert.equal(await hasMore(table('Keys')), false)
  for (const name of ['Rotate secret', 'Revoke', 'More for']) {
    const { x, width } = (await button(`${name} ${key.name}`).boundingBox())!
    assert.ok(x + width <= 1280, `${name} ends at ${x + width}`)
  }
  // The rest is a menu: over the page, whole, shut by Escape, which leaves the focus where it was.
  const more = button(`More for ${key.name}`)
  const change = button(`Change ${key.name}`)
  assert.equal(await change.isVisible(), false)
  await more.press('Enter')
  await change.waitFor()
  await isWhole(change)
  await portal.page.keyboard.press('Tab')
  await hasFocus(change)
  await portal.page.keyboard.press('Escape')
  await change.waitFor({ state: 'hidden' })
  await hasFocus(more)
  // Shut again by what is chosen in it, and when the dialog is closed one is back at it.
  await more.press('Enter')
  await change.press('Enter')
  await portal.page.getByRole('dialog').waitFor()
  assert.equal(await change.isVisible(), false)
  await portal.page.keyboard.press('Escape')
  await portal.page.getByRole('dialog').waitFor({ state: 'hidden' })
  await hasFocus(more)
  const { height } = (await row.boundingBox())!
  assert.ok(height <= 190, `a row of ${height} px`)
  // Where the table is wider than its place, they stay.
  await portal.page.setViewportSize({ width: 820, height: 800 })
  const { x, width } = (await button(`Revoke ${key.name}`).boundingBox())!
  assert.ok(x + width <= 820, `Revoke ends at ${x + width}`)
  await portal.page.setViewportSize({ width: 1280, height: 900 })
})

/** Buttons and fields that a thumb may miss. */
const SMALL_TARGETS = `[...document.querySelectorAll('button, select, summary, input, a.button')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => one.type !== 'checkbox' && one.type !== 'radio')
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 1 && (width < 44 || height < 44))
  .map(([one, { width, height }]) => one.outerHTML.slice(0, 80) + ' ' + width + ' x ' + height)`

portal.test('on a phone the header is one row, and nothing is too small for a thumb', async () => {
  await Promise.all(Array.from({ length: 10 }, (_, i) => buy(`phone-${i}`)))
  for (const language of ['en', 'zh', 'ru']) {
    const context = await newContext(portal.browser, {
      ...PHONE,
      storageState: await portal.context.storageState(),
    })
    const cookie = { name: 'penstock-language', value: language, url: portal.origin }
    await context.addCookies([cookie])
    const page = await context.newPage()
    for (const path of ['', '/buy', '/orders', '/developers/keys', '/screening', '/money']) {
      await page.goto(`${portal.origin}/portal${path}`)
      await page.locator('main h1').waitFor()
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      const { height } = (await page.locator('header.top').boundingBox())!
      assert.ok(height <= 57, `${language} ${path}: a header of ${height} px`)
      assert.deepEqual(await page.evaluate(SMALL_TARGETS), [], `${language} ${path}`)
    }
    await page.goto(`${portal.origin}/portal`)
    await page.getByRole('table').getByRole('row').nth(10).waitFor()
    const length = await page.evaluate<number>('document.documentElement.scrollHeight')
    assert.ok(length <= 2_400, `${language}: Home is ${length} px long`)
    await context.close()
  }
})

portal.test('on a phone one searches, and finds what the header has no room for', async () => {
  const context = await newContext(portal.browser, {
    ...PHONE,
    storageState: await portal.context.storageState(),
  })
  const page = await context.newPage()
  await page.goto(`${portal.origin}/portal`)
  await page.getByRole('button', { name: 'Search' }).tap()
  const field = page.getByRole('combobox', { name: 'Search' })
  await field.fill('phone-3')
  await page.getByRole('option', { name: 'phone-3' }).tap()
  await page.getByRole('heading', { level: 1, name: / → T/ }).waitFor()
  await field.waitFor({ state: 'hidden' })
  await page.locator('.user summary').tap()
  await page.getByRole('combobox', { name: 'Language' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await context.close()
})

portal.test('Home asks for few files before it has its data', async (t) => {
  const fresh = await portal.anotherBrowser()
  const page = await fresh.newPage()
  const files: string[] = []
  page.on('request', (request) => {
    if (request.resourceType() !== 'fetch' || /\.json$/.test(request.url()))
      files.push(new URL(request.url()).pathname)
  })
  await page.goto(`${portal.origin}/portal`)
  await page.locator('.headline').getByText(/TRX/).first().waitFor()
  await page.getByRole('table', { name: 'Recent orders' }).waitFor()
  t.diagnostic(`${files.length} files: ${files.join(' ')}`)
  assert.ok(files.length <= 12, `${files.length} files`)
  await fresh.close()
})

portal.behaves()
