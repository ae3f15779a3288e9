// The figures of the last hours or days, as charts of the console draw them: what customers ordered
// and spent, and how long deliveries took.

import { type HouseSummary, houseSummaries, NO_SUMS } from '../../ledger/statements/summaries.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { percentile } from '../uptime/histograms.ts'
import { floorTo, readMetrics, SPAN_MS } from '../uptime/metrics.ts'

export type PastFigures = HouseSummary & {
  /** From the acceptance of an order to the block of its last transaction, as the bound below which
   *  half of them lie, or 95 of 100; null: none ended, or too many failed. */
  block_p50_ms: number | null
  block_p95_ms: number | null
}

type PastNeeds = { sql: Sql; clock: Clock; bucket: 'hour' | 'day'; buckets: number }

/** The last `buckets` hours or days, this one included, oldest first. */
export async function figuresHistory(needs: PastNeeds): Promise<PastFigures[]> {
  const { sql, clock, bucket, buckets } = needs
  const newest_ms = floorTo(bucket, clock.now()).getTime()
  const first_ms = newest_ms - (buckets - 1) * SPAN_MS[bucket]
  const [since, until] = [new Date(first_ms), new Date(newest_ms + SPAN_MS[bucket])]
  const summaries = await houseSummaries(sql, { bucket, since, until })
  const metrics = await readMetrics(sql, { span: bucket, from: since, until })
  const by_time = new Map(summaries.map((one) => [one.at.getTime(), one]))
  const counts_at = new Map(
    metrics
      .filter(({ metric }) => metric === 'order_in_block')
      .map(({ at, counts }) => [at.getTime(), counts]),
  )
  return Array.from({ length: buckets }, (_, i) => {
    const at = new Date(first_ms + i * SPAN_MS[bucket])
    const counts = counts_at.get(at.getTime()) ?? []
    const boundOf = (share: number) => {
      const ms = percentile(counts, share)
      return ms === undefined || ms === Number.POSITIVE_INFINITY ? null : ms
    }
    return {
      ...NO_SUMS,
      ...by_time.get(at.getTime()),
      at,
      block_p50_ms: boundOf(0.5),
      block_p95_ms: boundOf(0.95),
    }
  })
}
