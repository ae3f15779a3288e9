// What is not lost: the page one looks at while the service is away, what was typed when a session
// ends, the place where one was. And what is not left on the screen.

import assert from 'node:assert/strict'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, field, heading, link, rows, visit } = portal

const someone = () => portal.sandbox.sandbox.funded_accounts[0]!.address
const order = (external_id: string) =>
  portal.penstock.orders.create({
    service: 'energy',
    params: { address: someone(), amount: 65_000, duration: 1 },
    external_id,
  })

portal.test('a page that cannot be loaded now takes nothing away, and comes later', async () => {
  const { context, page } = portal
  await visit('/portal')
  await rows('Recent orders').or(page.getByText('First call')).first().waitFor()
  await context.setOffline(true)
  await link('Invoices').click()
  await page.getByRole('alert').getByRole('button', { name: 'Retry' }).waitFor()
  await heading('Invoices').waitFor()
  // What was there before is there still.
  await page.goBack()
  await heading('Home').waitFor()
  await page.goForward()
  // Until then Home is there, whose own questions can be asked again too.
  await heading('Invoices').waitFor()
  // Taken before: once there is a network the page may ask again by itself, and take it away.
  await button('Retry').first().waitFor()
  const retry = await button('Retry').first().elementHandle()
  await context.setOffline(false)
  await retry?.dispatchEvent('click')
  await page.getByText(/No invoices yet/).waitFor()
})

portal.test('while the hours of a first day are asked for, nothing untrue is said', async () => {
  const { page } = portal
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  await page.route('**/v1/summary', async (route) => {
    if (route.request().postData()?.includes('hour')) await held
    await route.continue()
  })
  await visit('/portal')
  await page.getByRole('heading', { level: 3, name: 'Balance' }).waitFor()
  assert.equal(await page.getByText('No balance yet').count(), 0)
  await page.getByText(/TRX now\. The chart begins/).waitFor()
  goOn()
  await page.unrouteAll({ behavior: 'wait' })
})

portal.test('what was typed is there again after signing in again', async () => {
  const { context, page } = portal
  await visit('/portal/buy')
  await field('Address').fill(someone())
  await field('Energy').fill('77000')
  const cookies = await context.cookies()
  // Taken before: the page may notice by itself that the session has ended, and hide the form.
  const buy = await button('Buy').elementHandle()
  await context.clearCookies()
  await buy?.dispatchEvent('click')
  await heading('Sign in').waitFor()
  assert.equal(await field('Energy').isVisible(), false)
  // Whether the password is right is another test's.
  await context.addCookies(cookies)
  await page.route('**/portal/session/password', (route) => route.fulfill({ json: { code: 0 } }))
  await page.getByText('Use a password instead').click()
  await field('Sign-in name').first().fill('somebody')
  await button('Sign in with a password').click()
  await heading('Buy').waitFor()
  await page.unroute('**/portal/session/password')
  assert.equal(await field('Energy').inputValue(), '77000')
  assert.equal(await page.title(), 'Buy · Penstock')
  await button('Buy').click()
  await button('Confirm').waitFor()
})

portal.test('who goes back is where they were in the list', async () => {
  const { page } = portal
  await Promise.all(Array.from({ length: 25 }, (_, i) => order(`back-${i}`)))
  await visit('/portal/orders')
  const row = rows('Orders').nth(24)
  await row.scrollIntoViewIfNeeded()
  const place = await page.evaluate<number>('scrollY')
  assert.ok(place > 200)
  await row.getByRole('link').first().click()
  await heading(/ energy → T/).waitFor()
  assert.equal(await page.evaluate('scrollY'), 0)
  // The answer comes late: until then the page is short.
  await page.route('**/v1/transactions/list', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    await route.continue()
  })
  await page.goBack()
  await heading('Orders').waitFor()
  await eventually('the place', async () => (await page.evaluate('scrollY')) === place)
  await page.unroute('**/v1/transactions/list')
  // A new page begins at its top.
  await link('Home').click()
  await heading('Home').waitFor()
  assert.equal(await page.evaluate('scrollY'), 0)
})

portal.behaves()

portal.test('a session that is ended elsewhere leaves nothing on the screen', async () => {
  const { page } = portal
  await visit('/portal')
  await page.getByText(/^● live$/).waitFor()
  const balance = page.locator('.headline').first()
  await balance.waitFor()
  const elsewhere = await portal.anotherBrowser()
  const other = await elsewhere.newPage()
  await other.goto(`${portal.origin}/portal`)
  await other.getByText('Sandbox owner', { exact: true }).first().click()
  await other.getByRole('button', { name: 'Sign out', exact: true }).click()
  // Nobody touches the page.
  await heading('Sign in').waitFor()
  assert.equal(await balance.isVisible(), false)
  await elsewhere.close()
})
