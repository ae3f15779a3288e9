// Three machines of the database on this one, by the files of deploy/patroni: on each etcd, Patroni
// and PostgreSQL, and one HAProxy in front. The files are taken as they are but for addresses,
// folders and passwords, and for what this machine or an older Patroni lacks, which the result
// says. Whoever loses its lock is replaced by Patroni, not by us. A process belongs to the folder
// in which it works, so that none is missed, whoever started it.

import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  access,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  writeFile,
} from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseEnv, promisify } from 'node:util'
import {
  environment,
  type OsUser,
  serverUser,
} from 'penstock-service/platform/postgres/programs.ts'
import { freePort } from 'penstock-service/platform/postgres/server.ts'
import pg from 'pg'
import { parse } from 'yaml'
import { atEnd } from '../../tools/ending.ts'
import { ROOT } from '../../tools/source.ts'
import { CUT_MS, type Loss, type Manager, type Manner } from './losses.ts'

const DEPLOY = join(ROOT, 'deploy/patroni')
/** As the files call them. */
const NAMES = ['one', 'two', 'three']
/** Where the files expect the certificates. */
const TLS = '/etc/ssl/patroni'
const WAIT_MS_MAX = 120_000
const ASKED_MS_MAX = 2_000
/** Debian has haproxy where only root looks for programs. */
const ENV = { ...environment, PATH: `${process.env.PATH}:/usr/sbin` }

type Ports = { postgres: number; rest: number; etcd: number; peer: number }
/** Each of its programs works in a folder of its own below `folder`. */
type Machine = { name: string; folder: string; ports: Ports }

/** The programs that it takes; `version` is Patroni's. */
export type Programs = { bin: string; version: string; major: number }

const run = promisify(execFile)

/** Undefined where one of them is not installed. */
export async function findPatroni(): Promise<Programs | undefined> {
  try {
    const { stdout } = await run('patroni', ['--version'], { env: ENV })
    for (const [program, flag] of [
      ['etcd', '--version'],
      ['haproxy', '-v'],
      ['openssl', 'version'],
    ])
      await run(program!, [flag!], { env: ENV })
    const version = /\d+(\.\d+)+/.exec(stdout)![0]
    const { stdout: bin } = await run('sh', [
      '-c',
      'ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1',
    ])
    await access(join(bin.trim(), 'pg_rewind'))
    return { bin: bin.trim(), version, major: Number.parseInt(version, 10) }
  } catch {
    return undefined
  }
}

export class PatroniCluster implements Manager {
  readonly postgres: Manager['postgres']
  readonly proxy_url: string
  readonly losses: Readonly<Record<Manner, Loss>>
  readonly described: Readonly<Record<string, unknown>>
  private readonly machines: readonly Machine[]
  private readonly setting: Setting
  private lost: Machine | undefined

  /** All of it runs, with a database `penstock`, and a commit waits for a standby. */
  static async open(programs: Programs): Promise<PatroniCluster> {
    const setting = await makeSetting(programs)
    const machines = await Promise.all(NAMES.map((name) => makeMachine(name, setting)))
    await Promise.all(machines.map((machine) => configure(machine, machines, setting)))
    const cluster = new PatroniCluster(setting, machines, await freePort())
    try {
      await cluster.begin()
    } catch (thrown) {
      await cluster.postgres.stop()
      throw thrown
    }
    return cluster
  }

  private constructor(setting: Setting, machines: readonly Machine[], proxy_port: number) {
    this.setting = setting
    this.machines = machines
    const { programs, passwords, tls, stop } = setting
    const url = (hosts: string) =>
      `postgres://postgres:${passwords.superuser}@${hosts}/penstock` +
      `?sslmode=verify-full&sslrootcert=${join(tls, 'ca.pem')}`
    this.proxy_url = url(`127.0.0.1:${proxy_port}`)
    this.postgres = {
      url: url(machines.map(({ ports }) => `127.0.0.1:${ports.postgres}`).join(',')),
      ended: new Promise(() => {}),
      stop,
    }
    this.described = {
      manager: `patroni ${programs.version}`,
      synchronous_mode: synchronousMode(programs),
      // It would restart this machine.
      watchdog: false,
    }
    this.losses = this.waysToLose()
  }

