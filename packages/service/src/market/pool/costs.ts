// The costs of selling: bandwidth and TRX that our own transactions take, what the stake should
// earn as capital, and what its votes do earn. Revenue is from the ledger, and burned TRX from
// receipts.
//
// Energy and bandwidth that were used come back over a day. So a unit that is sold ties up the
// stake that gives it for a day, whatever else the pool sells: its capital is that stake's interest
// of a day, less what the votes of that stake earn meanwhile.

import type { Resource } from '../../chain/node/node.ts'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { REVENUE } from '../../ledger/accounts/ledger.ts'
import { DAY_MS } from '../../lib/clock.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { SUN_PER_TRX } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

const HOUR_MS = 3_600_000
/** The days over which the income of votes is averaged: claims come once a day at most. */
const VOTES_DAYS = 30n
const DAYS_OF_YEAR = 365n
const HUNDREDTHS_OF_WHOLE = 10_000n
const HOURS_OF_DAY = 24n

/** The kinds of sales and of work: `bundle` is both resources at once, `votes` voting and claiming,
 *  `refund` payments that went back, `other` all else. */
export type CostKind =
  | 'energy'
  | 'bandwidth'
  | 'bundle'
  | 'subscription'
  | 'activation'
  | 'votes'
  | 'refund'
  | 'other'

/** The TRX burned to delegate, or to take back, and the orders and units that it was burned for:
 *  the two are apart, because what is taken back now was delegated before. */
type LegFigures = { orders: bigint; units: bigint; burned_sun: bigint }

/** `unknown`: of the transactions, those of which no receipt was kept. What orders and units cost
 *  is worked out without them. */
type KindFigures = {
  kind: CostKind
  orders: bigint
  units: bigint
  transactions: bigint
  unknown: bigint
  burned_sun: bigint
  bandwidth: bigint
  revenue_sun: bigint
  delegated: LegFigures
  reclaimed: LegFigures
}

/** Of 1000 units, in sun. `cost_sun`: burned, and capital as far as votes do not earn it. */
export type UnitCost = {
  burned_sun: bigint
  capital_sun: bigint
  votes_sun: bigint
  cost_sun: bigint
}

export type CostLine = Omit<KindFigures, 'delegated' | 'reclaimed'> & {
  /** Burned for an order; null: of none it is known. */
  order_burned_sun: bigint | null
  /** Of 1000 units; null where units are of both resources, or none. */
  revenue_1000_sun: bigint | null
  per_1000: UnitCost | null
}

export type Costs = {
  since: Date
  hours: number
  lines: CostLine[]
  capital: { hundredths: number; staked_sun: bigint; day_sun: bigint }
  votes: {
    power: bigint
    cast: bigint
    earned_day_sun: bigint
    /** Of votes that are not cast, as if they earned like the others; null: none has earned. */
    forgone_day_sun: bigint | null
  }
  /** A day at this use. */
  day: {
    revenue_sun: bigint
    burned_sun: bigint
    capital_sun: bigint
    votes_sun: bigint
    left_sun: bigint
  }
}

/** Costs and revenue of the hours until now. */
export async function readCosts(sql: Sql | Tx, now: Date, hours: number): Promise<Costs> {
  const since = new Date(now.getTime() - hours * HOUR_MS)
  const figures = await figuresSince(sql, since)
  const stake = await readStake(sql, now)
  const day_sun = interest(stake.staked_sun, stake.hundredths)
  const lines = figures.map((one) => lineOf(one, stake))
  const dayOf = (name: 'revenue_sun' | 'burned_sun') =>
    (lines.reduce((sum, line) => sum + line[name], 0n) * HOURS_OF_DAY) / BigInt(hours)
  const [revenue_sun, burned_sun] = [dayOf('revenue_sun'), dayOf('burned_sun')]
  const { power, cast, earned_day_sun: votes_sun } = stake
  const idle = power > cast ? power - cast : 0n
  const forgone_day_sun = votes_sun > 0n && cast > 0n ? (votes_sun * idle) / cast : null
  const left_sun = revenue_sun + votes_sun - burned_sun - day_sun
  return {
    since,
    hours,
    lines,
    capital: { hundredths: stake.hundredths, staked_sun: stake.staked_sun, day_sun },
    votes: { power, cast, earned_day_sun: votes_sun, forgone_day_sun },
    day: { revenue_sun, burned_sun, capital_sun: day_sun, votes_sun, left_sun },
  }
}

