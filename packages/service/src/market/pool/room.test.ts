// What a wallet's room is said to be, held against what the chain would delegate: never more, at no
// moment between a survey, a block, a fork and what of ours is still on its way.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  begun_at,
  type DelegationRow,
  insertDelegation,
  wallet,
} from 'penstock-test/harness/delegation_rows.ts'
import { makeWorld, type World } from 'penstock-test/harness/world.ts'
import { lockRooms, sellRoom, surveyStep } from './pool.ts'

async function run(world: World, ...names: string[]): Promise<void> {
  for (const name of names) {
    const step = world.app.steps.find((one) => one.name === name)
    assert.ok(step, name)
    while (await step.run()) {}
  }
}

const roomOf = async (world: World) =>
  (await world.sql.begin((tx) => lockRooms(tx, 'energy'))).rooms[0]!

/** What the chain would delegate from the only wallet, less what of ours is in no block and may
 *  still come. The node counts what waits with it already. */
async function surelyFree(world: World): Promise<bigint> {
  const rows = await world.sql<{ tx_id: string | null; stake_sun: bigint }>`
    select tx_id, stake_sun from delegation as d join attempt as a on a.id = d.attempt_id
    where d.state in ('delegating', 'active') and a.state in ('new', 'signed', 'sent')`
  const waiting = new Set<string | null>(
    world.scene.devchain.chain.pendingTransactions().map(({ id }) => id),
  )
  const free_sun = await world.node.delegable(world.wallets.pool[0]!.address, 'energy')
  return rows.reduce(
    (sun, { tx_id, stake_sun }) => (waiting.has(tx_id) ? sun : sun - stake_sun),
    free_sun,
  )
}

async function assertNotOverstated(world: World, when: string): Promise<void> {
  const { room_sun } = await roomOf(world)
  const free_sun = await surelyFree(world)
  assert.ok(room_sun <= free_sun, `${when}: ${room_sun} are said to be free, ${free_sun} are`)
}

