// What customers do in the portal with their money, in a real browser: put some in, read what came
// and went.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { paying, transact } from 'penstock-playground/sandbox.ts'
import type { LocalService } from 'penstock-playground/start.ts'
import { Penstock } from 'penstock-sdk'
import {
  type Misdeeds,
  noBrowser,
  startBrowser,
  watchPages,
} from 'penstock-test/harness/browser.ts'
import { type Hands, keyboard, mouse } from 'penstock-test/harness/hands.ts'
import { faultsOfLooks } from 'penstock-test/harness/looks.ts'
import { startSandbox } from 'penstock-test/harness/sandbox.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'

const skip = noBrowser()
/** Generous: the machine may be busy. */
const PATIENCE_MS = 30_000

let sandbox: LocalService
let browser: Browser
let context: BrowserContext
let page: Page
let misdeeds: Misdeeds
let penstock: Penstock
let origin: string

before(async () => {
  if (skip) return
  ;[sandbox, browser] = await Promise.all([startSandbox(), startBrowser()])
  const { token, secret } = sandbox.customer
  penstock = new Penstock({ url: sandbox.api_url, token, secret })
  origin = new URL(sandbox.sign_in.portal).origin
  context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(PATIENCE_MS)
  misdeeds = watchPages(context, origin)
  page = await context.newPage()
  await page.goto(sandbox.sign_in.portal)
  await heading('Home').waitFor()
})

after(async () => {
  await browser?.close()
  await sandbox?.close()
})

const heading = (name: string) => page.getByRole('heading', { level: 1, name })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const link = (name: string) => page.getByRole('link', { name, exact: true }).first()
const field = (name: string) => page.getByLabel(name, { exact: true })
const rows = (name: string) => page.getByRole('table', { name }).getByRole('row')

/** Does a job with the mouse and then with the keyboard alone, from the first page on. */
function job(title: string, clicks_max: number, steps: (hands: Hands) => Promise<void>) {
  for (const which of ['mouse', 'keyboard'] as const)
    test(`${title}, with the ${which}`, { skip }, async (t) => {
      await page.goto(`${origin}/portal`)
      await heading('Home').waitFor()
      const hands = which === 'mouse' ? mouse() : keyboard(page)
      await steps(hands)
      t.diagnostic(`${hands.clicks} clicks`)
      assert.ok(hands.clicks <= clicks_max, `${hands.clicks} clicks`)
    })
}

/** Sends TRX to the customer, as anybody may. Answers the transaction's id. */
async function deposit(sun: bigint): Promise<void> {
  const payer = sandbox.sandbox.funded_accounts.at(-1)!
  const payment = paying(payer, sandbox.customer.deposit_address, sun)
  await transact({ node: sandbox.node, now: () => new Date() }, payer, payment)
}

let deposited_sun = 7_000_000n

job('money is put in, and seen to arrive', 1, async (hands) => {
  await hands.press(link('Money'))
  await heading('Money').waitFor()
  await page.getByRole('img', { name: 'QR code of the deposit address' }).waitFor()
  await button('Copy: address').first().click()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.equal(copied, sandbox.customer.deposit_address)
  deposited_sun += 1_000_001n
  const text = String(Number(deposited_sun) / 1e6)
  await deposit(deposited_sun)
  const row = rows('Deposits').filter({ hasText: text })
  await row.getByText('seen').waitFor()
  await sandbox.control('mine', { blocks: 20 })
  await row.getByText('credited').waitFor()
})

test('one is told when the balance is low', { skip }, async () => {
  await page.goto(`${origin}/portal/money`)
  const sum = field('Tell me when less can be spent (TRX)')
  await sum.fill('a lot')
  await button('Save').click()
  await page.getByText('A sum in TRX, such as 12.5').waitFor()
  assert.equal((await penstock.settings.get()).balance_low, null)
  for (const [typed, set] of [
    ['12.500001', 12.500001],
    ['', null],
  ] as const) {
    await sum.fill(typed)
    await button('Save').click()
    for (let is_set = false; !is_set; ) is_set = (await penstock.settings.get()).balance_low === set
  }
})

const month = (at: Date) => at.toISOString().slice(0, 7)

job('the statement of a month is taken along', 3, async (hands) => {
  const address = sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  const external_id = `=statement-${hands.name}`
  const { id } = await penstock.orders.create({ service: 'energy', params, external_id })
  await penstock.orders.waitFor(id)
  const { balance } = await penstock.balance.get()
  const now = new Date()
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1))
  await hands.press(link('Statement'))
  await heading('Statement').waitFor()
  assert.equal(await page.locator('nav [aria-current=page]').innerText(), 'Statement')
  await rows('Statement').filter({ hasText: external_id }).first().waitFor()
  // The list of a field opens outside of the page: the choice counts as one click.
  hands.clicks++
  await field('Month (UTC)').selectOption(month(before))
  await page.getByText('Nothing came or went in this period.').waitFor()
  await field('Month (UTC)').selectOption(month(now))
  await rows('Statement').filter({ hasText: external_id }).first().waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    hands.press(button('Download CSV')),
  ])
  assert.equal(download.suggestedFilename(), `statement-${month(now)}.csv`)
  const text = await readFile(await download.path(), 'utf8')
  const period = { since: `${month(now)}-01`, until: `${month(next)}-01` }
  assert.equal(text, await penstock.statement.csv(period))
  assert.ok(text.includes(`,energy,'${external_id},`))
  assert.ok(text.trimEnd().endsWith(`,${balance}`))
})

test('a line of the statement leads to its order, and a free period is empty', {
  skip,
}, async () => {
  await page.goto(`${origin}/portal/money/statement`)
  await rows('Statement').getByRole('link', { name: 'energy' }).first().click()
  await page.waitForURL(/\/portal\/orders\/\w{26}$/)
  await page.goto(`${origin}/portal/money/statement`)
  await field('Month (UTC)').selectOption('')
  await field('From').fill('2020-01-01')
  await field('Before').fill('2020-02-01')
  await button('Show').click()
  await page.waitForURL(/since=2020-01-01&until=2020-02-01$/)
  await page.getByText('Nothing came or went in this period.').waitFor()
})

test('on paper there are the lines and no controls', { skip }, async () => {
  await page.goto(`${origin}/portal/money/statement`)
  await rows('Statement').first().waitFor()
  await page.evaluate("window.print = () => document.body.setAttribute('data-printed', '')")
  await button('Print').click()
  await page.locator('body[data-printed]').waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.locator('button:visible').count(), 0)
  assert.ok((await rows('Statement').count()) > 1)
  await page.emulateMedia({ media: null })
})

test('these pages have no barriers', { skip }, async () => {
  const pages = [{ path: '/portal/money' }, { path: '/portal/money/statement' }]
  assert.deepEqual(await faultsOfLooks({ context, page, origin }, pages), [])
})

test('nothing was asked of others, no policy was broken, nothing was thrown', { skip }, () => {
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})
