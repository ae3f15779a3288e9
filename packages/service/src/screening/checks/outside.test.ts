import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  makeScreeningWorld,
  type ScreeningWorld,
  TRX,
} from 'penstock-test/harness/screening_world.ts'
import { customerAccount, spendable } from '../../ledger/accounts/ledger.ts'
import { Refused } from '../../lib/fault.ts'
import { drain } from '../../platform/steps/step.ts'
import { readEvidence } from '../engine/evidence.ts'
import { publishPolicy, type Route, SHIPPED_POLICY } from '../engine/policy.ts'
import { type Provider, type ProviderAnswer, ProviderFailure } from '../providers/provider.ts'
import { readReportContext } from '../reports/context.ts'
import { reportPage } from '../reports/report.ts'
import { replayCheck } from './replay.ts'

const ANSWER: ProviderAnswer = {
  score: 42.35,
  level: undefined,
  blacklist: false,
  reference: 'r-1',
  body: Buffer.from('{"said":1}'),
  shares: [
    { category: 'mixer', share: 0.25 },
    { category: 'exchange_licensed', share: 0.5 },
  ],
}

/** A provider that does what is given. */
function saying(name: string, say: () => ProviderAnswer): Provider & { asked: number } {
  const provider = {
    name,
    asked: 0,
    covers: () => true,
    screen: async () => {
      provider.asked += 1
      return say()
    },
  }
  return provider
}

const failing = (name: string, kind: ProviderFailure['kind']) =>
  saying(name, () => {
    throw new ProviderFailure(kind, 'no', { body: Buffer.from('sorry') })
  })

async function route(world: ScreeningWorld, key: string, wanted: Route): Promise<void> {
  const body = { ...SHIPPED_POLICY, routes: { ...SHIPPED_POLICY.routes, [key]: wanted } }
  await world.sql.begin((tx) =>
    publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
  )
}

async function setUp(world: ScreeningWorld, providers: Provider[], wanted: Route) {
  world.providers.push(...providers)
  await route(world, 'TRX/address', wanted)
  const customer_id = await world.customer(10)
  const [exchange, end] = [world.person(), world.person()]
  await world.publish('operator', [{ address: exchange.address, category: 'exchange_licensed' }])
  world.send(exchange, end, 10n * TRX)
  await world.settle()
  return { customer_id, address: end.address }
}

test("a provider's answer is the check's, with its bytes and hash", async (t) => {
  const world = await makeScreeningWorld(t)
  const asked = await setUp(world, [saying('other', () => ANSWER)], {
    use: ['other'],
    mode: 'first',
  })
  const check = await world.ask(asked)
  assert.deepEqual(
    [check.state, check.risk_score, check.risk_level, check.provider],
    ['completed', '42.4', 'medium', 'other'],
  )
  assert.deepEqual(
    check.risk_factors.map(({ name, score }) => [name, score]),
    [
      ['exchange_licensed', 0.5],
      ['mixer', 0.25],
      ['unidentified', 0.25],
    ],
  )
  const [kept] = await world.sql<{
    body: Buffer
    outcome: string
  }>`select body, outcome from aml_answer where check_id = ${check.id}`
  assert.deepEqual([kept!.body.toString(), kept!.outcome], ['{"said":1}', 'answered'])
  const evidence = (await readEvidence(world.sql, check.id))!
  const page = reportPage(evidence, await readReportContext(world.sql, evidence))
  assert.match(page, /other: 42.4, medium risk/)
  await assert.rejects(replayCheck(world, check.id), /not answered by the embedded engine/)
})

test("when a provider fails the next answers; our own engine's can be replayed", async (t) => {
  const world = await makeScreeningWorld(t)
  const asked = await setUp(world, [failing('other', 'transient')], {
    use: ['other', 'embedded'],
    mode: 'first',
  })
  const check = await world.ask(asked)
  assert.deepEqual([check.risk_score, check.provider], ['10.0', 'embedded'])
  assert.ok((await replayCheck(world, check.id)).same)
  const [kept] = await world.sql<{
    outcome: string
  }>`select outcome from aml_answer where check_id = ${check.id}`
  assert.equal(kept!.outcome, 'transient')
})

test('while our own engine has to wait, earlier providers are asked seldom', async (t) => {
  const world = await makeScreeningWorld(t)
  const other = failing('other', 'transient')
  const asked = await setUp(world, [other], { use: ['other', 'embedded'], mode: 'first' })
  // No node is heard of any more.
  world.now_ms += 31_000
  const { check } = await world.process.place({
    ...asked,
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    hash: null,
    direction: null,
  })
  const asking = world.process.steps.filter(({ name }) => name === 'ask_providers')
  for (let second = 0; second <= 45; second++) {
    await drain(asking)
    world.now_ms += 1_000
  }
  assert.deepEqual([(await world.check(check.id)).state, other.asked], ['processing', 4])
  for (let i = 0; i < 2; i++) await world.settle()
  world.now_ms += 16_000
  await world.drain()
  const { state, provider } = await world.check(check.id)
  assert.deepEqual([state, provider], ['completed', 'embedded'])
})

