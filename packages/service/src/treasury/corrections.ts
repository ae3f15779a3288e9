// A customer's account put right by hand: what is added to it, or taken from it, is an entry
// against the account `corrections`, with a reason. It is never changed: what was wrong is
// corrected by another one.

import { findCustomer } from '../customers/customers.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { CORRECTIONS, customerAccount, lockAccounts, moveAll } from '../ledger/ledger.ts'
import { refusal } from '../lib/fault.ts'
import { trxText } from '../lib/json.ts'

/** `amount_sun`: below nothing it is taken from the customer. */
export type Correction = {
  id: string
  customer_id: string
  amount_sun: bigint
  made_at: Date
  made_by: string
  reason: string
}

/** Corrects an account. The same again, by its id, changes nothing: `made` is false then. Throws a
 *  sentence when the id was used for another, or the customer cannot spend what is to be taken. */
export async function correct(
  tx: Tx,
  wanted: Correction,
): Promise<{ correction: Correction; made: boolean }> {
  const { id, customer_id, amount_sun, made_at, made_by, reason } = wanted
  const account = customerAccount(customer_id)
  const spendable_sun = (await lockAccounts(tx, [account])).get(account)
  if (!(await findCustomer(tx, customer_id)) || spendable_sun === undefined) {
    throw refusal(`There is no customer ${customer_id}.`)
  }
  const [inserted] = await tx`
    insert into correction (id, customer_id, amount_sun, made_at, made_by, reason)
    values (${id}, ${customer_id}, ${amount_sun}, ${made_at}, ${made_by}, ${reason})
    on conflict (id) do nothing returning id`
  if (!inserted) return { correction: (await findCorrection(tx, wanted))!, made: false }
  if (spendable_sun + amount_sun < 0n) {
    throw refusal(`The customer can spend ${trxText(spendable_sun)} TRX: no more can be taken.`)
  }
  const sides =
    amount_sun > 0n
      ? { debit: CORRECTIONS, credit: account }
      : { debit: account, credit: CORRECTIONS }
  const sun = amount_sun > 0n ? amount_sun : -amount_sun
  await moveAll(tx, [{ id: `correction:${id}`, ...sides, amount_sun: sun, made_at }])
  return { correction: wanted, made: true }
}

/** The same correction, made before under its id. Throws Refused when the id was used for
 *  another. */
export async function findCorrection(
  tx: Tx,
  { id, customer_id, amount_sun }: Pick<Correction, 'id' | 'customer_id' | 'amount_sun'>,
): Promise<Correction | undefined> {
  const [before] = await tx<Correction>`
    select made_at, id, customer_id, amount_sun, made_by, reason from correction where id = ${id}`
  if (!before || (before.customer_id === customer_id && before.amount_sun === amount_sun))
    return before
  throw refusal(`The id ${id} was used for another correction.`)
}

/** Newest first. */
export async function listCorrections(
  sql: Sql,
  { customer_id, limit }: { customer_id: string | undefined; limit: number },
): Promise<Correction[]> {
  const customer = customer_id ?? null
  return sql<Correction>`
    select made_at, id, customer_id, amount_sun, made_by, reason from correction
    where ${customer}::text is null or customer_id = ${customer} order by made_at desc, id desc
      limit ${limit}`
}
