// A database server that can be lost and restored, and what the tests of that have in common.

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runProgram, serverUser } from 'penstock-service/platform/postgres/programs.ts'
import {
  freePort,
  type Postgres,
  startPostgres,
} from 'penstock-service/platform/postgres/server.ts'
import type { Buyers } from './buyers.ts'
import type { Rig } from './rig.ts'

const PEOPLE = 4
const PAUSE_MS = 50
const WAIT_MS_MAX = 180_000

/** A server that can be lost and started again; it ends with the rig. */
export class LosableServer implements Postgres {
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

/** The user that the server runs as must get there. */
export async function prepare(folder: string, archive: string): Promise<void> {
  await mkdir(archive)
  await runProgram('chmod', ['755', folder], undefined)
  const user = await serverUser(['postgres', 'nobody'])
  if (user) await runProgram('chown', [`${user.uid}:${user.gid}`, archive], undefined)
}

/** So many orders more; then everybody rests. */
export async function sell(buyers: Buyers, more: number): Promise<void> {
  const wanted = buyers.accepted.size + more
  buyers.begin(PEOPLE, PAUSE_MS)
  await until('nothing is sold', async () => buyers.accepted.size >= wanted)
  await buyers.endWhenSoldTo()
}

export const ordersOf = async ({ sql }: Rig) =>
  (await sql<{ id: string }>`select id from orders order by id`).map(({ id }) => id)

/** A moment at which nobody buys, and the orders that there are then. */
export async function noteMoment(rig: Rig): Promise<Moment> {
  await delay(20)
  const [row] = await rig.sql<{ at: Date }>`select clock_timestamp() as at`
  const orders = await ordersOf(rig)
  await delay(20)
  return { at: row!.at.toISOString(), orders }
}

/** Waits until everything that was committed is in the archive. */
export async function archiveLog({ sql }: Rig): Promise<void> {
  const [row] = await sql<{ log: string }>`
    select pg_walfile_name(pg_current_wal_insert_lsn()) as log from pg_switch_wal()`
  await until('the log is not archived', async () => {
    const [done] = await sql<{ is: boolean }>`
      select coalesce(last_archived_wal, '') >= ${row!.log} as is from pg_stat_archiver`
    if (!done!.is) await sql`select pg_switch_wal()`
    return done!.is
  })
}

/** Restores the last backup into the folder of the server that is lost, and starts it there.
 *  Returns whether the books balance. */
export async function restoreTo(
  rig: Rig,
  server: LosableServer,
  { backups, archive, at }: { backups: string; archive: string; at: string },
): Promise<boolean> {
  const options = ['--to', server.data, '--at', at, '--archive', archive, '--json']
  const printed = await rig.operate('restore', backups, ...options)
  await server.startAgain()
  return (JSON.parse(printed) as { books_balanced: boolean }).books_balanced
}

/** How often our transactions were sent to a node. */
export async function sentBy({ sql }: Rig): Promise<number> {
  const [row] = await sql<{ sends: number }>`
    select coalesce(sum(sends), 0)::int as sends from attempt`
  return row!.sends
}

/** Whether `status` says so; its exit code is 1 then. */
export async function isAlerted(rig: Rig): Promise<boolean> {
  const said = await rig
    .operate('status', '--json')
    .catch((ended: { stdout: string }) => ended.stdout)
  const { alerts } = JSON.parse(said) as { alerts: { alert: string; what: string }[] }
  return alerts.some(
    ({ alert, what }) => alert === 'database_went_back' && what.includes('was restored'),
  )
}

export async function until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  const began_ms = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began_ms > WAIT_MS_MAX) throw new Error(otherwise)
    await delay(20)
  }
}
