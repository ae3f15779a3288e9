// The books' check: everything that rows say of money, orders and delegations is worked out again from other rows and,
// where a node is named, from the chain, and compared. It only reads. Rules about rows are one snapshot each look. What
// steps are about to put right (a fork, a block that has just come) may look wrong for a moment, so what seems broken is
// looked at again: only what is found both times counts.

import { checkBooks } from '../ledger/books.ts'
import { Outage } from '../lib/fault.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import { type ChainView, type Finding, missingOnChain, wrongStakes } from './chain_books.ts'
import { command, many, type Needs, text, time } from './command.ts'

export type RuleReport = {
  rule: string
  says: string
  state: 'holds' | 'broken' | 'not checked'
  /** Why it was not checked, or how much was looked at. */
  note: string | null
  findings: Finding[]
}

/** A finding of a statement is told by the thing and by what is wrong with it; no more than this many of one rule. */
const FINDINGS_MAX = 1_000
/** Between the two looks: longer than the steps that put things right rest. */
const LOOK_AGAIN_MS = 10_000

type RowRule = { rule: string; says: string; find(tx: Tx): Promise<Finding[]> }

const ROW_RULES: readonly RowRule[] = [
  {
    rule: 'C1',
    says: 'entries add up to nothing: what one account has, another gave',
    find: (tx) => tx<Finding>`
      with side as (
        select credit as id, amount_sun from transfer where kind in ('move', 'capture')
        union all select debit, -amount_sun from transfer where kind in ('move', 'capture')
      )
      select 'all accounts' as subject, format('together they have %s sun', sum(amount_sun)) as found
      from side join account using (id) having sum(amount_sun) <> 0`,
  },
  {
    rule: 'C2',
    says: 'kept balances are what the entries say, and every hold was resolved as it was made',
    find: async (tx) =>
      (await checkBooks(tx)).map(({ rule, subject, found }) => ({ subject, found: `${rule}: ${found}` })),
  },
  {
    rule: 'C3',
    says: 'no customer has spent or set aside more than there was',
    find: (tx) => tx<Finding>`
      with side as (
        select credit as id, amount_sun from transfer where kind in ('move', 'capture')
        union all select debit, -amount_sun from transfer where kind in ('move', 'capture')
        union all select debit, -amount_sun from transfer as hold
        where kind = 'hold' and not exists (select 1 from transfer as r where r.hold_id = hold.id)
      )
      select id as subject, format('%s sun', sum(amount_sun)) as found from side join account using (id)
      where not may_go_negative group by id having sum(amount_sun) < 0 order by id limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C4',
    says: 'holds are those of open orders, subscriptions and checks; what ended was charged or given back',
    // `due`: the end that the hold must have come to. A new kind of purchase adds its holds here.
    find: (tx) => tx<Finding>`
      with wanted as (
        select 'order:' || id as id, 'customer:' || customer_id as debit, amount_sun, amount_sun > 0 as needed,
               case state when 'success' then 'capture' when 'failed' then 'release' else 'open' end as due
        from orders
        union all
        select 'subscription:' || id, 'customer:' || customer_id,
               total_sun - coalesce((select sum(charged_sun) from subscription_use where subscription_id = s.id), 0),
               total_sun > 0 and state <> 'error',
               case when state = 'error' then 'release' when state in ('new', 'pending') then 'open' else 'capture' end
        from subscription as s
        union all
        select 'aml:' || id, 'customer:' || customer_id, price_sun, price_sun > 0,
               case state when 'completed' then 'capture' when 'failed' then 'release' else 'open' end
        from aml_check
      ), held as (
        select hold.id, hold.debit, hold.amount_sun, coalesce(r.kind, 'open') as kind, coalesce(r.amount_sun, hold.amount_sun) as end_sun
        from transfer as hold left join transfer as r on r.hold_id = hold.id where hold.kind = 'hold'
      )
      select coalesce(held.id, wanted.id) as subject,
             case when wanted.id is null then format('%s of %s sun, and nothing that it is for', held.kind, held.amount_sun)
                  when held.id is null then format('there is no hold of %s sun', wanted.amount_sun)
                  else format('%s of %s sun from %s, expected %s of %s sun from %s', held.kind, end_sun, held.debit,
                              due, wanted.amount_sun, wanted.debit) end as found
      from wanted full join held using (id)
      where (held.id is null and wanted.needed) or (held.id is not null and (
        wanted.id is null or held.kind <> wanted.due or held.debit <> wanted.debit
        or (held.kind <> 'release' and held.end_sun <> wanted.amount_sun)))
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C5',
    says: 'what was charged was delivered, in full, by transactions that serve nothing else',
    find: (tx) => tx<Finding>`
      with part as (
        select d.order_id, d.resource, sum(d.amount) as amount from delegation as d
        where d.state <> 'failed' group by d.order_id, d.resource
      ), short as (
        select o.id as subject, format('%s of %s %s', coalesce(part.amount, 0), r.amount, r.resource) as found
        from orders as o cross join lateral (values ('energy', o.energy), ('bandwidth', o.bandwidth)) as r (resource, amount)
        left join part on part.order_id = o.id and part.resource = r.resource
        where coalesce(part.amount, 0) > r.amount
           or (o.state in ('pending', 'success') and not o.to_delegate and o.service <> 'activate_address'
               and coalesce(part.amount, 0) <> r.amount)
      ), twice as (
        select tx_id as subject, format('%s orders', count(*)) as found from orders where tx_id is not null
        group by tx_id having count(*) > 1
      ), strange as (
        select o.id as subject, format('its transaction %s is none of its own', o.tx_id) as found from orders as o
        where o.state = 'success'
          and not exists (select 1 from delegation as d join attempt as a on a.id = d.attempt_id
                          where d.order_id = o.id and a.tx_id = o.tx_id)
          and not exists (select 1 from activation as v join attempt as a on a.subject = 'activate:' || v.id
                          where v.id = o.activation_id and a.tx_id = o.tx_id)
      ), unlike as (
        select d.id as subject, format('%s while its transaction is %s', d.state, a.state) as found
        from delegation as d join attempt as a on a.id = d.attempt_id
        where (d.state = 'active' and a.state not in ('included', 'solid'))
           or (d.state in ('reclaiming', 'ended') and a.state <> 'solid')
           or (d.state = 'failed' and a.state <> 'dead') or (d.state = 'delegating' and a.state in ('solid', 'dead'))
      )
      select * from short union all select * from twice union all select * from strange union all select * from unlike
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C6',
    says: 'every deposit that is solid was booked once, in full; nothing else came in or went out',
    find: (tx) => tx<Finding>`
      with wanted as (
        select 'deposit:' || tx_id as id, 'world' as debit, 'customer:' || coalesce(customer_id, 'direct_recharge') as credit, amount_sun
        from deposit where solid_at is not null and amount_sun is not null
      ), border as (
        select * from transfer where debit = 'world' or (credit = 'world' and id not like 'refund:%')
      )
      select coalesce(wanted.id, border.id) as subject,
             case when border.id is null then format('%s sun are not booked', wanted.amount_sun)
                  when wanted.id is null then format('%s sun from %s to %s, and no deposit', border.amount_sun, border.debit, border.credit)
                  else format('%s sun to %s, booked %s sun to %s', wanted.amount_sun, wanted.credit, border.amount_sun, border.credit) end as found
      from wanted full join border using (id)
      where wanted.id is null or border.id is null or border.kind <> 'move' or border.amount_sun <> wanted.amount_sun
         or border.credit <> wanted.credit or border.debit <> wanted.debit
      union all
      select 'deposit ' || tx_id, format('%s, and %s sun of %s are booked as sent back', state, coalesce(sum(amount_sun), 0), deposited)
      from (select d.tx_id, d.state, d.amount_sun as deposited, t.amount_sun from deposit as d
            left join transfer as t on t.id in ('refund:' || d.tx_id, 'refund_fee:' || d.tx_id)
            where d.position = 0 and d.amount_sun is not null) as refund
      group by tx_id, state, deposited
      having coalesce(sum(amount_sun), 0) <> case state when 'refunded' then deposited else 0 end
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C7',
    says: 'deposits less refunds are what customers have and what was earned, to the sun',
    find: (tx) => tx<Finding>`
      with came as (
        select coalesce(sum(amount_sun), 0) as sun from deposit where solid_at is not null and amount_sun is not null
      ), went as (
        select coalesce(sum((a.contract #>> '{parameter,value,amount,int64}')::bigint), 0) as sun
        from deposit as d join attempt as a on a.id = d.refund_id where d.state = 'refunded'
      ), kept as (
        select coalesce(sum(posted_sun), 0) as sun from account where not may_go_negative
      ), own as (
        select coalesce(sum(amount_sun), 0) as sun from (
          select credit as id, amount_sun from transfer where kind in ('move', 'capture')
          union all select debit, -amount_sun from transfer where kind in ('move', 'capture')
        ) as side join account using (id) where may_go_negative and id <> 'world'
      )
      select 'all deposits' as subject,
             format('%s came, %s went, customers have %s, %s was earned', came.sun, went.sun, kept.sun, own.sun) as found
      from came, went, kept, own where came.sun - went.sun <> kept.sun + own.sun`,
  },
  {
    rule: 'C9',
    says: 'what has run out is taken back: not too early, not left out, and exactly what was delegated',
    find: (tx) => tx<Finding>`
      select d.id as subject, format('over since %s and still %s', d.expires_at, d.state) as found
      from delegation as d, chain where d.state in ('active', 'reclaiming') and d.expires_at < chain.head_time - interval '10 minutes'
      union all
      select d.id, format('taken back at %s, due at %s', d.reclaimed_at, d.expires_at) from delegation as d
      where d.reclaimed_at < d.expires_at
      union all
      select d.id, format('paid for an hour, and its time was %s', d.expires_at - d.delegated_at)
      from delegation as d join orders as o on o.id = d.order_id
      where o.state = 'success' and o.amount_sun > 0 and d.expires_at <> d.delegated_at + interval '1 hour'
      union all
      select d.id, format('the transaction %s is about %s sun, the delegation about %s', a.tx_id,
                          a.contract #>> '{parameter,value,balance,int64}', d.stake_sun)
      from delegation as d join attempt as a on a.id in (d.attempt_id, d.reclaim_id)
      where a.contract #>> '{parameter,value,balance,int64}' is distinct from d.stake_sun::text
         or a.contract #>> '{parameter,value,resource}' is distinct from upper(d.resource)
         or a.contract ->> 'type' is distinct from
            case when a.id = d.attempt_id then 'DelegateResourceContract' else 'UnDelegateResourceContract' end
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C10',
    says: "operators' changes are recorded, and no record was altered or taken out",
    find: (tx) => tx<Finding>`
      select 'record ' || number as subject, 'it is not the one that was written' as found
      from (select a.*, lag(sha256, 1, '') over (order by number) as previous, row_number() over (order by number) as place
            from operator_action as a) as r
      where number <> place
         or sha256 <> operator_action_sum(previous, row(number, made_at, made_by, reason, action, subject, before, after, sha256)::operator_action)
      union all
      select 'price:' || resource, format('the row since %s has no record', since) from price
      where changed_by <> 'shipped' and not exists (
        select 1 from operator_action as a where a.subject = 'price:' || resource and a.made_at = since)
      union all
      select 'fee:' || name, format('the row since %s has no record', since) from fee
      where changed_by <> 'shipped' and not exists (
        select 1 from operator_action as a where a.subject = 'fee:' || name and a.made_at = since)
      union all
      select 'fee:aml_' || type, format('the row since %s has no record', since) from aml_price
      where changed_by <> 'shipped' and not exists (
        select 1 from operator_action as a where a.subject = 'fee:aml_' || type and a.made_at = since)
      union all
      select 'plan:' || key, format('the version since %s has no record', since) from plan
      where changed_by <> 'shipped' and not exists (
        select 1 from operator_action as a where a.subject = 'plan:' || key and a.made_at = since)
      order by 1 limit ${FINDINGS_MAX}`,
  },
  {
    rule: 'C11',
    says: 'of the pool exactly that is reserved which open orders still need',
    find: (tx) => tx<Finding>`
      select p.resource as subject, format('%s are reserved, %s are needed', p.reserved, coalesce(sum(needed.amount), 0)) as found
      from pool as p left join lateral (
        select case p.resource when 'energy' then o.energy else o.bandwidth end - coalesce((
          select sum(d.amount) from delegation as d
          where d.order_id = o.id and d.resource = p.resource and d.state <> 'failed'), 0) as amount
        from orders as o where o.to_delegate) as needed on true
      group by p.resource, p.reserved having p.reserved <> coalesce(sum(needed.amount), 0)`,
  },
]

const NODE_RULES = [
  { rule: 'C5', says: 'our solid transactions are in the solid blocks that we noted' },
  { rule: 'C6', says: 'solid deposits are in the solid blocks that we noted, with sender, receiver and amount' },
  { rule: 'C8', says: 'what our wallets delegate on the solid chain is what live delegations add up to' },
] as const

/** The rules about rows, in one snapshot. */
async function lookAtRows(sql: Sql): Promise<RuleReport[]> {
  return sql.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`
    const reports: RuleReport[] = []
    for (const { rule, says, find } of ROW_RULES) reports.push(report({ rule, says }, await find(tx), null))
    return reports
  })
}

