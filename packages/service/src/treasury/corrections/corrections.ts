// A customer's account put right by hand: what is added to it, or taken from it, is an entry
// against the account `corrections`, with a reason. It is never changed: what was wrong is
// corrected by another one.

import {
  CORRECTIONS,
  customerAccount,
  lockAccounts,
  moveAll,
} from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import { findCustomer } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type RowOf, row } from '../../platform/wire/row.ts'
import { Moment, OrNull, Sun, Text, Whole } from '../../platform/wire/schemas.ts'
import { issueCorrectionNote } from '../invoices/correction_notes.ts'

/** `amount_sun`: below nothing it is taken from the customer. `invoice_number`: the invoice that it
 *  gives money back for, with a credit note. */
export const Correction = row({
  id: Text,
  customer_id: Text,
  amount_sun: Sun,
  made_at: Moment,
  made_by: Text,
  reason: Text,
  invoice_number: OrNull(Whole),
})
export type Correction = RowOf<typeof Correction>

/** Corrects an account. The same again, by its id, changes nothing: `made` is false then. Throws a
 *  sentence when the id was used for another, the customer cannot spend what is to be taken, or the
 *  invoice has less left than is given back. */
export async function correct(
  tx: Tx,
  wanted: Correction,
): Promise<{ correction: Correction; made: boolean }> {
  const { id, customer_id, amount_sun, made_at, made_by, reason, invoice_number } = wanted
  const account = customerAccount(customer_id)
  const spendable_sun = (await lockAccounts(tx, [account])).get(account)
  if (!(await findCustomer(tx, customer_id)) || spendable_sun === undefined) {
    throw refusal(`There is no customer ${customer_id}.`)
  }
  const [inserted] = await tx`
    insert into correction (id, customer_id, amount_sun, made_at, made_by, reason, invoice_number)
    values (${id}, ${customer_id}, ${amount_sun}, ${made_at}, ${made_by}, ${reason},
      ${invoice_number})
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
  if (invoice_number !== null) await issueCorrectionNote(tx, { ...wanted, invoice_number })
  return { correction: wanted, made: true }
}

/** The same correction, made before under its id. Throws Refused when the id was used for
 *  another. */
export async function findCorrection(
  tx: Tx,
  { id, ...wanted }: Pick<Correction, 'id' | 'customer_id' | 'amount_sun' | 'invoice_number'>,
): Promise<Correction | undefined> {
  const [before] = await tx<Correction>`
    select ${Correction.columns} from correction where id = ${id}`
  if (!before || isSame(before, wanted)) return before
  throw refusal(`The id ${id} was used for another correction.`)
}

type Terms = Pick<Correction, 'customer_id' | 'amount_sun' | 'invoice_number'>

export const isSame = (one: Terms, other: Terms): boolean =>
  one.customer_id === other.customer_id &&
  one.amount_sun === other.amount_sun &&
  one.invoice_number === other.invoice_number

/** Newest first. */
export async function listCorrections(
  sql: Sql,
  { customer_id, limit }: { customer_id: string | undefined; limit: number },
): Promise<Correction[]> {
  const customer = customer_id ?? null
  return sql<Correction>`
    select ${Correction.columns} from correction
    where ${customer}::text is null or customer_id = ${customer} order by made_at desc, id desc
      limit ${limit}`
}
