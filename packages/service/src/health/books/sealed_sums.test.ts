import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { check, sender, subscribe, wanted } from 'penstock-test/harness/subscribers.ts'
import { keepMore, withoutTriggers } from 'penstock-test/harness/without_triggers.ts'
import { type Customer, makeWorld, TRX, type World } from 'penstock-test/harness/world.ts'
import type { Transport } from '../../chain/node/node.ts'
import { accountSums } from '../../ledger/accounts/books.ts'
import { sealStep } from '../../ledger/accounts/journal.ts'
import {
  findSumsSeal,
  keepSums,
  type SumsSeal,
  sumsAtNewestSeal,
  sumsFromSeal,
} from '../../ledger/accounts/sealed_sums.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { foundByBoth, lookAtBooks, type RuleReport } from './books.ts'
import { chainView } from './chain.ts'
import { readFindings, watchBooksStep } from './watch.ts'

const DAY_SECONDS = 86_400
/** Longer than a whole check may take to be made each time. */
const LONG_MS = 100_000

const sealAll = async ({ sql, now }: World) => {
  const step = sealStep({ sql, clock: { now: () => now } })
  while (await step.run());
}

/** A world with a ledger, sealed, whose last whole check held and took long. */
async function worldWithSeal(t: TestContext): Promise<{ world: World; anna: Customer }> {
  const world = await makeWorld(t, { forges: true })
  const anna = await world.customer({ trx: 100 })
  for (const name of ['bob', 'carl']) await anna.buyEnergy(world.person(name, 1).address, 65_000)
  await world.settle()
  await sealAll(world)
  const sealed = await world.sql.begin((tx) => sumsAtNewestSeal(tx))
  await world.sql.begin((tx) => keepSums(tx, sealed!, { took_ms: LONG_MS, at: world.now }))
  return { world, anna }
}

const seal = async (world: World): Promise<SumsSeal> => (await findSumsSeal(world.sql))!

/** `C2 customer:x`, by a check that goes on from the seal, or by a whole one. */
async function broken(world: World, whole: 'whole' | 'continued'): Promise<string[]> {
  const from = whole === 'whole' ? undefined : await seal(world)
  const reports = await lookAtBooks({ sql: world.sql, chain: undefined }, { from })
  const rules = reports.filter(({ state }) => state === 'broken')
  return [
    ...new Set(rules.flatMap((one) => one.findings.map(({ subject }) => `${one.rule} ${subject}`))),
  ]
}

test('sums that go on from a seal are those that everything comes to', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  const both = async () => {
    const kept = await seal(world)
    return world.sql.begin(async (tx) => [await sumsFromSeal(tx, kept), await accountSums(tx)])
  }
  const [at_seal, all] = await both()
  assert.deepEqual(at_seal, all)
  // Holds from before the seal end after it, and new ones begin.
  const order = await anna.buyEnergy(world.person('dora', 1).address, 65_000)
  const open = await both()
  assert.deepEqual(open[0], open[1])
  assert.ok(open[0]!.some(({ held_sun }) => held_sun > 0n))
  await sealAll(world)
  const sealed = await world.sql.begin((tx) => sumsAtNewestSeal(tx))
  await world.sql.begin((tx) => keepSums(tx, sealed!, { took_ms: LONG_MS, at: world.now }))
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  const over = await both()
  assert.deepEqual(over[0], over[1])
  assert.deepEqual(await broken(world, 'continued'), [])
  assert.deepEqual(await broken(world, 'whole'), [])
})

test('what is wrong since the seal is found at once', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  const account = `customer:${anna.id}`
  await keepMore(world.sql, account, 1n)
  assert.ok((await broken(world, 'continued')).includes(`C2 ${account}`))
  await keepMore(world.sql, account, -1n)
  assert.deepEqual(await broken(world, 'continued'), [])
  await anna.buyEnergy(world.person('dora', 1).address, 65_000)
  await world.settle()
  await sealAll(world)
  const { last_entry } = await seal(world)
  await withoutTriggers(
    world.sql,
    (tx) => tx`
    update transfer set amount_sun = amount_sun - 1 where number > ${last_entry}
      and kind = 'capture'`,
  )
  const found = await broken(world, 'continued')
  assert.ok(found.includes(`C2 ${account}`), `${found}`)
  assert.ok(
    found.some((one) => /^C10 seal \d+$/.test(one)),
    `${found}`,
  )
  const anew = (sun: number, units: number) =>
    withoutTriggers(world.sql, async (tx) => {
      await tx`
        update transfer set amount_sun = amount_sun + ${sun} where number > ${last_entry}
          and kind = 'capture'`
      await tx`update delegation set amount = amount + ${units} where state = 'active'`
    })
  // An order of today that was not delivered in full is looked at, too.
  await anew(1, -1)
  assert.ok((await broken(world, 'continued')).some((one) => one.startsWith('C5 ')))
  await anew(0, 1)
  assert.deepEqual(await broken(world, 'continued'), [])
})

