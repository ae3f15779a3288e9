// A development chain on a port: the only part (with cli.ts) that has a clock, timers, sockets and
// files. With an interval, a block is made every so often, at the wall clock's time plus whatever
// `advance` and `mine` have moved the chain ahead of it; a chain that was stopped goes on with the
// present time, and the slots in between stay empty.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Access, corsHeaders, preflightHeaders, refusalOf } from './access.ts'
import type { Block } from './chain/blocks.ts'
import { blocksBeforeStart, Devchain, type DevchainOptions } from './devchain.ts'
import { ChainLog } from './log.ts'
import { type Json, printJson } from './state/json.ts'
import { SLOT_MS } from './state/parameters.ts'
import type { Answer } from './wallet_api/wallet_api.ts'

export type BlockNotice = { number: number; id: string; time_ms: number; transactions: number }

export type ServeOptions = Partial<DevchainOptions> & {
  /** Absent or 0: a free one. */
  port?: number
  /** Default 127.0.0.1. */
  host?: string
  /** Seconds of real time between blocks, default 3; with 0 blocks are made on demand only. */
  block_time_seconds?: number
  /** Blocks may be made to order, money from nothing, and so on, by everybody who reaches `host`;
   *  otherwise by nobody when that is not a loopback address. */
  allow_control?: boolean
  /** Origins of pages that may do so too. */
  control_origins?: readonly string[]
  /** Where the chain is kept across restarts; absent: in memory only. */
  data_dir?: string
  onBlock?: (block: BlockNotice) => void
}

export type RunningDevchain = { url: string; chain: Devchain; close(): Promise<void> }

const BODY_MAX_BYTES = 5 * 1024 * 1024
const LOOPBACK = '127.0.0.1'
/** Longer than clients keep a connection that they do not use, so that they close it and not we. */
const KEEP_ALIVE_MS = 72_000

/** Starts a chain and its HTTP interface. Throws when the port is taken or another process has the
 *  data folder. */
export async function startDevchain(options: ServeOptions = {}): Promise<RunningDevchain> {
  const log = options.data_dir === undefined ? undefined : new ChainLog(options.data_dir)
  try {
    return await serve(options, log)
  } catch (error) {
    log?.close()
    throw error
  }
}

async function serve(options: ServeOptions, log: ChainLog | undefined): Promise<RunningDevchain> {
  const founding = foundingOf(options, log)
  const devchain = new Devchain({ ...founding, ...unrecordedOf(options) })
  // Not before there is a chain of it: what cannot be founded would spoil the folder.
  if (log?.founding === undefined) log?.found(founding as Json)
  log?.attach(devchain.chain)
  const { host = LOOPBACK, allow_control = false, control_origins = [] } = options
  const access = { host, allow_control, control_origins }
  const settings = { keepAliveTimeout: KEEP_ALIVE_MS }
  const server = createServer(settings, (request, response) =>
    exchange(devchain, access, request, response),
  )
  const record = devchain.chain.onInput
  devchain.chain.onInput = (input) => {
    record(input)
    if (input.kind === 'block') options.onBlock?.(noticeOf(input.block))
  }
  await listen(server, options.port ?? 0, host)
  const clock = startClock(devchain, options)
  const { address, port } = server.address() as AddressInfo
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    chain: devchain,
    async close() {
      clock.stop()
      await closeServer(server)
      log?.close()
    },
  }
}

/** The options that are the node's and not the chain's: a folder does not keep them. */
function unrecordedOf(options: ServeOptions): Partial<DevchainOptions> {
  const { instant = false, pending_max, internal } = options
  return {
    instant,
    ...(pending_max === undefined ? {} : { pending_max }),
    ...(internal === undefined ? {} : { internal }),
  }
}

/** The options of a new chain, or those that the folder's chain was founded on. */
function foundingOf(options: ServeOptions, log: ChainLog | undefined): DevchainOptions {
  if (log?.founding !== undefined) return readFounding(log.founding)
  const founding: DevchainOptions = {
    genesis_time_ms: options.genesis_time_ms ?? Date.now(),
    blocks_before_start: options.blocks_before_start ?? blocksBeforeStart(options.solid_lag_blocks),
  }
  if (options.seed !== undefined) founding.seed = options.seed
  if (options.genesis_balances) founding.genesis_balances = options.genesis_balances
  if (options.solid_lag_blocks !== undefined) founding.solid_lag_blocks = options.solid_lag_blocks
  if (options.rest_of_network) founding.rest_of_network = options.rest_of_network
  if (options.parameters) founding.parameters = options.parameters
  if (options.wall_clock !== undefined) founding.wall_clock = options.wall_clock
  if (options.unfreeze_delay_seconds !== undefined)
    founding.unfreeze_delay_seconds = options.unfreeze_delay_seconds
  if (options.genesis_parent_hash !== undefined)
    founding.genesis_parent_hash = options.genesis_parent_hash
  return founding
}

