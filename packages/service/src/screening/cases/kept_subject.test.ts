import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Policy, SHIPPED_POLICY } from '../engine/policy.ts'
import { VALUE_PER_USD } from '../engine/scoring.ts'
import { CATEGORY_COUNT, categoryNumber } from '../flow/categories.ts'
import { type KeptFacts, keptSubject } from './kept_subject.ts'

const mixer = { mixer: { share: '1.0000', usd: '500.00' } }

const factsOf = (type: string, direction: string | null): KeptFacts => ({
  engine: 'embedded',
  asked: { type, direction },
  notes: [],
  policy: { version: '1', trx_micro_usd: '300000' },
  screened: { address: 'T', in_force: null },
  entries: [],
  factors: [],
  destinations: null,
  counted: { net_new: mixer },
  blacklisted_by: [],
})

test('of an address what is new counts, and of one transfer only what that carried', () => {
  const policy: Policy = { ...SHIPPED_POLICY, counts: ['net_new'], sent: true }
  const how = { before: { ...SHIPPED_POLICY, counts: [] }, policy, assets: [] }
  for (const [type, direction, of_address] of [
    ['address', null, true],
    ['hash', 'withdrawal', true],
    ['hash', 'deposit', false],
  ] as const) {
    const { subject, lacking } = keptSubject(factsOf(type, direction), how)
    assert.equal(subject.by_transfer, !of_address, type)
    assert.equal(subject.net_new !== undefined, of_address, type)
    assert.equal(lacking.includes('net_new'), of_address, type)
  }
  const noted = { ...factsOf('hash', 'deposit'), notes: ['It is not kept any more what …'] }
  assert.equal(keptSubject(noted, how).subject.by_transfer, true)
  const gone = {
    ...factsOf('hash', 'deposit'),
    notes: ['It is not kept any more what the transfer carried: so its sender was looked at'],
  }
  assert.equal(keptSubject(gone, how).subject.by_transfer, false)
})

const [MIXER, SCAM] = [categoryNumber('mixer')!, categoryNumber('scam')!]
const cents = (count: number) => (BigInt(count) * VALUE_PER_USD) / 100n
const TRX = { number: 0, contract: 'TRX', symbol: 'TRX', decimals: 6 }

test('what is kept by units is worth what the policy says, its direct part in proportion', () => {
  const policy: Policy = { ...SHIPPED_POLICY, trx_micro_usd: 600_000 }
  const how = { before: { ...SHIPPED_POLICY, trx_micro_usd: 300_000 }, policy, assets: [TRX] }
  const received = (units: Record<string, string>, direct_usd: string, category = 'mixer') => {
    const factors = [{ category, usd: '0', direct_usd, units }]
    const { exposure } = keptSubject({ ...factsOf('address', null), factors }, how).subject
    return [exposure.amounts[MIXER], exposure.direct[MIXER]]
  }
  assert.deepEqual(received({ TRX: '1000000' }, '0.15'), [cents(60), cents(30)])
  assert.deepEqual(received({ TRX: '1000000' }, '0.00'), [cents(60), 0n])
  assert.deepEqual(received({ TRX: '1000000' }, '0.29'), [cents(60), cents(58)])
  assert.deepEqual(received({ TRX: '1000000' }, '0.30'), [cents(60), cents(60)])
  // Of 30.4 cents all was direct.
  const all = received({ TRX: '1013333' }, '0.30')
  assert.equal(all[0], all[1])
  assert.deepEqual(received({ TRX: '1000000', ODD: '5' }, '0.15'), [cents(60), cents(30)])
  assert.deepEqual(received({ ODD: '5' }, '0.00'), [0n, 0n])
  assert.deepEqual(received({ TRX: '1000000' }, '0.15', 'no_category'), [0n, 0n])
})

