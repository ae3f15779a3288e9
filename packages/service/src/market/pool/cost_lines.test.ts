// Costs of rows that are made by hand: what is counted in which line, to the sun, at the edges of
// the time that is asked for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { REVENUE } from '../../ledger/accounts/ledger.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { readCosts, unitCostOf } from './costs.ts'

const now = new Date('2026-10-08T12:00:00Z')
const DAY_MS = 86_400_000
const since = new Date(now.getTime() - DAY_MS)
const before = new Date(since.getTime() - 1)

type NewAttempt = {
  subject: string
  state?: string
  fee_sun?: number | null
  /** As the first of its instant, it is one alone. */
  at?: Date
}

async function send(sql: Sql, { subject, state = 'included', fee_sun = null, at }: NewAttempt) {
  const in_block = ['included', 'solid'].includes(state)
  const id = at ? firstIdAt(at) : `${firstIdAt(now).slice(0, 10)}${subject}`
  await sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at,
      block_number, block_time, fee_sun, bandwidth, energy)
    values (${id}, ${subject}, '{}', ${state}, ${subject}, '', now(), now(), now(),
      ${in_block ? 1 : null}, ${in_block ? now : null}, ${fee_sun},
      ${fee_sun === null ? null : 1}, ${fee_sun === null ? null : 0})`
}

type Sold = { service?: string; customer?: string; amount_sun?: number; fee_sun?: number }

async function sell(sql: Sql, id: string, sold: Sold = {}): Promise<void> {
  const { service = 'energy', customer = 'anna', amount_sun = 0, fee_sun = 0 } = sold
  const energy = ['energy', 'resource_bundle'].includes(service) ? 1 : 0
  const bandwidth = ['bandwidth', 'resource_bundle'].includes(service) ? 1 : 0
  await sql`
    insert into orders (id, customer_id, service, address, energy, bandwidth, activate, state,
      to_delegate, amount_sun, fee_sun, tx_id, due_at, created_at)
    values (${id}, ${customer}, ${service}, 'bob', ${energy}, ${bandwidth}, false, 'success', false,
      ${amount_sun}, ${fee_sun}, 'tx', now(), now())`
}

/** A delegation of an order, whose transactions are sent apart. */
async function give(sql: Sql, id: string, order: string, amount: number, resource = 'energy') {
  await sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    values (${`0 ${id}`}, ${`0 ${id}`}, '{}', 'infinity', now())`
  await sql`
    insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun, state,
      attempt_id)
    values (${id}, ${order}, 'wallet', 'bob', ${resource}, ${amount}, 1000000, 'failed',
      ${`0 ${id}`})`
}

type Entry = { kind: string; sun: number; hold?: string; at?: Date; debit?: string }

async function enter(sql: Sql, id: string, entry: Entry): Promise<void> {
  const { kind, sun, hold = null, at = now, debit = 'customer:anna' } = entry
  const credit = debit === REVENUE ? 'customer:anna' : REVENUE
  await sql`
    insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
    values (${id}, ${kind}, ${hold}, ${debit}, ${credit}, ${sun}, ${at})`
}

/** An order that was held long ago, and is charged now. */
async function charge(sql: Sql, id: string, sun: number, at: Date = now): Promise<void> {
  await enter(sql, `order:${id}`, { kind: 'hold', sun, at: before })
  await enter(sql, `captured ${id}`, { kind: 'capture', sun, hold: `order:${id}`, at })
}

const linesOf = async (sql: Sql) => (await readCosts(sql, now, 24)).lines

