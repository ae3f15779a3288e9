import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hasApi,
  hasCallers,
  hasConsole,
  hasSteps,
  isWorker,
  PROCESS_ROLES,
  runsStep,
} from './roles.ts'

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

test('a process does the work of its role, and one of all roles does all of it', () => {
  const work = { hasApi, isWorker, hasSteps, hasConsole, hasCallers }
  const done = PROCESS_ROLES.map((role) => {
    const names = Object.entries(work).filter(([, does]) => does(role))
    return [role, ...names.map(([name]) => name)].join(' ')
  })
  assert.deepEqual(done, [
    'api hasApi hasCallers',
    'worker isWorker hasSteps',
    'index hasSteps',
    'console hasConsole hasCallers',
    'all hasApi isWorker hasSteps hasConsole hasCallers',
  ])
})
