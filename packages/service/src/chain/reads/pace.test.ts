import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

test('the best second begins anywhere: a border between two does not halve the pace', () => {
  const pace = new Pace(300)
  for (let i = 0; i < 8; i++) pace.answered(10_900 + i)
  for (let i = 0; i < 7; i++) pace.answered(11_100 + i)
  pace.refused(11_200)
  assert.equal(pace.per_second, 13, 'nine tenths of 15')
})

test('a question of several requests is as many answers', () => {
  const pace = new Pace(300)
  for (let i = 0; i < 10; i++) pace.answered(10_000 + i, 2)
  pace.refused(10_100)
  assert.equal(pace.per_second, 18, 'nine tenths of 20')
})

test('answers that are more than a second apart are not one second', () => {
  const pace = new Pace(300)
  for (let i = 0; i < 8; i++) pace.answered(10_000 + i)
  for (let i = 0; i < 6; i++) pace.answered(11_000 + i)
  pace.refused(11_200)
  assert.equal(pace.per_second, 7, 'nine tenths of 8')
})

test('seconds that are long past say nothing any more', () => {
  const pace = new Pace(300)
  for (let i = 0; i < 100; i++) pace.answered(10_000 + i)
  pace.answered(20_500)
  pace.refused(20_600)
  assert.equal(pace.per_second, 1)
})
