// Invoices and credit notes as they were issued: found by number, listed by customer and month.

import { columnsOf } from '../../platform/database/columns.ts'
import type { Query, Sql } from '../../platform/database/sql.ts'
import type { Invoice } from './forms.ts'

const INVOICE_COLUMNS = columnsOf<Omit<Invoice, 'month'>>()([
  'number',
  'kind',
  'corrects',
  'customer_id',
  'issued_at',
  'total_sun',
  'document',
  'sha256',
])

/** Newest first; those of everybody, or of every month, where nothing else is said. `month`:
 *  `2026-10`. */
export async function listInvoices(
  sql: Query,
  wanted: {
    customer_id?: string | undefined
    month?: string | undefined
    before: bigint | undefined
    limit: number
  },
): Promise<Invoice[]> {
  const { customer_id = null, month = null, before = null, limit } = wanted
  return sql<Invoice>`
    select ${INVOICE_COLUMNS}, to_char(month, 'YYYY-MM') as month
    from invoice
    where (${customer_id}::text is null or customer_id = ${customer_id})
      and (${month}::text is null or to_char(month, 'YYYY-MM') = ${month})
      and (${before}::bigint is null or number < ${before})
    order by number desc limit ${limit}`
}

/** Undefined also when it is another customer's than the one that is named. */
export async function findInvoice(
  sql: Query,
  { customer_id = null, number }: { customer_id?: string | null; number: bigint },
): Promise<Invoice | undefined> {
  const [invoice] = await sql<Invoice>`
    select ${INVOICE_COLUMNS}, to_char(month, 'YYYY-MM') as month
    from invoice
    where number = ${number} and (${customer_id}::text is null or customer_id = ${customer_id})`
  return invoice
}

/** The invoice of a customer for a month that is in force: the last one, when it was replaced.
 *  `month`: its first day. */
export async function invoiceInForce(
  sql: Sql | Query,
  { customer_id, month }: { customer_id: string; month: string },
): Promise<Pick<Invoice, 'number' | 'total_sun' | 'document'> | undefined> {
  const [invoice] = await sql<Pick<Invoice, 'number' | 'total_sun' | 'document'>>`
    select number, total_sun, document from invoice
    where customer_id = ${customer_id} and month = ${month}::date and kind = 'invoice'
    order by number desc limit 1`
  return invoice
}
