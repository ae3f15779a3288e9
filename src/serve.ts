// One process of the service: the API, the steps, or both, on a database, nodes and wallets that are given.

import { randomInt } from 'node:crypto'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chainView } from './admin/chain_books.ts'
import { httpDownload } from './aml/lists.ts'
import { startApi } from './api.ts'
import { type App, buildApp } from './app.ts'
import { type Config, Misuse } from './config.ts'
import { type Root, readRoots } from './ledger/roots.ts'
import { systemClock } from './lib/clock.ts'
import { Outage } from './lib/fault.ts'
import { appendText, readWhole, requireWritable } from './lib/files.ts'
import { systemRandom } from './lib/ids.ts'
import { type Log, thrownFields } from './lib/log.ts'
import { migrate } from './lib/migrate.ts'
import { requireDurable } from './lib/postgres.ts'
import { connect, type Sql } from './lib/sql.ts'
import { type Running, startSteps } from './lib/step.ts'
import { listenForWakes, wakeOthers } from './lib/wake.ts'
import { configuredProviders } from './providers/configured.ts'
import { httpExchange } from './providers/guard.ts'
import { sealingKeys } from './sealing.ts'
import { httpTransport, type Node, tronNode } from './tron/node.ts'
import { USDT } from './tron/tokens.ts'
import { checkWallets, type Wallets } from './wallets.ts'

export type Serving = {
  /** Undefined when this process has no API. */
  api_url: string | undefined
  app: App
  sql: Sql
  node: Node
  close(): Promise<void>
}

export type Setup = {
  config: Config
  database_url: string
  nodes: NonNullable<Config['nodes']>
  wallets: Wallets
  recharge_at: 'inclusion' | 'solid'
  log: Log
}

/** Connections of one process; group commit needs few. */
const CONNECTIONS = 16
/** Those of the steps that are due after each block: more of them at once only make customers wait longer. */
const STEPS_CONNECTIONS = 2
/** A check of the books has connections of its own, and its statements take as long as they take. */
const BOOKS = { connections_max: 2, statement_timeout_ms: 3_600_000 }

export async function serve(setup: Setup): Promise<Serving> {
  const { config, log } = setup
  const node = tronNode({ nodes: setup.nodes, transport: httpTransport })
  const sql = connect({ url: setup.database_url, connections_max: CONNECTIONS })
  const steps_sql = connect({ url: setup.database_url, connections_max: STEPS_CONNECTIONS })
  const follow_sql = connect({ url: setup.database_url, connections_max: 1 })
  const books = connect({ url: setup.database_url, ...BOOKS })
  const disconnect = () => Promise.all([sql, steps_sql, follow_sql, books].map((one) => one.close()))
  let running: Running | undefined
  let listening_for: { stop(): Promise<void> } | undefined
  const tellOthers = wakeOthers(sql)
  try {
    await requireDurable(sql).catch((thrown: unknown) => {
      const cause = thrown instanceof Outage && thrown.cause instanceof Error ? thrown.cause : undefined
      throw cause ? new Misuse(`The database does not answer: ${cause.message || String(cause)}.`) : thrown
    })
    await migrate(setup.database_url)
    const sealing = await sealingKeys(config, sql)
    const roots_file = config.role === 'api' ? undefined : await rootsFile(config, log)
    // An API alone signs nothing, and starts while no node answers.
    const complaints = config.role === 'api' ? [] : await checkWallets(node, setup.wallets)
    if (complaints.length > 0 && !config.allow_wide_keys) {
      throw new Misuse(`${complaints.join('\n')}\nPENSTOCK_ALLOW_WIDE_KEYS=yes starts all the same.`)
    }
    const app = buildApp({
      ...{ sql, steps_sql, follow_sql, node, log, wallets: setup.wallets, sealing },
      clock: systemClock,
      random: systemRandom,
      tokens: new Set([USDT]),
      recharge_at: setup.recharge_at,
      dust_sun: config.dust_sun,
      providers: configuredProviders(config.providers, {
        ...{ http: httpExchange, clock: systemClock, chance: () => randomInt(1_000_000) / 1_000_000 },
        wait: (ms, signal) => delay(ms, undefined, { signal }),
      }),
      download: httpDownload,
      retention_days: config.retention_days,
      roots_file,
      books: { sql: books, chain: chainView(setup.nodes, httpTransport), notedRoots: () => notedRoots(roots_file) },
      wake: (step) => (running ? running.wake(step) : tellOthers(step)),
    })
    const api =
      config.role === 'worker' ? undefined : await startApi(config, { database_url: setup.database_url, log, app })
    if (config.role !== 'api') {
      const started = startSteps(app.steps, log)
      running = started
      listening_for = listenForWakes(setup.database_url, started.wake)
    }
    return {
      ...{ app, sql, node, api_url: api?.url },
      async close() {
        await api?.close()
        await listening_for?.stop()
        await running?.stop()
        await disconnect()
      },
    }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}

/** The file that roots are noted in: undefined when the default one cannot be written. Throws Misuse when the one that was
 *  named cannot. */
async function rootsFile({ roots_file, data_dir }: Config, log: Log): Promise<string | undefined> {
  const file = roots_file ?? join(data_dir, 'roots.log')
  try {
    await requireWritable(dirname(file))
    await appendText(file, '')
    return file
  } catch (thrown) {
    if (roots_file !== undefined) throw new Misuse(`PENSTOCK_ROOTS_FILE ${file} cannot be written.`)
    log('roots_file_not_written', { file, ...thrownFields(thrown) })
    return undefined
  }
}

async function notedRoots(file: string | undefined): Promise<Root[]> {
  return readRoots((file === undefined ? undefined : await readWhole(file)) ?? '')
}
