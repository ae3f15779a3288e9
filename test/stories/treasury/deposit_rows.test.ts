// Rows of deposits, just inside and just outside of each filter and each query: what operators look
// up, what is screened, and what a policy that is tried would hold.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { MoneyReading } from 'penstock-service/screening/engine/money.ts'
import {
  judgedPolicy,
  type Policy,
  publishPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { listDeposits, showDeposits } from 'penstock-service/treasury/deposits/deposit_lookup.ts'
import {
  BLOCKED,
  findRecharges,
  HIGH_RISK,
  rechargesFrom,
} from 'penstock-service/treasury/deposits/deposits.ts'
import { findResolutions } from 'penstock-service/treasury/deposits/resolutions.ts'
import {
  findScreenings,
  noteScreenings,
  screenDepositsStep,
  screeningsAt,
} from 'penstock-service/treasury/deposits/screenings.ts'
import { tryOnDeposits } from 'penstock-service/treasury/deposits/tried_policies.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { freshDatabase } from '../../harness/database.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 12, minute))
const clock = { now: () => at(60) }
const [ours, theirs] = [person('ours').address, person('theirs').address]

type Row = {
  tx_id: string
  position?: number
  customer?: string | null
  state?: string
  from?: string
  minute?: number
  block?: number
  solid?: boolean
  reason?: string | null
}

const add = (sql: Sql, row: Row) => {
  const { tx_id, position = 0, customer = null, state = 'received', from = theirs } = row
  const { minute = 0, block = 1, solid = true, reason = null } = row
  return sql`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
      block_time, customer_id, state, reason, solid_at, due_at, seen_at)
    values (${tx_id}, ${position}, ${from}, ${ours}, 5000000, ${block}, ${at(minute)}, ${customer},
      ${state}, ${reason}, ${solid ? at(minute) : null}, ${at(minute)}, ${at(minute)})`
}

/** A database with rows. */
async function withRows(t: TestContext, rows: readonly Row[]): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  for (const row of rows) await add(sql, row)
  return sql
}

test('deposits are listed newest first, by each filter alone, an end left out', async (t) => {
  const sql = await withRows(t, [
    { tx_id: 'a', block: 1, minute: 1, customer: 'anna' },
    { tx_id: 'b', block: 2, minute: 2, customer: 'bert', from: ours },
    { tx_id: 'c', block: 3, minute: 3, state: 'seen' },
  ])
  const ids = async (wanted: Omit<Parameters<typeof listDeposits>[1], 'limit'>, limit = 9) =>
    (await listDeposits({ sql, clock }, { ...wanted, limit })).map(({ tx_id }) => tx_id).join('')
  assert.equal(await ids({}), 'cba')
  assert.equal(await ids({}, 2), 'cb')
  assert.equal(await ids({ customer: 'bert' }), 'b')
  assert.equal(await ids({ state: 'seen' }), 'c')
  assert.equal(await ids({ from: ours }), 'b')
  assert.equal(await ids({ since: at(2) }), 'cb')
  assert.equal(await ids({ until: at(2) }), 'a')
  assert.equal(await ids({ since: at(1), until: at(3) }), 'ba')
  assert.equal(await ids({ customer: 'anna', state: 'seen' }), '')
})

test('what is shown of a transaction is of that one alone', async (t) => {
  const sql = await withRows(t, [
    { tx_id: 'one', state: 'held', reason: 'why', customer: 'anna' },
    { tx_id: 'one', position: -1, state: 'held', reason: 'why' },
    { tx_id: 'two', state: 'held', reason: 'why' },
    { tx_id: 'bare' },
  ])
  for (const id of ['one', 'two']) {
    await sql`
      insert into attempt (id, subject, contract, send_at, made_at)
      values (${`refund of ${id}`}, ${id}, '{}', ${at(0)}, ${at(0)})`
    await sql`
      update deposit set refund_id = ${`refund of ${id}`} where tx_id = ${id} and position = 0`
    for (const kind of ['deposit', 'resolution'])
      await sql`
        insert into transfer (id, kind, debit, credit, amount_sun, made_at)
        values (${`${kind}:${id}`}, 'move', 'world', 'held_deposits', 5, ${at(0)})`
    await sql`
      insert into deposit_resolution (tx_id, position, way, made_at, made_by, reason)
      values (${id}, 0, 'written_off', ${at(0)}, 'olga', ${id})`
    await sql`
      insert into deposit_screening (tx_id, position, block_number, queued_at)
      values (${id}, 0, 1, ${at(0)})`
  }
  for (const id of ['one', 'two']) {
    const shown = await showDeposits(sql, id)
    assert.deepEqual([shown.tx_id, shown.refund?.id], [id, `refund of ${id}`])
    assert.deepEqual(
      shown.entries.map((one) => one.id),
      [`deposit:${id}`, `resolution:${id}`],
    )
    assert.deepEqual(
      shown.resolutions.map(({ reason }) => reason),
      [id],
    )
    assert.deepEqual(
      shown.screenings.map(({ tx_id }) => tx_id),
      [id],
    )
  }
  assert.equal((await showDeposits(sql, 'one')).further.length, 1)
  const bare = await showDeposits(sql, 'bare')
  assert.deepEqual([bare.refund, bare.resolutions, bare.screenings], [null, [], []])
  assert.deepEqual(bare.entries, [])
  await assert.rejects(showDeposits(sql, 'none'), /No deposit came with the transaction none/)
  assert.deepEqual(await findResolutions(sql, 'none'), [])
})

