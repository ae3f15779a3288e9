// What operators and auditors do in a day, at the console of a whole sandbox: within the clicks it
// may take, with the keyboard alone and with the mouse in turn, and on a phone by touch: one job of
// them, with FACES=all every one.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { paying, transact } from 'penstock-playground/sandbox.ts'
import { Penstock } from 'penstock-sdk'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { setSwitches, switches } from 'penstock-service/market/prices/switches.ts'
import { checkProof, readProof } from 'penstock-service/market/receipts/proof_checking.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { BrowserContext, Page } from 'playwright-core'
import { isTooWide, newContext, noBrowser } from '../harness/browser.ts'
import { atEndOfFile } from '../harness/ends.ts'
import { eventually } from '../harness/eventually.ts'
import { doJob, finger, type Hands, handsInTurn, type Job, type Limits } from '../harness/hands.ts'
import { type Sandbox, startSandbox } from '../harness/sandbox.ts'
import { sharedBrowser } from '../harness/started_once.ts'

const skip = noBrowser()
let sandbox: Sandbox
const contexts: BrowserContext[] = []
let page: Page
let desk: Page
let phone: Page
let home: string

/** Where the navigation is behind a button. */
const PHONE = { viewport: { width: 375, height: 812 }, hasTouch: true, isMobile: true }

async function open(): Promise<void> {
  // One of its own: prices are changed, and the books are looked at as a whole.
  const [started, browser] = await Promise.all([startSandbox(), sharedBrowser()])
  sandbox = started
  const context = await newContext(browser)
  contexts.push(context)
  page = desk = await context.newPage()
  const link = sandbox.sign_in.console!
  home = `${new URL(link).origin}/console`
  await page.goto(link)
  await button('Take off sale').waitFor()
  const storageState = await context.storageState()
  const on_phone = await newContext(browser, { ...PHONE, storageState })
  contexts.push(on_phone)
  phone = await on_phone.newPage()
}

let opening: Promise<void> | undefined

atEndOfFile(async () => {
  for (const context of contexts) await context.close()
  await sandbox?.close()
})

/** A test that is left out where no browser is. */
const inBrowser = (title: string, steps: (t: TestContext) => Promise<void>): void =>
  void test(title, { skip }, async (t) => {
    opening ??= open()
    await opening
    await steps(t)
  })

let jobs = 0

/** From the first page on: one with the keyboard alone, the next with the mouse. */
function job(title: string, limits: Limits & { by_touch?: boolean }, steps: Job): void {
  const by_touch = limits.by_touch || process.env.FACES === 'all'
  for (const hands of [...handsInTurn(jobs++), ...(by_touch ? [finger] : [])])
    inBrowser(`${title}, with the ${hands.name}`, async (t) => {
      page = hands === finger ? phone : desk
      await page.goto(home)
      await page.locator('main [role=status]').first().waitFor()
      // To open the navigation is one more there.
      const clicks = limits.clicks + (hands === finger ? 1 : 0)
      await doJob(t, hands(page), { ...limits, clicks }, steps)
      if (hands === finger) assert.equal(await isTooWide(page), false, 'wider than the phone')
    })
}

/** To a page by the navigation, which is behind a button on a phone. */
async function visit(hands: Hands, name: string): Promise<void> {
  if (hands.name === 'finger') await hands.press(button('Menu'))
  await hands.press(link(name))
}

const button = (name: string) => page.getByRole('button', { name, exact: true })
const link = (name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).first()
const heading = (name: string | RegExp) => page.getByRole('heading', { name })
const rows = (name: string) => page.getByRole('table', { name, exact: true }).locator('tbody tr')
const dialog = () => page.getByRole('dialog')
const REASON = 'a test'

/** Says why in the dialog that is open: one click. */
const sayWhy: Job = async (hands) => {
  await hands.type(dialog().getByLabel('Reason'), REASON)
  await hands.press(dialog().locator('button[type=submit]'))
  await dialog().waitFor({ state: 'detached' })
}

const penstock = () => {
  const { token, secret } = sandbox.customer
  return new Penstock({ url: sandbox.api_url, token, secret })
}
const params = () => ({
  address: sandbox.sandbox.funded_accounts[0]!.address,
  amount: 65_000,
  duration: 1,
})

async function buy(external_id: string): Promise<string> {
  const { orders } = penstock()
  const { id } = await orders.create({ service: 'energy', params: params(), external_id })
  await orders.waitFor(id)
  return id
}

