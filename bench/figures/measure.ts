// Runs the benchmarks of a table, one after the other, each as somebody would type it.

import { execFileSync, spawn } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { findPrograms, serverUser } from 'penstock-service/postgres/programs.ts'
import { atEnd } from '../../tools/ending.ts'
import { ROOT } from '../../tools/source.ts'
import { median } from '../parts/median.ts'
import type { Machine, Measurement } from './page.ts'
import { commandOf, type Figure } from './table.ts'

/** Between being asked to end and being ended. */
const GRACE_MS = 15_000
const FLUSHES = 100

export type Run = { values: unknown } | { failure: string }

/** Runs a benchmark and reads what it prints. It has failed when it ends with another code than 0,
 *  prints no JSON, or takes too long: then it is ended, with all that it has started. */
export async function runBench(figure: Figure, program = benchProgram(figure)): Promise<Run> {
  const [file, ...args] = program
  const child = spawn(file!, args, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  const complaint: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaint.push(chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name)
    } catch {
      // It has ended.
    }
  }
  const forget = atEnd(async () => {
    signal('SIGINT')
    const late = setTimeout(() => signal('SIGKILL'), GRACE_MS)
    await ended
    clearTimeout(late)
  })
  let late = false
  const limit = setTimeout(() => {
    late = true
    void forget()
  }, figure.minutes_max * 60_000)
  const code = await ended
  clearTimeout(limit)
  await forget()
  if (late) return { failure: `it took more than ${figure.minutes_max} minutes` }
  const [last = ''] = Buffer.concat(output).toString().trim().split('\n').slice(-1)
  if (code !== 0) {
    const said = Buffer.concat(complaint).toString().trim().split('\n').slice(-12).join('\n')
    return { failure: `it ended with ${code}\n${said}\n${last.slice(0, 2_000)}`.trim() }
  }
  try {
    return { values: JSON.parse(last) as unknown }
  } catch {
    return { failure: `it printed no JSON but ${JSON.stringify(last.slice(0, 200))}` }
  }
}

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
  const run = await runBench(figure)
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

/** What the databases of the benchmarks lie on. */
function fileSystem(): string {
  const args = ['--output=fstype', tmpdir()]
  return execFileSync('df', args, { encoding: 'utf8' }).trim().split('\n').at(-1)!
}

/** What a commit waits for at least, to one place after the point. */
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
