import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type VerdictFacts, verdictOf } from './verdict.ts'

const RESULT = {
  base_score: '10.9',
  raw_score: '10.9',
  risk_score: '10.9',
  risk_factors: [
    { name: 'mixer', score: '0.0100' },
    { name: 'exchange_licensed', score: '0.9900' },
  ],
}
const facts = (more: Partial<VerdictFacts> = {}): VerdictFacts => ({
  blacklisted_by: [],
  floors: [],
  result: RESULT,
  ...more,
})
const FLOORS = [
  { rule: 'combined', category: null, points: '70.0' },
  { rule: 'direct', category: 'mixer', points: '75.0' },
]

test('a match with a list comes before all else', () => {
  const verdict = verdictOf(facts({ blacklisted_by: ['list', 'denied'], floors: FLOORS }))
  assert.deepEqual(verdict, { kind: 'barred', reason: 'list' })
})

test('of the rules that have raised the score the highest is said', () => {
  const result = { ...RESULT, raw_score: '75.0', risk_score: '75.0' }
  assert.deepEqual(verdictOf(facts({ floors: FLOORS, result })), {
    kind: 'rule',
    rule: 'direct',
    category: 'mixer',
    points: '75.0',
  })
})

test('a rule that acted and raised nothing is no reason, an allowed address is one', () => {
  const source = { kind: 'source', category: 'exchange_licensed', share: '0.9900' }
  assert.deepEqual(verdictOf(facts({ floors: FLOORS })), source)
  const result = { ...RESULT, raw_score: '75.0' }
  const allowed = { kind: 'allowed', points: '75.0' }
  assert.deepEqual(verdictOf(facts({ floors: FLOORS, result })), allowed)
})

test('else it is the label of the address, or where most of the money is from', () => {
  const screened = { in_force: { category: 'mixer', terminal: true } }
  assert.deepEqual(verdictOf(facts({ screened })), { kind: 'own', category: 'mixer' })
  const of_own = [{ rule: 'own_label', category: 'scam', points: '90.0' }]
  assert.deepEqual(verdictOf(facts({ floors: of_own })), { kind: 'own', category: 'scam' })
  const passing = { in_force: { category: 'mixer', terminal: false } }
  assert.equal(verdictOf(facts({ screened: passing })).kind, 'source')
  const unknown = { risk_score: '25.0', risk_factors: [{ name: 'unidentified', score: '1.0000' }] }
  assert.deepEqual(verdictOf(facts({ result: unknown })), { kind: 'nothing' })
  const nothing = { risk_score: '25.0', risk_factors: [] }
  assert.deepEqual(verdictOf(facts({ result: nothing })), { kind: 'nothing' })
})
