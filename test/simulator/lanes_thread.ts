// A thread of runSeedsOnThreads(): runs its share of the seeds, and tells of each.

import { parentPort, workerData } from 'node:worker_threads'
import { type LanesOptions, runSeeds } from './lanes.ts'

await runSeeds(workerData as LanesOptions, (told) => {
  parentPort!.postMessage(told)
  return 'go on'
})