test('a second look is at what did not hold at the first, and at nothing else', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  const account = `customer:${anna.id}`
  const from = await seal(world)
  const sources = { sql: world.sql, chain: undefined }
  const namesOf = (reports: Awaited<ReturnType<typeof lookAtBooks>>) =>
    reports.filter(({ state }) => state === 'broken').map(({ rule }) => rule)
  await keepMore(world.sql, account, 1n)
  const first = await lookAtBooks(sources, { from })
  assert.deepEqual(namesOf(first), ['C2', 'C7'])
  assert.deepEqual(namesOf(await lookAtBooks(sources, { from, looked: first })), ['C2', 'C7'])
  // What breaks in between is for the next check: it would have to be found twice by that.
  await withoutTriggers(
    world.sql,
    (tx) => tx`update delegation set amount = amount - 1 where state = 'active'`,
  )
  assert.deepEqual(namesOf(await lookAtBooks(sources, { from, looked: first })), ['C2', 'C7'])
  await keepMore(world.sql, account, -1n)
  assert.deepEqual(namesOf(await lookAtBooks(sources, { from, looked: first })), [])
  assert.ok(namesOf(await lookAtBooks(sources, { from })).includes('C5'))
})

test('sealed sums that were changed are found at once, and so is another journal', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  const account = `customer:${anna.id}`
  await world.sql`update sealed_sum set posted_sun = posted_sun + 1 where account = ${account}`
  assert.ok((await broken(world, 'continued')).includes('C10 sealed sums'))
  await world.sql`update sealed_sum set posted_sun = posted_sun - 1 where account = ${account}`
  assert.deepEqual(await broken(world, 'continued'), [])
  const { number } = await seal(world)
  await withoutTriggers(
    world.sql,
    (tx) => tx`
    update journal set sha256 = repeat('0', 64) where number = ${number}`,
  )
  assert.ok((await broken(world, 'continued')).includes('C10 sealed sums'))
})

test('a forged entry before the seal, with sums that fit, is found by a whole look', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  const account = `customer:${anna.id}`
  const at = { took_ms: LONG_MS, at: world.now }
  // Whoever may do everything writes an entry, the balance, the sums and their digest.
  await withoutTriggers(world.sql, async (tx) => {
    await tx`
      update transfer set amount_sun = amount_sun + 1000000 where id = (
        select id from transfer where credit = ${account} and kind = 'move'
        order by number limit 1)`
    await tx`update account set posted_sun = posted_sun + 1000000 where id = ${account}`
    const sealed = await sumsAtNewestSeal(tx)
    await keepSums(tx, sealed!, at)
  })
  const continued = await broken(world, 'continued')
  assert.ok(!continued.some((one) => /^C(1|2|3|10) /.test(one)), `${continued}`)
  const whole = await broken(world, 'whole')
  assert.ok(
    whole.some((one) => /^C10 seal \d+$/.test(one)),
    `${whole}`,
  )
  // Sums alone that nothing comes to are named, too, by the whole check.
  const { world: other, anna: olga } = await worldWithSeal(t)
  const sealed = await other.sql.begin((tx) => sumsAtNewestSeal(tx))
  const sums = sealed!.sums.map((one) =>
    one.id === `customer:${olga.id}` ? { ...one, posted_sun: one.posted_sun + 1n } : one,
  )
  await other.sql.begin((tx) => keepSums(tx, { ...sealed!, sums }, at))
  assert.ok((await broken(other, 'whole')).includes('C10 sealed sums'))
  assert.ok((await broken(other, 'continued')).includes(`C2 customer:${olga.id}`))
})

