// Two or three PostgreSQL servers on this machine of which one takes writes and the others follow
// it, with nothing but what npm brings: a copy of the folder, the server's own replication, and
// pg_promote(). Whoever manages them here fences before it promotes, as a right manager does: the
// old primary is dead, or never runs again.

import { execFile } from 'node:child_process'
import {
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  freePort,
  type Postgres,
  startPostgres,
} from 'penstock-service/platform/postgres/server.ts'
import pg from 'pg'
import { atEnd } from '../../tools/ending.ts'

const WAIT_MS_MAX = 60_000
/** A commit waits for any one standby. */
export const QUORUM = 'ANY 1 (*)'

/** One server, running or not. */
export type Server = { folder: string; port: number; running: Postgres | undefined }

/** What a standby must keep, so that another can follow it after it was promoted. */
const SETTINGS = {
  shared_buffers: '32MB',
  wal_keep_size: '256MB',
  wal_retrieve_retry_interval: '100ms',
}

/** Not part of a copy: what belongs to the running server. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts', 'pg_wal', 'standby.signal'])

export class Servers implements Postgres {
  /** Leads to all of them. */
  readonly url: string
  readonly all: readonly Server[]
  primary: Server
  readonly ended: Promise<void> = new Promise(() => {})
  /** Ends them all, once; an interrupted run does it too. */
  readonly stop: () => Promise<void>
  private readonly parent: string

  /** So many servers, the first of which takes writes; a commit waits for one of the others. */
  static async open(count: number): Promise<Servers> {
    const parent = await mkdtemp(join(tmpdir(), 'penstock-servers-'))
    // The user that the servers run as must get there.
    await promisify(execFile)('chmod', ['755', parent])
    const all: Server[] = []
    for (let i = 0; i < count; i++)
      all.push({ folder: join(parent, `server${i}`), port: await freePort(), running: undefined })
    const first = all[0]!
    first.running = await started(first)
    const servers = new Servers(parent, all)
    try {
      await Promise.all(all.slice(1).map((server) => servers.join(server)))
      await servers.commitWith(first, QUORUM)
      await servers.untilReplicated()
    } catch (thrown) {
      await servers.stop()
      throw thrown
    }
    return servers
  }

  private constructor(parent: string, all: readonly Server[]) {
    this.parent = parent
    this.all = all
    this.primary = all[0]!
    const { url } = this.primary.running!
    const hosts = all.map(({ port }) => `127.0.0.1:${port}`).join(',')
    this.url = url.replace(/127\.0\.0\.1:\d+/, hosts)
    this.stop = atEnd(() => this.end())
  }

  get standbys(): Server[] {
    return this.all.filter((server) => server !== this.primary && server.running)
  }

  /** The address of one of them alone. */
  urlOf({ port }: Server): string {
    return this.url.replace(/127\.0\.0\.1:[\d.:,]+/, `127.0.0.1:${port}`)
  }

  /** Copies the primary and follows it. What was in the folder is gone. */
  async join(server: Server): Promise<void> {
    await rm(server.folder, { recursive: true, force: true })
    await copyRunning(this.primary, server, (work) => this.connected(this.primary, work))
    await this.follow(server)
    server.running = await started(server)
  }

  /** From now on the server follows the primary; one that runs does so at once. */
  async follow(server: Server): Promise<void> {
    const { port } = this.primary
    const password = await readFile(join(server.folder, 'password'), 'utf8')
    const name = `application_name=server${this.all.indexOf(server)}`
    const primary = `host=127.0.0.1 port=${port} user=penstock password=${password} ${name}`
    const config = join(server.folder, 'data', 'postgresql.auto.conf')
    const lines = [`primary_conninfo = '${primary}'`, `synchronous_standby_names = '${QUORUM}'`]
    await appendFile(config, `${lines.join('\n')}\n`)
    if (server.running) await this.ask(server, 'select pg_reload_conf()')
    else await writeAs(server, 'standby.signal', '')
  }

  /** Which standbys a commit waits for: `QUORUM`, or none when the text is empty. */
  async commitWith(server: Server, standbys: string): Promise<void> {
    await this.ask(server, `alter system set synchronous_standby_names = '${standbys}'`)
    await this.ask(server, 'select pg_reload_conf()')
  }

  /** A commit waits for a standby, and there is one. */
  async untilReplicated(): Promise<void> {
    await until('no standby follows', async () => {
      const rows = await this.ask(
        this.primary,
        `select from pg_stat_replication where sync_state = 'quorum' and state = 'streaming'`,
      )
      return rows.length > 0
    })
  }

  /** SIGKILL, or another signal, to every process of a server at once. */
  async signal(server: Server, signal: NodeJS.Signals): Promise<void> {
    for (const pid of await processesOf(server)) {
      try {
        process.kill(pid, signal)
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** Every process of the server is dead. */
  async kill(server: Server): Promise<void> {
    await this.signal(server, 'SIGKILL')
    await endOf(server)
    server.running = undefined
  }

  /** Asks a server to stop: it lets the standbys have everything before. */
  async stopOne(server: Server): Promise<void> {
    await server.running?.stop()
    server.running = undefined
  }

  /** Starts a server that was killed, as what it was. */
  async start(server: Server): Promise<void> {
    server.running = await started(server)
  }

  /** The standby that has most takes writes from now on, and the others follow it. The primary
   *  before is fenced already: it is dead, or never goes on. Returns it. */
  async promote(): Promise<Server> {
    const before = this.primary
    const { standbys } = this
    const bytes = await Promise.all(standbys.map((server) => this.bytesOf(server)))
    const most = bytes.reduce((best, one, i) => (one > bytes[best]! ? i : best), 0)
    const chosen = standbys[most]!
    await this.ask(chosen, 'select pg_promote(true, 60)')
    this.primary = chosen
    for (const other of standbys) if (other !== chosen) await this.follow(other)
    return before
  }

  /** How much of the log a standby has. One that was started again knows of nothing that it had
   *  received before, but replays it: it has come to its end when it waits for more. */
  private async bytesOf(server: Server): Promise<bigint> {
    await until('a standby is still replaying', async () => {
      const rows = await this.ask(
        server,
        `select from pg_stat_activity where backend_type = 'startup'
           and wait_event in ('RecoveryWalStream', 'RecoveryRetrieveRetryInterval')`,
      )
      return rows.length > 0
    })
    const [row] = await this.ask<{ bytes: string }>(
      server,
      `select greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn
         as bytes`,
    )
    return BigInt(row!.bytes)
  }

  /** Asks one server, by a connection of its own. */
  ask<Row extends pg.QueryResultRow>(server: Server, statement: string): Promise<Row[]> {
    return this.connected(server, async (client) => (await client.query<Row>(statement)).rows)
  }

  private async connected<T>(server: Server, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({
      connectionString: this.urlOf(server),
      connectionTimeoutMillis: 10_000,
      options: '-c synchronous_commit=local',
    })
    client.on('error', () => {})
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  private async end(): Promise<void> {
    await Promise.all(this.all.map((server) => this.signal(server, 'SIGKILL')))
    await Promise.all(this.all.map(endOf))
    await rm(this.parent, { recursive: true, force: true })
  }
}

const started = ({ folder, port }: Server): Promise<Postgres> =>
  startPostgres({ folder, port, settings: SETTINGS })

/** Waits for it: what runs a server does not keep this process alive by itself. */
async function endOf({ running }: Server): Promise<void> {
  const waiting = setInterval(() => {}, 1_000)
  await running?.ended
  clearInterval(waiting)
}

async function until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  const began_ms = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began_ms > WAIT_MS_MAX) throw new Error(otherwise)
    await delay(20)
  }
}

