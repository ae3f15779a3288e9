// What subscriptions charge per use is on the invoice, like all else; what comes back later is a
// credit note; and what was invoiced wrongly is put right by documents, never by a change.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { documentsAreCharges } from '../../auditor/documents.ts'
import { readRows } from '../../auditor/rows.ts'
import { booksFindings, worldOperator } from '../../harness/operator.ts'
import { listed, sender, subscribe, use, wanted } from '../../harness/subscribers.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type Line = { service: string; unit: string; unit_price: number; count: number; total: number }
type Invoice = {
  number: number
  kind: 'invoice' | 'credit_note'
  corrects: number | null
  month: string
  total: number
  lines: Line[]
}
type Page<Item> = { items: Item[]; next: string | null }

const DAY = 86_400

/** To so many seconds after the first of the next month; before it with a number below zero. */
async function toNextMonth(world: World, seconds = 1_200) {
  const { now } = world
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  await world.advance((first - now.getTime()) / 1_000 + seconds)
}

const customer = (world: World) =>
  world.customer({ trx: 1_000, scopes: ['read', 'buy', 'money', 'webhooks'] })

/** All documents of a customer, the oldest first, with their lines. */
async function documentsOf(who: Customer): Promise<Invoice[]> {
  const { items } = await who.get<Page<Invoice>>('/v1/invoices/list')
  return Promise.all(
    items.toReversed().map(({ number }) => who.get<Invoice>('/v1/invoice/check', { number })),
  )
}

const shortly = ({ number, kind, corrects, total }: Invoice) => [number, kind, corrects, total]

const sun = (trx: number) => Math.round(trx * 1e6)

/** What the rules of the books say, and what the auditor says of documents. */
async function findings(world: World): Promise<string[]> {
  // What is over is taken back.
  await world.solidify()
  await world.settle()
  await world.solidify()
  const found = await booksFindings(await worldOperator(world))
  const client = new pg.Client({ connectionString: world.database.url })
  await client.connect()
  const rows = await readRows(client)
  await client.end()
  return [...found, ...documentsAreCharges({ rows })]
}

/** Lets somebody who is subscribed send tokens so often. */
async function send(world: World, from: Parameters<typeof use>[1], times: number) {
  for (let i = 0; i < times; i++) {
    await use(world, from)
    await world.settle()
  }
}

test('the invoice has what a subscription charges per use, as the summary has it', async (t) => {
  const world = await makeWorld(t)
  await toNextMonth(world)
  const anna = await customer(world)
  const bob = sender(world)
  const began = world.now
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await send(world, bob, 10)
  assert.equal((await listed(anna, id)).total_price, 28.27)
  await anna.get('/v1/subscription/stop', { id })
  await world.settle()
  await world.solidify()
  await toNextMonth(world)
  await world.advance(DAY)
  const [invoice] = await documentsOf(anna)
  assert.equal(invoice!.total, 28.27)
  assert.deepEqual(
    invoice!.lines.map(({ service, unit, unit_price, count, total }) => [
      service,
      unit,
      unit_price,
      count,
      total,
    ]),
    [
      ['subscription', 'unlimited_energy, start', 6, 1, 6],
      ['subscription', 'unlimited_energy, transaction', 2.67, 1, 2.67],
      ['subscription', 'unlimited_energy, transaction', 2.8, 7, 19.6],
    ],
  )
  type Summary = { buckets: { spent: number }[] }
  const { buckets } = await anna.get<Summary>('/v1/summary', {
    since: began.toISOString().slice(0, 10),
    until: world.now.toISOString().slice(0, 10),
  })
  assert.equal(
    buckets.reduce((sum, { spent }) => sum + sun(spent), 0),
    sun(28.27),
  )
  assert.deepEqual(await findings(world), [])
})