test('burned for units is what is known of transactions in blocks, each leg apart', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const [i, amount] of [2_000, 3_000, 5_000, 4_000, 600, 700, 9_000, 8_000].entries()) {
    await sell(sql, `o${i}`)
    await give(sql, `d${i}`, `o${i}`, amount)
  }
  await send(sql, { subject: 'delegate:d0', fee_sun: 100, at: since })
  await send(sql, { subject: 'delegate:d1', fee_sun: 0, state: 'solid' })
  await send(sql, { subject: 'delegate:d2' })
  await send(sql, { subject: 'delegate:d3', fee_sun: 999, at: before })
  await send(sql, { subject: 'reclaim:d3', fee_sun: 46 })
  await send(sql, { subject: 'reclaim:d4', fee_sun: 0, state: 'solid' })
  await send(sql, { subject: 'reclaim:d5' })
  await send(sql, { subject: 'delegate:d6', state: 'sent' })
  await send(sql, { subject: 'delegate:d7', state: 'dead' })
  const [line, ...others] = await linesOf(sql)
  assert.deepEqual(others, [])
  assert.deepEqual(line, {
    kind: 'energy',
    orders: 3n,
    units: 10_000n,
    transactions: 6n,
    unknown: 2n,
    burned_sun: 146n,
    bandwidth: 4n,
    revenue_sun: 0n,
    // Of two orders 100, and of two 46.
    order_burned_sun: 73n,
    revenue_1000_sun: 0n,
    // Of 5,000 units 100, and of 4,600 units 46.
    per_1000: { burned_sun: 30n, capital_sun: 0n, votes_sun: 0n, cost_sun: 30n },
  })
})

test('a transaction is of the kind of its order, or of its purpose', async (t) => {
  const { sql } = await freshDatabase(t)
  await sell(sql, 'energy')
  await give(sql, 'energy', 'energy', 1)
  await sell(sql, 'bandwidth', { service: 'bandwidth' })
  await give(sql, 'bandwidth', 'bandwidth', 1, 'bandwidth')
  await sell(sql, 'bundle', { service: 'resource_bundle' })
  await give(sql, 'bundle', 'bundle', 1)
  await give(sql, 'bundle too', 'bundle', 2, 'bandwidth')
  await sell(sql, 'topup', { customer: 'subscriptions' })
  await give(sql, 'topup', 'topup', 1)
  const subjects = ['energy', 'bandwidth', 'bundle', 'bundle too', 'topup'].flatMap((id) => [
    `delegate:${id}`,
    `reclaim:${id}`,
  ])
  // Named like a delegation, and of none.
  subjects.push('activate:energy', 'vote:energy', 'claim:energy', 'refund:energy', 'else:energy')
  for (const [i, subject] of subjects.entries()) await send(sql, { subject, fee_sun: 2 ** i })
  const lines = await linesOf(sql)
  assert.deepEqual(
    lines.map(({ kind, orders, units, burned_sun }) => [kind, orders, units, burned_sun]),
    [
      ['energy', 1n, 1n, 3n],
      ['bandwidth', 1n, 1n, 12n],
      ['bundle', 1n, 3n, 240n],
      ['subscription', 1n, 1n, 768n],
      ['activation', 0n, 0n, 1_024n],
      ['votes', 0n, 0n, 6_144n],
      ['refund', 0n, 0n, 8_192n],
      ['other', 0n, 0n, 16_384n],
    ],
  )
  assert.deepEqual(
    lines.map(({ kind, order_burned_sun, per_1000 }) => [
      kind,
      order_burned_sun,
      per_1000?.burned_sun,
    ]),
    [
      ['energy', 3n, 3_000n],
      ['bandwidth', 12n, 12_000n],
      ['bundle', 240n, undefined],
      ['subscription', 768n, 768_000n],
      ...['activation', 'votes', 'refund', 'other'].map((kind) => [kind, null, undefined]),
    ],
  )
  const costs = async (resource: 'energy' | 'bandwidth') =>
    (await unitCostOf(sql, resource, { now, hours: 24 })).burned_sun
  // Energy is sold to subscriptions, too.
  assert.equal(await costs('energy'), BigInt(500 * (1 + 256) + 500 * (2 + 512)))
  assert.equal(await costs('bandwidth'), 12_000n)
})

