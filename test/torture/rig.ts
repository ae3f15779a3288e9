// A whole Penstock for real faults: PostgreSQL with every commit on disk, a development chain whose
// blocks are made here, and the service as processes of its own, which can be killed and started
// again one by one.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Devchain } from 'penstock-devchain/devchain.ts'
import { type RunningDevchain, startDevchain } from 'penstock-devchain/serve.ts'
import {
  deriveSandbox,
  devchainControl,
  paying,
  prepareChain,
  type Sandbox,
  transact,
} from 'penstock-playground/sandbox.ts'
import { httpTransport, tronNode } from 'penstock-service/chain/node/node.ts'
import type { Wallet } from 'penstock-service/chain/signing/signer.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { ownerProvidesSigningKey } from 'penstock-service/market/receipts/signing_keys.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { depositAddresses } from 'penstock-service/people/customers/deposit_addresses.ts'
import { issueKey } from 'penstock-service/people/keys/keys.ts'
import { Hosts, openClient } from 'penstock-service/platform/database/hosts.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { type Postgres, startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { readSealingKeys, sealWith } from 'penstock-service/platform/seal/seal.ts'
import type pg from 'pg'
import { atEnd } from '../../tools/ending.ts'
import { ROOT } from '../../tools/source.ts'
import { Auditor } from '../auditor/audit.ts'
import type { Post } from '../auditor/branch.ts'
import type { Place } from '../auditor/rest.ts'
import { asRole } from '../harness/database.ts'
import { sharePages } from '../harness/sandbox.ts'

export type Access = { customer_id: string; token: string; secret: string; deposit_address: string }
export type Role = 'api' | 'worker' | 'index' | 'all'

const PHRASE = 'test test test test test test test test test test test junk'
const CUSTOMERS = 4
const FIRST_SUN = 90_000_000_000n
/** So many rounds in which nothing comes to its end are the end. */
const IDLE_ROUNDS_MAX = 300
const READY_MS_MAX = 60_000
/** So many blocks that are not read yet hold nothing up at rest. */
const TO_FOLLOW_MAX = 5
/** So far may the service be behind while things are sold: more than the blocks of a fail-over. */
const BEHIND_MAX = 100
/** When no block is read for so long, and so many wait, none ever will be. */
const STUCK_MS_MAX = 180_000

export type RigOptions = {
  /** The address of the database that the service is given instead of the real one. */
  through?: (database_url: string) => string
  /** The database server, when it is not one of the rig's own; it ends with the rig. */
  postgres?: Postgres
  /** A migrated database, for those who need no server of their own; it ends with the rig. */
  database?: Postgres
  /** Where the database lies; a temporary place when absent. */
  postgres_folder?: string
  /** The folder of the release that processes and commands are started from, with a slash at its
   *  end; it also makes the database. This one when left out. */
  release?: string
  /** Addresses of nodes that the service is given instead of the chain's own. */
  node_urls?: (chain: Devchain) => Promise<readonly string[]>
  /** Variables that the service is given instead of the rig's own; empty: the service's
   *  default. */
  env?: Readonly<Record<string, string>>
}

/** What a process may do with the database. One that does everything has a role for each part of
 *  it. */
const databaseOf = (role: Role, url: string): Record<string, string> =>
  role === 'all'
    ? {
        DATABASE_URL: asRole(url, 'penstock_worker'),
        PENSTOCK_API_DATABASE_URL: asRole(url, 'penstock_api'),
        PENSTOCK_CONSOLE_DATABASE_URL: asRole(url, 'penstock_admin'),
      }
    : { DATABASE_URL: asRole(url, role === 'api' ? 'penstock_api' : 'penstock_worker') }

/** Commands that work on the database server itself, as its superuser. */
const OF_THE_SERVER: ReadonlySet<string | undefined> = new Set(['backup', 'restore', 'migrate'])

type StartOptions = {
  /** Other wallets than those of the role. */
  wallets_file?: string
  /** Another data folder than the rig's. */
  data_dir?: string
  /** Variables of this process alone. */
  env?: Readonly<Record<string, string>>
  /** An image of podman's that it runs in, instead of the release. */
  image?: string
}

/** The command line of a process in a container that has no right, on the network of this machine.
 *  Variables are handed on by their names. */
