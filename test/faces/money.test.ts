// What customers do in the portal with their money, in a real browser: put some in, read what came
// and went.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { paying, transact } from 'penstock-playground/sandbox.ts'
import { summarizeStep } from 'penstock-service/ledger/statements/summaries.ts'
import { issueInvoicesStep } from 'penstock-service/treasury/invoices/issuing.ts'
import { barriers, isTooWide } from 'penstock-test/harness/browser.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

// Its month ends before those of others, and invoices have one row of numbers.
const portal = newPortal({ alone: true })
const { button, field, heading, link, rows } = portal

/** Sends TRX to the customer, as anybody may. Answers the transaction's id. */
async function deposit(sun: bigint): Promise<void> {
  const payer = portal.sandbox.sandbox.funded_accounts.at(-1)!
  const payment = paying(payer, portal.sandbox.customer.deposit_address, sun)
  await transact({ node: portal.sandbox.node, now: () => new Date() }, payer, payment)
}

let deposited_sun = 7_000_000n

portal.job('money is put in, and seen to arrive', 1, async (hands) => {
  await hands.press(link('Money'))
  await heading('Money').waitFor()
  await portal.page.getByRole('img', { name: 'QR code of the deposit address' }).waitFor()
  await button('Copy: address').first().click()
  const copied = await portal.page.evaluate<string>('navigator.clipboard.readText()')
  assert.equal(copied, portal.sandbox.customer.deposit_address)
  deposited_sun += 1_000_001n
  const text = String(Number(deposited_sun) / 1e6)
  await deposit(deposited_sun)
  const row = rows('Deposits').filter({ hasText: text })
  // Its block is solid by itself some seconds later.
  await row
    .getByText(/seen|credited/)
    .first()
    .waitFor()
  await portal.sandbox.control('mine', { blocks: 20 })
  await row.getByText('credited').waitFor()
})

portal.job(
  'one is warned when it runs low',
  { clicks: 3, seconds: 0.5 },
  async (hands, answered) => {
    const sum = hands.name === 'mouse' ? 500 : 501
    await hands.press(link('Money'))
    await hands.type(field('Notify me when the available balance is below (TRX)'), String(sum))
    await hands.press(button('Save'))
    await portal.page.getByText('Saved.').first().waitFor()
    answered()
    assert.equal((await portal.penstock.settings.get()).balance_low, sum)
  },
)

portal.test('one is told when the balance is low', async () => {
  const before = (await portal.penstock.settings.get()).balance_low
  await portal.page.goto(`${portal.origin}/portal/money`)
  const sum = field('Notify me when the available balance is below (TRX)')
  await sum.fill('a lot')
  await button('Save').click()
  await portal.page.getByText('Enter an amount in TRX, such as 12.5').waitFor()
  assert.equal((await portal.penstock.settings.get()).balance_low, before)
  for (const [typed, set] of [
    ['12.500001', 12.500001],
    ['', null],
  ] as const) {
    await sum.fill(typed)
    await button('Save').click()
    const look = () => portal.penstock.settings.get()
    await eventually('it is set', async () => (await look()).balance_low === set)
  }
})

const month = (at: Date) => at.toISOString().slice(0, 7)

portal.job('the statement of a month is taken along', 3, async (hands) => {
  const address = portal.sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  const external_id = `=statement-${hands.name}`
  const { id } = await portal.penstock.orders.create({ service: 'energy', params, external_id })
  await portal.penstock.orders.waitFor(id)
  const { balance } = await portal.penstock.balance.get()
  const now = new Date()
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1))
  await hands.press(link('Statement'))
  await heading('Statement').waitFor()
  assert.equal(
    await portal.page.locator('#navigation [aria-current=page]').innerText(),
    'Statement',
  )
  await rows('Statement').filter({ hasText: external_id }).first().waitFor()
  // The list of a field opens outside of the page: the choice counts as one click.
  hands.clicks++
  await field('Month (UTC)').selectOption(month(before))
  await portal.page.getByText('No entries in this period.').waitFor()
  await field('Month (UTC)').selectOption(month(now))
  await rows('Statement').filter({ hasText: external_id }).first().waitFor()
  const [download] = await Promise.all([
    portal.page.waitForEvent('download'),
    hands.press(button('Download CSV')),
  ])
  assert.equal(download.suggestedFilename(), `statement-${month(now)}.csv`)
  const text = await readFile(await download.path(), 'utf8')
  const period = { since: `${month(now)}-01`, until: `${month(next)}-01` }
  assert.equal(text, await portal.penstock.statement.csv(period))
  assert.ok(text.includes(`,energy,'${external_id},`))
  assert.ok(text.trimEnd().endsWith(`,${balance}`))
})

