// The month's account of the house: what is exported is the ledger to the sun, and a program that
// accountants use reads the same balances from it.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { USDT } from 'penstock-tron/tokens.ts'
import { broadcast, collect, collectingTown, type Town } from '../../harness/collecting.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, TRX } from '../../harness/world.ts'

const WHY = ['--reason', 'a test']

/** Deposits, purchases, what is held, a refund, corrections and a collection, in May. */
async function busyMonth(t: TestContext): Promise<Town> {
  const town = await collectingTown(await makeWorld(t, { tokens: [USDT] }), {
    addresses: 3,
    with_token: 0,
  })
  t.after(town.end)
  const { world, at } = town
  const anna = await world.customer({ trx: 500 })
  const bob = world.person('bob', 1)
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  for (const trx of [3n, 1n]) world.pay(world.recharge.address, trx * TRX)
  await world.settle()
  await world.solidify()
  await at.json('customers', 'credit', anna.id, '2.5', ...WHY)
  await at.json('customers', 'debit', anna.id, '0.000001', ...WHY)
  await collect(town)
  await at.json('wallets', 'sign', town.file)
  await broadcast(town)
  await world.solidify()
  await world.solidify()
  // Paid for and not delivered yet: held at the end of the month.
  world.network.loses = (type) => type === 'DelegateResourceContract'
  await anna.buyEnergy(bob.address, 131_000)
  return town
}

type Journal = {
  opening: { account: string; sun: number }[]
  postings: { day: string; what: string; account: string; sun: number }[]
  closing: { account: string; sun: number }[]
}

test('what is exported is the ledger, to the sun, and months join', async (t) => {
  const town = await busyMonth(t)
  const { world, at } = town
  const may = await at.json<Journal>('accounts', 'export', '--month', '2026-05')
  assert.deepEqual(may.opening, [])
  const sums = new Map<string, number>()
  for (const { account, sun } of may.postings) {
    const name = account.startsWith('revenue:') ? 'revenue' : account
    sums.set(name, (sums.get(name) ?? 0) + sun)
  }
  const balances = new Map([...sums].filter(([, sun]) => sun !== 0))
  assert.deepEqual(
    [...balances].sort(),
    may.closing.map(({ account, sun }) => [account, sun]).sort(),
  )
  // Against what the database keeps of customers, which nothing here has added up.
  const kept = await world.sql<{ id: string; posted_sun: bigint; held_sun: bigint }>`
    select id, posted_sun, held_sun from account where not may_go_negative`
  for (const { id, posted_sun, held_sun } of kept) {
    assert.equal(BigInt(-(balances.get(id) ?? 0)), posted_sun - held_sun, id)
    assert.equal(BigInt(-(balances.get(`held:${id}`) ?? 0)), held_sun, id)
  }
  assert.ok(may.postings.some(({ account }) => account === 'revenue:energy'))
  assert.ok(balances.get('treasury:collected')! > 0)
  assert.ok(may.closing.some(({ account }) => account.startsWith('held:')))
  world.network.loses = () => false
  await world.settle()
  await world.advance(5 * 86_400)
  const june = await at.json<Journal>('accounts', 'export', '--month', '2026-06')
  const opening = new Map<string, number>()
  for (const { account, sun } of june.opening) {
    const name = account.startsWith('revenue:') ? 'revenue' : account
    opening.set(name, (opening.get(name) ?? 0) + sun)
  }
  const at_end = await at.json<Journal>('accounts', 'export', '--month', '2026-05')
  assert.deepEqual(
    [...opening].sort(),
    at_end.closing.map(({ account, sun }) => [account, sun]).sort(),
  )
})

type Sheet = {
  accounts: { account: string; opening_sun: number; change_sun: number; closing_sun: number }[]
  revenue: { day: string; service: string; sun: number }[]
}

test('a month on one page has the sums of the journal', async (t) => {
  const { at } = await busyMonth(t)
  const may = await at.json<Journal>('accounts', 'export', '--month', '2026-05')
  const { accounts, revenue } = await at.json<Sheet>('accounts', 'show', '2026-05')
  for (const { opening_sun, change_sun, closing_sun } of accounts)
    assert.equal(opening_sun + change_sun, closing_sun)
  const sumOf = (begins: string) =>
    may.closing
      .filter(({ account }) => account.startsWith(begins))
      .reduce((sum, { sun }) => sum + sun, 0)
  const line = (name: string) => accounts.find(({ account }) => account === name)!.closing_sun
  assert.equal(line('customer'), sumOf('customer:'))
  assert.equal(line('held'), sumOf('held:'))
  assert.equal(line('world'), sumOf('world'))
  assert.equal(
    accounts.reduce((sum, one) => sum + one.closing_sun, 0),
    0,
    'debits and credits are equal',
  )
  assert.equal(
    revenue.reduce((sum, { sun }) => sum + sun, 0),
    -line('revenue'),
  )
  assert.ok(revenue.some(({ service, sun }) => service === 'energy' && sun > 0))
  for (const month of ['2026-13', '0000-01', '9999-12']) {
    const wrong = await at.type('accounts', 'show', month)
    assert.match(wrong.err, /is not a month like 2026-10/)
  }
})

