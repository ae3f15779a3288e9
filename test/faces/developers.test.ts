// What developers do in the portal, in a real browser, within the clicks that it may take: keys,
// webhooks, refusals. With the mouse and with the keyboard alone, by the same steps.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { LocalService } from 'penstock-playground/start.ts'
import { Penstock } from 'penstock-sdk'
import { verifyWebhook } from 'penstock-sdk/webhooks'
import {
  type Misdeeds,
  noBrowser,
  startBrowser,
  watchPages,
} from 'penstock-test/harness/browser.ts'
import { type Hands, keyboard, mouse } from 'penstock-test/harness/hands.ts'
import { faultsOfLooks } from 'penstock-test/harness/looks.ts'
import { startSandbox } from 'penstock-test/harness/sandbox.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'

const skip = noBrowser()
/** Generous: the machine may be busy. */
const PATIENCE_MS = 30_000

let sandbox: LocalService
let browser: Browser
let context: BrowserContext
let page: Page
let misdeeds: Misdeeds
let penstock: Penstock
let origin: string
let receiver: Receiver

/** Somebody's program that is called: what came, and what it answers. */
type Receiver = { url: string; calls: { headers: Headers; body: string }[]; status: number }
let server: Server

async function startReceiver(): Promise<Receiver> {
  const calls: Receiver['calls'] = []
  const found: Receiver = { url: '', calls, status: 204 }
  server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const headers = new Headers(request.headers as Record<string, string>)
    calls.push({ headers, body: Buffer.concat(parts).toString() })
    response.writeHead(found.status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  found.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return found
}

before(async () => {
  if (skip) return
  ;[sandbox, browser, receiver] = await Promise.all([
    startSandbox(),
    startBrowser(),
    startReceiver(),
  ])
  const { token, secret } = sandbox.customer
  penstock = new Penstock({ url: sandbox.api_url, token, secret })
  origin = new URL(sandbox.sign_in.portal).origin
  context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
  context.setDefaultTimeout(PATIENCE_MS)
  misdeeds = watchPages(context, origin)
  page = await context.newPage()
  await page.goto(sandbox.sign_in.portal)
  await heading('Home').waitFor()
})

after(async () => {
  await browser?.close()
  server?.close()
  await sandbox?.close()
})

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const link = (name: string) => page.getByRole('link', { name, exact: true }).first()
const dialog = () => page.getByRole('dialog')
const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
const field = (name: string) => page.getByLabel(name, { exact: true })

/** A text that is shown once, by its name. */
const shownOnce = (name: string) =>
  dialog().getByRole('paragraph').filter({ hasText: name }).locator('code').innerText()

/** Does a job with the mouse and then with the keyboard alone, from the first page on. */
function job(title: string, clicks_max: number, steps: (hands: Hands) => Promise<void>) {
  for (const which of ['mouse', 'keyboard'] as const)
    test(`${title}, with the ${which}`, { skip }, async (t) => {
      await page.goto(`${origin}/portal`)
      await heading('Home').waitFor()
      const hands = which === 'mouse' ? mouse() : keyboard(page)
      await steps(hands)
      t.diagnostic(`${hands.clicks} clicks`)
      assert.ok(hands.clicks <= clicks_max, `${hands.clicks} clicks`)
    })
}

// One click of each number is the proof of presence, which a sandbox's link has given already.

job('a new key calls, within its limits', 3, async (hands) => {
  await hands.press(link('Keys'))
  await hands.press(button('New key'))
  const name = `shop-${hands.name}`
  await hands.type(field('Name'), name)
  await hands.type(field('Networks'), '127.0.0.0/8')
  await hands.type(field('Most that it may spend in a day (TRX)'), '12.5')
  await hands.press(inDialog('Create key'))
  await page.getByRole('heading', { name: `Key “${name}”` }).waitFor()
  const [token, secret] = [await shownOnce('Token'), await shownOnce('Secret')]
  const { key } = await new Penstock({ url: sandbox.api_url, token, secret }).whoami()
  assert.deepEqual(
    [key.name, key.scopes, key.networks, key.daily_cap],
    [name, ['read', 'buy'], ['127.0.0.0/8'], 12.5],
  )
})

job('a new secret signs while the one before still does', 3, async (hands) => {
  const name = `rotated-${hands.name}`
  const { token, secret } = await penstock.keys.create({ name, scopes: ['read'] })
  await hands.press(link('Keys'))
  await hands.press(page.getByRole('button', { name: `Rotate secret ${name}`, exact: true }))
  await hands.press(inDialog('Rotate secret'))
  await dialog().getByText('Shown this once').waitFor()
  const newer = await shownOnce('Secret')
  assert.notEqual(newer, secret)
  for (const one of [secret, newer])
    await new Penstock({ url: sandbox.api_url, token, secret: one }).balance.get()
})

job('a key is changed and revoked', 5, async (hands) => {
  const name = `changed-${hands.name}`
  const { key } = await penstock.keys.create({ name, scopes: ['read'] })
  await hands.press(link('Keys'))
  await hands.press(page.getByRole('button', { name: `Change ${name}`, exact: true }))
  await hands.type(field('Networks'), '192.0.2.0/24')
  await hands.press(inDialog('Save'))
  const row = page.getByRole('row').filter({ hasText: name })
  await row.getByText('192.0.2.0/24').waitFor()
  await hands.press(page.getByRole('button', { name: `Revoke ${name}`, exact: true }))
  await hands.press(inDialog('Revoke'))
  await row.getByText('revoked').waitFor()
  for await (const one of penstock.keys.list())
    if (one.id === key.id) assert.notEqual(one.revoked_at, null)
})

test('what is shown once is hidden after a minute', { skip }, async () => {
  const { key } = await penstock.keys.create({ name: 'hidden', scopes: ['read'] })
  await page.clock.install()
  await page.goto(`${origin}/portal/developers/keys`)
  await page.getByRole('button', { name: 'Rotate secret hidden', exact: true }).click()
  await inDialog('Rotate secret').click()
  const secret = await shownOnce('Secret')
  assert.match(secret, /^pss_/)
  await page.clock.fastForward(61_000)
  await dialog().getByText('It is hidden now.').waitFor()
  assert.ok(!(await page.content()).includes(secret), key.id)
  await page.clock.resume()
})

job('a webhook is added and answers', 4, async (hands) => {
  receiver.status = 204
  await hands.press(link('Webhooks'))
  await hands.press(button('New webhook'))
  await hands.type(field('URL'), receiver.url)
  await hands.press(inDialog('Create webhook'))
  await dialog().getByText('Shown this once').waitFor()
  const secret = await shownOnce('Secret')
  receiver.calls.length = 0
  await hands.press(inDialog('Send test'))
  await dialog().getByText(/204/).waitFor()
  const { headers, body } = receiver.calls[0]!
  const event = await verifyWebhook(body, headers, [secret])
  assert.deepEqual([event.type, event.test], ['order.succeeded', true])
})

job('why a notice failed is seen, and all since is sent again', 4, async (hands) => {
  receiver.status = 503
  const description = `fails-${hands.name}`
  const { webhook } = await penstock.webhooks.create({ url: receiver.url, description })
  const address = sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  await penstock.orders.create({ service: 'energy', params, external_id: description })
  for (let has_failed = false; !has_failed; ) {
    const { failing_since } = await penstock.webhooks.check(webhook.id)
    has_failed = failing_since !== null
  }
  await hands.press(link('Webhooks'))
  await hands.press(link(description))
  await page.getByText('fails since').first().waitFor()
  const calls = page.getByRole('button', { name: /^[1-9]\d* calls? / }).first()
  await hands.press(calls)
  await dialog().getByText('503').first().waitFor()
  await page.keyboard.press('Escape')
  receiver.status = 204
  await hands.press(button('Replay'))
  await page.getByText(/notices? (is|are) due again/).waitFor()
  for (let due = 1; due > 0; ) due = (await penstock.webhooks.check(webhook.id)).due
  await page.reload()
  await page.getByText('delivered').first().waitFor()
})

test('a webhook is turned off and on, and removed', { skip }, async () => {
  const { webhook } = await penstock.webhooks.create({ url: receiver.url, description: 'switched' })
  await page.goto(`${origin}/portal/developers/webhooks/${webhook.id}`)
  await button('Turn off').click()
  await button('Turn on').waitFor()
  assert.equal((await penstock.webhooks.check(webhook.id)).state, 'off')
  await button('Turn on').click()
  await button('Turn off').waitFor()
  assert.equal((await penstock.webhooks.check(webhook.id)).state, 'on')
  await button('Remove').click()
  await inDialog('Remove').click()
  await heading('Webhooks').waitFor()
  await assert.rejects(penstock.webhooks.check(webhook.id))
})

/** Calls that are refused: one with a body that is wrong, one signed without its last line feed. */
async function getRefused(): Promise<void> {
  const { token, secret } = sandbox.customer
  const params = { address: 'T', amount: 65_000, duration: 1 }
  await assert.rejects(penstock.orders.create({ service: 'energy', params }))
  await fetch(`${sandbox.api_url}/v1/balance`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-signature': hash('sha256', `{"limit":1}${secret}`),
    },
    body: '{"limit":1}\n',
  })
  for (let written = 0; written < 2; )
    written = (await Array.fromAsync(penstock.list('/v1/refusals/list'))).length
}

