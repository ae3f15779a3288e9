// What is measured of minutes: each rule for the state of a part of the service, both ways, from
// what really happens to orders, deposits, checks and events; and latencies against the rows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS_MS, percentile, sum, total } from 'penstock-service/health/uptime/histograms.ts'
import { stateMetric } from 'penstock-service/health/uptime/measuring.ts'
import { addToMinutes } from 'penstock-service/health/uptime/metrics.ts'
import type { Latency, Part, State } from 'penstock-service/health/uptime/states.ts'
import { PARTS, STATES } from 'penstock-service/health/uptime/states.ts'
import { setSwitches, switches } from 'penstock-service/market/prices/switches.ts'
import { drain, type Step } from 'penstock-service/platform/steps/step.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

const MINUTE_MS = 60_000
const ALL = { api: true, worker: true }

/** What a process does that buys and sells nothing. */
const IDLE = ['follow', 'confirm', 'attend', 'measure_minutes']

/** Runs steps of the world once each, and again while they move something. */
async function run(world: World, names: readonly string[]): Promise<void> {
  const steps: Step[] = [...world.app.steps, ...world.app.api_steps]
  const found = steps.filter(({ name }) => names.includes(name))
  assert.equal(found.length, names.length, names.join())
  await drain(found)
}

/** Lets time pass, a block every three seconds, while these processes are there. */
async function live(world: World, seconds: number, { api, worker } = ALL): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 3) {
    world.mine()
    await run(world, [...(worker ? IDLE : []), ...(api ? ['count_purchases'] : [])])
  }
}

/** Goes on to the beginning of a minute. */
async function toMinute(world: World, processes = ALL): Promise<Date> {
  while (world.now.getTime() % MINUTE_MS >= 3_000) await live(world, 3, processes)
  return new Date(Math.floor(world.now.getTime() / MINUTE_MS) * MINUTE_MS)
}

/** The states of a part from a minute on, as they were measured. */
async function states(world: World, part: Part, since: Date): Promise<State[]> {
  const rows = await world.sql<{ counts: number[] }>`
    select counts from metric
    where span = 'minute' and metric = ${stateMetric(part)} and at >= ${since} order by at`
  return rows.map(({ counts }) => STATES[counts.indexOf(1)]!)
}

/** The counts of a latency in all minutes that were measured. */
async function counts(world: World, latency: Latency): Promise<number[]> {
  const rows = await world.sql<{ counts: number[] }>`
    select counts from metric where span = 'minute' and metric = ${latency}`
  return sum(rows.map((row) => row.counts))
}

const times = (state: State, count: number) => Array<State>(count).fill(state)

test('when no worker is there for three minutes, exactly these are not up', async (t) => {
  const world = await makeWorld(t)
  const began_at = await toMinute(world)
  await live(world, 120)
  assert.equal((await toMinute(world)).getTime(), began_at.getTime() + 2 * MINUTE_MS)
  await live(world, 180, { api: true, worker: false })
  await live(world, 120)
  await live(world, 12)
  for (const part of PARTS) {
    const found = await states(world, part, began_at)
    if (part === 'buying') continue
    assert.deepEqual(found, [...times('up', 2), ...times('down', 3), ...times('up', 2)], part)
  }
  // The API goes on by itself; without a worker nothing is known of the chain after half a minute.
  const buying = await states(world, 'buying', began_at)
  assert.deepEqual(buying, [...times('up', 3), ...times('down', 2), ...times('up', 2)])
  const [hours] = await world.sql<{ up: bigint; down: bigint }>`
    select sum(counts[1])::bigint as up, sum(counts[3])::bigint as down from metric
    where span = 'hour' and metric = 'state_delivering'
      and at >= ${began_at}::timestamptz - interval '1 hour'`
  const [days] = await world.sql<{ up: bigint; down: bigint }>`
    select sum(counts[1])::bigint as up, sum(counts[3])::bigint as down from metric
    where span = 'day' and metric = 'state_delivering'`
  assert.equal(hours!.down, 3n)
  assert.deepEqual(days, hours)
})

test('what was not measured for weeks was down, hour by hour, and is measured again', async (t) => {
  const world = await makeWorld(t)
  await toMinute(world)
  await live(world, 60)
  world.scene.wait(20 * 86_400)
  world.mine()
  await live(world, 66)
  const [progress] = await world.sql<{ begun_at: Date; until: Date }>`
    select begun_at, until from metric_progress`
  const days = await screeningByDay(world)
  const minutes = (progress!.until.getTime() - progress!.begun_at.getTime()) / MINUTE_MS
  assert.ok(minutes > 20 * 1_440)
  assert.equal(days.minutes, BigInt(minutes), 'every minute is counted once')
  assert.equal(days.up, 2n)
})

