// Quotes: what was said is what it costs at most, and one quote buys one order, however often and
// from wherever it is accepted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worldOperator } from '../../harness/operator.ts'
import { type Customer, makeWorld, type Reply, type Transaction } from '../../harness/world.ts'

type Quote = {
  id: string
  amount: number
  fee: number
  energy: number
  state: string
  expires_at: string
  params: Transaction['params']
  fee_limit?: number
  burning_costs: number | null
}

const said = ({ code, key }: Reply) => (code === 0 ? 'done' : key!.replace(/^[a-z_]+/, `${code}`))
const energy = (address: string, more: object = {}) => ({
  service: 'energy',
  params: { address, amount: 65_000, duration: 1, ...more },
})
const quoted = (who: Customer, body: object) => who.get<Quote>('/v1/quote/new', body)
const accept = (who: Customer, body: object, api?: Parameters<Customer['call']>[3]) =>
  who.call('/v1/quote/accept', body, {}, api)

test('a quote holds while prices rise, and a price that fell is charged', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const anna = await world.customer({ trx: 500 })
  const { address } = world.person('bob', 1)
  const first = await quoted(anna, { ...energy(address), seconds: 300 })
  assert.equal(first.state, 'open')
  assert.equal(first.burning_costs, (65_000 * 100) / 1e6)
  await json('prices', 'set', 'energy', '32000-130999=0.09', '--yes')
  world.wait(2)
  const dear = await quoted(anna, { ...energy(address), seconds: 300 })
  assert.ok(dear.amount > first.amount)
  const order = await accept(anna, { id: first.id, external_id: 'one' })
  assert.deepEqual([order.code, order.result.amount], [0, first.amount])
  await json('prices', 'set', 'energy', '32000-130999=0.03', '--yes')
  world.wait(2)
  const cheap = await accept(anna, { id: dear.id })
  assert.ok((cheap.result.amount as number) < first.amount)
  await world.settle()
  const { status, amount } = await anna.check(order.result.id as string)
  assert.deepEqual([status, amount], ['success', first.amount])
})

test('a fee of activation that fell since it was quoted is charged as it is now', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const { address } = world.person('nina')
  const body = { ...energy(address, { activate_address: true }), seconds: 300 }
  const quote = await quoted(anna, body)
  await json('fees', 'set', 'activate_address', '0.9', '--yes')
  world.wait(2)
  const order = await accept(anna, { id: quote.id })
  assert.equal(quote.fee, 1.4)
  const amount = Math.round((quote.amount - 0.5) * 1e6) / 1e6
  assert.deepEqual([order.code, order.result.amount], [0, amount])
  await world.settle()
  assert.equal(await anna.balance(), Math.round((100 - amount) * 1e6) / 1e6)
})

