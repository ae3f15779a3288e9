import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventOf } from './live.ts'

test('an event is read from its lines, a comment is none', () => {
  const body = '{"type":"order.created","number":7,"subject":"order:1","data":{"a":"x\\ny"}}'
  const read = eventOf(`id: 7\nevent: order.created\ndata: ${body}`)
  assert.deepEqual(read, { event: JSON.parse(body), number: '7' })
  assert.equal(eventOf(': 2026-11-22T00:00:00Z 7'), undefined)
  assert.deepEqual(eventOf('event: tick\ndata: 1'), {
    event: { type: 'tick', data: 1 },
    number: '',
  })
})
