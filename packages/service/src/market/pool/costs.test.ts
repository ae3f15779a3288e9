import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, TRX, type World } from 'penstock-test/harness/world.ts'
import { type CostKind, type CostLine, readCosts, setCapital, unitCostOf } from './costs.ts'

type Receipt = { fee?: number; receipt: { net_usage?: number } }

/** What the chain itself says that transactions have cost, by what they were for. */
async function onChain(world: World, purpose: string): Promise<{ fee: number; net: number }> {
  const attempts = await world.sql<{ tx_id: string }>`
    select tx_id from attempt where starts_with(subject, ${`${purpose}:`}) and tx_id is not null`
  const receipts = attempts.map(
    ({ tx_id }) => world.scene.post('/wallet/gettransactioninfobyid', { value: tx_id }) as Receipt,
  )
  const sum = (of: (one: Receipt) => number | undefined) =>
    receipts.reduce((total, one) => total + (of(one) ?? 0), 0)
  return { fee: sum(({ fee }) => fee), net: sum(({ receipt }) => receipt?.net_usage) }
}

const costsOf = (world: World) => readCosts(world.sql, world.now, 24)

async function lineOf(world: World, wanted: CostKind): Promise<CostLine | undefined> {
  return (await costsOf(world)).lines.find(({ kind }) => kind === wanted)
}

const setTo = (world: World, hundredths: number) =>
  world.sql.begin((tx) => setCapital(tx, hundredths, { at: world.now, by: 'olga' }))

test('what our transactions burned is what the chain says, to the sun, per order', async (t) => {
  // Without staked bandwidth a wallet burns for what its daily allowance does not pay.
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  assert.equal(await lineOf(world, 'energy'), undefined)
  for (const name of ['bob', 'carl', 'dora', 'emil', 'finn'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  const { fee, net } = await onChain(world, 'delegate')
  assert.ok(fee > 0 && net > 0, `${fee} burned, ${net} used`)
  const line = await lineOf(world, 'energy')
  const { orders, units, transactions, unknown, burned_sun, bandwidth, revenue_sun } = line!
  assert.deepEqual([orders, units, transactions, unknown], [5n, 325_000n, 5n, 0n])
  assert.deepEqual([burned_sun, bandwidth], [BigInt(fee), BigInt(net)])
  assert.deepEqual([line!.order_burned_sun, revenue_sun], [BigInt(fee) / 5n, 5n * 2_930_000n])
  assert.equal(line!.revenue_1000_sun, (1_000n * revenue_sun) / units)
  // An hour later the reclaims have their share.
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  const reclaimed = await onChain(world, 'reclaim')
  const later = await lineOf(world, 'energy')
  assert.deepEqual([later!.orders, later!.transactions], [5n, 10n])
  assert.equal(later!.burned_sun, BigInt(fee + reclaimed.fee))
  const { day } = await costsOf(world)
  assert.equal(day.left_sun, day.revenue_sun - day.burned_sun)
  assert.equal(day.burned_sun, later!.burned_sun)
})

test('what is taken back costs by its own units; what is not known counts nowhere', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl', 'dora', 'emil'])
    await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  await world.solidify()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.sql`update attempt set fee_sun = 130000 where subject like 'delegate:%'`
  await world.sql`update attempt set fee_sun = 65000 where subject like 'reclaim:%'`
  const burned = async () => {
    const at = { now: world.now, hours: 24 }
    const { order_burned_sun, per_1000, unknown } = (await lineOf(world, 'energy'))!
    const { burned_sun } = await unitCostOf(world.sql, 'energy', at)
    assert.equal(per_1000?.burned_sun ?? 0n, burned_sun)
    return [burned_sun, order_burned_sun, unknown]
  }
  assert.deepEqual(await burned(), [3_000n, 195_000n, 0n])
  // Of three no receipt was kept: they would make the others look cheap.
  await world.sql`
    update attempt set fee_sun = null, bandwidth = null, energy = null where id in (
      select id from attempt where subject like 'delegate:%' order by id limit 3)`
  assert.deepEqual(await burned(), [3_000n, 195_000n, 3n])
  // Later all four were delegated before the day begins, and taken back within it.
  await world.advance(83_500)
  await anna.buyEnergy(world.person('finn', 1).address, 65_000)
  await world.settle()
  await world.sql`
    update attempt set fee_sun = 130000 where subject like 'delegate:%' and fee_sun >= 0`
  assert.deepEqual(await burned(), [3_000n, 195_000n, 0n])
})

test('a fork takes back what a transaction cost, and the next block says it anew', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  world.mine()
  await world.drain()
  const cost = async () => {
    const [row] = await world.sql<{ state: string; fee_sun: bigint | null; known: boolean }>`
      select state, fee_sun, num_nulls(fee_sun, bandwidth, energy) = 0 as known from attempt`
    return row!
  }
  assert.deepEqual([(await cost()).state, (await cost()).known], ['included', true])
  world.network.loses = () => true
  world.fork(1, { drop: true })
  await world.drain()
  assert.deepEqual(await cost(), { state: 'sent', fee_sun: null, known: false })
  const lost = await lineOf(world, 'energy')
  assert.deepEqual([lost!.transactions, lost!.burned_sun, lost!.orders], [0n, 0n, 0n])
  world.network.loses = () => false
  await world.settle()
  const { fee } = await onChain(world, 'delegate')
  assert.deepEqual([(await cost()).known, (await cost()).fee_sun], [true, BigInt(fee)])
})

