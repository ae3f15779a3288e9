// Which entries are on which document: worked out on a ledger that is written by hand, to the
// millisecond.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { wrongDocuments } from '../../health/books/document_rules.ts'
import { WHOLE } from '../../health/books/scope.ts'
import { sealStep } from '../../ledger/accounts/journal.ts'
import {
  captureAll,
  customerAccount,
  holdAll,
  moveAll,
  REVENUE,
  WORLD,
} from '../../ledger/accounts/ledger.ts'
import { summarizeStep } from '../../ledger/statements/summaries.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { createCustomer } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { issueCorrectionNote } from './correction_notes.ts'
import type { InvoiceDocument } from './forms.ts'
import { findInvoice, listInvoices } from './invoices.ts'
import { issueInvoicesStep, monthToInvoice } from './issuing.ts'
import { monthsToCompare, reissue, wrongMonth } from './reissue.ts'

const MONTH_ENDS = Date.parse('2026-11-01T00:00:00Z')
const after = (ms: number) => new Date(MONTH_ENDS + ms)

class Ledger {
  now = after(-20 * DAY_MS)
  private readonly clock = { now: () => this.now }
  readonly sql: Sql
  customer_id = ''

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Ledger> {
    const { sql } = await freshDatabase(t)
    const ledger = new Ledger(sql)
    const { clock } = ledger
    const needs = {
      clock,
      new_id: () => '01customer',
      deposit_address: () => person('deposit').address,
    }
    ledger.customer_id = await sql.begin(async (tx) => {
      const { id } = await createCustomer(tx, needs, { name: 'Anna' })
      await moveAll(tx, [
        {
          id: 'deposit:1',
          debit: WORLD,
          credit: customerAccount(id),
          amount_sun: 10n ** 12n,
          made_at: ledger.now,
        },
      ])
      return id
    })
    // The month in which there were invoices first.
    await ledger.issue()
    return ledger
  }

  /** A check that costs so much is charged at a time. */
  async charge(id: string, amount_sun: bigint, made_at: Date): Promise<void> {
    const hold = { id: `aml:${id}`, debit: customerAccount(this.customer_id), credit: REVENUE }
    await this.sql.begin(async (tx) => {
      holdAll(tx, [{ ...hold, amount_sun, made_at }])
      captureAll(tx, [{ hold_id: hold.id, amount_sun }], made_at)
    })
  }

  /** What is charged for a use of a subscription, and what of it comes back. */
  async move(id: string, amount_sun: bigint, made_at: Date): Promise<void> {
    const sides = { debit: customerAccount(this.customer_id), credit: REVENUE }
    const back = { debit: REVENUE, credit: customerAccount(this.customer_id) }
    const way = amount_sun > 0n ? sides : back
    const sun = amount_sun > 0n ? amount_sun : -amount_sun
    await this.sql.begin((tx) =>
      moveAll(tx, [{ id: `subscription:${id}`, ...way, amount_sun: sun, made_at }]),
    )
  }

  /** Lets everything be sealed, summarised and issued as of now. */
  async issue(): Promise<InvoiceDocument[]> {
    const { sql, clock } = this
    const steps = [
      sealStep({ sql, clock }),
      summarizeStep({ sql, clock }),
      issueInvoicesStep({ sql, clock, issuer: 'The house' }),
    ]
    for (const step of steps) while (await step.run()) {}
    const issued = await listInvoices(sql, { before: undefined, limit: 100 })
    return issued.map(({ document }) => JSON.parse(document) as InvoiceDocument).reverse()
  }

  async findings(): Promise<string[]> {
    const found = await this.sql.begin((tx) => wrongDocuments(tx, WHOLE))
    return found.map(({ subject, found }) => `${subject}: ${found}`)
  }
}

const shortly = ({ number, kind, corrects, month, total }: InvoiceDocument) =>
  [number, kind, corrects, month, total].join(' ')

