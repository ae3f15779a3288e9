// Streams of events against a service that is scripted: what is asked for again when one is cut
// off, and how everybody who waits shares one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { AuthError, Penstock, TooOld } from '../penstock.ts'

type Script = (line: (text: string) => void, end: (failure?: Error) => void) => void

const ORDER = { id: 'o-1', status: 'new', delegations: [] as object[] }
const event = (number: number, subject = 'order:o-1') =>
  `id: ${number}\nevent: order.succeeded\ndata: ${JSON.stringify({ number, subject })}\n\n`

/** A client of a service whose streams do what the scripts say, one after the other; everything
 *  else is answered by `answer`. */
function scripted(scripts: (Script | object)[], answer: () => object = () => ORDER) {
  const streams: { after?: number; open: boolean }[] = []
  const asked: string[] = []
  const fetch = (async (url: string, { body, signal }: RequestInit) => {
    const path = new URL(url).pathname
    if (path !== '/v1/events/stream') {
      asked.push(path)
      return new Response(JSON.stringify({ code: 0, request_id: 'r', result: answer() }))
    }
    const script = scripts.shift()
    if (typeof script !== 'function') return new Response(JSON.stringify(script))
    const mine = { ...(JSON.parse(String(body)) as object), open: true }
    streams.push(mine)
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        const fail = (reason: unknown) => {
          if (mine.open) controller.error(reason)
          mine.open = false
        }
        signal!.addEventListener('abort', () => fail(signal!.reason))
        const end = (failure?: Error) => {
          if (failure) return fail(failure)
          mine.open = false
          controller.close()
        }
        script((text) => mine.open && controller.enqueue(new TextEncoder().encode(text)), end)
      },
      cancel() {
        mine.open = false
      },
    })
    return new Response(chunks, { headers: { 'content-type': 'text/event-stream' } })
  }) as unknown as typeof globalThis.fetch
  const access = { url: 'https://api.example', token: 't', secret: 's' }
  return { penstock: new Penstock({ ...access, fetch }), streams, asked }
}

const refused = (code: number) => ({ code, key: 'k', error: 'No', request_id: 'r' })

test('a stream that is cut off goes on: nothing is lost or doubled', async () => {
  const { penstock, streams } = scripted([
    (line, end) => {
      line(': 2026-11-21T00:00:00Z 7\n\n')
      line(event(8).slice(0, 30))
      line(event(8).slice(30) + event(9) + event(10).slice(0, 40))
      setTimeout(() => end(new Error('cut')), 10)
    },
    refused(503),
    refused(72),
    (line, end) => {
      line(`: 2026-11-21T00:00:00Z 12\n\n${event(10)}: \n\n${event(12)}`)
      end()
    },
    (line) => line(event(13)),
  ])
  const numbers: number[] = []
  const lost: unknown[] = []
  const opened: number[] = []
  const how = { opened: (newest: number) => opened.push(newest), lost: () => lost.push(1) }
  for await (const { number } of penstock.events.stream({ types: ['order.succeeded'] }, how)) {
    numbers.push(number)
    if (number === 13) break
  }
  assert.deepEqual(numbers, [8, 9, 10, 12, 13])
  assert.deepEqual(
    streams.map(({ after }) => after),
    [undefined, 9, 12],
  )
  assert.deepEqual([opened, lost.length >= 2], [[7, 12], true])
  assert.ok(
    streams.every(({ open }) => !open),
    'who stops reading closes it',
  )
})

test('a stream from now on that is cut before its first event misses nothing', async () => {
  const { penstock, streams } = scripted([
    (line, end) => {
      line(': 2026-11-21T00:00:00Z 41\n\n')
      end()
    },
    (line) => line(event(42)),
  ])
  for await (const { number } of penstock.events.stream()) {
    assert.equal(number, 42)
    break
  }
  assert.equal(streams[1]?.after, 41)
})

test('what asking again would not help is thrown, and the reason of a signal', async () => {
  const old = scripted([refused(76)])
  await assert.rejects(old.penstock.events.stream({ after: 1 }).next(), TooOld)
  const wrong = scripted([refused(1), refused(1)])
  await assert.rejects(wrong.penstock.events.stream().next(), AuthError)
  const { penstock, streams } = scripted([(line) => line(': 2026-11-21T00:00:00Z 1\n\n')])
  const abort = new AbortController()
  const next = penstock.events.stream({}, { signal: abort.signal }).next()
  const rejected = assert.rejects(next, /enough/)
  while (streams.length === 0) await delay(5)
  abort.abort(new Error('enough'))
  await rejected
  assert.equal(streams[0]?.open, false)
})

test('all who wait share one stream, which wakes them and ends with the last', async () => {
  let status = 'new'
  let tell = (_: string) => {}
  const { penstock, streams, asked } = scripted(
    [
      (line) => {
        tell = line
        line(': 2026-11-21T00:00:00Z 1\n\n')
      },
    ],
    () => ({ ...ORDER, status }),
  )
  const waiting = [1, 2, 3].map(() => penstock.orders.waitFor('o-1'))
  while (asked.length < 6) await delay(5)
  await delay(30)
  const before = asked.length
  tell(event(2, 'order:another'))
  await delay(30)
  assert.equal(asked.length, before, 'an event about another order wakes nobody')
  status = 'success'
  tell(event(3))
  const began_ms = Date.now()
  const found = await Promise.all(waiting)
  assert.ok(Date.now() - began_ms < 15_000, 'the stream has woken them')
  assert.ok(found.every((order) => order.status === 'success'))
  assert.deepEqual([streams.length, asked.length], [1, before + 3])
  while (streams[0]?.open) await delay(5)
})

test('where streams are refused, who waits asks again and again', async () => {
  let left = 2
  const { penstock, asked } = scripted([refused(1), refused(1)], () => ({
    ...ORDER,
    status: left-- > 0 ? 'new' : 'success',
  }))
  assert.equal((await penstock.orders.waitFor('o-1')).status, 'success')
  assert.equal(asked.length, 3)
})
