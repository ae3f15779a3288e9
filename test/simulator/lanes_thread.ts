// A thread of runSeedsOnThreads(): runs its share of the seeds, and tells of each.

import { parentPort, workerData } from 'node:worker_threads'
import { runSeeds, type Wanted } from './lanes.ts'

await runSeeds(workerData as Wanted, (told) => {
  parentPort!.postMessage(told)
  return 'go on'
})
