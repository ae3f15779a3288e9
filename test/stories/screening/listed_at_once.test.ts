// What is listed, frozen or denied counts in the next answer, whatever labels the index is computed
// with and whoever answers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Check } from 'penstock-service/screening/checks/checks.ts'
import { replayCheck } from 'penstock-service/screening/checks/replay.ts'
import { readEvidence, sha256Of } from 'penstock-service/screening/engine/evidence.ts'
import {
  publishPolicy,
  readPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import { ENGINES_BEFORE, screenAddress } from 'penstock-service/screening/engine/screening.ts'
import { makeEntry, withdrawEntry } from 'penstock-service/screening/labels/entries.ts'
import type { Provider, ProviderAnswer } from 'penstock-service/screening/providers/provider.ts'
import { readReportContext } from 'penstock-service/screening/reports/context.ts'
import { reportPage } from 'penstock-service/screening/reports/report.ts'
import { makeScreeningWorld, type ScreeningWorld, TRX } from '../../harness/screening_world.ts'

const saidOf = ({ state, risk_score, risk_level, blacklist }: Check) => [
  state,
  risk_score,
  risk_level,
  blacklist,
]
const BARRED = ['completed', '100.0', 'high', true]

const sanctioned = (address: Check['address']) =>
  ({ address, category: 'sanctions', kind: 'authority', entity: 'SDN 1' }) as const

type CheckRequest = Parameters<ScreeningWorld['ask']>[0]

/** Asks for a check, of an address unless it says otherwise; nothing answers yet. */
const place = (world: ScreeningWorld, wanted: CheckRequest) =>
  world.process.place({
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    hash: null,
    direction: null,
    ...wanted,
  })

/** Asks while the step that computes the index is held: so long lasts a rebuild. */
async function askWhileHeld(world: ScreeningWorld, wanted: CheckRequest) {
  const { check } = await place(world, wanted)
  await world.drainWithout('index')
  return world.check(check.id)
}

test('S8: an address is barred by a list that the index does not know yet', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [thief, shop] = [world.person(), world.person()]
  const hash = world.send(thief, shop, 10n * TRX)
  await world.settle()
  await world.publish('ofac_sdn', [sanctioned(thief.address)])
  const about_thief = await askWhileHeld(world, { customer_id, address: thief.address })
  const about_deposit = await askWhileHeld(world, {
    customer_id,
    type: 'hash',
    address: shop.address,
    hash,
    direction: 'deposit',
  })
  const about_shop = await askWhileHeld(world, { customer_id, address: shop.address })
  assert.deepEqual([about_thief, about_deposit].map(saidOf), [BARRED, BARRED])
  assert.deepEqual(saidOf(about_shop), ['completed', '25.0', 'low', false], 'not by exposure')
  const evidence = await world.evidence(about_thief.id)
  assert.deepEqual(
    [evidence.label_set, evidence.bars!.label_set, evidence.blacklisted_by],
    ['0', '1', ['list']],
  )
  assert.equal(evidence.bars!.labels[0]!.entity, 'SDN 1')
  const kept = (await readEvidence(world.sql, about_thief.id))!
  const page = reportPage(kept, await readReportContext(world.sql, kept))
  assert.match(page, /ofac_sdn: SDN 1 test \(label set 1\)/)
  assert.match(evidence.notes.join(), /from label set 1; shares are by label set 0/)
  await world.drain()
  // Taken off the list, it is not barred any more, and says so as soon.
  await world.publish('ofac_sdn', [])
  world.now_ms += 1_000
  const delisted = await askWhileHeld(world, { customer_id, address: thief.address })
  assert.deepEqual([delisted.blacklist, delisted.risk_score], [false, '100.0'])
  await world.settle()
  for (const { id } of [about_thief, about_deposit, about_shop, delisted])
    assert.ok((await replayCheck(world, id)).same)
})

test('an address is barred by a freeze that the index does not know yet', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const shop = world.person()
  world.sendToken(world.person(), shop, 5_000_000n)
  await world.settle()
  world.freeze(shop, true)
  world.mine(20)
  // Recorded, and not indexed: a check that was asked for before the block was solid is answered.
  const { check } = await place(world, { customer_id, address: shop.address })
  await world.drainWithout('index')
  // Now the chain has been caught up with.
  await world.drainWithout('index')
  const frozen = await world.check(check.id)
  assert.deepEqual(saidOf(frozen), BARRED)
  const { bars, blacklisted_by } = await world.evidence(frozen.id)
  assert.deepEqual([blacklisted_by, bars!.frozen.length], [['issuer_freeze'], 1])
  world.freeze(shop, false)
  await world.settle()
  const free = await world.ask({ customer_id, address: shop.address })
  assert.deepEqual(saidOf(free), ['completed', '25.0', 'low', false])
  for (const { id } of [frozen, free]) assert.ok((await replayCheck(world, id)).same)
})

