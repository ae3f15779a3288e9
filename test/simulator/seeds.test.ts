// Some seeds of the simulator, for the tests of every day; all_seeds.test.ts has those that reach
// together whatever it can do.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hold, runAll } from './hold.ts'
import type { SeedResult } from './lanes.ts'

const SEEDS = ['94003', '94016', '94039', '94099', '94129', '94475']
/** Run twice: what a seed does must not depend on the lane or on what ran there before. */
const TWICE = ['94003', '94039', '94129', '94475']

let running: Promise<SeedResult[]> | undefined
const resultsOf = () => (running ??= runAll([...SEEDS, ...TWICE]))

test('whatever crashes, forks and is lost: books and chain agree, all comes to rest', async () => {
  hold(await resultsOf())
})

test('a seed does the same things in the same order, also with two processes', async () => {
  const results = await resultsOf()
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
