import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from './bounded_map.ts'

test('so many are held and no more, and what is asked for stays', () => {
  const map = new BoundedMap<number, string>(100)
  for (let n = 0; n < 10_000; n++) {
    map.set(n, `value ${n}`)
    assert.equal(map.get(0), 'value 0')
    assert.ok(map.size <= 100, String(map.size))
  }
  const last = Array.from({ length: 49 }, (_, i) => 9_999 - i)
  assert.deepEqual(
    last.map((n) => map.get(n)),
    last.map((n) => `value ${n}`),
  )
  assert.equal(map.get(1), undefined)
  map.set(0, 'another')
  assert.equal(map.get(0), 'another')
})

test('what is put in again takes the place of none', () => {
  const map = new BoundedMap<number, string>(4)
  for (const n of [1, 2, 3, 4, 4]) map.set(n, `value ${n}`)
  assert.equal(map.get(1), 'value 1')
})
