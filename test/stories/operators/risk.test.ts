// `penstock risk`: what each thief can take at most, in the amounts of what runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { signingTerms } from 'penstock-service/chain/wallets/signing_terms.ts'
import type { Risk } from 'penstock-service/health/risk/risk.ts'
import { worldOperator } from '../../harness/operator.ts'
import { insertWorker } from '../../harness/process_rows.ts'
import { makeWorld, TRX, type World } from '../../harness/world.ts'

type PrintedRisk = Omit<Risk, 'most_sun'> & { most_sun: number | null; says: string }

/** What this thief can take of it, as the command prints it at that moment. */
async function riskReader(world: World) {
  const at = await worldOperator(world)
  return async (thief: Risk['thief'], takes: Risk['takes']) => {
    const found = await at.json<PrintedRisk[]>('risk', '--node-url', 'https://devchain')
    return found.find((one) => one.thief === thief && one.takes === takes)
  }
}

test('the amounts are those of the floats, limits, prices and balances there are', async (t) => {
  const world = await makeWorld(t, { pool_trx: [3_000_000, 1_000_000], pool_bandwidth_trx: 0 })
  const at = await worldOperator(world)
  const { out } = await at.type('risk', '--node-url', 'https://devchain')
  assert.match(out, /No worker that runs has said what it signs with/)
  await world.customer({ trx: 40 })
  await world.customer({ trx: 60, daily_cap_sun: 50n * TRX, scopes: ['buy'] })
  await world.customer({ trx: 90, scopes: ['read'] })
  const stakes = new Map([
    [person('pool-0').address, 3_000_000n * TRX],
    [person('pool-1').address, 1_000_000n * TRX],
  ])
  const limits = { refund_trx_day: 700, delegated_trx_day: 48_000_000 }
  await insertWorker(world.sql, { signing: signingTerms({ ...world.wallets, limits }, stakes) })
  const ask = () => at.json<PrintedRisk[]>('risk', '--node-url', 'https://devchain')
  const found = await ask()
  const of = (thief: Risk['thief'], takes: Risk['takes'], list = found) =>
    list.find((one) => one.thief === thief && one.takes === takes)
  const float = (name: string) => Number(world.scene.balance(person(name)))
  assert.equal(of('worker_process', 'refund_float')?.most_sun, float('refund'))
  assert.equal(of('refund_key', 'refund_float')?.most_sun, float('refund'))
  assert.equal(of('activation_key', 'activation_float')?.most_sun, float('activation'))
  // Without a key only as much as the limits let.
  assert.equal(of('worker_role', 'refund_float')?.most_sun, 700_000_000)
  assert.equal(of('worker_role', 'refund_float')?.within, 'day')
  assert.equal(of('api_role', 'balances')?.most_sun, 190_000_000)
  assert.equal(of('api_key', 'balances')?.most_sun, 50_000_000)
  assert.equal(of('api_key', 'balances')?.bound, 'daily_cap')
  // What the pool sells in a day at the lowest price; half of it by the limit, of 24 hours.
  const [pool] = await world.sql<{ room: bigint; price_sun: bigint }>`
    select room, (select min(price_sun) from price where resource = 'energy' and until is null)
      as price_sun from pool where resource = 'energy'`
  const day_sun = Number((24n * pool!.room * pool!.price_sun) / 1_000n)
  assert.equal(of('worker_process', 'pool_hours')?.most_sun, day_sun)
  assert.ok(Math.abs(of('pool_key', 'pool_hours')!.most_sun! - day_sun * 0.75) < 2)
  assert.ok(Math.abs(of('worker_role', 'pool_hours')!.most_sun! - day_sun / 2) < 2)
  // Nothing ends what one operator may credit, until a second one is wanted.
  assert.equal(of('operator_session', 'balances')?.most_sun, null)
  assert.match(of('operator_session', 'balances')!.says, /ended by nothing: see approvals set/)
  await at.json('approvals', 'set', 'name', '--from', '100', '--by', 'olga')
  world.wait(1)
  assert.equal(of('operator_session', 'balances', await ask())?.most_sun, 99_999_999)
  // Workers count what all of them sign: they have one limit, and not one each.
  const day = { ...limits, refund_trx_day: 500 }
  await insertWorker(
    world.sql,
    { signing: signingTerms({ ...world.wallets, limits: day }, stakes) },
    'worker2',
  )
  assert.equal(of('worker_role', 'refund_float', await ask())?.most_sun, 700_000_000)
})

