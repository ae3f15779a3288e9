// Seeds of the simulator that reach together whatever it can do. The tests of every day run some of
// them (seeds.test.ts), past_seeds.test.ts has those that once failed, and `npm run torture -- sim`
// runs any number of others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hold, runAll } from './hold.ts'

/** Of 200 seeds cheap ones that reach together, three times, what any of them reaches. */
const SEEDS = `
  94003 94016 94021 94027 94029 94034 94039 94056 94072 94079 94082 94084 94099 94111 94112 94114
  94118 94123 94129 94143 94147 94157 94173 94437 94475 94482 94490
  94517 94522 94523 94551 94571`
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

test('whatever crashes, forks and is lost: books and chain agree, all comes to rest', async () => {
  const results = hold(await runAll(SEEDS))
  const seedsThat = (reach: string) =>
    new Set(results.filter(({ counts }) => counts[reach]).map(({ seed }) => seed)).size
  assert.deepEqual(
    REACHED.filter((what) => seedsThat(what) < RUNS_MIN),
    [],
  )
})