/** The rules that say something of an order that was sold for less than its price, and of one that
 *  cost more than its quote said, by a check that goes on from a seal kept `days` later. */
async function soldWrong(t: TestContext, days: number) {
  const world = await makeWorld(t, { forges: true })
  const anna = await world.customer({ trx: 100 })
  const order = await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  const quoted = await anna.buyEnergy(world.person('carl', 1).address, 65_000)
  await world.settle()
  await sealAll(world)
  await world.sql`
    insert into quote (id, customer_id, service, address, energy, bandwidth, activate, amount_sun,
      fee_sun, made_at, expires_at)
    select 'quote', customer_id, service, address, energy, bandwidth, activate, amount_sun, fee_sun,
      created_at, created_at + interval '1 minute' from orders where id = ${quoted.id}`
  await world.sql`update orders set quote_id = 'quote' where id = ${quoted.id}`
  const sealed = await world.sql.begin((tx) => sumsAtNewestSeal(tx))
  const at = new Date(world.now.getTime() + days * DAY_SECONDS * 1_000)
  await world.sql.begin((tx) => keepSums(tx, sealed!, { took_ms: LONG_MS, at }))
  const found = async (whole: 'whole' | 'continued') =>
    (await broken(world, whole)).filter((one) => /^C1[57] /.test(one)).sort()
  assert.deepEqual([await found('continued'), await found('whole')], [[], []])
  await withoutTriggers(world.sql, async (tx) => {
    await tx`update orders set amount_sun = 1 where id = ${order.id}`
    await tx`update quote set amount_sun = amount_sun - 1`
  })
  return { found, wrong: [`C15 ${quoted.id}`, `C17 ${order.id}`] }
}

test('a price or a quote that an order of the last days was not sold by is found', async (t) => {
  const { found, wrong } = await soldWrong(t, 1)
  assert.deepEqual(await found('continued'), wrong)
  assert.deepEqual(await found('whole'), wrong)
})

test('of older orders prices and quotes are looked at again by a whole check', async (t) => {
  const { found, wrong } = await soldWrong(t, 3)
  assert.deepEqual(await found('continued'), [])
  assert.deepEqual(await found('whole'), wrong)
})

/** A fault (1), its mend (-1), and the rule that finds it. */
type Forgery = { wrong(tx: Tx, by: number): Promise<unknown>; found: RegExp }
const FORGED: Record<string, Forgery> = {
  'an order that was charged for less than it cost': {
    wrong: (tx, by) => tx`
      update orders set amount_sun = amount_sun + ${by} where service = 'energy'
        and customer_id <> 'direct_recharge'`,
    found: /^C4 order:/,
  },
  'a refund whose fee is more than was kept': {
    wrong: (tx, by) => tx`
      update transfer set amount_sun = amount_sun + ${by} where id like 'refund_fee:%'`,
    found: /^C4 refund_fee:/,
  },
  'a deposit of more than was booked': {
    wrong: (tx, by) => tx`update deposit set amount_sun = amount_sun + ${by}`,
    found: /^C6 deposit:/,
  },
  'an order that was told of as another one': {
    wrong: (tx, by) => tx`
      update event set subject = case ${by}::int when 1 then 'x' || subject
        else substr(subject, 2) end where type = 'order.succeeded'`,
    found: /^C14 order:/,
  },
  'a summary of more than was spent': {
    wrong: (tx, by) => tx`update summary set spent_sun = spent_sun + ${by}`,
    found: /^C16 summary /,
  },
}

/** A world in which everything of FORGED is there, sealed, and known by a whole check `days`
 *  later. */
async function worldOfDays(t: TestContext, days: number): Promise<World> {
  const { world, anna } = await worldWithSeal(t)
  world.pay(world.recharge.address, 1n * TRX)
  await world.settle()
  await world.solidify()
  await anna.buyEnergy(world.person('dora', 1).address, 65_000)
  await world.settle()
  await world.solidify()
  await world.advance(2 * 3_600)
  await world.settle()
  await world.solidify()
  await world.settle()
  await world.solidify()
  await sealAll(world)
  const sealed = await world.sql.begin((tx) => sumsAtNewestSeal(tx))
  const at = new Date(world.now.getTime() + days * DAY_SECONDS * 1_000)
  await world.sql.begin((tx) => keepSums(tx, sealed!, { took_ms: LONG_MS, at }))
  return world
}

