// What the pool can deliver, what each wallet has out, and what will be free in the coming hour.

import type { Sql } from '../database/sql.ts'

export type PoolRow = {
  resource: string
  /** What could be delivered, and what of it open orders will take, in units. */
  room: bigint
  reserved: bigint
  free: bigint
  /** What is delegated now, in units and in stake. */
  out: bigint
  out_sun: bigint
  /** What a stake of 1000 TRX gives. */
  units_per_1000_trx: bigint | null
}

export async function poolRows(sql: Sql): Promise<PoolRow[]> {
  return sql<PoolRow>`
    select p.resource, room, reserved, room - reserved as free, coalesce(sum(d.amount),
      0)::bigint as out,
           coalesce(sum(d.stake_sun), 0)::bigint as out_sun,
           1000 * p.total_limit / nullif(p.total_weight, 0) as units_per_1000_trx
    from pool as p left join delegation as d on d.resource = p.resource
      and d.state in ('delegating', 'active', 'reclaiming')
    group by p.resource order by p.resource desc`
}

export type PoolWalletRow = {
  address: string
  resource: string
  room_sun: bigint
  /** How many transactions it can pay for, beyond those that take back what is out. */
  carries: bigint
  out_sun: bigint
  delegations: bigint
  surveyed_at_block: bigint
}

/** The wallets as last surveyed, or one of them, and what of them is delegated now. */
export async function poolWallets(sql: Sql, address: string | null = null) {
  return sql<PoolWalletRow>`
    select w.address, w.resource, w.room_sun, w.carries, coalesce(sum(d.stake_sun),
      0)::bigint as out_sun,
           count(d.id) as delegations, w.block_number as surveyed_at_block
    from pool_wallet as w left join delegation as d
      on d.wallet = w.address and d.resource = w.resource
        and d.state in ('delegating', 'active', 'reclaiming')
    where ${address}::text is null or w.address = ${address}
    group by w.address, w.resource order by w.address, w.resource desc`
}

/** Between two points of a forecast for so many hours. */
const forecastMinutes = (hours: number): number => (hours === 1 ? 5 : hours <= 6 ? 15 : 60)

export type ForecastPoint = {
  resource: string
  at: Date
  minutes: number
  free: bigint
  free_if_used: bigint
}

/** What is free now, and what will be in the coming hours, from 1 to 24, in units, if nothing more
 *  is sold: what is out comes back when its hour is over on the chain. Whole, if
 *  nothing of it was used (`free`); what was used comes back with the stake as usage of ours, and
 *  recovers over a day (`free_if_used`: if all was, and as late as can be). */
export async function poolForecast(
  sql: Sql,
  { hours = 1, resource = null }: { hours?: number | undefined; resource?: string | null } = {},
): Promise<ForecastPoint[]> {
  return sql<ForecastPoint>`
    select p.resource, at, minutes, (room - reserved + back.whole)::bigint as free,
           floor(room - reserved + back.recovered)::bigint as free_if_used
    from pool as p, chain, 
      generate_series(0, ${60 * hours}::integer, ${forecastMinutes(hours)}::integer) as minutes,
      lateral (select head_time + minutes * interval '1 minute' as at) as later,
      lateral (
        select coalesce(sum(d.amount), 0) as whole,
               coalesce(sum(d.amount * least(1, extract(epoch
                 from later.at - d.expires_at) / 86400)), 0) as recovered
        from delegation as d
        where d.resource = p.resource and d.state in ('active', 'reclaiming')
          and d.expires_at <= later.at) as back
    where ${resource}::text is null or p.resource = ${resource}
    order by p.resource desc, minutes`
}
