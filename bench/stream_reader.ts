// Who streams: opens as many streams as it is told, and says how many events came over them and how
// late, in a process of its own. It parses no more of an event than the time that stands in it.

import { hash } from 'node:crypto'
import { Agent, request } from 'node:http'
import type { Access } from './load.ts'

export type Task = { api_url: string; readers: Access[]; streams: number }
export type Heard = { events: number; lateness_ms: number[]; broken: number }

const PATH = '/v1/events/stream'
const BODY = '{}'
/** What the bench writes into each event: when it was committed. */
const COMMITTED = /"committed_ms":(\d+)/g

let events = 0
let broken = 0
let lateness_ms: number[] = []

function open({ api_url, token, secret }: Access & { api_url: string }, agent: Agent) {
  const { hostname, port } = new URL(api_url)
  const headers = {
    authorization: `Bearer ${token}`,
    'x-signature': hash('sha256', BODY + secret),
    'content-type': 'application/json',
    'content-length': BODY.length,
  }
  return new Promise<void>((resolve, reject) => {
    const asked = { hostname, port, path: PATH, method: 'POST', agent, headers }
    const sent = request(asked, (response) => {
      if (response.headers['content-type']?.startsWith('text/event-stream') !== true)
        return reject(new Error('a stream was refused'))
      // The first line says that it is open.
      response.once('data', () => resolve())
      response.setEncoding('utf8').on('data', (text: string) => {
        const now_ms = Date.now()
        for (const [, committed_ms] of text.matchAll(COMMITTED)) {
          events += 1
          lateness_ms.push(now_ms - Number(committed_ms))
        }
      })
      response.on('close', () => (broken += 1))
    })
    sent.on('error', reject)
    sent.end(BODY)
  })
}

process.on('message', async (asked: Task | 'heard' | 'forget') => {
  if (asked === 'heard') process.send!({ events, lateness_ms, broken } satisfies Heard)
  else if (asked === 'forget') {
    events = 0
    lateness_ms = []
    process.send!({})
  } else {
    const { api_url, readers, streams } = asked
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
    for (let i = 0; i < streams; i++) {
      await open({ api_url, ...readers[i % readers.length]! }, agent)
    }
    process.send!({})
  }
})
process.on('disconnect', () => process.exit(0))
