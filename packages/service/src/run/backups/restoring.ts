// A backup brought back: unpacked, every file held against the manifest, and played on to a moment
// by a server of its own, which nobody reaches but who started it: it listens on a socket in a
// folder of its own alone, archives nothing and waits for no standby. What was played on begins
// another timeline, so that its log never mixes with that of the server it was copied from.

import { execFile } from 'node:child_process'
import { chown, cp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { refusal } from '../../lib/fault.ts'
import { connect, type Sql } from '../../platform/database/sql.ts'
import { placeThrowAway } from '../../platform/postgres/folder.ts'
import {
  findPrograms,
  type OsUser,
  runProgram,
  serverUser,
} from '../../platform/postgres/programs.ts'
import { type Cluster, runWatched, stopServer, tail } from '../../platform/postgres/server.ts'
import {
  damageOf,
  idAt,
  type KeptBackup,
  listBackups,
  makeEmpty,
  readBackup,
  sumOf,
} from './backup_folder.ts'
import { ARCHIVE, MANIFEST } from './base_backup.ts'

export type RestoreSource = {
  /** What is copied: the folder of a backup, or a data folder of PostgreSQL. */
  folder: string
  /** Undefined: a data folder, that another program has restored. */
  backup: KeptBackup | undefined
  /** What is wrong with newer ones that were passed over. */
  passed_over: readonly string[]
}

/** Finds what is meant by a folder: that of one backup, of several (the newest of those that were
 *  made before the moment and are whole), or a data folder. Throws Refused. */
export async function findSource(folder: string, at?: Date): Promise<RestoreSource> {
  const path = resolve(folder)
  const one = await readBackup(path)
  if (one) return { folder: path, backup: one, passed_over: [] }
  if (await stat(join(path, 'PG_VERSION')).catch(() => undefined))
    return { folder: path, backup: undefined, passed_over: [] }
  const { whole, damaged } = await listBackups(path)
  const backup = whole.find(({ made_at }) => at === undefined || made_at <= at)
  const passed_over = damaged
    .filter(({ id }) => (at === undefined || id <= idAt(at)) && id > (backup?.id ?? ''))
    .map(({ wrong }) => wrong)
  if (backup) return { folder: backup.folder, backup, passed_over }
  if (passed_over.length > 0) throw refusal(passed_over.join(' '))
  throw refusal(
    whole.length === 0
      ? `${folder} has no backup.`
      : `${folder} has no backup from before ${at!.toISOString()}.`,
  )
}

export type RestoreInput = {
  source: RestoreSource
  /** Where the data folder is made; undefined: in a throw-away place. */
  to: string | undefined
  /** To which moment it is played on: to the end of what there is when left out. */
  at: Date | undefined
  /** A folder with the log that was archived since. */
  archive: string | undefined
  /** The role and the database, where the backup does not say it. */
  login: { user: string; database: string }
  bin: string | undefined
  /** What is done now, and how many stages are over. */
  tell(what: string, stages: number): void
}

/** A restored server that runs, until it is stopped. */
export type RestoredServer = {
  sql: Sql
  /** How many files were held against the manifest; null: there was none. */
  files_checked: number | null
  /** Stops it, and removes what was throw-away. */
  stop(): Promise<void>
}

/** Restores, and starts a server on it. Throws Refused when a file is not what was copied, or the
 *  moment cannot be reached. */
export async function startRestored(input: RestoreInput): Promise<RestoredServer> {
  const { source, to, archive, tell } = input
  if (archive !== undefined) requirePlainPath(archive)
  const user = await serverUser(['postgres', 'nobody'])
  const place = await placeThrowAway(user)
  const bin = await findPrograms(input.bin, user)
  const cluster: Cluster = { ...place, bin, throw_away: true }
  try {
    const data = to === undefined ? join(place.folder, 'data') : resolve(to)
    if (to !== undefined) await makeEmpty(data)
    tell('reading the backup', 0)
    const files_checked = await fill(data, source)
    await writeFile(join(data, 'recovery.signal'), '', { mode: 0o600 })
    await giveTo(data, to === undefined ? user : await ownerOf(data, user))
    tell('playing the log', 1)
    const server = await recover(cluster, data, input)
    return { ...server, files_checked }
  } catch (thrown) {
    await rm(place.folder, { recursive: true, force: true })
    throw thrown
  }
}

/** Fills the data folder, and holds its files against the manifest. */
async function fill(data: string, { folder, backup }: RestoreSource): Promise<number | null> {
  if (!backup) {
    const running = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => undefined)
    if (running !== undefined)
      throw refusal(`A server runs on ${folder}: only what stands still can be copied.`)
    await cp(folder, data, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
    return null
  }
  const damage = await damageOf(backup)
  if (damage.length > 0) throw refusal(`${damage.join('; ')}.`)
  await makeEmpty(data)
  await promisify(execFile)('tar', ['-xzf', join(folder, ARCHIVE), '-C', data]).catch((thrown) => {
    throw refusal(`The archive cannot be unpacked: ${String(thrown.stderr ?? thrown).trim()}.`)
  })
  return requireFiles(data, join(folder, MANIFEST))
}

type Manifest = { Files: { Path: string; Size: number; Checksum: string }[] }

/** Throws Refused unless every file of the manifest is there, as it was copied. Returns how
 *  many. */
async function requireFiles(data: string, manifest: string): Promise<number> {
  const { Files: files } = JSON.parse(await readFile(manifest, 'utf8')) as Manifest
  for (const { Path: path, Checksum: sum } of files) {
    const found = await sumOf(join(data, path)).catch(() => undefined)
    if (found !== sum) throw refusal(`${path} of the backup is not what was copied.`)
  }
  return files.length
}

async function ownerOf(folder: string, user: OsUser | undefined): Promise<OsUser | undefined> {
  if (user === undefined) return undefined
  const { uid, gid } = await stat(folder)
  return uid === 0 ? user : { uid, gid }
}

async function giveTo(folder: string, user: OsUser | undefined): Promise<void> {
  await runProgram('chmod', ['700', folder], undefined)
  if (user) await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, folder], undefined)
}

