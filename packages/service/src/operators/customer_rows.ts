// The customers that commands name by their ids.

import { type CustomerRow, findCustomer, lockCustomer } from '../customers/customers.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { refusal } from '../lib/fault.ts'

/** The customer. Throws Refused when there is none. */
export async function requireCustomer(sql: Sql | Tx, customer_id: string): Promise<CustomerRow> {
  return orRefused(await findCustomer(sql, customer_id), customer_id)
}

/** The customer, which nobody else changes before the transaction ends. Throws Refused when there
 *  is none. */
export async function requireLockedCustomer(tx: Tx, customer_id: string): Promise<CustomerRow> {
  return orRefused(await lockCustomer(tx, customer_id), customer_id)
}

function orRefused(customer: CustomerRow | undefined, customer_id: string): CustomerRow {
  if (!customer) throw refusal(`There is no customer ${customer_id}.`)
  return customer
}
