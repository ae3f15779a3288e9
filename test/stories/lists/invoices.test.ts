// A month is over: what was charged in it is one document that never changes, for each customer who
// was charged something.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
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
  // Events are kept for a month.
  assert.ok(told.items.length > 0)
  assert.deepEqual(
    told.items.map(({ data }) => data),
    all[1]!.items.slice(0, told.items.length),
  )
})
