// Events over an answer that stays open, as a client has them: over HTTP, with a signature.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { EventForm } from 'penstock-service/events/log/routes.ts'
import type { Static } from 'typebox'
import { type Customer, makeWorld, type World } from '../harness/world.ts'

const PATH = '/v1/events/stream'
const NONE = Buffer.from('{}')

/** A service that listens, and opens streams as its customers do. */
async function listening(t: TestContext) {
  const world = await makeWorld(t)
  await world.api.listen({ port: 0, host: '127.0.0.1' })
  const { port } = world.api.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}${PATH}`
  const gone = new AbortController()
  t.after(() => gone.abort())
  const open = (who: Customer, body: object = {}, more: Record<string, string> = {}) => {
    const bytes = Buffer.from(JSON.stringify(body))
    const headers = { ...who.headers(PATH, bytes), ...more }
    return fetch(url, { method: 'POST', body: bytes, headers, signal: gone.signal })
  }
  return { world, open }
}

/** What comes over a stream: its comments and events. */
async function* read(answer: Response): AsyncGenerator<{ comment?: string; event?: EventBody }> {
  let text = ''
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += part
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end)
      text = text.slice(end + 2)
      if (block.startsWith(':')) yield { comment: block.slice(2) }
      else yield { event: eventOf(block) }
    }
  }
}

type EventBody = Static<typeof EventForm>

/** An event; its number and type stand beside it as well. */
function eventOf(block: string): EventBody {
  const fields = new Map(
    block.split('\n').map((line) => [line.split(': ', 1)[0]!, line.slice(line.indexOf(': ') + 2)]),
  )
  const event = JSON.parse(fields.get('data')!) as EventBody
  assert.deepEqual([fields.get('id'), fields.get('event')], [String(event.number), event.type])
  return event
}

/** The next so many events. */
async function next(stream: ReturnType<typeof read>, count: number): Promise<EventBody[]> {
  const events: EventBody[] = []
  while (events.length < count) {
    const { value, done } = await stream.next()
    assert.ok(!done, 'the stream goes on')
    if (value.event) events.push(value.event)
  }
  return events
}

const buy = (world: World, who: Customer) =>
  who.buyEnergy(world.person('bob', 1).address, 65_000).then(() => world.drain())

const codeOf = async (answer: Response) => ((await answer.json()) as { code: number }).code

test('a stream begins after a number, and tells what is new as the list has it', async (t) => {
  const { world, open } = await listening(t)
  const anna = await world.customer({ trx: 100 })
  await buy(world, anna)
  const answer = await open(anna, { after: 0 })
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const stream = read(answer)
  const first = (await stream.next()).value as { comment?: string }
  const { items } = await anna.get<{ items: EventBody[] }>('/v1/events/list', { after: 0 })
  assert.equal(first.comment?.split(' ')[1], String(items.length), 'the newest number')
  assert.deepEqual(await next(stream, items.length), items)
  const from_now = read(await open(anna, { types: ['order.created'] }))
  await from_now.next()
  await buy(world, anna)
  const [seen] = await next(stream, 1)
  assert.equal(seen!.number, items.length + 1)
  assert.deepEqual(await next(from_now, 1), [seen])
  const one = read(await open(anna, { after: 0, subject: items[0]!.subject }))
  assert.deepEqual(await next(one, 1), [items[0]])
})

test('what a stream refuses, before it begins', async (t) => {
  const { world, open } = await listening(t)
  const anna = await world.customer({ trx: 100 })
  await buy(world, anna)
  assert.equal(await codeOf(await open(anna, {}, { 'x-signature': 'ab'.repeat(32) })), 1)
  for (const body of [{ after: -1 }, { types: [] }, { subject: 7 }, { tests: 1 }])
    assert.equal(await codeOf(await open(anna, body)), 2, JSON.stringify(body))
  await world.sql`delete from event where customer_id = ${anna.id} and number = 1`
  assert.equal(await codeOf(await open(anna, { after: 0 })), 76)
  const stream = read(await open(anna, { after: 1 }))
  assert.equal((await next(stream, 1))[0]!.number, 2)
})

test('a stream ends when its key is revoked', { timeout: 120_000 }, async (t) => {
  const { world, open } = await listening(t)
  const anna = await world.customer({ scopes: ['read', 'manage'] })
  const stream = read(await open(anna))
  await stream.next()
  const { key } = await anna.get<{ key: { id: string } }>('/v1/whoami')
  await anna.get('/v1/key/revoke', { id: key.id })
  // The service looks once a second; whether it ends is asked, not when.
  for (;;) if ((await stream.next()).done) break
})

test('a key has ten streams, and a service that ends waits for none', {
  timeout: 60_000,
}, async (t) => {
  const { world, open } = await listening(t)
  const anna = await world.customer()
  const streams = await Promise.all(Array.from({ length: 10 }, () => open(anna)))
  assert.equal(await codeOf(await open(anna)), 72)
  assert.equal(streams.length, 10)
  // One that keeps its connection for as long as it may.
  const zoe = await world.customer()
  const port = (world.api.server.address() as AddressInfo).port
  const agent = new Agent({ keepAlive: true })
  const asked = request({
    port,
    path: PATH,
    method: 'POST',
    agent,
    headers: zoe.headers(PATH, NONE),
  })
  const [answer] = (await once(asked.end(NONE), 'response')) as [IncomingMessage]
  answer.resume()
  // As a process does that is told to end.
  world.app.streams.close()
  await Promise.all([world.api.close(), once(answer, 'end')])
})
