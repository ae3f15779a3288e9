// What developers do in the portal, in a real browser, within the clicks that it may take: keys,
// webhooks, refusals. With the keyboard alone and with the mouse in turn.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Penstock } from 'penstock-sdk'
import { verifyWebhook } from 'penstock-sdk/webhooks'
import { atEndOfFile } from 'penstock-test/harness/ends.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, dialog, field, heading, inDialog, link, rows } = portal

/** Somebody's program that is called: what came, and what it answers. */
type Receiver = { url: string; calls: { headers: Headers; body: string }[]; status: number }

async function startReceiver(): Promise<Receiver> {
  const calls: Receiver['calls'] = []
  const found: Receiver = { url: '', calls, status: 204 }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const headers = new Headers(request.headers as Record<string, string>)
    calls.push({ headers, body: Buffer.concat(parts).toString() })
    response.writeHead(found.status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => server.close())
  found.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return found
}

const receiver = await startReceiver()

/** A text that is shown once, by its name. */
const shownOnce = (name: string) =>
  dialog().getByRole('paragraph').filter({ hasText: name }).locator('code').innerText()

// One click of each number is the proof of presence, which a sandbox's link has given already.

portal.job('a new key calls, within its limits', 3, async (hands) => {
  await hands.press(link('Keys'))
  await hands.press(button('New key'))
  const name = `shop-${hands.name}`
  await hands.type(field('Name'), name)
  await hands.type(field('Networks'), '127.0.0.0/8')
  const receiver = portal.sandbox.sandbox.funded_accounts[0]!.address
  await hands.type(field('Receivers'), receiver)
  await hands.type(field('Daily spending limit (TRX)'), '12.5')
  await hands.press(inDialog('Create key'))
  await portal.page.getByRole('heading', { name: `Key “${name}”` }).waitFor()
  const [token, secret] = [await shownOnce('Token'), await shownOnce('Secret')]
  const { key } = await new Penstock({ url: portal.sandbox.api_url, token, secret }).whoami()
  assert.deepEqual(
    [key.name, key.scopes, key.networks, key.receivers, key.daily_cap],
    [name, ['read', 'buy'], ['127.0.0.0/8'], [receiver], 12.5],
  )
})

portal.job('a new secret signs while the one before still does', 3, async (hands) => {
  const name = `rotated-${hands.name}`
  const { token, secret } = await portal.penstock.keys.create({ name, scopes: ['read'] })
  await hands.press(link('Keys'))
  await hands.press(portal.page.getByRole('button', { name: `Rotate secret ${name}`, exact: true }))
  await hands.press(inDialog('Rotate secret'))
  await dialog().getByText('Shown only once').waitFor()
  const newer = await shownOnce('Secret')
  assert.notEqual(newer, secret)
  for (const one of [secret, newer])
    await new Penstock({ url: portal.sandbox.api_url, token, secret: one }).balance.get()
})

portal.job('a key is changed and revoked', 6, async (hands) => {
  const name = `changed-${hands.name}`
  const { key } = await portal.penstock.keys.create({ name, scopes: ['read'] })
  await hands.press(link('Keys'))
  await hands.press(portal.page.getByRole('button', { name: `More for ${name}`, exact: true }))
  await hands.press(portal.page.getByRole('button', { name: `Change ${name}`, exact: true }))
  await hands.type(field('Networks'), '192.0.2.0/24')
  await hands.press(inDialog('Save'))
  const row = portal.page.getByRole('row').filter({ hasText: name })
  await row.getByText('192.0.2.0/24').waitFor()
  await hands.press(portal.page.getByRole('button', { name: `Revoke ${name}`, exact: true }))
  await hands.press(inDialog('Revoke'))
  await row.getByText('revoked').waitFor()
  for await (const one of portal.penstock.keys.list())
    if (one.id === key.id) assert.notEqual(one.revoked_at, null)
})

