// What everybody finds at the service's address without signing in: the first page, and the
// reference. The status page has a file of its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Penstock } from 'penstock-sdk'
import type { Locator } from 'playwright-core'
import { barriers, isTooWide, newContext, noBrowser, watchPages } from '../harness/browser.ts'
import { faultsOfLooks } from '../harness/looks.ts'
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
    await page.getByRole('link', { name: '/v1/balance' }).waitFor()
    assert.deepEqual(await barriers(page), [], `/docs ${width}`)
    assert.equal(await isTooWide(page), false)
    await page.getByRole('link', { name: '/v1/quote/new' }).click()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    assert.deepEqual(await barriers(page), [], `/docs/quote_new ${width}`)
    assert.equal(await isTooWide(page), false, `/docs/quote_new ${width}`)
  }
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
  await context.close()
})

test('the public pages have no barriers and fit, in each language', { skip }, async () => {
  const context = await newContext(await sharedBrowser())
  const page = await context.newPage()
  const origin = new URL(sandbox.api_url).origin
  const pages = ['/', '/?energy=70000&bandwidth=400&activate=on', '/buy', '/status', '/docs']
  const found = await faultsOfLooks(
    { context, page, origin },
    pages.map((path) => ({ path })),
    { in_turn: false },
  )
  assert.deepEqual(found, [])
  await context.close()
})

test('the first page says what any amount costs, and leads to buying it', { skip }, async () => {
  const context = await newContext(await sharedBrowser())
  const misdeeds = watchPages(context, new URL(sandbox.api_url).origin)
  const page = await context.newPage()
  const row = (text: string) => page.getByRole('row', { name: text })
  await page.goto(`${sandbox.api_url}/`)
  await page.getByRole('link', { name: /systems/ }).waitFor()
  const { price } = await sandboxPrice(200_000)
  await page.getByLabel('Energy', { exact: true }).fill('200,000')
  await page.getByRole('button', { name: 'Calculate' }).click()
  assert.match(await row('200,000 energy').innerText(), new RegExp(`${price} TRX.*% saved`, 's'))
  await page.getByLabel('Bandwidth', { exact: true }).fill('1000')
  await page.getByRole('checkbox', { name: 'Activate an address' }).check()
  await page.getByRole('button', { name: 'Calculate' }).click()
  const parts = [row('200,000 energy'), row('1,000 bandwidth'), row('Activate an address')]
  const sums = await Promise.all(parts.map(sunOf))
  assert.ok(sums.every((sum) => sum > 0))
  assert.equal(sums[0], Math.round(price * 1_000_000))
  assert.equal(await sunOf(row('Together')), sums[0]! + sums[1]! + sums[2]!)
  // A new account burns 1.1 TRX, a byte 1000 sun.
  assert.match(await row('Activate an address').innerText(), /\b1\.1 TRX/)
  assert.match(await row('1,000 bandwidth').innerText(), /\t1 TRX/)
  await page.getByLabel('Bandwidth', { exact: true }).fill('999999999')
  await page.getByRole('button', { name: 'Calculate' }).click()
  await row('999,999,999 bandwidth').getByText('not sold at once').waitFor()
  await row('Together').getByText('not sold at once').waitFor()
  await page.goto(`${sandbox.api_url}/`)
  await page.getByLabel('Energy', { exact: true }).fill('999999999')
  await page.getByLabel('Energy', { exact: true }).press('Enter')
  await row('999,999,999 energy').getByText('not sold at once').waitFor()
  for (const nothing of ['', 'many', '-5', '1e9', '0', '<b>'])
    assert.equal((await page.goto(`${sandbox.api_url}/?energy=${nothing}`))!.status(), 200)
  await page.goto(`${sandbox.api_url}/?energy=131000`)
  await page.getByRole('link', { name: 'Buy without an account' }).click()
  await page.getByRole('heading', { name: 'What you need' }).waitFor()
  assert.equal(await page.getByLabel('Energy', { exact: true }).inputValue(), '131000')
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
  await context.close()
})

/** The price in a row of the table. */
async function sunOf(row: Locator): Promise<number> {
  const [, trx] = /([\d.]+) TRX/.exec(await row.locator('strong').innerText()) ?? []
  return Math.round(Number(trx) * 1_000_000)
}