/** The cost of 1000 units of a resource, by the transactions of the hours until now. */
export async function unitCostOf(
  sql: Sql | Tx,
  resource: Resource,
  { now, hours }: { now: Date; hours: number },
): Promise<UnitCost> {
  const figures = await figuresSince(sql, new Date(now.getTime() - hours * HOUR_MS))
  const stake = await readStake(sql, now)
  const sold = figures.filter(({ kind }) => resourceOf(kind) === resource)
  const sumOf = (leg: Leg) => addedUp(sold.map((one) => one[leg]))
  return unitCost({ delegated: sumOf('delegated'), reclaimed: sumOf('reclaimed') }, stake, resource)
}

type Leg = 'delegated' | 'reclaimed'

const addedUp = (all: readonly LegFigures[]): LegFigures =>
  all.reduce(
    (sum, { orders, units, burned_sun }) => ({
      orders: sum.orders + orders,
      units: sum.units + units,
      burned_sun: sum.burned_sun + burned_sun,
    }),
    { orders: 0n, units: 0n, burned_sun: 0n },
  )

/** The resource that all units of a kind are of. */
function resourceOf(kind: CostKind): Resource | undefined {
  if (kind === 'subscription') return 'energy'
  return kind === 'energy' || kind === 'bandwidth' ? kind : undefined
}

function lineOf(one: KindFigures, stake: Stake): CostLine {
  const { delegated, reclaimed, ...figures } = one
  const { kind, units, revenue_sun } = one
  const resource = resourceOf(kind)
  const has_units = resource !== undefined && units > 0n
  const ofOrder = ({ orders, burned_sun }: LegFigures) => (orders > 0n ? burned_sun / orders : 0n)
  return {
    ...figures,
    order_burned_sun: delegated.orders > 0n ? ofOrder(delegated) + ofOrder(reclaimed) : null,
    revenue_1000_sun: has_units ? (1_000n * revenue_sun) / units : null,
    per_1000: has_units && delegated.units > 0n ? unitCost(one, stake, resource) : null,
  }
}

function unitCost(
  { delegated, reclaimed }: Pick<KindFigures, Leg>,
  stake: Stake,
  resource: Resource,
): UnitCost {
  const of1000 = ({ burned_sun, units }: LegFigures) =>
    units > 0n ? roundedUp(1_000n * burned_sun, units) : 0n
  const burned_1000_sun = of1000(delegated) + of1000(reclaimed)
  const { total_limit, total_weight } = stake.ratios[resource]
  const stake_sun =
    total_limit > 0n ? roundedUp(1_000n * SUN_PER_TRX * total_weight, total_limit) : 0n
  const capital_sun = interest(stake_sun, stake.hundredths)
  const { staked_sun, earned_day_sun } = stake
  const votes_sun = staked_sun > 0n ? (earned_day_sun * stake_sun) / staked_sun : 0n
  const bound_sun = capital_sun > votes_sun ? capital_sun - votes_sun : 0n
  return {
    burned_sun: burned_1000_sun,
    capital_sun,
    votes_sun,
    cost_sun: burned_1000_sun + bound_sun,
  }
}

const roundedUp = (sum: bigint, by: bigint): bigint => (sum + by - 1n) / by

/** Interest of a day. */
const interest = (sun: bigint, hundredths: number): bigint =>
  roundedUp(sun * BigInt(hundredths), HUNDREDTHS_OF_WHOLE * DAYS_OF_YEAR)

