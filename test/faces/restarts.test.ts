// A page that stays open while the service is stopped and started again: it says so, comes back by
// itself, and has missed nothing.

import assert from 'node:assert/strict'
import { eventually } from '../harness/eventually.ts'
import { newPortal } from '../harness/portal.ts'

const RESTARTS = 2
/** For a press of what may be gone by then. */
const OFFER_MS = 2_000

const portal = newPortal()

portal.test('an open page misses nothing while the service is started again', async () => {
  const { page, penstock, sandbox } = portal
  await portal.visit('/portal/orders')
  const live = page.getByText(/^● live$/)
  await live.waitFor()
  const asked = watchDocuments()
  const address = sandbox.sandbox.funded_accounts[0]!.address
  const params = { address, amount: 65_000, duration: 1 }
  const names: string[] = []
  for (let turn = 1; turn <= RESTARTS; turn++) {
    for (const when of ['before', 'after']) {
      const external_id = `${when}-${turn}`
      // The one before is sold while the page listens and delivered while it cannot; the one after,
      // before it is back.
      await penstock.orders.create({ service: 'energy', params, external_id })
      names.push(external_id)
      if (when === 'before') await sandbox.restart()
    }
    await live.waitFor()
    for (const name of names) await shown(name)
  }
  assert.equal(await portal.rows('Orders').count(), names.length + 1, 'each once, and the head')
  assert.equal(asked.count, 0, 'the page was not loaded again')
})

/** Until the order stands in the list, delivered: it was read again when the page came back, or the
 *  page offers to show what is new. */
async function shown(name: string): Promise<void> {
  const { page } = portal
  const row = page.getByRole('row').filter({ hasText: name })
  const offer = page.getByRole('button', { name: /^\d+ new$/ })
  await eventually(`${name} is shown`, async () => {
    // What is offered may be gone before it is pressed: the list was read again.
    if (await offer.isVisible()) await offer.click({ timeout: OFFER_MS }).catch(() => {})
    return row.getByText('delivered').isVisible()
  })
}

/** Counts the pages that are loaded as a whole. */
function watchDocuments(): { count: number } {
  const asked = { count: 0 }
  portal.page.on('request', (request) => {
    if (request.isNavigationRequest()) asked.count += 1
  })
  return asked
}