test('what the pool earns is of all that it has not got back, by prices in force', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  await insertWorker(world.sql, { signing: signingTerms(world.wallets, undefined) })
  const riskOf = await riskReader(world)
  const earns = async () => (await riskOf('worker_process', 'pool_hours'))!.most_sun!
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  const [{ room, price_sun } = { room: 0n, price_sun: 0n }] = await world.sql<{
    room: bigint
    price_sun: bigint
  }>`
    select room, (select min(price_sun) from price where resource = 'energy' and until is null)
      as price_sun from pool where resource = 'energy'`
  const [part] = await world.sql<{ amount: bigint; delegated_at: Date; expires_at: Date }>`
    select amount, delegated_at, expires_at from delegation`
  const expected = (units: bigint, price = price_sun) => Number((24n * units * price) / 1_000n)
  /** The part as it would be in another state. */
  const turn = (state: string) => {
    const dated = state === 'delegating' || state === 'failed' ? undefined : part!
    return world.sql`
      update delegation set state = ${state}, delegated_at = ${dated?.delegated_at ?? null},
        expires_at = ${dated?.expires_at ?? null},
        reclaimed_at = ${state === 'ended' ? part!.expires_at : null},
        reclaim_id = case when ${/^(reclaiming|ended)$/.test(state)} then attempt_id end`
  }
  for (const [state, counts] of [
    ['delegating', true],
    ['reclaiming', true],
    ['ended', false],
    ['failed', false],
    ['active', true],
  ] as const) {
    await turn(state)
    assert.equal(await earns(), expected(room + (counts ? part!.amount : 0n)), state)
  }
  const priceFrom = (seconds: number, sun: bigint) => world.sql`
    insert into price (resource, min_amount, max_amount, price_sun, since, until, changed_by)
    values ('energy', 1, 2, ${sun}, ${new Date(world.now.getTime() + seconds * 1_000)},
      ${new Date(world.now.getTime() + 86_400_000)}, 'olga')`
  await priceFrom(1, price_sun - 2n)
  assert.equal(await earns(), expected(room + part!.amount), 'a price of later')
  await priceFrom(0, price_sun - 1n)
  assert.equal(await earns(), expected(room + part!.amount, price_sun - 1n), 'from this moment on')
  await world.sql`delete from price where changed_by = 'olga'`
})

test('a key that was revoked or has ended spends nothing: the next one counts', async (t) => {
  const world = await makeWorld(t)
  await insertWorker(world.sql, { signing: signingTerms(world.wallets, undefined) })
  const riskOf = await riskReader(world)
  const spends = async () => (await riskOf('api_key', 'balances'))!.most_sun
  const keyOf = (trx: number) => world.customer({ trx, scopes: ['buy'] })
  await keyOf(40)
  const [ended, revoked] = [await keyOf(60), await keyOf(90)]
  assert.equal(await spends(), 90_000_000)
  await world.sql`update api_key set revoked_at = now() where customer_id = ${revoked.id}`
  assert.equal(await spends(), 60_000_000)
  await world.sql`update api_key set expires_at = ${world.now} where customer_id = ${ended.id}`
  assert.equal(await spends(), 40_000_000)
})

test('a key without scopes of its own may buy, so its balance can be spent', async (t) => {
  const world = await makeWorld(t)
  await insertWorker(world.sql, { signing: signingTerms(world.wallets, undefined) })
  const riskOf = await riskReader(world)
  await world.customer({ trx: 70, scopes: ['read'] })
  assert.equal((await riskOf('api_key', 'balances'))!.most_sun, 0)
  const plain = await world.customer({ trx: 30 })
  await world.sql`update api_key set scopes = null where customer_id = ${plain.id}`
  assert.equal((await riskOf('api_key', 'balances'))!.most_sun, 30_000_000)
})