type Stake = {
  hundredths: number
  staked_sun: bigint
  power: bigint
  cast: bigint
  earned_day_sun: bigint
  ratios: Record<Resource, { total_limit: bigint; total_weight: bigint }>
}

/** The stake as the last survey found it, and what its votes have earned on a day of late. */
async function readStake(sql: Sql | Tx, now: Date): Promise<Stake> {
  const from = new Date(now.getTime() - Number(VOTES_DAYS) * DAY_MS)
  const [row] = await sql<
    Omit<Stake, 'ratios' | 'earned_day_sun'> & { earned_sun: bigint; voted_since: Date | null }
  >`
    select coalesce((select hundredths from capital), 0) as hundredths,
      coalesce((select sum(staked_sun) from pool_wallet), 0)::bigint as staked_sun,
      coalesce((
        select sum(trx) from (
          select trunc(sum(staked_sun) / 1000000) as trx from pool_wallet group by address
        ) as w), 0)::bigint as power,
      coalesce((
        select sum(votes) from (select max(votes) as votes from pool_wallet group by address) as w
      ), 0)::bigint as cast,
      coalesce((
        select sum(reward_sun) from reward_claim where state = 'claimed' and ended_at >= ${from}
      ), 0)::bigint as earned_sun,
      (select min(ended_at) from vote where state = 'cast') as voted_since`
  const ratios = await sql<{ resource: Resource; total_limit: bigint; total_weight: bigint }>`
    select resource, total_limit, total_weight from pool`
  const { earned_sun, voted_since, ...rest } = row!
  const voted_days = voted_since
    ? BigInt(Math.ceil((now.getTime() - voted_since.getTime()) / DAY_MS))
    : 1n
  const days = voted_days < 1n ? 1n : voted_days > VOTES_DAYS ? VOTES_DAYS : voted_days
  const ratioOf = (wanted: Resource) =>
    ratios.find(({ resource }) => resource === wanted) ?? { total_limit: 0n, total_weight: 0n }
  return {
    ...rest,
    earned_day_sun: earned_sun / days,
    ratios: { energy: ratioOf('energy'), bandwidth: ratioOf('bandwidth') },
  }
}

type SumName = Exclude<keyof KindFigures, 'kind' | Leg> | `${Leg}_${keyof LegFigures}`
/** Null: nothing of that kind was sent, or brought anything. */
type FiguresRow = { kind: CostKind } & Record<SumName, bigint | null>

function figuresOf(row: FiguresRow): KindFigures {
  const sum = (name: SumName) => row[name] ?? 0n
  const leg = (of: Leg): LegFigures => ({
    orders: sum(`${of}_orders`),
    units: sum(`${of}_units`),
    burned_sun: sum(`${of}_burned_sun`),
  })
  return {
    kind: row.kind,
    orders: sum('orders'),
    units: sum('units'),
    transactions: sum('transactions'),
    unknown: sum('unknown'),
    burned_sun: sum('burned_sun'),
    bandwidth: sum('bandwidth'),
    revenue_sun: sum('revenue_sun'),
    delegated: leg('delegated'),
    reclaimed: leg('reclaimed'),
  }
}

/** By kind: transactions that were asked for since, are in a block, and what was charged since. An
 *  activation that came with an order is one of its own. */
