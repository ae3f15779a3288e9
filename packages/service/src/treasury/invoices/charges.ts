// What a customer was charged in a month, line by line, for the documents of that month. A charge
// is what goes from a customer to `revenue`: the capture of a hold, or a move for what an address
// with a subscription used. What comes back is taken off the invoice of its month, or, when that
// was issued before, is a credit note.

import { customerAccount, REVENUE } from '../../ledger/accounts/ledger.ts'
import type { Query } from '../../platform/database/sql.ts'

/** `month`: its first day; `next_month`: the first day after it. */
export type Period = { customer_id: string; month: string; next_month: string }

/** Charges of one kind. `unit`: what one is; null: kinds beyond LINES_MAX, together. `count` and
 *  `total_sun` are below zero where more came back than was charged. */
export type ChargeLine = {
  service: string
  unit: string | null
  unit_sun: bigint | null
  count: number
  total_sun: bigint
}

/** So many kinds are lines of their own, those that come to most. */
const LINES_MAX = 500

/** The lines of a month by the earlier invoice that they correct; null: those of its invoice. */
export async function chargesOf(
  sql: Query,
  { customer_id, month, next_month }: Period,
): Promise<ReadonlyMap<bigint | null, ChargeLine[]>> {
  const account = customerAccount(customer_id)
  const rows = await sql<ChargeLine & { corrects: bigint | null }>`
    with entry as (
      select coalesce(hold_id, id) as cause, kind, amount_sun as sun, null::bigint as corrects
      from transfer
      where debit = ${account} and credit = ${REVENUE} and kind in ('capture', 'move')
        and made_at >= ${month}::date::timestamp at time zone 'UTC'
        and made_at < ${next_month}::date::timestamp at time zone 'UTC'
      union all
      -- What came back names the charge in its id: subscription:ID/TRANSACTION/BLOCK/...
      select back.id, back.kind, -back.amount_sun, (
        select max(number) from invoice
        where customer_id = ${customer_id} and kind = 'invoice' and month < ${month}::date
          and month = date_trunc('month', charge.made_at at time zone 'UTC')::date)
      from transfer as back left join transfer as charge
        on charge.id = substring(back.id from '^[^/]*/[^/]*/[^/]*')
      where back.credit = ${account} and back.debit = ${REVENUE} and back.kind = 'move'
        and back.made_at >= ${month}::date::timestamp at time zone 'UTC'
        and back.made_at < ${next_month}::date::timestamp at time zone 'UTC'
    ), charge as (
      select corrects, sun, coalesce(o.service, split_part(cause, ':', 1)) as service,
        coalesce(
          plan.key || case entry.kind when 'move' then ', transaction' else ', start' end,
          nullif(concat_ws(' ', case when o.energy > 0 then 'energy ' || o.energy end,
            case when o.bandwidth > 0 then 'bandwidth ' || o.bandwidth end,
            case when o.fee_sun > 0 then 'activation' end), ''),
          split_part(cause, ':', 1)) as unit,
        -- Several transactions at the plan's price, or one use that cost less than they would.
        case when entry.kind = 'move' and plan.price_sun > 0 and sun % plan.price_sun = 0
          then plan.price_sun
          else abs(sun) end as unit_sun
      from entry left join orders as o on cause like 'order:%' and o.id = substr(cause, 7)
        left join subscription as s on cause like 'subscription:%'
          and s.id = split_part(substr(cause, 14), '/', 1)
        left join plan on plan.id = s.plan_id
    ), kind as (
      select corrects, service, unit, unit_sun, sum(sun) / unit_sun as count, sum(sun) as total_sun,
        row_number() over (partition by corrects
          order by abs(sum(sun)) desc, service, unit, unit_sun) as rank
      from charge group by corrects, service, unit, unit_sun having sum(sun) <> 0
    )
    select corrects, service, case when rank <= ${LINES_MAX} then unit end as unit,
      case when rank <= ${LINES_MAX} then unit_sun end as unit_sun,
      sum(count)::integer as count, sum(total_sun)::bigint as total_sun
    from kind group by 1, 2, 3, 4 order by corrects nulls first, service, unit nulls last, unit_sun`
  const charges = new Map<bigint | null, ChargeLine[]>()
  for (const { corrects, ...line } of rows) {
    const lines = charges.get(corrects)
    if (lines) lines.push(line)
    else charges.set(corrects, [line])
  }
  return charges
}

export const totalOf = (lines: readonly ChargeLine[]): bigint =>
  lines.reduce((sum, { total_sun }) => sum + total_sun, 0n)
