// The CPU time of a test file, from /proc (Linux). Unlike the time that passes, it says the
// same on a machine that has other work to do.

import { readdir, readFile } from 'node:fs/promises'

/** In seconds: the process that runs the tests, those that it starts, and the shared server. */
export type Cpu = { tests: number; children: number; server: number }

const TICKS_PER_SECOND = 100

/** `own`: of this process; `reaped`: of those of its children that have ended, and of theirs. */
type Process = { parent: number; own: number; reaped: number }

/** CPU time so far: by the process that runs tests, by what it has started, and by the
 *  server, which is all else that this process has started. */
export async function readCpu(lane_pid: number): Promise<Cpu> {
  const processes = await readProcesses()
  const tree = (pid: number): number => {
    const { own = 0, reaped = 0 } = processes.get(pid) ?? {}
    return own + reaped + below(pid)
  }
  const below = (pid: number): number =>
    [...processes].reduce((sum, [id, { parent }]) => (parent === pid ? sum + tree(id) : sum), 0)
  const tests = processes.get(lane_pid)?.own ?? 0
  const lane = tree(lane_pid)
  return { tests, children: lane - tests, server: below(process.pid) - lane }
}

/** CPU time of this process's ended children, in seconds. */
export async function reapedCpu(): Promise<number> {
  return (await readProcesses()).get(process.pid)?.reaped ?? 0
}

export const cpuBetween = (from: Cpu, to: Cpu): Cpu => ({
  tests: to.tests - from.tests,
  children: to.children - from.children,
  server: to.server - from.server,
})

async function readProcesses(): Promise<Map<number, Process>> {
  const found = new Map<number, Process>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined)
    // After the name, which may hold blanks and brackets: state, parent, and from the twelfth on
    // utime, stime, cutime, cstime.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (!fields) continue
    const [user = 0, system = 0, child_user = 0, child_system = 0] = fields
      .slice(11, 15)
      .map(Number)
    found.set(Number(name), {
      parent: Number(fields[1]),
      own: (user + system) / TICKS_PER_SECOND,
      reaped: (child_user + child_system) / TICKS_PER_SECOND,
    })
  }
  return found
}

const DEAREST = 30
/** A folder below which tests are summed up: its first parts. */
const FOLDER_PARTS = 2

export type Spent = Cpu & { file: string }

/** The dearest files, and the sums by folder, as lines. */
export function cpuReport(spent: readonly Spent[]): string[] {
  const folders = new Map<string, Cpu>()
  for (const { file, ...cpu } of spent)
    for (const name of [file.split('/').slice(0, FOLDER_PARTS).join('/'), 'all']) {
      const { tests, children, server } = folders.get(name) ?? NOTHING
      folders.set(name, {
        tests: tests + cpu.tests,
        children: children + cpu.children,
        server: server + cpu.server,
      })
    }
  const rows = (named: [string, Cpu][]) =>
    named.sort(([, a], [, b]) => sumOf(b) - sumOf(a)).map(([name, cpu]) => row(name, cpu))
  return [
    HEAD,
    ...rows(spent.map(({ file, ...cpu }): [string, Cpu] => [file, cpu])).slice(0, DEAREST),
    HEAD,
    ...rows([...folders]),
  ]
}

const NOTHING: Cpu = { tests: 0, children: 0, server: 0 }
export const sumOf = ({ tests, children, server }: Cpu) => tests + children + server

const COLUMN = 10
const HEAD = ['CPU s:', 'tests', 'children', 'server'].map((word) => word.padStart(COLUMN)).join('')

function row(name: string, cpu: Cpu): string {
  const numbers = [sumOf(cpu), cpu.tests, cpu.children, cpu.server]
  return `${numbers.map((one) => one.toFixed(1).padStart(COLUMN)).join('')}  ${name}`
}
