// A month is over: what was charged in it is one document that never changes, for each customer who
// was charged something.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { booksFindings, worldOperator } from '../../harness/operator.ts'
import { type Customer, makeWorld, TRX, type World } from '../../harness/world.ts'

type Invoice = { number: number; month: string; total: number; sha256: string }
type FullInvoice = Invoice & {
  issuer: string | null
  billing: string[]
  lines: { service: string; unit: string; unit_price: number; count: number; total: number }[]
  document: string
}
type Page<Item> = { items: Item[]; next: string | null }

const sun = (trx: number) => Math.round(trx * 1e6)
const DAY = 86_400

const customer = (world: World, trx: number) =>
  world.customer({ trx, scopes: ['read', 'buy', 'money', 'webhooks'] })
const invoicesOf = (who: Customer) => who.get<Page<Invoice>>('/v1/invoices/list')

/** To some minutes after the first of the next month. */
async function toNextMonth(world: World) {
  const { now } = world
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  await world.advance((first - now.getTime()) / 1_000 + 1_200)
}

test('the invoice of a month has what the statement says was charged, by lines', async (t) => {
  const world = await makeWorld(t)
  await toNextMonth(world)
  const [anna, bert] = [await customer(world, 100), await customer(world, 100)]
  const { address } = world.person('bob', 1)
  const began = world.now.toISOString()
  await anna.get('/v1/settings/change', { billing: ['Anna Ltd', 'Vienna'] })
  for (const amount of [65_000, 65_000, 131_000]) await anna.buyEnergy(address, amount)
  await anna.buy({
    service: 'activate_address',
    params: { address: world.person('nina').address },
  })
  await world.settle()
  assert.deepEqual((await invoicesOf(anna)).items, [])
  await toNextMonth(world)
  await anna.get('/v1/settings/change', { billing: [] })
  const { items } = await invoicesOf(anna)
  assert.equal(items.length, 1)
  const whole = await anna.get<FullInvoice>('/v1/invoice/check', { number: items[0]!.number })
  assert.equal(whole.month, began.slice(0, 7))
  const inMonth = async (who: Customer, month: string) =>
    (await who.get<Page<Invoice>>('/v1/invoices/list', { month })).items.length
  assert.deepEqual(
    [await inMonth(anna, whole.month), await inMonth(anna, world.now.toISOString().slice(0, 7))],
    [1, 0],
  )
  assert.equal(await inMonth(bert, whole.month), 0)
  assert.deepEqual(whole.billing, ['Anna Ltd', 'Vienna'])
  assert.deepEqual(
    whole.lines.map(({ service, unit, count }) => [service, unit, count]),
    [
      ['activate_address', 'activation', 1],
      ['energy', 'energy 131000', 1],
      ['energy', 'energy 65000', 2],
    ],
  )
  for (const { unit_price, count, total } of whole.lines)
    assert.equal(sun(unit_price) * count, sun(total))
  const { items: entries } = await anna.get<Page<{ kind: string; amount: number }>>('/v1/statement')
  const charged = entries.filter(({ kind }) => kind === 'capture')
  assert.equal(
    charged.reduce((sum, { amount }) => sum - sun(amount), 0),
    sun(whole.total),
  )
  assert.equal(createHash('sha256').update(whole.document).digest('hex'), whole.sha256)
  assert.equal(sun(Number(JSON.parse(whole.document).total)), sun(whole.total))
  assert.deepEqual((await invoicesOf(bert)).items, [], 'who was charged nothing gets none')
  await assert.rejects(world.sql`update invoice set total_sun = 1`, /append-only/)
})

