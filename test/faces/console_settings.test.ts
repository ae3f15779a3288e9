// Settings of the console in a real browser: how one signs in, what the house has set, who else
// signs in.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { correctOrPropose } from 'penstock-service/treasury/corrections/approvals.ts'
import { proposeOperation } from 'penstock-service/treasury/corrections/second_operators.ts'
import type { Page } from 'playwright-core'
import { focusOn, giveAuthenticator, noBrowser } from '../harness/browser.ts'
import { consolePage } from '../harness/console_page.ts'
import { eventually } from '../harness/eventually.ts'
import { faultsOfLooks } from '../harness/looks.ts'

const PART_NAMES = ['', '?part=people', '?part=approvals', '?part=public', '?part=data']
const PARTS = PART_NAMES.map((part) => ({ path: `/console/settings${part}` }))

const openPart = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name }).click()

test('an admin adds a passkey, sets two rules, approves, lets in and takes out', {
  skip: noBrowser(),
}, async (t) => {
  const { sql, url, context, page, misdeeds } = await consolePage(t, { role: 'admin' })
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()

  await addPasskey(page)
  const passkeys = await sql`select name from passkey`
  assert.deepEqual(passkeys, [{ name: 'laptop' }])
  await setRules(page)
  const customer = await propose(sql)
  await approve(page)
  const made = await sql`
    select c.customer_id, c.amount_sun, c.made_by, p.approved_by
    from correction as c join correction_proposal as p on p.id = c.id`
  const correction = { customer_id: customer, amount_sun: 7_000_000n, made_by: 'bea' }
  assert.deepEqual(made, [{ ...correction, approved_by: 'olga' }])
  await inviteAndRemove(page)
  await endSession(page)
  const people = await sql`
    select name, role, ended_at is null as may_sign_in from service_user
    where name in ('Aud', 'olga') order by name, id`
  const olga = { name: 'olga', role: 'admin', may_sign_in: true }
  assert.deepEqual(people, [{ name: 'Aud', role: 'auditor', may_sign_in: false }, olga, olga])
  const actions = await sql<{ action: string }>`
    select action from operator_action where made_by = 'olga' order by number`
  assert.deepEqual(
    actions.map(({ action }) => action),
    [
      'events set',
      'approvals set',
      'approvals give',
      'approvals allow',
      'operators invite',
      'operators recover',
      'operators remove',
      'sessions end',
    ],
  )
  const open = await sql`select 1 from user_session where ended_at is null`
  assert.equal(open.length, 1)
  await lookAtRetention(sql, page)
  const found = await faultsOfLooks({ context, page, origin: url }, PARTS)
  assert.deepEqual(found, [])
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

/** What should have been deleted two days ago is so said; what is kept forever, too. */
async function lookAtRetention(sql: Sql, page: Page): Promise<void> {
  await sql`
    insert into metric (span, at, metric, counts)
    values ('minute', now() - interval '15 days 12 hours', 'order_sent', '{1}')`
  await openPart(page, 'Data and risk')
  const rules = page.getByRole('table', { name: 'Data retention' }).getByRole('row')
  await rules.filter({ hasText: /Per-minute figures.*14 days.*late by up to 2 days/ }).waitFor()
  await rules.filter({ hasText: /Orders.*forever.*none.*never/ }).waitFor()
  await rules.filter({ hasText: /Sessions.*30 days.*on schedule/ }).waitFor()
}

test('an operator tells of an incident, hides the pool, and names the house', {
  skip: noBrowser(),
}, async (t) => {
  const { sql, url, context, page, misdeeds } = await consolePage(t)
  await page.getByRole('link', { name: 'Settings' }).click()
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const dialog = page.getByRole('dialog')

  await openPart(page, 'Public pages')
  await press('Post an incident')
  await dialog.getByLabel('Title').fill('Slow')
  await dialog.getByLabel('Message').fill('A node is away.')
  await dialog.getByLabel('Delivering').check()
  await sayWhy(page)
  await press('Update Slow')
  await dialog.getByLabel('Message').fill('Another node is asked.')
  await sayWhy(page)
  await press('Close Slow')
  await dialog.getByLabel('Cause and fix').fill('It is back.')
  await sayWhy(page)
  const incidents = page.getByRole('table', { name: 'Incidents on the status page' })
  await incidents.getByText('It is back.').waitFor()
  const told = await sql`select title, what, parts, outcome from incident`
  const incident = { title: 'Slow', what: 'Another node is asked.', outcome: 'It is back.' }
  assert.deepEqual(told, [{ ...incident, parts: ['delivering'] }])

  await press('Hide Capacity')
  await sayWhy(page)
  await page.getByRole('button', { name: 'Show Capacity' }).waitFor()
  const shown = await sql`select pool_shown, prices_shown from status_page`
  assert.deepEqual(shown, [{ pool_shown: false, prices_shown: true }])

  await press('Change branding')
  await dialog.getByLabel('Brand name').fill('Example Energy')
  await dialog.getByLabel('Accent colour').fill('#FFCC00')
  await dialog.getByLabel('Support').fill('help@example.com, day and night')
  await dialog.getByLabel('URL of the terms').fill('https://example.com/terms')
  await sayWhy(page)
  const footer = page.getByRole('contentinfo')
  // What was read before is good for five seconds.
  while (!(await footer.isVisible())) await page.reload()
  // The policy of the document lets no text be waited for as a program.
  const isNamed = async () => (await page.title()) === 'Settings · Example Energy'
  await eventually('the page is called after the house', isNamed)
  await footer.getByText('help@example.com, day and night').waitFor()
  const terms = footer.getByRole('link', { name: 'Terms' })
  assert.equal(await terms.getAttribute('href'), 'https://example.com/terms')
  // Axe computes the contrast of the colour that was darkened, and of the one lightened.
  const found = await faultsOfLooks({ context, page, origin: url }, PARTS)
  assert.deepEqual(found, [])
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

test('an auditor looks at the settings, and may change nothing but how to sign in', {
  skip: noBrowser(),
}, async (t) => {
  const { page } = await consolePage(t, { role: 'auditor' })
  await page.getByRole('link', { name: 'Settings' }).click()
  assert.equal(await page.getByRole('button', { name: 'Add passkey' }).isEnabled(), true)
  for (const [part, name] of [
    ['People', /^Invite an operator$/],
    ['Approvals', /^Change$/],
    ['Public pages', /^Change branding$/],
    ['Data and risk', /^Turn (on|off)$/],
  ] as const) {
    await openPart(page, part)
    const button = page.getByRole('button', { name })
    await button.waitFor()
    assert.equal(await button.isDisabled(), true, part)
  }
})

/** Says why in the dialog that is open, by keyboard. */
async function sayWhy(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('a test')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
}

async function addPasskey(page: Page): Promise<void> {
  await giveAuthenticator(page)
  await page.getByLabel('Name of a new passkey').fill('laptop')
  await page.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByRole('table', { name: 'Passkeys' }).getByText('laptop').waitFor()
}

/** By keyboard alone, but for the way there. */
async function setRules(page: Page): Promise<void> {
  await openPart(page, 'Data and risk')
  const untell = page.getByRole('button', { name: 'Turn off' })
  const tell = page.getByRole('button', { name: 'Turn on' })
  await focusOn(untell.or(tell))
  const was_told = await untell.isVisible()
  await page.keyboard.press('Enter')
  await sayWhy(page)
  await (was_told ? tell : untell).waitFor()
  await openPart(page, 'Approvals')
  await focusOn(page.getByRole('button', { name: 'Change', exact: true }))
  await page.keyboard.press('Enter')
  await page.getByLabel('Who must approve').selectOption('name')
  await page.getByLabel('From, TRX').fill('5')
  await sayWhy(page)
  const sentence = /Corrections of 5 TRX or more need another operator's approval; so do new keys/
  await page.getByText(sentence).waitFor()
}

/** A customer, and 7 TRX and a key for it that another operator has asked for. */
async function propose(sql: Sql): Promise<string> {
  const clock = systemClock
  const new_id = idMaker(clock, systemRandom)
  const deposit_address = () => person('deposit').address
  return sql.begin(async (tx) => {
    const needs = { clock, new_id, deposit_address }
    const { id: customer_id } = await createCustomer(tx, needs, { name: 'Example Ltd' })
    const asked = { id: 'ticket 7', customer_id, amount_sun: 7_000_000n, reason: 'goodwill' }
    const by_bea = { made_at: clock.now(), made_by: 'bea', invoice_number: null }
    await correctOrPropose(tx, { ...asked, ...by_bea })
    const intention = { action: 'keys issue', body: JSON.stringify({ customer: customer_id }) }
    const proposal = { id: new_id(), reason: 'a new shop', at: clock.now() }
    await proposeOperation(tx, { ...intention, by: 'bea' }, proposal)
    return customer_id
  })
}

async function approve(page: Page): Promise<void> {
  await page.reload()
  await page.getByRole('button', { name: 'Approve ticket 7' }).click()
  await sayWhy(page)
  await page.getByText('No corrections waiting.').waitFor()
  await page.getByText(/^\{"customer":/).waitFor()
  await page.getByRole('button', { name: 'Allow keys issue' }).click()
  await page.getByText('bea can then do exactly this, once').waitFor()
  await sayWhy(page)
  await page.getByText('Allowed by olga').waitFor()
}

async function inviteAndRemove(page: Page): Promise<void> {
  await openPart(page, 'People')
  await page.getByRole('button', { name: 'Invite an operator' }).click()
  await page.getByLabel("Person's name").fill('Aud')
  await sayWhy(page)
  await page.getByText('Link for Aud').waitFor()
  const link = page.getByText(/\/console\/join#/)
  const first = await link.textContent()
  await page.getByRole('button', { name: 'New link Aud' }).click()
  await sayWhy(page)
  await link.filter({ hasNotText: first! }).waitFor()
  await page.getByRole('button', { name: 'Remove Aud' }).click()
  await sayWhy(page)
  const row = page.getByRole('table', { name: 'Operators' }).getByRole('row', { name: /Aud/ })
  await row.getByText('ended').waitFor()
}

/** One of somebody else's: one's own stays. */
async function endSession(page: Page): Promise<void> {
  const rows = page.getByRole('table', { name: 'Sessions' }).getByRole('row')
  const other = rows.filter({ hasNotText: 'this device' }).filter({ hasText: 'olga' })
  await other.getByRole('button', { name: 'Sign out olga' }).click()
  await sayWhy(page)
  await other.waitFor({ state: 'detached' })
  assert.equal(await rows.filter({ hasText: 'this device' }).count(), 1)
}
