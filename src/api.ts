// The API of one process: a server, and what it must know of the database before it listens and while it does. It has
// connections of its own for that, so that it waits for no customer and no customer for it.

import type { AddressInfo } from 'node:net'
import type { App } from './app.ts'
import { type Config, Misuse } from './config.ts'
import { KnownTokens, readTokensStep } from './customers/known_tokens.ts'
import { buildServer, DEFAULT_CONNECTION_LIMITS, DEFAULT_RATE_LIMIT } from './http/server.ts'
import { systemClock } from './lib/clock.ts'
import { systemRandom } from './lib/ids.ts'
import type { Log } from './lib/log.ts'
import { connect } from './lib/sql.ts'
import { startSteps } from './lib/step.ts'

export type Api = { url: string; close(): Promise<void> }

/** One for health, one for the tokens. */
const CONNECTIONS = { connections_max: 2, connection_timeout_ms: 2_000, statement_timeout_ms: 5_000 }

/** Listens when it can serve. */
export async function startApi(
  config: Config,
  { database_url, log, app }: { database_url: string; log: Log; app: App },
): Promise<Api> {
  const sql = connect({ url: database_url, ...CONNECTIONS })
  const known_tokens = new KnownTokens()
  const readTokens = readTokensStep({ sql, clock: systemClock }, known_tokens)
  const per_second = config.requests_per_second ?? DEFAULT_RATE_LIMIT.per_second
  const needs = { sql, log, clock: systemClock, random: systemRandom, authenticate: app.authenticate }
  try {
    await readTokens.run()
    const server = await buildServer(needs, {
      ...{ endpoints: app.endpoints, pages: app.pages, known_tokens },
      rate_limit: per_second === 0 ? undefined : { per_second, burst: 2 * per_second },
      connections: {
        total_max: config.connections_max ?? DEFAULT_CONNECTION_LIMITS.total_max,
        per_address_max: config.connections_per_address ?? DEFAULT_CONNECTION_LIMITS.per_address_max,
      },
      ...(config.trusted_proxies && { trusted_proxies: config.trusted_proxies }),
    })
    await listening(() => server.listen({ port: config.port, host: config.host }), config.port)
    const reading = startSteps([readTokens], log)
    const { port } = server.server.address() as AddressInfo
    const host = config.host.includes(':') ? `[${config.host}]` : config.host
    return {
      url: `http://${host}:${port}`,
      async close() {
        await server.close()
        await reading.stop()
        await sql.close()
      },
    }
  } catch (thrown) {
    await sql.close()
    throw thrown
  }
}

/** Starts to listen; a port that is taken is the starter's mistake and not ours. */
export async function listening<T>(listen: () => Promise<T>, port: number | undefined): Promise<T> {
  try {
    return await listen()
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'EADDRINUSE') throw new Misuse(`Port ${port} is in use; choose another, or 0 for any free one.`)
    if (code === 'EACCES') throw new Misuse(`Port ${port} needs more rights than this user has; choose one above 1023.`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Misuse('This machine has no such address to listen on.')
    throw thrown
  }
}
