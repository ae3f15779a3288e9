// Quotes: prices that bind us until they end. They bind price and fee, and no room in the pool,
// which is reserved when an order is placed by one: else quotes that cost nothing would hold it
// all. A row never changes: a quote is used when an order names it, and over when its time is.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { later } from '../../lib/clock.ts'
import { lockCustomer } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { LimitReached } from '../../platform/wire/endpoint.ts'
import type { Service } from '../orders/amounts.ts'

export type Quote = {
  id: string
  customer_id: string
  service: Service
  address: Address
  energy: bigint
  bandwidth: bigint
  activate: boolean
  /** The most that it costs, the fee included. */
  amount_sun: bigint
  fee_sun: bigint
  /** Of a quote for a transfer: the least fee limit that lets it run. */
  fee_limit_sun: bigint | null
  /** What it would cost to burn TRX instead; null: unknown. */
  burning_sun: bigint | null
  made_at: Date
  expires_at: Date
}

/** Of one customer, neither used nor over. */
export const QUOTES_MAX = 1_000
const KEPT_MS = 3_600_000
const LOOKED_BACK_MS = 24 * KEPT_MS
const PRUNED_AT_ONCE = 1_000

/** Throws LimitReached when the customer has as many as may be. */
export async function insertQuote(tx: Tx, quote: Quote): Promise<void> {
  // Nobody else counts the customer's quotes meanwhile.
  await lockCustomer(tx, quote.customer_id)
  const [open] = await tx<{ quotes: bigint }>`
    select count(*) as quotes from quote as q
    where customer_id = ${quote.customer_id} and expires_at > ${quote.made_at}
      and not exists (select 1 from orders as o where o.quote_id = q.id)`
  if (open!.quotes >= BigInt(QUOTES_MAX))
    throw LimitReached('quote', `There are ${QUOTES_MAX} open quotes already`)
  await tx`
    insert into quote (id, customer_id, service, address, energy, bandwidth, activate, amount_sun,
      fee_sun, fee_limit_sun, burning_sun, made_at, expires_at)
    values (${quote.id}, ${quote.customer_id}, ${quote.service}, ${quote.address}, ${quote.energy},
      ${quote.bandwidth}, ${quote.activate}, ${quote.amount_sun}, ${quote.fee_sun},
      ${quote.fee_limit_sun}, ${quote.burning_sun}, ${quote.made_at}, ${quote.expires_at})`
}

/** The customer's quote, whether it is used or over or not. */
export async function findQuote(
  sql: Sql,
  { customer_id, id }: { customer_id: string; id: string },
): Promise<Quote | undefined> {
  const [quote] = await sql<Quote>`
    select id, customer_id, service, address, energy, bandwidth, activate, amount_sun, fee_sun,
      fee_limit_sun, burning_sun, made_at, expires_at
    from quote where id = ${id} and customer_id = ${customer_id}`
  return quote
}

/** Forgets quotes that were not used, an hour after their end. Those that were stay with their
 *  orders. */
export function pruneQuotesStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  const before = () => later(clock, -KEPT_MS)
  // The used ones of all times are not looked at each minute.
  const after = () => later(clock, -LOOKED_BACK_MS)
  return {
    name: 'prune_quotes',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select from quote as q
      where expires_at < ${before()} and expires_at > ${after()}
        and not exists (select from orders as o where o.quote_id = q.id)`,
    async run() {
      const pruned = await sql`
        delete from quote where id in (
          select id from quote as q
          where expires_at < ${before()} and expires_at > ${after()}
            and not exists (select from orders as o where o.quote_id = q.id)
          limit ${PRUNED_AT_ONCE})
        returning 1`
      return pruned.length === PRUNED_AT_ONCE
    },
  }
}