test('a fork that takes a use back after its invoice is a credit note', async (t) => {
  const world = await makeWorld(t)
  await toNextMonth(world)
  const anna = await customer(world)
  const bob = sender(world)
  await toNextMonth(world, -1_500)
  const { id } = await subscribe(world, anna, wanted(bob.address))
  await send(world, bob, 3)
  await world.solidify()
  await use(world, bob)
  // The service's clock alone goes on: the month is over, and the block is not solid.
  world.wait(1_500 + 1_200)
  await world.drain()
  world.wait(1_200)
  await world.drain()
  assert.deepEqual((await documentsOf(anna)).map(shortly), [[1, 'invoice', null, 11.47]])
  world.fork(1, { drop: true })
  world.mine(1_400)
  await world.drain()
  await world.solidify()
  await anna.get('/v1/subscription/stop', { id })
  await world.settle()
  await toNextMonth(world)
  await world.advance(DAY)
  const documents = await documentsOf(anna)
  assert.deepEqual(documents.map(shortly).slice(0, 2), [
    [1, 'invoice', null, 11.47],
    [2, 'credit_note', 1, -2.8],
  ])
  const [line] = documents[1]!.lines
  assert.deepEqual(
    [line!.unit, line!.unit_price, line!.count, line!.total],
    ['unlimited_energy, transaction', 2.8, -1, -2.8],
  )
  assert.deepEqual(await findings(world), [])
})

/** As a release before this one wrote it: without a kind of charge. */
async function misprintFirst(world: World): Promise<void> {
  const hand = new pg.Client({ connectionString: world.database.url })
  await hand.connect()
  await hand.query(`
    set session_replication_role = replica;
    update invoice set total_sun = 2930000, document = d.text,
      sha256 = encode(sha256(convert_to(d.text, 'UTF8')), 'hex')
    from (select (document::jsonb - 'kind' - 'corrects' || jsonb_build_object('total', '2.93',
            'lines', jsonb_build_array(document::jsonb #> '{lines,1}')))::text as text
          from invoice where number = 1) as d
    where number = 1`)
  await hand.end()
}

test('a wrong invoice is named by the books, and replaced by documents', async (t) => {
  const world = await makeWorld(t)
  await toNextMonth(world)
  const anna = await customer(world)
  const { address } = world.person('bob', 1)
  await anna.buyEnergy(address, 65_000)
  await anna.buyEnergy(address, 131_000)
  await world.settle()
  await toNextMonth(world)
  await world.advance(DAY)
  const month = world.now.toISOString().slice(0, 7)
  await anna.buyEnergy(address, 65_000)
  await world.settle()
  await toNextMonth(world)
  await world.advance(DAY)
  await world.solidify()
  const [first] = await documentsOf(anna)
  const before = sun(first!.total)
  await misprintFirst(world)
  const hand = new pg.Client({ connectionString: world.database.url })
  await hand.connect()
  await hand.query('set session_replication_role = replica; delete from invoice where number = 2')
  await hand.end()
  const said = await findings(world)
  const wrong = `C16 invoice 1: 2930000 sun, and ${before} were charged`
  assert.ok(said.includes(wrong), said.join('; '))
  assert.ok(said.some((one) => /^C16 invoice of .*: 0 sun, and 2930000 were charged$/.test(one)))
  const at = await worldOperator(world)
  const reason = ['--reason', 'uses were left out']
  type ReissuedMonth = { month: string; number: number | null; issued: number[] }
  const dry = await at.json<ReissuedMonth[]>('invoices', 'reissue', '--dry-run', ...reason)
  assert.deepEqual(
    dry.map(({ number, issued }) => [number, issued]),
    [
      [1, []],
      [null, []],
    ],
  )
  assert.equal((await documentsOf(anna)).length, 1, 'nothing was issued')
  const one = await at.json<ReissuedMonth[]>('invoices', 'reissue', '--month', month, ...reason)
  assert.deepEqual(
    one.map(({ issued }) => issued),
    [[2]],
  )
  await at.json('invoices', 'reissue', '--customer', anna.id, ...reason)
  assert.deepEqual((await documentsOf(anna)).map(shortly), [
    [1, 'invoice', null, 2.93],
    [2, 'invoice', null, 2.93],
    [3, 'credit_note', 1, -2.93],
    [4, 'invoice', 1, before / 1e6],
  ])
  assert.deepEqual(await findings(world), [])
  assert.deepEqual(await at.json('invoices', 'reissue', ...reason), [])
  await assert.rejects(world.sql`delete from invoice where number = 1`, /append-only/)
})

