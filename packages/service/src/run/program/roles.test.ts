import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runsStep } from './roles.ts'

test('a step runs in a worker, and in one of two that share the work', () => {
  const steps = [{}, { duty: 'chain' }, { needs_index: true }] as const
  const processes = [
    { role: 'worker', has_index: true },
    { role: 'worker', has_index: false },
    { role: 'index', has_index: true },
  ] as const
  const places = steps.map((step) =>
    processes.map((one) =>
      runsStep(one, { name: 'x', rest_ms: 1, run: async () => true, ...step }),
    ),
  )
  assert.deepEqual(places, [
    [true, true, false],
    [true, true, false],
    [true, false, true],
  ])
})
