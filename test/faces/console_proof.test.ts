// The button of an order's proof in a real browser, at a whole service: what it saves is what
// anybody verifies without the service.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Penstock } from 'penstock-sdk'
import { checkProof, readProof } from 'penstock-service/receipts/proof_checking.ts'
import type { Page } from 'playwright-core'
import { noBrowser, startBrowser, watchPages } from '../harness/browser.ts'
import { startSandbox } from '../harness/sandbox.ts'

/** Seals and pages come within seconds, on a machine that has time. */
const PATIENCE_MS = 60_000

test("the button saves an order's proof, and says why there is none", {
  skip: noBrowser(),
}, async (t) => {
  const [sandbox, browser] = await Promise.all([startSandbox(), startBrowser()])
  t.after(async () => {
    await browser.close()
    await sandbox.close()
  })
  const { customer, api_url: url, sign_in } = sandbox
  const console_link = sign_in.console!
  const { origin } = new URL(console_link)
  const penstock = new Penstock({ url, token: customer.token, secret: customer.secret })
  const { address } = sandbox.sandbox.funded_accounts[0]!
  const params = { address, amount: 65_000, duration: 1 }
  const { id } = await penstock.orders.create({ service: 'energy', params, external_id: 'proven' })

  const context = await browser.newContext({ acceptDownloads: true })
  context.setDefaultTimeout(PATIENCE_MS)
  const misdeeds = watchPages(context, origin)
  const page = await context.newPage()
  await page.goto(console_link)
  await page.getByRole('button', { name: 'Take off sale' }).waitFor()
  await penstock.orders.waitFor(id)
  await page.goto(`${origin}/console/orders/${id}`)
  const proof = await readProof(await savedProof(page, `proof-${id}.json`))
  assert.equal(proof.order_id, id)
  assert.deepEqual(await checkProof(proof, {}), [])
  assert.notDeepEqual(await checkProof({ ...proof, order_id: 'another' }, {}), [])
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

/** Presses the button until there is a file: an order whose entries are not sealed yet has none,
 *  and the page says so. */
async function savedProof(page: Page, name: string): Promise<string> {
  const button = page.getByRole('button', { name: 'Proof' })
  const refused = page.getByText(/are not sealed yet|is not delivered/)
  const saving = page.waitForEvent('download')
  const saved = saving.then((download) => ({ download }))
  while (true) {
    await button.click()
    const said = refused.waitFor().catch(() => {})
    const found = await Promise.race([saved, said])
    if (found) {
      assert.equal(found.download.suggestedFilename(), name)
      return readFile(await found.download.path(), 'utf8')
    }
    await page.waitForTimeout(500)
  }
}
