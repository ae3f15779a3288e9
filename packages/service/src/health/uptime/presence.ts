// What processes count of themselves while they are there: that they are, and, those with an API,
// how long purchases took. It is written every five seconds, so what dies loses no more than that.

import { CHAIN_COLUMNS, type ChainRow, chainOf, isAgreed } from '../../chain/follow/progress.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { CallTiming } from '../../platform/http/calls.ts'
import type { Step } from '../../platform/steps/step.ts'
import { bucketOf, FAILED, noCounts, sum, total } from './histograms.ts'
import { addToMinutes, floorTo, type Metric } from './metrics.ts'
import { PRESENCE_PARTS, type Presence } from './states.ts'

type Needs = { sql: Sql; clock: Clock }

const EVERY_MS = 5_000

/** Says that a process is there at this moment. */
function presenceAt(metric: Presence, now: Date): Metric {
  const part = Math.floor((now.getUTCSeconds() / 60) * PRESENCE_PARTS)
  const counts = Array.from({ length: PRESENCE_PARTS }, (_, i) => (i === part ? 1 : 0))
  return { metric, at: floorTo('minute', now), counts }
}

/** Says that a process that runs the steps is there. */
export function attendStep({ sql, clock }: Needs): Step {
  return {
    name: 'attend',
    rest_ms: EVERY_MS,
    async run() {
      await addToMinutes(sql, [presenceAt('working', clock.now())])
      return false
    },
  }
}

const PURCHASE = '/v1/transaction/new'
const CODE_UNAVAILABLE = 35
/** Without more behind it: it is not the customer who has to wait or to ask for less. */
const KEY_UNAVAILABLE = 'service_unavailable'
const CODE_BUG = 500

/** Whether anything at all can be bought, as far as the service itself has to do with it. */
async function isSelling({ sql, clock }: Needs): Promise<boolean> {
  const [row] = await sql<ChainRow>`
    select ${CHAIN_COLUMNS} from chain where exists (select from service where on_sale)`
  return isAgreed(row && chainOf(row), clock)
}

/** Counts purchases in this process, and says every five seconds that it is there and can sell. */
export function purchaseCounter({ sql, clock }: Needs): {
  note(call: CallTiming): void
  step: Step
} {
  let answered = noCounts()
  /** Those that were refused although nothing is wrong with them. */
  let unavailable = noCounts()

  /** A purchase that was refused counts as failed only if nobody could have bought: it may have
   *  been for more than there is. */
  function taken(is_selling: boolean): number[] {
    const counts = is_selling ? sum([answered, unavailable]) : answered
    if (!is_selling) counts[FAILED]! += total(unavailable)
    answered = noCounts()
    unavailable = noCounts()
    return counts
  }

  return {
    note({ path, customer_id, code, key, ms }) {
      // What strangers are refused for says nothing of purchases.
      if (path !== PURCHASE || customer_id === undefined) return
      if (code === CODE_BUG) answered[FAILED]! += 1
      else if (code === CODE_UNAVAILABLE && key === KEY_UNAVAILABLE) unavailable[bucketOf(ms)]! += 1
      else answered[bucketOf(ms)]! += 1
    },
    step: {
      name: 'count_purchases',
      rest_ms: EVERY_MS,
      async run() {
        const now = clock.now()
        const is_selling = await isSelling({ sql, clock })
        const counts = taken(is_selling)
        const metrics: Metric[] = is_selling ? [presenceAt('selling', now)] : []
        if (counts.some((count) => count > 0))
          metrics.push({ metric: 'purchase', at: floorTo('minute', now), counts })
        await addToMinutes(sql, metrics)
        return false
      },
    },
  }
}