job('why calls were refused', 2, async (hands) => {
  await getRefused()
  await hands.press(link('Refusals'))
  const groups = page.getByRole('region', { name: 'Grouped by reason' })
  const wrong = groups.getByRole('row').filter({ hasText: '/v1/balance' })
  await hands.press(wrong.getByRole('link', { name: 'Look' }))
  await page.waitForURL(/code=1$/)
  await page
    .getByText(/^It is right without/)
    .first()
    .waitFor()
})

test('the sign helper computes what the service takes, and sends nothing', { skip }, async () => {
  const { token, secret } = sandbox.customer
  const body = '{"limit": 1}'
  await page.goto(`${origin}${REFUSALS}`)
  await page.getByText('Sign helper').click()
  await field('Path').fill('/v1/balance')
  await field('Body, byte for byte').fill(body)
  await field('Secret').fill(secret)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.postData() ?? ''))
  await button('Compute').click()
  const header = (name: string) =>
    page.locator('dl > div').filter({ hasText: name }).locator('code').first().innerText()
  const names = ['X-Signature', 'X-Timestamp', 'X-Nonce', 'X-Signature-V2']
  const texts = await Promise.all(names.map(header))
  assert.ok(!asked.some((sent) => sent.includes(secret)))
  const answer = await fetch(`${sandbox.api_url}/v1/balance`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...Object.fromEntries(names.map((name, i) => [name, texts[i]!])),
    },
    body,
  })
  assert.equal(((await answer.json()) as { code: number }).code, 0)
})

const REFUSALS = '/portal/developers/refusals'
const KEYS = '/portal/developers/keys'
const WEBHOOKS = '/portal/developers/webhooks'
const pressMain = () => page.locator('main button.main').click()

test('these pages have no barriers, nor have their dialogs', { skip }, async () => {
  const { webhook } = await penstock.webhooks.create({ url: receiver.url })
  const pages = [
    { path: KEYS },
    { path: KEYS, prepare: pressMain },
    { path: WEBHOOKS },
    { path: WEBHOOKS, prepare: pressMain },
    { path: `${WEBHOOKS}/${webhook.id}` },
    { path: REFUSALS, prepare: () => page.locator('main summary').last().click() },
    { path: `${REFUSALS}?code=76` },
  ]
  assert.deepEqual(await faultsOfLooks({ context, page, origin }, pages), [])
})

test('nothing was asked of others, no policy was broken, nothing was thrown', { skip }, () => {
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})
