import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  chmod,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { requireDurable } from '../database/durable.ts'
import { connect, type Sql } from '../database/sql.ts'
import { type Postgres, type PostgresOptions, startPostgres } from './server.ts'

/** A place that the server's user can reach. */
const parent = await mkdtemp(join(tmpdir(), 'penstock-test-'))
await chmod(parent, 0o755)
after(() => rm(parent, { recursive: true, force: true }))

/** A cluster that most tests share, one after the other. */
const folder = join(parent, 'pg')

async function start(t: TestContext, options: PostgresOptions): Promise<Postgres & { sql: Sql }> {
  const server = await startPostgres(options)
  const sql = connect({ url: server.url })
  t.after(async () => {
    await sql.close()
    await server.stop()
  })
  return { ...server, sql }
}

/** Another process that has the cluster running; with the url of its server. */
async function startElsewhere(
  t: TestContext,
  options: PostgresOptions,
): Promise<{ child: ChildProcess; url: string }> {
  const child = spawnStarter(t, options)
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  return { child, url: line.toString().trim() }
}

function spawnStarter(t: TestContext, options: PostgresOptions): ChildProcess {
  const script = `
    import { startPostgres } from '${new URL('server.ts', import.meta.url)}'
    const { url } = await startPostgres(JSON.parse(process.argv[1]))
    console.log(url)
    setInterval(() => {}, 1_000)`
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    script,
    JSON.stringify(options),
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(5)
}

async function serverPid(folder: string): Promise<number> {
  return Number.parseInt(await readFile(join(folder, 'data/postmaster.pid'), 'utf8'), 10)
}

async function parentOf(pid: number): Promise<number> {
  if (process.platform !== 'linux')
    return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)]))
  return Number(/^PPid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a cluster keeps its rows over a stop, commits on disk, wants its password', async (t) => {
  const first = await startPostgres({ folder, settings: { fsync: 'off' } })
  const before = connect({ url: first.url })
  await requireDurable(before)
  await before`create table kept as select 1 as one`
  await before.close()
  await first.stop()
  await first.stop()
  await first.ended

  const { url, sql } = await start(t, { folder })
  assert.deepEqual(await sql`select one from kept`, [{ one: 1 }])
  assert.deepEqual(
    await sql`
      select current_setting('data_checksums') as sums, current_setting('listen_addresses') as at`,
    [{ sums: 'on', at: '127.0.0.1' }],
  )
  const wrong = connect({ url: url.replace(/:[^:@]+@/, ':guess@') })
  await assert.rejects(wrong`select 1`, /password authentication failed/)
  await wrong.close()
  assert.equal((await stat(join(folder, 'password'))).mode & 0o777, 0o600)
})

test('a second Penstock on the same folder is refused, here and in another process', async (t) => {
  const { url, child } = await startElsewhere(t, { folder })
  await assert.rejects(startPostgres({ folder }), {
    message: `Another Penstock is running on ${folder}.`,
  })
  const sql = connect({ url })
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }], 'the first one is not disturbed')
  await sql.close()
  await killed(child)
  await start(t, { folder })
  await assert.rejects(startPostgres({ folder }), {
    message: `Another Penstock is running on ${folder}.`,
  })
})

test('the server ends when the process that started it is killed', async (t) => {
  const { child } = await startElsewhere(t, { folder })
  const pid = await serverPid(folder)
  await killed(child)
  await until(() => !runs(pid))
})

test('a start waits for the end of the server of a killed process', async (t) => {
  for (let round = 0; round < 3; round++) await killed((await startElsewhere(t, { folder })).child)
  const { sql } = await start(t, { folder })
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
})

test('a server that was left running is ended by the next start', async (t) => {
  const { child, url } = await startElsewhere(t, { folder })
  const pid = await serverPid(folder)
  const busy = connect({ url })
  await busy`select 1`
  const watchdog = await parentOf(pid)
  process.kill(-watchdog, 'SIGSTOP')
  child.kill('SIGKILL')
  process.kill(watchdog, 'SIGKILL')
  process.kill(-watchdog, 'SIGCONT')
  await once(child, 'exit')
  const { sql } = await start(t, { folder })
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
  assert.notEqual(await serverPid(folder), pid)
  await busy.close()
})