test('an entry is on the invoice of its month, to the millisecond', async (t) => {
  const ledger = await Ledger.of(t)
  await ledger.charge('first', 1_000_000n, after(-10 * DAY_MS))
  await ledger.charge('last', 20_000_000n, after(-1))
  await ledger.charge('edge', 300_000_000n, after(0))
  await ledger.charge('next', 4_000_000_000n, after(1))
  await ledger.charge('later', 50_000_000_000n, after(1_800_000))
  ledger.now = after(DAY_MS)
  assert.deepEqual((await ledger.issue()).map(shortly), ['1 invoice  2026-10 21'])
  ledger.now = after(31 * DAY_MS)
  assert.deepEqual((await ledger.issue()).map(shortly), [
    '1 invoice  2026-10 21',
    '2 invoice  2026-11 54300',
  ])
  assert.deepEqual(await ledger.findings(), [])
})

test('of 501 kinds the smallest is a line without a price, and nothing is lost', async (t) => {
  const ledger = await Ledger.of(t)
  let sun = 0n
  for (let i = 1n; i <= 502n; i += 1n) {
    await ledger.charge(`${i}`, i * 1_000n, after(-DAY_MS))
    sun += i * 1_000n
  }
  ledger.now = after(DAY_MS)
  const [invoice] = await ledger.issue()
  assert.equal(invoice!.lines.length, 501)
  const rest = invoice!.lines.filter(({ unit }) => unit === null)
  assert.deepEqual(rest, [
    { service: 'aml', unit: null, unit_price: null, count: 2, total: '0.003' },
  ])
  assert.equal(BigInt(Math.round(Number(invoice!.total) * 1e6)), sun)
  assert.deepEqual(await ledger.findings(), [])
})

test('what comes back in its month is taken off; later it is a credit note', async (t) => {
  const ledger = await Ledger.of(t)
  for (const tx of ['a', 'b', 'c']) await ledger.move(`s/${tx}/7`, 2_800_000n, after(-DAY_MS))
  await ledger.move('s/a/7/back', -2_800_000n, after(-DAY_MS + 60_000))
  await ledger.move('s/b/7/covered/c/9', -1_000_000n, after(30_000))
  ledger.now = after(DAY_MS)
  const [invoice] = await ledger.issue()
  assert.equal(shortly(invoice!), '1 invoice  2026-10 5.6')
  ledger.now = after(31 * DAY_MS)
  const [, note] = await ledger.issue()
  assert.equal(shortly(note!), '2 credit_note 1 2026-11 -1')
  assert.deepEqual(
    note!.lines.map(({ service, count, total }) => [service, count, total]),
    [['subscription', -1, '-1']],
  )
  assert.deepEqual(await ledger.findings(), [])
})

test('what comes back is on the document of the month in which it came', async (t) => {
  const ledger = await Ledger.of(t)
  for (const [tx, made_at] of [
    ['a', after(-DAY_MS)],
    ['b', after(-DAY_MS)],
    ['c', after(-DAY_MS)],
    ['d', after(0)],
  ] as const)
    await ledger.move(`s/${tx}/7`, 10_000_000n, made_at)
  await ledger.move('s/a/7/back', -1_000_000n, after(-1))
  await ledger.move('s/b/7/back', -200_000n, after(0))
  await ledger.move('s/c/7/back', -30_000n, after(1_800_000))
  await ledger.move('s/d/7/back', -4_000n, after(1))
  ledger.now = after(31 * DAY_MS)
  assert.deepEqual((await ledger.issue()).map(shortly), [
    '1 invoice  2026-10 29',
    '2 invoice  2026-11 9.996',
    '3 credit_note 1 2026-11 -0.23',
  ])
  assert.deepEqual(await ledger.findings(), [])
  const months = await monthsToCompare(ledger.sql, {})
  assert.deepEqual(
    months.map(({ month }) => month),
    ['2026-10-01', '2026-11-01'],
  )
  for (const month of months) assert.equal(await wrongMonth(ledger.sql, month), undefined)
})