test('of an address are listed its payments to us since a moment, and no others', async (t) => {
  const sql = await withRows(t, [
    { tx_id: 'early', minute: 1 },
    { tx_id: 'since', minute: 2, block: 2 },
    { tx_id: 'later', minute: 3, block: 3 },
    { tx_id: 'other', minute: 3, from: ours },
    { tx_id: 'customer', minute: 3, customer: 'anna' },
    { tx_id: 'since', position: -1, minute: 3, customer: 'anna' },
  ])
  const found = await rechargesFrom(sql, { from: theirs, since: at(2), limit: 9 })
  assert.deepEqual(
    found.map(({ tx_id }) => tx_id),
    ['later', 'since'],
  )
  assert.deepEqual(
    (await findRecharges(sql, 'since')).map(({ position }) => position),
    [0],
    'what came to a customer is not looked up there',
  )
})

const reading = (more: Partial<MoneyReading> = {}): MoneyReading => ({
  generation: 1,
  label_set: 1,
  policy: 1,
  risk_score: '10',
  risk_level: 'low',
  severe_share: '0.0000',
  severe_usd: '0.00',
  factors: [],
  floors: [],
  ...more,
})

/** An index that knows blocks up to the 10th, and what its own transactions carried. */
function indexOf(levels: Record<string, MoneyReading['risk_level']>, policies: string[] = []) {
  return {
    height: () => 10,
    read: async (_: unknown, policy: Policy, money: readonly { tx_id: string }[]) =>
      money.map(({ tx_id }) => {
        const risk_level = levels[tx_id]
        return risk_level && reading({ risk_level, policy: policy.version })
      }),
    ways: async (policy: Policy, money: readonly { tx_id: string }[]) =>
      money.map(({ tx_id }) => {
        policies.push(`${tx_id} by ${policy.version}`)
        return [{ category: tx_id, steps: [] }]
      }),
  }
}

const queue = (sql: Sql, places: readonly Row[]) =>
  sql.begin((tx) =>
    noteScreenings(
      tx,
      places.map(({ tx_id, position = 0, block = 1 }) => ({
        tx_id,
        position,
        block_number: block,
      })),
      at(0),
    ),
  )

test('a deposit is screened when the index has its block, with ways when booked', async (t) => {
  const rows: [row: Row, level: 'low' | 'high' | undefined, ends: unknown[]][] = [
    [{ tx_id: 'known', block: 10 }, 'high', ['high', 1]],
    [{ tx_id: 'clean', block: 10 }, 'low', ['low', 0]],
    [{ tx_id: 'held', block: 10, state: 'held', reason: 'why' }, 'low', ['low', 1]],
    [{ tx_id: 'unknown', block: 10, state: 'held', reason: 'why' }, undefined, [undefined, 0]],
    [{ tx_id: 'beyond', block: 11 }, 'high', ['queued', 'none']],
    [{ tx_id: 'open', block: 10, solid: false }, 'high', ['high', 'none']],
  ]
  for (const [row, level, ends] of rows) {
    const sql = await withRows(t, [row])
    await queue(sql, [row])
    const step = screenDepositsStep({ sql, clock, money: indexOf({ [row.tx_id]: level! }) })
    assert.equal(await isDue(sql, step), row.tx_id !== 'beyond', row.tx_id)
    assert.equal(await step.run(), row.tx_id !== 'beyond', row.tx_id)
    const [found] = await findScreenings(sql, row.tx_id)
    const { screened_at, reading: kept, ways } = found!
    assert.deepEqual(
      [screened_at ? kept?.risk_level : 'queued', ways?.length ?? 'none'],
      ends,
      row.tx_id,
    )
    assert.equal(await isDue(sql, step), false, `${row.tx_id}: once is enough`)
    assert.equal(await step.run(), false, row.tx_id)
    if (row.tx_id !== 'open') continue
    await sql`update deposit set solid_at = ${at(1)}`
    assert.equal(await isDue(sql, step), true, 'booked')
    assert.equal(await step.run(), true)
    assert.equal((await findScreenings(sql, 'open'))[0]!.ways!.length, 1)
    assert.equal(await isDue(sql, step), false)
  }
})

