// Many seeds, some at a time: while one run waits for the database another works. Each lane has a database of its own, and
// what a seed does is the same in every lane.

import { openGround } from './ground.ts'
import { runSeed, type Verdict } from './run.ts'

export type Wanted = {
  seeds: readonly string[]
  lanes: number
  /** Run on each database before its first seed. */
  sql?: string | undefined
}

/** Runs the seeds and hands over each verdict as it comes; ends early when it is answered with 'stop'. */
export async function runSeeds(wanted: Wanted, tell: (verdict: Verdict) => 'stop' | 'go on'): Promise<void> {
  const left = [...wanted.seeds]
  async function lane(): Promise<void> {
    const ground = await openGround(wanted.sql)
    try {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        if (tell(await runSeed(ground, seed)) === 'stop') left.length = 0
      }
    } finally {
      await ground.close()
    }
  }
  await Promise.all(Array.from({ length: wanted.lanes }, lane))
}
