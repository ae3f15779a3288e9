// Shows a mutant to tests: one process, in which its module is loaded with the change, runs the
// chosen tests file by file and is killed at the first that fails.

import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../source.ts'
import { LANE, openLane } from './lane_process.ts'
import type { Mutant } from './mutants.ts'
import type { LoadedMutant } from './mutation_hook.ts'
import type { Killer, Selection } from './recordings.ts'

const HOOK = pathToFileURL(join(import.meta.dirname, 'mutation_hook.ts')).href
/** A test that takes so many times as long as without the mutant hangs. */
const SLOWER_MAX = 10
const SILENCE_MS_MIN = 60_000

/** By what a mutant is killed; undefined: nothing has noticed it. Without a mutant: whether the
 *  tests pass by themselves. */
export async function tryTests(
  mutant: Mutant | undefined,
  selections: readonly Selection[],
): Promise<Killer | undefined> {
  const longest_ms = Math.max(0, ...selections.map((one) => one.longest_ms))
  const lane = openLane({
    program: LANE,
    env: mutant ? await environment(mutant) : {},
    titles: selections.flatMap(({ titles }) => titles),
    silence_ms_max: Math.max(SILENCE_MS_MIN, SLOWER_MAX * longest_ms),
  })
  let title = ''
  for (const { path } of selections) {
    const stop = await lane.run(path, (message) => {
      if (message.what === 'test' && message.became !== 'failed') return undefined
      if (message.what !== 'test' && message.what !== 'failure') return undefined
      title = message.name
      return 'stop'
    })
    if (stop === undefined) continue
    await lane.end()
    return { path, title: title === '' ? stop : title }
  }
  await lane.end()
  return undefined
}

async function environment({ id, path, start, end, text }: Mutant) {
  const file = join(tmpdir(), `mutant-${process.pid}-${id}.json`)
  const loaded: LoadedMutant = { path: join(ROOT, path), start, end, text }
  await writeFile(file, JSON.stringify(loaded))
  const node_options = `${process.env.NODE_OPTIONS ?? ''} --import ${HOOK}`.trim()
  return { MUTATION_FILE: file, NODE_OPTIONS: node_options }
}