job('one sees whether it is healthy', { clicks: 0, seconds: 1 }, async () => {
  await page.getByText('Selling.').waitFor()
  const figures = await page.locator('.tile .headline, .tile-note').allInnerTexts()
  assert.ok(figures.filter((text) => /\d/.test(text)).length >= 6, 'six figures')
})

/** Money for a customer who is suspended: it is held, and an alert is raised. */
async function holdDeposit(): Promise<void> {
  const { sql, app, node, sandbox: made, control } = sandbox
  const { new_id, deposit_address } = app
  const needs = { clock: systemClock, new_id, deposit_address }
  const customer = await sql.begin((tx) => createCustomer(tx, needs, { name: 'Suspended Ltd' }))
  await sql`update customer set state = 'suspended' where id = ${customer.id}`
  const payer = made.funded_accounts.at(-1)!
  const payment = paying(payer, customer.deposit_address, 3_000_000n)
  await transact({ node, now: () => new Date() }, payer, payment)
  await control('mine', { blocks: 25 })
  await eventually('an alert is raised', async () => {
    const [raised] = await sql`select 1 from alert where alert = 'deposit_held'`
    return raised !== undefined
  })
}

inBrowser('a deposit is held, and an alert is raised', holdDeposit)

/** As it is stored, and as the page says it. */
const [SUSPENDED, HELD] = ['the customer is suspended', 'the account is suspended']

job('from an alert to the row behind it, and why', { clicks: 2, seconds: 0.5 }, async (hands) => {
  await hands.press(page.locator('main').getByRole('link', { name: 'deposit_held' }))
  await rows('Held deposits').getByText(HELD).waitFor()
})

job('a held deposit says who, what, why, and what can be done', { clicks: 2 }, async (hands) => {
  await visit(hands, 'Money')
  const row = rows('Held deposits').filter({ hasText: HELD })
  await row.getByText('3 TRX').waitFor()
  await row.getByRole('link').first().waitFor()
  await hands.press(row.getByRole('button', { name: 'Decide' }))
  await dialog().getByText('Suspended Ltd').waitFor()
})

inBrowser(
  'a held deposit is not ended by a reason alone, and its customer is offered',
  async () => {
    page = desk
    await page.goto(`${home}/money`)
    const row = rows('Held deposits').filter({ hasText: HELD })
    await row.getByRole('button', { name: 'Decide' }).click()
    await dialog().getByLabel('Reason').fill(REASON)
    const submit = dialog().locator('button[type=submit]')
    assert.equal(await submit.isEnabled(), false, 'nothing is chosen')
    await dialog().getByLabel('What to do').selectOption('credit')
    const [deposit] = await sandbox.sql<{ customer_id: string }>`
    select customer_id from deposit where reason = ${SUSPENDED}`
    assert.equal(await dialog().getByLabel('Customer (id)').inputValue(), deposit!.customer_id)
    assert.equal(await submit.textContent(), 'Credit it')
    await dialog().getByLabel('What to do').selectOption('written_off')
    assert.equal(await submit.textContent(), 'Write it off')
    await dialog().getByText('The customer gets nothing').waitFor()
    await page.keyboard.press('Escape')
  },
)

/** As 25 USDT are noted that have come to the sandbox's customer. */
async function holdToken(): Promise<void> {
  await sandbox.sql`
    insert into deposit (tx_id, position, from_address, to_address, token, token_amount,
      block_number, block_time, customer_id, state, reason, left_out, solid_at, seen_at, due_at)
    select ${'25'.repeat(32)}, 1, from_address, to_address, ${USDT}, 25000000, block_number,
      block_time, customer_id, 'held', 'a token that is not TRX', 0, solid_at, seen_at, due_at
    from deposit where reason = ${SUSPENDED} limit 1`
}

inBrowser('a held token is told in its coin, and is not offered to be credited', async () => {
  page = desk
  await holdToken()
  await page.goto(`${home}/money`)
  const row = rows('Held deposits').filter({ hasText: 'a token other than TRX' })
  await row.getByText('25 USDT').waitFor()
  await row.getByRole('button', { name: 'Decide' }).click()
  await dialog().getByText("Tokens can't be credited").waitFor()
  const ways = await dialog().getByLabel('What to do').locator('option').allTextContents()
  assert.deepEqual(ways, ['Choose…', 'Already sent back', 'Write it off'])
  await page.keyboard.press('Escape')
  // The chain knows nothing of it, and the books are checked below.
  await sandbox.sql`delete from deposit where tx_id = ${'25'.repeat(32)}`
})