test('what is counted besides is read by shares where cents are less fine', () => {
  const policy: Policy = { ...SHIPPED_POLICY, counts: ['net_new', 'recent'] }
  const how = { before: policy, policy, assets: [] }
  const counted = (net_new: Record<string, { share: string; usd: string }>) => {
    const facts = { ...factsOf('address', null), counted: { net_new } }
    const { subject } = keptSubject(facts, how)
    assert.equal(subject.recent, undefined, 'there is none')
    assert.equal(Object.keys(subject.net_new!.amounts).length, CATEGORY_COUNT)
    return [subject.net_new!.amounts[MIXER], subject.net_new!.amounts[SCAM]]
  }
  const third = { share: '0.3333', usd: '33.34' }
  assert.deepEqual(counted({ mixer: third, scam: { share: '0.6667', usd: '66.66' } }), [
    cents(33_34),
    cents(66_66),
  ])
  assert.deepEqual(counted({ mixer: third, scam: { share: '0.6667', usd: '66.65' } }), [
    (3_333n * cents(99_99)) / 10_000n,
    (6_667n * cents(99_99)) / 10_000n,
  ])
  const nothing = { share: '0.5000', usd: '0.00' }
  assert.deepEqual(counted({ mixer: nothing, odd: nothing }), [cents(50), 0n])
})

test('what was sent, what it is called and what was decided are read back where they count', () => {
  const sending = {
    destinations: { sent_usd: '9.00', to: { mixer: '4.00', odd: '5.00' } },
    sent: {
      direct: { mixer: { share: '1', usd: '1.00' }, odd: { share: '1', usd: '3.00' } },
      ended: { scam: { share: '1.0000', usd: '200.00' } },
    },
  }
  const read = (
    facts: Partial<KeptFacts>,
    sent: boolean,
    type = 'address',
    way: string | null = null,
  ) => {
    const policy: Policy = { ...SHIPPED_POLICY, sent }
    const how = { before: { ...SHIPPED_POLICY, sent: true }, policy, assets: [] }
    return keptSubject({ ...factsOf(type, way), ...facts }, how)
  }
  for (const [type, direction, sent, destinations, ended] of [
    ['address', null, true, true, true],
    ['address', null, false, false, false],
    ['hash', 'withdrawal', false, true, false],
    ['hash', 'withdrawal', true, true, true],
    ['hash', 'deposit', true, true, false],
    ['hash', 'deposit', false, false, false],
  ] as const) {
    const { subject, lacking } = read(sending, sent, type, direction)
    const found = [subject.destinations !== undefined, subject.ended !== undefined]
    assert.deepEqual(found, [destinations, ended], `${type} ${direction} ${sent}`)
    assert.deepEqual(lacking, [])
  }
  const { destinations, ended } = read(sending, true).subject
  assert.deepEqual([destinations!.sent, destinations!.amounts[MIXER]], [cents(900), cents(400)])
  assert.deepEqual([ended!.direct[MIXER], ended!.amounts[SCAM]], [cents(100), cents(20_000)])
  assert.equal(read({ sent: null }, true).subject.ended, undefined)
  assert.equal(read({}, true).subject.destinations, undefined)
  const in_force = { category: 'scam', confidence: '80', terminal: true }
  const screened = { address: 'T', in_force }
  assert.deepEqual(read({ screened }, false).subject.own, { category: SCAM, confidence: 80 })
  assert.equal(read({}, false).subject.own, undefined)
  const allowed = (...kinds: string[]) =>
    read({ entries: kinds.map((kind) => ({ kind })) }, false).subject.allowed
  assert.deepEqual([allowed(), allowed('deny'), allowed('deny', 'allow')], [false, false, true])
})

test('evidence lacks what its own policy did not look at', () => {
  const lacking = (policy: Partial<Policy>, before: Partial<Policy>) =>
    keptSubject(factsOf('address', null), {
      before: { ...SHIPPED_POLICY, ...before },
      policy: { ...SHIPPED_POLICY, ...policy },
      assets: [],
    }).lacking
  const counts: Partial<Policy> = { counts: ['recent'] }
  const [more, newer] = [{ sent: true }, { index_rules: 2 }] as const
  assert.deepEqual(lacking({}, {}), [])
  assert.deepEqual(lacking(counts, {}), ['recent'])
  assert.deepEqual(lacking(counts, counts), [])
  assert.deepEqual(lacking({}, counts), [])
  assert.deepEqual(lacking(more, {}), ['sent'])
  assert.deepEqual(lacking(more, more), [])
  assert.deepEqual(lacking({}, more), [])
  assert.deepEqual(lacking({ index_rules: 1 }, newer), ['index_rules'])
  assert.deepEqual(lacking(newer, newer), [])
})
