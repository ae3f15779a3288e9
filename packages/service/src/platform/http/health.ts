// The answer of /health. It is looked up at most once a second however often it is asked for, and
// by one look at a time.

import type { Clock } from '../../lib/clock.ts'

const FRESH_MS = 1_000

/** Whether all is well; what the look throws means that it is not. */
export function healthReader(look: () => Promise<unknown>, clock: Clock): () => Promise<boolean> {
  let seen: { healthy: boolean; at_ms: number } | undefined
  let looking: Promise<boolean> | undefined

  async function lookNow(): Promise<boolean> {
    const healthy = await look().then(
      () => true,
      () => false,
    )
    seen = { healthy, at_ms: clock.now().getTime() }
    looking = undefined
    return healthy
  }

  return async () => {
    const fresh = seen && Math.abs(clock.now().getTime() - seen.at_ms) < FRESH_MS
    if (seen && fresh) return seen.healthy
    looking ??= lookNow()
    return looking
  }
}
