import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeScreeningWorld, TRX } from 'penstock-test/harness/screening_world.ts'
import { customerAccount, spendable } from '../../ledger/accounts/ledger.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { levelChanges } from '../reports/watch_routes.ts'
import { checkHistory } from './history.ts'
import { watchBlocksStep } from './watch_blocks.ts'
import type { WatchRules } from './watch_rules.ts'
import { rescreenStep, retainStep, unwatch, watch } from './watches.ts'

const NO_RULES: WatchRules = {
  any_incoming_usd: null,
  severe_share_bp: null,
  severe_usd: null,
  sent_to: false,
}

/** A shop that is watched by rules, in a world with a mixer. */
async function watchByRules(t: TestContext, some: Partial<WatchRules>) {
  const world = await makeScreeningWorld(t)
  const { sql, clock, new_id } = world
  const { generations } = world.process
  world.process.steps.push(
    watchBlocksStep({ sql }),
    rescreenStep({ sql, clock, new_id, generations }),
  )
  const customer_id = await world.customer(10)
  const [mixer, shop, honest] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  await world.settle()
  const rules = { ...NO_RULES, ...some }
  const watches = [{ address: shop.address, reference: 'supplier 17', rules }]
  await sql.begin((tx) => watch(tx, { customer_id, made_at: clock.now(), watches }))
  await world.drain()
  const settle = async () => {
    await world.settle()
    world.now_ms += 61_000
    await world.drain()
  }
  const alerts = async () =>
    (await noted(sql)).flatMap(([type, data]) => (type === 'aml_watch.alert' ? [data] : []))
  return { world, customer_id, mixer, shop, honest, settle, alerts }
}

type Note = { type: string; subject: string; data: string }

/** What customers were told of, but answers. */
async function noted(sql: Sql): Promise<[type: string, data: Record<string, unknown>][]> {
  const notes = await sql<Note>`
    select type, data from event_note where type not like 'aml_check.%'
      and type not in ('customer.created', 'review.opened') and type not like 'deposit.%'
    order by id`
  return notes.map(({ type, data }) => [type, JSON.parse(data) as Record<string, unknown>])
}

test('each address that a customer watches is screened by a check of its own', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock, new_id } = world
  const { generations } = world.process
  world.process.steps.push(rescreenStep({ sql, clock, new_id, generations }))
  const [anna, ben] = [await world.customer(10), await world.customer(10)]
  const [one, other] = [world.person(), world.person()]
  await world.settle()
  const made_at = clock.now()
  const both = [{ address: one.address }, { address: other.address }]
  await sql.begin((tx) => watch(tx, { customer_id: anna, made_at, watches: both }))
  await sql.begin((tx) => watch(tx, { customer_id: ben, made_at, watches: both }))
  await world.drain()
  const watched = await sql<{ agrees: boolean; check_id: string }>`
    select w.check_id, c.address = w.address and c.customer_id = w.customer_id as agrees
    from aml_watch as w join aml_check as c on c.id = w.check_id`
  assert.deepEqual(
    watched.map(({ agrees }) => agrees),
    Array(4).fill(true),
  )
})

test('a watched address is screened again when labels change, at no cost', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock, new_id } = world
  const { generations } = world.process
  world.process.steps.push(rescreenStep({ sql, clock, new_id, generations }))
  const customer_id = await world.customer(10)
  const [thief, shop] = [world.person(), world.person()]
  world.send(thief, shop, 10n * TRX)
  await world.settle()
  await sql.begin((tx) =>
    watch(tx, { customer_id, made_at: clock.now(), watches: [{ address: shop.address }] }),
  )
  await world.drain()
  const first = await checkHistory(sql, { customer_id, page: 1, per_page: 10, state: undefined })
  assert.deepEqual(
    first.checks.map(({ risk_score, supersedes }) => [risk_score, supersedes]),
    [['25.0', null]],
  )
  const since = clock.now()
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.drain()
  const second = await checkHistory(sql, { customer_id, page: 1, per_page: 10, state: undefined })
  assert.deepEqual(second.checks.map(({ risk_score }) => risk_score).sort(), ['100.0', '25.0'])
  assert.equal(
    second.checks.find(({ risk_score }) => risk_score === '100.0')!.supersedes,
    first.checks[0]!.id,
  )
  assert.deepEqual(
    (await levelChanges(sql, since)).map(({ address, from_level, to_level }) => [
      address,
      from_level,
      to_level,
    ]),
    [[shop.address, 'low', 'high']],
  )
  const [[type, { address, risk_level, level_before }]] = (await noted(sql)) as [
    [string, Record<string, unknown>],
  ]
  assert.deepEqual(
    [type, address, risk_level, level_before],
    ['aml_watch.changed', shop.address, 'high', 'low'],
  )
  assert.equal((await noted(sql)).length, 1)
  assert.equal(await spendable(sql, customerAccount(customer_id)), 10n * TRX)
  assert.ok(await sql.begin((tx) => unwatch(tx, { customer_id, address: shop.address })))
  await world.publish('operator', [])
  await world.drain()
  const third = await checkHistory(sql, { customer_id, page: 1, per_page: 10, state: undefined })
  assert.equal(third.total, 2)
})

