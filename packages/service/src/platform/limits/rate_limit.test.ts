import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateLimiter } from './rate_limit.ts'

function limiterAt(per_second: number, burst: number, callers_max = 10) {
  let now_ms = 1_000_000
  const limiter = rateLimiter({ per_second, burst }, { now: () => new Date(now_ms) }, callers_max)
  return { ...limiter, wait: (ms: number) => (now_ms += ms) }
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
  assert.deepEqual(take('a'), {
    allowed: true,
    remaining: 1,
    retry_after_seconds: 0,
    full_after_seconds: 2,
  })
  take('a')
  assert.deepEqual(take('a'), {
    allowed: false,
    remaining: 0,
    retry_after_seconds: 2,
    full_after_seconds: 4,
  })
})

test('a clock that goes back gives nothing away and breaks nothing', () => {
  const { take, wait } = limiterAt(1, 1)
  take('a')
  wait(-60_000)
  assert.ok(!take('a').allowed)
  wait(1_000)
  assert.ok(take('a').allowed)
})

test('looking takes nothing', () => {
  const { take, look } = limiterAt(1, 1)
  assert.deepEqual(
    [look('a').allowed, look('a').allowed, take('a').allowed, look('a').allowed],
    [true, true, true, false],
  )
})

test('what is served in any case has to be gained again before the next is allowed', () => {
  const { charge, look, wait } = limiterAt(1, 1)
  for (let i = 0; i < 4; i++) charge('a')
  assert.deepEqual([look('a').remaining, look('a').retry_after_seconds], [0, 4])
  wait(3_000)
  assert.ok(!look('a').allowed)
  wait(1_000)
  assert.ok(look('a').allowed)
})

test('of too many callers the one seen first is forgotten', () => {
  const { take } = limiterAt(1, 1, 2)
  for (const caller of ['a', 'b']) assert.ok(take(caller).allowed)
  assert.ok(take('c').allowed)
  assert.ok(!take('b').allowed)
  assert.ok(take('a').allowed)
})