test('numbers run without gaps over months and customers, and each is told of', async (t) => {
  const world = await makeWorld(t)
  const customers = await Promise.all([1, 2, 3].map(() => customer(world, 50)))
  const { address } = world.person('bob', 1)
  for (const buyers of [customers, customers.slice(1), customers]) {
    await toNextMonth(world)
    for (const one of buyers) await one.buyEnergy(address, 65_000)
    // What is sold to nobody that we know is charged to an account that is no customer's.
    world.pay(world.recharge.address, 3n * TRX)
    await world.settle()
  }
  await toNextMonth(world)
  await world.advance(2 * DAY)
  const all = await Promise.all(customers.map(invoicesOf))
  const numbers = all.flatMap(({ items }) => items.map(({ number }) => number))
  assert.deepEqual(
    numbers.sort((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8],
  )
  assert.deepEqual(
    all.map(({ items }) => items.length),
    [2, 3, 3],
  )
  const told = await customers[1]!.get<Page<{ data: Invoice }>>('/v1/events/list', {
    types: ['invoice.issued'],
  })
  const at = await worldOperator(world)
  type InvoiceRow = { number: number; customer_id: string; month: string; total_sun: number }
  const listed = await at.json<InvoiceRow[]>('invoices', 'list')
  assert.deepEqual(
    listed.map(({ number }) => number),
    [8, 7, 6, 5, 4, 3, 2, 1],
  )
  const anna = ['--customer', customers[0]!.id, '--limit', '1']
  const [newest] = await at.json<InvoiceRow[]>('invoices', 'list', ...anna)
  const { number, total } = all[0]!.items[0]!
  assert.deepEqual([newest?.number, newest?.total_sun], [number, sun(total)])
  const before = await at.json<InvoiceRow[]>('invoices', 'list', ...anna, '--before', `${number}`)
  assert.deepEqual(
    before.map(({ number }) => number),
    [all[0]!.items[1]!.number],
  )
  const month = await at.json<InvoiceRow[]>('invoices', 'list', '--month', listed[4]!.month)
  assert.deepEqual(
    month.map(({ number }) => number),
    [5, 4],
  )
  assert.equal((await at.type('invoices', 'list', '--month', '2026-13')).code, 2)
  assert.equal((await at.type('invoices', 'show', '9')).code, 1)
  const shown = await at.json<{ lines: { total: string }[] }>('invoices', 'show', `${number}`)
  const whole = await customers[0]!.get<FullInvoice>('/v1/invoice/check', { number })
  assert.deepEqual(shown.lines, JSON.parse(whole.document).lines)
  const text = await at.type('invoices', 'show', `${number}`, '--document')
  assert.equal(text.out, `${whole.document}\n`)
  // Events are kept for a month.
  assert.ok(told.items.length > 0)
  assert.deepEqual(
    told.items.map(({ data }) => data),
    all[1]!.items.slice(0, told.items.length),
  )
})

test('an invoice or a summary that was altered or taken out is found by the books', async (t) => {
  const world = await makeWorld(t)
  const anna = await customer(world, 50)
  const { address } = world.person('bob', 1)
  for (const _ of [1, 2]) {
    await toNextMonth(world)
    await anna.buyEnergy(address, 65_000)
    await world.settle()
  }
  await toNextMonth(world)
  await world.advance(2 * DAY)
  // What is over is taken back.
  await world.solidify()
  await world.settle()
  await world.solidify()
  assert.equal((await invoicesOf(anna)).items.length, 2)
  const at = await worldOperator(world)
  const findings = () => booksFindings(at)
  assert.deepEqual(await findings(), [])
  // By the hand of somebody who may do anything, and is found out before anything is kept.
  const wrongs: [statement: string, found: RegExp][] = [
    ['update invoice set total_sun = total_sun + 1 where number = 2', /^C16 invoice 2: /],
    [
      `delete from invoice where number = 2`,
      /^C16 invoice of .*: 0 sun, and 2930000 were charged$/,
    ],
    [`delete from invoice where number = 1`, /^C16 invoices: 1 of them, and the last has .* 2$/],
    [`update summary set spent_sun = 0 where bucket = 'day' and spent_sun > 0`, /^C16 summary /],
    [`update summary set spendable_sun = 0 where bucket = 'hour'`, /^C16 summary .* hour /],
  ]
  const hand = new pg.Client({ connectionString: world.database.url })
  await hand.connect()
  await hand.query('set session_replication_role = replica')
  const tables = ['invoice', 'summary']
  const keep = tables.map((table) => `create temp table kept_${table} as table ${table}`)
  const restore = tables.map(
    (table) => `delete from ${table}; insert into ${table} table kept_${table}`,
  )
  await hand.query(keep.join(';'))
  for (const [statement, found] of wrongs) {
    assert.ok(((await hand.query(statement)).rowCount ?? 0) > 0, statement)
    const all = await findings()
    assert.ok(
      all.some((one) => found.test(one)),
      `${statement}: ${all.join('; ')}`,
    )
    assert.ok(all.every((one) => one.startsWith('C16')))
    await hand.query(restore.join(';'))
  }
  await hand.end()
  assert.deepEqual(await findings(), [])
})
