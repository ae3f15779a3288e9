// The mutants of a room, one after the other: which are tried, which tests they are shown to, and
// what became of each.

import { readEquivalents } from './equivalents.ts'
import { inOrderOf, type Mutant, mutantsOf, type Room } from './mutants.ts'
import {
  countOf,
  type FileCoverage,
  type Killer,
  keep,
  keepKiller,
  known,
  knownKiller,
  record,
  type Selection,
  selectionOf,
  selectTests,
  testFilesOf,
} from './recordings.ts'
import { isDecided, type Result } from './scores.ts'
import { tryTests } from './trial.ts'
import { compiling } from './type_check.ts'

export type Session = {
  seed: number
  count: number
  /** A mutant to try alone. */
  only: string | undefined
  /** A source file, of which all mutants are tried. */
  file?: string | undefined
  /** The test files that they are shown to; left out: all. */
  tests?: readonly string[] | undefined
  seconds: number
  jobs: number
  /** Where recordings are kept. */
  folder: string
  /** Test files without a recording are left out, and nothing that survives is decided. */
  recorded: boolean
  say: (line: string) => void
}

export async function tryRoom(room: Room, session: Session): Promise<Result[]> {
  const { say } = session
  const mutants = await chosenMutants(room, session)
  const files = [...new Set(mutants.map(({ path }) => path))]
  const { recordings, unknown } = await readRecordings(files, session)
  const equivalents = new Map((await readEquivalents()).map(({ id, reason }) => [id, reason]))
  const kills = new Map<string, number>()
  const results: Result[] = []
  say(`${room.name}: ${mutants.length} mutants, ${recordings.length} test files`)
  await inParallel(session.jobs, mutants, async (mutant) => {
    const started_at = performance.now()
    const equivalent = equivalents.get(mutant.id)
    const tried =
      equivalent === undefined
        ? await tryMutant(mutant, recordings, {
            ms_max: session.seconds * 1_000,
            kills,
            folder: session.folder,
            unknown,
          })
        : { tests: 0, left_out: 0 }
    const seconds = (performance.now() - started_at) / 1_000
    const result: Result = { mutant, equivalent, ...tried, seconds }
    results.push(result)
    say(line(result, `${results.length}/${mutants.length}`))
  })
  return results
}

/** The first ones that the compiler takes, in the order of the seed. */
async function chosenMutants(room: Room, session: Session): Promise<Mutant[]> {
  const { seed, count, only, file } = session
  const all = mutantsOf(room)
  if (only !== undefined) return all.filter(({ id }) => id === only)
  if (file !== undefined) return compiling(all.filter(({ path }) => path === file))
  const left = inOrderOf(seed, all)
  const chosen: Mutant[] = []
  while (chosen.length < count && left.length > 0)
    chosen.push(...(await compiling(left.splice(0, 2 * (count - chosen.length)))))
  return chosen.slice(0, count)
}

/** Of the test files that can load the files of the mutants; and how many others there are. */
async function readRecordings(
  paths: string[],
  { jobs, folder, say, recorded, tests }: Session,
): Promise<{ recordings: FileCoverage[]; unknown: number }> {
  const all = [...(await testFilesOf(paths))]
  const files = all.filter(([path]) => tests === undefined || tests.includes(path))
  const others = all.length - files.length
  const found: FileCoverage[] = []
  const missing: typeof files = []
  for (const [path, loads] of files) {
    const recording = await known(folder, path, loads, paths)
    if (recording) found.push(recording)
    else missing.push([path, loads])
  }
  if (recorded) return { recordings: found, unknown: missing.length + others }
  let done = 0
  await inParallel(jobs, missing, async ([path, loads]) => {
    const recording = await record(path, loads)
    await keep(folder, recording)
    found.push(recording)
    say(`recorded ${++done}/${missing.length} ${path}, ${recording.tests.length} tests`)
  })
  return { recordings: found, unknown: others }
}

async function inParallel<Item>(
  jobs: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}

type Trial = {
  ms_max: number
  kills: Map<string, number>
  folder: string
  /** Test files of which it is not known what they execute. */
  unknown: number
}

