// A forecast from rows, at an hour after the delegations began: what comes back and when, and by
// what the band is wider.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  begun_at,
  type DelegationRow,
  HOUR_MS,
  insertDelegation,
  wallet,
} from 'penstock-test/harness/delegation_rows.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { poolForecast } from './forecast.ts'

/** Nobody stakes on this network, so its units for a stake stay. */
const STEADY = { drift_percent: () => 0 }

const at = (minutes: number) => new Date(begun_at.getTime() + minutes * 60_000)

/** 10,000 units of each resource, of one wallet. A TRX of stake is 100 units and the margin; what
 *  moves is rounded by 103. */
async function withPools(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`update pool set room = 10000, total_limit = 1010000, total_weight = 10000`
  await sql`
    insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
    select ${wallet}, resource, 10000000, 1000, 5, ${at(50)} from pool`
  await sql`
    insert into wallet_check (address, checked_at, complaints, stopped, stopped_here)
    values (${wallet}, ${at(0)}, '{}', false, false), ('another', ${at(0)}, '{}', true, false)`
  await sql`
    insert into block (number, id, parent_id, time, contents)
    values (4, 'b4', 'b3', ${at(0)}, '{}'), (5, 'b5', 'b4', ${at(60)}, '{}')`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (5, 'b5', ${at(60)}, 4, 4, ${at(60)})`
  return sql
}

async function forget(sql: Sql): Promise<void> {
  await sql`delete from delegation`
  await sql`delete from attempt`
  await sql`delete from orders`
}

test('each delegation comes back at its time, or at any when it may fail or has', async (t) => {
  const sql = await withPools(t)
  const [NOT, BACK] = [10_000n, 15_103n]
  const half_past = at(90)
  const active = { state: 'active', expires_at: half_past }
  type Case = [one: Omit<DelegationRow, 'id'>, after_25: bigint, after_30: bigint]
  const cases: Case[] = [
    [active, NOT, BACK],
    [{ ...active, expires_at: new Date(half_past.getTime() + 1) }, NOT, NOT],
    [{ state: 'active', expires_at: at(60) }, BACK, BACK],
    [{ state: 'active', expires_at: at(1) }, BACK, BACK],
    // It may be taken back by a fork, or fail.
    [{ ...active, delegated_at: new Date(at(0).getTime() + 1) }, BACK, BACK],
    // Its order may also get another part.
    [{ ...active, order: 'pending' }, BACK + 103n, BACK + 103n],
    [{ ...active, order: 'failed' }, NOT, BACK],
    [{ state: 'delegating', attempt: 'sent' }, BACK, BACK],
    [{ state: 'failed', attempt: 'dead' }, NOT, NOT],
    [{ state: 'reclaiming', reclaim: 'sent' }, BACK, BACK],
    [{ state: 'reclaiming', reclaim: 'included' }, BACK, BACK],
    // The survey may not have seen it.
    [{ state: 'ended', reclaim: 'included' }, BACK, BACK],
    [{ state: 'ended', reclaim: 'solid' }, NOT, NOT],
    [{ ...active, resource: 'bandwidth' }, NOT, NOT],
  ]
  for (const [one, after_25, after_30] of cases) {
    await insertDelegation(sql, { ...one, id: 'one', stake_sun: 50_000_000n })
    const points = await poolForecast(sql, { ...STEADY, resource: 'energy' })
    const freeAfter = (minutes: number) => points.find((it) => it.minutes === minutes)!.free
    const what = JSON.stringify(one)
    assert.deepEqual([freeAfter(25), freeAfter(30)], [after_25, after_30], what)
    await forget(sql)
  }
  await insertDelegation(sql, { ...active, id: 'one', stake_sun: 50_000_000n })
  const [last] = (await poolForecast(sql, { ...STEADY, resource: 'energy' })).slice(-1)
  // If it is used to the end, it recovers over a day from the block on that takes it back.
  assert.equal(last!.free_if_used, BigInt(Math.floor(10_000 + (5_000 * 28) / 1_440 - 103)))
  assert.equal(last!.at.getTime(), at(60).getTime() + HOUR_MS)
})

type Band = readonly [most: number, least: number]

/** Of both resources, after so many minutes. */
async function bandsAfter(sql: Sql, minutes: number): Promise<Record<string, Band>> {
  const points = (await poolForecast(sql, STEADY)).filter((one) => one.minutes === minutes)
  return Object.fromEntries(
    points.map((one) => [one.resource, [Number(one.free), Number(one.free_if_used)]]),
  )
}

const ALL: Band = [10_000, 10_000]

test('points are each 5 minutes of an hour, then each 15, of both resources or one', async (t) => {
  const sql = await withPools(t)
  const hour = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]
  const minutes = async (hours: number) =>
    (await poolForecast(sql, { hours, resource: 'energy' })).map((one) => one.minutes)
  assert.deepEqual(await minutes(1), hour)
  assert.deepEqual(await minutes(2), [...hour, 75, 90, 105, 120])
  assert.equal((await minutes(24)).at(-1), 1_440)
  const both = await poolForecast(sql)
  assert.deepEqual(
    both.map((one) => one.resource),
    ['energy', 'bandwidth'].flatMap((resource) => hour.map(() => resource)),
  )
  const one = await poolForecast(sql, { resource: 'bandwidth' })
  assert.deepEqual(one, both.slice(hour.length))
  await sql`delete from chain`
  assert.deepEqual(await poolForecast(sql), [], 'no head is known')
})

test('what is free now is sure, and units for a stake may drift by 1 % and more', async (t) => {
  const sql = await withPools(t)
  await sql`update pool set reserved = 500`
  const points = await poolForecast(sql, { hours: 7, resource: 'energy' })
  const bandAfter = (minutes: number) => {
    const { free, free_if_used } = points.find((one) => one.minutes === minutes)!
    return [Number(free), Number(free_if_used)]
  }
  assert.deepEqual(bandAfter(0), [9_500, 9_500])
  assert.deepEqual(bandAfter(45), [10_113, 9_387])
  assert.deepEqual(bandAfter(360), [10_200, 9_300])
  // Less than nothing is said of nothing but what is free now.
  await sql`update pool set room = 300, reserved = 500`
  const [now, then] = await poolForecast(sql, { resource: 'energy' })
  assert.deepEqual([now!.free, now!.free_if_used, then!.free_if_used], [-200n, -200n, -200n])
})

test('each resource of an order that is open may be delivered or given back', async (t) => {
  const sql = await withPools(t)
  type Order = [service: string, state: string, open: number]
  const orders: Order[] = [
    ['energy', 'new', 1],
    ['energy', 'pending', 1],
    ['bandwidth', 'pending', 1],
    ['resource_bundle', 'pending', 2],
    ['activate_address', 'pending', 0],
    ['energy', 'success', 0],
    ['energy', 'failed', 0],
  ]
  for (const [service, state, open] of orders) {
    const has = (resource: string) => Number([resource, 'resource_bundle'].includes(service))
    await sql`
      insert into orders (id, customer_id, service, address, energy, bandwidth, activate, state,
        to_delegate, amount_sun, tx_id, due_at, created_at)
      values ('one', 'anna', ${service}, 'bob', ${has('energy')}, ${has('bandwidth')}, false,
        ${state}, false, 0, ${state === 'success' ? 'tx' : null}, now(), now())`
    const slack = 103 * open
    assert.deepEqual(
      await bandsAfter(sql, 60),
      // Delegating and taking back are two transactions, each of 350 units.
      {
        energy: [10_000 + slack, 10_000 - slack],
        bandwidth: [10_000 + slack, 10_000 - slack - 700 * open],
      },
      `${service} ${state}`,
    )
    await forget(sql)
  }
})

test('what is reserved is delivered in one more part, while an order is open', async (t) => {
  const sql = await withPools(t)
  await sql`update pool set reserved = 500 where resource = 'energy'`
  assert.deepEqual(await bandsAfter(sql, 60), { energy: [10_000, 9_500], bandwidth: ALL })
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, to_delegate,
      amount_sun, due_at, created_at)
    values ('one', 'anna', 'energy', 'bob', 1, false, true, 0, now(), now())`
  const both = { energy: [10_206, 9_294], bandwidth: [10_206, 8_394] }
  assert.deepEqual(await bandsAfter(sql, 60), both)
  // Of what was never looked at nothing is known, and the other is told all the same.
  await sql`
    update pool set room = 0, reserved = 5, total_weight = 0 where resource = 'bandwidth'`
  const { energy } = await bandsAfter(sql, 60)
  assert.deepEqual(energy, both.energy)
})

