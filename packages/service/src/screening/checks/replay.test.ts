import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeScreeningWorld, TRX } from 'penstock-test/harness/screening_world.ts'
import { makeEntry, withdrawEntry } from '../labels/entries.ts'
import { replayCheck } from './replay.ts'

test('a check comes out the same, byte for byte, after more blocks and labels', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, new_id } = world
  const customer_id = await world.customer()
  const [mixer, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  world.send(mixer, middle, 30n * TRX)
  world.send(world.person(), middle, 30n * TRX)
  const hash = world.send(middle, end, 20n * TRX)
  world.sendToken(middle, end, 5_000_000n)
  await world.settle()
  const checks = [
    await world.ask({ customer_id, address: end.address }),
    await world.ask({ customer_id, address: mixer.address }),
    await world.ask({
      customer_id,
      type: 'hash',
      address: end.address,
      hash,
      direction: 'deposit',
    }),
    await world.ask({
      customer_id,
      type: 'hash',
      address: end.address,
      hash,
      direction: 'withdrawal',
    }),
  ]
  world.now_ms += 1_000
  const made_at = world.clock.now()
  await sql.begin(async (tx) => {
    const rest = { reason: 'seen before', made_by: 'me', made_at, expires_at: null }
    await makeEntry(tx, new_id, { customer_id, address: end.address, kind: 'deny', ...rest })
  })
  world.send(world.person(), end, 500n * TRX)
  await world.settle()
  await world.publish('operator', [{ address: middle.address, category: 'scam' }])
  await world.drain()
  for (const { id, state } of checks) {
    assert.equal(state, 'completed')
    const { same, evidence_sha256, replayed_sha256 } = await replayCheck({ sql }, id)
    assert.deepEqual([same, replayed_sha256], [true, evidence_sha256])
  }
  const now = await world.ask({ customer_id, address: end.address })
  assert.deepEqual(
    [now.blacklist, now.risk_factors.map(({ name }) => name).includes('scam')],
    [true, true],
  )
  assert.ok((await replayCheck({ sql }, now.id)).same)
})

test("a deposit older than the kept transfers is answered from its sender's past", async (t) => {
  const world = await makeScreeningWorld(t, { carried_blocks: 30 })
  const customer_id = await world.customer()
  const [mixer, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  world.send(mixer, middle, 30n * TRX)
  const hash = world.send(middle, end, 20n * TRX)
  await world.settle()
  const asked = {
    customer_id,
    type: 'hash',
    address: end.address,
    hash,
    direction: 'deposit',
  } as const
  const young = await world.ask(asked)
  // Out of the window, and not yet forgotten; then forgotten too.
  world.mine(40)
  await world.settle()
  const old = await world.ask(asked)
  world.mine(100)
  await world.settle()
  const older = await world.ask(asked)
  const stands_in = async ({ id }: { id: string }) =>
    (await world.evidence(id)).notes.some((note) => note.startsWith('It is not kept any more'))
  assert.deepEqual(await Promise.all([young, old, older].map(stands_in)), [false, true, true])
  for (const { id } of [young, old, older]) assert.ok((await replayCheck(world, id)).same)
})

test('an answer that was tampered with does not come out the same', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const someone = world.person()
  world.send(world.person(), someone, TRX)
  await world.settle()
  const { id } = await world.ask({ customer_id, address: someone.address })
  assert.equal((await replayCheck(world, id)).same, true)
  const { risk_score, risk_factors } = await world.check(id)
  const write = (score: string | null, factors: readonly object[]) =>
    world.sql`
      update aml_check set risk_score = ${score}, risk_factors = ${JSON.stringify(factors)}
        where id = ${id}`
  await write('1.0', risk_factors)
  assert.equal((await replayCheck(world, id)).same, false)
  await write(
    risk_score,
    risk_factors.map((factor) => ({ ...factor, name: 'payment' })),
  )
  assert.equal((await replayCheck(world, id)).same, false)
  await write(risk_score, risk_factors)
  assert.equal((await replayCheck(world, id)).same, true)
  await assert.rejects(
    world.sql`update aml_evidence set canonical = '{}' where check_id = ${id}`,
    /append-only/,
  )
  await assert.rejects(replayCheck(world, 'nothing'), /There is no check nothing/)
})

test('an allowed address keeps its weighted mean until the entry ends', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, new_id } = world
  const customer_id = await world.customer()
  const other = await world.customer()
  const [mixer, shop] = [world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  world.send(mixer, shop, 400n * TRX)
  world.send(world.person(), shop, 40_000n * TRX)
  await world.settle()
  const made_at = world.clock.now()
  const expires_at = new Date(made_at.getTime() + 3_600_000)
  const rest = { reason: 'a known shop', made_by: 'me', made_at, expires_at }
  const { id } = await sql.begin((tx) =>
    makeEntry(tx, new_id, { customer_id, address: shop.address, kind: 'allow', ...rest }),
  )
  const score = async (who: string) =>
    (await world.ask({ customer_id: who, address: shop.address })).risk_score
  assert.deepEqual([await score(customer_id), await score(other)], ['25.7', '75.0'])
  world.now_ms += 3_600_001
  assert.equal(await score(customer_id), '75.0')
  world.now_ms = made_at.getTime() + 1_000
  await sql.begin((tx) => withdrawEntry(tx, { id, customer_id, at: world.clock.now() }))
  world.now_ms += 1_000
  assert.equal(await score(customer_id), '75.0')
})
