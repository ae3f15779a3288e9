// A private PostgreSQL in a folder, for those who bring none: the same server, driver and SQL as in
// production, with every commit on disk. It ends with this process, however that ends: a small
// shell holds a pipe from us and stops the server when the pipe closes. The server has its own
// process group, so Ctrl-C reaches us alone and we stop it when we are done.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chown,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { createServer, Socket } from 'node:net'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { Misuse } from '../../lib/fault.ts'
import { syncFolder } from '../../lib/files.ts'
import { type Log, silentLog } from '../../lib/log.ts'
import { lockFolder, type Place, placeCluster, placeThrowAway } from './folder.ts'
import { environment, findPrograms, runProgram, serverUser } from './programs.ts'

export type PostgresOptions = {
  /** A folder with `postgres` and `initdb` to use instead of those that come through npm. */
  bin?: string
  settings?: Record<string, string>
  /** Any free one when left out. */
  port?: number
  log?: Log
  /** The users that root may run the server as; the first one that exists is taken. */
  os_users?: readonly string[]
} & ({ folder: string; throw_away?: false } | { throw_away: true })

export type Postgres = {
  /** Leads to the database `penstock`, as a superuser, with the password. */
  url: string
  /** Stops the server and waits for its end; a throw-away cluster is removed. */
  stop(): Promise<void>
  /** Resolves when the server has ended, asked or not. */
  ended: Promise<void>
}

export type Cluster = Place & { bin: string; throw_away: boolean }

const STOP_MS_MAX = 20_000
const PORTS_TRIED_MAX = 5

/** Starts the cluster in the folder, making it on the first start. Throws one sentence when another
 *  process of ours runs on the folder, and the last lines of the server's log when it does not
 *  start. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const log = options.log ?? silentLog
  const wanted_user = await serverUser(options.os_users ?? ['postgres', 'nobody'])
  const place = options.throw_away
    ? await placeThrowAway(wanted_user)
    : await placeCluster(options.folder, wanted_user, (folder) =>
        log('postgres_relocated', { wanted: options.folder, folder }),
      )
  const lock = lockFolder(place.folder)
  if (!lock)
    throw new Misuse(
      `Another Penstock is running on ${options.throw_away ? place.folder : options.folder}.`,
    )
  try {
    const bin = await findPrograms(options.bin, place.user)
    const cluster = { ...place, bin, throw_away: options.throw_away ?? false }
    await endServerLeftRunning(place.folder)
    await initialise(cluster)
    const started = await startServer(cluster, options)
    void started.ended.then(lock.release)
    const stop = () => started.stop().then(lock.release)
    return { ...started, stop }
  } catch (thrown) {
    lock.release()
    if (options.throw_away) await rm(place.folder, { recursive: true, force: true })
    throw thrown
  }
}

/** Makes the cluster, unless it is there. It gets its name when it is complete: an interrupted
 *  attempt leaves no cluster. */
async function initialise(cluster: Cluster): Promise<void> {
  const { folder, user } = cluster
  for (const name of await readdir(folder))
    if (name.startsWith('unfinished-'))
      await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 })
  if (await stat(join(folder, 'data')).catch(() => undefined)) return
  const fresh = await mkdtemp(join(folder, 'unfinished-'))
  await writeFile(join(fresh, 'password'), randomBytes(24).toString('base64url'), { mode: 0o600 })
  if (user)
    for (const path of [fresh, join(fresh, 'password')]) await chown(path, user.uid, user.gid)
  const args = [
    '-D',
    join(fresh, 'data'),
    '-U',
    'penstock',
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    '--locale=C',
  ]
  args.push('--data-checksums', '--no-instructions', `--pwfile=${join(fresh, 'password')}`)
  if (cluster.throw_away) args.push('--no-sync')
  const output = join(fresh, 'initdb.log')
  const { exited } = await runWatched(cluster, 'initdb', args, output)
  if ((await exited) !== 0)
    throw new Misuse(`PostgreSQL's initdb failed:\n${await tail(output, 0)}`)
  await rename(join(fresh, 'password'), join(folder, 'password'))
  await rename(join(fresh, 'data'), join(folder, 'data'))
  await rm(fresh, { recursive: true })
  await syncFolder(folder)
  // The folder above may be closed to us.
  await syncFolder(join(folder, '..')).catch(() => {})
}

async function startServer(
  cluster: Cluster,
  { settings = {}, port: wanted }: PostgresOptions,
): Promise<Postgres> {
  const password = await readFile(join(cluster.folder, 'password'), 'utf8')
  const output = join(cluster.folder, 'server.log')
  for (let tried = 1; ; tried++) {
    const port = wanted ?? (await freePort())
    const from = (await stat(output).catch(() => undefined))?.size ?? 0
    const args = ['-D', join(cluster.folder, 'data'), ...serverSettings(port, settings)]
    const server = await runWatched(cluster, 'postgres', args, output)
    const url = `postgres://penstock:${password}@127.0.0.1:${port}/penstock`
    const stop = () => stopServer(cluster, server)
    if (
      await answers(url, server.exited).catch((thrown) => stop().then(() => Promise.reject(thrown)))
    ) {
      server.detach()
      return { url, stop, ended: server.exited.then(() => {}) }
    }
    const said = await tail(output, from)
    // Between the choice of a port and its use another process may have taken it.
    if (tried >= PORTS_TRIED_MAX || !said.includes('could not create any TCP/IP sockets'))
      throw new Misuse(`PostgreSQL did not start:\n${said}`)
  }
}