test('a watched address is screened again when its issuer freezes it', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock, new_id } = world
  const { generations } = world.process
  world.process.steps.push(
    watchBlocksStep({ sql }),
    rescreenStep({ sql, clock, new_id, generations }),
  )
  const customer_id = await world.customer(10)
  const shop = world.person()
  world.sendToken(world.person(), shop, 5_000_000n)
  await world.settle()
  await sql.begin((tx) =>
    watch(tx, { customer_id, made_at: clock.now(), watches: [{ address: shop.address }] }),
  )
  await world.drain()
  const since = clock.now()
  world.freeze(shop, true)
  await world.settle()
  assert.deepEqual(
    (await levelChanges(sql, since)).map(({ address, to_level }) => [address, to_level]),
    [[shop.address, 'high']],
  )
  const { total } = await checkHistory(sql, {
    customer_id,
    page: 1,
    per_page: 10,
    state: undefined,
  })
  assert.equal(total, 2, 'and once only')
})

test('who watches an address is told of its freezes, each once', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock } = world
  world.process.steps.push(watchBlocksStep({ sql }))
  const [anna, bert] = [await world.customer(10), await world.customer(10)]
  const [shop, other] = [world.person(), world.person()]
  for (const customer_id of [anna, bert])
    await sql.begin((tx) =>
      watch(tx, { customer_id, made_at: clock.now(), watches: [{ address: shop.address }] }),
    )
  world.freeze(other, true)
  world.freeze(shop, true)
  await world.settle()
  world.freeze(shop, false)
  await world.settle()
  const told = await sql<Note & { customer_id: string }>`
    select customer_id, type, subject, data from event_note where type like 'freeze.%' order by id`
  const who = [anna, bert].toSorted()
  assert.deepEqual(
    told.map(({ customer_id, type, subject }) => [customer_id, type, subject]),
    ['freeze.executed', 'freeze.lifted'].flatMap((type) =>
      who.map((customer_id) => [customer_id, type, `freeze:${shop.address}`]),
    ),
  )
  const [first] = told.map(({ data }) => JSON.parse(data) as Record<string, unknown>)
  assert.equal(first!.address, shop.address)
  const [block] = await sql<{ number: bigint }>`
    select number from flow_block where number = ${first!.block_number}
      and freezes::text like ${`%${shop.address}%`}`
  assert.ok(block, 'of the block that has it')
})

test('a rescreening that fails for want of an index is made anew, and told', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock, new_id } = world
  const again = rescreenStep({ sql, clock, new_id, generations: world.process.generations })
  const customer_id = await world.customer(10)
  const [thief, shop] = [world.person(), world.person()]
  world.send(thief, shop, 10n * TRX)
  await world.settle()
  await sql.begin((tx) =>
    watch(tx, { customer_id, made_at: clock.now(), watches: [{ address: shop.address }] }),
  )
  await again.run()
  await world.drain()
  const since = clock.now()
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.drain()
  await again.run()
  // Nobody answers for longer than a check waits.
  const node_time_ms = world.now_ms
  world.now_ms += 700_000
  await world.process.steps.find(({ name }) => name === 'fail_late')!.run()
  world.now_ms = node_time_ms
  const failed = await sql<{ error: string }>`select error from aml_check where state = 'failed'`
  assert.deepEqual(failed, [{ error: 'index_stale' }])
  await again.run()
  await world.drain()
  assert.deepEqual(
    (await levelChanges(sql, since)).map(({ from_level, to_level }) => [from_level, to_level]),
    [['low', 'high']],
  )
  assert.equal(await again.run(), false)
})

test('a rescreening under older labels, by a process that lags, is made anew', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock, new_id } = world
  const behind = world.process
  const customer_id = await world.customer(10)
  const [thief, shop] = [world.person(), world.person()]
  world.send(thief, shop, 10n * TRX)
  await world.settle()
  const ahead = world.startProcess()
  await world.publish('operator', [{ address: thief.address, category: 'stolen_coins' }])
  await world.drain(ahead)
  const again = rescreenStep({ sql, clock, new_id, generations: ahead.generations })
  await sql.begin((tx) =>
    watch(tx, { customer_id, made_at: clock.now(), watches: [{ address: shop.address }] }),
  )
  await again.run()
  await behind.steps.find(({ name }) => name === 'screen')!.run()
  await again.run()
  await world.drain(ahead)
  const { checks } = await checkHistory(sql, {
    customer_id,
    page: 1,
    per_page: 10,
    state: undefined,
  })
  assert.deepEqual(checks.map(({ label_set, risk_score }) => [label_set, risk_score]).sort(), [
    [0, '25.0'],
    [1, '100.0'],
  ])
})

