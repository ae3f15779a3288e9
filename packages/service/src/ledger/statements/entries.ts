// A customer's account, entry by entry, as the customer sees it: worked out from the ledger, not
// from the sums that are kept for balances, so it shows also when those are wrong. The figures
// after an entry are those at the end of the last hour that is summarised (summaries.ts), and what
// came since.

import type { Query } from '../../platform/database/sql.ts'
import { customerAccount } from '../accounts/ledger.ts'

/** One entry of the ledger. */
export type Line = {
  made_at: Date
  id: string
  kind: 'move' | 'hold' | 'capture' | 'release'
  /** The transfer that began it: that of its hold, or its own. */
  cause: string
  /** Of the order or the subscription that it was for. */
  external_id: string | null
  /** Of the order. */
  service: string | null
  /** What was added to the balance, or taken from it. */
  amount_sun: bigint
  /** What was added to what is held, or taken from it. */
  held_sun: bigint
}

/** `spendable_sun`: the balance less all that is held. */
export type Figures = { balance_sun: bigint; spendable_sun: bigint }

/** What an entry was for: `order`, `deposit`, `subscription`, `aml` or `correction`, and its id. */
export function purposeOf(cause: string): { what: string; id: string } {
  const [, kind = '', rest = ''] = /^([a-z_]+):(.*)$/s.exec(cause) ?? []
  if (kind === 'correction') return { what: kind, id: rest }
  // A deposit that an operator has credited is resolved, and one transaction may bring several.
  return { what: kind === 'resolution' ? 'deposit' : kind, id: rest.split('/', 1)[0]! }
}

/** A place between entries: just before the one that is named. */
export type Place = { made_at: Date; id: string }

type LineFilter = {
  customer_id: string
  since?: Date | undefined
  /** Only entries before this time, and before this place. */
  until?: Date | undefined
  before?: Place | undefined
  limit: number
}

/** Entries of a customer, newest first. */
export async function listLines(sql: Query, wanted: LineFilter): Promise<Line[]> {
  const { customer_id, since = '-infinity', until = 'infinity', before = END, limit } = wanted
  const account = customerAccount(customer_id)
  // Each side by its own index, newest first, and no further than the page. Bounds that are always
  // there are bounds of the index, whatever plan is kept.
  const page = await sql<{ id: string }>`
    (select made_at, id from transfer
     where debit = ${account} and made_at >= ${since} and made_at < ${until}
       and made_at <= ${before.made_at} and (made_at, id) < (${before.made_at}, ${before.id}::text)
     order by made_at desc, id desc limit ${limit})
    union all
    (select made_at, id from transfer
     where credit = ${account} and made_at >= ${since} and made_at < ${until}
       and made_at <= ${before.made_at} and (made_at, id) < (${before.made_at}, ${before.id}::text)
     order by made_at desc, id desc limit ${limit})
    order by made_at desc, id desc limit ${limit}`
  return readLines(sql, { customer_id, ids: page.map(({ id }) => id) })
}

/** The place after all entries. */
const END = { made_at: 'infinity', id: '' }

/** What a hold set aside, and what became of it: newest first. */
export async function linesOfHold(
  sql: Query,
  { customer_id, hold_id }: { customer_id: string; hold_id: string },
): Promise<Line[]> {
  const found = await sql<{ id: string }>`
    select id from transfer where id = ${hold_id} or hold_id = ${hold_id}`
  return readLines(sql, { customer_id, ids: found.map(({ id }) => id) })
}

/** The customer's side of these entries, newest first. */
async function readLines(
  sql: Query,
  { customer_id, ids }: { customer_id: string; ids: readonly string[] },
): Promise<Line[]> {
  const account = customerAccount(customer_id)
  return sql<Line>`
    select t.made_at, t.id, t.kind, t.cause, o.service,
      coalesce(o.external_id, s.external_id) as external_id,
      case when t.kind not in ('move', 'capture') then 0
        when t.credit = ${account} then t.amount_sun else -t.amount_sun end as amount_sun,
      case when t.debit <> ${account} then 0 when t.kind = 'hold' then t.amount_sun
        else -coalesce(hold.amount_sun, 0) end as held_sun
    from (select *, coalesce(hold_id, id) as cause from transfer where id = any(${ids})) as t
      left join transfer as hold on hold.id = t.hold_id
      left join orders as o on t.cause like 'order:%' and o.id = substr(t.cause, 7)
        and o.customer_id = ${customer_id}
      left join subscription as s on t.cause like 'subscription:%'
        and s.id = split_part(substr(t.cause, 14), '/', 1) and s.customer_id = ${customer_id}
    where ${account} in (t.debit, t.credit)
    order by t.made_at desc, t.id desc`
}

/** The figures just before a place: of all entries when it is left out. */
export async function figuresBefore(
  sql: Query,
  { customer_id, place = END }: { customer_id: string; place?: Place | typeof END },
): Promise<Figures> {
  const account = customerAccount(customer_id)
  const { made_at, id } = place
  const [closed] = await sql<Figures & { until: Date }>`
    select at + interval '1 hour' as until, balance_sun, spendable_sun from summary
    where customer_id = ${customer_id} and bucket = 'hour'
      and at <= ${made_at}::timestamptz - interval '1 hour'
    order by at desc limit 1`
  const since = closed?.until ?? '-infinity'
  const [sums] = await sql<{ amount_sun: bigint; held_sun: bigint }>`
    select coalesce(sum(case when t.kind not in ('move', 'capture') then 0
        when t.credit = ${account} then t.amount_sun else -t.amount_sun end), 0)::bigint
        as amount_sun,
      coalesce(sum(case when t.debit <> ${account} then 0 when t.kind = 'hold' then t.amount_sun
        else -coalesce(hold.amount_sun, 0) end), 0)::bigint as held_sun
    from (
      select kind, debit, credit, amount_sun, hold_id from transfer
      where debit = ${account} and made_at >= ${since} and made_at <= ${made_at}
        and (made_at, id) < (${made_at}, ${id}::text)
      union all
      select kind, debit, credit, amount_sun, hold_id from transfer
      where credit = ${account} and made_at >= ${since} and made_at <= ${made_at}
        and (made_at, id) < (${made_at}, ${id}::text)
    ) as t left join transfer as hold on hold.id = t.hold_id`
  const { balance_sun = 0n, spendable_sun = 0n } = closed ?? {}
  const { amount_sun, held_sun } = sums!
  return {
    balance_sun: balance_sun + amount_sun,
    spendable_sun: spendable_sun + amount_sun - held_sun,
  }
}

/** Lines, newest first, each with the figures after it. `bottom`: those before the oldest. */
export function withFigures(lines: readonly Line[], bottom: Figures): (Line & Figures)[] {
  const found: (Line & Figures)[] = []
  let { balance_sun, spendable_sun } = bottom
  for (const line of lines.toReversed()) {
    balance_sun += line.amount_sun
    spendable_sun += line.amount_sun - line.held_sun
    found.push({ ...line, balance_sun, spendable_sun })
  }
  return found.toReversed()
}
