// How much later `npm start` is ready for its pages: whole sandboxes are started one after another,
// with a loader that leaves the building of the pages out, with pages that were built before, and
// with none yet. And how long it takes to build them alone: cold, and from the folder where they
// are kept; two builds must be equal, byte for byte. CPU seconds say more than seconds where others
// use the machine.
//
//   npm run bench -- start [--rounds N] [--json]

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Build } from 'penstock-web/build/bundle.ts'
import { openBuild } from 'penstock-web/build/store.ts'
import { ROOT } from '../tools/source.ts'
import { ownCpuUs, processCpuUs } from './parts/cpu.ts'
import { median } from './parts/median.ts'

export const OPTIONS = { rounds: { type: 'string', default: '5' } } as const

const LIMITS = { later_ms: 200, cold_ms: 500, cached_ms: 20 }
const MAIN = join(ROOT, 'packages/playground/main.ts')
const HOOK = join(import.meta.dirname, 'parts/without_pages.mjs')
const KINDS = ['without', 'cached', 'cold'] as const
type Kind = (typeof KINDS)[number]
type Figures = { ms: number; cpu_ms: number }

/** Milliseconds until a sandbox is ready, which is stopped then. */
async function startOnce(folder: string, kind: Kind): Promise<Figures> {
  const data_dir = join(folder, 'data')
  const ready_file = join(folder, 'ready.json')
  if (kind === 'cold') await rm(join(data_dir, 'web'), { recursive: true, force: true })
  await rm(ready_file, { force: true })
  const hook = kind === 'without' ? ['--import', HOOK] : []
  const words = ['start', '--port', '0', '--chain-port', '0', '--data-dir', data_dir]
  const started = performance.now()
  // What is left out is said in its log, each time.
  const child = spawn(process.execPath, [...hook, MAIN, ...words, '--ready-file', ready_file], {
    stdio: ['ignore', 'ignore', kind === 'without' ? 'ignore' : 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  while (!existsSync(ready_file)) {
    if (child.exitCode !== null) throw new Error('a sandbox did not start')
    await delay(2)
  }
  const figures = {
    ms: performance.now() - started,
    cpu_ms: (await processCpuUs(child.pid!)) / 1_000,
  }
  await stop(child, ended)
  return figures
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  await ended
}

const middle = (all: readonly number[]) => Math.round(median(all))

async function measureStarts(folder: string, rounds: number) {
  const all: Record<Kind, Figures[]> = { without: [], cached: [], cold: [] }
  // The first start makes the database, and the pages.
  await startOnce(folder, 'cached')
  // In turn, so that what else the machine does meets all of them alike.
  for (let round = 0; round < rounds; round++)
    for (const kind of KINDS) all[kind].push(await startOnce(folder, kind))
  const figures = (kind: Kind): Figures => ({
    ms: middle(all[kind].map(({ ms }) => ms)),
    cpu_ms: middle(all[kind].map(({ cpu_ms }) => cpu_ms)),
  })
  const [without, cached, cold] = KINDS.map(figures) as [Figures, Figures, Figures]
  const later = (one: Figures) => ({
    later_ms: one.ms - without.ms,
    later_cpu_ms: one.cpu_ms - without.cpu_ms,
  })
  return { without, cached: { ...cached, ...later(cached) }, cold: { ...cold, ...later(cold) } }
}

async function measureBuilds(folder: string, rounds: number) {
  const times = { cold: [] as number[], cached: [] as number[], cached_cpu: [] as number[] }
  const builds: Build[] = []
  for (let round = 0; round < Math.max(2, rounds); round++) {
    const place = join(folder, `build-${round}`)
    for (const kind of ['cold', 'cached'] as const) {
      const started = performance.now()
      const before = process.cpuUsage()
      const { build } = await openBuild(place)
      times[kind].push(performance.now() - started)
      if (kind === 'cached') times.cached_cpu.push(ownCpuUs(before) / 1_000)
      builds.push(build)
    }
  }
  const [first, ...others] = builds.map(bytesOf)
  // The first of this process also loads the compiler, as a start does.
  return {
    first_ms: Math.round(times.cold[0]!),
    cold_ms: middle(times.cold),
    cached_ms: middle(times.cached),
    cached_cpu_ms: middle(times.cached_cpu),
    equal_bytes: others.every((one) => one.equals(first!)),
  }
}

const bytesOf = ({ assets }: Build) =>
  Buffer.concat(
    assets.flatMap(({ name, bytes, gzip, brotli }) => [Buffer.from(name), bytes, gzip, brotli]),
  )

export async function run({
  json,
  numbers: { rounds = 5 },
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-start-'))
  // A database server that root starts runs as somebody else.
  await chmod(folder, 0o711)
  await mkdir(join(folder, 'data'), { mode: 0o711 })
  try {
    const build = await measureBuilds(folder, rounds)
    const start = await measureStarts(folder, rounds)
    const report = { start, build, limits: LIMITS }
    if (json) return void process.stdout.write(`${JSON.stringify(report)}\n`)
    const line = ({ ms, cpu_ms }: Figures) => `${ms} ms (${cpu_ms} ms of the processor)`
    for (const [name, text] of [
      ['start without pages', line(start.without)],
      ['start, pages kept', `${line(start.cached)}: ${start.cached.later_ms} ms later`],
      ['start, pages built', `${line(start.cold)}: ${start.cold.later_ms} ms later`],
      ['limit', `${LIMITS.later_ms} ms later`],
      ['build, first', `${build.first_ms} ms (limit ${LIMITS.cold_ms})`],
      ['build, cold', `${build.cold_ms} ms (limit ${LIMITS.cold_ms})`],
      ['build, kept', `${build.cached_ms} ms (limit ${LIMITS.cached_ms})`],
      ['', `${build.cached_cpu_ms} ms of the processor`],
      ['equal bytes', build.equal_bytes ? 'yes' : 'no'],
    ] as const)
      process.stdout.write(`${name.padEnd(22)}${text}\n`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
