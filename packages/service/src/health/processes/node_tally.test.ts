import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeTally } from './node_tally.ts'

const BEGAN_MS = Date.UTC(2026, 9, 8, 12, 0, 30)

/** A tally of one node whose clock is ours to turn. */
function counting() {
  const clock = { minutes: 0, now: () => new Date(BEGAN_MS + clock.minutes * 60_000) }
  const tally = nodeTally(clock)
  tally.add([{ url: 'https://node.example' }])
  const ask = (ms: number, error?: string) => tally.ended('node.example', { ms, error })
  return { clock, tally, ask, counts: () => tally.counts()[0]! }
}

test('requests and failures are those of the last hour, minute by minute', () => {
  const { clock, ask, counts } = counting()
  const { requests, p50_ms, answered_at, error } = counts()
  assert.deepEqual([requests, p50_ms, answered_at, error], [0, null, null, null])
  ask(1)
  ask(1, 'no answer')
  clock.minutes = 59
  ask(1)
  assert.deepEqual([counts().requests, counts().failures], [3, 1])
  clock.minutes = 60
  assert.deepEqual([counts().requests, counts().failures], [1, 0])
  clock.minutes = 119
  ask(1)
  assert.deepEqual([counts().requests, counts().failures], [1, 0])
  // What it said last is known for longer.
  assert.deepEqual(counts().failed_at, new Date(BEGAN_MS))
  assert.deepEqual(counts().answered_at, clock.now())
  assert.equal(counts().error, 'no answer')
})

test('latencies are those of the newest 500 answers, whatever failed', () => {
  const { ask, counts } = counting()
  for (let i = 0; i < 100; i++) ask(9_000)
  for (let ms = 1; ms <= 500; ms++) ask(ms)
  ask(5_000, 'no answer')
  assert.deepEqual([counts().p50_ms, counts().p95_ms], [250, 475])
  for (let i = 0; i < 26; i++) ask(9_000)
  assert.deepEqual([counts().p50_ms, counts().p95_ms], [276, 9_000])
})

test('an error is one line, and not long', () => {
  const { ask, counts } = counting()
  ask(1, 'node says:\n\u0000 this \u202e is\u2028wrong')
  assert.equal(counts().error, 'node says: this is wrong')
  ask(1, `${'x'.repeat(199)}\u{1f600}`)
  const { error } = counts()
  assert.equal(error!.length, 200)
  assert.ok(error!.isWellFormed())
})