  private async begin(): Promise<void> {
    // The first to be there makes the cluster; the others are copies.
    await Promise.all(this.machines.map((machine) => this.start(machine)))
    await this.startProxy()
    await this.connected('postgres', await this.untilPrimary(), (client) =>
      client.query('create database penstock'),
    )
    await this.untilReplicated()
  }

  private waysToLose(): Record<Manner, Loss> {
    const losing = (lose: (primary: Machine) => Promise<void>, may_stay = false): Loss => ({
      lose: async () => {
        this.lost = await this.untilPrimary()
        await lose(this.lost)
      },
      replace: async () => {
        await this.untilPrimary(may_stay ? undefined : this.lost)
      },
    })
    return {
      /** The machine is gone: etcd, Patroni and PostgreSQL. */
      kill: losing(({ folder }) => killIn(folder)),
      /** The machine stands still, with every connection to the database open, and never goes on.
       *  Its etcd is killed: the kernel of a machine that stands still confirms nothing, and what
       *  watched there would notice; the kernel here goes on. */
      hang: losing(async (primary) => {
        await signalIn(join(primary.folder, 'etcd'), 'SIGKILL')
        await signalIn(primary.folder, 'SIGSTOP')
      }),
      /** PostgreSQL alone is killed. Where no standby may be promoted it is started again. */
      crash: losing((primary) => signalIn(dataOf(primary), 'SIGKILL'), true),
      /** The standbys are away, and commits wait for them, when the machine is gone. */
      cut: losing(async (primary) => {
        const others = this.machines.filter((machine) => machine !== primary)
        for (const other of others) await signalIn(dataOf(other), 'SIGSTOP')
        await delay(CUT_MS)
        await killIn(primary.folder)
        for (const other of others) await signalIn(dataOf(other), 'SIGCONT')
      }),
      /** An operator asks for it. */
      switchover: losing(async (primary) => {
        const { status, body } = await this.ask(primary, 'POST', '/switchover', {
          leader: primary.name,
        })
        if (status !== 200)
          throw new Error(`the switchover was refused: ${body}\n${await this.said()}`)
      }),
    }
  }

  async comeBack(): Promise<void> {
    const { lost } = this
    if (lost && (await this.restStatus(lost, '/patroni')) !== 200) {
      await killIn(lost.folder)
      await this.start(lost)
    }
    await this.untilReplicated()
  }

  private async start(machine: Machine): Promise<void> {
    const { user, tls } = this.setting
    const env = await etcdOf(machine, this.machines, tls)
    await startIn(join(machine.folder, 'etcd'), 'etcd', [], { user, env })
    const args = [join(machine.folder, 'patroni.yml')]
    await startIn(join(machine.folder, 'patroni'), 'patroni', args, { user })
  }

  private async startProxy(): Promise<void> {
    const { folder: parent, tls, user } = this.setting
    const { port } = new URL(this.proxy_url)
    let text = await readFile(join(DEPLOY, 'haproxy.cfg'), 'utf8')
    text = text.replaceAll(TLS, tls).replace('bind 127.0.0.1:5000', `bind 127.0.0.1:${port}`)
    // Only root can give itself to another user.
    if (!user) text = text.replace(/^ {2}(user|group) .*\n/gm, '')
    for (const [i, { name, ports }] of this.machines.entries())
      text = text.replace(
        `server ${name} h${i + 1}:5432`,
        `server ${name} 127.0.0.1:${ports.postgres} port ${ports.rest}`,
      )
    const folder = join(parent, 'haproxy')
    await mkdir(folder)
    const file = join(folder, 'haproxy.cfg')
    await writeFile(file, text)
    await startIn(folder, 'haproxy', ['-f', file], {})
  }

