// Listens on one port with several sockets. The event loop takes one connection from each of them
// in a turn: with a single one, anyone who connects often enough keeps others from connecting at
// all. Where the system does not share a port among sockets (macOS, Windows) there is one.

import { once } from 'node:events'
import { type AddressInfo, createServer, Server as NetServer, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const SOCKETS = process.platform === 'linux' ? 16 : 1
/** As Node's HTTP server has its sockets. */
const OPTIONS = { allowHalfOpen: true, noDelay: true }

type Place = { port: number; host: string; reusePort?: boolean }

export type Listener = {
  port: number
  /** Takes no connection any more; those that are there are served. */
  stopListening(): void
  /** Closes the app: stops listening, answers what is under way. */
  close(): Promise<void>
}

/** Listens. Throws when the port is taken, also by a process that would share it. */
export async function listenOn(app: FastifyInstance, { port, host }: Place): Promise<Listener> {
  const reusePort = SOCKETS > 1
  if (reusePort && port !== 0) await closed(await listener({ port, host }))
  const place: Place = { port, host, ...(reusePort && { reusePort }) }
  await app.listen(place)
  const others: NetServer[] = []
  const given = (app.server.address() as AddressInfo).port
  let ended: Promise<void>[] | undefined
  const stopListening = () => {
    ended ??= others.map(closed)
    // The server's own close() would also close the connections that idle.
    NetServer.prototype.close.call(app.server)
  }
  const close = async () => {
    stopListening()
    await app.close()
    await Promise.all(ended ?? [])
  }
  try {
    for (let count = 1; count < SOCKETS; count++) {
      const other = await listener({ ...place, port: given })
      other.on('connection', (socket: Socket) => app.server.emit('connection', socket))
      others.push(other)
    }
  } catch (thrown) {
    await close()
    throw thrown
  }
  return { port: given, stopListening, close }
}

async function listener(place: Place): Promise<NetServer> {
  const server = createServer(OPTIONS).listen(place)
  await once(server, 'listening')
  return server
}

/** Stops listening; resolves when the connections that came by it have ended. */
function closed(server: NetServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