test('no sale goes beyond the room that there is, whoever has judged it', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update pool set room = 100, reserved = 40`
  const sell = (energy: bigint, bandwidth: bigint) =>
    sql.begin(async (tx) => sellRoom(tx, { energy, bandwidth }))
  await sell(60n, 59n)
  await assert.rejects(sell(0n, 2n), /pool_not_oversold/)
  await assert.rejects(sell(1n, 0n), /pool_not_oversold/)
  await sell(0n, 1n)
  const rows = await sql`select resource, room - reserved as free from pool order by resource`
  assert.deepEqual(rows, [
    { resource: 'bandwidth', free: 0n },
    { resource: 'energy', free: 0n },
  ])
})

test('what is pending, in a later block, or lost in a fork is not free', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  await world.drain()
  const before = await roomOf(world)
  assert.equal(before.room_sun, await surelyFree(world), 'all of it, when nothing is under way')
  const order = await anna.buyEnergy(bob.address, 65_000)
  await run(world, 'delegate')
  await assertNotOverstated(world, 'planned')
  assert.equal(
    (await roomOf(world)).carries,
    before.carries - 2n,
    'it has to be given and taken back',
  )
  await run(world, 'sign', 'send')
  await assertNotOverstated(world, 'sent')
  world.mine()
  await run(world, 'follow')
  await assertNotOverstated(world, 'in a block after the survey')
  await run(world, 'settle')
  await assertNotOverstated(world, 'settled, and not surveyed since')
  const { carries } = await roomOf(world)
  assert.ok(
    carries <= before.carries - 2n,
    `given since, and to be taken back: ${carries} of ${before.carries}`,
  )
  await run(world, 'survey')
  await assertNotOverstated(world, 'surveyed')
  world.network.loses = () => true
  world.fork(1, { drop: true })
  await run(world, 'follow', 'survey')
  await assertNotOverstated(world, 'taken back by a fork, and surveyed since')
  world.network.loses = () => false
  world.wait(10)
  await world.settle()
  await assertNotOverstated(world, 'at last')
  assert.equal((await anna.check(order.id)).status, 'success')
})

test('what was taken back in a block that a fork has replaced is not free', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const anna = await world.customer({ trx: 100 })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await world.solidify()
  world.scene.wait(3_700)
  world.mine(25)
  await run(world, 'follow', 'confirm', 'reclaim', 'sign', 'send')
  world.mine()
  await run(world, 'follow', 'survey')
  const { room_sun } = await roomOf(world)
  world.network.loses = () => true
  world.fork(1, { drop: true })
  await run(world, 'follow')
  await assertNotOverstated(world, 'given out again by a fork')
  await run(world, 'reclaimed')
  await assertNotOverstated(world, 'given out again by a fork, and noted')
  world.network.loses = () => false
  world.wait(10)
  await world.settle()
  assert.equal((await roomOf(world)).room_sun, room_sun, 'it is back again')
})

test('what a fork puts into a block of before the survey is not free', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const anna = await world.customer({ trx: 100 })
  world.mine(12)
  await run(world, 'follow', 'survey')
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await run(world, 'delegate', 'sign', 'send')
  await assertNotOverstated(world, 'sent')
  world.fork(2)
  await run(world, 'follow')
  await assertNotOverstated(world, 'in a block of the other branch')
  await run(world, 'settle')
  await assertNotOverstated(world, 'settled')
})

test('a block between two questions of a survey leaves no room overstated', async (t) => {
  const world = await makeWorld(t, { pool_trx: [100_000] })
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  await world.drain()
  let asked = 0
  world.network.onRequest = () => asked++
  await run(world, 'survey')
  const questions = asked
  world.network.onRequest = () => {}
  for (let at = 1; at <= questions; at++) {
    await anna.buyEnergy(bob.address, 32_000)
    await run(world, 'delegate', 'sign')
    const [{ signed } = { signed: Buffer.alloc(0) }] = await world.sql<{ signed: Buffer }>`
      select signed from attempt where state = 'signed'`
    asked = 0
    // Somebody else sends it, and its block comes, when this answer is on its way.
    world.network.answers = (_path, body) => {
      asked += 1
      if (asked === at) {
        const transaction = JSON.stringify({ transaction: signed.toString('hex') })
        world.scene.devchain.request('POST', '/wallet/broadcasthex', transaction)
        world.mine()
      }
      return body
    }
    const survey = world.app.steps.find(({ name }) => name === 'survey')!
    await survey.run()
    world.network.answers = (_path, body) => body
    await run(world, 'follow')
    await assertNotOverstated(world, `after answer ${at} of ${questions}`)
    await run(world, 'settle')
    await assertNotOverstated(world, `after answer ${at} of ${questions}, and settled`)
    await world.settle()
  }
})

test('a wallet that is not configured any more sells nothing', async (t) => {
  const world = await makeWorld(t, { pool_trx: [10_000, 100_000] })
  const [small] = world.wallets.pool
  await surveyStep({
    sql: world.sql,
    node: world.node,
    pool: [small!.address],
    activation_wallet: world.wallets.activation,
  }).run()
  const { rooms } = await world.sql.begin((tx) => lockRooms(tx, 'energy'))
  assert.deepEqual(
    rooms.map(({ wallet }) => wallet),
    [small!.address],
  )
})

test('a wallet has what was surveyed, less what may not be in that', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
    select address, resource, 100000000, 100, 5, ${begun_at}
    from unnest(${[wallet, 'other']}::text[]) as address, pool`
  const after = new Date(begun_at.getTime() + 1)
  const lost = { state: 'active', attempt: 'sent', uncovered: true }
  const rows: [one: Omit<DelegationRow, 'id'>, trx: bigint, carries: bigint][] = [
    [{ state: 'delegating', attempt: 'new' }, 1n, 2n],
    [{ state: 'delegating', attempt: 'sent' }, 1n, 2n],
    [{ state: 'delegating', attempt: 'included', block_number: 5 }, 0n, 0n],
    [{ state: 'delegating', attempt: 'included', block_number: 6 }, 1n, 2n],
    [{ state: 'failed', attempt: 'dead' }, 0n, 0n],
    [{ state: 'active' }, 0n, 0n],
    [{ state: 'active', delegated_at: after }, 1n, 2n],
    [{ state: 'ended', delegated_at: after }, 0n, 0n],
    // The node counts it no more, and it may come again.
    [lost, 1n, 1n],
    [{ ...lost, attempt: 'signed' }, 1n, 1n],
    [{ ...lost, attempt: 'dead' }, 0n, 0n],
    [{ ...lost, uncovered: false }, 0n, 0n],
    [{ ...lost, delegated_at: after }, 1n, 2n],
    // On its way back: the survey had it out, and not the one that was given since.
    [{ state: 'reclaiming', reclaim: 'sent' }, 0n, 0n],
    [{ state: 'reclaiming', reclaim: 'sent', delegated_at: after }, 1n, 2n],
    // The survey had it back, and a fork has given it out again.
    [{ state: 'reclaiming', reclaim: 'sent', uncovered: true }, 1n, 2n],
    [{ state: 'reclaiming', reclaim: 'included', uncovered: true }, 0n, 0n],
    [{ state: 'ended', reclaim: 'sent', uncovered: true }, 1n, 2n],
    [{ state: 'ended', reclaim: 'signed', uncovered: true }, 1n, 2n],
    [{ state: 'ended', reclaim: 'dead', uncovered: true }, 1n, 2n],
    [{ state: 'ended', reclaim: 'solid', uncovered: true }, 0n, 0n],
  ]
  const roomsNow = async () =>
    (await sql.begin((tx) => lockRooms(tx, 'energy'))).rooms.map(
      ({ wallet, room_sun, carries }) => [wallet, room_sun, carries],
    )
  let [sun, carries] = [100_000_000n, 100n]
  for (const [i, [one, less_trx, less_carries]] of rows.entries()) {
    await insertDelegation(sql, { ...one, id: `${i}` })
    // Of another resource, which has as much beside it.
    const other = { ...one, resource: 'bandwidth', stake_sun: 2_000_000n }
    await insertDelegation(sql, { ...other, id: `${i} bandwidth` })
    await insertDelegation(sql, { ...other, id: `${i} more bandwidth` })
    sun -= less_trx * 1_000_000n
    carries -= less_carries
    const rooms = new Map([
      [wallet, [wallet, sun, carries]],
      ['other', ['other', 100_000_000n, 100n]],
    ])
    assert.deepEqual(
      await roomsNow(),
      [...rooms.keys()].sort().map((one) => rooms.get(one)),
      JSON.stringify(one),
    )
  }
})