/** The minutes that all days together count, and those of them in which screening was up. */
async function screeningByDay(world: World): Promise<{ minutes: bigint; up: bigint }> {
  const [days] = await world.sql<{ minutes: bigint; up: bigint }>`
    select sum(c)::bigint as minutes, sum(counts[1])::bigint as up from metric,
      lateral (select sum(c) as c from unnest(counts) as c) as s
    where span = 'day' and metric = 'state_screening'`
  return days!
}

test('hours in which nobody was there have no minutes, one with somebody in it has', async (t) => {
  const world = await makeWorld(t)
  await toMinute(world)
  await live(world, 60)
  const gone_at = await toMinute(world)
  world.scene.wait(6 * 3_600)
  world.mine()
  const after = (hours: number) => new Date(gone_at.getTime() + hours * 60 * MINUTE_MS)
  // A process that cannot measure.
  const there = { metric: 'working', at: after(3), counts: Array<number>(12).fill(1) }
  await addToMinutes(world.sql, [there])
  await live(world, 66)
  const kept = await world.sql<{ at: Date; counts: number[] }>`
    select at, counts from metric
    where span = 'minute' and metric = 'state_screening' and at >= ${after(1)} and at < ${after(5)}
    order by at`
  const hour_ms = 60 * MINUTE_MS
  assert.equal(kept[0]?.at.getTime(), Math.floor(there.at.getTime() / hour_ms) * hour_ms)
  const up = kept.filter(({ counts }) => counts[STATES.indexOf('up')] === 1)
  assert.deepEqual(
    up.map(({ at }) => at),
    [there.at],
  )
  const [progress] = await world.sql<{ begun_at: Date; until: Date }>`
    select begun_at, until from metric_progress`
  const minutes = (progress!.until.getTime() - progress!.begun_at.getTime()) / MINUTE_MS
  assert.deepEqual(await screeningByDay(world), { minutes: BigInt(minutes), up: 3n })
})

/** The smallest bound above the sample at the rank, as it is worked out from a list. */
function boundOf(samples_ms: readonly number[], share: number): number {
  const sorted = samples_ms.toSorted((a, b) => a - b)
  const ms = sorted[Math.ceil(share * sorted.length) - 1]!
  return BOUNDS_MS.find((bound) => ms < bound) ?? Number.POSITIVE_INFINITY
}

test('percentiles are those that the rows give, failures among them', async (t) => {
  const world = await makeWorld(t, { pool_bandwidth_trx: 0 })
  const anna = await world.customer({ trx: 10_000, scopes: ['read', 'buy', 'aml', 'webhooks'] })
  await anna.get('/v1/webhook/new', { url: 'https://shop.example/penstock' })
  await world.drain()
  for (let i = 0; i < 12; i++) {
    await anna.buyEnergy(world.person(`receiver-${i}`, 1).address, 65_000)
    if (i % 3 === 0) world.wait(i)
    await world.drain()
    world.mine(1 + (i % 4))
    await world.drain()
  }
  await world.settle()
  // Nobody takes this one's transactions, and it is given up.
  world.network.loses = () => true
  await anna.buyEnergy(world.person('nobody', 1).address, 65_000)
  await giveUp(world)
  world.network.loses = () => false
  await anna.get('/v1/aml-checks/new', { type: 'address', address: person(world), network: 'TRX' })
  await world.drain()
  await world.solidify()
  await world.advance(120)
  await world.advance(120)
  const orders = await world.sql<{ sent: bigint; block: bigint; solid: bigint; failed: boolean }>`
    select o.state = 'failed' as failed,
      round(extract(epoch from a.sent_at - o.created_at) * 1000)::bigint as sent,
      round(extract(epoch from a.block_time - o.created_at) * 1000)::bigint as block,
      round(extract(epoch from o.solid_at - o.created_at) * 1000)::bigint as solid
    from orders as o left join attempt as a on a.tx_id = o.tx_id where o.state <> 'new'`
  assert.equal(orders.filter(({ failed }) => failed).length, 1)
  const never = Number.POSITIVE_INFINITY
  const of = (name: 'sent' | 'block' | 'solid') =>
    orders.map((one) => (one.failed ? never : Math.max(0, Number(one[name]))))
  const checks = await world.sql<{ ms: number }>`
    select (extract(epoch from ended_at - created_at) * 1000)::integer as ms from aml_check`
  // Nineteen blocks after its own a deposit is irreversible.
  const deposits = await world.sql<{ ms: number }>`
    select (extract(epoch from d.solid_at - b.time) * 1000)::integer as ms
    from deposit as d join block as b on b.number = d.block_number + 19`
  const calls = await world.sql<{ ms: number }>`
    select (extract(epoch from min(c.at) - e.at) * 1000)::integer as ms
    from webhook_call as c join event as e on e.customer_id = ${anna.id} and e.number = c.number
    group by e.number, e.at`
  assert.ok(calls.length > 20 && checks.length === 1 && deposits.length === 1)
  const expected: Partial<Record<Latency, number[]>> = {
    order_sent: of('sent'),
    order_in_block: of('block'),
    order_irreversible: of('solid'),
    deposit_credited: deposits.map(({ ms }) => ms),
    check_ended: checks.map(({ ms }) => ms),
    event_called: calls.map(({ ms }) => ms),
  }
  for (const [latency, samples] of Object.entries(expected)) {
    const found = await counts(world, latency as Latency)
    for (const share of [0.5, 0.9, 0.95, 0.99])
      assert.equal(percentile(found, share), boundOf(samples, share), `${latency} ${share}`)
    assert.equal(
      found.reduce((sofar, count) => sofar + count, 0),
      samples.length,
      latency,
    )
  }
})

