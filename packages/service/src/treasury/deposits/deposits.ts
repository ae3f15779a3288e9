// Deposits: what arrives at an address of ours, and the arrows that move it. Each arrow is one
// function here, in the caller's transaction.
//
//   seen -> credited                                     to a customer's address (deposit_step.ts)
//   seen -> unproven -> credited | held                  sent by a contract (holdings.ts)
//   seen -> received -> delivering -> delivered          a direct recharge (recharges.ts)
//                  `--> returning <--'   -> refunding -> refunded | held | ignored
//   seen -> held | ignored -> resolved                   by an operator (resolutions.ts)
//   seen, received, returning -> gone                    a fork took it back; if it comes again it
//                                                        is what it then is
//
// A deposit's key is the transaction's on the chain, with a position: 0 its own transfer, n the nth
// event of its block, -n the nth transfer that contracts made in it.

import type { Address } from 'penstock-tron/address.ts'
import { type EventType, noteEvents } from '../../events/log/notes.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { DEPOSIT_COLUMNS, type Deposit, depositForms, type Place, placeOf } from './forms.ts'

export { type Deposit, type Place, placeOf } from './forms.ts'

/** Why what a blacklisted sender has sent is held. */
export const BLOCKED = 'blocked: the sender is blacklisted'
/** Why money is held that is of high risk by where it came from. */
export const HIGH_RISK = 'blocked: the money is of high risk'

/** Why a token is passed over: anybody can make one. */
export const UNFOLLOWED = 'a token that is not followed'

/** The name of the order that delivers a direct recharge. */
export const deliveryName = (tx_id: string) => `deposit:${tx_id}`

type DepositChange = Place & Pick<Deposit, 'customer_id' | 'state'>

/** Events of customers' deposits; nobody is told of the others. */
async function noteDeposits(
  tx: Tx,
  type: EventType,
  deposits: readonly DepositChange[],
  at: Date,
): Promise<void> {
  const noted = deposits.flatMap(({ customer_id, ...place }) =>
    customer_id === null ? [] : [{ customer_id, ...place }],
  )
  if (noted.length === 0) return
  const form_of = await depositForms(tx, noted)
  noteEvents(
    tx,
    noted.map(({ customer_id, ...place }) => ({
      type,
      subject: `deposit:${placeOf(place)}`,
      customer_id,
      at,
      data: form_of.get(placeOf(place))!,
    })),
  )
}

/** What a block says of a deposit, and what becomes of it. */
export type DepositArrival = {
  tx_id: string
  position: number
  from: Address
  to: Address
  amount_sun: bigint | null
  token: string | null
  token_amount: bigint | null
  block_number: number
  block_time: Date
  customer_id: string | null
  state: Deposit['state']
  reason: string | null
  left_out: number
}

/** -> seen, unproven, credited, received, held, ignored: writes the deposits, or, of those that
 *  were noted before and are not solid, what they are now, and their fate if that was open. On
 *  another branch, or by the word of another node, what has the same place in a transaction can be
 *  something else: a contract sends less, or to another. */
