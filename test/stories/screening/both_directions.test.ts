// What an address sends counts as what it receives does: straight to a listed address, through
// others, to a deposit address of a service, and across a pool.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replayCheck } from 'penstock-service/screening/checks/replay.ts'
import { readEvidence } from 'penstock-service/screening/engine/evidence.ts'
import {
  publishPolicy,
  SHIPPED_NEWEST,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { readReportContext } from 'penstock-service/screening/reports/context.ts'
import { reportPage } from 'penstock-service/screening/reports/report.ts'
import {
  listDeposits,
  revokeDeposit,
} from 'penstock-service/screening/tracing/deposit_addresses.ts'
import { makeScreeningWorld, type ScreeningWorld, TRX } from '../../harness/screening_world.ts'

const DAY_MS = 24 * 3_600_000

async function begin(world: ScreeningWorld, body: object = SHIPPED_NEWEST) {
  await world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
  )
  world.now_ms += 2_000
}

/** A day after the last reading. */
async function nextNight(world: ScreeningWorld) {
  await world.settle()
  await world.sql`update flow_sent set begun_at = begun_at - ${DAY_MS} * interval '1 ms'`
  await world.drain()
}

const sharesOf = (factors: readonly { name: string; score: number }[]) =>
  Object.fromEntries(factors.map(({ name, score }) => [name, score]))

test('S3: nearly all that came from an exchange goes straight to a sanctioned one', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [exchange, mule, sdn] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    { address: exchange.address, category: 'exchange_licensed' },
    { address: sdn.address, category: 'sanctions' },
  ])
  await world.settle()
  world.send(exchange, mule, 900_000n * TRX)
  world.send(mule, sdn, 890_000n * TRX)
  await world.settle()
  const before = await world.ask({ customer_id, address: mule.address })
  assert.deepEqual([before.risk_score, before.risk_level], ['10.0', 'low'], 'the first policy')
  assert.deepEqual(before.sent_factors, [])
  await begin(world)
  const after = await world.ask({ customer_id, address: mule.address })
  assert.deepEqual([after.risk_score, after.risk_level], ['75.0', 'high'])
  assert.deepEqual((await world.evidence(after.id)).floors, [
    { category: 'sanctions', points: '75.0', rule: 'destination' },
  ])
  for (const { id } of [before, after]) assert.equal((await replayCheck(world, id)).same, true)
})

test('what was sent is followed to where it ended, and can be done again', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  await begin(world)
  const [exchange, payer, first, second, sdn] = [
    world.person(),
    world.person(),
    world.person(),
    world.person(),
    world.person(),
  ]
  await world.publish('operator', [
    { address: exchange.address, category: 'exchange_licensed' },
    { address: sdn.address, category: 'sanctions' },
  ])
  await world.settle()
  world.send(exchange, payer, 100_000n * TRX)
  world.send(payer, first, 40_000n * TRX)
  world.send(first, second, 40_000n * TRX)
  world.send(second, sdn, 30_000n * TRX)
  world.send(payer, exchange, 20_000n * TRX)
  await world.settle()
  const { address } = payer
  const early = await world.ask({ customer_id, address })
  assert.deepEqual((await world.evidence(early.id)).sent!.ended, {}, 'read before it was sent')
  await nextNight(world)
  const check = await world.ask({ customer_id, address })
  assert.deepEqual(sharesOf(check.sent_factors), {
    sanctions: 0.5,
    exchange_licensed: 0.3333,
    unidentified: 0.1667,
  })
  assert.deepEqual([check.risk_score, check.risk_level], ['70.0', 'high'])
  const { sent, floors } = await world.evidence(check.id)
  assert.equal(sent!.ended.sanctions!.usd, '9000.00')
  assert.ok(floors.some(({ rule }) => rule === 'destination_indirect'))
  const kept = (await readEvidence(world.sql, check.id))!
  const page = reportPage(kept, await readReportContext(world.sql, kept))
  assert.match(page, /What of it is new.*Exchange \(licensed\)<\/td><td[^>]*>100\.00 %/s)
  assert.match(page, /has ended<\/h2>.*Sanctions<\/td><td[^>]*>50\.00 %<\/td><td[^>]*>9000\.00/s)
  world.send(payer, sdn, 1n * TRX)
  await world.publish('operator', [{ address: exchange.address, category: 'exchange_licensed' }])
  await world.settle()
  const later = await world.ask({ customer_id, address })
  assert.equal((await world.evidence(later.id)).sent!.last_block, sent!.last_block)
  for (const { id } of [early, check, later])
    assert.equal((await replayCheck(world, id)).same, true)
  const other = world.startProcess(world.connect())
  await world.drain(other)
  const again = await world.ask({ customer_id, address }, other)
  assert.deepEqual(again.sent_factors, later.sent_factors, 'another process reads the same')
})

