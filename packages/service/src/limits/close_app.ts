// How a server stops that only few may reach. Node's own close() waits for a connection that never
// sent anything for as long as its other side likes, and browsers open such connections ahead.

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const LOOK_MS = 100
/** As long as the API waits for a request that is not whole yet. */
const CLOSING_MS_MAX = 15_000

/** Returns what closes the app: it takes no connection any more and answers what was asked, and a
 *  connection over which nothing is asked is not waited for. To be called before it listens. */
export function appCloser(app: FastifyInstance, ms_max = CLOSING_MS_MAX): () => Promise<void> {
  const open = new Set<Socket>()
  app.server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return async () => {
    const last_ms = performance.now() + ms_max
    const look = () => {
      // Those whose answer has ended since the last look are idle by now.
      app.server.closeIdleConnections()
      const is_over = performance.now() >= last_ms
      for (const socket of open) if (is_over || socket.bytesRead === 0) socket.destroy()
    }
    const looking = setInterval(look, LOOK_MS)
    await app.close().finally(() => clearInterval(looking))
  }
}
