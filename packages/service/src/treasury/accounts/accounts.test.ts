// A month of the house on entries written by hand: what belongs to it, under which names, and what
// of it is set down.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type HouseJournal, houseJournal, type JournalLine } from './house_journal.ts'
import { csvText, hledgerText } from './ledger_file.ts'
import { monthSheet } from './month_sheet.ts'

type Entry = {
  id: string
  at: string
  sun: bigint
  kind?: string
  of?: string
  debit?: string
  credit?: string
}

/** A payment of Anna's, unless it says another. */
async function enter(sql: Sql, entry: Entry): Promise<void> {
  const { id, at, sun, kind = 'move', of = null } = entry
  const { debit = 'customer:anna', credit = 'revenue' } = entry
  await sql`
    insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
    values (${id}, ${kind}, ${of}, ${debit}, ${credit}, ${sun}, ${new Date(at)})`
}

const database = async (t: TestContext) => (await freshDatabase(t)).sql

const lines = (postings: readonly JournalLine[]) =>
  postings.map(({ day, what, account, sun }) => `${day} ${what} ${account} ${sun}`)

const balances = (rows: readonly { account: string; sun: bigint }[]) =>
  Object.fromEntries(rows.map(({ account, sun }) => [account, sun]))

test('a month is from its first moment on, until the first of the next', async (t) => {
  const sql = await database(t)
  const paid = { debit: 'world', credit: 'customer:anna' }
  const times = ['2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z', '2026-12-31T23:59:59.999Z']
  for (const [i, at] of [...times, '2027-01-01T00:00:00Z'].entries())
    await enter(sql, { id: `deposit:${i}`, at, sun: 10n ** BigInt(i), ...paid })
  const december = await houseJournal(sql, '2026-12')
  const { first_day, last_day, opening, postings, closing } = december
  assert.deepEqual([first_day, last_day], ['2026-12-01', '2026-12-31'])
  assert.deepEqual(balances(opening), { world: 1n, 'customer:anna': -1n })
  assert.deepEqual(lines(postings), [
    '2026-12-01 deposit customer:anna -10',
    '2026-12-01 deposit world 10',
    '2026-12-31 deposit customer:anna -100',
    '2026-12-31 deposit world 100',
  ])
  assert.deepEqual(balances(closing), { world: 111n, 'customer:anna': -111n })
  const november = await houseJournal(sql, '2026-11')
  assert.deepEqual([november.last_day, november.closing], ['2026-11-30', opening])
  assert.deepEqual(november.opening, [])
  assert.equal((await houseJournal(sql, '2026-09')).last_day, '2026-09-30')
  assert.deepEqual((await houseJournal(sql, '2027-01')).opening, closing)
})

test('each kind of entry is posted as its own, and revenue by what was sold', async (t) => {
  const sql = await database(t)
  const day = '2026-12-02'
  const at = `${day}T12:00:00Z`
  for (const [id, service, energy, bandwidth] of [
    ['o1', 'energy', 1, 0],
    ['o2', 'bandwidth', 0, 1],
  ] as const)
    await sql`
      insert into orders (id, customer_id, service, address, energy, bandwidth, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values (${id}, 'anna', ${service}, 'bob', ${energy}, ${bandwidth}, false, 'success', false,
        0, 'tx', ${new Date(at)}, ${new Date(at)})`
  await enter(sql, { id: 'order:o1', at, sun: 50n, kind: 'hold' })
  await enter(sql, { id: 'order:o1/end', at, sun: 40n, kind: 'capture', of: 'order:o1' })
  await enter(sql, { id: 'quote:2', at, sun: 7n, kind: 'hold' })
  await enter(sql, { id: 'quote:2/end', at, sun: 7n, kind: 'release', of: 'quote:2' })
  await enter(sql, { id: 'subscription:o1', at, sun: 3n, kind: 'hold' })
  await enter(sql, { id: 'order:o2', at, sun: 1n })
  // As long as the name of the order, and of no order.
  await enter(sql, { id: 'audit:o2', at, sun: 2n })
  await enter(sql, {
    id: 'refund:1',
    at,
    sun: 11n,
    debit: 'revenue',
    credit: 'customer:anna',
  })
  const { postings, closing } = await houseJournal(sql, '2026-12')
  assert.deepEqual(lines(postings), [
    `${day} audit customer:anna 2`,
    `${day} audit revenue:audit -2`,
    `${day} order customer:anna 41`,
    `${day} order revenue:bandwidth -1`,
    `${day} order revenue:energy -40`,
    `${day} refund customer:anna -11`,
    `${day} refund revenue:refund 11`,
    `${day} subscription customer:anna 3`,
    `${day} subscription held:customer:anna -3`,
  ])
  assert.deepEqual(balances(closing), {
    'customer:anna': 35n,
    'held:customer:anna': -3n,
    revenue: -32n,
  })
})

test('a balance of one sun is carried over, and one of none is not', async (t) => {
  const sql = await database(t)
  const at = '2026-11-02T12:00:00Z'
  await enter(sql, { id: 'deposit:1', at, sun: 1n, debit: 'world', credit: 'customer:anna' })
  await enter(sql, { id: 'order:1', at, sun: 1n })
  await enter(sql, { id: 'deposit:2', at, sun: 1n, debit: 'world', credit: 'customer:ben' })
  await enter(sql, { id: 'order:2', at, sun: 1n, debit: 'customer:ben', kind: 'hold' })
  const expected = { world: 2n, revenue: -1n, 'held:customer:ben': -1n }
  const { closing } = await houseJournal(sql, '2026-11')
  assert.deepEqual(balances(closing), expected)
  const { opening } = await houseJournal(sql, '2026-12')
  const { 'revenue:order': earned, ...others } = balances(opening)
  assert.deepEqual({ ...others, revenue: earned }, expected)
})

