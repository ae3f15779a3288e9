// Each arrow of a deposit, shown one of each state: it moves those that it says, and no other.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { ownTransaction } from 'penstock-test/harness/own_transaction.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  completeRefund,
  concludeDeliveries,
  type DepositArrival,
  deliverDeposit,
  deliveryName,
  findDeposits,
  forgetMissing,
  forgetPassed,
  holdUnproven,
  keepDeposit,
  lockReceived,
  markResolved,
  noteArrived,
  refundDeposit,
  returnReceived,
  returnUnsent,
} from './deposits.ts'

const STATES = [
  ...['seen', 'unproven', 'credited', 'received', 'delivering', 'delivered', 'returning'],
  ...['refunding', 'refunded', 'held', 'ignored', 'resolved', 'gone'],
]
const now = new Date('2026-10-08T15:26:32Z')
const BLOCK = 7

/** A deposit of each state, named by it, in one block; each with an order and an attempt. */
async function databaseWithDeposits(
  t: TestContext,
  { order = 'success', attempt = 'dead' } = {},
): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, state, to_delegate,
      amount_sun, tx_id, due_at, created_at)
    select 'order of ' || one, ${DIRECT_RECHARGE}, 'energy', 'bob', 1, false, ${order}, false, 0,
      'tx', ${now}, ${now}
    from unnest(${STATES}::text[]) as one`
  await sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at)
    select 'refund of ' || one, 'refund:' || one, '{}', ${attempt}, one, '', ${now}, ${now}, ${now}
    from unnest(${STATES}::text[]) as one`
  await sql`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
      block_time, customer_id, state, reason, order_id, refund_id, solid_at, due_at, seen_at)
    select one, 0, 'sender', 'receiver', 1000, ${BLOCK}, ${now},
      case one when 'credited' then 'anna' end, one, 'a reason', 'order of ' || one,
      'refund of ' || one, case one when 'credited' then ${now}::timestamptz end, ${now}, ${now}
    from unnest(${STATES}::text[]) as one`
  return sql
}

/** What was moved, and where to; each is named by the state that it was in. */
async function movesIn(sql: Sql): Promise<string[]> {
  const rows = await sql<{ tx_id: string; state: string }>`
    select tx_id, state from deposit where tx_id <> state`
  return rows.map(({ tx_id, state }) => `${tx_id} -> ${state}`).sort()
}

const toEach =
  (move: (tx: Tx, place: { tx_id: string; position: number }) => Promise<unknown>) => (sql: Sql) =>
    sql.begin(async (tx) => {
      for (const tx_id of STATES) await move(tx, { tx_id, position: 0 })
    })

const asOne = (move: (tx: Tx) => Promise<unknown>) => (sql: Sql) => sql.begin(move)
const places = STATES.map((tx_id) => ({ tx_id, position: 0 }))
const GONE = ['received -> gone', 'returning -> gone', 'seen -> gone']
const HELD = { reason: 'not borne out', now }

test('each arrow moves deposits of the states that it begins with, and no others', async (t) => {
  const order = { id: 'order of received', energy: 1n }
  const arrows: [name: string, move: (sql: Sql) => Promise<unknown>, moved: string[]][] = [
    [
      'deliver',
      toEach((tx, place) => deliverDeposit(tx, place, { ...order, id: `order of ${place.tx_id}` })),
      ['received -> delivering'],
    ],
    ['return', toEach((tx, place) => returnReceived(tx, place, 'why')), ['received -> returning']],
    ['conclude', asOne(concludeDeliveries), ['delivering -> delivered']],
    ['unsent', asOne(returnUnsent), ['refunding -> returning']],
    ['complete', toEach(completeRefund), ['refunding -> refunded']],
    ['hold', asOne((tx) => holdUnproven(tx, places, HELD)), ['unproven -> held']],
    ['forget', asOne((tx) => forgetMissing(tx, [BLOCK], { present: [], now })), GONE],
  ]
  for (const [name, move, moved] of arrows) {
    const sql = await databaseWithDeposits(t)
    await move(sql)
    assert.deepEqual(await movesIn(sql), moved, name)
    await move(sql)
    assert.deepEqual(await movesIn(sql), moved, `${name}, once more`)
  }
})

test('a delivery ends as its own order does, and not before', async (t) => {
  for (const [order, moved] of [
    ['new', []],
    ['pending', []],
    ['failed', ['delivering -> returning']],
  ] as const) {
    const sql = await databaseWithDeposits(t, { order })
    // All other orders have ended well.
    await sql`update orders set state = 'success' where id <> 'order of delivering'`
    assert.equal(await sql.begin(concludeDeliveries), moved.length > 0)
    assert.deepEqual(await movesIn(sql), moved, order)
  }
})

test('why a deposit goes back is said when its order has failed, and kept otherwise', async (t) => {
  const reasons: [order: string, reason: string][] = [
    ['success', 'a reason'],
    ['failed', 'it could not be delivered'],
  ]
  for (const [order, reason] of reasons) {
    const sql = await databaseWithDeposits(t, { order })
    await sql.begin(concludeDeliveries)
    const [row] = await sql<{ reason: string }>`
      select reason from deposit where tx_id = 'delivering'`
    assert.equal(row!.reason, reason)
  }
})