function serverSettings(port: number, settings: Record<string, string>): string[] {
  const all: Record<string, string> = {
    shared_buffers: totalmem() < 4 * 2 ** 30 ? '128MB' : '256MB',
    min_wal_size: '128MB',
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    random_page_cost: '1.1',
    jit: 'off',
    max_connections: '100',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // What a statement is refused for, its sender is told; the log would keep it for ever.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    unix_socket_directories: '',
    ...settings,
    port: String(port),
    listen_addresses: '127.0.0.1',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
  }
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** Waits until the server answers to our password and the database is there. False when it ends
 *  before. Recovery after a crash may take its time, so the server's end is the only limit. */
async function answers(url: string, exited: Promise<number>): Promise<boolean> {
  let running = true
  void exited.then(() => {
    running = false
  })
  while (running) {
    const client = new pg.Client({
      connectionString: url.replace(/penstock$/, 'postgres'),
      connectionTimeoutMillis: 1_000,
    })
    client.on('error', () => {})
    const refused = await client.connect().then(
      () => undefined,
      (thrown: Error & { code?: string }) => thrown,
    )
    if (!refused) {
      const { rowCount } = await client.query("select from pg_database where datname = 'penstock'")
      if (rowCount === 0) await client.query('create database penstock')
      await client.end()
      return true
    }
    const password_refused = refused.code?.startsWith('28')
    if (password_refused && running) throw refused
    await delay(20)
  }
  return false
}

/** What runs the server. It stands between us and the server: when the pipe from us closes, it
 *  stops the server, and it leaves with the server's exit code. $1: the signal that stops. $2: a
 *  folder to remove at the end, or empty. */
const WATCHDOG = `
signal=$1; remove=$2; shift 2
exec 3<&0 </dev/null
"$@" 3<&- & server=$!
{ read -r _ <&3; kill -s "$signal" $server; } 2>/dev/null & reader=$!
exec 3<&-
wait $server; code=$?
kill $reader 2>/dev/null
[ -z "$remove" ] || rm -rf "$remove"
exit $code`

export type WatchedProcess = {
  child: ChildProcess
  /** Resolves to the exit code; a signal counts as -1. */
  exited: Promise<number>
  /** Lets our process end while the server runs. */
  detach(): void
}

/** Starts a program of PostgreSQL, which ends with this process. A throw-away folder is removed
 *  when the server has ended. */
export async function runWatched(
  cluster: Cluster,
  program: string,
  args: string[],
  output: string,
): Promise<WatchedProcess> {
  const { folder, user, bin, throw_away } = cluster
  const [signal, remove] = throw_away && program === 'postgres' ? ['QUIT', folder] : ['INT', '']
  const log = await open(output, 'a', 0o600)
  const command = ['-c', WATCHDOG, 'penstock-watchdog', signal, remove, join(bin, program), ...args]
  const child = spawn('/bin/sh', command, {
    cwd: '/',
    detached: true,
    env: environment,
    stdio: ['pipe', log.fd, log.fd],
    ...user,
  })
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code) => resolve(code ?? -1))
    child.once('error', () => resolve(-1))
  })
  await log.close()
  return {
    child,
    exited,
    detach() {
      child.unref()
      if (child.stdin instanceof Socket) child.stdin.unref()
    },
  }
}

export async function stopServer(
  { folder, throw_away }: Cluster,
  { child, exited }: WatchedProcess,
): Promise<void> {
  const ended = (ms: number) =>
    Promise.race([exited.then(() => true), delay(ms, false, { ref: false })])
  child.ref()
  child.stdin?.end()
  if (!(await ended(STOP_MS_MAX))) {
    const pid = await serverPid(folder)
    if (pid !== undefined) process.kill(pid, 'SIGQUIT')
    if (!(await ended(STOP_MS_MAX)) && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await exited
  }
  if (throw_away) await rm(folder, { recursive: true, force: true })
}

/** Stops a server whose Penstock is gone. The lock on the folder is ours, so nobody else uses
 *  it. */
async function endServerLeftRunning(folder: string): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    const pid = await serverPid(folder)
    if (pid === undefined) break
    process.kill(pid, signal)
    for (
      let waited_ms = 0;
      waited_ms < STOP_MS_MAX && (await serverPid(folder)) === pid;
      waited_ms += 20
    )
      await delay(20)
  }
  const pid = await serverPid(folder)
  if (pid !== undefined)
    throw new Error(`The PostgreSQL server ${pid} runs on ${folder} and does not stop.`)
  // A server that was killed leaves this file, and PostgreSQL does not start while the pid in it is
  // anybody's.
  await rm(join(folder, 'data', 'postmaster.pid'), { force: true })
}

/** The pid of the server that runs on the cluster; not that of another process that has got the
 *  same number since. */
async function serverPid(folder: string): Promise<number | undefined> {
  const data = join(folder, 'data')
  const noted = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number.parseInt(noted, 10)
  if (!(pid > 0)) return undefined
  const command =
    process.platform === 'linux'
      ? (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')
      : (await runProgram('ps', ['-p', String(pid), '-o', 'command='], undefined)).output
  return command.includes(`/postgres -D ${data} `) && !command.startsWith('/bin/sh ')
    ? pid
    : undefined
}

/** The last lines of a log, from the given position on. */
export async function tail(path: string, from: number): Promise<string> {
  const text = await readFile(path).catch(() => Buffer.alloc(0))
  return text.subarray(from).toString('utf8').trim().split('\n').slice(-12).join('\n')
}
