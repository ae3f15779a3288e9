// `npm run torture -- restore`: the whole database is lost. Under load a backup is made, a moment
// is noted, and more is sold; then the server and its folder are gone. The backup is played on to
// the moment with the log that was archived. Exactly the orders of the moment must be there, the
// books must hold, what was signed must name what is missing, and a service that is started on it
// must sell and send nothing.

import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runProgram, serverUser } from 'penstock-service/postgres/programs.ts'
import { freePort, type Postgres, startPostgres } from 'penstock-service/postgres/server.ts'
import { signedCall } from '../../bench/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Buyers, type Reply } from './buyers.ts'
import { Rig, type Role } from './rig.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker']
const PEOPLE = 4
const PAUSE_MS = 50
const BLOCK_MS = 200
/** For so long the restored service is watched. */
const RESTING_MS = 4_000
const SECONDS_MAX = 60
const WAIT_MS_MAX = 60_000
const REFUSED = 35

const say = (line: string) => process.stdout.write(`${line}\n`)

/** A server that can be lost and started again; it ends with the rig. */
class LosableServer implements Postgres {
  readonly ended: Promise<void> = new Promise(() => {})
  private running: Postgres
  private readonly folder: string
  private readonly port: number
  readonly url: string

  static async open(folder: string, archive: string): Promise<LosableServer> {
    const port = await freePort()
    const settings = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
    const running = await startPostgres({ folder, port, settings })
    return new LosableServer(running, { folder, port })
  }

  private constructor(running: Postgres, { folder, port }: { folder: string; port: number }) {
    this.running = running
    this.folder = folder
    this.port = port
    this.url = running.url
  }

  /** PostgreSQL's own folder. */
  get data(): string {
    return join(this.folder, 'data')
  }

  async lose(): Promise<void> {
    await this.running.stop()
    await rm(this.data, { recursive: true })
  }

  /** Starts on what is in the folder now. */
  async startAgain(): Promise<void> {
    this.running = await startPostgres({ folder: this.folder, port: this.port })
  }

  stop(): Promise<void> {
    return this.running.stop()
  }
}

