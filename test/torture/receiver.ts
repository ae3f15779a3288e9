// What customers have at the other end of their webhooks: it verifies what it is told, keeps when
// it first heard of each event, refuses some calls once, and is away when it is told to be.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook as Verifier } from 'standardwebhooks'
import type { Dice } from '../simulator/dice.ts'

export type Arrival = { number: number; id: string; subject: string; late_ms: number }

/** One webhook's calls. */
export class Hook {
  readonly path: string
  readonly customer_id: string
  /** First arrivals, in the order in which they came. */
  readonly first: Arrival[] = []
  /** By the number of the event. */
  readonly ids = new Map<number, string>()
  calls = 0
  away = false
  /** The newest number when all webhooks were there. */
  begins_after = 0n
  readonly findings: string[] = []
  private readonly verifier: Verifier

  constructor(path: string, { customer_id, secret }: { customer_id: string; secret: string }) {
    this.path = path
    this.customer_id = customer_id
    this.verifier = new Verifier(secret)
  }

  /** The status to answer with. */
  take(body: string, headers: Record<string, string>, dice: Dice): number {
    this.calls += 1
    try {
      this.verifier.verify(body, headers)
    } catch (thrown) {
      this.findings.push(`${this.path} a call that is not from the service: ${String(thrown)}`)
    }
    const event = JSON.parse(body) as Omit<Arrival, 'late_ms'> & { timestamp: string }
    const { number, id, subject } = event
    if (id !== headers['webhook-id'])
      this.findings.push(`${this.path} ${number} is called ${headers['webhook-id']} and is ${id}`)
    const known = this.ids.get(number)
    if (known !== undefined && known !== id)
      this.findings.push(`${this.path} ${number} was ${known} and is ${id}`)
    if (known === undefined) {
      this.ids.set(number, id)
      const late_ms = Date.now() - Date.parse(event.timestamp)
      this.first.push({ number, id, subject, late_ms })
      // Refused once: it comes again in five seconds.
      if (dice.chance(0.02)) return 500
    }
    return 204
  }

  /** What first came after a later event of the same subject. */
  outOfOrder(): string[] {
    const newest = new Map<string, number>()
    return this.first.flatMap(({ number, subject }) => {
      const before = newest.get(subject) ?? 0
      newest.set(subject, Math.max(before, number))
      return number < before ? [`${this.path} ${subject}: ${number} came after ${before}`] : []
    })
  }
}

/** Listens for all of them on this machine. */
export async function startReceiver(dice: Dice) {
  const hooks = new Map<string, Hook>()
  const server = createServer((request, response) => {
    const hook = hooks.get(request.url ?? '')
    if (!hook || hook.away) return void request.destroy()
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const headers = request.headers as Record<string, string>
      response.writeHead(hook.take(Buffer.concat(parts).toString(), headers, dice)).end()
    })
    // A worker that was killed has not sent all of it.
    request.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    hooks,
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
