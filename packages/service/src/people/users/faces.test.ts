import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleFace, portalFace } from './faces.ts'

test('sessions last as long as is configured, of each length left out as long as may be', () => {
  const hours = ({ idle_ms, life_ms }: { idle_ms: number; life_ms: number }) =>
    [idle_ms, life_ms].map((ms) => ms / 3_600_000)
  assert.deepEqual(hours(portalFace(undefined)), [12, 168])
  assert.deepEqual(hours(consoleFace(undefined)), [0.5, 12])
  assert.deepEqual(hours(portalFace(undefined, { idle_minutes: 30 })), [0.5, 168])
  assert.deepEqual(hours(consoleFace(undefined, { life_hours: 2 })), [0.5, 2])
})
