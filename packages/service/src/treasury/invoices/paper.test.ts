// Documents as they are found, listed and printed for paper.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Invoice, type InvoiceDocument, printWholeInvoice } from './forms.ts'
import { findInvoice, invoiceInForce, listInvoices } from './invoices.ts'
import { invoicePage } from './paper.ts'

const DOCUMENT: InvoiceDocument = {
  number: 7,
  kind: 'invoice',
  corrects: null,
  month: '2026-10',
  issued_at: '2026-11-01T00:05:03Z',
  issuer: null,
  customer: { id: 'c', name: 'Anna & Co', billing: [] },
  lines: [
    { service: 'direct_recharge', unit: 'energy 1', unit_price: '2', count: 3, total: '6' },
    { service: 'aml', unit: null, unit_price: null, count: 4, total: '1' },
  ],
  total: '7',
}
const invoiceOf = (more: Partial<InvoiceDocument> = {}): Invoice => ({
  number: 7n,
  kind: 'invoice',
  corrects: null,
  customer_id: 'c',
  month: '2026-10',
  issued_at: new Date('2026-11-01T00:05:03Z'),
  total_sun: 7_000_000n,
  document: JSON.stringify({ ...DOCUMENT, ...more }),
  sha256: 'f',
})

test('a document for paper has its parties, and what it corrects where it does', () => {
  const plain = invoicePage(invoiceOf(), 'en')
  for (const part of [
    '<title>Invoice 7</title>',
    '<p>Anna &amp; Co</p>',
    '<td>direct recharge</td><td>energy 1</td><td class="figure">2</td>',
    '<td>aml</td><td>all smaller kinds</td><td class="figure"></td>',
    '<p>2026-11-01</p>',
  ])
    assert.ok(plain.includes(part), part)
  assert.doesNotMatch(plain, />From<|About invoice/)
  const more = { kind: 'credit_note', corrects: 3, issuer: 'The house' } as const
  const customer = { ...DOCUMENT.customer, billing: ['Street 1'] }
  const note = invoicePage(invoiceOf({ ...more, customer }), 'en')
  for (const part of [
    'Credit note 7',
    '>From</p><p>The house</p>',
    '>To</p><p>Street 1</p>',
    '>About invoice</p><p>3</p>',
  ])
    assert.ok(note.includes(part), part)
  assert.ok(!note.includes('Anna'))
})

test('a document on the wire has no price where a line has none', () => {
  const { lines, corrects } = printWholeInvoice(invoiceOf())
  assert.equal(JSON.stringify(lines.map((line) => line.unit_price)), '[2,null]')
  assert.equal(corrects, null)
  assert.equal(printWholeInvoice({ ...invoiceOf(), corrects: 3n }).corrects, 3)
})

type Row = { n: number; who?: string; month?: string; kind?: Invoice['kind']; corrects?: number }

const add = (sql: Sql, { n, who = 'anna', month = '2026-10', kind = 'invoice', corrects }: Row) =>
  sql`
    insert into invoice (number, kind, corrects, customer_id, month, issued_at, total_sun, document,
      sha256)
    values (${n}, ${kind}, ${corrects ?? null}, ${who}, ${`${month}-01`}::date,
      ${new Date(0)}, ${kind === 'invoice' ? 1 : -1}, '{}',
      encode(sha256('{}'), 'hex'))`

test('documents are found by number and customer, and listed by month and place', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [i, who] of ['anna', 'bert'].entries())
    await sql`
      insert into customer (id, name, created_at, deposit_index, deposit_address)
      values (${who}, ${who}, now(), ${i}, ${who.padEnd(34, 'x')})`
  await add(sql, { n: 1 })
  await add(sql, { n: 2, who: 'bert' })
  await add(sql, { n: 3, month: '2026-11' })
  await add(sql, { n: 4, kind: 'credit_note', corrects: 1 })
  await add(sql, { n: 5, corrects: 1 })
  await add(sql, { n: 6, kind: 'credit_note', corrects: 5 })
  const listed = async (wanted: Partial<Parameters<typeof listInvoices>[1]>) =>
    (await listInvoices(sql, { before: undefined, limit: 9, ...wanted }))
      .map(({ number }) => number)
      .join()
  assert.equal(await listed({}), '6,5,4,3,2,1')
  assert.equal(await listed({ limit: 2 }), '6,5')
  assert.equal(await listed({ before: 3n }), '2,1')
  assert.equal(await listed({ customer_id: 'bert' }), '2')
  assert.equal(await listed({ month: '2026-11' }), '3')
  assert.equal(await listed({ month: '2026-10', customer_id: 'anna', before: 5n }), '4,1')
  const found = async (number: bigint, customer_id?: string | null) =>
    (await findInvoice(sql, { number, ...(customer_id !== undefined && { customer_id }) }))?.number
  assert.equal(await found(2n), 2n)
  assert.equal(await found(2n, null), 2n)
  assert.equal(await found(2n, 'bert'), 2n)
  assert.equal(await found(2n, 'anna'), undefined)
  assert.equal(await found(9n), undefined)
  const inForce = async (customer_id: string, month: string) =>
    (await invoiceInForce(sql, { customer_id, month: `${month}-01` }))?.number
  assert.equal(await inForce('anna', '2026-10'), 5n)
  assert.equal(await inForce('anna', '2026-11'), 3n)
  assert.equal(await inForce('bert', '2026-10'), 2n)
  assert.equal(await inForce('bert', '2026-11'), undefined)
})
