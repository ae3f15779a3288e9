// Which lines each test executes: recorded once, and again for a test file that has changed. A
// mutant is shown to those tests alone that execute its line.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importedFile, ROOT, readSources, type Source, walk } from '../source.ts'
import type { LaneMessage } from '../test/reporter.ts'
import { openLane } from './lane_process.ts'
import { type FileLines, hasLine, mergedLines, movedLines } from './lines.ts'
import { type Mutant, sha256 } from './mutants.ts'
import type { RecordingMessage } from './recording_lane.ts'

export type TestCoverage = {
  title: string
  ms: number
  lines: FileLines
  /** It passes without the tests before it. */
  alone?: true
}

export type FileCoverage = {
  /** The test file. */
  path: string
  sha256: string
  /** The files of the repository that it can load, as they were, by path. */
  loads: Record<string, string>
  /** Lines executed by loading it, and by processes that it starts. */
  lines: FileLines
  /** Those that have passed. */
  tests: TestCoverage[]
  /** One of them needs others before it: all are run, or none. */
  whole?: true
}

const PROGRAM = join(import.meta.dirname, 'recording_lane.ts')
/** A browser takes longer than all else, rules are about the source, and who tries mutants is not
 *  tried by itself. */
const LEFT_OUT = /^(test\/(faces|rules|runtimes|mutation\/mutate)|packages\/web)\b/
/** The test of some seconds that waits for others' processes says nothing for so long at most. */
const SILENCE_MS_MAX = 600_000

/** The test files that can load one of the paths, and what each can load. */
export async function testFilesOf(paths: readonly string[]): Promise<Map<string, string[]>> {
  const sources = await readSources('packages', 'test', 'bench', 'tools')
  const imports = new Map(sources.map((source) => [source.path, importsOf(source)]))
  const found = new Map<string, string[]>()
  for (const { path } of sources) {
    if (!path.endsWith('.test.ts') || LEFT_OUT.test(path)) continue
    const loads = reachable(path, imports)
    if (paths.some((one) => loads.has(one))) found.set(path, [...loads])
  }
  return found
}

function importsOf({ path, tree }: Source): string[] {
  return walk(tree).flatMap(({ type, source }) => {
    if (!/^(Import|Export)\w+$/.test(type) || !source) return []
    const { value } = source as { value?: unknown }
    return typeof value === 'string' ? (importedFile(path, value) ?? []) : []
  })
}

function reachable(path: string, imports: ReadonlyMap<string, string[]>): Set<string> {
  const seen = new Set<string>([path])
  for (const one of seen)
    for (const next of imports.get(one) ?? []) if (imports.has(next)) seen.add(next)
  return seen
}

const fileOf = (folder: string, path: string) => join(folder, `${path.replaceAll('/', '.')}.json`)

/** The recording of an unchanged test file. Lines of the paths that have moved since then
 *  are moved with them. */