test("a killed server's pid may be anybody's: the next start is not misled by it", async (t) => {
  const first = await startPostgres({ folder })
  process.kill(await serverPid(folder), 'SIGKILL')
  await first.ended
  const file = join(folder, 'data/postmaster.pid')
  const noted = await readFile(file, 'utf8')
  await writeFile(file, noted.replace(/^\d+/, String(process.pid)))
  const { sql } = await start(t, { folder })
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
})

test('a process killed while it makes the cluster leaves nothing half made', async (t) => {
  const folder = join(parent, 'interrupted')
  const entries = async () => (existsSync(folder) ? await readdir(folder) : [])
  for (const sign of ['unfinished-', 'data']) {
    const child = spawnStarter(t, { folder })
    await until(async () => (await entries()).some((name) => name.startsWith(sign)))
    await killed(child)
  }
  const { sql } = await start(t, { folder })
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
  assert.deepEqual((await entries()).sort(), ['data', 'lock', 'password', 'server.log'])
})

test('a throw-away cluster is gone after a stop and after a kill', async (t) => {
  const server = await startPostgres({ throw_away: true })
  const sql = connect({ url: server.url })
  const where = async (from: Sql) =>
    (await from<{ folder: string }>`select current_setting('data_directory') as folder`)[0]!.folder
  const folder = await where(sql)
  await sql.close()
  await server.stop()
  assert.equal(existsSync(folder), false)

  const { child, url } = await startElsewhere(t, { throw_away: true })
  const other = connect({ url })
  const left = await where(other)
  await other.close()
  await killed(child)
  await until(() => !existsSync(left))
})

test('a server that does not start says why', async (t) => {
  await assert.rejects(
    startPostgres({ folder, settings: { work_mem: 'plenty' } }),
    /did not start:[\s\S]*work_mem/,
  )
  await start(t, { folder })
})

test('a server that may forget a commit is refused', async (t) => {
  const { sql, url } = await start(t, { folder })
  await sql`alter role penstock set synchronous_commit = off`
  const forgetful = connect({ url })
  await assert.rejects(requireDurable(forgetful), {
    message:
      'The PostgreSQL server has synchronous_commit = off; Penstock needs on or remote_apply.',
  })
  await forgetful.close()
  await sql`alter role penstock reset synchronous_commit`
})

const NOT_ROOT =
  process.getuid?.() !== 0 && 'what root gets as a database server is tested as root alone'

test('root gets a cluster of another user, even in a folder closed to others', {
  skip: NOT_ROOT,
}, async (t) => {
  const closed = await mkdtemp(join(tmpdir(), 'penstock-test-'))
  const folder = join(closed, 'data/pg')
  const told: unknown[] = []
  const options: PostgresOptions = {
    folder,
    os_users: ['nobody'],
    log: (event, fields) => told.push({ event, ...fields }),
  }
  const first = await startPostgres(options)
  await first.stop()
  const place = await realpath(folder)
  assert.equal((await lstat(folder)).isSymbolicLink(), true)
  assert.deepEqual(told, [{ event: 'postgres_relocated', wanted: folder, folder: place }])
  assert.notEqual((await stat(join(place, 'data'))).uid, 0)
  const { sql } = await start(t, options)
  // After the server's end, which start() has asked for first: hooks run in their order.
  t.after(async () => {
    for (const path of [closed, place]) await rm(path, { recursive: true, force: true })
  })
  assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
  assert.equal(told.length, 1)
})

test('a link to a cluster that is gone is not followed', async () => {
  const link = join(parent, 'link')
  await symlink('/nowhere/at/all', link)
  await assert.rejects(startPostgres({ folder: link }), {
    message: `${link} is a link to a folder that does not exist.`,
  })
})
