// What will be free in the coming hours: a band that the room lies in, if nothing more is sold.
//
// The most: nothing that is out was used, open orders fail, and what is used up now recovers as
// fast as it does. The least: all that is out is used to the end, which recovers over a day after
// it was taken back; open orders are delivered; what delegates and takes back uses up bandwidth.
//
// It holds while the service runs and reaches its nodes, nobody stakes, unstakes or spends from the
// wallets beside it, no subscription ends early (what it has comes back before its hour), and the
// network's units for a stake move no faster than `drift_percent` says.

import { DELEGATION_MAX_SUN } from '../../chain/signing/signer.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { CARRIES_MIN, MARGIN_PERCENT, TRANSACTION_BANDWIDTH } from './pool.ts'

export type ForecastPoint = {
  resource: string
  at: Date
  minutes: number
  /** The most. */
  free: bigint
  /** The least. */
  free_if_used: bigint
}

/** Stake that one wallet has out. */
type StakeOut = {
  resource: string
  wallet: string
  stake_sun: number
  /** In so many delegations. */
  count: number
  /** In so many minutes its hour is over; 0: it is, null: it has no hour yet. */
  due: number | null
  /** Its block is solid, and its order is over: it comes back when it is due, and not before. */
  settled: boolean
}

/** A wallet with one of its resources, as last surveyed. */
type WalletState = {
  resource: string
  address: string
  room_sun: number
  carries: number
  /** Nothing is signed for it. */
  stopped: boolean
  /** Units that are used up, and in how many seconds the last of them has come back. */
  recovering: number
  recovers_seconds: number
  /** Since the survey. */
  age_seconds: number
}

type PoolState = { resource: string; room: number; reserved: number; units_per_sun: number }

/** All that a forecast is made of, at one moment. */
type State = {
  head_time: Date
  pools: PoolState[]
  wallets: WalletState[]
  out: StakeOut[]
  /** How many deliveries are open orders still owed; one for each resource of an order. */
  open: number
}

/** To take a delegation back takes so long after its hour: a block that says so must be solid. */
const RECLAIM_MINUTES = 2
const DAY_MINUTES = 1_440
/** What is sold of a stake is rounded down to a unit before and after it moves, and what is less
 *  than 1 TRX is not sold. */
const roundingOf = ({ units_per_sun }: PoolState) => 2 + units_per_sun * 1e6
const MARGIN = Number(100n + MARGIN_PERCENT) / 100

/** By how much the network's units for a stake may be others after so many minutes. */
const driftPercent = (minutes: number) => 1 + minutes / 360

/** Every 5 minutes for an hour, then every 15. */
const minutesOf = (hours: number): number[] => [
  ...Array.from({ length: 13 }, (_, i) => 5 * i),
  ...Array.from({ length: 4 * (hours - 1) }, (_, i) => 75 + 15 * i),
]

/** What is free now, and between what and what it will be, each 5 minutes of the first hour and
 *  each 15 of the others, 1 to 24 in all, in units. Without a resource: of each. */
export async function poolForecast(
  sql: Sql,
  {
    hours = 1,
    resource,
    drift_percent = driftPercent,
  }: {
    hours?: number | undefined
    resource?: string
    drift_percent?: (minutes: number) => number
  } = {},
): Promise<ForecastPoint[]> {
  const state = await readState(sql)
  if (!state) return []
  return state.pools
    .filter((pool) => resource === undefined || pool.resource === resource)
    .flatMap((pool) =>
      minutesOf(hours).map((minutes) => ({
        resource: pool.resource,
        at: new Date(state.head_time.getTime() + minutes * 60_000),
        minutes,
        ...bandOf(state, pool, { minutes, drift: drift_percent(minutes) / 100 }),
      })),
    )
}

async function readState(sql: Sql): Promise<State | undefined> {
  // Where something may come back earlier than it is due, the widest is assumed: what is not solid
  // or belongs to an open order may fail, and what has ended since may be missing in the survey.
  const [state] = await sql<State>`
    select head_time,
      (select count(*) filter (where energy > 0) + count(*) filter (where bandwidth > 0)
        from orders where state in ('new', 'pending'))::integer as open,
      (select coalesce(json_agg(json_build_object('resource', resource, 'room', room,
          'reserved', reserved,
          'units_per_sun', coalesce(total_limit::float8 / nullif(total_weight, 0) / 1000000, 0))
          order by resource desc), '[]') from pool) as pools,
      (select coalesce(json_agg(json_build_object('resource', resource, 'address', w.address,
          'room_sun', room_sun, 'carries', carries, 'recovering', recovering,
          'recovers_seconds', recovers_seconds,
          'age_seconds', extract(epoch from head_time - block_time),
          'stopped', coalesce(k.stopped, false))), '[]')
        from pool_wallet as w left join wallet_check as k on k.address = w.address) as wallets,
      (select coalesce(json_agg(json_build_object('resource', resource, 'wallet', wallet,
          'stake_sun', stake_sun, 'count', count, 'due', due, 'settled', settled)), '[]')
        from (
          select resource, wallet, settled, sum(stake_sun) as stake_sun, count(*),
            case when due_at is not null then
              greatest(0, extract(epoch from due_at - head_time) / 60)::integer end as due
          from (
            select d.resource, d.wallet, d.stake_sun,
              -- Up to a whole minute: as a number it takes twice as long.
              date_bin('1 minute', d.expires_at + interval '59.999999 seconds', head_time)
                as due_at,
              coalesce(d.delegated_at <= solid.time, false) and d.order_id not in (
                select id from orders where state in ('new', 'pending')) as settled
            -- Each of the states has an index; by a list of them all that ever was is read.
            from delegation as d
            where d.state = 'delegating' or d.state = 'active' or d.state = 'reclaiming'
            union all
            select d.resource, d.wallet, d.stake_sun, head_time, true
            from attempt as a join delegation as d on d.reclaim_id = a.id
            where a.state = 'included' and d.state = 'ended') as one
          group by resource, wallet, due_at, settled) as several) as out
    from chain left join block as solid on solid.number = confirmed_number`
  return state
}

