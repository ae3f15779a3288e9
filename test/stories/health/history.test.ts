// The figures of past hours and days, and the earnings: the same as the ledger says, whatever of it
// is summarised already.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { houseSummaries } from 'penstock-service/ledger/statements/summaries.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Past = { at: string; orders: number; succeeded: number; spent_sun: number; energy: number }
type ServiceDay = { day: string; service: string; charges: number; earned_sun: number }

/** Two customers buy in each of some hours. */
async function trade(world: World, hours: number) {
  const customers = [
    await world.customer({ trx: 1_000, name: 'anna' }),
    await world.customer({ trx: 1_000, name: 'bea' }),
  ]
  const { address } = world.person('bob', 1)
  for (let hour = 0; hour < hours; hour++) {
    for (const customer of customers) await customer.buyEnergy(address, 65_000)
    await world.settle()
    if (hour < hours - 1) await world.advance(3_600)
  }
}

async function revenueOf(world: World): Promise<number> {
  const [row] = await world.sql<{ sun: bigint }>`
    select sum(amount_sun)::bigint as sun from transfer
    where credit = 'revenue' and kind in ('capture', 'move')`
  return Number(row!.sun)
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0)

test('past hours and days add up to what the ledger says, summarised or not', async (t) => {
  const world = await makeWorld(t)
  await trade(world, 5)
  const operator = await worldOperator(world)
  const [kept] = await world.sql<{ n: number }>`select count(*)::integer as n from summary`
  assert.ok(kept!.n > 0, 'some of it is summarised')
  const revenue = await revenueOf(world)
  assert.ok(revenue > 0)
  for (const words of [
    ['figures', 'history', '--last', '30'],
    ['figures', 'history', '--last', '3', '--days'],
  ]) {
    const past = await operator.json<Past[]>(...words)
    assert.equal(sumOf(past.map(({ spent_sun }) => spent_sun)), revenue, words.join(' '))
    assert.equal(sumOf(past.map(({ orders }) => orders)), 10)
    assert.equal(sumOf(past.map(({ succeeded }) => succeeded)), 10)
    assert.equal(sumOf(past.map(({ energy }) => energy)), 650_000)
  }
  // The same from the entries alone.
  const wanted = { bucket: 'hour', since: new Date(0), until: world.now } as const
  const before = await houseSummaries(world.sql, wanted)
  await world.sql`truncate summary, summary_progress`
  assert.deepEqual(await houseSummaries(world.sql, wanted), before)
})

test('the activity of customers is theirs, of the hours that are summarised', async (t) => {
  const world = await makeWorld(t)
  await trade(world, 3)
  await world.advance(3_600 + 600)
  await world.settle()
  await world.sql`update api_key set last_used_at = ${world.now}`
  const operator = await worldOperator(world)
  type Row = { orders: number; failed: number; spent_sun: number; last_seen_at: string | null }
  const rows = await operator.json<Row[]>('customers', 'activity')
  const bought = rows.filter(({ orders }) => orders > 0)
  assert.deepEqual(
    bought.map(({ orders, failed }) => [orders, failed]),
    [
      [3, 0],
      [3, 0],
    ],
  )
  assert.equal(sumOf(bought.map(({ spent_sun }) => spent_sun)), await revenueOf(world))
  assert.ok(bought.every(({ last_seen_at }) => last_seen_at !== null))
  const [one] = await world.sql<{ id: string }>`
    select customer_id as id from orders order by id limit 1`
  const alone = await operator.json<Row[]>('customers', 'activity', '--customer', one!.id)
  assert.deepEqual(alone, [rows.find((row) => 'customer_id' in row && row.customer_id === one!.id)])
})

test('earnings are charges less what was given back, by day and service', async (t) => {
  const world = await makeWorld(t)
  await trade(world, 2)
  const operator = await worldOperator(world)
  const earnings = await operator.json<ServiceDay[]>('earnings', 'list')
  assert.equal(sumOf(earnings.map(({ earned_sun }) => earned_sun)), await revenueOf(world))
  assert.deepEqual([...new Set(earnings.map(({ service }) => service))], ['energy'])
  assert.equal(sumOf(earnings.map(({ charges }) => charges)), 4)
  const [account] = await world.sql<{ debit: string }>`
    select debit from transfer where credit = 'revenue' limit 1`
  await world.sql`
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values ('correction:back', 'move', 'revenue', ${account!.debit}, 1000000, ${world.now})`
  const after = await operator.json<ServiceDay[]>('earnings', 'list')
  const back = after.find(({ service }) => service === 'correction')
  assert.deepEqual([back?.charges, back?.earned_sun], [0, -1_000_000])
})

test('what burning costs is what the node says', async (t) => {
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const words = ['prices', 'burning', '--node-url', 'https://node.example']
  const { energy_sun, bandwidth_sun } = await operator.json<Record<string, number>>(...words)
  const answer = await world.api.inject({ method: 'GET', url: '/status.json' })
  const { burning } = answer.json<{ burning: number }>()
  assert.equal(energy_sun, Math.round(burning * 1e6))
  assert.equal(bandwidth_sun, 1_000_000)
})
