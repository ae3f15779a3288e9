// What stands between the service and its database or its node, and can be made bad: a TCP proxy
// whose target may change, and a node's HTTP front that is away, slow, behind, or lies.

import { createServer as createHttp, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Devchain } from 'penstock-devchain/devchain.ts'

export type Link = 'well' | 'cut' | 'half open' | 'slow'

const SLOW_MS = 400

/** A TCP proxy. Half open: what is sent goes nowhere, and nobody is told. */
export class Relay {
  link: Link = 'well'
  target: { host: string; port: number }
  private readonly sockets = new Set<Socket>()
  private readonly server = createServer((socket) => this.serve(socket))

  constructor(target: { host: string; port: number }) {
    this.target = target
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return (this.server.address() as AddressInfo).port
  }

  /** Ends every connection there is. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  private serve(near: Socket): void {
    if (this.link === 'cut') {
      near.destroy()
      return
    }
    const far = connect(this.target)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from)
      from.on('data', (chunk: Buffer) => void this.pass(chunk, to))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.sockets.delete(from)
        to.destroy()
      })
    }
  }

  private async pass(chunk: Buffer, to: Socket): Promise<void> {
    if (this.link === 'half open') return
    if (this.link === 'slow') await delay(SLOW_MS)
    if (!to.destroyed) to.write(chunk)
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

export type Manner =
  | 'well'
  | 'away'
  | 'slow'
  | 'silent'
  | 'behind'
  | 'busy'
  | 'duplicate'
  | 'swallows'
  | 'forgets'

/** A node that answers for a chain in its own manner. `swallows`: takes transactions and never
 *  sends them on; `forgets`: says of every transaction that its chain does not have it, however far
 *  that has come. */
export class NodeFront {
  manner: Manner = 'well'
  /** How often it was asked, by path. */
  readonly requests = new Map<string, number>()
  private readonly chain: Devchain
  private readonly server = createHttp((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on(
      'end',
      () => void this.answer(request.url ?? '/', Buffer.concat(chunks).toString('utf8'), response),
    )
  })

  constructor(chain: Devchain) {
    this.chain = chain
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  private async answer(path: string, body: string, response: ServerResponse): Promise<void> {
    const { manner } = this
    this.requests.set(path, (this.requests.get(path) ?? 0) + 1)
    if (manner === 'away') return void response.socket?.destroy()
    if (manner === 'silent') return
    if (manner === 'slow') await delay(2_000)
    const said = this.lie(path, body) ?? this.chain.request('POST', path, body)
    response.writeHead(said.status, { 'content-type': 'application/json' }).end(said.body)
  }

  private lie(path: string, body: string): { status: number; body: string } | undefined {
    const { manner } = this
    const answer = (value: object) => ({ status: 200, body: JSON.stringify(value) })
    if (path === '/wallet/broadcasthex') {
      if (manner === 'busy') return answer({ result: false, code: 'SERVER_BUSY', message: '' })
      if (manner === 'duplicate')
        return answer({ result: false, code: 'DUP_TRANSACTION_ERROR', message: '' })
      if (manner === 'swallows') return answer({ result: true, code: 'SUCCESS', message: '' })
    }
    if (manner === 'forgets' && /gettransaction/.test(path)) return answer({})
    if (manner === 'behind' && /\/getblock$/.test(path)) {
      const newest = this.chain.chain.head_number - 40
      const number = Math.max(1, path.startsWith('/walletsolidity') ? newest - 18 : newest)
      const asked = { ...(JSON.parse(body || '{}') as object), id_or_num: String(number) }
      return this.chain.request('POST', path, JSON.stringify(asked))
    }
    return undefined
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