for (const [days, when, found_by] of [
  [0, 'of the last days is found by a check that goes on', ['continued', 'whole']],
  [4, 'from before is found by the whole check, and by no other', ['whole']],
] as const)
  test(`what is forged ${when}`, async (t) => {
    const world = await worldOfDays(t, days)
    for (const [what, { wrong, found }] of Object.entries(FORGED)) {
      const looks = ['continued', 'whole'] as const
      const finds = async () => {
        const all = [await broken(world, 'continued'), await broken(world, 'whole')]
        return looks.filter((_, i) => all[i]!.some((one) => found.test(one)))
      }
      await withoutTriggers(world.sql, (tx) => wrong(tx, 1))
      assert.deepEqual(await finds(), found_by, what)
      await withoutTriggers(world.sql, (tx) => wrong(tx, -1))
      assert.deepEqual(await finds(), [], `${what}, taken back`)
    }
    assert.deepEqual(await broken(world, 'continued'), [])
    assert.deepEqual(await broken(world, 'whole'), [])
  })

test('whatever an entry after the seal is about is looked at, however old it is', async (t) => {
  const world = await worldOfDays(t, 4)
  const [{ id } = { id: '' }] = await world.sql<{ id: string }>`
    select id from transfer where kind = 'hold' order by number limit 1`
  const [{ tx_id } = { tx_id: '' }] = await world.sql<{ tx_id: string }>`
    select tx_id from deposit where customer_id is not null limit 1`
  // Somebody books an old deposit anew, under another place, and sets aside for an old order.
  await withoutTriggers(world.sql, async (tx) => {
    await tx`
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      select ${`deposit:${tx_id}/7`}, 'move', 'world', debit, 5, now()
      from transfer where id = ${id}`
    await tx`
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      select ${`${id}x`}, 'hold', debit, credit, amount_sun, now() from transfer where id = ${id}`
  })
  const found = await broken(world, 'continued')
  assert.ok(found.includes(`C6 deposit:${tx_id}/7`), `${found}`)
  assert.ok(found.includes(`C4 ${id}x`), `${found}`)
  await withoutTriggers(
    world.sql,
    (tx) => tx`
    delete from transfer where id in (${`deposit:${tx_id}/7`}, ${`${id}x`})`,
  )
})

test('an old hold that ended after the seal is looked at with its end', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  const [runs, stopped] = [
    await subscribe(world, anna, wanted(sender(world, 'erin').address)),
    await subscribe(world, anna, wanted(sender(world, 'fay').address)),
  ]
  const order = await anna.buyEnergy(world.person('dora', 1).address, 65_000)
  await sealAll(world)
  const sealed = await world.sql.begin((tx) => sumsAtNewestSeal(tx))
  const at = new Date(world.now.getTime() + 4 * DAY_SECONDS * 1_000)
  await world.sql.begin((tx) => keepSums(tx, sealed!, { took_ms: LONG_MS, at }))
  await anna.get('/v1/subscription/stop', { id: stopped.id })
  await world.settle()
  assert.equal((await anna.check(order.id)).status, 'success')
  assert.equal((await check(anna, runs.id)).status, 'active')
  assert.deepEqual(await broken(world, 'continued'), [], 'also of what runs since before the seal')
  // Nothing that came after the seal is about the hold of the one that runs.
  const running = `subscription:${runs.id}`
  const keepHold = (by: number) =>
    withoutTriggers(
      world.sql,
      (tx) => tx`
        update transfer set amount_sun = amount_sun + ${by}
        where ${running} in (id, hold_id)`,
    )
  await keepHold(1)
  for (const look of ['continued', 'whole'] as const)
    assert.ok((await broken(world, look)).includes(`C4 ${running}`), look)
  await keepHold(-1)
  const hold = `order:${order.id}`
  const capture = `${hold}/capture`
  for (const [what, forge] of [
    [
      'less was taken than was held',
      (tx: Tx, by: number) => tx`
        update transfer set amount_sun = amount_sun - ${by} where id = ${capture}`,
    ],
    [
      'more was held than it costs',
      (tx: Tx, by: number) => tx`
        update transfer set amount_sun = amount_sun + ${by} where id in (${hold}, ${capture})`,
    ],
    [
      'it was given back and delivered',
      (tx: Tx, by: number) => tx`
        update transfer set kind = case ${by}::int when 1 then 'release' else 'capture' end
        where id = ${capture}`,
    ],
  ] as const) {
    await withoutTriggers(world.sql, (tx) => forge(tx, 1))
    for (const look of ['continued', 'whole'] as const)
      assert.ok((await broken(world, look)).includes(`C4 ${hold}`), `${what}, ${look}`)
    await withoutTriggers(world.sql, (tx) => forge(tx, -1))
    assert.deepEqual(await broken(world, 'continued'), [], `${what}, taken back`)
  }
})