test('money given back for an invoice has a credit note, up to what is left of it', async (t) => {
  const world = await makeWorld(t)
  await toNextMonth(world)
  const [anna, bert] = [await customer(world), await customer(world)]
  const { address } = world.person('bob', 1)
  await anna.buyEnergy(address, 65_000)
  await world.settle()
  await toNextMonth(world)
  await world.advance(DAY)
  const at = await worldOperator(world)
  const credit = (who: Customer, amount: string, invoice: string, id: string) =>
    at.type(
      'customers',
      'credit',
      who.id,
      amount,
      '--invoice',
      invoice,
      '--id',
      id,
      '--reason',
      'it came late',
      '--by',
      'olga',
    )
  for (const [who, amount, number, said] of [
    [bert, '1', '1', /There is no invoice 1 of this customer/],
    [anna, '1', '9', /There is no invoice 9 of this customer/],
    [anna, '2.930001', '1', /Of the invoice 1 2.93 TRX are left/],
  ] as const) {
    const refused = await credit(who, amount, number, 'refused')
    assert.deepEqual([refused.code, said.test(refused.err)], [1, true], refused.err)
  }
  await at.type('approvals', 'set', 'name', '--from', '2')
  assert.equal((await credit(anna, '0.93', '1', 'late')).code, 0)
  assert.equal((await credit(anna, '2', '1', 'rest')).code, 0)
  assert.deepEqual((await documentsOf(anna)).map(shortly).slice(1), [[2, 'credit_note', 1, -0.93]])
  await at.type('approvals', 'give', 'rest', '--by', 'bea')
  assert.deepEqual((await documentsOf(anna)).map(shortly).slice(1), [
    [2, 'credit_note', 1, -0.93],
    [3, 'credit_note', 1, -2],
  ])
  const none_left = await credit(anna, '0.000001', '1', 'more')
  assert.match(none_left.err, /Of the invoice 1 0 TRX are left/)
  const on_note = await credit(anna, '0.5', '2', 'of a note')
  assert.match(on_note.err, /There is no invoice 2 of this customer/)
  const again = await credit(anna, '0.93', '1', 'late')
  assert.equal(again.code, 0)
  assert.equal((await documentsOf(anna)).length, 3, 'the same again issues nothing')
  assert.deepEqual(await findings(world), [])
})

test('what was given back for a wrong invoice stays given back for the one after it', async (t) => {
  const world = await makeWorld(t)
  await toNextMonth(world)
  const anna = await customer(world)
  const { address } = world.person('bob', 1)
  await anna.buyEnergy(address, 65_000)
  await anna.buyEnergy(address, 131_000)
  await world.settle()
  await toNextMonth(world)
  await world.advance(DAY)
  const [{ total } = { total: 0 }] = await documentsOf(anna)
  await misprintFirst(world)
  const at = await worldOperator(world)
  const credit = (amount: string, invoice: string, id: string) => {
    const why = ['--id', id, '--reason', 'it came late', '--by', 'olga']
    return at.type('customers', 'credit', anna.id, amount, '--invoice', invoice, ...why)
  }
  assert.equal((await credit('0.93', '1', 'late')).code, 0)
  await at.json('invoices', 'reissue', '--reason', 'a charge was left out')
  assert.deepEqual(await findings(world), [])
  assert.deepEqual((await documentsOf(anna)).map(shortly), [
    [1, 'invoice', null, 2.93],
    [2, 'credit_note', 1, -0.93],
    [3, 'credit_note', 1, -2],
    [4, 'invoice', 1, total],
    [5, 'credit_note', 4, -0.93],
  ])
  const more = await credit(`${total}`, '4', 'more')
  assert.match(
    more.err,
    new RegExp(`Of the invoice 4 ${(sun(total) - 930_000) / 1e6} TRX are left`),
  )
})