test('each mistake with a quote has its own refusal', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const poor = await world.customer()
  const capped = await world.customer({ trx: 20, daily_cap_sun: 1_000_000n })
  const bob = await world.customer({ trx: 20 })
  const { address } = world.person('bob', 1)
  const dormant = world.person('nobody').address
  const whole = energy(address)
  const cases: [body: object, expected: string][] = [
    [{}, '2'],
    [{ service: 'energy' }, '2'],
    [{ ...whole, transfer: { from: address, to: address } }, '2'],
    [{ ...whole, seconds: 4 }, '2.seconds'],
    [{ ...whole, seconds: 301 }, '2.seconds'],
    [energy('T'), '10'],
    [energy(address, { duration: 2 }), '12'],
    [energy(address, { amount: 1 }), '11'],
    [{ service: 'bandwidth', params: { address, amount: 0, duration: 1 } }, '50'],
    [{ transfer: { from: 'x', to: address } }, '10.from'],
    [{ transfer: { from: address, to: 'x' } }, '10.to'],
    [{ transfer: { from: address, to: address, contract: 'x' } }, '10.contract_address'],
    [energy(dormant), '24'],
    [{ service: 'activate_address', params: { address } }, '25'],
    [{ ...whole, seconds: 5 }, 'done'],
  ]
  for (const [body, expected] of cases)
    assert.equal(said(await anna.call('/v1/quote/new', body)), expected, JSON.stringify(body))
  const quote = await quoted(anna, whole)
  const other = await quoted(anna, whole)
  const late = await quoted(anna, { ...whole, seconds: 5 })
  const of_poor = await quoted(poor, whole)
  const of_capped = await quoted(capped, whole)
  const to_activate = await quoted(anna, energy(dormant, { activate_address: true }))
  assert.ok(to_activate.fee > 0)
  world.wait(5)
  const absent = await accept(anna, { id: '01m7xps0ca8ksnnfg71x89vdp6' })
  const foreign = await accept(bob, { id: quote.id })
  const without_id = (error?: string) => error?.replace(/"\w{26}"/, '"…"')
  assert.deepEqual([foreign.code, foreign.key], [70, absent.key])
  assert.equal(without_id(foreign.error), without_id(absent.error))
  const accepts: [who: Customer, body: object, expected: string][] = [
    [anna, { id: 7 }, '2.id'],
    [anna, { id: quote.id, external_id: 'x'.repeat(129) }, '2.external_id'],
    [anna, { id: late.id }, '71'],
    [anna, { id: quote.id, external_id: 'a' }, 'done'],
    [anna, { id: quote.id, external_id: 'a' }, 'done'],
    [anna, { id: quote.id }, 'done'],
    [anna, { id: quote.id, external_id: 'b' }, '71.used'],
    [anna, { id: other.id, external_id: 'a' }, '2.external_id'],
    [anna, { id: other.id, external_id: 'c' }, 'done'],
    [poor, { id: of_poor.id }, '6'],
    [capped, { id: of_capped.id }, '6.daily_cap'],
    [anna, { id: to_activate.id }, 'done'],
  ]
  for (const [who, body, expected] of accepts)
    assert.equal(said(await accept(who, body)), expected, JSON.stringify(body))
  const [count] = await world.sql<{ orders: bigint }>`select count(*) as orders from orders`
  assert.equal(count!.orders, 3n)
  await json('offers', 'set', '--quote-seconds', '10')
  assert.equal(said(await anna.call('/v1/quote/new', { ...whole, seconds: 11 })), '2.seconds')
  const short = await quoted(anna, whole)
  assert.equal(Date.parse(short.expires_at) - world.now.getTime() <= 10_000, true)
  await json('offers', 'set', '--quote-seconds', '0', '--forecast', 'hidden')
  assert.equal(said(await anna.call('/v1/quote/new', whole)), '35.quotes')
  const hidden = await anna.call('/v1/pool-forecast', { resource: 'energy', hours: 1 })
  assert.equal(said(hidden), '35.forecast')
  await world.settle()
})

test('the quote of a transfer is for the energy that it takes', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const [from, to] = [world.person('bob', 1).address, world.person('carl', 1).address]
  const estimate = await anna.get<{ amount: number; total: number; fee_limit: number }>(
    '/v1/estimate-energy',
    { from_address: from, to_address: to },
  )
  const quote = await quoted(anna, { transfer: { from, to } })
  const { energy, amount, fee_limit } = quote
  assert.deepEqual(
    { energy, amount, fee_limit },
    {
      energy: estimate.amount,
      amount: estimate.total,
      fee_limit: estimate.fee_limit,
    },
  )
  assert.equal((await accept(anna, { id: quote.id })).result.amount, estimate.total)
  await world.settle()
})

test('a thousand quotes are open at most: of the customer, not used, not over', async (t) => {
  const world = await makeWorld(t)
  const [anna, bob] = [await world.customer({ trx: 10 }), await world.customer({ trx: 10 })]
  const body = energy(world.person('carl', 1).address)
  const { id } = await quoted(anna, body)
  await quoted(bob, body)
  const copy = (name: string, count: number, seconds: number) => world.sql`
    insert into quote (id, customer_id, service, address, energy, bandwidth, activate, amount_sun,
      fee_sun, fee_limit_sun, burning_sun, made_at, expires_at)
    select ${name} || n, customer_id, service, address, energy, bandwidth, activate, amount_sun,
      fee_sun, fee_limit_sun, burning_sun, made_at, made_at + ${seconds}::int * interval '1 second'
    from quote, generate_series(1, ${count}::int) as n where id = ${id}`
  await copy('past', 1_000, 1)
  world.wait(2)
  assert.equal((await accept(anna, { id })).code, 0)
  assert.equal(said(await anna.call('/v1/quote/new', body)), 'done')
  await copy('open', 999, 3_600)
  const again = await Promise.all([anna, bob].map((who) => who.call('/v1/quote/new', body)))
  assert.deepEqual(again.map(said), ['72.quote', 'done'])
  await world.settle()
})