export async function noteArrived(
  tx: Tx,
  arrived: readonly DepositArrival[],
  { solid, now }: { solid: boolean; now: Date },
): Promise<void> {
  if (arrived.length === 0) return
  // A node that shows a transaction twice must not stop everything: the last counts.
  const rows = [...new Map(arrived.map((one) => [placeOf(one), one])).values()]
  const column = <Key extends keyof DepositArrival>(name: Key) => rows.map((row) => row[name])
  const now_or_open = solid ? now : null
  const noted = await tx<
    DepositChange & { is_new: boolean; state_before: Deposit['state'] | null }
  >`
    with before as materialized (
      select tx_id, position, state from deposit where tx_id = any(${column('tx_id')})
    ), noted as (
    insert into deposit (tx_id, position, from_address, to_address, amount_sun, token,
      token_amount, block_number,
                         block_time, customer_id, state, reason, left_out, solid_at, due_at,
                           seen_at)
    select tx_id, position, from_address, to_address, amount_sun, token, token_amount,
      block_number, block_time,
           customer_id, state, reason, left_out, ${now_or_open}::timestamptz, ${now}, ${now}
    from unnest(${column('tx_id')}::text[], ${column('position')}::integer[],
                ${column('from')}::text[], ${column('to')}::text[],
                ${column('amount_sun')}::bigint[], ${column('token')}::text[],
                ${column('token_amount').map((one) => one?.toString() ?? null)}::numeric[],
                ${column('block_number')}::bigint[], ${column('block_time')}::timestamptz[],
                ${column('customer_id')}::text[], ${column('state')}::text[],
                ${column('reason')}::text[],
                ${column('left_out')}::integer[])
      as t (tx_id, position, from_address, to_address, amount_sun, token, token_amount,
        block_number, block_time,
            customer_id, state, reason, left_out)
    on conflict (tx_id, position) do update
      set from_address = excluded.from_address, to_address = excluded.to_address,
          amount_sun = excluded.amount_sun, token = excluded.token,
          token_amount = excluded.token_amount, block_number = excluded.block_number,
          block_time = excluded.block_time, customer_id = excluded.customer_id,
          left_out = excluded.left_out, solid_at = excluded.solid_at,
          state = case when deposit.state in ('seen', 'gone')
                    or (deposit.state = 'unproven' and ${solid}::boolean)
                  then excluded.state else deposit.state end,
          reason = case when deposit.state in ('seen', 'gone')
                     or (deposit.state = 'unproven' and ${solid}::boolean)
                   then excluded.reason else deposit.reason end
      where deposit.solid_at is null
    returning tx_id, position, customer_id, state, xmax = 0 as is_new
    )
    select tx_id, position, noted.customer_id, noted.state, is_new, before.state as state_before
    from noted left join before using (tx_id, position)`
  const those = (state: Deposit['state']) => noted.filter((one) => one.state === state)
  // A block that is read again, or by two at once, tells nothing new.
  const seen = those('seen').filter(
    ({ is_new, state_before }) => is_new || (state_before !== null && state_before !== 'seen'),
  )
  if (!solid) return noteDeposits(tx, 'deposit.seen', seen, now)
  await noteDeposits(tx, 'deposit.credited', those('credited'), now)
  await noteDeposits(tx, 'deposit.held', those('held'), now)
}

const REVERTED = 'taken back by a fork'

/** seen, received, returning -> gone: what was in blocks of these numbers, and is not among the
 *  transactions that are there now. */
export async function forgetMissing(
  tx: Tx,
  blocks: readonly number[],
  { present, now }: { present: readonly string[]; now: Date },
): Promise<void> {
  const gone = await tx<DepositChange>`
    update deposit set state = 'gone', reason = ${REVERTED} where (tx_id, position) in (
      select tx_id, position from deposit
      where block_number = any(${blocks}) and solid_at is null
        and state in ('seen', 'received', 'returning') and not tx_id = any(${present})
      order by tx_id, position for update)
    returning tx_id, position, customer_id, state`
  await noteDeposits(tx, 'deposit.gone', gone, now)
}

/** seen, received, returning -> gone: what solid blocks should have had, and did not. True when
 *  there was any. */
export async function forgetPassed(tx: Tx, now: Date): Promise<boolean> {
  const gone = await tx<DepositChange>`
    update deposit set state = 'gone', reason = ${REVERTED} where (tx_id, position) in (
      select tx_id, position from deposit
      where state in ('seen', 'received', 'returning') and solid_at is null
        and block_number <= (select number from cursor where name = 'deposits')
      order by tx_id, position for update)
    returning tx_id, position, customer_id, state`
  await noteDeposits(tx, 'deposit.gone', gone, now)
  return gone.length > 0
}

/** unproven -> held: no balance bears it out, so it is money for nobody. */
export async function holdUnproven(
  tx: Tx,
  places: readonly Place[],
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  const held = await tx<DepositChange>`
    update deposit set state = 'held', reason = ${reason}, token = 'unproven',
      token_amount = amount_sun, amount_sun = null, solid_at = ${now}
    from unnest(${places.map((one) => one.tx_id)}::text[],
                ${places.map((one) => one.position)}::integer[]) as t (id, place)
    where tx_id = t.id and position = t.place and state = 'unproven'
    returning tx_id, position, customer_id, state`
  await noteDeposits(tx, 'deposit.held', held, now)
}

/** Locks one that was received. False when it is not to be delivered any more. */
export async function lockReceived(tx: Tx, { tx_id, position }: Place): Promise<boolean> {
  const received = await tx`
    select from deposit where tx_id = ${tx_id} and position = ${position} and state = 'received'
    for update`
  return received.length > 0
}