/** A connection that does something before the transaction that stores answers. */
function interrupted(world: ScreeningWorld, interrupt: () => Promise<void>): Sql {
  const { sql } = world
  let done = false
  const begin: Sql['begin'] = async (work) => {
    const open = await sql`select 1 from aml_check where state = 'processing'`
    if (open.length > 0 && !done) {
      done = true
      await interrupt()
    }
    return sql.begin(work)
  }
  const query = ((strings: TemplateStringsArray, ...values: unknown[]) =>
    sql(strings, ...values)) as Sql
  return Object.assign(query, { begin, close: () => sql.close() })
}

test('a list that is published while a check is answered counts in that answer', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const thief = world.person()
  world.send(thief, world.person(), TRX)
  await world.settle()
  let published = 0
  const sql = interrupted(world, async () => {
    published += 1
    await world.publish('ofac_sdn', [sanctioned(thief.address)])
  })
  const process = world.startProcess(sql)
  const check = await world.ask({ customer_id, address: thief.address }, process)
  assert.deepEqual([published, saidOf(check)], [1, BARRED])
  assert.equal((await world.evidence(check.id)).bars!.label_set, '1')
  assert.ok((await replayCheck(world, check.id)).same)
})

test('what is denied or allowed counts as it is when the answer is stored', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql, new_id, clock } = world
  const customer_id = await world.customer()
  const shop = world.person()
  world.send(world.person(), shop, TRX)
  await world.settle()
  const made = { made_by: 'me', made_at: clock.now(), expires_at: null, reason: 'seen' }
  let id = ''
  const interrupt = () =>
    sql.begin(async (tx) => {
      const entry = { customer_id, address: shop.address, kind: 'deny', ...made } as const
      id = (await makeEntry(tx, new_id, entry)).id
    })
  const process = world.startProcess(interrupted(world, interrupt))
  const denied = await world.ask({ customer_id, address: shop.address }, process)
  assert.deepEqual(saidOf(denied), BARRED)
  world.now_ms += 1_000
  await sql.begin((tx) => withdrawEntry(tx, { id, customer_id, at: clock.now() }))
  world.now_ms += 1_000
  const withdrawn = await world.ask({ customer_id, address: shop.address })
  assert.deepEqual(saidOf(withdrawn), ['completed', '25.0', 'low', false])
  for (const one of [denied, withdrawn]) assert.ok((await replayCheck({ sql }, one.id)).same)
})

const LOW: ProviderAnswer = {
  score: 1,
  blacklist: false,
  shares: [{ category: 'exchange_licensed', share: 1 }],
  level: 'low',
  reference: 'r-1',
  body: Buffer.from('{"riskscore":0.01}'),
}

function harmless(): Provider & { asked: number } {
  const provider = {
    name: 'other',
    asked: 0,
    covers: () => true,
    screen: () => {
      provider.asked += 1
      return Promise.resolve(LOW)
    },
  }
  return provider
}

async function routes(world: ScreeningWorld, mode: 'first' | 'maximum'): Promise<void> {
  const route = { use: ['other', 'embedded'], mode }
  const body = {
    ...SHIPPED_POLICY,
    routes: { ...SHIPPED_POLICY.routes, 'TRX/address': route, 'TRX/hash': route },
  }
  await world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
  )
  world.now_ms += 1_000
}