test('a refund is made again only when its own attempt is dead', async (t) => {
  const sql = await databaseWithDeposits(t)
  await sql`update attempt set state = 'sent' where id = 'refund of refunding'`
  assert.equal(await sql.begin(returnUnsent), false)
  assert.deepEqual(await movesIn(sql), [])
  await sql`update attempt set state = 'dead' where id = 'refund of refunding'`
  assert.equal(await sql.begin(returnUnsent), true)
  const rows = await sql<{ tx_id: string; refund_id: string | null }>`
    select tx_id, refund_id from deposit where refund_id is null`
  assert.deepEqual(rows, [{ tx_id: 'refunding', refund_id: null }])
})

test('what an order was placed for does not go back', async (t) => {
  const sql = await databaseWithDeposits(t)
  const placeOrder = (customer_id: string, tx_id: string) => sql`
    update orders set customer_id = ${customer_id}, external_id = ${deliveryName(tx_id)}
    where id = 'order of received'`
  const giveBack = () =>
    sql.begin((tx) => returnReceived(tx, { tx_id: 'received', position: 0 }, 'why'))
  await placeOrder(DIRECT_RECHARGE, 'received')
  await giveBack()
  assert.deepEqual(await movesIn(sql), [])
  // Somebody else may name his order so.
  await placeOrder('anna', 'received')
  await giveBack()
  assert.deepEqual(await movesIn(sql), ['received -> returning'])
})

test('a fork takes back what is not solid, was in its blocks and is not there again', async (t) => {
  const sql = await databaseWithDeposits(t)
  const forget = (blocks: number[], ...present: string[]) =>
    sql.begin((tx) => forgetMissing(tx, blocks, { present, now }))
  await forget([BLOCK - 1, BLOCK + 1])
  await forget([BLOCK], 'seen', 'received', 'returning')
  assert.deepEqual(await movesIn(sql), [])
  await sql`update deposit set solid_at = ${now} where tx_id = 'received'`
  await forget([BLOCK], 'seen')
  assert.deepEqual(await movesIn(sql), ['returning -> gone'])
})

test('what a solid block should have had is gone once that block was read', async (t) => {
  const sql = await databaseWithDeposits(t)
  const forget = () => sql.begin((tx) => forgetPassed(tx, now))
  assert.equal(await forget(), false, 'nothing was read')
  await sql`insert into cursor (name, number) values ('deposits', ${BLOCK - 1}), ('other', 100)`
  assert.equal(await forget(), false)
  await sql`update cursor set number = ${BLOCK} where name = 'deposits'`
  await sql`update deposit set solid_at = ${now} where tx_id = 'received'`
  assert.equal(await forget(), true)
  assert.deepEqual(await movesIn(sql), ['returning -> gone', 'seen -> gone'])
  assert.equal(await forget(), false)
})