test('evidence is deleted when it is older than is to be kept, the check stays', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, clock } = world
  const customer_id = await world.customer()
  const { id } = await world.ask({ customer_id, address: world.person().address })
  const step = retainStep({ sql, clock }, 30)
  assert.equal(await step.run(), false)
  world.now_ms += 31 * 86_400_000
  assert.equal(await step.run(), true)
  assert.deepEqual(await sql`select 1 from aml_evidence where check_id = ${id}`, [])
  assert.equal((await world.check(id)).state, 'completed')
})

test('a transfer to a watched address that is large enough is told, once a block', async (t) => {
  const { world, shop, honest, settle, alerts } = await watchByRules(t, { any_incoming_usd: 100n })
  world.send(honest, shop, 300n * TRX)
  await settle()
  assert.deepEqual(await alerts(), [], '90 dollars')
  const { now_ms } = world
  world.send(honest, shop, 400n * TRX)
  world.send(shop, honest, 900n * TRX)
  const largest = world.sendToken(honest, shop, 150_000_000n)
  await settle()
  const told = await alerts()
  const [tokens] = told.filter(({ transfer }) => (transfer as { asset: string }).asset === 'USDT')
  const { tx_id, usd, amount, counterparty } = tokens!.transfer as Record<string, string>
  assert.deepEqual(
    [tx_id, usd, amount, counterparty],
    [largest, '150.00', '150000000', honest.address],
  )
  assert.deepEqual(
    [tokens!.rule, tokens!.threshold, tokens!.reference, tokens!.address],
    ['any_incoming_usd', '100', 'supplier 17', shop.address],
  )
  assert.equal(told.length, 2, 'two blocks')
  await settle()
  assert.equal((await alerts()).length, 2)
  assert.ok(world.now_ms > now_ms)
})

test('money sent to a severe category, or to who is barred, is told', async (t) => {
  const { world, mixer, shop, honest, settle, alerts } = await watchByRules(t, { sent_to: true })
  const frozen = world.person()
  world.freeze(frozen, true)
  await settle()
  world.send(shop, honest, 5n * TRX)
  world.send(mixer, shop, 5n * TRX)
  await settle()
  assert.deepEqual(await alerts(), [])
  world.send(shop, mixer, 5n * TRX)
  world.send(shop, frozen, 5n * TRX)
  await settle()
  assert.deepEqual(
    (await alerts()).map(({ rule, transfer }) => {
      const { counterparty, category, usd } = transfer as Record<string, string>
      return [rule, counterparty, category, usd]
    }),
    [
      ['sent_to', mixer.address, 'mixer', '1.50'],
      ['sent_to', frozen.address, 'blacklisted', '1.50'],
    ],
  )
})

test('a severe share or amount that crosses its threshold is told each time', async (t) => {
  const rules = { severe_share_bp: 2_000, severe_usd: 30n }
  const { world, customer_id, mixer, shop, honest, settle, alerts } = await watchByRules(t, rules)
  world.send(honest, shop, 900n * TRX)
  world.send(mixer, shop, 99n * TRX)
  await settle()
  assert.deepEqual(await alerts(), [], '9.9 percent, 29 dollars')
  world.send(mixer, shop, 2n * TRX)
  await settle()
  const [by_usd, ...more] = await alerts()
  assert.deepEqual(
    [by_usd!.rule, by_usd!.before, by_usd!.after, more.length],
    ['severe_usd', '29', '30', 0],
  )
  world.send(mixer, shop, 200n * TRX)
  await settle()
  const [, by_share] = await alerts()
  assert.deepEqual([by_share!.rule, by_share!.threshold], ['severe_share', '0.2000'])
  world.send(mixer, shop, 200n * TRX)
  await settle()
  assert.equal((await alerts()).length, 2, 'it was above both already')
  // A rule that is made stricter is asked anew.
  const made_at = world.clock.now()
  const stricter = { ...NO_RULES, ...rules, severe_share_bp: 3_000 }
  const watches = [{ address: shop.address, rules: stricter }]
  assert.equal(await world.sql.begin((tx) => watch(tx, { customer_id, made_at, watches })), 0)
  await world.drain()
  const again = (await alerts()).slice(2).map(({ rule, threshold }) => [rule, threshold])
  assert.deepEqual(again, [
    ['severe_share', '0.3000'],
    ['severe_usd', '30'],
  ])
})