test('use recovers as time goes by, since the wallet was looked at', async (t) => {
  const sql = await withPools(t)
  const useOf = (units: number) => sql`
    update pool_wallet set recovering = ${units}, recovers_seconds = 7200
    where resource = 'energy'`
  await useOf(1_440)
  // It was looked at ten minutes ago.
  const after = async (minutes: number) => (await bandsAfter(sql, minutes)).energy
  assert.deepEqual(await after(50), [10_000 + 720 + 103, 9_897])
  assert.deepEqual(await after(5), [10_000 + 180 + 103, 9_897])
  assert.deepEqual((await bandsAfter(sql, 50)).bandwidth, ALL)
  await useOf(1)
  assert.deepEqual(await after(50), [10_104, 9_897])
  await sql`update pool_wallet set recovering = 1440, recovers_seconds = 60`
  assert.deepEqual(await after(50), [10_000 + 1_440 + 103, 9_897], 'all of it, and not more')
})

const UNSURE: Band = [11_000, 9_000]

test('a wallet that can hardly pay, or is stopped, may leave the room or come back', async (t) => {
  const sql = await withPools(t)
  const carrying = async (carries: number) => {
    await sql`update pool_wallet set carries = ${carries}`
    return (await bandsAfter(sql, 60)).energy
  }
  assert.deepEqual([await carrying(20), await carrying(19)], [ALL, UNSURE])
  // What is sold of bandwidth does not pay, with its margin: one transaction, and another begun.
  await sql`update pool set reserved = 350 where resource = 'bandwidth'`
  assert.deepEqual([await carrying(22), await carrying(21)], [ALL, UNSURE])
  await sql`update pool set reserved = 0`
  // Of what is not solid each may take two; what is solid and due takes none more.
  const unsettled = { id: 'one', state: 'delegating', attempt: 'sent' }
  for (const [resource, fewest] of [
    ['energy', 22],
    ['bandwidth', 23],
  ] as const) {
    await insertDelegation(sql, { ...unsettled, resource })
    const more = resource === 'energy' ? 203 : 0
    const less = resource === 'energy' ? 103 : 0
    assert.deepEqual(await carrying(fewest), [10_000 + more, 10_000 - less], resource)
    assert.deepEqual(await carrying(fewest - 1), [11_000 + more, 9_000 - less], resource)
    await forget(sql)
  }
  await insertDelegation(sql, { id: 'one', state: 'active' })
  assert.deepEqual(await carrying(20), [10_203, 9_901])
  await forget(sql)
  await carrying(1_000)
  await sql`update wallet_check set stopped = not stopped`
  assert.deepEqual((await bandsAfter(sql, 60)).energy, UNSURE)
})

