// Many seeds, some at a time: while one run waits for the database another works. Each lane has a
// database of its own, and what a seed does is the same in every lane. One thread keeps about three
// lanes busy; several threads share the seeds.

import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { testCluster } from '../harness/database.ts'
import type { Emphasis } from './plan.ts'
import { runSeed } from './run.ts'
import { openRunDatabase } from './run_database.ts'

export type LanesOptions = {
  seeds: readonly string[]
  lanes: number
  /** How much of the story of a run that failed is told. */
  lines: number
  /** Run on each database before its first seed. */
  sql?: string | undefined
  /** What all runs are about; each seed decides when left out. */
  emphasis?: Emphasis | undefined
}

/** What became of a seed. */
export type SeedResult = {
  seed: string
  findings: string[]
  digest: string
  counts: Record<string, number>
  /** How it ended; empty when nothing was found. */
  story: string
}

/** Runs the seeds and hands over each verdict as it comes; ends early when it is answered with
 *  'stop'. */
export async function runSeeds(
  wanted: LanesOptions,
  tell: (told: SeedResult) => 'stop' | 'go on',
): Promise<void> {
  const left = [...wanted.seeds]
  async function lane(): Promise<void> {
    const database = await openRunDatabase(wanted.sql)
    try {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        const { findings, trace } = await runSeed(database, seed, wanted.emphasis)
        const story = findings.length > 0 ? trace.last(wanted.lines) : ''
        if (tell({ seed, findings, digest: trace.digest, counts: trace.counts, story }) === 'stop')
          left.length = 0
      }
    } finally {
      await database.close()
    }
  }
  await Promise.all(Array.from({ length: wanted.lanes }, lane))
}

/** As runSeeds(), to the end, with so many lanes on each of so many threads. */
export async function runSeedsOnThreads(
  { seeds, ...wanted }: LanesOptions,
  threads: number,
  tell: (told: SeedResult) => void,
): Promise<void> {
  // Before the threads begin: each has the variables as they are then.
  await testCluster()
  await Promise.all(
    Array.from({ length: threads }, async (_, i) => {
      const share: LanesOptions = {
        ...wanted,
        seeds: seeds.filter((_, place) => place % threads === i),
      }
      const thread = new Worker(join(import.meta.dirname, 'lanes_thread.ts'), {
        workerData: share,
      })
      thread.on('message', tell)
      await once(thread, 'exit')
    }),
  )
}
