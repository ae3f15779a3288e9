// The mutants of a room, one after the other: which are tried, which tests they are shown to, and
// what became of each.

import { readEquivalents } from './equivalents.ts'
import { inOrderOf, type Mutant, mutantsOf, type Room } from './mutants.ts'
import { type FileCoverage, keep, known, record, selectTests, testFilesOf } from './recordings.ts'
import type { Result } from './scores.ts'
import { type Killer, tryTests } from './trial.ts'
import { compiling } from './type_check.ts'

export type Session = {
  seed: number
  count: number
  /** A mutant to try alone. */
  only: string | undefined
  seconds: number
  jobs: number
  /** Where recordings are kept. */
  folder: string
  say: (line: string) => void
}

export async function tryRoom(room: Room, session: Session): Promise<Result[]> {
  const { say } = session
  const mutants = await chosenMutants(room, session)
  const files = [...new Set(mutants.map(({ path }) => path))]
  const recordings = await readRecordings(files, session)
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
          })
        : { tests: 0 }
    const seconds = (performance.now() - started_at) / 1_000
    const result: Result = { mutant, equivalent, ...tried, seconds }
    results.push(result)
    say(line(result, `${results.length}/${mutants.length}`))
  })
  return results
}

/** The first ones that the compiler takes, in the order of the seed. */
async function chosenMutants(room: Room, { seed, count, only }: Session): Promise<Mutant[]> {
  const all = mutantsOf(room)
  if (only !== undefined) return all.filter(({ id }) => id === only)
  const left = inOrderOf(seed, all)
  const chosen: Mutant[] = []
  while (chosen.length < count && left.length > 0)
    chosen.push(...(await compiling(left.splice(0, 2 * (count - chosen.length)))))
  return chosen.slice(0, count)
}

/** Of the test files that can load the files of the mutants. */
async function readRecordings(
  paths: string[],
  { jobs, folder, say }: Session,
): Promise<FileCoverage[]> {
  const files = [...(await testFilesOf(paths))]
  const found: FileCoverage[] = []
  const missing: typeof files = []
  for (const [path, loads] of files) {
    const recording = await known(folder, path, loads, paths)
    if (recording) found.push(recording)
    else missing.push([path, loads])
  }
  let done = 0
  await inParallel(jobs, missing, async ([path, loads]) => {
    const recording = await record(path, loads)
    await keep(folder, recording)
    found.push(recording)
    say(`recorded ${++done}/${missing.length} ${path}, ${recording.tests.length} tests`)
  })
  return found
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

async function tryMutant(
  mutant: Mutant,
  recordings: FileCoverage[],
  { ms_max, kills, folder }: { ms_max: number; kills: Map<string, number>; folder: string },
): Promise<{ killer?: Killer | undefined; tests: number }> {
  for (;;) {
    const selections = selectTests(recordings, mutant, { ms_max, kills })
    const tests = selections.reduce((all, { titles }) => all + titles.length, 0)
    const killer = tests === 0 ? undefined : await tryTests(mutant, selections)
    if (!killer) return { tests }
    const recording = recordings.find(({ path }) => path === killer.path)!
    if (!(await standsAlone(folder, recording, killer))) continue
    if (!(await killsAgain(mutant, recording, killer))) return { tests }
    kills.set(killer.path, (kills.get(killer.path) ?? 0) + 1)
    return { killer, tests }
  }
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
  const failed = await tryTests(undefined, [{ path, titles: [title], ms: test.ms }])
  if (failed) recording.whole = true
  else test.alone = true
  await keep(folder, recording)
  return !failed
}

/** Whether the test fails once more: one that a busy machine has made fail has noticed nothing. */
async function killsAgain(
  mutant: Mutant,
  { whole, tests }: FileCoverage,
  { path, title }: Killer,
): Promise<boolean> {
  const shown = tests.filter((one) => whole || one.title === title)
  // It has not come as far as a test: it would not load.
  if (shown.length === 0) return true
  const ms = shown.reduce((all, one) => all + one.ms, 0)
  return (
    (await tryTests(mutant, [{ path, titles: shown.map((one) => one.title), ms }])) !== undefined
  )
}

function line({ mutant, equivalent, killer, tests, seconds }: Result, place: string): string {
  const { id, path, line, kind } = mutant
  const at = `${id} ${path.split('/').slice(-2).join('/')}:${line} ${kind}, ${seconds.toFixed(1)} s`
  if (equivalent !== undefined) return `${place} ≡ ${at}: ${equivalent}`
  if (killer) return `${place} ✔ ${at}: ${killer.path.split('/').at(-1)}: ${killer.title}`
  return `${place} ✖ ${at}: survived ${tests === 0 ? ', no test executes it' : `${tests} tests`}`
}
