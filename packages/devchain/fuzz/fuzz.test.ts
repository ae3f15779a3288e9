import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFuzz } from './fuzz.ts'

test('no malformed request or mutated transaction crashes the chain or makes a sun', () => {
  const report = runFuzz({ seed: 'test', requests: 4000, requests_per_block: 40 })
  assert.equal(report.accepted + report.refused, 4000)
  // A fuzzer that is refused always has tried nothing.
  assert.ok(report.accepted > 300, JSON.stringify(report))
  assert.ok(report.included > 200, JSON.stringify(report))
})

test('the same seed sends the same requests', () => {
  const run = (seed: string) => {
    const { slowest: _, ...report } = runFuzz({ seed, requests: 300, requests_per_block: 40 })
    return report
  }
  assert.deepEqual(run('again'), run('again'))
})
