// What a token's issuer froze before the service followed its first block: the token's contract is
// asked, and what could not be asked is never taken for a no.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectorOf, wordOfAddress } from 'penstock-devchain/calls/abi.ts'
import { person, type Scene, TRX } from 'penstock-devchain/scene.ts'
import { replayCheck } from 'penstock-service/screening/checks/replay.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { readBars } from 'penstock-service/screening/engine/bars.ts'
import { readEvidence, sha256Of } from 'penstock-service/screening/engine/evidence.ts'
import {
  publishPolicy,
  readPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { screenAddress } from 'penstock-service/screening/engine/screening.ts'
import { readReportContext } from 'penstock-service/screening/reports/context.ts'
import { reportPage } from 'penstock-service/screening/reports/report.ts'
import { findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { makeScreeningWorld, type ScreeningWorld } from '../../harness/screening_world.ts'
import { makeWorld } from '../../harness/world.ts'

const ASKED = '/walletsolidity/triggerconstantcontract'

/** A service that begins when somebody has been frozen for long. */
async function beginLate(t: Parameters<typeof makeScreeningWorld>[0]) {
  const before = await makeScreeningWorld(t)
  const [frozen, honest] = [before.person(), before.person()]
  before.freeze(frozen, true)
  await before.settle()
  const world = await before.another()
  const customer_id = await world.customer()
  const words = await world.sql`select 1 from flow_freeze`
  assert.equal(words.length, 0, 'the log does not know')
  return { world, customer_id, frozen, honest }
}

const wordsOf = async (world: ScreeningWorld, address: string) =>
  (
    await world.sql<{ said: string }>`
      select said from issuer_word where address = ${address} order by asked_at`
  ).map(({ said }) => said)

test('S1: what was frozen before the first block is blacklisted', async (t) => {
  const { world, customer_id, frozen, honest } = await beginLate(t)
  const barred = await world.ask({ customer_id, address: frozen.address })
  assert.deepEqual([barred.risk_score, barred.blacklist], ['100.0', true])
  const { bars, blacklisted_by } = await world.evidence(barred.id)
  assert.deepEqual(blacklisted_by, ['issuer_freeze'])
  assert.deepEqual(
    bars!.issuers.map(({ token, said }) => [token, said]),
    [[USDT, 'frozen']],
  )
  const kept = (await readEvidence(world.sql, barred.id))!
  const page = reportPage(kept, await readReportContext(world.sql, kept))
  assert.match(page, /issuer says that the address is frozen/)
  const clean = await world.ask({ customer_id, address: honest.address })
  assert.equal(clean.blacklist, false)
  assert.equal((await world.evidence(clean.id)).bars!.issuers[0]!.said, 'not_frozen')
  // The sender of a transaction is asked about, too.
  const hash = world.send(frozen, honest, TRX)
  await world.settle()
  const address = honest.address
  const deposit = await world.ask({ customer_id, type: 'hash', address, hash })
  assert.equal(deposit.blacklist, true)
  assert.deepEqual(await wordsOf(world, frozen.address), ['frozen'], 'asked once for all of them')
  // From now on the log knows better.
  world.freeze(frozen, false)
  await world.settle()
  const lifted = await world.ask({ customer_id, address: frozen.address })
  assert.deepEqual([lifted.risk_level, lifted.blacklist], ['low', false])
  assert.deepEqual((await world.evidence(lifted.id)).bars!.issuers, [])
  for (const { id } of [barred, clean, deposit, lifted])
    assert.ok((await replayCheck(world, id)).same)
})

test('a later word of the log counts for its address alone, wherever', async (t) => {
  const { world, customer_id, frozen, honest } = await beginLate(t)
  const held = async (address: string) =>
    (await heldSenders({ clock: world.clock })(world.sql, [address])).size
  await world.ask({ customer_id, address: frozen.address })
  assert.equal(await held(frozen.address), 1)
  world.freeze(frozen, false)
  world.freeze(honest, true)
  await world.settle()
  assert.deepEqual([await held(frozen.address), await held(honest.address)], [0, 1])
  const facts = async (address: string) => {
    const { screened, bars } = await world.evidence((await world.ask({ customer_id, address })).id)
    return [screened.frozen_by_issuer, bars!.issuers.map(({ said }) => said)]
  }
  assert.deepEqual(await facts(honest.address), [true, []])
  assert.deepEqual(await facts(frozen.address), [false, []])
  // Of the others the contract is asked as before.
  assert.deepEqual(await facts(person('somebody else').address), [false, ['not_frozen']])
})

test('a node that does not say it makes "not asked", and never a no', async (t) => {
  const { world, customer_id, frozen } = await beginLate(t)
  let asked = 0
  world.says = (path, said) => {
    if (path !== ASKED) return said
    asked += 1
    return undefined
  }
  const unknown = await world.ask({ customer_id, address: frozen.address })
  assert.equal(unknown.state, 'completed', 'nothing waits for it')
  const { bars, notes } = await world.evidence(unknown.id)
  assert.deepEqual(bars!.issuers, [{ token: USDT, said: 'not_asked', at: null }])
  assert.match(notes.join(), /froze the address before block \d+ is not known/)
  await world.ask({ customer_id, address: world.person().address })
  assert.equal(asked, 1, 'it is left alone for a while')
  world.says = (_path, said) => said
  world.now_ms += 31_000
  const known = await world.ask({ customer_id, address: frozen.address })
  assert.equal(known.blacklist, true)
  for (const { id } of [unknown, known]) assert.ok((await replayCheck(world, id)).same)
})

test('without a node that answers, what a contract once said stays true', async (t) => {
  const { world, customer_id, frozen } = await beginLate(t)
  await world.ask({ customer_id, address: frozen.address })
  world.now_ms += 3 * 86_400_000
  world.says = (path, said) => (path === ASKED ? undefined : said)
  world.mine()
  const again = await world.ask({ customer_id, address: frozen.address })
  assert.deepEqual([again.state, again.blacklist], ['completed', true])
})

test('answers of the engine that asked no issuer come out as they did', async (t) => {
  const { world, customer_id, frozen } = await beginLate(t)
  await world.settle()
  const { sql } = world
  const generation = world.process.generations.current()!
  const policy = await readPolicy(sql, 1)
  const at = world.clock.now()
  const readThird = async (party: Parameters<typeof readBars>[1][number]) => ({
    ...(await readBars(sql, [party], at))[0]!,
    issuers: undefined,
  })
  const { carried_blocks } = world.options
  const basis = { sql, generation, policy, carried_blocks, bars: readThird }
  const check = await world.ask({ customer_id, address: frozen.address })
  const { evidence, outcome } = await screenAddress(basis, check)
  assert.match(evidence, /"engine":"penstock 3"/)
  assert.doesNotMatch(evidence, /issuers/)
  await sql`alter table aml_evidence disable trigger user`
  await sql`update aml_evidence set canonical = ${evidence}, sha256 = ${sha256Of(evidence)}`
  await sql`alter table aml_check disable trigger user`
  await sql`
    update aml_check set evidence_sha256 = ${sha256Of(evidence)}, risk_score = ${outcome.score},
      risk_level = ${outcome.level}, blacklist = false,
      risk_factors = ${JSON.stringify(outcome.factors)}`
  const { same, canonical } = await replayCheck({ sql }, check.id)
  assert.deepEqual([same, canonical], [true, evidence])
})

/** The token's owner freezes an address. */
function freezeBefore(address: string) {
  return (scene: Scene) => {
    const key = scene.devchain.usdt_owner_key
    const owner = { key, address: addressOf(key), hex: addressToHex(addressOf(key)) }
    scene.devchain.fund(owner.address, 10_000n * TRX)
    const data = selectorOf('addBlackList(address)') + wordOfAddress(addressToHex(address))
    const call = { contract_address: addressToHex(USDT), data }
    scene.send(owner, 'TriggerSmartContract', call, { fee_limit: 1_000n * TRX })
    scene.mine(40)
  }
}

for (const recharge_at of ['inclusion', 'solid'] as const)
  test(`money of a sender frozen before is held (recharges at ${recharge_at})`, async (t) => {
    const { address } = person('thief')
    const before = freezeBefore(address)
    const world = await makeWorld(t, { tokens: [USDT], recharge_at, before })
    assert.equal((await world.sql`select 1 from flow_freeze`).length, 0)
    const anna = await world.customer()
    const [thief, sam] = [world.person('thief', 100), world.person('sam', 100)]
    const paid = [
      world.pay(anna.deposit_address, 50n * TRX, thief),
      world.pay(world.recharge.address, 3n * TRX, thief),
      world.pay(anna.deposit_address, 7n * TRX, sam),
    ]
    await world.solidify()
    await world.settle()
    await world.solidify()
    const deposits = await Promise.all(paid.map((tx_id) => findDeposits(world.sql, tx_id)))
    assert.deepEqual(
      deposits.map(([one]) => one!.state),
      ['held', 'held', 'credited'],
    )
    assert.equal(await world.energyLimit(address), 0)
  })

test('a node that is down holds no deposit up', async (t) => {
  const world = await makeWorld(t, { tokens: [USDT] })
  const anna = await world.customer()
  world.network.answers = (path, body) => (path === ASKED ? 'nonsense' : body)
  world.pay(anna.deposit_address, 7n * TRX, world.person('sam', 100))
  await world.solidify()
  assert.equal(await anna.balance(), 7)
  const words = await world.sql<{ said: string }>`select said from issuer_word`
  assert.deepEqual([...new Set(words.map(({ said }) => said))], ['not_asked'])
})

test('nothing is sold to a receiver frozen before, where the policy looks at it', async (t) => {
  const { address } = person('thief')
  const world = await makeWorld(t, { tokens: [USDT], before: freezeBefore(address) })
  const body = { ...SHIPPED_POLICY, refuse_blacklisted_receivers: true }
  await world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.now }),
  )
  await world.advance(4)
  const anna = await world.customer({ trx: 100 })
  const params = { address, amount: 65_000, duration: 1 }
  const bought = await anna.call('/v1/transaction/new', { service: 'energy', params })
  assert.deepEqual([bought.code, bought.key], [10, 'invalid_network_address.blacklisted'])
})