  /** The machine that holds the lock and takes writes, other than the one that is lost. */
  private async untilPrimary(lost?: Machine): Promise<Machine> {
    const began_ms = performance.now()
    for (;;) {
      for (const machine of this.machines)
        if (machine !== lost && (await this.isPrimary(machine))) return machine
      if (performance.now() - began_ms > WAIT_MS_MAX)
        throw new Error(`nobody is the primary: ${await this.said()}`)
      await delay(50)
    }
  }

  private async isPrimary(machine: Machine): Promise<boolean> {
    if ((await this.restStatus(machine, '/primary')) !== 200) return false
    // For a moment Patroni does not know yet that its server is dead.
    const asked = this.connected('postgres', machine, (client) =>
      client.query<{ writes: boolean }>('select not pg_is_in_recovery() as writes'),
    )
    return asked.then(
      ({ rows }) => rows[0]!.writes,
      () => false,
    )
  }

  /** Both standbys follow, a commit waits for one of them, and Patroni has noted which: before
   *  that, it promotes nobody. */
  private async untilReplicated(): Promise<void> {
    const began_ms = performance.now()
    while (!(await this.isReplicated())) {
      if (performance.now() - began_ms > WAIT_MS_MAX)
        throw new Error(`the standbys do not follow: ${await this.said()}`)
      await delay(100)
    }
  }

  private async isReplicated(): Promise<boolean> {
    const primary = await this.untilPrimary()
    const confirming = `select from pg_stat_replication
                          where state = 'streaming' and sync_state in ('sync', 'quorum')`
    const ask = (statement: string) =>
      this.connected('postgres', primary, (client) => client.query(statement)).then(
        ({ rows }) => rows.length,
        () => 0,
      )
    const streaming = await ask(`select from pg_stat_replication where state = 'streaming'`)
    if (streaming < NAMES.length - 1 || (await ask(confirming)) === 0) return false
    const { body } = await this.ask(primary, 'GET', '/cluster')
    const { members } = JSON.parse(body) as { members: { role: string }[] }
    return members.some(({ role }) => role === 'sync_standby' || role === 'quorum_standby')
  }

  /** What Patroni said last on each of them. */
  private async said(): Promise<string> {
    const logs = this.machines.map(async ({ name, folder }) => {
      const text = await readFile(join(folder, 'patroni', 'log'), 'utf8').catch(() => '')
      return `${name}: ${text.slice(-600)}`
    })
    return (await Promise.all(logs)).join('\n')
  }

  private restStatus(machine: Machine, path: string): Promise<number> {
    return this.ask(machine, 'GET', path).then(
      ({ status }) => status,
      () => 0,
    )
  }