function report({ rule, says }: { rule: string; says: string }, findings: Finding[], note: string | null): RuleReport {
  return { rule, says, state: findings.length === 0 ? 'holds' : 'broken', note, findings }
}

/** The rules about the chain, by a node. What it does not answer is not checked. */
async function lookAtChain(sql: Sql, chain: ChainView, since: Date | undefined): Promise<RuleReport[]> {
  const [c5, c6, c8] = NODE_RULES
  const unknown = (rules: readonly { rule: string; says: string }[]) => (thrown: unknown) => {
    if (!(thrown instanceof Outage)) throw thrown
    return rules.map((rule): RuleReport => ({ ...rule, state: 'not checked', note: thrown.message, findings: [] }))
  }
  const in_blocks = missingOnChain(sql, chain, since ?? null).then(
    ({ deposits, attempts, blocks }) => {
      const note = `${blocks} blocks read`
      return [report(c5, attempts, note), report(c6, deposits, note)]
    },
    unknown([c5, c6]),
  )
  const stakes = wrongStakes(sql, chain).then((findings) => [report(c8, findings, null)], unknown([c8]))
  return [...(await in_blocks), ...(await stakes)]
}

/** Checks everything. Without a node the rules about the chain are not checked. `since`: only blocks from then on are
 *  read from the node. */
