// What customers read of their account: the statement, page by page, agrees with the ledger, with
// the operator's file and with the summaries, wherever a page begins.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statementCsv, statementOf } from 'penstock-service/ledger/statements/statements.ts'
import { correct } from 'penstock-service/treasury/corrections/corrections.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type Entry = {
  at: string
  id: string
  kind: string
  for: { what: string; id: string; external_id: string | null; service: string | null }
  amount: number
  held: number
  balance: number
  spendable: number
}
type Figures = { balance: number; spendable: number }
type StatementPage = { opening: Figures; closing: Figures; items: Entry[]; next: string | null }
type Bucket = Record<'orders' | 'succeeded' | 'failed' | 'energy' | 'spent', number> &
  Record<'deposited' | 'balance', number> & { at: string; p50_ms: number | null }

const sun = (trx: number) => Math.round(trx * 1e6)

/** All entries, oldest first, and the figures that each page has shown of the period. */
async function allPages(customer: Customer, body: object, limit: number) {
  const entries: Entry[] = []
  const periods: [Figures, Figures][] = []
  let before: string | null | undefined
  do {
    const page: StatementPage = await customer.get('/v1/statement', {
      ...body,
      limit,
      ...(before && { before }),
    })
    entries.push(...page.items)
    periods.push([page.opening, page.closing])
    before = page.next
  } while (before !== null)
  return { entries: entries.reverse(), periods }
}

/** Each entry's figures are those before it and what it moved. */
function requireCarried(entries: readonly Entry[], { balance, spendable }: Figures) {
  let [b, s] = [sun(balance), sun(spendable)]
  for (const entry of entries) {
    b += sun(entry.amount)
    s += sun(entry.amount) - sun(entry.held)
    assert.deepEqual([sun(entry.balance), sun(entry.spendable)], [b, s], entry.id)
  }
}

/** Buys for some hours: what is delivered, and what is not. */
async function trade(world: World, hours: number) {
  const customer = await world.customer({ trx: 1_000, scopes: ['read', 'buy', 'money'] })
  const { address } = world.person('bob', 1)
  for (let hour = 0; hour < hours; hour++) {
    for (let i = 0; i < 2; i++)
      await customer.buyEnergy(address, 65_000, { external_id: undefined })
    await world.settle()
    await world.advance(3_600)
  }
  return customer
}

test('a statement is the same by pages of any size and from any time on', async (t) => {
  const world = await makeWorld(t)
  const began = world.now
  const customer = await trade(world, 4)
  const whole = await allPages(customer, {}, 1_000)
  assert.ok(whole.entries.length > 16)
  requireCarried(whole.entries, { balance: 0, spendable: 0 })
  const [hours] = await world.sql<{ n: number }>`
    select count(*)::integer as n from summary where bucket = 'hour'`
  assert.ok(hours!.n >= 3, `${hours!.n} hours are summarised`)
  for (const limit of [1, 3, 7]) {
    const { entries, periods } = await allPages(customer, {}, limit)
    assert.deepEqual(entries, whole.entries)
    for (const period of periods) assert.deepEqual(period, whole.periods[0])
  }
  const middle = new Date(began.getTime() + 2 * 3_600_000).toISOString()
  const [early, late] = [
    await allPages(customer, { until: middle }, 5),
    await allPages(customer, { since: middle }, 5),
  ]
  assert.deepEqual([...early.entries, ...late.entries], whole.entries)
  assert.deepEqual(early.periods[0]![1], late.periods[0]![0], 'one closes where the other opens')
  assert.deepEqual(late.periods[0]![1], whole.periods[0]![1])
  await world.sql`delete from summary`
  assert.deepEqual(await allPages(customer, {}, 7).then(({ entries }) => entries), whole.entries)
  assert.equal(whole.periods[0]![1].spendable, await customer.balance())
})

test("the operator's file has the rows and the figures of the statement", async (t) => {
  const world = await makeWorld(t)
  const customer = await trade(world, 2)
  const { entries, periods } = await allPages(customer, {}, 3)
  const file = statementCsv(
    await statementOf(world.sql, { customer_id: customer.id, since: undefined, until: undefined }),
  )
  const [, opening, ...rows] = file.trimEnd().split('\r\n')
  const closing = rows.pop()
  const printed = entries.map((one) =>
    [
      ...[one.at, one.id, one.kind, one.for.service ?? one.for.what, one.for.external_id ?? ''],
      ...[one.amount, one.held, one.balance, one.spendable],
    ].join(','),
  )
  assert.deepEqual(rows, printed)
  const [[first, last]] = periods as [[Figures, Figures]]
  assert.equal(opening, `,,opening,,,,,${first.balance},${first.spendable}`)
  assert.equal(closing, `,,closing,,,,,${last.balance},${last.spendable}`)
})

