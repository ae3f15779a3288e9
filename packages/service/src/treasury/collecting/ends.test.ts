// Transfers of collections from when they are made to their ends, and where the money lies: rows
// that are just inside and just outside of what each question asks for.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import {
  addCustomer,
  addDeposit,
  addOutflow,
  at,
  type BriefTransfer,
  insertTransfers,
  now,
  payers,
  safe,
} from 'penstock-test/harness/collecting_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { pack } from '../../chain/follow/contents.ts'
import type { Node } from '../../chain/node/node.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { BLOCKED } from '../deposits/deposits.ts'
import {
  buryTransfers,
  endTransfer,
  findCollection,
  listCollections,
  postponeTransfers,
  transfersWithBytes,
} from './collections.ts'
import { askForEnergy } from './energy.ts'
import { collectedSums, leftOtherwise, tokenPlaces, trxPlaces } from './places.ts'
import { collectedStep, expireStep } from './settling.ts'

const clock = { now: () => now }
const end = (sql: Sql, tx_id: string, moved: bigint, fee_sun = 0n) =>
  sql.begin((tx) => endTransfer(tx, { tx_id, moved, fee_sun, block_number: 7n }, at(9)))

const statesOf = async (sql: Sql) => {
  const rows = await sql<{ tx_id: string; state: string }>`
    select tx_id, state from collection_transfer order by tx_id`
  return rows.map(({ tx_id, state }) => `${tx_id} ${state}`)
}

test('a transfer ends once, with entries of what it moved and of what was taken', async (t) => {
  const { sql } = await freshDatabase(t)
  const transfers = payers.map((from, i): BriefTransfer => ({ tx_id: `t${i}`, from }))
  transfers[4] = { ...transfers[4]!, token: USDT, energy: 1, amount: 9n }
  assert.equal(await insertTransfers(sql, 'c', transfers), 6)
  assert.equal(await insertTransfers(sql, 'c', transfers), 0, 'it is there')
  assert.equal(await end(sql, 't0', 1n, 1n), true)
  assert.equal(await end(sql, 't1', 0n, 20n), true)
  assert.equal(await end(sql, 't2', 300n), true)
  assert.equal(await end(sql, 't4', 9n, 4_000n), true)
  assert.equal(await end(sql, 't0', 5n), false)
  assert.equal(await end(sql, 'none', 5n), false)
  assert.equal(await buryTransfers(sql, [], now), false)
  assert.equal(await buryTransfers(sql, ['t0', 'none'], now), false)
  assert.equal(await buryTransfers(sql, ['t0', 't3'], now), true)
  assert.deepEqual(await statesOf(sql), [
    't0 collected',
    't1 failed',
    't2 collected',
    't3 dead',
    't4 collected',
    't5 made',
  ])
  const entries = await sql<{ id: string; debit: string; sun: bigint }>`
    select id, debit, amount_sun as sun from transfer order by id`
  assert.deepEqual(
    entries.map(({ id, debit, sun }) => `${id} ${debit} ${sun}`),
    [
      'collected:t0 treasury:collected 1',
      'collected:t0/fee treasury:fees 1',
      'collected:t1/fee treasury:fees 20',
      'collected:t2 treasury:collected 300',
      'collected:t4/fee treasury:fees 4000',
    ],
  )
  assert.deepEqual(await collectedSums(sql), { collected_sun: 301n, fees_sun: 4_021n })
})

test('an address has one transfer under way of TRX and of each token', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertTransfers(sql, 'c1', [{ tx_id: 't1' }, { tx_id: 't2', token: USDT, energy: 1 }])
  for (const more of [{}, { token: USDT, energy: 1 }])
    await assert.rejects(
      insertTransfers(sql, 'c2', [{ tx_id: 't3', ...more }]),
      /is under way: do it again/,
    )
  await assert.rejects(insertTransfers(sql, 'c2', [{ tx_id: 't1' }]), /is under way: do it again/)
  await end(sql, 't1', 5n)
  await insertTransfers(sql, 'c2', [{ tx_id: 't3' }])
  assert.deepEqual(await statesOf(sql), ['t1 collected', 't2 made', 't3 made'])
})