export async function checkAllBooks(
  { sql, chain, wait }: Pick<Needs, 'sql' | 'wait'> & { chain: ChainView | undefined },
  since?: Date,
): Promise<RuleReport[]> {
  const look = async () => {
    const rows = await lookAtRows(sql)
    return chain ? [...rows, ...(await lookAtChain(sql, chain, since))] : rows
  }
  const first = await look()
  const again = first.some(({ state }) => state !== 'holds') && (await wait(LOOK_AGAIN_MS).then(look))
  const reports = again ? again.map((one, i) => foundTwice(first[i]!, one)) : first
  const unasked = NODE_RULES.map(
    (rule): RuleReport => ({ ...rule, state: 'not checked', note: 'give --node-url', findings: [] }),
  )
  const number = ({ rule }: RuleReport) => Number(rule.slice(1))
  return (chain ? reports : [...reports, ...unasked]).sort((a, b) => number(a) - number(b))
}

/** What was found at both looks, in the words of the second. */
function foundTwice(first: RuleReport, second: RuleReport): RuleReport {
  if (second.state === 'not checked') return second
  const before = new Set(first.findings.map(({ subject }) => subject))
  return report(
    second,
    second.findings.filter(({ subject }) => before.has(subject)),
    second.note,
  )
}

/** One line for each rule, and the findings below those that are broken. */
function reportText(reports: readonly RuleReport[]): string {
  const lines = reports.flatMap(({ rule, says, state, note, findings }) => [
    `${rule.padEnd(4)} ${state.padEnd(11)} ${says}${note === null ? '' : ` (${note})`}`,
    ...findings.map(({ subject, found }) => `       ${subject}: ${found}`),
  ])
  const broken = reports.filter(({ state }) => state === 'broken').length
  const summary =
    broken === 0 ? 'Everything that was checked holds.' : `${broken} of ${reports.length} rules are broken.`
  return `${[...lines, '', summary].join('\n')}\n`
}

