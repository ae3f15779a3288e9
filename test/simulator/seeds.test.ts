// Seeds of the simulator that the normal test runs, and some of them twice. past_seeds.test.ts has
// those that once failed, and `npm run torture -- sim` runs any number of others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeedsOnThreads, type SeedResult } from './lanes.ts'

/** Of 200 seeds cheap ones that reach together, three times, what any of them reaches. */
const SEEDS = `
  94003 94016 94021 94027 94029 94034 94039 94056 94072 94079 94082 94084 94099 94111 94112 94114
  94118 94123 94129 94143 94147 94157 94173 94437 94475 94482 94490
  94517 94522 94523`
  .trim()
  .split(/\s+/)
/** What few runs reach, and the runs of SEEDS reach together. */
const REACHED = `
  activate, activations active, attempts dead, check told 0, check told 500, check told 6,
  checks completed, checks failed, claims claimed, collect told made, collect told refused,
  collect told sent, collect told signed, contract, correct told corrected, correct told refused,
  delegations failed, deposits delivered, deposits gone, deposits held, deposits ignored,
  deposits refunded, deposits resolved, dust, killed_after, killed_before, look at check told 0,
  look at subscription told 0, orders failed, quote told 0, quote told 35, quote told 500,
  quote told 6, quote told 71, refused, resolve told nothing, resolve told refused,
  resolve told resolved, resolve told sent, spam, stop told 0, subscription told 10,
  subscription told 2, subscription told 24, subscription told 35, subscription told 500,
  subscription told 6, subscriptions error, subscriptions expired, subscriptions stopped,
  subscriptions stopped before they began, told 24, told 500, unanswered, uses, votes cast,
  webhook calls`
  .trim()
  .split(/,\s+/)
/** So many runs reach each of them at least; when others are drawn, others are chosen. */
const RUNS_MIN = 2
const THREADS = 2
const LANES = 2

/** Run twice: what a seed does must not depend on the lane or on what ran there before. */
const TWICE = ['94003', '94039', '94129', '94475']

/** All in one go, because a lane's database takes as long as some runs. Those that are run twice
 *  stand in both: SEEDS has them too. */
let running: Promise<SeedResult[]> | undefined
function runAll(): Promise<SeedResult[]> {
  running ??= (async () => {
    const results: SeedResult[] = []
    const seeds = [...SEEDS, ...TWICE]
    await runSeedsOnThreads({ seeds, lanes: LANES, lines: 60 }, THREADS, (result) => {
      results.push(result)
    })
    assert.equal(results.length, seeds.length)
    return results
  })()
  return running
}

async function hold(seeds: readonly string[]): Promise<SeedResult[]> {
  const results = (await runAll()).filter(({ seed }) => seeds.includes(seed))
  const failed = results.filter(({ findings }) => findings.length > 0)
  const told = failed.map(
    ({ seed, story, findings }) => `${seed}\n${story}\n${findings.join('\n')}`,
  )
  assert.equal(failed.length, 0, `seeds that found something: ${told.join('\n\n')}`)
  return results
}

test('whatever crashes, forks and is lost: books and chain agree, all comes to rest', async () => {
  const results = await hold(SEEDS)
  const seedsThat = (reach: string) =>
    new Set(results.filter(({ counts }) => counts[reach]).map(({ seed }) => seed)).size
  assert.deepEqual(
    REACHED.filter((what) => seedsThat(what) < RUNS_MIN),
    [],
  )
})

test('a seed does the same things in the same order, also with two processes', async () => {
  const results = await hold(TWICE)
  let compared = 0
  for (const seed of TWICE) {
    const [one, other] = results.filter((result) => result.seed === seed)
    // Where the server itself chose among several that waited for a row, it may choose otherwise.
    if (one!.counts.races || other!.counts.races) continue
    assert.equal(one!.digest, other!.digest, `seed ${seed}`)
    compared += 1
  }
  assert.ok(compared >= 2, `${compared} seeds could be compared`)
})
