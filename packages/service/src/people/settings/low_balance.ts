// Tells customers that less can be spent than they have said. Told once; again only after the
// balance was a tenth above their limit, or they have set another one.

import { Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { forgetLowBalances, noteLowBalances } from './settings.ts'

export const settingKinds: readonly EventKind[] = [
  eventKind('balance.low', {
    data: Type.Object({
      balance: Money({ description: 'TRX: what can be spent' }),
      limit: Money({ description: 'TRX: `balance_low` of your settings' }),
    }),
    when: 'less can be spent than you have set; again only after it was a tenth above that',
    sample: { balance: 49.2, limit: 50 },
  }),
]

export function lowBalanceStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  return {
    name: 'low_balance',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from customer_setting as s join account as a on a.id = 'customer:' || s.customer_id
      where s.balance_low_sun is not null and case when s.balance_low_at is null
        then a.posted_sun - a.held_sun < s.balance_low_sun
        else (a.posted_sun - a.held_sun) * 10 >= s.balance_low_sun * 11 end`,
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        const forgotten = await forgetLowBalances(tx)
        const noted = await noteLowBalances(tx, clock.now())
        return forgotten || noted
      }),
  }
}
