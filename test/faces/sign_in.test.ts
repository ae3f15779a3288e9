// Joining and signing in, in a real browser: by a password with the codes of a phone, by a passkey
// (of an authenticator that the browser pretends to have), by a recovery code.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { TOTP } from 'otpauth'
import {
  barriers,
  giveAuthenticator,
  type Misdeeds,
  newContext,
  noBrowser,
  watchPages,
} from 'penstock-test/harness/browser.ts'
import { atEndOfFile } from 'penstock-test/harness/ends.ts'
import { faultsOfLooks } from 'penstock-test/harness/looks.ts'
import { addCustomer, type Sandbox } from 'penstock-test/harness/sandbox.ts'
import { sharedBrowser, sharedSandbox } from 'penstock-test/harness/started_once.ts'
import { PASSWORD } from 'penstock-test/harness/users.ts'
import type { BrowserContext, Page } from 'playwright-core'

const skip = noBrowser()
const MAIN = `${import.meta.dirname}/../../packages/service/src/main.ts`
const STEP_MS = 30_000
/** A session that was just read is not read again before. */
const REMEMBERED_MS = 1_200

let sandbox: Sandbox
let origin: string
const misdeeds: Misdeeds[] = []
const contexts: BrowserContext[] = []
atEndOfFile(() => Promise.all(contexts.map((one) => one.close())))

/** What an operator types to let somebody in; answers the link. */
async function invited(name: string): Promise<string> {
  sandbox ??= await addCustomer(await sharedSandbox())
  origin = new URL(sandbox.sign_in.portal).origin
  const words = [MAIN, 'users', 'invite', sandbox.customer.customer_id, name, '--json']
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, DATABASE_URL: sandbox.database_url, PENSTOCK_PUBLIC_URL: origin }
  const { stdout } = await promisify(execFile)(process.execPath, words, { env })
  return (JSON.parse(stdout) as { link: string }).link
}

/** Somebody's browser. */
async function newPage(): Promise<Page> {
  const context = await newContext(await sharedBrowser())
  contexts.push(context)
  misdeeds.push(watchPages(context, origin))
  return context.newPage()
}

/** The codes of a phone, each given once: the service takes none twice, and those of half a minute
 *  before and after the current one. */
