// One attack of `torture -- strangers`, in a thread of its own, so that what it costs the sender
// does not count for the customers who are measured meanwhile. Addresses are those of loopback:
// each counts as another stranger.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

export type Attack = keyof typeof ATTACKS
export type Order = {
  attack: Attack
  ports: number[]
  seconds: number
  token: string
  connections: number
}
export type Counts = Record<string, number>

const order = workerData as Order
let { ports } = order
parentPort?.on('message', (changed: number[]) => {
  ports = changed
})
const until_ms = performance.now() + order.seconds * 1_000
const goesOn = () => performance.now() < until_ms
const portOf = (n: number) => ports[n % ports.length]!

/** Connects from an address; undefined when that fails, as it may for a stranger. */
async function open(port: number, from: string): Promise<Socket | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  // Each wait for it listens.
  socket.setMaxListeners(0).on('error', () => {})
  return once(socket, 'connect').then(
    () => socket,
    () => undefined,
  )
}

/** So many of them at once, each again and again until the time is over. */
async function again(workers: number, work: (n: number) => Promise<unknown>): Promise<number> {
  let done = 0
  const loop = async (worker: number) => {
    for (let round = 0; goesOn(); round++) {
      await work(worker + workers * round)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => loop(worker)))
  return done
}

const MOMENTS = [
  'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n',
  'POST /v1/balance HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
  'POST /v1/balance HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n{',
  'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(64),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(9_000)}\r\n\r\n`,
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\0\xff\n\r\n GET',
]

/** Every kind of bytes, and a reset at once, soon, or never. */
async function resets(): Promise<Counts> {
  const connections = await again(16, async (n) => {
    const socket = await open(portOf(n), `127.0.1.${1 + (n % 8)}`)
    if (!socket) return delay(10)
    socket.resume()
    socket.write(Buffer.from(MOMENTS[n % MOMENTS.length]!, 'latin1'))
    if (n % 3 > 0) await delay((n % 3) * 3)
    if (n % 7 === 0) socket.end()
    else socket.resetAndDestroy()
    return delay(5)
  })
  return { connections }
}

/** Health, 64 requests in one piece over each of 64 connections, the next piece when this one is
 *  answered. */
async function health(): Promise<Counts> {
  const piece = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(64)
  const counts: Counts = { answered: 0, refused: 0 }
  await again(64, async (n) => {
    const socket = await open(portOf(n), '127.0.0.1')
    if (!socket) return delay(50)
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      counts.answered! += text.split('HTTP/1.1 200').length - 1
      counts.refused! += text.split('HTTP/1.1 429').length - 1
    })
    for (let round = 0; round < 20 && goesOn() && !socket.destroyed; round++) {
      socket.write(piece)
      await Promise.race([once(socket, 'data').catch(() => {}), delay(1_000)])
    }
    return socket.destroy()
  })
  return counts
}

/** As many connections as possible from ten addresses, held; what is closed comes again. */
async function connections(): Promise<Counts> {
  const counts: Counts = { opened: 0, closed: 0 }
  const held = new Set<Socket>()
  await again(50, async (n) => {
    if (held.size >= order.connections) return delay(20)
    const socket = await open(portOf(0), `127.0.3.${1 + (n % 10)}`)
    if (!socket) return delay(20)
    counts.opened! += 1
    held.add(socket.resume())
    socket.on('close', () => {
      counts.closed! += 1
      held.delete(socket)
    })
  })
  const held_at_end = held.size
  for (const socket of held) socket.destroy()
  return { ...counts, held_at_end }
}

/** Requests one after another over a few connections, from the customers' own address, with a pause
 *  after each. */
async function requests(make: (n: number) => string): Promise<Counts> {
  const counts: Counts = { sent: 0, refused: 0, unauthenticated: 0, let_in: 0 }
  const sockets = new Map<number, Socket>()
  const workers = 8
  await again(workers, async (n) => {
    const worker = n % workers
    const port = portOf(worker)
    let socket = sockets.get(worker)
    if (!socket || socket.destroyed || socket.remotePort !== port) {
      socket?.destroy()
      socket = await open(port, '127.0.0.1')
      if (!socket) return delay(20)
      sockets.set(worker, socket)
    }
    socket.write(make(n))
    counts.sent! += 1
    const [answer] = await Promise.race([
      once(socket, 'data').catch(() => ['']),
      delay(2_000, ['']),
    ])
    const text = String(answer)
    if (text.includes(' 429 ')) counts.refused! += 1
    else if (text.includes('"code":1,')) counts.unauthenticated! += 1
    else if (text.includes('"code":0,')) counts.let_in! += 1
    return delay(10)
  })
  for (const socket of sockets.values()) socket.destroy()
  return counts
}

const post = (token: string) =>
  [
    'POST /v1/balance HTTP/1.1\r\nHost: x\r\nContent-Length: 2',
    `Authorization: Bearer ${token}`,
    `X-Signature: ${'0'.repeat(64)}\r\n\r\n{}`,
  ].join('\r\n')

const junk = () => requests((n) => post(`pst_${String(n).padStart(43, 'A')}`))
const leaked = () => requests(() => post(order.token))

/** Who asks for much and does not read it, reads a byte now and then, or sends half a request. Each
 *  is looked after once, at a moment of its own from 10 seconds to the end: whether it is still
 *  there says how long such connections live. */
async function slow(): Promise<Counts> {
  const readers = 100
  const began_ms = performance.now()
  const looked: { after_seconds: number; gone: boolean }[] = []
  const look = async (n: number) => {
    const socket = await open(portOf(n), `127.0.4.${1 + (n % 4)}`)
    if (!socket) return
    // Bytes are read by hand only.
    socket.on('readable', () => {})
    const half = n % 5 === 4
    socket.write(half ? 'POST /v1/balance HTTP/1.1\r\nHost: x\r\nX-Slow: ' : MOMENTS[2]!)
    const look_ms = 10_000 + ((order.seconds - 12) * 1_000 * n) / readers
    while (performance.now() - began_ms < look_ms) {
      await delay(Math.min(half ? 1_000 : 20_000, 1 + look_ms - (performance.now() - began_ms)))
      if (half && !socket.destroyed) socket.write('x')
      else if (n % 5 === 3) socket.read(1)
    }
    const after_seconds = (performance.now() - began_ms) / 1_000
    const closed =
      socket.destroyed ||
      once(socket, 'close')
        .catch(() => {})
        .then(() => true)
    socket.removeAllListeners('readable')
    socket.resume()
    looked.push({
      after_seconds,
      gone: (await Promise.race([closed, delay(1_500, false)])) === true,
    })
    socket.destroy()
  }
  await Promise.all(Array.from({ length: readers }, (_, n) => look(n)))
  const alive = looked.filter(({ gone }) => !gone).map(({ after_seconds }) => after_seconds)
  const late = looked.filter(({ after_seconds }) => after_seconds >= 30)
  return {
    connections: looked.length,
    longest_alive_seconds: Math.round(Math.max(0, ...alive)),
    looked_after_30_seconds: late.length,
    alive_after_30_seconds: late.filter(({ gone }) => !gone).length,
  }
}

const ATTACKS = { resets, health, connections, junk, leaked, slow }

parentPort?.postMessage(await ATTACKS[order.attack]())
