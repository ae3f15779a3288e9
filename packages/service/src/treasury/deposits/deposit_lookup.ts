// What arrived: deposits, for looking them up. Lists are newest first.

import type { EntryRow } from '../../ledger/accounts/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Deposit, findDeposits, placeOf } from './deposits.ts'
import { findResolutions } from './resolutions.ts'
import { findScreenings } from './screenings.ts'

type DepositFilter = {
  customer?: string | undefined
  state?: string | undefined
  from?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
  limit: number
}

type DepositRow = Omit<Deposit, UnlistedField> & { age_seconds: number; risk_level: string | null }
type UnlistedField = 'energy' | 'order_id' | 'refund_id' | 'left_out' | 'solid_at' | 'seen_at'
type RefundRow = { id: string; state: string; tx_id: string | null; answer: string | null }

export async function listDeposits(
  { sql, clock }: { sql: Sql; clock: Clock },
  wanted: DepositFilter,
): Promise<DepositRow[]> {
  const { customer = null, state = null, from = null, since = null, until = null, limit } = wanted
  return sql<DepositRow>`
    select block_time, greatest(0, extract(epoch
      from ${clock.now()}::timestamptz - block_time))::integer as age_seconds,
           state, amount_sun, token, token_amount, from_address, to_address, customer_id, reason,
             d.block_number, tx_id,
           position, s.risk_level
    from deposit as d left join deposit_screening as s using (tx_id, position)
    where (${customer}::text is null or customer_id = ${customer}) and (${state}::text is null
      or state = ${state})
      and (${from}::text is null or from_address = ${from})
      and (${since}::timestamptz is null or block_time >= ${since})
      and (${until}::timestamptz is null or block_time < ${until})
    order by d.block_number desc, tx_id, position limit ${limit}`
}

/** What a transaction brought: mostly one deposit, with its order, its refund, how it was resolved,
 *  where its money came from, and its entries in the ledger. */
export async function showDeposits(sql: Sql, tx_id: string) {
  const deposits = await findDeposits(sql, tx_id)
  const [first, ...further] = deposits
  if (!first) throw refusal(`No deposit came with the transaction ${tx_id}.`)
  const [refund] = await sql<RefundRow>`
    select a.id, a.state, a.tx_id, a.answer from deposit join attempt as a on a.id = refund_id
      where deposit.tx_id = ${tx_id}`
  const names = deposits
    .map(placeOf)
    .flatMap((place) => [
      ...['deposit', 'refund', 'refund_fee', 'resolution'].map((kind) => `${kind}:${place}`),
      `resolution:${place}/rest`,
    ])
  const entries = await sql<EntryRow>`
    select made_at, id, kind, debit, credit, amount_sun from transfer where id = any(${names})
      order by made_at, id`
  const resolutions = await findResolutions(sql, tx_id)
  const screenings = await findScreenings(sql, tx_id)
  return {
    ...first,
    further,
    refund: refund ?? null,
    resolutions,
    screenings,
    entries,
  }
}