/** What the wire says that so much energy costs. */
async function sandboxPrice(amount: number): Promise<{ price: number }> {
  const { token, secret } = sandbox.customer
  const penstock = new Penstock({ url: sandbox.api_url, token, secret })
  const { address } = sandbox.sandbox.funded_accounts[0]!
  return penstock.prices.calculate({ address, amount, duration: 1 })
}

test('anybody calls with a pasted key, whose secret is sent to nobody', { skip }, async () => {
  const { token, secret } = sandbox.customer
  const context = await newContext(await sharedBrowser())
  const page = await context.newPage()
  const sent: string[] = []
  page.on('request', async (one) =>
    sent.push(`${one.url()} ${one.postData() ?? ''} ${JSON.stringify(one.headers())}`),
  )
  const send = page.getByRole('button', { name: 'Send', exact: true })
  const reply = async () =>
    JSON.parse(await page.getByLabel('Response', { exact: true }).innerText()) as { code: number }
  await page.goto(`${sandbox.api_url}/docs/balance`)
  await send.waitFor()
  assert.ok(await send.isDisabled())
  await page.getByText("Paste a key's token and secret first.").waitFor()
  await page.getByLabel('Token', { exact: true }).first().fill(token)
  await page.getByLabel('Secret', { exact: true }).first().fill(`${secret}x`)
  await send.click()
  assert.equal((await reply()).code, 1)
  await page.getByLabel('Secret', { exact: true }).first().fill(secret)
  await send.click()
  await page.locator('.note.good').waitFor()
  assert.equal((await reply()).code, 0)
  assert.ok(sent.some((one) => one.includes('x-signature-v2')))
  assert.ok(!sent.some((one) => one.includes(secret)))
  assert.ok(!(await page.content()).includes(secret))
  const stored = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  )
  assert.ok(!String(stored).includes(secret))
  // What asks for no key is called without one.
  await page.goto(`${sandbox.api_url}/docs/direct_recharge_info`)
  await send.click()
  assert.equal((await reply()).code, 0)
  await context.close()
})

const BUSY = { code: 429, key: 'rate_limit', error: 'Too many requests' }
const FAILED = { code: 500, key: 'internal_server_error', error: 'Internal server error' }

test('a purchase sent again from the reference is made once', { skip }, async () => {
  const { token, secret } = sandbox.customer
  const context = await newContext(await sharedBrowser())
  const page = await context.newPage()
  const keys: (string | undefined)[] = []
  await page.route('**/v1/transaction/new', async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    if (keys.length > 3) return route.continue()
    if (keys.length === 1) await route.fetch()
    if (keys.length === 1) return route.abort()
    await route.fulfill({ json: keys.length === 2 ? BUSY : FAILED })
  })
  await page.goto(`${sandbox.api_url}/docs/transaction_new`)
  await page.getByLabel('Token', { exact: true }).first().fill(token)
  await page.getByLabel('Secret', { exact: true }).first().fill(secret)
  const [account] = sandbox.sandbox.funded_accounts
  const params = { address: account!.address, amount: 65_000, duration: 1 }
  const body = JSON.stringify({ service: 'energy', params })
  await page.getByLabel('Body', { exact: true }).fill(body)
  for (const what of [/No answer: the call/, BUSY.error, FAILED.error, 'Done.']) {
    await page.getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText(what).waitFor()
  }
  assert.ok(keys[0] !== undefined && keys.length === 4)
  assert.equal(new Set(keys).size, 1)
  await context.close()
})

test('the old address of the reference leads to the new one', async () => {
  for (const [old, now] of [
    ['/portal/developers/reference', '/docs'],
    ['/portal/developers/reference/balance', '/docs/balance'],
  ] as const) {
    const answer = await fetch(`${sandbox.api_url}${old}`, { redirect: 'manual' })
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, now])
  }
})

test('the reference sets no style but its own', async () => {
  const { headers } = await fetch(`${sandbox.api_url}/docs`)
  const policy = headers.get('content-security-policy')!
  assert.match(policy, /style-src 'self'/)
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval/)
})
