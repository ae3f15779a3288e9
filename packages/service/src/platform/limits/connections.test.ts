import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { networkList } from '../../lib/networks.ts'
import { type ConnectionLimits, Connections } from './connections.ts'

const LIMITS: ConnectionLimits = {
  total_max: 4,
  per_address_max: 2,
  unanswered_max: 3,
  unread_ms_max: 25_000,
  stranger_idle_ms_max: 20_000,
}

/** A listener whose connections are counted by a clock of ours. Clients come from addresses of
 *  loopback. */
async function counted(
  t: TestContext,
  limits: Partial<ConnectionLimits> = {},
  proxies: string[] = [],
) {
  let now_ms = 0
  const closed: string[] = []
  const clock = { now: () => new Date(now_ms) }
  const needs = {
    clock,
    proxies: networkList(proxies),
    onClosing: (why: string) => void closed.push(why),
  }
  const connections = new Connections(needs, { ...LIMITS, ...limits })
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const opened: Socket[] = []
  t.after(() => {
    for (const socket of opened) socket.destroy()
    listener.close()
  })
  /** A connection, as both sides have it; `there` is whether it was taken. */
  async function open(from = '127.0.0.1') {
    const client = connect({ port, host: '127.0.0.1', localAddress: from })
    client.on('error', () => {})
    const [[server]] = await Promise.all([once(listener, 'connection'), once(client, 'connect')])
    const socket = server as Socket
    socket.on('error', () => {})
    opened.push(client, socket)
    const there = connections.add(socket)
    return { client, socket, there, gone: () => socket.destroyed }
  }
  /** Time passes, and we look once a second, or only at its end. */
  const wait = (ms: number, step_ms = 1_000) => {
    for (const end_ms = now_ms + ms; now_ms < end_ms; ) {
      now_ms = Math.min(end_ms, now_ms + step_ms)
      connections.sweep()
    }
  }
  connections.sweep()
  return { connections, open, wait, closed }
}

test('an address has so many connections, then its oldest idle stranger makes room', async (t) => {
  const { open, connections, closed } = await counted(t)
  const [first, second] = [await open(), await open()]
  connections.asked(first.socket)
  assert.ok((await open()).there)
  assert.deepEqual([first.gone(), second.gone()], [false, true])
  assert.ok((await open('127.0.0.2')).there)
  assert.deepEqual([closed, connections.count], [['makes_room'], 3])
})

test("customers' connections are never closed for others: newcomers are refused", async (t) => {
  const { open, connections, closed } = await counted(t)
  const ours = [await open(), await open()]
  for (const { socket } of ours) connections.isCustomers(socket)
  assert.ok(!(await open()).there)
  assert.ok(ours.every(({ gone }) => !gone()))
  assert.deepEqual([closed, connections.count], [['limit_of_address'], 2])
})

test('when there are too many, the address with the most strangers makes room', async (t) => {
  const { open, connections, closed } = await counted(t, { per_address_max: 9 })
  const lonely = await open('127.0.0.2')
  const crowd = [await open(), await open(), await open()]
  assert.ok((await open('127.0.0.3')).there)
  assert.deepEqual([lonely.gone(), crowd.map(({ gone }) => gone())], [false, [true, false, false]])
  assert.deepEqual([closed, connections.count], [['makes_room'], 4])
})

test("a trusted proxy's connections are neither counted nor closed for others", async (t) => {
  const { open, wait, connections } = await counted(t, {}, ['127.0.0.9'])
  const proxied = [
    await open('127.0.0.9'),
    await open('127.0.0.9'),
    await open('127.0.0.9'),
    await open('127.0.0.9'),
  ]
  wait(60_000)
  assert.ok(!(await open()).there)
  assert.ok(proxied.every(({ gone }) => !gone()))
  assert.equal(connections.count, 4)
})

test("a trusted proxy's connection that ends leaves no place to its neighbours", () => {
  const clock = { now: () => new Date(0) }
  const proxies = networkList(['2001:db8::9'])
  const connections = new Connections({ clock, proxies, onClosing: () => {} }, LIMITS)
  /** From the same /64, which counts as one address. */
  const open = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket
    const there = connections.add(socket)
    if (there) connections.isCustomers(socket)
    return { socket, there }
  }
  for (const one of ['2001:db8::1', '2001:db8::2']) assert.ok(open(one).there)
  open('2001:db8::9').socket.emit('close')
  assert.equal(open('2001:db8::3').there, false)
})

