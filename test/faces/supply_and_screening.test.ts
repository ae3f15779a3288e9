// What customers buy in the portal besides single orders, in a real browser: subscriptions and
// screening.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { person } from 'penstock-devchain/scene.ts'
import { paying, transact } from 'penstock-playground/sandbox.ts'
import { barriers, isTooWide } from 'penstock-test/harness/browser.ts'
import { eventually } from 'penstock-test/harness/eventually.ts'
import { publishLabels } from 'penstock-test/harness/labels.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, dialog, field, heading, inDialog, link, rows } = portal

const account = (index: number) => portal.sandbox.sandbox.funded_accounts[index]!.address
const startButton = () => rows('Plans').getByRole('button', { name: /^Start / })

portal.job('an address is kept supplied, and no longer', 5, async (hands) => {
  const address = account(hands.name === 'mouse' ? 0 : 1)
  await hands.press(link('Subscriptions'))
  await hands.press(startButton().first())
  await dialog().getByText('At the start').waitFor()
  await hands.type(field('Address'), address)
  await hands.press(inDialog('Start'))
  await hands.press(button(`Stop ${address}`))
  // Nothing is stopped before one has said so twice.
  await dialog().getByText(`${address} will no longer be supplied.`).waitFor()
  await hands.press(inDialog('Stop'))
  await rows('Subscriptions').filter({ hasText: address }).getByText('stopped').waitFor()
  const statuses = []
  for await (const one of portal.penstock.subscriptions.list())
    if (one.address === address) statuses.push(one.status)
  assert.deepEqual(statuses, ['stopped'])
})

portal.test('a start whose answer was lost is asked for again, and begins once', async () => {
  const address = account(2)
  await portal.visit('/portal/subscriptions')
  await startButton().first().click()
  await field('Address').fill('T')
  await inDialog('Start').click()
  await dialog().getByText('Enter a valid TRON address.').waitFor()
  await field('Address').fill(address)
  await portal.page.route('**/v1/subscription/start', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await inDialog('Start').click()
  await dialog().getByRole('alert').waitFor()
  await portal.page.unroute('**/v1/subscription/start')
  // What is typed meanwhile, and taken back, asks for the same.
  await field('Address').fill('T')
  await field('Address').fill(address)
  await inDialog('Start').click()
  await dialog().waitFor({ state: 'detached' })
  const started = await Array.fromAsync(portal.penstock.subscriptions.list())
  assert.equal(started.filter((one) => one.address === address).length, 1)
})

portal.test('one subscription says what it is and when its address was supplied', async () => {
  await portal.visit('/portal/subscriptions')
  const row = rows('Subscriptions').filter({ hasText: account(2) })
  await row.getByText('active').waitFor()
  await row.getByRole('link').first().click()
  await heading('Subscription').waitFor()
  await portal.page.getByText('No transactions served yet.').waitFor()
  await rows('Energy supplied').getByRole('link').first().waitFor()
  await button(`Stop ${account(2)}`).click()
  await inDialog('Cancel').click()
  await dialog().waitFor({ state: 'detached' })
  const { items } = await portal.penstock.call('/v1/subscriptions/history', {})
  assert.equal(items.find((one) => one.address === account(2))?.status, 'active')
  await button(`Stop ${account(2)}`).click()
  await inDialog('Stop').click()
  await portal.page.locator('dd').getByText('stopped').waitFor()
})

/** Somebody who gets money from the exchange. */
const SCREENED = person('screened').address

/** Says of an address that it is of an exchange, and of another that it got money from there. */
async function labelSome(): Promise<void> {
  const { sql, node, sandbox } = portal.sandbox
  const exchange = sandbox.funded_accounts[0]!
  await transact({ node, now: () => new Date() }, exchange, paying(exchange, SCREENED, 25_000_000n))
  await portal.sandbox.control('mine', { blocks: 25 })
  const entry = {
    address: exchange.address,
    category: 'exchange_licensed',
    entity: 'Example Exchange',
    kind: 'exchange' as const,
    confidence: 90,
    reference: 'https://exchange.example/reserves',
  }
  await publishLabels(sql, [entry], { at: new Date() })
  // The index takes up labels a little later.
  const { aml } = portal.penstock
  await eventually('the label is known', async () => {
    const { id } = await aml.create({ type: 'address', network: 'TRX', address: SCREENED })
    const { risk_factors } = await aml.waitFor(id)
    return risk_factors.some(({ name }) => name === entry.category)
  })
}

portal.test('labels are known', labelSome)

portal.job('an address is screened, and the reason is seen', 3, async (hands) => {
  await hands.press(link('Screening'))
  await portal.page.getByText('Screening an address costs').waitFor()
  // What is pasted counts one.
  hands.clicks++
  await hands.type(field('Address or transaction'), SCREENED)
  await hands.press(button('Check'))
  await heading('Screening check').waitFor()
  await portal.page.getByText('low risk').first().waitFor()
  await rows('Sources of funds').filter({ hasText: 'Exchange (licensed)' }).waitFor()
  await portal.page.getByText('100.00 % of its money comes from: Exchange (licensed).').waitFor()
  const drawing = portal.page.getByRole('img', {
    name: /^The path of the money, from Example Exch/,
  })
  await drawing.getByText('25 TRX').waitFor()
  await portal.page.getByRole('heading', { name: 'Individual transfers' }).click()
  const way = rows('Transfers of Exchange (licensed)')
  await way
    .filter({ hasText: account(0) })
    .filter({ hasText: '25 TRX' })
    .waitFor()
})

const allChecks = () => Array.fromAsync(portal.penstock.aml.list())

portal.test('neither a double click nor trying again is charged twice', async () => {
  const before = await allChecks()
  const { balance } = await portal.penstock.balance.get()
  const [offer] = await portal.penstock.call('/v1/aml-checks', {})
  await portal.visit('/portal/screening')
  await field('Address or transaction').fill(person('charged once').address)
  // The answer is lost on the way.
  const keys: (string | undefined)[] = []
  await portal.page.route('**/v1/aml-checks/new', async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    await route.fetch()
    await route.abort()
  })
  await button('Check').click()
  await portal.page.locator('main').getByRole('alert').waitFor()
  await portal.page.unroute('**/v1/aml-checks/new')
  portal.page.on('request', (request) => {
    if (request.url().endsWith('/v1/aml-checks/new'))
      keys.push(request.headers()['idempotency-key'])
  })
  await field('Address or transaction').fill('T')
  await field('Address or transaction').fill(person('charged once').address)
  await button('Check').dblclick()
  await heading('Screening check').waitFor()
  await portal.page.getByText('risk').first().waitFor()
  const after = await allChecks()
  assert.equal(after.length, before.length + 1)
  assert.ok(keys.length >= 2 && keys[0] !== undefined && new Set(keys).size === 1, keys.join())
  assert.equal((await portal.penstock.balance.get()).balance, balance - offer!.price)
  // Another address is another check.
  await portal.visit('/portal/screening')
  await field('Address or transaction').fill(person('another').address)
  await button('Check').click()
  await heading('Screening check').waitFor()
  assert.equal((await allChecks()).length, before.length + 2)
})

