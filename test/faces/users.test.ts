// An owner lets somebody in, gives another role and a new link, takes the user out, and sees who
// did what: in a real browser.

import assert from 'node:assert/strict'
import { newContext } from 'penstock-test/harness/browser.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, field, inDialog, link, rows } = portal

const row = (name: string) => rows('Users').filter({ hasText: name })

/** The link that the dialog shows once. */
const shownLink = () => portal.dialog().locator('code').first().innerText()

portal.job('somebody is let in, gets another role, and is taken out', 9, async (hands) => {
  const name = `Bert ${hands.name}`
  await hands.press(link('Users'))
  await hands.press(button('Invite somebody'))
  await hands.type(field('Name'), name)
  await hands.press(inDialog('Create link'))
  await portal.page.getByRole('heading', { name: `Link for ${name}` }).waitFor()
  assert.match(await shownLink(), new RegExp(`^${portal.origin}/portal/join#[\\w-]{43}$`))
  await hands.press(inDialog('Close'))
  await row(name)
    .getByText(/invited/)
    .waitFor()
  await hands.press(button(`Change ${name}`))
  await portal.page.getByRole('dialog').getByLabel('Role').selectOption('finance')
  await hands.press(inDialog('Save'))
  await row(name).getByText('finance').waitFor()
  await hands.press(button(`More for ${name}`))
  await hands.press(button(`Remove ${name}`))
  await hands.press(inDialog('Remove'))
  await row(name).getByText('ended').waitFor()
})

portal.test('a user may spend so much in a day, until nobody says so', async () => {
  await portal.visit('/portal/settings/users')
  await button('Invite somebody').click()
  await field('Name').fill('Dora')
  const cap = field('Daily spending limit (TRX)')
  await cap.fill('much')
  assert.ok(await inDialog('Create link').isDisabled())
  await cap.fill('12.5')
  await inDialog('Create link').click()
  await shownLink()
  await inDialog('Close').click()
  await row('Dora').getByText('12.5').waitFor()
  await button('Change Dora').click()
  assert.equal(await cap.inputValue(), '12.5')
  await cap.fill('')
  await inDialog('Save').click()
  await row('Dora').getByText('no limit').waitFor()
})

portal.test('a new link makes the one before worthless', async () => {
  await portal.visit('/portal/settings/users')
  await button('Invite somebody').click()
  await field('Name').fill('Clara')
  await inDialog('Create link').click()
  const first = await shownLink()
  await inDialog('Close').click()
  await button('More for Clara').click()
  await button('New link Clara').click()
  await inDialog('New link').click()
  await portal.page.getByRole('heading', { name: 'Link for Clara' }).waitFor()
  const second = await shownLink()
  const context = await newContext(portal.browser)
  const page = await context.newPage()
  await page.goto(first)
  await page.getByText('This link is not valid, or was already used.').waitFor()
  await page.goto('about:blank')
  await page.goto(second)
  await page.getByText("Clara, you've been invited").waitFor()
  await context.close()
})

portal.test('the record has who did it, and to whom', async () => {
  await portal.visit('/portal/settings/record')
  for (const action of ['user/invite', 'user/change', 'user/remove', 'user/recover'])
    await rows('Record').filter({ hasText: action }).first().waitFor()
  for (const sentence of [/^Sandbox owner invited Bert/, /^Sandbox owner removed user Bert/])
    await portal.page.getByText(sentence).first().waitFor()
})

portal.looks([
  { path: '/portal/settings/users' },
  { path: '/portal/settings/record' },
  {
    path: '/portal/settings/users',
    prepare: async () => {
      await portal.page.locator('main button.main').click()
      await portal.dialog().waitFor()
    },
  },
])
portal.behaves()
