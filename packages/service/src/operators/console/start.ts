// Starts the console of a process.

import type { AddressInfo } from 'node:net'
import type { Node } from '../../chain/node/node.ts'
import type { TransferArchive } from '../../chain/transfers/transfer_archive.ts'
import type { ChainView } from '../../health/books/chain.ts'
import { figuresReader } from '../../health/monitoring/figures.ts'
import type { Clock } from '../../lib/clock.ts'
import { Misuse, refusal } from '../../lib/fault.ts'
import type { NewId, Random } from '../../lib/ids.ts'
import { jsonOf } from '../../lib/json.ts'
import type { Log } from '../../lib/log.ts'
import type { DepositAddress } from '../../people/customers/deposit_addresses.ts'
import { type SignInNeeds, signInOn } from '../../people/sign_in/routes.ts'
import { consoleFace, originOf, type SessionLengths } from '../../people/users/faces.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { appCloser } from '../../platform/limits/close_app.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { StepName } from '../../platform/steps/step.ts'
import { listening } from '../../run/program/listen.ts'
import { httpDownload } from '../../screening/labels/lists.ts'
import { brandReader } from '../../web/brand.ts'
import { consolePages, type Web } from '../../web/pages.ts'
import { OPERATIONS } from '../operations.ts'
import { databasePlace, stopSigningHere } from '../table/place.ts'
import { ConsoleLive } from './live.ts'
import { buildConsole } from './server.ts'

export type ConsoleConfig = {
  console_host: string
  /** 0: any free one. */
  console_port: number
  /** Nobody has named the port: when it is taken, any free one will do. */
  console_port_any: boolean
  /** Where people reach it; undefined: as localhost. */
  console_url: string | undefined
  console_sessions?: SessionLengths | undefined
  /** Whose word counts for where a request comes from. */
  trusted_proxies?: readonly string[] | undefined
  data_dir: string
}

export type ConsoleParts = {
  /** Connections of the console's own: what it asks must not make customers wait. */
  sql: Sql
  database_url: string
  clock: Clock
  random: Random
  log: Log
  wait(ms: number): Promise<void>
  node: Node
  chain: ChainView
  archive?: TransferArchive | undefined
  public_url: string
  app: {
    new_id: NewId
    seal: Seal
    deposit_address: DepositAddress
    sign_in: Omit<SignInNeeds, 'face'>
  }
  wake(step: StepName): void
  /** What the pages are made of; left out: there are none. */
  web?: Omit<Web, 'public_url' | 'brand'> | undefined
}

export type RunningConsole = { url: string; close(): Promise<void> }

/** Listens when it can serve. Throws Misuse when a port that was named cannot be had. */
export async function startConsole(
  config: ConsoleConfig,
  parts: ConsoleParts,
): Promise<RunningConsole> {
  const { sql, clock, log, random } = parts
  const sign_in = signInOn(sql, parts.app.sign_in)
  const face = consoleFace(config.console_url, config.console_sessions)
  const figures = figuresReader({ sql, clock })
  const live = new ConsoleLive({
    sql,
    clock,
    log,
    face,
    tick: async () => jsonOf(await figures()),
  })
  // The port may be another than the one that is named: it is known when it listens.
  let port = config.console_port
  const consoleUrl = () => originOf(face, port)
  const operation_needs = { ...operationNeeds(config, parts), consoleUrl }
  const operations = OPERATIONS
  const { web } = parts
  const pages =
    web &&
    consolePages({
      ...web,
      public_url: config.console_url,
      brand: brandReader({ sql, clock, wait: parts.wait }),
    })
  const { trusted_proxies } = config
  const needs = { clock, random, log, face, sign_in, live, operations, operation_needs, pages }
  const app = buildConsole({ ...needs, trusted_proxies })
  const closeApp = appCloser(app)
  const { console_host: host, console_port, console_port_any } = config
  const listen = (at: number) => listening(() => app.listen({ host, port: at }), at)
  await listen(console_port).catch((thrown: unknown) => {
    if (thrown instanceof Misuse && console_port_any) return listen(0)
    throw thrown
  })
  port = (app.server.address() as AddressInfo).port
  return {
    url: consoleUrl(),
    async close() {
      live.close()
      await closeApp()
    },
  }
}

/** What operations work on here: this process's database, node and data folder. */
function operationNeeds(
  { data_dir }: ConsoleConfig,
  { sql, database_url, public_url, app: { seal, deposit_address, new_id }, ...parts }: ConsoleParts,
) {
  const { clock, random, wait, node, chain, wake, archive } = parts
  return {
    clock,
    random,
    new_id,
    wait,
    wake,
    sql,
    database: databasePlace(database_url),
    download: httpDownload,
    archive: () => archive,
    node: () => node,
    chain: () => chain,
    publicUrl: () => public_url,
    stopHere: (stopped?: boolean, by?: string) => stopSigningHere(data_dir, { stopped, by }),
    seal: async () => seal,
    depositAddress: async () => deposit_address,
    wallets: () => Promise.reject(refusal('Wallets are looked after on the command line.')),
  }
}
