// How much of the processor each part of a measurement takes. On a machine that is shared, times
// and rates say little, and this does.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql } from 'penstock-service/platform/database/sql.ts'

/** The unit of Linux's CPU counters. */
const TICK_US = 10_000

/** Microseconds of the processor that this process has taken since `before`. */
export function ownCpuUs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Says how many microseconds of the processor a server on this machine has taken: all of its
 *  processes, those that have ended too. */
export async function serverCpuReader(sql: Sql): Promise<() => Promise<number>> {
  const [row] = await sql<{ folder: string }>`select current_setting('data_directory') as folder`
  const [first] = (await readFile(join(row!.folder, 'postmaster.pid'), 'utf8')).split('\n')
  const server = Number(first)
  return async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const ticks = await Promise.all(pids.map((pid) => ticksOf(Number(pid), server)))
    return TICK_US * ticks.reduce((sum, one) => sum + one, 0)
  }
}

/** Microseconds of the processor that a process has taken, with its children that have ended. */
export const processCpuUs = async (pid: number): Promise<number> =>
  TICK_US * (await ticksOf(pid, pid))

/** Of the server itself with its children that have ended, and of a child; 0 of all others. */
async function ticksOf(pid: number, server: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return 0
  // After the name in brackets: state, parent, and so on; see proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [parent, user, system, user_ended, system_ended] = [1, 11, 12, 13, 14].map((i) =>
    Number(fields[i]),
  )
  if (pid === server) return user! + system! + user_ended! + system_ended!
  return parent === server ? user! + system! : 0
}