test('hours and days add up to the entries, summarised or not', async (t) => {
  const world = await makeWorld(t)
  const customer = await trade(world, 3)
  const { entries } = await allPages(customer, {}, 100)
  const count = (kind: string) =>
    entries.filter((one) => one.kind === kind && one.for.what === 'order').length
  const period = {
    since: entries[0]!.at,
    until: new Date(world.now.getTime() + 1_000).toISOString(),
  }
  const look = async (bucket: string) =>
    (await customer.get<{ buckets: Bucket[] }>('/v1/summary', { ...period, bucket })).buckets
  const check = (buckets: readonly Bucket[]) => {
    const sum = (name: 'orders' | 'succeeded' | 'failed' | 'energy' | 'spent' | 'deposited') =>
      buckets.reduce((all, one) => all + sun(one[name]), 0)
    assert.equal(sum('orders'), sun(count('hold')))
    assert.equal(sum('succeeded'), sun(count('capture')))
    assert.equal(sum('failed'), sun(count('release')))
    assert.equal(sum('energy'), sun(count('capture') * 65_000))
    assert.equal(sum('deposited') - sum('spent'), sun(entries.at(-1)!.balance))
    assert.equal(buckets.at(-1)!.balance, entries.at(-1)!.balance)
  }
  const hours = await look('hour')
  check(hours)
  check(await look('day'))
  const gaps = hours.map(({ at }, i) => Date.parse(at) - Date.parse(hours[0]!.at) - i * 3_600_000)
  assert.ok(
    gaps.every((gap) => gap === 0),
    'every hour is there',
  )
  assert.ok(hours.some(({ p50_ms }) => p50_ms !== null && p50_ms > 0))
  await world.sql`delete from summary`
  await world.sql`update summary_progress set until = 'epoch'`
  assert.deepEqual(await look('hour'), hours)
})

test('an hour is summarised when it is sealed, whatever the next one has', async (t) => {
  const world = await makeWorld(t)
  const customer = await trade(world, 1)
  const run = async (name: string) => {
    const step = world.app.steps.find((one) => one.name === name)!
    while (await step.run());
  }
  const until = async () => {
    const [row] = await world.sql<{ until: Date }>`
      select until from summary_progress where bucket = 'hour'`
    return row!.until
  }
  const hourOf = (at: Date) => Math.floor(at.getTime() / 3_600_000) * 3_600_000
  const { address } = world.person('bob', 1)
  await customer.buyEnergy(address, 65_000, { external_id: undefined })
  const bought_at = world.now
  world.wait(3_600)
  await run('summarize')
  assert.ok(hourOf(await until()) <= hourOf(bought_at), 'not before it is sealed')
  await run('seal')
  const gift = { customer_id: customer.id, amount_sun: 1n, invoice_number: null }
  const made = { made_at: world.now, made_by: 'test', reason: 'an entry of the hour under way' }
  await world.sql.begin((tx) => correct(tx, { id: world.app.new_id(), ...gift, ...made }))
  await run('summarize')
  assert.equal((await until()).getTime(), hourOf(world.now))
  await world.settle()
})

test('entries of a time that is summarised already are in the figures all the same', async (t) => {
  const world = await makeWorld(t)
  const customer = await trade(world, 4)
  const { address } = world.person('bob', 1)
  const ahead_ms = 2 * 3_600_000
  // The clock that was right is two hours behind the one that summarised.
  world.wait(-ahead_ms / 1_000)
  await customer.buyEnergy(address, 65_000, { external_id: undefined })
  world.wait(ahead_ms / 1_000)
  await world.settle()
  await world.advance(3_600)
  const { entries, periods } = await allPages(customer, {}, 3)
  requireCarried(entries, { balance: 0, spendable: 0 })
  assert.equal(periods[0]![1].spendable, await customer.balance())
  const body = { bucket: 'hour', since: entries[0]!.at, until: world.now.toISOString() }
  const { buckets } = await customer.get<{ buckets: Bucket[] }>('/v1/summary', body)
  assert.equal(buckets.at(-1)!.balance, periods[0]![1].balance)
  assert.equal(
    buckets.reduce((all, { orders }) => all + orders, 0),
    entries.filter(({ kind }) => kind === 'hold').length,
  )
})

test('an order of a clock that was a year behind is in the figures', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 100, scopes: ['read', 'buy', 'money'] })
  const { address } = world.person('bob', 1)
  const year = 366 * 86_400
  const began = new Date(world.now.getTime() - 1_000).toISOString()
  world.wait(-year)
  await customer.buyEnergy(address, 65_000)
  await world.drain()
  world.wait(year)
  await world.settle()
  await world.advance(3_600)
  const body = { bucket: 'hour', since: began, until: world.now.toISOString() }
  const { buckets } = await customer.get<{ buckets: Bucket[] }>('/v1/summary', body)
  const took = buckets.filter(({ succeeded }) => succeeded > 0).map(({ p50_ms }) => p50_ms)
  assert.deepEqual(took, [2 ** 31 - 1], 'no longer than can be told')
})
