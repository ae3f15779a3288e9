import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startNameServer } from 'penstock-test/harness/name_server.ts'
import { customersNames, type Resolve } from '../../platform/names/customers_names.ts'
import { nameServers } from '../../platform/names/names.ts'
import { type Call, webhookCaller } from './caller.ts'

const LOOPBACK = ['127.0.0.0/8']

/** A receiver on 127.0.0.1, and how many connections it has had. */
async function receiver(t: TestContext, answer: RequestListener) {
  const server = createServer(answer)
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections
    },
  }
}

/** A name server that answers what it is told to, in turn. */
function resolver(...answers: readonly string[][]): Resolve & { asked: number } {
  const resolve = async () => {
    const addresses = answers[Math.min(resolve.asked, answers.length - 1)]!
    resolve.asked += 1
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  resolve.asked = 0
  return resolve
}

const call = (url: string, networks: readonly string[] = LOOPBACK): Call => ({
  url: new URL(url),
  body: '{"a":1}',
  headers: { 'content-type': 'application/json', 'webhook-id': 'x' },
  customer_id: 'anna',
  networks,
})

test('a call carries the body and the headers, and brings the answer', async (t) => {
  let seen:
    | { body: string; headers: Record<string, unknown>; method: string | undefined }
    | undefined
  const { port } = await receiver(t, async (request, response) => {
    let body = ''
    for await (const part of request) body += String(part)
    seen = { body, headers: request.headers, method: request.method }
    response.writeHead(202).end('taken')
  })
  const caller = webhookCaller()
  t.after(() => caller.close())
  const { status, error, body } = await caller.call(call(`http://127.0.0.1:${port}/hook`))
  assert.deepEqual([status, error], [202, null])
  // What a network of one's own answers is not shown.
  assert.equal(body, null)
  assert.equal(seen?.body, '{"a":1}')
  assert.equal(seen?.headers['webhook-id'], 'x')
  assert.equal(seen?.method, 'POST')
})

test('no socket is opened to an address that may not be called', async (t) => {
  const target = await receiver(t, (_request, response) => response.end())
  const { port } = target
  const names: [string, string[][]][] = [
    ['all private', [['127.0.0.1']]],
    ['private beside public', [['8.8.8.8', '127.0.0.1']]],
    ['public beside private', [['127.0.0.1', '8.8.8.8']]],
    ['IPv4 inside IPv6', [['::ffff:127.0.0.1']]],
    ['6to4', [['2002:7f00:1::1']]],
    ['loopback of IPv6', [['::1']]],
  ]
  for (const [title, answers] of names) {
    const caller = webhookCaller(resolver(...answers))
    const outcome = await caller.call(call(`http://hook.example:${port}/`, ['192.0.2.0/24']))
    assert.deepEqual([outcome.status, outcome.error], [null, 'address'], title)
    caller.close()
  }
  const caller = webhookCaller()
  const outcome = await caller.call(call(`http://127.0.0.1:${port}/`, []))
  assert.equal(outcome.error, 'address')
  caller.close()
  assert.equal(target.connections, 0)
})

test('a name server that changes its answer between look-ups gains nothing', async (t) => {
  const target = await receiver(t, (_request, response) => {
    response.setHeader('connection', 'close')
    response.end()
  })
  const resolve = resolver(['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1'])
  const caller = webhookCaller(resolve)
  t.after(() => caller.close())
  const url = `http://hook.example:${target.port}/`
  const outcomes = [
    await caller.call(call(url)),
    await caller.call(call(url)),
    await caller.call(call(url)),
  ]
  assert.deepEqual(
    outcomes.map(({ status, error }) => status ?? error),
    [200, 'address', 200],
  )
  assert.equal(resolve.asked, 3)
  assert.equal(target.connections, 2)
})

test('a real name server that turns to a private address is not followed there', async (t) => {
  const target = await receiver(t, (_request, response) => response.end())
  const turning = { addresses: [['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1', '10.0.0.1']] }
  const server = await startNameServer((name) => (name === 'silent.example' ? 'silent' : turning))
  t.after(() => server.close())
  const caller = webhookCaller(customersNames(nameServers([server.address])))
  t.after(() => caller.close())
  const called = async (name: string) => {
    const { status, error } = await caller.call(call(`http://${name}:${target.port}/`))
    return status ?? error
  }
  assert.equal(await called('hook.example'), 200)
  caller.close()
  assert.equal(await called('hook.example'), 'address')
  assert.equal(await called('hook.example'), 'address')
  assert.equal(target.connections, 1)
  assert.equal(await called('silent.example'), 'resolve')
  const before = server.asked.get('silent.example')
  assert.equal(await called('silent.example'), 'resolve')
  assert.equal(server.asked.get('silent.example'), before, 'it is not asked again')
})

test('a redirect is an answer and is not followed', async (t) => {
  const inner = await receiver(t, (_request, response) => response.end())
  const { port } = await receiver(t, (_request, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end(),
  )
  const caller = webhookCaller()
  t.after(() => caller.close())
  assert.equal((await caller.call(call(`http://127.0.0.1:${port}/`))).status, 302)
  assert.equal(inner.connections, 0)
})

test('of an endless answer only the beginning is read', async (t) => {
  let written = 0
  const { port } = await receiver(t, (_request, response) => {
    const timer = setInterval(() => {
      written += 1
      response.write('x'.repeat(1_000))
    }, 1)
    response.on('close', () => clearInterval(timer))
  })
  const caller = webhookCaller()
  t.after(() => caller.close())
  const { status, ms } = await caller.call(call(`http://127.0.0.1:${port}/`))
  assert.equal(status, 200)
  assert.ok(ms < 10_000 && written < 5_000, `${ms} ms, ${written} parts`)
})

test('what goes wrong has its word: nobody listens, cut off, no name, no HTTP', async (t) => {
  const caller = webhookCaller(resolver([]))
  t.after(() => caller.close())
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port: free } = closed.address() as AddressInfo
  closed.close()
  const words = async (port: number, answer?: (socket: Socket) => void) => {
    const server = answer && createTcpServer(answer).listen(0, '127.0.0.1')
    if (server) {
      await once(server, 'listening')
      t.after(() => server.close())
    }
    const at = server ? (server.address() as AddressInfo).port : port
    return (await caller.call(call(`http://127.0.0.1:${at}/`))).error
  }
  assert.equal(await words(free), 'connect')
  assert.equal(await words(0, (socket) => socket.destroy()), 'reset')
  assert.equal(await words(0, (socket) => socket.end('nonsense\r\n\r\n')), 'reset')
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
  assert.equal(await words(0, (socket) => socket.end(upgrade)), 'reset')
  assert.equal(await words(0, (socket) => socket.write(upgrade)), 'reset')
  const unnamed = await caller.call(call('http://hook.example/'))
  assert.equal(unnamed.error, 'resolve')
})

test('a call may be given less time than the others', async (t) => {
  const { port } = await receiver(t, () => {})
  const caller = webhookCaller()
  t.after(() => caller.close())
  const { error, ms } = await caller.call({ ...call(`http://127.0.0.1:${port}/`), answer_ms: 50 })
  assert.equal(error, 'timeout')
  assert.ok(ms >= 49, String(ms))
})

test('Retry-After is kept, an hour at most; a date and nonsense are not', async (t) => {
  const values = ['7', '999999', 'Wed, 21 Oct 2026 07:28:00 GMT', '-1', '1.5']
  const { port } = await receiver(t, (_request, response) =>
    response.writeHead(503, { 'retry-after': values.shift()! }).end(),
  )
  const caller = webhookCaller()
  t.after(() => caller.close())
  const seen: (number | undefined)[] = []
  for (let i = 0; i < 5; i++) {
    seen.push((await caller.call(call(`http://127.0.0.1:${port}/`))).retry_after_seconds)
  }
  assert.deepEqual(seen, [7, 3_600, undefined, undefined, undefined])
})
