// More of the console in a real browser: customers and their people, the pool, the chain, found by
// role and name, and these pages in each language, theme and width.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { startDevchain } from 'penstock-devchain'
import { person } from 'penstock-devchain/scene.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Page } from 'playwright-core'
import { noBrowser } from '../harness/browser.ts'
import { consolePage } from '../harness/console_page.ts'
import { faultsOfLooks } from '../harness/looks.ts'
import { insertWorker } from '../harness/process_rows.ts'

test('an operator makes a customer, and looks at the pool and the chain', {
  skip: noBrowser(),
}, async (t) => {
  const chain = await startDevchain({ block_time_seconds: 0 })
  t.after(chain.close)
  const nodes = [{ url: chain.url }, { url: 'http://127.0.0.1:9/key' }]
  const { sql, url, context, page, misdeeds } = await consolePage(t, { role: 'admin', nodes })
  const customer = await makeCustomer(page)
  const made = await sql`select id, state from customer`
  assert.deepEqual(made, [{ id: customer, state: 'active' }])
  await suspendAndInvite(page)
  await filterCustomers(page, url)
  const [suspended] = await sql`select state from customer`
  assert.deepEqual(suspended, { state: 'suspended' })
  const people = await sql`
    select name, role from service_user where customer_id = ${customer} order by id`
  assert.deepEqual(people, [
    { name: 'Ada', role: 'owner' },
    { name: 'Finn', role: 'finance' },
  ])
  await takeCopyAndErase(page, sql, customer)
  const actions = await sql`select made_by, reason from operator_action group by made_by, reason
    order by reason collate "C"`
  assert.deepEqual(actions, [
    { made_by: 'olga', reason: 'Notes' },
    { made_by: 'olga', reason: 'a test' },
  ])

  await page.getByRole('link', { name: 'Customers' }).click()
  await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const lines = (await readFile(await (await saving).path(), 'utf8')).trim().split('\r\n')
  assert.equal(lines.length, 2)
  assert.match(lines[1]!, new RegExp(`${customer}.*erased.*closed`))
  await fillPool(sql)
  await lookAtPool(page)
  await lookAtChain(page)

  const paths = [
    '/pool',
    `/pool/${person('poor').address}`,
    '/chain',
    '/month',
    '/customers',
    `/customers/${customer}`,
  ]
  const looks = { context, page, origin: url }
  const pages = paths.map((path) => ({ path: `/console${path}` }))
  const found = await faultsOfLooks(looks, pages, { in_turn: false })
  assert.deepEqual(found, [])
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
})

/** Says why in the dialog that is open. */
async function sayWhy(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('a test')
  await dialog.locator('button[type=submit]').click()
  await dialog.waitFor({ state: 'detached' })
}

