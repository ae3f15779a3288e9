// What customers are told although nothing of theirs was changed: that little money is left, that a
// key ends, that its cap is reached.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from 'penstock-service/platform/wire/endpoint.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type Event = { type: string; subject: string; data: Record<string, unknown> }

const SCOPES: Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']

/** What the customer was told of these types, oldest first. */
async function told(world: World, customer: Customer, types: readonly string[]): Promise<Event[]> {
  await world.drain()
  const wanted = { after: 0, types, limit: 100 }
  return (await customer.get<{ items: Event[] }>('/v1/events/list', wanted)).items
}

test('a low balance is told once, and again after it was a tenth above the limit', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10, scopes: SCOPES })
  const bob = world.person('bob', 1)
  const lows = async () => {
    world.mine()
    await world.settle()
    return (await told(world, anna, ['balance.low'])).map(({ data }) => data)
  }
  await anna.get('/v1/settings/change', { balance_low: 8 })
  assert.deepEqual(await lows(), [])
  await anna.buyEnergy(bob.address, 65_000)
  assert.deepEqual(await lows(), [{ balance: 7.07, limit: 8 }])
  await anna.buyEnergy(bob.address, 65_000)
  assert.deepEqual((await lows()).length, 1, 'it is still low')
  world.pay(anna.deposit_address, 4_600_000n)
  await world.solidify()
  assert.equal(await anna.balance(), 8.74)
  await anna.buyEnergy(bob.address, 65_000)
  assert.deepEqual((await lows()).length, 1, 'it was above the limit, and not by a tenth')
  world.pay(anna.deposit_address, 3_000_000n)
  await world.solidify()
  assert.equal(await anna.balance(), 8.81)
  assert.deepEqual((await lows()).length, 1)
  await anna.buyEnergy(bob.address, 65_000)
  assert.deepEqual((await lows()).slice(1), [{ balance: 5.88, limit: 8 }])
  await anna.get('/v1/settings/change', { balance_low: 6 })
  assert.deepEqual((await lows()).slice(2), [{ balance: 5.88, limit: 6 }], 'another limit')
})

test('a key that ends is told a week before, once; and again when it ends later', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ scopes: SCOPES })
  const day = (days: number) => new Date(world.now.getTime() + days * 86_400_000)
  const endings = async () => {
    await world.advance(5)
    const events = await told(world, anna, ['key.ending'])
    return events.map(({ subject, data }) => [subject, data.ends_at])
  }
  const text = (at: Date) => `${at.toISOString().slice(0, 19)}Z`
  const [soon, late] = [text(day(6)), text(day(8))]
  // Another one that ends: it is told of when its own week has begun.
  const other = { name: 'other', scopes: ['read'], ends_at: text(day(7.2)) }
  const { key: second } = await anna.get<{ key: { id: string } }>('/v1/key/new', other)
  const made = { name: 'shop', scopes: ['read'], ends_at: late }
  const { key } = await anna.get<{ key: { id: string } }>('/v1/key/new', made)
  assert.deepEqual(await endings(), [])
  await anna.get('/v1/key/change', { id: key.id, ends_at: soon })
  assert.deepEqual(await endings(), [[`key:${key.id}`, soon]])
  assert.equal((await endings()).length, 1)
  await anna.get('/v1/key/change', { id: key.id, name: 'shop 2' })
  assert.equal((await endings()).length, 1)
  const later = text(day(6.5))
  await anna.get('/v1/key/change', { id: key.id, ends_at: later })
  assert.deepEqual((await endings()).slice(1), [[`key:${key.id}`, later]])
  await world.advance(0.3 * 86_400)
  assert.deepEqual((await endings()).slice(2), [[`key:${second.id}`, other.ends_at]])
})

test('the cap of a key is told on the first refusal of a day', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100, scopes: SCOPES, daily_cap_sun: 5_000_000n })
  const bob = world.person('bob', 1)
  const params = { address: bob.address, amount: 65_000, duration: 1 }
  const buy = async () =>
    (await anna.call('/v1/transaction/new', { service: 'energy', params })).key
  const caps = async () => {
    await world.advance(5)
    return (await told(world, anna, ['key.cap_reached'])).map(({ data }) => data.spent_today)
  }
  assert.equal(await buy(), undefined)
  assert.deepEqual(await caps(), [])
  for (let i = 0; i < 3; i++) assert.equal(await buy(), 'insufficient_funds.daily_cap')
  assert.deepEqual(await caps(), [2.93])
  assert.equal(await buy(), 'insufficient_funds.daily_cap')
  assert.deepEqual(await caps(), [2.93], 'once a day')
  await world.advance(86_400)
  assert.equal(await buy(), undefined)
  assert.equal(await buy(), 'insufficient_funds.daily_cap')
  assert.deepEqual(await caps(), [2.93, 2.93])
})
