// What machines ask about this process, on a port of its own: never the port that customers reach.
// It has no password, so it listens on this machine only unless told otherwise.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readiness } from './readiness.ts'

export type AdminAnswers = {
  role: string
  readiness(): Readiness
  /** Whether the start is over. */
  started(): boolean
  /** In the text format of Prometheus. */
  metrics(): string
}

const CONNECTIONS_MAX = 64
const MS_MAX = 5_000

type Page = { status: number; type?: string; body: string }

const json = (status: number, value: object): Page => ({
  status,
  body: `${JSON.stringify(value)}\n`,
})

const PAGES: Readonly<Record<string, (asked: AdminAnswers) => Page>> = {
  // That it answers says that the process turns.
  '/livez': ({ role }) => json(200, { status: 'alive', role }),
  '/healthz': ({ role }) => json(200, { status: 'alive', role }),
  '/startupz': ({ role, started }) => {
    const is = started()
    return json(is ? 200 : 503, { status: is ? 'started' : 'starting', role })
  },
  '/readyz': ({ role, readiness }) => {
    const { ready, reasons, notices } = readiness()
    return json(ready ? 200 : 503, {
      status: ready ? 'ready' : 'not ready',
      role,
      reasons,
      notices,
    })
  },
  '/metrics': ({ metrics }) => ({
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8',
    body: metrics(),
  }),
}

function pageOf(request: IncomingMessage, asked: AdminAnswers): Page {
  const path = (request.url ?? '').split('?', 1)[0]!
  const page = Object.hasOwn(PAGES, path) ? PAGES[path] : undefined
  if (!page) return json(404, { error: `There is ${Object.keys(PAGES).join(', ')}.` })
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return json(405, { error: 'It is GET or HEAD.' })
  return page(asked)
}

function answer(request: IncomingMessage, response: ServerResponse, asked: AdminAnswers): void {
  const { status, type = 'application/json; charset=utf-8', body } = pageOf(request, asked)
  request.resume()
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Starts to listen. Rejects with the error of listening. */
export async function openAdminPort(
  { host, port }: { host: string; port: number },
  asked: AdminAnswers,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(
    {
      maxHeaderSize: 8_192,
      headersTimeout: MS_MAX,
      requestTimeout: MS_MAX,
      keepAliveTimeout: MS_MAX,
    },
    (request, response) => answer(request, response, asked),
  )
  server.maxConnections = CONNECTIONS_MAX
  // A caller that does not read is not waited for.
  server.timeout = 2 * MS_MAX
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })
  const { port: listening } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
