// A node over HTTP that allows so many requests in any second, as providers do, and answers 429
// beyond. It counts what it is asked.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Answer = { status: number; body: string }

export type StrictNode = {
  url: string
  /** How many requests were answered, and how many were one too many. */
  counts: { answered: number; refused: number }
  /** From now on so many are answered in any second; Infinity: all. */
  allow(per_second: number): void
  close(): Promise<void>
}

/** `answer`: what the chain behind it says. */
export async function startStrictNode(
  answer: (method: string, path: string, body: string) => Answer,
  allowed = Number.POSITIVE_INFINITY,
): Promise<StrictNode> {
  const counts = { answered: 0, refused: 0 }
  let per_second = allowed
  let recent_ms: number[] = []
  const isOneTooMany = () => {
    if (per_second === Number.POSITIVE_INFINITY) return false
    const now_ms = performance.now()
    recent_ms = recent_ms.filter((at_ms) => at_ms > now_ms - 1_000)
    if (recent_ms.length >= per_second) return true
    recent_ms.push(now_ms)
    return false
  }
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = 'GET', url = '/' } = request
      const refused = isOneTooMany()
      counts[refused ? 'refused' : 'answered'] += 1
      const { status, body } = refused
        ? { status: 429, body: '{"Error":"request rate exceeded the allowed frequency"}' }
        : answer(method, url, Buffer.concat(chunks).toString('utf8'))
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    allow(more) {
      per_second = more
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