test('a document names the kinds of what was charged, and sums each at its price', async (t) => {
  const ledger = await Ledger.of(t)
  const made_at = after(-DAY_MS)
  await ledger.sql`
    insert into orders (id, customer_id, service, address, energy, activate, to_delegate,
      amount_sun, due_at, created_at)
    values ('order', ${ledger.customer_id}, 'energy', 'bob', 65000, false, true, 0, ${made_at},
      ${made_at})`
  for (const [id, sun] of [
    ['1', 2_000_000n],
    ['2', 2_000_000n],
    // No order has it, though one is called as its end is.
    ['00order', 3_000_000n],
  ] as const)
    await ledger.charge(id, sun, made_at)
  await ledger.move('s/a/7', 5_000_000n, made_at)
  // Comes back whole: it is no line.
  await ledger.move('s/b/7', 7_000_000n, made_at)
  await ledger.move('s/b/7/back', -7_000_000n, made_at)
  ledger.now = after(DAY_MS)
  const [invoice] = await ledger.issue()
  assert.deepEqual(
    invoice!.lines.map(({ service, unit, unit_price, count, total }) =>
      [service, unit, unit_price, count, total].join(' '),
    ),
    ['aml aml 2 2 4', 'aml aml 3 1 3', 'subscription subscription 5 1 5'],
  )
})

test('nobody gets a document of a month in which nothing was charged', async (t) => {
  const ledger = await Ledger.of(t)
  await ledger.move('s/a/7', 5_000_000n, after(-DAY_MS))
  await ledger.move('s/a/7/back', -5_000_000n, after(-DAY_MS + 1))
  ledger.now = after(DAY_MS)
  assert.deepEqual(await ledger.issue(), [])
  // What came back without an invoice to correct is on none.
  await ledger.move('s/b/7', -1_000_000n, after(DAY_MS))
  ledger.now = after(31 * DAY_MS)
  assert.deepEqual(await ledger.issue(), [])
})

test('one sun is invoiced, and months are compared of those who have their invoice', async (t) => {
  const ledger = await Ledger.of(t)
  const { sql, customer_id } = ledger
  await ledger.charge('1', 1n, after(-DAY_MS))
  ledger.now = after(DAY_MS)
  assert.deepEqual((await ledger.issue()).map(shortly), ['1 invoice  2026-10 0.000001'])
  const compared = async (last_issued: string) => {
    await sql`update invoice_progress set month = '2026-10-01', customer_id = ${last_issued}`
    return (await monthsToCompare(sql, {})).length
  }
  assert.equal(await compared(customer_id), 1)
  assert.equal(await compared('0'), 0)
})

test('a month is put right once: its invoice is taken back, and another one made', async (t) => {
  const ledger = await Ledger.of(t)
  const { sql } = ledger
  await ledger.charge('1', 2_000_000n, after(-DAY_MS))
  await ledger.move('s/a/7', 5_000_000n, after(-DAY_MS))
  ledger.now = after(DAY_MS)
  await ledger.issue()
  const months = (wanted = {}) => monthsToCompare(sql, wanted)
  const [month, ...more] = await months()
  assert.deepEqual([month!.month, month!.next_month, more], ['2026-10-01', '2026-11-01', []])
  assert.equal((await months({ customer_id: ledger.customer_id, month: '2026-10' })).length, 1)
  assert.deepEqual(await months({ customer_id: 'bert' }), [])
  assert.deepEqual(await months({ month: '2026-11' }), [])
  const again = () => sql.begin((tx) => reissue(tx, month!, ledger.now))
  assert.deepEqual(await again(), [], 'nothing is wrong')
  // Somebody writes entries into a month that is over.
  await ledger.move('s/b/7', 1_000_000n, after(-DAY_MS))
  await ledger.move('s/b/7/back', -500_000n, after(-DAY_MS))
  const wrong = await wrongMonth(sql, month!)
  assert.deepEqual(
    [wrong?.number, wrong?.invoiced_sun, wrong?.charged_sun, wrong?.returned_sun],
    [1n, 7_000_000n, 7_500_000n, 0n],
  )
  assert.equal((await again()).length, 2)
  assert.equal(await wrongMonth(sql, month!), undefined)
  assert.deepEqual(await again(), [])
  const documents = await ledger.issue()
  assert.deepEqual(documents.map(shortly), [
    '1 invoice  2026-10 7',
    '2 credit_note 1 2026-10 -7',
    '3 invoice 1 2026-10 7.5',
  ])
  assert.deepEqual(
    documents[1]!.lines.map(({ service, count, unit_price, total }) => [
      service,
      count,
      unit_price,
      total,
    ]),
    [
      ['aml', -1, '2', '-2'],
      ['subscription', -1, '5', '-5'],
    ],
  )
  assert.equal(documents[2]!.issuer, 'The house')
})

