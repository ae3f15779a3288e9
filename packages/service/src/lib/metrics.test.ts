import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMetrics } from './metrics.ts'

const declared = {
  calls_total: { kind: 'counter', help: 'Calls.' },
  room: { kind: 'gauge', help: 'Room.' },
  call_seconds: { kind: 'histogram', help: 'How long calls take.' },
} as const

test('counters, gauges and histograms are printed as Prometheus reads them', () => {
  const { count, set, observe, clear, text } = makeMetrics(declared, 'shop_')
  count('calls_total', { path: '/a', code: 0 })
  count('calls_total', { path: '/a', code: 0 }, 2)
  count('calls_total', { path: 'a "b" \\ \n', code: 1 })
  set('room', 7)
  for (const seconds of [0.004, 0.005, 0.3, 99]) observe('call_seconds', seconds)
  assert.deepEqual(
    text()
      .split('\n')
      .filter((line) => !line.includes('_bucket')),
    [
      '# HELP shop_calls_total Calls.',
      '# TYPE shop_calls_total counter',
      'shop_calls_total{path="/a",code="0"} 3',
      'shop_calls_total{path="a \\"b\\" \\\\ \\n",code="1"} 1',
      '# HELP shop_room Room.',
      '# TYPE shop_room gauge',
      'shop_room 7',
      '# HELP shop_call_seconds How long calls take.',
      '# TYPE shop_call_seconds histogram',
      'shop_call_seconds_sum 99.309',
      'shop_call_seconds_count 4',
      '',
    ],
  )
  const buckets = text()
    .split('\n')
    .filter((line) => line.includes('_bucket'))
  assert.equal(buckets[0], 'shop_call_seconds_bucket{le="0.005"} 2')
  assert.equal(buckets.at(-2), 'shop_call_seconds_bucket{le="60"} 3')
  assert.equal(buckets.at(-1), 'shop_call_seconds_bucket{le="+Inf"} 4')
  clear(['room'])
  assert.ok(!/^shop_room/m.test(text()))
})

test('a label that takes any value does not fill the memory', () => {
  const { count, text } = makeMetrics(declared, '')
  for (let i = 0; i < 5_000; i++) count('calls_total', { path: i })
  assert.equal(text().match(/^calls_total\{/gm)!.length, 1_000)
})