test('what is given back in a later month is taken out of what is held then', async (t) => {
  const sql = await database(t)
  await enter(sql, { id: 'order:1', at: '2026-11-02T12:00:00Z', sun: 5n, kind: 'hold' })
  const at = '2026-12-01T00:00:00Z'
  await enter(sql, { id: 'order:1/end', at, sun: 5n, kind: 'release', of: 'order:1' })
  const held = { 'customer:anna': 5n, 'held:customer:anna': -5n }
  assert.deepEqual(balances((await houseJournal(sql, '2026-11')).closing), held)
  const { opening, postings, closing } = await houseJournal(sql, '2026-12')
  assert.deepEqual(balances(opening), held)
  assert.deepEqual(lines(postings), [
    '2026-12-01 order customer:anna -5',
    '2026-12-01 order held:customer:anna 5',
  ])
  assert.deepEqual(closing, [])
})

const journal = (parts: Partial<HouseJournal>): HouseJournal => ({
  month: '2026-12',
  first_day: '2026-12-01',
  last_day: '2026-12-31',
  opening: [],
  postings: [],
  closing: [],
  ...parts,
})

const HEAD = "; The house's journal of 2026-12, in TRX.\ncommodity 1.000000 TRX\n"

test('a file for hledger has each part that there is, with its names', () => {
  assert.equal(hledgerText(journal({}), undefined), HEAD)
  const at = { day: '2026-12-02', what: 'order' }
  const text = hledgerText(
    journal({
      opening: [{ account: 'held:customer:anna', sun: -1n }],
      postings: [
        { ...at, account: 'customer:anna', sun: 2_500_000n },
        { ...at, account: 'revenue:energy', sun: -2_500_000n },
      ],
      closing: [
        { account: 'revenue', sun: -2_500_000n },
        { account: 'customer:anna', sun: 2_500_000n },
        { account: 'treasury:wallets', sun: 4n },
        { account: 'elsewhere', sun: 3n },
      ],
    }),
    { currency: 'EUR', rates: [{ day: '2026-12-02', rate: '0.25' }] },
  )
  const expected = `${HEAD}P 2026-12-02 TRX 0.25 EUR

2026-12-01 opening balances
    liabilities:held:anna  -0.000001 TRX

2026-12-02 order
    liabilities:customers:anna  2.500000 TRX
    revenues:sales:energy  -2.500000 TRX

2026-12-31 balances at the end of the month
    revenues:sales  0.000000 TRX =* -2.500000 TRX
    liabilities:customers:anna  0.000000 TRX = 2.500000 TRX
    assets:pool wallets  0.000000 TRX = 0.000004 TRX
    equity:elsewhere  0.000000 TRX = 0.000003 TRX
`
  assert.equal(text, expected)
  const one = hledgerText(journal({ closing: [{ account: 'world', sun: 1n }] }), undefined)
  assert.match(one, /balances at the end of the month\n {4}assets:deposit addresses {2}0\.000000/)
})

test('as CSV each posting is a line, with the rate of its day if there is one', () => {
  const posting = { what: 'order', account: 'customer:anna', sun: 1n }
  const postings = ['2026-12-02', '2026-12-03'].map((day) => ({ day, ...posting }))
  const rates = [{ day: '2026-12-02', rate: '0.25' }]
  assert.equal(
    csvText(journal({ postings }), { currency: 'EUR', rates }),
    'day,what,account,trx,rate EUR\n' +
      '2026-12-02,"order","liabilities:customers:anna",0.000001,0.25\n' +
      '2026-12-03,"order","liabilities:customers:anna",0.000001,\n',
  )
  assert.equal(csvText(journal({}), undefined), 'day,what,account,trx,rate\n')
})

test('on one page customers, what is held and revenue are one line each', () => {
  const posting = { day: '2026-12-02', what: 'order', sun: 0n }
  const sheet = monthSheet(
    journal({
      opening: [
        { account: 'world', sun: 9n },
        { account: 'customer:anna', sun: -4n },
        { account: 'customer:ben', sun: -5n },
      ],
      postings: [
        { ...posting, account: 'customer:anna', sun: 3n },
        { ...posting, account: 'held:customer:anna', sun: -1n },
        { ...posting, account: 'held:customer:ben', sun: -2n },
        { ...posting, account: 'revenue:energy', sun: -1n },
        { ...posting, account: 'revenue:bandwidth', sun: -2n },
        { ...posting, day: '2026-12-01', account: 'revenue:energy', sun: -4n },
        { ...posting, what: 'refund', account: 'revenue:energy', sun: -8n },
      ],
      closing: [
        { account: 'world', sun: 9n },
        { account: 'revenue', sun: -15n },
        { account: 'held:customer:anna', sun: -3n },
        { account: 'treasury:fees', sun: 1n },
      ],
    }),
  )
  const rows = sheet.accounts.map((one) => [
    one.account,
    one.opening_sun,
    one.change_sun,
    one.closing_sun,
  ])
  assert.deepEqual(rows, [
    ['customer', -9n, 3n, 0n],
    ['held', 0n, -3n, -3n],
    ['revenue', 0n, -15n, -15n],
    ['treasury:fees', 0n, 0n, 1n],
    ['world', 9n, 0n, 9n],
  ])
  assert.deepEqual(sheet.revenue, [
    { day: '2026-12-01', service: 'energy', sun: 4n },
    { day: '2026-12-02', service: 'bandwidth', sun: 2n },
    { day: '2026-12-02', service: 'energy', sun: 9n },
  ])
})