/** A month with an invoice over 5 TRX, and how it is put right. */
async function invoicedMonth(t: TestContext) {
  const ledger = await Ledger.of(t)
  const { sql, customer_id } = ledger
  await ledger.move('s/a/7', 5_000_000n, after(-DAY_MS))
  ledger.now = after(DAY_MS)
  await ledger.issue()
  const [month] = await monthsToCompare(sql, {})
  const again = async () => {
    const made = await sql.begin((tx) => reissue(tx, month!, ledger.now))
    return made.map((one) => `${one.number} ${one.kind} ${one.corrects} ${one.total_sun}`)
  }
  const give = (amount_sun: bigint) =>
    sql.begin((tx) => {
      const correction = { id: 'late', customer_id, amount_sun, made_at: ledger.now }
      return issueCorrectionNote(tx, { ...correction, invoice_number: 1n })
    })
  return { ledger, again, give, wrong: () => wrongMonth(sql, month!) }
}

test('an invoice that nothing takes the place of is taken back once', async (t) => {
  const { ledger, again, wrong } = await invoicedMonth(t)
  await ledger.move('s/a/7/back', -5_000_000n, after(-DAY_MS))
  assert.deepEqual(await again(), ['2 credit_note 1 -5000000'])
  assert.deepEqual(await again(), [])
  assert.equal(await wrong(), undefined)
  await ledger.move('s/b/7', 1_000_000n, after(-DAY_MS))
  assert.deepEqual(await again(), ['3 invoice 1 1000000'])
  assert.deepEqual(await again(), [])
})

test('what was given back of an invoice is given back of what takes its place', async (t) => {
  const { ledger, again, give, wrong } = await invoicedMonth(t)
  await give(4_000_000n)
  assert.deepEqual(await again(), [])
  await ledger.move('s/a/7/back', -2_000_000n, after(-DAY_MS))
  await assert.rejects(
    again(),
    /Of the invoice 1 4 TRX were given back, and 3 TRX were charged: no invoice can take its place/,
  )
  await ledger.move('s/b/7', 1_000_000n, after(-DAY_MS))
  assert.deepEqual(await again(), [
    '3 credit_note 1 -1000000',
    '4 invoice 1 4000000',
    '5 credit_note 4 -4000000',
  ])
  await ledger.move('s/c/7', 500_000n, after(-DAY_MS))
  assert.deepEqual(await again(), ['6 invoice 4 4500000', '7 credit_note 6 -4000000'])
  assert.equal(await wrong(), undefined)
  const documents = await ledger.issue()
  const linesOf = (number: number) =>
    documents.find((one) => one.number === number)!.lines.map(({ unit, total }) => [unit, total])
  assert.deepEqual(linesOf(3), [
    ['subscription', '-5'],
    ['correction late', '4'],
  ])
  assert.deepEqual(linesOf(7), [['correction late', '-4']])
})

