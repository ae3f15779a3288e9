import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UPTIME_BOX, uptimeParts } from './uptime.ts'

const heights = (days: Parameters<typeof uptimeParts>[0]) =>
  uptimeParts(days).map(({ day, kind, height }) => [day, kind, height])

test('a day is one bar of its parts, from the bottom up', () => {
  assert.deepEqual(heights([{ up: 720, slow: 360, down: 360 }]), [
    [0, 'down', 9],
    [0, 'slow', 9],
    [0, 'up', 18],
  ])
})

test('what is little is still seen, and what is all fills the bar', () => {
  assert.deepEqual(heights([{ up: 1_439, slow: 0, down: 1 }]), [
    [0, 'down', 4],
    [0, 'up', 32],
  ])
  assert.deepEqual(heights([{ up: 1, slow: 1, down: 1_438 }]), [
    [0, 'down', 28],
    [0, 'slow', 4],
    [0, 'up', 4],
  ])
  assert.deepEqual(heights([{ up: 0, slow: 0, down: 5 }]), [[0, 'down', UPTIME_BOX.height]])
})

test('a day of which nothing is known has no bar, and the others stand in their places', () => {
  const nothing = { up: 0, slow: 0, down: 0 }
  const parts = uptimeParts([nothing, { up: 3, slow: 0, down: 0 }])
  assert.deepEqual(
    parts.map(({ day, x, width }) => [day, x, width]),
    [[1, 320, 318]],
  )
})
