// Who is asked about a check and whose answer counts, by the route of the policy: providers that
// say what a test wants, without a database.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bars } from '../engine/bars.ts'
import { type Policy, type Route, SHIPPED_POLICY } from '../engine/policy.ts'
import type { Outcome } from '../engine/scoring.ts'
import { type FailureKind, type ProviderAnswer, ProviderFailure } from '../providers/provider.ts'
import { type Check, newCheck, type Result } from './checks.ts'
import { type Answer, askProviders, type Counterparty } from './outside.ts'

const AT = new Date('2026-11-21T12:00:00Z')
const CHECK: Check = newCheck(
  {
    customer_id: 'anna',
    idempotency_key: null,
    type: 'address',
    network: 'TRX',
    address: 'there' as Check['address'],
  },
  { id: 'c', price_sun: 0n, solid_number: 0n, created_at: AT },
)

const BARS: Bars = {
  address: CHECK.address,
  at: AT,
  label_set: 0,
  label_set_sha256: 'f',
  first_block: 7n,
  last_block: 9n,
  labels: [],
  frozen: [],
  issuers: [],
  entries: [],
}

const OUTCOME: Outcome = {
  factors: [],
  base_score: '10.0',
  raw_score: '10.0',
  score: '10.0',
  level: 'low',
  blacklist: false,
  floors: [],
}

const INDEX = { label_set: 3, generation: 4, number: 5 }

/** What our own engine says. */
const inside = (outcome: Partial<Outcome> = {}): Result => ({
  outcome: { ...OUTCOME, ...outcome },
  evidence: '{"own":"evidence"}',
  provider: 'embedded',
  policy: 1,
  index: INDEX,
  bars: BARS,
})

type ProviderReply = Partial<ProviderAnswer> | FailureKind | 'not covered' | Error

type Question = {
  mode?: Route['mode']
  /** By their names, in the order of the route. */
  says: Record<string, ProviderReply | Answer | 'not here' | undefined>
  party?: Counterparty
  bars?: Bars
  policy?: Partial<Policy>
}

const isAnswer = (said: unknown): said is Answer =>
  typeof said === 'object' && said !== null && 'state' in said

/** The answer, and who was asked for it. */
async function ask({ mode = 'first', says, party, bars = BARS, policy = {} }: Question) {
  const asked: string[] = []
  const providers = Object.entries(says).flatMap(([name, said]) =>
    name === 'embedded' || said === 'not here'
      ? []
      : {
          name,
          covers: () => said !== 'not covered',
          screen: async () => {
            asked.push(name)
            if (said instanceof Error) throw said
            if (typeof said === 'string')
              throw new ProviderFailure(said as FailureKind, 'no', { body: Buffer.from('sorry') })
            const plain = { score: 20, level: undefined, blacklist: false, shares: [] }
            return { ...plain, reference: 'r', body: Buffer.from(name), ...said } as ProviderAnswer
          },
        },
  )
  const route: Route = { use: Object.keys(says), mode }
  const routes = { ...SHIPPED_POLICY.routes, 'TRX/address': route }
  const answer = await askProviders(
    {
      providers,
      policy: { ...SHIPPED_POLICY, routes, ...policy },
      inside: () => {
        asked.push('embedded')
        return isAnswer(says.embedded) ? Promise.resolve(says.embedded) : undefined
      },
      counterparty: async () => party ?? { address: CHECK.address },
      bars: async () => bars,
    },
    CHECK,
  )
  return { answer, asked: asked.join() }
}

const own = (outcome: Partial<Outcome> = {}): Answer => ({
  state: 'completed',
  result: inside(outcome),
})

/** In a line: the state, with the reason, the time or the score and who has answered. */
function lineOf(answer: Answer): string {
  const kept = (answer.answers ?? []).map(({ provider, outcome }) => `${provider}:${outcome}`)
  const said =
    answer.state === 'completed'
      ? `${answer.result.outcome.score} by ${answer.result.provider}`
      : answer.state === 'failed'
        ? answer.error
        : answer.ms
  return [answer.state, said, ...kept].join(' ')
}