async function tryMutant(
  mutant: Mutant,
  recordings: FileCoverage[],
  { ms_max, kills, folder, unknown }: Trial,
): Promise<Pick<Result, 'killer' | 'tests' | 'left_out'>> {
  const noticed_by = await earlierKiller(folder, recordings, mutant)
  if (noticed_by) return { killer: noticed_by, tests: 1, left_out: 0 }
  const unsure: Killer[] = []
  for (;;) {
    const { selections, left_out } = selectTests(recordings, mutant, { ms_max, kills })
    const sure = without(selections, unsure)
    const tests = countOf(sure)
    const killer = tests === 0 ? undefined : await tryTests(mutant, sure)
    if (!killer) return { tests, left_out: left_out + unknown }
    const recording = recordings.find(({ path }) => path === killer.path)!
    if (!(await standsAlone(folder, recording, killer))) continue
    if (await killsAgain(mutant, recording, killer)) {
      kills.set(killer.path, (kills.get(killer.path) ?? 0) + 1)
      await keepKiller(folder, mutant, killer)
      return { killer, tests, left_out }
    }
    // Those after it have not seen the mutant yet.
    unsure.push(recording.whole ? { ...killer, title: '' } : killer)
  }
}

/** The test that has noticed the mutant in an earlier run, if it still does. */
async function earlierKiller(
  folder: string,
  recordings: readonly FileCoverage[],
  mutant: Mutant,
): Promise<Killer | undefined> {
  const killer = await knownKiller(folder, mutant)
  const recording = recordings.find(({ path }) => path === killer?.path)
  if (!killer || !recording?.tests.some(({ title }) => title === killer.title)) return undefined
  if (!(await standsAlone(folder, recording, killer))) return undefined
  return (await killsAgain(mutant, recording, killer)) ? killer : undefined
}

/** Without tests that have failed once and then passed; without their file where it is run as a
 *  whole, or where what has failed was none of its tests. */
function without(selections: readonly Selection[], unsure: readonly Killer[]): Selection[] {
  return selections.flatMap((one) => {
    const failed = unsure.filter(({ path }) => path === one.path).map(({ title }) => title)
    const titles = one.titles.filter((title) => !failed.includes(title))
    const gone = one.titles.length - titles.length
    return titles.length === 0 || gone < failed.length ? [] : [{ ...one, titles }]
  })
}

/** Whether the test that has failed passes by itself without the mutant. One that needs those
 *  before it has said nothing of the mutant: its file is run as a whole from then on. */
async function standsAlone(
  folder: string,
  recording: FileCoverage,
  { path, title }: Killer,
): Promise<boolean> {
  const { tests } = recording
  const test = tests.find((one) => one.title === title)
  if (recording.whole || !test || test.alone === true) return true
  const failed = await tryTests(undefined, [selectionOf(path, [test])])
  if (failed) recording.whole = true
  else test.alone = true
  await keep(folder, recording)
  return !failed
}

/** Whether the test fails once more: one that a busy machine has made fail has noticed nothing. */
async function killsAgain(
  mutant: Mutant,
  { path, whole, tests }: FileCoverage,
  { title }: Killer,
): Promise<boolean> {
  const shown = tests.filter((one) => whole || one.title === title)
  // It has not come as far as a test: it would not load.
  if (shown.length === 0) return true
  return (await tryTests(mutant, [selectionOf(path, shown)])) !== undefined
}

function line(result: Result, place: string): string {
  const { mutant, equivalent, killer, tests, left_out, seconds } = result
  const { id, path, line, kind } = mutant
  const at = `${id} ${path.split('/').slice(-2).join('/')}:${line} ${kind}, ${seconds.toFixed(1)} s`
  if (equivalent !== undefined) return `${place} ≡ ${at}: ${equivalent}`
  if (killer) return `${place} ✔ ${at}: ${killer.path.split('/').at(-1)}: ${killer.title}`
  if (!isDecided(result))
    return `${place} ? ${at}: ${tests} tests have not noticed it, there was no time for ${left_out}`
  return `${place} ✖ ${at}: survived${tests === 0 ? ', no test executes it' : ` ${tests} tests`}`
}
