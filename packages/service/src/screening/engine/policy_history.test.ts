// What a version of the policy says otherwise than the one before.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences } from './policy_history.ts'

test('a difference has its place, what was said there, and what is said', () => {
  const before = { version: 1, name: 'p1', weights: { mixer: 80, gambling: 40 }, severe: ['a'] }
  const after = { version: 2, name: 'p1', weights: { mixer: 90, scam: 70 }, severe: ['a', 'b'] }
  assert.deepEqual(differences(before, after), [
    { field: 'severe', before: '["a"]', after: '["a","b"]' },
    { field: 'weights.gambling', before: '40', after: null },
    { field: 'weights.mixer', before: '80', after: '90' },
    { field: 'weights.scam', before: null, after: '70' },
  ])
  assert.deepEqual(differences(after, { ...after, version: 3 }), [])
})
