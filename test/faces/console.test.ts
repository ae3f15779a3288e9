// The console in a real browser: what an operator does in a day, found by role and name.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { watchAlertsStep } from 'penstock-service/health/monitoring/watch_alerts.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { barriers, noBrowser } from '../harness/browser.ts'
import { consolePage } from '../harness/console_page.ts'

/** Bytes of scripts, with gzip, that Now may load in a browser that has been nowhere yet. */
const SCRIPTS_MAX = 60_000

/** What a browser without brotli gets of a file. */
async function gzipBytes(url: string): Promise<number> {
  const asked = get(url, { headers: { 'accept-encoding': 'gzip' } })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(answer.headers['content-encoding'], 'gzip', url)
  let bytes = 0
  for await (const piece of answer) bytes += (piece as Buffer).length
  return bytes
}

test('a price rule is looked at on past orders, set, read back and ended', {
  skip: noBrowser(),
}, async (t) => {
  const { sql, url, page, misdeeds } = await consolePage(t, { role: 'admin' })
  await page.goto(`${url}/console/prices`)
  await page.getByRole('heading', { name: 'Price rules', exact: true }).waitFor()
  await page.getByText('No rules: set prices apply unchanged.').waitFor()
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Resource').selectOption('bandwidth')
  await dialog.getByLabel('Above cost, %').fill('15')
  await dialog.getByLabel('As the pool fills').fill('80=10 95=25')
  await dialog.getByRole('button', { name: 'Preview the rule' }).click()
  await dialog.getByText('With both').waitFor()
  assert.equal((await sql`select 1 from price_rule`).length, 0, 'a preview sets nothing')
  await dialog.getByLabel('Reason').fill('a test')
  await dialog.getByRole('button', { name: 'Set the rule' }).click()
  await dialog.waitFor({ state: 'detached' })
  const rule = page.getByRole('table', { name: 'Price rules' }).getByRole('row').nth(1)
  await rule.getByText('80=10 95=25').waitFor()
  assert.match(await rule.innerText(), /bandwidth[\s\S]*15[\s\S]*olga/i)
  assert.ok((await page.locator('main button.main').count()) <= 1, 'one main button a page')
  await rule.getByRole('button', { name: /^End/ }).click()
  await dialog.getByLabel('Reason').fill('a test')
  await dialog.locator('button[type=submit]').click()
  await page.getByText('No rules: set prices apply unchanged.').waitFor()
  assert.deepEqual(await barriers(page), [])
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

const PAGES = ['', '/orders', '/money', '/prices', '/books', '/record']

test('an operator takes off sale, changes a price, reads the record', {
  skip: noBrowser(),
}, async (t) => {
  const { sql, url, page, misdeeds } = await consolePage(t, { role: 'admin' })
  await watchAlertsStep({ sql, clock: systemClock }).run()
  // A house that does not sell all can stop all the same.
  await sql`update service set on_sale = false where name = 'bandwidth'`
  const scripts = new Set<string>()
  page.on('request', (request) => {
    if (request.resourceType() === 'script') scripts.add(request.url())
  })
  await page.goto(`${url}/console`)
  await page.getByText('chain_unknown').waitFor()
  const sizes = await Promise.all([...scripts].map(gzipBytes))
  const bytes = sizes.reduce((sum, one) => sum + one, 0)
  t.diagnostic(`Now: ${bytes} bytes of scripts`)
  assert.ok(scripts.size > 0 && bytes <= SCRIPTS_MAX, `${bytes} bytes of scripts`)
  const sayWhy = async () => {
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('a test')
    await dialog.locator('button[type=submit]').click()
    await dialog.waitFor({ state: 'detached' })
  }
  await page.getByRole('button', { name: 'Take off sale' }).click()
  await sayWhy()
  await page.getByRole('button', { name: 'Put on sale' }).waitFor()
  assert.deepEqual(await sql`select 1 from service where on_sale`, [])
  await page.getByRole('link', { name: 'Prices' }).click()
  await page.getByRole('button', { name: 'Change' }).first().click()
  await page.getByLabel('New price, TRX').fill('0.09')
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  await page.getByLabel('Reason').fill('a test')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Apply' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Record' }).click()
  await page.getByText(/(was|were) verified in your browser/).waitFor()
  await page
    .getByText(/^olga set a price \(/)
    .first()
    .waitFor()
  await page.getByText(/^olga took .* and \d+ more off sale\.$/).waitFor()
  await page.getByText('Show', { exact: true }).first().click()
  await page.locator('td details[open] pre').first().waitFor()
  const rows = page.getByRole('table', { name: 'Record' }).locator('tbody tr')
  await page.getByLabel('Kind of change').fill('prices')
  await page.getByLabel('Kind of change').press('Enter')
  await page.waitForURL(/\/record\?action=prices$/)
  await rows.filter({ hasText: 'off sale' }).first().waitFor({ state: 'detached' })
  assert.match(await rows.first().innerText(), /set a price/)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
  assert.equal(file.suggestedFilename(), 'record.csv')
  assert.match(lines[0]!, /^number,made_at,made_by,/)
  // A row is what one click has changed, a line each thing.
  assert.ok(lines.length > (await rows.count()))
  await page.goto(`${url}/console/record?until=2020-01-01`)
  await page.getByText('No changes match this filter.').waitFor()
  const actions = await sql`select distinct made_by, reason from operator_action`
  assert.deepEqual(actions, [{ made_by: 'olga', reason: 'a test' }])
  for (const path of PAGES) {
    await page.goto(`${url}/console${path}`)
    await page.locator('main h1').waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    assert.deepEqual(await barriers(page), [], path)
  }
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})