/** From the first page to the link that is handed over; leaves the customer's page open. */
async function makeCustomer(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Customers' }).click()
  await page.getByText('No customers yet.').waitFor()
  await page.getByRole('button', { name: 'New customer' }).click()
  await page.getByLabel('Customer name').fill('Example Ltd')
  await page.getByLabel("First owner's name").fill('Ada')
  await sayWhy(page)
  await page.getByText(/http:\/\/localhost:8080\/portal\/join#/).waitFor()
  await page.getByRole('link', { name: 'Open the customer' }).click()
  await page.getByRole('heading', { name: 'Example Ltd' }).waitFor()
  return new URL(page.url()).pathname.split('/').at(-1)!
}

/** By a part of the name and by state; leaves the customer's page open. */
async function filterCustomers(page: Page, url: string): Promise<void> {
  const opened = page.url()
  await page.goto(`${url}/console/customers?name=EXAM&state=suspended`)
  await page.getByRole('link', { name: 'Example Ltd' }).waitFor()
  await page.goto(`${url}/console/customers?state=closed`)
  await page.getByText('No customers match this filter.').waitFor()
  await page.goto(`${url}/console/screening?part=watching&level=high`)
  await page.getByText('No watched addresses match this filter.').waitFor()
  await page.goto(opened)
  await page.getByRole('heading', { name: 'Example Ltd' }).waitFor()
}

async function suspendAndInvite(page: Page): Promise<void> {
  await page.getByText('Spent, 30 days').waitFor()
  await page.getByText('No notes yet.').waitFor()
  await page.getByLabel('New note').fill('Pays by the month.')
  await page.getByRole('button', { name: 'Add note' }).click()
  await page.getByText('Pays by the month.').waitFor()
  await page.getByRole('button', { name: 'Suspend' }).click()
  await sayWhy(page)
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel("Person's name").fill('Finn')
  await page.getByRole('dialog').getByLabel('Role').selectOption('finance')
  await sayWhy(page)
  await page.getByText('Link for Finn').waitFor()
}

/** All that is kept of a customer, as a file; then, closed, it is erased, with who was in it. */
async function takeCopyAndErase(page: Page, sql: Sql, customer: string): Promise<void> {
  const personal = page.locator('section.panel').filter({ hasText: 'Personal data' })
  const downloading = page.waitForEvent('download')
  await personal.getByRole('button', { name: 'Export' }).click()
  await sayWhy(page)
  const download = await downloading
  assert.equal(download.suggestedFilename(), `customer-${customer}.json`)
  const copy = JSON.parse(await readFile(await download.path(), 'utf8'))
  assert.deepEqual([copy.of, copy.data.customer[0].name], [`customer:${customer}`, 'Example Ltd'])
  assert.equal(await personal.getByRole('button', { name: 'Erase' }).count(), 0)
  await sql`update customer set state = 'closed' where id = ${customer}`
  await page.reload()
  await personal.getByRole('button', { name: 'Erase' }).click()
  await page.getByText('This cannot be undone.').waitFor()
  await page.getByRole('dialog').getByLabel('Reason').fill('a test')
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await page.getByRole('dialog', { name: 'Erased, except for this' }).waitFor()
  await page.getByText('they are the books').waitFor()
  await page.getByRole('dialog').getByRole('button').click()
  const [erased] = await sql`select name from customer where id = ${customer}`
  assert.deepEqual(erased, { name: 'erased' })
  const users = await sql`select name from service_user where customer_id = ${customer}`
  assert.deepEqual(users, [{ name: 'erased' }, { name: 'erased' }])
}

/** A chain that is followed, a wallet that can pay and one that cannot, and a transaction on its
 *  way, as workers write them. */
async function fillPool(sql: Sql): Promise<void> {
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (70000019, 'a', now(), 70000000, 69999999, now())`
  await sql`
    insert into pool (resource, room, reserved)
    values ('energy', 2600000, 65000), ('bandwidth', 310, 0)
    on conflict (resource) do update set room = excluded.room, reserved = excluded.reserved`
  for (const [name, carries] of [
    ['rich', 40],
    ['poor', 0],
  ] as const)
    await sql`
      insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
      values (${person(name).address}, 'energy', 5000000000, ${carries}, 70000019, now())`
  await sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    values ('attempt', 'delegate:part', '{}', now(), now())`
  await sql`
    insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
      spent_sun, deposited_sun, balance_sun, spendable_sun)
    select id, 'hour', date_trunc('hour', now() - interval '1 day'), 9, 9, 0, 585123, 0, 0, 0, 0, 0
    from customer`
  const never = { answered_at: null, failed_at: null, error: null, head_number: null }
  const fast = { p50_ms: 12, p95_ms: 80 }
  const good = { name: 'good.example', requests: 900, failures: 0, ...fast, ...never }
  const error = 'node bad.example answers /wallet/getblock with HTTP 503'
  const none = { p50_ms: null, p95_ms: null }
  const bad = { name: 'bad.example', requests: 40, failures: 39, ...none, ...never }
  const now = new Date()
  await insertWorker(sql, {
    nodes: [
      { ...good, head_number: 70_000_019, answered_at: now },
      { ...bad, failed_at: now, error },
    ],
  })
}

/** The wallet that cannot pay stands first. In a day the units for a stake may be 5 % more or
 *  fewer, for all of the 2,600,000 that there is room for; of bandwidth that makes less than the
 *  smallest order. */
async function lookAtPool(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Pool' }).click()
  await page.getByRole('heading', { name: 'Free, energy' }).waitFor()
  await page
    .getByText(/Now 2\s535\s000; in 24 hours 2\s405\s000 to 2\s730\s000/)
    .first()
    .waitFor()
  await page.getByText(/There is always enough for an order of 32\s000/).waitFor()
  await page.getByText(/The pool could run short at \d\d:\d\d: an order of/).waitFor()
  const energy = page.getByRole('figure', { name: 'Free, energy' })
  await energy.getByText('Show as table').click()
  await energy
    .getByRole('row')
    .filter({ hasText: /585\s123/ })
    .first()
    .waitFor()
  await energy.getByText('Show as table').click()
  const wallets = page.getByRole('region', { name: 'Wallets' }).locator('tbody tr')
  await wallets.first().waitFor()
  assert.match((await wallets.first().textContent())!, new RegExp(person('poor').address))
  assert.equal(await wallets.count(), 2)
  await page.getByRole('link', { name: person('poor').address }).click()
  await page.getByText(/enough for 0 more transactions; selling stops below 20/).waitFor()
  await page.getByText('Nothing delegated.').waitFor()
}

async function lookAtChain(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Chain' }).click()
  await page
    .getByText(/70\s000\s019/)
    .first()
    .waitFor()
  await page.getByText('delegate:part').waitFor()
  const nodes = page.getByRole('table', { name: 'Nodes' }).getByRole('row')
  await nodes.filter({ hasText: '0 blocks behind' }).waitFor()
  const away = nodes.filter({ hasText: 'node 127.0.0.1:9 does not answer' })
  await away.waitFor()
  assert.doesNotMatch((await away.textContent())!, /key/)
  const asked = page.getByRole('table', { name: 'Requests to nodes in the last hour' })
  const bad = asked.getByRole('row').filter({ hasText: 'bad.example' })
  await bad.filter({ hasText: /worker machine-1.*40.*39.*never.*with HTTP 503/ }).waitFor()
  const good = asked.getByRole('row').filter({ hasText: 'good.example' })
  await good.filter({ hasText: /900.*12 ms.*80 ms.*70\s000\s019.*none/ }).waitFor()
}
