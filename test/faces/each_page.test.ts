// Every page comes up: opened by its address, read to the end, without a mistake in it. The other
// files say what people do on it, and how it looks in each language and width.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { noBrowser } from '../harness/browser.ts'
import { consolePage } from '../harness/console_page.ts'
import { listedPages, openPage } from '../harness/listed_pages.ts'
import { newPortal } from '../harness/portal.ts'

const NOTHING = { others: [], violations: [], errors: [] }

/** Sentences of pages that say that something is wrong. */
const MISTAKES = /There is no page at this address|Something went wrong/

async function open(page: Page, address: string): Promise<void> {
  await openPage(page, address)
  assert.doesNotMatch((await page.locator('main').first().innerText()) ?? '', MISTAKES, address)
}

const portal = newPortal()

portal.test('each page of the portal comes up, and those of an order', async () => {
  const address = portal.sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  const { id } = await portal.penstock.orders.create({ service: 'energy', params })
  const paths = await listedPages(portal.origin, 'portal')
  assert.ok(paths.length > 15)
  for (const path of [...paths, '/', '/status', `/portal/orders/${id}`])
    await open(portal.page, portal.origin + path)
  await assert.rejects(open(portal.page, `${portal.origin}/portal/none`), /portal\/none/)
})

portal.behaves()

test('each page of the console comes up', { skip: noBrowser() }, async (t) => {
  const { page, url, misdeeds } = await consolePage(t, { role: 'admin' })
  const paths = await listedPages(url, 'console')
  assert.ok(paths.length > 10)
  for (const path of paths) await open(page, url + path)
  await assert.rejects(open(page, `${url}/console/none`), /console\/none/)
  assert.deepEqual(misdeeds, NOTHING)
})
