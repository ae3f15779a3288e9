import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS_MS, bucketOf, FAILED, noCounts, percentile, sum } from './histograms.ts'
import { PARTS, PRESENCE_PARTS, RULES, type Rule, stateOf } from './states.ts'

/** Counts of these durations, `failed` of them not at all. */
function counted(durations_ms: readonly number[], failed = 0): number[] {
  const counts = noCounts()
  for (const ms of durations_ms) counts[bucketOf(ms)]! += 1
  counts[FAILED]! += failed
  return counts
}

const present = (parts: number) =>
  Array.from({ length: PRESENCE_PARTS }, (_, i) => (i < parts ? 1 : 0))
const there = { presence: present(PRESENCE_PARTS), latency: undefined, is_late: false }

test('a percentile is the bound below which that share of the samples lies', () => {
  const of_ten = counted([1, 1, 1, 1, 1, 1, 1, 1, 120, 5_000])
  assert.equal(percentile(of_ten, 0.5), 5)
  assert.equal(percentile(of_ten, 0.9), 150)
  assert.equal(percentile(of_ten, 0.95), 6_000)
  assert.equal(percentile(noCounts(), 0.5), undefined)
  assert.equal(percentile(counted([1], 1), 0.5), 5)
  assert.equal(percentile(counted([1], 1), 0.95), Number.POSITIVE_INFINITY, 'one failed')
  assert.equal(percentile(counted([4_000_000]), 0.5), Number.POSITIVE_INFINITY, 'beyond an hour')
})

test('percentiles of a sum are those of all its samples', () => {
  const minutes = [counted([1, 2_400]), counted([70, 70, 70]), counted([], 1)]
  assert.deepEqual(sum(minutes), counted([1, 2_400, 70, 70, 70], 1))
  assert.equal(percentile(sum(minutes), 0.5), 75)
})

test('every limit that decides a state is a bound', () => {
  for (const part of PARTS) assert.ok(BOUNDS_MS.includes(RULES[part].slow_ms), part)
})

for (const part of PARTS) {
  const rule: Rule = RULES[part]
  const { slow_ms } = rule

  test(`${part} is up when a process was there for half of the minute, else down`, () => {
    assert.equal(stateOf(rule, there), 'up')
    assert.equal(stateOf(rule, { ...there, presence: present(6) }), 'up')
    assert.equal(stateOf(rule, { ...there, presence: present(5) }), 'down')
    assert.equal(stateOf(rule, { ...there, presence: undefined }), 'down')
    const crowd = present(1).map((times) => times * 20)
    assert.equal(stateOf(rule, { ...there, presence: crowd }), 'down', 'twenty at one moment')
  })

  test(`${part} is slow when more than 5 of 100 take ${slow_ms} ms or longer`, () => {
    const fast = Array<number>(95).fill(slow_ms - 1)
    const slow = (count: number) => Array<number>(count).fill(slow_ms)
    assert.equal(stateOf(rule, { ...there, latency: counted([...fast, ...slow(5)]) }), 'up')
    assert.equal(stateOf(rule, { ...there, latency: counted([...fast, ...slow(6)]) }), 'slow')
  })

  test(`${part} is down when something waits too long, whatever was quick`, () => {
    const latency = counted([1, 1, 1])
    assert.equal(stateOf(rule, { ...there, latency, is_late: true }), 'down')
    assert.equal(stateOf(rule, { ...there, latency, is_late: false }), 'up')
  })

  test(`one failure of ${part} among a hundred is ${part === 'buying' ? 'down' : 'up'}`, () => {
    const latency = counted(Array<number>(99).fill(1), 1)
    assert.equal(stateOf(rule, { ...there, latency }), part === 'buying' ? 'down' : 'up')
    assert.equal(
      stateOf(rule, { ...there, latency: counted([1], 1) }),
      part === 'buying' ? 'down' : 'slow',
    )
  })
}
