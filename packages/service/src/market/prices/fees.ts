// Flat prices: that of an activation, and those of checks. Rows with history, as the tiers are.

import { noteForAll } from '../../events/log/notes.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { money, trxText } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type Bounds, type PriceChange, requireWithin } from './bounds.ts'

export type FeeRow = {
  name: string
  price_sun: bigint
  since: Date
  until: Date | null
  changed_by: string
}

/** The flat price of an activation, and those of checks: `aml_` and their type. */
export async function feesInForce(sql: Sql | Tx): Promise<Omit<FeeRow, 'until'>[]> {
  return sql<Omit<FeeRow, 'until'>>`
    select name, price_sun, since, changed_by from fee where until is null
    union all select 'aml_' || type, price_sun, since, changed_by from aml_price where until is null
      order by name`
}

/** Every flat price has one to compare with. */
const FEE_BOUNDS: Bounds = { least: 1n, most: 1_000_000_000n }

/** Puts a flat price in force and ends the one before. */
export async function setFee(
  tx: Tx,
  wanted: { name: string; price_sun: bigint; confirmed: boolean; at: Date; changed_by: string },
): Promise<Change<Omit<FeeRow, 'until'>[]> & { changes: PriceChange[] }> {
  const { name, price_sun, confirmed, at, changed_by } = wanted
  await tx`lock table fee, aml_price in share row exclusive mode`
  const fees = await feesInForce(tx)
  const old = fees.find((fee) => fee.name === name)
  if (!old)
    throw refusal(
      `There is no flat price ${name}; there are: ${fees.map((fee) => fee.name).join(', ')}.`,
    )
  if (old.price_sun === price_sun) return { result: fees, actions: [], changes: [] }
  const changes = [{ what: name, before: old.price_sun, after: price_sun }]
  requireWithin(changes, FEE_BOUNDS, confirmed)
  const type = checkType(name)
  if (type === undefined) {
    await tx`
      update fee set until = greatest(${at}::timestamptz, since) where name = ${name}
        and until is null`
    await tx`
      insert into fee (name, price_sun, since, changed_by)
        values (${name}, ${price_sun}, ${at}, ${changed_by})`
  } else {
    await tx`
      update aml_price set until = greatest(${at}::timestamptz, since) where type = ${type}
        and until is null`
    await tx`
      insert into aml_price (type, price_sun, since, changed_by)
        values (${type}, ${price_sun}, ${at}, ${changed_by})`
  }
  const [before, after] = [old.price_sun, price_sun].map((sun) => ({ price_trx: trxText(sun) }))
  const data = { name, since: wireTime(at), price: money(price_sun) }
  noteForAll(tx, { type: 'price.changed', subject: `price:${name}`, at, data })
  const actions = [{ subject: `fee:${name}`, before: before!, after: after! }]
  return { result: await feesInForce(tx), actions, changes }
}

/** The type of check that a name stands for. */
const checkType = (name: string): string | undefined => /^aml_(.+)$/.exec(name)?.[1]

export async function feeHistory(
  sql: Sql,
  wanted: { name?: string | undefined; limit: number },
): Promise<FeeRow[]> {
  const { name = null, limit } = wanted
  return sql<FeeRow>`
    select * from (
      select name, price_sun, since, until, changed_by from fee
      union all select 'aml_' || type, price_sun, since, until, changed_by from aml_price) as fees
    where ${name}::text is null or name = ${name} order by since desc, name limit ${limit}`
}
