// Earnings.

import { Type } from 'typebox'
import { earningsOf } from '../../ledger/statements/earnings.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { Count, ListOf, optional, Sun, Text, whole } from '../../platform/wire/schemas.ts'
import { look } from '../table/operation.ts'

const DAYS = 7

export const earningOperations = [
  look({
    path: '/operator/earnings/list',
    summary: 'what was earned on each day (UTC), by service, newest first',
    description:
      'Charges less what was given back of them, from the entries of the ledger; today too.',
    body: Type.Object({ days: optional(whole('N', 'of so many days (7)', { max: 31 })) }),
    reply: ListOf({ day: Text, service: Text, charges: Count, earned_sun: Sun }),
    async handle({ sql, clock, body: { days = DAYS } }) {
      const now_ms = clock.now().getTime()
      const today_ms = now_ms - (now_ms % DAY_MS)
      const since = new Date(today_ms - (days - 1) * DAY_MS)
      const until = new Date(today_ms + DAY_MS)
      return { value: await earningsOf(sql, { since, until }) }
    },
  }),
]