test('what happened in hours in which nobody was counted is measured all the same', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const counting = ['attend', 'count_purchases', 'measure_minutes']
  const others = world.app.steps.filter(({ name }) => !counting.includes(name))
  const work = async () => {
    world.mine()
    await drain(others)
  }
  world.scene.wait(3 * 3_600)
  await work()
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await drain(others)
  await work()
  world.scene.wait(3 * 3_600)
  world.mine()
  await live(world, 66)
  assert.equal(total(await counts(world, 'order_in_block')), 1)
})

test('where the chain is hours ahead, no span of two clocks is counted', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  const ahead = '2 hours'
  await world.sql`update attempt set block_time = block_time + ${ahead}::text::interval`
  await world.sql`update deposit set block_time = block_time + ${ahead}::text::interval`
  await world.sql`update block set time = time + ${ahead}::text::interval`
  world.wait(66)
  await run(world, ['attend', 'count_purchases', 'measure_minutes'])
  assert.equal(percentile(await counts(world, 'order_in_block'), 1), boundOf([3_000], 1))
  assert.equal(total(await counts(world, 'deposit_credited')), 0, 'no 0 ms either')
})

const person = (world: World) => world.person('screened', 1).address

/** Goes on until no order is open. */
async function giveUp(world: World): Promise<void> {
  for (let i = 0; i < 40; i++) {
    await world.advance(60)
    const [open] = await world.sql`select 1 from orders where state in ('new', 'pending')`
    if (!open) return
  }
  throw new Error('it is not given up')
}

/** The state of a part in each of the next minutes, when everything goes on by itself. */
async function minutes(world: World, part: Part, count: number): Promise<State[]> {
  const since = await toMinute(world)
  await live(world, count * 60 + 12)
  return (await states(world, part, since)).slice(0, count)
}

test('delivering is down while an order is older than five minutes', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  await toMinute(world)
  // No step that delivers runs meanwhile.
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  assert.deepEqual(await minutes(world, 'delivering', 7), [...times('up', 4), ...times('down', 3)])
  await world.settle()
  assert.deepEqual((await minutes(world, 'delivering', 2)).at(-1), 'up')
})

test('delivering is slow when orders are in a block after fifteen seconds', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const since = await toMinute(world)
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await live(world, 18)
  await world.settle()
  await live(world, 100)
  assert.equal((await states(world, 'delivering', since))[0], 'slow')
  const next = await toMinute(world)
  await anna.buyEnergy(world.person('carl', 1).address, 65_000)
  await world.settle()
  await live(world, 100)
  assert.equal((await states(world, 'delivering', next))[0], 'up')
})

test('deposits are slow, then down, while what is irreversible is not credited', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1 })
  const since = await toMinute(world)
  world.pay(anna.deposit_address, 5_000_000n)
  // Seen at once, credited by nobody for a while.
  await live(world, 3)
  await run(world, ['arrive'])
  await live(world, 57 + 45)
  await run(world, ['credit'])
  await live(world, 100)
  const found = await states(world, 'deposits', since)
  assert.deepEqual(found.slice(0, 3), ['up', 'slow', 'up'])
  const next = await toMinute(world)
  world.pay(anna.deposit_address, 5_000_000n)
  await live(world, 3)
  await run(world, ['arrive'])
  await live(world, 447)
  assert.deepEqual(await states(world, 'deposits', next), [...times('up', 6), 'down'])
  await run(world, ['credit'])
  await live(world, 130)
  assert.equal((await states(world, 'deposits', next)).at(-1), 'up')
})

