// Seeds of the simulator that once failed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeedsOnThreads } from './lanes.ts'

/** Seeds that have found something: the hour that a fork made too short, uses that a fork put after
 *  the end, money held for one that was stopped before it was supplied on the day after its cap,
 *  two statements that waited for each other, an order that waited for a survey, a supply that
 *  nobody noted, what is held of a start that was stopped, and an order that a process which had
 *  slept for a day had delivered. They mean that only as long as nothing is drawn differently. */
const ONCE_FAILED = '155 368 383 1255 9110 10375 60088 92203 94054 94205 239582600'.split(' ')

test('seeds that once found something find nothing', async () => {
  const found: string[] = []
  let runs = 0
  const lines = 60
  await runSeedsOnThreads({ seeds: ONCE_FAILED, lanes: 2, lines }, 2, (result) => {
    const { seed, story, findings } = result
    runs += 1
    if (findings.length > 0) found.push(`${seed}\n${story}\n${findings.join('\n')}`)
  })
  assert.deepEqual(found, [])
  assert.equal(runs, ONCE_FAILED.length)
})
