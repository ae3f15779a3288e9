// A whole Penstock on one machine, for trying out and for developing against: PostgreSQL in a
// folder, a development chain, the sandbox's wallets and its customer, and the service on top.
// Whatever of it is given (DATABASE_URL, --node-url) is used instead. Stopping and starting again,
// by whatever means, finds everything as it was.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startDevchain } from 'penstock-devchain'
import { chainState, isCurrent } from 'penstock-service/chain/follow/progress.ts'
import { httpTransport, tronNode } from 'penstock-service/chain/node/node.ts'
import type { LimitsConfig } from 'penstock-service/chain/signing/signing_limits.ts'
import { type Config, Misuse } from 'penstock-service/config.ts'
import { allowNetwork } from 'penstock-service/events/webhooks/webhooks.ts'
import { later, systemClock } from 'penstock-service/lib/clock.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { requireWritable, writeWhole } from 'penstock-service/lib/files.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import type { Log } from 'penstock-service/lib/log.ts'
import { type DatabaseRole, setPassword } from 'penstock-service/operators/database/roles.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey, keysOfTokens, tokenHash } from 'penstock-service/people/keys/keys.ts'
import { requireAnswering } from 'penstock-service/platform/database/durable.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql, type Tx } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import type { Scope } from 'penstock-service/platform/wire/endpoint.ts'
import { listening } from 'penstock-service/run/program/listen.ts'
import { keysAtStart } from 'penstock-service/run/program/sealing_keys.ts'
import { beginWithNewest } from 'penstock-service/screening/engine/policy.ts'
import { type RunningService, serve } from 'penstock-service/serve.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import {
  type Control,
  deriveSandbox,
  devchainControl,
  paying,
  prepareChain,
  type Sandbox,
  sandboxPhrase,
  transact,
} from './sandbox.ts'
import { type SignInLinks, sandboxSignIn } from './sign_in.ts'

export type KeyAccess = { token: string; secret: string }

/** A customer with a key that takes either signature, as existing clients need it, and one that
 *  requires the second, as the SDK and the command line send it. */
export type CustomerAccess = KeyAccess & {
  customer_id: string
  deposit_address: string
  second_signature_key: KeyAccess
}

export type LocalService = RunningService & {
  api_url: string
  node_url: string
  control: Control
  sandbox: Sandbox
  customer: CustomerAccess
  /** Links that sign in at once, each once: as the customer's owner, and as an admin. */
  sign_in: SignInLinks
  database_url: string
  /** The sample token, when the chain is the bundled one. */
  token: Token | undefined
  /** Rejects when the private PostgreSQL ends before it is told to. */
  broken: Promise<never>
  close(): Promise<void>
}

export type Token = { address: string; owner_private_key: string }

export type LocalOptions = {
  config: Config
  log: Log
  /** Seconds between blocks; 0: on demand only. */
  block_time_seconds?: number
  pool_wallets?: number
  /** The signer's limits; left out: by the pool's stake. */
  limits?: LimitsConfig
  /** Everything is in temporary places and gone at the end. */
  throw_away?: boolean
  /** Called when the data folder is this one's, since nobody else has its database. */
  begun?: () => Promise<void>
  /** Told what is being done, one sentence at a time. */
  progress?: (sentence: string) => void
}

/** The addresses and keys of a running sandbox. */
export function readyText(local: LocalService): string {
  const { api_url, admin_url, node_url, customer, sandbox, database_url, token: sample } = local
  const { sign_in } = local
  const { token, secret, deposit_address, customer_id, second_signature_key } = customer
  const ready = {
    api_url,
    node_url,
    customer: { token, secret, deposit_address, customer_id, second_signature_key },
    portal_sign_in_url: sign_in.portal,
    console_sign_in_url: sign_in.console,
    admin: { database_url },
    funded_accounts: sandbox.funded_accounts,
    ...(sample && { token: sample }),
    ...(admin_url && { admin_url }),
  }
  return `${JSON.stringify(ready, null, 2)}\n`
}

const CHAIN_PORT = 8090
const EVERY_SCOPE: Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']
const LOOPBACK = ['127.0.0.0/8', '::1/128']
/** The chain begins this long ago, so that the blocks made at once for the sandbox do not lie in
 *  the future. */
const HEAD_START_MS = 180_000
const FIRST_DEPOSIT_SUN = 10_000_000_000n
/** A busy machine takes its time; what is missing after this long does not come by itself. */
const READY_MS_MAX = 300_000
/** Well below the minute after which what is signed now expires. */
const BEHIND_SECONDS_MAX = 10

export async function startLocal(options: LocalOptions): Promise<LocalService> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    return await build(options, closers, close)
  } catch (thrown) {
    await close()
    throw thrown
  }
}

