// `npm run screenshots` makes the pictures of the documentation: a sandbox that is thrown away, a
// purchase, and a real browser that looks at it. They are few and small, and are made again when
// the pages look different.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { startBrowser } from 'penstock-test/harness/browser.ts'
import type { Page } from 'playwright-core'
import { ROOT } from './source.ts'

const ORDERS = 3
const VIEW = { width: 1080, height: 720 }

const KILOBYTE = 1_000
const KILOBYTES_MAX = 60
/** Of 100. */
const QUALITY = 75

/** As WebP, which Playwright cannot write. Throws when it is too large for a document. */
async function savePicture(page: Page, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const how = { format: 'webp', quality: QUALITY } as const
  const { data } = await session.send('Page.captureScreenshot', how)
  await session.detach()
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length > KILOBYTES_MAX * KILOBYTE)
    throw new Error(`${path} has ${bytes.length} bytes, more than ${KILOBYTES_MAX} kB.`)
  await writeFile(path, bytes)
}

async function take(page: Page, sign_in_url: string, address: string): Promise<void> {
  const picture = (name: string) => savePicture(page, join(ROOT, `docs/pictures/${name}.webp`))
  await page.goto(sign_in_url)
  for (let i = 0; i < ORDERS; i++) {
    await page.getByRole('link', { name: 'Buy', exact: true }).first().click()
    await page.getByLabel('Address', { exact: true }).fill(address)
    await page.getByRole('button', { name: 'Buy', exact: true }).click()
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText(/It took/).waitFor({ timeout: 60_000 })
  }
  await page.getByText('verified, here in the browser').waitFor()
  await picture('order')
  await page.getByRole('link', { name: 'Home', exact: true }).click()
  await page.getByRole('img', { name: /Spent/ }).waitFor()
  await picture('home')
}

const data_dir = await mkdtemp(join(tmpdir(), 'penstock-screenshots-'))
const args = ['--port', '0', '--chain-port', '0', '--data-dir', data_dir]
const { help: _, ...config } = readConfig(args, {})
const local = await startLocal({ config, log: silentLog, throw_away: true })
const browser = await startBrowser()
try {
  const page = await browser.newPage({ viewport: VIEW, locale: 'en-GB', colorScheme: 'light' })
  await take(page, local.sign_in.portal, local.sandbox.funded_accounts[0]!.address)
} finally {
  await browser.close()
  await local.close()
  await rm(data_dir, { recursive: true, force: true })
}
