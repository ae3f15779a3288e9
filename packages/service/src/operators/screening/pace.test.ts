import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paceText } from './pace.ts'

test('before it begins, a reading of the past says what it takes of a key', () => {
  assert.equal(
    paceText({ done: 0, whole: 990_000, seconds: 0 }),
    '1000000 requests, 10 days of a free TronGrid key;',
  )
})

test('while it goes on it says its pace, and how long it will be', () => {
  assert.equal(
    paceText({ done: 9_900, whole: 990_000, seconds: 2_475 }),
    '1000000 requests, 10 days of a free TronGrid key; 4.0 blocks/s, 2.8 days left;',
  )
})