test('what comes back recovers for a wallet that surely takes it back, and no other', async (t) => {
  const sql = await withPools(t)
  const due = { id: 'one', state: 'active', expires_at: at(90), stake_sun: 50_000_000n }
  const least = async (minutes: number) => (await bandsAfter(sql, minutes)).energy![1]
  await insertDelegation(sql, due)
  const recovered = Math.floor(10_000 - 103 + (5_000 * 28) / 1_440)
  assert.deepEqual([await least(30), await least(60)], [9_897, recovered])
  await sql`update wallet_check set stopped = true`
  assert.deepEqual(await least(60), 9_897 - 1_000)
  await forget(sql)
  await sql`update wallet_check set stopped = false`
  await insertDelegation(sql, { ...due, of_wallet: 'not configured' })
  assert.deepEqual(await least(60), 9_897)
})

test('taking back uses up bandwidth once it is due, and twice that may be to come', async (t) => {
  const sql = await withPools(t)
  const least = async (minutes: number) => (await bandsAfter(sql, minutes)).bandwidth![1]
  await insertDelegation(sql, { id: 'due', state: 'active', expires_at: at(90) })
  assert.deepEqual([await least(25), await least(30)], [10_000, 9_650])
  await insertDelegation(sql, { id: 'asked for', state: 'delegating', attempt: 'sent' })
  assert.deepEqual([await least(25), await least(30)], [9_300, 8_950])
})
