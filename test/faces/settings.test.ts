// What a user sets in the portal, in a real browser: how one signs in, where one is signed in, and
// what the customer wants to be told.

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { giveAuthenticator } from 'penstock-test/harness/browser.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, field, heading, link, rows } = portal
before(portal.open)
after(portal.close)

/** The part of the page below a heading. */
const panel = (title: string) =>
  portal.page.locator('section').filter({ has: portal.page.getByRole('heading', { name: title }) })

portal.job('it is set when to be told and what invoices say', 5, async (hands) => {
  await hands.press(link('Settings'))
  const minutes = hands.name === 'mouse' ? 7 : 8
  await hands.type(field('Minutes before'), '77')
  await portal.page.getByText('1 to 55').waitFor()
  await hands.type(field('Minutes before'), String(minutes))
  await hands.press(panel('Before an hour is over').getByRole('button', { name: 'Save' }))
  await portal.page.getByText('Saved.').first().waitFor()
  await hands.type(field('Your own lines'), `Paid by ${hands.name}`)
  await hands.press(panel('Lines on invoices').getByRole('button', { name: 'Save' }))
  await portal.page.getByText('Saved.').nth(1).waitFor()
  const settings = await portal.penstock.settings.get()
  assert.equal(settings.ending_minutes, minutes)
  assert.deepEqual(settings.billing, [`Paid by ${hands.name}`])
})

portal.test('passkeys come and go, and recovery codes are made anew', async () => {
  await portal.visit('/portal/settings')
  await giveAuthenticator(portal.page)
  await field('Name of a new passkey').fill('laptop')
  await button('Add passkey').click()
  await rows('Passkeys').filter({ hasText: 'laptop' }).waitFor()
  await button('New recovery codes').click()
  const codes = portal.dialog().locator('.recovery-codes code')
  await codes.first().waitFor()
  assert.equal(new Set(await codes.allInnerTexts()).size, 10)
  await portal.page.getByLabel('I have kept the codes in a safe place').check()
  await portal.inDialog('Go on').click()
  await portal.page.getByText('10 recovery codes are left.').waitFor()
  // It is the only thing to sign in with.
  await button('Remove laptop').click()
  await portal.page.getByText('Nothing else is there to sign in with').first().waitFor()
  await rows('Passkeys').filter({ hasText: 'laptop' }).waitFor()
})

portal.test('one sees where one is signed in', async () => {
  await portal.visit('/portal/settings')
  await rows('Sessions').filter({ hasText: 'this one' }).waitFor()
  await heading('Settings').waitFor()
})

portal.looks([{ path: '/portal/settings' }])
portal.behaves()
