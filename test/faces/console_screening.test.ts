// Screening and events in the console, in a real browser: an answer that waits is decided, a list
// is looked at and loaded and put back, the house's events are filtered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { publishStep } from 'penstock-service/events/log/publish.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { insertCase } from 'penstock-service/screening/cases/cases.ts'
import { completeChecks, newCheck, placeChecks } from 'penstock-service/screening/checks/checks.ts'
import { openReviews } from 'penstock-service/screening/checks/reviews.ts'
import { canonical } from 'penstock-service/screening/engine/evidence.ts'
import type { Page } from 'playwright-core'
import { noBrowser } from '../harness/browser.ts'
import { consolePage } from '../harness/console_page.ts'
import { doJob, type Hands, keyboard, mouse } from '../harness/hands.ts'
import { faultsOfLooks } from '../harness/looks.ts'
import { insertWorker } from '../harness/process_rows.ts'

const clock = systemClock
const new_id = idMaker(clock, systemRandom)
const shop = person('shop').address

/** A customer, and an answer of 82.0 about an address. Returns the id of its check. */
async function highAnswer(sql: Sql, address = shop): Promise<string> {
  const now = clock.now()
  const outcome = {
    factors: [{ name: 'scam', label: 'Scam', group: 'high' as const, score: 1 }],
    base_score: '82.0',
    raw_score: '82.0',
    score: '82.0',
    level: 'high' as const,
    blacklist: false,
    floors: [],
  }
  const evidence = canonical({ screened: { address }, blacklisted_by: [], floors: [] })
  const result = {
    outcome,
    evidence,
    provider: 'embedded',
    policy: 1,
    index: undefined,
    bars: undefined,
  }
  return sql.begin(async (tx) => {
    const deposit_address = () => person(`deposit of ${address}`).address
    const needs = { clock, new_id, deposit_address }
    const { id: customer_id } = await createCustomer(tx, needs, { name: 'Example Ltd' })
    const asked = { type: 'address', network: 'TRX', address, idempotency_key: null } as const
    const made = { id: new_id(), price_sun: 0n, solid_number: 0n, created_at: now }
    const check = newCheck({ customer_id, ...asked }, made)
    placeChecks(tx, [check])
    await tx`update aml_check set state = 'processing' where id = ${check.id}`
    await completeChecks(tx, [{ check, result }], now)
    await openReviews(tx, [{ check, result }], now)
    return check.id
  })
}