export const bookCommands = [
  command({
    words: 'books check',
    summary:
      'work everything out again and compare: ledger, orders, delegations, deposits, and the chain with --node-url',
    details:
      'What seems broken is looked at again ten seconds later, and only what is found both times counts. The exit code is 1 when a rule is broken, or when a node was named and could not be asked.',
    options: {
      node_url: many(text('URL', 'a node to compare with')),
      solid_node_url: many(text('URL', 'its solidity side, where that has an address of its own')),
      since: time('read only blocks from then on from the node; the rest is always checked whole'),
    },
    async run({ sql, wait, chainAt }, { since, node_url, solid_node_url }) {
      const chain = chainAt(node_url, solid_node_url)
      const rules = await checkAllBooks({ sql, wait, chain }, since)
      const [last] = await sql<{ sha256: string }>`
        select sha256 from operator_action order by number desc limit 1`
      const ok = rules.every(({ state }) => state === 'holds' || (state === 'not checked' && !chain))
      const value = {
        books_balanced: !rules.some(({ state }) => state === 'broken'),
        rules,
        record_sha256: last?.sha256 ?? null,
      }
      const note = last ? `Records of changes end with ${last.sha256}.` : undefined
      return { value, text: reportText(rules), ok, ...(note !== undefined && { note }) }
    },
  }),
]