portal.test('a line of the statement leads to its order, and a free period is empty', async () => {
  await portal.page.goto(`${portal.origin}/portal/money/statement`)
  await rows('Statement').getByRole('link', { name: 'energy' }).first().click()
  await portal.page.waitForURL(/\/portal\/orders\/\w{26}$/)
  await portal.page.goto(`${portal.origin}/portal/money/statement`)
  await field('Month (UTC)').selectOption('')
  await field('From').fill('2020-01-01')
  await field('Before').fill('2020-02-01')
  await button('Show').click()
  await portal.page.waitForURL(/since=2020-01-01&until=2020-02-01$/)
  await portal.page.getByText('No entries in this period.').waitFor()
})

portal.test('on paper there are the lines and no controls', async () => {
  await portal.page.goto(`${portal.origin}/portal/money/statement`)
  await rows('Statement').first().waitFor()
  await portal.page.evaluate("window.print = () => document.body.setAttribute('data-printed', '')")
  await button('Print').click()
  await portal.page.locator('body[data-printed]').waitFor()
  await portal.page.emulateMedia({ media: 'print' })
  assert.equal(await portal.page.locator('button:visible').count(), 0)
  assert.ok((await rows('Statement').count()) > 1)
  await portal.page.emulateMedia({ media: null })
})

/** The month ends, as far as invoices know. */
async function endMonth(): Promise<string> {
  const { sql } = portal.sandbox
  const now = new Date()
  const next_month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2))
  const needs = { sql, clock: { now: () => next_month }, issuer: 'Example Energy Ltd' }
  return eventually('an invoice is issued', async () => {
    await summarizeStep(needs).run()
    await issueInvoicesStep(needs).run()
    const [invoice] = await Array.fromAsync(portal.penstock.invoices.list())
    return invoice?.month
  })
}

portal.job('the invoice of a month is read and printed', 3, async (hands) => {
  const ended = await endMonth()
  await hands.press(link('Invoices'))
  await hands.press(link('Invoice 1'))
  await heading('Invoice 1').waitFor()
  const { lines, total } = await portal.penstock.call('/v1/invoice/check', { number: 1 })
  await rows('Lines').filter({ hasText: 'energy 65000' }).waitFor()
  assert.equal(await rows('Lines').count(), lines.length + 1)
  await portal.page.locator('.headline').getByText(String(total)).waitFor()
  await portal.page.evaluate("window.print = () => document.body.setAttribute('data-printed', '')")
  await hands.press(button('Print'))
  await portal.page.locator('body[data-printed]').waitFor()
  await portal.page.emulateMedia({ media: 'print' })
  assert.equal(await portal.page.locator('button:visible').count(), 0)
  await portal.page.getByText('Example Energy Ltd').waitFor()
  await portal.page.emulateMedia({ media: null })
  await portal.page.getByRole('link', { name: /statement of this month/ }).click()
  await heading('Statement').waitFor()
  assert.equal(await field('Month (UTC)').inputValue(), ended)
  await portal.page.goBack()
  await rows('Lines').getByRole('link').first().click()
  await heading('Orders').waitFor()
  await rows('Orders').getByText('delivered').first().waitFor()
})

portal.test(
  'an invoice for paper: no scripts, right on a phone, in the chosen language',
  async () => {
    await portal.visit('/portal/money/invoices/1')
    const opening = portal.context.waitForEvent('page')
    await link('Printable page').click()
    const paper = await opening
    await paper.getByRole('heading', { level: 1, name: 'Invoice 1' }).waitFor()
    const { lines, sha256 } = await portal.penstock.call('/v1/invoice/check', { number: 1 })
    assert.equal(await paper.locator('tbody tr').count(), lines.length)
    await paper.getByText(sha256).waitFor()
    for (const width of [375, 1280]) {
      await paper.setViewportSize({ width, height: 800 })
      assert.equal(await isTooWide(paper), false, `${width}`)
      assert.deepEqual(await barriers(paper), [], `${width}`)
    }
    assert.equal(await paper.locator('script, [style]').count(), 0)
    const language = { name: 'penstock-language', url: portal.origin }
    await portal.context.addCookies([{ ...language, value: 'ru' }])
    await paper.reload()
    await paper.getByRole('heading', { level: 1, name: 'Счёт 1' }).waitFor()
    await portal.context.addCookies([{ ...language, value: 'en' }])
    // Of another customer, or none: the page of the portal says so.
    await paper.goto(`${portal.origin}/portal/invoices/999`)
    assert.equal(new URL(paper.url()).pathname, '/portal/money/invoices/999')
    await paper.close()
  },
)

portal.looks([
  { path: '/portal/money' },
  { path: '/portal/money/statement' },
  { path: '/portal/money/invoices' },
  { path: '/portal/money/invoices/1' },
])

portal.behaves()
