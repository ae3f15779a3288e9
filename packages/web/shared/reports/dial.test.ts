import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIAL, dialOf } from './dial.ts'

const LEVELS = { medium_from: 30, high_from: 70 }

test('the bands follow each other from the left to the right, and say where they end', () => {
  const { bands, ticks } = dialOf(50, LEVELS)
  assert.deepEqual(
    bands.map(({ level }) => level),
    ['low', 'medium', 'high'],
  )
  assert.deepEqual(
    ticks.map(({ text }) => text),
    ['30', '70'],
  )
  assert.ok(ticks[0]!.x < 100 && ticks[1]!.x > 100)
  assert.match(bands[0]!.d, /^M18 100A82 82 0 0 1 /)
  assert.match(bands[2]!.d, / 182 100$/)
})

test('the hand stands at the score, and never outside of the dial', () => {
  const { radius, thick } = DIAL
  assert.equal(dialOf(0, null).hand, `M${100 - radius + thick} 100L10 100`)
  assert.equal(dialOf(50, null).hand, 'M100 34L100 10')
  assert.equal(dialOf(-3, null).hand, dialOf(0, null).hand)
  assert.equal(dialOf(250, null).hand, dialOf(100, null).hand)
})

test('where the levels are not known there is one band without a name', () => {
  assert.deepEqual(
    dialOf(10, null).bands.map(({ level }) => level),
    [''],
  )
  assert.deepEqual(dialOf(10, null).ticks, [])
})

test('a level that no score has is not drawn', () => {
  const { bands, ticks } = dialOf(10, { medium_from: 0, high_from: 100 })
  assert.deepEqual(
    bands.map(({ level }) => level),
    ['medium'],
  )
  assert.deepEqual(ticks, [])
})
