// Each list of the portal has a filter that stands in the address, and gives all rows that fit as a
// file for spreadsheets.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { paying, transact } from 'penstock-playground/sandbox.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { rows, visit } = portal

type ListOfPage = {
  path: string
  /** Of the table. */
  name: string
  file: string
  column: string
  /** Where something fits, and where nothing does. */
  some: string
  none: string
}

const LISTS: readonly ListOfPage[] = [
  {
    path: '/portal/developers/events',
    name: 'Events',
    file: 'events.csv',
    column: 'number',
    some: 'type=order.created',
    none: 'type=webhook.disabled',
  },
  {
    path: '/portal/developers/refusals',
    name: 'Details',
    file: 'refusals.csv',
    column: 'request_id',
    some: 'code=10',
    none: 'code=76',
  },
  {
    path: '/portal/developers/keys',
    name: 'Keys',
    file: 'keys.csv',
    column: 'id',
    some: 'state=active',
    none: 'state=ended',
  },
  {
    path: '/portal/developers/webhooks',
    name: 'Webhooks',
    file: 'webhooks.csv',
    column: 'url',
    some: 'state=on',
    none: 'state=disabled',
  },
  {
    path: '/portal/settings/users',
    name: 'Users',
    file: 'users.csv',
    column: 'role',
    some: 'role=owner&state=active',
    none: 'role=finance',
  },
  {
    path: '/portal/settings',
    name: 'Sessions',
    file: 'sessions.csv',
    column: 'ip',
    some: 'name=',
    none: 'name=Nobody',
  },
  {
    path: '/portal/money',
    name: 'Deposits',
    file: 'deposits.csv',
    column: 'tx_id',
    some: 'since=2020-01-01',
    none: 'state=gone',
  },
  {
    path: '/portal/settings/record',
    name: 'Record',
    file: 'record.csv',
    column: 'number',
    some: 'subject=key',
    none: 'until=2020-01-01',
  },
  {
    path: '/portal/subscriptions',
    name: 'Subscriptions',
    file: 'subscriptions.csv',
    column: 'id',
    some: '',
    none: 'status=expired',
  },
  {
    path: '/portal/screening',
    name: 'Watched addresses',
    file: 'watches.csv',
    column: 'address',
    some: 'address=ADDRESS',
    none: 'level=high',
  },
  {
    path: '/portal/screening',
    name: 'Checks',
    file: 'checks.csv',
    column: 'id',
    some: '',
    none: 'status=failed',
  },
]

/** An invoice is issued when a month is over: here there is none. */
const NOTHING_FITS = [{ path: '/portal/money/invoices', query: 'month=2026-01' }] as const

const someone = () => portal.sandbox.sandbox.funded_accounts[0]!.address

/** Some TRX, as anybody may send them. */
async function deposit(): Promise<void> {
  const payer = portal.sandbox.sandbox.funded_accounts.at(-1)!
  const payment = paying(payer, portal.sandbox.customer.deposit_address, 7_000_000n)
  await transact({ node: portal.sandbox.node, now: () => new Date() }, payer, payment)
  await eventually('the deposit is seen', async () => {
    const seen = await Array.fromAsync(portal.penstock.list('/v1/deposits/list'))
    return seen.length > 0
  })
}

/** Something for every list. */
async function haveSomething(): Promise<void> {
  const { orders, subscriptions, watches, keys, webhooks } = portal.penstock
  const address = someone()
  const params = { address, amount: 65_000, duration: 1 }
  await orders.create({ service: 'energy', params, external_id: 'listed' })
  const [plan] = Object.keys(await subscriptions.plans())
  await subscriptions.start({ subscription_id: plan!, params: { address }, external_id: 'listed' })
  await watches.add(address)
  await deposit()
  await webhooks.create({ url: 'https://shop.example/penstock' })
  await keys.create({ name: '=shop', scopes: ['read'] })
  await assert.rejects(orders.create({ service: 'energy', params: { ...params, address: 'T' } }))
  await eventually('the refusal is written', async () => {
    const written = await Array.fromAsync(portal.penstock.list('/v1/refusals/list'))
    return written.length > 0
  })
}

/** The file of the list, line by line. */
async function fileOf({ file }: ListOfPage): Promise<string[]> {
  const button = portal.page.getByRole('button', { name: 'Download CSV' })
  // Of two on one page.
  const at = file === 'watches.csv' ? 1 : 0
  const [download] = await Promise.all([
    portal.page.waitForEvent('download'),
    button.nth(at).click(),
  ])
  assert.equal(download.suggestedFilename(), file)
  const text = await readFile(await download.path(), 'utf8')
  return text.trimEnd().split('\r\n')
}

portal.test('each list is narrowed by its address, and is a file of the same rows', async () => {
  await haveSomething()
  for (const list of LISTS) {
    const { path, name, column, some, none } = list
    await visit(`${path}?${some.replace('ADDRESS', someone())}`)
    await rows(name).nth(1).waitFor()
    const shown = (await rows(name).count()) - 1
    const [head, ...lines] = await fileOf(list)
    assert.ok(head!.split(',').includes(column), `${path}: ${head}`)
    assert.equal(lines.length, shown, path)
    await visit(`${path}?${none}`)
    await portal.page
      .getByText(/match(es)? this filter/)
      .first()
      .waitFor()
    assert.equal(await rows(name).count(), 0, `${path}?${none}`)
  }
  for (const { path, query } of NOTHING_FITS) {
    await visit(`${path}?${query}`)
    await portal.page.getByText(/match(es)? this filter/).waitFor()
  }
})

portal.test('a filter is chosen in the page, and the file has what it leaves', async () => {
  await visit('/portal/developers/keys')
  await portal.page.getByLabel('State').selectOption('active')
  await portal.page.waitForURL(/\?state=active$/)
  await rows('Keys').filter({ hasText: '=shop' }).waitFor()
  const lines = await fileOf(LISTS.find(({ file }) => file === 'keys.csv')!)
  // What a spreadsheet would take for a formula is none.
  assert.ok(lines.some((line) => line.includes("'=shop")))
  await portal.page.getByRole('link', { name: 'Clear' }).click()
  await portal.page.waitForURL(/\/keys$/)
})

portal.test('a filter of one list of a page keeps that of the other', async () => {
  const { page } = portal
  await visit('/portal/screening?level=high')
  const filterOf = (name: string) => page.getByRole('form', { name: `Filter: ${name}` })
  await filterOf('Checks').getByLabel('State').selectOption('failed')
  await page.waitForURL(/\?level=high&status=failed$/)
  await filterOf('Watched addresses').getByLabel('Watched address').fill(someone())
  await filterOf('Watched addresses').getByRole('button', { name: 'Filter' }).click()
  await page.waitForURL(/\?status=failed&level=high&address=\w+$/)
  await filterOf('Watched addresses').getByRole('link', { name: 'Clear' }).click()
  await page.waitForURL(/\?status=failed$/)
  await page.getByText('Nothing matches this filter.').first().waitFor()
  await rows('Watched addresses').nth(1).waitFor()
})

portal.behaves()
