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
import { type SumsSeal, wrongSeal, wrongSums } from '../../ledger/accounts/sealed_sums.ts'
import { checkJournal } from '../../ledger/accounts/seals.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { COLLECTED, NETWORK_FEES } from '../../treasury/collecting/collections.ts'
import { INCOME_VOTES, WALLETS } from '../../treasury/votes/votes.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import { wrongCollections } from './collection_rules.ts'
import { wrongDocuments } from './document_rules.ts'
import { wrongEvents } from './event_rules.ts'
import { wrongByHand } from './manual_rules.ts'
import { wrongByQuote, wrongPrices } from './price_rules.ts'
import { unrecorded } from './records.ts'
import { wrongRewards } from './vote_rules.ts'

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
  /** `noted`: roots that were noted outside of the database. `from`: the seal at which the ledger
   *  was right; undefined: everything is looked at. */
  find(
    tx: Tx,
    sums: readonly AccountSum[],
    noted: readonly Root[],
    from?: SumsSeal,
  ): Promise<Finding[]>
}

/** Orders take no longer than this from the purchase to the end of their hour, however late. */
const ORDER_MS_MAX = 2 * 86_400_000

/** The first order that a check looks at which goes on from a seal: what was over before that, and
 *  right, does not change. */
const firstOrder = (from: SumsSeal | undefined): string =>
  from ? firstIdAt(new Date(from.made_at.getTime() - ORDER_MS_MAX)) : ''

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
    find: async (tx, sums, _noted, from) =>
      (await checkBooks(tx, sums, from?.last_entry)).map(({ rule, subject, found }) => ({
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
    // `due`: the end that the hold must have come to. A new kind of purchase adds its holds here.
    find: (tx) => tx<Finding>`
      with wanted as (
        select 'order:' || id as id, 'customer:' || customer_id as debit, amount_sun,
          amount_sun > 0 as needed,
               case state when 'success' then 'capture' when 'failed' then 'release'
                 else 'open' end as due, created_at as made_at
        from orders
        union all
        select 'subscription:' || id, 'customer:' || customer_id, start_sun, start_sun > 0
          and state <> 'error',
               case when state = 'error' then 'release' when state in ('new', 'pending') then 'open'
                 -- Stopped before it was active: it stays held until all of it is taken back.
                 when state = 'stopped' and started_at is null
                   then case when total_sun = 0 then 'release' else 'open' end
                 else 'capture' end, null
        from (
          select *, total_sun - coalesce((
            select sum(charged_sun) from subscription_use where subscription_id = s.id),
              0) as start_sun
          from subscription as s) as started
        union all
        select 'subscription:' || s.id || '/next/' || number, 'customer:' || customer_id,
          plan.price_sun, true,
               case when number <= holds_ended or withdrawn then 'release' else 'open' end, null
        from subscription as s join plan on plan.id = plan_id, generate_series(1,
          holds_made) as number
        union all
        select 'aml:' || id, 'customer:' || customer_id, price_sun, price_sun > 0,
               case state when 'completed' then 'capture' when 'failed' then 'release'
                 else 'open' end, null
        from aml_check
      ), held as (
        select hold.id, hold.debit, hold.credit, hold.amount_sun, coalesce(r.kind, 'open') as kind,
               coalesce(r.amount_sun, hold.amount_sun) as end_sun, hold.made_at
        from transfer as hold left join transfer as r on r.hold_id = hold.id
          where hold.kind = 'hold'
      )
      select coalesce(held.id, wanted.id) as subject,
             case when wanted.id is null then format('%s of %s sun, and nothing that it is for',
               held.kind, held.amount_sun)
                  when held.id is null then format('there is no hold of %s sun', wanted.amount_sun)
                  when abs(extract(epoch from wanted.made_at - held.made_at)) > 60
                    then format('it says that it was made at %s, and was paid for at %s',
                      wanted.made_at, held.made_at)
                  else format('%s of %s sun from %s to %s, expected %s of %s sun from %s',
                    held.kind, end_sun, held.debit,
                              held.credit, due, wanted.amount_sun, wanted.debit) end as found
      from wanted full join held using (id)
      where (held.id is null and wanted.needed) or (held.id is not null and (
        wanted.id is null or held.kind <> wanted.due or held.debit <> wanted.debit
          or held.credit <> 'revenue'
        or (held.kind <> 'release' and held.end_sun <> wanted.amount_sun)
        or abs(extract(epoch from wanted.made_at - held.made_at)) > 60))
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C4',
    says:
      'between our accounts money moved for what subscriptions used and for the fees of ' +
      'refunds only, or by hand',
    stops_selling: true,
    // What a use was charged is what its moves come to: a fork may have taken some of it back.
    find: (tx) => tx<Finding>`
      with wanted as (
        select 'subscription:' || subscription_id || '/' || tx_id as cause,
          'customer:' || customer_id as account, charged_sun as sun
        from subscription_use join subscription on subscription.id = subscription_id
          where charged_sun > 0
        union all
        select 'refund_fee:' || d.tx_id, 'customer:direct_recharge',
               amount_sun - (a.contract #>> '{parameter,value,amount,int64}')::bigint
        from deposit as d join attempt as a on a.id = d.refund_id where d.state = 'refunded'
      ), moved as (
        select case when id like 'subscription:%' then split_part(id, '/',
          1) || '/' || split_part(id, '/', 2) else id end as cause,
               case when credit = 'revenue' then debit when debit = 'revenue' then credit
                    else debit || ' to ' || credit end as account,
               sum(case when credit = 'revenue' then amount_sun else -amount_sun end) as sun
        from transfer
        where kind = 'move' and debit <> 'world' and credit <> 'world'
          and id !~ '^(resolution|correction|reward):'
        group by 1, 2 having sum(case when credit = 'revenue' then amount_sun
          else -amount_sun end) <> 0
      )
      select cause as subject, format('%s sun from %s, expected %s sun from %s',
        coalesce(moved.sun, 0),
                                      coalesce(moved.account, 'nobody'), coalesce(wanted.sun, 0),
                                        coalesce(wanted.account, 'nobody')) as found
      from wanted full join moved using (cause)
      where wanted.sun is distinct from moved.sun or wanted.account <> moved.account
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C5',
    says:
      'what was charged was delivered, in full, to whom it was bought for, ' +
      'by transactions that serve nothing else',
    stops_selling: true,
    find: (tx, _sums, _noted, from) => tx<Finding>`
      with part as materialized (
        select d.id, d.order_id, d.resource, d.amount, d.state, a.state as attempt_state, a.tx_id
        from delegation as d join attempt as a on a.id = d.attempt_id
        where d.order_id >= ${firstOrder(from)}
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
        where o.id >= ${firstOrder(from)}
      )
      select id as subject, format('%s of %s energy, %s of %s bandwidth', got_energy, energy,
        got_bandwidth, bandwidth) as found
      from sold
      where got_energy > energy or got_bandwidth > bandwidth
         or (state in ('pending', 'success') and not to_delegate and service <> 'activate_address'
             and (got_energy <> energy or got_bandwidth <> bandwidth))
      union all
      select tx_id, format('%s orders', count(*)) from orders where tx_id is not null
        and id >= ${firstOrder(from)}
        group by tx_id having count(*) > 1
      union all
      select id, format('its transaction %s is none of its own', tx_id) from sold
      where state = 'success' and tx_id <> all (tx_ids)
        and not exists (select 1 from attempt as a
          where a.subject = 'activate:' || sold.activation_id and a.tx_id = sold.tx_id)
      union all
      select id, format('%s while its transaction is %s', state, attempt_state) from part
      where (state = 'active' and attempt_state not in ('included', 'solid'))
         or (state in ('reclaiming', 'ended') and attempt_state <> 'solid')
         or (state = 'failed' and attempt_state <> 'dead') or (state = 'delegating'
           and attempt_state in ('solid', 'dead'))
      union all
      select d.id, format('bought for %s, delegated to %s', o.address, d.receiver)
      from delegation as d join orders as o on o.id = d.order_id where d.receiver <> o.address
        and d.order_id >= ${firstOrder(from)}
      union all
      select o.id, format('its activation is %s, by a transaction that is %s', v.state,
        coalesce(a.state, 'not there'))
      from orders as o join activation as v on v.id = o.activation_id left join attempt as a
        on a.id = v.attempt_id
      where o.id >= ${firstOrder(from)} and o.state = 'success'
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
    find: (tx) => tx<Finding>`
      with wanted as (
        select 'deposit:' || tx_id || case position when 0 then ''
          else '/' || position end as id, 'world' as debit,
               case when customer_id is null then 'customer:direct_recharge'
                 when state = 'credited' then 'customer:' || customer_id
                    else 'held_deposits' end as credit, amount_sun
        from deposit where solid_at is not null and amount_sun is not null
      ), border as (
        select * from transfer where debit = 'world' or (credit = 'world'
          and id !~ '^(refund|resolution|collected):')
      )
      select coalesce(wanted.id, border.id) as subject,
             case when border.id is null then format('%s sun are not booked', wanted.amount_sun)
                  when wanted.id is null then format('%s sun from %s to %s, and no deposit',
                    border.amount_sun, border.debit, border.credit)
                  else format('%s sun to %s, booked %s sun to %s', wanted.amount_sun,
                    wanted.credit, border.amount_sun, border.credit) end as found
      from wanted full join border using (id)
      where wanted.id is null or border.id is null or border.kind <> 'move'
        or border.amount_sun <> wanted.amount_sun
         or border.credit <> wanted.credit or border.debit <> wanted.debit
      union all
      select 'deposit ' || tx_id, format('%s, and %s sun of %s are booked as sent back', state,
        coalesce(sum(amount_sun), 0), deposited)
      from (select d.tx_id, d.state, d.amount_sun as deposited, t.amount_sun from deposit as d
            left join transfer as t on t.id in ('refund:' || d.tx_id, 'refund_fee:' || d.tx_id)
            where d.position = 0 and d.amount_sun is not null) as refund
      group by tx_id, state, deposited
      having coalesce(sum(amount_sun), 0) <> case state when 'refunded' then deposited else 0 end
      union all
      select 'refund ' || t.id, format('%s sun were sent back, and no deposit', t.amount_sun)
      from transfer as t where t.id like 'refund:%' and not exists (
        select 1 from deposit as d where t.id = 'refund:' || d.tx_id and d.state = 'refunded')
      union all
      select 'recharge ' || coalesce(d.tx_id, o.external_id),
        format('the deposit is %s, the order %s', coalesce(d.state, 'not there'),
        coalesce(o.state, 'not there'))
      from (select * from deposit where position = 0 and customer_id is null
        and amount_sun is not null) as d
      full join (select * from orders where customer_id = 'direct_recharge'
        and state <> 'failed') as o
        on o.external_id = 'deposit:' || d.tx_id
      where (o.id is not null and (d.tx_id is null
        or d.state not in ('received', 'delivering', 'delivered', 'gone')))
         or (d.state = 'delivered' and o.state is distinct from 'success')
         or (d.state in ('delivering', 'delivered') and (d.order_id <> o.id
           or d.amount_sun <> o.amount_sun))
      order by 1 limit ${FINDINGS_MAX}`,
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
    find: (tx, _sums, _noted, from) => tx<Finding>`
      with d as not materialized (
        select * from delegation where order_id >= ${firstOrder(from)}
      )
      select d.id as subject, format('taken back at %s, due at %s', d.reclaimed_at,
        d.expires_at) as found from d
      where d.reclaimed_at < d.expires_at
      union all
      select d.id, format('paid for an hour, and its time was %s', d.expires_at - d.delegated_at)
      from d join orders as o on o.id = d.order_id
      where o.state = 'success' and o.amount_sun > 0
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
    find: async (tx, _sums, noted, from) => [
      ...(await checkJournal(tx, from)),
      ...(await (from ? wrongSeal(tx, from) : wrongSums(tx))),
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
    find: wrongByHand,
  },
  {
    rule: 'C18',
    says:
      'what was collected from deposit addresses is booked once, as it left them, ' +
      'and nothing else is',
    stops_selling: true,
    find: wrongCollections,
  },
  {
    rule: 'C19',
    says:
      'what votes have earned is booked once, as it was withdrawn, ' +
      'and nothing else is their income',
    stops_selling: true,
    find: wrongRewards,
  },
  {
    rule: 'C14',
    says:
      'events are numbered for each customer without gaps, within a minute, ' +
      'and what ended was told so exactly once',
    stops_selling: false,
    find: wrongEvents,
  },
  {
    rule: 'C15',
    says: 'what was bought by a quote is what that was for, and cost no more than it said',
    stops_selling: true,
    find: (tx, _sums, _noted, from) => wrongByQuote(tx, firstOrder(from)),
  },
  {
    rule: 'C17',
    says: 'nothing was sold for less than a price in force when it was bought or quoted',
    stops_selling: true,
    find: (tx, _sums, _noted, from) => wrongPrices(tx, firstOrder(from)),
  },
  {
    rule: 'C16',
    says: 'summaries, and invoices less credit notes, are what the entries of their time come to',
    stops_selling: false,
    find: wrongDocuments,
  },
]
