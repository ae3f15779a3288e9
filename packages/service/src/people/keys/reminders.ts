// What customers are told of keys that nobody changes: that one ends soon, and that one may spend
// nothing more today. Each is told once; the cap once a day.

import { type Clock, later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { takeReachedCaps } from '../customers/spending.ts'
import { type KeyRef, noteEndings, noteReachedCaps } from './keys.ts'

export type Needs = { sql: Sql; clock: Clock }

/** How long before its end a key's customer is told of it. */
const ENDING_MS = 7 * 86_400_000
const AT_ONCE = 200

export function remindKeysStep({ sql, clock }: Needs): Step {
  return {
    name: 'remind_keys',
    rest_ms: 2_000,
    due: (sql) => sql`
      select from api_key where revoked_at is null and ending_at is null
        and expires_at <= ${later(clock, ENDING_MS)} and expires_at > ${clock.now()}
      union all
      select from api_key_cap where told_at is null`,
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        const now = clock.now()
        const ending = await tx<KeyRef>`
          select id, customer_id from api_key
          where revoked_at is null and ending_at is null
            and expires_at <= ${later(clock, ENDING_MS)} and expires_at > ${now}
          order by id limit ${AT_ONCE} for no key update skip locked`
        await noteEndings(tx, ending, now)
        const capped = await takeReachedCaps(tx, { limit: AT_ONCE, now })
        await noteReachedCaps(tx, capped, now)
        return ending.length + capped.length > 0
      }),
  }
}