test('a process that starts knows at once what the last night has found', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 1 })
  const customer_id = await world.customer()
  await begin(world)
  const [payer, middle, sdn] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: sdn.address, category: 'sanctions' }])
  await world.settle()
  world.send(payer, middle, 40_000n * TRX)
  world.send(middle, sdn, 30_000n * TRX)
  await nextNight(world)
  const { address } = payer
  const before = await world.ask({ customer_id, address })
  assert.ok((await world.evidence(before.id)).floors.some(({ rule }) => /_indirect$/.test(rule)))
  // Whoever read the log back again would find nothing.
  await world.sql`update flow_block set transfers = '', tx_ids = ''`
  const started = world.startProcess(world.connect())
  await world.drain(started)
  const after = await world.ask({ customer_id, address }, started)
  assert.deepEqual([after.risk_score, after.sent_factors], [before.risk_score, before.sent_factors])
  assert.deepEqual((await world.evidence(after.id)).sent, (await world.evidence(before.id)).sent)
  assert.equal((await world.sql`select 1 from flow_sent_part`).length, 1, 'the last one alone')
})

test('a reading that is days old is told to be old, and not taken for nothing', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  await begin(world)
  const [payer, middle, sdn] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: sdn.address, category: 'sanctions' }])
  world.send(payer, middle, 40_000n * TRX)
  world.send(middle, sdn, 30_000n * TRX)
  await nextNight(world)
  const notesOf = async (id: string) => (await world.evidence(id)).notes.join()
  const fresh = await world.ask({ customer_id, address: payer.address })
  assert.doesNotMatch(await notesOf(fresh.id), /no newer reading/)
  world.scene.post('/devchain/advance', { seconds: 3 * 86_400 })
  world.mine(20)
  // The next night does not come.
  await world.drainWithout('read_sent')
  const { check } = await world.process.place({
    customer_id,
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    address: payer.address,
    hash: null,
    direction: null,
  })
  await world.drainWithout('read_sent')
  const old = await world.check(check.id)
  assert.equal(old.risk_score, fresh.risk_score)
  assert.match(await notesOf(old.id), /is known as of 20.*alone: no newer reading is through/)
  for (const { id } of [fresh, old]) assert.ok((await replayCheck(world, id)).same)
})

