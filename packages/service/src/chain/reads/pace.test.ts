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

test('what was answered up to ten seconds ago is looked back on, from the first moment on', () => {
  for (const [answered_ms, refused_ms] of [
    [0, 50],
    [150, 150],
    [10_000, 19_999],
  ] as const) {
    const pace = new Pace(300)
    for (let i = 0; i < 10; i++) pace.answered(answered_ms)
    pace.refused(refused_ms)
    assert.equal(pace.per_second, 9, `answered at ${answered_ms}, refused at ${refused_ms}`)
  }
})

test('answers of a second that is no longer looked back on are not taken off another', () => {
  const pace = new Pace(300)
  for (let i = 0; i < 5; i++) pace.answered(10_000)
  for (let i = 0; i < 8; i++) pace.answered(19_500)
  pace.refused(20_000)
  assert.equal(pace.per_second, 7, 'nine tenths of 8')
})

/** A pace of 18 a second since a refusal at 10,100. */
function lowered(): Pace {
  const pace = new Pace(300)
  for (let i = 0; i < 20; i++) pace.answered(10_000)
  pace.refused(10_100)
  assert.equal(pace.per_second, 18)
  return pace
}

test('the pace grows three seconds after a refusal, once a second, when somebody waits', () => {
  const pace = lowered()
  const grown = (now_ms: number) => {
    pace.answered(now_ms)
    return pace.per_second
  }
  assert.equal(grown(13_100), 18, 'when no request waits')
  pace.wanted()
  assert.deepEqual([grown(13_099), grown(13_100)], [18, 19])
  assert.equal(grown(14_200), 19, 'when no request waits any more')
  pace.wanted()
  assert.deepEqual([grown(14_099), grown(14_100)], [19, 20])
})

test('of many refusals within a second only the first takes the pace down', () => {
  const pace = new Pace(300)
  for (let i = 0; i < 100; i++) pace.answered(9_900)
  pace.refused(10_000)
  assert.equal(pace.per_second, 90)
  pace.refused(10_999)
  assert.equal(pace.per_second, 90)
  pace.refused(11_000)
  assert.equal(pace.per_second, 72, 'four fifths of 90')
})

test('a refusal while none may ask is the same one, and the next one holds twice as long', () => {
  const pace = new Pace(300)
  pace.refused(10_000)
  pace.refused(10_099)
  assert.equal(pace.held_until_ms, 10_100)
  pace.refused(10_100)
  assert.equal(pace.held_until_ms, 10_300)
})
