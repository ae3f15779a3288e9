// Making an account, in a real browser: from the sign-in page to the first page of an account that
// was not there before, through a letter that a mail server was given.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import {
  barriers,
  giveAuthenticator,
  newContext,
  noBrowser,
  watchPages,
} from 'penstock-test/harness/browser.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { type SeenLetter, startMailServer } from 'penstock-test/harness/mail_server.ts'
import { startSandbox } from 'penstock-test/harness/sandbox.ts'
import { sharedBrowser } from 'penstock-test/harness/started_once.ts'

const skip = noBrowser()

/** Long lines are broken on their way. */
const LINK = /http:\/\/localhost:\d+\/portal\/sign-up#[\w-]{43}/

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function firstLetter(seen: readonly SeenLetter[]): Promise<SeenLetter> {
  return eventually('a letter comes', async () => seen[0])
}

test('a stranger makes an account by e-mail and is its owner', { skip }, async (t) => {
  const { port: mail_port, seen } = await startMailServer(t)
  const at = String(await freePort())
  const origin = `http://localhost:${at}`
  const sandbox = await startSandbox({
    at,
    env: {
      PENSTOCK_SIGN_UP: 'yes',
      PENSTOCK_PUBLIC_URL: origin,
      PENSTOCK_SMTP_URL: `smtp://127.0.0.1:${mail_port}`,
      PENSTOCK_LETTERS_FROM: 'penstock@example.com',
    },
  })
  t.after(() => sandbox.close())
  const context = await newContext(await sharedBrowser())
  t.after(() => context.close())
  const misdeeds = watchPages(context, origin)
  const page = await context.newPage()
  await page.goto(`${origin}/portal`)
  await page.getByRole('link', { name: 'Create an account' }).click()
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  await page.getByLabel('E-mail').fill('anna')
  await press('Send the link')
  await page.getByText('Enter an address like name@example.com.').waitFor()
  await page.getByLabel('E-mail').fill('anna@example.com')
  assert.deepEqual(await barriers(page), [])
  await press('Send the link')
  await page.getByText('We have sent an e-mail to anna@example.com.').waitFor()
  const { raw, to } = await firstLetter(seen)
  assert.deepEqual(to, ['anna@example.com'])
  const [link] = LINK.exec(raw.replaceAll('=\r\n', ''))!
  await page.goto(link)
  await page.getByText('anna@example.com is confirmed.').waitFor()
  assert.equal(new URL(page.url()).hash, '')
  assert.deepEqual(await barriers(page), [])
  await press('Create account')
  await page.getByText('Enter a name.').waitFor()
  await page.getByLabel('Account name').fill('Anna & Co')
  await press('Create account')
  await giveAuthenticator(page)
  await page.getByLabel('Sign-in name').fill('anna@example.com')
  await page.locator('form button[type=submit]').click()
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  const [{ customers }] = (await sandbox.sql<{ customers: bigint }>`
    select count(*) as customers from customer where name = 'Anna & Co'`) as [{ customers: bigint }]
  assert.equal(customers, 1n)
  // The letter is used up.
  await page.goto(link)
  await page.getByText('This link is not valid').first().waitFor()
  assert.deepEqual(misdeeds, { ...misdeeds, errors: [] })
})