test('collections are listed newest first, with sums of their own transfers', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertTransfers(sql, 'c1', [
    { tx_id: 't1', from: payers[0]! },
    { tx_id: 't2', from: payers[1]!, amount: 70n },
    { tx_id: 't3', from: payers[2]!, amount: 800n, token: USDT, energy: 1 },
    { tx_id: 't4', from: payers[3]! },
  ])
  await insertTransfers(sql, 'c2', [{ tx_id: 't5' }])
  await end(sql, 't1', 4n, 1n)
  await end(sql, 't2', 0n, 2n)
  await end(sql, 't3', 800n, 4n)
  await buryTransfers(sql, ['t4'], now)
  const [newest, oldest] = await listCollections(sql, { limit: 9 })
  const sums = ({ made, collected, failed, dead }: typeof newest & object) => [
    ...[made, collected, failed, dead].map(Number),
  ]
  assert.deepEqual([newest!.id, oldest!.id], ['c2', 'c1'])
  assert.deepEqual(
    [sums(newest!), sums(oldest!)],
    [
      [1, 0, 0, 0],
      [0, 2, 1, 1],
    ],
  )
  assert.deepEqual(
    [oldest!.transfers, oldest!.amount_sun, oldest!.collected_sun, oldest!.fees_sun],
    [4n, 80n, 4n, 7n],
  )
  const ids = async (wanted: Parameters<typeof listCollections>[1]) =>
    (await listCollections(sql, wanted)).map(({ id }) => id)
  assert.deepEqual(await ids({ limit: 1 }), ['c2'])
  assert.deepEqual(await ids({ limit: 9, before: 'c2' }), ['c1'])
  const kept = await transfersWithBytes(sql, 'c1')
  assert.deepEqual(
    kept.map(({ tx_id, position, raw_data }) => `${tx_id} ${position} ${raw_data}`),
    ['t1 0 t1', 't2 1 t2', 't3 2 t3', 't4 3 t4'],
  )
  assert.equal((await findCollection(sql, 'c2')).made_by, 'anna')
  await assert.rejects(findCollection(sql, 'c3'), /There is no collection c3/)
})

/** A move in a block: who sent how much of which asset to whom. */
type Move = { tx_id: string; asset: string; from: Address; to: Address; amount: bigint }

test('what left by a transfer is what went from its address to its receiver', async (t) => {
  const { sql } = await freshDatabase(t)
  const [a, b, c, d] = payers as [Address, Address, Address, Address]
  await insertTransfers(sql, 'c', [
    { tx_id: 't1', from: a },
    { tx_id: 't2', from: b, token: USDT, energy: 1 },
    { tx_id: 'no fee', from: c },
    { tx_id: 'later', from: d },
    { tx_id: 'not left', from: payers[4]! },
  ])
  await insertTransfers(sql, 'other', [{ tx_id: 'buried', from: payers[5]! }])
  await buryTransfers(sql, ['buried'], now)
  await postponeTransfers(sql, ['later'], at(1))
  await postponeTransfers(sql, [], at(1))
  for (const tx_id of ['t1', 't2', 'later', 'buried']) await addOutflow(sql, tx_id, { fee: 3n })
  await addOutflow(sql, 'no fee', { fee: null })
  const move = (tx_id: string, asset: string, from: Address, to: Address): Move => ({
    tx_id,
    asset,
    from,
    to,
    amount: 1n,
  })
  const contents = [
    move('t1', 'TRX', a, safe),
    move('t1', 'TRX', a, safe),
    move('t1', USDT, a, safe),
    move('t1', 'TRX', b, safe),
    move('t1', 'TRX', a, b),
    move('t2', 'TRX', a, safe),
    move('t2', USDT, b, safe),
    move('another', 'TRX', a, safe),
  ]
  const step = collectedStep({ sql, clock, node: {} as Node })
  await storeBlock(sql, 5, contents)
  assert.equal(await isDue(sql, step), true)
  assert.equal(await step.run(), true)
  const rows = await sql<{ tx_id: string; state: string; moved: string | null }>`
    select tx_id, state, moved::text from collection_transfer where state <> 'dead' order by tx_id`
  assert.deepEqual(
    rows.map(({ tx_id, state, moved }) => `${tx_id}: ${state} ${moved}`),
    [
      'later: made null',
      'no fee: made null',
      'not left: made null',
      't1: collected 2',
      't2: collected 1',
    ],
  )
  assert.equal(await isDue(sql, step), false)
  assert.equal(await step.run(), false)
})

