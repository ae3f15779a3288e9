// The rules of the books about rows. Each is worked out from other rows than those it speaks of,
// and finds what does not hold. All are looked at in one snapshot; the sums of the accounts are
// worked out once for the rules that need them.

import { type AccountSum, checkBooks } from '../../ledger/accounts/books.ts'
import {
  CORRECTIONS,
  customerAccount,
  HELD_DEPOSITS,
  REVENUE,
  WORLD,
  WRITTEN_OFF,
} from '../../ledger/accounts/ledger.ts'
import { checkRoots, type Root } from '../../ledger/accounts/roots.ts'
import { wrongSeal, wrongSums } from '../../ledger/accounts/sealed_sums.ts'
import { checkJournal } from '../../ledger/accounts/seals.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { COLLECTED, NETWORK_FEES } from '../../treasury/collecting/collections.ts'
import { INCOME_VOTES, WALLETS } from '../../treasury/votes/votes.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import { wrongDeposits } from './deposit_rules.ts'
import { wrongDocuments } from './document_rules.ts'
import { wrongEvents } from './event_rules.ts'
import { wrongHolds, wrongMoves } from './hold_rules.ts'
import { wrongByHand } from './manual_rules.ts'
import { wrongByQuote, wrongPrices } from './price_rules.ts'
import { unrecorded } from './records.ts'
import type { Scope } from './scope.ts'
import { wrongCollections, wrongRewards } from './treasury_rules.ts'

/** The accounts that are not somebody's, and may be below zero. */
const SYSTEM: readonly string[] = [
  WORLD,
  REVENUE,
  HELD_DEPOSITS,
  WRITTEN_OFF,
  CORRECTIONS,
  customerAccount(DIRECT_RECHARGE),
  COLLECTED,
  NETWORK_FEES,
  WALLETS,
  INCOME_VOTES,
]

/** What of the chain is ours, or was: their sum is what came and has not gone back. */
const OUTSIDE: readonly string[] = [WORLD, COLLECTED, NETWORK_FEES, WALLETS]

export type RowRule = {
  rule: string
  says: string
  stops_selling: boolean
  /** `noted`: roots that were noted outside of the database. */
  find(
    tx: Tx,
    sums: readonly AccountSum[],
    noted: readonly Root[],
    scope: Scope,
  ): Promise<Finding[]>
}

