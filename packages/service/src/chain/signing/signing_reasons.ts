// Why a transaction of ours may be signed, worked out from the rows: an attempt asks for it, and
// what it is for stands in the tables of the market and the treasury, is paid for there, and says
// the same as the bytes. Anyone who can write one row, an attempt, a delegation or a deposit, gets
// no signature for it. Nor is less signed for than a price in force: prices are written by neither
// the API nor the workers. One statement looks at a whole batch.

import type { Address } from 'penstock-tron/address.ts'
import type { Query, Sql } from '../../platform/database/sql.ts'
import type { Resource } from '../node/node.ts'
import {
  objectionToVote,
  type VoteReason,
  voteReasonsOf,
  type WitnessVotes,
} from './vote_reasons.ts'

/** What the bytes do, read from them. */
export type Operation = {
  type: string
  wallet: Address
  /** Who gets it; for an activation, who is created. */
  receiver: Address
  resource: Resource | undefined
  sun: bigint
  votes: readonly WitnessVotes[]
}

/** What the rows say about an attempt. Null where there is nothing. */
export type Reason = {
  attempt: string
  state: string
  subject: string
  /** Whether nothing is to be signed, by the switch and by the last record about it. */
  stopped: boolean
  /** Whether no money may leave: the check of the books has found what nobody has accepted. */
  books_broken: boolean
  /** What names the attempt as its own: delegate, reclaim, activate, refund, vote or claim, and
   *  whose. */
  purpose: string | null
  of: string | null
  of_state: string | null
  wallet: Address | null
  receiver: Address | null
  resource: Resource | null
  sun: bigint | null
  /** Delegations: whether the order wants this much there, is open or owed, and is paid for. */
  order_wants: boolean | null
  order_paid: boolean | null
  /** Delegations: whether the order cost what a price in force then says, or its quote. */
  order_priced: boolean | null
  /** Delegations: whether it is of the day before, or owed after a fork. */
  order_recent: boolean | null
  /** Delegations: the most that the amount may stake. */
  most_sun: bigint | null
  /** Activations: whether an order names it that is paid for. */
  wanted: boolean | null
  /** Refunds: whether the deposit came to the published address, and is in the ledger as one that
   *  has not gone back. */
  came: boolean | null
  /** Of a vote or a claim. */
  vote?: VoteReason | undefined
}

/** The reasons of those attempts that there are, votes and what they have earned among them. */
export async function reasonsOf(
  sql: Sql,
  attempts: readonly string[],
  recharge_address: Address,
): Promise<Reason[]> {
  const reasons = await sql.begin((tx) => {
    // Planned once: a plan for these attempts alone takes ten times as long as the answer.
    tx.send`set local plan_cache_mode = force_generic_plan`
    return marketReasonsOf(tx, attempts, recharge_address)
  })
  const open = reasons.filter(({ purpose }) => purpose === null).map(({ attempt }) => attempt)
  if (open.length === 0) return reasons
  const votes = new Map((await voteReasonsOf(sql, open)).map((one) => [one.attempt, one]))
  return reasons.map((reason) => {
    const vote = votes.get(reason.attempt)
    if (!vote) return reason
    const { purpose, of, of_state, wallet } = vote
    return { ...reason, purpose, of, of_state, wallet, receiver: wallet, vote }
  })
}

/** An order's hold is in the ledger under its id, as is what a deposit brought; orders of the
 *  service itself are for a deposit or a subscription. */
