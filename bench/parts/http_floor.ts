// The cost of a call that is nothing but HTTP: a server of node:http, in a process of its own, that
// reads the body and answers what an order is answered, the same to all. One of its two ports
// answers at once, the other holds answers back and lets them go together, as a commit does: a
// server that is waited for has fewer calls to do at a time, and each costs more.

import { fork } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type HttpFloor = {
  /** That of the server which answers at once. */
  port: number
  /** That of the one which holds answers back. */
  held_port: number
  /** How long it holds them at most, in milliseconds. */
  holdFor(ms: number): void
  /** CPU time of the process so far, in microseconds. */
  cpuUs(): Promise<number>
  end(): void
}

type Answer = { port: number; held_port: number } | { cpu_us: number }
type Message = { hold_ms: number } | 'cpu'

/** Starts the process. */
export async function startHttpFloor(): Promise<HttpFloor> {
  const child = fork(import.meta.filename, ['serve'], { execArgv: [] })
  const answer = () => new Promise<Answer>((resolve) => child.once('message', resolve))
  const tell = (message: Message) => child.send(message)
  const { port, held_port } = (await answer()) as { port: number; held_port: number }
  return {
    port,
    held_port,
    holdFor: (ms) => tell({ hold_ms: ms }),
    async cpuUs() {
      const told = answer()
      tell('cpu')
      return ((await told) as { cpu_us: number }).cpu_us
    },
    end: () => child.kill(),
  }
}

/** As long as that of an order. */
const BODY = JSON.stringify({
  code: 0,
  request_id: '-'.repeat(36),
  result: {
    id: '-'.repeat(26),
    external_id: '-'.repeat(18),
    service: 'energy',
    params: {
      address: '-'.repeat(34),
      amounts: { energy: 32_000 },
      duration: 1,
      activate_address: false,
    },
    status: 'new',
    amount: 1.44,
    created_at: '2026-11-23T00:00:00Z',
  },
})
const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'content-length': Buffer.byteLength(BODY),
}

function answering(answer: (response: ServerResponse) => void): Promise<number> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      if (Buffer.concat(parts).length === 0) throw new Error('a call has no body')
      answer(response)
    })
  })
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
}

async function serve(): Promise<void> {
  const answer = (response: ServerResponse) => response.writeHead(200, HEADERS).end(BODY)
  let held: ServerResponse[] = []
  const letGo = () => {
    const all = held
    held = []
    for (const response of all) answer(response)
  }
  let timer = setInterval(letGo, 1_000)
  process.on('message', (message: Message) => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage()
      return process.send!({ cpu_us: user + system })
    }
    clearInterval(timer)
    timer = setInterval(letGo, message.hold_ms)
  })
  const port = await answering(answer)
  const held_port = await answering((response) => held.push(response))
  process.send!({ port, held_port })
}

if (process.argv[2] === 'serve') await serve()