/** The server runs a command of a shell with it. */
function requirePlainPath(folder: string): void {
  if (!/^[\w./+@-]+$/.test(resolve(folder)))
    throw refusal(`${folder}: the path of an archive has letters, digits and ./+@_- alone.`)
}

/** Whatever the copied server was told, in its files too. */
function settingsOf({ folder }: Cluster, { at, archive }: RestoreInput): string[] {
  const settings: Record<string, string> = {
    config_file: join(folder, 'postgresql.conf'),
    hba_file: join(folder, 'pg_hba.conf'),
    ident_file: join(folder, 'pg_ident.conf'),
    external_pid_file: '',
    listen_addresses: '',
    unix_socket_directories: folder,
    unix_socket_permissions: '0700',
    port: '5432',
    ssl: 'off',
    shared_preload_libraries: '',
    archive_mode: 'off',
    synchronous_standby_names: '',
    primary_conninfo: '',
    hot_standby: 'off',
    logging_collector: 'off',
    log_destination: 'stderr',
    max_connections: '20',
    autovacuum: 'off',
    jit: 'off',
    timezone: 'UTC',
    restore_command: archive === undefined ? 'false' : `cp '${resolve(archive)}/%f' '%p'`,
    recovery_target: '',
    recovery_target_lsn: '',
    recovery_target_name: '',
    recovery_target_xid: '',
    recovery_target_time: at?.toISOString().replace('T', ' ').replace('Z', '+00') ?? '',
    recovery_target_timeline: 'latest',
    recovery_target_action: 'promote',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function recover(
  cluster: Cluster,
  data: string,
  input: RestoreInput,
): Promise<Pick<RestoredServer, 'sql' | 'stop'>> {
  const { folder, user } = cluster
  const files = {
    'postgresql.conf': '',
    'pg_hba.conf': 'local all all trust\n',
    'pg_ident.conf': '',
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    if (user) await chown(join(folder, name), user.uid, user.gid)
  }
  // The folder is gone with the server; what it said at its end is wanted after that.
  const output = `${folder}.log`
  const args = ['-D', data, ...settingsOf(cluster, input)]
  const server = await runWatched(cluster, 'postgres', args, output)
  const { user: role, database } = input.source.backup ?? input.login
  const socket = encodeURIComponent(folder)
  const url = `postgres://${encodeURIComponent(role)}@${socket}:5432/${database}`
  const sql = connect({ url, connections_max: 2, statement_timeout_ms: STATEMENT_MS_MAX })
  const stop = async () => {
    await sql.close()
    await stopServer(cluster, server)
    await rm(output, { force: true })
  }
  let ended = false
  void server.exited.then(() => (ended = true))
  try {
    // Playing the log takes as long as it takes: the server's end is the only limit.
    for (;;) {
      const refused = await sql`select 1`.then(
        () => undefined,
        (thrown: Error) => thrown,
      )
      if (!refused) return { sql, stop }
      if (isOfRole(refused))
        throw refusal(`The restored server refuses ${role}: ${refused.message}`)
      if (ended) throw refusal(`The server that was restored ended:\n${await said(output)}`)
      await delay(50)
    }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

/** A check of the books of millions of rows takes its time. */
const STATEMENT_MS_MAX = 3_600_000

/** No such role or database; not that it is starting. */
const isOfRole = (thrown: Error) => 'code' in thrown && /^(28|3D)/.test(String(thrown.code))

/** What a server says at its end, without what it says of every file of the log. */
async function said(output: string): Promise<string> {
  const lines = (await tail(output, 0)).split('\n')
  return lines.filter((line) => /FATAL|ERROR|HINT|DETAIL/.test(line)).join('\n') || lines.join('\n')
}
