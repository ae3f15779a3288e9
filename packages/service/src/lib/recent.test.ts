import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recent, recently } from './recent.ts'

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

test('an answer is shared by all who ask within its time, and a failure is not kept', async () => {
  let now_ms = 0
  let asked = 0
  let failing = false
  const read = recently(1_000, {
    clock: { now: () => new Date(now_ms) },
    read: async () => {
      asked += 1
      if (failing) throw new Error('no answer')
      return asked
    },
  })
  assert.deepEqual(await Promise.all([read(), read(), read()]), [1, 1, 1])
  now_ms = 999
  assert.equal(await read(), 1)
  now_ms = 1_000
  assert.deepEqual(await Promise.all([read(), read()]), [2, 2])
  now_ms = 2_000
  failing = true
  await assert.rejects(read(), /no answer/)
  failing = false
  assert.equal(await read(), 4)
})
