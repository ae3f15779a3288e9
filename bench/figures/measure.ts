// Runs the benchmarks of a table, one after the other, each as somebody would type it.

import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { findPrograms, serverUser } from 'penstock-service/platform/postgres/programs.ts'
import { runJson } from '../../tools/json_run.ts'
import { ROOT } from '../../tools/source.ts'
import { median } from '../parts/median.ts'
import type { Machine, Measurement } from './page.ts'
import { commandOf, type Figure } from './table.ts'

const FLUSHES = 100

const benchProgram = ({ name, options = [] }: Figure) => [
  ...['npm', 'run', '-s', 'bench', '--', name],
  ...options,
  '--json',
]

export async function measure(
  figure: Figure,
  about: { commit: string; machine: Machine },
): Promise<Measurement | { failure: string }> {
  const began_ms = performance.now()
  const run = await runJson(benchProgram(figure), figure.minutes_max)
  if ('failure' in run) return run
  return {
    name: figure.name,
    command: commandOf(figure),
    commit: about.commit,
    measured_at: new Date().toISOString(),
    seconds: Math.round((performance.now() - began_ms) / 1_000),
    machine: about.machine,
    values: run.values,
  }
}

export async function readMachine(): Promise<Machine> {
  const processors = cpus()
  const gib = Math.round(totalmem() / 2 ** 30)
  return {
    cpu: `${processors.length} × ${processors[0]?.model.replace(/\s+/g, ' ').trim()}`,
    memory: `${gib} GiB of memory`,
    disk: `${fileSystem()}, 8 kB written and flushed in ${flushMs()} ms (p50)`,
    system: `${type()} ${release()}`,
    node: process.versions.node,
    postgres: await postgresVersion(),
  }
}

/** The disk under the benchmarks' databases. */
function fileSystem(): string {
  const args = ['--output=fstype', tmpdir()]
  return execFileSync('df', args, { encoding: 'utf8' }).trim().split('\n').at(-1)!
}

/** The time of one flush to disk, to one decimal. */
function flushMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-flush-'))
  const file = openSync(join(folder, 'file'), 'w')
  const page = Buffer.alloc(8_192)
  const times = Array.from({ length: FLUSHES }, () => {
    const began_ms = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return performance.now() - began_ms
  })
  closeSync(file)
  rmSync(folder, { recursive: true })
  return Math.round(10 * median(times)) / 10
}

async function postgresVersion(): Promise<string> {
  const user = process.getuid?.() === 0 ? await serverUser(['postgres', 'nobody']) : undefined
  const bin = await findPrograms(process.env.PG_BIN, user)
  const said = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })
  return /\d+(\.\d+)*/.exec(said)![0]
}

/** The newest commit, by its first twelve digits. */
export const newestCommit = () => git('rev-parse', '--short=12', 'HEAD').trim()

/** Files that are not as that commit has them, but for those that are written here. */
export const changedFiles = (): string[] =>
  git('status', '--porcelain')
    .split('\n')
    .filter((line) => line !== '' && !/ docs\/figures\.(json|md)$/.test(line))

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
