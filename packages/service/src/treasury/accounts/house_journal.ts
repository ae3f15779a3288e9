// The ledger as a journal of the house: postings by day, what they are about, and account, with the
// balances before the month and at its end. Debits are above zero, as accountants write them. What
// is held for something that is not delivered yet is an account of its own beside the customer's,
// so that what is deferred can be seen.
//
// The balances at the end are added up from the entries by another statement than the postings, so
// that a program that reads the journal compares the two.

import type { Query, Sql } from '../../platform/database/sql.ts'

/** `day`: `2026-10-08`. `what`: deposit, order, subscription, aml, refund, correction and so on. */
export type JournalLine = { day: string; what: string; account: string; sun: bigint }
export type Balance = { account: string; sun: bigint }

export type HouseJournal = {
  /** `2026-10`. */
  month: string
  first_day: string
  last_day: string
  opening: Balance[]
  postings: JournalLine[]
  closing: Balance[]
}

type Period = { first_day: string; next_month: string }

/** The first day of a month, `2026-10`, and that of the next. */
function periodOf(month: string): Period {
  const [year, number] = month.split('-').map(Number)
  const next = number === 12 ? `${year! + 1}-01` : `${year}-${String(number! + 1).padStart(2, '0')}`
  return { first_day: `${month}-01`, next_month: `${next}-01` }
}

/** The day before the first of a month. */
const dayBefore = (first: string): string =>
  new Date(Date.parse(`${first}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)

/** Reads the month in one snapshot. */
export async function houseJournal(sql: Sql, month: string): Promise<HouseJournal> {
  const period = periodOf(month)
  return sql.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`
    await tx`set local work_mem = '128MB'`
    const rows = await postingsUntil(tx, period)
    const closing = await balancesAt(tx, period.next_month)
    const opening = new Map<string, bigint>()
    for (const { day, account, sun } of rows)
      if (day === '') opening.set(account, (opening.get(account) ?? 0n) + sun)
    return {
      month,
      first_day: period.first_day,
      last_day: dayBefore(period.next_month),
      opening: [...opening]
        .map(([account, sun]) => ({ account, sun }))
        .filter(({ sun }) => sun !== 0n),
      postings: rows.filter(({ day }) => day !== ''),
      closing,
    }
  })
}

/** Postings of a month, and under an empty day the sums of all before it. Revenue is by
 *  what was sold. */
function postingsUntil(tx: Query, { first_day, next_month }: Period): Promise<JournalLine[]> {
  return tx<JournalLine>`
    with entry as (
      select t.kind, t.debit, t.credit, t.amount_sun as sun, hold.amount_sun as held_sun,
        coalesce(t.hold_id, t.id) as cause,
        case when t.made_at < ${first_day}::date::timestamp at time zone 'UTC' then ''
          else ((t.made_at at time zone 'UTC')::date)::text end as day
      from transfer as t left join transfer as hold on hold.id = t.hold_id
      where t.made_at < ${next_month}::date::timestamp at time zone 'UTC'
    ), named as (
      select entry.*, split_part(cause, ':', 1) as what,
        coalesce(o.service, split_part(cause, ':', 1)) as service
      from entry left join orders as o on cause like 'order:%' and o.id = substr(cause, 7)
    ), posting as (
      select day, what, case debit when 'revenue' then 'revenue:' || service else debit end
        as account, sun from named where kind = 'move'
      union all
      select day, what, case credit when 'revenue' then 'revenue:' || service else credit end, -sun
      from named where kind = 'move'
      union all select day, what, debit, sun from named where kind = 'hold'
      union all select day, what, 'held:' || debit, -sun from named where kind = 'hold'
      union all
      select day, what, 'held:' || debit, held_sun from named where kind in ('capture', 'release')
      union all
      select day, what, debit, case kind when 'capture' then sun - held_sun else -held_sun end
      from named where kind in ('capture', 'release')
      union all select day, what, 'revenue:' || service, -sun from named where kind = 'capture'
    )
    select day, what, account, sum(sun)::bigint as sun from posting
    group by day, what, account having sum(sun) <> 0 order by day, what, account`
}

/** Each account at the beginning of a day, by its entries: debits above zero. What is held is taken
 *  out of the customer's account, as in the postings. */
function balancesAt(tx: Query, day: string): Promise<Balance[]> {
  return tx<Balance>`
    with entry as (
      select id, kind, hold_id, debit, credit, amount_sun as sun from transfer
      where made_at < ${day}::date::timestamp at time zone 'UTC'
    ), posted as (
      select account, sum(sun) as sun from (
        select debit as account, sun from entry where kind in ('move', 'capture')
        union all select credit, -sun from entry where kind in ('move', 'capture')) as side
      group by account
    ), held as (
      select debit as account, sum(sun) as sun from entry as h
      where kind = 'hold' and not exists (select 1 from entry as r where r.hold_id = h.id)
      group by debit
    )
    select account, sum(sun)::bigint as sun from (
      select account, sun from posted
      union all select account, sun from held
      union all select 'held:' || account, -sun from held) as balance
    group by account having sum(sun) <> 0 order by account`
}
