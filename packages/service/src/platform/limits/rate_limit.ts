// A token bucket for each caller, in this process only: several processes allow several times as
// much. It protects the service from one caller; what a customer may spend is limited elsewhere.

import type { Clock } from '../../lib/clock.ts'

export type RateLimit = {
  per_second: number
  /** What may come at once after a pause. */
  burst: number
}

export type Allowance = {
  allowed: boolean
  remaining: number
  retry_after_seconds: number
  full_after_seconds: number
}

export type RateLimiter = {
  /** Takes one request of the caller's allowance, if any is left. */
  take(caller: string): Allowance
  /** What take() would answer, and takes nothing. */
  look(caller: string): Allowance
  /** Counts a request that is served in any case: what is missing then has to be gained again
   *  first. */
  charge(caller: string): Allowance
}

type Bucket = { level: number; at_ms: number }

/** Beyond this many callers the one seen first is forgotten, so that made-up ones do not fill the
 *  memory. */
const CALLERS_MAX = 50_000

export function rateLimiter(
  limit: RateLimit,
  clock: Clock,
  callers_max = CALLERS_MAX,
): RateLimiter {
  const { per_second, burst } = limit
  const buckets = new Map<string, Bucket>()

  /** The caller's bucket as it is now. */
  function bucketOf(caller: string): Bucket {
    const now_ms = clock.now().getTime()
    let bucket = buckets.get(caller)
    if (!bucket) {
      const [first] = buckets.keys()
      if (buckets.size >= callers_max && first !== undefined) buckets.delete(first)
      bucket = { level: burst, at_ms: now_ms }
      buckets.set(caller, bucket)
    }
    const gained = (Math.max(0, now_ms - bucket.at_ms) / 1000) * per_second
    bucket.level = Math.min(burst, bucket.level + gained)
    bucket.at_ms = now_ms
    return bucket
  }

  const allowance = (allowed: boolean, level: number): Allowance => ({
    allowed,
    remaining: Math.max(0, Math.floor(level)),
    retry_after_seconds: Math.ceil(Math.max(0, 1 - level) / per_second),
    full_after_seconds: Math.ceil((burst - level) / per_second),
  })

  return {
    take(caller) {
      const bucket = bucketOf(caller)
      const allowed = bucket.level >= 1
      if (allowed) bucket.level -= 1
      return allowance(allowed, bucket.level)
    },
    look(caller) {
      const level = buckets.has(caller) ? bucketOf(caller).level : burst
      return allowance(level >= 1, level)
    },
    charge(caller) {
      const bucket = bucketOf(caller)
      bucket.level -= 1
      return allowance(true, bucket.level)
    },
  }
}