const inContainer = (image: string, folder: string, args: readonly string[], names: string[]) => [
  'podman',
  '--runtime=runc',
  '--cgroup-manager=cgroupfs',
  'run',
  '--rm',
  '--read-only',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
  '--network=host',
  // More than this machine allows is what podman would set.
  '--ulimit=nofile=1024:1024',
  '--ulimit=nproc=1024:1024',
  `--volume=${folder}:${folder}`,
  ...names.map((name) => `--env=${name}`),
  image,
  ...args,
]

/** An API and an index sign nothing, and have no keys. */
const walletsOf = (role: Role) =>
  role === 'api' || role === 'index' ? 'addresses.json' : 'wallets.json'

/** A wallet as an API has it. */
const withoutKey = ({ private_key: _, ...wallet }: Wallet) => wallet

/** One process of the service. */
export class Member {
  readonly role: Role
  /** The options that it was started with beside its role. */
  readonly more: readonly string[]
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  api_url: string | undefined
  private output = ''

  constructor({ role, more }: Pick<Member, 'role' | 'more'>, child: ChildProcess) {
    this.role = role
    this.more = more
    this.child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk.toString('utf8')).slice(-4_000)
      })
    }
    this.ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
  }

  get said(): string {
    return this.output
  }

  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal)
    return this.ended
  }
}

export class Rig {
  readonly members: Member[] = []
  private postgres: Postgres
  readonly chain: RunningDevchain
  readonly sql: Sql
  readonly sandbox: Sandbox
  readonly folder: string
  customers: Access[] = []
  /** From where processes and commands are started next. */
  release: string
  private readonly options: RigOptions
  private readonly secret_key = randomBytes(32).toString('hex')
  readonly seal = sealWith(readSealingKeys(this.secret_key)!, systemRandom)
  readonly database_url: string
  private node_urls: readonly string[] = []
  private mining = true
  /** Ends with the mining. Rejected when the service does not follow any more. */
  miner: Promise<void> = Promise.resolve()
  private first_block = 0
  /** Ends all of it, once; an interrupted run does it too. */
  readonly close = atEnd(() => this.end())

  static async open(options: RigOptions = {}): Promise<Rig> {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-torture-'))
    await sharePages(folder)
    const place = options.postgres_folder
    const postgres =
      options.database ??
      options.postgres ??
      (await startPostgres(place === undefined ? { throw_away: true } : { folder: place }))
    const chain = await startDevchain({ block_time_seconds: 0, genesis_time_ms: Date.now() })
    const rig = new Rig(options, { folder, postgres, chain })
    await rig.prepare().catch(async (thrown: unknown) => {
      await rig.close()
      throw thrown
    })
    return rig
  }

  private constructor(
    options: RigOptions,
    has: { folder: string; postgres: Postgres; chain: RunningDevchain },
  ) {
    this.options = options
    this.release = options.release ?? ROOT
    this.folder = has.folder
    this.postgres = has.postgres
    this.chain = has.chain
    this.database_url = options.through?.(has.postgres.url) ?? has.postgres.url
    this.sql = connect({ url: this.database_url, connections_max: 4 })
    this.sandbox = deriveSandbox(PHRASE)
  }

  private readonly post: Post = async (path, body) =>
    JSON.parse(this.chain.chain.request('POST', path, JSON.stringify(body)).body) as unknown

  get node() {
    return tronNode({ nodes: [{ url: this.chain.url }], transport: httpTransport })
  }

  /** What a superuser runs on a server of his own before the first migration. */
  private async makeRoles(): Promise<void> {
    const client = await openClient(Hosts.of(this.database_url), {})
    await client.query(await readFile(join(ROOT, 'deploy/postgresql/roles.sql'), 'utf8'))
    await client.end()
  }