test('an operator decides an answer, loads a list and looks at the events', {
  skip: noBrowser(),
}, async (t) => {
  const { sql, url, context, page, misdeeds } = await consolePage(t)
  const check = await highAnswer(sql)

  await doJob(t, keyboard(page), { clicks: 3 }, (hands) => decide(page, hands))
  const [review] = await sql`
    select r.check_id, r.decision, r.reason, r.decided_by, e.kind, c.supersedes
    from aml_review as r join aml_entry as e on e.id = r.entry_id
      join aml_check as c on c.id = r.next_check_id`
  const decided = { decision: 'deny', reason: 'a test', decided_by: 'olga', kind: 'deny' }
  assert.deepEqual(review, { check_id: check, ...decided, supersedes: check })
  await page.getByRole('link', { name: 'Decided' }).click()
  await page.getByText('deny: a test (olga)').waitFor()

  await doJob(t, mouse(page), { clicks: 4 }, (hands) => loadVersion(page, hands))
  await changeList(page)
  const sets = await sql`select number from label_set where number > 0 order by number`
  assert.equal(sets.length, 3, 'two were loaded, and one was put back')

  const publish = () => drain([publishStep({ sql, tellStreams: () => {} })])
  await publish()
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await page.getByText('lists revert').waitFor({ state: 'attached' })
  await page.getByLabel('Event', { exact: true }).selectOption('review.opened')
  const rows = page.getByRole('region', { name: 'Events' }).locator('tbody tr')
  await rows.filter({ hasText: 'action.made' }).first().waitFor({ state: 'detached' })
  await page.getByRole('link', { name: `review:${check}` }).waitFor()
  assert.equal(await rows.count(), 1)
  const other = await highAnswer(sql, person('other').address)
  await publish()
  await rows.nth(1).waitFor()
  await tellProviders(sql, check)
  await lookAtProviders(page)
  const paths = [
    '',
    '?part=watching',
    '?part=basis',
    `/reviews/${check}`,
    `/reviews/${other}`,
    '/lists/operator',
  ]
  const found = await faultsOfLooks({ context, page, origin: url }, [
    ...paths.map((path) => ({ path: `/console/screening${path}` })),
    { path: '/console/event-log' },
  ])
  assert.deepEqual(found, [])
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

/** What a worker writes that can ask a provider, which has answered once and then no more. */
async function tellProviders(sql: Sql, check: string): Promise<void> {
  await sql`
    insert into aml_answer (check_id, provider, outcome, body, sha256, received_at, error)
    select ${check}, 'misttrack', outcome, '', '', now() - make_interval(mins => minutes), error
    from (values ('answered', 90, null), ('transient', 5, 'HTTP 503 without JSON'),
      ('quota', 2, 'ExpiredPlan')) as one (outcome, minutes, error)`
  const block = { label_set: 1, in_use: true, block_number: 70_000_019 }
  await insertWorker(sql, {
    providers: [{ name: 'misttrack', left_alone: true }],
    indexes: [{ generation: 3, ...block, slots: 1_234_567, memory_bytes: 250_000_000 }],
  })
}

async function lookAtProviders(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Screening' }).click()
  await page.getByRole('link', { name: 'Policy, index, providers' }).click()
  const providers = page.getByRole('table', { name: 'Screening providers' }).getByRole('row')
  const said = [
    /misttrack.*paused by 1 process/,
    /2 asked, 0 answered, 2 failed.*3 asked, 1 answered, 2 failed/,
    /quota used up: ExpiredPlan/,
  ]
  for (const text of said) await providers.filter({ hasText: text }).waitFor()
  const memory = page.getByRole('table', { name: 'In memory' }).getByRole('row')
  await memory.filter({ hasText: /worker machine-1.*3, in use.*1\s234\s567.*250 MB/ }).waitFor()
}

test('an officer takes a case, notes in it, attaches a file and closes it', {
  skip: noBrowser(),
}, async (t) => {
  const { sql, url, context, page, misdeeds } = await consolePage(t)
  const id = new_id()
  const found = {
    id,
    customer_id: null,
    address: shop,
    priority: 'high',
    risk_level: null,
  } as const
  const opened = { by: 'screening', at: clock.now(), text: 'An alert.' }
  await sql.begin((tx) => insertCase(tx, found, opened))
  await page.getByRole('link', { name: 'Screening' }).click()
  const queue = page.getByRole('region', { name: 'All cases' })
  await queue.locator('tbody tr').first().getByRole('link').first().click()
  await page.getByRole('heading', { name: /^Case/ }).waitFor()
  const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  await press('Assign')
  await sayWhy(page)
  await press('Note')
  await sayWhy(page)
  await press('Attach a file')
  const text = { name: 'letter.txt', mimeType: 'text/plain', buffer: Buffer.from('A letter.') }
  await page.getByLabel('Text file').setInputFiles(text)
  await sayWhy(page)
  await page.getByText('letter.txt, SHA-256').waitFor()
  await press('Close')
  await page.getByRole('dialog').getByLabel('Outcome').selectOption('barred')
  await sayWhy(page)
  await page.getByRole('button', { name: 'Reopen' }).waitFor()
  const [closed] = await sql`select state, code, owner, closed_by from aml_case`
  assert.deepEqual(closed, { state: 'closed', code: 'barred', owner: 'olga', closed_by: 'olga' })
  const paths = [{ path: `/console/screening/cases/${id}` }]
  assert.deepEqual(await faultsOfLooks({ context, page, origin: url }, paths), [])
  assert.deepEqual(misdeeds, { errors: [], others: [], violations: [] })
})

/** Says why in the dialog that is open. */
async function sayWhy(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('a test')
  // A file that was chosen is read first.
  await dialog.locator('button[type=submit]:enabled').waitFor()
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
}

/** The page, the decision, the form. */
async function decide(page: Page, hands: Hands): Promise<void> {
  await hands.press(page.getByRole('link', { name: 'Screening' }))
  await hands.press(page.getByRole('button', { name: 'Deny' }))
  await hands.type(page.getByRole('dialog').getByLabel('Reason'), 'a test')
  await hands.press(page.getByRole('dialog').locator('button[type=submit]'))
  await page.getByText('No reviews waiting.').waitFor()
}

const fileOf = (...addresses: string[]) => ({
  name: 'mine.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(
    ['address,category', ...addresses.map((address) => `${address},scam`)].join('\n'),
  ),
})

/** The page, the list, what it means, the form; a file is chosen as a field is filled. */
async function loadVersion(page: Page, hands: Hands): Promise<void> {
  await hands.press(page.getByRole('link', { name: 'Screening' }))
  await hands.press(page.getByRole('link', { name: 'operator', exact: true }))
  await page.getByLabel('New version, from a file').setInputFiles(fileOf(shop))
  await page.getByText('1 entries instead of 0: 1 added, 0 removed').waitFor()
  await hands.press(page.getByRole('button', { name: 'Activate', exact: true }))
  await page.getByRole('dialog').getByLabel('Reason').fill('a test')
  await hands.press(page.getByRole('dialog').locator('button[type=submit]'))
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

async function changeList(page: Page): Promise<void> {
  const file = page.getByLabel('New version, from a file')
  await file.setInputFiles(fileOf(shop, person('other').address))
  await page.getByText('2 entries instead of 1: 1 added, 0 removed').waitFor()
  await page.getByRole('button', { name: 'Activate', exact: true }).click()
  await sayWhy(page)
  await file.setInputFiles(fileOf())
  await page.getByText('It has no entry for an address of this network.').waitFor()
  const publish = page.getByRole('button', { name: 'Activate', exact: true })
  assert.equal(await publish.isDisabled(), true, 'unless one says that it is right')
  await page.getByRole('button', { name: 'Restore' }).click()
  await sayWhy(page)
}
