// What benches of the API stand on: it alone, on a PostgreSQL and a development chain that are made
// for it and thrown away.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevchain } from 'penstock-devchain/serve.ts'
import {
  deriveSandbox,
  devchainControl,
  prepareChain,
  sandboxPhrase,
} from 'penstock-playground/sandbox.ts'
import { httpTransport, tronNode } from 'penstock-service/chain/node/node.ts'
import { readConfig } from 'penstock-service/config.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { type RunningService, serve } from 'penstock-service/serve.ts'

type ApiOptions = {
  /** Of PostgreSQL, besides room for many rows. */
  settings?: Readonly<Record<string, string>>
  /** Variables of the environment. */
  env?: Readonly<Record<string, string>>
}

const ROOM = { shared_buffers: '512MB', max_wal_size: '8GB' }
const HEAD_START_MS = 180_000

/** Runs the work, and ends everything. `url`: of the database. */
export async function withApi(
  { settings = {}, env = {} }: ApiOptions,
  work: (serving: RunningService, url: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-'))
  const postgres = await startPostgres({ throw_away: true, settings: { ...ROOM, ...settings } })
  const genesis_time_ms = Date.now() - HEAD_START_MS
  const devchain = await startDevchain({ genesis_time_ms, block_time_seconds: 0 })
  const serving = await startApi(folder, postgres.url, devchain.url, env)
  try {
    await work(serving, postgres.url)
  } finally {
    await serving.close()
    await devchain.close()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The API alone, on a development chain. */
async function startApi(
  folder: string,
  database_url: string,
  node_url: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningService> {
  const { outside } = await prepareApi(folder, node_url, env)
  return serve({ ...outside, database_url })
}

/** A sandbox on the chain, and what an API there is started with besides its database. */
export async function prepareApi(
  folder: string,
  node_url: string,
  env: Readonly<Record<string, string>> = {},
) {
  const nodes = [{ url: node_url }]
  const sandbox = deriveSandbox(await sandboxPhrase(folder))
  const node = tronNode({ nodes, transport: httpTransport })
  const control = devchainControl(node_url, httpTransport)
  await prepareChain({ node, control, now: systemClock.now }, sandbox)
  const config = configOf(folder, env)
  const sealing = { current: 'k1', keys: { k1: systemRandom.bytes(32) } }
  const outside = { config, nodes, wallets: sandbox.wallets, log: silentLog, sealing }
  return { sandbox, outside: { ...outside, recharge_at: 'solid' as const } }
}

/** The configuration of such an API: the defaults, but for the limit of each key. */
export function configOf(folder: string, env: Readonly<Record<string, string>> = {}) {
  const args = ['--port', '0', '--data-dir', folder, '--role', 'api']
  // Work is prepared over the same connections.
  const given = { PENSTOCK_REQUESTS_PER_SECOND: '0', PENSTOCK_ALLOW_WIDE_ROLE: 'yes', ...env }
  const { help: _, ...config } = readConfig(args, given)
  return config
}