async function storeBlock(sql: Sql, number: number, moves: readonly Move[]): Promise<void> {
  const rest = { unfollowed: [], unknown: [], freezes: [], energy_uses: [], fees: [] }
  const whole = moves.map((one, index) => ({ ...one, kind: 'transfer' as const, index }))
  await sql`
    insert into block (number, id, parent_id, time, contents)
    values (${number}, ${`${number}`}, 'p', ${at(number)}, ${pack({ moves: whole, ...rest })})`
}

test('energy is asked for where it lacks, has failed, or was ordered an hour ago', async (t) => {
  const { sql } = await freshDatabase(t)
  await addCustomer(sql, 'house', 90)
  await addCustomer(sql, 'gone', 91)
  await sql`update customer set state = 'suspended' where id = 'gone'`
  const token = (tx_id: string, i: number): BriefTransfer => ({
    tx_id,
    from: payers[i]!,
    token: USDT,
    energy: 5,
  })
  await insertTransfers(sql, 'c', [
    token('fresh', 0),
    token('asked', 1),
    token('hour', 2),
    token('longer', 3),
    token('failed', 4),
    token('dead', 5),
    { tx_id: 'trx', from: payers[5]! },
  ])
  await insertTransfers(sql, 'other', [{ ...token('elsewhere', 0), from: person('g').address }])
  await buryTransfers(sql, ['dead'], now)
  await addOrders(sql, ['o1', 'o2'])
  await sql`update orders set state = 'failed', ended_at = ${now} where id = 'o2'`
  const ask = (ms: number, more = {}) =>
    sql.begin((tx) =>
      askForEnergy(tx, { collection_id: 'c', customer_id: 'house', ...more }, at(ms)),
    )
  await sql`update collection set expires_at = ${at(10_000_000)}`
  await sql`update collection_transfer set energy_by = 'house', energy_at = ${at(0)}
    where tx_id in ('asked', 'hour', 'longer', 'failed')`
  await sql`update collection_transfer set energy_amount = 5,
      energy_order = case tx_id when 'failed' then 'o2' else 'o1' end,
      energy_at = case tx_id when 'longer' then ${at(-1)}::timestamptz else ${at(0)} end
    where tx_id in ('hour', 'longer', 'failed')`
  await assert.rejects(ask(0, { customer_id: 'gone' }), /There is no active customer gone/)
  await assert.rejects(ask(0, { collection_id: 'none' }), /There is no collection none/)
  await assert.rejects(ask(9_700_001), /expires within minutes/)
  const { result, actions } = await ask(3_600_000)
  assert.deepEqual([result, actions.length], [3, 1])
  const asked = await sql<{ tx_id: string }>`
    select tx_id from collection_transfer where energy_at = ${at(3_600_000)} order by tx_id`
  assert.deepEqual(
    asked.map(({ tx_id }) => tx_id),
    ['failed', 'fresh', 'longer'],
  )
  const again = await ask(3_600_000)
  assert.deepEqual([again.result, again.actions], [0, []])
  const last = await ask(9_700_000)
  assert.deepEqual([last.result, last.actions.length], [1, 1], 'the one of the hour is over')
})

const addOrders = (sql: Sql, ids: readonly string[]) => sql`
  insert into orders (id, customer_id, service, address, energy, activate, to_delegate, amount_sun,
    due_at, created_at)
  select id, 'house', 'energy', 'bob', 5, false, true, 0, ${now}, ${now}
  from unnest(${ids}::text[]) as id`

async function placesWorld(t: TestContext) {
  const { sql } = await freshDatabase(t)
  for (const [i, address] of payers.entries()) await addCustomer(sql, `c${i}`, i, address)
  return sql
}