portal.test('what is shown once is hidden after a minute', async () => {
  const { key } = await portal.penstock.keys.create({ name: 'hidden', scopes: ['read'] })
  // A clock that was changed stays so for every page of a browser.
  const browser = await portal.anotherBrowser()
  const page = await browser.newPage()
  await page.clock.install()
  await page.goto(`${portal.origin}/portal/developers/keys`)
  await page.getByRole('button', { name: 'Rotate secret hidden', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Rotate secret', exact: true }).click()
  const shown = dialog.getByRole('paragraph').filter({ hasText: 'Secret' }).locator('code')
  const secret = await shown.innerText()
  assert.match(secret, /^pss_/)
  await page.clock.fastForward(61_000)
  await dialog.getByText('Hidden. If you did not copy it').waitFor()
  assert.ok(!(await page.content()).includes(secret), key.id)
  await browser.close()
})

portal.job('a webhook is added and answers', 4, async (hands) => {
  receiver.status = 204
  await hands.press(link('Webhooks'))
  await hands.press(button('New webhook'))
  await hands.type(field('URL'), receiver.url)
  await hands.press(inDialog('Create webhook'))
  await dialog().getByText('Shown only once').waitFor()
  const secret = await shownOnce('Secret')
  receiver.calls.length = 0
  await hands.press(inDialog('Send test'))
  // Its address and its secret may have these digits, too.
  await dialog()
    .getByText(/\b204\b/)
    .waitFor()
  const { headers, body } = receiver.calls[0]!
  const event = await verifyWebhook(body, headers, [secret])
  assert.deepEqual([event.type, event.test], ['order.succeeded', true])
})

portal.job('why a notice failed is seen, and all since is sent again', 3, async (hands) => {
  receiver.status = 503
  const description = `fails-${hands.name}`
  const { webhook } = await portal.penstock.webhooks.create({ url: receiver.url, description })
  const address = portal.sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  await portal.penstock.orders.create({ service: 'energy', params, external_id: description })
  const look = () => portal.penstock.webhooks.check(webhook.id)
  await eventually('a call fails', async () => (await look()).failing_since !== null)
  await hands.press(link('Webhooks'))
  await hands.press(link(description))
  await portal.page.getByText('failing since').first().waitFor()
  await rows('Deliveries').getByText('503').first().waitFor()
  receiver.status = 204
  await hands.press(button('Replay'))
  await portal.page.getByText(/^Replaying \d+ events?/).waitFor()
  // Nothing waits for the schedule of tries, which is minutes long by now.
  await eventually('nothing is due', async () => (await look()).due === 0)
  await portal.page.reload()
  await portal.page.getByText('delivered').first().waitFor()
})

portal.test('a webhook is turned off and on, and removed', async () => {
  const { webhook } = await portal.penstock.webhooks.create({
    url: receiver.url,
    description: 'switched',
  })
  await portal.page.goto(`${portal.origin}/portal/developers/webhooks/${webhook.id}`)
  await button('Turn off').click()
  await dialog().getByText('No deliveries until you turn it on again.').waitFor()
  assert.equal((await portal.penstock.webhooks.check(webhook.id)).state, 'on')
  await inDialog('Turn off').click()
  await button('Turn on').waitFor()
  assert.equal((await portal.penstock.webhooks.check(webhook.id)).state, 'off')
  await button('Turn on').click()
  await button('Turn off').waitFor()
  assert.equal((await portal.penstock.webhooks.check(webhook.id)).state, 'on')
  await button('Remove').click()
  await inDialog('Remove').click()
  await heading('Webhooks').waitFor()
  await assert.rejects(portal.penstock.webhooks.check(webhook.id))
})

/** Calls that are refused: one with a body that is wrong, one signed without its last line feed. */
async function getRefused(): Promise<void> {
  const { token, secret } = portal.sandbox.customer
  const params = { address: 'T', amount: 65_000, duration: 1 }
  await assert.rejects(portal.penstock.orders.create({ service: 'energy', params }))
  await fetch(`${portal.sandbox.api_url}/v1/balance`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-signature': hash('sha256', `{"limit":1}${secret}`),
    },
    body: '{"limit":1}\n',
  })
  await eventually('both are written', async () => {
    const written = await Array.fromAsync(portal.penstock.list('/v1/refusals/list'))
    return written.length >= 2
  })
}

portal.job('why calls were refused', 2, async (hands) => {
  await getRefused()
  await hands.press(link('Refusals'))
  const groups = portal.page.getByRole('region', { name: 'Grouped by reason' })
  const wrong = groups.getByRole('row').filter({ hasText: '/v1/balance' })
  await hands.press(wrong.getByRole('link', { name: 'View' }))
  await portal.page.waitForURL(/code=1$/)
  await portal.page
    .getByText(/^The signature matches the body without/)
    .first()
    .waitFor()
})

portal.test('the sign helper computes what the service takes, and sends nothing', async () => {
  const { token, secret } = portal.sandbox.customer
  const body = '{"limit": 1}'
  await portal.page.goto(`${portal.origin}${REFUSALS}`)
  await portal.page.getByText('Sign helper').click()
  await field('Path').fill('/v1/balance')
  await field('Body, byte for byte').fill(body)
  await field('Secret').fill(secret)
  const asked: string[] = []
  portal.page.on('request', (request) => asked.push(request.postData() ?? ''))
  await button('Compute').click()
  const header = (name: string) =>
    portal.page.locator('dl > div').filter({ hasText: name }).locator('code').first().innerText()
  const names = ['X-Signature', 'X-Timestamp', 'X-Nonce', 'X-Signature-V2']
  const texts = await Promise.all(names.map(header))
  assert.ok(!asked.some((sent) => sent.includes(secret)))
  const answer = await fetch(`${portal.sandbox.api_url}/v1/balance`, {
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
const pressMain = () => portal.page.locator('main button.main').click()

portal.looks(async () => {
  const { webhook } = await portal.penstock.webhooks.create({ url: receiver.url })
  return [
    { path: KEYS },
    { path: KEYS, prepare: pressMain },
    { path: WEBHOOKS },
    { path: WEBHOOKS, prepare: pressMain },
    { path: `${WEBHOOKS}/${webhook.id}` },
    { path: REFUSALS, prepare: () => portal.page.locator('main summary').last().click() },
    { path: `${REFUSALS}?code=76` },
  ]
})

portal.behaves()
