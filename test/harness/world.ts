// A whole Penstock in one process: PostgreSQL, the development chain as the node, the steps and the
// HTTP API. Nothing moves by itself: a test makes blocks and drains the steps, and the clock
// follows the chain. When a test ends, the books, the pool and the chain are compared with each
// other: no story may leave them apart, whatever else it looks at.

import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { HDKey } from '@scure/bip32'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { FaultKind } from 'penstock-devchain/http/faults.ts'
import { type Person, person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { type App, buildApp } from 'penstock-service/app.ts'
import { joinReaders } from 'penstock-service/chain/follow/cursors.ts'
import {
  type Node,
  type Resource,
  type Transport,
  tronNode,
} from 'penstock-service/chain/node/node.ts'
import type { Reads } from 'penstock-service/chain/reads/reads.ts'
import { memoryLog, type SignatureRecord } from 'penstock-service/chain/signing/signature_log.ts'
import type { Wallets } from 'penstock-service/chain/wallets/wallet_file.ts'
import type { Call, Caller, CallOutcome } from 'penstock-service/events/webhooks/caller.ts'
import { lookAtBooks } from 'penstock-service/health/books/books.ts'
import { checkBooks } from 'penstock-service/ledger/accounts/books.ts'
import type { Random } from 'penstock-service/lib/ids.ts'
import { type Log, silentLog } from 'penstock-service/lib/log.ts'
import { makeSigningKey } from 'penstock-service/market/receipts/signing_keys.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { issueKey, type NewKey } from 'penstock-service/people/keys/keys.ts'
import type { Mailer } from 'penstock-service/people/sign_up/mailer.ts'
import type { Again } from 'penstock-service/platform/database/again.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { buildServer } from 'penstock-service/platform/http/server.ts'
import { sealWith } from 'penstock-service/platform/seal/seal.ts'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { type AskDue, drain, type Step } from 'penstock-service/platform/steps/step.ts'
import { keyV2, signature, signatureV2 } from 'penstock-service/platform/wire/signature.ts'
import {
  type Policy,
  publishPolicy,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import type { Provider } from 'penstock-service/screening/providers/provider.ts'
import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { decodeRawData, decodeTransaction } from 'penstock-tron/transaction.ts'
import { type TestDatabase, takeDatabase } from './database.ts'
import { sampleNotDue } from './not_due.ts'

export { TRX } from 'penstock-devchain/scene.ts'

const BLOCKS_UNTIL_SOLID = 20
/** Rules of the books about what operators have recorded: tests change rows by hand. */
const RULES_OF_RECORDS: ReadonlySet<string> = new Set(['C10', 'C12'])
/** What rests no longer than this runs after every block. */
const BLOCK_MS = 3_000

const xpubs = new Map<string, string>()

/** The public key that deposit addresses are derived from; nearly all worlds have the same. */
function depositXpub(seed: Uint8Array): string {
  const name = Buffer.from(seed).toString('hex')
  const known = xpubs.get(name)
  if (known !== undefined) return known
  const made = HDKey.fromMasterSeed(seed).derive("m/44'/195'/0'").publicExtendedKey
  xpubs.set(name, made)
  return made
}

const FAIR = {
  loses: () => false,
  onRequest: () => {},
  answers: (_path: string, body: string) => body,
}

const POOL_TRX: readonly number[] = [10_000_000, 10_000_000]
const POOL_BANDWIDTH_TRX = 1_000_000

export type WorldOptions = {
  /** Stakes for energy of the pool wallets, in whole TRX. */
  pool_trx?: readonly number[]
  /** Stakes for bandwidth of each pool wallet, in whole TRX. */
  pool_bandwidth_trx?: number
  /** What is left in each pool wallet beyond its stakes, in sun; plenty when left out. */
  pool_float_sun?: bigint
  /** When direct recharges are acted on; at inclusion when left out. */
  recharge_at?: 'inclusion' | 'solid'
  /** Whether there is a wallet that sends recharges back; there is when left out. */
  refunds?: boolean
  /** How many nodes the service knows, all of the one chain: `devchain`, `node2`, `node3` … */
  nodes?: number
  /** Token contracts that are followed; none when left out. */
  tokens?: readonly string[]
  /** Whether the wallets of the pool may vote, and withdraw what that earns. */
  votes?: boolean
  /** Outside screening services. */
  providers?: readonly Provider[]
  /** Called before the service begins to follow the chain. */
  before?: (scene: Scene) => void
  seed?: string
  /** Where letters go; there is no signing up when left out. */
  mailer?: Mailer
  /** Where the lines of the log go; nowhere when left out. */
  log?: Log
  /** Whether one process does everything, each part of it under its own role; otherwise the
   *  endpoints are those of an API's process, and the steps those of a worker's. */
  together?: boolean
  /** Whether the step that looks at the books runs; at the end they are looked at anyhow. */
  watches_books?: boolean
  /** Whether the test writes wrong rows by hand: then only sums are looked at when it ends. */
  forges?: boolean
}

export type Answer = { status: number; body: string }

/** What is wrong with the network at the moment. */
export type NetworkFaults = {
  /** The node does not answer. */
  down: boolean
  /** Broadcasts of these contract types are answered as accepted and reach nobody. */
  loses: (contract_type: string) => boolean
  /** Called with the path of every request before the chain sees it, which waits for it. */
  onRequest: (path: string) => unknown
  /** Turns what the chain answers into what the node says. */
  answers: (path: string, body: string) => string
  /** What a node says instead of what the chain answers, by its name; undefined: it does not
   *  answer. */
  nodes: Map<string, (path: string, body: string) => Answer | undefined>
}

/** `reads`: what stands between the API and the nodes; `names`: the nodes that it knows; `again`:
 *  how it tries again what the database could not do. */
type Runner = { steps: readonly Step[]; ask: AskDue }

type ProcessOptions = {
  reads?: (node: Node) => Reads
  names?: readonly string[]
  again?: Again
  together?: boolean
}

/** An answer of the API. `result` is what the endpoint documents. */
export type Reply = {
  status: number
  headers: Record<string, unknown>
  code: number
  key: string | undefined
  error: string | undefined
  /** Of a refusal: the field that it is about. */
  param?: string | undefined
  doc_url?: string | undefined
  request_id: string
  result: Record<string, unknown>
}

/** A purchase as the API prints it. */
export type Transaction = {
  id: string
  external_id: string | null
  service: string
  params: {
    address: string
    amounts?: { energy?: number; bandwidth?: number }
    duration?: number
    activate_address: boolean
  }
  status: string
  amount: number
  created_at: string
  hash?: string
}

export type TransactionReport = Transaction & {
  delegations: {
    resource: string
    amount: number
    hash: string
    expires_at: string
    reclaim_hash?: string
    reclaimed_at?: string
  }[]
}

export async function makeWorld(t: TestContext, options: WorldOptions = {}): Promise<World> {
  const world = await openWorld(options)
  t.after(async () => {
    let verified = false
    try {
      await world.verify()
      verified = true
    } finally {
      await world.close()
      await world.database.end(t, verified ? undefined : false)
    }
  })
  return world
}

/** One without a test: the opener calls discard(). */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const world = new World(await takeDatabase(), options)
  await world.build(options)
  return world
}

export class World {
  readonly scene: Scene
  readonly sql: Sql
  /** The node as the test sees it: with its network as it is. */
  readonly node: Node
  readonly wallets: Wallets
  readonly recharge: Person = person('recharge')
  readonly network: NetworkFaults = { down: false, nodes: new Map(), ...FAIR }
  app!: App
  api!: FastifyInstance
  readonly database: TestDatabase
  private readonly node_names: readonly string[]
  private readonly recharge_at: 'inclusion' | 'solid'
  private readonly random: Random
  private readonly log: Log
  private readonly mailer: Mailer | undefined
  private readonly tokens: ReadonlySet<string>
  private readonly watches_books: boolean
  private readonly forges: boolean
  private readonly providers: readonly Provider[]
  /** What each pool wallet has staked, in sun. */
  private readonly stakes: ReadonlyMap<Address, bigint>
  /** What its processes have signed. */
  readonly signed: SignatureRecord[] = []
  private readonly opened: { app: App; pools: Sql[]; api: FastifyInstance }[] = []
  private now_ms = 0
  /** When each step of a process was last run by the clock. */
  private readonly last_runs = new Map<App, Map<string, number>>()
  private readonly runners = new Map<App, Runner>()
  private due_sql: Sql | undefined
  /** Drains that were begun, and those that are under way. */
  private drains = 0
  private draining = 0

  constructor(database: TestDatabase, options: WorldOptions) {
    this.node_names = Array.from({ length: options.nodes ?? 1 }, (_, i) =>
      i === 0 ? 'devchain' : `node${i + 1}`,
    )
    const {
      pool_trx = POOL_TRX,
      seed = 'world',
      recharge_at = 'inclusion',
      refunds = true,
    } = options
    this.database = database
    this.recharge_at = recharge_at
    this.tokens = new Set(options.tokens)
    this.watches_books = options.watches_books ?? false
    this.forges = options.forges ?? false
    this.log = options.log ?? silentLog
    this.mailer = options.mailer
    this.providers = options.providers ?? []
    this.sql = database.connect()
    this.random = repeatable(seed)
    const pool = pool_trx.map((_trx, i) => person(`pool-${i}`))
    const { pool_bandwidth_trx = POOL_BANDWIDTH_TRX, pool_float_sun = 80_000_000n * TRX } = options
    const funded = new Map(
      ['activation', 'refund', 'payer'].map((who) => [who, 100_000_000n * TRX]),
    )
    for (const [i, trx] of pool_trx.entries()) {
      funded.set(`pool-${i}`, BigInt(trx + pool_bandwidth_trx) * TRX + pool_float_sun)
    }
    this.stakes = new Map(
      pool_trx.map((trx, i) => [pool[i]!.address, BigInt(trx + pool_bandwidth_trx) * TRX]),
    )
    this.scene = new Scene(Object.fromEntries(funded))
    this.scene.leaveBlocksUnsigned()
    const wallet = ({ address, key }: Person) => ({ address, permission_id: 0, private_key: key })
    this.wallets = {
      pool: pool.map(wallet),
      activation: wallet(person('activation')),
      ...(refunds && { refund: wallet(person('refund')) }),
      ...(options.votes && { votes: pool.map(wallet) }),
      recharge_address: this.recharge.address,
      deposit_xpub: depositXpub(this.random.bytes(32)),
    }
    this.node = tronNode({
      nodes: [{ url: 'http://devchain' }],
      transport: async ({ url, body }) =>
        this.scene.devchain.request('POST', new URL(url).pathname, body),
    })
  }

  /** Stakes the pool, starts the API, and lets the first survey happen. */
  async build({
    pool_trx = POOL_TRX,
    pool_bandwidth_trx = POOL_BANDWIDTH_TRX,
    together = false,
    before = () => {},
  }: WorldOptions): Promise<void> {
    before(this.scene)
    for (const [i, trx] of pool_trx.entries()) {
      const wallet = person(`pool-${i}`)
      const stake = (resource: string, whole_trx: number) =>
        this.scene.send(wallet, 'FreezeBalanceV2Contract', {
          frozen_balance: BigInt(whole_trx) * TRX,
          resource,
        })
      stake('ENERGY', trx)
      if (pool_bandwidth_trx > 0) stake('BANDWIDTH', pool_bandwidth_trx)
    }
    this.scene.devchain.fund(this.recharge.address, TRX)
    this.mine(BLOCKS_UNTIL_SOLID)
    ;({ app: this.app, api: this.api } = await this.startProcess({ together }))
    await this.drain()
  }

  /** Another process of the service on the same database and chain: its own connections, memory and
   *  steps. */
  async startProcess({
    reads,
    names = this.node_names,
    again,
    together = false,
  }: ProcessOptions = {}): Promise<{ app: App; api: FastifyInstance }> {
    const sql = this.database.connect({ role: 'penstock_worker' })
    const api_sql = this.database.connect({ role: 'penstock_api' })
    // A step that asked for a second connection while its transaction is open would wait for
    // itself.
    const steps_sql = this.database.connect({ connections_max: 1, role: 'penstock_worker' })
    const clock = { now: () => new Date(this.now_ms) }
    const node = this.nodesOf(names)
    const { random, wallets } = this
    const outside = {
      sql,
      api_sql,
      steps_sql,
      clock,
      random,
      node,
      wallets,
      tokens: this.tokens,
      providers: this.providers,
      recharge_at: this.recharge_at,
      signed: memoryLog(this.signed),
      // The wallets here act with their owners' keys, which no start would allow.
      keys: { allow_wide_keys: true, found: { complaints: [], stakes: this.stakes } },
      log: this.log,
      webhooks: {
        caller: this.caller,
        process: 'world',
        chance: () => 0.5,
        wait: (ms: number) => delay(ms, undefined, { ref: false }),
        // A drain is over when everybody was told.
        patience_ms: 60_000,
        user_agent: 'Penstock/test',
      },
      about: { version: 'test', public_url: 'https://api.example.com' },
      password_cost: 10,
      sign_up: this.mailer !== undefined,
      letters: this.mailer && { mailer: this.mailer, origin: 'https://api.example.com' },
      wake: () => {},
      tellStreams: () => {},
      ...(reads && { reads: reads(node) }),
      again,
    }
    const sealing = { current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } }
    const api_alone = { sql: api_sql, steps_sql: api_sql }
    const app = buildApp({ ...outside, ...(together ? {} : api_alone), sealing })
    if (!together) app.steps = buildApp({ ...outside, api_sql: sql, sealing }).steps
    // Of randomness of its own: what the others draw stays as it was.
    const own = repeatable('receipts')
    await makeSigningKey(this.sql, { clock, random: own, seal: sealWith(sealing, own) })
    const { authenticate, refusals, noteCall } = app
    const noteRefusal = refusals.note
    const answering = { sql: api_sql, clock, random, log: this.log, authenticate }
    const needs = { ...answering, noteRefusal, noteCall }
    const api = await buildServer(needs, {
      endpoints: app.endpoints,
      mounts: app.mounts,
      pages: app.pages,
      check_replies: true,
    })
    this.opened.push({ app, pools: [sql, api_sql, steps_sql], api })
    return { app, api }
  }

  /** A process ends, and is forgotten. */
  async endProcess(app: App): Promise<void> {
    const at = this.opened.findIndex((one) => one.app === app)
    const [ended] = this.opened.splice(at, 1)
    const { api, pools } = ended!
    app.streams.close()
    await api.close()
    await app.refusals.written()
    for (const pool of pools) await this.database.giveBack(pool)
  }

  /** A client of some of the nodes, as the service sees them. */
  nodesOf(names: readonly string[]): Node {
    return tronNode({
      nodes: names.map((name) => ({ url: `http://${name}` })),
      transport: this.transport,
    })
  }

  /** What webhooks were called with, and what they answer. */
  readonly called: Call[] = []
  hook: (call: Call) => Partial<CallOutcome> | Promise<Partial<CallOutcome>> = () => ({})
  private readonly caller: Caller = {
    call: async (call) => {
      this.called.push(call)
      return { status: 200, error: null, body: 'ok', ms: 1, ...(await this.hook(call)) }
    },
    close: () => {},
  }

  private readonly transport: Transport = async ({ url, body }) => {
    const { pathname: path, host } = new URL(url)
    const before = this.network.onRequest(path)
    if (before instanceof Promise) await before
    if (this.network.down) throw new Error('ECONNREFUSED')
    if (path === '/wallet/broadcasthex') {
      const { transaction } = JSON.parse(body) as { transaction: string }
      const { raw_data } = decodeTransaction(Buffer.from(transaction, 'hex'))
      if (this.network.loses(decodeRawData(raw_data).contract[0]!.type)) {
        return { status: 200, body: '{"result":true,"code":"SUCCESS"}' }
      }
    }
    const says = this.network.nodes.get(host)
    const answer = says ? says(path, body) : this.scene.devchain.request('POST', path, body)
    if (answer === undefined) throw new Error('ECONNREFUSED')
    if (answer.status === 0) throw new Error('the connection was broken')
    return { ...answer, body: this.network.answers(path, answer.body) }
  }

  /** The time by the service's clock: a second after the newest block was made. */
  get now(): Date {
    return new Date(this.now_ms)
  }

  /** Makes blocks, 3 seconds apart. */
  mine(blocks = 1): void {
    this.scene.mine(blocks)
    this.now_ms = this.scene.devchain.head.header.timestamp + 1_000
  }

  /** Moves both clocks forward, makes one block there, and drains. */
  async advance(seconds: number): Promise<void> {
    this.scene.wait(seconds)
    this.now_ms = this.scene.devchain.head.header.timestamp + 1_000
    await this.drain()
  }

  /** Replaces the newest blocks by other ones and one more; with `drop` their transactions are lost
   *  altogether. */
  fork(blocks: number, { drop = false } = {}): void {
    this.scene.devchain.reorganize(blocks, drop)
    this.now_ms = this.scene.devchain.head.header.timestamp + 1_000
  }

  /** Lets the node do something wrong for the next so many requests. */
  fault(kind: FaultKind, { count = 1, seconds = 0 } = {}): void {
    this.scene.devchain.faults.arm({ kind, count, seconds, probability: 1 })
  }

  /** Moves the service's clock alone: no block is made. */
  wait(seconds: number): void {
    this.now_ms += seconds * 1_000
  }

  /** Runs the steps until none moves anything, those that rest for long only when they have rested
   *  by the world's clock. */
  async drain(app = this.app): Promise<void> {
    const runs = this.last_runs.get(app) ?? new Map<string, number>()
    this.last_runs.set(app, runs)
    const woken = new Set<string>()
    const { steps, ask } = this.runnerOf(app)
    for (const { name, rest_ms } of steps) {
      if (name === 'watch_books' && !this.watches_books) continue
      const rests = rest_ms > BLOCK_MS && this.now_ms < (runs.get(name) ?? 0) + rest_ms
      if (rests) continue
      woken.add(name)
      runs.set(name, this.now_ms)
    }
    const number = ++this.drains
    this.draining += 1
    const isAlone = () => this.draining === 1 && this.drains === number
    try {
      await drain(steps, { woken, ask })
      await sampleNotDue(this.sql, steps, { ask, isAlone })
    } finally {
      this.draining -= 1
    }
  }

  /** The steps as a process runs them, and what says which are due. */
  private runnerOf(app: App): Runner {
    const known = this.runners.get(app)
    if (known) return known
    const role = 'penstock_worker'
    this.due_sql ??= this.database.connect({ connections_max: 1, role, plans_once: true })
    // Some of an app's steps run on its connections.
    const { pools } = this.opened.find((one) => one.app === app) ?? this.opened[0]!
    const steps = joinReaders(pools.at(-1)!, app.steps)
    const runner = { steps, ask: dueAsker(this.due_sql, steps) }
    this.runners.set(app, runner)
    return runner
  }

  /** Makes blocks and drains until every order is settled and every transaction of ours is in a
   *  block or dead. */
  async settle(): Promise<void> {
    await this.drain()
    for (const blocks of [1, 1, 1, ...Array<number>(40).fill(8)]) {
      if (!(await this.isBusy())) return
      this.mine(blocks)
      await this.drain()
    }
    throw new Error('it does not settle')
  }

  /** The states of every transaction that was made for something ('delegate', 'reclaim' ...), the
   *  oldest first. */
  async attempts(purpose: string): Promise<string[]> {
    const rows = await this.sql<{ state: string }>`
      select state from attempt where subject like ${`${purpose}:%`} order by made_at, id`
    return rows.map(({ state }) => state)
  }

  private async isBusy(): Promise<boolean> {
    const [busy] = await this.sql`
      select 1 from orders where state in ('new', 'pending')
      union all select 1 from attempt where state in ('new', 'signed', 'sent')
      union all select 1 from activation where state in ('new', 'activating')`
    return busy !== undefined
  }

  /** Makes so many blocks that everything so far is solid, and drains. */
  async solidify(): Promise<void> {
    this.mine(BLOCKS_UNTIL_SOLID)
    await this.drain()
  }

  /** Ends every connection to the database but one of its own, as a fail-over does. */
  async dropConnections(): Promise<void> {
    const killer = connect({ url: this.database.url, connections_max: 1 })
    await killer`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and backend_type = 'client backend'`
    await killer.close()
  }

  /** Somebody with an account on the chain, or without one when `trx` is left out. */
  person(name: string, trx?: number): Person {
    if (trx !== undefined) {
      this.scene.devchain.fund(person(name).address, BigInt(trx) * TRX)
      this.mine()
    }
    return person(name)
  }

  /** Sends TRX from somebody's account. Returns the transaction's id. */
  pay(to: Address, sun: bigint, from: Person = person('payer')): string {
    const answer = this.scene.send(from, 'TransferContract', {
      to_address: addressToHex(to),
      amount: sun,
    })
    assert.equal(answer.result, true, String(answer.message))
    return String(answer.txid)
  }

  /** A customer with a key; its money is a real deposit, solid and credited. */
  async customer({
    trx = 0,
    ...wanted
  }: { trx?: number } & Partial<NewKey> = {}): Promise<Customer> {
    const { new_id, seal, deposit_address } = this.app
    const needs = {
      clock: { now: () => this.now },
      random: this.random,
      new_id,
      seal,
      deposit_address,
    }
    const customer = await this.sql.begin(async (tx) => {
      const { id, deposit_address } = await createCustomer(tx, needs, { name: 'somebody' })
      const key = await issueKey(tx, needs, { name: 'key', ...wanted, customer_id: id })
      return new Customer(this, { id, deposit_address, token: key.token, secret: key.secret })
    })
    if (trx > 0) {
      this.pay(customer.deposit_address, BigInt(Math.round(trx * 1e6)))
      await this.solidify()
    }
    return customer
  }

  /** From now on the address is blacklisted: its tokens are frozen. */
  async blacklist(address: Address): Promise<void> {
    await this.sql`
        insert into flow_freeze (token, address, frozen, number)
          values (${USDT}, ${address}, true, 1)`
  }

  /** From now on nothing is sold to the address: it is blacklisted, and the policy looks at
   *  that. */
  async bar(address: Address, more: Partial<Policy> = {}): Promise<void> {
    const body = { ...SHIPPED_POLICY, refuse_blacklisted_receivers: true, ...more }
    await this.blacklist(address)
    await this.sql.begin((tx) =>
      publishPolicy(tx, { body, published_by: 'test', published_at: this.now }),
    )
    // Longer than a policy is remembered.
    this.mine(4)
    await this.drain()
  }

  /** What an address can use of a resource a day, by the chain. */
  async limit(address: Address, resource: Resource): Promise<number> {
    return Number((await this.node.resource(address, resource)).limit)
  }

  energyLimit(address: Address): Promise<number> {
    return this.limit(address, 'energy')
  }

  bandwidthLimit(address: Address): Promise<number> {
    return this.limit(address, 'bandwidth')
  }

  /** The stake that a wallet delegates to a receiver, by the chain's head. */
  delegated(wallet: Address, receiver: Address, resource: Resource): bigint {
    return this.delegationsOnChain().get(`${wallet} ${receiver} ${resource}`) ?? 0n
  }

  private delegationsOnChain(): Map<string, bigint> {
    const found = new Map<string, bigint>()
    for (const [, row] of this.scene.devchain.chain.head_state.entries('delegation')) {
      const pair = `${addressFromHex(row!.from)} ${addressFromHex(row!.to)}`
      if (row!.sun.ENERGY > 0n) found.set(`${pair} energy`, row!.sun.ENERGY)
      if (row!.sun.BANDWIDTH > 0n) found.set(`${pair} bandwidth`, row!.sun.BANDWIDTH)
    }
    return found
  }

  /** Compares the books, the pool and the chain with each other. */
  async verify(): Promise<void> {
    this.network.down = false
    await this.drain()
    assert.deepEqual(await checkBooks(this.sql), [], 'the books')
    if (!this.forges) assert.deepEqual(await this.reasonsToStop(), [], 'the rules of the books')
    const holds = await this.sql`
      select o.id, o.state, hold.id as hold, r.kind from orders as o
      left join transfer as hold on hold.id = 'order:' || o.id left join transfer as r
        on r.hold_id = hold.id
      where (hold.id is null) <> (o.amount_sun = 0) or hold.id is not null
        and coalesce(r.kind, '') <>
        case o.state when 'success' then 'capture' when 'failed' then 'release' else '' end`
    assert.deepEqual(holds, [], 'every order is paid for, given back, or still holds its money')
    const reserved = await this.sql<{ resource: string; reserved: bigint; wanted: bigint }>`
      select p.resource, p.reserved, coalesce((
        select sum(case p.resource when 'energy' then o.energy else o.bandwidth end - coalesce((
          select sum(d.amount) from delegation as d
          where d.order_id = o.id and d.resource = p.resource and d.state <> 'failed'), 0))
        from orders as o where o.to_delegate), 0)::bigint as wanted
      from pool as p`
    for (const one of reserved) assert.equal(one.reserved, one.wanted, `reserved ${one.resource}`)
    const ours = await this.sql<{ place: string; stake_sun: bigint }>`
      select d.wallet || ' ' || d.receiver || ' ' || d.resource as place,
        sum(d.stake_sun)::bigint as stake_sun
      from delegation as d join attempt as a on a.id = d.attempt_id left join attempt as r
        on r.id = d.reclaim_id
      where a.state in ('included', 'solid') and coalesce(r.state, '') not in ('included', 'solid')
      group by d.wallet, d.receiver, d.resource`
    const by_place = (rows: Iterable<readonly [string, bigint]>) =>
      [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
    assert.deepEqual(
      by_place(ours.map(({ place, stake_sun }) => [place, stake_sun])),
      by_place(this.delegationsOnChain()),
      'the delegations on the chain are those we know of',
    )
  }

  /** The findings of the books that would stop the sale. */
  private async reasonsToStop(): Promise<string[]> {
    const reports = await lookAtBooks({ sql: this.sql, chain: undefined })
    return reports
      .filter(({ rule, stops_selling }) => stops_selling && !RULES_OF_RECORDS.has(rule))
      .flatMap(({ rule, findings }) =>
        findings.map((one) => `${rule} ${one.subject}: ${one.found}`),
      )
  }

  async close(): Promise<void> {
    for (const { app, api, pools } of this.opened) {
      app.streams.close()
      await api.close()
      await app.refusals.written()
      for (const pool of pools) await pool.close()
    }
    await this.due_sql?.close()
    await this.sql.close()
  }

  /** Closes it, and nothing is left of it. */
  async discard(): Promise<void> {
    await this.close()
    await this.database.drop()
  }
}

export type Access = { id: string; deposit_address: Address; token: string; secret: string }

/** A customer at the front door. */
export class Customer implements Access {
  readonly id: string
  readonly deposit_address: Address
  readonly token: string
  readonly secret: string
  private readonly world: World

  constructor(world: World, { id, deposit_address, token, secret }: Access) {
    this.world = world
    this.id = id
    this.deposit_address = deposit_address
    this.token = token
    this.secret = secret
  }

  /** A signed call. A body that is text or bytes is sent as it is. */
  async call(
    path: string,
    body: unknown = {},
    headers: Record<string, string> = {},
    api = this.world.api,
  ) {
    const bytes =
      body instanceof Uint8Array
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    return post(api, path, bytes, { ...this.headers(path, bytes), ...headers })
  }

  /** What a call is sent with: both signatures where an endpoint requires both. */
  headers(path: string, bytes: Uint8Array): Record<string, string> {
    return {
      authorization: `Bearer ${this.token}`,
      'x-signature': signature(bytes, this.secret),
      'content-type': 'application/json',
      ...this.secondSignature(path, bytes),
    }
  }

  /** The headers of the second signature, where an endpoint requires it. */
  private secondSignature(path: string, body: Uint8Array): Record<string, string> {
    const endpoint = this.world.app.endpoints.find((one) => one.path === path)
    return endpoint?.second_signature ? this.stamp(path, body) : {}
  }

  /** The headers of the second signature, whatever requires it. */
  stamp(path: string, body: Uint8Array): Record<string, string> {
    const timestamp = String(Math.floor(this.world.now.getTime() / 1_000))
    const stamped = { timestamp, nonce: randomUUID(), method: 'POST', path, body }
    return {
      'x-timestamp': timestamp,
      'x-nonce': stamped.nonce,
      'x-signature-v2': signatureV2(keyV2(this.secret), stamped),
    }
  }

  /** The result of a call that succeeds. */
  async get<Result>(path: string, body: unknown = {}): Promise<Result> {
    const reply = await this.call(path, body)
    assert.equal(reply.code, 0, `${path}: ${reply.key} ${reply.error}`)
    return reply.result as Result
  }

  /** A purchase that is accepted. */
  buy(body: {
    service: string
    params: Record<string, unknown>
    external_id?: string
  }): Promise<Transaction> {
    return this.get<Transaction>('/v1/transaction/new', body)
  }

  buyEnergy(
    address: Address,
    amount: number,
    more: Record<string, unknown> = {},
  ): Promise<Transaction> {
    return this.buy({ service: 'energy', params: { address, amount, duration: 1, ...more } })
  }

  check(id: string): Promise<TransactionReport> {
    return this.get<TransactionReport>('/v1/transaction/check', { id })
  }

  async balance(): Promise<number> {
    return (await this.get<{ balance: number }>('/v1/balance')).balance
  }
}

/** One POST at the front door, whatever it is. */
/** The text of an answer; undefined when it was accepted and stays open: that is not waited for. */
export async function readAnswer(answer: LightMyRequestResponse): Promise<string | undefined> {
  const stream = answer.stream()
  if (!String(answer.headers['content-type']).startsWith('text/event-stream')) return text(stream)
  stream.destroy()
  return undefined
}

const ACCEPTED = '{"code":0,"request_id":"","result":{}}'

export async function post(
  api: FastifyInstance,
  path: string,
  body: string | Uint8Array | undefined,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const payload = body === undefined ? {} : { payload: Buffer.from(body) }
  const asked = { method: 'POST', url: path, headers, ...payload, payloadAsStream: true } as const
  const answer = await api.inject(asked)
  const { code, key, error, param, doc_url, request_id, result } = JSON.parse(
    (await readAnswer(answer)) ?? ACCEPTED,
  ) as Reply
  return {
    status: answer.statusCode,
    headers: answer.headers,
    code,
    key,
    error,
    param,
    doc_url,
    request_id,
    result,
  }
}

/** Bytes that look random and are the same in every run of a seed. */
export function repeatable(seed: string): Random {
  let drawn = 0
  return {
    bytes(length) {
      const blocks = Array.from({ length: Math.ceil(length / 32) }, () =>
        createHash('sha256').update(`${seed} ${drawn++}`).digest(),
      )
      return new Uint8Array(Buffer.concat(blocks).subarray(0, length))
    },
  }
}