test('a long check is whole once a day, and goes on from its seal in between', async (t) => {
  const world = await makeWorld(t, { forges: true })
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await sealAll(world)
  const step = watchBooksStep({ sql: world.sql, chain: undefined, clock: { now: () => world.now } })
  const look = async () => {
    await world.sql`update books_check set due_at = ${world.now}`
    assert.equal(await step.run(), true)
  }
  await look()
  const first = await seal(world)
  // It was quick: the next one is whole, too.
  world.wait(1_000)
  await look()
  const second = await seal(world)
  assert.ok(second.made_at > first.made_at)
  await world.sql`update sums_seal set took_ms = ${LONG_MS}`
  world.wait(60)
  await look()
  const third = await seal(world)
  assert.ok(third.made_at > second.made_at, 'few entries are always looked at')
  await world.sql`select setval('transfer_number_seq', 600000)`
  await world.sql`update sums_seal set took_ms = ${LONG_MS}`
  world.wait(60)
  await look()
  assert.deepEqual((await seal(world)).made_at, third.made_at, 'it went on from the seal')
  world.wait(DAY_SECONDS)
  await look()
  assert.ok((await seal(world)).made_at > third.made_at, 'a new day')
})

test('a second look that goes on asks the chain only when it was not whole before', async (t) => {
  const { world, anna } = await worldWithSeal(t)
  let requests = 0
  let answers = true
  const transport: Transport = async ({ url, body }) => {
    requests += 1
    if (!answers) throw new Error('ECONNREFUSED')
    return world.scene.devchain.request('POST', new URL(url).pathname, body)
  }
  const chain = chainView([{ url: 'http://devchain' }], transport)
  const step = watchBooksStep({ sql: world.sql, clock: { now: () => world.now }, chain })
  const asked = async () => {
    requests = 0
    world.wait(15)
    assert.equal(await step.run(), true)
    return requests
  }
  const found = async () => (await readFindings(world.sql, { limit: 9 })).listed
  assert.ok((await asked()) > 0)
  await world.sql`select setval('transfer_number_seq', 600000)`
  await world.sql`update sums_seal set took_ms = ${LONG_MS}, made_at = ${world.now}`
  await keepMore(world.sql, `customer:${anna.id}`, 1n)
  await world.sql`update books_check set due_at = ${world.now}`
  assert.ok((await asked()) > 0)
  assert.deepEqual(await found(), [])
  assert.equal(await asked(), 0)
  assert.deepEqual(
    (await found()).map(({ rule }) => rule),
    ['C2', 'C7'],
  )
  await world.sql`update books_check set due_at = ${world.now}`
  answers = false
  assert.ok((await asked()) > 0)
  answers = true
  assert.ok((await asked()) > 0)
  await keepMore(world.sql, `customer:${anna.id}`, -1n)
})

test('what no node said at a first look is not found, and not gone, at a second', async (t) => {
  const { world } = await worldWithSeal(t)
  const reports = await lookAtBooks({ sql: world.sql, chain: undefined })
  const rule = { rule: 'C8', says: 'x', stops_selling: true, note: null }
  const of = (state: 'not checked' | 'broken', subjects: string[]) => [
    ...reports,
    { ...rule, state, findings: subjects.map((subject) => ({ subject, found: 'y' })) },
  ]
  const states = (first: RuleReport[], second: RuleReport[]) =>
    foundByBoth(first, second).map(({ state, findings }) => [state, findings.length])
  const [unknown, broken] = [of('not checked', []), of('broken', ['z'])]
  assert.deepEqual(states(unknown, broken).at(-1), ['not checked', 0])
  assert.deepEqual(states(broken, unknown).at(-1), ['not checked', 0])
  assert.deepEqual(states(broken, broken).at(-1), ['broken', 1])
})