test('an address that only forwards to a service is its deposit address', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  await begin(world)
  const [mixer, deposit, other] = [world.person(), world.person(), world.person()]
  const [payer, buyer, spender] = [world.person(), world.person(), world.person()]
  const dusty = world.person()
  await world.publish('operator', [{ address: mixer.address, category: 'mixer', entity: 'Blend' }])
  await world.settle()
  for (let sweep = 0; sweep < 2; sweep++) {
    world.send(payer, deposit, 5_000n * TRX)
    world.send(deposit, mixer, 5_000n * TRX)
    world.send(buyer, spender, 5_000n * TRX)
    world.send(spender, mixer, 2_000n * TRX)
    world.send(spender, other, 3_000n * TRX)
    // Dust of another asset makes no service's address of one that sends its money elsewhere.
    world.sendToken(dusty, mixer, 1n)
    world.send(dusty, other, 5_000n * TRX)
  }
  await nextNight(world)
  const before = await world.ask({ customer_id, address: payer.address })
  assert.ok(!(await world.evidence(before.id)).floors.some(({ rule }) => rule === 'destination'))
  const [found, ...more] = await world.sql<{ address: string; entity: string; sweeps: number }>`
    select address, entity, sweeps from flow_deposit_found`
  assert.deepEqual(more, [])
  assert.deepEqual(
    [found!.address, found!.entity, found!.sweeps],
    [deposit.hex.slice(2), 'Blend', 2],
  )
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: 'Blend' },
    { address: world.person().address, category: 'payment' },
  ])
  await world.settle()
  const after = await world.ask({ customer_id, address: payer.address })
  assert.ok((await world.evidence(after.id)).floors.some(({ rule }) => rule === 'destination'))
  assert.equal(after.risk_level, 'high')
  // It is found again each night, so that the generation after the next has it, too.
  await nextNight(world)
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: 'Blend' },
    { address: world.person().address, category: 'wallet' },
  ])
  await world.settle()
  const [listed] = await listDeposits(world.sql, 10)
  assert.deepEqual([listed!.address, listed!.revoked_at], [deposit.hex.slice(2), null])
  const said = { address: listed!.address, reason: 'a person', by: 'test', at: world.clock.now() }
  const revoke = () => world.sql.begin((tx) => revokeDeposit(tx, said))
  assert.deepEqual([await revoke(), await revoke()], [true, false])
  await world.publish('operator', [{ address: mixer.address, category: 'mixer', entity: 'Blend' }])
  await world.settle()
  assert.deepEqual(await listDeposits(world.sql, 10), [])
  const revoked = await world.ask({ customer_id, address: payer.address })
  assert.ok(!(await world.evidence(revoked.id)).floors.some(({ rule }) => rule === 'destination'))
  for (const { id } of [before, after, revoked])
    assert.equal((await replayCheck(world, id)).same, true)
})

test('S5: stolen tokens that a pool turns into TRX are stolen TRX', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [thief, mule, pool] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    { address: thief.address, category: 'stolen_coins' },
    { address: pool.address, category: 'liquidity_pools' },
  ])
  await world.settle()
  world.sendToken(thief, mule, 9_000_000_000n)
  await world.settle()
  const buyer = world.person()
  // The development chain has no pools: the log is told that both legs are of one transaction.
  world.sendToken(mule, pool, 9_000_000_000n)
  world.send(pool, mule, 30_000n * TRX)
  world.send(mule, buyer, 30_000n * TRX)
  world.mine(20)
  await world.drainWithout('index')
  await joinLegs(world)
  await world.drain()
  const { address } = buyer
  const under_first = await world.ask({ customer_id, address })
  assert.deepEqual([under_first.risk_score, under_first.risk_level], ['50.0', 'medium'])
  await begin(world)
  await world.drain()
  const under_second = await world.ask({ customer_id, address })
  assert.deepEqual([under_second.risk_score, under_second.risk_level], ['100.0', 'high'])
  for (const { id } of [under_first, under_second])
    assert.equal((await replayCheck(world, id)).same, true)
})

/** Puts the newest token's transfer and the one after it into one transaction. */
async function joinLegs({ sql }: ScreeningWorld) {
  const rows = await sql<{ number: bigint; transfers: Uint8Array; tx_ids: Uint8Array }>`
    select number, transfers, tx_ids from flow_block where octet_length(transfers) > 0
    order by number desc limit 3`
  const [given, paid] = [rows[2]!, rows[1]!]
  await sql`
    update flow_block set transfers = ${Buffer.concat([given.transfers, paid.transfers])},
      tx_ids = ${Buffer.concat([given.tx_ids, given.tx_ids])} where number = ${given.number}`
  await sql`
    update flow_block set transfers = ''::bytea, tx_ids = ''::bytea,
      first_sequence = first_sequence + 1 where number = ${paid.number}`
}

test('an index of the first rules has no deposit addresses and reads nothing back', async (t) => {
  const world = await makeScreeningWorld(t)
  await begin(world, SHIPPED_POLICY)
  await world.settle()
  const rows = await world.sql`select rules from flow_generation where active_at is not null`
  assert.deepEqual(
    rows.map(({ rules }) => rules),
    [1],
  )
  assert.deepEqual([...(await world.sql`select from flow_sent`)], [])
})
