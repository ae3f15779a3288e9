// Latencies as counts in fixed buckets, so that those of minutes can be added up to those of a day:
// percentiles of a sum are as right as those of a part. A sample is below the bound of its bucket
// and not below the one before. What failed is a sample too, later than every other.

/** Upper bounds of the buckets, in milliseconds: fine where what is measured mostly lies, and at
 *  every limit that decides whether something is slow. Never changed: counts are kept. */
export const BOUNDS_MS: readonly number[] = [
  5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000,
  3_500, 4_000, 4_500, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 12_000, 15_000, 20_000, 25_000,
  30_000, 40_000, 50_000, 55_000, 60_000, 65_000, 70_000, 75_000, 80_000, 90_000, 120_000, 180_000,
  300_000, 600_000, 1_800_000, 3_600_000,
]
/** The bucket of what took longer than any bound. */
const BEYOND = BOUNDS_MS.length
/** The bucket of what failed. */
export const FAILED: number = BEYOND + 1

export type Counts = readonly number[]

/** Nothing counted yet. */
export const noCounts = (): number[] => Array<number>(FAILED + 1).fill(0)

/** The bucket of a duration in milliseconds. */
export function bucketOf(ms: number): number {
  const bucket = BOUNDS_MS.findIndex((bound) => ms < bound)
  return bucket < 0 ? BEYOND : bucket
}

export const total = (counts: Counts): number => counts.reduce((sum, count) => sum + count, 0)

/** Adds counts of one metric, place by place. */
export function sum(all: readonly Counts[]): number[] {
  const places = Math.max(0, ...all.map(({ length }) => length))
  return Array.from({ length: places }, (_, i) =>
    all.reduce((sofar, counts) => sofar + (counts[i] ?? 0), 0),
  )
}

/** The bound below which this share of the samples lies, in milliseconds. Undefined when there are
 *  none; Infinity when so many failed, or took longer than any bound. */
export function percentile(counts: Counts, share: number): number | undefined {
  const samples = total(counts)
  if (samples === 0) return undefined
  const rank = Math.ceil(share * samples)
  let sofar = 0
  for (const [bucket, count] of counts.entries()) {
    sofar += count
    if (sofar >= rank) return BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY
  }
  return Number.POSITIVE_INFINITY
}
