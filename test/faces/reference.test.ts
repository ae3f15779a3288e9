// The reference in the portal, in a real browser: an endpoint is found and called as the one who is
// signed in, and the same call, signed in the page, goes through from a shell.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, field, heading, link, rows } = portal

const reply = () => portal.page.getByLabel('Response', { exact: true })
const replied = async () => JSON.parse(await reply().innerText())

portal.job('an endpoint is found, called, and answers', 3, async (hands) => {
  await hands.press(link('Reference'))
  await hands.type(field('Path or words'), 'what can be spent')
  await hands.press(link('/v1/balance'))
  await heading('/v1/balance').waitFor()
  await hands.press(button('Send'))
  const { code, result } = await replied()
  assert.equal(code, 0)
  const { balance } = await portal.penstock.balance.get()
  assert.equal(String(result.balance), String(balance))
})

portal.test(
  'every endpoint of the document has a page, and a filter is in the address',
  async () => {
    const { paths } = (await (await fetch(`${portal.sandbox.api_url}/openapi.json`)).json()) as {
      paths: Record<string, { post?: { operationId: string } }>
    }
    await portal.visit('/docs')
    await link('/v1/balance').waitFor()
    const shown = await portal.page.locator('main td a').allInnerTexts()
    const posts = Object.keys(paths).filter((path) => paths[path]!.post)
    assert.deepEqual(shown.sort(), posts.sort())
    await field('Path or words').fill('receipt')
    await link('/v1/balance').waitFor({ state: 'detached' })
    await portal.page.waitForURL(/\?q=receipt$/)
    await portal.page.reload()
    await link('/v1/receipt').waitFor()
    assert.equal(await link('/v1/balance').count(), 0)
  },
)

portal.test('a page has the fields, the refusals in their order, and examples', async () => {
  await portal.visit('/docs/transaction_new')
  await rows('Fields').filter({ hasText: 'params.address' }).waitFor()
  await rows('Result').filter({ hasText: 'status' }).first().waitFor()
  const first = rows('Refusals').nth(1)
  assert.match(await first.innerText(), /1\s+auth\s/)
  await field('Example').selectOption({ label: 'An activation' })
  assert.match(await field('Body').inputValue(), /activate_address/)
})

portal.test('what changes something is sent when one has said so, and once', async () => {
  await portal.visit('/docs/settings_change')
  await field('Body').fill('{"ending_minutes": 9}')
  assert.ok(await button('Send').isDisabled())
  await portal.page.getByRole('checkbox').check()
  await button('Send').click()
  assert.equal((await replied()).result.ending_minutes, 9)
  assert.equal((await portal.penstock.settings.get()).ending_minutes, 9)
  assert.ok(await button('Send').isDisabled())
})

portal.test('a refusal is shown as it came, and what is no JSON is not sent', async () => {
  await portal.visit('/docs/transaction_check')
  await field('Body').fill('{"id": "nothing-like-it"}')
  await button('Send').click()
  const { code, key, request_id } = await replied()
  assert.ok(code !== 0 && key !== '' && request_id !== '')
  await field('Body').fill('{"id": ')
  assert.ok(await button('Send').isDisabled())
  await portal.page.getByText('This is not JSON.').first().waitFor()
})

/** The lines below a title, run by a shell that has the token in its environment. */
async function answerInShell(title: string): Promise<{ code: number; result?: unknown }> {
  const lines = await portal.page.getByLabel(title, { exact: true }).innerText()
  const env = { ...process.env, PENSTOCK_TOKEN: portal.sandbox.customer.token }
  const { stdout } = await promisify(execFile)('sh', ['-c', lines], { env })
  return JSON.parse(stdout)
}

portal.test(
  'a call signed in the page goes through, and the secret stays in its field',
  async () => {
    const { secret } = portal.sandbox.customer
    const sent: string[] = []
    portal.page.on('request', (one) => sent.push(`${one.url()} ${one.postData() ?? ''}`))
    await portal.visit('/docs/address_info')
    const { address } = await portal.penstock.balance.get()
    await field('Body').fill(JSON.stringify({ address, note: "it's" }))
    await portal.page.getByText('Signed with your key').click()
    await field('Secret').fill(secret)
    await button('Sign').click()
    for (const title of ['curl with the first signature', 'curl with both signatures'])
      assert.equal((await answerInShell(title)).code, 0, title)
    const again = await answerInShell('curl with both signatures')
    assert.equal(again.code, 1, 'a nonce is used once')
    assert.ok(!(await portal.page.content()).includes(secret))
    const stored = await portal.page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    )
    assert.ok(!String(stored).includes(secret) && !sent.some((one) => one.includes(secret)))
    await field('Body').fill('{}')
    assert.equal(await portal.page.getByText('curl with both signatures').count(), 0)
  },
)

portal.looks([
  { path: '/docs' },
  {
    path: '/docs/transaction_new',
    prepare: async () => {
      for (const summary of await portal.page.locator('main summary').all()) await summary.click()
    },
  },
  {
    path: '/docs/services',
    prepare: async () => {
      await portal.page.locator('main button.main').click()
      await portal.page.locator('.note pre').waitFor()
    },
  },
  { path: '/docs/nothing_like_it' },
])
portal.behaves()