test('when nobody can answer, the check fails, is released, and the answers kept', async (t) => {
  const world = await makeScreeningWorld(t)
  const asked = await setUp(world, [failing('other', 'permanent'), failing('third', 'transient')], {
    use: ['other', 'third'],
    mode: 'first',
  })
  const check = await world.ask(asked)
  assert.deepEqual(
    [check.state, check.error, check.risk_score],
    ['failed', 'provider_permanent', null],
  )
  await assert.rejects(replayCheck(world, check.id), /is failed: there is no answer to do again/)
  assert.equal(await spendable(world.sql, customerAccount(asked.customer_id)), 10n * TRX)
  const kept = await world.sql<{
    body: Buffer
  }>`select body from aml_answer where check_id = ${check.id} order by id`
  assert.deepEqual(
    kept.map(({ body }) => body.toString()),
    ['sorry', 'sorry'],
  )
})

test('a provider that refuses us fails the check and is heard of', async (t) => {
  const world = await makeScreeningWorld(t)
  const asked = await setUp(world, [failing('other', 'auth')], { use: ['other'], mode: 'first' })
  await assert.rejects(world.ask(asked), /the provider other refuses us: auth/)
  const [check] = await world.sql<{
    state: string
    error: string
  }>`select state, error from aml_check`
  assert.deepEqual(check, { state: 'failed', error: 'provider_auth' })
})

test('of all that are asked the worst answer counts, and all are in the evidence', async (t) => {
  const world = await makeScreeningWorld(t)
  const other = saying('other', () => ANSWER)
  const asked = await setUp(world, [other], { use: ['other', 'embedded'], mode: 'maximum' })
  const check = await world.ask(asked)
  assert.deepEqual(
    [check.risk_score, check.provider, check.label_set],
    ['42.4', 'embedded+other', 1],
  )
  const evidence = (await readEvidence(world.sql, check.id))!
  const page = reportPage(evidence, await readReportContext(world.sql, evidence))
  for (const part of [/embedded: 10.0, low risk/, /other: 42.4, medium risk/, /The way it came/])
    assert.match(page, part)
  assert.equal(other.asked, 1)
})

test('of answers with one score the one that bars counts, and then the higher level', async (t) => {
  const world = await makeScreeningWorld(t)
  const scored = saying('scored', () => ({ ...ANSWER, score: 100, level: 'medium' }))
  let barred = true
  const other = saying('other', () => ({ ...ANSWER, score: 100, level: 'high', blacklist: barred }))
  const asked = await setUp(world, [scored, other], { use: ['scored', 'other'], mode: 'maximum' })
  const first = await world.ask(asked)
  assert.deepEqual([first.risk_score, first.risk_level, first.blacklist], ['100.0', 'high', true])
  barred = false
  const second = await world.ask(asked)
  assert.deepEqual(
    [second.risk_score, second.risk_level, second.blacklist],
    ['100.0', 'high', false],
  )
})

test('a provider of blacklists adds a blacklist match, and otherwise nothing', async (t) => {
  const world = await makeScreeningWorld(t)
  let barred = false
  const sanctions = saying('sanctions', () => ({
    ...ANSWER,
    ...(barred
      ? { score: 100, blacklist: true, shares: [{ category: 'sanctions', share: 1 }] }
      : { score: undefined, shares: [] }),
  }))
  const asked = await setUp(world, [sanctions], { use: ['sanctions', 'embedded'], mode: 'maximum' })
  const clear = await world.ask(asked)
  assert.deepEqual([clear.risk_score, clear.blacklist], ['10.0', false])
  barred = true
  const found = await world.ask(asked)
  assert.deepEqual([found.risk_score, found.blacklist, found.risk_level], ['100.0', true, 'high'])
  await route(world, 'TRX/address', { use: ['sanctions'], mode: 'first' })
  world.now_ms += 1_000
  barred = false
  const alone = await world.ask(asked)
  assert.deepEqual([alone.state, alone.error], ['failed', 'provider_no_score'])
})

test('a policy with an unsound route is refused', async (t) => {
  const world = await makeScreeningWorld(t)
  await assert.rejects(
    route(world, 'TRX/address', { use: [], mode: 'first' }),
    /route TRX\/address/,
  )
  await assert.rejects(
    route(world, 'everything', { use: ['embedded'], mode: 'first' }),
    /route everything/,
  )
  await assert.rejects(
    route(world, 'BTC/address', { use: ['amlbot', 'embedded'], mode: 'first' }),
    /route BTC\/address/,
  )
  const publish = (body: unknown) =>
    world.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'test', published_at: world.clock.now() }),
    )
  const broken = [
    { routes: null },
    { routes: { 'TRX/address': null } },
    { routes: { 'TRX/address': { use: [1], mode: 'first' } } },
    { weights: null },
    { severe: {} },
    { direct: {} },
    { direct: [null] },
    { medium_from: 80 },
    { refuse_blacklisted_recievers: true },
    { hold_deposits_from: 'medium' },
    { hold_deposits_from: undefined, hold_blacklisted_senders: 'yes' },
    { hold_blacklisted_senders: true },
    { weights: { ...SHIPPED_POLICY.weights, mixxer: 100 } },
    { severe: ['mixer', 'scam', 'mixer'] },
    { direct: [{ ...SHIPPED_POLICY.direct[0], score: 80 }] },
    { routes: { 'TRX/address': { use: ['embedded', 'embedded'], mode: 'maximum' } } },
    { routes: { 'TRX/address': { use: ['embedded'], mode: 'first', network: 'TRX' } } },
    { routes: { 'DOGE/address': { use: ['amlbot'], mode: 'first' } } },
  ]
  for (const part of broken) {
    await assert.rejects(
      publish({ ...SHIPPED_POLICY, ...part }),
      (thrown: Error) => thrown instanceof Refused,
    )
  }
})