test('an address that needs no activation is quoted while none is on sale', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  const anna = await world.customer({ trx: 10 })
  await json('services', 'off', 'activate_address')
  world.wait(2)
  const ask = (address: string) =>
    anna.call('/v1/quote/new', energy(address, { activate_address: true }))
  const active = await ask(world.person('bob', 1).address)
  const inactive = await ask(world.person('nina').address)
  assert.deepEqual([active.code, active.result.fee], [0, 0])
  assert.notEqual(inactive.code, 0)
})

test('a thousand quotes, each accepted twice at once, are a thousand orders', async (t) => {
  const world = await makeWorld(t)
  const { api } = await world.startProcess()
  const anna = await world.customer({ trx: 10_000 })
  const { address } = world.person('bob', 1)
  const body = { ...energy(address, { amount: 32_000 }), seconds: 300 }
  const quotes: Quote[] = []
  for (let i = 0; i < 20; i++)
    quotes.push(...(await Promise.all(Array.from({ length: 50 }, () => quoted(anna, body)))))
  const more = await anna.call('/v1/quote/new', body)
  assert.equal(said(more), '72.quote')
  const answers: Reply[] = []
  for (let i = 0; i < quotes.length; i += 100) {
    const batch = quotes
      .slice(i, i + 100)
      .flatMap(({ id }) => [accept(anna, { id }), accept(anna, { id }, api)])
    answers.push(...(await Promise.all(batch)))
  }
  assert.ok(answers.every(({ code }) => code === 0))
  const replayed = answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true')
  assert.deepEqual(
    [new Set(answers.map(({ result }) => result.id)).size, replayed.length],
    [1_000, 1_000],
  )
  const [sums] = await world.sql<{ orders: bigint; held_sun: bigint }>`
    select count(*) as orders, sum(orders.amount_sun)::bigint as held_sun from orders
      join quote on quote.id = quote_id`
  const [first] = quotes
  assert.deepEqual(sums, { orders: 1_000n, held_sun: BigInt(Math.round(first!.amount * 1e9)) })
  assert.equal((await anna.call('/v1/quote/new', body)).code, 0, 'used ones are not counted')
  await world.drain()
})

test('the forecast of the pool shows what comes back, to two digits', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const anna = await world.customer({ trx: 500 })
  type Forecast = {
    now: { room: number; largest_order: number }
    points: { at: string; least: number; most: number }[]
  }
  const ask = (hours: number) =>
    anna.get<Forecast>('/v1/pool-forecast', { resource: 'energy', hours })
  const before = await ask(24)
  assert.equal(before.points.length, 24)
  const { room } = before.now
  // Nothing is out: what is left is the network's ratio, and two digits.
  for (const { least, most } of before.points)
    assert.ok(0.85 * room < least && least <= room && room <= most && most < 1.15 * room)
  const { address } = world.person('bob', 1)
  await anna.buyEnergy(address, 131_000)
  await world.settle()
  const after = await ask(24)
  assert.ok(after.now.room < room)
  assert.ok(after.points.at(-1)!.most >= room)
  assert.ok(after.points[0]!.least <= after.points[0]!.most)
  const digits = (units: number) => String(units).replace(/0+$/, '').length
  for (const { least, most } of after.points) assert.ok(digits(least) <= 2 && digits(most) <= 2)
  assert.equal((await ask(1)).points.length, 12)
  assert.equal(
    (await anna.call('/v1/pool-forecast', { resource: 'energy', hours: 25 })).key,
    'invalid_service_or_params.hours',
  )
})
