// What the pool can deliver, and what each wallet has out.

import type { Query, Sql } from '../../platform/database/sql.ts'

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

export async function poolRows(sql: Query): Promise<PoolRow[]> {
  return sql<PoolRow>`
    select p.resource, room, reserved, room - reserved as free, coalesce(sum(d.amount),
      0)::bigint as out,
           coalesce(sum(d.stake_sun), 0)::bigint as out_sun,
           1000 * p.total_limit / nullif(p.total_weight, 0) as units_per_1000_trx
    from pool as p left join delegation as d on d.resource = p.resource
      -- Each of the states has an index; by a list of them all that ever was is read.
      and (d.state = 'delegating' or d.state = 'active' or d.state = 'reclaiming')
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
        and (d.state = 'delegating' or d.state = 'active' or d.state = 'reclaiming')
    where ${address}::text is null or w.address = ${address}
    group by w.address, w.resource order by w.address, w.resource desc`
}
