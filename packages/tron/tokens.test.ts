import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from './address.ts'
import { addressWord, destructionOf, freezeOf, numberWord, transferOf, USDT } from './tokens.ts'

const frozen: Address = 'TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7'
const ADDED = '42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc'
const REMOVED = 'd7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c'
const DESTROYED = '61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6'
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const contract = USDT
const who = addressWord(frozen)
const amount = numberWord(5_000_000n)

test('a freeze is read where the address is a topic, as on the main network, or data', () => {
  for (const [topic, is_frozen] of [
    [ADDED, true],
    [REMOVED, false],
  ] as const) {
    const wanted = { contract, address: frozen, frozen: is_frozen }
    assert.deepEqual(freezeOf({ contract, topics: [topic, who], data: '' }), wanted)
    assert.deepEqual(freezeOf({ contract, topics: [topic], data: who }), wanted)
  }
})

test('a destruction is read in both forms, and its amount is never taken for the address', () => {
  const wanted = { contract, address: frozen, amount: 5_000_000n }
  assert.deepEqual(destructionOf({ contract, topics: [DESTROYED, who], data: amount }), wanted)
  assert.deepEqual(destructionOf({ contract, topics: [DESTROYED], data: who + amount }), wanted)
})

test('what lacks an argument, and what is another event, is nothing', () => {
  assert.equal(freezeOf({ contract, topics: [ADDED], data: '' }), undefined)
  assert.equal(destructionOf({ contract, topics: [DESTROYED, who], data: '' }), undefined)
  assert.equal(freezeOf({ contract, topics: [TRANSFER, who, who], data: amount }), undefined)
  assert.equal(destructionOf({ contract, topics: [ADDED, who], data: amount }), undefined)
  assert.equal(transferOf({ contract, topics: [TRANSFER, who], data: amount }), undefined)
  assert.equal(freezeOf({ contract, topics: [], data: who }), undefined)
})