test('a connection that ends leaves its place to another', async (t) => {
  const { open, connections } = await counted(t)
  for (let i = 0; i < 6; i++) {
    const { socket, there } = await open()
    assert.ok(there)
    connections.isCustomers(socket)
    socket.destroy()
    await once(socket, 'close')
  }
  assert.equal(connections.count, 0)
})

test('who does not read what was written, or reads too slowly, is closed in time', async (t) => {
  const { open, wait, closed } = await counted(t)
  const { client, socket } = await open()
  client.pause()
  // More than the kernel keeps for somebody.
  socket.write(Buffer.alloc(64 * 1024 * 1024))
  wait(1_000)
  const [reset] = [once(client, 'error')]
  wait(24_000)
  assert.ok(!socket.destroyed)
  client.resume()
  await once(client, 'data')
  client.pause()
  wait(1_000)
  assert.ok(socket.destroyed)
  assert.deepEqual(closed, ['does_not_read'])
  client.resume()
  assert.equal(((await reset) as [{ code: string }])[0].code, 'ECONNRESET')
})

test('anyone who takes what was written, however much there is, stays', async (t) => {
  const { open, wait, connections } = await counted(t)
  const { client, socket } = await open()
  connections.isCustomers(socket)
  let taken = 0
  client.on('data', (chunk: Buffer) => {
    taken += chunk.length
  })
  const piece = Buffer.alloc(16 * 1024 * 1024)
  for (let round = 1; round <= 3; round++) {
    socket.write(piece)
    wait(1_000)
    while (taken < round * piece.length) await once(client, 'data')
    wait(23_000)
  }
  assert.ok(!socket.destroyed)
})

test('idle strangers are closed, customers and waiting callers are not', async (t) => {
  const { open, wait, connections } = await counted(t, { per_address_max: 4 })
  const [idle, asking, ours] = [await open(), await open(), await open()]
  connections.asked(asking.socket)
  connections.isCustomers(ours.socket)
  wait(19_000)
  assert.ok(!idle.gone())
  wait(1_000)
  assert.deepEqual(
    [idle, asking, ours].map(({ gone }) => gone()),
    [true, false, false],
  )
  assert.ok(connections.answered(asking.socket))
  assert.ok(!connections.answered(ours.socket))
  wait(20_000)
  assert.deepEqual(
    [asking, ours].map(({ gone }) => gone()),
    [true, false],
  )
})

test('time in which we did not look counts against nobody', async (t) => {
  const { open, wait } = await counted(t)
  const { socket } = await open()
  wait(60_000, 60_000)
  assert.ok(!socket.destroyed)
  wait(18_000)
  assert.ok(socket.destroyed)
})

test('anyone who has our last word and does not hang up is let go', async (t) => {
  const { open, wait } = await counted(t)
  const { socket } = await open()
  socket.end('farewell')
  await once(socket, 'finish')
  wait(5_000)
  assert.ok(!socket.destroyed)
  wait(1_000)
  assert.ok(socket.destroyed)
})

test('when the server closes, nobody who sends nothing, or not all, keeps it open', async (t) => {
  const { connections, open, wait } = await counted(t, { per_address_max: 4 })
  const [silent, slow, customer] = [await open(), await open(), await open()]
  for (const { client, socket } of [slow, customer]) {
    client.write('POST /v1/prices HTTP/1.1\r\n')
    await once(socket.resume(), 'data')
    connections.asked(socket)
  }
  connections.isCustomers(customer.socket)
  connections.closeSoon()
  wait(1_000)
  assert.deepEqual([silent.gone(), slow.gone(), customer.gone()], [true, false, false])
  wait(13_000)
  assert.deepEqual([slow.gone(), customer.gone(), connections.over], [false, false, false])
  wait(1_000)
  assert.deepEqual([slow.gone(), customer.gone()], [true, true])
  assert.equal(connections.over, true)
})

test('one connection has so many requests without an answer', async (t) => {
  const { open, connections } = await counted(t)
  const { socket } = await open()
  const asked = () => connections.asked(socket)
  assert.deepEqual([asked(), asked(), asked(), asked()], [true, true, true, false])
  connections.answered(socket)
  connections.answered(socket)
  assert.ok(asked())
})
