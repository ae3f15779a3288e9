// An HTTP proxy that does to requests and answers what networks and proxies do to them: it loses,
// cuts, delays and doubles them. Which request meets what is drawn from a seed.

import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** What can happen to one request. */
const MISHAPS = [
  'the request is lost',
  'the request arrives late, its answer never',
  'the answer is lost',
  'half of the answer is lost',
  'the answer is late',
  'the request is sent twice',
  'the answer is given twice',
  'the proxy answers instead',
] as const
export type Mishap = (typeof MISHAPS)[number]

type ProxyRequest = { path: string; headers: IncomingHttpHeaders; body: Buffer }
type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

type ProxyOptions = {
  target: string
  /** Numbers from 0 to 1. */
  random: () => number
  /** The share of requests that something happens to. */
  share: number
  /** How late what is late is; longer than the client waits. */
  late_ms: number
}

export class UnreliableProxy {
  /** How often each of them has happened. */
  readonly happened: Partial<Record<Mishap, number>> = {}
  private readonly options: ProxyOptions
  /** What is still on its way, however long the client is gone. */
  private readonly under_way = new Set<Promise<void>>()
  private readonly server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { url = '/', headers } = incoming
      const passed = this.pass({ path: url, headers, body: Buffer.concat(chunks) }, response)
      const settled = passed.catch(() => void response.destroy())
      this.under_way.add(settled)
      void settled.then(() => this.under_way.delete(settled))
    })
  })

  constructor(options: ProxyOptions) {
    this.options = options
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Resolves when nothing is on its way any more. */
  async rest(): Promise<void> {
    while (this.under_way.size > 0) await Promise.all(this.under_way)
  }

  async close(): Promise<void> {
    await this.rest()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private async pass(asked: ProxyRequest, response: ServerResponse): Promise<void> {
    const { random, share, late_ms } = this.options
    const mishap = random() < share ? MISHAPS[Math.floor(random() * MISHAPS.length)] : undefined
    if (mishap) this.happened[mishap] = (this.happened[mishap] ?? 0) + 1
    switch (mishap) {
      case 'the request is lost':
        response.destroy()
        return
      case 'the request arrives late, its answer never':
        response.destroy()
        await delay(random() * late_ms)
        await this.forward(asked)
        return
      case 'the request is sent twice': {
        const both = await Promise.all([this.forward(asked), this.forward(asked)])
        return tell(response, both[random() < 0.5 ? 0 : 1])
      }
      case 'the proxy answers instead':
        await this.forward(asked)
        return tell(response, { status: 502, headers: {}, body: Buffer.from('<html>') })
      default:
        return this.answer(response, await this.forward(asked), mishap)
    }
  }

  private async answer(
    response: ServerResponse,
    answer: Answer,
    mishap: Mishap | undefined,
  ): Promise<void> {
    switch (mishap) {
      case 'the answer is lost':
        response.destroy()
        return
      case 'half of the answer is lost':
        response.writeHead(answer.status, answer.headers)
        response.write(answer.body.subarray(0, answer.body.length / 2), () => response.destroy())
        return
      case 'the answer is late':
        await delay(this.options.late_ms)
        break
      case 'the answer is given twice': {
        const { socket } = response
        response.once('finish', () => socket?.write(raw(answer)))
        break
      }
    }
    tell(response, answer)
  }

  private forward({ path, headers, body }: ProxyRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const url = new URL(path, this.options.target)
      const sent = request(url, { method: 'POST', headers, agent: false }, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const { statusCode: status = 0, headers } = incoming
          // The connection to the client is another one.
          const { connection: _, 'keep-alive': __, ...kept } = headers
          resolve({ status, headers: kept, body: Buffer.concat(chunks) })
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
}

function tell(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers)
  response.end(body)
}

/** An answer as bytes on a connection. */
function raw({ status, headers, body }: Answer): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} OK\r\n${lines.join('\r\n')}\r\n\r\n`),
    body,
  ])
}