for (const mode of ['first', 'maximum'] as const)
  test(`S6: no provider's answer hides what bars an address (${mode})`, async (t) => {
    const world = await makeScreeningWorld(t)
    const provider = harmless()
    world.providers.push(provider)
    const customer_id = await world.customer()
    const [listed, frozen, denied, honest] = [1, 2, 3, 4].map(() => world.person()) as [
      ...ReturnType<typeof world.person>[],
    ]
    const shop = world.person()
    const hash = world.send(listed!, shop, 10n * TRX)
    world.freeze(frozen!, true)
    await world.settle()
    await world.publish('ofac_sdn', [sanctioned(listed!.address)])
    const made = { made_by: 'me', made_at: world.clock.now(), expires_at: null, reason: 'seen' }
    const entry = { customer_id, address: denied!.address, kind: 'deny', ...made } as const
    await world.sql.begin((tx) => makeEntry(tx, world.new_id, entry))
    await routes(world, mode)
    await world.drain()
    const deposit = { type: 'hash', address: shop.address, hash, direction: 'deposit' } as const
    const asked = [listed!, frozen!, denied!, honest!].map(({ address }) => ({ address }))
    const checks: Check[] = []
    for (const one of [...asked, deposit]) checks.push(await world.ask({ customer_id, ...one }))
    assert.deepEqual(
      checks.map(({ blacklist }) => blacklist),
      [true, true, true, false, true],
    )
    assert.deepEqual(saidOf(checks[0]!), BARRED)
    assert.equal(provider.asked, 5)
    const evidence = await Promise.all(checks.map(({ id }) => world.evidence(id)))
    assert.deepEqual(
      evidence.map(({ blacklisted_by }) => blacklisted_by),
      [['list'], ['issuer_freeze'], ['denied'], [], ['list']],
    )
    const said = evidence[0]!.answers!.find(({ name }) => name === 'other')!
    assert.deepEqual([said.score, said.blacklist], ['1.0', false], 'what it said is kept')
    const kept = await world.sql`select 1 from aml_answer where outcome = 'answered'`
    assert.equal(kept.length, 5)
  })

test('a transaction is not put to a provider before it is known whom it is from', async (t) => {
  const world = await makeScreeningWorld(t)
  const provider = harmless()
  world.providers.push(provider)
  const customer_id = await world.customer()
  const [thief, shop] = [world.person(), world.person()]
  await world.publish('ofac_sdn', [sanctioned(thief.address)])
  await routes(world, 'first')
  await world.settle()
  const hash = world.send(thief, shop, 10n * TRX)
  const asked = { customer_id, type: 'hash', address: shop.address, hash } as const
  const { id } = await world.ask({ ...asked, direction: 'deposit' })
  assert.deepEqual([(await world.check(id)).state, provider.asked], ['processing', 0])
  await world.settle()
  world.now_ms += 5_000
  await world.drain()
  assert.deepEqual([saidOf(await world.check(id)), provider.asked], [BARRED, 1])
})

const EVIDENCE_BEFORE = 'fba0d1eeb6462e3b23d1e624c59726c6a1c14fba96cc074ec875d940573471aa'

test('answers of the engine before come out as they did, byte for byte', async (t) => {
  const world = await makeScreeningWorld(t)
  const { sql } = world
  const customer_id = await world.customer()
  const [mixer, shop] = [world.person('mixer'), world.person('shop')]
  await world.publish('ofac_sdn', [{ ...sanctioned(mixer.address), category: 'mixer' }])
  world.send(mixer, shop, 30n * TRX)
  world.freeze(shop, true)
  await world.settle()
  const generation = world.process.generations.current()!
  const policy = await readPolicy(sql, 1)
  const { carried_blocks } = world.options
  const basis = { sql, generation, policy, carried_blocks, bars: undefined }
  const { check } = await place(world, { customer_id, address: shop.address })
  const { outcome, evidence, index_number } = await screenAddress(basis, check)
  assert.match(evidence, new RegExp(`"engine":"${ENGINES_BEFORE[0]}"`))
  // As the program before had it.
  assert.equal(sha256Of(evidence), EVIDENCE_BEFORE)
  await sql`insert into aml_evidence (check_id, canonical, sha256)
    values (${check.id}, ${evidence}, ${sha256Of(evidence)})`
  await sql`
    update aml_check set state = 'completed', ended_at = now(), risk_score = ${outcome.score},
      risk_level = ${outcome.level}, blacklist = ${outcome.blacklist},
      risk_factors = ${JSON.stringify(outcome.factors)}, provider = 'embedded', policy = 1,
      label_set = ${generation.label_set}, generation = ${generation.number},
      index_number = ${index_number}, evidence_sha256 = ${sha256Of(evidence)}
    where id = ${check.id}`
  // What is known since does not change it.
  await world.publish('ofac_sdn', [sanctioned(shop.address)])
  await world.settle()
  const { same, canonical } = await replayCheck({ sql }, check.id)
  assert.deepEqual([same, canonical], [true, evidence])
})
