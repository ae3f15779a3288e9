// What a replay compares, what it refuses, and what it reads as it was noted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertChecks } from 'penstock-test/harness/screening_rows.ts'
import {
  makeScreeningWorld,
  type ScreeningWorld,
  TRX,
} from 'penstock-test/harness/screening_world.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { ENGINE, ENGINES_BEFORE } from '../engine/screening.ts'
import { replayCheck } from './replay.ts'

/** A deposit of money of which half is a mixer's, by two steps. */
async function deposit(world: ScreeningWorld) {
  const customer_id = await world.customer()
  const [mixer, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [{ address: mixer.address, category: 'mixer' }])
  await world.settle()
  world.send(mixer, middle, 30n * TRX)
  world.send(world.person(), middle, 30n * TRX)
  const hash = world.send(middle, end, 20n * TRX)
  await world.settle()
  return { customer_id, address: end.address, type: 'hash', hash, direction: 'deposit' } as const
}

/** Puts evidence in the place of what is kept, as if that had been signed. */
async function replaceEvidence(sql: Sql, id: string, canonical: string): Promise<void> {
  await sql`delete from aml_evidence where check_id = ${id}`
  await sql`
    insert into aml_evidence
    values (${id}, ${canonical}, encode(sha256(${canonical}::text::bytea), 'hex'))`
  await sql`
    update aml_check set evidence_sha256 = encode(sha256(${canonical}::text::bytea), 'hex')
    where id = ${id}`
}

test('an answer comes out the same when all that it says does', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql } = world
  const { id } = await world.ask(await deposit(world))
  const is_same = async () => (await replayCheck({ sql }, id)).same
  assert.equal(await is_same(), true)
  const { risk_factors } = await world.check(id)
  const turned = JSON.stringify(risk_factors.map((one) => ({ ...one, name: 'payment' })))
  const sent = JSON.stringify(risk_factors)
  for (const change of [
    () => sql`update aml_check set risk_score = '1.0' where id = ${id}`,
    () => sql`update aml_check set risk_level = 'low' where id = ${id}`,
    () => sql`update aml_check set blacklist = not blacklist where id = ${id}`,
    () => sql`update aml_check set risk_factors = ${turned} where id = ${id}`,
    () => sql`update aml_check set sent_factors = ${sent} where id = ${id}`,
    () => sql`update aml_check set evidence_sha256 = 'f' where id = ${id}`,
  ]) {
    await sql`create table before as select * from aml_check where id = ${id}`
    await change()
    assert.equal(await is_same(), false)
    await sql`
      update aml_check as c set risk_score = b.risk_score, risk_level = b.risk_level,
        blacklist = b.blacklist, risk_factors = b.risk_factors, sent_factors = b.sent_factors,
        evidence_sha256 = b.evidence_sha256
      from before as b where c.id = b.id`
    await sql`drop table before`
  }
  assert.equal(await is_same(), true)
  const evidence = JSON.stringify(await world.evidence(id))
  await replaceEvidence(sql, id, evidence.replace('"notes":[', '"notes":["more",'))
  assert.equal(await is_same(), false)
})

test('what cannot be done again is refused with its reason', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql } = world
  const { id } = await world.ask(await deposit(world))
  const replay = () => replayCheck({ sql }, id)
  await insertChecks(sql, [{ id: '0' }, { id: 'waits', state: 'pending' }])
  await assert.rejects(replayCheck({ sql }, 'none'), /There is no check none/)
  await assert.rejects(replayCheck({ sql }, 'waits'), /is pending: there is no answer to do again/)
  await assert.rejects(replayCheck({ sql }, '0'), /not answered by the embedded engine/)
  const { hash, address } = await world.check(id)
  await sql`update aml_check set hash = ${'ab'.repeat(32)} where id = ${id}`
  await assert.rejects(replay(), /The transfers of check .* are not kept any more/)
  const stranger = world.person().address
  await sql`update aml_check set hash = ${hash}, address = ${stranger} where id = ${id}`
  await assert.rejects(replay(), /The transaction of check .* does not name its address/)
  await sql`update aml_check set address = ${address} where id = ${id}`
  assert.equal((await replay()).same, true)
  const evidence = JSON.stringify(await world.evidence(id))
  const by = (engine: string) =>
    replaceEvidence(sql, id, evidence.replace(/"engine":"[^"]*"/, `"engine":"${engine}"`))
  await by('another')
  await assert.rejects(replay(), /was answered by another; this is /)
  // This policy's answers are the fourth engine's.
  for (const engine of [...ENGINES_BEFORE, ENGINE]) {
    await by(engine)
    assert.equal((await replay()).same, engine === ENGINES_BEFORE[2], engine)
  }
  await sql`delete from aml_evidence`
  await assert.rejects(replay(), /The evidence of check .* is not kept any more/)
})

test('what transfers carried is computed anew for five million, and else read', async (t) => {
  const world = await makeScreeningWorld(t, { checkpoint_transfers: 1 })
  const { sql } = world
  const { id } = await world.ask(await deposit(world))
  const replay = () => replayCheck({ sql }, id)
  const { index } = await world.evidence(id)
  const { index_number } = await world.check(id)
  const [first] = await sql<{ first_sequence: bigint }>`
    select first_sequence from flow_block where number >= ${index.carried_since!}
    order by number limit 1`
  /** As if there had been so many transfers before the last block, which has none. */
  const count = (transfers: bigint) => sql`
    update flow_block set first_sequence = ${first!.first_sequence + transfers}
    where number = ${index_number}`
  await count(5_000_001n)
  assert.equal((await replay()).same, true, 'it was noted')
  await sql`delete from flow_carried`
  await assert.rejects(replay(), /It is not kept any more what transfers carried/)
  await count(5_000_000n)
  assert.equal((await replay()).same, true)
})