  private async prepare(): Promise<void> {
    if (this.release !== ROOT) await this.operate('migrate')
    else if (!this.options.database) {
      await this.makeRoles()
      await migrate(this.database_url)
    }
    const control = devchainControl(this.chain.url, httpTransport)
    await prepareChain({ node: this.node, control, now: systemClock.now }, this.sandbox)
    this.node_urls = (await this.options.node_urls?.(this.chain.chain)) ?? [this.chain.url]
    const { seal } = this
    const new_id = idMaker(systemClock, systemRandom)
    const deposit_address = depositAddresses(this.sandbox.wallets.deposit_xpub)
    const needs = { clock: systemClock, random: systemRandom, new_id, seal, deposit_address }
    const { pool, activation, refund, ...watched } = this.sandbox.wallets
    const keyless = {
      pool: pool.map(withoutKey),
      activation: withoutKey(activation),
      refund: withoutKey(refund),
    }
    await writeFile(join(this.folder, 'wallets.json'), JSON.stringify(this.sandbox.wallets), {
      mode: 0o600,
    })
    await writeFile(
      join(this.folder, 'addresses.json'),
      JSON.stringify({ ...keyless, ...watched }),
      { mode: 0o600 },
    )
    if (this.release === ROOT) await ownerProvidesSigningKey({ ...needs, sql: this.sql }, 'rig')
    this.customers = await this.sql.begin(async (tx) => {
      const made: Access[] = []
      for (let i = 0; i < CUSTOMERS; i++) {
        const customer = await createCustomer(tx, needs, { name: `customer ${i}` })
        const { token, secret } = await issueKey(tx, needs, {
          customer_id: customer.id,
          name: 'key',
        })
        made.push({
          customer_id: customer.id,
          token,
          secret,
          deposit_address: customer.deposit_address,
        })
      }
      return made
    })
  }