test('revenue is what was charged since, of the kind of what it was charged for', async (t) => {
  const { sql } = await freshDatabase(t)
  await sell(sql, 'first', { amount_sun: 50 })
  await charge(sql, 'first', 50, since)
  await sell(sql, 'earlier', { amount_sun: 70 })
  await charge(sql, 'earlier', 70, before)
  await sell(sql, 'held', { amount_sun: 1_000 })
  await enter(sql, 'order:held', { kind: 'hold', sun: 1_000 })
  await sell(sql, 'activated', { amount_sun: 301, fee_sun: 1 })
  await charge(sql, 'activated', 301)
  await sell(sql, 'bandwidth', { service: 'bandwidth', amount_sun: 1 })
  await charge(sql, 'bandwidth', 1)
  await sell(sql, 'bundle', { service: 'resource_bundle', amount_sun: 60 })
  await charge(sql, 'bundle', 60)
  await sell(sql, 'activation', { service: 'activate_address', amount_sun: 90, fee_sun: 90 })
  await charge(sql, 'activation', 90)
  await sell(sql, 'topup', { customer: 'subscriptions', amount_sun: 20 })
  await charge(sql, 'topup', 20)
  await enter(sql, 'subscription:one', { kind: 'move', sun: 400 })
  await enter(sql, 'subscription:two', { kind: 'move', sun: 5, debit: REVENUE, at: since })
  await enter(sql, 'subscription:three', { kind: 'move', sun: 7, debit: REVENUE, at: before })
  await enter(sql, 'subscription:four', { kind: 'hold', sun: 9, debit: REVENUE })
  await enter(sql, 'other:first', { kind: 'move', sun: 11 })
  const brought = async () =>
    (await linesOf(sql)).map(({ kind, revenue_sun }) => [kind, revenue_sun])
  const expected = [
    ['energy', 350n],
    ['bandwidth', 1n],
    ['bundle', 60n],
    ['subscription', 415n],
    ['activation', 91n],
  ]
  assert.deepEqual(await brought(), expected)
  const { day } = await readCosts(sql, now, 24)
  assert.deepEqual([day.revenue_sun, day.left_sun], [917n, 917n])
  await enter(sql, 'subscription:all', { kind: 'move', sun: 415, debit: REVENUE })
  const without = expected.filter(([kind]) => kind !== 'subscription')
  assert.deepEqual(await brought(), without, 'what was charged and given back is no line')
})

async function stake(sql: Sql, address: string, staked_sun: number, votes: number) {
  await sql`
    insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time,
      staked_sun, votes)
    values (${address}, 'energy', 0, 0, 1, now(), ${staked_sun}, ${votes})`
}

async function vote(sql: Sql, state: string, ended_at: Date | null): Promise<void> {
  await send(sql, { subject: `vote:${state}`, fee_sun: 0 })
  await sql`
    insert into vote (id, wallet, votes, power, period_ends_at, state, attempt_id, made_at,
      ended_at)
    select ${state}, 'w', '[]', 1, now(), ${state}, id, now(), ${ended_at} from attempt
    where subject = ${`vote:${state}`}`
}

async function claim(sql: Sql, id: string, state: string, ended_at: Date | null): Promise<void> {
  await send(sql, { subject: `claim:${id}`, fee_sun: 0 })
  await sql`
    insert into reward_claim (id, wallet, expected_sun, state, attempt_id, reward_sun, made_at,
      ended_at)
    select ${id}, 'w', 1, ${state}, id, ${state === 'claimed' ? 600 : null}, now(), ${ended_at}
    from attempt where subject = ${`claim:${id}`}`
}