function marketReasonsOf(
  sql: Query,
  attempts: readonly string[],
  recharge_address: Address,
): Promise<Reason[]> {
  return sql<Reason>`
    select a.id as attempt, a.state, a.subject,
      coalesce((select stopped from signing), true) or coalesce((
        select (after ->> 'stopped')::boolean from operator_action where subject = 'signing'
        order by number desc limit 1), false) as stopped,
      exists (select 1 from books_finding
        where accepted_at is null or accepted_at < found_at) as books_broken,
      case when d.id is not null then 'delegate' when r.id is not null then 'reclaim'
        when c.id is not null then 'activate' when p.tx_id is not null then 'refund' end as purpose,
      coalesce(d.id, r.id, c.id, p.tx_id) as of,
      coalesce(d.state, r.state, c.state, p.state) as of_state,
      coalesce(d.wallet, r.wallet) as wallet, coalesce(d.resource, r.resource) as resource,
      coalesce(d.receiver, r.receiver, c.address, p.from_address) as receiver,
      coalesce(d.stake_sun, r.stake_sun, p.amount_sun) as sun,
      o.state in ('new', 'pending', 'success') and o.address = d.receiver
        and case d.resource when 'energy' then o.energy else o.bandwidth end >= (
          select sum(amount) from delegation as part
          where part.order_id = o.id and part.resource = d.resource
            and part.state <> 'failed') as order_wants,
      case o.customer_id
        when 'subscriptions' then o.amount_sun = 0 and exists (
          select 1 from subscription as s join plan on plan.id = s.plan_id
          where s.id = split_part(o.external_id, '/', 1) and s.address = o.address
            and o.energy <= plan.energy_per_transaction and o.bandwidth = 0
            and (plan.activation_fee_sun + plan.initial_price_sun = 0 or exists (
              select 1 from transfer where id = 'subscription:' || s.id and kind = 'hold')))
        when 'direct_recharge' then hold.amount_sun >= o.amount_sun and o.amount_sun > 0
          and exists (select 1 from deposit as q where q.position = 0
            and o.external_id = 'deposit:' || q.tx_id and q.tx_id = substr(o.external_id, 9)
            and q.state in ('received', 'delivering', 'delivered')
            and q.from_address = o.address and q.amount_sun = o.amount_sun)
        else hold.amount_sun >= o.amount_sun and o.amount_sun > 0
      end and case o.state when 'success' then resolved.kind is not distinct from
                case when o.amount_sun > 0 then 'capture' end
              else resolved.id is null end as order_paid,
      is_priced(o) as order_priced, o.state = 'success'
        or o.created_at > a.made_at - interval '1 day' as order_recent,
      trunc(2000000 * d.amount::numeric * pool.total_weight / nullif(pool.total_limit, 0))
        + 2000000 as most_sun,
      exists (select 1 from orders as w
          left join transfer as h on h.id = 'order:' || w.id and h.kind = 'hold'
        where w.activation_id = c.id and w.activate and w.address = c.address
          and case w.customer_id
            when 'subscriptions' then exists (select 1 from subscription as s
              where s.id = split_part(w.external_id, '/', 1) and s.address = w.address
                and s.activate_address)
            else h.amount_sun >= w.amount_sun and pays_fee(w) end) as wanted,
      p.solid_at is not null and p.position = 0 and p.customer_id is null
        and p.to_address = ${recharge_address}
        and exists (select 1 from transfer as t
          where t.id = 'deposit:' || p.tx_id and t.kind = 'move' and t.debit = 'world'
            and t.credit = 'customer:direct_recharge' and t.amount_sun = p.amount_sun)
        and not exists (select 1 from transfer as back where back.id = 'refund:' || p.tx_id) as came
    from attempt as a
    left join delegation as d on d.attempt_id = a.id
    left join delegation as r on r.reclaim_id = a.id
    left join activation as c on c.attempt_id = a.id
    left join deposit as p on p.refund_id = a.id
    left join orders as o on o.id = d.order_id
    left join pool on pool.resource = d.resource
    left join transfer as hold on hold.id = 'order:' || o.id and hold.kind = 'hold'
      and hold.debit = 'customer:' || o.customer_id
    left join transfer as resolved on resolved.hold_id = hold.id
    where a.id = any(${attempts})`
}

const PURPOSES: Readonly<Record<string, string>> = {
  DelegateResourceContract: 'delegate',
  UnDelegateResourceContract: 'reclaim',
  AccountCreateContract: 'activate',
  TransferContract: 'refund',
  VoteWitnessContract: 'vote',
  WithdrawBalanceContract: 'claim',
}

/** The state of what it is for while its transaction waits for a signature. */
const STATES: Readonly<Record<string, string>> = {
  delegate: 'delegating',
  reclaim: 'reclaiming',
  activate: 'activating',
  refund: 'refunding',
  vote: 'casting',
  claim: 'claiming',
}

/** It has been given up long before; a process that slept for a day may still ask. */
export const ORDER_TOO_OLD = 'its order was made more than a day before'
/** No money leaves while it is so; what was sold is delivered and taken back all the same. */
const BOOKS_BROKEN = 'the check of the books has found what no operator has accepted'

/** Why it may not be signed; undefined when it may. `fee_sun`: what of a deposit does not go back;
 *  `power`: the votes that the wallet has. */
export function objection(
  reason: Reason,
  operation: Operation,
  { fee_sun, power }: { fee_sun: bigint; power: bigint },
): string | undefined {
  const { purpose, of, of_state, sun } = reason
  const { type } = operation
  if (purpose === null || of === null) return 'nothing asks for this attempt'
  if (purpose !== PURPOSES[type]) return `a ${type} is not what a ${purpose} needs`
  if (reason.subject !== `${purpose}:${of}`)
    return `the attempt is for ${reason.subject}, and ${purpose}:${of} has it`
  if (of_state !== STATES[purpose]) return `${purpose}:${of} is ${of_state}`
  if (reason.books_broken && (purpose === 'refund' || purpose === 'activate')) return BOOKS_BROKEN
  if (operation.receiver !== reason.receiver)
    return `it is for ${reason.receiver}, and not for ${operation.receiver}`
  if (purpose === 'activate')
    return reason.wanted ? undefined : 'no order that is paid for wants this activation'
  if (purpose === 'refund') {
    if (!reason.came) return 'no such deposit is booked that has not gone back'
    const most_sun = (sun ?? 0n) - fee_sun
    return operation.sun <= most_sun
      ? undefined
      : `${operation.sun} sun is more than the ${most_sun} of the deposit`
  }
  if (operation.wallet !== reason.wallet)
    return `it is from ${reason.wallet}, and not from ${operation.wallet}`
  if (reason.vote) return objectionToVote(reason.vote, operation.votes, power)
  if (operation.resource !== reason.resource)
    return `it is of ${reason.resource}, and not of ${operation.resource}`
  if (operation.sun !== sun) return `it is of ${sun} sun, and not of ${operation.sun}`
  return purpose === 'reclaim' ? undefined : objectionToOrder(reason, operation)
}

function objectionToOrder(
  { order_wants, order_paid, order_priced, order_recent, most_sun }: Reason,
  { sun }: Operation,
): string | undefined {
  if (!order_wants) return 'no order that is open or owed wants this much there'
  if (!order_paid) return 'its order is not paid for'
  if (!order_recent) return ORDER_TOO_OLD
  if (!order_priced) return 'its order costs less than any price in force when it was made'
  if (most_sun === null || sun > most_sun) return `${sun} sun is far more than its amount needs`
  return undefined
}