/** The names that docs/operators/accounts.md gives to accounts of the ledger. */
function nameInFile(account: string): string {
  const names: Record<string, string> = {
    world: 'assets:deposit addresses',
    'treasury:collected': 'assets:collected',
    'treasury:fees': 'expenses:network fees',
    corrections: 'expenses:corrections',
    held_deposits: 'liabilities:held deposits',
  }
  return (
    names[account] ??
    account
      .replace(/^held:customer:/, 'liabilities:held:')
      .replace(/^customer:/, 'liabilities:customers:')
  )
}

test('hledger reads the export, and its balances are those of the ledger', async (t) => {
  try {
    execFileSync('hledger', ['--version'])
  } catch {
    t.skip("not run: hledger missing (Debian's package hledger brings it)")
    return
  }
  const town = await busyMonth(t)
  const { at, folder } = town
  const file = join(folder, 'may.journal')
  const rates_file = join(folder, 'rates')
  await writeFile(rates_file, '2026-05-28 0.25\n# a comment\n2026-05-29 0.26\n')
  const words = ['accounts', 'export', '--month', '2026-05']
  const more = ['--file', file, '--rates-file', rates_file, '--currency', 'EUR']
  assert.equal((await at.type(...words, ...more)).code, 0)
  const hledger = async (...args: string[]) =>
    (await promisify(execFile)('hledger', ['-f', file, ...args])).stdout
  // Assertions of balances among what it checks.
  await hledger('check', 'assertions', 'ordereddates')
  const csv = await hledger('balance', '--flat', '-E', '-N', '-O', 'csv')
  const read = new Map(
    [...csv.matchAll(/^"([^"]+)","(-?[\d.]+)(?: TRX)?"$/gm)].map(([, name, amount]) => [
      name!,
      Math.round(Number(amount) * 1e6),
    ]),
  )
  const { closing } = await at.json<Journal>(...words)
  const sales = [...read].filter(([name]) => name.startsWith('revenues:sales:'))
  const others = [...read].filter(([name, sun]) => sun !== 0 && !sales.some(([n]) => n === name))
  const expected = closing
    .filter(({ account }) => account !== 'revenue')
    .map(({ account, sun }) => [nameInFile(account), sun] as const)
  assert.deepEqual(new Map(others.toSorted()), new Map(expected.toSorted()))
  assert.equal(
    sales.reduce((sum, [, sun]) => sum + sun, 0),
    closing.find(({ account }) => account === 'revenue')!.sun,
  )
  assert.ok(read.get('revenues:sales:energy')! < 0)
  assert.match(await hledger('balance', '-V', 'assets:collected'), /EUR/)
  // One sun more, anywhere, and hledger says so.
  const text = await readFile(file, 'utf8')
  const spoiled = text.replace(/(assets:collected {2}\d+\.\d{5})(\d) TRX/, (_, rest, last) => {
    return `${rest}${(Number(last) + 1) % 10} TRX`
  })
  assert.notEqual(spoiled, text)
  await writeFile(file, spoiled)
  await assert.rejects(hledger('balance'))
})

test('what is no month, no rate or no currency is refused in one sentence', async (t) => {
  const world = await makeWorld(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-accounts-'))
  t.after(() => rm(folder, { recursive: true }))
  const at = await worldOperator(world)
  const rates_file = join(folder, 'rates')
  await writeFile(rates_file, '2026-05-32 0.25\n')
  const refused: [RegExp, ...string[]][] = [
    [/is not a month like 2026-10/, '--month', '2026-13'],
    [/is not a month like 2026-10/, '--month', 'May'],
    [/is not a currency like EUR/, '--month', '2026-05', '--currency', 'euro!'],
    [/is not a day and a rate/, '--month', '2026-05', '--rates-file', rates_file],
    [/cannot be read/, '--month', '2026-05', '--rates-file', join(folder, 'absent')],
  ]
  for (const [why, ...words] of refused) {
    const { code, out, err } = await at.type('accounts', 'export', ...words)
    assert.deepEqual([code === 0, out], [false, ''])
    assert.match(err, why)
    assert.equal(err.trim().split('\n').length, 1)
  }
  const empty = await at.type('accounts', 'export', '--month', '2020-01')
  assert.equal(empty.code, 0)
})
