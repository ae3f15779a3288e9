// What happened on customers' accounts hour by hour and day by day: charts are drawn from it, and
// statements go on from the figures at the end of an hour instead of adding up the whole ledger.
//
//   summarize     entries of an hour, and of a day, that is over -> summary
//
// A time is summarised once every entry of it is sealed (the journal says so), and a while after it
// is over. What is not summarised yet is worked out when somebody asks, by the same statement. An
// entry whose time was summarised before it was written (a clock was set back, or had been ahead)
// makes the account be summarised anew from then on.

import { type Clock, later } from '../../lib/clock.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { customerAccount } from '../accounts/ledger.ts'

export type Bucket = 'hour' | 'day'

/** `at`: when it begins. `balance_sun`, `spendable_sun`: at its end. */
export type Summary = {
  customer_id: string
  at: Date
  orders: number
  succeeded: number
  failed: number
  energy: bigint
  bandwidth: bigint
  spent_sun: bigint
  deposited_sun: bigint
  p50_ms: number | null
  p95_ms: number | null
  balance_sun: bigint
  spendable_sun: bigint
}

/** Of one bucket: `held_sun`, what was added to what is held. */
type Sums = Omit<Summary, 'balance_sun' | 'spendable_sun'> & { held_sun: bigint }

export const BUCKET_MS: Readonly<Record<Bucket, number>> = { hour: 3_600_000, day: 86_400_000 }

/** The longest time that a summary tells, some 25 days. */
const MS_MAX = 2 ** 31 - 1

/** Longer than a transaction that writes an entry may take, and than clocks differ. */
const LATE_MS = 300_000

const floorTo = (bucket: Bucket, at: Date): Date =>
  new Date(Math.floor(at.getTime() / BUCKET_MS[bucket]) * BUCKET_MS[bucket])

type Needs = { sql: Sql; clock: Clock }