test('a credit note gives back no more than its own invoice has left', async (t) => {
  const ledger = await Ledger.of(t)
  const { sql, customer_id } = ledger
  for (const made_at of [after(-DAY_MS), after(DAY_MS)])
    await ledger.charge(`${made_at}`, 5_000_000n, made_at)
  ledger.now = after(31 * DAY_MS)
  await ledger.issue()
  let given = 0
  const give = (amount_sun: bigint, invoice_number = 1n, who = customer_id) =>
    sql.begin(async (tx) => {
      const id = `${++given}`
      const correction = { id, customer_id: who, amount_sun, made_at: ledger.now }
      await issueCorrectionNote(tx, { ...correction, invoice_number })
    })
  await assert.rejects(give(1n, 9n), /There is no invoice 9 of this customer/)
  await assert.rejects(give(1n, 1n, 'bert'), /There is no invoice 1 of this customer/)
  await assert.rejects(give(0n), /gives money back/)
  await assert.rejects(give(5_000_001n), /Of the invoice 1 5 TRX are left/)
  await give(4_000_000n)
  await assert.rejects(give(1_000_001n), /Of the invoice 1 1 TRX are left/)
  await give(1_000_000n)
  await assert.rejects(give(1n), /Of the invoice 1 0 TRX are left/)
  await assert.rejects(give(1n, 3n), /There is no invoice 3/, 'it is a credit note')
  await give(5_000_000n, 2n)
  const notes = await listInvoices(sql, { before: undefined, limit: 3 })
  assert.deepEqual(
    notes.map(({ number, kind, corrects, total_sun }) => [number, kind, corrects, total_sun]),
    [
      [5n, 'credit_note', 2n, -5_000_000n],
      [4n, 'credit_note', 1n, -1_000_000n],
      [3n, 'credit_note', 1n, -4_000_000n],
    ],
  )
  const earlier = await listInvoices(sql, { before: 3n, limit: 9, month: '2026-10' })
  assert.deepEqual(
    earlier.map(({ number }) => number),
    [1n],
  )
  assert.deepEqual(await listInvoices(sql, { before: 3n, limit: 9, customer_id: 'bert' }), [])
  assert.equal(await findInvoice(sql, { customer_id: 'bert', number: 1n }), undefined)
})

test('what has come back of an invoice without a credit note yet is not left of it', async (t) => {
  const { ledger, again, give } = await invoicedMonth(t)
  await ledger.move('s/a/7/back', -1_000_000n, after(0))
  await ledger.move('s/n/7', 3_000_000n, after(1))
  await ledger.move('s/n/7/back', -2_000_000n, after(2))
  const odd = { id: 'subscription:s/a/7/odd', debit: WORLD, amount_sun: 9n, made_at: after(3) }
  await ledger.sql.begin((tx) =>
    moveAll(tx, [{ ...odd, credit: customerAccount(ledger.customer_id) }]),
  )
  await assert.rejects(give(4_000_001n), /Of the invoice 1 4 TRX are left/)
  ledger.now = after(31 * DAY_MS)
  const documents = await ledger.issue()
  assert.ok(documents.map(shortly).includes('3 credit_note 1 2026-11 -1'))
  await assert.rejects(give(4_000_001n), /Of the invoice 1 4 TRX are left/)
  await give(4_000_000n)
  assert.deepEqual(await again(), [])
})

test('an order is named by what it bought, and an activation by its fee', async (t) => {
  const ledger = await Ledger.of(t)
  const { sql, customer_id } = ledger
  const made_at = after(-DAY_MS)
  const rows: [service: string, energy: number, bandwidth: number, fee_sun: bigint][] = [
    ['energy', 65_000, 0, 0n],
    ['energy', 1, 0, 0n],
    ['bandwidth', 0, 350, 0n],
    ['bandwidth', 0, 1, 0n],
    ['resource_bundle', 65_000, 350, 0n],
    ['energy', 32_000, 0, 1n],
    ['activate_address', 0, 0, 900n],
  ]
  for (const [i, [service, energy, bandwidth, fee_sun]] of rows.entries()) {
    await sql`
      insert into orders (id, customer_id, service, address, energy, bandwidth, activate,
        to_delegate, amount_sun, fee_sun, due_at, created_at)
      values (${`${i}`}, ${customer_id}, ${service}, 'bob', ${energy}, ${bandwidth},
        ${fee_sun > 0n}, true, 1000, ${fee_sun}, ${made_at}, ${made_at})`
    const hold = { id: `order:${i}`, debit: customerAccount(customer_id), credit: REVENUE }
    await sql.begin(async (tx) => {
      holdAll(tx, [{ ...hold, amount_sun: 1_000n, made_at }])
      captureAll(tx, [{ hold_id: hold.id, amount_sun: 1_000n }], made_at)
    })
  }
  ledger.now = after(DAY_MS)
  const [invoice] = await ledger.issue()
  assert.deepEqual(invoice!.lines.map(({ service, unit }) => `${service}: ${unit}`).sort(), [
    'activate_address: activation',
    'bandwidth: bandwidth 1',
    'bandwidth: bandwidth 350',
    'energy: energy 1',
    'energy: energy 32000 activation',
    'energy: energy 65000',
    'resource_bundle: energy 65000 bandwidth 350',
  ])
})

