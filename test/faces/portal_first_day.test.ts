// A customer of the first day, who has nothing yet; and what forms say before anything is lost.

import assert from 'node:assert/strict'
import { sandboxSignIn } from 'penstock-playground/sign_in.ts'
import { newCustomer } from 'penstock-playground/start.ts'
import { correct } from 'penstock-service/treasury/corrections/corrections.ts'
import { newContext } from 'penstock-test/harness/browser.ts'
import { atEndOfFile } from 'penstock-test/harness/ends.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'
import type { Page } from 'playwright-core'

const portal = newPortal()
const { button, field, heading, link, visit } = portal

const someone = () => portal.sandbox.sandbox.funded_accounts[0]!.address

let poor: { page: Page; customer_id: string } | undefined
atEndOfFile(() => poor?.page.context().close())

/** Somebody who has been let in and has paid nothing in yet, on their Home. */
async function poorCustomer() {
  if (!poor) {
    const { sandbox } = portal
    const customer = await newCustomer(sandbox, 'poor')
    const sign_in = await sandboxSignIn({ public_url: undefined }, sandbox, customer)
    const page = await (await newContext(portal.browser)).newPage()
    await page.goto(sign_in.portal)
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    poor = { page, customer_id: customer.customer_id }
  }
  await poor.page.goto(`${portal.origin}/portal`)
  await poor.page.getByText('First call', { exact: true }).waitFor()
  return poor
}

portal.test('a new customer is led to paying in first, and sees no empty axes', async () => {
  const { page, customer_id } = await poorCustomer()
  const step = page.locator('.steps li').first()
  await step.getByText('○').waitFor()
  await page.getByRole('heading', { level: 3, name: 'Balance' }).waitFor()
  assert.equal(await page.locator('.chart').count(), 0)
  const { sandbox } = portal
  const made = {
    made_at: new Date(),
    made_by: 'test',
    reason: 'a first deposit',
    invoice_number: null,
  }
  const correction = { id: sandbox.app.new_id(), customer_id, amount_sun: 1_500_000n, ...made }
  await sandbox.sql.begin((tx) => correct(tx, correction))
  await poorCustomer()
  await step.getByText('●').waitFor()
  await step.getByRole('link', { name: 'Deposit some TRX' }).click()
  await page.getByRole('img', { name: 'QR code of the deposit address' }).waitFor()
})

portal.test('who has too little is told before Confirm, and where to pay in', async () => {
  const { page } = await poorCustomer()
  await page.goto(`${portal.origin}/portal/buy?address=${someone()}&energy=65000`)
  await page.getByRole('button', { name: 'Buy', exact: true }).click()
  const note = page.getByRole('alert')
  await note.getByText('1.43 TRX').waitFor()
  assert.equal(await page.getByText('Balance afterwards').count(), 0)
  assert.ok(await page.getByRole('button', { name: 'Confirm' }).isDisabled())
  await note.getByRole('link', { name: 'Deposit' }).click()
  await page.getByRole('heading', { level: 1, name: 'Money' }).waitFor()
})

portal.test('a purchase on a slow line shows that it is under way', async () => {
  await visit(`/portal/buy?address=${someone()}`)
  await button('Buy').click()
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await portal.page.route('**/v1/quote/accept', async (route) => {
    await held
    await route.continue()
  })
  await button('Confirm').click()
  await portal.page.getByRole('progressbar').waitFor()
  await portal.page.getByText('Buying. This can take a few seconds.').waitFor()
  answer()
  await heading(/ energy → T/).waitFor()
  await portal.page.unroute('**/v1/quote/accept')
})

portal.test('the first field that is wrong gets the focus', async () => {
  await visit('/portal/buy')
  await field('Energy').fill('')
  await button('Buy').click()
  const getsFocus = (name: string) =>
    eventually(`${name} has the focus`, async () => {
      const focused = await portal.page.evaluate<string>('document.activeElement.id')
      return focused === (await field(name).getAttribute('id'))
    })
  await portal.page.getByText('Enter a valid TRON address.').waitFor()
  await getsFocus('Address')
  await field('Address').fill(someone())
  await button('Buy').click()
  await portal.page.getByText('Enter a whole number.').waitFor()
  await getsFocus('Energy')
  await visit('/portal/screening')
  await button('Check').click()
  await portal.page.getByText('Paste an address first.').waitFor()
  await getsFocus('Address or transaction')
})

portal.test('times in UTC stay so', async () => {
  await visit('/portal')
  await portal.page.getByText('Sandbox owner', { exact: true }).first().click()
  await portal.page.getByLabel('Times in UTC').check()
  await portal.page.reload()
  await portal.page.getByText('Sandbox owner', { exact: true }).first().click()
  assert.ok(await portal.page.getByLabel('Times in UTC').isChecked())
  await portal.page.getByLabel('Times in UTC').uncheck()
})

portal.test('an empty page says what to do next', async () => {
  await visit('/portal/money/invoices')
  await link('See charges so far in the statement').click()
  await heading('Statement').waitFor()
  await visit('/portal/developers/refusals')
  await link('See what each code means in the reference').click()
  await heading('Reference').waitFor()
})

portal.test('a refused external id says how long one may be', async () => {
  await visit(`/portal/buy?address=${someone()}`)
  await button('Buy').click()
  await portal.page.route('**/v1/quote/accept', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), external_id: 'x'.repeat(129) }
    await route.continue({ postData: JSON.stringify(body) })
  })
  await button('Confirm').click()
  await portal.page.getByText('An external id must have 1 to 128 characters.').waitFor()
  await portal.page.unroute('**/v1/quote/accept')
})

portal.behaves()
