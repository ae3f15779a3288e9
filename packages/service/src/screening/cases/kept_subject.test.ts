import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Policy, SHIPPED_POLICY } from '../engine/policy.ts'
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
