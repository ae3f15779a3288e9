// What each thief can take at most, by what lies in the hot wallets now, the limits of signing,
// prices and what customers have: the amounts of docs/guarantees/threats.md, worked out from what
// runs.

import type { Node } from '../../chain/node/node.ts'
import type { SigningTerms } from '../../chain/wallets/signing_terms.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { UNNAMED_SCOPES } from '../../platform/wire/endpoint.ts'
import { type ApprovalRule, readApprovalRule } from '../../treasury/corrections/approvals.ts'
import { runningReports } from '../processes/report.ts'

export type Risk = {
  /** Who was broken into, or what was stolen. */
  thief:
    | 'worker_process'
    | 'refund_key'
    | 'activation_key'
    | 'pool_key'
    | 'worker_role'
    | 'api_role'
    | 'operator_session'
    | 'api_key'
  takes: 'refund_float' | 'activation_float' | 'pool_hours' | 'balances'
  /** Null: there is no end. */
  most_sun: bigint | null
  within: 'once' | 'day'
  bound: 'float' | 'stake' | 'limits' | 'balances' | 'second_operator' | 'nothing' | 'daily_cap'
}

type Figures = {
  /** What the pool would earn in a day if all of it was sold all the time. */
  pool_day_sun: bigint
  balances_sun: bigint
  /** The most that one key can spend in a day, and by what. */
  key_sun: bigint
  key_capped: boolean
}

const HOURS_A_DAY = 24n

/** Nothing while no process says what it signs with. Throws Outage when no node answers. */
export async function risks(sql: Sql, node: Node, at: Date): Promise<Risk[]> {
  const terms = (await runningReports(sql)).flatMap(({ report }) => report.signing ?? [])
  if (terms.length === 0) return []
  const found = await figures(sql, at)
  const { pool_day_sun } = found
  const floatOf = async (use: 'refund' | 'activation') => {
    const address = terms[0]!.wallets.find((one) => one.use === use)?.address
    return address === undefined ? undefined : (await node.account(address)).balance_sun
  }
  const refund_sun = await floatOf('refund')
  const activation_sun = (await floatOf('activation')) ?? 0n
  const stakes = terms[0]!.wallets.map(({ stake_sun }) => BigInt(stake_sun ?? 0))
  const staked_sun = sumOf(stakes)
  /** What so much stake of the pool would earn in a day. */
  const earned = (sun: bigint) =>
    staked_sun === 0n ? pool_day_sun : (pool_day_sun * least(sun, staked_sun)) / staked_sun
  const day_refunds_sun = limitOf(terms, 'refund_trx_day')
  const day_stake_sun = limitOf(terms, 'delegated_trx_day')
  return [
    ...(refund_sun === undefined ? [] : [float('worker_process', 'refund', refund_sun)]),
    float('worker_process', 'activation', activation_sun),
    hours('worker_process', pool_day_sun, 'stake'),
    ...(refund_sun === undefined ? [] : [float('refund_key', 'refund', refund_sun)]),
    float('activation_key', 'activation', activation_sun),
    hours('pool_key', earned(stakes.reduce((most, one) => (one > most ? one : most), 0n)), 'stake'),
    ...(refund_sun === undefined
      ? []
      : [
          {
            ...float('worker_role', 'refund', least(refund_sun, day_refunds_sun)),
            within: 'day' as const,
            bound: 'limits' as const,
          },
        ]),
    hours(
      'worker_role',
      day_stake_sun === undefined ? pool_day_sun : earned(day_stake_sun / HOURS_A_DAY),
      'limits',
    ),
    ...spending(found, await readApprovalRule(sql, at)),
  ]
}

/** What of customers' money can be spent, on energy alone. */
function spending(
  { balances_sun, key_sun, key_capped }: Figures,
  { second, from_sun }: ApprovalRule,
): Risk[] {
  const takes = 'balances' as const
  const all = { takes, most_sun: balances_sun, within: 'once', bound: takes } as const
  const alone = second === 'none'
  return [
    { thief: 'worker_role', ...all },
    { thief: 'api_role', ...all },
    {
      thief: 'operator_session',
      takes,
      most_sun: alone ? null : from_sun > 0n ? from_sun - 1n : 0n,
      within: 'day',
      bound: alone ? 'nothing' : 'second_operator',
    },
    {
      thief: 'api_key',
      takes,
      most_sun: key_sun,
      within: 'day',
      bound: key_capped ? 'daily_cap' : takes,
    },
  ]
}

const float = (thief: Risk['thief'], use: 'refund' | 'activation', most_sun: bigint): Risk => ({
  thief,
  takes: `${use}_float`,
  most_sun,
  within: 'once',
  bound: 'float',
})
const hours = (thief: Risk['thief'], most_sun: bigint, bound: Risk['bound']): Risk => ({
  thief,
  takes: 'pool_hours',
  most_sun,
  within: 'day',
  bound,
})

const sumOf = (suns: readonly bigint[]) => suns.reduce((sum, one) => sum + one, 0n)
const least = (one: bigint, other: bigint | undefined) =>
  other === undefined || one < other ? one : other

/** Of all processes together, which count what all sign: the largest. Undefined: no end. */
function limitOf(terms: readonly SigningTerms[], name: string): bigint | undefined {
  const limits = terms.map(({ limits }) => limits[name] ?? null)
  if (limits.some((one) => one === null)) return undefined
  return limits.map((one) => BigInt(one!)).reduce((most, one) => (one > most ? one : most), 0n)
}

async function figures(sql: Sql, at: Date): Promise<Figures> {
  const [found] = await sql<Figures>`
    with in_force as (
      select resource, min(price_sun) as price_sun from price
      where (changed_by = 'shipped' or since <= ${at}) and (until is null or until > ${at})
      group by resource
    ), units as (
      select p.resource, p.room + coalesce((select sum(d.amount) from delegation as d
        where d.resource = p.resource
          and (d.state = 'delegating' or d.state = 'active' or d.state = 'reclaiming')), 0) as units
      from pool as p
    ), funds as (
      select substr(id, 10) as customer_id, greatest(posted_sun - held_sun, 0) as sun from account
      where starts_with(id, 'customer:') and not may_go_negative
        and id <> ${`customer:${DIRECT_RECHARGE}`}
    ), spendable as (
      select least(k.daily_cap_sun, sum(f.sun)) as sun,
        coalesce(k.daily_cap_sun < sum(f.sun), false) as capped
      from api_key as k join funds as f using (customer_id)
      where k.revoked_at is null and (k.expires_at is null or k.expires_at > ${at})
        and 'buy' = any(coalesce(k.scopes, ${UNNAMED_SCOPES}::text[]))
      group by k.id
      order by 1 desc limit 1
    )
    select coalesce((select sum(24 * units * price_sun / 1000) from units join in_force
        using (resource)), 0)::bigint as pool_day_sun,
      coalesce((select sum(sun) from funds), 0)::bigint as balances_sun,
      coalesce((select sun from spendable), 0)::bigint as key_sun,
      coalesce((select capped from spendable), false) as key_capped`
  return found!
}