  private async ask(
    { ports }: Machine,
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<{ status: number; body: string }> {
    const { tls, passwords } = this.setting
    const ca = await readFile(join(tls, 'ca.pem'))
    return new Promise((resolve, reject) => {
      const timeout = method === 'GET' ? ASKED_MS_MAX : WAIT_MS_MAX
      const auth = `patroni:${passwords.restapi}`
      const options = { method, ca, auth, timeout, agent: false }
      const asking = request(`https://127.0.0.1:${ports.rest}${path}`, options, (reply) => {
        let said = ''
        reply.setEncoding('utf8')
        reply.on('data', (chunk: string) => {
          said += chunk
        })
        reply.on('error', reject)
        reply.on('end', () => resolve({ status: reply.statusCode!, body: said }))
      })
      asking.on('timeout', () => asking.destroy(new Error('no answer')))
      asking.on('error', reject)
      asking.end(body && JSON.stringify(body))
    })
  }

  private async connected<T>(
    database: string,
    { ports }: Machine,
    work: (client: pg.Client) => Promise<T>,
  ): Promise<T> {
    const url = new URL(this.proxy_url)
    url.port = String(ports.postgres)
    url.pathname = `/${database}`
    const client = new pg.Client({
      connectionString: url.href,
      connectionTimeoutMillis: ASKED_MS_MAX,
      query_timeout: WAIT_MS_MAX,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return await work(client)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

/** A program that works in this folder, where what it says is kept in `log`. */
async function startIn(
  folder: string,
  program: string,
  args: string[],
  { user, env }: { user?: OsUser | undefined; env?: Readonly<Record<string, string>> },
): Promise<void> {
  const output = await open(join(folder, 'log'), 'a')
  const child = spawn(program, args, {
    cwd: folder,
    stdio: ['ignore', output.fd, output.fd],
    env: { ...ENV, ...env, HOME: folder },
    ...user,
  })
  const started = once(child, 'spawn')
  await output.close()
  await started
}

/** A signal to every process that works in this folder or below it. */
async function signalIn(folder: string, signal: NodeJS.Signals): Promise<void> {
  const signalled = new Set<number>()
  for (;;) {
    // Those that were started meanwhile, too.
    const fresh = (await processesIn(folder)).filter((pid) => !signalled.has(pid))
    if (fresh.length === 0) return
    for (const pid of fresh) {
      signalled.add(pid)
      try {
        process.kill(pid, signal)
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

async function killIn(folder: string): Promise<void> {
  while ((await processesIn(folder)).length > 0) {
    await signalIn(folder, 'SIGKILL')
    await delay(20)
  }
}

async function processesIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  // Of one that has ended, and of another user's, nobody says where it works.
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, i) => `${places[i]}/`.startsWith(`${folder}/`))
}

const dataOf = ({ folder }: Machine) => join(folder, 'data')

/** What the machines share. */
type Setting = {
  programs: Programs
  folder: string
  tls: string
  user: OsUser | undefined
  passwords: Record<'superuser' | 'replication' | 'rewind' | 'restapi', string>
  /** Ends every process, and removes the folder. */
  stop: () => Promise<void>
}

async function makeSetting(programs: Programs): Promise<Setting> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-patroni-'))
  const stop = atEnd(async () => {
    await killIn(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  await chmod(folder, 0o755)
  const user = await serverUser(['postgres'])
  const tls = join(folder, 'tls')
  await mkdir(tls)
  await makeCertificates(tls)
  if (user) for (const name of ['server.key', 'server.pem']) await giveTo(user, join(tls, name))
  const password = () => randomBytes(18).toString('base64url')
  const passwords = {
    superuser: password(),
    replication: password(),
    rewind: password(),
    restapi: password(),
  }
  return { programs, folder, tls, user, passwords, stop }
}

const giveTo = ({ uid, gid }: OsUser, path: string) => chown(path, uid, gid)

/** An authority of this trial, and one certificate by it for every machine. */
async function makeCertificates(tls: string): Promise<void> {
  const [key, pem] = [join(tls, 'ca.key'), join(tls, 'ca.pem')]
  const fresh = ['-newkey', 'rsa:2048', '-nodes', '-days', '2']
  await run('openssl', ['req', '-x509', ...fresh, '-keyout', key, '-out', pem, '-subj', '/CN=ca'])
  const [own_key, asked, own] = ['server.key', 'server.csr', 'server.pem'].map((n) => join(tls, n))
  await run('openssl', [
    ...['req', ...fresh, '-keyout', own_key!, '-out', asked!, '-subj', '/CN=database'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1'],
  ])
  await run('openssl', [
    ...['x509', '-req', '-in', asked!, '-CA', pem, '-CAkey', key, '-out', own!, '-days', '2'],
    ...['-copy_extensions', 'copy'],
  ])
}

async function makeMachine(name: string, { folder: parent, user }: Setting): Promise<Machine> {
  const folder = join(parent, name)
  for (const made of [folder, join(folder, 'etcd'), join(folder, 'patroni')]) {
    await mkdir(made, { mode: 0o700 })
    if (user) await giveTo(user, made)
  }
  const [postgres, rest, etcd, peer] = await Promise.all([0, 1, 2, 3].map(() => freePort()))
  const ports = { postgres: postgres!, rest: rest!, etcd: etcd!, peer: peer! }
  return { name, folder, ports }
}

/** The variables of deploy/patroni/etcd.conf. */
async function etcdOf(
  machine: Machine,
  machines: readonly Machine[],
  tls: string,
): Promise<Record<string, string>> {
  const { name, folder, ports } = machine
  const text = await readFile(join(DEPLOY, 'etcd.conf'), 'utf8')
  const client = `https://127.0.0.1:${ports.etcd}`
  const peerOf = ({ ports }: Machine) => `https://127.0.0.1:${ports.peer}`
  return {
    ...(parseEnv(text.replaceAll(TLS, tls)) as Record<string, string>),
    ETCD_NAME: name,
    ETCD_DATA_DIR: join(folder, 'etcd', 'data'),
    ETCD_LISTEN_CLIENT_URLS: client,
    ETCD_ADVERTISE_CLIENT_URLS: client,
    ETCD_LISTEN_PEER_URLS: peerOf(machine),
    ETCD_INITIAL_ADVERTISE_PEER_URLS: peerOf(machine),
    ETCD_INITIAL_CLUSTER: machines.map((one) => `${one.name}=${peerOf(one)}`).join(','),
  }
}

/** What is changed of deploy/patroni/patroni.yml. */
type Configuration = {
  name: string
  restapi: { listen: string; connect_address: string; authentication: { password: string } }
  etcd3: { hosts: string }
  bootstrap: { dcs: { synchronous_mode: string | boolean } }
  postgresql: {
    listen: string
    connect_address: string
    data_dir: string
    bin_dir: string
    pgpass: string
    authentication: Record<'superuser' | 'replication' | 'rewind', { password: string }>
    parameters: Record<string, string>
    pg_hba: string[]
  }
  watchdog: { mode: string }
}

async function configure(
  { name, folder, ports }: Machine,
  machines: readonly Machine[],
  { programs, tls, user, passwords }: Setting,
): Promise<void> {
  const text = await readFile(join(DEPLOY, 'patroni.yml'), 'utf8')
  const config = parse(text.replaceAll(TLS, tls)) as Configuration
  const { restapi, postgresql } = config
  config.name = name
  restapi.listen = restapi.connect_address = `127.0.0.1:${ports.rest}`
  restapi.authentication.password = passwords.restapi
  config.etcd3.hosts = machines.map((one) => `127.0.0.1:${one.ports.etcd}`).join(',')
  postgresql.listen = postgresql.connect_address = `127.0.0.1:${ports.postgres}`
  postgresql.data_dir = join(folder, 'data')
  postgresql.bin_dir = programs.bin
  postgresql.pgpass = join(folder, 'pgpass')
  for (const role of ['superuser', 'replication', 'rewind'] as const)
    postgresql.authentication[role].password = passwords[role]
  config.bootstrap.dcs.synchronous_mode = synchronousMode(programs)
  // Its usual place is open to the user postgres alone, and so is the server without a password.
  postgresql.parameters.unix_socket_directories = folder
  if (!user) postgresql.pg_hba = postgresql.pg_hba.map((line) => line.replace('peer', 'trust'))
  // It would restart this machine, and three cannot have the same.
  config.watchdog.mode = 'off'
  const file = join(folder, 'patroni.yml')
  await writeFile(file, JSON.stringify(config), { mode: 0o600 })
  if (user) await giveTo(user, file)
}

/** Older ones know no quorum: one standby that they choose confirms commits. */
const synchronousMode = ({ major }: Programs) => (major >= 4 ? 'quorum' : true)
