// What room the pool will have, as customers may see it: rounded down, so that nobody reads from it
// what others buy, and not at all when the operator hides it.

import { Type } from 'typebox'
import { wireTime } from '../../lib/clock.ts'
import type { Query, Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  refuses,
  ServiceUnavailable,
} from '../../platform/wire/endpoint.ts'
import { poolForecast } from '../pool/forecast.ts'
import type { Prices } from '../prices/prices.ts'
import { readOffer } from './offer.ts'

/** A number of units to two digits, rounded down. */
function roundDown(units: bigint): number {
  const text = String(units > 0n ? units : 0n)
  return Number(text.slice(0, 2).padEnd(text.length, '0'))
}

/** The largest order that a tier sells and the pool has room for. */
function largestOrder(free: bigint, { tiers }: Prices, resource: string): number {
  const sold = tiers.filter((tier) => tier.resource === resource)
  const largest = BigInt(Math.max(0, ...sold.map(({ max_amount }) => max_amount)))
  return roundDown(free < largest ? free : largest)
}

/** The largest order of each resource that is delivered now; none of a pool that nobody has looked
 *  at yet. */
export async function largestOrders(
  sql: Query,
  prices: Prices,
): Promise<{ resource: string; largest_order: number }[]> {
  const pools = await sql<{ resource: string; free: bigint }>`
    select resource, room - reserved as free from pool order by resource desc`
  return pools.map(({ resource, free }) => ({
    resource,
    largest_order: largestOrder(free, prices, resource),
  }))
}

/** Between two points that customers see of so many hours. */
const minutesBetween = (hours: number): number => (hours === 1 ? 5 : hours <= 6 ? 15 : 60)

export const forecastRoute = ({
  sql,
  prices,
}: {
  sql: Sql
  prices: () => Promise<Prices>
}): Endpoint =>
  endpoint({
    path: '/v1/pool-forecast',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What can be delivered now and in the coming hours, if nothing more is sold',
    body: Type.Object({
      resource: Type.Enum(['energy', 'bandwidth'], {
        fault: () => InvalidParams('resource', 'Invalid resource'),
      }),
      hours: Type.Integer({
        minimum: 1,
        maximum: 24,
        fault: () => InvalidParams('hours', 'Invalid hours'),
      }),
    }),
    reply: Type.Object({
      resource: Type.String(),
      at: Type.String(),
      now: Type.Object({
        room: Type.Integer({ description: 'Units, rounded down to two digits, as all here' }),
        largest_order: Type.Integer(),
      }),
      points: Type.Array(
        Type.Object({
          at: Type.String(),
          least: Type.Integer({
            description: 'If all is used that is out, and open orders are delivered',
          }),
          most: Type.Integer({ description: 'If nothing of it is, and open orders fail' }),
        }),
      ),
    }),
    faults: [
      refuses(InvalidParams, '`resource` is neither energy nor bandwidth', 'resource'),
      refuses(InvalidParams, '`hours` is no number from 1 to 24', 'hours'),
      refuses(ServiceUnavailable, 'The operator does not show it', 'forecast'),
      refuses(ServiceUnavailable, 'The pool was not looked at yet'),
    ],
    examples: [{ summary: 'The energy of a day', body: { resource: 'energy', hours: 24 } }],
    async handle({ body: { resource, hours } }) {
      const { forecast_shown } = await readOffer(sql)
      if (!forecast_shown) throw ServiceUnavailable('forecast', 'There are no forecasts')
      const [now, ...later] = await poolForecast(sql, { resource, hours })
      if (!now) throw ServiceUnavailable().because('the pool was not looked at yet')
      const between = minutesBetween(hours)
      const points = later.filter(({ minutes }) => minutes % between === 0)
      const largest_order = largestOrder(now.free, await prices(), resource)
      return {
        resource,
        at: wireTime(now.at),
        now: { room: roundDown(now.free), largest_order },
        points: points.map(({ at, free, free_if_used }) => ({
          at: wireTime(at),
          least: roundDown(free_if_used),
          most: roundDown(free),
        })),
      }
    },
  })
