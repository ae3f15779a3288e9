// One process of the service: the API, the steps, or both, on a database, nodes and wallets that
// are given.

import { randomInt, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { USDT } from 'penstock-tron/tokens.ts'
import about from '../package.json' with { type: 'json' }
import { type App, buildApp } from './app.ts'
import { joinReaders } from './chain/follow/cursors.ts'
import { httpTransport, type Node, tronNode } from './chain/node/node.ts'
import type { FollowedBlocks } from './chain/reads/followed.ts'
import { readBudget, readLimits } from './chain/reads/read_budget.ts'
import { nodeReads, type Reads } from './chain/reads/reads.ts'
import { followedBlocks } from './chain/receivers/followed_blocks.ts'
import { fileLog, memoryLog, type SignatureLog } from './chain/signing/signature_log.ts'
import { archiveOn } from './chain/transfers/clickhouse_archive.ts'
import { type KeyFindings, lookAtKeys } from './chain/wallets/permissions.ts'
import { stopFile, type Wallets } from './chain/wallets/wallet_file.ts'
import type { KeyRules } from './chain/wing.ts'
import { type Config, Misuse } from './config.ts'
import { EVENT_DAYS } from './events/log/prune.ts'
import { STREAMS } from './events/log/streams.ts'
import { type Caller, webhookCaller } from './events/webhooks/caller.ts'
import type { WebhookCalls } from './events/wing.ts'
import { chainView } from './health/books/chain.ts'
import type { ReportSources } from './health/processes/report.ts'
import { type Root, readRoots } from './ledger/accounts/roots.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { Outage } from './lib/fault.ts'
import { appendText, readWhole, requireWritable } from './lib/files.ts'
import { idMaker, systemRandom } from './lib/ids.ts'
import { type Log, thrownFields } from './lib/log.ts'
import { type RunningConsole, startConsole } from './operators/console/start.ts'
import { SIGN_IN_DAYS } from './people/sign_in/tries.ts'
import { smtpMailer } from './people/sign_up/mailer.ts'
import { type Again, againFor } from './platform/database/again.ts'
import { requireAnswering } from './platform/database/durable.ts'
import { migrate } from './platform/database/migrate.ts'
import { schemaComplaint } from './platform/database/migrations.ts'
import { connect, type Sql, type SqlOptions } from './platform/database/sql.ts'
import { customersNames } from './platform/names/customers_names.ts'
import { nameServers } from './platform/names/names.ts'
import { dueAsker } from './platform/steps/due.ts'
import { holdDuties } from './platform/steps/duties.ts'
import { startSteps } from './platform/steps/step.ts'
import { listenForWakes, wakeOthers } from './platform/steps/wake.ts'
import { type Monitor, startWatching } from './run/program/admin.ts'
import { publicUrl, startApi } from './run/program/api.ts'
import { requireRights } from './run/program/rights.ts'
import {
  hasApi,
  hasCallers,
  hasConsole,
  hasSteps,
  isWorker,
  runsStep,
} from './run/program/roles.ts'
import { keysAtStart } from './run/program/sealing_keys.ts'
import { DEFAULT_RETENTION_DAYS } from './screening/checks/watches.ts'
import { beginWithNewest } from './screening/engine/policy.ts'
import { keptPlace } from './screening/kept/kept_folder.ts'
import { httpDownload } from './screening/labels/lists.ts'
import { configuredProviders } from './screening/providers/configured.ts'
import { type GuardedProvider, httpExchange } from './screening/providers/guard.ts'
import { openAssets } from './web/assets.ts'

export type RunningService = {
  /** Undefined when this process has no API. */
  api_url: string | undefined
  /** Undefined without an admin port. */
  admin_url: string | undefined
  /** Undefined when this process has no console. */
  console_url: string | undefined
  app: App
  sql: Sql
  node: Node
  close(): Promise<void>
}

export type Setup = {
  config: Config
  /** By which the steps work, and every part of the process that config gives no other. */
  database_url: string
  nodes: NonNullable<Config['nodes']>
  wallets: Wallets
  recharge_at: 'inclusion' | 'solid'
  log: Log
}

const TIMER = { now_ms: () => performance.now(), wait: (ms: number) => delay(ms) }
/** How long a customer's call waits at most while another database server takes over. */
const PATIENCE_MS = 3_000
/** The least time between two batches of purchases: at 1,500 a second, 15 share a transaction
 *  instead of 5. A purchase that comes alone goes at once. */
const BATCHES_APART_MS = 10
/** Connections for customers' calls; group commit needs few. No answer takes as long as this. */
const CALLS = { connections_max: 16, statement_timeout_ms: 5_000 }
/** Those of the steps that may take long, and of those that a customer looks on. */
const CONNECTIONS = 8
/** Those of the steps that are due after each block: more of them at once only make customers wait
 *  longer. */
const STEPS_CONNECTIONS = 2
/** A check of the books has connections of its own, and its statements take as long as they
 *  take. */
const BOOKS = { connections_max: 2, statement_timeout_ms: 3_600_000 }
/** What operators ask for takes as long as on the command line, and makes no customer wait. */
const OPERATORS = { connections_max: 4, statement_timeout_ms: 3_600_000 }

/** The pools of connections of a process, and the end of them all. */
function connectAll({ config, database_url }: Setup, watching: Monitor) {
  const { unreplicated } = watching
  const { api_database_url = database_url, console_database_url = database_url } = config
  const open = (pool: string, { url = database_url, ...options }: Partial<SqlOptions>) => {
    const opened = connect({ url, observer: watching.observer(pool), unreplicated, ...options })
    watching.whenLost(opened.drop)
    return opened
  }
  const again = againFor(PATIENCE_MS, TIMER)
  const pools = {
    api_sql: open('api', { ...CALLS, url: api_database_url, again }),
    sql: open('long', { connections_max: CONNECTIONS, again }),
    steps_sql: open('steps', { connections_max: STEPS_CONNECTIONS }),
    follow_sql: open('follow', { connections_max: 1 }),
    due_sql: open('due', { connections_max: 1, plans_once: true }),
    // Whether secrets can be opened is asked every second, and waits for no customer.
    credentials_sql: open('credentials', { connections_max: 1, url: api_database_url }),
    books_sql: open('books', BOOKS),
    console_sql: open('console', { ...OPERATORS, url: console_database_url }),
  }
  const { credentials_sql, books_sql, console_sql, due_sql, ...for_app } = pools
  // While it waited, the database may have gone back to an older state.
  const placing: Again = (work, how) =>
    again(async () => {
      if (watching.wentBack()) throw new Outage('a database that has what it had')
      return work()
    }, how)
  return {
    credentials_sql: hasCallers(config.role) ? credentials_sql : undefined,
    books_sql,
    console_sql,
    of_worker: { sql: pools.follow_sql, due_sql },
    for_app: {
      ...for_app,
      again: placing,
      pause: () => delay(BATCHES_APART_MS),
      told: watching.told,
    },
    disconnect: () => Promise.all(Object.values(pools).map((one) => one.close())),
  }
}

/** How many requests a second customers' calls may send to the nodes, unless the operator has set
 *  another number. */
const READS_PER_SECOND = 3_000
/** A customer waits for this: a contract that computes for ever is given up sooner than a block. */
const READ_TIMEOUT_MS = 2_500

/** How customers' calls ask the chain. Its client is one of its own: which node it prefers is not
 *  what the follower asks, even where the nodes are the same. */
function customersReads(
  { config, nodes: own_nodes }: Setup,
  watching: Monitor,
  sql: Sql,
): { reads: Reads; followed: FollowedBlocks } {
  const nodes = config.read_nodes ?? own_nodes
  const observer = watching.nodeObserver(nodes)
  const options = { nodes, transport: httpTransport, timeout_ms: READ_TIMEOUT_MS, observer }
  const node = tronNode(options)
  const { read_requests_per_second: per_second = READS_PER_SECOND } = config
  const followed = followedBlocks({ sql, clock: watching.clock })
  if (per_second === 0) return { reads: () => node, followed }
  const budget = readBudget(readLimits(per_second), TIMER)
  return { reads: nodeReads(node, budget, TIMER, followed), followed }
}

export async function serve(setup: Setup): Promise<RunningService> {
  const watching = await startWatching(setup.config, setup.log)
  try {
    return await serveWatched({ ...setup, log: watching.log }, watching)
  } catch (thrown) {
    await watching.close()
    throw thrown
  }
}

async function serveWatched(setup: Setup, watching: Monitor): Promise<RunningService> {
  const { config, log, database_url, nodes } = setup
  const { api_database_url = database_url, direct_url = database_url } = config
  const observer = watching.nodeObserver(nodes)
  const node = tronNode({ nodes, transport: httpTransport, observer })
  const { for_app, credentials_sql, ...connected } = connectAll(setup, watching)
  const { books_sql, console_sql, of_worker, disconnect } = connected
  const { sql, api_sql } = for_app
  let worker: Worker | undefined
  const tellOthers = wakeOthers(sql)
  const caller = webhookCaller(customersNames(nameServers(config.dns_servers)))
  try {
    const outside = await outsideOf(config, watching.clock, log)
    await requireMigrated(sql, setup, watching.clock)
    await requireRights({ api: api_sql, worker: sql, console: console_sql }, { ...config, log })
    const sealing = await keysAtStart(config, sql, credentials_sql)
    const roots_file = isWorker(config.role) ? await rootsFile(config, log) : undefined
    const found = await narrowKeys(config, node, setup.wallets)
    const signed = isWorker(config.role) ? await signedLog(config) : memoryLog()
    const app = buildApp({
      ...for_app,
      node,
      log,
      wallets: setup.wallets,
      sealing,
      ...customersReads(setup, watching, api_sql),
      signed,
      keys: keyRules(config, found),
      recharge_at: setup.recharge_at,
      roots_file,
      ...outside,
      books: booksSources(books_sql, nodes, roots_file),
      webhooks: webhookCalls(caller, config),
      wake: (step) => (worker && !worker.isElsewhere(step) ? worker.wake(step) : tellOthers(step)),
      tellStreams: () => tellOthers(STREAMS),
    })
    const reported = reportSources(config, app, outside.providers)
    await watching.begin({ database_url: direct_url, seal: app.seal, credentials_sql, reported })
    const of_console = { ...outside, app, node, sql: console_sql, watching }
    const operators = await operatorsConsole(setup, of_console)
    const served = { database_url: api_database_url, direct_url, log, app, watching }
    const api = hasApi(config.role) ? await startApi(config, served) : undefined
    if (hasSteps(config.role)) worker = await startWorker(setup, { ...of_worker, app, watching })
    watching.serving()
    return {
      app,
      sql,
      node,
      api_url: api?.url,
      admin_url: watching.admin_url,
      console_url: operators?.url,
      async close() {
        watching.stopping()
        // Each hears those out who have asked, for a time, and that time is the same.
        await Promise.all([operators?.close(), api?.close()])
        // An operation that still goes on has nobody left to be answered, and might for an hour.
        console_sql.drop()
        await worker?.close()
        await signed.close()
        caller.close()
        await disconnect()
        await watching.close()
      },
    }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}

type Worker = {
  isElsewhere: (step: string) => boolean
  wake: (step: string) => void
  close(): Promise<void>
}

/** Runs the steps of this process; those of a duty when it holds that. */
async function startWorker(
  { config, database_url, log }: Setup,
  { sql, due_sql, app, watching }: Pick<OfConsole, 'sql' | 'app' | 'watching'> & { due_sql: Sql },
): Promise<Worker> {
  const { clock, process_id } = watching
  const { direct_url = database_url } = config
  const needs = { sql, clock, process_id, wakeOthers: wakeOthers(sql) }
  const all = watching.steps(joinReaders(sql, app.steps))
  const duties = holdDuties(needs, all, (step) => runsStep(config, step))
  await duties.hold()
  const running = startSteps(duties.steps, log, dueAsker(due_sql, duties.steps))
  const listening = listenForWakes(direct_url, running.wake, watching.whenLost)
  return {
    isElsewhere: duties.isElsewhere,
    wake: running.wake,
    async close() {
      await listening.stop()
      await running.stop()
      await app.closeIndex().catch((thrown) => log('index_not_closed', thrownFields(thrown)))
      // When the database does not answer, they are over soon.
      await duties.giveBack().catch(() => {})
    },
  }
}

const booksSources = (sql: Sql, nodes: Setup['nodes'], roots_file: string | undefined) => ({
  sql,
  chain: chainView(nodes, httpTransport),
  notedRoots: () => notedRoots(roots_file),
})

type OfConsole = {
  app: App
  node: Node
  sql: Sql
  watching: Monitor
  web: ReturnType<typeof webOf>
  archive: ReturnType<typeof archiveOn>
}

/** The console, where this process has one. What it changes, it tells every process of. */
async function operatorsConsole(
  { config, database_url, nodes, log }: Setup,
  { app, node, sql, watching, web, archive }: OfConsole,
): Promise<RunningConsole | undefined> {
  const { console_port, public_url, port } = config
  if (!hasConsole(config.role) || console_port === undefined) return undefined
  return startConsole(
    { ...config, console_port },
    {
      sql,
      database_url,
      clock: watching.clock,
      random: systemRandom,
      log,
      wait: TIMER.wait,
      node,
      chain: chainView(nodes, httpTransport),
      archive,
      public_url: public_url ?? `http://localhost:${port}`,
      app,
      wake: wakeOthers(sql),
      web: web && { ...web, network: app.sign_in.network },
    },
  )
}

const keyRules = (config: Config, found: KeyRules['found']): KeyRules => ({
  ...(found && { found }),
  allow_wide_keys: config.allow_wide_keys,
  stopped_here: () => existsSync(stopFile(config.data_dir)),
})

/** What the process reports. One without an index asks no provider; one that is no worker signs
 *  nothing, and deletes nothing. */
function reportSources(
  { role, has_index, event_days, sign_in_days, retention_days }: Config,
  { indexMemory, signingTerms }: App,
  providers: readonly GuardedProvider[],
): ReportSources {
  const events = event_days ?? EVENT_DAYS
  const evidence = retention_days ?? DEFAULT_RETENTION_DAYS
  const sign_ins = sign_in_days ?? SIGN_IN_DAYS
  const of_index = has_index ? { indexMemory, providers } : { providers: [] }
  return isWorker(role)
    ? { ...of_index, signingTerms, kept_days: { events, evidence, sign_ins } }
    : { ...of_index, signingTerms: () => null, kept_days: null }
}

/** What browsers are shown, put together from now on; nothing where no API is. */
const webOf = ({ role, data_dir, explorer }: Config, log: Log) =>
  !hasApi(role) && !hasConsole(role)
    ? undefined
    : { assets: openAssets(join(data_dir, 'web'), log), explorer }

/** What is the same for every process, or in its configuration. */
const outsideOf = async (config: Config, clock: Clock, log: Log) => ({
  clock,
  web: webOf(config, log),
  random: systemRandom,
  tokens: new Set([USDT]),
  dust_sun: config.dust_sun,
  providers: providersOf(config),
  download: httpDownload,
  retention_days: config.retention_days,
  without_index: !config.has_index,
  kept: await indexPlace(config),
  archive: archiveOn(config.clickhouse),
  about: {
    version: about.version,
    public_url: publicUrl(config),
    issuer: config.invoice_issuer,
  },
  event_days: config.event_days,
  sign_in_days: config.sign_in_days,
  portal_sessions: config.portal_sessions,
  sign_up: config.sign_up,
  letters: config.letters && {
    mailer: smtpMailer(config.letters.smtp, config.letters.from),
    origin: config.letters.origin,
  },
})

/** Throws Misuse when the database does not answer, or cannot be relied on, or lacks a migration
 *  that this process may not apply. */
async function requireMigrated(
  sql: Sql,
  { database_url, config }: Setup,
  clock: Clock,
): Promise<void> {
  await requireAnswering(sql, config.standbys)
  const complaint = await schemaComplaint(sql)
  if (complaint === undefined) return
  const [database] = await sql<{ is_ours: boolean }>`
    select pg_has_role(datdba, 'usage') as is_ours from pg_database
    where datname = current_database()`
  if (!database!.is_ours) throw new Misuse(complaint)
  await migrate(database_url)
  await beginWithNewest(sql, clock)
}

/** What the chain says of the hot keys; undefined for a process that signs nothing: it starts while
 *  no node answers. Throws Misuse when a key can do more, or less, than its line. */
async function narrowKeys(
  config: Config,
  node: Node,
  wallets: Wallets,
): Promise<KeyFindings | undefined> {
  if (!isWorker(config.role)) return undefined
  const found = await lookAtKeys(node, wallets)
  if (found.complaints.length > 0 && !config.allow_wide_keys) {
    const complaints = found.complaints.map(({ said }) => said).join('\n')
    throw new Misuse(`${complaints}\nPENSTOCK_ALLOW_WIDE_KEYS=yes starts all the same.`)
  }
  return found
}

const webhookCalls = (caller: Caller, { public_url }: Config): WebhookCalls => ({
  caller,
  own_host: public_url && new URL(public_url).hostname,
  process: randomUUID(),
  chance,
  wait: (ms) => delay(ms),
  user_agent: `Penstock/${about.version}`,
})

/** 0 up to 1. */
const chance = () => randomInt(1_000_000) / 1_000_000

const providersOf = (config: Config) =>
  configuredProviders(config.providers, {
    http: httpExchange,
    clock: systemClock,
    chance,
    wait: (ms, signal) => delay(ms, undefined, { signal }),
  })

/** The file that roots are noted in: undefined when the default one cannot be written. Throws
 *  Misuse when the one that was named cannot. */
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

/** Where the index is kept beside what of it is in memory; undefined: all of it is there, or the
 *  process has none. */
const indexPlace = async ({ has_index, data_dir, index_memory_mb }: Config) =>
  index_memory_mb === undefined || !has_index
    ? undefined
    : keptPlace(join(data_dir, 'index'), index_memory_mb, TIMER.wait)

/** What this worker has signed before. Throws Misuse when it cannot be kept, or is not what was
 *  kept. */
async function signedLog({ data_dir }: Config): Promise<SignatureLog> {
  await requireWritable(data_dir)
  return fileLog(join(data_dir, 'signed'), {
    clock: systemClock,
    new_id: idMaker(systemClock, systemRandom),
  })
}