test('the first that answers is enough, or all are asked until one fails', async () => {
  const wait: Answer = { state: 'wait', ms: 5 }
  const failed: Answer = { state: 'failed', error: 'no_transfer' }
  const cases: [mode: Route['mode'], says: Question['says'], asked: string, line: string][] = [
    ['first', { a: {}, b: {} }, 'a', 'completed 20.0 by a a:answered'],
    ['first', { a: 'transient', b: {} }, 'a,b', 'completed 20.0 by b a:transient b:answered'],
    [
      'first',
      { a: 'permanent', b: 'quota' },
      'a,b',
      'failed provider_permanent a:permanent b:quota',
    ],
    ['first', { a: 'not covered', b: {} }, 'b', 'completed 20.0 by b a:unsupported b:answered'],
    ['first', { a: 'not here' }, '', 'failed provider_unsupported a:unsupported'],
    [
      'first',
      { a: { score: undefined }, b: {} },
      'a,b',
      'completed 20.0 by a+b a:answered b:answered',
    ],
    ['first', { a: { score: undefined } }, 'a', 'failed provider_no_score a:answered'],
    ['first', { embedded: own(), a: {} }, 'embedded', 'completed 10.0 by embedded'],
    ['first', { embedded: wait, a: {} }, 'embedded', 'wait 1000'],
    ['first', { embedded: undefined, a: {} }, 'embedded', 'wait 1000'],
    ['first', { a: 'transient', embedded: wait }, 'a,embedded', 'wait 15000 a:transient'],
    ['first', { a: 'transient', embedded: failed }, 'a,embedded', 'failed no_transfer a:transient'],
    ['maximum', { a: {}, b: { score: 30 } }, 'a,b', 'completed 30.0 by a+b a:answered b:answered'],
    ['maximum', { a: 'transient', b: {} }, 'a', 'failed provider_transient a:transient'],
    ['maximum', { a: {}, b: 'auth' }, 'a,b', 'failed provider_auth a:answered b:auth'],
    [
      'maximum',
      { a: {}, embedded: own() },
      'embedded,a',
      'completed 20.0 by embedded+a a:answered',
    ],
    [
      'maximum',
      { a: {}, embedded: own(), b: {} },
      'embedded,a,b',
      'completed 20.0 by embedded+a+b a:answered b:answered',
    ],
    ['maximum', { a: {}, embedded: wait }, 'embedded', 'wait 1000'],
    ['maximum', { a: {}, embedded: failed }, 'embedded', 'failed no_transfer'],
    ['maximum', { embedded: own() }, 'embedded', 'completed 10.0 by embedded'],
  ]
  for (const [mode, says, asked, line] of cases) {
    const found = await ask({ mode, says })
    assert.deepEqual([found.asked, lineOf(found.answer)], [asked, line], line)
  }
  const later = await ask({ says: { a: {} }, party: { wait_ms: 7 } })
  assert.deepEqual([later.asked, lineOf(later.answer)], ['', 'wait 7'])
  await assert.rejects(ask({ says: { a: new Error('a bug of ours') } }), /a bug of ours/)
})

test('why a provider has no answer is kept, with what it said', async () => {
  const kept = async (said: ProviderReply | 'not here') => {
    const [one] = (await ask({ says: { a: said } })).answer.answers!
    return [one!.error, Buffer.from(one!.body).toString()]
  }
  assert.deepEqual(await kept({}), [null, 'a'])
  assert.deepEqual(await kept('transient'), ['no', 'sorry'])
  assert.deepEqual(await kept('not here'), ['it is not configured', ''])
  assert.deepEqual(await kept('not covered'), ['it does not screen such a thing: TRX/address', ''])
})

const completed = async (how: Question): Promise<Result> => {
  const { answer } = await ask(how)
  assert.ok(answer.state === 'completed')
  return answer.result
}

test('of several answers the worst counts: by score, then who bars, then the level', async () => {
  const [low, high] = [{ level: 'low' }, { level: 'high' }] as const
  for (const [a, b, worst] of [
    [{ score: 9.5 }, { score: 10 }, 'b'],
    [{ score: 10 }, { score: 9.5 }, 'a'],
    [{ score: 9.5, ...high }, { score: 10, ...low }, 'b'],
    [{ score: 100, ...high }, { blacklist: true }, 'b'],
    [{ blacklist: true }, { score: 100, ...high }, 'a'],
    [low, high, 'b'],
    [high, low, 'a'],
    [low, { level: 'medium' }, 'b'],
    [low, low, 'a'],
  ] as const) {
    const result = await completed({ mode: 'maximum', says: { a, b } })
    const { answered_by } = JSON.parse(result.evidence) as { answered_by: string }
    assert.equal(answered_by, worst, JSON.stringify([a, b]))
  }
})

