// What a forecast of the pool is held against: the smallest order that is on sale, and the most
// that was sold in an hour of the day.

import type { Sql } from '../../platform/database/sql.ts'

type Demand = {
  resource: string
  /** Null where nothing is on sale. */
  least_order: bigint | null
  /** Units, by the hour of the day in UTC. */
  most_sold: bigint[]
}

/** By the sums that are made of each hour when it is over. */
export const readDemand = (sql: Sql): Promise<Demand[]> => sql<Demand>`
  with sold as (
    select at, sum(energy) as energy, sum(bandwidth) as bandwidth from summary
    where bucket = 'hour' and at >= (
      select date_trunc('hour', head_time) - interval '7 days' from chain)
    group by at
  ), most as (
    select extract(hour from at at time zone 'UTC') as hour, max(energy) as energy,
      max(bandwidth) as bandwidth
    from sold group by 1
  )
  select r.resource, (
      select min(min_amount) from price where price.resource = r.resource and until is null
    ) as least_order,
    array(
      select coalesce(
        case r.resource when 'energy' then most.energy else most.bandwidth end, 0)::bigint
      from generate_series(0, 23) as h (hour) left join most on most.hour = h.hour
      order by h.hour) as most_sold
  from (values ('energy'), ('bandwidth')) as r (resource)`

/** What of it concerns a resource at that time. */
export function demandAt(
  demand: readonly Demand[],
  resource: string,
  at: Date,
): { least_order: bigint | null; most_sold: bigint } {
  const own = demand.find((one) => one.resource === resource)
  return {
    least_order: own?.least_order ?? null,
    most_sold: own?.most_sold[at.getUTCHours()] ?? 0n,
  }
}