async function build(
  options: LocalOptions,
  closers: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<LocalService> {
  const { config, log, progress = () => {} } = options
  await requireWritable(config.data_dir)
  if (config.database_url === undefined) progress('Starting PostgreSQL.')
  const database =
    config.database_url === undefined ? await startDatabase(options, closers) : undefined
  const database_url = config.database_url ?? database!.url
  await options.begun?.()
  if (!config.nodes) progress('Starting the development chain.')
  const chain = config.nodes ? undefined : await startChain(options, closers)
  const nodes = config.nodes ?? [{ url: chain!.url }]
  const node_url = nodes[0]!.url
  const control = devchainControl(node_url, httpTransport)
  await control('state').catch(() => {
    throw new Misuse(
      `${node_url} is not a devchain. On another chain: npm run serve, with wallets of your own.`,
    )
  })
  const sandbox = deriveSandbox(await sandboxPhrase(config.data_dir), options.pool_wallets)
  await writeWhole(join(config.data_dir, 'deposit_xpub'), `${sandbox.wallets.deposit_xpub}\n`)
  const node = tronNode({ nodes, transport: httpTransport })
  progress('Preparing wallets on the chain.')
  await prepareChain({ node, control, now: systemClock.now }, sandbox)
  const sql = connect({ url: database_url, connections_max: 4 })
  closers.push(() => sql.close())
  await requireAnswering(sql, config.standbys)
  await migrate(database_url)
  await beginWithNewest(sql, systemClock)
  await keysAtStart(config, sql, sql)
  // Nobody else knows the database that was made here: the service gets roles of its own on it.
  const { worker_url = database_url, ...urls } = database ? await roleUrls(sql, database_url) : {}
  const setup = {
    config: { ...config, ...urls, role: 'all' as const },
    database_url: worker_url,
    nodes,
    wallets: { ...sandbox.wallets, ...(options.limits && { limits: options.limits }) },
    log,
    recharge_at: 'inclusion' as const,
  }
  progress('Starting the service.')
  const serving = await serve(setup)
  closers.push(serving.close)
  const local = { ...serving, sql }
  const customer = await sandboxCustomer(config.data_dir, local)
  const sign_in = await sandboxSignIn(config, local, customer)
  progress('Waiting for the chain and the first deposit.')
  await fundFirst({ serving: local, control, sandbox, customer })
  await catchUp(local, control)
  chain?.begin()
  await until(() => missingForPurchase(sql, customer))
  const reached = {
    api_url: serving.api_url!,
    node_url,
    database_url,
    token: chain?.token,
    broken: database?.broken ?? new Promise<never>(() => {}),
  }
  return { ...local, ...reached, control, sandbox, customer, sign_in, close }
}

/** The same database with the role of each part of the service, and passwords of this run. */
async function roleUrls(sql: Sql, owner_url: string) {
  const urlOf = async (role: DatabaseRole) => {
    const password = Buffer.from(systemRandom.bytes(24)).toString('base64url')
    await setPassword(sql, systemRandom, { role, password })
    return Object.assign(new URL(owner_url), { username: role, password }).toString()
  }
  return {
    worker_url: await urlOf('penstock_worker'),
    api_database_url: await urlOf('penstock_api'),
    console_database_url: await urlOf('penstock_admin'),
  }
}

async function startDatabase(
  { config, log, throw_away }: LocalOptions,
  closers: (() => Promise<unknown>)[],
) {
  const bin = config.pg_bin === undefined ? {} : { bin: config.pg_bin }
  const place = throw_away ? { throw_away: true as const } : { folder: join(config.data_dir, 'pg') }
  const postgres = await startPostgres({ ...bin, log, ...place })
  let told = false
  closers.push(() => {
    told = true
    return postgres.stop()
  })
  const broken = postgres.ended.then(() => {
    if (!told) throw new Error('PostgreSQL has ended. Starting again finds everything as it was.')
    return new Promise<never>(() => {})
  })
  broken.catch(() => {})
  return { url: postgres.url, broken }
}

/** A development chain for the service alone: on this machine, with a log in the data folder. It
 *  makes blocks by the clock from `begin` on: one before that would lie in the present already, and
 *  those that are made for the sandbox in the future. */
export async function startChain(
  options: LocalOptions,
  closers: (() => Promise<unknown>)[],
): Promise<{ url: string; token: Token; begin(): void }> {
  const { config, block_time_seconds = 3, throw_away = false } = options
  const start = (port: number) =>
    startDevchain({
      // Never where others reach it, whatever the service listens on: it makes money from nothing.
      port,
      block_time_seconds: 0,
      ...(throw_away ? {} : { data_dir: join(config.data_dir, 'chain') }),
      genesis_time_ms: systemClock.now().getTime() - HEAD_START_MS,
    })
  const { chain_port } = config
  const devchain =
    chain_port === undefined
      ? await listening(() => start(CHAIN_PORT), CHAIN_PORT).catch((thrown) => {
          if (thrown instanceof Misuse) return start(0)
          throw thrown
        })
      : await listening(() => start(chain_port), chain_port)
  closers.push(devchain.close)
  return {
    url: devchain.url,
    token: { address: USDT, owner_private_key: devchain.chain.usdt_owner_key },
    begin() {
      if (block_time_seconds > 0) devchain.chain.setBlockTime(block_time_seconds)
    },
  }
}

/** The sandbox's customer: its tokens and secrets are kept beside the data, for this customer
 *  alone. */
async function sandboxCustomer(
  data_dir: string,
  { sql, app }: RunningService,
): Promise<CustomerAccess> {
  const file = join(data_dir, 'customer.json')
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  if (kept !== undefined) {
    const access = JSON.parse(kept) as CustomerAccess
    const keys = await keysOfTokens(sql, [tokenHash(access.token)])
    if (keys.length > 0 && access.second_signature_key) return access
    if (keys.length > 0) {
      // A sandbox of before there were two.
      const { customer_id } = access
      const second_signature_key = await sql.begin((tx) => strictKey(tx, app, customer_id))
      return keepAccess(file, { ...access, second_signature_key })
    }
  }
  return keepAccess(file, await newCustomer({ sql, app }, 'sandbox'))
}

async function keepAccess(file: string, access: CustomerAccess): Promise<CustomerAccess> {
  await writeWhole(file, `${JSON.stringify(access, null, 2)}\n`)
  return access
}

const keyNeeds = ({ new_id, seal }: RunningService['app']) => ({
  clock: systemClock,
  random: systemRandom,
  new_id,
  seal,
})

/** A key that may do everything, and requires the second signature. */
async function strictKey(
  tx: Tx,
  app: RunningService['app'],
  customer_id: string,
): Promise<KeyAccess> {
  const key = { customer_id, name: 'second signature', scopes: EVERY_SCOPE, require_v2: true }
  const { token, secret } = await issueKey(tx, keyNeeds(app), key)
  return { token, secret }
}

/** A customer without money, with two keys that may do everything. What it tries out listens on
 *  this machine. */
export async function newCustomer(
  { sql, app }: Pick<RunningService, 'sql' | 'app'>,
  name: string,
): Promise<CustomerAccess> {
  const needs = { ...keyNeeds(app), deposit_address: app.deposit_address }
  return sql.begin(async (tx) => {
    const customer = await createCustomer(tx, needs, { name })
    const key = { customer_id: customer.id, name, scopes: EVERY_SCOPE }
    const { token, secret } = await issueKey(tx, needs, key)
    for (const network of LOOPBACK)
      await allowNetwork(tx, { customer_id: customer.id, network, at: systemClock.now() })
    return {
      customer_id: customer.id,
      token,
      secret,
      deposit_address: customer.deposit_address,
      second_signature_key: await strictKey(tx, app, customer.id),
    }
  })
}

type Funding = {
  serving: RunningService
  control: Control
  sandbox: Sandbox
  customer: CustomerAccess
}

/** The customer's first money comes as any other does: as a transfer on the chain, credited when
 *  solid. */
async function fundFirst({ serving, control, sandbox, customer }: Funding): Promise<void> {
  const { sql, node } = serving
  const [paid] =
    await sql`select 1 from deposit where customer_id = ${customer.customer_id} limit 1`
  if (paid) return
  // What is in a block before the first that is followed is never read.
  await until(async () => ((await chainState(sql)) ? undefined : 'the chain has not been followed'))
  const payer = sandbox.funded_accounts.at(-1)!
  const payment = paying(payer, customer.deposit_address, FIRST_DEPOSIT_SUN)
  await transact({ node, now: systemClock.now }, payer, payment)
  await control('mine', { blocks: 20 })
}

/** A chain that has just begun, or was stopped, lies behind the clock, and its next block jumps
 *  there: what is signed before has expired by then. So that block is made now. */
async function catchUp({ node }: RunningService, control: Control): Promise<void> {
  const head = await node.head()
  const seconds = Math.floor((systemClock.now().getTime() - head.time.getTime()) / 1_000)
  if (seconds > BEHIND_SECONDS_MAX) await control('advance', { seconds })
}

/** Waits until nothing is missing. `missing` says what is. */
async function until(missing: () => Promise<string | undefined>): Promise<void> {
  const end_ms = systemClock.now().getTime() + READY_MS_MAX
  for (;;) {
    const what = await missing()
    if (what === undefined) return
    if (systemClock.now().getTime() > end_ms)
      throw new Outage(`the service, after ${READY_MS_MAX / 1_000} seconds: ${what}`)
    await delay(20)
  }
}

/** The first thing without which a purchase would be refused or wait; undefined when nothing is
 *  missing. */
async function missingForPurchase(
  sql: Sql,
  { customer_id }: CustomerAccess,
): Promise<string | undefined> {
  const chain = await chainState(sql)
  if (!isCurrent(chain, systemClock)) return 'the chain has not been followed'
  const recent = later(systemClock, -2_000 * BEHIND_SECONDS_MAX)
  if (chain.head_time < recent)
    return `the chain has been followed up to ${chain.head_time.toISOString()} only`
  const deposits = await sql<{
    state: string
  }>`select state from deposit where customer_id = ${customer_id}`
  const states = deposits.map(({ state }) => state)
  if (!states.includes('credited'))
    return `no deposit is credited${states.length > 0 ? `, one is ${states[0]}` : ''}`
  const [empty] = await sql`select 1 from pool where room = 0`
  return empty ? 'the pool has no room' : undefined
}
