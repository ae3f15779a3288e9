import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventOf, startLive, stopLive } from './live.ts'

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

test('cut off after what has no number, the stream goes on after the last that has', async (t) => {
  const start = { face: 'console', base: '/console' }
  const meta = { content: JSON.stringify(start) }
  const page = { querySelector: () => meta }
  Object.assign(globalThis, { document: page })
  const asked: (string | undefined)[] = []
  const twice = Promise.withResolvers<void>()
  t.mock.method(globalThis, 'fetch', async (_url: string, { headers }: RequestInit) => {
    asked.push((headers as Record<string, string>)['last-event-id'])
    if (asked.length > 1) twice.resolve()
    const lines = 'id: 8\nevent: action.made\ndata: {}\n\nevent: tick\ndata: {}\n\n'
    return new Response(lines, { headers: { 'content-type': 'text/event-stream' } })
  })
  startLive(7)
  await twice.promise
  stopLive()
  Reflect.deleteProperty(globalThis, 'document')
  assert.deepEqual(asked.slice(0, 2), ['7', '8'])
})