/** Four deposits in a state, of two transactions, each with one more by a contract. */
async function databaseWithTwins(t: TestContext, state: string): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    values ('sent', 'refund', '{}', ${now}, ${now})`
  await sql`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
      block_time, state, reason, due_at, seen_at)
    select id, place, 'sender', 'receiver', 1000, ${BLOCK}, ${now}, ${state}, 'a reason', ${now},
      ${now}
    from unnest(array['one', 'two']) as id, unnest(array[0, -1]) as place`
  return sql
}

test('an arrow moves the deposit at its place, and no twin of it', async (t) => {
  const place = { tx_id: 'one', position: 0 }
  const kept = { state: 'held' as const, reason: 'kept' }
  const arrows: [from: string, to: string, move: (tx: Tx) => Promise<unknown>][] = [
    ['received', 'returning', (tx) => returnReceived(tx, place, 'why')],
    ['returning', 'held', (tx) => keepDeposit(tx, place, kept)],
    ['returning', 'refunding', (tx) => refundDeposit(tx, place, 'sent')],
    ['refunding', 'refunded', (tx) => completeRefund(tx, place)],
    ['unproven', 'held', (tx) => holdUnproven(tx, [place], HELD)],
    [
      'held',
      'resolved',
      async (tx) => markResolved(tx, (await findDeposits(tx, 'one')).at(-1)!, now),
    ],
  ]
  for (const [from, to, move] of arrows) {
    const sql = await databaseWithTwins(t, from)
    await sql.begin(move)
    const moved = await sql`select tx_id, position, state from deposit where state <> ${from}`
    assert.deepEqual(moved, [{ ...place, state: to }], `${from} -> ${to}`)
  }
})

test('an arrow says whether it has moved one, and a lock whether there is one', async (t) => {
  const sql = await databaseWithTwins(t, 'received')
  await sql`update deposit set state = 'seen' where tx_id = 'two' or position = -1`
  const lock = (tx_id: string, position: number) =>
    sql.begin((tx) => lockReceived(tx, { tx_id, position }))
  assert.deepEqual(
    await Promise.all([lock('one', 0), lock('one', -1), lock('two', 0), lock('none', 0)]),
    [true, false, false, false],
  )
  await sql`update deposit set state = 'refunding'`
  const complete = () => sql.begin((tx) => completeRefund(tx, { tx_id: 'one', position: 0 }))
  assert.deepEqual([await complete(), await complete()], [true, false])
  await sql`update deposit set state = 'seen' where tx_id = 'two' and position = 0`
  await sql`insert into cursor (name, number) values ('deposits', ${BLOCK})`
  const forget = () => sql.begin((tx) => forgetPassed(tx, now))
  assert.deepEqual([await forget(), await forget()], [true, false])
})

test('a delivery and a refund alone end, without any others', async (t) => {
  for (const [tx_id, move] of [
    ['delivering', concludeDeliveries],
    ['refunding', returnUnsent],
  ] as const) {
    const sql = await databaseWithDeposits(t)
    await sql`delete from deposit where tx_id <> ${tx_id}`
    await sql`update deposit set order_id = null where state = 'refunding'`
    await sql`update deposit set refund_id = null where state = 'delivering'`
    await sql`delete from orders where id <> ${`order of ${tx_id}`}`
    await sql`delete from attempt where id <> ${`refund of ${tx_id}`}`
    assert.deepEqual([await sql.begin(move), await sql.begin(move)], [true, false], tx_id)
  }
})

const arrival = (tx_id: string, more: Partial<DepositArrival> = {}): DepositArrival => ({
  tx_id,
  position: 0,
  from: 'sender' as DepositArrival['from'],
  to: 'receiver' as DepositArrival['to'],
  amount_sun: 2_000n,
  token: null,
  token_amount: null,
  block_number: BLOCK,
  block_time: now,
  customer_id: 'anna',
  state: 'seen',
  reason: null,
  left_out: 0,
  ...more,
})

const notesIn = async (sql: Sql) =>
  (await sql<{ note: string }>`select type || ' ' || subject as note from event_note order by id`)
    .map(({ note }) => note)
    .sort()

test('what arrives again is what it is now where its fate was open, and not else', async (t) => {
  const note = (sql: Sql, solid: boolean) =>
    sql.begin((tx) => {
      const fate = { state: 'held', reason: 'why' } as const
      const arrived = STATES.map((tx_id) => arrival(tx_id, solid ? fate : {}))
      return noteArrived(tx, arrived, { solid, now })
    })
  for (const [solid, moved] of [
    [false, ['gone -> seen']],
    [true, ['gone -> held', 'seen -> held', 'unproven -> held']],
  ] as const) {
    const sql = await databaseWithDeposits(t)
    await note(sql, solid)
    assert.deepEqual(await movesIn(sql), moved)
    const rows = await sql<{ tx_id: string; reason: string | null; amount_sun: bigint }>`
      select tx_id, reason, amount_sun from deposit`
    for (const { tx_id, reason, amount_sun } of rows) {
      const open = moved.some((one) => one.startsWith(tx_id)) || tx_id === 'seen'
      const now_why = solid ? 'why' : null
      assert.equal(reason, open ? now_why : 'a reason', tx_id)
      assert.equal(amount_sun, tx_id === 'credited' ? 1_000n : 2_000n, tx_id)
    }
  }
})

test('that a deposit is seen is noted once, and again when it was gone', async (t) => {
  const { sql } = await freshDatabase(t)
  const see = (...ids: string[]) =>
    sql.begin((tx) =>
      noteArrived(
        tx,
        ids.map((tx_id) => arrival(tx_id, tx_id === 'public' ? { customer_id: null } : {})),
        { solid: false, now },
      ),
    )
  await see('one', 'public')
  await see('one', 'two', 'public')
  const [one, two] = ['deposit.seen deposit:one', 'deposit.seen deposit:two']
  assert.deepEqual(await notesIn(sql), [one, two])
  await sql`update deposit set state = 'gone', reason = 'a fork' where tx_id = 'two'`
  await see('two')
  assert.deepEqual(await notesIn(sql), [one, two, two])
  const credited = arrival('two', { state: 'credited' })
  const held = arrival('one', { state: 'held', reason: 'why' })
  await sql.begin((tx) => noteArrived(tx, [credited, held], { solid: true, now }))
  const booked = ['deposit.credited deposit:two', 'deposit.held deposit:one']
  assert.deepEqual(await notesIn(sql), [...booked, one, two, two])
})

test('what another process notes at the same time is noted by one of them', async (t) => {
  const { sql, url } = await freshDatabase(t)
  const other = await ownTransaction(t, url)
  await other.query(`
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
      block_time, customer_id, state, due_at, seen_at)
    values ('one', 0, 'sender', 'receiver', 2000, 7, now(), 'anna', 'seen', now(), now())`)
  const noted = sql.begin((tx) => noteArrived(tx, [arrival('one')], { solid: false, now }))
  await other.waitedFor(noted)
  await other.commit()
  await noted
  assert.deepEqual(await notesIn(sql), [])
})