export async function known(
  folder: string,
  path: string,
  loads: readonly string[],
  paths: readonly string[],
): Promise<FileCoverage | undefined> {
  const text = await readFile(fileOf(folder, path), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const recording: FileCoverage = JSON.parse(text)
  if (recording.sha256 !== (await hashOf(path))) return undefined
  for (const one of paths.filter((one) => loads.includes(one))) {
    const old_hash = recording.loads[one]
    if (old_hash === undefined) return undefined
    if (old_hash === (await hashOf(one))) continue
    const before = await readFile(sourceOf(folder, old_hash), 'utf8').catch(() => undefined)
    if (before === undefined) return undefined
    const after = await readFile(join(ROOT, one), 'utf8')
    for (const { lines } of [recording, ...recording.tests]) {
      const set = lines[one]
      if (set !== undefined) lines[one] = movedLines(set, before, after)
    }
  }
  return recording
}

/** A text as it was when it was executed. */
const sourceOf = (folder: string, hash: string) => join(folder, `${hash}.source`)

const kept = new Set<string>()

/** Keeps the texts that a recording is about. */
async function keepSources(folder: string, { loads }: FileCoverage): Promise<void> {
  for (const [path, hash] of Object.entries(loads)) {
    if (kept.has(hash)) continue
    kept.add(hash)
    const text = await readFile(join(ROOT, path), 'utf8').catch(() => undefined)
    if (text !== undefined && sha256(text) === hash) await writeFile(sourceOf(folder, hash), text)
  }
}

const hashes = new Map<string, Promise<string>>()

function hashOf(path: string): Promise<string> {
  const known = hashes.get(path) ?? readFile(join(ROOT, path), 'utf8').then(sha256, () => '')
  hashes.set(path, known)
  return known
}

/** Runs a test file, and says what it executes. */
export async function record(path: string, loads: readonly string[]): Promise<FileCoverage> {
  const lane = openLane<LaneMessage | RecordingMessage>({
    program: PROGRAM,
    silence_ms_max: SILENCE_MS_MAX,
    says_ready: true,
  })
  const of_tests = new Map<string, FileLines>()
  const tests: TestCoverage[] = []
  const recording: FileCoverage = {
    path,
    sha256: await hashOf(path),
    loads: Object.fromEntries(
      await Promise.all(loads.map(async (one) => [one, await hashOf(one)] as const)),
    ),
    lines: {},
    tests,
  }
  await lane.run(path, (message) => {
    if (message.what === 'lines') {
      const { test, lines } = message
      const sofar = test === undefined ? recording.lines : (of_tests.get(test) ?? {})
      for (const [one, set] of Object.entries(lines)) sofar[one] = mergedLines(sofar[one], set)
      if (test !== undefined) of_tests.set(test, sofar)
    } else if (message.what === 'test' && message.became === 'passed')
      tests.push({ title: message.name, ms: message.ms, lines: {} })
    return undefined
  })
  await lane.end()
  for (const test of tests) test.lines = of_tests.get(test.title) ?? {}
  return recording
}

export async function keep(folder: string, recording: FileCoverage): Promise<void> {
  await mkdir(folder, { recursive: true })
  await keepSources(folder, recording)
  await writeFile(fileOf(folder, recording.path), JSON.stringify(recording))
}

/** A test that has noticed a mutant. */
export type Killer = { path: string; title: string }

const killerFileOf = (folder: string, { id }: Pick<Mutant, 'id'>) =>
  join(folder, `${id}.killer.json`)

/** The test that has noticed a mutant when it was last tried. */
export async function knownKiller(
  folder: string,
  mutant: Pick<Mutant, 'id'>,
): Promise<Killer | undefined> {
  const text = await readFile(killerFileOf(folder, mutant), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

export const keepKiller = (folder: string, mutant: Pick<Mutant, 'id'>, killer: Killer) =>
  writeFile(killerFileOf(folder, mutant), JSON.stringify(killer))

/** A test file, and its tests that a mutant is shown to. */
export type Selection = {
  path: string
  titles: string[]
  /** How long the longest of them takes without the mutant. */
  longest_ms: number
}

/** The tests that execute the line of a mutant: those of its own room first, then of files that
 *  have found mutants already, then the fastest; no more than fit the time, and how many do not.
 *  A line that is executed when it is loaded alone is shown to tests that execute something of its
 *  file. */
export function selectTests(
  recordings: readonly FileCoverage[],
  { path, line }: Pick<Mutant, 'path' | 'line'>,
  { ms_max, kills }: { ms_max: number; kills: ReadonlyMap<string, number> },
): { selections: Selection[]; left_out: number } {
  const room = path.split('/').at(-2)!
  const distance = (file: string) => {
    if (file.startsWith(path.slice(0, path.lastIndexOf('/') + 1))) return 0
    return file.includes(room) ? 1 : 2
  }
  const having = (has: (recording: FileCoverage, test: TestCoverage) => boolean) =>
    recordings.flatMap((recording) => {
      const { path, whole } = recording
      const tests = recording.tests.filter((test) => has(recording, test))
      if (tests.length === 0) return []
      return [{ path, tests: whole ? recording.tests : tests, whole }]
    })
  let files = having((_, { lines }) => hasLine(lines[path], line))
  if (files.length === 0)
    files = having(
      ({ lines }, test) => hasLine(lines[path], line) && test.lines[path] !== undefined,
    )
  if (files.length === 0) files = having(({ lines }) => hasLine(lines[path], line))
  const costs = new Map(files.map(({ path, tests }) => [path, sum(tests)]))
  const rank = (a: string, b: string) =>
    distance(a) - distance(b) ||
    (kills.get(b) ?? 0) - (kills.get(a) ?? 0) ||
    costs.get(a)! - costs.get(b)!
  const selections = withinTime(
    files.sort((a, b) => rank(a.path, b.path)),
    ms_max,
  )
  const all = files.reduce((count, { tests }) => count + titlesOf(tests).length, 0)
  return { selections, left_out: all - countOf(selections) }
}

const titlesOf = (tests: readonly TestCoverage[]) => [...new Set(tests.map(({ title }) => title))]

export const countOf = (selections: readonly Selection[]) =>
  selections.reduce((all, { titles }) => all + titles.length, 0)

const sum = (tests: readonly TestCoverage[]) => tests.reduce((all, { ms }) => all + ms, 0)

export const selectionOf = (path: string, tests: readonly TestCoverage[]): Selection => ({
  path,
  titles: titlesOf(tests),
  longest_ms: Math.max(0, ...tests.map(({ ms }) => ms)),
})

/** The rest of the time is spent on the fastest tests of a file. */
function withinTime(
  files: readonly { path: string; tests: TestCoverage[]; whole: true | undefined }[],
  ms_max: number,
): Selection[] {
  let left_ms = ms_max
  return files.flatMap(({ path, tests, whole }) => {
    const chosen: TestCoverage[] = []
    for (const test of [...tests].sort((a, b) => a.ms - b.ms)) {
      if (!whole && test.ms > left_ms && left_ms < ms_max) break
      left_ms -= test.ms
      chosen.push(test)
    }
    return chosen.length > 0 ? [selectionOf(path, chosen)] : []
  })
}