job('one sees whether the pool will last', { clicks: 1, seconds: 0.5 }, async (hands) => {
  await visit(hands, 'Pool')
  await heading('Free, energy').waitFor()
  await page
    .getByText(/; in 24 hours /)
    .first()
    .waitFor()
})

job('one sees what a wallet can pay', { clicks: 2, seconds: 0.5 }, async (hands) => {
  await visit(hands, 'Pool')
  await hands.press(rows('Wallets').getByRole('link').first())
  await page.getByText('Ready to pay and sign.').waitFor()
})

// With the proof that one is there, which is one more, it is five.
job('a price is changed, and what it means seen before', { clicks: 4 }, async (hands, answered) => {
  const price = hands.name === 'mouse' ? '0.09' : '0.091'
  await visit(hands, 'Prices')
  await hands.press(rows('Current prices').getByRole('button', { name: 'Change' }).first())
  await hands.type(page.getByLabel('New price, TRX'), price)
  await hands.press(button('Preview'))
  await hands.type(page.getByLabel('Reason'), REASON)
  await hands.press(button('Apply'))
  await button('Apply').waitFor({ state: 'detached' })
  answered()
  const [row] = await sandbox.sql`
    select price_sun from price where until is null and price_sun = ${1e6 * Number(price)}`
  assert.ok(row, 'it is in force')
})

job('all is taken off sale', { clicks: 3, seconds: 1, by_touch: true }, async (hands, answered) => {
  await hands.press(button('Take off sale'))
  await sayWhy(hands, answered)
  await button('Put on sale').waitFor()
  answered()
  // In force within a second, in each process.
  await eventually('nothing is sold', () => {
    const order = { service: 'energy', params: params() } as const
    return penstock()
      .orders.create(order)
      .then(
        () => false,
        () => true,
      )
  })
  await hands.press(button('Put on sale'))
  await sayWhy(hands, answered)
  await button('Take off sale').waitFor()
})