test('what was screened is looked at with ways once the index has come to its block', async (t) => {
  const sql = await withRows(t, [{ tx_id: 'one', block: 11 }])
  await sql.begin((tx) =>
    noteScreenings(
      tx,
      [{ tx_id: 'one', position: 0, block_number: 11, reading: reading({ risk_level: 'high' }) }],
      at(3),
    ),
  )
  const [noted] = await findScreenings(sql, 'one')
  assert.deepEqual([noted!.screened_at, noted!.reading!.risk_level], [at(3), 'high'])
  const money = indexOf({ one: 'low' })
  const step = screenDepositsStep({ sql, clock, money })
  assert.deepEqual([await isDue(sql, step), await step.run()], [false, false])
  const grown = screenDepositsStep({ sql, clock, money: { ...money, height: () => 11 } })
  assert.deepEqual([await isDue(sql, grown), await grown.run()], [true, true])
  const [found] = await findScreenings(sql, 'one')
  assert.deepEqual([found!.screened_at, found!.ways!.length], [at(3), 1], 'and not read anew')
})

test('each of several deposits keeps the findings about itself', async (t) => {
  const rows: Row[] = [
    { tx_id: 'a' },
    { tx_id: 'a', position: -1, block: 99 },
    { tx_id: 'b' },
    { tx_id: 'c', block: 99 },
  ]
  const sql = await withRows(t, rows)
  await queue(sql, rows)
  const step = screenDepositsStep({ sql, clock, money: indexOf({ a: 'high', b: 'medium' }) })
  assert.equal(await step.run(), true)
  const found = []
  for (const tx_id of ['a', 'b', 'c'])
    for (const one of await findScreenings(sql, tx_id))
      found.push([tx_id, one.position, one.reading?.risk_level, one.ways?.[0]?.category])
  assert.deepEqual(found, [
    ['a', -1, undefined, undefined],
    ['a', 0, 'high', 'a'],
    ['b', 0, 'medium', 'b'],
    ['c', 0, undefined, undefined],
  ])
  const places = [
    { tx_id: 'a', position: 0 },
    { tx_id: 'b', position: -1 },
  ]
  const read = await sql.begin((tx) => screeningsAt(tx, places))
  assert.deepEqual([...read.keys()], ['a'])
  const one = await sql.begin((tx) => screeningsAt(tx, [{ tx_id: 'b', position: 0 }]))
  assert.equal(one.get('b')!.reading!.risk_level, 'medium')
})

test('the ways of money are looked for by the policy that it was read by', async (t) => {
  const rows = ['old', 'new'].map((tx_id) => ({ tx_id }))
  const sql = await withRows(t, rows)
  await sql.begin((tx) =>
    publishPolicy(tx, { body: SHIPPED_POLICY, published_by: 'test', published_at: at(0) }),
  )
  for (const [i, { tx_id }] of rows.entries()) {
    const read = reading({ risk_level: 'high', policy: i + 1 })
    const place = { tx_id, position: 0, block_number: 1 }
    await sql.begin((tx) => noteScreenings(tx, [{ ...place, reading: read }], at(0)))
  }
  const policies: string[] = []
  await screenDepositsStep({ sql, clock, money: indexOf({}, policies) }).run()
  assert.deepEqual(policies.sort(), ['new by 2', 'old by 1'])
})

const dirty = reading({
  risk_level: 'high',
  factors: [{ category: 'mixer', share: '1.0000', usd: '9000.00', direct_usd: '9000.00' }],
})

test('a policy that is tried counts what it would hold of what was found out', async (t) => {
  const rows: [row: Row, read: MoneyReading | undefined][] = [
    [{ tx_id: 'early', minute: 1 }, dirty],
    [{ tx_id: 'barred', minute: 2, state: 'held', reason: BLOCKED }, reading()],
    [{ tx_id: 'risky', minute: 3, state: 'held', reason: HIGH_RISK }, dirty],
    [{ tx_id: 'passed', minute: 3 }, dirty],
    [{ tx_id: 'clean', minute: 3 }, reading()],
    [{ tx_id: 'token', minute: 3, state: 'held', reason: 'a token that is not TRX' }, reading()],
    [{ tx_id: 'unread', minute: 3 }, undefined],
  ]
  const sql = await withRows(
    t,
    rows.map(([row]) => row),
  )
  for (const [{ tx_id }, read] of rows) {
    const place = { tx_id, position: 0, block_number: 1, reading: read }
    await sql.begin((tx) => noteScreenings(tx, [place], at(4)))
  }
  const trial = (hold_deposits_from: Policy['hold_deposits_from']) => {
    const { version: _, ...body } = SHIPPED_POLICY
    const policy = judgedPolicy({ ...body, hold_deposits_from }, 9)
    return tryOnDeposits(sql, { policy, since: at(2) })
  }
  const before = 2
  assert.deepEqual(await trial('none'), { deposits: 5, held: { before, after: 0 } })
  assert.deepEqual(await trial('blacklisted'), { deposits: 5, held: { before, after: 1 } })
  assert.deepEqual(await trial('high'), { deposits: 5, held: { before, after: 3 } })
})