export const ROW_RULES: readonly RowRule[] = [
  {
    rule: 'C1',
    says: 'entries add up to nothing: what one account has, another gave',
    stops_selling: true,
    find: async (_tx, sums) => {
      const sun = sums
        .filter((one) => one.exists)
        .reduce((sum, { posted_sun }) => sum + posted_sun, 0n)
      return sun === 0n ? [] : [{ subject: 'all accounts', found: `together they have ${sun} sun` }]
    },
  },
  {
    rule: 'C2',
    says: 'kept balances are what the entries say, and every hold was resolved as it was made',
    stops_selling: true,
    find: async (tx, sums, _noted, { seal }) =>
      (await checkBooks(tx, sums, seal?.last_entry)).map(({ rule, subject, found }) => ({
        subject,
        found: `${rule}: ${found}`,
      })),
  },
  {
    rule: 'C3',
    says: 'no customer has spent or set aside more than there was, or may do so',
    stops_selling: true,
    find: async (_tx, sums) => [
      ...sums
        .filter(({ keeps_sum, posted_sun, held_sun }) => keeps_sum && posted_sun < held_sun)
        .map(({ id, posted_sun, held_sun }) => ({
          subject: id,
          found: `${posted_sun - held_sun} sun`,
        })),
      ...sums
        .filter(({ id, exists, keeps_sum }) => exists && !keeps_sum && !SYSTEM.includes(id))
        .map(({ id }) => ({ subject: id, found: 'it may be overdrawn' })),
    ],
  },
  {
    rule: 'C4',
    says:
      'holds are those of open orders, subscriptions and checks; ' +
      'what ended was charged or given back',
    stops_selling: true,
    find: (tx, _sums, _noted, scope) => wrongHolds(tx, scope),
  },
  {
    rule: 'C4',
    says:
      'between our accounts money moved for what subscriptions used and for the fees of ' +
      'refunds only, or by hand',
    stops_selling: true,
    find: (tx, _sums, _noted, scope) => wrongMoves(tx, scope),
  },
  {
    rule: 'C5',
    says:
      'what was charged was delivered, in full, to whom it was bought for, ' +
      'by transactions that serve nothing else',
    stops_selling: true,
    find: (tx, _sums, _noted, { first_id }) => tx<Finding>`
      with part as materialized (
        select d.id, d.order_id, d.resource, d.amount, d.state, a.state as attempt_state, a.tx_id
        from delegation as d join attempt as a on a.id = d.attempt_id
        where d.order_id >= ${first_id}
      ), given as (
        select order_id, sum(amount) filter (where resource = 'energy'
          and state <> 'failed') as energy,
               sum(amount) filter (where resource = 'bandwidth' and state <> 'failed') as bandwidth,
               array_agg(tx_id) as tx_ids
        from part group by order_id
      ), sold as (
        select o.*, coalesce(given.energy, 0) as got_energy, coalesce(given.bandwidth,
          0) as got_bandwidth,
               coalesce(given.tx_ids, '{}') as tx_ids
        from orders as o left join given on given.order_id = o.id
        where o.id >= ${first_id}
      )
      select id as subject, format('%s of %s energy, %s of %s bandwidth', got_energy, energy,
        got_bandwidth, bandwidth) as found
      from sold
      where got_energy > energy or got_bandwidth > bandwidth
         or (state in ('pending', 'success') and not to_delegate and service <> 'activate_address'
             and (got_energy <> energy or got_bandwidth <> bandwidth))
      union all
      select tx_id, format('%s orders', count(*)) from orders where tx_id is not null
        and id >= ${first_id}
        group by tx_id having count(*) > 1
      union all
      select id, format('its transaction %s is none of its own', tx_id) from sold
      where state = 'success' and tx_id <> all (tx_ids)
        and coalesce((select a.subject from attempt as a where a.tx_id = sold.tx_id)
          <> 'activate:' || activation_id, true)
      union all
      select id, format('%s while its transaction is %s', state, attempt_state) from part
      where (state = 'active' and attempt_state not in ('included', 'solid'))
         or (state in ('reclaiming', 'ended') and attempt_state <> 'solid')
         or (state = 'failed' and attempt_state <> 'dead') or (state = 'delegating'
           and attempt_state in ('solid', 'dead'))
      union all
      select d.id, format('bought for %s, delegated to %s', o.address, d.receiver)
      from delegation as d join orders as o on o.id = d.order_id
      where d.receiver <> o.address and d.order_id >= ${first_id} and o.id >= ${first_id}
      union all
      select o.id, format('its activation is %s, by a transaction that is %s', v.state,
        coalesce(a.state, 'not there'))
      from orders as o join activation as v on v.id = o.activation_id left join attempt as a
        on a.id = v.attempt_id
      where o.id >= ${first_id} and o.state = 'success'
        and (o.service = 'activate_address' or o.fee_sun > 0)
        and (v.state = 'failed' or (v.state = 'active' and a.state not in ('included', 'solid')))
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C6',
    says:
      'every deposit that is solid was booked once, in full; ' +
      'nothing else came in or went out; recharges match their orders',
    stops_selling: true,
    find: (tx, _sums, _noted, scope) => wrongDeposits(tx, scope),
  },
  {
    rule: 'C7',
    says:
      'deposits and rewards less what went back are what customers have and what was earned, ' +
      'to the sun',
    stops_selling: true,
    async find(tx, sums) {
      const [border] = await tx<{ came: bigint; went: bigint; rewards: bigint }>`
        select (select coalesce(sum(amount_sun), 0)::bigint from deposit where solid_at is not null
          and amount_sun is not null) as came,
               (select coalesce(sum((a.contract #>> '{parameter,value,amount,int64}')::bigint),
                 0)::bigint
                from deposit as d join attempt as a on a.id = d.refund_id
                  where d.state = 'refunded')
               + (select coalesce(sum(sent_amount), 0)::bigint
                  from deposit_resolution join deposit using (tx_id, position)
                    where amount_sun is not null) as went,
               (select coalesce(sum(reward_sun), 0)::bigint from reward_claim) as rewards`
      const { went, rewards } = border!
      const came = border!.came + rewards
      const total = (list: readonly AccountSum[], of: 'kept_posted_sun' | 'posted_sun') =>
        list.reduce((sum, one) => sum + one[of], 0n)
      const customers = sums.filter((one) => one.keeps_sum)
      const own = sums.filter((one) => one.exists && !one.keeps_sum && !OUTSIDE.includes(one.id))
      const [have, earned] = [total(customers, 'kept_posted_sun'), total(own, 'posted_sun')]
      if (came - went === have + earned) return []
      // Told by the difference, which stays the same while the service goes on.
      const found =
        `customers have and we earned ${have + earned - came + went} sun more than came and ` +
        'stayed'
      return [{ subject: 'all deposits', found }]
    },
  },
  {
    rule: 'C9',
    says: 'what is taken back is not taken too early, and is exactly what was delegated',
    stops_selling: true,
    find: (tx, _sums, _noted, { first_id }) => tx<Finding>`
      with d as not materialized (
        select * from delegation where order_id >= ${first_id}
      )
      select d.id as subject, format('taken back at %s, due at %s', d.reclaimed_at,
        d.expires_at) as found from d
      where d.reclaimed_at < d.expires_at
      union all
      select d.id, format('paid for an hour, and its time was %s', d.expires_at - d.delegated_at)
      from d join orders as o on o.id = d.order_id
      where o.id >= ${first_id} and o.state = 'success' and o.amount_sun > 0
        and d.expires_at <> d.delegated_at + interval '1 hour'
      union all
      select d.id, format('its hour is counted from %s, its block is of %s', d.delegated_at,
        a.block_time)
      from d join attempt as a on a.id = d.attempt_id
      where d.delegated_at <> a.block_time and (d.state in ('reclaiming', 'ended')
        or not a.uncovered)
      union all
      select d.id, format('ended at %s by a transaction that is %s, of %s', d.reclaimed_at,
        a.state, a.block_time)
      from d join attempt as a on a.id = d.reclaim_id
      where d.state = 'ended' and (a.state not in ('included', 'solid')
        or (d.reclaimed_at <> a.block_time and not a.uncovered))
      union all
      select id, format('%s sun of stake give %s by the ratio that it says, and %s is delegated',
        stake_sun, units, amount)
      from (
        select d.*, trunc(stake_sun / 1000000.0 * total_limit / nullif(total_weight, 0)) as units,
          ceil(amount * 1.01) as wanted
        from d where total_limit is not null and total_weight is not null) as d
      where units is null or units < wanted - 1 or (stake_sun > 1000000
        and units > wanted + 2 + total_limit / total_weight / 1000000)
      union all
      select d.id, format('the transaction %s is about %s sun, the delegation about %s', tx_id,
                          contract #>> '{parameter,value,balance,int64}', stake_sun)
      from (
        select d.*, a.tx_id, a.contract, 'DelegateResourceContract' as type from d
          join attempt as a on a.id = d.attempt_id
        union all
        select d.*, a.tx_id, a.contract, 'UnDelegateResourceContract' from d
          join attempt as a on a.id = d.reclaim_id
      ) as d
      where contract #>> '{parameter,value,balance,int64}' is distinct from stake_sun::text
         or contract #>> '{parameter,value,resource}' is distinct from upper(resource)
         or contract ->> 'type' is distinct from type
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C9',
    says: 'what has run out is taken back, and not left out',
    stops_selling: false,
    find: (tx) => tx<Finding>`
      select d.id as subject, format('over since %s and still %s', d.expires_at, d.state) as found
        from delegation as d, chain
      where d.state in ('active', 'reclaiming')
        and d.expires_at < chain.head_time - interval '10 minutes'
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C10',
    says:
      "operators' changes are recorded, and the last is in force; " +
      'no record and no sealed entry was altered, taken out or put in',
    stops_selling: true,
    find: async (tx, _sums, noted, { seal }) => [
      ...(await checkJournal(tx, seal)),
      ...(await (seal ? wrongSeal(tx, seal) : wrongSums(tx))),
      ...(await checkRoots(tx, noted)),
      ...(await unrecorded(tx)),
    ],
  },
  {
    rule: 'C11',
    says: 'of the pool exactly that is reserved which open orders still need',
    stops_selling: false,
    find: (tx) => tx<Finding>`
      select p.resource as subject, format('%s are reserved, %s are needed', p.reserved,
        coalesce(sum(needed.amount), 0)) as found
      from pool as p left join lateral (
        select case p.resource when 'energy' then o.energy else o.bandwidth end - coalesce((
          select sum(d.amount) from delegation as d
          where d.order_id = o.id and d.resource = p.resource and d.state <> 'failed'), 0) as amount
        from orders as o where o.to_delegate) as needed on true
      group by p.resource, p.reserved having p.reserved <> coalesce(sum(needed.amount), 0)`,
  },
  {
    rule: 'C12',
    says:
      'what operators have moved by hand went exactly one way, as decided, ' +
      'and nothing else did',
    stops_selling: true,
    find: (tx, _sums, _noted, scope) => wrongByHand(tx, scope),
  },
  {
    rule: 'C18',
    says:
      'what was collected from deposit addresses is booked once, as it left them, ' +
      'and nothing else is',
    stops_selling: true,
    find: (tx, _sums, _noted, scope) => wrongCollections(tx, scope),
  },
  {
    rule: 'C19',
    says:
      'what votes have earned is booked once, as it was withdrawn, ' +
      'and nothing else is their income',
    stops_selling: true,
    find: (tx, _sums, _noted, scope) => wrongRewards(tx, scope),
  },
  {
    rule: 'C14',
    says:
      'events are numbered for each customer without gaps, within a minute, ' +
      'and what ended was told so exactly once',
    stops_selling: false,
    find: (tx, _sums, _noted, scope) => wrongEvents(tx, scope),
  },
  {
    rule: 'C15',
    says: 'what was bought by a quote is what that was for, and cost no more than it said',
    stops_selling: true,
    find: (tx, _sums, _noted, { first_id }) => wrongByQuote(tx, first_id),
  },
  {
    rule: 'C17',
    says: 'nothing was sold for less than a price in force when it was bought or quoted',
    stops_selling: true,
    find: (tx, _sums, _noted, { first_id }) => wrongPrices(tx, first_id),
  },
  {
    rule: 'C16',
    says: 'summaries, and invoices less credit notes, are what the entries of their time come to',
    stops_selling: false,
    find: (tx, _sums, _noted, scope) => wrongDocuments(tx, scope),
  },
]
