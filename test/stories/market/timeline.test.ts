// What became of a purchase, step by step, as the customer is told at each moment; and who asks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresReader } from 'penstock-service/health/monitoring/figures.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type Step = { what: string; at: string | null; expected: string | null; tx_id?: string }
type Timeline = {
  transaction: { id: string; status: string; hash?: string }
  sentence: string
  steps: Step[]
  entries: { at: string; kind: string; amount: number; balance: number; spendable: number }[]
  notices: { type: string }[]
  chain_ahead_seconds: number
}
type TransactionItem = {
  id: string
  delivered_at: string | null
  ended_at: string | null
  delivered_ms: number | null
}

const look = (customer: Customer, id: string) =>
  customer.get<Timeline>('/v1/transaction/timeline', { id })
const past = ({ steps }: Timeline) => steps.filter(({ at }) => at !== null).map(({ what }) => what)
const coming = ({ steps }: Timeline) =>
  steps.filter(({ at }) => at === null).map(({ what }) => what)

test('a purchase is told from its price to the end of its hour', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 100 })
  const { id } = await customer.buyEnergy(world.person('bob', 1).address, 65_000)
  const placed = await look(customer, id)
  assert.deepEqual(past(placed), ['accepted', 'held'])
  assert.match(placed.sentence, /waits/)
  await world.drain()
  const sent = await look(customer, id)
  assert.deepEqual(past(sent), ['accepted', 'held', 'planned', 'sent'])
  assert.deepEqual(coming(sent), ['included'])
  assert.match(sent.sentence, /was sent and waits for a block/)
  await world.settle()
  const delivered = await look(customer, id)
  const steps = ['accepted', 'held', 'planned', 'sent', 'included', 'charged']
  assert.deepEqual(past(delivered), steps)
  assert.deepEqual(coming(delivered), ['solid', 'over', 'ended'])
  const included = delivered.steps.find(({ what }) => what === 'included')!
  assert.equal(included.tx_id, delivered.transaction.hash)
  assert.deepEqual(
    delivered.entries.map(({ kind }) => kind),
    ['hold', 'capture'],
  )
  const [hold, capture] = delivered.entries
  assert.equal(hold!.balance, 100)
  assert.equal(hold!.spendable, capture!.spendable)
  assert.equal(capture!.balance, await customer.balance())
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  const ended = await look(customer, id)
  assert.deepEqual(coming(ended), [])
  assert.equal(past(ended).at(-1), 'ended')
  assert.match(ended.sentence, /all of it was taken back/)
  const { items } = await customer.get<{ items: TransactionItem[] }>('/v1/transactions/list')
  const step = (what: string) => ended.steps.find((one) => one.what === what)!.at!
  assert.equal(Date.parse(items[0]!.delivered_at!), Date.parse(step('included')))
  assert.equal(Date.parse(items[0]!.ended_at!), Date.parse(step('ended')))
})

/** Moves the times of blocks against those of our clock, as a pushed chain does. */
const push = (world: World, seconds: number) =>
  world.sql.begin(async (tx) => {
    const by = `${seconds} seconds`
    await tx`update attempt set block_time = block_time + ${by}::text::interval`
    await tx`
      update delegation set delegated_at = delegated_at + ${by}::text::interval,
        expires_at = expires_at + ${by}::text::interval where state = 'active'`
    await tx`update chain set head_time = head_time + ${by}::text::interval`
  })

