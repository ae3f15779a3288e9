// What things have cost, on the wire.

import { Type } from 'typebox'
import { wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  Money,
  refuses,
} from '../../platform/wire/endpoint.ts'
import { timeField, timeOf } from '../../platform/wire/reading.ts'
import { RESOURCES, word } from '../../platform/wire/schemas.ts'
import { feeHistory } from './fees.ts'
import { printTier, TierForm } from './forms.ts'
import { priceHistory } from './tiers.ts'

export type Needs = { sql: Sql }

/** More than an operator changes in years. */
const ROWS_MAX = 1_000

const Period = {
  since: Type.String(),
  until: Type.Union([Type.String(), Type.Null()], { description: 'Null: it is in force' }),
}
type PeriodRow = { since: Date; until: Date | null }
const printPeriod = ({ since, until }: PeriodRow) => ({
  since: wireTime(since),
  until: until && wireTime(until),
})

const history = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/prices/history',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What things cost, and have cost, newest first',
    body: Type.Object({
      resource: Type.Optional(
        Type.Enum(['energy', 'bandwidth'], {
          description: 'Both, and the flat prices, when left out',
          fault: () => InvalidParams('resource', 'Invalid resource'),
        }),
      ),
      since: timeField('since', 'Prices that were in force then or later'),
    }),
    reply: Type.Object({
      tiers: Type.Array(
        Type.Object({ resource: word(RESOURCES), ...TierForm.properties, ...Period }),
      ),
      fees: Type.Array(
        Type.Object({
          name: Type.String({ description: 'activate_address, or aml_ and the type of check' }),
          price: Money({ description: 'TRX' }),
          ...Period,
        }),
      ),
    }),
    faults: [
      refuses(InvalidParams, '`resource` is neither energy nor bandwidth', 'resource'),
      refuses(InvalidParams, '`since` is no time', 'since'),
    ],
    examples: [{ summary: 'Of energy', body: { resource: 'energy' } }],
    async handle({ body: { resource, since } }) {
      const from = timeOf(since)
      const in_force = ({ until }: PeriodRow) => !from || until === null || until > from
      const [tiers, fees] = await Promise.all([
        priceHistory(sql, { resource, limit: ROWS_MAX }),
        resource === undefined ? feeHistory(sql, { limit: ROWS_MAX }) : [],
      ])
      return {
        tiers: tiers.filter(in_force).map((tier) => ({
          resource: tier.resource,
          ...printTier(tier),
          ...printPeriod(tier),
        })),
        fees: fees.filter(in_force).map((fee) => ({
          name: fee.name,
          price: money(fee.price_sun),
          ...printPeriod(fee),
        })),
      }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [history(needs)]