/** transfer -> summary, one hour and one day at a time. */
export function summarizeStep({ sql, clock }: Needs): Step {
  const lastOf = (bucket: Bucket) => floorTo(bucket, later(clock, -LATE_MS))
  const next = (bucket: Bucket) => sql.begin((tx) => summarizeNext(tx, bucket, lastOf(bucket)))
  return {
    name: 'summarize',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select from unnest(array['hour', 'day'], ${[lastOf('hour'), lastOf('day')]}::timestamptz[])
        as wanted (bucket, last)
      left join summary_progress as p using (bucket)
      where p.until < wanted.last or p.entry <> (select max(last_entry) from journal)
        or p.bucket is null and exists (select from customer)`,
    after: ['seal'],
    async run() {
      const [more_hours, more_days] = [await next('hour'), await next('day')]
      return more_hours || more_days
    },
  }
}

/** Summarises the oldest bucket that is not, if it was over by `last`. True when it has: steps that
 *  read summaries are woken, and there may be more. */
async function summarizeNext(tx: Tx, bucket: Bucket, last: Date): Promise<boolean> {
  await begin(tx, bucket)
  const [progress] = await tx<Progress>`
    select until, entry from summary_progress where bucket = ${bucket} for update skip locked`
  if (!progress) return false
  await summarizeLate(tx, bucket, progress)
  if (progress.until >= last) return false
  // Between two numbers, and counted: by one, or for the first that there is, all would be read.
  const [unsealed] = await tx`
    select from transfer
    where number between coalesce((select max(last_entry) from journal), 0) + 1 and ${NUMBER_MAX}
      and made_at < ${last}
    having count(*) > 0`
  if (unsealed) return false
  const begins_at = await nextBegin(tx, { bucket, from: progress.until, last })
  const ends_at = new Date(Math.min(begins_at.getTime() + BUCKET_MS[bucket], last.getTime()))
  if (ends_at > begins_at) {
    const numbers = await numbersOf(tx, begins_at, ends_at)
    if (numbers) await write(tx, bucket, await sumsOf(tx, { bucket, begins_at, ends_at, numbers }))
  }
  await tx`update summary_progress set until = ${ends_at} where bucket = ${bucket}`
  return true
}

/** `until`: what is summarised; `entry`: the last one that was looked at for that. */
type Progress = { until: Date; entry: bigint }

/** Summarises anew the accounts of entries that were written after their time was summarised. */
async function summarizeLate(tx: Tx, bucket: Bucket, { until, entry }: Progress): Promise<void> {
  const [journal] = await tx<{ sealed: bigint }>`
    select coalesce(max(last_entry), 0) as sealed from journal`
  const { sealed } = journal!
  if (sealed === entry) return
  const late = await tx<{ customer_id: string; made_at: Date }>`
    with entry as (
      select debit, credit, made_at from transfer
      where number > ${entry} and number <= ${sealed} and made_at < ${until})
    select substr(account, 10) as customer_id, min(made_at) as made_at
    from (select debit as account, made_at from entry
          union all select credit, made_at from entry) as side
    where account like 'customer:%' group by 1 order by 1`
  for (const { customer_id, made_at } of late) {
    const begins_at = floorTo(bucket, made_at)
    await tx`
      delete from summary
      where customer_id = ${customer_id} and bucket = ${bucket} and at >= ${begins_at}`
    const ends_at = until
    await write(tx, bucket, await sumsOf(tx, { bucket, begins_at, ends_at, customer_id }))
  }
  await tx`update summary_progress set entry = ${sealed} where bucket = ${bucket}`
}

/** Nothing happened before there was a customer. */
async function begin(tx: Tx, bucket: Bucket): Promise<void> {
  await tx`
    insert into summary_progress (bucket, until)
    select ${bucket}, date_trunc(${bucket}, min(created_at), 'UTC') from customer
    having min(created_at) is not null
    on conflict (bucket) do nothing`
}

type Numbers = { first: bigint; last: bigint }

/** The numbers among which the entries of a time are. Undefined when none were sealed since it
 *  began. */
async function numbersOf(tx: Tx, begins_at: Date, ends_at: Date): Promise<Numbers | undefined> {
  const sealed_from = new Date(begins_at.getTime() - LATE_MS)
  const sealed_by = new Date(ends_at.getTime() + LATE_MS)
  const [found] = await tx<Record<keyof Numbers, bigint | null>>`
    select min(first_entry) as first,
      coalesce(max(last_entry) filter (where sealed_at <= ${sealed_by}), min(last_entry)) as last
    from (
      (select first_entry, last_entry, sealed_at from journal
        where sealed_at between ${sealed_from} and ${sealed_by})
      union all
      (select first_entry, last_entry, sealed_at from journal where sealed_at > ${sealed_by}
        order by sealed_at limit 1)) as sealed`
  const { first = null, last = null } = found ?? {}
  if (first === null || last === null) return undefined
  return { first, last: await lastNumber(tx, last, ends_at) }
}

/** What was sealed late, because nobody sealed for a while, belongs to it too. */
async function lastNumber(tx: Tx, last: bigint, ends_at: Date): Promise<bigint> {
  const [next] = await tx<{ last_entry: bigint }>`
    select last_entry from (
      select first_entry, last_entry from journal where first_entry > ${last}
      order by number limit 1) as sealed
    where exists (
      select 1 from transfer
      where number between first_entry and last_entry and made_at < ${ends_at})`
  return next ? lastNumber(tx, next.last_entry, ends_at) : last
}

/** Where the next bucket begins in which something happened: times in which nothing was sealed are
 *  passed over. */
async function nextBegin(
  tx: Tx,
  { bucket, from, last }: { bucket: Bucket; from: Date; last: Date },
): Promise<Date> {
  // The first seal that has an entry of then or later: only so many are looked at. The condition is
  // the sum's, since among the rows' it has an index of all accounts read.
  const [first] = await tx<{ made_at: Date }>`
    select entry.made_at
    from (select first_entry, last_entry from journal where sealed_at >= ${from}
          order by sealed_at) as sealed
      cross join lateral (
        select min(made_at) filter (where made_at >= ${from}) as made_at from transfer
        where number between first_entry and last_entry) as entry
    where entry.made_at is not null limit 1`
  if (!first) return last
  // What was sealed a moment later can have been made a moment before.
  const at = Math.max(first.made_at.getTime() - LATE_MS, from.getTime())
  const begins_at = floorTo(bucket, new Date(at))
  return begins_at < last ? begins_at : last
}

/** What to add up: entries of all customers by their numbers, or those of one customer. */
type SumRange = { bucket: Bucket; begins_at: Date; ends_at: Date } & (
  | { numbers: Numbers; customer_id?: undefined }
  | { numbers?: undefined; customer_id: string }
)

/** The sums of each customer and bucket in which something happened, oldest first. */
async function sumsOf(sql: Query, wanted: SumRange): Promise<Sums[]> {
  const { bucket, begins_at, ends_at, numbers, customer_id } = wanted
  const account = customer_id === undefined ? null : customerAccount(customer_id)
  const { first, last } = numbers ?? { first: 1n, last: 0n }
  return sql<Sums>`
    with entry as (
      select * from transfer where number between ${first} and ${last}
      union all select * from transfer where debit = ${account}
        and made_at >= ${begins_at} and made_at < ${ends_at}
      union all select * from transfer where credit = ${account} and kind = 'move'
        and made_at >= ${begins_at} and made_at < ${ends_at}
    ), side as (
      select debit as account, -1 as sign, * from entry where debit like 'customer:%'
      union all
      select credit as account, 1 as sign, * from entry
        where kind = 'move' and credit like 'customer:%'
    )
    select substr(side.account, 10) as customer_id,
      date_trunc(${bucket}, side.made_at, 'UTC') as at,
      (count(*) filter (where side.kind = 'hold' and side.id like 'order:%'))::integer as orders,
      (count(*) filter (where side.kind = 'capture' and hold.id like 'order:%'))::integer
        as succeeded,
      (count(*) filter (where side.kind = 'release' and hold.id like 'order:%'))::integer as failed,
      coalesce(sum(o.energy), 0)::bigint as energy,
      coalesce(sum(o.bandwidth), 0)::bigint as bandwidth,
      coalesce(sum(side.amount_sun) filter (where side.kind = 'capture'
        or (side.kind = 'move' and sign < 0)), 0)::bigint as spent_sun,
      coalesce(sum(side.amount_sun) filter (where side.kind = 'move' and sign > 0), 0)::bigint
        as deposited_sun,
      coalesce(sum(case side.kind when 'hold' then side.amount_sun when 'move' then 0
        else -hold.amount_sun end), 0)::bigint as held_sun,
      percentile_disc(0.5) within group (order by took.ms) filter (where o.id is not null)
        as p50_ms,
      percentile_disc(0.95) within group (order by took.ms) filter (where o.id is not null)
        as p95_ms
    from side left join transfer as hold on hold.id = side.hold_id
      left join orders as o on side.kind = 'capture' and hold.id like 'order:%'
        and o.id = substr(hold.id, 7)
      -- By a clock that was wrong an order takes years, or less than nothing.
      cross join lateral (
        select least(greatest(extract(epoch from side.made_at - hold.made_at) * 1000, 0),
          ${MS_MAX})::integer as ms) as took
    where side.made_at >= ${begins_at} and side.made_at < ${ends_at}
      and (${account}::text is null or side.account = ${account})
    group by 1, 2 order by 2, 1`
}

/** The figures at the end of the last bucket before a time, of each customer. */
async function figuresAtEnd(sql: Query, bucket: Bucket, customer_ids: readonly string[], at: Date) {
  const rows = await sql<Pick<Summary, 'customer_id' | 'balance_sun' | 'spendable_sun'>>`
    select c.customer_id, s.balance_sun, s.spendable_sun
    from unnest(${customer_ids}::text[]) as c (customer_id), lateral (
      select balance_sun, spendable_sun from summary
      where customer_id = c.customer_id and bucket = ${bucket} and at < ${at}
      order by at desc limit 1) as s`
  return new Map(rows.map(({ customer_id, ...figures }) => [customer_id, figures]))
}

type FiguresOf = Awaited<ReturnType<typeof figuresAtEnd>>

/** Sums, oldest first, with the figures at the end of each. */
function carried(sums: readonly Sums[], before: FiguresOf): Summary[] {
  const figures_of = new Map(before)
  return sums.map(({ held_sun, ...sum }) => {
    const last = figures_of.get(sum.customer_id) ?? { balance_sun: 0n, spendable_sun: 0n }
    const moved_sun = sum.deposited_sun - sum.spent_sun
    const figures = {
      balance_sun: last.balance_sun + moved_sun,
      spendable_sun: last.spendable_sun + moved_sun - held_sun,
    }
    figures_of.set(sum.customer_id, figures)
    return { ...sum, ...figures }
  })
}

async function write(tx: Tx, bucket: Bucket, sums: readonly Sums[]): Promise<void> {
  const [first] = sums
  if (!first) return
  const customer_ids = sums.map(({ customer_id }) => customer_id)
  const rows = carried(sums, await figuresAtEnd(tx, bucket, customer_ids, first.at))
  const column = <Key extends keyof Summary>(name: Key) => rows.map((row) => row[name])
  await tx`
    insert into summary (customer_id, bucket, at, orders, succeeded, failed, energy, bandwidth,
      spent_sun, deposited_sun, p50_ms, p95_ms, balance_sun, spendable_sun)
    select customer_id, ${bucket}, at, orders, succeeded, failed, energy, bandwidth,
      spent_sun, deposited_sun, p50_ms, p95_ms, balance_sun, spendable_sun
    from unnest(${column('customer_id')}::text[], ${column('at')}::timestamptz[],
                ${column('orders')}::integer[], ${column('succeeded')}::integer[],
                ${column('failed')}::integer[], ${column('energy')}::bigint[],
                ${column('bandwidth')}::bigint[], ${column('spent_sun')}::bigint[],
                ${column('deposited_sun')}::bigint[], ${column('p50_ms')}::integer[],
                ${column('p95_ms')}::integer[], ${column('balance_sun')}::bigint[],
                ${column('spendable_sun')}::bigint[])
      as t (customer_id, at, orders, succeeded, failed, energy, bandwidth, spent_sun,
        deposited_sun, p50_ms, p95_ms, balance_sun, spendable_sun)`
}

/** A customer's buckets from `since` on and before `until`, oldest first, those in which nothing
 *  happened included. */
export async function summariesOf(
  sql: Sql,
  wanted: { customer_id: string; bucket: Bucket; since: Date; until: Date },
): Promise<Summary[]> {
  const { customer_id, bucket } = wanted
  const since = floorTo(bucket, wanted.since)
  const [progress] = await sql<{ until: Date }>`
    select until from summary_progress where bucket = ${bucket}`
  const kept = await sql<Summary>`
    select customer_id, at, orders, succeeded, failed, energy, bandwidth, spent_sun, deposited_sun,
      p50_ms, p95_ms, balance_sun, spendable_sun
    from summary where customer_id = ${customer_id} and bucket = ${bucket}
      and at >= ${since} and at < ${wanted.until} order by at`
  const begins_at = progress?.until ?? new Date(0)
  const fresh = await sumsOf(sql, { bucket, begins_at, ends_at: wanted.until, customer_id })
  const at_end = await figuresAtEnd(sql, bucket, [customer_id], begins_at)
  const found = [...kept, ...carried(fresh, at_end)]
  const before = await figuresAtEnd(sql, bucket, [customer_id], since)
  const { balance_sun, spendable_sun } = before.get(customer_id) ?? {
    balance_sun: 0n,
    spendable_sun: 0n,
  }
  return filled(found, { ...wanted, since, balance_sun, spendable_sun })
}

type FillRange = { customer_id: string; bucket: Bucket; since: Date; until: Date } & Pick<
  Summary,
  'balance_sun' | 'spendable_sun'
>

/** With a bucket for each time in which nothing happened. */
function filled(found: readonly Summary[], filling: FillRange): Summary[] {
  const { customer_id, bucket, since, until } = filling
  let { balance_sun, spendable_sun } = filling
  const by_time = new Map(found.map((one) => [one.at.getTime(), one]))
  // What is summarised later than `since` begins after what is not.
  for (const one of found) if (one.at < since) ({ balance_sun, spendable_sun } = one)
  const all: Summary[] = []
  for (let ms = since.getTime(); ms < until.getTime(); ms += BUCKET_MS[bucket]) {
    const one = by_time.get(ms)
    if (one) ({ balance_sun, spendable_sun } = one)
    all.push(one ?? { ...NOTHING, customer_id, at: new Date(ms), balance_sun, spendable_sun })
  }
  return all
}

export const NO_SUMS = {
  orders: 0,
  succeeded: 0,
  failed: 0,
  energy: 0n,
  bandwidth: 0n,
  spent_sun: 0n,
  deposited_sun: 0n,
}
const NOTHING = { ...NO_SUMS, p50_ms: null, p95_ms: null }

export type HouseSummary = Pick<Summary, 'at' | 'orders' | 'succeeded' | 'failed'> &
  Pick<Summary, 'energy' | 'bandwidth' | 'spent_sun' | 'deposited_sun'>

/** The sums of the accounts of all customers together, from the bucket that `since` is in and
 *  before `until`, oldest first; those in which nothing happened are left out. Days that are not
 *  over are the sums of their hours. */
export async function houseSummaries(
  sql: Sql,
  { bucket, ...wanted }: { bucket: Bucket; since: Date; until: Date },
): Promise<HouseSummary[]> {
  const since = floorTo(bucket, wanted.since)
  const { until } = wanted
  const progress = await sql<{ bucket: Bucket; until: Date }>`
    select bucket, until from summary_progress`
  const keptUntil = (kept: Bucket) =>
    progress.find((one) => one.bucket === kept)?.until ?? new Date(0)
  const [days_until, hours_until] = [keptUntil('day'), keptUntil('hour')]
  const hours_from = bucket === 'hour' || days_until < since ? since : days_until
  const kept = await sql<HouseSummary>`
    select date_trunc(${bucket}, at, 'UTC') as at, sum(orders)::integer as orders,
      sum(succeeded)::integer as succeeded, sum(failed)::integer as failed,
      sum(energy)::bigint as energy, sum(bandwidth)::bigint as bandwidth,
      sum(spent_sun)::bigint as spent_sun, sum(deposited_sun)::bigint as deposited_sun
    from summary
    -- An hour that is summarised meanwhile is added up below.
    where bucket = 'hour' and at >= ${hours_from} and at < ${until} and at < ${hours_until}
      or ${bucket}::text = 'day' and bucket = 'day' and at >= ${since} and at < ${hours_from}
        and at < ${until}
    group by 1 order by 1`
  const begins_at = hours_until < since ? since : hours_until
  const numbers = await numbersSince(sql, begins_at)
  const fresh = await sumsOf(sql, { bucket, begins_at, ends_at: until, numbers })
  const found = new Map(kept.map((one) => [one.at.getTime(), one]))
  for (const one of fresh) {
    const before = found.get(one.at.getTime()) ?? { ...NO_SUMS, at: one.at }
    found.set(one.at.getTime(), added(before, one))
  }
  return [...found.values()].sort((a, b) => a.at.getTime() - b.at.getTime())
}

export type Activity = { customer_id: string } & Pick<HouseSummary, 'orders' | 'failed'> &
  Pick<HouseSummary, 'spent_sun'>

/** The sums of each of these customers since the beginning of a day (UTC), up to the last hour that
 *  is summarised. */
export const activityOf = (
  sql: Sql,
  { customer_ids, since }: { customer_ids: readonly string[]; since: Date },
): Promise<Activity[]> => sql<Activity>`
  with progress as (
    select greatest((select until from summary_progress where bucket = 'day'),
      ${floorTo('day', since)}::timestamptz) as days_until)
  select c.customer_id, coalesce(sum(s.orders), 0)::integer as orders,
    coalesce(sum(s.failed), 0)::integer as failed,
    coalesce(sum(s.spent_sun), 0)::bigint as spent_sun
  from unnest(${customer_ids}::text[]) as c (customer_id) cross join progress
    left join summary as s on s.customer_id = c.customer_id
      and (s.bucket = 'day' and s.at >= ${floorTo('day', since)} and s.at < days_until
        or s.bucket = 'hour' and s.at >= days_until)
  group by 1`

/** The numbers of entries that may be of then or later, those that are not sealed yet too. */
async function numbersSince(sql: Query, begins_at: Date): Promise<Numbers> {
  const [found] = await sql<{ first: bigint }>`
    select coalesce(min(first_entry) filter (where sealed_at >= ${new Date(
      begins_at.getTime() - LATE_MS,
    )}), max(last_entry) + 1, 1) as first from journal`
  return { first: found!.first, last: NUMBER_MAX }
}
const NUMBER_MAX = 2n ** 63n - 1n

const added = (one: HouseSummary, other: HouseSummary): HouseSummary => ({
  at: one.at,
  orders: one.orders + other.orders,
  succeeded: one.succeeded + other.succeeded,
  failed: one.failed + other.failed,
  energy: one.energy + other.energy,
  bandwidth: one.bandwidth + other.bandwidth,
  spent_sun: one.spent_sun + other.spent_sun,
  deposited_sun: one.deposited_sun + other.deposited_sun,
})
