// `npm run screenshots` makes the pictures of the documentation: a sandbox that is thrown away,
// purchases, a check, and a real browser that looks at them. They are few and small, and are made
// again when the pages look different.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { startBrowser } from 'penstock-test/harness/browser.ts'
import type { Page } from 'playwright-core'
import { BYTES_MAX, PICTURES, type PictureName, pathOfPicture, SUMS, sumOf } from './pictures.ts'
import { ROOT } from './source.ts'

const ORDERS = 3
const VIEW = { width: 1080, height: 720 }
const PATIENCE_MS = 120_000
/** Of 100. */
const QUALITY = 70

/** As WebP, which Playwright cannot write. Throws when it is too large for a document. */
async function savePicture(page: Page, name: PictureName): Promise<void> {
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
  const session = await page.context().newCDPSession(page)
  const how = { format: 'webp', quality: QUALITY } as const
  const { data } = await session.send('Page.captureScreenshot', how)
  await session.detach()
  const bytes = Buffer.from(data, 'base64')
  const path = pathOfPicture(name)
  if (bytes.length > BYTES_MAX)
    throw new Error(`${path} has ${bytes.length} bytes, more than ${BYTES_MAX}.`)
  await writeFile(join(ROOT, path), bytes)
}

const scrollHere = (element: { scrollIntoView(): void }) => element.scrollIntoView()

async function takePortal(page: Page, sign_in_url: string, address: string): Promise<void> {
  const go = (name: string) => page.getByRole('link', { name, exact: true }).first().click()
  await page.goto(sign_in_url)
  for (let i = 0; i < ORDERS; i++) {
    await go('Buy')
    await page.getByLabel('Address', { exact: true }).fill(address)
    await page.getByRole('button', { name: 'Buy', exact: true }).click()
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText(/Delivered in/).waitFor()
  }
  await page.getByText('verified in your browser').waitFor()
  await savePicture(page, 'order')
  await go('Screening')
  await page.getByLabel('Address or transaction').fill(address)
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await page.getByText(/risk$/).first().waitFor()
  await savePicture(page, 'report')
  await go('Home')
  await page.getByRole('heading', { level: 3, name: /^Spent/ }).waitFor()
  await savePicture(page, 'home')
}

async function takeConsole(page: Page, sign_in_url: string): Promise<void> {
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  await page.goto(sign_in_url)
  await heading('Now')
  // The live parts have arrived.
  await page.getByText(/^● live$/).waitFor()
  await savePicture(page, 'now')
  await page.getByRole('link', { name: 'Pool', exact: true }).first().click()
  await heading('Pool')
  await page.getByRole('img').first().waitFor()
  await savePicture(page, 'pool')
}

const data_dir = await mkdtemp(join(tmpdir(), 'penstock-screenshots-'))
const args = ['--port', '0', '--chain-port', '0', '--data-dir', data_dir]
const { help: _, ...config } = readConfig(args, {})
const local = await startLocal({ config, log: silentLog, throw_away: true })
const browser = await startBrowser()
try {
  const { sign_in, sandbox } = local
  const looks = { viewport: VIEW, locale: 'en-GB', colorScheme: 'light' } as const
  const context = await browser.newContext(looks)
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  await takePortal(page, sign_in.portal, sandbox.funded_accounts[0]!.address)
  await takeConsole(page, sign_in.console!)
  await page.goto(new URL('/status', sign_in.portal).href)
  await page.getByRole('heading', { name: 'What can be bought' }).evaluate(scrollHere)
  await savePicture(page, 'status')
  const names = Object.keys(PICTURES) as PictureName[]
  const sums = await Promise.all(names.map(async (name) => [name, await sumOf(name)] as const))
  await writeFile(join(ROOT, SUMS), `${JSON.stringify(Object.fromEntries(sums), null, 2)}\n`)
} finally {
  await browser.close()
  await local.close()
  await rm(data_dir, { recursive: true, force: true })
}