  /** Starts a process of the service, with more options if wanted. It is ready when the promise
   *  resolves. */
  async start(
    role: Role,
    more: readonly string[] = [],
    { wallets_file = walletsOf(role), data_dir = this.folder, env = {}, image }: StartOptions = {},
  ): Promise<Member> {
    const ready_file = join(this.folder, `ready-${randomBytes(6).toString('hex')}`)
    const nodes = this.node_urls.flatMap((url) => ['--node-url', url])
    const args = [
      'serve',
      '--role',
      role,
      '--port',
      '0',
      '--ready-file',
      ready_file,
      ...nodes,
      ...more,
      '--data-dir',
      data_dir,
    ]
    const variables: Record<string, string> = {
      ...databaseOf(role, this.database_url),
      PENSTOCK_WALLETS: join(this.folder, wallets_file),
      PENSTOCK_SECRET_KEY: this.secret_key,
      PENSTOCK_REQUESTS_PER_SECOND: '0',
      PENSTOCK_READ_REQUESTS_PER_SECOND: '0',
      PENSTOCK_CONNECTIONS_PER_ADDRESS: '4000',
      PENSTOCK_RECHARGE_AT: 'inclusion',
      ...this.options.env,
      ...env,
    }
    const cache = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'penstock-torture-cache')
    const main = `${this.release}packages/service/src/main.ts`
    const [program, ...words] =
      image === undefined
        ? [process.execPath, main, ...args]
        : inContainer(image, this.folder, args, Object.keys(variables))
    const child = spawn(program!, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: cache, ...variables },
    })
    const member = new Member({ role, more }, child)
    this.members.push(member)
    let gone = false
    void member.ended.then(() => {
      gone = true
      this.members.splice(this.members.indexOf(member), 1)
    })
    for (let waited_ms = 0; ; waited_ms += 10) {
      const text = await readFile(ready_file, 'utf8').catch(() => '')
      if (text.endsWith('\n')) {
        member.api_url = (JSON.parse(text) as { api_url: string | null }).api_url ?? undefined
        return member
      }
      if (gone) throw new Ended(member.said)
      if (waited_ms > READY_MS_MAX)
        throw new Error(`a process does not become ready: ${member.said}`)
      await delay(10)
    }
  }

  get api_urls(): string[] {
    return this.members.flatMap(({ api_url }) => api_url ?? [])
  }

  /** An operator's command. Returns what it prints. */
  async operate(...words: string[]): Promise<string> {
    const env = {
      ...process.env,
      DATABASE_URL: OF_THE_SERVER.has(words[0])
        ? this.database_url
        : asRole(this.database_url, 'penstock_admin'),
      PENSTOCK_SECRET_KEY: this.secret_key,
      PENSTOCK_WALLETS: join(this.folder, 'wallets.json'),
    }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [`${this.release}packages/service/src/main.ts`, ...words],
      {
        env,
      },
    )
    return stdout
  }

  /** What an operator's command prints, also when it ends with 1 because of what it has found. */
  report(...words: string[]): Promise<string> {
    return this.operate(...words).catch((thrown: unknown) => {
      const { stdout } = thrown as { stdout?: string }
      if (!stdout) throw thrown
      return stdout
    })
  }

  /** A file of wallets that a process may be started with, beside the right one. */
  async writeWallets(name: string, change: object): Promise<void> {
    await writeFile(
      join(this.folder, name),
      JSON.stringify({ ...this.sandbox.wallets, ...change }),
      { mode: 0o600 },
    )
  }

  /** Gives every customer money and waits until it is there and the pool is surveyed; some process
   *  works by then. */
  async fund(): Promise<void> {
    // What is in a block before the first that is followed is never read.
    await this.until(
      'the chain is not followed',
      async () => (await this.sql`select 1 from chain`).length > 0,
    )
    this.first_block = this.chain.chain.chain.head_number
    for (const { deposit_address } of this.customers) await this.pay(deposit_address, FIRST_SUN)
    this.mine(20)
    await this.until('the customers get no money', async () => {
      const poor = await this.sql`
        select 1 from account where not may_go_negative and posted_sun = 0 union all select 1
          from pool where room = 0`
      return poor.length === 0
    })
  }

  async until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
    for (let waited_ms = 0; waited_ms < READY_MS_MAX; waited_ms += 50) {
      if (await isSo()) return
      await delay(50)
    }
    throw new Error(`${otherwise}: ${this.members.map(({ said }) => said).join('\n')}`)
  }

  /** Somebody outside sends TRX to an address. */
  async pay(to: string, sun: bigint): Promise<void> {
    const payer = this.sandbox.funded_accounts.at(-1)!
    await transact({ node: this.node, now: systemClock.now }, payer, paying(payer, to, sun))
  }

  /** Every hour that is bought is over with the next block. */
  passAnHour(): void {
    this.chain.chain.mine(this.chain.chain.chain.head_time_ms + 3_600_000)
  }

  mine(blocks = 1): void {
    for (let made = 0; made < blocks; made++) this.chain.chain.mine()
  }

  /** Makes a block every so often, until it is told not to. On a slow machine the chain does not
   *  run away: it waits for the service at the limit, and ends when that does not go on. */
  keepMining(every_ms: number, stuck_ms_max = STUCK_MS_MAX): void {
    this.mining = true
    const loop = async () => {
      let followed = this.followed
      let stuck_ms = 0
      while (this.mining) {
        const waits = this.behind() >= BEHIND_MAX
        if (!waits) this.mine()
        stuck_ms = waits && this.followed === followed ? stuck_ms + every_ms : 0
        if (stuck_ms > stuck_ms_max)
          throw new Error(
            `the service has followed no block for ${stuck_ms / 1_000} s, ${this.behind()} wait: ` +
              this.members.map(({ said }) => said).join('\n'),
          )
        followed = this.followed
        void this.readFollowed()
        await delay(every_ms)
      }
    }
    this.miner = loop()
    // Whoever stops the mining hears of it.
    this.miner.catch(() => {})
  }

  /** How many blocks the service has not read yet, as far as is known. */
  private behind(): number {
    return this.chain.chain.chain.head_number - this.followed
  }

  /** The service's head as it was read last. */
  private followed = 0
  private reading = false

  /** Reads how far the service has come, if it can be read: the database may be away. */
  private async readFollowed(): Promise<void> {
    if (this.reading) return
    this.reading = true
    const rows = await this.sql<{ head_number: bigint }>`
      select /* by the rig */ head_number from chain`.catch(() => [])
    this.followed = Number(rows[0]?.head_number ?? this.followed)
    this.reading = false
  }

  /** Throws when the service has not followed. */
  async stopMining(): Promise<void> {
    this.mining = false
    await this.miner
  }

  /** The auditor: what is wrong now. No block may be made meanwhile. */
  look(): Promise<string[]> {
    return this.audit((auditor) => auditor.look())
  }

  /** As the last look had it: how many of each thing there are by state. */
  outcomes: Record<string, number> = {}

  private auditing: { client: pg.Client; auditor: Auditor } | undefined

  /** The connection and what was read of the chain are kept from look to look; a connection that is
   *  lost is made anew. */
  private async audit(look: (auditor: Auditor) => Promise<string[]>): Promise<string[]> {
    this.auditing ??= await this.openAudit()
    const { client, auditor } = this.auditing
    try {
      const findings = await look(auditor)
      this.outcomes = auditor.outcomes()
      return findings
    } catch (thrown) {
      this.auditing = undefined
      await client.end().catch(() => {})
      throw thrown
    }
  }

  private async openAudit() {
    const client = await openClient(Hosts.of(this.database_url), {})
    const { pool, activation, refund } = this.sandbox.wallets
    const wallets = [...pool, activation, ...(refund ? [refund] : [])].map(({ address }) => address)
    return { client, auditor: new Auditor({ client, post: this.post, wallets, from_block: 1 }) }
  }

  /** No more customers are sent to it. */
  takeOut(member: Member): void {
    member.api_url = undefined
  }

  /** Starts the database again when it has ended. Its port changes with that. */
  async reviveServer(): Promise<boolean> {
    const { postgres_folder: folder } = this.options
    const ended = await Promise.race([this.postgres.ended.then(() => true), delay(2_000, false)])
    if (!ended || folder === undefined) return false
    this.postgres = await startPostgres({ folder })
    this.options.through?.(this.postgres.url)
    return true
  }

  /** Lets everything come to its end, hours included, and looks then. It takes as long as less and
   *  less is open. */
  async lookAtRest(): Promise<string[]> {
    await this.stopMining()
    const { recharge_address, refund } = this.sandbox.wallets
    const paying = { recharge_address, refund_address: refund?.address }
    const place: Place = { first_block: this.first_block, ...paying, held_senders: [] }
    let least = Number.POSITIVE_INFINITY
    for (let idle = 0; idle < IDLE_ROUNDS_MAX; idle++) {
      const { open, hours, unread } = await this.countOpen()
      if (open + hours + unread === 0) return this.audit((auditor) => auditor.lookAtRest(place))
      if (open === 0 && hours > 0) this.passAnHour()
      if (open + hours + unread < least) idle = 0
      least = Math.min(least, open + hours + unread)
      // Fewer blocks while there is much to send: each minute of the chain is the life of a
      // transaction.
      await this.mineWhenFollowed(open > 500 ? 1 : 3)
      await delay(300)
    }
    return [
      `it does not come to rest: ${JSON.stringify(await this.countOpen())}, ` +
        `${this.behind()} blocks behind`,
      ...(await this.audit((auditor) => auditor.lookAtRest(place))),
    ]
  }

  /** Makes blocks, but none while the service is behind, as it is on a slow machine: it signs
   *  nothing then, and would never catch up. */
  async mineWhenFollowed(blocks: number): Promise<void> {
    await this.readFollowed()
    if (this.behind() <= TO_FOLLOW_MAX) this.mine(blocks)
  }

  /** What has to come to its end: soon, with its hour, and with what is not read yet, blocks
   *  and notes. */
  private async countOpen(): Promise<{ open: number; hours: number; unread: number }> {
    const [counts] = await this.sql<{ open: number; hours: number; unread: number }>`
      select (select count(*) from orders where state in ('new', 'pending') or to_delegate)::int
             + (select count(*) from attempt where state not in ('solid', 'dead'))::int
             + (select count(*) from activation where state in ('new', 'activating'))::int
             + (select count(*) from deposit
               where state in ('received', 'delivering', 'returning', 'refunding'))::int
             + (select count(*) from aml_check where state in ('pending', 'processing'))::int
               as open,
             (select count(*) from delegation where state not in ('ended', 'failed'))::int as hours,
             (select count(*) from cursor, chain where cursor.number < confirmed_number - 1)::int
             + (select count(*) from event_note)::int as unread`
    return counts!
  }

  private async end(): Promise<void> {
    await this.stopMining().catch(() => {})
    await Promise.all([...this.members].map((member) => member.kill('SIGKILL')))
    await this.auditing?.client.end().catch(() => {})
    await this.sql.close().catch(() => {})
    await this.chain.close()
    await this.postgres.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** A process ended before it was ready. */
export class Ended extends Error {}
