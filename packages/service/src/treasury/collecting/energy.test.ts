// The energy that is ordered for transfers of tokens: how much, until when, and what is given up.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Node } from '../../chain/node/node.ts'
import type { Prices } from '../../market/prices/prices.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { insertCollection, type NewTransfer } from './collections.ts'
import { energizeStep, energyChoice, type Needs } from './energy.ts'

const at = (ms: number) => new Date(Date.parse('2026-11-01T00:00:00Z') + ms)
const tier = { duration_hours: 1, price_sun: 100n }
const PRICES: Prices = {
  tiers: [
    { ...tier, resource: 'bandwidth', min_amount: 1, max_amount: 9_999 },
    { ...tier, resource: 'energy', min_amount: 300, max_amount: 900 },
    { ...tier, resource: 'energy', min_amount: 901, max_amount: 5_000 },
  ],
  activation_sun: 0n,
  on_sale: new Set(['energy']),
}

type Purchase = Parameters<Needs['tryOrder']>[0]

/** A house with transfers of tokens, whose addresses have so much energy left. */
async function house(t: TestContext, lefts: readonly number[] = [0]) {
  const { sql } = await freshDatabase(t)
  const address = (i: number) => person(`payer ${i}`).address
  await sql`
    insert into customer (id, name, created_at, deposit_index, deposit_address)
    values ('house', 'house', now(), 1, ${person('house').address})`
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, to_delegate,
      amount_sun, due_at, created_at)
    values ('order', 'house', 'energy', 'bob', 5, false, true, 0, now(), now())`
  const transfers = lefts.map(
    (_, i): NewTransfer => ({
      tx_id: `t${i}`,
      from: address(i),
      to: person('safe').address,
      token: USDT,
      amount: 5n,
      fee_limit_sun: 0n,
      expires_at: at(10_000_000),
      raw: Buffer.from(`${i}`),
      index: i,
      energy: 1_000,
    }),
  )
  await sql.begin((tx) => {
    const times = { expires_at: at(10_000_000), made_at: at(0) }
    const collection = { id: 'c', receiver: person('safe').address, digest: 'd', made_by: 'a' }
    return insertCollection(tx, { ...collection, ...times }, transfers)
  })
  const world = { now: at(0), asked: [] as Purchase[], fails: false }
  const left = new Map(lefts.map((one, i) => [address(i), BigInt(one)]))
  const node = {
    resource: async (owner: ReturnType<typeof address>) => ({ left: left.get(owner) }),
    parameters: async () => new Map([['getEnergyFee', 7n]]),
  } as unknown as Node
  const step = energizeStep({
    sql,
    node,
    clock: { now: () => world.now },
    prices: async () => PRICES,
    tryOrder: async (asked) => {
      world.asked.push(asked)
      if (asked.refusal !== undefined) return asked.refusal
      if (world.fails) return ServiceUnavailable(undefined, 'it is away')
      return { order: { id: 'order' } } as Awaited<ReturnType<Needs['tryOrder']>>
    },
  } as Needs)
  return { sql, world, node, step }
}

/** Asks for the energy of some, as of the beginning. */
const ask = (sql: Sql, tx_ids: readonly string[], due_ms = 0) => sql`
  update collection_transfer set energy_by = 'house', energy_at = ${at(0)},
    energy_due_at = ${at(due_ms)} where tx_id = any(${tx_ids})`

const rowsOf = async (sql: Sql) => {
  const rows = await sql<Record<string, unknown>>`
    select tx_id, energy_by, energy_amount as amount, energy_order, energy_said
    from collection_transfer order by tx_id`
  return rows.map((one) => Object.values(one).map(String).join(' '))
}

test('what an address lacks is ordered, at least the least that is sold', async (t) => {
  const { sql, world, step } = await house(t, [0, 700, 701, 999, 1_000])
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
  await ask(sql, ['t0', 't1', 't2', 't3', 't4'])
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.deepEqual(
    world.asked.map(({ energy }) => energy),
    [1_000, 300, 300, 300],
  )
  assert.deepEqual(await rowsOf(sql), [
    't0 house 1000 order null',
    't1 house 300 order null',
    't2 house 300 order null',
    't3 house 300 order null',
    't4 null null null the address has enough',
  ])
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
})

test('energy is ordered when it is due, of a transfer that may still be sent', async (t) => {
  const { sql, world, step } = await house(t, [0, 0, 0])
  await ask(sql, ['t0', 't1'], 5)
  await sql`
    update collection_transfer set state = 'dead', ended_at = ${at(0)} where tx_id = 't1'`
  world.now = at(4)
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
  world.now = at(5)
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  assert.equal(world.asked.length, 1)
})

test('an order that cannot be placed is tried for ten minutes, and then given up', async (t) => {
  const { sql, world, step } = await house(t)
  await ask(sql, ['t0'])
  world.fails = true
  assert.equal(await step.run(), false)
  assert.match((await rowsOf(sql))[0]!, /^t0 house 1000 null .*it is away/)
  world.now = at(9_999)
  await step.run()
  assert.equal(world.asked.length, 1)
  world.now = at(10_000)
  assert.equal(await step.run(), false)
  assert.equal(world.asked.length, 2)
  await sql`update collection_transfer set energy_due_at = ${at(0)}`
  world.now = at(600_000)
  assert.equal(await step.run(), false)
  await sql`update collection_transfer set energy_due_at = ${at(0)}`
  world.now = at(600_001)
  assert.equal(await step.run(), true)
  assert.match((await rowsOf(sql))[0]!, /^t0 null 1000 null .*it is away/)
})

test('no energy is bought in the last two minutes of a file, nor by who may not buy', async (t) => {
  const { sql, world, step } = await house(t, [0, 0])
  await ask(sql, ['t0'])
  world.now = at(10_000_000 - 120_000)
  assert.equal(await step.run(), true)
  assert.equal(world.asked[0]!.refusal, undefined)
  await ask(sql, ['t1'])
  world.now = at(10_000_000 - 119_999)
  assert.equal(await step.run(), true)
  assert.match((await rowsOf(sql))[1]!, /^t1 null 1000 null .*the file expires within minutes/)
  await sql`update customer set state = 'suspended'`
  await ask(sql, ['t1'])
  world.now = at(0)
  assert.equal(await step.run(), true)
  assert.match((await rowsOf(sql))[1]!, /^t1 null 1000 null .*the customer is not active/)
})

test('what either way of paying costs is of the transfers that still lack energy', async (t) => {
  const { sql, node } = await house(t, [1_000, 999, 0, 0])
  await sql`
    update collection_transfer set state = 'dead', ended_at = ${at(0)} where tx_id = 't3'`
  const choice = (prices = PRICES) => energyChoice(sql, node, { collection_id: 'c', prices })
  const found = await choice()
  assert.deepEqual([found.transfers, found.energy, found.burning_sun], [2, 1_001n, 7_007n])
  assert.ok(found.buying_sun !== null && found.buying_sun > 0n)
  const without = { ...PRICES, tiers: PRICES.tiers.slice(0, 2) }
  assert.equal((await choice(without)).buying_sun, null)
  const none = await energyChoice(sql, node, { collection_id: 'other', prices: PRICES })
  assert.deepEqual([none.transfers, none.buying_sun], [0, 0n])
})