/** A copy of a running server's folder, as its own manual says: between start and stop of a
 *  backup, on one connection. The log of the time between comes by replication. */
async function copyRunning(
  from: Server,
  to: Server,
  connected: <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>,
): Promise<void> {
  const source = join(from.folder, 'data')
  const target = join(to.folder, 'data')
  await connected(async (client) => {
    await client.query(`select pg_backup_start('copy', fast => true)`)
    await mkdir(to.folder, { mode: 0o700 })
    await copyFile(join(from.folder, 'password'), join(to.folder, 'password'))
    await copyFolder(source, target, LEFT_OUT)
    await mkdir(join(target, 'pg_wal'), { mode: 0o700 })
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(false)',
    )
    await writeFile(join(target, 'backup_label'), rows[0]!.labelfile, { mode: 0o600 })
  })
  const { uid, gid } = await stat(from.folder)
  await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, to.folder])
}

/** Files may go while they are copied: the log says so to whoever reads the copy. */
async function copyFolder(
  from: string,
  to: string,
  left_out: ReadonlySet<string> = new Set(),
): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (left_out.has(entry.name)) continue
    if (entry.isDirectory()) await copyFolder(source, target)
    else
      await copyFile(source, target).catch((thrown: NodeJS.ErrnoException) => {
        if (thrown.code !== 'ENOENT') throw thrown
      })
  }
}

/** Writes a file of a server as its own user would. */
async function writeAs({ folder }: Server, name: string, text: string): Promise<void> {
  const path = join(folder, 'data', name)
  await writeFile(path, text, { mode: 0o600 })
  const { uid, gid } = await stat(folder)
  await promisify(execFile)('chown', [`${uid}:${gid}`, path])
}

/** The server whose data lies in this folder, and what it has started. */
async function processesOf({ folder }: { folder: string }): Promise<number[]> {
  const noted = await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8').catch(() => '')
  const server = Number.parseInt(noted, 10)
  if (!(server > 0)) return []
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const children = pairs.filter(([, parent]) => parent === server).map(([pid]) => pid!)
  return pairs.some(([pid]) => pid === server) ? [server, ...children] : []
}
