// Runs seeds of the simulator for tests, and says what they have found.

import assert from 'node:assert/strict'
import { runSeedsOnThreads, type SeedResult } from './lanes.ts'

const THREADS = 2
const LANES = 2

/** All in one go, because a lane's database takes as long as some runs. */
export async function runAll(seeds: readonly string[]): Promise<SeedResult[]> {
  const results: SeedResult[] = []
  await runSeedsOnThreads({ seeds: [...seeds], lanes: LANES, lines: 60 }, THREADS, (result) => {
    results.push(result)
  })
  assert.equal(results.length, seeds.length)
  return results
}

/** Fails with what was found, and the story of it. */
export function hold(results: readonly SeedResult[]): readonly SeedResult[] {
  const failed = results.filter(({ findings }) => findings.length > 0)
  const told = failed.map(
    ({ seed, story, findings }) => `${seed}\n${story}\n${findings.join('\n')}`,
  )
  assert.equal(failed.length, 0, `seeds that found something: ${told.join('\n\n')}`)
  return results
}
