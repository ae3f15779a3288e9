// Where the money lies: what came to each deposit address and has not left it, as confirmed blocks
// have it, and what of that is on its way in a file that may still be sent.

import type { Address } from 'penstock-tron/address.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { BLOCKED, UNFOLLOWED } from '../deposits/deposits.ts'
import { COLLECTED, NETWORK_FEES } from './collections.ts'

export type Place = {
  address: Address
  deposit_index: number
  customer_id: string
  /** TRX that lies there, and what of it a transfer may still take. */
  trx_sun: bigint
  under_way_sun: bigint
  /** Of a blacklisted sender, and not decided: it stays. */
  blocked_sun: bigint
  /** When the first of it came; null when nothing lies there. */
  since: Date | null
}

export type TokenPlace = {
  address: Address
  token: Address
  /** In its smallest unit. */
  amount: bigint
  /** With what came before the token was followed. Who has sent more is not known: it stays. */
  known: bigint
  under_way: bigint
  /** Some of it came from a blacklisted sender: all of it stays. */
  blocked: boolean
}

/** Deposit addresses where TRX lies, or from which a transfer is under way; the most first. */
export const trxPlaces = (sql: Sql): Promise<Place[]> =>
  sql<Place>`
    with gone as (
      select address, sum(amount_sun + coalesce(fee_sun, 0)) as sun, max(block_number) as last
      from deposit_outflow group by address
    ), came as (
      select d.to_address as address, sum(d.amount_sun) as sun,
        sum(d.amount_sun) filter (where d.reason = ${BLOCKED} and d.state in ('held', 'ignored'))
          as blocked,
        min(d.block_time) filter (where d.block_number > coalesce(gone.last, -1)) as since,
        min(d.block_time) as first
      from deposit as d left join gone on gone.address = d.to_address
      where d.customer_id is not null and d.solid_at is not null and d.amount_sun is not null
      group by d.to_address
    ), under_way as (
      select address, sum(amount) as sun from collection_transfer
      where state = 'made' and token is null group by address
    ), place as (
      select c.deposit_address as address, c.deposit_index, c.id as customer_id,
        (coalesce(h.prior_sun, 0) + coalesce(came.sun, 0) - coalesce(gone.sun, 0))::bigint
          as trx_sun,
        coalesce(under_way.sun, 0)::bigint as under_way_sun,
        coalesce(came.blocked, 0)::bigint as blocked_sun, coalesce(came.since, came.first) as since
      from customer as c left join holding as h on h.address = c.deposit_address
        left join came on came.address = c.deposit_address
        left join gone on gone.address = c.deposit_address
        left join under_way on under_way.address = c.deposit_address
    )
    select address, deposit_index, customer_id, trx_sun, under_way_sun, blocked_sun,
      case when trx_sun > 0 then since end as since
    from place where trx_sun <> 0 or under_way_sun <> 0
    order by trx_sun desc, deposit_index`

/** Followed tokens at deposit addresses. One that was sent back by hand, from there or from
 *  elsewhere, is still among them: only the chain says what lies there. */
export const tokenPlaces = (sql: Sql): Promise<TokenPlace[]> =>
  sql<TokenPlace>`
    with came as (
      select to_address as address, token, sum(token_amount) filter (where is_followed) as amount,
        sum(token_amount) as known,
        bool_or(reason = ${BLOCKED} and state in ('held', 'ignored')) as blocked
      from deposit, lateral (
        select reason is distinct from ${UNFOLLOWED} as is_followed) as kind
      where customer_id is not null and solid_at is not null and token ~ '^T'
      group by to_address, token having bool_or(is_followed)
    ), moved as (
      select address, token, coalesce(sum(moved), 0) as gone,
        coalesce(sum(amount) filter (where state = 'made'), 0) as under_way
      from collection_transfer where token is not null group by address, token
    )
    select came.address, came.token, came.amount - coalesce(gone, 0) as amount,
      came.known - coalesce(gone, 0) as known,
      coalesce(under_way, 0) as under_way, came.blocked
    from came left join moved on moved.address = came.address and moved.token = came.token
    where came.amount <> coalesce(gone, 0) or coalesce(under_way, 0) <> 0
    order by came.token, came.address`

export type CollectedSums = { collected_sun: bigint; fees_sun: bigint }

/** All that was ever collected, and what the network took for it, by the ledger. */
export async function collectedSums(sql: Sql): Promise<CollectedSums> {
  const [sums] = await sql<CollectedSums>`
    select coalesce(sum(amount_sun) filter (where debit = ${COLLECTED}), 0)::bigint
        as collected_sun,
      coalesce(sum(amount_sun) filter (where debit = ${NETWORK_FEES}), 0)::bigint as fees_sun
    from transfer where kind = 'move' and debit in (${COLLECTED}, ${NETWORK_FEES})`
  return sums!
}

/** TRX that left deposit addresses by no collection, fees included: sent back by hand, or
 *  collected by other means. */
export async function leftOtherwise(sql: Sql): Promise<bigint> {
  const [left] = await sql<{ sun: bigint }>`
    select coalesce(sum(o.amount_sun + coalesce(o.fee_sun, 0)), 0)::bigint as sun
    from deposit_outflow as o
    where exists (select 1 from customer where deposit_address = o.address)
      and not exists (select 1 from collection_transfer as t where t.tx_id = o.tx_id)`
  return left!.sun
}