test('TRX lies where it came or was before, and has not left', async (t) => {
  const sql = await placesWorld(t)
  const [a, b, c, d, e] = payers as [Address, Address, Address, Address, Address]
  await sql`insert into holding (address, prior_sun, due_at) values (${a}, 7, ${now})`
  await addDeposit(sql, { n: 1, to: a, block: 1 })
  await addDeposit(sql, { n: 2, to: a, block: 5, sun: 20n })
  await addDeposit(sql, { n: 3, to: a, block: 6, sun: 3n })
  await addDeposit(sql, { n: 4, to: a, block: 7, solid: false })
  await addDeposit(sql, { n: 5, to: a, block: 7, customer: null })
  await addDeposit(sql, { n: 6, to: a, block: 7, token: USDT })
  await addOutflow(sql, 'x1', { address: a, block: 5, sun: 90n, fee: 4n })
  // Of a blacklisted sender: held or passed over counts, given back or another reason does not.
  for (const [i, [state, reason]] of [
    ['held', BLOCKED],
    ['ignored', BLOCKED],
    ['held', 'odd'],
    ['resolved', BLOCKED],
  ].entries())
    await addDeposit(sql, {
      n: 10 + i,
      to: b,
      sun: 10n ** BigInt(i),
      state: state!,
      reason: reason!,
    })
  await addDeposit(sql, { n: 20, to: c, sun: 50n })
  await addOutflow(sql, 'x2', { address: c, block: 9, sun: 49n, fee: 1n })
  await addDeposit(sql, { n: 21, to: d, sun: 50n })
  await addOutflow(sql, 'x3', { address: d, block: 9, sun: 50n, fee: null })
  await insertTransfers(sql, 'c', [
    { tx_id: 't1', from: d, amount: 6n },
    { tx_id: 't2', from: a, amount: 8n, token: USDT, energy: 1 },
    { tx_id: 't3', from: b, amount: 9n },
  ])
  await buryTransfers(sql, ['t3'], now)
  await addDeposit(sql, { n: 22, to: e, sun: 1n, block: 3 })
  await addOutflow(sql, 'x4', { address: e, block: 3, sun: 2n })
  const shown = (await trxPlaces(sql)).map((one) =>
    [
      ...[one.customer_id, one.trx_sun, one.under_way_sun, one.blocked_sun],
      one.since && one.since.getTime() - now.getTime(),
    ].join(' '),
  )
  assert.deepEqual(shown, ['c1 1111 0 11 1', 'c0 36 0 0 6', 'c3 0 6 0 ', 'c4 -1 0 0 '])
  await addOutflow(sql, 't2', { address: b, sun: 1_000n })
  await addOutflow(sql, 'x9', { address: person('nobody').address, sun: 1_000n })
  assert.equal(await leftOtherwise(sql), 94n + 50n + 50n + 2n)
})

test('tokens lie where followed ones came and have not been moved away', async (t) => {
  const sql = await placesWorld(t)
  const [a, b, c, d] = payers as [Address, Address, Address, Address]
  const came = (n: number, to: Address, more = {}) =>
    addDeposit(sql, { n, to, token: USDT, sun: 10n, ...more })
  await came(1, a)
  await came(2, a, { state: 'credited' })
  await came(3, a, { solid: false })
  await came(4, a, { customer: null })
  await came(5, a, { reason: 'a token that is not followed' })
  await came(6, a, { token: '1000001' })
  await came(12, c, { token: person('spam').address, reason: 'a token that is not followed' })
  await came(7, b, { reason: BLOCKED })
  await came(8, b)
  await came(9, c)
  await came(10, d, { reason: BLOCKED, state: 'resolved' })
  await addDeposit(sql, { n: 11, to: d })
  await insertTransfers(sql, 'c', [
    { tx_id: 't1', from: a, amount: 4n, token: USDT, energy: 1 },
    { tx_id: 't2', from: a, amount: 999n },
    { tx_id: 't3', from: c, amount: 10n, token: USDT, energy: 1 },
  ])
  await end(sql, 't3', 10n)
  await insertTransfers(sql, 'c2', [{ tx_id: 't4', from: d, amount: 3n, token: USDT, energy: 1 }])
  await end(sql, 't4', 3n)
  const places = await tokenPlaces(sql)
  const shown = (owner: Address) =>
    places
      .filter(({ address }) => address === owner)
      .map((one) => `${one.amount} of ${one.known}, ${one.under_way} ${one.blocked}`)
  assert.deepEqual([a, b, c, d].map(shown), [
    ['20 of 30, 4 false'],
    ['20 of 20, 0 true'],
    [],
    ['7 of 7, 0 false'],
  ])
  await insertTransfers(sql, 'c3', [{ tx_id: 't5', from: c, amount: 1n, token: USDT, energy: 1 }])
  const again = (await tokenPlaces(sql)).find(({ address }) => address === c)
  assert.deepEqual([Number(again?.amount), Number(again?.under_way)], [0, 1])
})