portal.test(
  'a report for paper: no scripts, right on a phone, nobody else may read it',
  async () => {
    const { id } = (await allChecks()).find(({ address }) => address === SCREENED)!
    await portal.visit(`/portal/screening/${id}`)
    await portal.page.getByRole('heading', { name: 'What this report does not cover' }).waitFor()
    await portal.page.getByRole('heading', { name: 'Evidence' }).click()
    await rows('Lists checked').filter({ hasText: 'Loaded' }).waitFor()
    const saving = portal.page.waitForEvent('download')
    await button('Save evidence').click()
    const { sha256 } = await portal.penstock.call('/v1/aml-check/report', { id })
    const saved = await readFile(await (await saving).path())
    assert.equal(hash('sha256', saved), sha256)
    const opening = portal.context.waitForEvent('page')
    await link('Print').click()
    const paper = await opening
    await paper.getByText('Exchange (licensed)').first().waitFor()
    await paper.getByRole('heading', { name: 'What was not looked at' }).waitFor()
    for (const [width, height] of [
      [375, 740],
      [1280, 900],
    ] as const) {
      await paper.setViewportSize({ width, height })
      assert.equal(await isTooWide(paper), false, `${width}`)
      assert.deepEqual(await barriers(paper), [], `${width}`)
    }
    assert.equal(await paper.locator('script, [style]').count(), 0)
    // What is folded on the screen is open on paper.
    const folded = paper.getByRole('columnheader', { name: 'Transaction' })
    assert.equal(await folded.isVisible(), false)
    await paper.emulateMedia({ media: 'print' })
    await folded.waitFor()
    await paper.emulateMedia({ media: 'screen' })
    for (const [value, heading] of [
      ['ru', 'Что не рассматривалось'],
      ['zh', '未涵盖的内容'],
    ] as const) {
      const language = { name: 'penstock-language', url: portal.origin }
      await portal.context.addCookies([{ ...language, value }])
      await paper.reload()
      await paper.getByRole('heading', { name: heading }).waitFor()
      await paper.setViewportSize({ width: 375, height: 740 })
      assert.equal(await isTooWide(paper), false, value)
      assert.deepEqual(await barriers(paper), [], value)
      await portal.context.addCookies([{ ...language, value: 'en' }])
    }
    const answer = await paper.reload()
    const policy = answer!.headers()['content-security-policy']!
    assert.match(policy, /^default-src 'none'; style-src 'sha256-/)
    // From where the house reads its lists, and where its thresholds lie, is its own.
    assert.doesNotMatch(await paper.content(), /Read from|What the rules are|a test/)
    await paper.close()
    const path = `${portal.origin}/portal/reports/${id}`
    const { status, headers } = await fetch(path, { redirect: 'manual' })
    assert.deepEqual([status, headers.get('location')], [302, `/portal/screening/${id}`])
  },
)

portal.test('categories and plans are called by their names in the chosen language', async () => {
  const { id } = (await allChecks()).find(({ address }) => address === SCREENED)!
  const language = { name: 'penstock-language', url: portal.origin }
  for (const [value, category, plan] of [
    ['ru', 'Биржа (с лицензией)', 'Безлимитная энергия'],
    ['zh', '交易所（持牌）', '不限量能量'],
  ] as const) {
    await portal.context.addCookies([{ ...language, value }])
    await portal.visit(`/portal/screening/${id}`)
    await portal.page.getByText(category, { exact: true }).first().waitFor()
    assert.equal(await portal.page.getByText('Exchange (licensed)').count(), 0)
    await portal.visit('/portal/subscriptions')
    await portal.page.getByText(plan, { exact: true }).first().waitFor()
    assert.equal(await portal.page.getByText('Unlimited energy').count(), 0)
  }
  await portal.context.addCookies([{ ...language, value: 'en' }])
})

portal.test('what is refused is explained', async () => {
  await portal.visit('/portal/screening')
  await field('Address or transaction').fill('nonsense')
  await button('Check').click()
  const refused = portal.page.locator('main').getByRole('alert')
  await refused.getByText('Invalid address provided').waitFor()
  await field('Address or transaction').fill('ab'.repeat(32))
  await field('Receiver in the transaction').fill(SCREENED)
  await field('Network').selectOption('BTC')
  await button('Check').click()
  await refused.getByText('Unsupported network').waitFor()
})

portal.test('an address is watched, and no longer', async () => {
  await portal.visit('/portal/screening')
  await field('Address').fill(SCREENED)
  await button('Watch').click()
  const row = rows('Watched addresses').filter({ hasText: SCREENED })
  await row.getByText('low risk').waitFor()
  const rules = { severe_usd: 7, sent_to: true }
  await portal.penstock.call('/v1/aml-watch/new', { address: SCREENED, reference: 'a', rules })
  const [known] = await Array.fromAsync(portal.penstock.watches.list())
  await button(`Stop watching ${SCREENED}`).click()
  await portal.page.getByText('No watched addresses.').waitFor()
  assert.deepEqual(await Array.fromAsync(portal.penstock.watches.list()), [])
  // With its reference and its rules.
  await button('Undo').click()
  await row.getByText('low risk').waitFor()
  const [again] = await Array.fromAsync(portal.penstock.watches.list())
  assert.deepEqual([again!.reference, again!.rules], ['a', known!.rules])
  await button(`Stop watching ${SCREENED}`).click()
  await portal.page.getByText('No watched addresses.').waitFor()
})

portal.looks(async () => {
  const [one] = await Array.fromAsync(portal.penstock.subscriptions.list())
  const check = (await allChecks()).find(({ address }) => address === SCREENED)
  await portal.penstock.watches.add(SCREENED)
  return [
    { path: '/portal/subscriptions' },
    {
      path: '/portal/subscriptions',
      prepare: () => portal.page.locator('main table button').last().click(),
    },
    { path: `/portal/subscriptions/${one!.id}` },
    { path: '/portal/screening' },
    {
      path: '/portal/screening',
      prepare: () => portal.page.locator('main input').first().fill('ab'.repeat(32)),
    },
    { path: `/portal/screening/${check!.id}` },
  ]
})

portal.behaves()