test('steps stand in the order of cause, whatever the clock of the chain', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 100 })
  const { id } = await customer.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  const clock = { now: () => world.now }
  // With the chain's clock as it was in the end, it says when the block was made.
  for (const [seconds, ahead, block_ms] of [
    [-4, 0, 3_000],
    [7_204, 7_200, 3_000],
    [-7_200, 0, 2_000],
  ] as const) {
    await push(world, seconds)
    const told = await look(customer, id)
    const steps = ['accepted', 'held', 'planned', 'sent', 'included', 'charged']
    assert.deepEqual(past(told), steps, `${seconds}`)
    assert.deepEqual(coming(told), ['solid', 'over', 'ended'])
    assert.ok(Math.abs(told.chain_ahead_seconds - ahead) <= 4, `${told.chain_ahead_seconds}`)
    // Spans are those of one clock, neither negative nor cut off at 0.
    const { items } = await customer.get<{ items: TransactionItem[] }>('/v1/transactions/list')
    const [hold, capture] = told.entries
    const took_ms = Date.parse(capture!.at) - Date.parse(hold!.at)
    assert.equal(took_ms, 3_000)
    assert.equal(items[0]!.delivered_ms, took_ms)
    const { block_p50_ms } = await figuresReader({ sql: world.sql, clock })()
    assert.equal(block_p50_ms, block_ms)
  }
})

test('one that fails says so, and that the price was given back', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 100 })
  world.network.loses = (type) => type === 'DelegateResourceContract'
  const { id } = await customer.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  world.network.loses = () => false
  const failed = await look(customer, id)
  assert.equal(failed.transaction.status, 'failed')
  assert.match(failed.sentence, /given back/)
  assert.ok(past(failed).includes('dead') && past(failed).includes('refunded'))
  assert.deepEqual(coming(failed), [])
})

test('an order that failed was delivered at no time, though a part of it was', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000, 10_000] })
  const customer = await world.customer({ trx: 100 })
  const { address } = world.person('bob', 1)
  const listedNow = async () => {
    const { items } = await customer.get<{ items: TransactionItem[] }>('/v1/transactions/list')
    return items[0]!
  }
  // Two parts, of which only the first reaches the chain.
  let sent = 0
  world.network.loses = (type) => type === 'DelegateResourceContract' && ++sent > 1
  const { id } = await customer.buyEnergy(address, 130_000)
  await world.settle()
  assert.equal((await customer.check(id)).status, 'failed')
  assert.equal((await listedNow()).delivered_at ?? null, null)
  const parts = await world.sql`
    select from delegation where order_id = ${id} and delegated_at is not null`
  assert.equal(parts.length, 1)
})

test('an activation has its transaction, and who asks is told', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 100, daily_cap_sun: 50_000_000n })
  const { id } = await customer.buy({
    service: 'activate_address',
    params: { address: world.person('nina').address },
  })
  await world.drain()
  assert.match((await look(customer, id)).sentence, /activation of the address/)
  await world.settle()
  const active = await look(customer, id)
  assert.ok(past(active).includes('activated'))
  assert.equal(active.sentence, 'The address is active.')
  const who = await customer.get<{
    customer: { id: string }
    key: { scopes: string[]; daily_cap: number; spent_today: number }
    service: { network: string; time: string; public_url: string }
  }>('/v1/whoami')
  assert.equal(who.customer.id, customer.id)
  assert.deepEqual(who.key.scopes, ['read', 'buy', 'aml'])
  assert.equal(who.key.daily_cap, 50)
  assert.equal(
    Math.round(who.key.spent_today * 1e6),
    Math.round(1e8 - (await customer.balance()) * 1e6),
  )
  assert.equal(who.service.network, 'private')
})

test('settings are set one by one and taken back by nothing', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ scopes: ['read', 'money', 'webhooks'] })
  const change = (body: object) => customer.get<object>('/v1/settings/change', body)
  const nothing = { balance_low: null, ending_minutes: null, billing: [] }
  assert.deepEqual(await customer.get('/v1/settings'), nothing)
  await change({ balance_low: 12.5 })
  await change({ ending_minutes: 10 })
  const set = { balance_low: 12.5, ending_minutes: 10, billing: ['Anna Ltd'] }
  assert.deepEqual(await change({ billing: ['Anna Ltd'] }), set)
  assert.deepEqual(await customer.get('/v1/settings'), set)
  assert.deepEqual(await change({ balance_low: 0, ending_minutes: 0, billing: [] }), nothing)
})