/** Nodes that have a transaction that has expired, or not. */
const nodeThat = (has: 'nothing' | number, at_number = 10, fee: bigint | undefined = 3n) =>
  ({
    solidTransaction: async () => [{ found: has !== 'nothing', solid_number: at_number }],
    whereabouts: async () =>
      has === 'nothing' ? { found: 'nowhere' } : { found: 'solid', block_number: has },
    feeOf: async () => fee,
  }) as unknown as Node

test('what has expired before the last confirmed block, and has not left, is dead', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const number of [8, 9, 10]) await storeBlock(sql, number, [])
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (11, 'h', ${now}, 11, 10, ${now})`
  await sql`insert into cursor (name, number) values ('deposits', 10), ('others', 99)
    on conflict (name) do update set number = excluded.number`
  const expires = (ms: number) => ({ expires_at: at(ms) })
  await insertTransfers(sql, 'c', [
    { tx_id: 'at', from: payers[0]!, ...expires(9) },
    { tx_id: 'after', from: payers[1]!, ...expires(10) },
    { tx_id: 'left', from: payers[2]!, ...expires(1) },
    { tx_id: 'later', from: payers[3]!, ...expires(1) },
    { tx_id: 'ended', from: payers[4]!, ...expires(1) },
  ])
  await addOutflow(sql, 'left')
  await postponeTransfers(sql, ['later'], at(1))
  await end(sql, 'ended', 1n)
  const stepOf = (node: Node) => expireStep({ sql, clock, node })
  const waiting = stepOf(nodeThat('nothing'))
  await sql`update cursor set number = 9 where name = 'deposits'`
  assert.equal(await isDue(sql, waiting), false, 'the reader of deposits is behind')
  assert.equal(await stepOf(nodeThat('nothing')).run(), false)
  await sql`update cursor set number = 10 where name = 'deposits'`
  assert.equal(await isDue(sql, waiting), true)
  assert.equal(await stepOf(nodeThat('nothing')).run(), true)
  const others = ['ended collected', 'later made', 'left made']
  assert.deepEqual(await statesOf(sql), ['after made', 'at dead', ...others])
  assert.equal(await isDue(sql, waiting), false)
  assert.equal(await stepOf(nodeThat('nothing')).run(), false)
})

test('what a node has has failed once its block is confirmed', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const number of [9, 10]) await storeBlock(sql, number, [])
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (12, 'h', ${now}, 12, 10, ${now})`
  await sql`insert into cursor (name, number) values ('deposits', 10)
    on conflict (name) do update set number = excluded.number`
  await insertTransfers(sql, 'c', [{ tx_id: 't', expires_at: at(1) }])
  const run = async (node: Node) => {
    await sql`update collection_transfer set due_at = ${now} where state = 'made'`
    return expireStep({ sql, clock, node }).run()
  }
  assert.equal(await run(nodeThat(11)), false)
  assert.equal(await run(nodeThat('nothing', 9)), false, 'the node is behind')
  const [row] = await sql<{ due_at: Date }>`select due_at from collection_transfer`
  assert.deepEqual(row!.due_at, at(5_000))
  assert.equal(await run(nodeThat(10)), true)
  const [ended] = await sql`select state, fee_sun, block_number from collection_transfer`
  assert.deepEqual(ended, { state: 'failed', fee_sun: 3n, block_number: 10n })
})