/** received -> delivering: by an order. False when it was not to be delivered any more. */
export async function deliverDeposit(
  sql: Query,
  { tx_id }: Place,
  order: { id: string; energy: bigint },
): Promise<boolean> {
  const delivering = await sql`
    update deposit set state = 'delivering', order_id = ${order.id}, energy = ${order.energy}
    where tx_id = ${tx_id} and position = 0 and state = 'received' returning 1`
  return delivering.length > 0
}

/** received -> returning: unless an order was placed for it. */
export async function returnReceived(
  sql: Query,
  { tx_id, position }: Place,
  reason: string,
): Promise<void> {
  await sql`
    update deposit set state = 'returning', reason = ${reason}
    where tx_id = ${tx_id} and position = ${position} and state = 'received'
      and not exists (
        select 1 from orders
        where customer_id = ${DIRECT_RECHARGE} and external_id = ${deliveryName(tx_id)})`
}

/** delivering -> delivered | returning: by what became of their orders. True when any was moved. */
export async function concludeDeliveries(sql: Query): Promise<boolean> {
  const concluded = await sql`
    update deposit set
      state = case orders.state when 'success' then 'delivered' else 'returning' end,
      reason = case orders.state when 'success' then reason else 'it could not be delivered' end
    from orders
    where orders.id = order_id and orders.state in ('success', 'failed')
      and (deposit.tx_id, position) in (
        select d.tx_id, d.position from deposit as d join orders as o on o.id = d.order_id
        where d.state = 'delivering' and o.state in ('success', 'failed')
        order by d.tx_id, d.position for update of d)
    returning deposit.tx_id`
  return concluded.length > 0
}

/** returning -> held | ignored: it cannot go back. The caller has locked it. */
export async function keepDeposit(
  tx: Tx,
  { tx_id, position }: Place,
  { state, reason }: { state: 'held' | 'ignored'; reason: string },
): Promise<void> {
  await tx`
    update deposit set state = ${state}, reason = ${reason}
    where tx_id = ${tx_id} and position = ${position}`
}

/** returning -> refunding: by an attempt. The caller has locked it. */
export async function refundDeposit(
  tx: Tx,
  { tx_id, position }: Place,
  refund_id: string,
): Promise<void> {
  await tx`
    update deposit set state = 'refunding', refund_id = ${refund_id}
    where tx_id = ${tx_id} and position = ${position}`
}

/** refunding -> returning: the attempt is dead. True when any was moved. */
export async function returnUnsent(sql: Query): Promise<boolean> {
  const dead = await sql`
    update deposit set state = 'returning', refund_id = null from attempt
    where attempt.id = refund_id and attempt.state = 'dead' and deposit.state = 'refunding'
      and (deposit.tx_id, position) in (
        select d.tx_id, d.position from deposit as d join attempt as a on a.id = d.refund_id
        where d.state = 'refunding' and a.state = 'dead'
        order by d.tx_id, d.position for update of d)
    returning deposit.tx_id`
  return dead.length > 0
}

/** refunding -> refunded: the attempt is solid. False when it was noted before. */
export async function completeRefund(tx: Tx, { tx_id, position }: Place): Promise<boolean> {
  const refunded = await tx`
    update deposit set state = 'refunded'
    where tx_id = ${tx_id} and position = ${position} and state = 'refunding' returning 1`
  return refunded.length > 0
}

/** held, ignored -> resolved. The caller has locked it. */
export async function markResolved(tx: Tx, deposit: Deposit, now: Date): Promise<void> {
  const { tx_id, position } = deposit
  tx.send`
    update deposit set state = 'resolved' where tx_id = ${tx_id} and position = ${position}`
  await noteDeposits(tx, 'deposit.resolved', [deposit], now)
}

/** The deposits that a transaction on the chain made, if it made any. */
export async function findDeposits(sql: Sql | Tx, tx_id: string): Promise<Deposit[]> {
  return sql<Deposit>`
    select ${DEPOSIT_COLUMNS} from deposit where tx_id = ${tx_id} order by position`
}

/** Of them, those to the published address. */
export async function findRecharges(sql: Sql, tx_id: string): Promise<Deposit[]> {
  return (await findDeposits(sql, tx_id)).filter(({ customer_id }) => customer_id === null)
}

/** Payments of an address to the published address since a time, newest first. */
export function rechargesFrom(
  sql: Sql,
  { from, since, limit }: { from: string; since: Date; limit: number },
): Promise<Deposit[]> {
  return sql<Deposit>`
    select ${DEPOSIT_COLUMNS} from deposit
    where from_address = ${from} and customer_id is null and block_time >= ${since}
    order by block_number desc, tx_id, position limit ${limit}`
}
