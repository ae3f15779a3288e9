// Charts answer to a pointer, a finger and the keys, over the range that is chosen.

import assert from 'node:assert/strict'
import { eventually } from '../harness/eventually.ts'
import { newPortal } from '../harness/portal.ts'

const portal = newPortal()

const DAYS = 40

/** As if the customer had been here for some weeks, and spent a TRX more each day. */
async function liveForWeeks(): Promise<void> {
  const { sql } = portal.sandbox
  const { customer_id } = portal.sandbox.customer
  await sql`
    insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
      spent_sun, deposited_sun, p50_ms, p95_ms, balance_sun, spendable_sun)
    select ${customer_id}, bucket, at, 1, 1, 0, 65000, 0, 1000000 * n, 0, 900, 1500,
      1000000 * n, 1000000 * n
    from generate_series(1, ${DAYS}::integer) as n
      cross join unnest(array['day', 'hour']) as bucket
      cross join lateral (
        select date_trunc(bucket, now(), 'UTC')
          - (${DAYS}::integer + 1 - n) * ('1 ' || bucket)::interval as at) as begun
    on conflict do nothing`
}

portal.test('a pointer and a finger read a chart, and so do the keys', async () => {
  await liveForWeeks()
  const { page } = portal
  await portal.visit('/portal')
  const plot = page.getByRole('img', { name: /^Spent\./ })
  await plot.waitFor()
  const tip = plot.locator('.tip')
  assert.equal(await tip.count(), 0)
  const { width, height } = (await plot.boundingBox())!
  await plot.hover({ position: { x: width / 2, y: height / 2 } })
  await tip.getByText(/^\d+ TRX$/).waitFor()
  const in_the_middle = await tip.innerText()
  await plot.hover({ position: { x: width - 20, y: height / 2 } })
  assert.notEqual(await tip.innerText(), in_the_middle)
  await page.mouse.move(0, 0)
  await tip.waitFor({ state: 'detached' })
  await plot.focus()
  await page.keyboard.press('Home')
  const said = page.getByRole('figure', { name: 'Spent' }).getByRole('status')
  const first = await said.textContent()
  assert.match(first!, /Spent \d+ TRX, energy 65.000, Orders 1$/)
  await page.keyboard.press('ArrowRight')
  assert.notEqual(await said.textContent(), first)
  await page.keyboard.press('Escape')
  await tip.waitFor({ state: 'detached' })
  await plot.dispatchEvent('pointerdown', { clientX: 400, pointerType: 'touch' })
  await tip.waitFor()
})

portal.test('the range is chosen, and stands in the address', async () => {
  const { page } = portal
  await portal.visit('/portal')
  const rows = page.getByRole('table', { name: 'Spent', exact: true }).getByRole('row')
  const shown = async () => {
    await page.getByRole('figure', { name: 'Spent' }).getByText('Show as table').click()
    return (await rows.count()) - 1
  }
  const days = await shown()
  assert.ok(days >= 29 && days <= 31, `${days} days`)
  await portal.button('24 h').click()
  await page.waitForURL(/range=24h/)
  await page.reload()
  await page.getByRole('button', { name: '24 h', pressed: true }).waitFor()
  const areHours = async () => (await page.locator('.plot .bar').count()) <= 25
  await eventually('hours are drawn', areHours)
  const hours = await shown()
  assert.ok(hours >= 23 && hours <= 25, `${hours} hours`)
})

portal.behaves()
