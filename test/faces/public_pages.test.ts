// What everybody finds at the service's address without signing in: the first page, and the
// reference. The status page has a file of its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barriers, isTooWide, newContext, noBrowser, watchPages } from '../harness/browser.ts'
import { sharedBrowser, sharedSandbox } from '../harness/started_once.ts'

const skip = noBrowser()
const sandbox = await sharedSandbox()

test('the first page and the reference have no barriers, wide and narrow', { skip }, async () => {
  const context = await newContext(await sharedBrowser())
  const misdeeds = watchPages(context, new URL(sandbox.api_url).origin)
  const page = await context.newPage()
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto(`${sandbox.api_url}/`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      assert.deepEqual(await barriers(page), [], `/ ${width} ${colorScheme}`)
      assert.equal(await isTooWide(page), false)
    }
    await page.goto(`${sandbox.api_url}/docs`)
    await page
      .getByRole('button', { name: /v1.balance/ })
      .first()
      .waitFor()
    assert.deepEqual(await barriers(page), [], `/docs ${width}`)
    assert.equal(await isTooWide(page), false)
    // What is opened sets styles, too.
    await page
      .getByRole('button', { name: /v1.quote.new/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Execute', exact: true }).waitFor()
    assert.deepEqual(await barriers(page), [], `/docs ${width}, a call is open`)
    assert.equal(await isTooWide(page), false, `/docs ${width}, a call is open`)
  }
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
  await context.close()
})

test('the reference sets no style but its own', async () => {
  const { headers } = await fetch(`${sandbox.api_url}/docs`)
  const policy = headers.get('content-security-policy')!
  assert.match(policy, /style-src 'self'/)
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval/)
})
