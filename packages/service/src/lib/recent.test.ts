import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recent } from './recent.ts'

test('a kept value is there until it is too old, and leaves when the next one is put in', () => {
  const recent = new Recent<number>(1_000)
  recent.set('a', 1, 0)
  recent.set('b', 2, 500)
  assert.deepEqual(
    [recent.get('a', 999), recent.get('a', 1_000), recent.get('b', 1_000)],
    [1, undefined, 2],
  )
  recent.set('c', 3, 1_200)
  assert.equal(recent.size, 2)
  recent.set('b', 4, 1_300)
  assert.deepEqual([recent.get('b', 2_299), recent.get('c', 2_199)], [4, 3])
})

test('a clock that was put back makes nothing last', () => {
  const recent = new Recent<number>(1_000)
  recent.set('a', 1, 10_000)
  assert.equal(recent.get('a', 5_000), undefined)
})