async function figuresSince(sql: Sql | Tx, since: Date): Promise<KindFigures[]> {
  const rows = await sql<FiguresRow>`
    with spent as (
      select case
          when o.customer_id = 'subscriptions' then 'subscription'
          when o.service = 'resource_bundle' then 'bundle'
          when d.id is not null then d.resource
          when a.subject like 'activate:%' then 'activation'
          when a.subject like 'vote:%' or a.subject like 'claim:%' then 'votes'
          when a.subject like 'refund:%' then 'refund'
          else 'other' end as kind,
        split_part(a.subject, ':', 1) as leg, d.order_id, coalesce(d.amount, 0) as amount,
        a.fee_sun, a.bandwidth
      from attempt as a
        left join delegation as d on (a.subject like 'delegate:%' or a.subject like 'reclaim:%')
          and d.id = split_part(a.subject, ':', 2)
        left join orders as o on o.id = d.order_id
      where a.id >= ${firstIdAt(since)} and a.state in ('included', 'solid')
    ), burned as (
      select kind, count(*) as transactions, count(*) filter (where fee_sun is null) as unknown,
        sum(fee_sun) as burned_sun, sum(bandwidth) as bandwidth,
        count(distinct order_id) filter (where leg = 'delegate') as orders,
        sum(amount) filter (where leg = 'delegate') as units,
        count(distinct order_id) filter (where leg = 'delegate' and fee_sun >= 0)
          as delegated_orders,
        sum(amount) filter (where leg = 'delegate' and fee_sun >= 0) as delegated_units,
        sum(fee_sun) filter (where leg = 'delegate') as delegated_burned_sun,
        count(distinct order_id) filter (where leg = 'reclaim' and fee_sun >= 0)
          as reclaimed_orders,
        sum(amount) filter (where leg = 'reclaim' and fee_sun >= 0) as reclaimed_units,
        sum(fee_sun) filter (where leg = 'reclaim') as reclaimed_burned_sun
      from spent group by kind
    ), entry as (
      select coalesce(hold_id, id) as cause, amount_sun as sun from transfer
      where credit = ${REVENUE} and kind in ('capture', 'move') and made_at >= ${since}
      union all
      select id, -amount_sun from transfer
      where debit = ${REVENUE} and kind in ('capture', 'move') and made_at >= ${since}
    ), charged as (
      select case
          when o.customer_id = 'subscriptions' or split_part(cause, ':', 1) = 'subscription'
            then 'subscription'
          when o.service = 'resource_bundle' then 'bundle'
          when o.service = 'activate_address' then 'activation'
          else o.service end as kind,
        sun, case when o.service <> 'activate_address'
          then greatest(0, sun - o.amount_sun + o.fee_sun) else 0 end as fee_sun
      from (select cause, sum(sun) as sun from entry group by cause) as sums
        left join orders as o on cause like 'order:%' and o.id = substr(cause, 7)
    ), brought as (
      select kind, sum(sun) as revenue_sun from (
        select kind, sun - fee_sun as sun from charged where kind is not null
        union all select 'activation', fee_sun from charged where fee_sun > 0) as part
      group by kind
    )
    select kind, transactions, unknown, orders, units::bigint, burned_sun::bigint,
      bandwidth::bigint, revenue_sun::bigint, delegated_orders, delegated_units::bigint,
      delegated_burned_sun::bigint, reclaimed_orders, reclaimed_units::bigint,
      reclaimed_burned_sun::bigint
    from burned full join brought using (kind)
    where transactions > 0 or revenue_sun <> 0
    order by array_position(array['energy', 'bandwidth', 'bundle', 'subscription', 'activation',
      'votes', 'refund'], kind)`
  return rows.map(figuresOf)
}

/** Sets what the stake should earn in a year, in hundredths of a percent. */
export async function setCapital(
  tx: Tx,
  hundredths: number,
  { at, by }: { at: Date; by: string },
): Promise<Change<number>> {
  const [before] = await tx<{ hundredths: number }>`select hundredths from capital for update`
  if (before?.hundredths === hundredths) return { result: hundredths, actions: [] }
  await tx`
    insert into capital (hundredths, set_at, set_by) values (${hundredths}, ${at}, ${by})
    on conflict (one) do update set hundredths = excluded.hundredths, set_at = excluded.set_at,
      set_by = excluded.set_by`
  const action: Action = {
    subject: 'capital',
    before: before ? { hundredths: before.hundredths } : null,
    after: { hundredths },
  }
  return { result: hundredths, actions: [action] }
}