test('votes earn by the day since they were first cast, of thirty days at most', async (t) => {
  const { sql } = await freshDatabase(t)
  const ago = (days: number, ms = 0) => new Date(now.getTime() - days * DAY_MS - ms)
  const earned = async () => (await readCosts(sql, now, 24)).votes
  assert.deepEqual(await earned(), {
    power: 0n,
    cast: 0n,
    earned_day_sun: 0n,
    forgone_day_sun: null,
  })
  await claim(sql, 'last', 'claimed', ago(30))
  await claim(sql, 'earlier', 'claimed', ago(30, 1))
  await claim(sql, 'failed', 'failed', ago(1))
  await claim(sql, 'under way', 'claiming', null)
  assert.equal((await earned()).earned_day_sun, 600n, 'as of one day, when none was cast')
  await vote(sql, 'failed', ago(20))
  await vote(sql, 'casting', null)
  assert.equal((await earned()).earned_day_sun, 600n)
  await vote(sql, 'cast', now)
  for (const [days, ms, each_sun] of [
    [-1, 0, 600n],
    [0, 0, 600n],
    [0, 1, 600n],
    [1, 0, 600n],
    [1, 1, 300n],
    [2, 0, 300n],
    [29, 1, 20n],
    [30, 1, 20n],
    [60, 0, 20n],
  ] as const) {
    await sql`update vote set ended_at = ${ago(days, ms)} where state = 'cast'`
    assert.equal((await earned()).earned_day_sun, each_sun, `${days} days and ${ms} ms`)
  }
  assert.equal((await earned()).forgone_day_sun, null, 'no vote is cast')
})

test('what idle votes forgo is as much as those earn that are cast', async (t) => {
  const { sql } = await freshDatabase(t)
  await stake(sql, 'one', 2_999_999, 1)
  await stake(sql, 'two', 1_999_999, 0)
  await sql`
    insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time,
      staked_sun, votes)
    values ('two', 'bandwidth', 0, 0, 1, now(), 1, 0)`
  const votes = async () => {
    const { power, cast, forgone_day_sun } = (await readCosts(sql, now, 24)).votes
    return [power, cast, forgone_day_sun]
  }
  assert.deepEqual(await votes(), [4n, 1n, null])
  await vote(sql, 'cast', now)
  await claim(sql, 'one', 'claimed', now)
  await sql`update reward_claim set reward_sun = 1`
  assert.deepEqual(await votes(), [4n, 1n, 3n])
  await sql`update pool_wallet set votes = 5`
  assert.deepEqual(await votes(), [4n, 10n, 0n], 'more than the stake has power for')
})

test('capital is the interest on the stake of 1000 units, rounded up', async (t) => {
  const { sql } = await freshDatabase(t)
  await sell(sql, 'one')
  await give(sql, 'one', 'one', 1)
  await send(sql, { subject: 'delegate:one', fee_sun: 1 })
  const [energy] = await linesOf(sql)
  const free = { burned_sun: 1_000n, capital_sun: 0n, votes_sun: 0n, cost_sun: 1_000n }
  assert.deepEqual(energy!.per_1000, free, 'the network gives nothing for a stake')
  await sql`update pool set total_limit = 1, total_weight = 2 where resource = 'energy'`
  await sql`insert into capital (hundredths, set_at, set_by) values (3650, now(), 'olga')`
  // 2,000 TRX, of which a thousandth is the interest of a day.
  const of = async () => (await linesOf(sql))[0]!.per_1000
  assert.deepEqual(await of(), { ...free, capital_sun: 2_000_000n, cost_sun: 2_001_000n })
  await sql`update capital set hundredths = 1`
  assert.deepEqual(await of(), { ...free, capital_sun: 548n, cost_sun: 1_548n }, '547.9…')
  await stake(sql, 'one', 1, 1)
  await vote(sql, 'cast', now)
  await claim(sql, 'one', 'claimed', now)
  const earned = { ...free, capital_sun: 548n, votes_sun: 1_200_000_000_000n }
  assert.deepEqual(await of(), earned, 'votes that earn more than capital costs make it free')
})