function phone(secret: string): () => Promise<string> {
  let last = 0
  return async () => {
    // Of the step before, while that is good for half a step more at least.
    const step = Math.max(last + 1, Math.floor((Date.now() + STEP_MS / 2) / STEP_MS) - 1)
    last = step
    const early_ms = (step - 1) * STEP_MS - Date.now()
    if (early_ms > 0) await sleep(early_ms + 100)
    return new TOTP({ secret }).generate({ timestamp: step * STEP_MS })
  }
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
/** In the first form of the page, or of a dialog over it. */
const fill = (page: Page, label: string, text: string) =>
  page.getByLabel(label, { exact: true }).first().fill(text)
const CODE = 'Code from the app (6 digits)'
const USED = 'This link is not valid, or was already used.'
const WRONG = 'The name, the password or the code is wrong.'

/** Reads the recovery codes, says that they are kept, and is in. */
async function keepCodes(page: Page): Promise<string[]> {
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  const codes = await page.locator('.recovery-codes code').allInnerTexts()
  assert.equal(new Set(codes).size, 10)
  const go_on = page.getByRole('button', { name: 'Continue' })
  assert.ok(await go_on.isDisabled())
  await page.getByLabel('I have saved the codes in a safe place').check()
  await go_on.click()
  await heading(page, 'Home').waitFor()
  return codes
}

async function signOut(page: Page, name: string): Promise<void> {
  await page.locator('summary').getByText(name, { exact: true }).click()
  await press(page, 'Sign out')
  await heading(page, 'Sign in').waitFor()
}

async function signInByPassword(page: Page, shown: { password: string; code: string }) {
  // It stands open where somebody has signed in with one before.
  const form = page.getByLabel('Sign-in name').first()
  if (!(await form.isVisible())) await page.getByText('Use a password instead').click()
  await fill(page, 'Sign-in name', 'anna')
  await fill(page, 'Password', shown.password)
  await fill(page, CODE, shown.code)
  await press(page, 'Sign in with a password')
}

/** Makes a key, which asks for a proof of presence: signing in was one for five minutes, which are
 *  over. */
async function makeKey(page: Page, prove: (dialog: Page) => Promise<void>): Promise<void> {
  await sandbox.sql`
    update user_session set stepped_up_until = made_at
    where user_id in (
      select id from service_user where customer_id = ${sandbox.customer.customer_id})`
  await sleep(REMEMBERED_MS)
  await page.goto(`${origin}/portal/developers/keys`)
  await press(page, 'New key')
  await fill(page, 'Name', 'shop')
  await page.locator('dialog button[type=submit]').click()
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  await prove(page)
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor({ state: 'detached' })
  await page.getByText('Shown only once.').waitFor()
}

test('joins with a password and codes, signs in, proves to be there', { skip }, async () => {
  const link = await invited('Anna')
  const page = await newPage()
  await page.goto(link)
  await heading(page, 'Welcome').waitFor()
  await page.getByText('Your role: owner').waitFor()
  assert.equal(await page.evaluate('location.hash'), '')
  await press(page, 'Use a password instead')
  await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  const code = phone(await page.locator('form .whole-text').innerText())
  await fill(page, 'Sign-in name', 'anna')
  await fill(page, 'Password', PASSWORD)
  await fill(page, CODE, 'nocode')
  await press(page, 'Join with a password')
  await page.getByText('The code is wrong.').waitFor()
  await fill(page, CODE, await code())
  await press(page, 'Join with a password')
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  assert.deepEqual(await barriers(page), [])
  const [recovery_code] = await keepCodes(page)

  await signOut(page, 'Anna')
  // With a wrong password a code is not used up. One more would be half a minute away.
  const next = await code()
  await signInByPassword(page, { password: 'something else', code: next })
  await page.getByText(WRONG).waitFor()
  await signInByPassword(page, { password: PASSWORD, code: next })
  await heading(page, 'Home').waitFor()
  await makeKey(page, async () => {
    assert.equal(await page.getByRole('button', { name: 'Confirm with a passkey' }).count(), 0)
    assert.deepEqual(await barriers(page), [])
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.getByLabel('Password').fill(PASSWORD)
    await dialog.getByLabel(CODE).fill('000000')
    await press(page, 'Confirm with your password')
    await dialog.getByText(WRONG).waitFor()
    await dialog.getByLabel(CODE).fill(await code())
    await press(page, 'Confirm with your password')
  })

  const other = await newPage()
  await other.goto(link)
  await other.getByText(USED).waitFor()
  assert.deepEqual(await barriers(other), [])
  await other.goto(`${origin}/portal`)
  await recover(other, recovery_code!)
  await heading(other, 'Home').waitFor()
  await signOut(other, 'Anna')
  await recover(other, recovery_code!)
  await other.getByText(WRONG).waitFor()
})

async function recover(page: Page, code: string): Promise<void> {
  await page.getByText('Lost the phone or the passkey?').click()
  const form = page.locator('details form').filter({ hasText: 'Recovery code' })
  await form.getByLabel('Sign-in name').fill('anna')
  await form.getByLabel('Recovery code').fill(code)
  await press(page, 'Sign in with a recovery code')
}

test('joins with a passkey, signs in with it, proves to be there', { skip }, async () => {
  const page = await newPage()
  await giveAuthenticator(page)
  await page.goto(await invited('Bert'))
  await fill(page, 'Sign-in name', 'no')
  await press(page, 'Join with a passkey')
  await page.getByText('Choose another name.').waitFor()
  await fill(page, 'Sign-in name', 'bert')
  await press(page, 'Join with a passkey')
  await keepCodes(page)
  await signOut(page, 'Bert')
  await press(page, 'Sign in with a passkey')
  await heading(page, 'Home').waitFor()
  await makeKey(page, async () => {
    await page.getByRole('button', { name: 'Confirm with a passkey' }).waitFor()
    assert.equal(await page.getByRole('dialog').getByLabel('Password').count(), 0)
    await press(page, 'Confirm with a passkey')
  })
})

test('nothing bars the way, in each language, light and dark, wide and narrow', {
  skip,
}, async () => {
  const { hash, pathname } = new URL(await invited('Cleo'))
  const page = await newPage()
  const pages = [
    {
      path: '/portal',
      prepare: async () => {
        for (const fold of await page.locator('main details summary').all()) await fold.click()
      },
    },
    {
      path: pathname + hash,
      prepare: async () => {
        await page.locator('main form ~ p button').click()
        await page.locator('.qr-code').waitFor()
      },
    },
  ]
  assert.deepEqual(await faultsOfLooks({ context: page.context(), page, origin }, pages), [])
})

test('no page has asked another host, broken the policy or thrown', { skip }, () => {
  const none = { others: [], violations: [], errors: [] }
  assert.deepEqual(
    misdeeds,
    misdeeds.map(() => none),
  )
})
