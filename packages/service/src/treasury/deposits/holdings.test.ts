// When balances of deposit addresses are asked for, and which rows they are compared with.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeWorld, TRX, type World } from 'penstock-test/harness/world.ts'
import { recountHolding } from './holdings.ts'

/** Two customers whose addresses have been looked at, and the step alone. */
async function holdingsWorld(t: TestContext) {
  const world = await makeWorld(t)
  const [anna, bert] = [await world.customer({ trx: 3 }), await world.customer({ trx: 4 })]
  await world.solidify()
  world.wait(120)
  await world.solidify()
  const step = world.app.steps.find(({ name }) => name === 'holdings')!
  const run = async () => {
    while (await step.run()) {}
  }
  return { world, anna, bert, run }
}

type Holding = { prior_sun: bigint | null; surplus_sun: bigint; compared: boolean; due_at: Date }

async function holdingOf({ sql }: World, address: string): Promise<Holding> {
  const [row] = await sql<Holding>`
    select prior_sun, surplus_sun, compared, due_at from holding where address = ${address}`
  return row!
}

/** What was seen to come to an address, or is told otherwise. */
const read = ({ sql }: World, address: string, sun: bigint) => sql`
  update holding set held_sun = ${sun}, compared = false, due_at = to_timestamp(0)
  where address = ${address}`

test('every ten seconds the address that was not looked at for longest has its turn', async (t) => {
  const { world, run } = await holdingsWorld(t)
  world.wait(30)
  const { sql } = world
  await sql`
    update holding as h set due_at = to_timestamp(place)
    from (select address, row_number() over (order by address) as place from holding) as t
    where h.address = t.address`
  const looked = async () => {
    const [row] = await sql<{ count: bigint; in_order: boolean }>`
      with one as (select due_at > to_timestamp(1000) as looked, address from holding)
      select count(*) filter (where looked) as count, coalesce(
        max(address) filter (where looked) < min(address) filter (where not looked), true)
        as in_order
      from one`
    assert.ok(row!.in_order)
    return Number(row!.count)
  }
  await run()
  assert.equal(await looked(), 1)
  world.wait(9)
  await run()
  assert.equal(await looked(), 1)
  world.wait(1)
  await run()
  assert.equal(await looked(), 2)
})

test('what is read of an address is compared with what came and went there alone', async (t) => {
  const { world, anna, bert, run } = await holdingsWorld(t)
  await read(world, anna.deposit_address, 10n * TRX)
  await read(world, bert.deposit_address, 11n * TRX)
  await run()
  const surpluses = []
  for (const { deposit_address } of [anna, bert]) {
    const { surplus_sun, compared } = await holdingOf(world, deposit_address)
    assert.equal(compared, true)
    surpluses.push(surplus_sun)
  }
  assert.deepEqual(surpluses, [7n * TRX, 7n * TRX])
})

test('a fee that is not known yet keeps its own address from being compared', async (t) => {
  const { world, anna, bert, run } = await holdingsWorld(t)
  const outflow = (block_number: number) => world.sql`
    insert into deposit_outflow (tx_id, address, block_number, amount_sun, seen_at, due_at)
    values (${`out ${block_number}`}, ${anna.deposit_address}, ${block_number}, 0, ${world.now},
      'infinity')`
  const comparedNow = async () => {
    await read(world, anna.deposit_address, 3n * TRX)
    await read(world, bert.deposit_address, 4n * TRX)
    await run()
    const rows = await Promise.all([anna, bert].map((one) => holdingOf(world, one.deposit_address)))
    return rows.map(({ compared }) => compared)
  }
  // In a later block than the balance is of.
  await outflow(1_000_000)
  assert.deepEqual(await comparedNow(), [true, true])
  await outflow(1)
  assert.deepEqual(await comparedNow(), [false, true])
  await world.sql`update deposit_outflow set seen_at = ${world.now}::timestamptz - interval '1 day'`
  assert.deepEqual(await comparedNow(), [true, true], 'a day later it is not waited for')
  // What is there first is counted from nothing: each fee has to be known.
  await world.sql`update holding set prior_sun = null where address = ${anna.deposit_address}`
  assert.deepEqual(await comparedNow(), [false, true])
  await world.sql`update deposit_outflow set fee_sun = 0`
  assert.deepEqual(await comparedNow(), [true, true])
})

test('a fee that no node tells is asked for again later, and is not taken for one', async (t) => {
  const { world, anna } = await holdingsWorld(t)
  const step = world.app.steps.find(({ name }) => name === 'holdings')!
  await world.sql`update holding set due_at = 'infinity'`
  await world.sql`
    insert into deposit_outflow (tx_id, address, block_number, amount_sun, seen_at, due_at)
    values (${'a'.repeat(64)}, ${anna.deposit_address}, 1, 0, ${world.now}, to_timestamp(0))`
  assert.equal(await step.run(), false, 'nothing has come of it')
  const [row] = await world.sql<{ fee_sun: bigint | null; due_at: Date }>`
    select fee_sun, due_at from deposit_outflow`
  assert.equal(row!.fee_sun, null)
  assert.ok(row!.due_at > world.now)
})

test('a balance of a block that was not read for deposits waits for that', async (t) => {
  const { world, anna, run } = await holdingsWorld(t)
  const { sql } = world
  await read(world, anna.deposit_address, 3n * TRX)
  await sql`
    update holding set number = (select number + 1 from cursor where name = 'deposits')
    where address = ${anna.deposit_address}`
  await run()
  assert.equal((await holdingOf(world, anna.deposit_address)).compared, false)
  await sql`update holding set number = number - 1 where address = ${anna.deposit_address}`
  await run()
  assert.equal((await holdingOf(world, anna.deposit_address)).compared, true)
})

test('an address is counted anew on its own, and not while a deposit there is open', async (t) => {
  const { world, anna, bert, run } = await holdingsWorld(t)
  const { sql } = world
  const recount = (address: string) => sql.begin((tx) => recountHolding(tx, address))
  await assert.rejects(recount(world.person('cold').address), /is not an address where deposits/)
  const state = (name: string) => sql`
    update deposit set state = ${name} where to_address = ${anna.deposit_address}`
  await state('unproven')
  await assert.rejects(recount(anna.deposit_address), /try again in a minute/)
  await recount(bert.deposit_address)
  await state('credited')
  await read(world, anna.deposit_address, 10n * TRX)
  await run()
  assert.equal((await holdingOf(world, anna.deposit_address)).surplus_sun, 7n * TRX)
  const before = await recount(anna.deposit_address)
  assert.equal(before.surplus_sun, 7n * TRX)
  const { prior_sun, surplus_sun } = await holdingOf(world, anna.deposit_address)
  assert.deepEqual([prior_sun, surplus_sun], [null, 0n])
  // The balance by then is the beginning.
  await read(world, anna.deposit_address, 10n * TRX)
  await run()
  const after = await holdingOf(world, anna.deposit_address)
  assert.deepEqual([after.prior_sun, after.surplus_sun], [7n * TRX, 0n])
})
