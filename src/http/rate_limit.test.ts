import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateLimiter } from './rate_limit.ts'

function limiterAt(per_second: number, burst: number) {
  let now_ms = 1_000_000
  const take = rateLimiter({ per_second, burst }, { now: () => new Date(now_ms) })
  return { take, wait: (ms: number) => (now_ms += ms) }
}

test('a burst is allowed, then the rate', () => {
  const { take, wait } = limiterAt(10, 3)
  const many = (count: number) => Array.from({ length: count }, () => take('a').allowed)
  assert.deepEqual(many(4), [true, true, true, false])
  wait(100)
  assert.deepEqual(many(2), [true, false])
  wait(60_000)
  assert.deepEqual(many(4), [true, true, true, false])
})

test('callers do not use up the allowance of others', () => {
  const { take } = limiterAt(1, 1)
  assert.ok(take('a').allowed)
  assert.ok(!take('a').allowed)
  assert.ok(take('b').allowed)
})

test('the answer says when to come again', () => {
  const { take } = limiterAt(0.5, 2)
  assert.deepEqual(take('a'), { allowed: true, remaining: 1, retry_after_seconds: 0, full_after_seconds: 2 })
  take('a')
  assert.deepEqual(take('a'), { allowed: false, remaining: 0, retry_after_seconds: 2, full_after_seconds: 4 })
})

test('a clock that goes back gives nothing away and breaks nothing', () => {
  const { take, wait } = limiterAt(1, 1)
  take('a')
  wait(-60_000)
  assert.ok(!take('a').allowed)
  wait(1_000)
  assert.ok(take('a').allowed)
})
