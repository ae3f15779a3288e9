// How a server stops that only few may reach. Node's own close() waits for a connection that never
// sent anything for as long as its other side likes, and browsers open such connections ahead.

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { isWaitedFor } from './connections.ts'

const LOOK_MS = 100

/** Returns what closes the app: it takes no connection any more and answers what was asked, and a
 *  connection over which nothing is asked is not waited for. To be called before it listens.
 *  `ms_max`: for a request that is not whole; as long as at the API when left out. */
export function appCloser(app: FastifyInstance, ms_max?: number): () => Promise<void> {
  const open = new Set<Socket>()
  app.server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return async () => {
    const began_ms = performance.now()
    const look = () => {
      // Those whose answer has ended since the last look are idle by now.
      app.server.closeIdleConnections()
      const closing_ms = performance.now() - began_ms
      for (const socket of open) if (!isWaitedFor(socket, closing_ms, ms_max)) socket.destroy()
    }
    const looking = setInterval(look, LOOK_MS)
    await app.close().finally(() => clearInterval(looking))
  }
}