/** The room of one resource after so many minutes; now, both are what is free. */
function bandOf(
  state: State,
  pool: PoolState,
  { minutes, drift }: { minutes: number; drift: number },
): { free: bigint; free_if_used: bigint } {
  const now = pool.room - pool.reserved
  if (minutes === 0) return { free: BigInt(now), free_if_used: BigInt(now) }
  const parts = partsOf(state)
  const unsure = unsureWallets(state, parts)
  const unitsOf = (sun: number) => (Math.max(0, sun) * pool.units_per_sun) / MARGIN

  const wallets = state.wallets.filter(({ resource }) => resource === pool.resource)
  const back = state.out.filter(
    ({ resource, due, settled }) =>
      resource === pool.resource && (!settled || (due !== null && due <= minutes)),
  )
  const back_units = unitsOf(sum(back, ({ stake_sun }) => stake_sun))
  // One that is not configured any more takes nothing back.
  const sure = new Set(wallets.map(({ address }) => address)).difference(unsure)
  const unsure_units = sum(
    wallets.filter(({ address }) => unsure.has(address)),
    ({ room_sun }) => unitsOf(room_sun),
  )
  const used_units = sum(wallets, ({ recovering }) => recovering)
  const moves = sum(back, ({ count }) => count) + parts + (used_units > 0 ? wallets.length : 0)
  const slack =
    moves * roundingOf(pool) + drift * (Math.max(0, pool.room) + used_units + back_units)

  const most =
    pool.room + unsure_units + back_units + sum(wallets, (one) => recoveredOf(one, minutes)) + slack
  const least =
    pool.room -
    unsure_units -
    pool.reserved +
    sum(back, ({ wallet, stake_sun, due }) => {
      if (due === null || !sure.has(wallet)) return 0
      const since = Math.max(0, minutes - due - RECLAIM_MINUTES)
      return unitsOf(stake_sun) * Math.min(1, since / DAY_MINUTES)
    }) -
    (pool.resource === 'bandwidth' ? ownBandwidth(state, parts, minutes) : 0) -
    slack
  return {
    free: BigInt(Math.ceil(most)),
    free_if_used: BigInt(Math.floor(Math.max(Math.min(0, now), least))),
  }
}

const sum = <Item>(items: readonly Item[], numberOf: (item: Item) => number): number =>
  items.reduce((sofar, item) => sofar + numberOf(item), 0)

/** What of a wallet's use has recovered by then. */
function recoveredOf(
  { recovering, recovers_seconds, age_seconds }: WalletState,
  minutes: number,
): number {
  return recovering * Math.min(1, (age_seconds + minutes * 60) / recovers_seconds)
}

/** In how many delegations at most open orders are delivered: each from all wallets, or more where
 *  one delegation cannot be so large. */
function partsOf({ pools, wallets, open }: State): number {
  if (open === 0) return 0
  const largest = pools.reduce((sofar, { reserved, units_per_sun }) => {
    const most_units = (Number(DELEGATION_MAX_SUN) * units_per_sun) / MARGIN
    return sofar + (most_units > 0 ? Math.ceil(reserved / most_units) : 0)
  }, 0)
  return open * new Set(wallets.map(({ address }) => address)).size + largest
}

/** A wallet that can hardly pay for transactions leaves the room whole, and comes back whole when
 *  it can again: these may do so. `parts`: delegations that are not planned yet. */
function unsureWallets({ pools, wallets, out }: State, parts: number): Set<string> {
  const bandwidth = pools.find(({ resource }) => resource === 'bandwidth')
  const unsettled = out.filter(({ settled }) => !settled)
  const count = unsettled.reduce((sofar, one) => sofar + one.count, parts)
  // Bandwidth that is sold does not pay for transactions either.
  const sold_units = unsettled
    .filter(({ resource }) => resource === 'bandwidth')
    .reduce(
      (sofar, { stake_sun }) => sofar + stake_sun * (bandwidth?.units_per_sun ?? 0),
      (bandwidth?.reserved ?? 0) * MARGIN,
    )
  const fewest =
    Number(CARRIES_MIN) + 2 * count + Math.ceil(sold_units / Number(TRANSACTION_BANDWIDTH))
  return new Set(
    wallets
      .filter(({ carries, stopped }) => stopped || carries < fewest)
      .map(({ address }) => address),
  )
}

/** What our transactions use up by then: two for each delegation that is not solid yet, one for
 *  each that is taken back. */
function ownBandwidth({ out }: State, parts: number, minutes: number): number {
  const transactions = out.reduce((sofar, { count, due, settled }) => {
    if (!settled) return sofar + 2 * count
    return due !== null && due <= minutes ? sofar + count : sofar
  }, 2 * parts)
  return transactions * Number(TRANSACTION_BANDWIDTH)
}