test('screening is slow after thirty seconds, and down after five minutes', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100, scopes: ['read', 'aml'] })
  const address = person(world)
  const order = () => anna.get('/v1/aml-checks/new', { type: 'address', address, network: 'TRX' })
  await world.drain()
  const since = await toMinute(world)
  await order()
  await live(world, 33)
  await world.drain()
  await live(world, 100)
  assert.deepEqual((await states(world, 'screening', since)).slice(0, 2), ['slow', 'up'])
  const next = await toMinute(world)
  await order()
  await live(world, 432)
  const found = await states(world, 'screening', next)
  assert.deepEqual(found, [...times('up', 5), ...times('down', 2)])
  await world.drain()
})

test('screening is down while no process has the index, though nobody asks', async (t) => {
  const world = await makeWorld(t)
  await world.drain()
  const since = await toMinute(world)
  await live(world, 60)
  const alert = (name: string) => world.sql`
    insert into alert (alert, what, raised_at) values (${name}, 'test', ${world.now})`
  await alert('index_behind')
  await live(world, 60)
  await world.sql`
    insert into alert (alert, what, raised_at)
    values ('index_missing', 'test', ${world.now}::timestamptz - interval '5 minutes')`
  await live(world, 130)
  const states_then = ['screening', 'deposits'] as const
  const found = await Promise.all(states_then.map((part) => states(world, part, since)))
  assert.deepEqual(found, [
    ['up', 'up', 'down', 'down'],
    ['up', 'up', 'up', 'up'],
  ])
  await world.sql`delete from alert where alert = 'index_missing'`
  const over = await toMinute(world)
  await live(world, 70)
  assert.deepEqual(await states(world, 'screening', over), ['up'])
})

const hooked = (world: World) => world.customer({ trx: 100, scopes: ['read', 'buy', 'webhooks'] })
const hook = (customer: Customer) =>
  customer.get('/v1/webhook/new', { url: 'https://shop.example/penstock' })

test('events are slow, then down, while nobody calls; a receiver is not our fault', async (t) => {
  const world = await makeWorld(t)
  const anna = await hooked(world)
  await hook(anna)
  await live(world, 12)
  await world.drain()
  const since = await toMinute(world)
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await world.drain()
  await live(world, 100)
  assert.equal((await states(world, 'events', since))[0], 'up')
  const next = await toMinute(world)
  await anna.buyEnergy(world.person('carl', 1).address, 65_000)
  await run(world, ['publish'])
  await live(world, 15)
  await world.drain()
  await live(world, 100)
  assert.equal((await states(world, 'events', next))[0], 'slow')
  const third = await toMinute(world)
  await anna.buyEnergy(world.person('dora', 1).address, 65_000)
  await run(world, ['publish'])
  await live(world, 432)
  assert.deepEqual(await states(world, 'events', third), [...times('up', 5), ...times('down', 2)])
  await world.drain()
  await live(world, 60)
  // A receiver that fails is told late, and that is its own affair.
  const fourth = await toMinute(world)
  world.hook = () => ({ status: 500 })
  await anna.buyEnergy(world.person('emil', 1).address, 65_000)
  await world.drain()
  await live(world, 60)
  await world.drain()
  await live(world, 420)
  assert.ok((await states(world, 'events', fourth)).slice(1).every((state) => state === 'up'))
})

test('buying is down while all is off sale, and up when one thing is not', async (t) => {
  const world = await makeWorld(t)
  const all = (await switches(world.sql)).map(({ name }) => name)
  const turn = (on_sale: boolean, names: string[]) =>
    world.sql.begin((tx) => setSwitches(tx, { names, on_sale, changed_by: 'test', at: world.now }))
  assert.deepEqual(await minutes(world, 'buying', 1), ['up'])
  await turn(false, all)
  assert.equal((await minutes(world, 'buying', 2)).at(-1), 'down')
  await turn(true, ['energy'])
  assert.equal((await minutes(world, 'buying', 2)).at(-1), 'up')
})

test('buying is down in a minute in which a purchase was refused because of us', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100 })
  const bob = world.person('bob', 1)
  const ask = (amount: number) =>
    anna.call('/v1/transaction/new', {
      service: 'energy',
      params: { address: bob.address, amount, duration: 1 },
    })
  const since = await toMinute(world)
  await live(world, 30)
  // More than there is: nobody else is refused.
  assert.equal((await ask(100_000_000)).code !== 0, true)
  await live(world, 33)
  const next = await toMinute(world)
  const all = (await switches(world.sql)).map(({ name }) => name)
  const turn = (on_sale: boolean) =>
    world.sql.begin((tx) =>
      setSwitches(tx, { names: all, on_sale, changed_by: 'test', at: world.now }),
    )
  await turn(false)
  await live(world, 3)
  assert.equal((await ask(65_000)).code, 35)
  await live(world, 3)
  await turn(true)
  await live(world, 130)
  assert.equal((await states(world, 'buying', since))[0], 'up')
  assert.deepEqual((await states(world, 'buying', next)).slice(0, 2), ['down', 'up'])
})