/** Sums are bigint in the options; small ones come back from the file as numbers. */
function readFounding(founding: Json): DevchainOptions {
  const read = founding as unknown as DevchainOptions
  const { genesis_balances, rest_of_network } = read
  return {
    ...read,
    ...(genesis_balances
      ? {
          genesis_balances: genesis_balances.map(({ address, sun }) => ({
            address,
            sun: BigInt(sun),
          })),
        }
      : {}),
    ...(rest_of_network
      ? {
          rest_of_network: {
            energy_weight_trx: BigInt(rest_of_network.energy_weight_trx),
            net_weight_trx: BigInt(rest_of_network.net_weight_trx),
          },
        }
      : {}),
  }
}

const noticeOf = ({ id, header, transactions }: Block): BlockNotice => ({
  number: header.number,
  id,
  time_ms: header.timestamp,
  transactions: transactions.length,
})

/** Makes blocks by the wall clock. */
function startClock(devchain: Devchain, options: ServeOptions): { stop(): void } {
  let ahead_ms = 0
  let due_ms = 0
  let timer: NodeJS.Timeout | undefined
  const clock = () => {
    ahead_ms = Math.max(ahead_ms, devchain.head.header.timestamp - Date.now())
    return Date.now() + ahead_ms
  }
  const tick = () => {
    // A block that is late already is not struck again.
    const late = due_ms === 0 ? devchain.faults.strike('slow_block') : undefined
    if (late) due_ms = Date.now() + late.seconds * 1000
    if (Date.now() < due_ms) return
    due_ms = 0
    devchain.makeBlockInTime(devchain.clock())
  }
  /** Where blocks come whole slots apart, until the slot begins: as on the network, what a block
   *  has was sent before its time. */
  const untilNext = (interval_ms: number) => {
    const { calendar, wall_clock } = devchain.chain
    if (wall_clock || interval_ms % SLOT_MS !== 0) return interval_ms
    const now_ms = clock()
    const slot = calendar.slotOf(now_ms) + interval_ms / SLOT_MS
    // A timer may be a millisecond early.
    return calendar.timeOf(slot) - now_ms + 1
  }
  const start = (seconds: number) => {
    clearTimeout(timer)
    devchain.clock = seconds === 0 ? () => Date.now() : clock
    if (seconds === 0) return
    const next = () => {
      timer = setTimeout(
        () => {
          next()
          tick()
        },
        untilNext(seconds * 1000),
      )
    }
    next()
  }
  start(options.block_time_seconds ?? 3)
  devchain.setBlockTime = (seconds) => {
    devchain.instant = seconds === 0
    start(seconds)
  }
  return { stop: () => clearTimeout(timer) }
}

function exchange(
  devchain: Devchain,
  access: Access,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = 'GET', url = '/', headers } = request
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= BODY_MAX_BYTES) chunks.push(chunk)
  })
  request.on('end', () => {
    const cors = corsHeaders(access, url, headers)
    const refused = refusalOf(access, { method, url, headers })
    if (method === 'OPTIONS') {
      const told = refused ? {} : { ...cors, ...preflightHeaders(headers) }
      return void response.writeHead(refused ? 403 : 204, told).end()
    }
    const body = Buffer.concat(chunks).toString('utf8')
    const answer = refused ?? answerOf(devchain, request, body)
    if (answer.status === 0) return void request.socket.destroy()
    const type = answer.content_type ?? 'application/json;charset=utf-8'
    response.writeHead(answer.status, { ...cors, 'content-type': type }).end(answer.body)
  })
}

/** An exception is a bug of this program; it must not take the chain away from everybody else. */
function answerOf(
  devchain: Devchain,
  { method = 'GET', url = '/', headers }: IncomingMessage,
  body: string,
): Answer {
  try {
    return devchain.request(method, url, body, headers['content-type'])
  } catch (error) {
    process.stderr.write(
      `${method} ${url} failed: ${error instanceof Error ? error.stack : String(error)}\n`,
    )
    return {
      status: 500,
      body: printJson({ Error: 'the development chain failed; its terminal says how' }),
    }
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