test('a bundle and an activation that came with an order are lines of their own', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 200 })
  const amounts = { energy: 65_000, bandwidth: 400 }
  const bob = world.person('bob', 1).address
  await anna.buy({ service: 'resource_bundle', params: { address: bob, amounts, duration: 1 } })
  await anna.buyEnergy(world.person('new').address, 65_000, { activate_address: true })
  await world.settle()
  const [bundle, activation] = [await lineOf(world, 'bundle'), await lineOf(world, 'activation')]
  assert.deepEqual([bundle!.orders, bundle!.transactions, bundle!.per_1000], [1n, 2n, null])
  const [fee] = await world.sql<{ sun: bigint }>`
    select fee_sun as sun from orders where activation_id is not null`
  assert.equal(activation!.revenue_sun, fee!.sun)
  assert.equal(activation!.burned_sun, BigInt((await onChain(world, 'activate')).fee))
  assert.ok(activation!.burned_sun >= TRX)
  const [charged] = await world.sql<{ sun: bigint }>`
    select sum(amount_sun)::bigint as sun from transfer where credit = 'revenue'
      and kind = 'capture'`
  const revenue = (await costsOf(world)).lines.reduce((sum, one) => sum + one.revenue_sun, 0n)
  assert.equal(revenue, charged!.sun, 'every sun that was charged is in one line')
})

test('capital is interest of a day on the stake of 1000 units, less what votes earn', async (t) => {
  const world = await makeWorld(t)
  const first = await setTo(world, 1_000)
  assert.deepEqual(first.actions, [
    { subject: 'capital', before: null, after: { hundredths: 1_000 } },
  ])
  assert.deepEqual((await setTo(world, 1_000)).actions, [], 'the same again is no change')
  const costs = await costsOf(world)
  // Two wallets with 11 million TRX each; a tenth of it a year.
  const staked_sun = 22_000_000n * TRX
  assert.deepEqual(costs.capital, {
    hundredths: 1_000,
    staked_sun,
    day_sun: (staked_sun / 10n + 364n) / 365n,
  })
  assert.deepEqual(costs.votes, {
    power: 22_000_000n,
    cast: 0n,
    earned_day_sun: 0n,
    forgone_day_sun: null,
  })
  const [ratio] = await world.sql<{ limit: bigint; weight: bigint }>`
    select total_limit as limit, total_weight as weight from pool where resource = 'energy'`
  const of_1000 = Number(1_000n * TRX * ratio!.weight) / Number(ratio!.limit)
  const at = { now: world.now, hours: 24 }
  const cost = await unitCostOf(world.sql, 'energy', at)
  assert.ok(Math.abs(Number(cost.capital_sun) - of_1000 / 3_650) <= 1, String(cost.capital_sun))
  assert.equal(cost.cost_sun, cost.capital_sun)
  // Half of the votes are cast, for ten days, and have earned 365 TRX a day.
  await world.sql`update pool_wallet set votes = 5_500_000`
  await world.sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    values ('v', 'vote:v', '{}', 'infinity', now()), ('c', 'claim:c', '{}', 'infinity', now())`
  const ten_days_ago = new Date(world.now.getTime() - 10 * 86_400_000)
  await world.sql`
    insert into vote (id, wallet, votes, power, period_ends_at, state, attempt_id, made_at,
      ended_at)
    values ('v', 'w', '[]', 1, ${ten_days_ago}, 'cast', 'v', ${ten_days_ago}, ${ten_days_ago})`
  await world.sql`
    insert into reward_claim (id, wallet, expected_sun, state, attempt_id, reward_sun, made_at,
      ended_at)
    values ('c', 'w', 1, 'claimed', 'c', ${3_650n * TRX}, ${world.now}, ${world.now})`
  const voting = await costsOf(world)
  assert.deepEqual(voting.votes, {
    power: 22_000_000n,
    cast: 11_000_000n,
    earned_day_sun: 365n * TRX,
    forgone_day_sun: 365n * TRX,
  })
  assert.equal(voting.day.left_sun, 365n * TRX - voting.capital.day_sun)
  const less = await unitCostOf(world.sql, 'energy', at)
  assert.ok(less.votes_sun > 0n && less.cost_sun === less.capital_sun - less.votes_sun)
  await world.sql`delete from reward_claim`
  await world.sql`delete from vote`
  await world.sql`delete from attempt where id in ('v', 'c')`
})