test('of a survey of another branch only what is confirmed counts', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = (seconds: number) => new Date(begun_at.getTime() + 1_000 * seconds)
  await sql`
    insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
    select ${wallet}, resource, 100000000, 100, 9, ${at(27)} from pool`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (10, 'ten', ${at(31)}, 5, 5, ${at(31)})`
  const block = (number: number, seconds: number) => sql`
    insert into block (number, id, parent_id, time, contents)
    values (${number}, ${`${number}`}, ${`${number - 1}`}, ${at(seconds)}, '{}')`
  await block(5, 15)
  await insertDelegation(sql, { id: 'old', state: 'active', delegated_at: at(15) })
  await insertDelegation(sql, { id: 'new', state: 'active', delegated_at: at(16) })
  const waiting = { state: 'delegating', attempt: 'included' }
  await insertDelegation(sql, { id: 'solid', ...waiting, block_number: 5 })
  await insertDelegation(sql, { id: 'later', ...waiting, block_number: 6 })
  const trxNow = async () => {
    const { rooms } = await sql.begin((tx) => lockRooms(tx, 'energy'))
    return rooms.map(({ room_sun, carries }) => [room_sun / 1_000_000n, carries])
  }
  assert.deepEqual(await trxNow(), [[100n, 100n]], 'its block has not been followed yet')
  await block(9, 27)
  assert.deepEqual(await trxNow(), [[100n, 100n]], 'it is its block')
  await sql`update block set time = ${at(28)} where number = 9`
  assert.deepEqual(await trxNow(), [[98n, 96n]])
})

test('a wallet that is stopped has no room, and others have theirs', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into pool_wallet (address, resource, room_sun, carries, block_number, block_time)
    select address, resource, 1, 100, 5, ${begun_at}
    from unnest(array['checked', 'stopped', 'unchecked']) as address, pool`
  await sql`
    insert into wallet_check (address, checked_at, complaints, stopped, stopped_here)
    values ('checked', ${begun_at}, '{}', false, false),
      ('stopped', ${begun_at}, '{}', true, false)`
  const { rooms } = await sql.begin((tx) => lockRooms(tx, 'energy'))
  assert.deepEqual(
    rooms.map((one) => one.wallet),
    ['checked', 'unchecked'],
  )
})

test('what waits is looked at again only when a survey has found more room', async (t) => {
  const { sql, node, wallets } = await makeWorld(t, { pool_trx: [100_000] })
  const survey = () =>
    surveyStep({
      sql,
      node,
      pool: wallets.pool.map(({ address }) => address),
      activation_wallet: wallets.activation,
    }).run()
  assert.equal(await survey(), false, 'as much as before')
  const note = (resource: string, more: number) =>
    sql`update pool set room = room + ${more} where resource = ${resource}`
  await note('energy', 1)
  assert.equal(await survey(), false, 'less than before')
  for (const resource of ['energy', 'bandwidth']) {
    await note(resource, -1)
    assert.equal(await survey(), true, resource)
  }
})

test('a room comes with the ratio of its own resource', async (t) => {
  const { sql } = await freshDatabase(t)
  const ratios = { bandwidth: 10n, energy: 20n }
  for (const [resource, total_limit] of Object.entries(ratios))
    await sql`
      update pool set total_limit = ${total_limit}, total_weight = 1 where resource = ${resource}`
  for (const resource of ['bandwidth', 'energy'] as const) {
    const { ratio } = await sql.begin((tx) => lockRooms(tx, resource))
    assert.deepEqual(ratio, { total_limit: ratios[resource], total_weight: 1n })
  }
})