test("a provider's score is in our words: its level, and shares to the whole", async () => {
  const outcome = async (said: Partial<ProviderAnswer>, policy: Partial<Policy> = {}) => {
    const { outcome: one } = await completed({ says: { a: said }, policy })
    const shares = one.factors.map(({ name, score }) => `${name} ${score}`)
    return [one.score, one.level, one.blacklist, ...shares].join(' ')
  }
  assert.equal(await outcome({ score: 29.94 }), '29.9 low false unidentified 1')
  assert.equal(await outcome({ score: 30 }), '30.0 medium false unidentified 1')
  assert.equal(await outcome({ score: 30, level: 'high' }), '30.0 high false unidentified 1')
  assert.equal(await outcome({ score: 5, blacklist: true }), '100.0 high true unidentified 1')
  assert.equal(
    await outcome({ score: 5, blacklist: true, level: 'low' }),
    '100.0 high true unidentified 1',
  )
  const share = (category: string, part: number) => ({ category, share: part })
  const shares = [share('mixer', 0.25), share('no_category', 0.25), share('mixer', 0.25)]
  assert.equal(await outcome({ shares }), '20.0 low false mixer 0.5 unidentified 0.5')
  assert.equal(await outcome({ shares: [share('mixer', 1)] }), '20.0 low false mixer 1')
  const more = [share('mixer', 1), share('scam', 1)]
  assert.equal(await outcome({ shares: more }), '20.0 low false mixer 0.5 scam 0.5')
})

test('what bars the address here holds against every answer', async () => {
  type BarsFacts = { notes?: string[]; bars: object | null; blacklisted_by: string[] }
  const found = async (bars: Partial<Bars>, party: Counterparty = { address: CHECK.address }) => {
    const result = await completed({ says: { a: {} }, bars: { ...BARS, ...bars }, party })
    const said = JSON.parse(result.evidence) as BarsFacts & { result: { risk_level: string } }
    assert.equal(said.result.risk_level, result.outcome.level)
    assert.equal(said.bars === null, result.bars === undefined)
    return { ...said, score: result.outcome.score }
  }
  const free = await found({})
  assert.deepEqual([free.score, free.blacklisted_by, free.notes], ['20.0', [], undefined])
  const frozen = await found({ frozen: [{ token: 'USDT', block: 8n }] })
  assert.deepEqual([frozen.score, frozen.blacklisted_by], ['100.0', ['issuer_freeze']])
  const unasked = (...tokens: string[]) =>
    found({ issuers: tokens.map((token) => ({ token, said: 'not_asked', at: null })) })
  assert.match((await unasked('USDC')).notes!.join(), /issuers of USDC froze .* before block 7/)
  assert.match((await unasked('USDC', 'USDD')).notes!.join(), /issuers of USDC, USDD froze/)
  const unknown = await found({}, { address: undefined })
  assert.match(unknown.notes!.join(), /not known whom the transaction is from or to/)
  assert.deepEqual([unknown.bars, unknown.blacklisted_by], [null, []])
})

test('our own evidence stands where our engine alone has answered', async () => {
  const evidence = async (how: Question) => {
    const result = await completed(how)
    return [result.evidence === '{"own":"evidence"}', result.index]
  }
  assert.deepEqual(await evidence({ says: { embedded: own() } }), [true, INDEX])
  assert.deepEqual(await evidence({ says: { a: 'transient', embedded: own() } }), [true, INDEX])
  const both = { a: {}, embedded: own() }
  assert.deepEqual(await evidence({ mode: 'maximum', says: both }), [false, INDEX])
  assert.deepEqual(await evidence({ says: { a: {} } }), [false, undefined])
  const barred = { ...BARS, frozen: [{ token: 'USDT', block: 8n }] }
  const alone = await completed({ says: { embedded: own() }, bars: barred })
  assert.equal(alone.outcome.score, '10.0', 'it has looked itself')
})