job('a new customer with its first owner', { clicks: 3, seconds: 1 }, async (hands, answered) => {
  await visit(hands, 'Customers')
  await hands.press(button('New customer'))
  await hands.type(page.getByLabel('Customer name'), `Example by ${hands.name}`)
  await hands.type(page.getByLabel("First owner's name"), 'Ada')
  await hands.type(dialog().getByLabel('Reason'), REASON)
  await hands.press(dialog().locator('button[type=submit]'))
  await page.getByText(/\/portal\/join#/).waitFor()
  answered()
})

job('the books are worked out again', { clicks: 2, seconds: 1 }, async (hands) => {
  await visit(hands, 'Books')
  await hands.press(button('Check now'))
  await rows('Rules').first().waitFor()
  const broken = rows('Rules').filter({ hasText: 'broken' })
  assert.equal(await broken.count(), 0)
})

/** As the check of the books leaves it that has found something twice. */
async function breakBooks(): Promise<void> {
  const { sql } = sandbox
  await sql`
    insert into books_finding (rule, subject, found, found_at)
    values ('C2', 'account customer:1', '5 sun more than its entries', now())
    on conflict do nothing`
  await sql.begin(async (tx) => {
    const names = (await switches(tx)).map(({ name }) => name)
    const at = systemClock.now()
    await setSwitches(tx, { names, on_sale: false, changed_by: 'books check', at })
  })
}

job('the books are broken: what, since when, and back on sale', { clicks: 2 }, async (hands) => {
  await breakBooks()
  await visit(hands, 'Books')
  await rows('Findings').getByText('5 sun more than its entries').waitFor()
  await hands.press(button('Resolved: resume selling'))
  await hands.type(dialog().getByLabel('Reason'), REASON)
  await page.keyboard.press('Enter')
  await eventually('all is on sale again', async () =>
    (await switches(sandbox.sql)).every(({ on_sale }) => on_sale),
  )
  await sandbox.sql`delete from books_finding`
})

job('one sees who changed what, and that the record is whole', { clicks: 1 }, async (hands) => {
  await visit(hands, 'Record')
  await page.getByText(/(was|were) verified in your browser/).waitFor()
  await rows('Record').filter({ hasText: 'Sandbox admin' }).first().waitFor()
})

/** One of today, as `books roots` says it. */
async function newestRoot(): Promise<object> {
  return eventually('there is a root', async () => {
    const [root] = await sandbox.sql`
      select day::text, number::int, last_entry::int, sha256 from journal_root
      order by day desc limit 1`
    return root
  })
}

async function compare(hands: Hands, noted: object): Promise<void> {
  await visit(hands, 'Books')
  // A page that comes takes the focus to its heading, once.
  await heading('Books').and(page.locator(':focus')).waitFor()
  await hands.paste(JSON.stringify(noted), page.getByLabel('Roots you saved'))
}

job('a noted root is still the root', { clicks: 2, seconds: 1 }, async (hands) => {
  await compare(hands, await newestRoot())
  await page.getByText('1 root matches.').waitFor()
})

job('a root of another history is found out', { clicks: 2, seconds: 1 }, async (hands) => {
  const noted = { day: '2020-01-01', number: 1, last_entry: 1, sha256: 'ab'.repeat(32) }
  await compare(hands, noted)
  await page.getByRole('status').filter({ hasText: '2020-01-01' }).waitFor()
})

/** What the search finds for a text, in the order in which it is shown. */
async function found(text: string): Promise<string[]> {
  const field = page.getByRole('combobox', { name: 'Search' })
  await field.fill('')
  await page.locator('#found').waitFor({ state: 'hidden' })
  await field.fill(text)
  const options = page.getByRole('listbox').getByRole('option')
  await options
    .filter({ hasText: /Customer|Order|Deposit|Wallet|Nothing found/ })
    .first()
    .waitFor()
  return options.allInnerTexts()
}

inBrowser(
  'a customer, an order, a deposit and a wallet are found by whatever is known',
  async () => {
    page = desk
    await page.goto(home)
    const id = await buy('found in the console')
    const [order] = await sandbox.sql<{ address: string; hash: string; customer_id: string }>`
    select address, tx_id as hash, customer_id from orders where id = ${id}`
    const { address, hash, customer_id } = order!
    const [{ deposit_address }] = (await sandbox.sql<{ deposit_address: string }>`
    select deposit_address from customer where id = ${customer_id}`) as [
      { deposit_address: string },
    ]
    const [{ tx_id }] = (await sandbox.sql<{ tx_id: string }>`
    select tx_id from deposit where to_address = ${deposit_address}
    order by block_number limit 1`) as [{ tx_id: string }]
    const [{ wallet }] = (await sandbox.sql<{ wallet: string }>`
    select wallet from delegation where order_id = ${id}`) as [{ wallet: string }]
    for (const text of [customer_id, 'sandb', deposit_address])
      assert.match((await found(text)).join(), /sandbox\s+Customer/, text)
    for (const text of [id, 'found in the console', address, hash])
      assert.ok(
        (await found(text)).some((one) => /^found in the console\s+Order/.test(one)),
        text,
      )
    assert.match((await found(tx_id))[0]!, /Deposit, credited/)
    assert.match((await found(wallet))[0]!, /Wallet/)
    assert.deepEqual(await found('of nobody at all'), ['Nothing found'])
    await found(hash)
    await page.keyboard.press('Enter')
    await heading(/^Order\b/).waitFor()
    await page.goto(`${home}/orders?service=bandwidth`)
    await page.getByText('No orders match this filter.').waitFor()
    await page.goto(`${home}/orders?address=${address}&state=success&service=energy`)
    await page.getByRole('link', { name: 'found in the console' }).waitFor()
    await page.goto(`${home}/record?made_by=nobody`)
    await page.getByLabel('Changed by').waitFor()
    assert.equal(await rows('Record').count(), 0)
  },
)

job('an order is proved', { clicks: 2, seconds: 1 }, async (hands) => {
  const id = await buy(`proved with the ${hands.name}`)
  // What is proved is sealed first: that takes some seconds.
  await eventually('it is sealed', async () => {
    const [open] = await sandbox.sql`
      select 1 from transfer
      where number > coalesce((select max(last_entry) from journal), 0) limit 1`
    return open === undefined
  })
  // Whatever the page: what is pasted is searched for.
  await hands.paste(id)
  await page.keyboard.press('Enter')
  await heading(/^Order\b/).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    hands.press(button('Proof')),
  ])
  assert.equal(download.suggestedFilename(), `proof-${id}.json`)
  const proof = await readProof(await readFile(await download.path(), 'utf8'))
  assert.equal(proof.order_id, id)
  assert.deepEqual(await checkProof(proof, {}), [])
})