test('the month that waits for its invoice is the first with a charge, or one back', async (t) => {
  const ledger = await Ledger.of(t)
  const { sql, customer_id } = ledger
  const month = (who = customer_id) => sql.begin((tx) => monthToInvoice(tx, who))
  const account = customerAccount(customer_id)
  // Money that goes elsewhere than to revenue is no charge: a deposit, or something that is taken.
  const taken = { debit: account, credit: WORLD, amount_sun: 1n, made_at: after(-DAY_MS) }
  await sql.begin((tx) => moveAll(tx, [{ id: 'taken', ...taken }]))
  const of_house = { debit: WORLD, credit: REVENUE, amount_sun: 9n, made_at: after(-DAY_MS) }
  await sql.begin((tx) => moveAll(tx, [{ id: 'of the house', ...of_house }]))
  assert.equal(await month(), undefined)
  const hold = { id: 'aml:open', debit: account, credit: REVENUE }
  await sql.begin(async (tx) => holdAll(tx, [{ ...hold, amount_sun: 5n, made_at: after(-DAY_MS) }]))
  assert.equal(await month(), undefined, 'what is held is not charged yet')
  await ledger.move('s/b/7/back', -1n, after(DAY_MS))
  assert.equal(await month(), '2026-11')
  await ledger.move('s/a/7', 2n, after(-1))
  assert.equal(await month(), '2026-10')
  assert.equal(await month('bert'), undefined)
  ledger.now = after(DAY_MS)
  await ledger.issue()
  assert.equal(await month(), '2026-11', 'October has its invoice')
})

test('a month in which only something came back is compared as others are', async (t) => {
  const ledger = await Ledger.of(t)
  await ledger.move('s/a/7', 5_000_000n, after(-DAY_MS))
  await ledger.move('s/a/7/back', -1_000_000n, after(DAY_MS))
  ledger.now = after(31 * DAY_MS)
  await ledger.issue()
  const months = await monthsToCompare(ledger.sql, {})
  assert.deepEqual(
    months.map(({ month }) => month),
    ['2026-10-01', '2026-11-01'],
  )
})

test('documents are due at the end of their month, once it is summed', async (t) => {
  const { sql } = await freshDatabase(t)
  const step = issueInvoicesStep({ sql, clock: { now: () => after(-1) }, issuer: undefined })
  const summed = (until: Date) => sql`
    insert into summary_progress (bucket, until) values ('day', ${until}), ('hour', ${after(9)})
    on conflict (bucket) do update set until = excluded.until`
  await summed(after(-DAY_MS))
  assert.equal(await isDue(sql, step), true, 'the first month is to be noted')
  assert.equal(await step.run(), false)
  assert.equal(await isDue(sql, step), false)
  const [progress] = await sql`select month::text as month, customer_id from invoice_progress`
  assert.deepEqual(progress, { month: '2026-10-01', customer_id: '' })
  await summed(after(-1))
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
  await summed(after(0))
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.equal(await isDue(sql, step), false, 'the next month is not over')
})
