// What a user sets in the portal, in a real browser: how one signs in, where one is signed in, and
// what the customer wants to be told.

import assert from 'node:assert/strict'
import { giveAuthenticator, newContext } from 'penstock-test/harness/browser.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'
import { codeAt, PASSWORD } from 'penstock-test/harness/users.ts'

const portal = newPortal()
const { button, field, heading, link, rows } = portal

/** The part of the page below a heading. */
const panel = (title: string) =>
  portal.page.locator('section').filter({ has: portal.page.getByRole('heading', { name: title }) })

portal.job('it is set when to be told and what invoices say', 5, async (hands) => {
  await hands.press(link('Settings'))
  const minutes = hands.name === 'mouse' ? 7 : 8
  await hands.type(field('Minutes before'), '77')
  await portal.page.getByText('Enter 1 to 55.').waitFor()
  await hands.type(field('Minutes before'), String(minutes))
  await hands.press(panel('Reminder before an order ends').getByRole('button', { name: 'Save' }))
  await portal.page.getByText('Saved.').first().waitFor()
  await hands.type(field('Your details'), `Paid by ${hands.name}`)
  await hands.press(panel('Invoice details').getByRole('button', { name: 'Save' }))
  const billing = [`Paid by ${hands.name}`]
  const settings = await eventually('both are set', async () => {
    const now = await portal.penstock.settings.get()
    return now.billing.join() === billing.join() && now
  })
  assert.equal(settings.ending_minutes, minutes)
})

/** A session of the same user in another browser; whether it is open. */
async function signedInElsewhere(): Promise<() => Promise<boolean>> {
  const { sql, customer } = portal.sandbox
  const id = `elsewhere ${customer.customer_id}`
  await sql`
    insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at, ip, browser)
    select ${id}, encode(sha256(${id}::text::bytea), 'hex'), min(u.id), now(), now(),
      now() + interval '1 day', '192.0.2.9', 'Elsewhere'
    from service_user as u where customer_id = ${customer.customer_id}`
  return async () => {
    const [open] = await sql`select 1 from user_session where id = ${id} and ended_at is null`
    return open !== undefined
  }
}

portal.test('passkeys come and go, and recovery codes are made anew', async () => {
  const isOpenElsewhere = await signedInElsewhere()
  await portal.visit('/portal/settings')
  await giveAuthenticator(portal.page)
  const end_others = portal.page.getByLabel('Sign me out everywhere else when I change this')
  await end_others.uncheck()
  await field('Name of a new passkey').fill('laptop')
  await button('Add passkey').click()
  await rows('Passkeys').filter({ hasText: 'laptop' }).waitFor()
  await button('Rename laptop').click()
  await portal.dialog().getByLabel('Name').fill('desk\u202e')
  await portal.inDialog('Save').click()
  await portal.dialog().getByRole('alert').first().waitFor()
  await portal.dialog().getByLabel('Name').fill('desk')
  await portal.inDialog('Save').click()
  await rows('Passkeys').filter({ hasText: 'desk' }).waitFor()
  assert.equal(await isOpenElsewhere(), true)
  await end_others.check()
  await button('New recovery codes').click()
  const codes = portal.dialog().locator('.recovery-codes code')
  await codes.first().waitFor()
  assert.equal(new Set(await codes.allInnerTexts()).size, 10)
  assert.equal(await isOpenElsewhere(), false)
  await portal.page.getByLabel('I have saved the codes in a safe place').check()
  await portal.inDialog('Continue').click()
  await portal.page.getByText('10 recovery codes are left.').waitFor()
  // It is the only thing to sign in with.
  await button('Remove desk').click()
  await portal.page.getByText('Nothing else is there to sign in with').first().waitFor()
  await rows('Passkeys').filter({ hasText: 'desk' }).waitFor()
})

portal.test('one sees where one is signed in', async () => {
  await portal.visit('/portal/settings')
  await rows('Sessions').filter({ hasText: 'this device' }).waitFor()
  await heading('Settings').waitFor()
})

portal.test('it is said before a session ends, and one can go on', async () => {
  const { context, origin, sandbox } = portal
  const page = await context.newPage()
  await page.clock.install()
  await page.goto(`${origin}/portal/settings`)
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
  const warning = page.getByRole('alert', { name: 'Session ending' })
  let about_to_end = new Date(0)
  await eventually('the end of the session is told', async () => {
    // What was asked while the page came may be answered only now, and is a use of the session.
    about_to_end = new Date(Date.now() - 12 * 3_600_000 + 90_000)
    await sandbox.sql`update user_session set used_at = ${about_to_end}`
    // What was just read of a session is remembered for a second.
    await page.waitForTimeout(1_200)
    // So long nobody touches the page, and what it asks by itself counts for nothing.
    await page.clock.fastForward('12:00:00')
    await page.waitForTimeout(500)
    return warning.isVisible()
  })
  await warning.getByRole('button', { name: 'Stay signed in' }).click()
  await warning.waitFor({ state: 'detached' })
  const [session] = await sandbox.sql<{ used_at: Date }>`
    select max(used_at) as used_at from user_session`
  assert.ok(session!.used_at.getTime() > about_to_end.getTime() + 3_600_000)
  await page.close()
})

portal.test('language and theme are chosen, and stay', async () => {
  await portal.visit('/portal/settings')
  await panel('Language and theme').getByLabel('Theme').selectOption('dark')
  await portal.page.locator('html[data-theme=dark]').waitFor()
  await panel('Language and theme').getByLabel('Language').selectOption('ru')
  await portal.page.locator('html[lang=ru][data-theme=dark]').waitFor()
  await heading('Настройки').waitFor()
  await panel('Язык и тема').getByLabel('Тема').selectOption('')
  await panel('Язык и тема').getByLabel('Язык').selectOption('en')
  await portal.page.locator('html[lang=en]:not([data-theme])').waitFor()
})

portal.test('a new password signs in, with the codes of its own secret', async () => {
  const { sql, customer } = portal.sandbox
  await sql`
    update service_user set sign_in_name = 'otto' where customer_id = ${customer.customer_id}`
  // What was just read of a session is remembered for a second.
  await portal.page.waitForTimeout(1_200)
  await portal.visit('/portal/settings')
  await button('New password').click()
  const secret = await portal.dialog().locator('.whole-text').innerText()
  await portal.dialog().getByLabel('Password').fill('short')
  await portal.dialog().getByLabel('Code from the app (6 digits)').fill(codeAt(secret, new Date()))
  await portal.inDialog('Save').click()
  await portal.dialog().getByText('Choose another password.').waitFor()
  await portal.dialog().getByLabel('Password').fill(PASSWORD)
  await portal.dialog().getByLabel('Code from the app (6 digits)').fill(codeAt(secret, new Date()))
  await portal.inDialog('Save').click()
  await portal.page.getByText('The password was changed.').first().waitFor()
  const other = await (await newContext(portal.browser)).newPage()
  await other.goto(`${portal.origin}/portal`)
  await other.getByText('Use a password instead').click()
  await other.getByLabel('Sign-in name').first().fill('otto')
  await other.getByLabel('Password').first().fill(PASSWORD)
  // The service takes no code twice, and the next one half a minute early.
  const next = codeAt(secret, new Date(Date.now() + 30_000))
  await other.getByLabel('Code from the app (6 digits)').first().fill(next)
  await other.getByRole('button', { name: 'Sign in with a password' }).click()
  await other.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await other.context().close()
})

portal.looks([{ path: '/portal/settings' }])
portal.behaves()
