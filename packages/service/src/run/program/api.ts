// The API of one process: a server, and what it must know of the database before it listens and
// while it does. It has connections of its own for that, so that it waits for no customer and no
// customer for it.

import { setTimeout as delay } from 'node:timers/promises'
import { type EventStreams, STREAMS } from '../../events/log/streams.ts'
import { systemRandom } from '../../lib/ids.ts'
import type { Log } from '../../lib/log.ts'
import { KnownTokens, readTokensStep } from '../../people/keys/known_tokens.ts'
import type { Refusals } from '../../people/refusals/refusals.ts'
import { connect } from '../../platform/database/sql.ts'
import type { CallTiming } from '../../platform/http/calls.ts'
import type { Mount } from '../../platform/http/mounts.ts'
import type { Page } from '../../platform/http/pages.ts'
import {
  type Authenticate,
  buildServer,
  DEFAULT_CONNECTION_LIMITS,
  DEFAULT_RATE_LIMIT,
} from '../../platform/http/server.ts'
import { listenOn } from '../../platform/limits/listeners.ts'
import { type Step, startSteps } from '../../platform/steps/step.ts'
import { listenForWakes } from '../../platform/steps/wake.ts'
import type { Endpoint } from '../../platform/wire/endpoint.ts'
import type { Monitor } from './admin.ts'
import { measureInFlight } from './instruments.ts'
import { listening } from './listen.ts'

export type ApiConfig = {
  host: string
  port: number
  /** Where customers find this service. */
  public_url: string | undefined
  /** Of one caller; undefined: the default, 0: without a limit. */
  requests_per_second: number | undefined
  connections_max: number | undefined
  connections_per_address: number | undefined
  /** The addresses whose X-Forwarded-For is believed. */
  trusted_proxies: readonly string[] | undefined
}

/** What is served. */
export type ApiParts = {
  endpoints: readonly Endpoint[]
  mounts: readonly Mount[]
  pages: readonly Page[]
  authenticate: Authenticate
  streams: EventStreams
  refusals: Refusals
  noteCall: (call: CallTiming) => void
  api_steps: readonly Step[]
}

export type Api = { url: string; close(): Promise<void> }

/** What a connection has to send its request, once the process was asked to stop. */
const HEARD_MS = 200
/** For the tokens. */
const CONNECTIONS = {
  connections_max: 1,
  connection_timeout_ms: 2_000,
  statement_timeout_ms: 5_000,
}

const connectionLimits = ({ connections_max, connections_per_address }: ApiConfig) => ({
  total_max: connections_max ?? DEFAULT_CONNECTION_LIMITS.total_max,
  per_address_max: connections_per_address ?? DEFAULT_CONNECTION_LIMITS.per_address_max,
})

/** Where customers find this service, as far as it knows. */
export const publicUrl = ({
  public_url,
  port,
}: Pick<ApiConfig, 'public_url' | 'port'>): string | undefined =>
  public_url ?? (port > 0 ? `http://localhost:${port}` : undefined)

/** Listens when it can serve. */
export async function startApi(
  config: ApiConfig,
  {
    database_url,
    direct_url,
    log,
    app,
    watching,
  }: { database_url: string; direct_url: string; log: Log; app: ApiParts; watching: Monitor },
): Promise<Api> {
  const { clock } = watching
  const sql = connect({ url: database_url, observer: watching.observer('tokens'), ...CONNECTIONS })
  watching.whenLost(sql.drop)
  const known_tokens = new KnownTokens()
  const readTokens = readTokensStep({ sql, clock }, known_tokens)
  const per_second = config.requests_per_second ?? DEFAULT_RATE_LIMIT.per_second
  const { authenticate, refusals, noteCall } = app
  const noteRefusal = refusals.note
  const needs = { sql, log, clock, random: systemRandom, authenticate, noteRefusal, noteCall }
  try {
    await readTokens.run()
    const { endpoints, mounts, pages } = app
    const server = await buildServer(needs, {
      endpoints,
      mounts,
      pages,
      known_tokens,
      public_url: publicUrl(config),
      mayChange: () => !watching.wentBack(),
      isHealthy: async () => watching.readiness().ready,
      rate_limit: per_second === 0 ? undefined : { per_second, burst: 2 * per_second },
      connections: connectionLimits(config),
      traced: watching.traced,
      ...(config.trusted_proxies && { trusted_proxies: config.trusted_proxies }),
    })
    for (const { path } of endpoints) watching.endpoints.add(path)
    if (watching.measures) measureInFlight(server.server, watching.measures)
    const { port, stopListening, close } = await listening(
      () => listenOn(server, { port: config.port, host: config.host }),
      config.port,
    )
    const reading = startSteps([readTokens, ...app.api_steps], log)
    const wake = (name: string) => (name === STREAMS ? app.streams.poke() : reading.wake(name))
    const heard = listenForWakes(direct_url, wake, watching.whenLost)
    const host = config.host.includes(':') ? `[${config.host}]` : config.host
    return {
      url: `http://${host}:${port}`,
      async close() {
        // No connection is taken any more, and those that were just taken are heard: anyone who
        // calls through a proxy has sent by then, and a proxy sends nothing twice.
        stopListening()
        app.streams.close()
        await heard.stop()
        await delay(HEARD_MS)
        await close()
        await refusals.written()
        await reading.stop()
        await sql.close()
      },
    }
  } catch (thrown) {
    await sql.close()
    throw thrown
  }
}
