// Who streams, in a process of its own, for a benchmark and a long test: opens as many streams as
// it is told, opens each again after its last number when it breaks, and says how many events came,
// how late, and which numbers were missing or came twice. Of an event it reads the number and the
// time that stands in it: it shares its cores with what is measured.

import { type ChildProcess, fork } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { atEnd } from './ending.ts'

export type ReaderAccess = { token: string; secret: string }
/** Each stream has the next of the keys. */
export type OpenInput = { api_url: string; keys: readonly ReaderAccess[]; streams: number }
export type Tally = {
  /** Those in which the time of their commit is written. */
  events: number
  /** How many came so many milliseconds after the commit that is written in them. */
  by_lateness_ms: Record<number, number>
  /** Numbers that did not follow the one before on the same stream. */
  findings: string[]
  reopened: number
}

export type StreamReaders = {
  /** Resolves when all of them are open. */
  open(opening: OpenInput): Promise<void>
  heard(): Promise<Tally>
  stop(): void
}

export async function startStreamReaders(): Promise<StreamReaders> {
  const child: ChildProcess = fork(import.meta.filename)
  const end = atEnd(() => child.kill())
  const ask = async <Answer>(what: OpenInput | 'heard') => {
    const answered = once(child, 'message')
    child.send(what)
    return ((await answered) as [Answer])[0]
  }
  return {
    open: (opening) => ask<undefined>(opening).then(() => {}),
    heard: () => ask<Tally>('heard'),
    stop: () => void end(),
  }
}

/** The lateness in milliseconds that this share of events stays within. */
export function latenessWithin({ events, by_lateness_ms }: Tally, share: number): number | null {
  let left = share * events
  for (const [ms, count] of Object.entries(by_lateness_ms)) {
    left -= count
    if (left <= 0) return Number(ms)
  }
  return null
}

const PATH = '/v1/events/stream'
const NUMBER = /^id: (\d+)\n/
/** Written into the events that are counted: when it was committed. */
const COMMITTED = /"committed_ms":(\d+)/
const AGAIN_MS = 200

const heard: Tally = { events: 0, by_lateness_ms: {}, findings: [], reopened: 0 }
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** A stream that is open; `closed` resolves when it is over. */
type OpenStream = { closed: Promise<void> }

/** One stream that goes on. `last`: undefined until the first line has said where it begins. */
class Follower {
  private readonly api_url: string
  private readonly key: ReaderAccess
  private last: number | undefined
  /** The result of a block that is not whole. */
  private rest = ''

  constructor(api_url: string, key: ReaderAccess) {
    this.api_url = api_url
    this.key = key
  }

  /** Resolves when it is open for the first time. */
  async begin(): Promise<void> {
    void this.keepOpen(await this.open())
  }

  private async keepOpen(opened: OpenStream | undefined): Promise<void> {
    for (let now = opened; ; now = await this.open().catch(() => undefined)) {
      await now?.closed
      heard.reopened += 1
      await delay(AGAIN_MS)
    }
  }

  private open(): Promise<OpenStream> {
    const { hostname, port } = new URL(this.api_url)
    this.rest = ''
    const body = JSON.stringify(this.last === undefined ? {} : { after: this.last })
    const headers = {
      authorization: `Bearer ${this.key.token}`,
      'x-signature': hash('sha256', body + this.key.secret),
      'content-type': 'application/json',
      'content-length': body.length,
    }
    return new Promise((resolve, reject) => {
      const asked = { hostname, port, path: PATH, method: 'POST', agent, headers }
      const sent = request(asked, (response) => {
        response.setEncoding('utf8')
        if (response.headers['content-type']?.startsWith('text/event-stream') !== true) {
          response.resume()
          return reject(new Error('a stream was refused'))
        }
        const closed = new Promise<void>((over) => response.once('close', over))
        response.once('data', () => resolve({ closed }))
        response.on('data', (text: string) => this.take(text))
        response.on('error', () => {})
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  private take(text: string): void {
    const now_ms = Date.now()
    const blocks = (this.rest + text).split('\n\n')
    this.rest = blocks.pop()!
    for (const block of blocks) {
      // The first line has the newest number, from which a new stream begins.
      if (block.startsWith(':')) this.last ??= Number(block.split(' ')[2])
      else this.hear(block, now_ms)
    }
  }

  private hear(block: string, now_ms: number): void {
    const number = Number(NUMBER.exec(block)?.[1])
    if (number !== this.last! + 1) heard.findings.push(`${number} after ${this.last}`)
    this.last = number
    const [, committed_ms] = COMMITTED.exec(block) ?? []
    if (committed_ms === undefined) return
    heard.events += 1
    const late_ms = Math.max(0, now_ms - Number(committed_ms))
    heard.by_lateness_ms[late_ms] = (heard.by_lateness_ms[late_ms] ?? 0) + 1
  }
}

async function answer(asked: OpenInput | 'heard'): Promise<void> {
  if (asked !== 'heard') {
    const { api_url, keys, streams } = asked
    for (let i = 0; i < streams; i++) await new Follower(api_url, keys[i % keys.length]!).begin()
  }
  process.send!(asked === 'heard' ? heard : {})
}

if (process.send && process.argv[1] === import.meta.filename) {
  process.on('message', (asked: OpenInput | 'heard') => void answer(asked))
  process.on('disconnect', () => process.exit(0))
}