type Moment = { at: string; orders: string[] }

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { orders: 60 } })
  const folder = await mkdtemp(join(tmpdir(), 'penstock-restore-'))
  const [backups, archive] = [join(folder, 'backups'), join(folder, 'archive')]
  await prepare(folder, archive)
  const server = await LosableServer.open(join(folder, 'pg'), archive)
  const rig = await Rig.open({ postgres: server })
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const buyers = new Buyers(rig)
    const third = Math.ceil(numbers.orders / 3)
    await sell(buyers, third)
    await rig.operate('backup', backups)
    await sell(buyers, third)
    const moment = await noteMoment(rig)
    await sell(buyers, third)
    const sold = buyers.accepted.size
    await archiveLog(rig)
    await Promise.all(rig.members.map((member) => member.kill('SIGKILL')))
    await server.lose()
    const began_ms = performance.now()
    const options = ['--to', server.data, '--at', moment.at, '--archive', archive, '--json']
    const printed = await rig.operate('restore', backups, ...options)
    await server.startAgain()
    const seconds = Math.round((performance.now() - began_ms) / 100) / 10
    const { books_balanced } = JSON.parse(printed) as { books_balanced: boolean }
    const restored = await ordersOf(rig)
    const signed_unknown = await signedAndUnknown(rig)
    const rests = await restingService(rig)
    const result = {
      sold,
      orders_at_moment: moment.orders.length,
      restored: restored.length,
      orders_at_moment_exact: JSON.stringify(restored) === JSON.stringify(moment.orders),
      books_balanced,
      seconds,
      signed_unknown,
      ...rests,
    }
    say(JSON.stringify(result, null, json ? 0 : 2))
    return (
      result.orders_at_moment_exact &&
      books_balanced &&
      seconds < SECONDS_MAX &&
      sold > restored.length &&
      signed_unknown > 0 &&
      rests.sold_after + rests.sent_after === 0 &&
      rests.alerted
    )
  } finally {
    await rig.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The user that the server runs as must get there. */
async function prepare(folder: string, archive: string): Promise<void> {
  await mkdir(archive)
  await runProgram('chmod', ['755', folder], undefined)
  const user = await serverUser(['postgres', 'nobody'])
  if (user) await runProgram('chown', [`${user.uid}:${user.gid}`, archive], undefined)
}

/** So many orders more; then everybody rests. */
async function sell(buyers: Buyers, more: number): Promise<void> {
  const wanted = buyers.accepted.size + more
  buyers.begin(PEOPLE, PAUSE_MS)
  await until('nothing is sold', async () => buyers.accepted.size >= wanted)
  await buyers.endWhenSoldTo()
}

const ordersOf = async ({ sql }: Rig) =>
  (await sql<{ id: string }>`select id from orders order by id`).map(({ id }) => id)

/** A moment at which nobody buys, and the orders that there are then. */
async function noteMoment(rig: Rig): Promise<Moment> {
  await delay(20)
  const [row] = await rig.sql<{ at: Date }>`select clock_timestamp() as at`
  const orders = await ordersOf(rig)
  await delay(20)
  return { at: row!.at.toISOString(), orders }
}

/** Waits until everything that was committed is in the archive. */
async function archiveLog({ sql }: Rig): Promise<void> {
  const [row] = await sql<{ log: string }>`
    select pg_walfile_name(pg_current_wal_insert_lsn()) as log from pg_switch_wal()`
  await until('the log is not archived', async () => {
    const [done] = await sql<{ is: boolean }>`
      select coalesce(last_archived_wal, '') >= ${row!.log} as is from pg_stat_archiver`
    if (!done!.is) await sql`select pg_switch_wal()`
    return done!.is
  })
}

/** How many signed transactions are for attempts that the restored database does not have. */
async function signedAndUnknown({ folder, sql }: Rig): Promise<number> {
  const place = join(folder, 'signed')
  const files = (await readdir(place, { recursive: true, withFileTypes: true })).filter((one) =>
    one.isFile(),
  )
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')),
  )
  const attempts = new Set(
    texts.flatMap((text) => [...text.matchAll(/"attempt":"([^"]+)"/g)].map(([, id]) => id!)),
  )
  const known = await sql<{ id: string }>`
    select id from attempt where id = any(${[...attempts]})`
  return attempts.size - known.length
}

/** The service on the restored database: what it sells and sends although nobody has accepted. */
async function restingService(rig: Rig) {
  const before = await sentBy(rig)
  const orders = (await ordersOf(rig)).length
  await Promise.all([rig.start('api'), rig.start('worker')])
  const call = signedCall(rig.api_urls[0]!, rig.customers[0]!)
  const { address } = rig.sandbox.funded_accounts[0]!
  const body = { service: 'energy', params: { address, amount: 32_000, duration: 1 } }
  const reply = (await call('/v1/transaction/new', { ...body, external_id: 'later' })) as Reply
  await delay(RESTING_MS)
  return {
    refused_with: reply.code,
    sold_after: (await ordersOf(rig)).length - orders + (reply.code === REFUSED ? 0 : 1),
    sent_after: (await sentBy(rig)) - before,
    alerted: await isAlerted(rig),
  }
}

/** How often our transactions were sent to a node. */
async function sentBy({ sql }: Rig): Promise<number> {
  const [row] = await sql<{ sends: number }>`
    select coalesce(sum(sends), 0)::int as sends from attempt`
  return row!.sends
}

/** Whether `status` says so; its exit code is 1 then. */
async function isAlerted(rig: Rig): Promise<boolean> {
  const said = await rig
    .operate('status', '--json')
    .catch((ended: { stdout: string }) => ended.stdout)
  const { alerts } = JSON.parse(said) as { alerts: { alert: string; what: string }[] }
  return alerts.some(
    ({ alert, what }) => alert === 'database_went_back' && what.includes('was restored'),
  )
}

async function until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  const began_ms = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began_ms > WAIT_MS_MAX) throw new Error(otherwise)
    await delay(20)
  }
}
