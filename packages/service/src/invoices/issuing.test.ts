// Which entries are on which document: worked out on a ledger that is written by hand, to the
// millisecond.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { wrongDocuments } from '../audit/document_rules.ts'
import { createCustomer } from '../customers/customers.ts'
import type { Sql } from '../database/sql.ts'
import { sealStep } from '../ledger/journal.ts'
import { captureAll, customerAccount, holdAll, moveAll, REVENUE, WORLD } from '../ledger/ledger.ts'
import { summarizeStep } from '../statements/summaries.ts'
import type { InvoiceDocument } from './forms.ts'
import { listInvoices } from './invoices.ts'
import { issueInvoicesStep } from './issuing.ts'

const MONTH_ENDS = Date.parse('2026-11-01T00:00:00Z')
const DAY_MS = 86_400_000
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
    const found = await this.sql.begin(wrongDocuments)
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
