// A token bucket for each caller, in this process only: several processes allow several times as much. It protects the
// service from one caller; what a customer may spend is limited elsewhere.

import type { Clock } from '../lib/clock.ts'

export type RateLimit = {
  per_second: number
  /** What may come at once after a pause. */
  burst: number
}

export type Allowance = { allowed: boolean; remaining: number; retry_after_seconds: number; full_after_seconds: number }

type Bucket = { level: number; at_ms: number }

/** Beyond this many callers the one seen first is forgotten, so that made-up tokens do not fill the memory. */
const CALLERS_MAX = 50_000

/** Takes one request of the caller's allowance, if any is left. */
export function rateLimiter({ per_second, burst }: RateLimit, clock: Clock): (caller: string) => Allowance {
  const buckets = new Map<string, Bucket>()
  return (caller) => {
    const now_ms = clock.now().getTime()
    let bucket = buckets.get(caller)
    if (!bucket) {
      const [first] = buckets.keys()
      if (buckets.size >= CALLERS_MAX && first !== undefined) buckets.delete(first)
      bucket = { level: burst, at_ms: now_ms }
      buckets.set(caller, bucket)
    }
    const gained = (Math.max(0, now_ms - bucket.at_ms) / 1000) * per_second
    bucket.level = Math.min(burst, bucket.level + gained)
    bucket.at_ms = now_ms
    const allowed = bucket.level >= 1
    if (allowed) bucket.level -= 1
    return {
      allowed,
      remaining: Math.floor(bucket.level),
      retry_after_seconds: Math.ceil(Math.max(0, 1 - bucket.level) / per_second),
      full_after_seconds: Math.ceil((burst - bucket.level) / per_second),
    }
  }
}
